//! The workload for schedulers: a sender with tanks, and its receivers.

use std::collections::VecDeque;

use fairpath::ledger::CopyId;
use fairpath::motion::MotionKind;
use fairpath::number::{EntityId, Generation, Life, ReceiverId};
use fairpath::random::Random;
use fairpath::schedule::{Departure, Dispatcher, DispatcherConfig, Scheduler};
use fairpath::time::{SharedInstant, Span, TickRate};
use fairpath::trigger::TriggerReason;
use fairpath::vector::{Vec2, Vector};
use fairpath::{DrVector, State};

/// Time between two triggers of a busy tank.
const INTERVAL: Span = Span::from_millis(140);
/// The longest round trip.
const RECEIPTS_AFTER: Span = Span::from_millis(840);
const RATE: TickRate = TickRate::hz(60);

/// One sender with its tanks, and the copies that are under way to its receivers.
pub(crate) struct Workload {
    dispatcher: Dispatcher<Vec2>,
    random: Random,
    now: SharedInstant,
    tick: i64,
    kind: MotionKind,
    tanks: Vec<DrVector<Vec2>>,
    delays: Vec<Span>,
    under_way: VecDeque<InFlightCopy>,
}

struct InFlightCopy {
    receiver: ReceiverId,
    id: CopyId,
    sent_at: SharedInstant,
    received_at: SharedInstant,
}

#[derive(Clone, Copy)]
pub(crate) struct LoadSize {
    pub(crate) tanks: usize,
    pub(crate) receivers: usize,
    /// Tanks that each receiver sees.
    pub(crate) in_scope: usize,
}

impl LoadSize {
    /// One tank that every receiver sees.
    pub(crate) fn crowd(receivers: usize) -> Self {
        Self { tanks: 1, receivers, in_scope: 1 }
    }

    /// Returns the number of pairs of tank and receiver.
    pub(crate) fn pairs(self) -> usize {
        self.receivers * self.in_scope
    }

    /// Returns whether a receiver sees a tank: the nearest ones, on a ring.
    fn sees(self, receiver: usize, tank: usize) -> bool {
        let nearest = receiver * self.tanks / self.receivers;
        (tank + self.tanks - nearest) % self.tanks < self.in_scope
    }
}

impl Workload {
    pub(crate) fn new(
        kind: MotionKind,
        size: LoadSize,
        config: DispatcherConfig,
        scheduler: Box<dyn Scheduler<Vec2>>,
    ) -> Self {
        let mut random = Random::from_seed(size.receivers as u64);
        let mut dispatcher = Dispatcher::new(config, scheduler, random.fork(0));
        for receiver in 0..size.receivers {
            dispatcher.join(ReceiverId(receiver as u32), SharedInstant::ZERO);
        }
        let state = State::moving(Vec2::ZERO, Vec2::new(25.0, 0.0));
        let tank = |tank| DrVector {
            entity: EntityId(tank),
            life: Life::default(),
            generation: Generation::default(),
            generated_at: SharedInstant::ZERO,
            motion: kind.from_state(&state),
            attitude: None,
            parent: None,
        };
        let tanks: Vec<DrVector<Vec2>> = (0..size.tanks as u32).map(tank).collect();
        for (number, tank) in tanks.iter().enumerate() {
            dispatcher.on_generated(tank, TriggerReason::Born, SharedInstant::ZERO);
            for receiver in (0..size.receivers).filter(|receiver| !size.sees(*receiver, number)) {
                dispatcher.hide(tank.entity, ReceiverId(receiver as u32));
            }
        }
        let delays = (0..size.receivers).map(|_| Span::from_secs_f64(random.between(0.02, 0.4))).collect();
        let (now, under_way) = (SharedInstant::ZERO, VecDeque::new());
        Self { dispatcher, random, now, tick: 0, kind, tanks, delays, under_way }
    }

    /// Advances time by one interval and turns the first tank. No receiver knows of the turn yet.
    pub(crate) fn drive_on(&mut self) {
        self.now += INTERVAL;
        self.turn(0);
    }

    /// Fires the first tank's trigger and returns the departures.
    pub(crate) fn trigger(&mut self) -> Vec<Departure> {
        self.dispatcher.on_generated(&self.tanks[0], TriggerReason::Distance, self.now);
        self.dispatcher.poll_departures(None, self.now)
    }

    /// Plays one server tick: some tanks turn, every packet is filled, the next deadline is asked.
    pub(crate) fn tick(&mut self) -> Vec<Departure> {
        self.tick += 1;
        self.now = SharedInstant::ZERO + RATE.begin(self.tick);
        let turns = RATE.step_secs() / INTERVAL.as_secs_f64();
        for tank in 0..self.tanks.len() {
            if self.random.chance(turns) {
                self.turn(tank);
                self.dispatcher.on_generated(&self.tanks[tank], TriggerReason::Distance, self.now);
            }
        }
        let mut departures = Vec::new();
        for receiver in 0..self.delays.len() {
            departures.extend(self.dispatcher.poll_departures(Some(ReceiverId(receiver as u32)), self.now));
        }
        std::hint::black_box(self.dispatcher.poll_deadline());
        departures
    }

    pub(crate) fn send(&mut self, departures: Vec<Departure>) {
        for departure in departures {
            let receiver = departure.claim.receiver;
            let (sent_at, received_at) = (self.now, self.now + self.delays[receiver.0 as usize]);
            if let Some(id) = self.dispatcher.on_departed(&departure.claim, self.now, 1.0) {
                self.under_way.push_back(InFlightCopy { receiver, id, sent_at, received_at });
            }
        }
    }

    /// Handles the receipts that have arrived by now and returns how many there were.
    pub(crate) fn hear_receipts(&mut self) -> f64 {
        let mut count = 0.0;
        while let Some(copy) = self.under_way.pop_front_if(|copy| copy.sent_at + RECEIPTS_AFTER <= self.now) {
            self.dispatcher.on_receipt(copy.receiver, copy.id, copy.received_at, self.now);
            self.dispatcher.on_complete(copy.receiver, copy.received_at, self.now);
            count += 1.0;
        }
        count
    }

    fn turn(&mut self, tank: usize) {
        let vector = &mut self.tanks[tank];
        let heading = self.random.between(-3.0, 3.0);
        // A trigger fires because the truth is this far from the guess.
        let off = Vec2::from_heading(self.random.between(-3.0, 3.0)) * 0.3;
        let state = State::moving(vector.position_at(self.now) + off, Vec2::from_heading(heading) * 25.0)
            .with_heading(heading, self.random.between(-0.8, 0.8));
        vector.generated_at = self.now;
        vector.generation = vector.generation.next();
        vector.motion = self.kind.from_state(&state);
    }
}
