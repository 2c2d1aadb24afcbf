use super::features::CONTEXTS;

/// Knows which of `EXPERTS` guesses has cost least in situations like this one: by everybody's experience, and more and
/// more by the subject's own.
///
/// All costs become known afterwards, for whoever was followed and for whoever was not. The leader is followed.
#[derive(Clone, Debug)]
pub(super) struct Gate<const EXPERTS: usize> {
    everywhere: Costs<EXPERTS>,
    here: Vec<Costs<EXPERTS>>,
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

/// What a case is worth after one more: the last three thousand count.
const MEMORY: f64 = 0.9997;
/// Until a situation was met this often, what is true everywhere counts more than what was seen in it.
const COMMON_CASES: f64 = 100.0;
/// Until a subject was seen this often in a situation, everybody's experience counts more than its own: a player's
/// habits show after a minute or so.
const OTHERS_CASES: f64 = 300.0;

impl<const EXPERTS: usize> Gate<EXPERTS> {
    pub(super) fn new() -> Self {
        Self { everywhere: Costs::NONE, here: vec![Costs::NONE; CONTEXTS] }
    }

    /// The expert to follow; of equals the first.
    pub(super) fn leader(&self, own: &Experience<EXPERTS>, context: usize) -> usize {
        let (here, own) = (&self.here[context], &own.here[context]);
        let mut leader = (0, f64::INFINITY);
        for expert in 0..EXPERTS {
            let common = here.expected(expert, self.everywhere.mean(expert), COMMON_CASES);
            let expected = own.expected(expert, common, OTHERS_CASES);
            if expected < leader.1 {
                leader = (expert, expected);
            }
        }
        leader.0
    }

    /// In a situation of that kind the experts would have cost so much.
    pub(super) fn handle_costs(
        &mut self,
        own: &mut Experience<EXPERTS>,
        context: usize,
        costs: &[f64; EXPERTS],
    ) {
        self.everywhere.add(costs);
        self.here[context].add(costs);
        own.here[context].add(costs);
    }
}

impl<const EXPERTS: usize> Experience<EXPERTS> {
    pub(super) fn new() -> Self {
        Self { here: vec![Costs::NONE; CONTEXTS] }
    }
}

impl<const EXPERTS: usize> Costs<EXPERTS> {
    const NONE: Self = Self { cases: 0.0, costs: [0.0; EXPERTS] };

    fn add(&mut self, costs: &[f64; EXPERTS]) {
        self.cases = self.cases * MEMORY + 1.0;
        for (sum, cost) in self.costs.iter_mut().zip(costs) {
            *sum = *sum * MEMORY + cost;
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
