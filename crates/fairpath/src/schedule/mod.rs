//! Who is told of a new DR vector, and when: the schedulers, and the [`Dispatcher`] that runs one.
//!
//! A scheduler sees what the sender knows ([`Scene`]): the ledger, each receiver's account and delay, and a seeded
//! generator. It answers with [`Claims`]: this receiver, at that instant, this important. The dispatcher keeps
//! the books, lets claims come due, and sees to it that nobody is forgotten, whatever the scheduler wants.
//!
//! | file | scheduler | from |
//! | --- | --- | --- |
//! | `broadcast` | every trigger, everyone | "base" |
//! | `every_nth` | every k-th trigger, everyone | "1/3 base" |
//! | `error_index` | whoever it helps most, at a price, fairly | ours |

mod account;
mod broadcast;
mod claims;
mod directory;
mod dispatcher;
mod error_index;
mod every_nth;
mod in_order;

pub use account::Account;
pub use broadcast::Broadcast;
pub use claims::{Claim, Claims};
pub use dispatcher::{Departure, Dispatcher, DispatcherConfig, Liveness};
pub use error_index::{ErrorIndex, ErrorIndexConfig};
pub use every_nth::EveryNth;

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
    fn on_trigger(&mut self, scene: &Scene<'_, V>, random: &mut Random, claims: &mut Claims<V>);

    /// The instant that [`poll_deadline`](Self::poll_deadline) asked for has come; called for every entity.
    fn on_deadline(&mut self, _scene: &Scene<'_, V>, _random: &mut Random, _claims: &mut Claims<V>) {}

    /// When it wants to look again although nothing was generated.
    fn poll_deadline(&self) -> Option<SharedInstant> {
        None
    }

    /// A copy left: `cost` in the budget's unit, DR vectors or bytes. Also called for copies that the
    /// dispatcher sends on its own, so that the budget pays for them.
    fn on_departed(&mut self, _entity: EntityId, _receiver: ReceiverId, _at: SharedInstant, _cost: f64) {}

    /// A receiver or an entity is gone: forget it.
    fn on_left(&mut self, _entity: Option<EntityId>, _receiver: Option<ReceiverId>) {}
}

/// What there is to know when a decision is due.
#[derive(Debug)]
pub struct Scene<'a, V: Planar> {
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
    /// Since when nothing was sent to them about this entity: the last departure, or when they joined.
    pub silent_since: SharedInstant,
}

impl Candidate {
    /// How long nothing was sent to them about this entity.
    pub fn silence(&self, now: SharedInstant) -> Span {
        now - self.silent_since
    }
}
