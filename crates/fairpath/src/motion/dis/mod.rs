//! The nine dead-reckoning models of IEEE 1278.1, with orientation.
//!
//! A model's name says what it keeps. **F**ixed or **R**otating: whether the body turns.
//! **P**osition or **V**elocity: whether only the velocity is kept, or the acceleration too.
//! **W**orld or **B**ody: in which axes velocity and acceleration are given and kept.
//!
//! All nine are one curve: a constant acceleration, seen from axes that turn at a constant rate
//! (see `turn.rs`). In world models the axes do not turn. [`Model`] lists where the text of the
//! standard can be read in more than one way, and lets you choose.

mod model;
mod turn;

pub use model::{AccelerationReading, FpbReading, FvbReading, Model};

use self::turn::SteadyTurn;
use crate::rotation::Quat;
use crate::state::State;
use crate::vector::{Planar, Vec3, Vector};

/// A motion of one of the nine models. Fields that the model does not use are ignored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dis {
    /// The model, with its reading.
    pub model: Model,
    /// Position at the start.
    pub position: Vec3,
    /// Velocity at the start. World axes for models 2–5, body axes for 6–9.
    pub velocity: Vec3,
    /// Acceleration. World axes for models 2–5, body axes for 6–9; [`AccelerationReading`] says of
    /// which velocity it is the slope.
    pub acceleration: Vec3,
    /// Rotation from body axes to world axes, at the start.
    pub orientation: Quat,
    /// Angular velocity in body axes, radians per second.
    pub angular_velocity: Vec3,
}

impl Dis {
    /// Returns the motion that starts in `state`. Fields that the model does not use are zero.
    pub(super) fn from_state<V: Planar>(state: &State<V>, model: Model) -> Self {
        let mut dis = Self {
            model,
            position: state.position.to_3d(),
            velocity: Vec3::ZERO,
            acceleration: Vec3::ZERO,
            orientation: V::to_quat(state.orientation),
            angular_velocity: Vec3::ZERO,
        };
        let into_own_axes = dis.axes().conjugate();
        if model.moves() {
            dis.velocity = into_own_axes.rotate(state.velocity.to_3d());
        }
        if model.orientation_turns() || model.axes_turn() {
            dis.angular_velocity = V::spin_to_3d(state.spin);
        }
        if model.accelerates() {
            let inertial = into_own_axes.rotate(state.acceleration.to_3d());
            dis.acceleration = match model.acceleration_reading() {
                AccelerationReading::Inertial => inertial,
                AccelerationReading::BodyRate => inertial - dis.axes_rate().cross(dis.velocity),
            };
        }
        dis
    }

    pub(super) fn origin<V: Planar>(&self) -> V {
        V::from_3d(self.position)
    }

    pub(super) fn displacement_at<V: Planar>(&self, at: f64) -> V {
        V::from_3d(self.curve().displacement_at(at))
    }

    pub(super) fn velocity_at<V: Planar>(&self, at: f64) -> V {
        V::from_3d(self.curve().velocity_at(at))
    }

    pub(super) fn state_at<V: Planar>(&self, at: f64) -> State<V> {
        let curve = self.curve();
        let spin = self.orientation_rate();
        State {
            position: V::from_3d(self.position + curve.displacement_at(at)),
            velocity: V::from_3d(curve.velocity_at(at)),
            acceleration: V::from_3d(curve.acceleration_at(at)),
            orientation: V::from_quat(Vec3::turned(self.orientation, spin, at)),
            spin: V::spin_from_3d(spin),
        }
    }

    pub(super) fn is_within(&self, limit: f64) -> bool {
        [self.position, self.velocity, self.acceleration, self.angular_velocity]
            .iter()
            .all(|v| v.is_within(limit))
            && self.orientation.is_finite()
    }

    /// Returns the rate at which the axes of the velocity turn, in world axes. Constant, because
    /// the axes turn about it.
    pub(crate) fn turning(&self) -> Vec3 {
        self.axes().rotate(self.axes_rate())
    }

    /// The path, with the readings resolved and without the fields that the model ignores.
    fn curve(&self) -> Curve {
        let rate = self.axes_rate();
        let velocity = if self.model.moves() { self.velocity } else { Vec3::ZERO };
        let acceleration = match (self.model.accelerates(), self.model.acceleration_reading()) {
            (false, _) => Vec3::ZERO,
            (true, AccelerationReading::Inertial) => self.acceleration - rate.cross(velocity),
            (true, AccelerationReading::BodyRate) => self.acceleration,
        };
        Curve { axes: self.axes(), rate, velocity, acceleration }
    }

    /// The axes in which velocity and acceleration are given, at the start.
    fn axes(&self) -> Quat {
        if self.model.is_body() { self.orientation } else { Quat::IDENTITY }
    }

    fn axes_rate(&self) -> Vec3 {
        if self.model.axes_turn() { self.angular_velocity } else { Vec3::ZERO }
    }

    /// How fast the body turns: not `axes_rate` in the literal readings of the fixed models.
    fn orientation_rate(&self) -> Vec3 {
        if self.model.orientation_turns() { self.angular_velocity } else { Vec3::ZERO }
    }
}

/// A velocity that changes at a constant rate, seen from axes that turn at a constant rate.
struct Curve {
    /// Rotation from the axes at the start to world axes.
    axes: Quat,
    /// How fast the axes turn, in their own coordinates.
    rate: Vec3,
    /// Velocity at the start, in these axes.
    velocity: Vec3,
    /// How fast the components of the velocity in these axes change.
    acceleration: Vec3,
}

impl Curve {
    /// The integral of the velocity, without differences of large numbers and without a position.
    fn displacement_at(&self, at: f64) -> Vec3 {
        let turn = self.turn_until(at);
        self.axes.rotate((turn.mean(self.velocity) + turn.ramp_mean(self.acceleration) * at) * at)
    }

    fn velocity_at(&self, at: f64) -> Vec3 {
        self.axes.rotate(self.turn_until(at).end(self.velocity_in_axes_at(at)))
    }

    /// The slope of the velocity: the change of its components plus the turning of the axes.
    fn acceleration_at(&self, at: f64) -> Vec3 {
        let in_axes = self.acceleration + self.rate.cross(self.velocity_in_axes_at(at));
        self.axes.rotate(self.turn_until(at).end(in_axes))
    }

    fn velocity_in_axes_at(&self, at: f64) -> Vec3 {
        self.velocity + self.acceleration * at
    }

    fn turn_until(&self, at: f64) -> SteadyTurn {
        SteadyTurn::new(self.rate * at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn screw(model: Model) -> Dis {
        Dis {
            model,
            position: Vec3::new(6.4e6, 0.0, 0.0),
            velocity: Vec3::new(10.0, 0.0, 3.0),
            acceleration: Vec3::ZERO,
            orientation: Quat::IDENTITY,
            angular_velocity: Vec3::new(0.0, 0.0, 0.5),
        }
    }

    #[test]
    fn a_turning_body_model_flies_a_screw() {
        // Radius 10/0.5 = 20 m: half a turn ends two radii to the left, also far from the origin.
        let half_turn = std::f64::consts::PI / 0.5;
        let end: State<Vec3> = screw(Model::Rpb).state_at(half_turn);
        let expected = Vec3::new(0.0, 40.0, 3.0 * half_turn);
        assert!(screw(Model::Rpb).displacement_at::<Vec3>(half_turn).distance(expected) < 1e-14 * 40.0);
        assert!(end.velocity.distance(Vec3::new(-10.0, 0.0, 3.0)) < 1e-14);
        assert!(end.acceleration.distance(Vec3::new(0.0, -5.0, 0.0)) < 1e-14);
        assert!(end.orientation.angle_to(Quat::about_z(std::f64::consts::PI)) < 1e-15);
    }

    #[test]
    fn an_inertial_acceleration_of_zero_starts_straight() {
        // The inertial reading of no acceleration: the components turn against the axes, and at the
        // start
        // the path has no curvature. The other reading is the screw.
        let start = |reading| screw(Model::Rvb(reading)).state_at::<Vec3>(0.0).acceleration;
        assert_eq!(start(AccelerationReading::Inertial), Vec3::ZERO);
        assert_eq!(start(AccelerationReading::BodyRate), Vec3::new(0.0, 5.0, 0.0));
    }

    #[test]
    fn a_fixed_model_bends_only_when_read_literally_and_never_turns() {
        let at_two = |reading| screw(Model::Fpb(reading)).state_at::<Vec3>(2.0);
        let displaced = |reading| screw(Model::Fpb(reading)).displacement_at::<Vec3>(2.0);
        assert_eq!(displaced(FpbReading::OmegaIgnored), Vec3::new(20.0, 0.0, 6.0));
        assert_eq!(displaced(FpbReading::Literal), screw(Model::Rpb).displacement_at(2.0));
        for reading in [FpbReading::OmegaIgnored, FpbReading::Literal] {
            assert_eq!((at_two(reading).orientation, at_two(reading).spin), (Quat::IDENTITY, Vec3::ZERO));
        }
    }

    #[test]
    fn from_state_keeps_only_what_the_model_uses() {
        let state = State::moving(Vec3::new(1.0, 2.0, 3.0), Vec3::new(4.0, 5.0, 6.0))
            .with_acceleration(Vec3::new(7.0, 8.0, 9.0))
            .with_heading(0.3, 0.5);
        let still = Dis::from_state(&state, Model::Static);
        assert_eq!([still.velocity, still.acceleration, still.angular_velocity], [Vec3::ZERO; 3]);
        let line = Dis::from_state(&state, Model::Fpw);
        assert_eq!(
            [line.velocity, line.acceleration, line.angular_velocity],
            [state.velocity, Vec3::ZERO, Vec3::ZERO]
        );
    }
}
