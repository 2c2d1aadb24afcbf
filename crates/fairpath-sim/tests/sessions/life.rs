//! Goal: a session survives what networks do, and says so when it cannot. Method: partitions of 3,
//! 30 and 61 s, a new address, a server that starts anew; calls that must arrive are made all the
//! while.

use fairpath::Observation;
use fairpath::session::{
    Client, ClientEvent, CloseReason, ConnectionId, Delivery, ObjectError, Party, Server, ServerEvent, Token,
    Undelivered,
};
use fairpath::time::{LocalInstant, SharedInstant, Span};
use fairpath::vector::Vec2;
use fairpath_sim::{Fault, LinkConfig, Loss, PeerId};

use super::arena::{
    SHIP, World, client, client_events, error, fly, idle, launch, place_ball, server, server_events, truth,
    world,
};

const NEAR: PeerId = PeerId(1);

fn lossy() -> LinkConfig {
    LinkConfig::default().delay(Span::from_millis(40)).loss(Loss::each(0.1))
}

/// Numbers the calls that the first client makes, ten a second.
fn count_up(world: &mut World, next: &mut u32) {
    if world.client(0).call_server(*next, b"", Delivery::ReliableOrdered).is_ok() {
        *next += 1;
    }
}

/// The methods that were called, in the order the server heard of them.
fn heard(events: &[ServerEvent]) -> Vec<u32> {
    let method = |event: &ServerEvent| match event {
        ServerEvent::Called { method, .. } => Some(*method),
        _ => None,
    };
    events.iter().filter_map(method).collect()
}

/// Runs through a partition of this length, and twelve seconds more.
fn through_a_partition(length: Span) -> (World, Vec<ServerEvent>, Vec<ClientEvent>, u32) {
    let mut world = world(5, lossy(), 2);
    let ships = launch(&mut world);
    let (mut next, mut frame, mut events) = (0, 0, Vec::new());
    let now = world.now();
    world.network.fault_at(now + Span::from_secs(3), Fault::Isolate(NEAR));
    world.network.fault_at(now + Span::from_secs(3) + length, Fault::Rejoin(NEAR));
    world.run_for(Span::from_secs(15) + length, |world, now| {
        fly(world, &ships, now);
        frame += 1;
        if frame % 6 == 0 {
            count_up(world, &mut next);
        }
        events.extend(server_events(world));
    });
    let mine = client_events(&mut world, 0);
    (world, events, mine, next)
}

#[test]
fn three_seconds_without_a_network_are_not_even_noticed() {
    let (mut world, events, mine, _) = through_a_partition(Span::from_secs(3));
    assert!(!events.iter().any(|event| matches!(event, ServerEvent::Detached(_) | ServerEvent::Resumed(_))));
    assert!(!mine.iter().any(|event| matches!(event, ClientEvent::Disconnected(_))));
    let ships: Vec<_> = world.server.objects().collect();
    assert!(error(&mut world, 1, ships[0], 0).expect("seen") < 3.0);
}

#[test]
fn thirty_seconds_later_the_session_goes_on_and_nothing_is_lost_or_repeated() {
    let (mut world, events, mine, next) = through_a_partition(Span::from_secs(30));
    assert!(events.iter().any(|event| matches!(event, ServerEvent::Resumed(_))), "{events:?}");
    assert!(mine.contains(&ClientEvent::Resumed));
    assert!(!mine.iter().any(|event| matches!(event, ClientEvent::SessionLost { .. })));
    let heard = heard(&events);
    assert_eq!(heard, (0..heard.len() as u32).collect::<Vec<_>>(), "exactly once and in order");
    assert!(heard.len() as u32 + 10 > next && next > 400, "{} of {next}", heard.len());
    let ships: Vec<_> = world.server.objects().collect();
    assert!(error(&mut world, 1, ships[0], 0).expect("seen") < 3.0, "and it is seen where it is");
    assert!(error(&mut world, 0, ships[1], 1).expect("seen") < 3.0);
}

#[test]
fn after_a_minute_it_is_lost_and_says_what_was_not_delivered() {
    let (mut world, events, mine, next) = through_a_partition(Span::from_secs(70));
    assert!(events.iter().any(|event| matches!(event, ServerEvent::SessionLost { .. })), "{events:?}");
    let undelivered = mine.iter().find_map(|event| match event {
        ClientEvent::SessionLost { undelivered } => Some(undelivered.clone()),
        _ => None,
    });
    let named: Vec<u32> = undelivered
        .expect("the client is told")
        .iter()
        .filter_map(|item| match item {
            Undelivered::Call { method, delivery: Delivery::ReliableOrdered, .. } => Some(*method),
            _ => None,
        })
        .collect();
    // What is not named has arrived; what is named may have, where only the confirmation was lost.
    let heard = heard(&events);
    let first = *named.first().expect("calls were made in the dark");
    let before: Vec<u32> = heard.iter().copied().take_while(|method| *method < first).collect();
    assert_eq!(before, (0..first).collect::<Vec<_>>());
    assert!(named.len() > 500 && next > 700, "{} named of {next}", named.len());
    // And then everything is announced anew.
    let lost = mine.iter().position(|event| matches!(event, ClientEvent::SessionLost { .. })).expect("lost");
    let after = &mine[lost..];
    assert!(after.iter().any(|event| matches!(event, ClientEvent::Connected(_))));
    assert!(after.iter().any(|event| matches!(event, ClientEvent::ObjectEntered { .. })));
    let ships: Vec<_> = world.server.objects().collect();
    assert_eq!(ships.len(), 1, "its own ship is gone with the session");
    assert!(error(&mut world, 0, ships[0], 1).expect("seen") < 3.0);
}

#[test]
fn a_new_address_is_the_same_session() {
    let mut world = world(9, lossy(), 2);
    let ships = launch(&mut world);
    let mut next = 0;
    let mut events = Vec::new();
    for round in 0..8 {
        world.run_for(Span::from_secs(1), |world, now| {
            fly(world, &ships, now);
            count_up(world, &mut next);
            events.extend(server_events(world));
        });
        if round < 6 {
            world.cut(0);
        }
    }
    let heard = heard(&events);
    assert_eq!(heard, (0..heard.len() as u32).collect::<Vec<_>>(), "exactly once and in order");
    assert!(heard.len() as u32 + 60 > next, "{} of {next}", heard.len());
    assert!(!events.iter().any(|event| matches!(event, ServerEvent::SessionLost { .. })));
    assert_eq!(world.server.clients().count(), 2);
}

#[test]
fn a_server_that_starts_anew_loses_sessions_and_everybody_is_told() {
    let mut world = world(13, lossy(), 2);
    let ships = launch(&mut world);
    world.run_for(Span::from_secs(2), |world, now| fly(world, &ships, now));
    client_events(&mut world, 0);
    world.restart_server(server(2));
    let stone = place_ball(&mut world, b"stone");
    world.run_for(Span::from_secs(8), idle);
    let events = client_events(&mut world, 0);
    let lost = events.iter().position(|event| matches!(event, ClientEvent::SessionLost { .. }));
    let entered = events
        .iter()
        .position(|event| matches!(event, ClientEvent::ObjectEntered { object, .. } if *object == stone));
    assert!(lost.expect("told") < entered.expect("announced"), "{events:?}");
    assert_eq!(world.client(0).objects().collect::<Vec<_>>(), [stone]);
    assert_eq!(world.client(0).owner(stone), Some(Party::Server));
}

#[test]
fn a_client_that_leaves_takes_its_ship_along_and_cannot_resume() {
    let mut world = world(17, LinkConfig::default().delay(Span::from_millis(40)), 2);
    let ships = launch(&mut world);
    world.run_for(Span::from_secs(1), |world, now| fly(world, &ships, now));
    let (client, local) = world.client_now(0);
    client.leave(local);
    world.run_for(Span::from_millis(500), idle);
    let events = server_events(&mut world);
    assert!(events.iter().any(|event| matches!(event, ServerEvent::Destroyed { .. })), "{events:?}");
    let left = client_events(&mut world, 1);
    assert!(left.contains(&ClientEvent::ObjectLeft { object: ships[0], is_destroyed: true }), "{left:?}");
}

#[test]
fn letters_and_quickest_calls_arrive_once_through_a_partition() {
    let mut world = world(23, lossy(), 1);
    world.connect_all();
    server_events(&mut world);
    let mut sent = 0;
    for round in 0..9 {
        for delivery in [Delivery::ReliableUnordered, Delivery::Quickest] {
            for _ in 0..3 {
                world.client(0).call_server(sent, b"x", delivery).expect("room");
                sent += 1;
            }
        }
        if round % 3 == 0 {
            world.network.inject(Fault::Isolate(NEAR));
        } else if round % 3 == 2 {
            world.network.inject(Fault::Rejoin(NEAR));
        }
        world.run_for(Span::from_secs(4), idle);
    }
    world.run_for(Span::from_secs(6), idle);
    let mut heard = heard(&server_events(&mut world));
    heard.sort_unstable();
    assert_eq!(heard, (0..sent).collect::<Vec<_>>());
}

/// The client's half of a transport that takes no time, once: everything it has to say, and
/// everything it is told.
fn exchange(client: &mut Client<Vec2>, server: &mut Server<Vec2>, id: ConnectionId, at: Span) {
    let (local, shared) = (LocalInstant::ZERO + at, SharedInstant::ZERO + at);
    while let Some(bytes) = client.poll_stream(local) {
        server.handle_stream(id, &bytes, shared);
    }
    while let Some(bytes) = server.poll_stream(id, shared) {
        client.handle_stream(&bytes, local);
    }
}

#[test]
fn who_asked_in_time_may_resume_though_the_answer_comes_after_a_minute() {
    let (mut client, mut server) = (client(0), server(1));
    let secs = |secs: f64| Span::from_secs_f64(secs);
    let connect = |client: &mut Client<Vec2>, server: &mut Server<Vec2>, number: u8, at: Span| {
        client.handle_connected(LocalInstant::ZERO + at);
        server.handle_connected(Token([number; 16]), SharedInstant::ZERO + at).expect("room")
    };
    let first = connect(&mut client, &mut server, 1, secs(1.0));
    exchange(&mut client, &mut server, first, secs(1.0));
    assert!(client.is_connected());
    client.handle_disconnected(None, LocalInstant::ZERO + secs(2.0));
    server.handle_disconnected(first, None, SharedInstant::ZERO + secs(2.0));

    // It asks at 59 s and is answered at 61 s.
    let second = connect(&mut client, &mut server, 2, secs(61.0));
    let hello = client.poll_stream(LocalInstant::ZERO + secs(61.0)).expect("it asks");
    server.handle_stream(second, &hello, SharedInstant::ZERO + secs(61.5));
    client.handle_timeout(LocalInstant::ZERO + secs(63.0));
    exchange(&mut client, &mut server, second, secs(63.0));
    assert_eq!(client.poll_close(), None, "nobody is accused of anything");
    let events: Vec<_> = std::iter::from_fn(|| client.poll_event()).collect();
    assert_eq!(events.last(), Some(&ClientEvent::Resumed), "{events:?}");

    // Who is not answered at all has lost it.
    client.handle_disconnected(None, LocalInstant::ZERO + secs(64.0));
    client.handle_connected(LocalInstant::ZERO + secs(123.0));
    client.handle_timeout(LocalInstant::ZERO + secs(125.0));
    assert!(client.id().is_some());
    client.handle_timeout(LocalInstant::ZERO + secs(127.0));
    client.handle_timeout(LocalInstant::ZERO + secs(127.1));
    assert_eq!(client.id(), None);
}

#[test]
fn a_planned_restart_keeps_the_session_until_the_next_run_and_then_begins_anew() {
    let mut world = world(5, LinkConfig::default().delay(Span::from_millis(40)), 2);
    let ships = launch(&mut world);
    world.run_for(Span::from_secs(1), |world, now| fly(world, &ships, now));
    world.client(0).call_server(7, b"", Delivery::ReliableOrdered).expect("room");
    world.stop_server(CloseReason::Restarting);
    client_events(&mut world, 0);
    world.run_for(Span::from_secs(5), idle);
    let told = client_events(&mut world, 0);
    assert_eq!(told, [ClientEvent::Disconnected(Some(CloseReason::Restarting))]);
    assert!(world.client(0).id().is_some() && !world.client(0).is_connected());
    world.restart_server(server(2));
    world.run_for(Span::from_secs(6), idle);
    let events = client_events(&mut world, 0);
    let undelivered = events.iter().find_map(|event| match event {
        ClientEvent::SessionLost { undelivered } => Some(undelivered.clone()),
        _ => None,
    });
    let is_call = |it: &Undelivered| matches!(it, Undelivered::Call { method: 7, .. });
    assert!(undelivered.expect("another run").iter().any(is_call));
    assert!(events.iter().any(|event| matches!(event, ClientEvent::Connected(_))), "{events:?}");
    assert_eq!(world.client(0).objects().count(), 0, "the ships were the old run's");
}

#[test]
fn after_a_restart_an_id_means_another_object_and_a_handle_does_not() {
    let mut world = world(5, LinkConfig::default().delay(Span::from_millis(40)), 1);
    let ball = place_ball(&mut world, b"old");
    let ship = launch(&mut world)[0];
    world.run_for(Span::from_secs(1), |world, now| fly(world, &[ship], now));
    let (of_ball, of_ship) = (world.client(0).handle(ball), world.client(0).handle(ship));
    let (of_ball, of_ship) = (of_ball.expect("seen"), of_ship.expect("its own"));
    let at_server = world.server.handle(ball).expect("it exists");
    assert_eq!((of_ball.id(), world.client(0).resolve(of_ball)), (ball, Ok(ball)));
    assert_eq!(world.server.resolve(at_server), Ok(ball));

    world.restart_server(server(2));
    let new_ball = place_ball(&mut world, b"new");
    assert_eq!(new_ball, ball, "another run counts from the beginning");
    assert_eq!(world.server.resolve(at_server), Err(ObjectError::Stale(ball)));
    world.run_for(Span::from_secs(8), idle);
    let client = world.client(0);
    assert_eq!(client.creation(ball), Some(&b"new"[..]), "the id means another object");
    assert_eq!(client.resolve(of_ball), Err(ObjectError::Stale(ball)), "the handle means none");
    let now_it = client.handle(ball).expect("seen");
    assert_eq!((client.resolve(now_it), now_it == of_ball), (Ok(ball), false));
    assert_eq!(client.resolve(of_ship), Err(ObjectError::Stale(ship)));

    let (client, local) = world.client_now(0);
    client.leave(local);
    assert_eq!(client.resolve(now_it), Err(ObjectError::Stale(ball)), "the session is over");
    let moved = Observation::Moved(truth(0, SharedInstant::ZERO));
    assert_eq!(client.observe(ship, moved, local), Err(ObjectError::Unknown(ship)));
}

#[test]
fn a_handle_does_not_mean_the_next_object_with_its_id() {
    let mut server = server(1);
    let mut now = SharedInstant::ZERO;
    let first: Vec<_> = (0..32).map(|_| server.create(SHIP, b"", now).expect("room")).collect();
    let handles: Vec<_> = first.iter().map(|ship| server.handle(*ship).expect("it exists")).collect();
    first.iter().for_each(|ship| server.destroy(*ship).expect("it exists"));
    now += Span::from_secs(200);
    let next: Vec<_> = (0..32).map(|_| server.create(SHIP, b"", now).expect("room")).collect();
    assert_eq!(next, first, "the ids are used again");
    for handle in handles {
        assert_eq!(server.resolve(handle), Err(ObjectError::Stale(handle.id())));
    }
}
