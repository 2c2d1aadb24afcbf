//! Laws that hold for all predictors.

use super::*;
use fairpath_laws::law;
use fairpath_predict::EkbConfig;

/// Floor and walls by a pattern, around the origin.
fn world() -> impl Strategy<Value = Grid> {
    (prop::collection::vec(prop::bool::weighted(0.25), 400), 50.0..200.0f64).prop_map(|(walls, cell_size)| {
        Grid::new(20, 20, Vec2::new(-10.0, -10.0) * cell_size, cell_size, walls).expect("sound")
    })
}

#[test]
fn nothing_ever_becomes_not_a_number() {
    let wild = prop_oneof![
        Just(0.0),
        Just(1e-320),
        Just(1e-9),
        Just(1.0),
        Just(60.0),
        Just(1e6),
        Just(1e100),
        Just(-1e150)
    ];
    law!((scene(), world(), wild.clone(), wild), |(mut scene, world, places, speeds)| {
        scene = scene.mapped(|place| place * (places / 1e3), |direction| direction * (speeds / 1e3));
        scene.inputs.iter_mut().for_each(|input| *input = input.clamp_length(1.0));
        scene.world = Some(world);
        for mut predictor in all_predictors() {
            for _ in 0..130 {
                predictor.learn(0, &scene.known());
            }
            for position in predict(&mut *predictor, &scene, &HORIZONS).unwrap() {
                prop_assert!(position.is_finite(), "{}: {position:?}", predictor.name());
            }
        }
        Ok(())
    });
}

#[test]
fn everybody_at_one_point_is_no_trouble() {
    for speed in [0.0, 300.0] {
        let velocity = Vec2::new(speed, 0.0);
        let mut scene = Scene::alone(velocity).with(Relation::Friend, Vec2::ZERO, velocity).with(
            Relation::Enemy,
            Vec2::ZERO,
            velocity,
        );
        scene.world = Some(Grid::new(2, 2, Vec2::ZERO, 100.0, vec![false; 4]).unwrap());
        scene.inputs = vec![Vec2::ZERO];
        for mut predictor in all_predictors() {
            let positions = predict(&mut *predictor, &scene, &HORIZONS).unwrap();
            let reach = 360.0 * 2.1 + 1.0;
            assert!(positions.iter().all(|at| at.length() <= reach), "{}: {positions:?}", predictor.name());
        }
    }
}

#[test]
fn one_run_serves_all_horizons_and_leaves_nothing_behind() {
    law!((scene(), scene(), world()), |(mut scene, mut other, world)| {
        (scene.world, other.world) = (Some(world.clone()), Some(world));
        for (mut used, mut fresh) in all_predictors().into_iter().zip(all_predictors()) {
            let together = predict(&mut *used, &scene, &HORIZONS).unwrap();
            predict(&mut *used, &other, &HORIZONS).unwrap();
            for (ticks, expected) in HORIZONS.into_iter().zip(&together) {
                let again = predict(&mut *used, &scene, &[ticks]).unwrap()[0];
                let anew = predict(&mut *fresh, &scene, &[ticks]).unwrap()[0];
                prop_assert_eq!(again, *expected, "{}", used.name());
                prop_assert_eq!(anew, *expected, "{}", used.name());
            }
        }
        Ok(())
    });
}

#[test]
fn turning_and_mirroring_the_scene_turns_and_mirrors_the_answer() {
    let turned = |v: Vec2| Vec2::new(-v.y, v.x);
    let mirrored = |v: Vec2| Vec2::new(-v.x, v.y);
    law!(scene(), |scene| {
        // A screen is wider than high; one that lies on its side sees as far to the side as the
        // other ahead.
        let upright = EkbConfig::default();
        let on_its_side = EkbConfig { sight: Vec2::new(upright.sight.y, upright.sight.x), ..upright };
        for (mut one, mut other) in without_walls(upright).into_iter().zip(without_walls(on_its_side)) {
            let expected = predict(&mut *one, &scene, &HORIZONS).unwrap();
            let answer = predict(&mut *other, &scene.mapped(turned, turned), &HORIZONS).unwrap();
            let image: Vec<Vec2> = expected.iter().copied().map(turned).collect();
            prop_assert_eq!(&answer, &image, "{} turned", one.name());
            let answer = predict(&mut *one, &scene.mapped(mirrored, mirrored), &HORIZONS).unwrap();
            let image: Vec<Vec2> = expected.iter().copied().map(mirrored).collect();
            prop_assert_eq!(&answer, &image, "{} mirrored", one.name());
        }
        Ok(())
    });
}

#[test]
fn shifting_the_scene_shifts_the_answer() {
    law!((on_grid(scene()), -40i32..40, -40i32..40), |(scene, x, y)| {
        let shift = Vec2::new(f64::from(x), f64::from(y)) * 1024.0;
        for mut predictor in without_walls(EkbConfig::default()) {
            let expected = predict(&mut *predictor, &scene, &HORIZONS).unwrap();
            let shifted = scene.mapped(|place| place + shift, |direction| direction);
            let answer = predict(&mut *predictor, &shifted, &HORIZONS).unwrap();
            for (one, other) in expected.iter().zip(&answer) {
                let off = (*one + shift).distance(*other);
                prop_assert!(off < 1e-6, "{} is off by {off}", predictor.name());
            }
        }
        Ok(())
    });
}

#[test]
fn scaling_the_scene_and_the_lengths_scales_the_answer() {
    law!((scene(), 0.01..100.0f64), |(scene, factor)| {
        // A power of two: nothing rounds differently.
        let factor = libm::exp2(libm::log2(factor).round());
        let config = EkbConfig::default();
        for (mut one, mut other) in
            without_walls(config).into_iter().zip(without_walls(config.scaled(factor)))
        {
            let expected = predict(&mut *one, &scene, &HORIZONS).unwrap();
            let scaled = scene.mapped(|place| place * factor, |direction| direction * factor);
            let answer = predict(&mut *other, &scaled, &HORIZONS).unwrap();
            let image: Vec<Vec2> = expected.iter().map(|at| *at * factor).collect();
            prop_assert_eq!(answer, image, "{}", one.name());
        }
        Ok(())
    });
}

/// Predictors that ignore walls, scaled to a configuration.
fn without_walls(config: EkbConfig) -> Vec<Box<dyn Predictor>> {
    let interests = fairpath_predict::IsConfig::default().scaled(config.top_speed / 360.0);
    vec![
        Box::new(Linear),
        Box::new(Tdm),
        Box::new(Is::new(interests)),
        Box::new(Hm::new(interests, Hm::TDM_TICKS)),
        Box::new(Ekb::new(config)),
        Box::new(Hybrid::new(Ekb::new(config), config)),
        Box::new(Fading::new(0.3)),
        Box::new(Ridge::default()),
    ]
}

/// The same scene on a coarse grid, which shifts keep exactly.
fn on_grid(scene: impl Strategy<Value = Scene>) -> impl Strategy<Value = Scene> {
    let rounded = |v: Vec2| Vec2::new((v.x * 64.0).round() / 64.0, (v.y * 64.0).round() / 64.0);
    scene.prop_map(move |scene| scene.mapped(rounded, |direction| direction))
}
