//! The attacks: from four addresses of the loopback interface at once, or with killed clients.

use std::error::Error;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use fairpath::random::Random;
use quinn::crypto::rustls::QuicClientConfig;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, SignatureScheme};
use tokio::runtime::Runtime;

use crate::program::Program;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AttackKind {
    Peace,
    /// Random bytes as packets.
    Noise,
    /// First packets of QUIC connections that are given up at once.
    FirstPackets,
    /// Connections that never greet. Each address has as many as it gets.
    Silence,
    /// Connections that write random bytes to their streams and datagrams.
    Gibberish,
    /// Real clients that take seats and are killed.
    Vanishing,
    /// The first four against the lobby.
    LobbyNoise,
    LobbyFirstPackets,
    LobbySilence,
    LobbyGibberish,
}

impl AttackKind {
    pub(crate) const ALL: [Self; 10] = [
        Self::Peace,
        Self::Noise,
        Self::FirstPackets,
        Self::Silence,
        Self::Gibberish,
        Self::Vanishing,
        Self::LobbyNoise,
        Self::LobbyFirstPackets,
        Self::LobbySilence,
        Self::LobbyGibberish,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Peace => "peace",
            Self::Noise => "random packets",
            Self::FirstPackets => "first packets of connections",
            Self::Silence => "connections that never greet",
            Self::Gibberish => "random streams and datagrams",
            Self::Vanishing => "players of the same address are killed",
            Self::LobbyNoise => "lobby: random packets",
            Self::LobbyFirstPackets => "lobby: first packets",
            Self::LobbySilence => "lobby: connections that ask nothing",
            Self::LobbyGibberish => "lobby: random streams",
        }
    }

    /// What each attacking address does, if the attack is not made of processes.
    fn shot(self) -> Option<Shot> {
        match self {
            Self::Peace | Self::Vanishing => None,
            Self::Noise | Self::LobbyNoise => Some(Shot::Noise),
            Self::FirstPackets | Self::LobbyFirstPackets => Some(Shot::FirstPacket),
            Self::Silence | Self::LobbySilence => Some(Shot::Silence),
            Self::Gibberish | Self::LobbyGibberish => Some(Shot::Gibberish),
        }
    }

    fn is_at_lobby(self) -> bool {
        matches!(self, Self::LobbyNoise | Self::LobbyFirstPackets | Self::LobbySilence | Self::LobbyGibberish)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shot {
    Noise,
    FirstPacket,
    Silence,
    Gibberish,
}

/// An attack that runs until it is dropped.
#[derive(Debug)]
pub(crate) struct Attack {
    sent: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    runtime: Option<Runtime>,
    killer: Option<std::thread::JoinHandle<()>>,
}

/// The attacking addresses: other households than the honest players'.
const ADDRESSES: [u8; 4] = [2, 3, 4, 5];
/// Packets of each address in a second. More would only keep this machine's network busy.
const PACKETS_PER_SEC: u64 = 500;
/// Connections that one address tries to have at once.
const CONNECTIONS: usize = 64;
/// Clients that are killed at once, and how often.
const KILLED: usize = 16;
const KILLED_EVERY: Duration = Duration::from_millis(700);

impl Attack {
    pub(crate) fn begin(kind: AttackKind, server: &Program, lobby: &Program) -> Result<Self, Box<dyn Error>> {
        let (sent, stop) = (Arc::<AtomicU64>::default(), Arc::<AtomicBool>::default());
        let mut attack =
            Self { sent: Arc::clone(&sent), stop: Arc::clone(&stop), runtime: None, killer: None };
        if kind == AttackKind::Vanishing {
            let starting = KilledPlayers::new(server);
            attack.killer = Some(std::thread::spawn(move || starting.run(&sent, &stop)));
            return Ok(attack);
        }
        let Some(shot) = kind.shot() else { return Ok(attack) };
        let (target, alpn) =
            if kind.is_at_lobby() { (lobby.address, LOBBY_ALPN) } else { (server.address, SERVER_ALPN) };
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        for last in ADDRESSES {
            let from = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(127, 0, 0, last)), 0);
            let (sent, stop) = (Arc::clone(&sent), Arc::clone(&stop));
            if shot == Shot::Noise {
                let socket = UdpSocket::bind(from)?;
                socket.connect(target)?;
                runtime.spawn(make_noise(socket, sent, stop, u64::from(last)));
                continue;
            }
            let endpoint = endpoint(&runtime, from, alpn)?;
            match shot {
                Shot::FirstPacket => drop(runtime.spawn(knock(endpoint, target, sent, stop))),
                _ => {
                    for number in 0..CONNECTIONS {
                        let random = Random::from_seed(u64::from(last)).fork(number as u64);
                        let (endpoint, sent, stop) = (endpoint.clone(), Arc::clone(&sent), Arc::clone(&stop));
                        runtime.spawn(connect(endpoint, target, shot, random, sent, stop));
                    }
                }
            }
        }
        attack.runtime = Some(runtime);
        Ok(attack)
    }

    /// Packets, connections or killed players so far.
    pub(crate) fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }
}

impl Drop for Attack {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(killer) = self.killer.take() {
            let _ = killer.join();
        }
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(Duration::from_secs(1));
        }
    }
}

async fn make_noise(socket: UdpSocket, sent: Arc<AtomicU64>, stop: Arc<AtomicBool>, seed: u64) {
    let mut random = Random::from_seed(seed);
    let mut packet = vec![0; 1_200];
    while !stop.load(Ordering::Relaxed) {
        for _ in 0..PACKETS_PER_SEC / 100 {
            packet.iter_mut().for_each(|byte| *byte = random.bits() as u8);
            let length = 1 + random.below(1_200) as usize;
            sent.fetch_add(u64::from(socket.send(&packet[..length]).is_ok()), Ordering::Relaxed);
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Begins connections and gives each up after its first packet.
async fn knock(endpoint: quinn::Endpoint, target: SocketAddr, sent: Arc<AtomicU64>, stop: Arc<AtomicBool>) {
    while !stop.load(Ordering::Relaxed) {
        for _ in 0..PACKETS_PER_SEC / 100 {
            if let Ok(connecting) = endpoint.connect(target, "localhost") {
                let _ = tokio::time::timeout(Duration::from_micros(100), connecting).await;
                sent.fetch_add(1, Ordering::Relaxed);
            }
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Keeps one connection open, and opens another one when it is closed.
async fn connect(
    endpoint: quinn::Endpoint,
    target: SocketAddr,
    shot: Shot,
    mut random: Random,
    sent: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
) {
    while !stop.load(Ordering::Relaxed) {
        // Everybody at once would be one wave and then nothing.
        tokio::time::sleep(Duration::from_millis(100 + random.below(400))).await;
        let Ok(connecting) = endpoint.connect(target, "localhost") else { continue };
        let Ok(connection) = connecting.await else { continue };
        sent.fetch_add(1, Ordering::Relaxed);
        if shot == Shot::Silence {
            connection.closed().await;
        } else {
            babble(&connection, &mut random).await;
        }
    }
}

async fn babble(connection: &quinn::Connection, random: &mut Random) {
    let mut some =
        |length: u64| -> Vec<u8> { (0..1 + random.below(length)).map(|_| random.bits() as u8).collect() };
    let Ok((mut stream, _)) = connection.open_bi().await else { return };
    while connection.close_reason().is_none() {
        let _ = connection.send_datagram(some(200).into());
        if stream.write_all(&some(200)).await.is_err() {
            break;
        }
        if let Ok(mut other) = connection.open_uni().await {
            let _ = other.write_all(&some(50)).await;
            let _ = other.finish();
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Starts real clients, and kills them once they have their seats.
struct KilledPlayers {
    command: std::path::PathBuf,
    arguments: Vec<String>,
}

impl KilledPlayers {
    fn new(server: &Program) -> Self {
        let (count, address) = (KILLED.to_string(), server.address.to_string());
        let words = ["bots", &count, "--connect", &address, "--pin", &server.pin, "--json"];
        Self { command: server.command.clone(), arguments: words.map(str::to_owned).into() }
    }

    fn run(&self, sent: &AtomicU64, stop: &AtomicBool) {
        while !stop.load(Ordering::Relaxed) {
            let mut starting = Command::new(&self.command);
            starting.args(&self.arguments);
            starting.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            let Ok(mut child) = starting.spawn() else { return };
            std::thread::sleep(KILLED_EVERY);
            kill(&mut child);
            sent.fetch_add(KILLED as u64, Ordering::Relaxed);
        }
    }
}

fn kill(child: &mut Child) {
    let _ = (child.kill(), child.wait());
}

const SERVER_ALPN: &[u8] = b"fairpath/1";
const LOBBY_ALPN: &[u8] = b"fairpath-lobby/1";

/// A QUIC endpoint at this address that trusts everybody: an attacker does not care.
fn endpoint(runtime: &Runtime, from: SocketAddr, alpn: &[u8]) -> Result<quinn::Endpoint, Box<dyn Error>> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?;
    let tls = tls.dangerous().with_custom_certificate_verifier(Arc::new(Credulous));
    let mut tls = tls.with_no_client_auth();
    tls.alpn_protocols = vec![alpn.to_vec()];
    let quic = quinn::ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?));
    let _inside = runtime.enter();
    let mut endpoint = quinn::Endpoint::client(from)?;
    endpoint.set_default_client_config(quic);
    Ok(endpoint)
}

#[derive(Debug)]
struct Credulous;

impl ServerCertVerifier for Credulous {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        rustls::crypto::ring::default_provider().signature_verification_algorithms.supported_schemes()
    }
}
