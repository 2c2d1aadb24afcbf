//! Goal: a state carried by a parent and one relative to it are the same state in two frames, and
//! an attached entity costs what its motion on the parent costs. Method: frames of game size, in
//! the plane and in space.

use fairpath::motion::MotionKind;
use fairpath::rotation::Quat;
use fairpath::time::SharedInstant;
use fairpath::vector::{Planar, Vec2, Vec3, Vector};
use fairpath::{EntityId, Observation, Owner, State, Trigger};
use fairpath_laws::{law, proptest::prelude::*};

use crate::common::{state2, vec3};

/// A state in space of game size, in any orientation and turning about any axis.
fn state3() -> impl Strategy<Value = State<Vec3>> {
    (vec3(500.0), vec3(40.0), vec3(10.0), vec3(2.0), vec3(3.0)).prop_map(
        |(position, velocity, acceleration, rotation, spin)| State {
            position,
            velocity,
            acceleration,
            orientation: Quat::from_rotation_vector(rotation),
            spin,
        },
    )
}

/// Asserts that two states differ by rounding alone. A kilometre that turns at 5 rad/s accelerates
/// at 25 km/s².
fn assert_same<V: Planar>(one: &State<V>, other: &State<V>) -> Result<(), TestCaseError> {
    assert_same_pose(one, other)?;
    prop_assert!(one.acceleration.distance(other.acceleration) < 1e-8, "{one:?} {other:?}");
    Ok(())
}

fn assert_same_pose<V: Planar>(one: &State<V>, other: &State<V>) -> Result<(), TestCaseError> {
    prop_assert!(one.position.distance(other.position) < 1e-10, "{one:?} {other:?}");
    prop_assert!(one.velocity.distance(other.velocity) < 1e-9, "{one:?} {other:?}");
    prop_assert!(V::angle_between(one.orientation, other.orientation) < 1e-12, "{one:?} {other:?}");
    let spins = V::spin_to_3d(one.spin).distance(V::spin_to_3d(other.spin));
    prop_assert!(spins < 1e-12, "{one:?} {other:?}");
    Ok(())
}

fn round_trips<V: Planar>(one: &State<V>, parent: &State<V>) -> Result<(), TestCaseError> {
    assert_same(&one.carried_by(parent).relative_to(parent), one)?;
    assert_same(&one.relative_to(parent).carried_by(parent), one)
}

#[test]
fn into_the_parents_frame_and_back_changes_nothing() {
    law!((state2(), state2()), |(one, parent)| round_trips(&one, &parent));
    law!((state3(), state3()), |(one, parent)| round_trips(&one, &parent));
}

#[test]
fn a_rider_on_a_lift_on_a_carrier_is_where_it_is_whichever_way_it_is_computed() {
    law!((state2(), state2(), state2()), |(rider, lift, carrier)| assert_same(
        &rider.carried_by(&lift).carried_by(&carrier),
        &rider.carried_by(&lift.carried_by(&carrier))
    ));
    // In space two spins about different axes turn each other: the neglected change of spin.
    law!((state3(), state3(), state3()), |(rider, lift, carrier)| assert_same_pose(
        &rider.carried_by(&lift).carried_by(&carrier),
        &rider.carried_by(&lift.carried_by(&carrier))
    ));
}

#[test]
fn a_rider_that_stands_on_a_turning_carrier_moves_with_omega_cross_r() {
    law!((state3(), vec3(100.0)), |(carrier, at)| {
        let stands = State { position: at, ..State::default() }.carried_by(&carrier);
        let (axes, spin) = (carrier.orientation, carrier.spin);
        let expected = carrier.velocity + axes.rotate(spin).cross(axes.rotate(at));
        prop_assert!(stands.velocity.distance(expected) < 1e-10);
        let inwards = axes.rotate(spin).cross(axes.rotate(spin.cross(at)));
        prop_assert!(stands.acceleration.distance(carrier.acceleration + inwards) < 1e-9);
        Ok(())
    });
}

#[test]
fn a_carried_velocity_is_the_slope_of_the_carried_position() {
    law!((state2(), state2()), |(rider, carrier)| {
        let rider = MotionKind::Linear.from_state(&rider);
        let carrier = MotionKind::Circular.from_state(&carrier);
        let at = |secs: f64| rider.state_at(secs).carried_by(&carrier.state_at(secs));
        let h = 1e-4;
        let slope = (at(h).position - at(-h).position) * (0.5 / h);
        prop_assert!(slope.distance(at(0.0).velocity) < 1e-3, "{slope:?} {:?}", at(0.0).velocity);
        let slope = (at(h).velocity - at(-h).velocity) * (0.5 / h);
        prop_assert!(slope.distance(at(0.0).acceleration) < 1e-2, "{slope:?} {:?}", at(0.0).acceleration);
        Ok(())
    });
}

#[test]
fn another_parent_begins_a_life_and_fires_and_the_same_one_does_not() {
    let mut owner = Owner::<Vec2>::new(EntityId(1), Trigger::within(0.3));
    let stands = Observation::Moved(State::default());
    let mut observe = |parent, millis| {
        owner.attach(parent);
        owner.observe(stands, SharedInstant::from_millis(millis)).expect("finite").map(|it| it.vector)
    };
    let (ship, boat) = (Some(EntityId(7)), Some(EntityId(8)));
    let born = observe(ship, 0).expect("the first");
    assert_eq!(born.parent, ship);
    assert_eq!(observe(ship, 10), None);
    // Within one step of the wire's time grid too: like a jump.
    for (parent, millis) in [(boat, 10), (None, 10), (ship, 11)] {
        let fired = observe(parent, millis).expect("another parent");
        assert_eq!(fired.parent, parent);
        assert_eq!(observe(parent, millis), None);
    }
    let exported = owner.exported().copied().expect("observed");
    assert_eq!(exported.life.number(), (born.life.number() + 3) % 4);
    let heir = Owner::<Vec2>::new(EntityId(1), Trigger::within(0.3)).continuing(exported);
    assert_eq!(heir.parent(), ship);
}
