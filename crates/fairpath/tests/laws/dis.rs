//! The laws of the nine DIS models, in every reading.
//!
//! Goal: right where programs are known to fail: no spin, hardly any, many turns, gimbal lock, far
//! from the origin. Method: slopes taken numerically, a quadrature that knows only where the axes
//! point, and the ways in which the models must agree with each other.

use std::f64::consts::{FRAC_PI_2, PI, TAU};

use fairpath::State;
use fairpath::motion::dis::{AccelerationReading, FpbReading, FvbReading, Model};
use fairpath::motion::{Dis, Motion, MotionKind};
use fairpath::rotation::{Euler, Quat};
use fairpath::vector::{Vec2, Vec3, Vector};
use fairpath_laws::law;
use fairpath_laws::proptest::prelude::*;
use fairpath_laws::proptest::sample::select;

use crate::common::{number, state2, vec3};

const NO_SPIN: Vec3 = Vec3::ZERO;

#[test]
fn velocity_is_the_slope_of_position() {
    law!((dis(), secs()), |(dis, at)| {
        let motion = Motion::<Vec3>::Dis(dis);
        let slope = slope(|at| motion.displacement_at(at), at);
        let off = slope.distance(motion.velocity_at(at));
        prop_assert!(off < 1e-7 * size(&dis, at).speed, "off by {off}");
        prop_assert_eq!(motion.velocity_at(at), motion.state_at(at).velocity);
        Ok(())
    });
}

#[test]
fn acceleration_is_the_slope_of_velocity() {
    law!((dis(), secs()), |(dis, at)| {
        let motion = Motion::<Vec3>::Dis(dis);
        let slope = slope(|at| motion.velocity_at(at), at);
        let off = slope.distance(motion.state_at(at).acceleration);
        prop_assert!(off < 1e-7 * size(&dis, at).acceleration, "off by {off}");
        Ok(())
    });
}

#[test]
fn spin_is_the_slope_of_orientation() {
    law!((dis(), secs()), |(dis, at)| {
        let motion = Motion::<Vec3>::Dis(dis);
        let now = motion.state_at(at);
        let spin_in_world = now.orientation.rotate(now.spin);
        for axis in 0..3 {
            let axis_at = |at| motion.state_at(at).orientation.axes()[axis];
            let off = slope(axis_at, at).distance(spin_in_world.cross(axis_at(at)));
            prop_assert!(off < 1e-7 * (1.0 + now.spin.length()), "axis {axis} off by {off}");
        }
        Ok(())
    });
}

#[test]
fn displacement_is_the_integral_along_the_turning_axes() {
    law!((dis(), secs()), |(dis, at)| {
        let found = Motion::<Vec3>::Dis(dis).displacement_at(at);
        let off = found.distance(displacement_by_quadrature(&dis, at));
        prop_assert!(off < 1e-12 * size(&dis, at).path, "off by {off} of {}", found.length());
        Ok(())
    });
}

#[test]
fn a_small_spin_is_a_small_change() {
    // Between a spin that rounds to nothing and one that shows, no formula may lose its digits.
    law!((dis(), 0.01..20.0f64, tiny_spin()), |(mut dis, at, spin)| {
        dis.angular_velocity = spin;
        let turning = Motion::<Vec3>::Dis(dis);
        let still = Motion::<Vec3>::Dis(Dis { angular_velocity: NO_SPIN, ..dis });
        let angle = spin.length() * at;
        let off = turning.displacement_at(at).distance(still.displacement_at(at));
        let bound = (angle + 1e-14) * size(&dis, at).path;
        prop_assert!(off <= bound, "off by {off} after turning {angle}");
        let turned = turning.state_at(at).orientation.angle_to(still.state_at(at).orientation);
        prop_assert!(turned <= angle * (1.0 + 1e-12) + 1e-15, "turned {turned}, not {angle}");
        Ok(())
    });
}

#[test]
fn without_spin_the_rotating_models_are_the_fixed_ones() {
    let pairs = [
        (Model::Rpw, Model::Fpw),
        (Model::Rvw, Model::Fvw),
        (Model::Rpb, Model::Fpb(FpbReading::OmegaIgnored)),
        (Model::Fpb(FpbReading::Literal), Model::Fpb(FpbReading::OmegaIgnored)),
        (Model::Rvb(AccelerationReading::Inertial), Model::Fvb(FvbReading::OmegaIgnored)),
        (Model::Rvb(AccelerationReading::BodyRate), Model::Fvb(FvbReading::OmegaIgnored)),
        (
            Model::Fvb(FvbReading::Literal(AccelerationReading::Inertial)),
            Model::Fvb(FvbReading::OmegaIgnored),
        ),
        (
            Model::Fvb(FvbReading::Literal(AccelerationReading::BodyRate)),
            Model::Fvb(FvbReading::OmegaIgnored),
        ),
    ];
    law!((select(pairs.to_vec()), dis(), secs()), |((rotating, fixed), dis, at)| {
        let [rotating, fixed] = [rotating, fixed]
            .map(|model| Motion::<Vec3>::Dis(Dis { model, angular_velocity: NO_SPIN, ..dis }).state_at(at));
        prop_assert_eq!(rotating, fixed);
        Ok(())
    });
}

#[test]
fn without_spin_a_body_model_is_its_world_model_turned() {
    let pairs = [
        (Model::Fpb(FpbReading::OmegaIgnored), Model::Fpw),
        (Model::Rvb(AccelerationReading::Inertial), Model::Rvw),
    ];
    law!((select(pairs.to_vec()), dis(), secs()), |((body, world), dis, at)| {
        let [body, world] = [body, world]
            .map(|model| Motion::<Vec3>::Dis(Dis { model, angular_velocity: NO_SPIN, ..dis }))
            .map(|motion| motion.displacement_at(at));
        prop_assert!(body.distance(dis.orientation.rotate(world)) < 1e-14 * size(&dis, at).path);
        Ok(())
    });
}

#[test]
fn the_state_comes_back_as_far_as_the_model_can_hold_it() {
    law!((state3(), model()), |(state, model)| {
        let back = MotionKind::Dis(model).from_state(&state).state_at(0.0);
        prop_assert_eq!(back.position, state.position);
        prop_assert!(back.orientation.angle_to(state.orientation) < 1e-15);
        if model.moves() {
            prop_assert!(back.velocity.distance(state.velocity) < 1e-14 * (1.0 + state.velocity.length()));
        }
        if model.accelerates() {
            let size = 1.0 + state.acceleration.length() + state.spin.length() * state.velocity.length();
            prop_assert!(back.acceleration.distance(state.acceleration) < 1e-14 * size);
        }
        let spin = if model.orientation_turns() { state.spin } else { NO_SPIN };
        prop_assert_eq!(back.spin, spin);
        Ok(())
    });
}

#[test]
fn starting_again_on_the_way_changes_nothing() {
    // Not for the literal readings of fixed models: their axes turn and their orientation does not,
    // so
    // that a state on the way has forgotten where the axes point.
    let remembers = |model: &Model| model.axes_turn() == (model.orientation_turns() && model.is_body());
    let models: Vec<Model> = Model::ALL.into_iter().filter(remembers).collect();
    assert_eq!(models.len(), 10);
    law!((state3(), select(models), secs(), secs()), |(state, model, first, second)| {
        let kind = MotionKind::Dis(model);
        let whole = kind.from_state(&state);
        let rest = kind.from_state(&whole.state_at(first));
        let both = whole.displacement_at(first) + rest.displacement_at(second);
        let off = both.distance(whole.displacement_at(first + second));
        let Motion::Dis(dis) = whole else { unreachable!("a DIS kind makes a DIS motion") };
        let path = size(&dis, first.abs() + second.abs()).path;
        prop_assert!(off < 1e-12 * path, "off by {off} of {path}");
        let (one, other) = (rest.state_at(second), whole.state_at(first + second));
        prop_assert!(one.orientation.angle_to(other.orientation) < 1e-12);
        Ok(())
    });
}

#[test]
fn orientation_keeps_its_length() {
    law!((dis(), -1e3..1e3f64), |(dis, at)| {
        let Quat { w, v } = Motion::<Vec3>::Dis(dis).state_at(at).orientation;
        prop_assert!((w * w + v.length_squared() - 1.0).abs() < 4e-15);
        Ok(())
    });
}

#[test]
fn displacement_does_not_know_the_origin() {
    law!((dis(), secs(), vec3(6.4e6)), |(dis, at, position)| {
        let elsewhere = Dis { position, ..dis };
        prop_assert_eq!(
            Motion::<Vec3>::Dis(dis).displacement_at(at),
            Motion::<Vec3>::Dis(elsewhere).displacement_at(at)
        );
        Ok(())
    });
}

#[test]
fn whole_turns_leave_what_lies_along_the_axis() {
    law!((dis(), unit(), 1..1600u32, 0.1..20.0f64), |(dis, axis, turns, at)| {
        // Up to 1e4 radians.
        let angle = f64::from(turns) * TAU;
        let dis = Dis { model: Model::Rpb, angular_velocity: axis * (angle / at), ..dis };
        let end = Motion::<Vec3>::Dis(dis).state_at(at);
        let along = dis.orientation.rotate(axis * (axis.dot(dis.velocity) * at));
        let off = Motion::<Vec3>::Dis(dis).displacement_at(at).distance(along);
        prop_assert!(off < 1e-14 * size(&dis, at).path, "off by {off}");
        prop_assert!(end.orientation.angle_to(dis.orientation) < 1e-15 * (10.0 + angle));
        Ok(())
    });
}

#[test]
fn a_turning_body_in_the_plane_goes_round_like_a_tank() {
    law!((state2(), secs()), |(mut state, at)| {
        // A tank moves along its heading, which is what the circular model keeps.
        state.velocity = Vec2::from_heading(state.orientation) * state.signed_speed();
        let tank = MotionKind::Circular.from_state(&state).state_at(at);
        let body = MotionKind::Dis(Model::Rpb).from_state(&state).state_at(at);
        let path = 1.0 + state.velocity.length() * at.abs();
        prop_assert!(body.position.distance(tank.position) < 1e-14 * (500.0 + path));
        prop_assert!(body.velocity.distance(tank.velocity) < 1e-13 * (1.0 + tank.velocity.length()));
        prop_assert!(body.acceleration.distance(tank.acceleration) < 1e-12 * (1.0 + tank.velocity.length()));
        prop_assert!(Vec2::angle_between(body.orientation, tank.orientation) < 1e-13);
        prop_assert_eq!(body.spin, tank.spin);
        Ok(())
    });
}

#[test]
fn euler_angles_lead_back_to_their_orientation() {
    law!(euler(), |angles| {
        let orientation = Quat::from_euler(angles);
        let back = Quat::from_euler(orientation.euler());
        prop_assert!(back.angle_to(orientation) < 4e-15, "{:?}", orientation.euler());
        prop_assert!(orientation.euler().theta.abs() <= FRAC_PI_2 + 1e-15);
        Ok(())
    });
}

/// ∫ axes(s)·(v + A_b·s) ds by Gauss and Legendre's five points on pieces of a quarter radian. It
/// shares nothing with the closed form but where a quaternion points.
fn displacement_by_quadrature(dis: &Dis, at: f64) -> Vec3 {
    const NODES: [(f64, f64); 5] = [
        (-0.906_179_845_938_664, 0.236_926_885_056_189_1),
        (-0.538_469_310_105_683_1, 0.478_628_670_499_366_5),
        (0.0, 0.568_888_888_888_888_9),
        (0.538_469_310_105_683_1, 0.478_628_670_499_366_5),
        (0.906_179_845_938_664, 0.236_926_885_056_189_1),
    ];
    let pieces = 1 + (4.0 * dis.angular_velocity.length() * at.abs()) as u32;
    let half = 0.5 * at / f64::from(pieces);
    let mut sum = Vec3::ZERO;
    for piece in 0..pieces {
        let middle = f64::from(2 * piece + 1) * half;
        for (node, weight) in NODES {
            sum += velocity_as_the_standard_says(dis, middle + node * half) * (weight * half);
        }
    }
    sum
}

/// The velocity in world axes, model by model, spelled out as in the standard's table.
fn velocity_as_the_standard_says(dis: &Dis, at: f64) -> Vec3 {
    let Dis { velocity: v, acceleration: a, orientation, angular_velocity: omega, .. } = *dis;
    let turning = orientation * Quat::from_rotation_vector(omega * at);
    let less_turning = a - omega.cross(v);
    match dis.model {
        Model::Static => Vec3::ZERO,
        Model::Fpw | Model::Rpw => v,
        Model::Rvw | Model::Fvw => v + a * at,
        Model::Fpb(FpbReading::OmegaIgnored) => orientation.rotate(v),
        Model::Fvb(FvbReading::OmegaIgnored) => orientation.rotate(v + a * at),
        Model::Fpb(FpbReading::Literal) | Model::Rpb => turning.rotate(v),
        Model::Rvb(AccelerationReading::BodyRate)
        | Model::Fvb(FvbReading::Literal(AccelerationReading::BodyRate)) => turning.rotate(v + a * at),
        Model::Rvb(AccelerationReading::Inertial)
        | Model::Fvb(FvbReading::Literal(AccelerationReading::Inertial)) => {
            turning.rotate(v + less_turning * at)
        }
    }
}

/// The slope of a curve by central differences at two distances: off by h⁴ times its fifth
/// derivative / 30.
fn slope(curve: impl Fn(f64) -> Vec3, at: f64) -> Vec3 {
    const H: f64 = 1e-3;
    let difference = |h: f64| (curve(at + h) - curve(at - h)) * (0.5 / h);
    (difference(H) * 4.0 - difference(2.0 * H)) * (1.0 / 3.0)
}

/// How large the numbers of a motion get: what rounding is measured by.
struct Size {
    path: f64,
    speed: f64,
    acceleration: f64,
}

fn size(dis: &Dis, at: f64) -> Size {
    let spin = dis.angular_velocity.length();
    let push = dis.acceleration.length() + spin * dis.velocity.length();
    let speed = 1.0 + dis.velocity.length() + push * at.abs();
    Size { path: 1.0 + speed * at.abs(), speed, acceleration: 1.0 + push + spin * speed }
}

/// Both ways in time; with the spins drawn below, up to 400 radians.
fn secs() -> impl Strategy<Value = f64> {
    prop_oneof![8 => -20.0..20.0f64, 1 => Just(0.0), 1 => -1e-6..1e-6f64]
}

fn dis() -> impl Strategy<Value = Dis> {
    (model(), vec3(6.4e6), vec3(300.0), vec3(20.0), orientation(), spin()).prop_map(
        |(model, position, velocity, acceleration, orientation, angular_velocity)| Dis {
            model,
            position,
            velocity,
            acceleration,
            orientation,
            angular_velocity,
        },
    )
}

fn state3() -> impl Strategy<Value = State<Vec3>> {
    (vec3(6.4e6), vec3(300.0), vec3(20.0), orientation(), spin()).prop_map(
        |(position, velocity, acceleration, orientation, spin)| State {
            position,
            velocity,
            acceleration,
            orientation,
            spin,
        },
    )
}

fn model() -> impl Strategy<Value = Model> {
    select(Model::ALL.to_vec())
}

fn orientation() -> impl Strategy<Value = Quat> {
    euler().prop_map(Quat::from_euler)
}

/// Any, with every third at or next to gimbal lock.
fn euler() -> impl Strategy<Value = Euler> {
    let theta = prop_oneof![
        4 => -FRAC_PI_2..FRAC_PI_2,
        1 => select(vec![-FRAC_PI_2, FRAC_PI_2]),
        1 => (select(vec![-FRAC_PI_2, FRAC_PI_2]), -1e-7..1e-7f64).prop_map(|(up, off)| up + off),
    ];
    (number(PI), theta, number(PI)).prop_map(|(psi, theta, phi)| Euler { psi, theta, phi })
}

/// None, hardly any, that of a vehicle, that of a top.
fn spin() -> impl Strategy<Value = Vec3> {
    prop_oneof![
        1 => Just(NO_SPIN),
        2 => tiny_spin(),
        4 => (unit(), 0.0..2.0f64).prop_map(|(axis, rate)| axis * rate),
        1 => (unit(), 2.0..20.0f64).prop_map(|(axis, rate)| axis * rate),
    ]
}

/// 1e-300 to 1e-2 radians per second, evenly in its exponent, about half of it where cancellation
/// would show.
fn tiny_spin() -> impl Strategy<Value = Vec3> {
    (unit(), prop_oneof![-300.0..-12.0f64, -12.0..-2.0f64])
        .prop_map(|(axis, exponent)| axis * libm::exp10(exponent))
}

fn unit() -> impl Strategy<Value = Vec3> {
    (vec3(1.0), select(vec![0, 1, 2])).prop_map(|(direction, axis)| {
        let fallback = Vec3::from_components(|component| f64::from(u8::from(component == axis)));
        if direction.length() > 1e-3 { direction.normalize_or_zero() } else { fallback }
    })
}
