//! Which receiver is sent what, and is that fair?

pub(super) mod asteroids_budget;
pub(super) mod chance_alone;
pub(super) mod changing_delays;
pub(super) mod deterministic_budget;
pub(super) mod error_index;
mod factors;
pub(super) mod honesty;
pub(super) mod probabilistic_budget;
pub(super) mod relative_error;
pub(super) mod scheduling_discard;
pub(super) mod scheduling_send;
pub(super) mod threshold_cost;

use crate::experiment::{Declaration, ExperimentGroup, RunOption};

const DECLARATION: Declaration = Declaration {
    group: ExperimentGroup::Fairness,
    options: &[RunOption::Seed, RunOption::Motion, RunOption::Delays, RunOption::Jitter, RunOption::Tanks],
    ..Declaration::EMPTY
};
