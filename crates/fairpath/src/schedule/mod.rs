//! Schedulers: which receivers are sent a new DR vector, and when. The [`Dispatcher`] runs one.
//!
//! A scheduler reads the sender's knowledge ([`DecisionContext`]): the ledger, each receiver's
//! account and delay, and a seeded generator. It returns [`Claims`]: send to this receiver, at this
//! instant, with this weight. The dispatcher keeps the ledgers, releases claims when they are due,
//! and guarantees that no receiver is forgotten, whatever the scheduler decides.
//!
//! | file | scheduler | from |
//! | --- | --- | --- |
//! | `broadcast` | every receiver, at every trigger | "base" |
//! | `every_nth` | every receiver, at every n-th trigger | "1/3 base" for n = 3 |
//! | `scheduling` | the receiver with the highest error now, the others when their error has grown to the same; a trigger discards or sends what waits | Banavar 2005 3.3.3, 3.3.4 |
//! | `relative_error` | equal errors at reception, estimates corrected by receipts | Aggarwal 2005 4 |
//! | `fixed_probability` | each receiver with the same probability | Banavar 2005 3.4.1.5, "1/3 probabilistic" |
//! | `probabilistic_budget` | each receiver by its share of errors and silence, by chance | Banavar 2005 3.4.1; one at a time: Aggarwal 2005 5.1 |
//! | `deterministic_budget` | the same shares, in turns | Banavar 2005 3.4.2, Aggarwal 2005 5.2 |
//! | `error_index` | the receivers whose error a copy reduces most, at a price, fairly | this project |
//! | `queue` | every receiver, at every trigger; where bytes are short, in an order | this project |
//!
//! [`Queued`] is the scheduler of live servers: its budget is bytes, which the session counts for
//! each client ([`Budget`](crate::session::Budget)). The budgets of the other schedulers count DR
//! vectors per trigger. They reproduce the papers' experiments.

mod account;
mod broadcast;
mod choice;
mod claims;
mod deadlines;
mod deterministic_budget;
mod dispatcher;
mod entity_table;
mod error_index;
mod every_nth;
mod fixed_probability;
mod liveness;
mod open_copies;
mod pair_table;
mod probabilistic_budget;
mod queue;
mod receipt_trust;
mod recent_vectors;
mod redundancy;
mod relative_error;
mod responsiveness;
mod scheduling;
mod shared_claims;
mod shares;
mod small_list;
mod trigger_budget;
mod watches;

pub use account::Account;
pub use broadcast::Broadcast;
pub use choice::{SchedulerChoice, UnknownScheduler};
pub use claims::{Claim, Claims};
pub use deterministic_budget::DeterministicBudget;
pub use dispatcher::{Departure, DepartureKind, Dispatcher, DispatcherConfig, FeedbackOutcome};
pub use error_index::{ErrorIndex, ErrorIndexConfig};
pub use every_nth::EveryNth;
pub use fixed_probability::FixedProbability;
pub use liveness::Liveness;
pub use probabilistic_budget::ProbabilisticBudget;
pub use queue::{QueueOrder, Queued, UnknownOrder, WaitingCopy};
pub use receipt_trust::{Booking, ReceiptTrust};
pub use redundancy::CopyPlan;
pub use relative_error::RelativeError;
pub use scheduling::{Scheduling, Waiting};
pub use shares::Weighting;

pub(crate) use watches::Pace;

use std::fmt::Debug;

use crate::dr_vector::DrVector;
use crate::ledger::{Ledger, Standing, claim_weight};
use crate::number::{EntityId, ReceiverId};
use crate::random::Random;
use crate::time::{SharedInstant, Span};
use crate::vector::Planar;

/// Decides which receivers are sent an entity's newest DR vector, and when.
///
/// One scheduler serves all entities of a sender, which share its budget.
pub trait Scheduler<V: Planar>: Debug + Send {
    /// Handles a new DR vector: adds claims for it.
    fn on_trigger(&mut self, context: &DecisionContext<'_, V>, random: &mut Random, claims: &mut Claims);

    /// Returns whether [`on_trigger`](Self::on_trigger) reads
    /// [`candidates`](DecisionContext::candidates). Default: true. Without them a trigger costs
    /// less for each receiver, and the list is empty.
    fn needs_candidates(&self) -> bool {
        true
    }

    /// Handles the instant of [`poll_deadline`](Self::poll_deadline): adds or removes claims.
    /// Called once for every entity.
    fn on_deadline(&mut self, _context: &DecisionContext<'_, V>, _random: &mut Random, _claims: &mut Claims) {
    }

    /// Returns when the scheduler wants to decide again without a new DR vector. Default: never.
    fn poll_deadline(&self) -> Option<SharedInstant> {
        None
    }

    /// Handles a copy that was sent at `cost`, in the budget's unit: DR vectors or bytes. Also
    /// called for copies that the dispatcher sends on its own, so that the budget pays for them.
    fn on_departed(&mut self, _entity: EntityId, _receiver: ReceiverId, _at: SharedInstant, _cost: f64) {}

    /// Returns how early a copy leaves that does not fit into its receiver's byte budget beside the
    /// others: the highest rank leaves first. Only asked where bytes are short. Default: the weight
    /// of the claim, which grows with the time since the last copy.
    fn rank(&self, copy: &WaitingCopy<'_, V>) -> f64 {
        copy.turn(copy.claim.weight)
    }

    /// Handles a receiver that does not know the entity yet and is sent it from now on.
    fn on_joined(&mut self, _entity: EntityId, _receiver: ReceiverId, _now: SharedInstant) {}

    /// Forgets a removed entity, receiver or pair of both.
    fn on_removed(&mut self, _removed: Removed) {}
}

/// What was removed from a dispatcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removed {
    /// An entity, for all receivers.
    Entity(EntityId),
    /// A receiver, for all entities.
    Receiver(ReceiverId),
    /// An entity that left this receiver's scope.
    Pair(EntityId, ReceiverId),
}

/// What the sender knows about one entity when a scheduler decides.
#[derive(Debug)]
pub struct DecisionContext<'a, V: Planar> {
    /// The entity to decide about.
    pub entity: EntityId,
    /// The entity's newest DR vector.
    pub vector: &'a DrVector<V>,
    /// How many DR vectors of this entity were generated before this one.
    pub index: u64,
    /// The current instant.
    pub now: SharedInstant,
    /// Every receiver's error about this entity, up to now.
    pub ledger: &'a Ledger<V>,
    /// The receivers that are sent this entity, ordered by id. Empty for a scheduler that does not
    /// [need](Scheduler::needs_candidates) them.
    pub candidates: &'a [Candidate],
    /// How many seconds the accounts cover: at most what their half-life remembers.
    pub account_secs: f64,
}

impl<V: Planar> DecisionContext<'_, V> {
    /// Whether the newest DR vector is so old that all replicas have frozen on it. The exported
    /// path is then only a guess, and a receiver that does not follow it has no error.
    pub(crate) fn is_outdated(&self) -> bool {
        self.ledger.is_outdated(self.now)
    }
}

/// A receiver that may be sent a copy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// The receiver.
    pub receiver: ReceiverId,
    /// The receiver's errors and copies of this entity.
    pub standing: Standing,
    /// The receiver's account: error over all entities that it sees, per second.
    pub account: f64,
    /// Expected one-way delay to the receiver; `None` before the first receipt.
    pub delay: Option<Span>,
    /// When the last copy about this entity was sent to the receiver, or when it joined.
    pub silent_since: SharedInstant,
    /// Whether the receiver acknowledges copies. If not, it may be cut off or not be listening.
    pub acknowledges: bool,
}

impl Candidate {
    /// Returns whether the receiver was never sent this entity.
    pub fn is_new(&self) -> bool {
        self.standing.last_sent.is_none()
    }

    /// Returns the default weight of a claim: the receiver's error since the DR vector that it
    /// follows was generated. The weight grows while the receiver waits, so a copy that does not
    /// fit into one packet goes first into a later one. A receiver that was never sent the entity
    /// has the largest weight.
    pub fn weight(&self) -> f64 {
        claim_weight(self.standing.instantaneous, self.standing.last_sent)
    }

    /// Returns the time since the last copy about this entity was sent to the receiver.
    pub fn silence(&self, now: SharedInstant) -> Span {
        now - self.silent_since
    }
}
