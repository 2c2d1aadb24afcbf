//! How a driver means to take a road: a line, and a speed for every point of it.
//!
//! The line is the one that bends least between the walls (the sum of squared second differences of
//! its points is smallest), found from coarse to fine; then each style makes its own of it. The
//! speed is what the planned share of the grip can hold in every bend, brought down before it by
//! the planned share of the brakes.

use fairpath::vector::{Vec2, Vector};

use super::style::{Character, Style};
use crate::race::car::{CAR_RADIUS, CarModel};
use crate::race::track::{Place, Shape, Track};

/// A line and a pace: how one style of driver means to take one road.
///
/// It takes some milliseconds to make. The same plan serves any number of drivers of that style.
#[derive(Clone, Debug, PartialEq)]
pub struct DrivingPlan {
    style: Style,
    shape: Shape,
    spacing: f64,
    offsets: Vec<f64>,
    speeds: Vec<f64>,
}

/// Metres between the points of a plan, about.
const SPACING: f64 = 3.0;
/// Coarsest spacing that the line is first found on is this many times the finest.
const COARSEST: usize = 16;
/// Rounds of improvement on every level. The next finer level starts from a good guess, so a few
/// dozen do.
const SWEEPS: u32 = 40;

impl DrivingPlan {
    /// Returns how a driver of this style takes this road with this car.
    pub fn new(track: &Track, car: &CarModel, style: Style) -> Self {
        let character = style.character();
        let (spacing, ideal) = ideal_line(track, CAR_RADIUS + character.wall_room);
        let mut plan = Self { style, shape: track.shape(), spacing, offsets: ideal, speeds: Vec::new() };
        plan.offsets = plan.made_own(track, &character);
        let points: Vec<Vec2> = plan.places().map(|place| track.position_of(place)).collect();
        plan.speeds = pace(track.shape(), &points, car, &character);
        plan
    }

    /// Whose plan it is.
    pub fn style(&self) -> Style {
        self.style
    }

    /// Returns how far to the left of the centre line it wants to be at `along`.
    pub fn offset_at(&self, along: f64) -> f64 {
        self.interpolated(&self.offsets, along)
    }

    /// Returns how fast it wants to be there.
    pub fn speed_at(&self, along: f64) -> f64 {
        self.interpolated(&self.speeds, along)
    }

    /// Returns its line, point by point.
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

/// Offsets of the line that bends least while it keeps `room` to either wall, and the metres
/// between them.
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

/// Returns the value between two of a coarser level; zero before there is one.
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

/// The road as cross sections: where a line's points may be.
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
            // Both ends of a stage stay where they are.
            Shape::Stage => 2..count.saturating_sub(2),
        };
        for _ in 0..SWEEPS {
            for number in inner.clone() {
                let point = |back: usize, ahead: usize| {
                    let other = (number + count - back + ahead) % count;
                    self.centres[other] + self.normals[other] * offsets[other]
                };
                // The point that makes the three second differences it is part of smallest.
                let near = point(1, 0) + point(0, 1);
                let far = point(2, 0) + point(0, 2);
                let best = near * (4.0 / 6.0) - far * (1.0 / 6.0);
                let (low, high) = self.limits[number];
                offsets[number] = self.normals[number].dot(best - self.centres[number]).clamp(low, high);
            }
        }
    }
}

/// Returns a speed for every point of a line.
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
    // Twice around, so that what comes after the line is known before it.
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

/// Returns how much a line bends at the middle one of three points: one over the radius of the
/// circle through them.
fn bend((before, here, after): (Vec2, Vec2, Vec2)) -> f64 {
    let sides = before.distance(here) * here.distance(after) * after.distance(before);
    if sides > 0.0 { 2.0 * (here - before).cross_length(after - here) / sides } else { 0.0 }
}

/// Returns the speed at which a share of the grip just holds the bend. Grip grows with speed, so on
/// the widest bends any speed holds.
fn corner_speed(bend: f64, car: &CarModel, share: f64) -> f64 {
    let left = bend - share * car.downforce;
    if left > 0.0 { (share * car.grip / left).sqrt().min(car.top_speed) } else { car.top_speed }
}
