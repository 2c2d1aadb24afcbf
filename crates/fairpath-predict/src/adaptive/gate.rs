use super::AdaptiveConfig;
use super::features::CONTEXTS;

/// Follows the guess that has cost least in situations like this one: at first by the cases of all
/// players, then more and more by the subject's own. The costs of all `EXPERTS` guesses become
/// known afterwards, followed or not.
#[derive(Clone, Debug)]
pub(super) struct Gate<const EXPERTS: usize> {
    everywhere: Costs<EXPERTS>,
    here: Vec<Costs<EXPERTS>>,
    /// Factor by which the weight of a case shrinks with each further case.
    memory: f64,
    common_cases: f64,
    others_cases: f64,
}

#[derive(Clone, Debug)]
pub(super) struct Experience<const EXPERTS: usize> {
    here: Vec<Costs<EXPERTS>>,
}

/// Costs of all guesses, with older cases counting less.
#[derive(Clone, Copy, Debug)]
struct Costs<const EXPERTS: usize> {
    cases: f64,
    costs: [f64; EXPERTS],
}

impl<const EXPERTS: usize> Gate<EXPERTS> {
    pub(super) fn new(config: &AdaptiveConfig) -> Self {
        Self {
            everywhere: Costs::NONE,
            here: vec![Costs::NONE; CONTEXTS],
            memory: 1.0 - 1.0 / config.gate_cases,
            common_cases: config.common_cases,
            others_cases: config.others_cases,
        }
    }

    /// Returns the guess to follow; the first of several equals.
    pub(super) fn leader(&self, own: &Experience<EXPERTS>, context: usize) -> usize {
        let mut leader = (0, f64::INFINITY);
        for (expert, expected) in self.expected(own, context).into_iter().enumerate() {
            if expected < leader.1 {
                leader = (expert, expected);
            }
        }
        leader.0
    }

    pub(super) fn expected(&self, own: &Experience<EXPERTS>, context: usize) -> [f64; EXPERTS] {
        let (here, own) = (&self.here[context], &own.here[context]);
        std::array::from_fn(|expert| {
            let common = here.expected(expert, self.everywhere.mean(expert), self.common_cases);
            own.expected(expert, common, self.others_cases)
        })
    }

    /// Notes what each guess would have cost in a situation of this kind.
    pub(super) fn handle_costs(
        &mut self,
        own: &mut Experience<EXPERTS>,
        context: usize,
        costs: &[f64; EXPERTS],
    ) {
        for experience in [&mut self.everywhere, &mut self.here[context], &mut own.here[context]] {
            experience.add(costs, self.memory);
        }
    }
}

impl<const EXPERTS: usize> Experience<EXPERTS> {
    pub(super) fn new() -> Self {
        Self { here: vec![Costs::NONE; CONTEXTS] }
    }
}

impl<const EXPERTS: usize> Costs<EXPERTS> {
    const NONE: Self = Self { cases: 0.0, costs: [0.0; EXPERTS] };

    fn add(&mut self, costs: &[f64; EXPERTS], memory: f64) {
        self.cases = self.cases * memory + 1.0;
        for (sum, cost) in self.costs.iter_mut().zip(costs) {
            *sum = *sum * memory + cost;
        }
    }

    fn mean(&self, expert: usize) -> f64 {
        if self.cases > 0.0 { self.costs[expert] / self.cases } else { 0.0 }
    }

    /// Returns the mean, pulled towards `belief`, which counts as `belief_cases` cases.
    fn expected(&self, expert: usize, belief: f64, belief_cases: f64) -> f64 {
        (self.costs[expert] + belief_cases * belief) / (self.cases + belief_cases)
    }
}
