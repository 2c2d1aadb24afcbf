//! Goal: the error integrals are right everywhere, and no further off than they say.
//!
//! Method: straight pairs against a quadrature graded towards the closest approach, over every
//! degenerate family we know; all other pairs against an adaptive quadrature of the bare distance;
//! and the laws that any integral of a distance obeys.

use std::f64::consts::PI;

use fairpath::error::{self, Integral, Path, Tolerance};
use fairpath::motion::{Circular, Hermite, Linear, Motion, MotionKind, Quadratic, Static};
use fairpath::time::{SharedInstant, Span};
use fairpath::vector::{Planar, Vec2, Vec3, Vector};
use fairpath::{DrVector, State};
use fairpath_laws::law;
use fairpath_laws::proptest::prelude::*;

use crate::common::{kind, motion2, number, state2, vec2, vec3};

#[test]
fn straight_pairs_equal_quadrature_in_every_degenerate_family() {
    law!((meeting(), any::<bool>()), |(meeting, on_edge)| {
        let from = SharedInstant::from_micros(meeting.from_us);
        let to = from + Span::from_micros(meeting.long_us);
        let secs = (to - from).as_secs_f64();
        let (gap, slope) = meeting.gap_and_slope(secs);
        let truth = straight_reference(gap, slope, secs);
        let value = if on_edge {
            // The same meeting in a plane that stands on edge.
            let upright = |v: Vec2| Vec3::new(0.6 * v.x, v.y, 0.8 * v.x);
            let (gap, slope) = (upright(gap), upright(slope));
            error::accumulated(&line(gap, slope, from), &standing(Vec3::ZERO, from), from, to).value
        } else {
            error::accumulated(&line(gap, slope, from), &standing(Vec2::ZERO, from), from, to).value
        };
        // Turning a plane on edge rounds each vector, and with it the way past each other: one
        // decimal
        // less.
        let allowed = if on_edge { 1e-9 } else { 1e-13 };
        prop_assert!((value - truth).abs() <= allowed * truth, "{value} instead of {truth}");
        Ok(())
    });
}

#[test]
fn straight_pairs_with_starts_apart_are_within_their_bound() {
    let numbers = |limit: i64| (-limit..=limit, -limit..=limit);
    // Positions and velocities in units of 2^-10, so that the gap can be worked out in whole
    // numbers.
    let path = || (numbers(1 << 20), numbers(1 << 16), -100_000_000i64..1_000_000);
    law!((path(), path(), numbers(1 << 40), 1i64..10_000_000), |(one, other, far, long_us)| {
        let from = SharedInstant::ZERO;
        let to = SharedInstant::from_micros(long_us);
        let units = |(x, y): (i64, i64)| Vec2::new(x as f64, y as f64) * (1.0 / 1024.0);
        let path = |((x, y), velocity, since): ((i64, i64), (i64, i64), i64)| {
            line(units((x + far.0, y + far.1)), units(velocity), SharedInstant::from_micros(since))
        };
        let exact = |p1: i64, v1: i64, p2: i64, v2: i64| {
            let micro_units = i128::from(p1 - p2) * 1_000_000 - i128::from(v1) * i128::from(one.2)
                + i128::from(v2) * i128::from(other.2);
            micro_units as f64 / 1_024e6
        };
        let gap = Vec2::new(
            exact(one.0.0, one.1.0, other.0.0, other.1.0),
            exact(one.0.1, one.1.1, other.0.1, other.1.1),
        );
        let truth = straight_reference(gap, units(one.1) - units(other.1), to.as_secs_f64());
        let found = error::accumulated(&path(one), &path(other), from, to);
        prop_assert!(
            (found.value - truth).abs() <= found.bound + 1e-14 * truth,
            "{found:?} instead of {truth}"
        );
        prop_assert!(found.bound <= 1e-10 * to.as_secs_f64() + 1e-14 * truth, "{found:?} is a lazy bound");
        Ok(())
    });
}

#[test]
fn every_pair_is_within_its_bound_of_a_slow_reference() {
    law!((pair(), 1i64..4_000_000), |((one, other), long_us)| {
        let to = SharedInstant::from_micros(long_us);
        assert_near_the_slow_reference(&one, &other, to)
    });
}

#[test]
fn any_tolerance_is_kept() {
    law!((pair(), -12.0..-3.0f64), |((one, other), exponent)| {
        let to = SharedInstant::from_millis(1_500);
        let tolerance = Tolerance::new(libm::exp10(exponent), 0.0);
        let (truth, doubt) = slow_reference(&one, &other, to);
        let found =
            error::accumulated_within(&one.path(), &other.path(), SharedInstant::ZERO, to, &tolerance);
        prop_assert!(
            (found.value - truth).abs() <= found.bound + doubt,
            "{found:?} instead of {truth}±{doubt}"
        );
        prop_assert!(found.bound <= libm::exp10(exponent) * found.value + rounding(to), "{found:?}");
        Ok(())
    });
}

#[test]
fn pairs_that_meet_or_nearly_meet_on_a_curve_are_within_their_bound() {
    let miss = prop_oneof![Just(0.0), (-14.0..0.0f64).prop_map(libm::exp10)];
    law!((motion2(), motion2(), 0.0..2.0f64, miss, number(PI)), |(one, other, at, miss, heading)| {
        // Moves the other so that it passes `miss` beside the one after `at` seconds.
        let there = one.position_at(at) + Vec2::from_heading(heading) * miss;
        let other = moved(other, there - other.position_at(at));
        let (one, other) = (Course::new(one, 0), Course::new(other, 0));
        let to = SharedInstant::from_millis(2_000);
        assert_near_the_slow_reference(&one, &other, to)
    });
}

#[test]
fn pairs_in_space_climb_and_fall_within_their_bound() {
    let course = || {
        (vec3(500.0), vec3(40.0), vec3(10.0), number(PI), number(3.0), kind()).prop_map(
            |(position, velocity, acceleration, heading, turn_rate, kind)| {
                let state = State::moving(position, velocity)
                    .with_acceleration(acceleration)
                    .with_heading(heading, turn_rate);
                Course::new(kind.from_state(&state), -300_000)
            },
        )
    };
    law!((course(), course(), 1i64..4_000_000), |(one, other, long_us)| {
        let to = SharedInstant::from_micros(long_us);
        assert_near_the_slow_reference(&one, &other, to)
    });
}

#[test]
fn straight_motion_in_other_clothes_gives_the_same() {
    law!((vec2(500.0), state2(), vec2(40.0), 1i64..5_000_000), |(position, state, velocity, long_us)| {
        let (from, to) =
            (SharedInstant::from_millis(300), SharedInstant::from_millis(300) + Span::from_micros(long_us));
        let other = line(position, velocity, SharedInstant::ZERO);
        let start = state.position;
        let circular = Circular {
            position: start,
            heading: Vec2::heading(state.velocity),
            speed: state.velocity.length(),
            turn_rate: 0.0,
            climb_rate: 0.0,
            climb_acceleration: 0.0,
        };
        let along = Motion::Circular(circular).velocity_at(0.0);
        let quadratic = Quadratic { position: start, velocity: along, acceleration: Vec2::ZERO };
        let hermite =
            Hermite { start, start_velocity: along, end: start + along, end_velocity: along, secs: 1.0 };
        let expected = error::accumulated(&line(start, along, SharedInstant::ZERO), &other, from, to);
        for motion in [Motion::Circular(circular), Motion::Quadratic(quadratic), Motion::Hermite(hermite)] {
            let found = error::accumulated(&Path::new(motion, SharedInstant::ZERO), &other, from, to);
            let allowed = found.bound + expected.bound + 1e-12 * expected.value + rounding(to);
            prop_assert!(
                (found.value - expected.value).abs() <= allowed,
                "{motion:?}: {found:?}, {expected:?}"
            );
        }
        Ok(())
    });
}

#[test]
fn adjoining_intervals_add_up() {
    law!((pair(), 0i64..3_000_000, 0i64..3_000_000), |((one, other), first, second)| {
        let (one, other) = (one.path(), other.path());
        let from = SharedInstant::ZERO;
        let between = from + Span::from_micros(first);
        let to = between + Span::from_micros(second);
        let whole = error::accumulated(&one, &other, from, to);
        let parts =
            error::accumulated(&one, &other, from, between) + error::accumulated(&one, &other, between, to);
        prop_assert!(
            (whole.value - parts.value).abs() <= whole.bound + parts.bound,
            "{whole:?} and {parts:?}"
        );
        Ok(())
    });
}

#[test]
fn neither_path_is_special() {
    law!((pair(), 0i64..3_000_000), |((one, other), long_us)| {
        let (one, other) = (one.path(), other.path());
        let to = SharedInstant::from_micros(long_us);
        let (there, back) = (
            error::accumulated(&one, &other, SharedInstant::ZERO, to),
            error::accumulated(&other, &one, SharedInstant::ZERO, to),
        );
        prop_assert_eq!(there.value, back.value);
        Ok(())
    });
}

#[test]
fn another_unit_of_length_scales_the_error() {
    law!((state2(), state2(), kinds(), -20i32..20), |(one, other, kinds, exponent)| {
        let unit =
            (0..exponent.abs()).fold(1.0, |unit, _| if exponent < 0 { unit / 2.0 } else { unit * 2.0 });
        let to = SharedInstant::from_millis(700);
        let accumulated = |unit: f64| {
            let path = |mut state: State<Vec2>, kind: MotionKind| {
                state.position = state.position * unit;
                state.velocity = state.velocity * unit;
                state.acceleration = state.acceleration * unit;
                Path::new(kind.from_state(&state), SharedInstant::ZERO)
            };
            error::accumulated(&path(one, kinds.0), &path(other, kinds.1), SharedInstant::ZERO, to)
        };
        let (plain, scaled) = (accumulated(1.0), accumulated(unit));
        prop_assert!((plain.value - scaled.value / unit).abs() <= plain.bound + scaled.bound / unit);
        Ok(())
    });
}

#[test]
fn only_differences_of_time_matter() {
    law!((pair(), -1_000_000_000_000i64..1_000_000_000_000), |((one, other), shift_us)| {
        let shift = Span::from_micros(shift_us);
        let (from, to) = (SharedInstant::ZERO, SharedInstant::from_millis(900));
        let shifted =
            |course: &Course<Vec2>| Course { since_us: course.since_us + shift_us, ..*course }.path();
        prop_assert_eq!(
            error::accumulated(&one.path(), &other.path(), from, to),
            error::accumulated(&shifted(&one), &shifted(&other), from + shift, to + shift)
        );
        Ok(())
    });
}

#[test]
fn who_believes_the_same_is_never_wrong() {
    law!((course(), 0i64..10_000_000, -1_000_000i64..10_000_000), |(course, long_us, freeze_us)| {
        let frozen = course.path().frozen_from(SharedInstant::from_micros(freeze_us));
        let to = SharedInstant::from_micros(long_us);
        for path in [course.path(), frozen] {
            prop_assert_eq!(error::accumulated(&path, &path, SharedInstant::ZERO, to), Integral::ZERO);
            prop_assert_eq!(error::when_reaches(&path, &path, SharedInstant::ZERO, 1e-300, to), None);
        }
        Ok(())
    });
}

#[test]
fn a_frozen_path_is_its_two_pieces() {
    law!((pair(), 0i64..2_000_000, 0i64..2_000_000), |((one, other), before_us, after_us)| {
        let (one, other) = (one.path(), other.path());
        let (from, freeze) = (SharedInstant::ZERO, SharedInstant::from_micros(before_us));
        let to = freeze + Span::from_micros(after_us);
        let whole = error::accumulated(&one.frozen_from(freeze), &other, from, to);
        let stays = standing(one.position_at(freeze), freeze);
        let parts =
            error::accumulated(&one, &other, from, freeze) + error::accumulated(&stays, &other, freeze, to);
        let allowed = whole.bound + parts.bound + rounding(to);
        prop_assert!((whole.value - parts.value).abs() <= allowed, "{whole:?} and {parts:?}");
        Ok(())
    });
}

#[test]
fn both_frozen_is_a_distance_times_a_time() {
    law!((pair(), 0i64..10_000_000), |((one, other), long_us)| {
        let from = SharedInstant::from_millis(1_234);
        let to = from + Span::from_micros(long_us);
        let (one, other) =
            (one.path().frozen_from(from), other.path().frozen_from(SharedInstant::from_millis(900)));
        let found = error::accumulated(&one, &other, from, to);
        let truth = one.distance_at(&other, to) * (to - from).as_secs_f64();
        prop_assert!(
            (found.value - truth).abs() <= found.bound + 1e-15 * truth,
            "{found:?} instead of {truth}"
        );
        Ok(())
    });
}

#[test]
fn the_inverse_is_the_inverse() {
    law!((pair(), 0.0..1.2f64, 1i64..4_000_000), |((one, other), share, long_us)| {
        let (one, other) = (one.path(), other.path());
        let (from, until) = (SharedInstant::ZERO, SharedInstant::from_micros(long_us));
        let all = error::accumulated(&one, &other, from, until);
        inverse_holds(&one, &other, until, share * all.value)
    });
}

#[test]
fn the_inverse_is_the_inverse_for_straight_pairs_far_and_near() {
    law!((meeting(), prop_oneof![0.0..1.1f64, (-12.0..0.0f64).prop_map(libm::exp10)]), |(meeting, share)| {
        let until = SharedInstant::from_micros(meeting.long_us);
        let (gap, slope) = meeting.gap_and_slope(until.as_secs_f64());
        let (one, other) = (line(gap, slope, SharedInstant::ZERO), standing(Vec2::ZERO, SharedInstant::ZERO));
        let all = error::accumulated(&one, &other, SharedInstant::ZERO, until);
        inverse_holds(&one, &other, until, share * all.value)
    });
}

#[test]
fn nothing_finite_gives_nonsense() {
    let absurd = || {
        prop_oneof![
            3 => (-320.0..308.0f64).prop_map(libm::exp10),
            3 => (-320.0..308.0f64).prop_map(|exponent| -libm::exp10(exponent)),
            1 => Just(0.0), 1 => Just(f64::MAX), 1 => Just(f64::MIN), 2 => -100.0..100.0f64,
        ]
    };
    let vector = move || (absurd(), absurd(), absurd()).prop_map(|(x, y, z)| Vec3::new(x, y, z));
    let motion = move || {
        (vector(), vector(), vector(), vector(), absurd(), 0..5u8).prop_map(
            |(position, velocity, more, end, secs, model)| match model {
                0 => Motion::Static(Static { position, orientation: Default::default() }),
                1 => Motion::Linear(Linear { position, velocity }),
                2 => Motion::Quadratic(Quadratic { position, velocity, acceleration: more }),
                3 => Motion::Circular(Circular {
                    position,
                    heading: velocity.x,
                    speed: velocity.y,
                    turn_rate: velocity.z,
                    climb_rate: more.x,
                    climb_acceleration: more.y,
                }),
                _ => Motion::Hermite(Hermite {
                    start: position,
                    start_velocity: velocity,
                    end,
                    end_velocity: more,
                    secs: secs.abs().max(f64::MIN_POSITIVE),
                }),
            },
        )
    };
    let instant = || prop_oneof![any::<i64>(), -2_000_000i64..2_000_000].prop_map(SharedInstant::from_micros);
    let path = move || {
        (motion(), instant(), fairpath_laws::proptest::option::of(instant())).prop_map(
            |(motion, since, freeze)| {
                let path = Path::new(motion, since);
                freeze.map_or(path, |freeze| path.frozen_from(freeze))
            },
        )
    };
    law!((path(), path(), instant(), instant(), absurd()), |(one, other, from, to, amount)| {
        let Integral { value, bound } = error::accumulated(&one, &other, from, to);
        prop_assert!(value >= 0.0 && bound >= 0.0, "{value} ± {bound}");
        prop_assert!(value.is_finite() == bound.is_finite(), "{value} ± {bound}");
        if let Some(when) = error::when_reaches(&one, &other, from, amount, to) {
            prop_assert!((from..=to).contains(&when));
        }
        Ok(())
    });
}

#[test]
fn a_dr_vector_is_believed_from_its_generation_on() {
    law!((motion2(), -5_000_000i64..5_000_000), |(motion, t_us)| {
        let vector = DrVector {
            entity: Default::default(),
            life: Default::default(),
            generation: Default::default(),
            generated_at: SharedInstant::from_millis(77),
            motion,
            attitude: None,
            parent: None,
        };
        let t = SharedInstant::from_micros(t_us);
        prop_assert_eq!(Path::from(&vector).position_at(t), vector.position_at(t));
        Ok(())
    });
}

#[test]
fn circling_together_at_two_speeds_is_known_in_closed_form() {
    // Both start here, the same way, a turn in two seconds; the chord between them is
    // 2·Δs·|sin(ω·t/2)|/ω, with a kink at every full turn, and 8·Δs/ω² per turn.
    let turn_rate = PI;
    let circle = |speed| {
        let circular = Circular {
            position: Vec2::new(10.0, 20.0),
            heading: 1.0,
            speed,
            turn_rate,
            climb_rate: 0.0,
            climb_acceleration: 0.0,
        };
        Path::new(Motion::Circular(circular), SharedInstant::ZERO)
    };
    for turns in [1, 10, 1_000] {
        let to = SharedInstant::from_millis(2_000 * turns);
        let found = error::accumulated(&circle(25.0), &circle(20.0), SharedInstant::ZERO, to);
        let truth = turns as f64 * 8.0 * 5.0 / (turn_rate * turn_rate);
        assert!((found.value - truth).abs() <= found.bound, "{turns} turns: {found:?} instead of {truth}");
        assert!(found.bound < 1.1e-9 * truth, "{turns} turns: {found:?}");
    }
}

#[test]
fn braking_and_coming_back_is_known_in_closed_form() {
    // 10·t − ½·4·t² leaves, and is back after five seconds: 10·t²/2 − 4·t³/6, and beyond that the
    // other
    // way.
    let braking = Quadratic {
        position: Vec2::new(1e6, 1e6),
        velocity: Vec2::new(6.0, 8.0),
        acceleration: Vec2::new(-2.4, -3.2),
    };
    let one = Path::new(Motion::Quadratic(braking), SharedInstant::ZERO);
    let other = standing(Vec2::new(1e6, 1e6), SharedInstant::from_millis(-400));
    let upto = |t: f64| 5.0 * t * t - 2.0 / 3.0 * t * t * t;
    for (secs, truth) in [(2.0, upto(2.0)), (5.0, upto(5.0)), (8.0, 2.0 * upto(5.0) - upto(8.0))] {
        let found = error::accumulated(&one, &other, SharedInstant::ZERO, SharedInstant::from_secs_f64(secs));
        assert!((found.value - truth).abs() <= found.bound, "{secs} s: {found:?} instead of {truth}");
        assert!(found.bound < 1.1e-9 * truth, "{secs} s: {found:?}");
    }
}

#[test]
fn what_is_too_long_to_integrate_is_sampled_and_says_so() {
    let circle = |speed, turn_rate| {
        let circular = Circular {
            position: Vec2::new(10.0, 20.0),
            heading: 1.0,
            speed,
            turn_rate,
            climb_rate: 0.0,
            climb_acceleration: 0.0,
        };
        Path::new(Motion::Circular(circular), SharedInstant::ZERO)
    };
    let month = SharedInstant::from_millis(30 * 86_400_000);
    let found = error::accumulated(&circle(25.0, 3.0), &circle(20.0, -2.5), SharedInstant::ZERO, month);
    // They are never further apart than the two circles reach.
    let widest = 2.0 * (25.0 / 3.0 + 20.0 / 2.5) * month.as_secs_f64();
    assert!(found.value > 0.0 && found.value < widest);
    assert!(found.bound.is_finite() && found.bound > found.value);
}

/// At the answer the error is the amount or more, a microsecond before it is less, and no answer
/// means too little.
fn inverse_holds(
    one: &Path<Vec2>,
    other: &Path<Vec2>,
    until: SharedInstant,
    amount: f64,
) -> Result<(), TestCaseError> {
    let from = SharedInstant::ZERO;
    let Some(when) = error::when_reaches(one, other, from, amount, until) else {
        let all = error::accumulated(one, other, from, until);
        prop_assert!(all.value - all.bound < amount, "{amount} was reached: {all:?}");
        return Ok(());
    };
    prop_assert!((from..=until).contains(&when));
    let then = error::accumulated(one, other, from, when);
    prop_assert!(then.value + 2.0 * then.bound >= amount, "{when:?} is too early for {amount}: {then:?}");
    if when > from {
        let before = error::accumulated(one, other, from, when - Span::from_micros(1));
        prop_assert!(
            before.value - 2.0 * before.bound < amount,
            "{when:?} is too late for {amount}: {before:?}"
        );
    }
    Ok(())
}

/// Positions of game size round to this, in metre-seconds up to `to`.
fn rounding(to: SharedInstant) -> f64 {
    1e-10 * to.as_secs_f64()
}

fn line<V: Planar>(position: V, velocity: V, since: SharedInstant) -> Path<V> {
    Path::new(Motion::Linear(Linear { position, velocity }), since)
}

fn standing<V: Planar>(position: V, since: SharedInstant) -> Path<V> {
    Path::new(Motion::Static(Static { position, orientation: V::Orientation::default() }), since)
}

fn moved(motion: Motion<Vec2>, by: Vec2) -> Motion<Vec2> {
    let mut motion = motion;
    match &mut motion {
        Motion::Static(model) => model.position += by,
        Motion::Linear(model) => model.position += by,
        Motion::Quadratic(model) => model.position += by,
        Motion::Circular(model) => model.position += by,
        Motion::Hermite(model) => {
            model.start += by;
            model.end += by;
        }
        Motion::Dis(model) => model.position += by.to_3d(),
    }
    motion
}

/// What a path is made of, so that the reference can look at it from outside.
#[derive(Clone, Copy, Debug)]
struct Course<V: Planar> {
    motion: Motion<V>,
    since_us: i64,
}

impl<V: Planar> Course<V> {
    fn new(motion: Motion<V>, since_us: i64) -> Self {
        Self { motion, since_us }
    }

    fn path(&self) -> Path<V> {
        Path::new(self.motion, SharedInstant::from_micros(self.since_us))
    }

    fn displacement_at(&self, secs: f64) -> V {
        self.motion.displacement_at(secs - self.since_us as f64 * 1e-6)
    }

    fn state_at(&self, secs: f64) -> State<V> {
        self.motion.state_at(secs - self.since_us as f64 * 1e-6)
    }
}

fn course() -> impl Strategy<Value = Course<Vec2>> {
    (motion2(), -1_000_000i64..200_000).prop_map(|(motion, since_us)| Course::new(motion, since_us))
}

/// Half of them far apart, half as a trigger leaves them: the new one starts close to the old one.
fn pair() -> impl Strategy<Value = (Course<Vec2>, Course<Vec2>)> {
    (course(), course(), any::<bool>(), vec2(0.5)).prop_map(|(one, other, close, off)| {
        let secs = other.since_us as f64 * 1e-6;
        let there = one.motion.origin() + one.displacement_at(secs) + off;
        let motion = if close { moved(other.motion, there - other.motion.origin()) } else { other.motion };
        (one, Course { motion, ..other })
    })
}

fn kinds() -> impl Strategy<Value = (MotionKind, MotionKind)> {
    (kind(), kind())
}

/// Two straight lines that pass each other: every way for the formula to degenerate is a value of
/// these.
#[derive(Clone, Copy, Debug)]
struct Meeting {
    heading: f64,
    /// Smallest distance; 0 is head-on, or the same line.
    closest: f64,
    /// 0 is parallel.
    speed: f64,
    /// When they are closest, as a share of the interval; 0 is at the start.
    when: f64,
    from_us: i64,
    long_us: i64,
}

impl Meeting {
    fn gap_and_slope(&self, secs: f64) -> (Vec2, Vec2) {
        let ahead = Vec2::from_heading(self.heading);
        let slope = ahead * self.speed;
        (ahead.perpendicular() * self.closest - slope * (self.when * secs), slope)
    }
}

fn meeting() -> impl Strategy<Value = Meeting> {
    let size = || prop_oneof![1 => Just(0.0), 4 => (-12.0..9.0f64).prop_map(libm::exp10)];
    let near = |to: f64| (-16.0..-1.0f64).prop_map(move |exponent| to + libm::exp10(exponent));
    let when =
        prop_oneof![Just(0.0), Just(0.5), Just(1.0), near(0.0), near(1.0), -1.0..2.0f64, -1e6..1e6f64,];
    // A microsecond to ten days.
    let long_us = (0.0..11.9f64).prop_map(|exponent| libm::exp10(exponent) as i64);
    let heading = prop_oneof![Just(0.0), -PI..PI];
    (heading, size(), size(), when, -1_000_000_000i64..1_000_000_000, long_us).prop_map(
        |(heading, closest, speed, when, from_us, long_us)| Meeting {
            heading,
            closest,
            speed,
            when,
            from_us,
            long_us,
        },
    )
}

/// ∫ |gap + slope·t| over [0, secs], by panels that shrink towards the closest approach.
fn straight_reference(gap: Vec2, slope: Vec2, secs: f64) -> f64 {
    let speed = slope.length();
    if speed == 0.0 {
        return gap.length() * secs;
    }
    let closest = gap.cross_length(slope) / speed;
    let when = -gap.dot(slope) / (speed * speed);
    let distance = |t: f64| libm::hypot(speed * (t - when), closest);
    let nearest = when.clamp(0.0, secs);
    let towards = |end: f64| {
        let mut sum = 0.0;
        let mut near = (end - nearest) / (1u64 << 60) as f64;
        sum += (near * rule(|x| distance(nearest + near * x))).abs();
        for _ in 0..60 {
            sum += (near * rule(|x| distance(nearest + near * (1.0 + x)))).abs();
            near *= 2.0;
        }
        sum
    };
    towards(0.0) + towards(secs)
}

/// What is found up to `to` is the truth within its own bound, and that bound is no excuse.
fn assert_near_the_slow_reference<V: Planar>(
    one: &Course<V>,
    other: &Course<V>,
    to: SharedInstant,
) -> Result<(), TestCaseError> {
    let (truth, doubt) = slow_reference(one, other, to);
    let found = error::accumulated(&one.path(), &other.path(), SharedInstant::ZERO, to);
    prop_assert!((found.value - truth).abs() <= found.bound + doubt, "{found:?} instead of {truth}±{doubt}");
    prop_assert!(found.bound <= 1e-9 * found.value + 3e-12 + rounding(to), "{found:?} is a lazy bound");
    Ok(())
}

/// The distance of two courses summed from zero to `to`, and how sure that is.
fn slow_reference<V: Planar>(one: &Course<V>, other: &Course<V>, to: SharedInstant) -> (f64, f64) {
    let end = to.as_secs_f64();
    let mut cuts = vec![0.0, end];
    for course in [one, other] {
        if let Motion::Hermite(hermite) = course.motion {
            let cut = hermite.secs + course.since_us as f64 * 1e-6;
            cuts.extend((0.0 < cut && cut < end).then_some(cut));
        }
    }
    cuts.sort_by(f64::total_cmp);
    let sum = cuts.windows(2).map(|cut| halving(one, other, cut[0], cut[1])).sum();
    (sum, 1e-12 * sum + 1e-14 * end)
}

/// Halves until the two cannot meet anywhere near, or it no longer matters. Comparing a rule with
/// its own halves would not do: all of them can overlook a kink close to an end.
fn halving<V: Planar>(one: &Course<V>, other: &Course<V>, begin: f64, end: f64) -> f64 {
    let apart = one.motion.origin() - other.motion.origin();
    let distance = |t: f64| (apart + (one.displacement_at(t) - other.displacement_at(t))).length();
    let (middle, long) = (0.5 * (begin + end), end - begin);
    let (first, second) = (one.state_at(middle), other.state_at(middle));
    let bending = first.acceleration.length() + second.acceleration.length();
    let closing = first.velocity.distance(second.velocity) + bending * long;
    let is_smooth = long <= 0.1 && distance(middle) > 2.0 * closing * long;
    if is_smooth || long * long * closing < 1e-17 {
        return long * rule(|x| distance(begin + long * x));
    }
    halving(one, other, begin, middle) + halving(one, other, middle, end)
}

/// ∫ f over [0, 1] with ten points.
fn rule(f: impl Fn(f64) -> f64) -> f64 {
    const NODES: [(f64, f64); 5] = [
        (0.148_874_338_981_631_2, 0.295_524_224_714_752_87),
        (0.433_395_394_129_247_2, 0.269_266_719_309_996_35),
        (0.679_409_568_299_024_4, 0.219_086_362_515_982_04),
        (0.865_063_366_688_984_5, 0.149_451_349_150_580_6),
        (0.973_906_528_517_171_7, 0.066_671_344_308_688_14),
    ];
    NODES.iter().map(|(x, weight)| 0.5 * weight * (f(0.5 - 0.5 * x) + f(0.5 + 0.5 * x))).sum()
}
