//! QUIC datagrams alone.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use ::fairpath::number::WirePacketNumber;
use ::fairpath::time::SharedInstant;
use ::fairpath::vector::Vec2;
use ::fairpath::wire::{Header, Precision, decode_updates, encode_updates};
use ::fairpath::{DrVector, EntityId, Owner};
use ::quinn::{ClientConfig, Connection, Endpoint, ServerConfig};
use bytes::Bytes;
use fairpath_bench::{TankPaths, machine};
use rustls::RootCertStore;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use tokio::runtime::{Handle, Runtime};

use super::fairpath::{MODEL, precision, trigger};
use super::{ReceiverSide, ServerSide, any_port};
use crate::roles::{ConnectInfo, Terms};
use crate::snapshot::{TankStates, pack};

/// Sends the same datagrams on every connection. One thread runs everything, between ticks too.
pub(super) struct QuinnServer {
    runtime: Runtime,
    endpoint: Endpoint,
    certificate: Vec<u8>,
    connections: Arc<Mutex<Vec<Connection>>>,
    payload: Payload,
}

/// What the server sends.
enum Payload {
    /// Every state, every tick.
    States,
    /// What Fairpath would send without ledgers: due DR vectors, the same to every receiver.
    Vectors(Box<Vectors>),
}

struct Vectors {
    owners: Vec<Owner<Vec2>>,
    precision: Precision,
    packet: u16,
    sent: u64,
    /// The newest DR vector of each entity that is due and not sent.
    due: BTreeMap<EntityId, DrVector<Vec2>>,
    /// Ticks per datagram.
    ticks_each: u32,
    ticks: u32,
}

impl QuinnServer {
    pub(super) fn of_states() -> Self {
        Self::new(Payload::States)
    }

    /// Sends one datagram per `ticks_each` ticks.
    pub(super) fn of_vectors(terms: &Terms, ticks_each: u32) -> Self {
        let owner = |tank| {
            Owner::new(EntityId(tank), trigger()).with_model(MODEL).with_precision(precision(terms.tanks))
        };
        let owners = (0..terms.tanks as u32).map(owner).collect();
        Self::new(Payload::Vectors(Box::new(Vectors {
            owners,
            precision: precision(terms.tanks),
            packet: 0,
            sent: 0,
            due: BTreeMap::new(),
            ticks_each,
            ticks: 0,
        })))
    }

    fn new(payload: Payload) -> Self {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
        let certificate = made.cert.der().to_vec();
        let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
        let config = ServerConfig::with_single_cert(vec![made.cert.der().clone()], key.into());
        let config = config.expect("key and certificate belong together");
        let runtime = runtime();
        let endpoint = {
            let _inside = runtime.enter();
            Endpoint::server(config, any_port()).expect("the loopback has a free port")
        };
        let connections = Arc::new(Mutex::new(Vec::new()));
        runtime.spawn(accept(endpoint.clone(), Arc::clone(&connections)));
        Self { runtime, endpoint, certificate, connections, payload }
    }
}

fn runtime() -> Runtime {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a tokio runtime starts")
}

async fn accept(endpoint: Endpoint, connections: Arc<Mutex<Vec<Connection>>>) {
    while let Some(incoming) = endpoint.accept().await {
        if let Ok(connection) = incoming.await {
            connections.lock().expect("no thread panicked").push(connection);
        }
    }
}

impl ServerSide for QuinnServer {
    fn connect_info(&self) -> (SocketAddr, String) {
        let proof = self.certificate.iter().map(|byte| format!("{byte:02x}")).collect();
        (self.endpoint.local_addr().expect("the socket is bound"), proof)
    }

    fn receivers(&mut self) -> usize {
        self.connections.lock().expect("no thread panicked").len()
    }

    fn tick(&mut self, paths: &TankPaths, before: Duration, at: Duration) {
        let connections = self.connections.lock().expect("no thread panicked");
        let sizes = connections.iter().filter_map(Connection::max_datagram_size);
        let Some(bytes_max) = sizes.min() else { return };
        let packets = match &mut self.payload {
            Payload::States => pack(paths, at, bytes_max),
            Payload::Vectors(vectors) => {
                vectors.pack(paths, before, at, connections.len() as u64).into_iter().collect()
            }
        };
        for packet in packets.into_iter().map(Bytes::from) {
            for connection in connections.iter() {
                // An error means that the receiver is gone.
                let _ = connection.send_datagram(packet.clone());
            }
        }
    }

    fn wait_until(&mut self, next: Duration) {
        let wait = next.saturating_sub(machine::now());
        // Tokio's timer, so that the runtime handles its sockets meanwhile.
        self.runtime.block_on(async { tokio::time::sleep(wait).await });
    }

    fn vectors(&self) -> Option<u64> {
        match &self.payload {
            Payload::States => None,
            Payload::Vectors(vectors) => Some(vectors.sent),
        }
    }
}

impl Vectors {
    /// Returns the due DR vectors, if there are any and this is a tick that sends.
    fn pack(&mut self, paths: &TankPaths, before: Duration, at: Duration, receivers: u64) -> Option<Vec<u8>> {
        let now = instant(at);
        let observed = self.owners.iter_mut().enumerate().map(|(tank, owner)| {
            owner.observe(paths.observe(tank, before, at), now).expect("recorded states are finite")
        });
        self.due.extend(observed.flatten().map(|export| (export.vector.entity, export.vector)));
        self.ticks += 1;
        if self.due.is_empty() || !self.ticks.is_multiple_of(self.ticks_each) {
            return None;
        }
        let vectors: Vec<DrVector<Vec2>> = std::mem::take(&mut self.due).into_values().collect();
        self.sent += vectors.len() as u64 * receivers;
        self.packet = self.packet.wrapping_add(1);
        let header = Header { packet: WirePacketNumber(self.packet), sent_at: now, ..Header::default() };
        let mut bytes = Vec::new();
        encode_updates(&self.precision, &header, &vectors, &mut bytes)
            .expect("64 DR vectors fit into a datagram");
        Some(bytes)
    }
}

fn instant(at: Duration) -> SharedInstant {
    SharedInstant::from_micros(at.as_micros() as i64)
}

// ── receivers
// ───────────────────────────────────────────────────────────────────────────────────────────────

/// A connection, and the data received on it.
struct QuinnReceiver {
    endpoint: Endpoint,
    connection: Connection,
    known: Arc<Mutex<ReceivedData>>,
}

enum ReceivedData {
    States(TankStates),
    Vectors(Vec<Option<DrVector<Vec2>>>),
}

pub(super) fn receiver_of_states(terms: &Terms, info: &ConnectInfo, _: u64) -> Box<dyn ReceiverSide> {
    Box::new(QuinnReceiver::connect(info, ReceivedData::States(TankStates::of(terms.tanks))))
}

pub(super) fn receiver_of_vectors(terms: &Terms, info: &ConnectInfo, _: u64) -> Box<dyn ReceiverSide> {
    Box::new(QuinnReceiver::connect(info, ReceivedData::Vectors(vec![None; terms.tanks])))
}

impl QuinnReceiver {
    fn connect(info: &ConnectInfo, known: ReceivedData) -> Self {
        let byte = |at: usize| u8::from_str_radix(&info.proof[at..at + 2], 16).expect("hexadecimal");
        let certificate: Vec<u8> = (0..info.proof.len()).step_by(2).map(byte).collect();
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from(certificate)).expect("a certificate");
        let config = ClientConfig::with_root_certificates(Arc::new(roots)).expect("a verifier");
        let runtime = sockets();
        let _inside = runtime.enter();
        let endpoint = Endpoint::client(any_port()).expect("the loopback has a free port");
        let connecting = endpoint.connect_with(config, info.address, "localhost");
        let connecting = connecting.expect("the address is valid");
        let known = Arc::new(Mutex::new(known));
        let (connected, connection) = std::sync::mpsc::channel();
        let (heard, began) = (Arc::clone(&known), info.began);
        runtime.spawn(async move {
            let connection = connecting.await.expect("the server accepts");
            connected.send(connection.clone()).expect("the caller waits");
            while let Ok(bytes) = connection.read_datagram().await {
                heard.lock().expect("no thread panicked").take(&bytes, machine::now() - began);
            }
        });
        let connection = connection.recv().expect("the server accepts");
        Self { endpoint, connection, known }
    }
}

/// One thread serves the sockets of all receivers: acknowledgements leave in time, not with the
/// next frame.
fn sockets() -> Handle {
    static SOCKETS: OnceLock<Handle> = OnceLock::new();
    let start = || {
        let runtime = runtime();
        let handle = runtime.handle().clone();
        std::thread::spawn(move || runtime.block_on(std::future::pending::<()>()));
        handle
    };
    SOCKETS.get_or_init(start).clone()
}

impl ReceivedData {
    fn take(&mut self, bytes: &[u8], now: Duration) {
        match self {
            Self::States(snapshot) => snapshot.take(bytes),
            Self::Vectors(known) => {
                let updates = decode_updates::<Vec2>(&precision(known.len()), instant(now), bytes);
                for vector in updates.into_iter().flat_map(|updates| updates.vectors) {
                    known[vector.entity.0 as usize] = Some(vector);
                }
            }
        }
    }

    fn show(&self, now: Duration, shown: &mut [Option<Vec2>]) {
        match self {
            Self::States(snapshot) => snapshot.show(now, shown),
            Self::Vectors(known) => {
                for (known, shown) in known.iter().zip(shown) {
                    *shown = known.map(|vector| vector.position_at(instant(now)));
                }
            }
        }
    }
}

impl ReceiverSide for QuinnReceiver {
    fn frame(&mut self, began: Duration, shown: &mut [Option<Vec2>]) -> Duration {
        let known = self.known.lock().expect("no thread panicked");
        let now = machine::now() - began;
        known.show(now, shown);
        now
    }

    fn leave(self: Box<Self>) {
        self.connection.close(0_u32.into(), b"");
        sockets().block_on(self.endpoint.wait_idle());
    }
}
