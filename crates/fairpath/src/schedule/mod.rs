//! Who is told of a new DR vector, and when: the schedulers, and the [`Dispatcher`] that runs one.
//!
//! A scheduler sees what the sender knows ([`DecisionContext`]): the ledger, each receiver's
//! account and delay, and a seeded generator. It answers with [`Claims`]: this receiver, at that
//! instant, this important. The dispatcher keeps the books, lets claims come due, and sees to it
//! that nobody is forgotten, whatever the scheduler wants.
//!
//! | file | scheduler | from |
//! | --- | --- | --- |
//! | `broadcast` | every trigger, everyone | "base" |
//! | `every_nth` | every k-th trigger, everyone | "1/3 base" |
//! | `scheduling_one` | the worst off now, the others when they have become as badly off; a trigger discards what waits | Banavar 2005 3.3.3 |
//! | `scheduling_two` | the same, but a trigger sends what waits | Banavar 2005 3.3.4 |
//! | `relative_error` | errors equal at reception, estimates corrected by receipts | Aggarwal 2005 4 |
//! | `fixed_probability` | each receiver with the same probability | Banavar 2005 3.4.1.5, "1/3 probabilistic" |
//! | `probabilistic_budget` | each by its share of errors and silence, by chance | Banavar 2005 3.4.1; one at a time: Aggarwal 2005 5.1 |
//! | `deterministic_budget` | the same shares, in turns | Banavar 2005 3.4.2, Aggarwal 2005 5.2 |
//! | `error_index` | whoever it helps most, at a price, fairly | ours |

mod account;
mod agenda;
mod answers;
mod bag;
mod broadcast;
mod budget;
mod choice;
mod claims;
mod deterministic_budget;
mod dispatcher;
mod equaliser;
mod error_index;
mod every_nth;
mod fixed_probability;
mod probabilistic_budget;
mod promises;
mod recent;
mod relative_error;
mod roster;
mod scheduling_one;
mod scheduling_two;
mod shares;
mod trust;

pub use account::Account;
pub use broadcast::Broadcast;
pub use choice::{SchedulerChoice, UnknownScheduler};
pub use claims::{Claim, Claims};
pub use deterministic_budget::DeterministicBudget;
pub use dispatcher::{Departure, Dispatcher, DispatcherConfig, Liveness};
pub use error_index::{ErrorIndex, ErrorIndexConfig};
pub use every_nth::EveryNth;
pub use fixed_probability::FixedProbability;
pub use probabilistic_budget::ProbabilisticBudget;
pub use relative_error::RelativeError;
pub use scheduling_one::SchedulingOne;
pub use scheduling_two::SchedulingTwo;
pub use shares::Weighting;
pub use trust::{Booking, ReceiptTrust};

use std::fmt::Debug;

use crate::dr_vector::DrVector;
use crate::ledger::{Ledger, Standing};
use crate::number::{EntityId, ReceiverId};
use crate::random::Random;
use crate::time::{SharedInstant, Span};
use crate::vector::Planar;

/// Decides which receivers hear of an entity's newest DR vector, and when.
///
/// One scheduler serves all entities of a sender, which share its budget.
pub trait Scheduler<V: Planar>: Debug + Send {
    /// A DR vector was generated.
    fn on_trigger(&mut self, scene: &DecisionContext<'_, V>, random: &mut Random, claims: &mut Claims);

    /// The instant that [`poll_deadline`](Self::poll_deadline) asked for has come; called for every
    /// entity.
    fn on_deadline(&mut self, _scene: &DecisionContext<'_, V>, _random: &mut Random, _claims: &mut Claims) {}

    /// When it wants to look again although nothing was generated.
    fn poll_deadline(&self) -> Option<SharedInstant> {
        None
    }

    /// A copy left: `cost` in the budget's unit, DR vectors or bytes. Also called for copies that
    /// the dispatcher sends on its own, so that the budget pays for them.
    fn on_departed(&mut self, _entity: EntityId, _receiver: ReceiverId, _at: SharedInstant, _cost: f64) {}

    /// A receiver is to be told of an entity from now on, for whom it does not exist yet.
    fn on_joined(&mut self, _entity: EntityId, _receiver: ReceiverId, _now: SharedInstant) {}

    /// Somebody or something is gone: forget it.
    fn on_removed(&mut self, _left: Removed) {}
}

/// Who is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removed {
    /// An entity, for everybody.
    Entity(EntityId),
    /// A receiver, from everything.
    Receiver(ReceiverId),
    /// An entity has left this receiver's scope.
    Pair(EntityId, ReceiverId),
}

/// What there is to know when a decision is due.
#[derive(Debug)]
pub struct DecisionContext<'a, V: Planar> {
    /// The entity it is about.
    pub entity: EntityId,
    /// Its newest DR vector.
    pub vector: &'a DrVector<V>,
    /// How many DR vectors of this entity were generated before this one.
    pub index: u64,
    /// When it is.
    pub now: SharedInstant,
    /// What is known of everybody's error about this entity, kept up to now.
    pub ledger: &'a Ledger<V>,
    /// Everybody who is told of this entity, in the order of their ids.
    pub candidates: &'a [Candidate],
    /// For how long accounts have been kept, in seconds: at most what their half-life remembers.
    pub account_secs: f64,
}

impl<V: Planar> DecisionContext<'_, V> {
    /// Whether the newest DR vector is so old that all replicas have frozen on it. Where the
    /// exported path goes from there is a guess, and nobody is wrong for not following it.
    pub(crate) fn is_outdated(&self) -> bool {
        self.ledger.is_outdated(self.now)
    }
}

/// Somebody who might be told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// Who.
    pub receiver: ReceiverId,
    /// How they stand with this entity.
    pub standing: Standing,
    /// Their account: error over all entities they see, per second.
    pub account: f64,
    /// How long a message to them is expected to take; nothing is known before the first receipt.
    pub delay: Option<Span>,
    /// Since when nothing was sent to them about this entity: the last departure, or when they
    /// joined.
    pub silent_since: SharedInstant,
    /// Whether they confirm what is sent to them. Who does not may be cut off, or never listen.
    pub answers: bool,
}

impl Candidate {
    /// Whether nothing was ever sent to them about this entity: for them it does not exist yet.
    pub fn is_new(&self) -> bool {
        self.standing.last_sent.is_none()
    }

    /// What a claim for them weighs, where the scheduler knows no better: their error since the DR
    /// vector they follow was generated. It grows while they wait, so what does not fit into
    /// one packet goes first into a later one. For whom the entity does not exist yet comes
    /// first of all.
    pub fn weight(&self) -> f64 {
        let error = self.standing.instantaneous;
        if self.is_new() {
            f64::MAX
        } else if error > 0.0 {
            error
        } else {
            0.0
        }
    }

    /// How long nothing was sent to them about this entity.
    pub fn silence(&self, now: SharedInstant) -> Span {
        now - self.silent_since
    }
}
