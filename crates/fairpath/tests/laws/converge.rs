//! Goal: the eye is led to the truth without jumps, without overshoot, in bounded time, at any
//! frame rate. Method: paths that are corrected at arbitrary instants, also in the middle of a
//! blend, drawn by every algorithm.

use std::collections::BTreeMap;

use fairpath::State;
use fairpath::converge::{Algorithm, Convergence, Drawn};
use fairpath::motion::{Motion, MotionKind};
use fairpath::rotation::Quat;
use fairpath::time::{LocalInstant, Now, SharedInstant, Span, TickRate};
use fairpath::vector::{Vec2, Vec3, Vector};
use fairpath_laws::law;
use fairpath_laws::proptest::prelude::*;

use crate::common::{kind, number, state2, vec2, vec3};

/// A placed path and the instants at which it is replaced by another.
#[derive(Clone, Debug)]
struct Corrected {
    /// In order of time; each is placed from its instant until the next one's.
    paths: Vec<(Now, Motion<Vec2>)>,
}

fn at_micros(micros: i64) -> Now {
    Now::synchronised(SharedInstant::from_micros(micros))
}

/// Some corrections, a few metres each, some of them before the one before is bent away.
fn corrected() -> impl Strategy<Value = Corrected> {
    let correction = (0..600_000i64, vec2(5.0), state2(), kind());
    prop::collection::vec(correction, 2..8).prop_map(|corrections| {
        let mut now = at_micros(0);
        let mut position = Vec2::ZERO;
        let mut paths: Vec<(Now, Motion<Vec2>)> = Vec::new();
        for (pause, jump, state, kind) in corrections {
            now = now + Span::from_micros(pause);
            if let Some((since, motion)) = paths.last() {
                position = motion.position_at((now.shared - since.shared).as_secs_f64());
            }
            paths.push((now, kind.from_state(&State { position: position + jump, ..state })));
        }
        Corrected { paths }
    })
}

fn placed((since, motion): &(Now, Motion<Vec2>), now: Now) -> State<Vec2> {
    motion.state_at((now.shared - since.shared).as_secs_f64())
}

impl Corrected {
    /// What is drawn at the frames of `rate`, for two seconds and a half.
    fn frames(&self, rate: TickRate, convergence: Convergence) -> BTreeMap<LocalInstant, State<Vec2>> {
        let mut drawn = Drawn::new(convergence);
        let mut current = 0;
        let ticks = (0..).map(|tick| at_micros(rate.begin(tick).as_micros()));
        ticks
            .take_while(|now| now.local <= LocalInstant::from_millis(2_500))
            .map(|now| {
                while self.paths.get(current + 1).is_some_and(|(since, _)| since.local <= now.local) {
                    let (before, after) = (&self.paths[current], &self.paths[current + 1]);
                    drawn.correct(after.0, &placed(before, after.0), &placed(after, after.0));
                    current += 1;
                }
                (now.local, drawn.at(now, &placed(&self.paths[current], now)))
            })
            .collect()
    }

    /// Calls `look` at every correction with the drawn thing before and after it, and the placed
    /// states.
    fn each_correction(
        &self,
        convergence: Convergence,
        mut look: impl FnMut(Now, [(&Drawn<Vec2>, State<Vec2>); 2]) -> Result<(), TestCaseError>,
    ) -> Result<(), TestCaseError> {
        let mut drawn = Drawn::new(convergence);
        for pair in self.paths.windows(2) {
            let now = pair[1].0;
            let (before, after) = (placed(&pair[0], now), placed(&pair[1], now));
            let old = drawn;
            drawn.correct(now, &before, &after);
            look(now, [(&old, before), (&drawn, after)])?;
        }
        Ok(())
    }
}

/// Every algorithm, with blends of 200 ms and with blends that follow the pauses. Nothing here is
/// so far that it should snap.
fn all() -> impl Strategy<Value = Convergence> {
    (prop::sample::select(&Algorithm::ALL[..]), any::<bool>()).prop_map(|(algorithm, is_paced)| {
        let blend_min = Span::from_millis(if is_paced { 20 } else { 200 });
        Convergence { blend_min, snap_beyond: 1e6, ..Convergence::default().with_algorithm(algorithm) }
    })
}

fn all_but_snap() -> impl Strategy<Value = Convergence> {
    all().prop_filter("has no curve", |convergence| convergence.algorithm != Algorithm::Snap)
}

#[test]
fn the_drawn_curve_is_the_same_at_30_60_and_144_frames_per_second() {
    law!((corrected(), all()), |(corrected, convergence)| {
        let at_rate = |hertz| corrected.frames(TickRate::hz(hertz), convergence);
        let (slow, middle, fast) = (at_rate(30), at_rate(60), at_rate(144));
        let mut common = 0;
        for (instant, state) in &slow {
            for other in [&middle, &fast].into_iter().filter_map(|other| other.get(instant)) {
                prop_assert!(state.position.distance(other.position) < 1e-9);
                prop_assert!(state.velocity.distance(other.velocity) < 1e-9);
                prop_assert!(Vec2::angle_between(state.orientation, other.orientation) < 1e-9);
                common += 1;
            }
        }
        prop_assert!(common > 75, "every second frame of 60 and every sixth of 144: {common}");
        Ok(())
    });
}

#[test]
fn nothing_jumps_at_a_correction() {
    law!((corrected(), all_but_snap()), |(corrected, convergence)| {
        corrected.each_correction(convergence, |now, [(old, before), (new, after)]| {
            let (was, is) = (old.at(now, &before), new.at(now, &after));
            prop_assert!(was.position.distance(is.position) < 1e-9);
            prop_assert!(Vec2::angle_between(was.orientation, is.orientation) < 1e-9);
            let gap = was.position.distance(after.position);
            if convergence.algorithm != Algorithm::Linear && gap > 0.0 {
                prop_assert!(was.velocity.distance(is.velocity) < 1e-9, "{was:?} {is:?}");
            }
            Ok(())
        })
    });
}

#[test]
fn drawn_velocity_is_the_slope_of_drawn_position() {
    law!((corrected(), all_but_snap(), 0.05..0.95f64), |(corrected, convergence, part)| {
        let convergence = Convergence { blend: Span::from_millis(400), ..convergence };
        corrected.each_correction(convergence, |now, [_, (new, after)]| {
            // Relative to a placed path that stands still, so that only the blend is
            // differentiated.
            let still = State { velocity: Vec2::ZERO, ..after };
            let middle = now + Span::from_secs_f64(0.4 * part);
            let step = Span::from_micros(50);
            let [early, state, late] = [middle + -step, middle, middle + step].map(|now| new.at(now, &still));
            let slope = (late.position - early.position) * (1.0 / 100e-6);
            // As near as the velocity itself changes within the step: some blends end there.
            let bend = [early, late].map(|other| other.velocity.distance(state.velocity));
            prop_assert!(
                slope.distance(state.velocity) < 1e-6 + bend[0].max(bend[1]),
                "{slope:?} is not {:?}",
                state.velocity
            );
            Ok(())
        })
    });
}

#[test]
fn after_the_blend_drawn_equals_placed() {
    law!((corrected(), all()), |(corrected, convergence)| {
        corrected.each_correction(convergence, |now, [_, (new, after)]| {
            prop_assert_eq!(new.at(now + convergence.blend, &after), after);
            Ok(())
        })
    });
}

/// A thing drawn moving at `velocity` that turns out to stand `gap` away, and how far the error may
/// grow.
fn stopped(convergence: Convergence, gap: Vec2, velocity: Vec2) -> (Drawn<Vec2>, State<Vec2>, f64) {
    let (before, target) =
        (State::moving(Vec2::new(3.0, 4.0) + gap, velocity), State::moving(Vec2::new(3.0, 4.0), Vec2::ZERO));
    let mut drawn = Drawn::new(convergence);
    drawn.correct(at_micros(0), &before, &target);
    let growth = match convergence.algorithm {
        Algorithm::Snap => 0.0,
        Algorithm::Linear => 1.0,
        Algorithm::Cubic => 1.281,
        Algorithm::ProjectiveVelocityBlending => 1.331,
        Algorithm::CriticallyDamped => 1.22,
    };
    (drawn, target, growth)
}

/// Instants over the whole blend and a bit beyond.
fn during() -> impl Iterator<Item = Now> {
    (0..=220).map(|millis| at_micros(millis * 1_000))
}

#[test]
fn a_stopped_target_is_never_overshot() {
    law!((all(), vec2(8.0), vec2(200.0)), |(convergence, gap, velocity)| {
        let (drawn, target, growth) = stopped(convergence, gap, velocity);
        for now in during() {
            let error = drawn.at(now, &target).position - target.position;
            prop_assert!(error.dot(gap) >= -1e-12, "beyond the target: {error:?}");
            prop_assert!(error.length() <= growth * gap.length() + 1e-12, "{error:?} from {gap:?}");
        }
        Ok(())
    });
}

#[test]
fn straight_towards_a_stopped_target_the_error_only_falls() {
    law!((all(), vec2(8.0), 0.0..300.0f64), |(convergence, gap, speed)| {
        let (drawn, target, _) = stopped(convergence, gap, gap.normalize_or_zero() * -speed);
        let errors: Vec<f64> =
            during().map(|now| drawn.at(now, &target).position.distance(target.position)).collect();
        for pair in errors.windows(2) {
            prop_assert!(pair[1] <= pair[0] + 1e-12, "{pair:?}");
        }
        Ok(())
    });
}

#[test]
fn also_in_the_middle_of_a_blend_a_stop_is_not_overshot() {
    law!((corrected(), all_but_snap(), 0..300_000i64), |(corrected, convergence, pause)| {
        let last = corrected.paths.last().expect("some");
        let now = last.0 + Span::from_micros(pause);
        let mut stops = corrected.clone();
        let target = State::moving(placed(last, now).position + Vec2::new(1.0, -2.0), Vec2::ZERO);
        stops.paths.push((now, MotionKind::Static.from_state(&target)));
        let mut drawn = Drawn::new(convergence);
        stops.each_correction(convergence, |_, [_, (new, _)]| {
            drawn = *new;
            Ok(())
        })?;
        let gap = drawn.at(now, &target).position - target.position;
        for millis in 0..200 {
            let error = drawn.at(now + Span::from_millis(millis), &target).position - target.position;
            prop_assert!(error.dot(gap) >= -1e-9);
            prop_assert!(error.length() <= 1.331 * gap.length() + 1e-9);
        }
        Ok(())
    });
}

#[test]
fn a_correction_that_changes_nothing_prolongs_nothing() {
    let half_way = at_micros(90_000);
    law!((all_but_snap(), vec2(8.0), vec2(40.0)), |(convergence, gap, velocity)| {
        let (drawn, target, _) = stopped(convergence, gap, velocity);
        let mut told_again = drawn;
        told_again.correct(half_way, &target, &target);
        let end = at_micros(200_000);
        prop_assert_eq!(told_again.visible_error(end).offset, Vec2::ZERO);
        // These two are, from any point on, their own continuation.
        if matches!(convergence.algorithm, Algorithm::Linear | Algorithm::Cubic) {
            for now in during().filter(|now| now.local > half_way.local) {
                let apart = drawn.at(now, &target).position.distance(told_again.at(now, &target).position);
                prop_assert!(apart < 1e-9, "{apart} at {now:?}");
            }
        }
        Ok(())
    });
}

#[test]
fn a_blend_lasts_half_the_pause_within_its_bounds() {
    let within = (0..400_000i64, 0..400_000i64);
    law!((all_but_snap(), within, 0..1_000_000i64, vec2(8.0)), |(convergence, (a, b), pause, gap)| {
        prop_assume!(gap.length() > 1e-3);
        let (blend_min, blend) = (Span::from_micros(a.min(b)), Span::from_micros(a.max(b)));
        let lasts = Span::from_micros(pause).scaled(0.5).max(blend_min).min(blend);
        let still = |position| State::moving(position, Vec2::ZERO);
        let mut drawn = Drawn::new(Convergence { blend, blend_min, ..convergence });
        drawn.correct(at_micros(0), &still(Vec2::ZERO), &still(Vec2::ZERO));
        let now = at_micros(pause);
        drawn.correct(now, &still(gap), &still(Vec2::ZERO));
        let shortly_after = now + lasts + Span::from_micros(1);
        prop_assert_eq!(drawn.visible_error(shortly_after).offset, Vec2::ZERO);
        if lasts > Span::from_millis(1) {
            let shortly_before = now + lasts.scaled(0.9);
            prop_assert!(drawn.visible_error(shortly_before).offset.length() > 0.0);
        }
        Ok(())
    });
}

#[test]
fn in_space_the_nose_turns_the_shortest_way_and_only_nearer() {
    let orientation = || {
        (vec3(1.0), number(std::f64::consts::PI))
            .prop_map(|(direction, roll)| direction.facing() * Quat::about_x(roll))
    };
    law!((all_but_snap(), orientation(), orientation()), |(convergence, was, is)| {
        let facing = |orientation| State::<Vec3> { orientation, ..State::default() };
        let mut drawn = Drawn::new(convergence);
        drawn.correct(at_micros(0), &facing(was), &facing(is));
        let angles: Vec<f64> =
            during().map(|now| drawn.at(now, &facing(is)).orientation.angle_to(is)).collect();
        prop_assert!((angles[0] - was.angle_to(is)).abs() < 1e-9);
        prop_assert_eq!(angles[angles.len() - 1], is.angle_to(is));
        prop_assert!(angles.windows(2).all(|pair| pair[1] <= pair[0] + 1e-9), "{angles:?}");
        Ok(())
    });
}

/// A number that may be of any size a float can have.
fn any_size() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => number(100.0),
        1 => Just(f64::MAX),
        1 => Just(f64::MIN_POSITIVE),
        3 => prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL | prop::num::f64::ZERO,
    ]
}

#[test]
fn finite_in_is_finite_out() {
    let vector = || (any_size(), any_size()).prop_map(|(x, y)| Vec2::new(x, y));
    let state =
        move || (vector(), vector()).prop_map(|(position, velocity)| State::moving(position, velocity));
    let blend = || prop_oneof![Just(0), Just(1), Just(-5), Just(i64::MIN), Just(i64::MAX), 0..1_000_000i64];
    let snap_beyond = prop_oneof![Just(0.0), Just(f64::INFINITY), Just(f64::NAN), 0.0..1e3f64];
    let knobs = (prop::sample::select(&Algorithm::ALL[..]), [blend(), blend()], snap_beyond);
    law!((knobs, [state(), state(), state()], prop::array::uniform2(0..500_000i64)), |(
        (algorithm, blends, snap_beyond),
        [first, second, third],
        pauses,
    )| {
        let [blend, blend_min] = blends.map(Span::from_micros);
        let convergence = Convergence { algorithm, blend, blend_min, snap_beyond };
        let blends_are_valid = blends.iter().all(|micros| (0..=10_000_000).contains(micros));
        prop_assert_eq!(convergence.is_valid(), blends_are_valid && snap_beyond.is_finite());
        let mut drawn = Drawn::new(convergence);
        let mut now = at_micros(0);
        drawn.correct(now, &first, &second);
        prop_assert!(drawn.at(now, &second).is_finite());
        now = now + Span::from_micros(pauses[0]);
        prop_assert!(drawn.at(now, &second).is_finite());
        drawn.correct(now, &second, &third);
        prop_assert!(drawn.at(now, &third).is_finite());
        now = now + Span::from_micros(pauses[1]);
        prop_assert!(drawn.at(now, &third).is_finite());
        Ok(())
    });
}
