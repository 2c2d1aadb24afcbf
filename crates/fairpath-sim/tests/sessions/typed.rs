//! Goal: a game that is described once plays with its own types. Method: a small game of ships with
//! scores and chat, over bad links.

use fairpath::random::Random;
use fairpath::schedule::Broadcast;
use fairpath::session::{
    CallError, Class, Client, ClientConfig, ClientEvent, ClientId, CloseReason, Delivery, ObjectError, Party,
    Protocol, Refusal, Server, ServerConfig, ServerEvent, Target, Undelivered, Value,
};
use fairpath::time::{SharedInstant, Span};
use fairpath::vector::{Vec2, Vector};
use fairpath::{EntityId, FixedSteps, State};
use fairpath_laws::{law, proptest::prelude::*};
use fairpath_sim::{LinkConfig, Loss, SessionWorld};
use serde::{Deserialize, Serialize};

use super::arena::{World, client_events, idle, server_events};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Ship {
    name: String,
}
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Board;
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Ammo(u16);
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Score(u32);
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Chat(String);
#[derive(Debug, Serialize, Deserialize)]
struct Unknown;

fn game(threshold: f64) -> Protocol<Vec2> {
    let ship = Class::within(threshold).circular().state::<Ammo>("ammo").server_state::<Score>("score");
    Protocol::new("ships", 1)
        .class::<Ship>("ship", ship)
        .class::<Board>("board", Class::without_motion().state::<Score>("best"))
        .call::<Chat>("chat", Delivery::ReliableOrdered)
}

fn server() -> Server<Vec2> {
    server_of_run(1)
}

fn server_of_run(epoch: u64) -> Server<Vec2> {
    Server::new(ServerConfig::new(game(0.2), epoch), Box::new(Broadcast), Random::from_seed(epoch))
}

fn client(game: Protocol<Vec2>, seed: u64) -> Client<Vec2> {
    Client::new(ClientConfig::new(game), Random::from_seed(seed))
}

fn world(clients: u64) -> World {
    let link = LinkConfig::default().delay(Span::from_millis(80)).loss(Loss::each(0.1));
    SessionWorld::new(5, link, server(), (0..clients).map(|seed| client(game(0.2), seed)).collect())
}

fn at(x: f64) -> State<Vec2> {
    State::moving(Vec2::new(x, 0.0), Vec2::ZERO)
}

fn launch(world: &mut World, index: usize) -> EntityId {
    let mut frame = world.client_frame(index);
    let now = frame.now();
    let ship = Ship { name: format!("ship {index}") };
    frame.create(&ship, at(index as f64), now).expect("connected")
}

#[test]
fn objects_enter_with_their_value_and_their_place() {
    let mut world = world(2);
    world.connect_all();
    let ship = launch(&mut world, 0);
    world.run_for(Span::from_secs(1), idle);
    let anna = Ship { name: "ship 0".into() };
    let events = server_events(&mut world);
    let created = events.iter().find_map(|event| match event {
        ServerEvent::Created { object, by, creation, .. } => Some((*object, *by, creation.get::<Ship>())),
        _ => None,
    });
    assert_eq!(created, Some((ship, ClientId(0), Some(anna.clone()))));
    let events = client_events(&mut world, 1);
    let entered = events.iter().find_map(|event| match event {
        ClientEvent::ObjectEntered { object, owner, creation, .. } => {
            Some((*object, *owner, creation.clone()))
        }
        _ => None,
    });
    let (object, owner, creation) = entered.expect("announced");
    assert_eq!((object, owner, creation.get()), (ship, Party::Client(ClientId(0)), Some(anna.clone())));
    assert_eq!(creation.get::<Board>(), None, "another type");
    let mut frame = world.client_frame(1);
    assert_eq!(frame.objects_of::<Ship>(), [ship]);
    assert_eq!(frame.creation::<Ship>(ship), Some(anna));
    assert!(frame.place(ship).is_some() && frame.draw(ship).is_some());
    assert!(!frame.is_mine(ship) && world.client_frame(0).is_mine(ship));
}

#[test]
fn the_owner_sets_its_states_and_the_server_sets_its_own() {
    let mut world = world(2);
    world.connect_all();
    let ship = launch(&mut world, 0);
    world.run_for(Span::from_secs(1), idle);
    world.client_frame(0).set(ship, &Ammo(30)).expect("its own");
    assert_eq!(world.client_frame(0).set(ship, &Score(99)), Err(ObjectError::NotYourGroup(ship, 1)));
    assert_eq!(world.server_frame().set(ship, &Ammo(99)), Err(ObjectError::NotOwner(ship)));
    world.server_frame().set(ship, &Score(7)).expect("the server's");
    world.run_for(Span::from_secs(2), idle);
    for index in 0..2 {
        let frame = world.client_frame(index);
        assert_eq!((frame.get(ship), frame.get(ship)), (Some(Ammo(30)), Some(Score(7))), "client {index}");
    }
    let told = |events: &[ClientEvent]| {
        let score = |event: &ClientEvent| match event {
            ClientEvent::StateChanged { object, value, .. } if *object == ship => value.get::<Score>(),
            _ => None,
        };
        events.iter().find_map(score)
    };
    assert_eq!(told(&client_events(&mut world, 0)), Some(Score(7)), "the owner is told, too");
    // The score outlasts a hand-over, there and back.
    world.server_frame().give(ship, Party::Server).expect("known");
    world.run_for(Span::from_secs(1), idle);
    world.server_frame().set(ship, &Ammo(5)).expect("its own now");
    world.server_frame().set(ship, &Score(8)).expect("still its own");
    world.server_frame().give(ship, Party::Client(ClientId(1))).expect("known");
    world.run_for(Span::from_secs(2), idle);
    assert_eq!(world.client_frame(1).set(ship, &Score(0)), Err(ObjectError::NotYourGroup(ship, 1)));
    for index in 0..2 {
        let frame = world.client_frame(index);
        assert_eq!((frame.get(ship), frame.get(ship)), (Some(Ammo(5)), Some(Score(8))), "client {index}");
    }
}

#[test]
fn what_a_lost_session_did_not_deliver_has_its_type() {
    let mut world = world(1);
    world.connect_all();
    let ship = launch(&mut world, 0);
    world.run_for(Span::from_secs(1), idle);
    // What a client says to a server that is down.
    world.stop_server(CloseReason::Restarting);
    world.run_for(Span::from_secs(1), idle);
    world.client_frame(0).set(ship, &Ammo(3)).expect("its own");
    world.client_frame(0).call_server(&Chat("wait for me".into())).expect("room");
    world.restart_server(server_of_run(2));
    world.run_for(Span::from_secs(6), idle);
    let lost = client_events(&mut world, 0).into_iter().find_map(|event| match event {
        ClientEvent::SessionLost { undelivered } => Some(undelivered),
        _ => None,
    });
    let lost = lost.expect("another run");
    let chat = lost.iter().find_map(|item| match item {
        Undelivered::Call { target: Target::Connection, call, .. } => call.get::<Chat>(),
        _ => None,
    });
    assert_eq!(chat, Some(Chat("wait for me".into())), "{lost:?}");
    assert_eq!(undelivered_state(&lost, ship), Some(Ammo(3)), "{lost:?}");
    assert_eq!(undelivered_state::<Score>(&lost, ship), None, "another type");
    // What a server says to a client that it dismisses. The ship goes with its owner.
    let (ship, id) = (launch(&mut world, 0), world.client(0).id().expect("connected"));
    world.run_for(Span::from_secs(1), idle);
    world.server_frame().set(ship, &Score(9)).expect("the server's");
    let now = world.now();
    world.server.dismiss(id, now);
    let lost = server_events(&mut world).into_iter().find_map(|event| match event {
        ServerEvent::SessionLost { undelivered, .. } => Some(undelivered),
        _ => None,
    });
    assert_eq!(undelivered_state(&lost.expect("dismissed"), ship), Some(Score(9)));
}

fn undelivered_state<T: Value>(undelivered: &[Undelivered], of: EntityId) -> Option<T> {
    undelivered.iter().find_map(|item| match item {
        Undelivered::State { object, value, .. } if *object == of => value.get(),
        _ => None,
    })
}

#[test]
fn calls_reach_all_all_but_one_viewers_owners_and_the_server() {
    let mut world = world(3);
    world.connect_all();
    let ship = launch(&mut world, 0);
    world.run_for(Span::from_secs(1), idle);
    let chat = |text: &str| Chat(text.into());
    world.client_frame(1).call_server(&chat("hello")).expect("room");
    world.client_frame(1).call_owner(ship, &chat("nice ship")).expect("room");
    world.client_frame(0).call_viewers(ship, &chat("watch me")).expect("room");
    assert_eq!(world.server_frame().call_all(&chat("all")), Ok(vec![]));
    assert_eq!(world.server_frame().call_all_but(ClientId(2), &chat("not 2")), Ok(vec![]));
    assert_eq!(world.server_frame().call_viewers(ship, &chat("viewers")), Ok(vec![]));
    world.server_frame().call_owner(ship, &chat("owner")).expect("room");
    world.server_frame().call_client(ClientId(1), &chat("you")).expect("room");
    world.run_for(Span::from_secs(2), idle);
    let mut heard: Vec<Vec<String>> = Vec::new();
    for index in 0..3 {
        let mut texts: Vec<String> = client_events(&mut world, index)
            .iter()
            .filter_map(|event| match event {
                ClientEvent::Called { call, .. } => call.get::<Chat>().map(|chat| chat.0),
                _ => None,
            })
            .collect();
        texts.sort();
        heard.push(texts);
    }
    assert_eq!(heard[0], ["all", "nice ship", "not 2", "owner"]);
    assert_eq!(heard[1], ["all", "not 2", "viewers", "watch me", "you"]);
    assert_eq!(heard[2], ["all", "viewers", "watch me"]);
    let is_hello = |event: &ServerEvent| matches!(event, ServerEvent::Called { from: ClientId(1), call, .. } if call.get() == Some(chat("hello")));
    assert!(server_events(&mut world).iter().any(is_hello));
}

#[test]
fn a_client_takes_thresholds_from_the_server_and_another_game_is_refused_with_a_reason() {
    let other = |edit: fn(Protocol<Vec2>) -> Protocol<Vec2>| client(edit(Protocol::new("ships", 1)), 9);
    let newer = Client::new(ClientConfig::new(Protocol::new("ships", 2)), Random::from_seed(9));
    let stranger = Client::new(ClientConfig::new(Protocol::new("boats", 1)), Random::from_seed(9));
    let cases = [
        (client(game(50.0), 9), None),
        (other(|game| game), Some(CloseReason::WrongProtocol)),
        (newer, Some(CloseReason::WrongGameVersion)),
        (stranger, Some(CloseReason::WrongGame)),
    ];
    for (client, reason) in cases {
        let mut world: World = SessionWorld::new(5, LinkConfig::default(), server(), vec![client]);
        world.run_for(Span::from_secs(1), idle);
        let closed = client_events(&mut world, 0).into_iter().find_map(|event| match event {
            ClientEvent::Disconnected(reason) => reason,
            _ => None,
        });
        assert_eq!(closed, reason);
        if reason.is_none() {
            let ship = launch(&mut world, 0);
            world.run_for(Span::from_millis(100), idle);
            let mut frame = world.client_frame(0);
            let now = frame.now();
            frame.observe(ship, at(0.3), now).expect("its own");
            world.run_for(Span::from_millis(100), idle);
            let placed = world.server_frame().place(ship).expect("known").position.x;
            assert!((placed - 0.3).abs() < 0.01, "sent at 0.2, not at 50: {placed}");
        }
    }
}

#[test]
fn mistakes_of_the_game_are_errors_and_change_nothing() {
    let mut world = world(1);
    let early = world.client_frame(0).create(&Board, at(0.0), Default::default());
    assert_eq!(early, Err(ObjectError::WrongMotion));
    let now = world.client_frame(0).now();
    assert_eq!(
        world.client_frame(0).create(&Ship { name: "x".into() }, at(0.0), now),
        Err(ObjectError::NoSession)
    );
    world.connect_all();
    let ship = launch(&mut world, 0);
    let mut frame = world.client_frame(0);
    let now = frame.now();
    assert!(matches!(frame.create(&Unknown, at(0.0), now), Err(ObjectError::NotInProtocol(_))));
    assert!(matches!(frame.set(ship, &Unknown), Err(ObjectError::NotInProtocol(_))));
    assert!(matches!(frame.call_server(&Unknown), Err(CallError::NotInProtocol(_))));
    assert_eq!(frame.create_motionless(&Ship { name: "x".into() }), Err(ObjectError::WrongMotion));
    let (late, ahead) = (Span::from_millis(1_001), Span::from_millis(101));
    assert_eq!(frame.observe(ship, at(1.0), now - late), Err(ObjectError::TooOld(ship)));
    assert_eq!(frame.observe(ship, at(1.0), now + ahead), Err(ObjectError::TooFarAhead(ship)));
    frame.observe(ship, at(1.0), now + Span::from_millis(90)).expect("a tick ahead");
    assert_eq!(frame.observe(ship, at(1.0), now), Err(ObjectError::OutOfOrder(ship)));
    assert_eq!(
        frame.observe(ship, at(f64::NAN), now + Span::from_millis(91)),
        Err(ObjectError::NotFinite(ship))
    );
    let board = frame.create_motionless(&Board).expect("no motion needed");
    // A tick of the same frame may lie before the creation.
    let young = frame.create(&Ship { name: "young".into() }, at(5.0), now).expect("connected");
    frame.observe(young, at(4.0), now - Span::from_millis(9)).expect("ignored");
    frame.destroy(young).expect("its own");
    let now = world.now();
    let young = world.server_frame().create(&Ship { name: "young".into() }, at(5.0), now).expect("room");
    world.server_frame().observe(young, at(4.0), now - Span::from_millis(9)).expect("ignored");
    assert_eq!(world.server_frame().place(young).map(|state| state.position.x), Some(5.0));
    world.server_frame().destroy(young).expect("known");
    world.run_for(Span::from_secs(1), idle);
    assert_eq!(world.server_frame().objects_of::<Board>(), [board]);
    let broken = world.server_frame().create(&Ship { name: "s".into() }, at(f64::NAN), world_now());
    assert!(broken.is_err());
    assert_eq!(world.server_frame().objects().len(), 2, "nothing half made");
}

fn world_now() -> fairpath::SharedInstant {
    fairpath::SharedInstant::ZERO
}

#[test]
fn values_of_another_type_are_refused_before_the_game_sees_them() {
    let mut world = world(1);
    world.connect_all();
    let ship = launch(&mut world, 0);
    let (session, now) = world.client_now(0);
    session.call_server(0, &[200], Delivery::ReliableOrdered).expect("bytes are possible");
    session.set_state(ship, 0, &[255, 255, 255]).expect("bytes are possible");
    let class = session.protocol().class_id::<Ship>().expect("described");
    let phantom = session.create(class, &[200], now).expect("bytes are possible");
    world.run_for(Span::from_secs(1), idle);
    assert_eq!(world.server_frame().objects(), [ship]);
    assert_eq!(world.client_frame(0).objects(), [ship], "only the phantom of {phantom:?} is gone");
    let events = server_events(&mut world);
    let is_seen =
        |event: &ServerEvent| matches!(event, ServerEvent::Called { .. } | ServerEvent::StateChanged { .. });
    assert!(!events.iter().any(is_seen), "{events:?}");
    let refusals = client_events(&mut world, 0).into_iter().filter_map(|event| match event {
        ClientEvent::Refused { refusal, .. } => Some(refusal),
        _ => None,
    });
    let mut refusals: Vec<Refusal> = refusals.collect();
    refusals.sort_unstable();
    assert_eq!(refusals, [Refusal::NotCreated, Refusal::WrongType, Refusal::WrongType]);
    assert!(world.client_frame(0).is_mine(ship));
}

#[test]
fn the_instant_of_a_state_counts_and_not_the_time_of_the_call() {
    law!((any::<u64>(), 0_usize..2), cases = 24, |(seed, who)| {
        let link = LinkConfig::default().delay(Span::from_millis(80));
        let clients = (0..2).map(|seed| client(game(0.2), seed)).collect();
        let mut world: World = SessionWorld::new(seed, link, server(), clients);
        world.connect_all();
        let mut random = Random::from_seed(seed);
        // Straight at 100 u/s, told at any time between 400 ms after and 90 ms before it is true.
        let truth = |at: SharedInstant| {
            State::moving(Vec2::new(100.0 * at.as_secs_f64(), 0.0), Vec2::new(100.0, 0.0))
        };
        let begin = world.now();
        let ship = Ship { name: "comet".into() };
        let ship = if who == 0 {
            let mut frame = world.client_frame(0);
            let now = frame.now();
            frame.create(&ship, truth(begin), now)
        } else {
            world.server_frame().create(&ship, truth(begin), begin)
        };
        let ship = ship.expect("connected");
        let mut steps = FixedSteps::hz(60);
        // The grid begins with the ship.
        assert_eq!(steps.until(begin).count(), 1);
        let mut worst = 0.0_f64;
        for frame in 0..200 {
            world.run_for(Span::from_millis(random.between(2.0, 100.0) as i64), idle);
            let ahead = Span::from_millis(random.between(-300.0, 90.0) as i64);
            let now = world.now();
            for tick in steps.until(now + ahead) {
                let told = if who == 0 {
                    let mut frame = world.client_frame(0);
                    let at = frame.now() + (tick.at() - now);
                    frame.observe(ship, truth(tick.at()), at)
                } else {
                    world.server_frame().observe(ship, truth(tick.at()), tick.at())
                };
                prop_assert_eq!(told, Ok(()));
            }
            if frame > 20 {
                let placed = world.client_frame(1).place(ship).expect("seen").position;
                worst = worst.max(placed.distance(truth(now).position));
            }
        }
        prop_assert!(worst < 0.2, "off by {}", worst);
        let vectors = world.client(1).statistics().vectors_received;
        let secs = (world.now() - begin).as_secs_f64();
        prop_assert!((vectors as f64) < 1.6 * secs + 4.0, "{} in {} s", vectors, secs);
        Ok(())
    });
}
