//! Goal: everybody agrees on what there is, whose it is and what state it is in. Method: late
//! joiners, objects that come and go, two who claim one ball, states that change while packets are
//! lost.

use fairpath::random::Random;
use fairpath::schedule::Broadcast;
use fairpath::session::{
    ClientEvent, Nearest, Party, Refusal, Scope, ScopeObject, Server, ServerConfig, ServerEvent, Within,
};
use fairpath::time::Span;
use fairpath::vector::{Vec2, Vector};
use fairpath::{EntityId, Observation, State};
use fairpath_sim::{LinkConfig, Loss, SessionWorld};

use super::arena::{
    BALL, SHIP, World, classes, client, client_events, fly, idle, launch, place_ball, server, server_events,
    world,
};

fn lossy() -> LinkConfig {
    LinkConfig::default().delay(Span::from_millis(40)).loss(Loss::each(0.3)).duplicate_ratio(0.1)
}

fn still(x: f64) -> Observation<Vec2> {
    Observation::Moved(State::moving(Vec2::new(x, 0.0), Vec2::ZERO))
}

#[test]
fn who_joins_late_gets_the_current_state() {
    let mut world = world(3, lossy(), 2);
    world.absent(1);
    world.connect_all();
    let (first, local) = world.client_now(0);
    let ship = first.create(SHIP, b"Nautilus", local).expect("connected");
    first.set_state(ship, 0, b"armed").expect("its own");
    first.set_state(ship, 31, b"blue").expect("its own");
    world.run_for(Span::from_secs(3), |world, _| {
        let (first, local) = world.client_now(0);
        first.observe(ship, still(12.0), local).expect("its own");
    });
    world.client(0).set_state(ship, 0, b"sunk").expect("its own");
    world.arrive(1);
    world.run_for(Span::from_secs(3), |world, _| {
        let (first, local) = world.client_now(0);
        first.observe(ship, still(12.0), local).expect("its own");
    });
    let (late, local) = world.client_now(1);
    assert_eq!(late.creation(ship), Some(b"Nautilus".as_slice()));
    assert_eq!(late.class(ship), Some(SHIP));
    assert_eq!(late.state(ship, 0), Some(b"sunk".as_slice()));
    assert_eq!(late.state(ship, 31), Some(b"blue".as_slice()));
    let placed = late.place(ship, local).expect("its motion was told");
    assert!(placed.position.distance(Vec2::new(12.0, 0.0)) < 0.3);
}

#[test]
fn of_two_who_claim_the_ball_one_gets_it_and_the_other_is_told() {
    for seed in 0..6 {
        let mut world = world(seed, lossy(), 3);
        world.connect_all();
        let ball = world.server.create(BALL, b"", world.now()).expect("room");
        let now = world.now();
        world.server.observe(ball, still(5.0), now).expect("its own");
        world.run_for(Span::from_secs(2), idle);
        for index in 0..3 {
            client_events(&mut world, index);
        }
        world.client(0).claim(ball).expect("seen");
        world.client(1).claim(ball).expect("seen");
        world.run_for(Span::from_secs(3), idle);
        let owner = world.server.owner(ball).expect("it exists");
        let Party::Client(winner) = owner else { panic!("somebody got it") };
        let (won, lost) = if world.client(0).id() == Some(winner) { (0, 1) } else { (1, 0) };
        let refused = ClientEvent::Refused { object: ball, refusal: Refusal::ClaimLost };
        assert!(client_events(&mut world, lost).contains(&refused), "seed {seed}: the loser is told");
        assert!(!client_events(&mut world, won).contains(&refused));
        for index in 0..3 {
            assert_eq!(world.client(index).owner(ball), Some(owner), "everybody agrees");
        }
        // The new owner moves it, and everybody sees it move.
        world.run_for(Span::from_secs(3), |world, _| {
            let (winner, local) = world.client_now(won);
            winner.observe(ball, still(-30.0), local).expect("its own now");
        });
        let (loser, local) = world.client_now(lost);
        let placed = loser.place(ball, local).expect("seen");
        assert!(placed.position.distance(Vec2::new(-30.0, 0.0)) < 0.31, "seed {seed}: {placed:?}");
        // Given back it is the server's, and the server goes on from there.
        world.client(won).release(ball).expect("its own");
        world.run_for(Span::from_secs(2), idle);
        assert_eq!(world.server.owner(ball), Some(Party::Server));
        let now = world.now();
        world.server.observe(ball, still(-31.0), now).expect("its own again");
        world.run_for(Span::from_secs(3), idle);
        for index in 0..3 {
            let (client, local) = world.client_now(index);
            let placed = client.place(ball, local).expect("seen");
            assert!(placed.position.distance(Vec2::new(-31.0, 0.0)) < 0.31, "seed {seed}, client {index}");
        }
    }
}

#[test]
fn what_an_owner_says_too_late_is_taken_back_from_it() {
    let mut world = world(31, LinkConfig::default().delay(Span::from_millis(100)), 2);
    world.connect_all();
    let ball = place_ball(&mut world, b"");
    world.run_for(Span::from_secs(1), idle);
    world.client(0).claim(ball).expect("seen");
    world.run_for(Span::from_secs(1), idle);
    world.client(0).set_state(ball, 3, b"mine").expect("its own");
    world.run_for(Span::from_secs(1), idle);
    // The server decides otherwise while the owner still speaks.
    let now = world.now();
    world.server.give(ball, Party::Server, now).expect("it exists");
    world.client(0).set_state(ball, 3, b"too late").expect("it does not know yet");
    world.run_for(Span::from_secs(2), idle);
    for index in 0..2 {
        assert_eq!(world.client(index).state(ball, 3), Some(b"mine".as_slice()), "client {index}");
    }
}

/// Nobody sees what was created as hidden.
#[derive(Debug)]
struct Hiding;

impl Scope<Vec2> for Hiding {
    fn sees(
        &mut self,
        _: fairpath::session::ClientId,
        object: &ScopeObject<'_, Vec2>,
        _: &[ScopeObject<'_, Vec2>],
        _: bool,
    ) -> bool {
        object.creation != b"hidden"
    }
}

#[test]
fn what_may_not_be_seen_is_not_told() {
    let server = server(1).with_scope(Hiding);
    let mut world: World = SessionWorld::new(1, lossy(), server, vec![client(0)]);
    world.connect_all();
    let hidden = world.server.create(BALL, b"hidden", world.now()).expect("room");
    let plain = world.server.create(BALL, b"plain", world.now()).expect("room");
    let now = world.now();
    world.server.observe(hidden, still(1.0), now).expect("its own");
    world.server.observe(plain, still(1.0), now).expect("its own");
    world.server.set_state(hidden, 0, b"secret").expect("its own");
    world.run_for(Span::from_secs(4), idle);
    assert_eq!(world.client(0).objects().collect::<Vec<_>>(), [plain]);
    let (client, local) = world.client_now(0);
    assert!(client.place(hidden, local).is_none() && client.place(plain, local).is_some());
}

#[test]
fn who_comes_back_into_sight_brings_the_current_state() {
    let server = server(1).with_scope(Within { enter: 50.0, leave: 60.0 });
    let mut world: World = SessionWorld::new(2, lossy(), server, vec![client(0), client(1)]);
    let ships = launch(&mut world);
    let mut distance = 20.0;
    let mut run = |world: &mut World, secs: i64, state: &[u8]| {
        world.client(1).set_state(ships[1], 7, state).expect("its own");
        world.run_for(Span::from_secs(secs), |world, _| {
            let (watcher, local) = world.client_now(0);
            watcher.observe(ships[0], still(0.0), local).expect("its own");
            let (walker, local) = world.client_now(1);
            let jump = Observation::Jumped(State::moving(Vec2::new(distance, 0.0), Vec2::ZERO));
            let walk = walker.place(ships[1], local);
            let is_there = walk.is_some_and(|state| (state.position.x - distance).abs() < 0.01);
            let observation = if is_there { still(distance) } else { jump };
            walker.observe(ships[1], observation, local).expect("its own");
        });
        distance = if distance < 50.0 { 100.0 } else { 20.0 };
    };
    run(&mut world, 3, b"first");
    assert_eq!(world.client(0).state(ships[1], 7), Some(b"first".as_slice()));
    run(&mut world, 3, b"away");
    let left = client_events(&mut world, 0);
    assert!(left.contains(&ClientEvent::ObjectLeft { object: ships[1], is_destroyed: false }), "{left:?}");
    assert!(world.client(0).owner(ships[1]).is_none());
    run(&mut world, 3, b"back");
    assert_eq!(world.client(0).state(ships[1], 7), Some(b"back".as_slice()));
    let (watcher, local) = world.client_now(0);
    let placed = watcher.place(ships[1], local).expect("seen again");
    assert!(placed.position.distance(Vec2::new(20.0, 0.0)) < 0.3, "{placed:?}");
}

/// More clients than are looked at in one go, in a row, a metre apart.
#[test]
fn in_a_crowd_everybody_sees_their_neighbours_and_nobody_else() {
    const CROWD: usize = 70;
    let config = ServerConfig { clients_max: CROWD, ..ServerConfig::new(classes(), 1) };
    let server =
        Server::new(config, Box::new(Broadcast), Random::from_seed(1)).with_scope(Nearest { count: 2 });
    let link = LinkConfig::default().delay(Span::from_millis(10));
    let mut world: World = SessionWorld::new(3, link, server, (0..CROWD).map(client).collect());
    let ships = launch(&mut world);
    world.run_for(Span::from_secs(2), |world, _| {
        for (index, ship) in ships.iter().enumerate() {
            let (client, local) = world.client_now(index);
            client.observe(*ship, still(index as f64), local).expect("its own");
        }
    });
    for index in 1..CROWD - 1 {
        let seen: Vec<EntityId> = world.client(index).objects().collect();
        let mut expected = ships[index - 1..=index + 1].to_vec();
        expected.sort_unstable();
        assert_eq!(seen, expected, "client {index}");
    }
}

#[test]
fn states_reach_their_newest_value_and_never_go_back() {
    let mut world = world(41, lossy(), 3);
    let ships = launch(&mut world);
    let mut seen = [0u32; 3];
    let mut value = 0u32;
    world.run_for(Span::from_secs(12), |world, now| {
        fly(world, &ships, now);
        if now.as_secs_f64() < 8.0 {
            value += 1;
            world.client(0).set_state(ships[0], 5, &value.to_le_bytes()).expect("its own");
        }
        for (index, seen) in seen.iter_mut().enumerate().skip(1) {
            if let Some(bytes) = world.client(index).state(ships[0], 5) {
                let newer = u32::from_le_bytes(bytes.try_into().expect("four bytes"));
                assert!(newer >= *seen, "client {index} went back from {seen} to {newer}");
                *seen = newer;
            }
        }
    });
    assert_eq!(seen[1..], [value, value]);
    let changes = client_events(&mut world, 1);
    let count = changes.iter().filter(|event| matches!(event, ClientEvent::StateChanged { .. })).count();
    assert!(count < value as usize, "{count} changes told of {value}: only the newest are sent");
}

#[test]
fn destroyed_is_gone_for_everybody_and_ids_do_not_run_out() {
    let mut world = world(43, LinkConfig::default().delay(Span::from_millis(30)), 2);
    world.connect_all();
    let mut made = 0;
    world.run_for(Span::from_secs(5), |world, _| {
        let (client, local) = world.client_now(0);
        if let Ok(shot) = client.create(SHIP, b"shot", local) {
            made += 1;
            client.observe(shot, still(1.0), local).expect("its own");
            client.destroy(shot).expect("its own");
        }
    });
    world.run_for(Span::from_secs(1), idle);
    assert!(made > 250, "one a frame, within the ids of a round trip: {made}");
    assert_eq!(world.server.objects().count(), 0);
    assert_eq!(world.client(1).objects().count(), 0);
    assert!(server_events(&mut world).iter().all(|event| !matches!(event, ServerEvent::Refused { .. })));
}

#[test]
fn an_object_given_and_taken_back_at_once_is_seen_where_the_server_put_it() {
    for seed in 0..20 {
        let link = LinkConfig::default().delay(Span::from_millis(60)).jitter_uniform(Span::from_millis(40));
        let mut world = world(seed, link, 2);
        world.connect_all();
        let ball = place_ball(&mut world, b"");
        world.run_for(Span::from_secs(1), idle);
        let (now, to) = (world.now(), Party::Client(fairpath::session::ClientId(0)));
        world.server.give(ball, to, now).expect("known");
        world.server.give(ball, Party::Server, now).expect("known");
        let there = State::moving(Vec2::new(70.0, 0.0), Vec2::ZERO);
        world.server.observe(ball, Observation::Jumped(there), now).expect("its own");
        world.run_for(Span::from_millis(500), idle);
        for index in 0..2 {
            let (client, local) = world.client_now(index);
            let placed = client.place(ball, local).expect("seen").position;
            assert_eq!(placed, there.position, "seed {seed}, client {index}");
        }
    }
}
