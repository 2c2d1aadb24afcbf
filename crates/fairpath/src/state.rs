//! What is known of a moving thing at one instant.

use crate::motion::NUMBER_MAX;
use crate::vector::{Planar, Vector};

/// Where something is, how it moves and which way it faces.
///
/// The owner fills it from the game; a [`Motion`](crate::motion::Motion) answers with one. What a
/// game does not know it leaves at zero: the models that would use it then behave like simpler
/// ones.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct State<V: Vector> {
    /// Where it is.
    pub position: V,
    /// How fast it moves, per second.
    pub velocity: V,
    /// How fast that changes, per second squared.
    pub acceleration: V,
    /// Which way it faces.
    pub orientation: V::Orientation,
    /// How fast it turns.
    pub spin: V::Spin,
}

impl<V: Vector> State<V> {
    /// Something that moves and faces the way it moves.
    pub fn moving(position: V, velocity: V) -> Self {
        Self { position, velocity, orientation: velocity.facing(), ..Self::default() }
    }

    /// The same, with an acceleration.
    #[must_use]
    pub fn with_acceleration(mut self, acceleration: V) -> Self {
        self.acceleration = acceleration;
        self
    }

    /// Whether every number in it is finite.
    pub fn is_finite(&self) -> bool {
        self.is_within(f64::MAX)
    }

    /// Whether no number in it is greater than [`NUMBER_MAX`]. Nothing else may enter the library.
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
    /// The same, facing `heading` and turning at `turn_rate` about +z.
    #[must_use]
    pub fn with_heading(mut self, heading: f64, turn_rate: f64) -> Self {
        self.orientation = V::level(heading);
        self.spin = V::about_up(turn_rate);
        self
    }

    /// Velocity along the heading: negative when reversing.
    pub fn signed_speed(&self) -> f64 {
        let ahead = crate::vector::Vec2::from_heading(V::heading(self.orientation));
        self.velocity.on_plane().dot(ahead)
    }
}

/// What the owner saw this frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Observation<V: Vector> {
    /// It got here by moving.
    Moved(State<V>),
    /// It was put here: a respawn or teleport. Starts a new life, and everybody must be told.
    Jumped(State<V>),
}

impl<V: Vector> Observation<V> {
    /// What was seen, whichever way it came about.
    pub fn state(&self) -> &State<V> {
        let (Self::Moved(state) | Self::Jumped(state)) = self;
        state
    }
}
