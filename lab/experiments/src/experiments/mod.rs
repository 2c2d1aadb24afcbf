//! The experiments: one file each, and one line in [`all`].

mod accuracy;
mod delay;
mod fairness;
mod prediction;

use crate::experiment::{Experiment, RunOption};

/// Returns every experiment, in the order of their aliases; those without a paper come last.
pub fn all() -> &'static [&'static dyn Experiment] {
    static ALL: [&dyn Experiment; 22] = [
        &accuracy::placement::EXPERIMENT,
        &fairness::scheduling_discard::EXPERIMENT,
        &fairness::scheduling_send::EXPERIMENT,
        &fairness::probabilistic_budget::EXPERIMENT,
        &fairness::chance_alone::EXPERIMENT,
        &fairness::deterministic_budget::EXPERIMENT,
        &fairness::changing_delays::EXPERIMENT,
        &fairness::relative_error::EXPERIMENT,
        &accuracy::live_objects::EXPERIMENT,
        &prediction::play_pattern_error::EXPERIMENT,
        &prediction::play_pattern_hits::EXPERIMENT,
        &prediction::play_pattern_packets::EXPERIMENT,
        &delay::jet_car::EXPERIMENT,
        &delay::sailing::EXPERIMENT,
        &prediction::trend_line::EXPERIMENT,
        &delay::aiming::EXPERIMENT,
        &fairness::threshold_cost::EXPERIMENT,
        &fairness::error_index::EXPERIMENT,
        &fairness::honesty::EXPERIMENT,
        &delay::hidden_delay::EXPERIMENT,
        &fairness::asteroids_budget::EXPERIMENT,
        &accuracy::loss::EXPERIMENT,
    ];
    &ALL
}

/// Returns the experiment with this name or alias, in upper or lower case.
pub fn find(name: &str) -> Option<&'static dyn Experiment> {
    all().iter().copied().find(|experiment| {
        let declaration = experiment.declaration();
        [declaration.name, declaration.alias].iter().any(|known| known.eq_ignore_ascii_case(name))
    })
}

pub fn taking(option: RunOption) -> Vec<&'static str> {
    let declarations = all().iter().map(|experiment| experiment.declaration());
    declarations.filter(|declaration| declaration.takes(option)).map(|declaration| declaration.name).collect()
}
