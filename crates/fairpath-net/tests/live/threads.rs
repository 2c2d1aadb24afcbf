//! Goal: several threads of a server serve one world. Method: many clients, which the system
//! spreads over the threads, that see each other, change their addresses, leave, and come back.

use std::collections::BTreeSet;

use fairpath::session::ClientEvent;
use fairpath_net::middleman::ClientSelector;
use fairpath_net::{BindError, ConnectionState, Identity, NetServer, NetServerConfig, Transport};
use fairpath_sim::{LinkConfig, Loss};

use super::arena::{World, any_port, millis, server_config, server_session, until};

/// With this many clients the system gives all of them to one of three threads once in 3^11 runs.
const CLIENTS: usize = 12;

fn served_by(threads: usize, link: LinkConfig, clients: usize) -> World {
    let mut world = World::with(link, server_session(), |config| config.threads = threads);
    for nth in 0..clients {
        world.join_by(if nth % 4 == 3 { Transport::WebTransport } else { Transport::Quic });
    }
    world.until("all clients have a ship", |world| world.pilots.iter().all(|pilot| pilot.ship.is_some()));
    world
}

#[test]
fn clients_of_different_threads_play_in_one_world() {
    let link = LinkConfig::default().delay(millis(20)).loss(Loss::each(0.03));
    let mut world = served_by(3, link, CLIENTS);
    world.until("motion leaves sealed", |world| {
        world.server.sealed_statistics().in_use == CLIENTS - CLIENTS / 4
    });
    world.settle();
    world.assert_promises_kept();
    let status = world.server.status();
    let clients: BTreeSet<_> = status.iter().filter_map(|peer| peer.client).collect();
    assert_eq!((status.len(), clients.len()), (CLIENTS, CLIENTS), "each is with one thread");
}

#[test]
fn a_client_keeps_its_thread_when_its_address_changes() {
    let mut world = served_by(3, LinkConfig::default().delay(millis(10)), CLIENTS);
    // The system gives two of three new addresses to another thread, which passes packets on.
    for _ in 0..3 {
        let before: BTreeSet<_> = world.server.status().iter().map(|peer| peer.address).collect();
        assert_eq!(world.middleman.rebind(ClientSelector::All).expect("sockets"), CLIENTS);
        world.until("the server sees all clients at new addresses", |world| {
            let now: Vec<_> = world.server.status().iter().map(|peer| peer.address).collect();
            now.len() == CLIENTS && now.iter().all(|address| !before.contains(address))
        });
    }
    world.settle();
    world.assert_promises_kept();
    for pilot in &world.pilots {
        assert_eq!(pilot.client.status().connections, 1, "QUIC moved it");
        assert!(!pilot.was_told(|event| matches!(event, ClientEvent::Disconnected(_))));
    }
}

#[test]
fn every_thread_hears_of_ends() {
    let mut world = served_by(3, LinkConfig::default(), CLIENTS);
    // The game ends some sessions: each on the thread that has the connection.
    let dismissed: Vec<_> = world.server.with_session(|session, now| {
        let clients: Vec<_> = session.clients().step_by(2).collect();
        clients.iter().for_each(|client| session.dismiss(*client, now));
        clients
    });
    world.until("they are gone", |world| world.server.status().len() == CLIENTS - dismissed.len());
    let ended = std::iter::from_fn(|| world.server.poll_ended()).count();
    assert_eq!(ended, dismissed.len());
    // The others are told that the server stops, and confirm before.
    let World { server, pilots, middleman, .. } = world;
    assert!(server.shutdown(std::time::Duration::from_secs(60)), "all have confirmed");
    for pilot in &pilots {
        until("it knows", || matches!(pilot.client.connection_state(), ConnectionState::Over(_)));
    }
    drop(middleman);
}

#[test]
fn two_servers_do_not_share_an_address_by_accident() {
    let bind = |address, threads| {
        let config = server_config(address, Identity::local(&[]).expect("made"));
        NetServer::bind(NetServerConfig { threads, ..config }, server_session())
    };
    let first = bind(any_port(), 2).expect("a free port");
    for threads in [1, 2] {
        match bind(first.address(), threads) {
            Err(BindError::Listen(address, _)) => assert_eq!(address, first.address()),
            other => panic!("{threads} threads: {:?}", other.map(|server| server.address())),
        }
    }
    for threads in [0, NetServerConfig::THREADS_MAX + 1] {
        let error = bind(any_port(), threads).expect_err("refused").to_string();
        assert_eq!(error, format!("cannot serve with {threads} threads; choose 1 to 64"));
    }
    drop(first);
}
