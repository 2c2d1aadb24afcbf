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

    /// Sets the acceleration, per second squared. A
    /// [`quadratic`](crate::session::Class::quadratic) class needs it.
    #[must_use]
    pub fn with_acceleration(mut self, acceleration: V) -> Self {
        self.acceleration = acceleration;
        self
    }

    /// Returns the same place and orientation, without any motion.
    pub(crate) fn at_rest(&self) -> Self {
        Self { velocity: V::ZERO, acceleration: V::ZERO, spin: V::Spin::default(), ..*self }
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
    /// Returns the world state of a body whose state relative to `parent` is `self`.
    ///
    /// A relative state is in the parent's axes, about the parent's position, and as seen by an
    /// observer that turns with the parent: a rider that stands still has no relative velocity. In
    /// the world the rider gets the parent's velocity and ω × r of the parent's spin; the
    /// acceleration gets the centripetal and the Coriolis part. The change of the spin itself is
    /// neglected, because a state does not hold it. [`relative_to`](Self::relative_to) is the
    /// inverse.
    ///
    /// ```
    /// use fairpath::{State, Vec2, Vector};
    ///
    /// // A ship at (100, 0) faces +y and turns at 0.5 rad/s. A sailor stands 10 ahead of its middle.
    /// let ship = State { position: Vec2::new(100.0, 0.0), ..State::default() }
    ///     .with_heading(std::f64::consts::FRAC_PI_2, 0.5);
    /// let sailor = State { position: Vec2::new(10.0, 0.0), ..State::default() }.carried_by(&ship);
    /// assert!(sailor.position.distance(Vec2::new(100.0, 10.0)) < 1e-12);
    /// assert!(sailor.velocity.distance(Vec2::new(-5.0, 0.0)) < 1e-12);
    /// assert_eq!(sailor.spin, 0.5);
    /// ```
    #[must_use]
    pub fn carried_by(&self, parent: &Self) -> Self {
        let (axes, spin) = (V::to_quat(parent.orientation), V::spin_to_3d(parent.spin));
        let [position, velocity, acceleration] =
            [self.position, self.velocity, self.acceleration].map(V::to_3d);
        let own = V::to_quat(self.orientation);
        let carried = spin.cross(position);
        let turning = spin.cross(carried) + spin.cross(velocity) * 2.0;
        let in_world = |vector| V::from_3d(axes.rotate(vector));
        Self {
            position: parent.position + in_world(position),
            velocity: parent.velocity + in_world(velocity + carried),
            acceleration: parent.acceleration + in_world(acceleration + turning),
            orientation: V::from_quat(axes * own),
            spin: V::spin_from_3d(V::spin_to_3d(self.spin) + own.conjugate().rotate(spin)),
        }
    }

    /// Returns the state relative to `parent` of a body whose world state is `self`: the inverse of
    /// [`carried_by`](Self::carried_by). Use it to observe an object that is attached to a parent.
    #[must_use]
    pub fn relative_to(&self, parent: &Self) -> Self {
        let (axes, spin) = (V::to_quat(parent.orientation).conjugate(), V::spin_to_3d(parent.spin));
        let in_axes = |world: V, of_parent: V| axes.rotate(V::to_3d(world - of_parent));
        let position = in_axes(self.position, parent.position);
        let carried = spin.cross(position);
        let velocity = in_axes(self.velocity, parent.velocity) - carried;
        let turning = spin.cross(carried) + spin.cross(velocity) * 2.0;
        let own = axes * V::to_quat(self.orientation);
        Self {
            position: V::from_3d(position),
            velocity: V::from_3d(velocity),
            acceleration: V::from_3d(in_axes(self.acceleration, parent.acceleration) - turning),
            orientation: V::from_quat(own),
            spin: V::spin_from_3d(V::spin_to_3d(self.spin) - own.conjugate().rotate(spin)),
        }
    }

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
