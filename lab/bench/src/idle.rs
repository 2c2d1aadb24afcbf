//! What a thousand connected clients without objects cost a server, and how long they take to
//! connect.
//!
//! The clients are another process, so that only the server's processor time is counted here.

use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use fairpath::schedule::Broadcast;
use fairpath::session::{Class, ClassId, Client, ClientConfig, Server, ServerConfig};
use fairpath::vector::Vec2;
use fairpath_bench::{Helper, machine, until_stdin_ends};
use fairpath_net::{
    ClientThread, Fingerprint, Identity, NetClient, NetClientConfig, NetServer, NetServerConfig, Trust,
    unguessable_random,
};

use crate::fleet::any_port;
use crate::measure::BenchTable;

const CLIENTS: usize = 1_000;
/// Wait before the measurement: clocks have settled, and the last offers were answered.
const SETTLE: Duration = Duration::from_secs(10);
const MEASURE: Duration = Duration::from_secs(20);
/// The same for a server without clients.
const MEASURE_ALONE: Duration = Duration::from_secs(3);
/// All clients must be connected within this time.
const CONNECT_WITHIN: Duration = Duration::from_secs(300);
/// The goal: this share of a core.
const GOAL: f64 = 0.02;
/// Argument that starts this program as the clients.
pub(crate) const AS_CLIENTS: &str = "--as-connected-clients";

pub(crate) fn bench() -> BenchTable {
    let server = server();
    let alone = processor_share(MEASURE_ALONE);
    let (address, pin) = (server.address().to_string(), server.fingerprint().to_string());
    let began = (Instant::now(), machine::processor_time());
    let clients = Helper::start([AS_CLIENTS, &address, &pin]);
    while connected(&server) < CLIENTS {
        assert!(began.0.elapsed() < CONNECT_WITHIN, "only {} clients are connected", connected(&server));
        std::thread::sleep(Duration::from_millis(5));
    }
    let connecting = (began.0.elapsed(), machine::processor_time() - began.1);
    let admission = server.admission_statistics();
    std::thread::sleep(SETTLE);
    let before = traffic(&server);
    let share = processor_share(MEASURE);
    let after = traffic(&server);
    let per_client = |nth: usize| (after[nth] - before[nth]) as f64 / CLIENTS as f64 / MEASURE.as_secs_f64();
    let connected = connected(&server);
    drop(clients);
    let held = if share < GOAL && connected == CLIENTS { "held" } else { "not held" };
    BenchTable::of_notes(&format!("{CLIENTS} connected clients without objects"))
        .note(format!(
            "connected within {:.1} s, with {:.2} ms of the server's processor each; {connected} at the end",
            connecting.0.as_secs_f64(),
            connecting.1.as_secs_f64() * 1e3 / CLIENTS as f64
        ))
        .note(format!(
            "for them {} retries, {} refused, {} failed: more than one retry each are lost packets",
            admission.retried, admission.refused, admission.failed
        ))
        .note(format!(
            "the server's processor time, without clients / with them {:>8.2} / {:.2} % of a core",
            100.0 * alone,
            100.0 * share
        ))
        .note(format!(
            "bytes of a client and second, to it / from it {:>8.0} / {:.0}; of them sealed {:.0} / {:.0}",
            per_client(0),
            per_client(1),
            per_client(2),
            per_client(3)
        ))
        .note(format!("goal: below {} % of a core: {held}", 100.0 * GOAL))
}

fn server() -> NetServer<Vec2> {
    let config = ServerConfig { clients_max: CLIENTS, ..ServerConfig::new(classes(), 1) };
    let session = Server::new(config, Box::new(Broadcast), unguessable_random());
    let mut net = NetServerConfig::new(any_port(), Identity::local(&[]).expect("a certificate"));
    // All clients come from one address, and at once.
    net.limits.per_address_max = CLIENTS;
    net.limits.per_address_per_sec = CLIENTS as u32;
    net.limits.per_address_burst = 2 * CLIENTS as u32;
    net.limits.handshakes_max = 4 * CLIENTS;
    NetServer::bind(net, session).expect("the loopback has a free port")
}

fn classes() -> [(ClassId, Class); 1] {
    [(ClassId(0), Class::within(0.3))]
}

fn connected(server: &NetServer<Vec2>) -> usize {
    server.with_session(|session, _| session.clients().filter(|client| session.is_connected(*client)).count())
}

/// Returns the share of a core that this process uses. It sleeps meanwhile: a game would tick.
fn processor_share(during: Duration) -> f64 {
    let before = (Instant::now(), machine::processor_time());
    std::thread::sleep(during);
    (machine::processor_time() - before.1).as_secs_f64() / before.0.elapsed().as_secs_f64()
}

/// UDP bytes sent and received so far, of all clients, and those of sealed packets.
fn traffic(server: &NetServer<Vec2>) -> [u64; 4] {
    let peers = server.status();
    let sealed = server.sealed_statistics().total;
    [
        peers.iter().map(|peer| peer.udp_bytes_sent).sum(),
        peers.iter().map(|peer| peer.udp_bytes_received).sum(),
        sealed.bytes_sent,
        sealed.bytes_received,
    ]
}

/// Runs the other process: connects clients on one thread, all at once, until stdin is closed.
pub(crate) fn run_clients(arguments: &[String]) {
    let address: SocketAddr = arguments[0].parse().expect("an address");
    let pin: Fingerprint = arguments[1].parse().expect("a fingerprint");
    let thread = ClientThread::start().expect("a thread starts");
    let connect = |_| {
        let config = NetClientConfig::new(Trust::Pinned(vec![pin]));
        let session = Client::<Vec2>::new(ClientConfig::new(classes()), unguessable_random());
        NetClient::connect_on(&thread, address, config, session).expect("a socket opens")
    };
    let clients: Vec<_> = (0..CLIENTS).map(connect).collect();
    let has_ended = until_stdin_ends();
    while !has_ended.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(100));
        for client in &clients {
            client.with_session(|session, _| while session.poll_event().is_some() {});
        }
    }
    // Closing a thousand connections in order would take too long.
    std::process::exit(0);
}
