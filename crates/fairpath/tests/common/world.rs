//! Entities that wander, on the simulator's star: what the laws of the schedulers are tried on.

use std::collections::BTreeMap;

use fairpath::ledger::Standing;
use fairpath::motion::{Motion, MotionKind};
use fairpath::number::{EntityId, Generation, Life, ReceiverId};
use fairpath::random::Random;
use fairpath::schedule::{Departure, DepartureKind, Dispatcher, DispatcherConfig, Scheduler};
use fairpath::time::{SharedInstant, Span};
use fairpath::trigger::TriggerReason;
use fairpath::vector::Vec2;
use fairpath::{DrVector, Export, State};
use fairpath_sim::star::{Spoke, Star, Watch};
use fairpath_sim::{Fate, LinkConfig};

/// The entity that most worlds are about.
pub(crate) const TANK: EntityId = EntityId(1);

pub(crate) struct World {
    pub(crate) star: Star<Vec2, Log>,
    pub(crate) now: SharedInstant,
    /// The newest DR vector of every entity that wanders.
    newest: BTreeMap<EntityId, DrVector<Vec2>>,
    random: Random,
}

/// Every copy that left, in order.
#[derive(Default)]
pub(crate) struct Log {
    pub(crate) departed: Vec<Departed>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Departed {
    pub(crate) entity: EntityId,
    pub(crate) receiver: ReceiverId,
    pub(crate) generated_at: SharedInstant,
    pub(crate) at: SharedInstant,
    pub(crate) arrives: SharedInstant,
    pub(crate) is_promise: bool,
}

impl Watch<Vec2> for Log {
    fn on_departure(&mut self, departure: &Departure, fate: Fate, _: &Dispatcher<Vec2>, now: SharedInstant) {
        self.departed.push(Departed {
            entity: departure.claim.entity,
            receiver: departure.claim.receiver,
            generated_at: departure.claim.generated_at,
            at: now,
            arrives: fate.arrivals().next().expect("these links lose nothing"),
            is_promise: departure.kind == DepartureKind::Promise,
        });
    }
}

/// A link that takes exactly this long.
pub(crate) fn steady(millis: i64) -> LinkConfig {
    LinkConfig::default().delay(Span::from_millis(millis))
}

impl World {
    /// Receivers 0, 1, 2, … at the ends of these links.
    pub(crate) fn new(
        config: DispatcherConfig,
        scheduler: Box<dyn Scheduler<Vec2>>,
        links: &[LinkConfig],
        seed: u64,
    ) -> Self {
        Self::with_luck(config, scheduler, links, seed, seed)
    }

    /// The scheduler draws from another seed than the world.
    pub(crate) fn with_luck(
        config: DispatcherConfig,
        scheduler: Box<dyn Scheduler<Vec2>>,
        links: &[LinkConfig],
        seed: u64,
        luck: u64,
    ) -> Self {
        let now = SharedInstant::ZERO;
        let mut world = Self {
            star: Star::new(config, scheduler, Random::from_seed(luck), now).watched_by(Log::default()),
            now,
            newest: BTreeMap::new(),
            random: Random::from_seed(seed).fork(2),
        };
        for (number, link) in (0..).zip(links) {
            world.join(ReceiverId(number), link.clone());
        }
        world
    }

    /// The papers' three receivers, 800, 500 and 200 ms away.
    pub(crate) fn of_the_papers(scheduler: Box<dyn Scheduler<Vec2>>, seed: u64) -> Self {
        let links = [800, 500, 200].map(steady);
        Self::new(DispatcherConfig::as_in_the_papers(), scheduler, &links, seed)
    }

    pub(crate) fn join(&mut self, receiver: ReceiverId, link: LinkConfig) {
        let random = self.random.fork(u64::from(receiver.0));
        self.star.join(receiver, Spoke::new(link, random), self.now);
    }

    /// An entity does something new, now.
    pub(crate) fn trigger(&mut self, vector: &DrVector<Vec2>) {
        assert_eq!(vector.generated_at, self.now);
        self.star.export(&Export { vector: *vector, reason: TriggerReason::Distance }, self.now);
        self.star.send_due(self.now);
    }

    /// Drives on another way every `interval`, so many times, but always more or less to the east:
    /// who is not told falls behind.
    pub(crate) fn wander(&mut self, entity: EntityId, times: usize, interval: Span) {
        for _ in 0..times {
            let mut vector = turn(&mut self.random, entity, MotionKind::Linear, self.now);
            if let (Some(last), Motion::Linear(motion)) = (self.newest.get(&entity), &mut vector.motion) {
                motion.position = last.position_at(self.now);
                motion.velocity.x = motion.velocity.x.abs();
            }
            self.trigger(&vector);
            self.newest.insert(entity, vector);
            self.run_until(self.now + interval);
        }
    }

    /// Stops, now.
    pub(crate) fn stop(&mut self, entity: EntityId) {
        let last = self.newest[&entity];
        let motion = MotionKind::Static.from_state(&last.state_at(self.now));
        self.trigger(&DrVector { generated_at: self.now, motion, ..last });
    }

    /// Says that nothing has changed, as a DR vector does.
    pub(crate) fn heartbeat(&mut self, entity: EntityId) {
        let last = self.newest[&entity];
        let motion = MotionKind::Linear.from_state(&last.state_at(self.now));
        let vector = DrVector { generated_at: self.now, motion, ..last };
        self.trigger(&vector);
        self.newest.insert(entity, vector);
    }

    /// Lets time pass.
    pub(crate) fn run_until(&mut self, end: SharedInstant) {
        self.star.run_until(end);
        self.star.send_due(end);
        self.now = end;
    }

    /// Lets time pass until all that was scheduled has left and been acknowledged.
    pub(crate) fn settle(&mut self) {
        while let Some(next) = self.star.poll_deadline() {
            self.run_until(next);
        }
    }

    pub(crate) fn standing(&self, entity: EntityId, receiver: u32) -> Standing {
        let ledger = self.star.dispatcher.ledger(entity).expect("it was generated");
        ledger.standing(ReceiverId(receiver)).expect("it joined")
    }

    /// Who was sent something at `at`, and the generation time of what it was.
    pub(crate) fn departed_at(&self, at: SharedInstant) -> Vec<(u32, SharedInstant)> {
        let copies = self.star.watch.departed.iter().filter(|copy| copy.at == at);
        copies.map(|copy| (copy.receiver.0, copy.generated_at)).collect()
    }

    /// How many copies a receiver was sent.
    pub(crate) fn told(&self, receiver: u32) -> usize {
        self.star.watch.departed.iter().filter(|copy| copy.receiver.0 == receiver).count()
    }
}

/// Somewhere else, another way, within a hundred metres and at up to 25 m/s.
pub(crate) fn turn(
    random: &mut Random,
    entity: EntityId,
    kind: MotionKind,
    now: SharedInstant,
) -> DrVector<Vec2> {
    let mut draw = |limit: f64| random.between(-limit, limit);
    let state = State::moving(Vec2::new(draw(50.0), draw(50.0)), Vec2::new(draw(18.0), draw(18.0)))
        .with_heading(draw(3.0), draw(0.8));
    DrVector {
        entity,
        life: Life::default(),
        generation: Generation::default(),
        generated_at: now,
        motion: kind.from_state(&state),
        attitude: None,
        parent: None,
    }
}
