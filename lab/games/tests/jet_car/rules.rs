//! Goal: the rules are those of Buchheit 2004. Method: small scenes by hand, and random hands for
//! what must never happen.

use fairpath::random::Random;
use fairpath::vector::{Vec2, Vector};
use fairpath_games::jet_car::{
    Event, Gust, Input, JetCarConfig, JetCarScene, OBSTRUCTIONS_MAX, Obstruction, Pace, Size,
};
use fairpath_games::shared::PlayerInput;
use fairpath_laws::{law, proptest::prelude::*};

use super::{game, random_input};

const RULES: fn() -> JetCarConfig = JetCarConfig::default;

#[test]
fn a_tick_moves_first_and_then_changes_the_velocity() {
    let rules = RULES();
    let mut scene = JetCarScene::new(&rules);
    let start = rules.start();
    scene.step(&rules, Input::new(1.0, 0.0), 1);
    // V += U/10 with U = 40, after P += V·Δt with V = 0.
    assert_eq!((scene.car.position, scene.car.velocity), (start, Vec2::new(4.0, 0.0)));
    scene.step(&rules, Input::IDLE, 1);
    assert_eq!(scene.car.position, start + Vec2::new(0.04, 0.0));
    assert_eq!(scene.car.velocity, Vec2::new(4.0, 0.0), "nothing slows it");
    scene.gust = Some(Gust { push: Vec2::new(-3.0, 0.0), ticks_left: 2 });
    scene.step(&rules, Input::IDLE, 5);
    assert_eq!(scene.car.velocity, Vec2::new(-2.0, 0.0), "two ticks of wind");
    assert_eq!(scene.gust, None);
}

fn with_one(above: f64) -> (JetCarConfig, JetCarScene) {
    let rules = RULES();
    let mut scene = JetCarScene::new(&rules);
    let position = rules.start() - Vec2::new(0.0, above);
    scene.obstructions.push(Obstruction { number: 1, size: Size::Small, pace: Pace::Fast, position });
    (rules, scene)
}

#[test]
fn a_hit_costs_four_and_what_passes_is_worth_one() {
    let (rules, mut parked) = with_one(100.0);
    parked.step(&rules, Input::IDLE, 100);
    assert_eq!((parked.score, parked.obstructions.len(), parked.lives), (-4, 0, 3));

    let (rules, mut moved) = with_one(300.0);
    moved.step(&rules, Input::new(1.0, 0.0), 40);
    moved.step(&rules, Input::new(-1.0, 0.0), 40);
    moved.step(&rules, Input::IDLE, 100);
    assert_eq!((moved.score, moved.obstructions.len(), moved.lives), (1, 0, 3));
}

#[test]
fn walls_destroy_the_car_and_the_third_time_is_the_last() {
    let rules = RULES();
    for direction in [-1.0, 1.0] {
        let mut run = game(rules, 1);
        let mut destroyed = 0;
        while !run.is_over() {
            run.step(Input::new(direction, 0.0), 1);
            let crashes =
                run.events().iter().filter(|event| matches!(event, Event::Destroyed { .. })).count();
            destroyed += crashes;
            if crashes > 0 {
                assert_eq!(run.scene().car.position, rules.start(), "the next one begins at the start");
                assert_eq!(run.scene().car.velocity, Vec2::ZERO);
            }
        }
        assert_eq!((destroyed, run.scene().lives), (3, 0));
        let over = run.scene().clone();
        run.step(Input::new(direction, 0.0), 500);
        assert_eq!(JetCarScene { tick: over.tick, ..run.scene().clone() }, over, "over is over");
    }
}

#[test]
fn two_minutes_of_parking_end_where_they_did_in_s3() {
    let mut total = 0;
    for seed in 0..24 {
        let mut run = game(RULES(), seed);
        run.step(Input::IDLE, 12_000);
        assert!(run.is_over());
        total += run.scene().score;
    }
    let mean = f64::from(total) / 24.0;
    assert!(
        (-185.0..-135.0).contains(&mean),
        "Buchheit 2004's parked car ended at about −165, this one at {mean}"
    );
}

#[test]
fn no_hands_and_no_wind_break_anything() {
    law!((any::<u64>(), 0.0..200.0, 0.0..20.0), |(seed, thrust, push_max)| {
        let mut config = JetCarConfig { thrust, lives: 1_000, ..JetCarConfig::windy() };
        config.wind = config.wind.map(|gusts| fairpath_games::jet_car::Gusts { push_max, ..gusts });
        let mut run = game(config, seed);
        let mut random = Random::from_seed(seed);
        let mut held = Input::IDLE;
        // From wall to wall under the greatest push there is: v² = 2·a·s, and one tick more.
        let push = thrust / 10.0 + push_max;
        let speed_max = (2.0 * push * 100.0 * config.width.max(config.height)).sqrt() + push;
        let half = 0.5 * config.car_size;
        for _ in 0..1_500 {
            run.step(random_input(&mut random, &mut held), 1);
            let scene = run.scene();
            let car = scene.car;
            prop_assert!(car.position.is_finite() && car.velocity.is_finite());
            prop_assert!((half..=config.width - half).contains(&car.position.x), "{:?}", car.position);
            prop_assert!((half..=config.height - half).contains(&car.position.y), "{:?}", car.position);
            prop_assert!(car.velocity.x.abs() <= speed_max, "{} over {speed_max}", car.velocity.x);
            prop_assert!(car.velocity.y.abs() <= speed_max, "{} over {speed_max}", car.velocity.y);
            prop_assert!(scene.obstructions.len() <= OBSTRUCTIONS_MAX);
        }
        Ok(())
    });
}

#[test]
fn hands_are_limited_once_and_for_all() {
    law!((any::<f64>(), any::<f64>()), |(right, down)| {
        let input = Input::new(right, down).limited();
        prop_assert!(input.right.abs() <= 1.0 && input.down.abs() <= 1.0);
        prop_assert_eq!(input.limited(), input);
        prop_assert_eq!(Input::from_axes(input.axes(), 0), input);
        Ok(())
    });
}
