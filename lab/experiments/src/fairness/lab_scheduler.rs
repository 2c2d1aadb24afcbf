use std::fmt;
use std::str::FromStr;

use fairpath::schedule::{Scheduler, SchedulerChoice, UnknownScheduler, Weighting};
use fairpath::vector::Planar;

use super::base_index::BaseIndex;

/// A scheduler that the laboratory compares: one of the library's, or [`BaseIndex`] (default γ: 1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LabScheduler {
    Library(SchedulerChoice),
    BaseIndex { gamma: f64 },
}

impl LabScheduler {
    /// Every receiver, every time: "base" in the papers.
    pub const BROADCAST: Self = Self::Library(SchedulerChoice::Broadcast);
    /// Every receiver, every k-th time, k by the budget: "1/3 base" with that of the papers.
    pub const EVERY_NTH: Self = Self::Library(SchedulerChoice::EveryNth { n: None });
    /// Scheduling #1 of Banavar 2005, as printed.
    pub const SCHEDULING_DISCARD: Self =
        Self::Library(SchedulerChoice::SchedulingDiscard { at_reception: false });
    /// Scheduling #1 with errors equal at reception.
    pub const SCHEDULING_DISCARD_AT_RECEPTION: Self =
        Self::Library(SchedulerChoice::SchedulingDiscard { at_reception: true });
    /// Scheduling #2 of Banavar 2005, as printed.
    pub const SCHEDULING_SEND: Self = Self::Library(SchedulerChoice::SchedulingSend { at_reception: false });
    /// Errors equal at reception, corrected by receipts.
    pub const RELATIVE_ERROR: Self = Self::Library(SchedulerChoice::RelativeError);
    /// Every receiver with the same probability: "1/3 probabilistic" in the papers.
    pub const FIXED_PROBABILITY: Self =
        Self::Library(SchedulerChoice::FixedProbability { probability: None });
    /// The probabilistic budget, shared by accumulated error.
    pub const PROBABILISTIC: Self = Self::probabilistic(Weighting::ACCUMULATED);
    /// The deterministic budget, shared by accumulated error.
    pub const DETERMINISTIC: Self = Self::deterministic(Weighting::ACCUMULATED);
    /// Error-index with its default weight of fairness.
    pub const ERROR_INDEX: Self = Self::error_index(1.0);

    pub const fn probabilistic(weighting: Weighting) -> Self {
        Self::Library(SchedulerChoice::ProbabilisticBudget { weighting })
    }

    pub const fn deterministic(weighting: Weighting) -> Self {
        Self::Library(SchedulerChoice::DeterministicBudget { weighting })
    }

    /// One receiver at every trigger: Aggarwal 2005.
    pub const fn pick_one(weighting: Weighting) -> Self {
        Self::Library(SchedulerChoice::PickOne { weighting })
    }

    /// Error-index with this many times its default weight of fairness.
    pub const fn error_index(fairness: f64) -> Self {
        Self::Library(SchedulerChoice::ErrorIndex { fairness })
    }

    /// Every scheduler with its default parameters, and the budgets with all five weightings.
    pub fn all() -> Vec<Self> {
        let mut all = Vec::from(SchedulerChoice::ALL.map(Self::Library));
        all.extend([Self::SCHEDULING_DISCARD_AT_RECEPTION, Self::BaseIndex { gamma: 1.0 }]);
        all.extend(Weighting::ALL.into_iter().skip(1).map(Self::probabilistic));
        all.extend(Weighting::ALL.into_iter().skip(1).map(Self::deterministic));
        all
    }

    /// The scheduler's name in the ids of claims and figures.
    pub fn id(self) -> &'static str {
        match self {
            Self::Library(choice) => choice.name().trim_end_matches("-budget"),
            Self::BaseIndex { .. } => BASE_INDEX,
        }
    }

    /// The scheduler's name in the papers, where the budget is a third of the receivers.
    pub fn label(self) -> String {
        let choice = match self {
            Self::Library(choice) => choice,
            Self::BaseIndex { gamma } => return format!("base index, γ = {gamma}"),
        };
        match choice {
            SchedulerChoice::Broadcast => "base".into(),
            SchedulerChoice::EveryNth { .. } => "1/3 base".into(),
            SchedulerChoice::SchedulingDiscard { at_reception: false } => "scheduling #1".into(),
            SchedulerChoice::SchedulingDiscard { at_reception: true } => {
                "scheduling #1, equal at reception".into()
            }
            SchedulerChoice::SchedulingSend { .. } => "scheduling #2".into(),
            SchedulerChoice::RelativeError => "relative error".into(),
            SchedulerChoice::ProbabilisticBudget { weighting } => {
                format!("probabilistic, {}", weighting_label(weighting))
            }
            SchedulerChoice::PickOne { weighting } => format!("pick one, {}", weighting_label(weighting)),
            SchedulerChoice::FixedProbability { .. } => "1/3 probabilistic".into(),
            SchedulerChoice::DeterministicBudget { weighting } => {
                format!("deterministic, {}", weighting_label(weighting))
            }
            SchedulerChoice::ErrorIndex { fairness: 1.0 } => "error-index".into(),
            SchedulerChoice::ErrorIndex { fairness } => format!("error-index, fairness × {fairness}"),
        }
    }

    /// Builds the scheduler for this many receivers and a budget in DR vectors per trigger.
    pub fn build<V: Planar>(self, receivers: usize, budget: f64) -> Box<dyn Scheduler<V>> {
        match self {
            Self::Library(choice) => choice.build(receivers, budget),
            Self::BaseIndex { gamma } => Box::new(BaseIndex::new(budget, gamma)),
        }
    }
}

/// A weighting as (PA, PI, PT) of Banavar 2005: accumulated error, instantaneous error, silence.
/// Those of its code, which differ, have a mark.
fn weighting_label(weighting: Weighting) -> String {
    const LABELS: [&str; 5] = ["PA = 1", "PI = 1", "PT = 1", "⅓, ⅓, ⅓", "½, ½, 0"];
    let place = |weighting| Weighting::ALL.iter().position(|each| *each == weighting);
    let as_coded = || Weighting::ALL.iter().position(|each| each.as_coded() == weighting);
    match (place(weighting), as_coded()) {
        (Some(place), _) => LABELS[place].into(),
        (None, Some(place)) => format!("{} as coded", LABELS[place]),
        (None, None) => "its own weights".into(),
    }
}

const BASE_INDEX: &str = "base-index";

impl fmt::Display for LabScheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Library(choice) => choice.fmt(f),
            Self::BaseIndex { gamma } => write!(f, "{BASE_INDEX}:{gamma}"),
        }
    }
}

impl FromStr for LabScheduler {
    type Err = UnknownScheduler;

    /// Parses what [`SchedulerChoice`] parses, and `base-index` or `base-index:GAMMA`.
    fn from_str(text: &str) -> Result<Self, UnknownScheduler> {
        let text = text.trim();
        let (name, gamma) = text.split_once(':').unwrap_or((text, "1"));
        if !name.eq_ignore_ascii_case(BASE_INDEX) {
            return text.parse().map(Self::Library);
        }
        let gamma = gamma.parse::<f64>().ok().filter(|gamma| gamma.is_finite() && *gamma >= 0.0);
        gamma.map(|gamma| Self::BaseIndex { gamma }).ok_or_else(|| UnknownScheduler(text.into()))
    }
}
