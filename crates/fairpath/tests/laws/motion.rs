//! Velocity is the slope of position, for every model; and the models meet where they should.

use crate::common::{kind, motion2, number, state2, vec3};
use fairpath::State;
use fairpath::motion::{Circular, Motion, MotionKind};
use fairpath::vector::{Planar, Vec2, Vec3, Vector};
use fairpath_laws::{law, proptest::prelude::*};

/// The slope of `f` at `at` by a five-point difference, whose own error is about 1e-11 of the scale
/// here.
fn slope<V: Vector>(f: impl Fn(f64) -> V, at: f64) -> V {
    let h = 1e-3;
    (f(at - 2.0 * h) - f(at + 2.0 * h) + (f(at + h) - f(at - h)) * 8.0) * (1.0 / (12.0 * h))
}

fn assert_slopes<V: Planar>(motion: &Motion<V>, at: f64) -> Result<(), TestCaseError> {
    let scale = 1.0 + motion.velocity_at(at).length() + motion.state_at(at).acceleration.length();
    let error = slope(|t| motion.displacement_at(t), at).distance(motion.velocity_at(at));
    prop_assert!(error < 1e-8 * scale, "velocity is off the slope of position by {error}");
    let error = slope(|t| motion.velocity_at(t), at).distance(motion.state_at(at).acceleration);
    prop_assert!(error < 1e-8 * scale, "acceleration is off the slope of velocity by {error}");
    Ok(())
}

/// Keeps the difference stencil on one side of the seam where a Hermite curve becomes a line.
fn away_from_the_seam<V: Planar>(motion: &Motion<V>, at: f64) -> f64 {
    match motion {
        Motion::Hermite(curve) if (at - curve.secs).abs() < 5e-3 => curve.secs + 5e-3,
        _ => at,
    }
}

#[test]
fn velocity_is_the_slope_of_position() {
    law!((motion2(), -1.0..5.0f64), |(motion, at)| assert_slopes(&motion, away_from_the_seam(&motion, at)));
}

#[test]
fn velocity_is_the_slope_of_position_in_space() {
    let state = (vec3(500.0), vec3(40.0), vec3(10.0), number(3.1), number(3.0))
        .prop_map(|(p, v, a, phi, w)| State::moving(p, v).with_acceleration(a).with_heading(phi, w));
    law!((state, kind(), -1.0..5.0f64), |(state, kind, at)| {
        let motion: Motion<Vec3> = kind.from_state(&state);
        assert_slopes(&motion, away_from_the_seam(&motion, at))
    });
}

#[test]
fn state_position_and_velocity_tell_the_same_story() {
    law!((motion2(), -1.0..5.0f64), |(motion, at)| {
        let state = motion.state_at(at);
        prop_assert!(
            state.position.distance(motion.position_at(at)) < 1e-12 * (1.0 + state.position.length())
        );
        prop_assert_eq!(state.velocity, motion.velocity_at(at));
        prop_assert!(state.is_finite());
        Ok(())
    });
}

#[test]
fn every_model_starts_in_the_state_it_was_cut_from() {
    law!((state2(), kind()), |(state, kind)| {
        let start: State<Vec2> = kind.from_state(&state).state_at(0.0);
        prop_assert!(start.position.distance(state.position) < 1e-12);
        match kind {
            MotionKind::Static => prop_assert_eq!(start.velocity, Vec2::ZERO),
            MotionKind::Circular => {
                prop_assert!((start.signed_speed() - state.signed_speed()).abs() < 1e-9);
                prop_assert!(Vec2::angle_between(start.orientation, state.orientation) < 1e-9);
            }
            _ => prop_assert!(start.velocity.distance(state.velocity) < 1e-9),
        }
        Ok(())
    });
}

#[test]
fn restarting_a_motion_on_its_way_changes_nothing() {
    let keeps_its_law =
        prop_oneof![Just(MotionKind::Linear), Just(MotionKind::Quadratic), Just(MotionKind::Circular)];
    law!((state2(), keeps_its_law, -1.0..2.0f64, 0.0..3.0f64), |(state, kind, first, then)| {
        let motion: Motion<Vec2> = kind.from_state(&state);
        let restarted: Motion<Vec2> = kind.from_state(&motion.state_at(first));
        let error = restarted.position_at(then).distance(motion.position_at(first + then));
        prop_assert!(error < 1e-9, "off by {error}");
        Ok(())
    });
}

#[test]
fn a_circle_without_turning_is_a_line_and_depends_smoothly_on_the_turn() {
    law!((state2(), -12.0..0.0f64, 0.0..5.0f64), |(state, exponent, at)| {
        let turning = |turn_rate| {
            let Motion::Circular(circle) = MotionKind::Circular.from_state(&state) else { unreachable!() };
            Motion::Circular(Circular { turn_rate, ..circle }).position_at(at)
        };
        let turn_rate = libm::pow(10.0, exponent);
        // |∂p/∂ω| is at most speed·t²/2.
        let bound = 0.5 * state.velocity.length() * at * at * turn_rate + 1e-11;
        prop_assert!(turning(turn_rate).distance(turning(0.0)) <= bound);
        Ok(())
    });
}
