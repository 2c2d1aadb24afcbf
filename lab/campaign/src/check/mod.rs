//! Those who check. Each has a simple model of its own of what must hold, in a file of its own, and
//! is told only what somebody outside can see; none of them calls what it checks to find out what
//! is right.

mod bounds;
mod budgets;
mod calls;
mod clocks;
mod converged;
mod ledgers;
mod placed;

use std::fmt;

use fairpath::time::SharedInstant;

pub(crate) use bounds::BoundCheck;
pub(crate) use budgets::BudgetCheck;
pub(crate) use calls::CallCheck;
pub(crate) use clocks::ClockCheck;
pub(crate) use converged::{ConvergenceCheck, ExpectedObject};
pub(crate) use ledgers::{LedgerCheck, LedgerReading};
pub(crate) use placed::PlacementCheck;

/// What must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Law {
    /// No promised message is lost, doubled or reordered while its session lives; a lost session
    /// names the rest.
    Calls,
    /// What is placed never goes back to older information.
    Placed,
    /// A settled ledger is what somebody knows who saw every arrival.
    Ledger,
    /// No more bytes and copies than may be.
    Budget,
    /// Everything that is kept is within its bound.
    Bounds,
    /// Shared clocks never fall, and are as wrong as they say at most.
    Clock,
    /// After healing everybody has the newest of everything.
    Converged,
    /// Nothing panics.
    Panic,
}

impl Law {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Calls,
        Self::Placed,
        Self::Ledger,
        Self::Budget,
        Self::Bounds,
        Self::Clock,
        Self::Converged,
        Self::Panic,
    ];
}

/// A law that did not hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Violation {
    /// Which.
    pub law: Law,
    /// When, in true time.
    pub at: SharedInstant,
    /// What happened, to whom.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} at {:.3} s: {}", self.law, self.at.as_secs_f64(), self.what)
    }
}

/// What was found: the first violation, and how often each law was looked at, so that nobody takes
/// silence for health.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    /// The first law that did not hold.
    pub violation: Option<Violation>,
    /// How often each law was looked at, in the order of [`Law::ALL`].
    pub looked: [u64; Law::ALL.len()],
}

impl Findings {
    /// Looks at one law once.
    pub(crate) fn check(&mut self, law: Law, at: SharedInstant, holds: bool, what: impl FnOnce() -> String) {
        self.looked[law as usize] += 1;
        if !holds && self.violation.is_none() {
            self.violation = Some(Violation { law, at, what: what() });
        }
    }
}
