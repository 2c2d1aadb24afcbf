//! What an owner promises: the exported path is never farther off than its threshold for longer
//! than a frame, it is what receivers decode, and its DR vectors come in order.

use crate::common::state2;
use fairpath::motion::MotionKind;
use fairpath::number::EntityId;
use fairpath::random::Random;
use fairpath::time::{SharedInstant, TickRate};
use fairpath::trigger::{Trigger, TriggerReason};
use fairpath::vector::{Vec2, Vector};
use fairpath::wire::Precision;
use fairpath::{Observation, ObserveError, Owner, State};
use fairpath_laws::{law, proptest::prelude::*};

const THRESHOLD: f64 = 0.3;
const RATE: TickRate = TickRate::hz(60);

fn at_tick(tick: i64) -> SharedInstant {
    SharedInstant::ZERO + RATE.begin(tick)
}

/// Something that drives about: a new speed and turn rate now and then.
fn drive(seed: u64, ticks: i64) -> Vec<State<Vec2>> {
    let mut random = Random::from_seed(seed);
    let mut state = State::moving(Vec2::ZERO, Vec2::new(20.0, 0.0));
    (0..ticks)
        .map(|_| {
            if random.chance(0.02) {
                let heading = state.orientation;
                state.velocity = Vec2::from_heading(heading) * random.between(-12.0, 25.0);
                state.spin = random.between(-0.8, 0.8);
            }
            state = MotionKind::Circular.from_state(&state).state_at(RATE.step_secs());
            state
        })
        .collect()
}

#[test]
fn after_every_observation_the_exported_path_is_within_the_threshold() {
    let kinds =
        prop_oneof![Just(MotionKind::Linear), Just(MotionKind::Quadratic), Just(MotionKind::Circular)];
    law!((any::<u64>(), kinds), |(seed, kind)| {
        let mut owner = Owner::new(EntityId(1), Trigger::within(THRESHOLD)).with_model(kind);
        for (tick, truth) in (0..).zip(drive(seed, 600)) {
            let now = at_tick(tick);
            owner.observe(Observation::Moved(truth), now).unwrap();
            let error = owner.exported().unwrap().position_at(now).distance(truth.position);
            prop_assert!(error <= THRESHOLD, "off by {error} at tick {tick}");
        }
        Ok(())
    });
}

#[test]
fn what_is_exported_is_what_is_decoded_and_comes_in_order() {
    law!(any::<u64>(), |seed| {
        let precision = Precision::default();
        let mut owner = Owner::new(EntityId(1), Trigger::within(THRESHOLD));
        let mut last = None;
        for (tick, truth) in (0..).zip(drive(seed, 300)) {
            if let Some(export) = owner.observe(Observation::Moved(truth), at_tick(tick)).unwrap() {
                prop_assert_eq!(precision.as_decoded(&export.vector), export.vector);
                prop_assert!(export.vector.generated_at <= at_tick(tick), "not from the future");
                if let Some((at, generation)) = last {
                    prop_assert!(export.vector.generated_at > at);
                    prop_assert_eq!(export.vector.generation, fairpath::number::Generation::next(generation));
                }
                last = Some((export.vector.generated_at, export.vector.generation));
            }
        }
        prop_assert!(last.is_some());
        Ok(())
    });
}

#[test]
fn standing_still_costs_one_heartbeat_a_second() {
    let mut owner = Owner::new(EntityId(1), Trigger::within(THRESHOLD));
    let stands = State::moving(Vec2::new(3.0, 4.0), Vec2::ZERO);
    let reasons: Vec<TriggerReason> = (0..600)
        .filter_map(|tick| owner.observe(Observation::Moved(stands), at_tick(tick)).unwrap())
        .map(|export| export.reason)
        .collect();
    assert_eq!(reasons[0], TriggerReason::Born);
    assert!(reasons[1..].iter().all(|reason| *reason == TriggerReason::Heartbeat));
    assert_eq!(reasons.len(), 10);
}

#[test]
fn slow_drift_triggers_in_the_end() {
    // Compared frame by frame a drift of a millimetre a frame would never be noticed.
    let mut owner = Owner::new(EntityId(1), Trigger::Distance { threshold: THRESHOLD });
    let cuts = (0..1200)
        .filter(|tick| {
            let drifting = State::moving(Vec2::new(1e-3 * *tick as f64, 0.0), Vec2::ZERO);
            owner.observe(Observation::Moved(drifting), at_tick(*tick)).unwrap().is_some()
        })
        .count();
    assert_eq!(cuts, 4, "born, and once every 300 frames");
}

#[test]
fn a_jump_is_always_told_and_starts_a_life() {
    law!((state2(), state2()), |(before, after)| {
        let mut owner = Owner::new(EntityId(1), Trigger::within(THRESHOLD));
        let now = at_tick(5);
        let first = owner.observe(Observation::Moved(before), now).unwrap().unwrap().vector;
        let export = owner.observe(Observation::Jumped(after), now).unwrap().unwrap();
        prop_assert_eq!(export.reason, TriggerReason::Jumped);
        prop_assert_eq!(export.vector.life, first.life.next());
        prop_assert!(export.vector.generated_at > first.generated_at, "even within one millisecond");
        Ok(())
    });
}

#[test]
fn nonsense_is_refused_and_changes_nothing() {
    let mut owner = Owner::new(EntityId(9), Trigger::within(THRESHOLD));
    let nonsense = State::moving(Vec2::new(f64::NAN, 0.0), Vec2::ZERO);
    assert_eq!(
        owner.observe(Observation::Moved(nonsense), at_tick(0)),
        Err(ObserveError::NotFinite(EntityId(9)))
    );
    assert!(owner.exported().is_none());
}
