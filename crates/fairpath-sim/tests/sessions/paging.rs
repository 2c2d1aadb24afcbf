//! Goal: a world of any size can be joined, and ids go round without confusion. Method: worlds with
//! many objects, and worlds in which objects come and go, over bad links.

use std::collections::BTreeMap;

use fairpath::random::Random;
use fairpath::schedule::Broadcast;
use fairpath::session::limits::{OBJECTS_MAX, PAGE_BYTES};
use fairpath::session::{
    Budget, Class, ClassId, Client, ClientConfig, ClientEvent, Nearest, ObjectError, Party, Rates, Server,
    ServerConfig, Within,
};
use fairpath::time::{SharedInstant, Span};
use fairpath::vector::{Vec2, Vector};
use fairpath::{EntityId, MotionKind, Observation, State, Trigger};
use fairpath_laws::{law, proptest::prelude::*};
use fairpath_sim::{LinkConfig, Loss, SessionWorld};

use super::arena::{World, client_events, idle};

const STONE: ClassId = ClassId(0);
const SHIP: ClassId = ClassId(1);

fn classes() -> [(ClassId, Class); 2] {
    // Stones lie still: one DR vector is enough.
    let rates = Rates { interval_max: Span::from_secs(3_600), ..Rates::default() };
    let stone =
        Class::new(Trigger::Distance { threshold: 1.0 }).with_model(MotionKind::Static).with_rates(rates);
    [(STONE, stone), (SHIP, Class::within(0.3))]
}

fn server(bytes_per_sec: u32) -> Server<Vec2> {
    let budget = Budget { bytes_per_sec, ..Budget::default() };
    let config = ServerConfig { budget, ..ServerConfig::new(classes(), 1) };
    Server::new(config, Box::new(Broadcast), Random::from_seed(1))
}

fn world(seed: u64, link: LinkConfig, server: Server<Vec2>, clients: u64) -> World {
    let client = |seed| Client::new(ClientConfig::new(classes()), Random::from_seed(seed));
    SessionWorld::new(seed, link, server, (0..clients).map(client).collect())
}

fn still(position: Vec2) -> Observation<Vec2> {
    Observation::Moved(State::moving(position, Vec2::ZERO))
}

/// Stones on a spiral: the farther the number, the farther from the origin.
fn lay_stones(server: &mut Server<Vec2>, count: usize, now: SharedInstant) -> Vec<EntityId> {
    let lay = |index: usize| {
        let stone = server.create(STONE, &[], now).expect("room");
        let position = Vec2::from_heading(index as f64) * (1.0 + 0.1 * index as f64);
        server.observe(stone, still(position), now).expect("its own");
        stone
    };
    (0..count).map(lay).collect()
}

fn entered(events: &[ClientEvent]) -> Vec<EntityId> {
    let object = |event: &ClientEvent| match event {
        ClientEvent::ObjectEntered { object, .. } => Some(*object),
        _ => None,
    };
    events.iter().filter_map(object).collect()
}

#[test]
fn a_client_joins_a_world_of_any_size_nearest_first_and_within_its_budget() {
    law!((any::<u64>(), 0_usize..6_000, 16_000_u32..200_000), cases = 6, |(seed, count, bytes_per_sec)| {
        let link = LinkConfig::default().delay(Span::from_millis(60)).loss(Loss::each(0.02));
        let mut world = world(seed, link, server(bytes_per_sec), 1);
        let now = world.now();
        let mut stones = lay_stones(&mut world.server, count, now);
        world.connect_all();
        let (client, local) = world.client_now(0);
        let here = State::moving(Vec2::ZERO, Vec2::ZERO);
        let ship = client.create_at(SHIP, &[], Some(here), local, local).expect("connected");
        let begun = world.server.statistics(world.server.clients().next().unwrap()).unwrap().bytes_sent;
        let mut seen = Vec::new();
        let mut secs = 0;
        while seen.len() < count {
            world.run_for(Span::from_secs(1), idle);
            seen.extend(entered(&client_events(&mut world, 0)));
            let queues = world.server.queues(world.server.clients().next().expect("connected")).unwrap();
            prop_assert!(queues.outbox_bytes < PAGE_BYTES + 2_000, "{} bytes wait", queues.outbox_bytes);
            secs += 1;
            prop_assert!(secs < 120, "{} of {} after two minutes", seen.len(), count);
        }
        let statistics = world.server.statistics(world.server.clients().next().unwrap()).unwrap();
        let (sent, allowed) =
            (statistics.bytes_sent - begun, f64::from(bytes_per_sec) * f64::from(secs) + 8_000.0);
        prop_assert!((sent as f64) < allowed, "{} bytes in {} s", sent, secs);
        // Each stone enters once. Once the server knows the ship, the nearest stones enter first.
        let order: BTreeMap<EntityId, usize> =
            stones.iter().enumerate().map(|(place, stone)| (*stone, place)).collect();
        let late = &seen[seen.len() / 2..];
        let inversions = late.windows(2).filter(|pair| order[&pair[0]] > order[&pair[1]]).count();
        prop_assert!(inversions <= 2 + late.len() / 50, "{} of {}", inversions, late.len());
        let mut all = seen.clone();
        all.sort_unstable();
        stones.sort_unstable();
        prop_assert_eq!(all, stones);
        let (client, local) = world.client_now(0);
        for stone in &seen {
            prop_assert!(client.place(*stone, local).is_some(), "a place from the beginning");
        }
        prop_assert!(client.place(ship, local).is_some());
        Ok(())
    });
}

#[test]
fn sixty_five_thousand_objects_can_be_joined() {
    let link = LinkConfig::default().delay(Span::from_millis(20));
    let mut world = world(1, link, server(1_000_000), 1);
    let now = world.now();
    let stones = lay_stones(&mut world.server, OBJECTS_MAX, now);
    assert_eq!(world.server.create(STONE, &[], now), Err(ObjectError::TooMany));
    world.connect_all();
    let mut seen = 0;
    for _ in 0..60 {
        world.run_for(Span::from_secs(1), idle);
        seen += entered(&client_events(&mut world, 0)).len();
        if seen == stones.len() {
            break;
        }
    }
    assert_eq!(seen, stones.len());
    assert!(world.client(0).is_connected());
}

#[test]
fn an_object_is_shown_once_its_first_state_is_known_under_every_scope() {
    law!((any::<u64>(), 0_usize..3), cases = 24, |(seed, which)| {
        let server = match which {
            0 => server(100_000),
            1 => server(100_000).with_scope(Within { enter: 100.0, leave: 120.0 }),
            _ => server(100_000).with_scope(Nearest { count: 8 }),
        };
        let link = LinkConfig::default().delay(Span::from_millis(70)).loss(Loss::each(0.2));
        let mut world = world(seed, link, server, 2);
        world.connect_all();
        for index in 0..2 {
            let (client, local) = world.client_now(index);
            let here = State::moving(Vec2::new(index as f64, 0.0), Vec2::ZERO);
            client.create_at(SHIP, &[], Some(here), local, local).expect("connected");
        }
        // Under `Within`, a client sees everything until the server knows its ship.
        world.run_for(Span::from_secs(2), idle);
        let mut random = Random::from_seed(seed);
        let mut silent = Vec::new();
        let mut far = Vec::new();
        for _ in 0..40 {
            let now = world.now();
            let stone = world.server.create(STONE, &[], now).expect("room");
            if random.chance(0.3) {
                silent.push(stone);
            } else {
                let distance = if random.chance(0.5) { 50.0 } else { 500.0 };
                if distance > 120.0 {
                    far.push(stone);
                }
                world.server.observe(stone, still(Vec2::new(distance, 0.0)), now).expect("its own");
            }
            world.run_for(Span::from_millis(100), idle);
            for index in 0..2 {
                for object in entered(&client_events(&mut world, index)) {
                    let (client, local) = world.client_now(index);
                    let has_left = client.owner(object).is_none();
                    prop_assert!(has_left || client.place(object, local).is_some(), "shown without a place");
                    prop_assert!(!silent.contains(&object));
                    prop_assert!(which != 1 || !far.contains(&object), "out of range");
                }
            }
        }
        Ok(())
    });
}

#[test]
fn ids_go_round_and_no_peer_takes_a_new_object_for_an_old_one() {
    law!((any::<u64>(), 0.0_f64..0.3), cases = 6, |(seed, loss)| {
        let link = LinkConfig::default().delay(Span::from_millis(90)).loss(Loss::each(loss));
        let mut world = world(seed, link, server(100_000), 2);
        world.connect_all();
        let mut random = Random::from_seed(seed);
        // The number of each object is its creation bytes, and its position.
        let mut live: BTreeMap<EntityId, u32> = BTreeMap::new();
        let mut highest = 0;
        for number in 0..900_u32 {
            let (client, local) = world.client_now(0);
            let state = State::moving(Vec2::new(f64::from(number), 0.0), Vec2::ZERO);
            match client.create_at(SHIP, &number.to_le_bytes(), Some(state), local, local) {
                Ok(ship) => {
                    prop_assert!(live.insert(ship, number).is_none(), "an id in use was given out");
                    highest = highest.max(ship.0);
                }
                Err(error) => {
                    prop_assert!(matches!(error, ObjectError::NoIds | ObjectError::NoSession), "{:?}", error);
                }
            }
            if random.chance(0.02) {
                world.cut(0);
            }
            world.run_for(Span::from_millis(random.below(1_200) as i64), idle);
            if random.chance(0.9)
                && let Some((ship, _)) = live.pop_first()
            {
                let _ = world.client(0).destroy(ship);
            }
            let viewer: Vec<EntityId> = world.client(1).objects().collect();
            for object in viewer {
                let (viewer, local) = world.client_now(1);
                let number = u32::from_le_bytes(viewer.creation(object).unwrap().try_into().unwrap());
                let placed = viewer.place(object, local).expect("placed").position.x;
                prop_assert!((placed - f64::from(number)).abs() < 0.5, "{} stands at {}", number, placed);
            }
            // Sessions that were lost took their ships with them.
            let client = world.client(0);
            live.retain(|ship, _| client.owner(*ship).is_some_and(|owner| owner != Party::Server));
        }
        prop_assert!(highest < 700, "ids did not go round: {}", highest);
        Ok(())
    });
}

#[test]
fn creating_too_fast_is_an_error_and_not_a_lost_session() {
    let mut world = world(3, LinkConfig::default().delay(Span::from_millis(5)), server(10_000_000), 1);
    world.connect_all();
    let mut refused = 0;
    for _ in 0..3_000 {
        for _ in 0..30 {
            let (client, local) = world.client_now(0);
            let here = State::moving(Vec2::ZERO, Vec2::ZERO);
            match client.create_at(SHIP, &[], Some(here), local, local) {
                Ok(ship) => client.destroy(ship).unwrap_or_else(|_| refused += 1),
                Err(ObjectError::TooFast | ObjectError::NoIds | ObjectError::Full | ObjectError::TooMany) => {
                    refused += 1;
                }
                Err(other) => panic!("{other}"),
            }
        }
        world.run_for(Span::from_millis(16), idle);
    }
    assert!(refused > 10_000, "{refused}");
    assert!(world.client(0).is_connected());
    let lost = client_events(&mut world, 0)
        .into_iter()
        .any(|event| matches!(event, ClientEvent::SessionLost { .. } | ClientEvent::Disconnected(_)));
    assert!(!lost);
}
