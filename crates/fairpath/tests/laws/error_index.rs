//! Error-index keeps within its budget, never buys what is worth nothing, and is fairer and no worse than telling
//! everyone every third time.

use std::collections::BTreeMap;

use fairpath::ledger::CopyId;
use fairpath::motion::MotionKind;
use fairpath::number::{EntityId, ReceiverId};
use fairpath::random::Random;
use fairpath::schedule::{Dispatcher, DispatcherConfig, ErrorIndex, ErrorIndexConfig, EveryNth, Scheduler};
use fairpath::time::{SharedInstant, Span, TickRate};
use fairpath::trigger::Trigger;
use fairpath::vector::{Vec2, Vector};
use fairpath::{Observation, Owner, State};

const FAR_TO_NEAR_MS: [i64; 3] = [800, 500, 200];

/// A sender of tanks and its receivers, in virtual time.
struct World {
    now: SharedInstant,
    tick: i64,
    random: Random,
    tanks: Vec<Tank>,
    dispatcher: Dispatcher<Vec2>,
    links: BTreeMap<ReceiverId, Link>,
    events: BTreeMap<(SharedInstant, u64), Event>,
    triggers: u64,
    log: Vec<Sent>,
}

/// Drives about, one whim after the other, unless it is told to stand still.
struct Tank {
    owner: Owner<Vec2>,
    /// Its own, so that what is sent does not change where it goes.
    random: Random,
    position: Vec2,
    heading: f64,
    speed: f64,
    turn_rate: f64,
    whim_until: SharedInstant,
    is_parked: bool,
}

#[derive(Clone, Copy)]
struct Link {
    delay: Span,
    jitter: Span,
    loss: f64,
}

#[derive(Clone, Copy)]
struct Event {
    entity: EntityId,
    receiver: ReceiverId,
    copy: CopyId,
    sent_at: SharedInstant,
    received_at: SharedInstant,
}

/// A copy that left.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sent {
    entity: EntityId,
    receiver: ReceiverId,
    at: SharedInstant,
    generated_at: SharedInstant,
    is_promise: bool,
}

fn receiver(index: usize) -> ReceiverId {
    ReceiverId(index as u32)
}

impl World {
    fn new(seed: u64, config: DispatcherConfig, scheduler: impl Scheduler<Vec2> + 'static) -> Self {
        let random = Random::from_seed(seed);
        Self {
            now: SharedInstant::ZERO,
            tick: 0,
            dispatcher: Dispatcher::new(config, Box::new(scheduler), random.fork(u64::MAX)),
            random,
            tanks: Vec::new(),
            links: BTreeMap::new(),
            events: BTreeMap::new(),
            triggers: 0,
            log: Vec::new(),
        }
    }

    fn with_tank(mut self, kind: MotionKind) -> Self {
        let entity = EntityId(self.tanks.len() as u32);
        self.tanks.push(Tank {
            owner: Owner::new(entity, Trigger::within(0.3)).with_model(kind),
            random: self.random.fork(u64::from(entity.0)),
            position: Vec2::ZERO,
            heading: 0.0,
            speed: 0.0,
            turn_rate: 0.0,
            whim_until: SharedInstant::ZERO,
            is_parked: false,
        });
        self
    }

    fn with_links(mut self, delays_ms: impl IntoIterator<Item = i64>, jitter_ms: i64, loss: f64) -> Self {
        for delay in delays_ms {
            let link = Link { delay: Span::from_millis(delay), jitter: Span::from_millis(jitter_ms), loss };
            self.join(link);
        }
        self
    }

    fn join(&mut self, link: Link) -> ReceiverId {
        let joins = receiver(self.links.len());
        self.links.insert(joins, link);
        self.dispatcher.join(joins, self.now);
        joins
    }

    fn run_for(&mut self, secs: i64) {
        for _ in 0..secs * 60 {
            self.step();
        }
    }

    fn step(&mut self) {
        self.tick += 1;
        self.now = SharedInstant::ZERO + TickRate::hz(60).begin(self.tick);
        self.hear_receipts(self.now);
        for tank in &mut self.tanks {
            tank.step(self.now);
            let cut = tank.owner.observe(Observation::Moved(tank.state()), self.now).expect("finite");
            if let Some(export) = cut {
                self.triggers += 1;
                self.dispatcher.on_generated(&export.vector, export.reason, self.now);
            }
        }
        for departure in self.dispatcher.poll_departures(None, self.now) {
            let claim = departure.claim;
            self.log.push(Sent {
                entity: claim.entity,
                receiver: claim.receiver,
                at: self.now,
                generated_at: claim.vector.generated_at,
                is_promise: departure.is_promise,
            });
            let copy = self.dispatcher.on_departed(&claim, self.now, 1.0).expect("a page and a new vector");
            let link = self.links[&claim.receiver];
            let late = self.random.between(-1.0, 1.0);
            if !self.random.chance(link.loss) {
                let received_at = self.now + link.delay + link.jitter.scaled(late);
                let event = Event {
                    entity: claim.entity,
                    receiver: claim.receiver,
                    copy,
                    sent_at: self.now,
                    received_at,
                };
                self.events.insert((received_at + link.delay, self.log.len() as u64), event);
            }
        }
    }

    /// Receipts that are back by `until`. The way back neither jitters nor loses.
    fn hear_receipts(&mut self, until: SharedInstant) {
        while let Some(entry) = self.events.first_entry().filter(|entry| entry.key().0 <= until) {
            let event = entry.remove();
            let delay = event.received_at - event.sent_at;
            self.dispatcher.on_receipt(event.entity, event.receiver, event.copy, event.received_at, delay);
            self.dispatcher.on_complete(event.receiver, event.received_at);
        }
    }

    /// The true accumulated error of every receiver about the first tank.
    fn errors(&mut self) -> Vec<f64> {
        self.dispatcher.advance(self.now);
        self.hear_receipts(SharedInstant::from_micros(i64::MAX));
        let ledger = self.dispatcher.ledger(EntityId(0)).expect("the tank was seen");
        ledger.standings().map(|(_, standing)| standing.accumulated).collect()
    }
}

impl Tank {
    fn step(&mut self, now: SharedInstant) {
        let random = &mut self.random;
        if now >= self.whim_until {
            self.whim_until = now + Span::from_secs_f64(random.between(0.3, 2.0));
            self.speed = match random.below(20) {
                0..12 => 25.0,
                12..15 => random.between(12.5, 25.0),
                15..17 => 0.0,
                _ => random.between(-12.5, -6.0),
            };
            self.turn_rate = match random.below(5) {
                0 | 1 => 0.0,
                2 => 0.785,
                3 => -0.785,
                _ => random.between(-0.785, 0.785),
            };
        }
        if self.is_parked {
            (self.speed, self.turn_rate) = (0.0, 0.0);
        }
        let secs = 1.0 / 60.0;
        self.heading += self.turn_rate * secs;
        self.position += Vec2::from_heading(self.heading) * (self.speed * secs);
    }

    fn state(&self) -> State<Vec2> {
        State::moving(self.position, Vec2::from_heading(self.heading) * self.speed)
            .with_heading(self.heading, self.turn_rate)
    }
}

/// Mean and population standard deviation.
fn mean_and_spread(errors: &[f64]) -> (f64, f64) {
    let mean = errors.iter().sum::<f64>() / errors.len() as f64;
    let variance = errors.iter().map(|error| (error - mean) * (error - mean)).sum::<f64>();
    (mean, (variance / errors.len() as f64).sqrt())
}

fn in_the_papers(seed: u64, kind: MotionKind, scheduler: impl Scheduler<Vec2> + 'static) -> World {
    World::new(seed, DispatcherConfig::as_in_the_papers(), scheduler).with_tank(kind)
}

fn error_index(budget: f64) -> ErrorIndex {
    ErrorIndex::new(ErrorIndexConfig::new(budget))
}

#[test]
fn at_equal_cost_it_is_far_fairer_than_every_third_and_no_worse() {
    for (kind, jitter_ms) in [(MotionKind::Linear, 0), (MotionKind::Linear, 100), (MotionKind::Circular, 0)] {
        let (mut ours, mut third) = ((0.0, 0.0, 0), (0.0, 0.0, 0));
        for seed in 1..=4 {
            let measure = |mut world: World, sums: &mut (f64, f64, usize)| {
                world.run_for(120);
                let (mean, spread) = mean_and_spread(&world.errors());
                *sums = (sums.0 + mean, sums.1 + spread, sums.2 + world.log.len());
            };
            let links = |world: World| world.with_links(FAR_TO_NEAR_MS, jitter_ms, 0.0);
            measure(links(in_the_papers(seed, kind, error_index(1.0))), &mut ours);
            measure(links(in_the_papers(seed, kind, EveryNth::new(3))), &mut third);
        }
        let ratios = (ours.1 / third.1, ours.0 / third.0, ours.2 as f64 / third.2 as f64);
        println!("{kind:?} ±{jitter_ms}: spread {:.3} mean {:.3} cost {:.3}", ratios.0, ratios.1, ratios.2);
        assert!(ratios.0 <= 0.2, "spread {ratios:?}");
        assert!(ratios.1 <= 1.0, "mean {ratios:?}");
        assert!(ratios.2 <= 1.01, "cost {ratios:?}");
    }
}
