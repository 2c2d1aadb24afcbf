//! The checkers. Each has a simple model of one law in a file of its own, and is given only
//! observable events. No checker calls the code that it checks to compute the expected result.

mod bounds;
mod budgets;
mod calls;
mod clocks;
mod converged;
mod identity;
mod ledgers;
mod placed;
mod strangers;

use std::fmt;

use fairpath::time::SharedInstant;

pub(crate) use bounds::BoundCheck;
pub(crate) use budgets::BudgetCheck;
pub(crate) use calls::CallCheck;
pub(crate) use clocks::ClockCheck;
pub(crate) use converged::{ConvergenceCheck, ExpectedObject};
pub(crate) use identity::{IdentityCheck, SeenObject, bullet_lane, stone_place};
pub(crate) use ledgers::{LedgerCheck, LedgerReading};
pub(crate) use placed::{CarrierFrame, PlacementCheck};
pub(crate) use strangers::StrangerCheck;

/// A law that must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Law {
    /// No reliable message is lost, doubled or reordered; a lost session lists the undelivered.
    Calls,
    /// Placement never returns to older information.
    Placed,
    /// A settled ledger equals the error computed from all arrivals.
    Ledger,
    /// Bytes, copies and claims stay within their budgets.
    Budget,
    /// Every queue stays within its bound.
    Bounds,
    /// Shared clocks never run backwards, and their error is within their reported uncertainty.
    Clock,
    /// After healing every client has the newest state of every object.
    Converged,
    /// No creation value, state or call has another type than the protocol gives it.
    Types,
    /// Creation value, states and position belong to the same object, whichever id it has.
    Identity,
    /// An object has a place from entering to leaving.
    Entered,
    /// After a restart no object of the old run is left, and states that did not arrive are listed.
    Restart,
    /// A client with another description of the game is refused with the right reason.
    Strangers,
    /// No client accuses the server of breaking the protocol.
    Accused,
    /// Nothing panics.
    Panic,
}

impl Law {
    pub const ALL: [Self; 14] = [
        Self::Calls,
        Self::Placed,
        Self::Ledger,
        Self::Budget,
        Self::Bounds,
        Self::Clock,
        Self::Converged,
        Self::Types,
        Self::Identity,
        Self::Entered,
        Self::Restart,
        Self::Strangers,
        Self::Accused,
        Self::Panic,
    ];
}

#[derive(Clone, Debug, PartialEq)]
pub struct Violation {
    pub law: Law,
    /// The true time.
    pub at: SharedInstant,
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} at {:.3} s: {}", self.law, self.at.as_secs_f64(), self.what)
    }
}

/// The first violation, and how often each law was checked: a checker that never runs is noticed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    pub violation: Option<Violation>,
    /// How often each law was checked, in the order of [`Law::ALL`].
    pub looked: [u64; Law::ALL.len()],
}

impl Findings {
    pub(crate) fn check(&mut self, law: Law, at: SharedInstant, holds: bool, what: impl FnOnce() -> String) {
        self.looked[law as usize] += 1;
        if !holds && self.violation.is_none() {
            self.violation = Some(Violation { law, at, what: what() });
        }
    }
}
