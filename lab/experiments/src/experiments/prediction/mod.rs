//! Where will players be?

pub(super) mod play_pattern_error;
pub(super) mod play_pattern_hits;
pub(super) mod play_pattern_packets;
mod play_patterns;
pub(super) mod trend_line;

use crate::experiment::{Declaration, ExperimentGroup, RunOption};

const DECLARATION: Declaration = Declaration {
    group: ExperimentGroup::Prediction,
    options: &[RunOption::Seed, RunOption::Motion],
    ..Declaration::EMPTY
};
