//! One run of X1: one entity's truth, one delay, everything measured at every tick.

use fairpath::motion::MotionKind;
use fairpath::number::{EntityId, ReceiverId};
use fairpath::random::Random;
use fairpath::schedule::{Broadcast, DispatcherConfig};
use fairpath::time::{SharedInstant, Span};
use fairpath::trigger::Trigger;
use fairpath::vector::Planar;
use fairpath::{Observation, Owner};
use fairpath_sim::star::{ReplicaKind, Spoke, Star};
use fairpath_sim::{LinkConfig, SimClock};

use crate::truth::Truth;

const KINDS: [ReplicaKind; WAYS] =
    [ReplicaKind::Local, ReplicaKind::Hop, ReplicaKind::Global, ReplicaKind::GlobalEstimated];
const WAYS: usize = 4;
pub(super) const LOCAL: usize = 0;
pub(super) const HOP: usize = 1;
pub(super) const GLOBAL: usize = 2;
/// Global placement on the clock that the receiver estimates through its own links.
pub(super) const ESTIMATED: usize = 3;
/// The trigger's threshold in units of length: a tenth of a tank's width.
pub(super) const THRESHOLD: f64 = 0.3;

/// What was measured in one run or, pooled, in several.
#[derive(Clone, Debug, Default)]
pub(super) struct Measured {
    /// Distance from the truth at every tick, for each way of placing.
    pub(super) errors: [Vec<f64>; WAYS],
    /// After export error: distance from the exported path while following the newest DR vector.
    pub(super) after: [Extremes; WAYS],
    /// How often the globally placed entity was farther off than the locally placed one.
    pub(super) global_worse_ticks: u64,
    /// By how much the estimated clock was off, in seconds, and how much it said it might be.
    pub(super) clock_error_secs: Extremes,
    pub(super) clock_uncertainty_secs: Extremes,
    /// At how many ticks the stated uncertainty covered the error.
    pub(super) clock_covered_ticks: u64,
    pub(super) vectors: u64,
    pub(super) bytes: u64,
    pub(super) secs: f64,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Extremes {
    sum: f64,
    count: u64,
    pub(super) max: f64,
}

impl Extremes {
    fn add(&mut self, number: f64) {
        self.sum += number;
        self.count += 1;
        self.max = self.max.max(number);
    }

    fn merge(&mut self, other: &Self) {
        self.sum += other.sum;
        self.count += other.count;
        self.max = self.max.max(other.max);
    }

    pub(super) fn mean(&self) -> f64 {
        self.sum / self.count as f64
    }
}

impl Measured {
    pub(super) fn merge(&mut self, other: Self) {
        for (all, more) in self.errors.iter_mut().zip(other.errors) {
            all.extend(more);
        }
        for (all, more) in self.after.iter_mut().zip(&other.after) {
            all.merge(more);
        }
        self.clock_error_secs.merge(&other.clock_error_secs);
        self.clock_uncertainty_secs.merge(&other.clock_uncertainty_secs);
        self.clock_covered_ticks += other.clock_covered_ticks;
        self.global_worse_ticks += other.global_worse_ticks;
        self.vectors += other.vectors;
        self.bytes += other.bytes;
        self.secs += other.secs;
    }

    pub(super) fn ticks(&self) -> u64 {
        self.errors[GLOBAL].len() as u64
    }

    pub(super) fn mean(&self, way: usize) -> f64 {
        self.errors[way].iter().sum::<f64>() / self.errors[way].len() as f64
    }

    /// The error that a share of all ticks stays below.
    pub(super) fn quantile(&self, way: usize, share: f64) -> f64 {
        let mut sorted = self.errors[way].clone();
        if sorted.is_empty() {
            return f64::NAN;
        }
        sorted.sort_by(f64::total_cmp);
        sorted[((sorted.len() - 1) as f64 * share).round() as usize]
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Frame<V> {
    pub(super) at: SharedInstant,
    pub(super) truth: V,
    pub(super) placed: [V; WAYS],
}

/// Runs one truth through one link and shows `watch` every tick that counts.
pub(super) fn run<V: Planar>(
    truth: &Truth<V>,
    model: MotionKind,
    link: &LinkConfig,
    random: &mut Random,
    mut watch: impl FnMut(&Frame<V>),
) -> Measured {
    let mut owner = Owner::new(ENTITY, Trigger::within(THRESHOLD)).with_model(model);
    let mut star = star(truth.ticks[0].0, link, random);
    let mut measured = Measured { secs: truth.length().as_secs_f64(), ..Measured::default() };
    for &(now, state) in &truth.ticks {
        if let Some(export) = owner.observe(Observation::Moved(state), now).expect("truths are finite") {
            star.export(&export, now);
        }
        star.send_due(now);
        star.run_until(now);
        let Some(placed) = place(&mut star, now) else { continue };
        measured.note_clock(star.clock_error(RECEIVER, now));
        let exported = owner.exported().expect("the first observation exports");
        let replica = star.replica(RECEIVER, ENTITY, ReplicaKind::Global);
        let follows = replica.and_then(|replica| replica.followed()).map(|vector| vector.generated_at);
        let is_after = follows == Some(exported.generated_at);
        measured.note_tick(state.position, exported.position_at(now), &placed, is_after);
        watch(&Frame { at: now, truth: state.position, placed });
    }
    let sent = star.link(RECEIVER).statistics();
    (measured.vectors, measured.bytes) = (sent.sent, sent.sent_bytes);
    measured
}

const ENTITY: EntityId = EntityId(1);
const RECEIVER: ReceiverId = ReceiverId(0);

/// One receiver behind links like this one in both directions, on an unsynchronised machine.
fn star<V: Planar>(begin: SharedInstant, link: &LinkConfig, random: &mut Random) -> Star<V> {
    let config = DispatcherConfig::as_in_the_papers();
    let mut star = Star::new(config, Box::new(Broadcast), random.fork(0), begin);
    let clock = SimClock::unsynchronised(random);
    let spoke = Spoke::new(link.clone(), random.clone()).clock(clock).synchronised();
    star.join(RECEIVER, spoke.replicas(KINDS).without_receipts(), begin);
    star
}

/// Where each replica places the entity; nothing before all of them can.
fn place<V: Planar>(star: &mut Star<V>, now: SharedInstant) -> Option<[V; WAYS]> {
    let mut positions = [V::ZERO; WAYS];
    for (kind, position) in KINDS.into_iter().zip(&mut positions) {
        let now = star.clocks(RECEIVER, kind, now)?;
        *position = star.replica(RECEIVER, ENTITY, kind)?.position(now)?;
    }
    Some(positions)
}

impl Measured {
    fn note_tick<V: Planar>(&mut self, truth: V, exported: V, placed: &[V; WAYS], is_after: bool) {
        for (way, position) in placed.iter().enumerate() {
            self.errors[way].push(position.distance(truth));
            // The estimated replica may have missed what came before its clock was set.
            if is_after {
                self.after[way].add(position.distance(exported));
            }
        }
        let last = self.errors[GLOBAL].len() - 1;
        self.global_worse_ticks += u64::from(self.errors[GLOBAL][last] > self.errors[LOCAL][last]);
    }

    fn note_clock(&mut self, clock: Option<(Span, Span)>) {
        let Some((error, uncertainty)) = clock else { return };
        self.clock_error_secs.add(error.as_secs_f64());
        self.clock_uncertainty_secs.add(uncertainty.as_secs_f64());
        self.clock_covered_ticks += u64::from(error <= uncertainty);
    }
}
