//! Goal: no household keeps others out of a server, a room or its relays. Method: clients and peers
//! at two loopback addresses, and few places.

// Other systems have one loopback address.
#![cfg(target_os = "linux")]

use std::time::Duration;

use fairpath::session::{Client, ClientConfig, CloseReason, ServerConfig, ServerEvent};
use fairpath::vector::Vec2;
use fairpath_net::lobby::{Announcement, LobbyAddress, LobbyConfig, LobbyServer};
use fairpath_net::mesh::RoomKey;
use fairpath_net::{
    ConnectTokens, ConnectionProblem, Identity, NetClient, NetClientConfig, Trust, unguessable_random,
};
use fairpath_sim::LinkConfig;

use super::addresses::{Spoofer, VICTIM};
use super::arena::{World, any_port, classes, client_session, server_session_with, until};
use super::mesh::{Captain, Fleet};

/// The second address is that of another household here.
const ELSEWHERE: std::net::IpAddr = VICTIM;

#[test]
fn a_newcomer_of_another_household_finds_a_seat_on_a_full_server() {
    let config = ServerConfig { clients_max: 4, seats_kept: 2, ..ServerConfig::new(classes(), 1) };
    let mut world = World::with(LinkConfig::default(), server_session_with(config), |_| {});
    for _ in 0..4 {
        world.join();
    }
    world.until("the server is full", |world| world.pilots.iter().all(|pilot| pilot.ship.is_some()));
    let way = Spoofer::between((ELSEWHERE, 0).into(), world.server.address());
    let trust = Trust::Pinned(vec![world.server.fingerprint()]);
    let newcomer =
        NetClient::connect(way.address, NetClientConfig::new(trust), client_session()).expect("a socket");
    world.until("it is in", |_| newcomer.with_session(|session, _| session.is_connected()));
    let addresses: Vec<_> = world.server.status().iter().map(|peer| peer.address.ip()).collect();
    assert!(addresses.contains(&ELSEWHERE), "{addresses:?}");
    let is_evicted = |event: &ServerEvent| {
        matches!(event, ServerEvent::Closed { reason: CloseReason::Full, client: Some(_) })
    };
    world.until("one of four has left", |world| world.events.iter().any(is_evicted));
}

#[test]
fn a_token_for_an_address_admits_nobody_elsewhere() {
    let tokens = ConnectTokens::for_world(&[3; 32], "arena");
    let session = server_session_with(ServerConfig::new(classes(), 1)).with_admission(tokens.clone());
    let mut world = World::with(LinkConfig::default(), session, |_| {});
    let token = tokens.issue_for(b"ann", Duration::from_secs(600), ELSEWHERE).expect("short");
    let way = Spoofer::between((ELSEWHERE, 0).into(), world.server.address());
    let join = |address, world: &World| {
        let config = ClientConfig { authentication: token.clone(), ..ClientConfig::new(classes()) };
        let session = Client::<Vec2>::new(config, unguessable_random());
        let trust = Trust::Pinned(vec![world.server.fingerprint()]);
        NetClient::connect(address, NetClientConfig::new(trust), session).expect("a socket")
    };
    let thief = join(world.server.address(), &world);
    let refused = ConnectionProblem::Refused(CloseReason::NotAdmitted);
    world.until("the thief is refused", |_| {
        std::iter::from_fn(|| thief.poll_problem()).any(|problem| problem == refused)
    });
    let friend = join(way.address, &world);
    world.until("the bearer is in", |_| friend.with_session(|session, _| session.is_connected()));
}

// ── rooms

fn lobby() -> (LobbyServer, LobbyAddress) {
    let config = LobbyConfig::new(any_port(), Identity::local(&[]).expect("made"));
    let lobby = LobbyServer::bind(config).expect("a free port");
    let trust = Trust::Pinned(vec![lobby.fingerprint()]);
    let address = LobbyAddress::new(lobby.address(), trust);
    (lobby, address)
}

fn room() -> Announcement {
    Announcement::new("ships", "blue").with_attribute("room", "blue")
}

/// 34 certificates of one address closed a room to all others.
#[test]
fn a_peer_of_another_household_finds_a_place_in_a_full_mesh() {
    let (_lobby, address) = lobby();
    let host = Captain::new(0, |config| (config.peers_max, config.places_kept) = (3, 1));
    host.peer.join(address.clone(), room()).expect("a good one");
    let strangers: Vec<_> = (1..5).map(|which| Captain::new(which, |_| {})).collect();
    for captain in &strangers {
        captain.peer.join(address.clone(), room()).expect("a good one");
    }
    let has_session = |of: &Captain, with: &Captain| {
        of.peer.status().iter().any(|view| view.peer == with.name() && view.is_seen)
    };
    until("the mesh is full", || {
        strangers.iter().filter(|stranger| has_session(&host, stranger)).count() == 3
    });
    let newcomer = Captain::new(9, |config| config.listen = (ELSEWHERE, 0).into());
    newcomer.peer.join(address, room()).expect("a good one");
    until("it is in", || has_session(&host, &newcomer) && has_session(&newcomer, &host));
    assert_eq!(host.peer.peers().len(), 3);
}

#[test]
fn a_room_with_a_key_lets_no_stranger_in() {
    let (lobby, address) = lobby();
    let key = RoomKey::random();
    let with_key = |which| Captain::new(which, |config| config.room_key = Some(key.clone()));
    let mut fleet = Fleet { captains: vec![with_key(0), with_key(1), with_key(2)] };
    let other_key = Captain::new(3, |config| config.room_key = Some(RoomKey::random()));
    let stranger = Captain::new(4, |_| {});
    for captain in [&stranger, &other_key].into_iter().chain(&fleet.captains) {
        captain.peer.join(address.clone(), room()).expect("a good one");
    }
    fleet.until("those with the key see each other", |fleet| fleet.is_seen());
    until("the stranger has asked for all of them", || lobby.statistics().introductions >= 6);
    std::thread::sleep(Duration::from_millis(500));
    for captain in &fleet.captains {
        let peers = captain.peer.peers();
        assert_eq!(peers.len(), 2, "{peers:?}");
        assert!(!peers.contains(&stranger.name()) && !peers.contains(&other_key.name()));
    }
}
