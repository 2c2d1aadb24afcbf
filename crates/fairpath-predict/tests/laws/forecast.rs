//! What the adaptive forecast promises: fewer DR vectors within the same threshold, at any
//! frequency of observation, and never a motion that the owner's trigger refuses.

use fairpath::motion::MotionKind;
use fairpath::random::Random;
use fairpath::rotation::wrap_angle;
use fairpath::time::{SharedInstant, TickRate};
use fairpath::vector::{Vec2, Vector};
use fairpath::{EntityId, Observation, Owner, State, Trigger};
use fairpath_laws::{law, proptest::prelude::*};
use fairpath_predict::AdaptiveForecast;

const THRESHOLD: f64 = 0.2;

/// A ship of an asteroids game that turns at 3 rad/s and thrusts at 60 u/s² to visit places.
fn ship(seed: u64, rate: TickRate, secs: i64) -> Vec<State<Vec2>> {
    let (mut random, step) = (Random::from_seed(seed), rate.step_secs());
    let (mut position, mut velocity, mut heading) = (Vec2::ZERO, Vec2::new(20.0, 0.0), 0.0);
    let mut goal = Vec2::ZERO;
    let pilot = |_| {
        if position.distance(goal) < 15.0 {
            goal = Vec2::new(random.between(-150.0, 150.0), random.between(-150.0, 150.0));
        }
        let wanted = (goal - position) * (40.0 / position.distance(goal)) - velocity;
        let turn = wrap_angle(wanted.heading() - heading);
        heading += turn.clamp(-3.0 * step, 3.0 * step);
        let thrusts = turn.abs() < 0.5 && wanted.length() > 5.0;
        let acceleration = Vec2::from_heading(heading) * if thrusts { 60.0 } else { 0.0 } - velocity * 0.5;
        velocity += acceleration * step;
        position += velocity * step;
        let sideways = velocity.x * acceleration.y - velocity.y * acceleration.x;
        State::moving(position, velocity)
            .with_acceleration(acceleration)
            .with_heading(velocity.heading(), sideways / velocity.length_squared().max(1.0))
    };
    (0..secs * i64::from(rate.as_hz())).map(pilot).collect()
}

/// Returns the number of DR vectors that `owner` generates.
fn count(mut owner: Owner<Vec2>, path: &[State<Vec2>], rate: TickRate) -> usize {
    (0..)
        .zip(path)
        .filter(|(tick, truth)| {
            let at = SharedInstant::ZERO + rate.begin(*tick);
            let export = owner.observe(Observation::Moved(**truth), at).expect("finite and in order");
            let error = owner.exported().expect("born").position_at(at).distance(truth.position);
            assert!(error <= THRESHOLD, "off by {error} at {at:?}");
            export.is_some()
        })
        .count()
}

fn owner(kind: MotionKind) -> Owner<Vec2> {
    Owner::new(EntityId(1), Trigger::within(THRESHOLD)).with_model(kind).anticipating()
}

#[test]
fn a_pilot_with_a_plan_needs_fewer_dr_vectors_than_with_any_one_model() {
    for rate in [20, 60, 144].map(TickRate::hz) {
        let path = ship(7, rate, 300);
        let models = [MotionKind::Linear, MotionKind::Quadratic, MotionKind::Circular];
        let best = models.map(|kind| count(owner(kind), &path, rate)).into_iter().min();
        let best = best.expect("three models");
        let forecast = AdaptiveForecast::new(60.0, THRESHOLD, MotionKind::Linear);
        let learned = count(owner(MotionKind::Linear).with_forecast(Box::new(forecast)), &path, rate);
        assert!(learned * 10 <= best * 8, "{learned} instead of {best} at {} Hz", rate.as_hz());
    }
}

#[test]
fn jumps_gaps_and_huge_numbers_are_survived() {
    let step = (0..4u8, -1e30..1e30f64, -1e30..1e30f64, 0..3_000_000i64);
    law!(prop::collection::vec(step, 1..60), |steps| {
        let forecast = AdaptiveForecast::new(60.0, THRESHOLD, MotionKind::Circular);
        let mut owner = owner(MotionKind::Circular).with_forecast(Box::new(forecast));
        let mut at = SharedInstant::ZERO;
        for (kind, x, y, micros) in steps {
            at += fairpath::Span::from_micros(micros);
            let scale = [1.0, 1e-29, 1e-29, 0.0][usize::from(kind)];
            let state = State::moving(Vec2::new(x, y) * scale, Vec2::new(y, x) * scale);
            let jumps = kind == 1;
            let observation = if jumps { Observation::Jumped(state) } else { Observation::Moved(state) };
            if let Some(export) = owner.observe(observation, at).expect("within bounds") {
                prop_assert!(export.vector.is_finite());
            }
        }
        Ok(())
    });
}
