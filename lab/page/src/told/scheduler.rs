use fairpath::schedule::{
    Broadcast, DeterministicBudget, ErrorIndex, ErrorIndexConfig, EveryNth, FixedProbability,
    ProbabilisticBudget, RelativeError, Scheduler as Decides, Scheduling, Waiting, Weighting,
};
use fairpath::vector::Vec2;

/// A scheduler that can be chosen on the page.
#[derive(Clone, Copy)]
pub struct Scheduler {
    /// What the papers call it.
    pub name: &'static str,
    make: fn(usize, f64) -> Box<dyn Decides<Vec2>>,
}

impl Scheduler {
    pub(super) fn make(&self, receivers: usize, budget: f64) -> Box<dyn Decides<Vec2>> {
        (self.make)(receivers, budget)
    }
}

/// Schedulers, by knob. The first (every receiver, always) and the third ignore the budget.
pub const SCHEDULERS: [Scheduler; 8] = [
    Scheduler { name: "base", make: |_, _| Box::new(Broadcast) },
    Scheduler {
        name: "1/n base",
        make: |receivers, budget| {
            Box::new(EveryNth::new((receivers as f64 / budget).round().max(1.0) as u64))
        },
    },
    Scheduler { name: "scheduling #1", make: |_, _| Box::new(Scheduling::new(Waiting::Discard)) },
    Scheduler { name: "relative error", make: |_, _| Box::new(RelativeError::new()) },
    Scheduler {
        name: "fixed probability",
        make: |receivers, budget| Box::new(FixedProbability::new(budget / receivers as f64)),
    },
    Scheduler {
        name: "probabilistic budget",
        make: |_, budget| Box::new(ProbabilisticBudget::new(budget, Weighting::ACCUMULATED)),
    },
    Scheduler {
        name: "deterministic budget",
        make: |_, budget| Box::new(DeterministicBudget::new(budget, Weighting::ACCUMULATED)),
    },
    Scheduler {
        name: "error-index",
        make: |_, budget| Box::new(ErrorIndex::new(ErrorIndexConfig::new(budget))),
    },
];
