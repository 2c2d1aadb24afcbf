use super::AdaptiveConfig;
use super::features::CONTEXTS;

/// Knows which of `EXPERTS` guesses has cost least in situations like this one: by everybody's
/// experience, and more and more by the subject's own.
///
/// All costs become known afterwards, for whoever was followed and for whoever was not. The leader
/// is followed.
#[derive(Clone, Debug)]
pub(super) struct Gate<const EXPERTS: usize> {
    everywhere: Costs<EXPERTS>,
    here: Vec<Costs<EXPERTS>>,
    /// What a case is worth after one more.
    memory: f64,
    common_cases: f64,
    others_cases: f64,
}

/// One subject's own experience.
#[derive(Clone, Debug)]
pub(super) struct Experience<const EXPERTS: usize> {
    here: Vec<Costs<EXPERTS>>,
}

/// What experts have cost, older cases counting less and less.
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

    /// The expert to follow; of equals the first.
    pub(super) fn leader(&self, own: &Experience<EXPERTS>, context: usize) -> usize {
        let mut leader = (0, f64::INFINITY);
        for (expert, expected) in self.expected(own, context).into_iter().enumerate() {
            if expected < leader.1 {
                leader = (expert, expected);
            }
        }
        leader.0
    }

    /// What each expert is expected to cost.
    pub(super) fn expected(&self, own: &Experience<EXPERTS>, context: usize) -> [f64; EXPERTS] {
        let (here, own) = (&self.here[context], &own.here[context]);
        std::array::from_fn(|expert| {
            let common = here.expected(expert, self.everywhere.mean(expert), self.common_cases);
            own.expected(expert, common, self.others_cases)
        })
    }

    /// In a situation of that kind the experts would have cost so much.
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

    /// The mean, held back towards a belief that counts as so many cases.
    fn expected(&self, expert: usize, belief: f64, belief_cases: f64) -> f64 {
        (self.costs[expert] + belief_cases * belief) / (self.cases + belief_cases)
    }
}
