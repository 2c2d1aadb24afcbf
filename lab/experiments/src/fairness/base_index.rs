use fairpath::error;
use fairpath::random::Random;
use fairpath::schedule::{Candidate, Claims, DecisionContext, Scheduler};
use fairpath::time::Span;
use fairpath::vector::Planar;

/// The index that error-index started from, and beats: the budget fills a bucket of tokens at every
/// trigger. While it has one, the DR vector goes to the receiver with the largest
///
/// (error avoided from its arrival on for a horizon) × (accumulated error / mean of that)^γ.
///
/// γ is the knob between accurate (0) and fair.
#[derive(Clone, Copy, Debug)]
pub struct BaseIndex {
    budget: f64,
    gamma: f64,
    tokens: f64,
}

/// How long a DR vector is expected to be of use. 1 s: from 0.25 to 2 s little changes on a BZFlag
/// recording; 4 s has a tenth to a quarter less spread and 3 to 6 % more mean error.
const HORIZON: Span = Span::from_secs(1);
/// How many triggers' worth of tokens are kept.
const KEPT: f64 = 3.0;

impl BaseIndex {
    pub fn new(budget: f64, gamma: f64) -> Self {
        Self { budget, gamma, tokens: 0.0 }
    }

    /// What a copy for this receiver would be worth.
    fn index<V: Planar>(&self, scene: &DecisionContext<'_, V>, candidate: &Candidate, mean: f64) -> f64 {
        let arrival = scene.now + candidate.delay.unwrap_or(Span::ZERO);
        let paths = scene.ledger.exported().zip(scene.ledger.placed_at(candidate.receiver, arrival));
        let avoided = paths.map_or(0.0, |(exported, placed)| {
            error::accumulated(exported, placed, arrival, arrival + HORIZON).value
        });
        let relative = if mean > 0.0 { candidate.standing.accumulated / mean } else { 1.0 };
        avoided * relative.powf(self.gamma)
    }
}

impl<V: Planar> Scheduler<V> for BaseIndex {
    fn on_trigger(&mut self, scene: &DecisionContext<'_, V>, _random: &mut Random, claims: &mut Claims) {
        self.tokens = (self.tokens + self.budget).min(KEPT * self.budget.max(1.0));
        let errors = scene.candidates.iter().map(|candidate| candidate.standing.accumulated);
        let mean = errors.sum::<f64>() / scene.candidates.len().max(1) as f64;
        let (new, known): (Vec<&Candidate>, Vec<&Candidate>) =
            scene.candidates.iter().partition(|candidate| candidate.is_new());
        for candidate in new {
            claims.send(scene, candidate.receiver, scene.now, f64::MAX);
            self.tokens -= 1.0;
        }
        let mut wishes: Vec<(f64, &Candidate)> =
            known.into_iter().map(|candidate| (self.index(scene, candidate, mean), candidate)).collect();
        wishes.sort_by(|one, other| other.0.total_cmp(&one.0));
        for (index, candidate) in wishes {
            if self.tokens < 1.0 || index <= 0.0 {
                break;
            }
            claims.send(scene, candidate.receiver, scene.now, index);
            self.tokens -= 1.0;
        }
    }
}
