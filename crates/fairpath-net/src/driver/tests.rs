//! Goal: the thread wakes up for a reason. Method: count its passes, while clients are idle.

use std::time::{Duration, Instant};

use fairpath::Trigger;
use fairpath::schedule::Broadcast;
use fairpath::session::{Class, ClassId, Client, ClientConfig, Server, ServerConfig};
use fairpath::vector::Vec2;

use super::Rest;
use crate::{
    ClientThread, Identity, Limits, NetClient, NetClientConfig, NetServer, NetServerConfig, Trust, new_epoch,
    unguessable_random,
};

/// Machines stall.
const PATIENCE: Duration = Duration::from_secs(300);

fn classes() -> [(ClassId, Class); 1] {
    [(ClassId(1), Class::new(Trigger::within(0.3)))]
}

/// A server with room for this many clients of one address.
fn server(clients_max: usize) -> NetServer<Vec2> {
    let session = ServerConfig { clients_max, ..ServerConfig::new(classes(), new_epoch()) };
    let session = Server::new(session, Box::new(Broadcast), unguessable_random());
    let many = u32::try_from(clients_max).expect("fits");
    let limits = Limits {
        per_address_max: clients_max,
        per_address_per_sec: many,
        per_address_burst: many,
        handshakes_max: 4 * clients_max,
    };
    let config = NetServerConfig::new(([127, 0, 0, 1], 0).into(), Identity::local(&[]).expect("made"));
    #[cfg(feature = "web")]
    let config = NetServerConfig { accepts_web: false, ..config };
    NetServer::bind(NetServerConfig { limits, ..config }, session).expect("a free port")
}

fn join(server: &NetServer<Vec2>, thread: &ClientThread) -> NetClient<Vec2> {
    let config = NetClientConfig {
        connect_within: PATIENCE,
        ..NetClientConfig::new(Trust::Pinned(vec![server.fingerprint()]))
    };
    let session = Client::new(ClientConfig::new(classes()), unguessable_random());
    NetClient::connect_on(thread, server.address(), config, session).expect("a socket")
}

/// Passes during at least this long, and how long it was.
fn passes_during(server: &NetServer<Vec2>, span: Duration) -> (u64, Duration) {
    let (before, begin) = (server.passes(), Instant::now());
    std::thread::sleep(span);
    (server.passes() - before, begin.elapsed())
}

#[test]
fn a_server_without_clients_sleeps() {
    let server = server(10);
    std::thread::sleep(Duration::from_millis(100));
    let (passes, _) = passes_during(&server, Duration::from_millis(500));
    assert_eq!(passes, 0);
}

#[test]
fn idle_clients_share_their_wake_ups() {
    const CLIENTS: usize = 200;
    let (server, thread) = (server(CLIENTS), ClientThread::start().expect("a thread"));
    let mut clients = Vec::new();
    let begin = Instant::now();
    let connected = || server.with_session(|session, _| session.clients().count());
    while clients.len() < CLIENTS {
        // Not all at once: the receive buffer of a default system holds some hundred packets.
        clients.extend((0..50).map(|_| join(&server, &thread)));
        while connected() < clients.len() {
            assert!(begin.elapsed() < PATIENCE, "{} of {CLIENTS} clients are in", connected());
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    let (passes, span) = passes_during(&server, Duration::from_secs(2));
    // Each client sends at least a datagram a second. A pass every 8 ms takes them all;
    // twice as many allows for one that finds more to send.
    let allowed = 2 * (span.as_millis() / Rest::MAX.as_millis()) as u64 + 10;
    assert!(passes <= allowed, "{passes} passes in {span:?}, at most {allowed} allowed");
}
