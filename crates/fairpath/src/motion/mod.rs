//! Motion models: how an entity moves between two DR vectors.
//!
//! A [`Motion`] maps seconds since its start to a full [`State`]. Every model obeys one law:
//! velocity is the slope of position. Each model is a struct in its own file, with its usual name.

mod circular;
pub mod dis;
mod hermite;
mod linear;
mod quadratic;
mod stationary;

pub use circular::Circular;
pub use dis::Dis;
pub use hermite::Hermite;
pub use linear::Linear;
pub use quadratic::Quadratic;
pub use stationary::Static;

use crate::state::State;
use crate::vector::Planar;

/// A predicted motion from a known start.
///
/// `at` arguments are seconds since the start of the motion; negative values look back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Motion<V: Planar> {
    /// Stays in place.
    Static(Static<V>),
    /// Constant velocity.
    Linear(Linear<V>),
    /// Constant acceleration (the IEEE form; "TDM" in Shi 2014).
    Quadratic(Quadratic<V>),
    /// Constant speed and turn rate.
    Circular(Circular<V>),
    /// Follows a cubic to a known end, then keeps the end's velocity.
    Hermite(Hermite<V>),
    /// One of the nine models of IEEE 1278.1.
    Dis(Dis),
}

/// The largest absolute value that the library accepts in a motion.
///
/// 10³⁰: the visible universe is 10²⁷ metres wide. Results computed from such numbers stay finite:
/// their squares, and their products with years of seconds. A larger number can be finite now and
/// infinite a second later.
pub const NUMBER_MAX: f64 = 1e30;

/// Evaluates one expression for whichever model the motion is.
macro_rules! each_model {
    ($motion:expr, $model:ident => $answer:expr) => {
        match $motion {
            Motion::Static($model) => $answer,
            Motion::Linear($model) => $answer,
            Motion::Quadratic($model) => $answer,
            Motion::Circular($model) => $answer,
            Motion::Hermite($model) => $answer,
            Motion::Dis($model) => $answer,
        }
    };
}

impl<V: Planar> Motion<V> {
    /// Returns the position at the start.
    pub fn origin(&self) -> V {
        each_model!(self, model => model.origin())
    }

    /// Returns the displacement from the start after `at` seconds. Exact even far from the origin
    /// of the world, where [`position_at`](Self::position_at) rounds.
    #[inline]
    pub fn displacement_at(&self, at: f64) -> V {
        match self {
            // The usual model is inlined: the ledger asks for every receiver at every trigger.
            Self::Linear(line) => line.displacement_at(at),
            _ => self.displacement_of_any(at),
        }
    }

    #[inline(never)]
    fn displacement_of_any(&self, at: f64) -> V {
        each_model!(self, model => model.displacement_at(at))
    }

    /// Returns the position after `at` seconds.
    pub fn position_at(&self, at: f64) -> V {
        self.origin() + self.displacement_at(at)
    }

    /// Returns the velocity after `at` seconds.
    pub fn velocity_at(&self, at: f64) -> V {
        each_model!(self, model => model.velocity_at(at))
    }

    /// Returns the full state after `at` seconds.
    pub fn state_at(&self, at: f64) -> State<V> {
        each_model!(self, model => model.state_at(at))
    }

    /// Returns which model this is.
    pub fn kind(&self) -> MotionKind {
        match self {
            Self::Static(_) => MotionKind::Static,
            Self::Linear(_) => MotionKind::Linear,
            Self::Quadratic(_) => MotionKind::Quadratic,
            Self::Circular(_) => MotionKind::Circular,
            Self::Hermite(hermite) => MotionKind::Hermite { secs: hermite.secs },
            Self::Dis(dis) => MotionKind::Dis(dis.model),
        }
    }

    /// Returns whether every number in the motion is finite.
    pub fn is_finite(&self) -> bool {
        self.is_within(f64::MAX)
    }

    /// Returns whether no number exceeds [`NUMBER_MAX`], so that later states are finite too.
    pub fn stays_finite(&self) -> bool {
        self.is_within(NUMBER_MAX)
    }

    fn is_within(&self, limit: f64) -> bool {
        each_model!(self, model => model.is_within(limit))
    }
}

/// A motion model without its numbers: the model to build a DR vector with.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum MotionKind {
    /// [`Static`].
    Static,
    /// [`Linear`].
    #[default]
    Linear,
    /// [`Quadratic`].
    Quadratic,
    /// [`Circular`].
    Circular,
    /// [`Hermite`], to the point that the state's acceleration would reach after `secs`: the
    /// acceleration ends there, where [`Quadratic`] goes on.
    Hermite {
        /// Length of the curved part, in seconds.
        secs: f64,
    },
    /// [`Dis`].
    Dis(dis::Model),
}

impl MotionKind {
    /// Returns the motion of this kind that starts in `state`.
    pub fn from_state<V: Planar>(self, state: &State<V>) -> Motion<V> {
        match self {
            Self::Static => Motion::Static(Static::from_state(state)),
            Self::Linear => Motion::Linear(Linear::from_state(state)),
            Self::Quadratic => Motion::Quadratic(Quadratic::from_state(state)),
            Self::Circular => Motion::Circular(Circular::from_state(state)),
            Self::Hermite { secs } => Motion::Hermite(Hermite::from_state(state, secs)),
            Self::Dis(model) => Motion::Dis(Dis::from_state(state, model)),
        }
    }
}
