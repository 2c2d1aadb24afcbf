use std::fmt;

use fairpath::schedule::{Broadcast, EveryNth, Scheduler};
use fairpath::vector::Planar;

/// A scheduler by name, with everything it takes to build one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Contender {
    /// Everyone, at every trigger: "base".
    Broadcast,
    /// Everyone, at every k-th trigger, where k is what the budget allows: "1/3 base" with a third of the receivers as
    /// budget.
    EveryNth,
}

/// There is no scheduler of this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownContender(pub String);

impl Contender {
    /// All of them, in the order of SPEC.
    pub const ALL: &'static [Self] = &[Self::Broadcast, Self::EveryNth];

    /// What the command line and tables call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Broadcast => "broadcast",
            Self::EveryNth => "every-nth",
        }
    }

    /// The one of this name.
    pub fn by_name(name: &str) -> Result<Self, UnknownContender> {
        let found = Self::ALL.iter().copied().find(|contender| contender.name().eq_ignore_ascii_case(name));
        found.ok_or_else(|| UnknownContender(name.into()))
    }

    /// Builds it for this many receivers and, where it has one, a budget of so many DR vectors per trigger.
    pub fn build<V: Planar>(self, receivers: usize, budget: f64) -> Box<dyn Scheduler<V>> {
        match self {
            Self::Broadcast => Box::new(Broadcast),
            Self::EveryNth => Box::new(EveryNth::new(every_nth_of(receivers, budget))),
        }
    }
}

/// Every how many triggers everybody can be told on this budget.
pub(super) fn every_nth_of(receivers: usize, budget: f64) -> u64 {
    (receivers as f64 / budget).round().max(1.0) as u64
}

impl std::error::Error for UnknownContender {}

impl fmt::Display for UnknownContender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known: Vec<&str> = Contender::ALL.iter().map(|contender| contender.name()).collect();
        write!(f, "there is no scheduler {:?}: choose among {}", self.0, known.join(", "))
    }
}
