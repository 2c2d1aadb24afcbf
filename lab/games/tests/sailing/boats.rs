//! Goal: boats sail as boats do. Method: single boats in steady winds, mirrored ones, and random
//! hands.

use std::f64::consts::{FRAC_PI_2, PI};

use fairpath::random::Random;
use fairpath::vector::{Vec2, Vector};
use fairpath_games::sailing::{
    Boat, BoatModel, Current, Helm, Input, KNOT, SailingConfig, TICK_RATE, Wind, blowing_from, from_west,
};
use fairpath_laws::{law, proptest::prelude::*};

use super::{in_wind, race, random_input};

const STILL: Vec2 = Vec2::new(0.0, 0.0);

fn sail(boat: &Boat, input: Input, wind: Vec2) -> Boat {
    BoatModel::default().sail(boat, Some(input), wind, STILL, TICK_RATE.step_secs())
}

/// The speed, in ft/s, after two minutes of heading 0 with a sail at `share` of the angle to the
/// apparent wind.
fn settled_speed(from: f64, knots: f64, share: f64) -> f64 {
    let wind = blowing_from(from, knots);
    let mut boat = Boat::at_rest(STILL, 0.0);
    for _ in 0..120 * TICK_RATE.as_hz() {
        let sheet = share * boat.wind_angle(wind, STILL) / FRAC_PI_2;
        boat = sail(&boat, Input::new(sheet, 0.0), wind);
    }
    boat.speed
}

#[test]
fn twenty_knots_drive_a_boat_at_eight_to_twelve_feet_per_second() {
    for degrees in [75.0_f64, 90.0, 120.0, 150.0, 180.0] {
        let speed = settled_speed(degrees.to_radians(), 20.0, 0.5);
        assert!((8.0..12.0).contains(&speed), "{degrees}°: {speed} ft/s");
    }
    let into_the_wind = settled_speed(0.0, 20.0, 0.5);
    assert!(into_the_wind < 0.01, "boats do not sail into the wind: {into_the_wind}");
    assert!(
        settled_speed(0.7, 20.0, 0.5) < settled_speed(2.0, 20.0, 0.5),
        "a broad reach is faster than a beat"
    );
}

/// With a rate the rudder turns while it is held, stays where it is left, and stops at its end.
#[test]
fn a_rudder_turned_at_a_rate_stays_where_it_is_left() {
    let model = BoatModel { helm: Helm::Rate, ..BoatModel::default() };
    let steer = |boat: &Boat, rudder: f64, secs: f64| {
        let ticks = (secs * f64::from(TICK_RATE.as_hz())).round() as u32;
        (0..ticks).fold(*boat, |boat, _| {
            model.sail(&boat, Some(Input::new(0.5, rudder)), from_west(20.0), STILL, TICK_RATE.step_secs())
        })
    };
    let quarter = steer(&Boat::at_rest(STILL, 0.0), 0.5, 0.5);
    assert!((quarter.rudder - 0.25 * model.rudder_rate).abs() < 1e-9, "{}", quarter.rudder);
    assert_eq!(steer(&quarter, 0.0, 3.0).rudder, quarter.rudder, "it is left alone");
    assert_eq!(steer(&quarter, -1.0, 9.0).rudder, -model.rudder_max, "and ends at its largest angle");
    let told = sail(&Boat { rudder: 0.3, ..quarter }, Input::new(0.5, 0.0), from_west(20.0));
    assert!(told.rudder < 0.3, "a rudder that is told its angle comes back");
}

#[test]
fn half_the_apparent_wind_angle_drives_hardest() {
    law!((0.3..PI, 5.0..30.0, prop_oneof![0.1..0.4, 0.6..0.95]), |(from, knots, share)| {
        let best = settled_speed(from, knots, 0.5);
        let other = settled_speed(from, knots, share);
        prop_assert!(other <= best + 1e-9, "{share} of the angle: {other}, half of it: {best}");
        Ok(())
    });
}

/// Everything that a mirror turns around is turned around, and nothing else.
fn mirrored(boat: &Boat) -> Boat {
    let flip = |vector: Vec2| Vec2::new(vector.x, -vector.y);
    Boat {
        position: flip(boat.position),
        velocity: flip(boat.velocity),
        heading: -boat.heading,
        sail: -boat.sail,
        rudder: -boat.rudder,
        turn_rate: -boat.turn_rate,
        ..*boat
    }
}

#[test]
fn port_and_starboard_are_alike() {
    law!((any::<u64>(), -3.0..3.0, 1.0..30.0, -3.0..3.0), |(seed, from, knots, heading)| {
        let wind = blowing_from(from, knots);
        let other_wind = Vec2::new(wind.x, -wind.y);
        let mut boat = Boat::at_rest(STILL, heading);
        let mut other = mirrored(&boat);
        let mut random = Random::from_seed(seed);
        let mut held = Input::IDLE;
        for _ in 0..500 {
            let input = random_input(&mut random, &mut held);
            boat = sail(&boat, input, wind);
            other = sail(&other, Input { rudder: -input.rudder, ..input }, other_wind);
            prop_assert_eq!(mirrored(&boat), other);
        }
        Ok(())
    });
}

#[test]
fn without_wind_a_boat_slows_down_until_it_lies_still() {
    let mut boat = Boat { speed: 12.0, ..Boat::at_rest(STILL, 1.0) };
    let mut before = boat.speed;
    for _ in 0..1_800 * TICK_RATE.as_hz() {
        boat = sail(&boat, Input::new(0.6, 0.3), STILL);
        assert!((0.0..before).contains(&boat.speed), "{} after {before}", boat.speed);
        before = boat.speed;
    }
    assert!(boat.speed < 0.05, "still {} ft/s after half an hour", boat.speed);
}

#[test]
fn a_sheet_let_out_beyond_the_wind_lets_the_sail_flap() {
    let from_abeam = blowing_from(FRAC_PI_2, 20.0);
    let settle = |sheet: f64| {
        let mut boat = Boat::at_rest(STILL, 0.0);
        for _ in 0..100 {
            boat = BoatModel { sail_force: 0.0, ..BoatModel::default() }.sail(
                &boat,
                Some(Input::new(sheet, 0.0)),
                from_abeam,
                STILL,
                TICK_RATE.step_secs(),
            );
        }
        boat
    };
    let tight = settle(0.5);
    assert!(tight.is_tight && (tight.sail - tight.sheet).abs() < 1e-12, "{tight:?}");
    let limp = settle(1.0);
    assert!(!limp.is_tight && (limp.sail - FRAC_PI_2).abs() < 1e-9, "{limp:?}");
}

#[test]
fn the_rudder_turns_the_boat_by_its_speed() {
    let turned = |speed: f64, rudder: f64| {
        let boat = Boat { speed, rudder, ..Boat::at_rest(STILL, 0.0) };
        let model = BoatModel::default();
        model.sail(&boat, None, STILL, STILL, TICK_RATE.step_secs()).turn_rate
    };
    assert_eq!(turned(0.0, 0.7), 0.0, "a boat at rest does not turn");
    assert!(turned(5.0, 0.5) > 0.0 && turned(5.0, -0.5) == -turned(5.0, 0.5));
    assert!((turned(10.0, 0.5) / turned(5.0, 0.5) - 2.0).abs() < 0.01, "twice as fast, twice the turn");
}

#[test]
fn a_current_carries_everybody_alike() {
    let drift = Vec2::new(-1.0, 2.0);
    let config = SailingConfig { current: Current::Constant(drift), ..in_wind(Wind::Constant(drift)) };
    // Air that moves with the water: on board it is calm.
    let mut sea = race(config, 1);
    sea.step(&[Input::new(0.5, 0.0), Input::new(1.0, 1.0)], 500);
    for boat in &sea.scene().boats {
        assert!(boat.position.distance(drift * 10.0) < 1e-6, "{:?}", boat.position);
        assert!(boat.speed < 1e-9);
    }
}

#[test]
fn no_hands_break_anything_and_nothing_outruns_its_wind() {
    law!((any::<u64>(), 0.0..0.4, 5.0..100.0, 0.0..100.0), |(seed, sail_force, mass, knots)| {
        let model = BoatModel { sail_force, mass, ..BoatModel::default() };
        let config = SailingConfig { boat: model, ..in_wind(Wind::God(from_west(knots))) };
        let mut sea = race(config.clone(), seed);
        let mut random = Random::from_seed(seed);
        let mut held = [Input::IDLE; 2];
        // Even a sail that always stood square to the apparent wind: v = k·(wind + v) with k² =
        // 2·C0.
        let k = (2.0 * sail_force).sqrt();
        let speed_max = k * 100.0 * KNOT / (1.0 - k);
        for _ in 0..1_000 {
            let inputs = held.each_mut().map(|held| random_input(&mut random, held));
            sea.step(&inputs, 1);
            for boat in &sea.scene().boats {
                prop_assert!(
                    boat.position.is_finite() && boat.velocity.is_finite() && boat.heading.is_finite()
                );
                prop_assert!((0.0..=speed_max).contains(&boat.speed), "{} ft/s", boat.speed);
                prop_assert!(boat.sail.abs() <= boat.sheet && (0.0..=FRAC_PI_2).contains(&boat.sheet));
                prop_assert!(boat.rudder.abs() <= model.rudder_max);
            }
        }
        Ok(())
    });
}
