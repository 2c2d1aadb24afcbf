//! What the laws draw their cases from.

pub(crate) mod world;

use fairpath::State;
use fairpath::motion::{Motion, MotionKind, dis};
use fairpath::vector::{Vec2, Vec3};
pub(crate) use fairpath_laws::number;
use fairpath_laws::proptest::prelude::*;

pub(crate) fn vec2(limit: f64) -> impl Strategy<Value = Vec2> {
    (number(limit), number(limit)).prop_map(|(x, y)| Vec2::new(x, y))
}

pub(crate) fn vec3(limit: f64) -> impl Strategy<Value = Vec3> {
    (number(limit), number(limit), number(limit)).prop_map(|(x, y, z)| Vec3::new(x, y, z))
}

/// A planar state of game size: a kilometre, 40 m/s, 10 m/s², a turn in two seconds.
pub(crate) fn state2() -> impl Strategy<Value = State<Vec2>> {
    (vec2(500.0), vec2(40.0), vec2(10.0), number(3.1), number(3.0)).prop_map(
        |(position, velocity, acceleration, heading, turn_rate)| {
            State::moving(position, velocity).with_acceleration(acceleration).with_heading(heading, turn_rate)
        },
    )
}

/// Every model, DIS included, from a state of game size.
pub(crate) fn motion2() -> impl Strategy<Value = Motion<Vec2>> {
    let dis = prop::sample::select(dis::Model::ALL.as_slice()).prop_map(MotionKind::Dis);
    (state2(), prop_oneof![3 => kind(), 1 => dis]).prop_map(|(state, kind)| kind.from_state(&state))
}

/// The models that games use. DIS has laws of its own.
pub(crate) fn kind() -> impl Strategy<Value = MotionKind> {
    prop_oneof![
        Just(MotionKind::Static),
        Just(MotionKind::Linear),
        Just(MotionKind::Quadratic),
        Just(MotionKind::Circular),
        (0.05..3.0f64).prop_map(|secs| MotionKind::Hermite { secs }),
    ]
}
