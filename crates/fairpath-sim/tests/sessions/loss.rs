//! Goal: links that lose datagrams do not make objects jump, and links that lose nothing pay
//! nothing for it. Method: balls that turn all of a sudden, with and without further copies.

use std::sync::{Arc, Mutex};

use fairpath::random::Random;
use fairpath::schedule::{Broadcast, CopyPlan, ErrorIndex, ErrorIndexConfig, Scheduler};
use fairpath::session::{Budget, Client, ClientConfig, LossProtection, Server, ServerConfig, Statistics};
use fairpath::time::{SharedInstant, Span};
use fairpath::vector::{Vec2, Vector};
use fairpath::{EntityId, Observation, State};
use fairpath_laws::law;
use fairpath_laws::proptest::prelude::*;
use fairpath_sim::{DatagramRoute, LinkConfig, Loss, PeerId, Tap};

use super::arena::{BALL, SHIP, World, classes};

const OFF: LossProtection = LossProtection::Off;
const BALLS: usize = 20;

/// A ball runs in a square of 5 units at 20 units a second: it turns four times a second.
fn run(which: usize, now: SharedInstant) -> State<Vec2> {
    let along = (now.as_secs_f64() * 4.0 + which as f64 * 0.37).rem_euclid(4.0);
    let (side, part) = (along as u32, along.fract() * 5.0);
    let (position, velocity) = match side {
        0 => (Vec2::new(part, 0.0), Vec2::new(20.0, 0.0)),
        1 => (Vec2::new(5.0, part), Vec2::new(0.0, 20.0)),
        2 => (Vec2::new(5.0 - part, 5.0), Vec2::new(-20.0, 0.0)),
        _ => (Vec2::new(0.0, 5.0 - part), Vec2::new(0.0, -20.0)),
    };
    State::moving(position, velocity)
}

struct Play {
    world: World,
    balls: Vec<EntityId>,
    ships: Vec<EntityId>,
}

impl Play {
    fn new(seed: u64, links: &[LinkConfig], protection: LossProtection, budget: Budget) -> Self {
        Self::with_scheduler(seed, links, [protection; 2], budget, Box::new(Broadcast))
    }

    fn with_scheduler(
        seed: u64,
        links: &[LinkConfig],
        [of_server, of_clients]: [LossProtection; 2],
        budget: Budget,
        scheduler: Box<dyn Scheduler<Vec2>>,
    ) -> Self {
        let config = ServerConfig { loss_protection: of_server, budget, ..ServerConfig::new(classes(), 1) };
        let server = Server::new(config, scheduler, Random::from_seed(seed));
        let client = |index: usize| {
            let config = ClientConfig { loss_protection: of_clients, ..ClientConfig::new(classes()) };
            Client::new(config, Random::from_seed(100 + index as u64))
        };
        let mut world = World::new(seed, links[0].clone(), server, (0..links.len()).map(client).collect());
        for (index, link) in links.iter().enumerate() {
            world.network.connect(PeerId(0), PeerId(index as u32 + 1), link.clone());
        }
        world.connect_all();
        let balls = (0..BALLS).map(|_| world.server.create(BALL, b"", world.now()).expect("room")).collect();
        let ship = |index: usize| {
            let (client, local) = world.client_now(index);
            client.create(SHIP, b"", local).expect("connected")
        };
        let ships = (0..links.len()).map(ship).collect();
        Self { world, balls, ships }
    }

    /// Plays at 30 Hz. Returns the mean errors of the first client about the balls, and of the
    /// server about the first client's ship.
    fn run_for(&mut self, span: Span) -> (f64, f64) {
        let Self { world, balls, ships } = self;
        let (mut at_client, mut at_server, mut samples) = (0.0, 0.0, 0.0);
        let mut is_tick = false;
        world.run_for(span, |world, now| {
            is_tick = !is_tick;
            if is_tick {
                for (which, ball) in balls.iter().enumerate() {
                    world.server.observe(*ball, Observation::Moved(run(which, now)), now).expect("its own");
                }
                for (index, ship) in ships.iter().enumerate() {
                    let (client, local) = world.client_now(index);
                    let _ = client.observe(*ship, Observation::Moved(run(index, now)), local);
                }
            }
            let shown = world.server.place(ships[0], now);
            at_server += shown.map_or(0.0, |it| it.position.distance(run(0, now).position));
            let (client, local) = world.client_now(0);
            let off = balls.iter().enumerate().filter_map(|(which, ball)| {
                Some(client.place(*ball, local)?.position.distance(run(which, now).position))
            });
            at_client += off.sum::<f64>() / balls.len() as f64;
            samples += 1.0;
        });
        (at_client / samples, at_server / samples)
    }

    fn sent_to(&mut self, index: usize) -> Statistics {
        let client = self.world.client(index).id().expect("connected");
        self.world.server.statistics(client).expect("a session")
    }
}

fn lossy(delay_ms: i64, ratio: f64) -> LinkConfig {
    LinkConfig::default().delay(Span::from_millis(delay_ms)).loss(Loss::each(ratio))
}

/// All datagrams, in the order in which they leave.
#[derive(Clone, Debug, Default)]
struct Datagrams(Arc<Mutex<Vec<SentDatagram>>>);

type SentDatagram = (DatagramRoute, SharedInstant, Vec<u8>);

impl Tap<Vec2> for Datagrams {
    fn on_sends(&mut self, way: DatagramRoute, now: SharedInstant, datagram: &mut Vec<u8>) {
        self.0.lock().expect("nobody panicked").push((way, now, datagram.clone()));
    }
}

#[test]
fn without_loss_every_byte_is_the_same() {
    law!((any::<u64>(), 0..150i64, 0..60i64), |(seed, delay_ms, jitter_ms)| {
        let link = LinkConfig::default()
            .delay(Span::from_millis(delay_ms))
            .jitter_normal(Span::from_millis(jitter_ms))
            .keep_order(true);
        let datagrams = |protection| {
            let seen = Datagrams::default();
            let mut play = Play::new(seed, &[link.clone(), link.clone()], protection, Budget::default());
            play.world = std::mem::replace(&mut play.world, placeholder()).with_tap(seen.clone());
            play.run_for(Span::from_secs(4));
            std::mem::take(&mut *seen.0.lock().expect("nobody panicked"))
        };
        let (with, without) = (datagrams(LossProtection::default()), datagrams(OFF));
        prop_assert!(without.len() > 100);
        prop_assert_eq!(with, without);
        Ok(())
    });
}

/// A world to put in the place of one that is moved out.
fn placeholder() -> World {
    let server =
        Server::new(ServerConfig::new(classes(), 1), Box::new(Broadcast) as Box<_>, Random::from_seed(0));
    World::new(0, LinkConfig::default(), server, Vec::new())
}

#[test]
fn copies_keep_both_ends_accurate_where_datagrams_are_lost() {
    for (delay_ms, loss) in [(10, Loss::each(0.1)), (60, Loss::each(0.2)), (60, Loss::bursts(0.2, 3.0))] {
        let link = LinkConfig::default().delay(Span::from_millis(delay_ms)).loss(loss);
        let errors = |protection| {
            let mut play = Play::new(3, std::slice::from_ref(&link), protection, Budget::default());
            play.run_for(Span::from_secs(4));
            play.run_for(Span::from_secs(20))
        };
        let ((down, up), (down_off, up_off)) = (errors(LossProtection::default()), errors(OFF));
        assert!(down < 0.8 * down_off, "{delay_ms} ms, {loss:?}: {down} instead of {down_off} at the client");
        assert!(up < 0.8 * up_off, "{delay_ms} ms, {loss:?}: {up} instead of {up_off} at the server");
    }
}

#[test]
fn nothing_is_repeated_while_delay_rises() {
    let mut play = Play::new(5, &[lossy(30, 0.1)], LossProtection::default(), Budget::default());
    play.run_for(Span::from_secs(5));
    let repeated = |play: &mut Play| play.sent_to(0).vectors_repeated;
    let before = repeated(&mut play);
    play.run_for(Span::from_secs(2));
    assert!(repeated(&mut play) > before + 50, "the link loses a tenth");
    // A bottleneck that is too narrow even without copies: its queue fills, and stays full.
    let narrow = lossy(30, 0.1).rate(2_000, 2_000);
    play.world.network.connect_one_way(PeerId(0), PeerId(1), narrow);
    play.run_for(Span::from_secs(3));
    let before = repeated(&mut play);
    play.run_for(Span::from_secs(5));
    assert_eq!(repeated(&mut play), before, "the queue is full");
    play.world.network.connect_one_way(PeerId(0), PeerId(1), lossy(30, 0.1));
    play.run_for(Span::from_secs(5));
    assert!(repeated(&mut play) > before + 50, "the queue is empty again");
}

#[test]
fn copies_use_what_the_budget_has_left_and_no_more() {
    let budget = Budget { bytes_per_sec: 1_500, burst_bytes: 1_500, share: None };
    // Which losses hit which turns is chance: many short games.
    const GAMES: u64 = 40;
    let errors = |protection| {
        let mut errors = 0.0;
        for seed in 0..GAMES {
            // Receipts for the clients' copies would come out of the same budget.
            let (protections, scheduler) = ([protection, OFF], Box::new(Broadcast));
            let mut play = Play::with_scheduler(seed, &[lossy(30, 0.2)], protections, budget, scheduler);
            play.run_for(Span::from_secs(4));
            let before = play.sent_to(0);
            errors += play.run_for(Span::from_secs(20)).0 / GAMES as f64;
            let after = play.sent_to(0);
            assert!(after.bytes_sent - before.bytes_sent <= 30_000 + 1_500, "the budget is kept");
            assert!(20 * after.vectors_repeated < after.vectors_sent, "there is little left for copies");
        }
        errors
    };
    let (with, without) = (errors(LossProtection::default()), errors(OFF));
    assert!(with < 1.05 * without, "error {with} instead of {without}");
}

#[test]
fn a_receiver_that_seems_to_lose_costs_the_others_nothing() {
    // To the server, a receiver that denies arrivals is one that loses datagrams.
    let links = [lossy(40, 0.35), lossy(40, 0.0), lossy(40, 0.0)];
    let sent = |protection| {
        let scheduler = Box::new(ErrorIndex::new(ErrorIndexConfig::new(1.5)));
        let mut play = Play::with_scheduler(9, &links, [protection; 2], Budget::default(), scheduler);
        play.run_for(Span::from_secs(30));
        let denier = play.sent_to(0);
        assert!(denier.vectors_sent <= 7 * (denier.vectors_sent - denier.vectors_repeated));
        let errors: f64 = [1, 2].map(|index| play.sent_to(index).error_per_sec).iter().sum();
        ([1, 2].map(|index| play.sent_to(index).vectors_sent).iter().sum::<u64>() as f64, errors)
    };
    let ((with, error_with), (without, error_without)) = (sent(LossProtection::default()), sent(OFF));
    assert!(with > 0.97 * without, "the others are sent {with} instead of {without} DR vectors");
    assert!(error_with < 1.05 * error_without, "and their error is {error_with} instead of {error_without}");
}

#[test]
fn a_copy_is_skipped_once_the_receipt_is_there_or_a_newer_dr_vector() {
    let plan = CopyPlan::after_ms(&[136, 203]);
    let repeated = |delay_ms| {
        let protection = LossProtection::Fixed(plan);
        let mut play = Play::new(11, &[lossy(delay_ms, 0.0)], protection, Budget::default());
        play.run_for(Span::from_secs(10));
        let sent = play.sent_to(0);
        sent.vectors_repeated as f64 / (sent.vectors_sent - sent.vectors_repeated) as f64
    };
    let (near, far) = (repeated(5), repeated(150));
    assert!(near < 0.05, "receipts are back after 100 ms: {near} copies of each DR vector");
    // A ball turns every 250 ms: both copies leave before.
    assert!((1.5..=2.0).contains(&far), "receipts take 300 ms and more: {far} copies of each DR vector");
}
