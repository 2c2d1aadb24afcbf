//! Goal: the fewest segments are the fewest. Method: all ways to cut a few points, each judged by
//! another search for the best line: for a given velocity the best start is the centre of the
//! smallest circle around the rest, and its radius is convex in the velocity.

use fairpath::vector::{Vec2, Vector};
use fairpath_eval::offline::{Point, fewest_free, fewest_pinned, greedy_pinned};
use fairpath_laws::law;
use fairpath_laws::proptest::prelude::*;

/// Nearer to the tolerance than this, rounding decides, and the case is skipped.
const CLOSE: f64 = 1e-5;

#[derive(Clone, Copy, PartialEq)]
enum Start {
    Free,
    Pinned,
}

/// Returns the greatest error of the best line.
fn best_radius(points: &[Point], start: Start) -> f64 {
    let radius_at = |velocity: Vec2| {
        let left: Vec<Vec2> =
            points.iter().map(|point| point.position - velocity * (point.secs - points[0].secs)).collect();
        match start {
            Start::Free => enclosing_radius(&left),
            Start::Pinned => left.iter().map(|place| place.distance(left[0])).fold(0.0, f64::max),
        }
    };
    least(|x| least(|y| radius_at(Vec2::new(x, y))))
}

/// Returns the least value of a convex function, by golden sections.
fn least(of: impl Fn(f64) -> f64) -> f64 {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    let (mut low, mut high) = (-80.0, 80.0);
    let inner = |low: f64, high: f64| (high - GOLDEN * (high - low), low + GOLDEN * (high - low));
    let (mut left, mut right) = inner(low, high);
    let (mut at_left, mut at_right) = (of(left), of(right));
    for _ in 0..44 {
        if at_left < at_right {
            (high, right, at_right) = (right, left, at_left);
            left = inner(low, high).0;
            at_left = of(left);
        } else {
            (low, left, at_left) = (left, right, at_right);
            right = inner(low, high).1;
            at_right = of(right);
        }
    }
    at_left.min(at_right)
}

/// Returns the radius of the smallest circle around places: two or three of them are on it.
fn enclosing_radius(places: &[Vec2]) -> f64 {
    let covers =
        |centre: Vec2, radius: f64| places.iter().all(|place| place.distance(centre) <= radius + 1e-9);
    let mut radius = if covers(places[0], 0.0) { 0.0 } else { f64::INFINITY };
    for (i, &a) in places.iter().enumerate() {
        for (j, &b) in places.iter().enumerate().skip(i + 1) {
            let middle = (a + b) * 0.5;
            if a.distance(middle) < radius && covers(middle, a.distance(middle)) {
                radius = a.distance(middle);
            }
            for &c in &places[j + 1..] {
                let (ab, ac) = (b - a, c - a);
                let double_area = 2.0 * ab.perpendicular().dot(ac);
                let offset = (ac.perpendicular() * -ab.length_squared()
                    + ab.perpendicular() * ac.length_squared())
                    * (1.0 / double_area);
                let (centre, length) = (a + offset, offset.length());
                if length < radius && covers(centre, length) {
                    radius = length;
                }
            }
        }
    }
    radius
}

/// Returns the fewest segments of all, or `None` where rounding decides.
fn brute_force(points: &[Point], start: Start) -> Option<usize> {
    let mut fewest = vec![0];
    for end in 1..=points.len() {
        let mut best = usize::MAX;
        for begin in 0..end {
            let radius = if end - begin <= 2 { 0.0 } else { best_radius(&points[begin..end], start) };
            if (radius - 1.0).abs() < CLOSE {
                return None;
            }
            if radius < 1.0 {
                best = best.min(fewest[begin] + 1);
            }
        }
        fewest.push(best);
    }
    fewest.last().copied()
}

fn a_short_path() -> impl Strategy<Value = Vec<Point>> {
    prop::collection::vec((0.3..1.5, -1.4..1.4, -1.4..1.4), 1..7).prop_map(|steps| {
        let mut point = Point { secs: 0.0, position: Vec2::ZERO };
        let step = |(secs, x, y): (f64, f64, f64)| {
            point = Point { secs: point.secs + secs, position: point.position + Vec2::new(x, y) * 2.0 };
            point
        };
        steps.into_iter().map(step).collect()
    })
}

#[test]
fn nobody_finds_fewer_segments() {
    law!(a_short_path(), |points| {
        if let Some(fewest) = brute_force(&points, Start::Free) {
            prop_assert_eq!(fewest_free(&points, 1.0), fewest);
        }
        if let Some(fewest) = brute_force(&points, Start::Pinned) {
            prop_assert_eq!(fewest_pinned(&points, 1.0), fewest);
            prop_assert!(greedy_pinned(&points, 1.0) >= fewest);
        }
        Ok(())
    });
}

#[test]
fn a_free_start_is_never_worse_and_scale_does_not_matter() {
    let path = prop::collection::vec((0.01..0.1, -1.0..1.0, -1.0..1.0), 1..120);
    let scale = prop_oneof![Just(1e-3), Just(0.02), Just(1.0), Just(300.0)];
    law!((path, scale), |(steps, scale)| {
        let mut point = Point { secs: 0.0, position: Vec2::new(1000.0, -50.0) * scale };
        let step = |(secs, x, y): (f64, f64, f64)| {
            point = Point { secs: point.secs + secs, position: point.position + Vec2::new(x, y) * scale };
            point
        };
        let points: Vec<Point> = steps.into_iter().map(step).collect();
        let (free, pinned) = (fewest_free(&points, scale), fewest_pinned(&points, scale));
        prop_assert!(free <= pinned && pinned <= greedy_pinned(&points, scale));
        prop_assert!(fewest_free(&points, 2.0 * scale) <= free, "more room needs no more");
        Ok(())
    });
}

#[test]
fn a_straight_way_is_one_segment_and_a_zigzag_is_many() {
    let at = |secs: f64, x: f64, y: f64| Point { secs, position: Vec2::new(x, y) };
    let straight: Vec<Point> = (0..5000).map(|k| at(f64::from(k) / 60.0, f64::from(k), 3.0)).collect();
    assert_eq!((fewest_free(&straight, 0.1), fewest_pinned(&straight, 0.1)), (1, 1));
    let zigzag: Vec<Point> =
        (0..100).map(|k| at(f64::from(k), 0.0, if k % 2 == 0 { 1.0 } else { -1.0 })).collect();
    assert_eq!(fewest_free(&zigzag, 1.0), 1, "the line between the corners is off by exactly the tolerance");
    assert_eq!(fewest_free(&zigzag, 0.99), 50, "two points are always on a line");
    assert_eq!(fewest_pinned(&[], 1.0) + fewest_free(&[], 1.0), 0);
}

/// A box around each sample is not a disc: three samples that a line passes within √2·G of, and no
/// nearer.
#[test]
fn discs_are_not_boxes() {
    let at = |secs: f64, x: f64, y: f64| Point { secs, position: Vec2::new(x, y) };
    let bent = [at(0.0, 0.0, 0.0), at(1.0, 2.0, 2.0), at(2.0, 0.0, 0.0)];
    assert_eq!(fewest_free(&bent, 1.0), 2);
    assert_eq!(fewest_free(&bent, 2f64.sqrt() + 1e-6), 1);
}
