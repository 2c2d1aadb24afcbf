//! The message everything turns on.

use crate::motion::{Motion, NUMBER_MAX};
use crate::number::{EntityId, Generation, Life};
use crate::state::State;
use crate::time::SharedInstant;
use crate::vector::{Planar, Vector};

/// A DR vector: "from this instant on, believe that it moves like this".
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DrVector<V: Planar> {
    /// Which entity it is about.
    pub entity: EntityId,
    /// Which of the entity's lives.
    pub life: Life,
    /// Which of the entity's DR vectors.
    pub generation: Generation,
    /// The instant the motion starts from. Of two DR vectors of one entity the later one is the
    /// newer.
    pub generated_at: SharedInstant,
    /// What to believe from then on.
    pub motion: Motion<V>,
    /// Which way it faces, where that does not follow from the motion.
    pub attitude: Option<Attitude<V>>,
}

/// An orientation and how it turns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Attitude<V: Vector> {
    /// Which way it faces at the start.
    pub orientation: V::Orientation,
    /// How fast it turns.
    pub spin: V::Spin,
}

impl<V: Planar> DrVector<V> {
    /// Where it says the entity is at `t`.
    pub fn position_at(&self, t: SharedInstant) -> V {
        self.motion.position_at((t - self.generated_at).as_secs_f64())
    }

    /// Everything it says about the entity at `t`.
    pub fn state_at(&self, t: SharedInstant) -> State<V> {
        self.state_after((t - self.generated_at).as_secs_f64())
    }

    /// Everything it says about the entity `secs` after its start.
    pub fn state_after(&self, secs: f64) -> State<V> {
        let mut state = self.motion.state_at(secs);
        if let Some(attitude) = self.attitude {
            state.orientation = V::turned(attitude.orientation, attitude.spin, secs);
            state.spin = attitude.spin;
        }
        state
    }

    /// Whether every number in it is finite.
    pub fn is_finite(&self) -> bool {
        self.motion.is_finite() && self.turns_within(f64::MAX)
    }

    /// Whether no number in it is greater than [`NUMBER_MAX`], so that it leads nowhere that is not
    /// finite.
    pub fn stays_finite(&self) -> bool {
        self.motion.stays_finite() && self.turns_within(NUMBER_MAX)
    }

    fn turns_within(&self, limit: f64) -> bool {
        self.attitude.is_none_or(|attitude| {
            V::is_finite_orientation(attitude.orientation) && V::is_spin_within(attitude.spin, limit)
        })
    }
}
