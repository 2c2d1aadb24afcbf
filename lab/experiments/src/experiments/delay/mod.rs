//! How can a game be played in spite of delay?

pub(super) mod aiming;
pub(super) mod hidden_delay;
pub(super) mod jet_car;
mod live;
pub(super) mod sailing;

use crate::experiment::{Declaration, ExperimentGroup, RunOption};

const DECLARATION: Declaration = Declaration {
    group: ExperimentGroup::Delay,
    options: &[RunOption::Seed, RunOption::Delays, RunOption::Jitter],
    ..Declaration::EMPTY
};
