//! Goal: any file is a track or one clear sentence. Method: round trips, a table of mistakes,
//! random bytes.

use std::fmt::Write;
use std::sync::Arc;

use fairpath::vector::Vector;
use fairpath_games::race::{CAR_RADIUS, Preset, Shape, Track};
use fairpath_laws::{law, proptest, proptest::prelude::*};

use super::bots;

/// A track every few metres, in the format that is read.
fn as_csv(track: &Track, header: &str) -> String {
    let mut text = String::from(header);
    let steps = (track.length() / 4.0) as u32;
    let last = if track.shape() == Shape::Stage { steps } else { steps - 1 };
    for step in 0..=last {
        let along = track.length() * f64::from(step) / f64::from(steps);
        let (point, right, left) = (track.position_at(along), track.right_at(along), track.left_at(along));
        writeln!(text, "{},{},{right},{left}", point.x, point.y).expect("a string takes everything");
    }
    text
}

#[test]
fn what_is_written_is_read() {
    for preset in Preset::ALL {
        let track = Track::preset(preset);
        let headers = [
            "",
            "x,y,w_right,w_left\n",
            "# x_m,y_m,w_tr_right_m,w_tr_left_m\n",
            "\u{feff}x, y,w_right , w_left\r\n\r\n",
        ];
        for header in headers {
            let read = Track::from_csv(as_csv(&track, header).as_bytes(), "copy").expect("it is a track");
            assert_eq!((read.name(), read.shape()), ("copy", track.shape()));
            assert!((read.length() - track.length()).abs() < 0.002 * track.length());
            for step in 0..20 {
                let along = track.length() * f64::from(step) / 20.0;
                let place = read.find(track.position_at(along));
                assert!(place.offset.abs() < 0.1, "{} at {along}: {place:?}", track.name());
                assert!((read.left_at(place.along) - track.left_at(along)).abs() < 0.1);
            }
        }
    }
}

#[test]
fn a_repeated_end_closes_a_circuit() {
    let square = "0,0,5,6\n100,0,5,6\n100,100,5,6\n0,100,5,6\n0,0,5,6\n";
    let track = Track::from_csv(square.as_bytes(), "square").expect("it is a track");
    assert_eq!(track.shape(), Shape::Circuit);
    assert_eq!((track.right_at(0.0), track.left_at(0.0)), (5.0, 6.0));
    let line = "0,0,5,6\n100,0,5,6\n200,10,5,6\n300,0,5,6\n";
    assert_eq!(Track::from_csv(line.as_bytes(), "line").expect("it is a track").shape(), Shape::Stage);
}

#[test]
fn mistakes_are_named_with_row_and_column() {
    let good = "0,0,5,5\n100,0,5,5\n100,100,5,5\n0,100,5,5\n";
    let cases: [(&str, &str); 14] = [
        ("", "row 1: a track needs at least four different points"),
        ("x,y,w_right,w_left\n", "row 2: a track needs at least four different points"),
        ("x,y,w_left,w_right\n", "row 1, column w_right: the header must be x,y,w_right,w_left"),
        ("x,y\n", "row 1, column w_right: the header must be x,y,w_right,w_left"),
        ("x,y,w_right,w_left,z\n", "row 1: more cells than columns"),
        ("# note\n1,2\n", "row 2, column w_right: the cell is missing"),
        ("0,0,5,5\n1,2,3,4,5\n", "row 2: more cells than columns"),
        ("0,0,5,5\n\n1,two,5,5\n", "row 3, column y: not a number"),
        ("0,0,5,5\n1,,5,5\n", "row 2, column y: not a number"),
        ("0,0,5,5\nNaN,0,5,5\n", "row 2, column x: the coordinate is not within 10 000 km of the origin"),
        ("0,0,5,5\n0,inf,5,5\n", "row 2, column y: the coordinate is not within 10 000 km of the origin"),
        ("0,0,5,5\n1,0,-5,5\n", "row 2, column w_right: the width is not between 1.5 and 100 m"),
        ("0,0,5,5\n1,0,5,0.1\n", "row 2, column w_left: the width is not between 1.5 and 100 m"),
        ("0,0,5,5\n1,0,5,5\n1,1,5,5\n0,1,5,5\n", "row 5: a track is at least 150 m long"),
    ];
    for (text, expected) in cases {
        let error = Track::from_csv(text.as_bytes(), "broken").expect_err(text);
        assert_eq!(error.to_string(), expected, "{text:?}");
    }
    let mut bytes = good.as_bytes().to_vec();
    bytes.extend(b"\xff,0,5,5\n");
    let error = Track::from_csv(&bytes, "broken").expect_err("not text");
    assert_eq!(error.to_string(), "row 5: not UTF-8 text");
}

#[test]
fn no_bytes_make_it_panic() {
    law!(proptest::collection::vec(any::<u8>(), 0..400), |bytes| {
        let _ = Track::from_csv(&bytes, "any");
        Ok(())
    });
}

#[test]
fn no_text_that_looks_right_makes_it_panic() {
    let line = "(-?[0-9]{1,4}(\\.[0-9]{1,2})?,){3}[0-9]{1,2}\n|[0-9,.eE#x-]{0,12}\n";
    law!(proptest::collection::vec(line, 0..40), |lines| {
        let _ = Track::from_csv(lines.concat().as_bytes(), "any");
        Ok(())
    });
}

type Point = (f64, f64, f64, f64);

/// Points anywhere: an ugly road that crosses itself and has walls inside out.
fn any_points() -> impl Strategy<Value = Vec<Point>> {
    proptest::collection::vec((-300.0..300.0, -300.0..300.0, 1.5..20.0, 1.5..20.0), 4..30)
}

fn road_through(points: &[Point]) -> Option<Track> {
    let mut text = String::new();
    for (x, y, right, left) in points {
        writeln!(text, "{x},{y},{right},{left}").expect("a string takes everything");
    }
    Track::from_csv(text.as_bytes(), "any").ok()
}

#[test]
fn the_ugliest_road_has_answers() {
    law!(any_points(), |points| {
        if let Some(track) = road_through(&points) {
            for step in 0..50 {
                let along = track.length() * f64::from(step) / 50.0;
                let point = track.position_at(along);
                let place = track.project(point, along);
                prop_assert!(track.position_at(place.along).distance(point) < 1e-6);
                prop_assert!(track.curvature_at(along).is_finite() && track.tangent_at(along).is_finite());
                prop_assert!(track.left_at(along) >= 1.5 && track.right_at(along) >= 1.5);
            }
        }
        Ok(())
    });
}

/// Bots need not finish there, but nothing may break.
#[test]
fn the_ugliest_road_can_be_driven_on() {
    law!((any_points(), any::<u64>()), |(points, seed)| {
        if let Some(track) = road_through(&points) {
            let mut heat = bots(&Arc::new(track), seed);
            for _ in 0..120 {
                heat.step();
            }
            for car in heat.race().cars() {
                prop_assert!(car.state().is_finite());
                let limited = heat.race().track().limited(car.place(), CAR_RADIUS);
                prop_assert!((limited.offset - car.place().offset).abs() < 1e-9, "inside a wall");
            }
        }
        Ok(())
    });
}
