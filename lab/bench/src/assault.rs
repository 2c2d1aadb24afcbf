//! Runs a hostile client over QUIC, for the bench of hostile clients and `fairpath-net`'s tests.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fairpath::random::Random;
use fairpath::session::{Class, ClassId};
use fairpath::time::{LocalInstant, Span};
use fairpath_campaign::siege::{Attack, AttackStep, Attacker};
use quinn::crypto::rustls::QuicClientConfig;
use rustls::pki_types::CertificateDer;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

/// A hostile client that attacks until it is dropped, and reconnects whenever it is thrown out.
pub struct Assault {
    runtime: Option<Runtime>,
    task: Option<JoinHandle<()>>,
    stop: Arc<AtomicBool>,
    shots: Arc<AtomicU64>,
}

const FRAME: Duration = Duration::from_micros(16_667);
const TRY_AGAIN: Duration = Duration::from_millis(50);

impl Assault {
    /// Starts a hostile client on a thread of its own.
    pub fn begin(
        attack: Attack,
        classes: impl IntoIterator<Item = (ClassId, Class)>,
        class: ClassId,
        server: std::net::SocketAddr,
        certificates: &[CertificateDer<'static>],
    ) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a thread starts");
        let endpoint = endpoint(&runtime, certificates, b"fairpath/1");
        let intruder = Attacker::new(attack, classes, class, Random::from_seed(1));
        let (stop, shots) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let task =
            runtime.spawn(attack_until(Arc::clone(&stop), Arc::clone(&shots), endpoint, server, intruder));
        Self { runtime: Some(runtime), task: Some(task), stop, shots }
    }

    pub fn shots(&self) -> u64 {
        self.shots.load(Ordering::Relaxed)
    }
}

impl Drop for Assault {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let (Some(runtime), Some(task)) = (self.runtime.take(), self.task.take()) {
            let _ = runtime.block_on(task);
            runtime.shutdown_background();
        }
    }
}

/// Creates a QUIC endpoint with this ALPN protocol that trusts these certificates.
pub fn endpoint(runtime: &Runtime, certificates: &[CertificateDer<'static>], alpn: &[u8]) -> quinn::Endpoint {
    let mut roots = rustls::RootCertStore::empty();
    certificates.iter().for_each(|certificate| roots.add(certificate.clone()).expect("a valid certificate"));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13]);
    let mut tls = tls.expect("TLS 1.3").with_root_certificates(roots).with_no_client_auth();
    tls.alpn_protocols = vec![alpn.to_vec()];
    let quic = quinn::ClientConfig::new(Arc::new(
        QuicClientConfig::try_from(tls).expect("ring offers QUIC ciphers"),
    ));
    let mut endpoint = {
        let _inside = runtime.enter();
        quinn::Endpoint::client(([127, 0, 0, 1], 0).into()).expect("a socket opens")
    };
    endpoint.set_default_client_config(quic);
    endpoint
}

async fn attack_until(
    stop: Arc<AtomicBool>,
    shots: Arc<AtomicU64>,
    endpoint: quinn::Endpoint,
    server: std::net::SocketAddr,
    mut intruder: Attacker,
) {
    let started = Instant::now();
    let mut silent = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let connecting = endpoint.connect(server, "localhost").expect("localhost is a valid name");
        if let Ok(connection) = connecting.await
            && let Ok((sending, receiving)) = connection.open_bi().await
        {
            let mut visit = HostileConnection { started, connection, sending, receiving, shots: &shots };
            visit.last(&stop, &endpoint, server, &mut intruder, &mut silent).await;
        }
        // The connection was refused or closed.
        tokio::time::sleep(TRY_AGAIN).await;
    }
    endpoint.close(0u32.into(), b"");
}

struct HostileConnection<'a> {
    started: Instant,
    connection: quinn::Connection,
    sending: quinn::SendStream,
    receiving: quinn::RecvStream,
    shots: &'a AtomicU64,
}

impl HostileConnection<'_> {
    async fn last(
        &mut self,
        stop: &AtomicBool,
        endpoint: &quinn::Endpoint,
        server: std::net::SocketAddr,
        intruder: &mut Attacker,
        silent: &mut Vec<quinn::Connection>,
    ) {
        intruder.on_connected(self.now());
        let mut ticks = tokio::time::interval(FRAME);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
        while !stop.load(Ordering::Relaxed) {
            let reads = intruder.reads();
            tokio::select! {
                _ = self.connection.closed() => break,
                Ok(Some(chunk)) = self.receiving.read_chunk(4096, true), if reads => {
                    intruder.on_stream(&chunk.bytes, self.now());
                }
                Ok(mut message) = self.connection.accept_uni(), if reads => {
                    if let Ok(bytes) = message.read_to_end(20_000).await {
                        intruder.on_unordered(&bytes, self.now());
                    }
                }
                Ok(bytes) = self.connection.read_datagram() => intruder.on_datagram(&bytes, self.now()),
                _ = ticks.tick() => {
                    for shot in intruder.turn(self.now()) {
                        self.shots.fetch_add(1, Ordering::Relaxed);
                        if matches!(shot, AttackStep::OpenSilently) {
                            silent.extend(connect(endpoint, server).await);
                        } else {
                            self.shoot(shot).await;
                        }
                    }
                    if intruder.gave_up() {
                        self.connection.close(0u32.into(), b"");
                    }
                }
            }
        }
        intruder.on_disconnected(self.now());
    }

    /// Sends one attack step, waits for at most a frame, and ignores the result.
    async fn shoot(&mut self, shot: AttackStep) {
        let done = async {
            match shot {
                AttackStep::Stream(bytes) => drop(self.sending.write_all(&bytes).await),
                AttackStep::Unordered(bytes) => {
                    if let Ok(mut message) = self.connection.open_uni().await {
                        let _ = message.write_all(&bytes).await;
                        let _ = message.finish();
                    }
                }
                AttackStep::Datagram(bytes) => drop(self.connection.send_datagram(bytes.into())),
                AttackStep::OpenSilently => {}
            }
        };
        let _ = tokio::time::timeout(FRAME, done).await;
    }

    fn now(&self) -> LocalInstant {
        LocalInstant::ZERO + Span::from_micros(self.started.elapsed().as_micros() as i64)
    }
}

/// Opens a connection and sends nothing on it.
async fn connect(endpoint: &quinn::Endpoint, server: std::net::SocketAddr) -> Option<quinn::Connection> {
    tokio::time::timeout(FRAME, endpoint.connect(server, "localhost").ok()?).await.ok()?.ok()
}
