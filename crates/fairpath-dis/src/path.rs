//! Curves: moving the start of a dead-reckoning curve along itself.

use fairpath::motion::{Dis, Motion};
use fairpath::rotation::Quat;
use fairpath::wire::Precision;
use fairpath::{DrVector, Forecast, MotionKind, Observation, SharedInstant, State, Vec3, Vector};

/// Returns the state of a curve after `secs`.
pub fn state_at(curve: &Dis, secs: f64) -> State<Vec3> {
    Motion::<Vec3>::Dis(*curve).state_at(secs)
}

/// Returns the same curve from `secs` later on.
pub fn rebased(curve: &Dis, secs: f64) -> Dis {
    restarted(curve, state_at(curve, secs))
}

/// Returns the curve of the same model that starts in a later state of `curve`.
fn restarted(curve: &Dis, state: State<Vec3>) -> Dis {
    // Literal readings of the fixed models turn the path and not the body: the state does not know.
    let turns = curve.model.axes_turn() || curve.model.orientation_turns();
    let spin = if turns { curve.angular_velocity } else { Vec3::ZERO };
    match MotionKind::Dis(curve.model).from_state(&State { spin, ..state }) {
        Motion::Dis(dis) => dis,
        other => unreachable!("a model of the standard became {other:?}"),
    }
}

/// Returns the curve with another orientation on the same path: velocity, acceleration and rate of
/// turn keep their directions in the world.
fn turned_to(curve: &Dis, orientation: Quat) -> Dis {
    let mut state = state_at(curve, 0.0);
    state.orientation = orientation;
    let into_new_axes = orientation.conjugate() * curve.orientation;
    let angular_velocity = into_new_axes.rotate(curve.angular_velocity);
    restarted(&Dis { angular_velocity, ..*curve }, state)
}

/// Returns the curve whose orientation is what `precision` rounds it to, on the same path. So the
/// rounding of the orientation does not bend the paths of models in body axes: 300 m/s for 5 s
/// would turn 6 µrad into 9 mm.
fn with_rounded_orientation(curve: &Dis, precision: &Precision) -> Dis {
    let as_sent = DrVector {
        entity: fairpath::EntityId(0),
        life: fairpath::number::Life::default(),
        generation: fairpath::number::Generation::default(),
        generated_at: SharedInstant::ZERO,
        motion: Motion::<Vec3>::Dis(*curve),
        attitude: None,
        parent: None,
    };
    match precision.as_decoded(&as_sent).motion {
        Motion::Dis(rounded) => turned_to(curve, rounded.orientation),
        _ => *curve,
    }
}

/// Makes a session send a curve of DIS as it is, in whatever model it has.
#[derive(Debug)]
pub(crate) struct CurveForecast {
    curve: Dis,
    /// Seconds from the start of the curve to the next observation.
    observed_after: f64,
    observed_at: SharedInstant,
    precision: Precision,
}

impl CurveForecast {
    pub(crate) fn new(curve: Dis, observed_after: f64, precision: Precision) -> Self {
        Self { curve, observed_after, observed_at: SharedInstant::ZERO, precision }
    }
}

impl Forecast<Vec3> for CurveForecast {
    fn observe(&mut self, _observation: &Observation<Vec3>, at: SharedInstant) {
        self.observed_at = at;
    }

    fn motion(&mut self, _state: &State<Vec3>, at: SharedInstant) -> Option<Motion<Vec3>> {
        let secs = self.observed_after + (at - self.observed_at).as_secs_f64();
        let curve = rebased(&self.curve, secs);
        Some(Motion::Dis(with_rounded_orientation(&curve, &self.precision)))
    }
}

#[cfg(test)]
mod tests {
    use fairpath::motion::dis::Model;
    use fairpath::wire::Precision;

    use super::*;

    fn curve(model: Model) -> Dis {
        Dis {
            model,
            position: Vec3::new(100.0, 200.0, 300.0),
            velocity: Vec3::new(250.0, -20.0, 5.0),
            acceleration: Vec3::new(-3.0, 2.0, 1.0),
            orientation: Quat { w: 0.3, v: Vec3::new(0.5, -0.7, 0.2) }.normalized(),
            angular_velocity: Vec3::new(0.05, 0.2, -0.3),
        }
    }

    #[test]
    fn a_curve_that_starts_later_is_the_same_curve() {
        for model in Model::ALL {
            let (early, late) = (curve(model), rebased(&curve(model), 1.7));
            let [one, other] = [state_at(&early, 5.0), state_at(&late, 3.3)];
            assert!(one.position.distance(other.position) < 1e-10, "{model:?}");
            assert!(one.velocity.distance(other.velocity) < 1e-10, "{model:?}");
            assert!(one.orientation.angle_to(other.orientation) < 1e-12, "{model:?}");
        }
    }

    #[test]
    fn rounding_the_orientation_keeps_the_path() {
        for model in Model::ALL {
            let rounded = with_rounded_orientation(&curve(model), &Precision::default());
            let [one, other] = [curve(model), rounded].map(|it| state_at(&it, 5.0));
            assert!(one.position.distance(other.position) < 1e-9, "{model:?}");
            assert!(one.orientation.angle_to(other.orientation) < 2e-3, "{model:?}");
        }
    }
}
