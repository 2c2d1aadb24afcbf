use super::equaliser::{Equal, Equaliser};
use super::{Claims, DecisionContext, Removed, Scheduler};
use crate::random::Random;
use crate::time::Span;
use crate::vector::Planar;

/// Scheduling by relative export error (Aggarwal 2005 4): DR vectors leave such that everybody's
/// error will be equal when they arrive, and what delay estimates got wrong is put right with the
/// next one.
///
/// E = A + ∫ of the distance from now until a copy sent now would arrive. Whoever has the largest E
/// is told at once, each other when its E will have grown to that. A new trigger discards what is
/// still waiting.
///
/// A is the accumulated error: the actual one for what is acknowledged, the estimate S made when
/// scheduling for what is not. Aggarwal 2005 keeps S in books of its own and adds the relative
/// error, actual − S, when a receipt comes. Here the claim carries the delay that was reckoned
/// with; the ledger books the copy with it, which *is* S, and replaces it by the actual error when
/// the receipt comes: each relative error counts once, where summing them up as Aggarwal 2005 can
/// be read counts them again with every DR vector. If a receiver reports that a copy had not
/// arrived when it was estimated to, the ledger does not wait for the receipt to believe that.
///
/// Corrected against Aggarwal 2005: the *largest* E is told at once, not the smallest; the distance
/// is to what a receiver really follows, which may be an older DR vector than the last; a receiver
/// that was left out goes on gathering error against that. So corrected, it is
/// [`SchedulingOne::equal_at_reception`](super::SchedulingOne::equal_at_reception) but
/// for the booking of S, and while delays do not change the two do the same.
///
/// Theorem 4.1 (a law in our tests): if all receipts are in and nothing was discarded, the actual
/// errors so far plus S are equal for all receivers whenever a DR vector is scheduled, however
/// wrong the delay estimates were.
#[derive(Clone, Debug)]
pub struct RelativeError {
    equaliser: Equaliser,
}

impl RelativeError {
    /// As described.
    pub fn new() -> Self {
        Self { equaliser: Equaliser::new(Equal::AtReception).keeping_estimates() }
    }

    /// How far ahead an instant is searched; see
    /// [`SchedulingOne::with_time_threshold`](super::SchedulingOne::with_time_threshold). Default 3
    /// s.
    #[must_use]
    pub fn with_time_threshold(mut self, time_threshold: Span) -> Self {
        self.equaliser.time_threshold = time_threshold;
        self
    }
}

impl Default for RelativeError {
    fn default() -> Self {
        Self::new()
    }
}

impl<V: Planar> Scheduler<V> for RelativeError {
    fn on_trigger(&mut self, scene: &DecisionContext<'_, V>, _random: &mut Random, claims: &mut Claims) {
        claims.discard_waiting(scene);
        self.equaliser.schedule(scene, claims);
    }

    fn on_removed(&mut self, left: Removed) {
        self.equaliser.forget(left);
    }
}
