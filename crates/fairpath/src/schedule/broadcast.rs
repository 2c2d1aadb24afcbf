use super::{Claims, DecisionContext, Scheduler};
use crate::random::Random;
use crate::vector::Planar;

/// Sends every DR vector to every receiver at once: the papers' "base". The reference for the other
/// schedulers when cost does not matter.
#[derive(Clone, Copy, Debug, Default)]
pub struct Broadcast;

impl<V: Planar> Scheduler<V> for Broadcast {
    fn on_trigger(&mut self, context: &DecisionContext<'_, V>, _random: &mut Random, claims: &mut Claims) {
        claims.send_to_all(context);
    }

    fn needs_candidates(&self) -> bool {
        false
    }
}
