use super::{Claims, DecisionContext, Scheduler};
use crate::random::Random;
use crate::vector::Planar;

/// Each receiver is told of each DR vector with one and the same probability (Banavar 2005
/// 3.4.1.5): with 1/3 the papers' "1/3 probabilistic", which shows what chance alone costs.
///
/// A receiver's first DR vector is always sent, as Banavar 2005 does.
#[derive(Clone, Copy, Debug)]
pub struct FixedProbability {
    probability: f64,
}

impl FixedProbability {
    /// From 0, never, to 1, always; NaN is never.
    pub fn new(probability: f64) -> Self {
        Self { probability }
    }
}

impl<V: Planar> Scheduler<V> for FixedProbability {
    fn on_trigger(&mut self, context: &DecisionContext<'_, V>, random: &mut Random, claims: &mut Claims) {
        for candidate in context.candidates {
            // Drawn for everybody, so that who joins does not change the others' luck.
            let is_lucky = random.chance(self.probability);
            if is_lucky || candidate.is_new() {
                claims.send(context, candidate.receiver, context.now, candidate.weight());
            }
        }
    }
}
