//! Goal: tanks drive on exact circles, slide and stop at obstacles, and are never inside anything.
//! Method: hands that do simple or random things, and a checker that looks at every tick.

use fairpath::motion::MotionKind;
use fairpath::random::Random;
use fairpath::vector::{Vec2, Vector};
use fairpath_games::tanks::{Input, Map, Rectangle, TANK_LENGTH, Tanks, TanksConfig};
use fairpath_laws::{law, proptest::prelude::*};

use super::{assert_sound, empty_field, on_map, random_inputs};

#[test]
fn nobody_is_ever_inside_anything_or_too_fast() {
    law!((any::<u64>(), any::<bool>()), |(seed, is_sluggish)| {
        let mut config = TanksConfig { tanks: [4, 4], ..TanksConfig::default() };
        if is_sluggish {
            (config.acceleration_max, config.turn_acceleration_max) = (20.0, 2.0);
        }
        let mut tanks = Tanks::new(config, seed).expect("sound rules");
        let mut random = Random::from_seed(seed);
        let mut inputs = Vec::new();
        for _ in 0..300 {
            random_inputs(8, &mut random, &mut inputs);
            tanks.step(&inputs);
            assert_sound(&tanks);
        }
        Ok(())
    });
}

#[test]
fn a_crowd_in_a_small_yard_stays_sound() {
    let bases = [Vec2::new(-45.0, 0.0), Vec2::new(45.0, 0.0)];
    let boxes = vec![Rectangle::new(Vec2::new(0.0, 0.0), 0.4, 12.0, 4.0)];
    for seed in 0..4 {
        let map = Map::new(80.0, boxes.clone(), bases).expect("sound");
        let mut tanks = on_map(map, [10, 10], seed);
        let mut random = Random::from_seed(seed);
        let mut inputs = Vec::new();
        for _ in 0..3_000 {
            random_inputs(20, &mut random, &mut inputs);
            tanks.step(&inputs);
            assert_sound(&tanks);
        }
    }
}

#[test]
fn a_circular_dr_vector_follows_a_tank_whose_hands_are_still() {
    law!((any::<u64>(), -1.0..1.0f64, -1.0..1.0f64), |(seed, throttle, turn)| {
        let mut tanks = empty_field([1, 0], seed);
        let hands = [Input::drive(throttle, turn)];
        tanks.step(&hands);
        let (start, began) = (tanks.tanks()[0].state(), tanks.now());
        let motion = MotionKind::Circular.from_state(&start);
        for _ in 0..120 {
            tanks.step(&hands);
            let state = tanks.tanks()[0].state();
            let guess = motion.state_at((tanks.now() - began).as_secs_f64());
            // The far wall is near the base: what has met it is another story.
            if shape_near_wall(state.position) {
                break;
            }
            prop_assert!(guess.position.distance(state.position) < 1e-9);
            prop_assert!(guess.velocity.distance(state.velocity) < 1e-9);
            prop_assert!(guess.acceleration.distance(state.acceleration) < 1e-9);
            prop_assert!(Vec2::angle_between(guess.orientation, state.orientation) < 1e-9);
        }
        Ok(())
    });
}

fn shape_near_wall(position: Vec2) -> bool {
    position.x.abs().max(position.y.abs()) > 400.0 - TANK_LENGTH
}

#[test]
fn speeds_are_those_of_the_rules_and_come_at_once() {
    let mut tanks = empty_field([1, 0], 1);
    for (throttle, speed) in
        [(1.0, 25.0), (-1.0, -12.5), (0.5, 12.5), (0.0, 0.0), (7.0, 25.0), (f64::NAN, 0.0)]
    {
        tanks.step(&[Input::drive(throttle, 0.0)]);
        assert!((tanks.tanks()[0].state().signed_speed() - speed).abs() < 1e-12, "throttle {throttle}");
    }
    tanks.step(&[Input::drive(0.0, -1.0)]);
    assert_eq!(tanks.tanks()[0].state().spin, -std::f64::consts::FRAC_PI_4);
    tanks.step(&[]);
    assert_eq!(tanks.tanks()[0].state().spin, 0.0, "no input is hands off");
}

#[test]
fn acceleration_limits_are_kept() {
    let config =
        TanksConfig { acceleration_max: 25.0, turn_acceleration_max: 1.0, ..TanksConfig::lone_tank() };
    let mut tanks = Tanks::new(config, 1).expect("sound rules");
    let mut before = tanks.tanks()[0].state();
    for tick in 0..120 {
        tanks.step(&[Input::drive(if tick < 80 { 1.0 } else { -1.0 }, 1.0)]);
        let state = tanks.tanks()[0].state();
        assert!((state.signed_speed() - before.signed_speed()).abs() <= 25.0 / 60.0 + 1e-4);
        assert!((state.spin - before.spin).abs() <= 1.0 / 60.0 + 1e-5);
        if tick == 70 {
            assert!((state.signed_speed() - 25.0).abs() < 1e-9, "full speed after a second");
        }
        before = state;
    }
}

/// Goal: no jitter. Method: push against a wall, head-on and at an angle.
#[test]
fn walls_stop_and_let_slide_without_jitter() {
    for heading in [0.0, 0.6, -1.2, 3.0] {
        let mut tanks = empty_field([1, 0], 4);
        turn_to(&mut tanks, heading);
        for _ in 0..60 * 300 {
            tanks.step(&[Input::drive(1.0, 0.0)]);
        }
        // In a corner by now, or square against a wall: pushing on, nothing moves any more.
        let rest = tanks.tanks()[0].state();
        for _ in 0..120 {
            tanks.step(&[Input::drive(1.0, 0.0)]);
            assert_eq!(tanks.tanks()[0].state().position, rest.position);
            assert_eq!(tanks.tanks()[0].state().velocity, Vec2::ZERO);
        }
        // And it comes away again.
        for _ in 0..60 {
            tanks.step(&[Input::drive(-1.0, 0.0)]);
        }
        assert!(tanks.tanks()[0].state().position.distance(rest.position) > 12.0);
    }
}

#[test]
fn a_tank_slides_along_a_box_at_the_speed_that_is_left() {
    let bases = [Vec2::new(-100.0, 0.0), Vec2::new(150.0, 200.0)];
    // A long wall in front of the base, at an angle of 45°.
    let wall = Rectangle::new(Vec2::new(0.0, 0.0), std::f64::consts::FRAC_PI_4, 300.0, 10.0);
    let mut tanks = on_map(Map::new(400.0, vec![wall], bases).expect("sound"), [1, 0], 9);
    turn_to(&mut tanks, 0.0);
    let mut slid = 0;
    for _ in 0..600 {
        tanks.step(&[Input::drive(1.0, 0.0)]);
        let state = tanks.tanks()[0].state();
        let speed = state.velocity.length();
        if (speed - 25.0 * std::f64::consts::FRAC_1_SQRT_2).abs() < 1e-3 {
            assert!(Vec2::angle_between(state.velocity.heading(), std::f64::consts::FRAC_PI_4) < 1e-3);
            slid += 1;
        }
        assert_sound(&tanks);
    }
    assert!(slid > 60, "slid for {slid} ticks");
}

#[test]
fn tanks_stop_each_other() {
    let bases = [Vec2::new(-60.0, 0.0), Vec2::new(60.0, 0.0)];
    for seed in 0..10 {
        let mut tanks = on_map(Map::new(400.0, vec![], bases).expect("sound"), [1, 1], seed);
        let mut nearest = f64::INFINITY;
        for _ in 0..600 {
            // Each drives at the other.
            let states = [0, 1].map(|number: usize| tanks.tanks()[number].state());
            let hands = [0, 1].map(|number: usize| {
                let way = states[1 - number].position - states[number].position;
                let off = fairpath::rotation::wrap_angle(way.heading() - states[number].orientation);
                Input::drive(if off.abs() < 0.3 { 1.0 } else { 0.0 }, off * 4.0)
            });
            tanks.step(&hands);
            assert_sound(&tanks);
            nearest = nearest.min(states[0].position.distance(states[1].position));
        }
        assert!(nearest < TANK_LENGTH + 0.5, "they met: {nearest}");
    }
}

/// Turns the first tank on the spot until it faces `heading`.
fn turn_to(tanks: &mut Tanks, heading: f64) {
    loop {
        let off = fairpath::rotation::wrap_angle(heading - tanks.tanks()[0].state().orientation);
        if off.abs() < 1e-9 {
            return;
        }
        let per_tick = std::f64::consts::FRAC_PI_4 / 60.0;
        tanks.step(&[Input::drive(0.0, (off / per_tick).clamp(-1.0, 1.0))]);
    }
}
