use super::equaliser::{Equal, Equaliser};
use super::{Claims, DecisionContext, Removed, Scheduler};
use crate::random::Random;
use crate::time::Span;
use crate::vector::Planar;

/// Scheduling algorithm #1 (Banavar 2005 3.3.3): whoever has the highest accumulated error is told
/// at once, everybody else at the instant at which their own error will have grown to that.
///
/// Who has no such instant within the time threshold waits for the next trigger, and a new trigger
/// discards what is still waiting. So errors become equal, but at several times what they were: who
/// is left out often drags all the others up.
///
/// As printed (Banavar 2005 eq. 3.4), the highest error is that of now, and copies are taken to
/// arrive at once; [`equal_at_reception`](Self::equal_at_reception) does as Banavar 2005's text
/// says. A receiver's first DR vector is sent at once, and who joins later is taken to have fared
/// like the others on average.
#[derive(Clone, Debug)]
pub struct SchedulingOne {
    equaliser: Equaliser,
}

impl SchedulingOne {
    /// As printed.
    pub fn new() -> Self {
        Self { equaliser: Equaliser::new(Equal::AtDeparture) }
    }

    /// Errors are equal when the copies have arrived, as far as delays are known.
    pub fn equal_at_reception() -> Self {
        Self { equaliser: Equaliser::new(Equal::AtReception) }
    }

    /// How far ahead an instant is searched. Default 3 s.
    ///
    /// At least the heartbeat: shorter, and some receivers wait for a trigger although there is an
    /// instant for them. Longer costs time to search and changes nothing, because a trigger
    /// makes all instants anew.
    #[must_use]
    pub fn with_time_threshold(mut self, time_threshold: Span) -> Self {
        self.equaliser.time_threshold = time_threshold;
        self
    }
}

impl Default for SchedulingOne {
    fn default() -> Self {
        Self::new()
    }
}

impl<V: Planar> Scheduler<V> for SchedulingOne {
    fn on_trigger(&mut self, scene: &DecisionContext<'_, V>, _random: &mut Random, claims: &mut Claims) {
        claims.discard_waiting(scene);
        self.equaliser.schedule(scene, claims);
    }

    fn on_removed(&mut self, left: Removed) {
        self.equaliser.forget(left);
    }
}
