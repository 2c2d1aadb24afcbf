//! The planned line of a driver on a track, and a speed for every point of it.
//!
//! The line bends least between the walls (it minimises the sum of squared second differences of
//! its points), found from coarse to fine; then each style modifies it. The speed in a bend uses a
//! share of the grip, the speed before it a share of the brakes.

use fairpath::vector::{Vec2, Vector};

use super::style::{Character, Style};
use crate::race::car::{CAR_RADIUS, CarModel};
use crate::race::track::{Place, Shape, Track};

/// The line and the speeds of one style on one track.
///
/// Planning takes some milliseconds. Any number of drivers of that style can share a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct DrivingPlan {
    style: Style,
    shape: Shape,
    spacing: f64,
    offsets: Vec<f64>,
    speeds: Vec<f64>,
}

/// The approximate distance between the points of a plan, in metres.
const SPACING: f64 = 3.0;
/// The coarsest spacing is this multiple of the finest.
const COARSEST: usize = 16;
/// Iterations on every level. Finer levels start from a good guess, so a few dozen suffice.
const SWEEPS: u32 = 40;

impl DrivingPlan {
    pub fn new(track: &Track, car: &CarModel, style: Style) -> Self {
        let character = style.character();
        let (spacing, ideal) = ideal_line(track, CAR_RADIUS + character.wall_room);
        let mut plan = Self { style, shape: track.shape(), spacing, offsets: ideal, speeds: Vec::new() };
        plan.offsets = plan.made_own(track, &character);
        let points: Vec<Vec2> = plan.places().map(|place| track.position_of(place)).collect();
        plan.speeds = pace(track.shape(), &points, car, &character);
        plan
    }

    pub fn style(&self) -> Style {
        self.style
    }

    /// Returns the planned offset to the left of the centre line at `along`, in metres.
    pub fn offset_at(&self, along: f64) -> f64 {
        self.interpolated(&self.offsets, along)
    }

    /// Returns the planned speed at `along`.
    pub fn speed_at(&self, along: f64) -> f64 {
        self.interpolated(&self.speeds, along)
    }

    pub fn places(&self) -> impl Iterator<Item = Place> {
        (0u32..)
            .zip(&self.offsets)
            .map(|(number, offset)| Place { along: f64::from(number) * self.spacing, offset: *offset })
    }

    fn made_own(&self, track: &Track, character: &Character) -> Vec<f64> {
        let own = |place: Place| {
            let offset = character.commitment * self.offset_at(place.along - character.apex_shift);
            track.limited(Place { offset, ..place }, CAR_RADIUS + character.wall_room).offset
        };
        self.places().map(own).collect()
    }

    fn interpolated(&self, values: &[f64], along: f64) -> f64 {
        let scaled = along / self.spacing;
        let count = values.len() as i64;
        let here = scaled.floor() as i64;
        let number = |number: i64| match self.shape {
            Shape::Circuit => number.rem_euclid(count) as usize,
            Shape::Stage => number.clamp(0, count - 1) as usize,
        };
        let (before, after) = (values[number(here)], values[number(here.saturating_add(1))]);
        before + (after - before) * (scaled - here as f64)
    }
}

/// Returns spacing and offsets, in metres, of the line that bends least `room` from both walls.
fn ideal_line(track: &Track, room: f64) -> (f64, Vec<f64>) {
    let mut offsets: Vec<f64> = Vec::new();
    let mut spacing = track.length();
    let mut coarseness = COARSEST;
    while coarseness > 0 {
        let count = (track.length() / (SPACING * coarseness as f64)).round().max(4.0) as usize;
        let finer = track.length() / count as f64;
        let points = count + usize::from(track.shape() == Shape::Stage);
        offsets =
            (0..points).map(|number| resampled(track, &offsets, number as f64 * finer / spacing)).collect();
        spacing = finer;
        Band::new(track, spacing, room, points).relax(&mut offsets);
        coarseness /= 2;
    }
    (spacing, offsets)
}

/// Returns a value interpolated from the coarser level; zero without one.
fn resampled(track: &Track, offsets: &[f64], position: f64) -> f64 {
    if offsets.is_empty() {
        return 0.0;
    }
    let here = (position as usize).min(offsets.len() - 1);
    let next = match track.shape() {
        Shape::Circuit => (here + 1) % offsets.len(),
        Shape::Stage => (here + 1).min(offsets.len() - 1),
    };
    offsets[here] + (offsets[next] - offsets[here]) * (position - here as f64)
}

/// Cross sections of the track: the range of a line's points.
struct Band {
    shape: Shape,
    centres: Vec<Vec2>,
    normals: Vec<Vec2>,
    limits: Vec<(f64, f64)>,
}

impl Band {
    fn new(track: &Track, spacing: f64, room: f64, points: usize) -> Self {
        let alongs: Vec<f64> = (0..points).map(|number| number as f64 * spacing).collect();
        let limits = |along: &f64| {
            let limit = |offset| track.limited(Place { along: *along, offset }, room).offset;
            (limit(f64::NEG_INFINITY), limit(f64::INFINITY))
        };
        Self {
            shape: track.shape(),
            centres: alongs.iter().map(|along| track.position_at(*along)).collect(),
            normals: alongs.iter().map(|along| track.normal_at(*along)).collect(),
            limits: alongs.iter().map(limits).collect(),
        }
    }

    fn relax(&self, offsets: &mut [f64]) {
        let count = offsets.len();
        let inner = match self.shape {
            Shape::Circuit => 0..count,
            // Both ends of a stage are fixed.
            Shape::Stage => 2..count.saturating_sub(2),
        };
        for _ in 0..SWEEPS {
            for number in inner.clone() {
                let point = |back: usize, ahead: usize| {
                    let other = (number + count - back + ahead) % count;
                    self.centres[other] + self.normals[other] * offsets[other]
                };
                // The point that minimises the three second differences that contain it.
                let near = point(1, 0) + point(0, 1);
                let far = point(2, 0) + point(0, 2);
                let best = near * (4.0 / 6.0) - far * (1.0 / 6.0);
                let (low, high) = self.limits[number];
                offsets[number] = self.normals[number].dot(best - self.centres[number]).clamp(low, high);
            }
        }
    }
}

fn pace(shape: Shape, points: &[Vec2], car: &CarModel, character: &Character) -> Vec<f64> {
    let count = points.len();
    let around = |number: usize| match shape {
        Shape::Circuit => {
            Some((points[(number + count - 1) % count], points[number], points[(number + 1) % count]))
        }
        Shape::Stage if number == 0 || number + 1 == count => None,
        Shape::Stage => Some((points[number - 1], points[number], points[number + 1])),
    };
    let bends: Vec<f64> = (0..count).map(|number| around(number).map_or(0.0, bend)).collect();
    let mut speeds: Vec<f64> =
        bends.iter().map(|bend| corner_speed(*bend, car, character.corner_share)).collect();
    // Two rounds, so that speeds after the start line affect those before it.
    for number in (0..2 * count).rev().map(|number| number % count) {
        if shape == Shape::Stage && number + 1 == count {
            continue;
        }
        let next = (number + 1) % count;
        let after = speeds[next];
        let across = bends[number] * after * after / (character.corner_share * car.grip_at(after));
        let left_over = (1.0 - across * across).max(0.0).sqrt();
        let slowing =
            character.brake_share * car.braking.min(car.grip_at(after)) * left_over + car.drag_at(after);
        let reachable = (after * after + 2.0 * slowing * points[number].distance(points[next])).sqrt();
        speeds[number] = speeds[number].min(reachable);
    }
    speeds
}

/// Returns the curvature at the middle of three points: 1 over the radius of their circle.
fn bend((before, here, after): (Vec2, Vec2, Vec2)) -> f64 {
    let sides = before.distance(here) * here.distance(after) * after.distance(before);
    if sides > 0.0 { 2.0 * (here - before).cross_length(after - here) / sides } else { 0.0 }
}

/// Returns the speed at which a share of the grip holds the bend; in wide bends it is any speed.
fn corner_speed(bend: f64, car: &CarModel, share: f64) -> f64 {
    let left = bend - share * car.downforce;
    if left > 0.0 { (share * car.grip / left).sqrt().min(car.top_speed) } else { car.top_speed }
}
