use fairpath::schedule::{SchedulerChoice, Weighting};

/// The schedulers that can be chosen on the page, in the order of the knobs. The first and the
/// third
/// have no budget.
pub const SCHEDULERS: [SchedulerChoice; 8] = [
    SchedulerChoice::Broadcast,
    SchedulerChoice::EveryNth { n: None },
    SchedulerChoice::SchedulingDiscard { at_reception: false },
    SchedulerChoice::RelativeError,
    SchedulerChoice::FixedProbability { probability: None },
    SchedulerChoice::ProbabilisticBudget { weighting: Weighting::ACCUMULATED },
    SchedulerChoice::DeterministicBudget { weighting: Weighting::ACCUMULATED },
    SchedulerChoice::ErrorIndex { fairness: 1.0 },
];
