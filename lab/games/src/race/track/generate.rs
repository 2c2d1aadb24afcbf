//! Tracks from a seed: straights between random corners, rounded, and checked.

use std::f64::consts::TAU;

use fairpath::random::Random;
use fairpath::vector::{Vec2, Vector};

use super::survey::Section;
use super::{Shape, Track};

/// The gap between different parts of a generated track, in metres.
const GAP: f64 = 4.0;
/// The most attempts for a track that does not touch itself, each a little rounder; the last one is
/// a circle, so one always succeeds. Of 1000 seeds 3/4 need one, none over five.
const TRIES: u32 = 24;
/// The distance between the points before rounding, in metres.
const STEP: f64 = 4.0;

impl Track {
    /// Returns the circuit of `seed`: 0.6 to 1.6 km of straights, bends and hairpins, 9 to 14 m
    /// wide, clear of itself, with the start line on a straight, clockwise or anticlockwise.
    pub fn generated(seed: u64) -> Self {
        let dice = Random::from_seed(seed);
        let drawn = (0..TRIES).map(|number| {
            let roundness = f64::from(number) / f64::from(TRIES - 1);
            let sections = sketch(roundness, &mut dice.fork(u64::from(number)));
            Self::new(&format!("generated-{seed}"), Shape::Circuit, &sections)
        });
        let clear = drawn.flatten().find(|track| track.is_clear_of_itself(GAP));
        clear.unwrap_or_else(|| unreachable!("a circle is clear of itself"))
    }
}

/// Returns a closed track that may touch itself. `roundness` 0 is wild, 1 is a circle.
fn sketch(roundness: f64, random: &mut Random) -> Vec<Section> {
    let corners = 7 + random.below(7);
    let radius = random.between(190.0, 300.0);
    let wildness = 1.0 - roundness;
    let direction = if random.chance(0.5) { 1.0 } else { -1.0 };
    let corner = |number: u64| {
        let turn = TAU * direction / corners as f64;
        let angle = turn * (number as f64 + 0.35 * wildness * random.between(-1.0, 1.0));
        // Corners near the centre become hairpins.
        let depth = 0.65 * wildness * random.unit();
        Vec2::from_heading(angle) * (radius * (1.0 - depth))
    };
    let polygon: Vec<Vec2> = (0..corners).map(corner).collect();
    let mut line = rounded(Shape::Circuit, &polygon, random.between(24.0, 44.0));
    begin_on_a_straight(&mut line);
    let widths = [wave(random), wave(random)];
    let count = line.len() as f64;
    let section = |(number, position): (usize, Vec2)| {
        let [left, right] = widths.map(|width| width(number as f64 / count));
        Section { position, left, right }
    };
    line.into_iter().enumerate().map(section).collect()
}

/// Returns a width that varies as a sine, one to three periods around the track.
fn wave(random: &mut Random) -> impl Fn(f64) -> f64 + Copy + use<> {
    let (middle, swing) = (random.between(5.2, 6.2), random.between(0.0, 0.8));
    let (waves, phase) = ((1 + random.below(3)) as f64, random.between(0.0, TAU));
    move |share: f64| middle + swing * libm::sin(TAU * waves * share + phase)
}

/// Returns points on straight lines from corner to corner, with the corners rounded over about
/// `softness` metres to either side: a right angle gets a radius a little below `softness`.
///
/// Three successive moving averages give a curve with continuous curvature.
pub(super) fn rounded(shape: Shape, corners: &[Vec2], softness: f64) -> Vec<Vec2> {
    let mut line = Vec::new();
    let last = corners.len() - usize::from(shape == Shape::Stage);
    for number in 0..last {
        let (from, to) = (corners[number], corners[(number + 1) % corners.len()]);
        let pieces = (from.distance(to) / STEP).round().max(1.0) as u32;
        line.extend((0..pieces).map(|piece| from + (to - from) * (f64::from(piece) / f64::from(pieces))));
    }
    if shape == Shape::Stage {
        line.extend(corners.last());
    }
    let reach = (softness / (2.0 * STEP)).round().max(1.0) as usize;
    for _ in 0..3 {
        line = averaged(shape, &line, reach);
    }
    line
}

/// Returns every point's average with `reach` neighbours to either side, fewer near an end.
fn averaged(shape: Shape, line: &[Vec2], reach: usize) -> Vec<Vec2> {
    let count = line.len();
    let average = |number: usize| {
        let reach = match shape {
            Shape::Circuit => reach.min((count - 1) / 2),
            Shape::Stage => reach.min(number).min(count - 1 - number),
        };
        let window = (0..=2 * reach).map(|step| line[(number + count + step - reach) % count]);
        window.fold(Vec2::ZERO, |sum, point| sum + point) * (1.0 / (2 * reach + 1) as f64)
    };
    (0..count).map(average).collect()
}

/// Rotates a closed line to begin two thirds along its longest straight: room for the grid.
fn begin_on_a_straight(line: &mut [Vec2]) {
    /// Turning less than this per step of about four metres is straight, in radians: 400 m radius.
    const STRAIGHT: f64 = 0.01;
    let count = line.len();
    let turn = |number: usize| {
        let (before, here, after) =
            (line[(number + count - 1) % count], line[number], line[(number + 1) % count]);
        let (arriving, leaving) = (here - before, after - here);
        libm::atan2(arriving.x * leaving.y - arriving.y * leaving.x, arriving.dot(leaving)).abs()
    };
    let is_straight: Vec<bool> = (0..count).map(|number| turn(number) < STRAIGHT).collect();
    let straight_from =
        |start: usize| (0..count).take_while(|step| is_straight[(start + step) % count]).count();
    let (mut longest, mut begin) = (0, 0);
    for start in 0..count {
        let steps = straight_from(start);
        if steps > longest {
            (longest, begin) = (steps, start + steps * 2 / 3);
        }
    }
    line.rotate_left(begin % count);
}
