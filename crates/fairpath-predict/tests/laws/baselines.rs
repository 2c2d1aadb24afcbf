//! Fading, the interest scheme, and ridge regression.

use super::*;
use fairpath_laws::law;

#[test]
fn a_fading_velocity_starts_as_it_was_and_ends_at_rest() {
    law!((vec2(500.0), 0.05..5.0f64), |(velocity, secs)| {
        let scene = Scene::alone(velocity);
        let at = path(&mut Fading::new(secs), &scene);
        for (tick, at) in (0..).zip(&at) {
            let faded = secs * (1.0 - libm::exp(-f64::from(tick) * TICK_SECS / secs));
            prop_assert!(at.distance(velocity * faded) < 1e-9);
        }
        let line = predict(&mut Linear, &scene, &[1, 300]).unwrap();
        prop_assert!(predict(&mut Fading::new(1e9), &scene, &[300]).unwrap()[0].distance(line[1]) < 1e-3);
        prop_assert_eq!(predict(&mut Fading::new(0.0), &scene, &[300]).unwrap()[0], Vec2::ZERO);
        Ok(())
    });
}

/// An item ahead to the left: needed, it draws; useless, it repels; of the other kind, nothing
/// changes.
#[test]
fn items_attract_who_lacks_them_and_repel_who_does_not() {
    let item = Item { position: Vec2::new(200.0, 200.0), gain: Gain::Health };
    let across = |health: f64, items: &[Item]| {
        let scene =
            Scene { condition: Condition { health, ammo: 1.0 }, ..Scene::alone(Vec2::new(200.0, 0.0)) };
        let known = Known { items, ..scene.known() };
        let mut at = [Vec2::ZERO];
        Is::default().predict(0, &known, &[60], &mut at).unwrap();
        at[0].y
    };
    assert!(across(0.0, &[item]) > 20.0, "{}", across(0.0, &[item]));
    assert!(across(1.0, &[item]) < -2.0, "{}", across(1.0, &[item]));
    assert_eq!(across(0.0, &[]), 0.0);
    let ammo = Item { gain: Gain::Ammo, ..item };
    assert_eq!(across(0.0, &[ammo]), across(1.0, &[ammo]), "health does not matter to ammunition");
}

#[test]
fn interests_bend_but_do_not_hurry() {
    law!(scene(), |scene| {
        let speed = scene.newest().velocity.length() * TICK_SECS;
        for (tick, step) in path(&mut Is::default(), &scene).windows(2).enumerate() {
            prop_assert!((step[1].distance(step[0]) - speed).abs() < 1e-9, "tick {tick}");
        }
        Ok(())
    });
}

#[test]
fn friends_attract_and_stronger_enemies_repel() {
    let beside = Vec2::new(300.0, 400.0);
    let bent = |relation, own: f64| {
        let mut scene = Scene::alone(Vec2::new(300.0, 0.0)).with(relation, beside, Vec2::ZERO);
        scene.condition = Condition { health: own, ammo: own };
        predict(&mut Is::default(), &scene, &[60]).unwrap()[0].y
    };
    assert!(bent(Relation::Friend, 1.0) > 20.0);
    assert!(bent(Relation::Enemy, 1.0) > 10.0, "an equal is worth going for");
    assert!(bent(Relation::Enemy, 0.2) < -20.0);
    let alone = Scene::alone(Vec2::new(300.0, 0.0));
    let off = predict(&mut Is::default(), &alone, &[126]).unwrap()[0].distance(Vec2::new(630.0, 0.0));
    assert!(off < 1e-9, "alone it is a line");
}

#[test]
fn hm_is_tdm_for_300_ms_and_then_keeps_its_speed() {
    law!(scene(), |scene| {
        let hm = path(&mut Hm::default(), &scene);
        let tdm = path(&mut Tdm, &scene);
        prop_assert_eq!(&hm[..=18], &tdm[..=18]);
        let newest = scene.newest();
        let speed = (newest.velocity + newest.acceleration * 0.3).length() * TICK_SECS;
        for step in hm[18..].windows(2) {
            prop_assert!((step[1].distance(step[0]) - speed).abs() < 1e-9);
        }
        Ok(())
    });
}

#[test]
fn who_has_learned_nothing_predicts_a_line() {
    law!(scene(), |scene| {
        let line = path(&mut Linear, &scene);
        for (one, other) in path(&mut Ridge::default(), &scene).iter().zip(&line) {
            prop_assert!(one.distance(*other) < 1e-6);
        }
        Ok(())
    });
}

/// A body that is pushed now and then, and slows down within a second.
fn drifting(seed: u64, ticks: usize) -> Vec<Body> {
    let mut random = fairpath::random::Random::from_seed(seed);
    let mut body = Body::default();
    (0..ticks)
        .map(|_| {
            if random.chance(0.01) {
                body.velocity = Vec2::new(random.between(-300.0, 300.0), random.between(-300.0, 300.0));
            }
            body.velocity = body.velocity * (1.0 - TICK_SECS / 0.6);
            body.position += body.velocity * TICK_SECS;
            body
        })
        .collect()
}

/// Mean error of a predictor that learns during the match, over a second stretch of ticks.
fn mean_error(predictor: &mut dyn Predictor, bodies: &[Body], horizon: usize) -> f64 {
    let mut scene = Scene::alone(Vec2::ZERO);
    let mut sum = 0.0;
    let half = bodies.len() / 2;
    for tick in 0..bodies.len() - horizon {
        scene.history = bodies[tick.saturating_sub(120)..=tick].to_vec();
        predictor.learn(0, &scene.known());
        if tick >= half {
            let at = predict(predictor, &scene, &[horizon as u32]).unwrap()[0];
            sum += at.distance(bodies[tick + horizon].position);
        }
    }
    sum / (bodies.len() - horizon - half) as f64
}

#[test]
fn ridge_learns_how_things_slow_down() {
    let bodies = drifting(3, 6_000);
    for horizon in [18, 60, 126] {
        let line = mean_error(&mut Linear, &bodies, horizon);
        let right = mean_error(&mut Fading::new(0.6), &bodies, horizon);
        let learned = mean_error(&mut Ridge::default(), &bodies, horizon);
        assert!(learned < 0.9 * line, "{horizon} ticks: {learned} is not below a line's {line}");
        assert!(learned < 1.25 * right, "{horizon} ticks: {learned} is far from the truth's {right}");
    }
}

#[test]
fn who_is_frozen_learns_no_more() {
    let bodies = drifting(4, 1_200);
    let mut ridge = Ridge::default();
    mean_error(&mut ridge, &bodies, 60);
    ridge.freeze();
    let mut scene = Scene::alone(Vec2::ZERO);
    scene.history = bodies[400..500].to_vec();
    let before = predict(&mut ridge, &scene, &HORIZONS).unwrap();
    mean_error(&mut ridge, &drifting(5, 1_200), 60);
    assert_eq!(predict(&mut ridge, &scene, &HORIZONS).unwrap(), before);
}
