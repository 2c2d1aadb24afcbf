use super::{Claims, DecisionContext, Scheduler};
use crate::random::Random;
use crate::vector::Planar;

/// Sends each DR vector to each receiver with the same probability (Banavar 2005 3.4.1.5): with 1/3
/// the papers' "1/3 probabilistic", which shows what chance alone costs.
///
/// A receiver's first DR vector is always sent, as in Banavar 2005.
#[derive(Clone, Copy, Debug)]
pub struct FixedProbability {
    probability: f64,
}

impl FixedProbability {
    /// Sends with this probability, from 0 (never) to 1 (always); NaN counts as 0.
    pub fn new(probability: f64) -> Self {
        Self { probability }
    }
}

impl<V: Planar> Scheduler<V> for FixedProbability {
    fn on_trigger(&mut self, context: &DecisionContext<'_, V>, random: &mut Random, claims: &mut Claims) {
        for candidate in context.candidates {
            // Drawn for every receiver, so that a join does not change the draws of the others.
            let is_lucky = random.chance(self.probability);
            if is_lucky || candidate.is_new() {
                claims.send(context, candidate.receiver, context.now, candidate.weight());
            }
        }
    }
}
