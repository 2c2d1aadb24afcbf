use super::{Claims, DecisionContext, Removed, Scheduler, Scheduling, Waiting};
use crate::random::Random;
use crate::time::Span;
use crate::vector::Planar;

/// Sends DR vectors such that all receivers have the same error when the copies arrive, and
/// corrects wrong delay estimates with the next DR vector (Aggarwal 2005 4).
///
/// E = A + ∫ of the distance from now until a copy sent now would arrive. The receiver with the
/// largest E is sent a copy at once, every other receiver when its E will have grown to that. A new
/// trigger discards what is still waiting.
///
/// A is the accumulated error: the actual one for acknowledged copies, the estimate S made when
/// scheduling for the others. Aggarwal 2005 keeps S in books of its own and adds the relative
/// error, actual − S, when a receipt comes. Here the claim carries the delay that the scheduler
/// assumed. The ledger books the copy with that delay, which *is* S, and replaces it by the actual
/// error when the receipt comes. So each relative error counts once; summing them up, as Aggarwal
/// 2005 can be read, counts them again with every DR vector. If a receiver reports that a copy had
/// not arrived by its estimated arrival, the ledger corrects S before the receipt comes.
///
/// Corrected against Aggarwal 2005: the *largest* E is sent at once, not the smallest; the distance
/// is to what a receiver really follows, which may be an older DR vector than the last; a receiver
/// that was left out goes on gathering error against that. So corrected, it is [`Scheduling`] with
/// [`Waiting::Discard`] and [`equal_at_reception`](Scheduling::equal_at_reception) but for the
/// booking of S, and while delays do not change the two do the same.
///
/// Theorem 4.1 (a law in our tests): if all receipts are in and nothing was discarded, the actual
/// errors so far plus S are equal for all receivers whenever a DR vector is scheduled, however
/// wrong the delay estimates were.
#[derive(Clone, Debug)]
pub struct RelativeError(Scheduling);

impl RelativeError {
    /// The scheduler with the default time threshold of 3 s.
    pub fn new() -> Self {
        Self(Scheduling::new(Waiting::Discard).equal_at_reception().keeping_estimates())
    }

    /// Sets how far ahead it searches; see [`Scheduling::with_time_threshold`]. Default 3 s.
    #[must_use]
    pub fn with_time_threshold(self, time_threshold: Span) -> Self {
        Self(self.0.with_time_threshold(time_threshold))
    }
}

impl Default for RelativeError {
    fn default() -> Self {
        Self::new()
    }
}

impl<V: Planar> Scheduler<V> for RelativeError {
    fn on_trigger(&mut self, context: &DecisionContext<'_, V>, random: &mut Random, claims: &mut Claims) {
        self.0.on_trigger(context, random, claims);
    }

    fn on_removed(&mut self, removed: Removed) {
        Scheduler::<V>::on_removed(&mut self.0, removed);
    }
}
