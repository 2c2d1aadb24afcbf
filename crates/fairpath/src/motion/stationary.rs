use crate::state::State;
use crate::vector::Vector;

/// Stays in place and keeps its orientation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Static<V: Vector> {
    /// Position at all times.
    pub position: V,
    /// Orientation at all times.
    pub orientation: V::Orientation,
}

impl<V: Vector> Static<V> {
    pub(super) fn from_state(state: &State<V>) -> Self {
        Self { position: state.position, orientation: state.orientation }
    }

    pub(super) fn origin(&self) -> V {
        self.position
    }

    pub(super) fn displacement_at(&self, _at: f64) -> V {
        V::ZERO
    }

    pub(super) fn velocity_at(&self, _at: f64) -> V {
        V::ZERO
    }

    pub(super) fn state_at(&self, _at: f64) -> State<V> {
        State { position: self.position, orientation: self.orientation, ..State::default() }
    }

    pub(super) fn is_within(&self, limit: f64) -> bool {
        self.position.is_within(limit) && V::is_finite_orientation(self.orientation)
    }
}
