//! Motion models: what a receiver believes between two DR vectors.
//!
//! A [`Motion`] maps seconds since its start to a full [`State`]; all of them obey one law, that
//! velocity is the slope of position. Each model is a small struct in a file of its own, named as
//! the literature names it.

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

/// A guess at where something goes from here.
///
/// `at` arguments are seconds since the motion's start; negative ones look back along the same
/// curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Motion<V: Planar> {
    /// Stays where it is.
    Static(Static<V>),
    /// Keeps its velocity.
    Linear(Linear<V>),
    /// Keeps its acceleration (the IEEE form; Shi 2014's "TDM").
    Quadratic(Quadratic<V>),
    /// Keeps its speed and turn rate.
    Circular(Circular<V>),
    /// Follows a cubic to a known end, then keeps the end's velocity.
    Hermite(Hermite<V>),
    /// One of the nine models of IEEE 1278.1.
    Dis(Dis),
}

/// The greatest number, positive or negative, that motion which others believe may hold.
///
/// 10³⁰: the visible universe is 10²⁷ metres wide. What is reckoned from such numbers stays finite:
/// their squares, and where their products with years of seconds lead to. Greater ones are finite
/// too, and a second later are not.
pub const NUMBER_MAX: f64 = 1e30;

/// Calls the same method on whichever model it is.
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
    /// Where it started.
    pub fn origin(&self) -> V {
        each_model!(self, model => model.origin())
    }

    /// How far it has come after `at` seconds. Exact even far from the origin of the world, where
    /// [`position_at`](Self::position_at) rounds.
    #[inline]
    pub fn displacement_at(&self, at: f64) -> V {
        match self {
            // The usual one is worth no call: it is asked for every receiver at every trigger.
            Self::Linear(line) => line.displacement_at(at),
            _ => self.displacement_of_any(at),
        }
    }

    #[inline(never)]
    fn displacement_of_any(&self, at: f64) -> V {
        each_model!(self, model => model.displacement_at(at))
    }

    /// Where it is after `at` seconds.
    pub fn position_at(&self, at: f64) -> V {
        self.origin() + self.displacement_at(at)
    }

    /// How fast it moves after `at` seconds.
    pub fn velocity_at(&self, at: f64) -> V {
        each_model!(self, model => model.velocity_at(at))
    }

    /// Everything known of it after `at` seconds.
    pub fn state_at(&self, at: f64) -> State<V> {
        each_model!(self, model => model.state_at(at))
    }

    /// Which model this is.
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

    /// Whether every number in it is finite.
    pub fn is_finite(&self) -> bool {
        self.is_within(f64::MAX)
    }

    /// Whether no number in it is greater than [`NUMBER_MAX`], so that it leads nowhere that is not
    /// finite.
    pub fn stays_finite(&self) -> bool {
        self.is_within(NUMBER_MAX)
    }

    fn is_within(&self, limit: f64) -> bool {
        each_model!(self, model => model.is_within(limit))
    }
}

/// Which model to cut a DR vector from, given a state.
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
    /// [`Hermite`], through the point the state's acceleration would reach after `secs`: an
    /// acceleration that ends, where [`Quadratic`] runs away.
    Hermite {
        /// Length of the curved part.
        secs: f64,
    },
    /// [`Dis`].
    Dis(dis::Model),
}

impl MotionKind {
    /// The motion of this kind that starts in `state`.
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
