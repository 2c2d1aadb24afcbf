use std::fmt;

use fairpath::schedule::{
    Broadcast, DeterministicBudget, ErrorIndex, ErrorIndexConfig, EveryNth, FixedProbability,
    ProbabilisticBudget, RelativeError, Scheduler, Scheduling, Waiting, Weighting,
};
use fairpath::vector::Planar;

use super::base_index::BaseIndex;

/// A scheduler by name, with everything it takes to build one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Contender {
    /// Everyone, at every trigger: "base".
    Broadcast,
    /// Everyone, at every k-th trigger, where k is what the budget allows: "1/3 base" with a third
    /// of the receivers as budget.
    EveryNth,
    /// Scheduling #1, as printed.
    SchedulingOne,
    /// Scheduling #1 with errors equal at reception.
    SchedulingOneAtReception,
    /// Scheduling #2, as printed.
    SchedulingTwo,
    /// Scheduling by relative export error.
    RelativeError,
    /// Probabilistic budget.
    Probabilistic(Factor),
    /// Probabilistic budget that picks one receiver, whatever the budget.
    PickOne,
    /// Everybody with the same probability: "1/3 probabilistic".
    FixedProbability,
    /// Deterministic budget.
    Deterministic(Factor),
    /// The index that error-index started from, with this γ.
    BaseIndex(f64),
    /// Error-index, ours, with this many times its default weight on fairness.
    ErrorIndex(f64),
}

/// What the budget schemes share their budget by: Banavar 2005's five cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Factor {
    /// PA = 1: the accumulated error.
    Accumulated,
    /// PI = 1: the instantaneous error.
    Instantaneous,
    /// PT = 1: the time since the last DR vector.
    Silence,
    /// A third of each.
    Thirds,
    /// Half accumulated, half instantaneous.
    Halves,
}

/// There is no scheduler of this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownContender(pub String);

impl Contender {
    /// Error-index as it is.
    pub const ERROR_INDEX: Self = Self::ErrorIndex(1.0);

    /// One of each kind, in the order of SPEC.
    pub const MAIN: [Self; 10] = [
        Self::Broadcast,
        Self::EveryNth,
        Self::SchedulingOne,
        Self::SchedulingTwo,
        Self::RelativeError,
        Self::Probabilistic(Factor::Accumulated),
        Self::PickOne,
        Self::FixedProbability,
        Self::Deterministic(Factor::Accumulated),
        Self::ERROR_INDEX,
    ];

    /// All that have a name of their own.
    pub fn all() -> Vec<Self> {
        let factors = |of: fn(Factor) -> Self| Factor::ALL.into_iter().map(of);
        let mut all = Self::MAIN.to_vec();
        all.push(Self::SchedulingOneAtReception);
        all.push(Self::BaseIndex(1.0));
        all.extend(factors(Self::Probabilistic).skip(1));
        all.extend(factors(Self::Deterministic).skip(1));
        all
    }

    /// What the command line calls it, without its knob.
    pub fn name(self) -> &'static str {
        match self {
            Self::Broadcast => "broadcast",
            Self::EveryNth => "every-nth",
            Self::SchedulingOne => "scheduling-1",
            Self::SchedulingOneAtReception => "scheduling-1-at-reception",
            Self::SchedulingTwo => "scheduling-2",
            Self::RelativeError => "relative-error",
            Self::Probabilistic(Factor::Accumulated) => "probabilistic",
            Self::Probabilistic(Factor::Instantaneous) => "probabilistic-pi",
            Self::Probabilistic(Factor::Silence) => "probabilistic-pt",
            Self::Probabilistic(Factor::Thirds) => "probabilistic-thirds",
            Self::Probabilistic(Factor::Halves) => "probabilistic-halves",
            Self::PickOne => "pick-one",
            Self::FixedProbability => "fixed-probability",
            Self::Deterministic(Factor::Accumulated) => "deterministic",
            Self::Deterministic(Factor::Instantaneous) => "deterministic-pi",
            Self::Deterministic(Factor::Silence) => "deterministic-pt",
            Self::Deterministic(Factor::Thirds) => "deterministic-thirds",
            Self::Deterministic(Factor::Halves) => "deterministic-halves",
            Self::BaseIndex(_) => "base-index",
            Self::ErrorIndex(_) => "error-index",
        }
    }

    /// What the command line calls it, with its knob where that is not the usual one.
    pub fn shown_name(self) -> String {
        match self {
            Self::BaseIndex(knob) => format!("{}:{knob}", self.name()),
            Self::ErrorIndex(knob) if self != Self::ERROR_INDEX => format!("{}:{knob}", self.name()),
            _ => self.name().into(),
        }
    }

    /// What the papers call it; for experiments, where the budget is always a third of the
    /// receivers.
    pub fn label(self) -> String {
        match self {
            Self::Broadcast => "base".into(),
            Self::EveryNth => "1/3 base".into(),
            Self::SchedulingOne => "scheduling #1".into(),
            Self::SchedulingOneAtReception => "scheduling #1, equal at reception".into(),
            Self::SchedulingTwo => "scheduling #2".into(),
            Self::RelativeError => "relative error".into(),
            Self::Probabilistic(factor) => format!("probabilistic, {}", factor.shown()),
            Self::PickOne => "pick one, PA = 1".into(),
            Self::FixedProbability => "1/3 probabilistic".into(),
            Self::Deterministic(factor) => format!("deterministic, {}", factor.shown()),
            Self::BaseIndex(gamma) => format!("base index, γ = {gamma}"),
            Self::ERROR_INDEX => "error-index".into(),
            Self::ErrorIndex(fairness) => format!("error-index, fairness × {fairness}"),
        }
    }

    /// The one of this name, upper or lower case. Those with a knob take it behind a colon:
    /// `error-index:2`.
    pub fn by_name(name: &str) -> Result<Self, UnknownContender> {
        let unknown = || UnknownContender(name.into());
        let (kind, knob) = name.split_once(':').map_or((name, None), |(kind, knob)| (kind, Some(knob)));
        let found = Self::all().into_iter().find(|contender| contender.name().eq_ignore_ascii_case(kind));
        let Some(knob) = knob else { return found.ok_or_else(unknown) };
        let knob = knob.parse::<f64>().ok().filter(|knob| knob.is_finite() && *knob >= 0.0);
        match (found, knob) {
            (Some(Self::BaseIndex(_)), Some(gamma)) => Ok(Self::BaseIndex(gamma)),
            (Some(Self::ErrorIndex(_)), Some(fairness)) => Ok(Self::ErrorIndex(fairness)),
            _ => Err(unknown()),
        }
    }

    /// Builds it for this many receivers and, where it has one, a budget of so many DR vectors per
    /// trigger.
    pub fn build<V: Planar>(self, receivers: usize, budget: f64) -> Box<dyn Scheduler<V>> {
        match self {
            Self::Broadcast => Box::new(Broadcast),
            Self::EveryNth => Box::new(EveryNth::new(every_nth_of(receivers, budget))),
            Self::SchedulingOne => Box::new(Scheduling::new(Waiting::Discard)),
            Self::SchedulingOneAtReception => {
                Box::new(Scheduling::new(Waiting::Discard).equal_at_reception())
            }
            Self::SchedulingTwo => Box::new(Scheduling::new(Waiting::Send)),
            Self::RelativeError => Box::new(RelativeError::new()),
            Self::Probabilistic(factor) => Box::new(ProbabilisticBudget::new(budget, factor.weighting())),
            Self::PickOne => Box::new(ProbabilisticBudget::picking_one(Weighting::ACCUMULATED)),
            Self::FixedProbability => Box::new(FixedProbability::new(budget / receivers as f64)),
            Self::Deterministic(factor) => Box::new(DeterministicBudget::new(budget, factor.weighting())),
            Self::BaseIndex(gamma) => Box::new(BaseIndex::new(budget, gamma)),
            Self::ErrorIndex(fairness) => {
                Box::new(ErrorIndex::new(ErrorIndexConfig::new(budget).fairer(fairness)))
            }
        }
    }
}

impl Factor {
    /// All of them, in Banavar 2005's order.
    pub const ALL: [Self; 5] =
        [Self::Accumulated, Self::Instantaneous, Self::Silence, Self::Thirds, Self::Halves];

    /// As the papers write it: (PA, PI, PT).
    pub fn shown(self) -> &'static str {
        match self {
            Self::Accumulated => "PA = 1",
            Self::Instantaneous => "PI = 1",
            Self::Silence => "PT = 1",
            Self::Thirds => "⅓, ⅓, ⅓",
            Self::Halves => "½, ½, 0",
        }
    }

    fn weighting(self) -> Weighting {
        match self {
            Self::Accumulated => Weighting::ACCUMULATED,
            Self::Instantaneous => Weighting::INSTANTANEOUS,
            Self::Silence => Weighting::SILENCE,
            Self::Thirds => Weighting::THIRDS,
            Self::Halves => Weighting::HALVES,
        }
    }
}

/// Every how many triggers everybody can be told on this budget.
fn every_nth_of(receivers: usize, budget: f64) -> u64 {
    (receivers as f64 / budget).round().max(1.0) as u64
}

impl std::error::Error for UnknownContender {}

impl fmt::Display for UnknownContender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known: Vec<&str> = Contender::all().into_iter().map(Contender::name).collect();
        write!(
            f,
            "there is no scheduler {:?}: choose among {} (base-index and error-index also with a knob, as in error-index:2)",
            self.0,
            known.join(", ")
        )
    }
}
