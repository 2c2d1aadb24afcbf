//! Goal: a session survives trouble of its connection, and says so when it cannot. Method:
//! partitions, a new address, a restarted server, a client that dies, a late client, two clients
//! that claim one object.

use std::time::Duration;

use fairpath::session::limits::SILENCE_MAX;
use fairpath::session::{ClientEvent, CloseReason, Delivery, Party, Refusal, ServerEvent};
use fairpath::time::Span;
use fairpath::vector::{Vec2, Vector};
use fairpath::{Observation, State};
use fairpath_net::middleman::{ClientSelector, Directions};
use fairpath_net::{ConnectionProblem, ConnectionState, Identity, NetServer, Transport, new_epoch};
use fairpath_sim::{LinkConfig, Loss};

use super::arena::{BALL, Pilot, World, any_port, millis, server_config, server_session};

fn lossy() -> LinkConfig {
    LinkConfig::default().delay(millis(20)).loss(Loss::each(0.1))
}

/// Starts this many clients that fly and call.
fn flying(link: LinkConfig, count: usize) -> World {
    let mut world = World::new(link);
    // One after the other, so that the middleman's first client is the first pilot.
    for _ in 0..count {
        let pilot = world.join();
        world.until("it has a ship", |world| world.pilots[pilot].ship.is_some());
    }
    world.pilots.iter_mut().for_each(|pilot| pilot.calls = true);
    world.play_for(Duration::from_millis(300));
    world
}

fn is_lost(event: &ClientEvent) -> bool {
    matches!(event, ClientEvent::SessionLost { .. })
}

#[test]
fn three_seconds_without_a_network() {
    let mut world = flying(lossy(), 2);
    world
        .middleman
        .partition(ClientSelector::Nth(1), Directions::Both, Some(millis(3_000)))
        .expect("a partition");
    world.play_for(Duration::from_secs(3));
    world.settle();
    world.assert_promises_kept();
    assert!(!world.pilots.iter().any(|pilot| pilot.was_told(is_lost)));
}

/// The longest test, in real time: a shorter one would not try what 30 s do to QUIC's timers.
#[test]
fn thirty_seconds_without_a_network() {
    let mut world = flying(lossy(), 2);
    world
        .middleman
        .partition(ClientSelector::All, Directions::Both, Some(millis(30_000)))
        .expect("a partition");
    world.pilots.iter_mut().for_each(|pilot| pilot.calls = false);
    world.until("all clients have noticed", |world| {
        let gone = |event: &ClientEvent| matches!(event, ClientEvent::Disconnected(_));
        world.pilots.iter().all(|pilot| pilot.was_told(gone))
    });
    // Sent during the partition, and delivered afterwards.
    for pilot in &mut world.pilots {
        assert_eq!(pilot.client.poll_problem(), Some(ConnectionProblem::Lost));
        pilot.calls = true;
    }
    world.play_for(Duration::from_millis(100));
    world.pilots.iter_mut().for_each(|pilot| pilot.calls = false);
    world.until("all clients are back", |world| {
        world.pilots.iter().all(|pilot| pilot.was_told(|event| *event == ClientEvent::Resumed))
    });
    world.settle();
    world.assert_promises_kept();
    assert!(!world.pilots.iter().any(|pilot| pilot.was_told(is_lost)));
    let resumed = |event: &&ServerEvent| matches!(event, ServerEvent::Resumed(_));
    assert!(world.events.iter().filter(resumed).count() >= 2, "{:?}", world.events);
}

#[test]
fn a_new_address_is_the_same_connection() {
    let mut world = flying(lossy(), 2);
    for _ in 0..3 {
        let before: Vec<_> = world.server.status().iter().map(|peer| peer.address).collect();
        assert_eq!(world.middleman.rebind(ClientSelector::All).expect("sockets"), 2);
        world.until("the server sees all clients at new addresses", |world| {
            let now: Vec<_> = world.server.status().iter().map(|peer| peer.address).collect();
            now.len() == 2 && now.iter().all(|address| !before.contains(address))
        });
    }
    world.settle();
    world.assert_promises_kept();
    for pilot in &world.pilots {
        assert_eq!(pilot.client.status().connections, 1, "QUIC moved it");
        assert!(!pilot.was_told(|event| matches!(event, ClientEvent::Disconnected(_))));
    }
}

/// Two clients of a server that can be started again with the same identity.
fn restartable(link: LinkConfig, silence_max: Span) -> (World, Identity) {
    let folder =
        std::env::temp_dir().join(format!("fairpath-restart-{}-{}", std::process::id(), new_epoch()));
    let identity = || Identity::stored_in(&folder, "restart").expect("made");
    let mut world = World::with(link, server_session(), |config| config.identity = identity());
    for _ in 0..2 {
        world.join_with(Transport::Quic, silence_max);
    }
    world.until("all clients have a ship", |world| world.pilots.iter().all(|pilot| pilot.ship.is_some()));
    let identity = identity();
    std::fs::remove_dir_all(&folder).expect("removed");
    (world, identity)
}

/// Ends the server of a world as `end` does, and starts another at the same address.
fn replace_server(world: &mut World, identity: Identity, end: impl FnOnce(NetServer<Vec2>)) {
    let elsewhere = server_config(any_port(), Identity::local(&[]).expect("made"));
    let placeholder = NetServer::bind(elsewhere, server_session()).expect("a free port");
    let old = std::mem::replace(&mut world.server, placeholder);
    let address = old.address();
    end(old);
    world.server = NetServer::bind(server_config(address, identity), server_session()).expect("its old port");
}

/// All events of a client's sessions that are about the connection.
fn life(pilot: &Pilot) -> Vec<&ClientEvent> {
    let is_life = |event: &&ClientEvent| {
        matches!(
            event,
            ClientEvent::Connected(_)
                | ClientEvent::Disconnected(_)
                | ClientEvent::Resumed
                | ClientEvent::SessionLost { .. }
        )
    };
    pilot.events.iter().filter(is_life).collect()
}

#[test]
fn a_planned_restart() {
    let (mut world, identity) = restartable(LinkConfig::default(), SILENCE_MAX);
    replace_server(&mut world, identity, |server| {
        assert!(server.shutdown_for_restart(Duration::from_secs(60)), "all was confirmed");
    });
    world.until("all clients are back by themselves", |world| {
        let joined = |event: &&&ClientEvent| matches!(event, ClientEvent::Connected(_));
        world.pilots.iter().all(|pilot| life(pilot).iter().filter(joined).count() == 2)
    });
    for pilot in &world.pilots {
        // The system may lose the packet that says goodbye; then a reset says it.
        let problem = pilot.client.poll_problem().expect("a reason");
        let told = ConnectionProblem::Closed(CloseReason::Restarting);
        assert!([told, ConnectionProblem::Restarted].contains(&problem), "{problem}");
        let [ClientEvent::Connected(_), ClientEvent::Disconnected(_), rest @ ..] = &life(pilot)[..] else {
            panic!("{:?}", life(pilot))
        };
        let ends = matches!(rest, [ClientEvent::SessionLost { .. }, ClientEvent::Connected(_)]);
        assert!(ends, "{rest:?}");
    }
    world.settle();
}

/// The clients would wait for a minute, or for ten seconds of QUIC's own, if nothing told them.
#[test]
fn a_server_that_restarts_without_a_word_tells_its_clients_at_once() {
    let (mut world, identity) = restartable(LinkConfig::default(), Span::from_secs(60));
    // No goodbye reaches the clients.
    world.middleman.partition(ClientSelector::All, Directions::Both, None).expect("a partition");
    replace_server(&mut world, identity, drop);
    world.middleman.heal(ClientSelector::All, Directions::Both).expect("healed");
    world.until("all clients have new ships", |world| {
        world.pilots.iter().all(|pilot| pilot.was_told(is_lost) && pilot.ship.is_some())
    });
    for pilot in &world.pilots {
        assert_eq!(pilot.client.poll_problem(), Some(ConnectionProblem::Restarted));
    }
}

#[test]
fn a_restarted_server() {
    let (mut world, identity) = restartable(lossy(), SILENCE_MAX);
    // The server dies silently: no packet reaches the clients, and then another server is there.
    world.middleman.partition(ClientSelector::All, Directions::Both, None).expect("a partition");
    replace_server(&mut world, identity, drop);
    world.middleman.heal(ClientSelector::All, Directions::Both).expect("healed");
    let stone = world.server.with_session(|session, now| {
        let stone = session.create(BALL, b"stone", now).expect("room");
        let lies = Observation::Moved(State::moving(Vec2::ZERO, Vec2::ZERO));
        session.observe(stone, lies, now).expect("its own");
        stone
    });

    world.until("all clients are told that the session is lost", |world| {
        world.pilots.iter().all(|pilot| pilot.was_told(is_lost))
    });
    world.until("all clients see the new object", |world| {
        let sees = |event: &ClientEvent| matches!(event, ClientEvent::ObjectEntered { object, .. } if *object == stone);
        world.pilots.iter().all(|pilot| pilot.was_told(sees))
    });
    world.settle();
}

#[test]
fn a_client_that_dies_is_noticed_and_harms_no_other() {
    let mut world = flying(lossy(), 3);
    let ship = world.pilots[0].ship.expect("launched");
    let id = world.pilots[0].client.with_session(|session, _| session.id()).expect("connected");
    world.middleman.partition(ClientSelector::Nth(1), Directions::Both, None).expect("a partition");
    let dead = world.pilots.remove(0);
    drop(dead);
    world.until("the server has noticed", |world| world.events.contains(&ServerEvent::Detached(id)));
    assert!(
        world.server.with_session(|session, _| session.objects().any(|object| object == ship)),
        "it may come back"
    );
    world.server.with_session(|session, now| session.dismiss(id, now));
    world.until("its ship is gone for all", |world| {
        let left = ClientEvent::ObjectLeft { object: ship, is_destroyed: true };
        world.pilots.iter().all(|pilot| pilot.events.contains(&left))
    });
    world.settle();
    world.assert_promises_kept();
}

#[test]
fn a_late_client_gets_the_current_state() {
    let mut world = flying(lossy(), 1);
    let ship = world.pilots[0].ship.expect("launched");
    world.pilots[0].client.with_session(|session, _| {
        session.set_state(ship, 0, b"armed").expect("its own");
        session.set_state(ship, 0, b"sunk").expect("its own");
        session.set_state(ship, 31, b"blue").expect("its own");
    });
    world.settle();
    let late = world.join();
    world.until("it has a ship too", |world| world.pilots[late].ship.is_some());
    world.settle();
    world.until("the late one knows the states", |world| {
        world.pilots[late].client.with_session(|session, _| {
            session.state(ship, 0) == Some(b"sunk") && session.state(ship, 31) == Some(b"blue")
        })
    });
    let creation = |world: &World| {
        world.pilots[late].client.with_session(|session, _| session.creation(ship).map(<[u8]>::to_vec))
    };
    assert_eq!(creation(&world).as_deref(), Some(&b"ship"[..]));
}

#[test]
fn one_of_two_claims_to_an_object_wins() {
    let mut world = flying(lossy(), 3);
    let still = |x: f64| Observation::Moved(State::moving(Vec2::new(x, 0.0), Vec2::ZERO));
    let ball = world.server.with_session(|session, now| {
        let ball = session.create(BALL, b"", now).expect("room");
        session.observe(ball, still(5.0), now).expect("its own");
        ball
    });
    world.until("all clients see it", |world| {
        world.pilots.iter().all(|pilot| pilot.client.with_session(|session, _| session.owner(ball).is_some()))
    });
    for which in [0, 1] {
        world.pilots[which].client.with_session(|session, _| session.claim(ball)).expect("seen");
    }
    let refused = ClientEvent::Refused { object: ball, refusal: Refusal::ClaimLost };
    world.until("one is told that it was too late", |world| {
        world.pilots.iter().any(|pilot| pilot.events.contains(&refused))
    });
    let loser = world.pilots.iter().position(|pilot| pilot.events.contains(&refused)).expect("just seen");
    let winner = 1 - loser;
    assert!(!world.pilots[winner].events.contains(&refused), "only one");
    world.until("all clients agree on the owner", |world| {
        let owner = world.pilots[winner].client.with_session(|session, _| session.id()).map(Party::Client);
        world.pilots.iter().all(|pilot| pilot.client.with_session(|session, _| session.owner(ball) == owner))
    });
    world.until("the new owner moves it and all clients see it", |world| {
        let moved =
            world.pilots[winner].client.with_session(|session, now| session.observe(ball, still(-30.0), now));
        moved.expect("its own now");
        world.pilots.iter().all(|pilot| {
            let placed = pilot.client.with_session(|session, now| session.place(ball, now));
            placed.is_some_and(|placed| placed.position.distance(Vec2::new(-30.0, 0.0)) < 0.35)
        })
    });
}

#[test]
fn a_server_that_shuts_down_says_so_and_delivers_first() {
    let mut world = flying(lossy(), 2);
    world.settle();
    let clients: Vec<_> = world.server.with_session(|session, _| session.clients().collect());
    world.server.with_session(|session, _| {
        for client in &clients {
            for method in 0..50 {
                session.call_client(*client, method, b"last words", Delivery::ReliableOrdered).expect("room");
            }
        }
    });
    let elsewhere = server_config(any_port(), Identity::local(&[]).expect("made"));
    let placeholder = NetServer::bind(elsewhere, server_session()).expect("a free port");
    let server = std::mem::replace(&mut world.server, placeholder);
    assert!(server.shutdown(Duration::from_secs(60)), "all was confirmed");
    world.until("all clients know that it is over", |world| {
        let over = ConnectionState::Over(Some(ConnectionProblem::Closed(CloseReason::Finished)));
        world.pilots.iter().all(|pilot| pilot.client.connection_state() == over)
    });
    for pilot in &world.pilots {
        let words = pilot.events.iter().filter(|event| matches!(event, ClientEvent::Called { .. }));
        assert_eq!(words.count(), 50);
    }
}

#[test]
fn a_client_that_leaves_delivers_first_and_takes_its_ship_along() {
    let mut world = flying(lossy(), 2);
    let ship = world.pilots[0].ship.expect("launched");
    world.settle();
    let leaving = world.pilots.remove(0);
    leaving.client.with_session(|session, _| {
        for method in 0..50 {
            session.call_server((3 << 20) + method, b"", Delivery::ReliableOrdered).expect("room");
        }
    });
    assert!(leaving.client.leave(Duration::from_secs(60)), "all was confirmed");
    world.until("its ship is gone", |world| {
        world.pilots[0].events.contains(&ClientEvent::ObjectLeft { object: ship, is_destroyed: true })
    });
    let last =
        |event: &&ServerEvent| matches!(event, ServerEvent::Called { method, .. } if method >> 20 == 3);
    assert_eq!(world.events.iter().filter(last).count(), 50);
}
