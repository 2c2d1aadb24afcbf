//! The nine dead-reckoning models of IEEE 1278.1, with orientation.

use crate::rotation::Quat;
use crate::state::State;
use crate::vector::{Planar, Vec3, Vector};

/// Which of the nine, and how the ambiguous ones are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// 1: does not move.
    Static,
}

/// One of the nine motions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dis {
    /// Which model, with its reading.
    pub model: Model,
    /// Where it starts.
    pub position: Vec3,
    /// World axes for models 2–5, body axes for 6–9.
    pub velocity: Vec3,
    /// World axes for models 2–5, body axes for 6–9.
    pub acceleration: Vec3,
    /// Body to world.
    pub orientation: Quat,
    /// Body axes, radians per second.
    pub angular_velocity: Vec3,
}

impl Dis {
    pub(super) fn from_state<V: Planar>(state: &State<V>, model: Model) -> Self {
        Self {
            model,
            position: state.position.to_3d(),
            velocity: state.velocity.to_3d(),
            acceleration: state.acceleration.to_3d(),
            orientation: V::to_quat(state.orientation),
            angular_velocity: V::spin_to_3d(state.spin),
        }
    }

    pub(super) fn origin<V: Planar>(&self) -> V {
        V::from_3d(self.position)
    }

    pub(super) fn displacement_at<V: Planar>(&self, _at: f64) -> V {
        V::ZERO
    }

    pub(super) fn velocity_at<V: Planar>(&self, _at: f64) -> V {
        V::ZERO
    }

    pub(super) fn state_at<V: Planar>(&self, _at: f64) -> State<V> {
        State::default()
    }

    /// The rate at which the axes that it keeps its velocity in turn, in world axes. Constant: they turn about it.
    pub(crate) fn turning(&self) -> Vec3 {
        Vec3::ZERO
    }

    pub(super) fn is_finite(&self) -> bool {
        self.position.is_finite()
    }
}
