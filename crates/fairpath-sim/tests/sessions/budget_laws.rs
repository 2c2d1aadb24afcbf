//! Laws of the byte budget: what suffices changes nothing, what does not suffice is kept in every
//! two seconds, no object is forgotten, no birth is lost. Method: balls that never keep to their
//! line, and sparks that are born and end all the time.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use fairpath::random::Random;
use fairpath::schedule::{Broadcast, CopyPlan, QueueOrder, Queued, Scheduler};
use fairpath::session::{Budget, LossProtection, Server, ServerConfig};
use fairpath::time::{SharedInstant, Span};
use fairpath::vector::Vec2;
use fairpath::{EntityId, Observation, State};
use fairpath_laws::law;
use fairpath_laws::proptest::prelude::*;
use fairpath_sim::{DatagramRoute, LinkConfig, Loss, SessionWorld, Tap};

use super::arena::{BALL, World, classes, client};

/// A game of server-owned balls and sparks for one client.
struct Game {
    world: World,
    balls: Vec<EntityId>,
    sparks: Vec<(EntityId, SharedInstant)>,
    sparks_per_sec: f64,
    dice: Random,
    /// When sparks ended.
    ended: Vec<SharedInstant>,
}

fn wobble(which: u32, now: SharedInstant) -> Observation<Vec2> {
    let t = now.as_secs_f64() * 2.0 + f64::from(which);
    let ahead = Vec2::from_heading(t);
    Observation::Moved(State::moving(ahead * 20.0, ahead.perpendicular() * 40.0))
}

impl Game {
    fn new(
        seed: u64,
        scheduler: Box<dyn Scheduler<Vec2>>,
        budget: Budget,
        balls: usize,
        sparks_per_sec: f64,
        loss: f64,
    ) -> Self {
        let protection = LossProtection::default();
        Self::protected(seed, scheduler, budget, balls, sparks_per_sec, (loss, protection))
    }

    fn protected(
        seed: u64,
        scheduler: Box<dyn Scheduler<Vec2>>,
        budget: Budget,
        balls: usize,
        sparks_per_sec: f64,
        (loss, loss_protection): (f64, LossProtection),
    ) -> Self {
        let config = ServerConfig { budget, loss_protection, ..ServerConfig::new(classes(), 1) };
        let server = Server::new(config, scheduler, Random::from_seed(seed));
        let link = LinkConfig::default().delay(DELAY).loss(Loss::each(loss));
        let mut world: World = SessionWorld::new(seed, link, server, vec![client(0)]);
        world.connect_all();
        let balls = (0..balls).map(|_| world.server.create(BALL, b"", world.now()).expect("room")).collect();
        let dice = Random::from_seed(seed).fork(9);
        Self { world, balls, sparks: Vec::new(), sparks_per_sec, dice, ended: Vec::new() }
    }

    /// Runs on, and calls `look` after every tick.
    fn run(&mut self, span: Span, mut look: impl FnMut(&mut World, &[EntityId], SharedInstant)) {
        let Self { world, balls, sparks, sparks_per_sec, dice, ended } = self;
        world.run_for(span, |world, now| {
            for ball in balls.iter() {
                world.server.observe(*ball, wobble(ball.0, now), now).expect("its own");
            }
            if dice.chance(*sparks_per_sec / 60.0) {
                let spark = world.server.create(BALL, b"", now).expect("room");
                world.server.observe(spark, wobble(spark.0, now), now).expect("its own");
                sparks.push((spark, now + Span::from_millis(700)));
            }
            for (spark, _) in sparks.iter().filter(|(_, ends)| *ends <= now) {
                world.server.destroy(*spark).expect("it is there");
                ended.push(now);
            }
            sparks.retain(|(_, ends)| *ends > now);
            look(world, balls, now);
        });
    }
}

const DELAY: Span = Span::from_millis(30);

fn order() -> impl Strategy<Value = QueueOrder> {
    prop::sample::select(QueueOrder::ALL.to_vec())
}

/// All datagrams that leave the server, byte for byte, and when.
type Departed = Vec<(SharedInstant, Vec<u8>)>;

#[derive(Clone, Debug, Default)]
struct Datagrams(Arc<Mutex<Departed>>);

impl Tap<Vec2> for Datagrams {
    fn on_sends(&mut self, way: DatagramRoute, now: SharedInstant, datagram: &mut Vec<u8>) {
        if !way.is_up {
            self.0.lock().expect("nobody panicked").push((now, datagram.clone()));
        }
    }
}

#[test]
fn where_bytes_suffice_every_order_sends_what_broadcast_sends() {
    law!((any::<u64>(), order(), 1..12usize, 0.0..20.0f64), cases = 24, |(seed, order, balls, sparks)| {
        let left = |scheduler: Box<dyn Scheduler<Vec2>>| {
            let datagrams = Datagrams::default();
            let mut game = Game::new(seed, scheduler, Budget::default(), balls, sparks, 0.05);
            game.world = game.world.with_tap(datagrams.clone());
            game.run(Span::from_secs(3), |_, _, _| {});
            std::mem::take(&mut *datagrams.0.lock().expect("nobody panicked"))
        };
        prop_assert!(left(Box::new(Broadcast)) == left(Box::new(Queued::by(order))));
        Ok(())
    });
}

#[test]
fn every_two_seconds_keep_to_the_budget() {
    let cases = (any::<u64>(), order(), 400..4_000u32, 500..4_000u32, 1..30usize, 0.0..40.0f64, 0.25..1.0f64);
    law!(cases, cases = 24, |(seed, order, bytes_per_sec, burst_bytes, balls, sparks, share)| {
        let budget = Budget { bytes_per_sec, burst_bytes, share: None };
        // Repeats against loss draw from the same budget, and what a rising delay leaves of it.
        let repeats = LossProtection::Fixed(CopyPlan::after_ms(&[17, 36]));
        let scheduler = Box::new(Queued::by(order));
        let mut game = Game::protected(seed, scheduler, budget, balls, sparks, (0.1, repeats));
        let of = game.world.client(0).id().expect("connected");
        let now = game.world.now();
        let connection = game.world.server.connection(of).expect("connected");
        game.world.server.set_budget_share(connection, share, now);
        let bytes_per_sec = share * f64::from(bytes_per_sec);
        let mut sent: Vec<(SharedInstant, u64)> = Vec::new();
        game.run(Span::from_secs(8), |world, _, now| {
            sent.push((now, world.server.statistics(of).expect("a session").bytes_sent));
        });
        let window = Span::from_secs(2);
        for (at, bytes) in &sent {
            let Some((_, later)) = sent.iter().take_while(|(then, _)| *then - *at <= window).last() else {
                continue;
            };
            let removals = game.ended.iter().filter(|then| **then >= *at && **then - *at <= window).count();
            // One announcement may overdraw the budget; removals do not wait.
            let allowed = 2.0 * bytes_per_sec + f64::from(burst_bytes) + 100.0 + 8.0 * removals as f64;
            prop_assert!(
                (later - bytes) as f64 <= allowed,
                "{} bytes of {allowed} from {at:?}",
                later - bytes
            );
        }
        Ok(())
    });
}

#[test]
fn no_object_starves_and_no_birth_is_lost_where_bytes_are_short() {
    let cases = (any::<u64>(), order(), 400..3_000u32, 1..30usize, 0.0..40.0f64, 0.0..0.05f64);
    law!(cases, cases = 24, |(seed, order, bytes_per_sec, balls, sparks, loss)| {
        let budget = Budget { bytes_per_sec, burst_bytes: 1_500, share: None };
        let mut game = Game::new(seed, Box::new(Queued::by(order)), budget, balls, sparks, loss);
        // Announcements of 30 bytes have half of the rate; each ball is the fourth at the latest. A
        // copy has 20 bytes in a small datagram, motion has the other half; every eighth copy is of
        // the object that has waited longest, and sparks are objects too. Losses cost as much
        // again.
        let half = 0.5 * f64::from(bytes_per_sec);
        let seen = balls as f64 + 0.7 * sparks + 3.0;
        let known_within = 4.0 * 30.0 * (seen + 1.0) / half;
        let age_max = Span::from_secs_f64(2.0 * (8.0 * 20.0 * (seen + 1.0) / half) + 1.0);
        game.run(Span::from_secs_f64(known_within + 1.0), |_, _, _| {});
        let mut newest: BTreeMap<EntityId, (SharedInstant, SharedInstant)> = BTreeMap::new();
        let mut oldest = Span::ZERO;
        let mut missing = None;
        game.run(Span::from_secs(8), |world, balls, now| {
            for ball in balls {
                let Some(vector) = world.client(0).followed(*ball) else {
                    missing = Some(*ball);
                    continue;
                };
                let (generated_at, since) = newest.entry(*ball).or_insert((vector.generated_at, now));
                if *generated_at != vector.generated_at {
                    (*generated_at, *since) = (vector.generated_at, now);
                }
                oldest = oldest.max(now - *since);
            }
        });
        prop_assert!(missing.is_none(), "{missing:?} is not known after {known_within} s");
        prop_assert!(oldest <= age_max, "a ball was not heard of for {oldest:?}, more than {age_max:?}");
        Ok(())
    });
}
