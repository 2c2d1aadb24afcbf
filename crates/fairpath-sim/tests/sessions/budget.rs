//! Goal: nobody is sent more than their budget, and what does not fit is not forgotten. Method:
//! forty objects that never keep to their line, and a few kilobytes a second.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use fairpath::random::Random;
use fairpath::schedule::Broadcast;
use fairpath::session::{Budget, Class, Rates, Server, ServerConfig};
use fairpath::time::{SharedInstant, Span};
use fairpath::vector::{Vec2, Vector};
use fairpath::{EntityId, Observation, State, Trigger};
use fairpath_sim::{DatagramRoute, LinkConfig, SessionWorld, Tap};

use super::arena::{BALL, World, classes, client, idle};

fn wobble(which: u32, now: SharedInstant) -> Observation<Vec2> {
    let t = now.as_secs_f64() * 2.0 + f64::from(which);
    let ahead = Vec2::from_heading(t);
    Observation::Moved(State::moving(ahead * 20.0, ahead.perpendicular() * 40.0))
}

fn world(config: ServerConfig<Vec2>) -> (World, Vec<EntityId>) {
    let server = Server::new(config, Box::new(Broadcast), Random::from_seed(1));
    let link = LinkConfig::default().delay(Span::from_millis(30));
    let mut world: World = SessionWorld::new(1, link, server, vec![client(0)]);
    world.connect_all();
    let balls = (0..40).map(|_| world.server.create(BALL, b"", world.now()).expect("room")).collect();
    (world, balls)
}

#[test]
fn a_datagram_is_never_longer_than_the_transport_allows() {
    let budget = Budget { bytes_per_sec: 1_000_000, burst_bytes: 10_000, share: None };
    let (mut world, balls) = world(ServerConfig { budget, ..ServerConfig::new(classes(), 1) });
    world.run_for(Span::from_secs(2), |world, now| {
        for ball in &balls {
            world.server.observe(*ball, wobble(ball.0, now), now).expect("its own");
        }
    });
    let client = world.client(0).id().expect("connected");
    let connection = world.server.connection(client).expect("connected");
    let (mut now, mut full) = (world.now(), 0);
    for bytes_max in 200..500 {
        now += Span::from_millis(50);
        for ball in &balls {
            world.server.observe(*ball, wobble(ball.0, now), now).expect("its own");
        }
        while let Some(datagram) = world.server.poll_datagram(connection, now, bytes_max) {
            assert!(datagram.len() <= bytes_max, "{} of {bytes_max} bytes", datagram.len());
            full += u32::from(datagram.len() + 10 > bytes_max);
        }
    }
    assert!(full > 50, "{full} datagrams had no room for another object");
}

#[test]
fn a_small_budget_is_kept_and_shared_by_all() {
    let budget = Budget { bytes_per_sec: 3_000, burst_bytes: 1_500, share: None };
    let (mut world, balls) = world(ServerConfig { budget, ..ServerConfig::new(classes(), 1) });
    let observe = |world: &mut World, now| {
        for ball in &balls {
            world.server.observe(*ball, wobble(ball.0, now), now).expect("its own");
        }
    };
    world.run_for(Span::from_secs(2), observe);
    let of = world.client(0).id().expect("connected");
    let before = world.server.statistics(of).expect("a session").bytes_sent;
    let mut newest: BTreeMap<EntityId, (SharedInstant, Vec2)> = BTreeMap::new();
    let mut longest = Span::ZERO;
    world.run_for(Span::from_secs(10), |world, now| {
        observe(world, now);
        let (client, local) = world.client_now(0);
        for ball in &balls {
            let velocity = client.place(*ball, local).map(|state| state.velocity).unwrap_or_default();
            let (since, last) = newest.entry(*ball).or_insert((now, velocity));
            if *last != velocity {
                (*since, *last) = (now, velocity);
            }
            longest = longest.max(now - *since);
        }
    });
    let sent = world.server.statistics(of).expect("a session").bytes_sent - before;
    assert!(sent <= 30_000 + 1_500, "{sent} bytes in ten seconds of 3000");
    assert!(sent > 25_000, "and it is used: {sent}");
    // 3000 bytes hold about 250 updates, so each ball's turn comes about six times a second.
    assert!(longest < Span::from_millis(1_500), "nobody starves: {longest:?}");
}

#[test]
fn nothing_is_told_more_often_or_more_seldom_than_its_class_allows() {
    let rates = Rates { interval_min: Span::from_millis(500), interval_max: Span::from_millis(800) };
    let mut classes = classes();
    classes[1].1 = Class::new(Trigger::within(0.3)).with_rates(rates);
    let (mut world, balls) = world(ServerConfig::new(classes, 1));
    let of = world.client(0).id().expect("connected");
    let before = world.server.statistics(of).expect("a session").vectors_sent;
    world.run_for(Span::from_secs(10), |world, now| {
        for ball in &balls {
            world.server.observe(*ball, wobble(ball.0, now), now).expect("its own");
        }
    });
    let lively = world.server.statistics(of).expect("a session").vectors_sent - before;
    assert!((600..=840).contains(&lively), "40 balls, at most every 500 ms: {lively} in 10 s");
    let before = world.server.statistics(of).expect("a session").vectors_sent;
    world.run_for(Span::from_secs(10), idle);
    let silent = world.server.statistics(of).expect("a session").vectors_sent - before;
    assert!((440..=840).contains(&silent), "40 balls, at least every 800 ms: {silent} in 10 s");
}

/// When datagrams left for the client.
#[derive(Clone, Debug, Default)]
struct Departures(Arc<Mutex<Vec<SharedInstant>>>);

impl Tap<Vec2> for Departures {
    fn on_sends(&mut self, way: DatagramRoute, now: SharedInstant, _: &mut Vec<u8>) {
        if !way.is_up {
            self.0.lock().expect("nobody panicked").push(now);
        }
    }
}

#[test]
fn datagrams_keep_their_distance_and_take_along_what_came_due() {
    let every = Span::from_millis(50);
    let config = ServerConfig { datagram_every: every, ..ServerConfig::new(classes(), 1) };
    let departures = Departures::default();
    let (world, balls) = world(config);
    let mut world = world.with_tap(departures.clone());
    world.run_for(Span::from_secs(4), |world, now| {
        // One ball after the other, a few at each frame: without a pause each frame would send.
        let frame = now.as_micros() / 16_000;
        for ball in balls.iter().filter(|ball| i64::from(ball.0 % 8) == frame % 8) {
            world.server.observe(*ball, wobble(ball.0, now), now).expect("its own");
        }
    });
    let left = departures.0.lock().expect("nobody panicked");
    let closest = left.windows(2).map(|pair| pair[1] - pair[0]).min().expect("some left");
    assert!(closest >= every, "two datagrams {closest:?} apart");
    assert!(left.len() > 60, "and every one that may leave does: {} in 4 s", left.len());
    let now = world.now();
    for ball in &balls {
        let (client, local) = world.client_now(0);
        let placed = client.place(*ball, local).expect("told of");
        let far = placed.position.distance(wobble(ball.0, now).state().position);
        assert!(far < 12.0, "ball {ball:?} is {far} off: not told of for a while");
    }
}
