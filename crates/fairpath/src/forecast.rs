//! Forecasts: better motions to export than a model alone gives.

use std::fmt::Debug;

use crate::motion::Motion;
use crate::state::{Observation, State};
use crate::time::SharedInstant;
use crate::vector::Planar;

/// Chooses the motion that an [`Owner`](crate::Owner) exports.
///
/// A DR vector carries its motion model, so receivers follow any motion and need no predictor of
/// their own. The forecast runs at the owner alone, where the whole past of the entity is known.
///
/// ```
/// use fairpath::motion::{Linear, Motion};
/// use fairpath::prelude::*;
/// use fairpath::{Forecast, Observation, Owner, Trigger};
///
/// /// Skaters glide: they keep nine tenths of their velocity.
/// #[derive(Debug)]
/// struct Glide;
///
/// impl Forecast<Vec2> for Glide {
///     fn observe(&mut self, _observation: &Observation<Vec2>, _at: SharedInstant) {}
///
///     fn motion(&mut self, state: &State<Vec2>, _at: SharedInstant) -> Option<Motion<Vec2>> {
///         Some(Motion::Linear(Linear { position: state.position, velocity: state.velocity * 0.9 }))
///     }
/// }
///
/// let mut owner = Owner::new(EntityId(1), Trigger::within(0.3)).with_forecast(Box::new(Glide));
/// let skater = State::moving(Vec2::ZERO, Vec2::new(10.0, 0.0));
/// let export = owner.observe(Observation::Moved(skater), SharedInstant::ZERO)?.expect("the first");
/// assert_eq!(export.vector.motion.velocity_at(0.0), Vec2::new(9.0, 0.0));
/// # Ok::<(), fairpath::ObserveError>(())
/// ```
pub trait Forecast<V: Planar>: Debug + Send + Sync {
    /// Learns the true state at `at`. The owner calls it for every accepted observation, in order.
    fn observe(&mut self, observation: &Observation<V>, at: SharedInstant);

    /// Returns the motion of a DR vector that starts at `at` in `state`; `None` leaves the choice
    /// to the owner's model.
    ///
    /// The owner calls it after [`observe`](Self::observe), when a DR vector is due. `at` lies
    /// within one step of the wire's time grid (1 ms by default) of the observed instant. The
    /// owner ignores a motion whose start is so far from `state` that the trigger would fire at
    /// once.
    fn motion(&mut self, state: &State<V>, at: SharedInstant) -> Option<Motion<V>>;
}
