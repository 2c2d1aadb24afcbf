//! The instants at which everybody's error will have become the same: what scheduling #1,
//! scheduling #2 and relative-error scheduling have in common.

use super::roster::Roster;
use super::{Candidate, Claim, Claims, DecisionContext, Removed};
use crate::time::{SharedInstant, Span};
use crate::vector::Planar;

/// How far ahead an instant is searched, where nothing else is said.
///
/// 3 s: three heartbeats, and the longest silence that a dispatcher allows by default. A trigger
/// before that makes all instants anew. Shorter than the heartbeat, and some receivers wait for a
/// trigger although there is an instant for them; longer costs time to search and changes nothing.
pub(super) const TIME_THRESHOLD: Span = Span::from_secs(3);

/// Sends a DR vector at once to whoever has the highest error, and to each of the others when their
/// error will have grown to the same.
#[derive(Clone, Debug)]
pub(super) struct Equaliser {
    equal: Equal,
    pub(super) time_threshold: Span,
    keeps_estimates: bool,
    /// What was added to a receiver's accumulated error because it joined later: so much that it
    /// stood at the others' mean. Otherwise it would be told nothing until it has caught up
    /// with an hour of error.
    openings: Roster<Option<f64>>,
    /// Reused from trigger to trigger.
    levels: Vec<f64>,
}

/// When errors are to be equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Equal {
    /// When the copies are sent, as if they took no time.
    AtDeparture,
    /// When they arrive, as far as delays are known.
    AtReception,
}

impl Equaliser {
    pub(super) fn new(equal: Equal) -> Self {
        Self {
            equal,
            time_threshold: TIME_THRESHOLD,
            keeps_estimates: false,
            openings: Roster::default(),
            levels: Vec::new(),
        }
    }

    /// Has the ledger book copies with the delay that was reckoned with here, whatever is known
    /// when they leave.
    pub(super) fn keeping_estimates(self) -> Self {
        Self { keeps_estimates: true, ..self }
    }

    /// Claims the scene's DR vector for everybody: at once, later, or for the next trigger.
    pub(super) fn schedule<V: Planar>(&mut self, scene: &DecisionContext<'_, V>, claims: &mut Claims) {
        self.take_levels(scene);
        let finite = self.levels.iter().copied().filter(|level| level.is_finite());
        let highest = finite.fold(0.0, f64::max);
        for (candidate, level) in scene.candidates.iter().zip(&self.levels) {
            match self.due(scene, candidate, highest - level) {
                Some(due) => claims.insert(Claim {
                    entity: scene.entity,
                    receiver: candidate.receiver,
                    due,
                    weight: candidate.weight(),
                    delay: candidate.delay.filter(|_| self.keeps_estimates),
                    generated_at: scene.vector.generated_at,
                }),
                None => claims.hold(scene, candidate.receiver, candidate.weight()),
            }
        }
    }

    pub(super) fn forget(&mut self, left: Removed) {
        self.openings.forget(left);
    }

    /// How high everybody's error will be when a copy sent now takes effect.
    fn take_levels<V: Planar>(&mut self, scene: &DecisionContext<'_, V>) {
        let mean = self.mean_level(scene);
        self.levels.clear();
        for (candidate, opening) in scene.candidates.iter().zip(self.openings.in_step(scene)) {
            let opening = *opening.get_or_insert(mean);
            let effective_at = scene.now + self.equal.delay(candidate);
            let ahead = scene.ledger.growth(candidate.receiver, scene.now, effective_at);
            self.levels.push(opening + accumulated(candidate) + ahead);
        }
    }

    /// Where those who were there at the last trigger stand on average.
    fn mean_level<V: Planar>(&mut self, scene: &DecisionContext<'_, V>) -> f64 {
        let (mut count, mut sum) = (0.0, 0.0);
        for (candidate, opening) in scene.candidates.iter().zip(self.openings.in_step(scene)) {
            if let Some(opening) = opening {
                count += 1.0;
                sum += *opening + accumulated(candidate);
            }
        }
        if count > 0.0 && f64::is_finite(sum) { sum / count } else { 0.0 }
    }

    /// When a receiver will have made up for what it lacks; none if not within the time threshold.
    /// Whom the entity does not exist for lacks nothing but its first DR vector.
    fn due<V: Planar>(
        &self,
        scene: &DecisionContext<'_, V>,
        candidate: &Candidate,
        lacks: f64,
    ) -> Option<SharedInstant> {
        if candidate.is_new() || lacks <= 0.0 {
            return Some(scene.now);
        }
        let delay = self.equal.delay(candidate);
        let from = scene.now + delay;
        let equal_at =
            scene.ledger.when_grown(candidate.receiver, from, lacks, from + self.time_threshold)?;
        Some(equal_at - delay)
    }
}

impl Equal {
    /// How long a copy takes until it counts; no time before the first receipt.
    fn delay(self, candidate: &Candidate) -> Span {
        match self {
            Self::AtDeparture => Span::ZERO,
            Self::AtReception => candidate.delay.unwrap_or(Span::ZERO).max(Span::ZERO),
        }
    }
}

/// What is not a number is no error.
fn accumulated(candidate: &Candidate) -> f64 {
    candidate.standing.accumulated.max(0.0)
}
