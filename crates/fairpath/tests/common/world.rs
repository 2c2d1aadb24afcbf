//! A sender, its receivers and the links between them, in virtual time: what the laws of the
//! schedulers are tried on.

use std::collections::BTreeMap;

use fairpath::ledger::{CopyId, Standing};
use fairpath::motion::{Motion, MotionKind};
use fairpath::number::{EntityId, Generation, Life, ReceiverId};
use fairpath::random::Random;
use fairpath::schedule::{Dispatcher, DispatcherConfig, Scheduler};
use fairpath::time::{SharedInstant, Span};
use fairpath::trigger::Reason;
use fairpath::vector::Vec2;
use fairpath::{DrVector, State};

/// The entity that most worlds are about.
pub(crate) const TANK: EntityId = EntityId(1);

pub(crate) struct World {
    pub(crate) dispatcher: Dispatcher<Vec2>,
    pub(crate) now: SharedInstant,
    /// Every copy that left, in order.
    pub(crate) departed: Vec<Departed>,
    links: BTreeMap<ReceiverId, Link>,
    /// Receipts on their way back, by when they are in.
    receipts: BTreeMap<(SharedInstant, usize), Receipt>,
    /// What is known of the entities that wander.
    newest: BTreeMap<EntityId, DrVector<Vec2>>,
    random: Random,
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

/// A copy takes `delay` ± `jitter`, its receipt the same again.
#[derive(Clone, Copy)]
pub(crate) struct Link {
    pub(crate) delay: Span,
    pub(crate) jitter: Span,
}

struct Receipt {
    entity: EntityId,
    receiver: ReceiverId,
    copy: CopyId,
    arrived: SharedInstant,
}

impl Link {
    pub(crate) fn steady(millis: i64) -> Self {
        Self { delay: Span::from_millis(millis), jitter: Span::ZERO }
    }

    fn draw(&self, random: &mut Random) -> Span {
        (self.delay + self.jitter.scaled(random.between(-1.0, 1.0))).max(Span::ZERO)
    }
}

impl World {
    /// Receivers 0, 1, 2, … at the ends of these links.
    pub(crate) fn new(
        config: DispatcherConfig,
        scheduler: Box<dyn Scheduler<Vec2>>,
        links: &[Link],
        seed: u64,
    ) -> Self {
        Self::with_luck(config, scheduler, links, seed, seed)
    }

    /// The scheduler draws from another seed than the world.
    pub(crate) fn with_luck(
        config: DispatcherConfig,
        scheduler: Box<dyn Scheduler<Vec2>>,
        links: &[Link],
        seed: u64,
        luck: u64,
    ) -> Self {
        let random = Random::from_seed(seed);
        let mut world = Self {
            dispatcher: Dispatcher::new(config, scheduler, Random::from_seed(luck)),
            now: SharedInstant::ZERO,
            departed: Vec::new(),
            links: BTreeMap::new(),
            receipts: BTreeMap::new(),
            newest: BTreeMap::new(),
            random: random.fork(2),
        };
        for (number, link) in links.iter().enumerate() {
            world.join(ReceiverId(number as u32), *link);
        }
        world
    }

    /// The papers' three receivers, 800, 500 and 200 ms away.
    pub(crate) fn of_the_papers(scheduler: Box<dyn Scheduler<Vec2>>, seed: u64) -> Self {
        let links = [800, 500, 200].map(Link::steady);
        Self::new(DispatcherConfig::as_in_the_papers(), scheduler, &links, seed)
    }

    pub(crate) fn join(&mut self, receiver: ReceiverId, link: Link) {
        self.links.insert(receiver, link);
        self.dispatcher.join(receiver, self.now);
    }

    pub(crate) fn leave(&mut self, receiver: ReceiverId) {
        self.links.remove(&receiver);
        self.dispatcher.leave(receiver);
    }

    /// An entity does something new, now.
    pub(crate) fn trigger(&mut self, vector: &DrVector<Vec2>) {
        assert_eq!(vector.generated_at, self.now);
        self.dispatcher.on_generated(vector, Reason::Distance, self.now);
        self.depart();
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
        while let Some(next) = self.next_event().filter(|next| *next <= end) {
            self.now = self.now.max(next);
            while let Some(receipt) = self.receipts.first_entry().filter(|entry| entry.key().0 <= self.now) {
                let receipt = receipt.remove();
                let Receipt { entity, receiver, copy, arrived } = receipt;
                self.dispatcher.on_receipt(entity, receiver, copy, arrived, self.now);
            }
            self.depart();
        }
        self.now = end;
    }

    /// Lets time pass until all that was scheduled has left and been acknowledged.
    pub(crate) fn settle(&mut self) {
        while let Some(next) = self.next_event() {
            self.run_until(next);
        }
    }

    pub(crate) fn standing(&self, entity: EntityId, receiver: u32) -> Standing {
        let ledger = self.dispatcher.ledger(entity).expect("it was generated");
        ledger.standing(ReceiverId(receiver)).expect("it joined")
    }

    /// Who was sent something at `at`, and the generation time of what it was.
    pub(crate) fn departed_at(&self, at: SharedInstant) -> Vec<(u32, SharedInstant)> {
        let copies = self.departed.iter().filter(|copy| copy.at == at);
        copies.map(|copy| (copy.receiver.0, copy.generated_at)).collect()
    }

    /// How many copies a receiver was sent.
    pub(crate) fn told(&self, receiver: u32) -> usize {
        self.departed.iter().filter(|copy| copy.receiver.0 == receiver).count()
    }

    fn next_event(&self) -> Option<SharedInstant> {
        let receipt = self.receipts.keys().next().map(|(at, _)| *at);
        receipt.into_iter().chain(self.dispatcher.poll_deadline()).min()
    }

    fn depart(&mut self) {
        for departure in self.dispatcher.poll_departures(None, self.now) {
            let claim = departure.claim;
            let (entity, receiver) = (claim.entity, claim.receiver);
            let copy = self.dispatcher.on_departed(&claim, self.now, 1.0).expect("it is known");
            let link = self.links[&receiver];
            let arrived = self.now + link.draw(&mut self.random);
            self.departed.push(Departed {
                entity,
                receiver,
                generated_at: claim.generated_at,
                at: self.now,
                arrives: arrived,
                is_promise: departure.is_promise,
            });
            let receipt = Receipt { entity, receiver, copy, arrived };
            let back = arrived + link.draw(&mut self.random);
            self.receipts.insert((back, self.departed.len()), receipt);
        }
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
    }
}
