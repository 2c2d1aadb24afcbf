//! Goal: places and points agree, and generated roads never touch themselves. Method: laws over
//! seeds, and pictures.

use std::f64::consts::TAU;
use std::sync::Arc;

use fairpath::vector::{Vec2, Vector};
use fairpath_games::race::{Place, Preset, Section, Shape, Track, TrackError};
use fairpath_laws::{law, proptest::prelude::*};

use super::{Picture, bots, tracks};

#[test]
fn a_point_of_the_centre_line_is_where_it_is() {
    let everywhere: Vec<_> = tracks(20).collect();
    law!((0..everywhere.len(), 0.0..1.0, -10.0..10.0), |(number, share, error)| {
        let track = &everywhere[number];
        let along = track.wrap(share * track.length());
        let point = track.position_at(along);
        for place in [track.find(point), track.project(point, along + error)] {
            prop_assert!(track.way(along, place.along).abs() < 1e-6, "{along} became {}", place.along);
            prop_assert!(place.offset.abs() < 1e-6);
        }
        Ok(())
    });
}

#[test]
fn a_place_beside_it_is_where_it_is_too() {
    let everywhere: Vec<_> = tracks(20).collect();
    law!((0..everywhere.len(), 0.0..1.0, -1.0f64..1.0), |(number, share, side)| {
        let track = &everywhere[number];
        let along = track.wrap(share * track.length());
        let offset = side * if side > 0.0 { track.left_at(along) } else { track.right_at(along) };
        let point = track.position_of(Place { along, offset });
        let found = track.project(point, along);
        // A node every metre: on the inside of a bend, half a node's turn times the way to its
        // middle.
        let stretch = 1.0 / (1.0 - 0.85 * side.abs());
        prop_assert!((found.offset - offset).abs() < 0.1, "{offset} became {}", found.offset);
        prop_assert!(track.way(along, found.along).abs() < stretch, "{along} became {}", found.along);
        prop_assert!((track.position_of(found) - point).length() < 0.6);
        prop_assert_eq!(track.find(point), found, "the nearest nearby is the nearest of all");
        Ok(())
    });
}

#[test]
fn along_is_measured_in_metres_and_bends_add_up() {
    for track in tracks(20) {
        let length = track.length();
        let steps = (length / 0.5) as u32;
        let mut turned = 0.0;
        for step in 0..steps {
            let along = f64::from(step) * length / f64::from(steps);
            let ahead = track.position_at(along + 0.5) - track.position_at(along);
            let is_inside = track.shape() == Shape::Circuit || along + 0.5 < length;
            assert!(!is_inside || (ahead.length() - 0.5).abs() < 0.02, "{} at {along}", ahead.length());
            let tangent = track.tangent_at(along);
            assert!((tangent.length() - 1.0).abs() < 1e-9);
            assert!(!is_inside || ahead.normalize_or_zero().dot(tangent) > 0.98, "tangent at {along}");
            assert!((track.normal_at(along) - tangent.perpendicular()).length() < 1e-12);
            turned += track.curvature_at(along) * length / f64::from(steps);
        }
        if track.shape() == Shape::Circuit {
            assert!((turned.abs() - TAU).abs() < 1e-2, "{} turns by {turned}", track.name());
        }
    }
}

#[test]
fn a_circle_has_the_curvature_of_a_circle() {
    let circle: Vec<Section> = (0..48)
        .map(|number| Section {
            position: Vec2::from_heading(TAU * f64::from(number) / 48.0) * 80.0,
            left: 5.0,
            right: 7.0,
        })
        .collect();
    let track = Track::new("circle", Shape::Circuit, &circle).expect("a circle is a track");
    assert!((track.length() - TAU * 80.0).abs() < 0.1, "{}", track.length());
    for along in [0.0, 10.0, 100.3, 333.0] {
        assert!((track.curvature_at(along) - 1.0 / 80.0).abs() < 2e-4, "{}", track.curvature_at(along));
        // To the left is the middle.
        let place = track.find(Vec2::ZERO + track.position_at(along) * (78.0 / 80.0));
        assert!((place.offset - 2.0).abs() < 0.01, "{place:?}");
        assert_eq!((track.left_at(along), track.right_at(along)), (5.0, 7.0));
    }
}

#[test]
fn rounds_wrap_and_stages_end() {
    let circuit = Track::preset(Preset::Oval);
    let length = circuit.length();
    assert_eq!(circuit.wrap(-1e-300), 0.0);
    assert!((circuit.wrap(-10.0) - (length - 10.0)).abs() < 1e-9);
    assert!((circuit.way(length - 5.0, 5.0) - 10.0).abs() < 1e-9);
    assert!((circuit.way(5.0, length - 5.0) + 10.0).abs() < 1e-9);
    assert_eq!(circuit.position_at(0.0), circuit.position_at(length));
    let stage = Track::preset(Preset::Ridge);
    assert_eq!(stage.wrap(-10.0), 0.0);
    assert_eq!(stage.position_at(1e9), stage.position_at(stage.length()));
    assert_eq!(stage.way(5.0, 25.0), 20.0);
    assert!(stage.start_line() + stage.lap_length() < stage.length());
}

#[test]
fn odd_questions_have_answers() {
    for track in tracks(1) {
        for odd in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300] {
            let _ = track.position_at(odd);
            let _ = track.project(Vec2::new(odd, 0.0), odd);
            let _ = track.project_within(Vec2::ZERO, 0.0, odd.abs());
            let _ = track.find(Vec2::new(0.0, odd));
        }
    }
}

#[test]
fn generated_roads_do_not_touch_themselves() {
    for seed in 0..100 {
        let track = Track::generated(seed);
        assert!(track.is_clear_of_itself(3.9), "seed {seed}");
        assert!((500.0..2_000.0).contains(&track.length()), "seed {seed}: {} m", track.length());
        assert_eq!(track, Track::generated(seed));
    }
}

#[test]
fn walls_do_not_cross_in_the_picture_either() {
    for track in tracks(24) {
        assert!(track.is_clear_of_itself(3.9), "{}", track.name());
        assert!(!Picture::of(&track).crosses_itself(), "{}", track.name());
    }
}

#[test]
fn generated_roads_differ_and_are_no_circles() {
    let sharpest = |track: &Track| {
        let alongs = (0..track.length() as u32).map(f64::from);
        alongs.map(|along| track.curvature_at(along).abs()).fold(0.0, f64::max)
    };
    let mut lengths = Vec::new();
    let mut left_turns = 0;
    for seed in 0..40 {
        let track = Track::generated(seed);
        lengths.push(track.length());
        left_turns += u32::from(
            (0..track.length() as u32).map(|along| track.curvature_at(along.into())).sum::<f64>() > 0.0,
        );
        assert!(sharpest(&track) > 1.0 / 60.0, "seed {seed}: no corner");
        assert!(sharpest(&track) < 1.0 / 5.0, "seed {seed}: a corner no car can take");
    }
    lengths.sort_by(f64::total_cmp);
    lengths.dedup();
    assert_eq!(lengths.len(), 40);
    assert!((8..32).contains(&left_turns), "{left_turns} of 40 are driven to the left");
}

#[test]
fn a_road_over_a_bridge_is_seen_and_can_be_driven() {
    let eight: Vec<Section> = (0..64)
        .map(|number| {
            let angle = TAU * f64::from(number) / 64.0;
            let position = Vec2::new(160.0 * libm::sin(angle), 90.0 * libm::sin(2.0 * angle));
            Section { position, left: 6.0, right: 6.0 }
        })
        .collect();
    let track = Track::new("eight", Shape::Circuit, &eight).expect("a road may cross itself");
    assert!(!track.is_clear_of_itself(0.0));
    // At the crossing there are two places, and each is found from its own side.
    let half = track.length() / 2.0;
    assert!(track.way(0.0, track.project(Vec2::ZERO, 1.0).along).abs() < 0.1);
    assert!(track.way(half, track.project(Vec2::ZERO, half + 1.0).along).abs() < 0.1);

    let mut heat = bots(&Arc::new(track), 3);
    while !heat.race().is_over() {
        heat.step();
        assert!(heat.race().tick() < 60 * 300, "{:?} got round", heat.race().finishers());
    }
}

#[test]
fn what_is_no_road_is_refused() {
    let square = |side: f64, width: f64| {
        [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)].map(|(x, y)| Section {
            position: Vec2::new(x, y) * side,
            left: width,
            right: width,
        })
    };
    let build = |sections: &[Section]| Track::new("square", Shape::Circuit, sections);
    assert!(build(&square(100.0, 5.0)).is_ok());
    assert_eq!(build(&square(10.0, 5.0)), Err(TrackError::TooShort));
    assert_eq!(build(&square(1e5, 5.0)), Err(TrackError::TooLong));
    assert_eq!(build(&square(100.0, 1.0)), Err(TrackError::BadWidth { point: 0 }));
    assert_eq!(build(&square(f64::NAN, 5.0)), Err(TrackError::BadPosition { point: 0 }));
    assert_eq!(build(&square(100.0, 5.0)[..3]), Err(TrackError::TooFewPoints));
    assert_eq!(build(&square(1e-3, 5.0)), Err(TrackError::TooFewPoints));
    assert_eq!(build(&[]), Err(TrackError::TooFewPoints));
}

#[test]
fn presets_have_names() {
    for preset in Preset::ALL {
        assert_eq!(Preset::named(preset.name()), Some(preset));
        assert_eq!(Track::preset(preset).name(), preset.name());
    }
    assert_eq!(Preset::named("nowhere"), None);
}
