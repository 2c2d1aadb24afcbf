//! Goal: clients of a server that answers nothing for seconds come back without a storm. Method:
//! the middleman delays first packets until the attempts that sent them are given up. Then the
//! server answers each of them with a Retry.

use std::time::{Duration, Instant};

use fairpath::session::ServerConfig;
use fairpath::vector::Vec2;
use fairpath_net::middleman::{Bounds, ClientSelector, Directions, Middleman, MiddlemanConfig};
use fairpath_net::{
    ClientThread, ConnectionState, Identity, Limits, NetClient, NetClientConfig, NetServer, Trust,
};
use fairpath_sim::LinkConfig;

use super::arena::{
    Pilot, World, any_port, classes, client_session, millis, server_config, server_session_with, until,
};

const CLIENTS: usize = 16;
/// First packets of an attempt that takes five seconds, and as many more for a stall.
const FIRST_PACKETS: u64 = 8;

#[test]
fn late_answers_to_given_up_attempts_cause_no_storm() {
    let mut world = World::new(LinkConfig::default());
    let set_delay = |world: &World, span| {
        let edit = |link: &mut LinkConfig| link.delay = span;
        world.middleman.change(ClientSelector::All, Directions::Up, edit).expect("a valid link");
    };
    // An attempt without an answer is given up after 2.5 s, and QUIC answers packets for three
    // more.
    set_delay(&world, millis(6_000));
    for _ in 0..CLIENTS {
        world.join();
    }
    let has_failed = |state| matches!(state, ConnectionState::Connecting { failed: 1.., .. });
    until("every client has given up once", || {
        world.pilots.iter().all(|pilot| has_failed(pilot.client.connection_state()))
    });
    set_delay(&world, millis(0));
    world.until("all clients have a ship", |world| world.pilots.iter().all(|pilot| pilot.ship.is_some()));
    until("the delayed packets have arrived", || {
        world.middleman.statistics().clients.iter().all(|client| client.up.waiting < 3)
    });
    std::thread::sleep(Duration::from_secs(1));
    let admission = world.server.admission_statistics();
    let failed = |pilot: &Pilot| std::iter::from_fn(|| pilot.client.poll_problem()).count() as u64;
    let attempts = world.pilots.iter().map(|pilot| failed(pilot) + 1).sum::<u64>();
    assert!(admission.retried >= attempts, "each attempt was asked for proof: {admission:?}");
    assert!(
        admission.retried <= attempts * FIRST_PACKETS,
        "{attempts} attempts of {CLIENTS} clients: {admission:?}"
    );
    world.settle();
    world.assert_promises_kept();
}

/// `reconnect::tests` has the same with a thousand clients in virtual time, and the times.
#[test]
fn two_hundred_clients_return_with_a_few_packets_each() {
    const MANY: usize = 200;
    let many = MANY as u32;
    let session = ServerConfig { clients_max: MANY, ..ServerConfig::new(classes(), 1) };
    let mut config = server_config(any_port(), Identity::local(&[]).expect("made"));
    config.limits = Limits {
        per_address_max: 2 * MANY,
        per_address_per_sec: many,
        per_address_burst: 4 * many,
        handshakes_max: MANY,
    };
    let server = NetServer::bind(config, server_session_with(session)).expect("a free port");
    let bounds = Bounds { clients_max: MANY, ..Bounds::default() };
    let middleman = MiddlemanConfig::between(any_port(), server.address()).bounds(bounds);
    let middleman = Middleman::start(middleman).expect("a free port");
    let thread = ClientThread::start().expect("a thread");
    let trust = Trust::Pinned(vec![server.fingerprint()]);
    let join = || {
        let config = NetClientConfig::new(trust.clone());
        NetClient::connect_on(&thread, middleman.address(), config, client_session()).expect("a socket")
    };
    let is_in = |client: &NetClient<Vec2>| client.with_session(|session, _| session.is_connected());
    let mut clients: Vec<NetClient<Vec2>> = Vec::new();
    while clients.len() < MANY {
        // Not all at once: the receive buffer of a default system holds some hundred packets.
        clients.extend((0..25).map(|_| join()));
        until("they are in", || clients.iter().all(is_in));
    }
    let began = Instant::now();
    middleman.partition(ClientSelector::All, Directions::Both, None).expect("clients");
    let has_failed = |client: &NetClient<Vec2>| {
        matches!(client.connection_state(), ConnectionState::Connecting { failed: 1.., .. })
    };
    until("every client has given up an attempt", || clients.iter().all(has_failed));
    std::thread::sleep(Duration::from_secs(10).saturating_sub(began.elapsed()));
    let before = server.admission_statistics();
    middleman.heal(ClientSelector::All, Directions::Both).expect("clients");
    let healed = Instant::now();
    until("all are back", || clients.iter().all(is_in));
    let after = server.admission_statistics();
    let (took, retried) = (healed.elapsed(), after.retried - before.retried);
    println!("{MANY} clients were back after {took:?}, with {retried} Retries");
    let attempts: u64 = clients.iter().map(|client| u64::from(client.status().connections)).sum();
    assert!(attempts >= 2 * MANY as u64);
    assert!(retried <= 10 * MANY as u64, "{retried} Retries");
}
