use crate::TICK_SECS;
use fairpath::vector::{Vec2, Vector};

use super::course::{Course, Foot, NODES_MIN};
use super::{LapPart, LapShape, NODES_MAX, TrendLineError};

/// Passes over the laps: each measures the laps against their mean and moves the mean to where they
/// are. It starts as one of the laps; the corrections shrink by about ten each time.
const ROUNDS: usize = 4;

/// Nodes per smoothing length. More nodes would only follow noise.
const NODES_PER_SMOOTHING: f64 = 2.5;

/// Part of the line that a lap may advance in a tick. A farther jump tells nothing of the way.
const JUMP_MAX: f64 = 0.05;

/// Returns the mean of laps: at every place along it, the mean of where the laps cross it and of
/// how fast. A mean over *time* is not a line that any car drove: a car that brakes early is
/// elsewhere at the same instant.
pub(super) fn average(
    laps: &[&[LapPart<'_>]],
    shape: LapShape,
    smoothing: f64,
) -> Result<Course, TrendLineError> {
    let smoother = Smoother { shape, deviation: NODES_PER_SMOOTHING };
    let mut course = first_guess(laps, smoothing / NODES_PER_SMOOTHING, &smoother)?;
    for _ in 0..ROUNDS {
        let mut crossings = Crossings::new(&course);
        for part in laps.iter().copied().flatten() {
            crossings.add(&course, part.places);
        }
        course = crossings.corrected(&course, &smoother);
    }
    Ok(course)
}

/// Returns the foot of each of a lap's places, in order.
pub(super) fn feet<'a>(course: &'a Course, places: &'a [Vec2]) -> impl Iterator<Item = Foot> + 'a {
    /// The car's direction is taken over a quarter of a second, so that noise does not reverse it.
    const LOOK: usize = 8;
    let mut before = None;
    places.iter().enumerate().map(move |(tick, place)| {
        let way = places[(tick + LOOK).min(places.len() - 1)] - places[tick.saturating_sub(LOOK)];
        let foot = course.foot(*place, way, before);
        before = Some(foot.along);
        foot
    })
}

/// Returns the lap of median length with evenly spaced nodes. Gaps are bridged by straight lines.
fn first_guess(laps: &[&[LapPart<'_>]], spacing: f64, smoother: &Smoother) -> Result<Course, TrendLineError> {
    let places = |lap: &[LapPart<'_>]| lap.iter().flat_map(|part| part.places.iter().copied()).collect();
    let whole: Vec<Vec<Vec2>> = laps.iter().map(|lap| places(lap)).collect();
    let mut by_length: Vec<(f64, &[Vec2])> =
        whole.iter().filter(|lap| lap.len() > 1).map(|lap| (way(lap), lap.as_slice())).collect();
    by_length.sort_by(|one, other| one.0.total_cmp(&other.0));
    let (_, middle) = *by_length.get(by_length.len() / 2).ok_or(TrendLineError::NoLaps)?;
    let mut path = middle.to_vec();
    if smoother.shape == LapShape::Circuit {
        path.push(middle[0]);
    }
    let count = (way(&path) / spacing).round();
    if count.is_nan() || count < NODES_MIN as f64 {
        return Err(TrendLineError::TooShort);
    }
    if count > NODES_MAX as f64 {
        return Err(TrendLineError::TooLong);
    }
    let nodes = smoother.smooth(&even(&path, smoother.shape, count as usize));
    let speed = way(middle) / (middle.len() as f64 * TICK_SECS);
    Ok(Course::new(smoother.shape, &nodes, &vec![speed; nodes.len()]))
}

fn way(path: &[Vec2]) -> f64 {
    path.windows(2).map(|pair| pair[0].distance(pair[1])).sum()
}

/// Returns `count` evenly spaced points along a path, without the end point if it is closed.
fn even(path: &[Vec2], shape: LapShape, count: usize) -> Vec<Vec2> {
    let steps = match shape {
        LapShape::Circuit => count,
        LapShape::Stage => count - 1,
    };
    let step = way(path) / steps as f64;
    let mut points = vec![path[0]];
    let mut gone = 0.0;
    for pair in path.windows(2) {
        let length = pair[0].distance(pair[1]);
        while points.len() < count && points.len() as f64 * step <= gone + length && length > 0.0 {
            let share = (points.len() as f64 * step - gone) / length;
            points.push(pair[0] + (pair[1] - pair[0]) * share);
        }
        gone += length;
    }
    // Rounding may lose the last point.
    points.resize(count, path[path.len() - 1]);
    points
}

/// What laps do where they cross the perpendiculars at the nodes.
struct Crossings {
    counts: Vec<f64>,
    offsets: Vec<f64>,
    speeds: Vec<f64>,
}

impl Crossings {
    fn new(course: &Course) -> Self {
        let nothing = vec![0.0; course.node_count()];
        Self { counts: nothing.clone(), offsets: nothing.clone(), speeds: nothing }
    }

    fn add(&mut self, course: &Course, places: &[Vec2]) {
        let mut before: Option<(Vec2, Foot)> = None;
        for (place, foot) in places.iter().zip(feet(course, places)) {
            if let Some((from, last)) = before {
                self.cross(course, last, foot, from.distance(*place) / TICK_SECS);
            }
            before = Some((*place, foot));
        }
    }

    fn cross(&mut self, course: &Course, from: Foot, to: Foot, speed: f64) {
        let length = course.length();
        let advance = match course.shape() {
            LapShape::Circuit => (to.along - from.along + 0.5 * length).rem_euclid(length) - 0.5 * length,
            LapShape::Stage => to.along - from.along,
        };
        // At the ends of a stage, every place beyond has its foot on the last node.
        if advance <= 0.0 || advance > JUMP_MAX * length {
            return;
        }
        let start = from.along / course.spacing();
        let end = (from.along + advance) / course.spacing();
        let mut node = start.ceil();
        while node < end {
            let share = (node - start) / (end - start);
            let place = node as usize % self.counts.len();
            self.counts[place] += 1.0;
            self.offsets[place] += from.offset + (to.offset - from.offset) * share;
            self.speeds[place] += speed;
            node += 1.0;
        }
    }

    /// Returns the line moved to the mean of the laps, with their mean speed.
    fn corrected(&self, course: &Course, smoother: &Smoother) -> Course {
        let offsets = smoother.smooth(&self.means(&self.offsets, 0.0));
        let moved = offsets.iter().enumerate().map(|(node, offset)| {
            let along = node as f64 * course.spacing();
            course.position_at(along) + course.tangent_at(along).perpendicular() * *offset
        });
        let mut path = smoother.smooth(&moved.collect::<Vec<_>>());
        if course.shape() == LapShape::Circuit {
            path.push(path[0]);
        }
        let nodes = even(&path, course.shape(), course.node_count());
        let speeds = smoother.smooth(&self.means(&self.speeds, course.speed_at(0.0)));
        Course::new(course.shape(), &nodes, &speeds)
    }

    /// Returns the mean at each node. A node that no lap crossed takes the mean of the node before.
    fn means(&self, sums: &[f64], otherwise: f64) -> Vec<f64> {
        let mean = |place: usize| (self.counts[place] > 0.0).then(|| sums[place] / self.counts[place]);
        let mut last = (0..sums.len()).find_map(mean).unwrap_or(otherwise);
        (0..sums.len())
            .map(|place| {
                last = mean(place).unwrap_or(last);
                last
            })
            .collect()
    }
}

/// Removes what is shorter than a few nodes and keeps the radius of bends.
struct Smoother {
    shape: LapShape,
    /// Standard deviation of the Gaussian, in nodes.
    deviation: f64,
}

/// A value that can be averaged.
trait Smooth:
    Copy + std::ops::Add<Output = Self> + std::ops::Sub<Output = Self> + std::ops::Mul<f64, Output = Self>
{
}
impl Smooth for f64 {}
impl Smooth for Vec2 {}

impl Smoother {
    /// A Gaussian mean cuts every corner a little. So the part it cut is averaged too and added
    /// back, which leaves an error of fourth instead of second order: a circle of 20 m smoothed
    /// over 5 m keeps its radius to 2 cm, where the plain mean would lose 60 cm.
    fn smooth<T: Smooth>(&self, values: &[T]) -> Vec<T> {
        let once = self.mean(values);
        let cut: Vec<T> = values.iter().zip(&once).map(|(value, mean)| *value - *mean).collect();
        once.iter().zip(self.mean(&cut)).map(|(mean, cut)| *mean + cut).collect()
    }

    fn mean<T: Smooth>(&self, values: &[T]) -> Vec<T> {
        let reach = (4.0 * self.deviation).ceil() as isize;
        let bell = |steps: isize| {
            let far = steps as f64 / self.deviation;
            libm::exp(-0.5 * far * far)
        };
        let weights: Vec<f64> = (-reach..=reach).map(bell).collect();
        let whole: f64 = weights.iter().sum();
        (0..values.len() as isize)
            .map(|place| {
                let terms = (-reach..=reach).zip(&weights);
                let zero = values[0] * 0.0;
                terms.fold(zero, |sum, (steps, weight)| {
                    sum + self.value(values, place + steps) * (*weight / whole)
                })
            })
            .collect()
    }

    /// Returns the value at a place, mirrored through the end point beyond the ends of a stage.
    fn value<T: Smooth>(&self, values: &[T], place: isize) -> T {
        let last = values.len() as isize - 1;
        let at = |place: isize| values[place.clamp(0, last) as usize];
        match self.shape {
            LapShape::Circuit => values[place.rem_euclid(last + 1) as usize],
            LapShape::Stage if place < 0 => at(0) * 2.0 - at(-place),
            LapShape::Stage if place > last => at(last) * 2.0 - at(2 * last - place),
            LapShape::Stage => at(place),
        }
    }
}
