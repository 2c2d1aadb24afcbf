//! The list of schedulers, each with a name that a command line can take.

use std::fmt;
use std::str::FromStr;

use super::{
    Broadcast, DeterministicBudget, ErrorIndex, ErrorIndexConfig, EveryNth, FixedProbability,
    ProbabilisticBudget, RelativeError, Scheduler, Scheduling, Waiting, Weighting,
};
use crate::vector::Planar;

/// A scheduler by name, with its parameters.
///
/// [`Display`](fmt::Display) and [`FromStr`] use the same words: a name, and behind a colon the
/// parameter where it differs from the default.
///
/// ```
/// use fairpath::schedule::{SchedulerChoice, Weighting};
///
/// let choice: SchedulerChoice = "deterministic-budget:silence".parse()?;
/// assert_eq!(choice, SchedulerChoice::DeterministicBudget { weighting: Weighting::SILENCE });
/// assert_eq!(choice.to_string(), "deterministic-budget:silence");
/// let scheduler = choice.build::<fairpath::vector::Vec2>(12, 4.0);
/// # Ok::<(), fairpath::schedule::UnknownScheduler>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SchedulerChoice {
    /// [`Broadcast`].
    Broadcast,
    /// [`EveryNth`]. `every-nth:4` sends at every fourth trigger.
    EveryNth {
        /// Triggers from one send to the next. Default: receivers divided by the budget.
        n: Option<u64>,
    },
    /// Scheduling #1 of Banavar 2005. `scheduling-discard:at-reception` takes delays into account.
    SchedulingDiscard {
        /// Whether errors are to be equal when the copies arrive. Default: when they leave.
        at_reception: bool,
    },
    /// Scheduling #2 of Banavar 2005. `scheduling-send:at-reception` takes delays into account.
    SchedulingSend {
        /// Whether errors are to be equal when the copies arrive. Default: when they leave.
        at_reception: bool,
    },
    /// [`RelativeError`].
    RelativeError,
    /// [`ProbabilisticBudget`]. `probabilistic-budget:thirds` weighs the three factors alike,
    /// `probabilistic-budget:thirds-as-coded` those of [`Weighting::as_coded`].
    ProbabilisticBudget {
        /// What a receiver's share follows from. Default: its accumulated error.
        weighting: Weighting,
    },
    /// [`ProbabilisticBudget::picking_one`]: one copy per trigger, whatever the budget.
    PickOne {
        /// What a receiver's share follows from. Default: its accumulated error.
        weighting: Weighting,
    },
    /// [`FixedProbability`]. `fixed-probability:0.25` sends a quarter of all copies.
    FixedProbability {
        /// Probability that a receiver is sent a DR vector. Default: budget over receivers.
        probability: Option<f64>,
    },
    /// [`DeterministicBudget`]. `deterministic-budget:silence` weighs the time since the last send.
    DeterministicBudget {
        /// What a receiver's share follows from. Default: its accumulated error.
        weighting: Weighting,
    },
    /// [`ErrorIndex`]. `error-index:2` doubles the weight of fairness.
    ErrorIndex {
        /// Multiplies the default weight of fairness against mean error. Default: 1.
        fairness: f64,
    },
}

/// The names of Banavar 2005's weightings, in the order of [`Weighting::ALL`].
const WEIGHTINGS: [&str; 5] = ["accumulated", "instantaneous", "silence", "thirds", "halves"];
const AT_RECEPTION: &str = "at-reception";
/// Behind the name of a weighting: [`Weighting::as_coded`].
const AS_CODED: &str = "-as-coded";

impl SchedulerChoice {
    /// Every scheduler with its default parameters.
    pub const ALL: [Self; 10] = [
        Self::Broadcast,
        Self::EveryNth { n: None },
        Self::SchedulingDiscard { at_reception: false },
        Self::SchedulingSend { at_reception: false },
        Self::RelativeError,
        Self::ProbabilisticBudget { weighting: Weighting::ACCUMULATED },
        Self::PickOne { weighting: Weighting::ACCUMULATED },
        Self::FixedProbability { probability: None },
        Self::DeterministicBudget { weighting: Weighting::ACCUMULATED },
        Self::ErrorIndex { fairness: 1.0 },
    ];

    /// The scheduler's name without its parameter.
    pub fn name(self) -> &'static str {
        match self {
            Self::Broadcast => "broadcast",
            Self::EveryNth { .. } => "every-nth",
            Self::SchedulingDiscard { .. } => "scheduling-discard",
            Self::SchedulingSend { .. } => "scheduling-send",
            Self::RelativeError => "relative-error",
            Self::ProbabilisticBudget { .. } => "probabilistic-budget",
            Self::PickOne { .. } => "pick-one",
            Self::FixedProbability { .. } => "fixed-probability",
            Self::DeterministicBudget { .. } => "deterministic-budget",
            Self::ErrorIndex { .. } => "error-index",
        }
    }

    /// The name that is also parsed: without `-budget`, and as Banavar 2005 numbers its schedulers.
    fn short_name(self) -> &'static str {
        match self {
            Self::SchedulingDiscard { .. } => "scheduling-1",
            Self::SchedulingSend { .. } => "scheduling-2",
            _ => self.name().trim_end_matches("-budget"),
        }
    }

    /// What the scheduler does, in one line for people.
    pub fn explanation(self) -> &'static str {
        match self {
            Self::Broadcast => "every receiver, every time",
            Self::EveryNth { .. } => "every receiver, every n-th time",
            Self::SchedulingDiscard { .. } => {
                "levels errors by waiting; a new DR vector cancels waiting ones"
            }
            Self::SchedulingSend { .. } => {
                "levels errors by waiting; a new DR vector sends waiting ones first"
            }
            Self::RelativeError => "levels errors at reception, corrected by receipts",
            Self::ProbabilisticBudget { .. } => "a budget shared by error, drawn at random",
            Self::PickOne { .. } => "one receiver at a time, drawn at random by error",
            Self::FixedProbability { .. } => "every receiver with the same probability",
            Self::DeterministicBudget { .. } => "a budget shared by error, in turns",
            Self::ErrorIndex { .. } => "a budget spent where it avoids most error, with fairness weighed in",
        }
    }

    /// Builds the scheduler for this many receivers and a budget in DR vectors per trigger.
    ///
    /// Schedulers without a budget ignore both numbers.
    pub fn build<V: Planar>(self, receivers: usize, budget: f64) -> Box<dyn Scheduler<V>> {
        match self {
            Self::Broadcast => Box::new(Broadcast),
            Self::EveryNth { n } => Box::new(EveryNth::new(n.unwrap_or_else(|| nth(receivers, budget)))),
            Self::SchedulingDiscard { at_reception } => Box::new(scheduling(Waiting::Discard, at_reception)),
            Self::SchedulingSend { at_reception } => Box::new(scheduling(Waiting::Send, at_reception)),
            Self::RelativeError => Box::new(RelativeError::new()),
            Self::ProbabilisticBudget { weighting } => Box::new(ProbabilisticBudget::new(budget, weighting)),
            Self::PickOne { weighting } => Box::new(ProbabilisticBudget::picking_one(weighting)),
            Self::FixedProbability { probability } => {
                Box::new(FixedProbability::new(probability.unwrap_or(budget / receivers as f64)))
            }
            Self::DeterministicBudget { weighting } => Box::new(DeterministicBudget::new(budget, weighting)),
            Self::ErrorIndex { fairness } => {
                Box::new(ErrorIndex::new(ErrorIndexConfig::new(budget).fairer(fairness)))
            }
        }
    }

    /// The parameter as [`Display`](fmt::Display) writes it; nothing where it has its default.
    fn parameter(self) -> Option<String> {
        match self {
            Self::Broadcast | Self::RelativeError => None,
            Self::EveryNth { n } => n.map(|n| n.to_string()),
            Self::SchedulingDiscard { at_reception } | Self::SchedulingSend { at_reception } => {
                at_reception.then(|| AT_RECEPTION.into())
            }
            Self::ProbabilisticBudget { weighting }
            | Self::PickOne { weighting }
            | Self::DeterministicBudget { weighting } => weighting_parameter(weighting),
            Self::FixedProbability { probability } => probability.map(|probability| probability.to_string()),
            Self::ErrorIndex { fairness } => (fairness != 1.0).then(|| fairness.to_string()),
        }
    }

    /// The same scheduler with a parameter as [`Display`](fmt::Display) writes it.
    fn with_parameter(self, text: &str) -> Option<Self> {
        let number = || text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
        let is_at_reception = || (text == AT_RECEPTION).then_some(true);
        let weighting = || weighting_by_name(text);
        Some(match self {
            Self::Broadcast | Self::RelativeError => return None,
            Self::EveryNth { .. } => Self::EveryNth { n: Some(text.parse().ok().filter(|n: &u64| *n > 0)?) },
            Self::SchedulingDiscard { .. } => Self::SchedulingDiscard { at_reception: is_at_reception()? },
            Self::SchedulingSend { .. } => Self::SchedulingSend { at_reception: is_at_reception()? },
            Self::ProbabilisticBudget { .. } => Self::ProbabilisticBudget { weighting: weighting()? },
            Self::PickOne { .. } => Self::PickOne { weighting: weighting()? },
            Self::FixedProbability { .. } => {
                Self::FixedProbability { probability: Some(number().filter(|number| *number <= 1.0)?) }
            }
            Self::DeterministicBudget { .. } => Self::DeterministicBudget { weighting: weighting()? },
            Self::ErrorIndex { .. } => Self::ErrorIndex { fairness: number()? },
        })
    }
}

/// The name of a weighting; nothing for the default one, and for custom weights.
fn weighting_parameter(weighting: Weighting) -> Option<String> {
    if weighting == Weighting::ACCUMULATED {
        return None;
    }
    let mut named = Weighting::ALL.into_iter().zip(WEIGHTINGS);
    if !weighting.is_as_coded() {
        return named.find(|(each, _)| *each == weighting).map(|(_, name)| name.into());
    }
    named.find(|(each, _)| each.as_coded() == weighting).map(|(_, name)| format!("{name}{AS_CODED}"))
}

fn weighting_by_name(text: &str) -> Option<Weighting> {
    let text = text.to_ascii_lowercase();
    let (name, is_as_coded) = text.strip_suffix(AS_CODED).map_or((&*text, false), |name| (name, true));
    let weighting = Weighting::ALL[WEIGHTINGS.iter().position(|known| *known == name)?];
    Some(if is_as_coded { weighting.as_coded() } else { weighting })
}

/// Triggers from one broadcast to the next on this budget.
fn nth(receivers: usize, budget: f64) -> u64 {
    (receivers as f64 / budget).round().max(1.0) as u64
}

impl fmt::Display for SchedulerChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        self.parameter().map_or(Ok(()), |parameter| write!(f, ":{parameter}"))
    }
}

impl FromStr for SchedulerChoice {
    type Err = UnknownScheduler;

    /// Parses `NAME` or `NAME:PARAMETER`, in upper or lower case. `deterministic` is short for
    /// `deterministic-budget`, `scheduling-1` for `scheduling-discard`.
    fn from_str(text: &str) -> Result<Self, UnknownScheduler> {
        let text = text.trim();
        let (name, parameter) = text.split_once(':').map_or((text, None), |(name, rest)| (name, Some(rest)));
        let named = Self::ALL.into_iter().find(|choice| {
            [choice.name(), choice.short_name()].iter().any(|known| known.eq_ignore_ascii_case(name))
        });
        let chosen = match parameter {
            None => named,
            Some(parameter) => named.and_then(|choice| choice.with_parameter(parameter)),
        };
        chosen.ok_or_else(|| UnknownScheduler(text.into()))
    }
}

/// A name that is not in the list of schedulers, or a parameter that its scheduler does not take.
/// The text lists the names there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownScheduler(pub String);

impl std::error::Error for UnknownScheduler {}

impl fmt::Display for UnknownScheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = SchedulerChoice::ALL.map(SchedulerChoice::name).join(", ");
        write!(
            f,
            "no scheduler is called {:?}; choose one of {names}, with a parameter as in error-index:2 or \
             deterministic-budget:silence",
            self.0
        )
    }
}

fn scheduling(waiting: Waiting, at_reception: bool) -> Scheduling {
    let scheduling = Scheduling::new(waiting);
    if at_reception { scheduling.equal_at_reception() } else { scheduling }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_is_parsed_from_what_it_displays() {
        let parameters =
            ["every-nth:4", "pick-one:silence", "scheduling-send:at-reception", "error-index:0.5"];
        let others = [
            "fixed-probability:0.25",
            "probabilistic-budget:halves",
            "deterministic-budget:thirds",
            "probabilistic-budget:instantaneous-as-coded",
            "deterministic-budget:accumulated-as-coded",
        ];
        for text in parameters.into_iter().chain(others) {
            assert_eq!(text.parse::<SchedulerChoice>().map(|choice| choice.to_string()), Ok(text.into()));
        }
        for choice in SchedulerChoice::ALL {
            assert_eq!(choice.to_string(), choice.name());
            assert_eq!(choice.name().to_uppercase().parse(), Ok(choice));
            assert_eq!(choice.short_name().parse(), Ok(choice));
        }
    }

    #[test]
    fn unknown_names_and_parameters_list_the_known_names() {
        for text in
            ["nobody", "broadcast:2", "error-index:x", "every-nth:0", "fixed-probability:2", "pick-one:"]
        {
            let error = text.parse::<SchedulerChoice>().unwrap_err().to_string();
            assert!(error.contains(text) && error.contains("relative-error"), "{error}");
        }
    }
}
