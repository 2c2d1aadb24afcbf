//! Placement: where a replica shows an entity, given what it has heard.
//!
//! Three ways of reading a DR vector, from the literature: [`Placement::Local`] is what games did,
//! [`Placement::Global`] needs synchronised clocks and makes the error after arrival vanish,
//! [`Placement::Hop`] does what can be done without them.

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

/// From which instant a received motion is taken to run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Placement {
    /// From its arrival. The entity trails the truth by the whole delay.
    Local,
    /// From its generation time on the shared clock. With exact clocks the placed path *is* the
    /// exported one.
    #[default]
    Global,
    /// From its arrival less the time it is estimated to have waited and travelled, hop by hop.
    Hop,
}

/// How a DR vector reached this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When it arrived.
    pub now: Now,
    /// How long it had waited at the last hop: that hop's send time less the generation time, both
    /// stamped on that hop's clock. Only [`Placement::Hop`] uses it.
    pub waited: Span,
    /// How long the last hop is estimated to have taken, from this machine's
    /// [`DelayEstimate`](crate::clock::DelayEstimate). Only [`Placement::Hop`] uses it.
    pub travelled: Span,
}

impl Arrival {
    /// An arrival of which only the instant is known: enough for local and global placement.
    pub const fn at(now: Now) -> Self {
        Self { now, waited: Span::ZERO, travelled: Span::ZERO }
    }

    /// How old the motion is estimated to be.
    pub fn age(&self) -> Span {
        self.waited + self.travelled
    }
}

/// An instant on whichever clock the placement goes by.
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

    /// Time from this instant to `now`.
    pub(crate) fn age(self, now: Now) -> Span {
        match self {
            Self::Local(start) => now.local - start,
            Self::Shared(start) => now.shared - start,
        }
    }
}

/// Restates DR vectors on the clock of the machine that passes them on: what a server does between
/// its clients under [`Placement::Hop`].
///
/// Each hop projects by its own estimate plus the waiting time, so the generation time it hands on
/// is its own `now` less the estimated age. Estimates jitter; restated times of one entity still
/// only go forward.
#[derive(Clone, Debug, Default)]
pub struct Relay {
    last: std::collections::BTreeMap<EntityId, SharedInstant>,
}

impl Relay {
    /// A relay that has passed nothing on yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same DR vector, generated at the instant this machine believes it was, on the grid of
    /// `step`.
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

    /// This machine itself has told of the entity up to this instant: what is restated lies after
    /// it.
    pub fn on_told(&mut self, entity: EntityId, generated_at: SharedInstant) {
        let last = self.last.entry(entity).or_insert(generated_at);
        *last = generated_at.max(*last);
    }

    /// Forgets an entity that is gone.
    pub fn forget(&mut self, entity: EntityId) {
        self.last.remove(&entity);
    }
}
