//! Goal: a client says why it cannot connect or why its connection ended, at once and in words that
//! a menu can show. Method: one server for each kind of trouble, real sockets, no timing.

use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use fairpath::session::{Client, ClientConfig, CloseReason, ServerConfig};
use fairpath::vector::{Vec2, Vec3};
use fairpath_net::lobby::{LobbyConfig, LobbyServer};
use fairpath_net::middleman::LinkConfig;
use fairpath_net::{
    ConnectError, ConnectionProblem, ConnectionState, Fingerprint, Identity, Limits, NetClient,
    NetClientConfig, NetServer, Transport, Trust, new_epoch, unguessable_random,
};

use super::arena::{
    World, any_port, classes, client_session, server_config, server_session, server_session_with, until,
};

const WRONG: Fingerprint = Fingerprint([7; 32]);

fn pinned(pin: Fingerprint) -> NetClientConfig {
    // An attempt that nothing answers ends soon; one that is answered does so in far less.
    let connect_within = Duration::from_secs(2);
    NetClientConfig { connect_within, ..NetClientConfig::new(Trust::Pinned(vec![pin])) }
}

fn connect(server: SocketAddr, config: NetClientConfig) -> NetClient<Vec2> {
    NetClient::connect(server, config, client_session()).expect("a socket")
}

/// Waits for the first problem of a client.
fn problem(client: &NetClient<Vec2>) -> ConnectionProblem {
    let mut found = None;
    until("there is a problem", || {
        found = client.poll_problem();
        found.is_some()
    });
    found.expect("just seen")
}

/// Waits until so many attempts have failed.
fn until_failed(client: &NetClient<Vec2>, times: u32) -> Option<ConnectionProblem> {
    let mut why = None;
    until("attempts have failed", || match client.connection_state() {
        ConnectionState::Connecting { failed, last } => {
            why = last;
            failed >= times
        }
        _ => false,
    });
    why
}

#[test]
fn a_certificate_that_is_not_the_expected_one() {
    let world = World::new(LinkConfig::default());
    let server = world.server.address();
    let client = connect(server, pinned(WRONG));
    assert_eq!(problem(&client), ConnectionProblem::WrongPin);
    // It keeps trying, and says so once.
    assert_eq!(until_failed(&client, 3), Some(ConnectionProblem::WrongPin));
    assert_eq!(client.poll_problem(), None, "nothing new");
    let web = NetClientConfig { transport: Transport::WebTransport, ..pinned(WRONG) };
    assert_eq!(problem(&connect(server, web)), ConnectionProblem::WrongPin);
    let stranger = Identity::local(&[]).expect("made");
    let path = std::env::temp_dir().join(format!("fairpath-stranger-{}.pem", std::process::id()));
    stranger.save_certificates(&path).expect("written");
    let trust = Trust::load(&path).expect("as written");
    std::fs::remove_file(&path).expect("removed");
    let client = connect(server, NetClientConfig::new(trust));
    assert_eq!(problem(&client), ConnectionProblem::UntrustedCertificate);
}

#[test]
fn no_server_no_route_and_no_name() {
    let silent = UdpSocket::bind(any_port()).expect("a socket");
    let nowhere = silent.local_addr().expect("bound");
    let config = NetClientConfig { connect_within: Duration::from_millis(50), ..pinned(WRONG) };
    let client = connect(nowhere, config);
    assert_eq!(problem(&client), ConnectionProblem::NoAnswer);
    assert_eq!(until_failed(&client, 3), Some(ConnectionProblem::NoAnswer));
    assert_eq!(client.poll_problem(), None, "said once");
    let client = connect(([127, 0, 0, 1], 0).into(), pinned(WRONG));
    assert_eq!(problem(&client), ConnectionProblem::Unreachable);
    let config = NetClientConfig { server_name: "no name".into(), ..pinned(WRONG) };
    let unnamed = NetClient::connect(nowhere, config, client_session());
    assert!(matches!(unnamed, Err(ConnectError::ServerName(name)) if name == "no name"));
}

#[test]
fn another_protocol_at_the_address() {
    let identity = Identity::local(&[]).expect("made");
    let lobby = LobbyServer::bind(LobbyConfig::new(any_port(), identity)).expect("a free port");
    for transport in [Transport::Quic, Transport::WebTransport] {
        let config = NetClientConfig { transport, ..pinned(lobby.fingerprint()) };
        let client = connect(lobby.address(), config);
        assert_eq!(problem(&client), ConnectionProblem::VersionMismatch, "{transport:?}");
    }
}

#[test]
fn a_server_without_room() {
    let session =
        server_session_with(ServerConfig { clients_max: 1, ..ServerConfig::new(classes(), new_epoch()) });
    let mut world = World::with(LinkConfig::default(), session, |_| {});
    world.join();
    world.until("the seat is taken", |world| world.pilots[0].ship.is_some());
    let second = connect(world.server.address(), pinned(world.server.fingerprint()));
    let full = ConnectionProblem::Refused(CloseReason::Full);
    assert_eq!(problem(&second), full);
    assert_eq!(until_failed(&second, 2), Some(full));
    assert_eq!(second.poll_problem(), None, "said once");
    // It keeps trying, and gets the seat when it is free.
    let first = world.pilots.remove(0);
    drop(first);
    world.until("the seat is its own", |_| second.with_session(|session, _| session.is_connected()));

    let limits = Limits { per_address_max: 0, ..Limits::default() };
    let world = World::with(LinkConfig::default(), server_session(), |config| config.limits = limits);
    for transport in [Transport::Quic, Transport::WebTransport] {
        let config = NetClientConfig { transport, ..pinned(world.server.fingerprint()) };
        assert_eq!(problem(&connect(world.server.address(), config)), ConnectionProblem::LimitReached);
    }
}

#[test]
fn final_problems_end_the_attempts_and_the_server_knows_too() {
    let mut world = World::new(LinkConfig::default());
    world.join();
    world.until("it has a ship", |world| world.pilots[0].ship.is_some());
    let id = world.pilots[0].client.with_session(|session, _| session.id()).expect("connected");
    world.server.with_session(|session, now| session.dismiss(id, now));
    let dismissed = ConnectionProblem::Closed(CloseReason::Dismissed);
    let mut ended = None;
    world.until("both ends know", |world| {
        ended = ended.or_else(|| world.server.poll_ended());
        world.pilots[0].client.connection_state() == ConnectionState::Over(Some(dismissed)) && ended.is_some()
    });
    assert_eq!(world.pilots[0].client.poll_problem(), Some(dismissed));
    assert_eq!(ended.map(|ended| (ended.client, ended.problem)), Some((id, dismissed)));

    let session = Client::<Vec3>::new(ClientConfig::new(classes()), unguessable_random());
    let config = pinned(world.server.fingerprint());
    let spacious = NetClient::connect(world.server.address(), config, session).expect("a socket");
    let refused = ConnectionProblem::Refused(CloseReason::WrongDimensions);
    until("it has given up", || spacious.connection_state() == ConnectionState::Over(Some(refused)));
    assert_eq!(spacious.poll_problem(), Some(refused));

    let leaver = connect(world.server.address(), pinned(world.server.fingerprint()));
    until("it is in", || leaver.with_session(|session, _| session.is_connected()));
    let id = leaver.with_session(|session, _| session.id()).expect("connected");
    leaver.leave(Duration::from_secs(10));
    let left = ConnectionProblem::Closed(CloseReason::Finished);
    until("the server knows why", || {
        world.server.poll_ended().is_some_and(|ended| (ended.client, ended.problem) == (id, left))
    });
}

#[test]
fn a_server_that_was_never_there_can_come_later() {
    let identity = Identity::local(&[]).expect("made");
    let placeholder = UdpSocket::bind(any_port()).expect("a socket");
    let address = placeholder.local_addr().expect("bound");
    let config =
        NetClientConfig { connect_within: Duration::from_millis(200), ..pinned(identity.fingerprint()) };
    let client = connect(address, config);
    assert_eq!(problem(&client), ConnectionProblem::NoAnswer);
    drop(placeholder);
    let _server = NetServer::bind(server_config(address, identity), server_session()).expect("its port");
    until("it is in", || client.with_session(|session, _| session.is_connected()));
    assert_eq!(client.connection_state(), ConnectionState::Connected);
}
