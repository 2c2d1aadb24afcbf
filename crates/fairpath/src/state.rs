//! The state of a moving entity at one instant.

use crate::motion::NUMBER_MAX;
use crate::vector::{Planar, Vector};

/// Position, motion and orientation of an entity at one instant.
///
/// The owner fills it from the game; a [`Motion`](crate::motion::Motion) returns one. Leave a field
/// at zero if the game does not know it: models that use it then behave like simpler ones.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct State<V: Vector> {
    /// Position in world units.
    pub position: V,
    /// Velocity, per second.
    pub velocity: V,
    /// Acceleration, per second squared.
    pub acceleration: V,
    /// Orientation of the body.
    pub orientation: V::Orientation,
    /// Angular velocity, in radians per second.
    pub spin: V::Spin,
}

impl<V: Vector> State<V> {
    /// Returns the state of an entity that moves and faces the way it moves.
    pub fn moving(position: V, velocity: V) -> Self {
        Self { position, velocity, orientation: velocity.facing(), ..Self::default() }
    }

    /// Sets the acceleration.
    #[must_use]
    pub fn with_acceleration(mut self, acceleration: V) -> Self {
        self.acceleration = acceleration;
        self
    }

    /// Returns whether every number in the state is finite.
    pub fn is_finite(&self) -> bool {
        self.is_within(f64::MAX)
    }

    /// Returns whether no number in the state exceeds [`NUMBER_MAX`]. Other states are refused.
    pub fn stays_finite(&self) -> bool {
        self.is_within(NUMBER_MAX)
    }

    fn is_within(&self, limit: f64) -> bool {
        [self.position, self.velocity, self.acceleration].iter().all(|v| v.is_within(limit))
            && V::is_finite_orientation(self.orientation)
            && V::is_spin_within(self.spin, limit)
    }
}

impl<V: Planar> State<V> {
    /// Sets the heading, and the turn rate about +z, both in radians.
    #[must_use]
    pub fn with_heading(mut self, heading: f64, turn_rate: f64) -> Self {
        self.orientation = V::level(heading);
        self.spin = V::about_up(turn_rate);
        self
    }

    /// Returns the velocity along the heading; negative when reversing.
    pub fn signed_speed(&self) -> f64 {
        let ahead = crate::vector::Vec2::from_heading(V::heading(self.orientation));
        self.velocity.on_plane().dot(ahead)
    }
}

/// What the owner observed this frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Observation<V: Vector> {
    /// The entity moved here.
    Moved(State<V>),
    /// Put here by a respawn or a teleport. Starts a new life, which every receiver must learn of.
    Jumped(State<V>),
}

impl<V: Vector> Observation<V> {
    /// Returns the observed state.
    pub fn state(&self) -> &State<V> {
        let (Self::Moved(state) | Self::Jumped(state)) = self;
        state
    }
}
