//! Goal: the server's thread goes on whatever the game and strangers do. Method: a game that holds
//! its session, packets of no connection, a socket full of noise.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use fairpath::random::Random;
use fairpath_net::{ConnectionState, NetClient, NetClientConfig, Trust};
use fairpath_sim::LinkConfig;

use super::arena::{PATIENCE, World, any_port, client_session, until};

#[test]
fn connections_open_while_a_game_holds_its_session() {
    let mut world = World::new(LinkConfig::default());
    world.join();
    world.until("it has a ship", |world| world.pilots[0].ship.is_some());
    let server = &world.server;
    let trust = Trust::Pinned(vec![server.fingerprint()]);
    let client: NetClient<_> = server.with_session(|_, _| {
        let client = NetClient::connect(server.address(), NetClientConfig::new(trust), client_session());
        let client = client.expect("a socket");
        until("QUIC has shaken hands", || client.connection_state() == ConnectionState::Connected);
        std::thread::sleep(Duration::from_millis(300));
        assert!(client.with_session(|session, _| !session.is_connected()), "the session waits for the game");
        client
    });
    until("the session has begun", || client.with_session(|session, _| session.is_connected()));
    world.settle();
    world.assert_promises_kept();
}

#[test]
fn packets_of_no_connection_change_nothing() {
    let mut world = World::new(LinkConfig::default());
    world.join();
    world.until("it has a ship", |world| world.pilots[0].ship.is_some());
    let socket = UdpSocket::bind(any_port()).expect("a socket");
    socket.set_read_timeout(Some(Duration::from_millis(200))).expect("a time");
    let mut random = Random::from_seed(7);
    let (mut sent, mut answered) = (0, 0);
    let mut buffer = [0; 2048];
    for first in 0..=255u8 {
        for length in [1usize, 8, 21, 40, 300, 1_200, 1_472] {
            let mut packet: Vec<u8> = (0..length).map(|_| random.bits() as u8).collect();
            packet[0] = first;
            socket.send_to(&packet, world.server.address()).expect("sent");
            sent += length;
        }
        if first == 0xBF {
            // Nothing so far was QUIC, or it had the id of no connection.
            answered += drain(&socket, &mut buffer);
        }
    }
    answered += drain(&socket, &mut buffer);
    assert!(answered <= sent / 2, "{answered} bytes in answer to {sent}");
    assert_eq!(world.server.status().len(), 1);
    assert_eq!(world.server.admission_statistics().failed, 0);
    world.join();
    world.until("another client joins", |world| world.pilots[1].ship.is_some());
    world.settle();
    world.assert_promises_kept();
}

/// Reads until nothing comes any more. Returns the bytes.
fn drain(socket: &UdpSocket, buffer: &mut [u8]) -> usize {
    std::iter::from_fn(|| socket.recv(buffer).ok()).sum()
}

#[test]
fn a_dropped_server_tells_its_clients_at_once() {
    let mut world = World::new(LinkConfig::default());
    world.join();
    world.until("it has a ship", |world| world.pilots[0].ship.is_some());
    let World { server, pilots, middleman, .. } = world;
    let begin = Instant::now();
    drop(server);
    until("the client knows", || matches!(pilots[0].client.connection_state(), ConnectionState::Over(_)));
    assert!(begin.elapsed() < PATIENCE);
    drop(middleman);
}
