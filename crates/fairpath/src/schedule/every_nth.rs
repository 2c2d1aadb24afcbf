use super::{Claims, DecisionContext, Scheduler};
use crate::random::Random;
use crate::vector::Planar;

/// Sends every n-th DR vector of an entity to every receiver: with n = 3 the papers' "1/3 base".
#[derive(Clone, Copy, Debug)]
pub struct EveryNth {
    n: u64,
}

impl EveryNth {
    /// Sends every `n`-th DR vector, beginning with the first; zero counts as one.
    pub fn new(n: u64) -> Self {
        Self { n: n.max(1) }
    }
}

impl<V: Planar> Scheduler<V> for EveryNth {
    fn on_trigger(&mut self, context: &DecisionContext<'_, V>, _random: &mut Random, claims: &mut Claims) {
        if context.index.is_multiple_of(self.n) {
            claims.send_to_all(context);
        }
    }

    fn needs_candidates(&self) -> bool {
        false
    }
}
