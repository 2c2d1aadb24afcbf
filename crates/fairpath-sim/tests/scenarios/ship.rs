//! A ship that sails in a circle, its owner, and somebody who watches it across a link.
//!
//! The owner sends "it moves straight on like this" ten times a second; the watcher places the ship
//! by the newest it has, sixty times a second.

use std::ops::Range;

use fairpath::State;
use fairpath::motion::{Motion, MotionKind};
use fairpath::number::EntityId;
use fairpath::time::{SharedInstant, Span, TickRate};
use fairpath::vector::{Vec2, Vector};
use fairpath_sim::trace::{Metadata, StateKind, StateRow, Trace};
use fairpath_sim::{Event, LinkConfig, Network, PeerId};

pub(crate) const OWNER: PeerId = PeerId(0);
pub(crate) const WATCHER: PeerId = PeerId(1);
pub(crate) const SEND_EVERY: Span = Span::from_millis(100);

const SHIP: EntityId = EntityId(1);
const FRAMES: TickRate = TickRate::hz(60);
const SEND: u64 = 0;
const DRAW: u64 = 1;
const UPDATE_BYTES: u32 = 40;

pub(crate) struct ShipWorld {
    pub(crate) network: Network<Update>,
    pub(crate) trace: Trace,
    truth: Motion<Vec2>,
    newest: Option<Update>,
    errors: Vec<(SharedInstant, f64)>,
    frame: i64,
}

/// "From this instant on, believe that it moves like this."
#[derive(Clone, Copy)]
pub(crate) struct Update {
    generated_at: SharedInstant,
    motion: Motion<Vec2>,
}

impl ShipWorld {
    pub(crate) fn new(seed: u64, link: LinkConfig) -> Self {
        // 10 m/s and 1 rad/s: it leaves its tangent with 10 m/s², half a metre after 0.32 s.
        let start = State::moving(Vec2::ZERO, Vec2::new(10.0, 0.0)).with_heading(0.0, 1.0);
        let mut network = Network::new(seed, 2);
        network.connect(OWNER, WATCHER, link);
        network.wake(OWNER, SharedInstant::ZERO, SEND);
        network.wake(WATCHER, SharedInstant::ZERO, DRAW);
        Self {
            network,
            trace: Trace::new(Metadata::new("ship", seed)),
            truth: MotionKind::Circular.from_state(&start),
            newest: None,
            errors: Vec::new(),
            frame: 0,
        }
    }

    pub(crate) fn run_until(&mut self, until: SharedInstant) {
        while let Some(event) = self.network.step_until(until) {
            match event {
                Event::Wake(wake) if wake.reason == SEND => self.send_update(),
                Event::Wake(_) => self.draw_frame(),
                Event::Delivery(delivery) => self.accept(delivery.payload),
            }
        }
    }

    /// How far from the truth the watcher ever saw it.
    pub(crate) fn worst_error(&self, during: Range<SharedInstant>) -> f64 {
        let seen = self.errors.iter().filter(|(at, _)| during.contains(at));
        seen.map(|(_, error)| *error).fold(0.0, f64::max)
    }

    fn send_update(&mut self) {
        let now = self.network.now();
        let motion = MotionKind::Linear.from_state(&self.truth.state_at(now.as_secs_f64()));
        self.network.send(OWNER, WATCHER, UPDATE_BYTES, Update { generated_at: now, motion });
        self.network.wake(OWNER, now + SEND_EVERY, SEND);
    }

    /// Only what is newer than what it has.
    fn accept(&mut self, update: Update) {
        if self.newest.is_none_or(|newest| update.generated_at > newest.generated_at) {
            self.newest = Some(update);
        }
    }

    fn draw_frame(&mut self) {
        let now = self.network.now();
        if let Some(newest) = self.newest {
            let truth = self.truth.state_at(now.as_secs_f64());
            let placed = newest.motion.state_at((now - newest.generated_at).as_secs_f64());
            self.errors.push((now, truth.position.distance(placed.position)));
            self.trace.states.push(StateRow::new(now, SHIP, StateKind::Truth, &truth));
            let viewer = Some(WATCHER.0);
            self.trace
                .states
                .push(StateRow { viewer, ..StateRow::new(now, SHIP, StateKind::Placed, &placed) });
        }
        self.frame += 1;
        self.network.wake(WATCHER, SharedInstant::ZERO + FRAMES.begin(self.frame), DRAW);
    }
}

/// How far the ship gets from its tangent in this time, at most.
pub(crate) fn drift_after(span: Span) -> f64 {
    0.5 * 10.0 * span.as_secs_f64() * span.as_secs_f64()
}

pub(crate) fn secs(secs: f64) -> SharedInstant {
    SharedInstant::from_secs_f64(secs)
}
