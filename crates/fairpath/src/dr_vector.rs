//! The DR vector: the message that describes how an entity moves.

use crate::motion::{Motion, NUMBER_MAX};
use crate::number::{EntityId, Generation, Life};
use crate::state::State;
use crate::time::SharedInstant;
use crate::vector::{Planar, Vector};

/// A dead-reckoning vector: "from this instant on, the entity moves like this".
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DrVector<V: Planar> {
    /// The entity that it describes.
    pub entity: EntityId,
    /// The entity's life. A respawn, a teleport or another parent starts the next one.
    pub life: Life,
    /// The number of this DR vector among those of its entity.
    pub generation: Generation,
    /// The instant at which the motion starts. Of two DR vectors of one entity the later is newer.
    pub generated_at: SharedInstant,
    /// The motion from that instant on.
    pub motion: Motion<V>,
    /// The orientation, for an entity whose orientation does not follow from its motion.
    pub attitude: Option<Attitude<V>>,
    /// The entity that carries this one. Motion and attitude are then in the parent's axes, about
    /// the parent's position: [`State::carried_by`] leads to the world. `None`: they are in the
    /// world's.
    pub parent: Option<EntityId>,
}

/// An orientation and how fast it turns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Attitude<V: Vector> {
    /// Orientation at the start.
    pub orientation: V::Orientation,
    /// Angular velocity, in radians per second.
    pub spin: V::Spin,
}

impl<V: Planar> DrVector<V> {
    /// Returns the predicted position at `t`, relative to the parent if there is one.
    pub fn position_at(&self, t: SharedInstant) -> V {
        self.motion.position_at((t - self.generated_at).as_secs_f64())
    }

    /// Returns the predicted state at `t`, relative to the parent if there is one.
    pub fn state_at(&self, t: SharedInstant) -> State<V> {
        self.state_after((t - self.generated_at).as_secs_f64())
    }

    /// Returns the predicted state `secs` after the start.
    pub fn state_after(&self, secs: f64) -> State<V> {
        let mut state = self.motion.state_at(secs);
        if let Some(attitude) = self.attitude {
            state.orientation = V::turned(attitude.orientation, attitude.spin, secs);
            state.spin = attitude.spin;
        }
        state
    }

    /// Returns whether both DR vectors are of one life and have the same parent. Only then can
    /// their paths be compared.
    pub fn shares_life(&self, other: &Self) -> bool {
        self.life == other.life && self.parent == other.parent
    }

    /// Returns whether every number in the DR vector is finite.
    pub fn is_finite(&self) -> bool {
        self.motion.is_finite() && self.turns_within(f64::MAX)
    }

    /// Returns whether no number exceeds [`NUMBER_MAX`], so that later states are finite too.
    pub fn stays_finite(&self) -> bool {
        self.motion.stays_finite() && self.turns_within(NUMBER_MAX)
    }

    fn turns_within(&self, limit: f64) -> bool {
        self.attitude.is_none_or(|attitude| {
            V::is_finite_orientation(attitude.orientation) && V::is_spin_within(attitude.spin, limit)
        })
    }
}
