use super::equaliser::{Equal, Equaliser};
use super::{Claims, DecisionContext, Removed, Scheduler};
use crate::random::Random;
use crate::time::Span;
use crate::vector::Planar;

/// Scheduling algorithm #2 (Banavar 2005 3.3.4): as [`SchedulingOne`](super::SchedulingOne), but a
/// new trigger first sends what is still waiting instead of discarding it.
///
/// So nobody is more than one DR vector behind, and errors stay near what they would be if
/// everybody were told at once; they become less equal than with #1.
#[derive(Clone, Debug)]
pub struct SchedulingTwo {
    equaliser: Equaliser,
}

impl SchedulingTwo {
    /// As printed: copies are taken to arrive at once.
    pub fn new() -> Self {
        Self { equaliser: Equaliser::new(Equal::AtDeparture) }
    }

    /// Errors are equal when the copies have arrived, as far as delays are known.
    pub fn equal_at_reception() -> Self {
        Self { equaliser: Equaliser::new(Equal::AtReception) }
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

impl Default for SchedulingTwo {
    fn default() -> Self {
        Self::new()
    }
}

impl<V: Planar> Scheduler<V> for SchedulingTwo {
    fn on_trigger(&mut self, scene: &DecisionContext<'_, V>, _random: &mut Random, claims: &mut Claims) {
        claims.send_waiting_now(scene);
        self.equaliser.schedule(scene, claims);
    }

    fn on_removed(&mut self, left: Removed) {
        self.equaliser.forget(left);
    }
}
