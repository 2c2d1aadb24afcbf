use super::pair_table::PairTable;
use super::{Candidate, Claim, Claims, DecisionContext, Removed, Scheduler};
use crate::random::Random;
use crate::time::{SharedInstant, Span};
use crate::vector::Planar;

/// Sends a DR vector at once to the receiver with the highest accumulated error, and to every other
/// receiver at the instant at which its own error will have grown to the same value.
///
/// These are scheduling algorithms #1 and #2 of Banavar 2005 (3.3.3, 3.3.4). They differ in
/// [`Waiting`]: what a new trigger does with claims that are not due yet. A receiver without such
/// an instant within the time threshold waits for the next trigger.
///
/// As printed (Banavar 2005 eq. 3.4), the highest error is the current one, and copies are taken to
/// arrive at once; [`equal_at_reception`](Self::equal_at_reception) does as the text of Banavar
/// 2005 says. A receiver's first DR vector is sent at once. A receiver that joins later starts with
/// the mean error of the others.
#[derive(Clone, Debug)]
pub struct Scheduling {
    waiting: Waiting,
    is_equal_at_reception: bool,
    time_threshold: Span,
    /// Whether the ledger books copies with the delay assumed here, not the one at departure.
    keeps_estimates: bool,
    /// Error added to a receiver that joined later, so that it starts at the mean of the others.
    /// Otherwise the receiver would be sent nothing until it has caught up with an hour of error.
    openings: PairTable<Option<f64>>,
    /// Expected errors in the order of the candidates. Reused from trigger to trigger.
    levels: Vec<f64>,
}

/// What a new trigger does with an entity's claims that are not due yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// Discards them (algorithm #1). Errors become equal, but at several times their former value:
    /// a receiver that is often left out raises the level of all others.
    Discard,
    /// Sends them first (algorithm #2). No receiver is more than one DR vector behind, and errors
    /// stay near those of [`Broadcast`](super::Broadcast), but are less equal than with `Discard`.
    Send,
}

impl Scheduling {
    /// How far ahead the scheduler searches by default. 3 s: three heartbeats, and longer than the
    /// silence that a dispatcher allows by default.
    const TIME_THRESHOLD: Span = Span::from_secs(3);

    /// The algorithm as printed: errors are made equal at departure, as if copies took no time.
    pub fn new(waiting: Waiting) -> Self {
        Self {
            waiting,
            is_equal_at_reception: false,
            time_threshold: Self::TIME_THRESHOLD,
            keeps_estimates: false,
            openings: PairTable::default(),
            levels: Vec::new(),
        }
    }

    /// Makes errors equal when the copies arrive, as far as delays are known.
    #[must_use]
    pub fn equal_at_reception(mut self) -> Self {
        self.is_equal_at_reception = true;
        self
    }

    /// Sets how far ahead the scheduler searches for a receiver's instant. Default 3 s.
    ///
    /// Use at least the heartbeat interval: if shorter, some receivers wait for a trigger although
    /// they have an instant. A longer search costs time and changes nothing, because a trigger
    /// computes all instants anew.
    #[must_use]
    pub fn with_time_threshold(mut self, time_threshold: Span) -> Self {
        self.time_threshold = time_threshold;
        self
    }

    pub(super) fn keeping_estimates(mut self) -> Self {
        self.keeps_estimates = true;
        self
    }

    /// Computes each receiver's error at the instant at which a copy sent now takes effect.
    fn take_levels<V: Planar>(&mut self, context: &DecisionContext<'_, V>) {
        let mean = self.mean_level(context);
        self.levels.clear();
        for (candidate, opening) in context.candidates.iter().zip(self.openings.aligned(context)) {
            let opening = *opening.get_or_insert(mean);
            let effective_at = context.now + delay(self.is_equal_at_reception, candidate);
            let ahead = context.ledger.growth(candidate.receiver, context.now, effective_at);
            self.levels.push(opening + accumulated(candidate) + ahead);
        }
    }

    /// The mean error of the receivers that were there at the last trigger.
    fn mean_level<V: Planar>(&mut self, context: &DecisionContext<'_, V>) -> f64 {
        let (mut count, mut sum) = (0.0, 0.0);
        for (candidate, opening) in context.candidates.iter().zip(self.openings.aligned(context)) {
            if let Some(opening) = opening {
                count += 1.0;
                sum += *opening + accumulated(candidate);
            }
        }
        if count > 0.0 && f64::is_finite(sum) { sum / count } else { 0.0 }
    }

    /// When a receiver's error will have grown by `missing`; `None` if not within the time
    /// threshold. A receiver that does not know the entity yet is due at once.
    fn due<V: Planar>(
        &self,
        context: &DecisionContext<'_, V>,
        candidate: &Candidate,
        missing: f64,
    ) -> Option<SharedInstant> {
        if candidate.is_new() || missing <= 0.0 {
            return Some(context.now);
        }
        let delay = delay(self.is_equal_at_reception, candidate);
        let from = context.now + delay;
        let until = from + self.time_threshold;
        let equal_at = context.ledger.when_grown(candidate.receiver, from, missing, until)?;
        Some(equal_at - delay)
    }
}

impl<V: Planar> Scheduler<V> for Scheduling {
    fn on_trigger(&mut self, context: &DecisionContext<'_, V>, _random: &mut Random, claims: &mut Claims) {
        match self.waiting {
            Waiting::Discard => claims.discard_waiting(context),
            Waiting::Send => claims.send_waiting_now(context),
        }
        self.take_levels(context);
        let finite = self.levels.iter().copied().filter(|level| level.is_finite());
        let highest = finite.fold(0.0, f64::max);
        for (candidate, level) in context.candidates.iter().zip(&self.levels) {
            match self.due(context, candidate, highest - level) {
                Some(due) => claims.insert(Claim {
                    entity: context.entity,
                    receiver: candidate.receiver,
                    due,
                    weight: candidate.weight(),
                    delay: candidate.delay.filter(|_| self.keeps_estimates),
                    generated_at: context.vector.generated_at,
                }),
                None => claims.hold(context, candidate.receiver, candidate.weight()),
            }
        }
    }

    fn on_removed(&mut self, removed: Removed) {
        self.openings.forget(removed);
    }
}

/// How long until a copy counts: zero for equality at departure, and before the first receipt.
fn delay(is_equal_at_reception: bool, candidate: &Candidate) -> Span {
    let known = candidate.delay.filter(|_| is_equal_at_reception);
    known.unwrap_or(Span::ZERO).max(Span::ZERO)
}

/// The accumulated error; NaN counts as zero.
fn accumulated(candidate: &Candidate) -> f64 {
    candidate.standing.accumulated.max(0.0)
}
