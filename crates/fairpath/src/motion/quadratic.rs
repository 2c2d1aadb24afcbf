use crate::state::State;
use crate::vector::Vector;

/// Keeps its acceleration and faces along its velocity: p0 + v0·t + ½·a0·t².
///
/// Good for a fraction of a second. Acceleration held for longer carries the entity far away.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quadratic<V: Vector> {
    /// Position at the start.
    pub position: V,
    /// Velocity at the start, per second.
    pub velocity: V,
    /// Constant acceleration, per second squared.
    pub acceleration: V,
}

impl<V: Vector> Quadratic<V> {
    pub(super) fn from_state(state: &State<V>) -> Self {
        Self { position: state.position, velocity: state.velocity, acceleration: state.acceleration }
    }

    pub(super) fn origin(&self) -> V {
        self.position
    }

    pub(super) fn displacement_at(&self, at: f64) -> V {
        (self.velocity + self.acceleration * (0.5 * at)) * at
    }

    pub(super) fn velocity_at(&self, at: f64) -> V {
        self.velocity + self.acceleration * at
    }

    pub(super) fn state_at(&self, at: f64) -> State<V> {
        State::moving(self.position + self.displacement_at(at), self.velocity_at(at))
            .with_acceleration(self.acceleration)
    }

    pub(super) fn is_within(&self, limit: f64) -> bool {
        [self.position, self.velocity, self.acceleration].iter().all(|v| v.is_within(limit))
    }
}
