use crate::state::State;
use crate::vector::Vector;

/// Keeps its velocity and faces along it: p0 + v0·t.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Linear<V: Vector> {
    /// Position at the start.
    pub position: V,
    /// Velocity, per second.
    pub velocity: V,
}

impl<V: Vector> Linear<V> {
    pub(super) fn from_state(state: &State<V>) -> Self {
        Self { position: state.position, velocity: state.velocity }
    }

    pub(super) fn origin(&self) -> V {
        self.position
    }

    pub(super) fn displacement_at(&self, at: f64) -> V {
        self.velocity * at
    }

    pub(super) fn velocity_at(&self, _at: f64) -> V {
        self.velocity
    }

    pub(super) fn state_at(&self, at: f64) -> State<V> {
        State::moving(self.position + self.displacement_at(at), self.velocity)
    }

    pub(super) fn is_within(&self, limit: f64) -> bool {
        self.position.is_within(limit) && self.velocity.is_within(limit)
    }
}
