//! Placement: computes where a receiver sees an entity from the DR vectors it received.
//!
//! There are three ways of reading a DR vector (Banavar 2005). [`Placement::Local`] is what games
//! did. [`Placement::Global`] needs synchronised clocks and removes the error after arrival.
//! [`Placement::Hop`] approximates that with delay estimates alone.

mod clip;
mod crowd;
mod replica;

pub use clip::Clip;
pub use crowd::{Crowd, Positions};
pub use replica::{Acceptance, Replica};

use crate::dr_vector::DrVector;
use crate::number::EntityId;
use crate::time::{LocalInstant, Now, SharedInstant, Span};
use crate::vector::Planar;

/// The instant from which a received motion runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Placement {
    /// From its arrival. The entity trails the truth by the whole delay.
    Local,
    /// From its generation time on the shared clock. With exact clocks the placed path equals the
    /// exported path. The default.
    #[default]
    Global,
    /// From its arrival minus the estimated waiting and travelling time, hop by hop.
    Hop,
}

/// How a DR vector reached this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When the DR vector arrived.
    pub now: Now,
    /// How long the DR vector waited at the last hop: that hop's send time minus the generation
    /// time, both stamped on that hop's clock. Only [`Placement::Hop`] uses it.
    pub waited: Span,
    /// Estimated travel time of the last hop, from this machine's
    /// [`DelayEstimate`](crate::clock::DelayEstimate). Only [`Placement::Hop`] uses it.
    pub travelled: Span,
}

impl Arrival {
    /// Returns an arrival at a known instant, enough for local and global placement.
    pub const fn at(now: Now) -> Self {
        Self { now, waited: Span::ZERO, travelled: Span::ZERO }
    }

    /// Returns the estimated age of the motion.
    pub fn age(&self) -> Span {
        self.waited + self.travelled
    }
}

/// An instant on the placement's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Local(LocalInstant),
    Shared(SharedInstant),
}

impl Anchor {
    pub(crate) fn new<V: Planar>(placement: Placement, vector: &DrVector<V>, arrival: &Arrival) -> Self {
        match placement {
            Placement::Local => Self::Local(arrival.now.local),
            Placement::Hop => Self::Local(arrival.now.local - arrival.age()),
            Placement::Global => Self::Shared(vector.generated_at),
        }
    }

    /// Returns the time from this instant to `now`.
    pub(crate) fn age(self, now: Now) -> Span {
        match self {
            Self::Local(start) => now.local - start,
            Self::Shared(start) => now.shared - start,
        }
    }
}

/// Restates DR vectors on the clock of the machine that forwards them. A server does this between
/// its clients under [`Placement::Hop`].
///
/// Each hop adds its own delay estimate and the waiting time, so the generation time it passes on
/// is its own `now` minus the estimated age. Estimates jitter; an entity's restated times only
/// increase.
#[derive(Clone, Debug, Default)]
pub struct Relay {
    last: std::collections::BTreeMap<EntityId, SharedInstant>,
}

impl Relay {
    /// Returns a relay that has forwarded nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the DR vector with the generation time as estimated here, rounded to `step`.
    pub fn restate<V: Planar>(&mut self, vector: &DrVector<V>, arrival: &Arrival, step: Span) -> DrVector<V> {
        let believed =
            SharedInstant::ZERO + (arrival.now.shared - arrival.age()).since_zero().rounded_to(step);
        let generated_at = match self.last.get(&vector.entity) {
            Some(last) => believed.max(*last + step),
            None => believed,
        };
        self.last.insert(vector.entity, generated_at);
        DrVector { generated_at, ..*vector }
    }

    /// Records a DR vector of this instant that this machine sent: restated times lie after it.
    pub fn on_sent(&mut self, entity: EntityId, generated_at: SharedInstant) {
        let last = self.last.entry(entity).or_insert(generated_at);
        *last = generated_at.max(*last);
    }

    /// Forgets an entity that was destroyed.
    pub fn forget(&mut self, entity: EntityId) {
        self.last.remove(&entity);
    }
}
