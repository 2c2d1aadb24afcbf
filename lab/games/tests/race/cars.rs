//! Goal: cars keep to the road and to what tyres, engine and hands can do. Method: bots, random
//! hands and walls.

use std::sync::Arc;

use fairpath::random::Random;
use fairpath::vector::{Vec2, Vector};
use fairpath_games::race::{
    CAR_RADIUS, CARS_MAX, CarModel, CarMotion, Input, Preset, Race, RaceConfig, RaceEvent, TICK_RATE, Track,
};
use fairpath_games::shared::PlayerInput;
use fairpath_laws::{law, proptest::prelude::*};

use super::{Picture, assert_sound, bots, random_inputs, tracks};

fn step_secs() -> f64 {
    TICK_RATE.step_secs()
}

/// The most that tyres and air together can change a car's velocity, m/s².
fn acceleration_max(model: &CarModel, speed: f64) -> f64 {
    model.grip_at(speed) + model.drag_at(speed) + 0.2
}

#[test]
fn bots_stay_on_the_road() {
    for (seed, track) in (0..).zip(tracks(8)) {
        let picture = Picture::of(&track);
        let mut heat = bots(&track, seed);
        for _ in 0..600 {
            for _ in 0..5 {
                heat.step();
            }
            assert_sound(heat.race(), &picture);
        }
    }
}

#[test]
fn random_hands_stay_on_the_road() {
    let everywhere: Vec<(Arc<Track>, Picture)> =
        tracks(12).map(|track| (Arc::clone(&track), Picture::of(&track))).collect();
    law!((any::<u64>(), 0..everywhere.len()), |(seed, number)| {
        let (track, picture) = &everywhere[number];
        let config = RaceConfig { cars: 8, ..RaceConfig::default() };
        let mut race = Race::new(Arc::clone(track), config).expect("sound rules");
        let mut random = Random::from_seed(seed);
        let mut inputs = Vec::new();
        for tick in 0..600 {
            random_inputs(8, &mut random, &mut inputs);
            race.step(&inputs);
            if tick % 10 == 0 {
                assert_sound(&race, picture);
            }
        }
        assert_sound(&race, picture);
        Ok(())
    });
}

#[test]
fn tyres_engine_and_hands_keep_their_limits() {
    let model = CarModel::default();
    let motion = (-60.0..60.0, -60.0..60.0, -4.0..4.0, -1.0..1.0);
    let input = (-1.5..1.5, -0.5..1.5, -1.5..1.5);
    law!((motion, input), |((vx, vy, heading, steer), (throttle, brake, pull))| {
        let velocity = Vec2::new(vx, vy).clamp_length(model.top_speed);
        let car = CarMotion { velocity, heading, steer, ..CarMotion::default() };
        let next = model.drive(&car, Input { throttle, brake, steer: pull }, step_secs());
        let change = (next.velocity - velocity).length() / step_secs();
        prop_assert!(change <= acceleration_max(&model, velocity.length()) * (1.0 + 1e-9), "{change} m/s²");
        prop_assert!(next.velocity.length() <= model.top_speed * (1.0 + 1e-12));
        let tyres_turn = next.turn_rate.abs() * velocity.length();
        prop_assert!(tyres_turn <= 1.151 * model.grip_at(velocity.length()), "turns by {tyres_turn} m/s²");
        prop_assert!((next.steer - steer).abs() <= step_secs() / model.steer_secs + 1e-12);
        Ok(())
    });
}

#[test]
fn on_the_track_nobody_exceeds_the_limits_but_by_hitting_something() {
    for (seed, track) in (0..).zip(tracks(4)) {
        let mut heat = bots(&track, seed);
        let mut before: Vec<CarMotion> = heat.race().cars().iter().map(|car| *car.motion()).collect();
        for _ in 0..2_000 {
            heat.step();
            let race = heat.race();
            for (car, before) in race.cars().iter().zip(&mut before) {
                let was_hit = race.events().iter().any(|event| match *event {
                    RaceEvent::HitWall { car: hit, .. } => hit == car.id(),
                    RaceEvent::Bumped { one, other, .. } => one == car.id() || other == car.id(),
                    _ => false,
                });
                let now = *car.motion();
                let change = (now.velocity - before.velocity).length() / step_secs();
                let model = &race.config().car;
                let allowed = acceleration_max(model, before.velocity.length()) * (1.0 + 1e-9);
                assert!(
                    was_hit || !car.is_racing() || change <= allowed,
                    "{:?} changed by {change}",
                    car.id()
                );
                let moved = now.position.distance(before.position);
                // Two overlapping cars are pushed apart by less than a car.
                assert!(moved <= model.top_speed * step_secs() + 2.0 * CAR_RADIUS, "jumped {moved} m");
                assert!(now.velocity.length() <= model.top_speed * (1.0 + 1e-12));
                *before = now;
            }
        }
    }
}

#[test]
fn a_car_reaches_its_top_speed_and_no_more() {
    let model = CarModel::default();
    let full = Input { throttle: 1.0, ..Input::IDLE };
    let mut car = CarMotion::default();
    let mut secs_to_100 = 0.0;
    for _ in 0..60 * 90 {
        car = model.drive(&car, full, step_secs());
        secs_to_100 += if car.velocity.length() < 100.0 / 3.6 { step_secs() } else { 0.0 };
    }
    let speed = car.velocity.length();
    assert!((0.95 * model.top_speed..=model.top_speed).contains(&speed), "{speed} m/s");
    assert!((3.5..5.0).contains(&secs_to_100), "0 to 100 km/h in {secs_to_100} s");
}

#[test]
fn brakes_stop_a_car_and_do_not_push_it_back() {
    let model = CarModel::default();
    law!((-6.0..63.0, -3.0..3.0), |(speed, heading)| {
        let mut car =
            CarMotion { velocity: Vec2::from_heading(heading) * speed, heading, ..CarMotion::default() };
        for _ in 0..60 * 8 {
            car = model.drive(&car, Input { brake: 1.0, ..Input::IDLE }, step_secs());
            let rolling = car.velocity.dot(Vec2::from_heading(heading));
            prop_assert!(rolling * speed >= -1e-12, "from {speed} to {rolling}");
        }
        prop_assert!(car.velocity.length() < 1e-6, "still {}", car.velocity.length());
        Ok(())
    });
}

/// Too fast for the bend, a car goes wide: it turns exactly as tightly as the tyres hold.
#[test]
fn grip_grows_with_speed_and_limits_the_bend() {
    let model = CarModel::default();
    let radius_at = |speed: f64| {
        let mut car = CarMotion { velocity: Vec2::new(speed, 0.0), ..CarMotion::default() };
        let hold = Input { throttle: 0.4, steer: 1.0, ..Input::IDLE };
        for _ in 0..40 {
            car = model.drive(&car, hold, step_secs());
        }
        let now = car.velocity;
        let next = model.drive(&car, hold, step_secs()).velocity;
        let turned = (now.x * next.y - now.y * next.x) / now.length() / next.length();
        now.length() * step_secs() / turned
    };
    for speed in [20.0, 30.0, 40.0, 50.0] {
        let tightest = speed * speed / model.grip_at(speed);
        let radius = radius_at(speed);
        assert!((0.75 * tightest..1.5 * tightest).contains(&radius), "{speed} m/s: {radius} of {tightest}");
    }
}

#[test]
fn a_wall_slows_a_car_and_lets_it_slide_on() {
    let track = Arc::new(Track::preset(Preset::Oval));
    let config = RaceConfig { cars: 1, ..RaceConfig::default() };
    let mut race = Race::new(track, config).expect("sound rules");
    // Gather speed on the straight, then a little to the left until the wall is there.
    let (straight, left) = (0.0, 0.15);
    let mut first_hit = None;
    for tick in 0..60 * 6 {
        let steer = if tick < 150 { straight } else { left };
        let before = race.cars()[0].motion().velocity.length();
        race.step(&[Input { throttle: 1.0, brake: 0.0, steer }]);
        let hit = race.events().iter().find_map(|event| match event {
            RaceEvent::HitWall { speed, .. } => Some(*speed),
            _ => None,
        });
        if let (Some(into_wall), None) = (hit, first_hit) {
            first_hit = Some(into_wall);
            let after = race.cars()[0].motion().velocity.length();
            assert!(after < before, "a wall takes speed: {before} to {after}");
            assert!(after > 0.8 * before, "a glancing hit is not the end: {before} to {after}");
        }
    }
    assert!(first_hit.is_some(), "the wall is there");
    assert!(race.cars()[0].motion().velocity.length() > 5.0, "it slides on along the wall");
}

#[test]
fn cars_push_each_other_or_pass_through_as_the_rules_say() {
    let run = |cars_bump: bool| {
        let track = Arc::new(Track::preset(Preset::Oval));
        let config = RaceConfig { cars: 3, cars_bump, ..RaceConfig::default() };
        let mut race = Race::new(track, config).expect("sound rules");
        // Car 2 stands in the same column behind car 0, which stays where it is.
        let full = Input { throttle: 1.0, ..Input::IDLE };
        let mut bumps = 0;
        for _ in 0..180 {
            race.step(&[Input::IDLE, Input::IDLE, full]);
            bumps += race.events().iter().filter(|event| matches!(event, RaceEvent::Bumped { .. })).count();
            if cars_bump {
                let apart = race.cars()[0].motion().position.distance(race.cars()[2].motion().position);
                assert!(apart > 2.0 * CAR_RADIUS - 1.2, "cars are {apart} m apart");
            }
        }
        (race.cars()[0].motion().velocity.length(), bumps)
    };
    let (pushed, bumps) = run(true);
    assert!(pushed > 3.0 && bumps > 0, "pushed to {pushed} m/s by {bumps} bumps");
    assert_eq!(run(false), (0.0, 0));
}

#[test]
fn rules_are_checked() {
    let track = Arc::new(Track::preset(Preset::Oval));
    let error = |config: RaceConfig| Race::new(Arc::clone(&track), config).expect_err("broken rules").knob;
    let standard = RaceConfig::default();
    assert_eq!(error(RaceConfig { cars: CARS_MAX + 1, ..standard }), "cars");
    assert_eq!(error(RaceConfig { laps: Some(0), ..standard }), "laps");
    let car = CarModel { grip: f64::NAN, ..standard.car };
    assert_eq!(error(RaceConfig { car, ..standard }), "grip");
    let car = CarModel { downforce: -1.0, ..standard.car };
    assert_eq!(error(RaceConfig { car, ..standard }), "downforce");
    let car = CarModel { top_speed: 200.0, ..standard.car };
    assert_eq!(error(RaceConfig { car, ..standard }), "top_speed");
    let car = CarModel { downforce: 0.0, ..standard.car };
    assert!(Race::new(track, RaceConfig { car, ..standard }).is_ok(), "cars without wings are cars");
}

#[test]
fn nonsense_inputs_are_hands_off_or_full() {
    let wild = Input { throttle: f64::NAN, brake: -3.0, steer: f64::INFINITY }.limited();
    assert_eq!(wild, Input { throttle: 0.0, brake: 0.0, steer: 1.0 });
}
