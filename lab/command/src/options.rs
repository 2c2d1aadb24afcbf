//! Values of options that several commands take, with the possible values for `--help`.

use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use fairpath::schedule::{QueueOrder, SchedulerChoice, UnknownScheduler};
use fairpath_experiments::fairness::LabScheduler;
use fairpath_experiments::prediction::{Candidate, all_and_learned};
use fairpath_games::GameChoice;
use fairpath_predict::UnknownPredictor;

/// A list of names, and the things they stand for.
#[derive(Clone, Debug)]
pub(crate) struct NamedList<T> {
    /// The list as it was typed.
    pub(crate) text: String,
    pub(crate) chosen: Vec<T>,
}

/// Parses `all`, or names of schedulers separated by commas.
pub(crate) fn schedulers(text: &str) -> Result<NamedList<LabScheduler>, UnknownScheduler> {
    let chosen = if text.trim().eq_ignore_ascii_case("all") {
        SchedulerChoice::ALL.map(LabScheduler::Library).to_vec()
    } else {
        text.split(',').map(str::parse).collect::<Result<_, _>>()?
    };
    Ok(NamedList { text: text.into(), chosen })
}

/// Parses `all`, or names of predictors separated by commas.
pub(crate) fn predictors(text: &str) -> Result<NamedList<Candidate>, UnknownPredictor> {
    Ok(NamedList { text: text.into(), chosen: Candidate::by_names(text)? })
}

/// Parses the name of one of these games.
pub(crate) fn games(offered: &'static [GameChoice]) -> impl TypedValueParser<Value = GameChoice> {
    let values = offered.iter().map(|game| PossibleValue::new(game.name()).help(game.explanation()));
    PossibleValuesParser::new(values).try_map(|name| name.parse::<GameChoice>())
}

/// The help of an option that takes schedulers: `what`, and a line for each scheduler.
pub(crate) fn scheduler_help(what: &str) -> String {
    let all = SchedulerChoice::ALL.map(|choice| (choice.name(), choice.explanation()));
    with_list(
        &format!("{what}. A parameter follows a colon: error-index:2, deterministic-budget:silence"),
        &all,
    )
}

/// The help of an option that takes an order: `what`, and a line for each order.
pub(crate) fn order_help(what: &str) -> String {
    with_list(what, &QueueOrder::ALL.map(|order| (order.name(), order.explanation())))
}

/// The help of an option that takes predictors: `what`, and a line for each predictor.
pub(crate) fn predictor_help(what: &str) -> String {
    let all: Vec<(&str, &str)> =
        all_and_learned().iter().map(|candidate| (candidate.name, candidate.about)).collect();
    with_list(what, &all)
}

fn with_list(what: &str, all: &[(&str, &str)]) -> String {
    let lines: String = all.iter().map(|(name, explanation)| format!("\n- {name}: {explanation}")).collect();
    format!("{what}\n\nPossible names:{lines}")
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModelChoice {
    /// Straight on
    Linear,
    /// On a circle
    Circular,
}

impl ModelChoice {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Circular => "circular",
        }
    }
}
