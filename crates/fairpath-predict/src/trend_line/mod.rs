//! The trend line: the mean of earlier laps, and how a car continues along it.
//!
//! Earlier laps give one smooth line (their mean at every place along it, not over time) and the
//! usual speed everywhere. A car is seldom *on* that line, and drivers differ. So the line does not
//! say where a car is, but how its motion changes: the car turns as the line turns ahead, and
//! brakes and accelerates as laps usually do there.
//!
//! ```text
//! laps ──▶ average ──▶ Course: cubics by arc length, usual speed, foot of the perpendicular
//!   │                     │
//!   │ each lap by the     ▼
//!   └ line of others ▶ Outlook: fifteen vectors ──▶ weighted sum ──▶ position
//!                         └ the line ahead of the foot, turned and scaled so that the
//!                           line *behind* the foot matches the car's own past
//! ```
//!
//! How much weight the measured acceleration, the line and the pull back to it deserve depends on
//! measurement noise, on the time ahead and on the drivers. The weights are learned when the line
//! is built: each lap is predicted by a line of the other laps, and the best weights are stored
//! with the line. Placing by a line stays a function of the line and of what is known.
//!
//! Jawad 2017, the source of the idea, takes one straight step along the line's tangent:
//! [`TangentPredictor`].

mod average;
mod course;
mod outlook;
mod predictor;
mod tangent;
mod weights;

pub use course::Foot;
pub use predictor::TrendLinePredictor;
pub use tangent::{SpeedRule, TangentPredictor};

use super::live::Context;
use super::{Body, TICK_SECS};
use course::Course;
use fairpath::DrVector;
use fairpath::vector::{Vec2, Vector};
use outlook::Outlook;
use weights::Learned;

/// The mean line of laps, the usual speed along it, and learned weights.
///
/// ```
/// use fairpath_predict::{Body, LapPart, LapShape, TrendLine};
/// use fairpath::vector::Vec2;
///
/// // A circle of radius 100 m at 20 m/s, sampled 60 times a second.
/// let body = |tick: u32| {
///     let way = Vec2::from_heading(f64::from(tick) / 300.0);
///     let (position, velocity) = (way * 100.0, way.perpendicular() * 20.0);
///     Body { position, velocity, acceleration: way * -4.0 }
/// };
/// let known: Vec<Body> = (0..1885).map(body).collect();
/// let places: Vec<Vec2> = known.iter().map(|body| body.position).collect();
/// let lap = vec![LapPart { known: &known, places: &places }];
/// let line = TrendLine::from_laps(&[lap.clone(), lap], LapShape::Circuit, TrendLine::SMOOTHING)?;
/// assert!((line.length() - 628.3).abs() < 0.5);
/// assert!((line.foot(Vec2::new(97.0, 0.0), Vec2::new(0.0, 1.0)).offset - 3.0).abs() < 0.01);
/// # Ok::<(), fairpath_predict::TrendLineError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct TrendLine {
    course: Course,
    weights: Learned,
    /// Greatest distance of a lap from the line.
    width: f64,
}

/// A part of a lap without a gap, tick by tick. Most laps are one part.
#[derive(Clone, Copy, Debug)]
pub struct LapPart<'a> {
    /// What was known at each tick, with the same delay and noise as when predictions are made.
    pub known: &'a [Body],
    /// Where the car really was at each of these ticks. May be shorter than `known`.
    pub places: &'a [Vec2],
}

/// Whether laps lead back to their start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LapShape {
    /// They do: the line continues from its end to its start.
    Circuit,
    /// They do not: before the start and after the end the line is straight.
    Stage,
}

/// Why there is no line through the given laps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TrendLineError {
    /// No lap has more than one place.
    NoLaps,
    /// A number is not finite, or a part has more places than known ticks.
    BadLap,
    /// The laps are too short for this smoothing length.
    TooShort,
    /// The laps are too long for this smoothing length: more than [`NODES_MAX`] nodes.
    TooLong,
    /// The smoothing length is not finite and positive.
    BadSmoothing,
}

/// The maximum number of nodes of a line: 32 km at 2 m.
pub const NODES_MAX: usize = 1 << 14;

/// A car farther from the line than this many times the farthest lap is not on the track.
const WIDTHS_MAX: f64 = 2.0;

impl TrendLine {
    /// The usual smoothing length, for cars and metres: 5.
    ///
    /// Nodes are 0.4 of it apart. Below 2 m the curvature of the mean of a few laps is noise (0.002
    /// 1/m at 50 m/s is an acceleration of 5 m/s² that no car has); above 10 m hairpins open up. A
    /// circle of 20 m keeps its radius to 2 cm.
    pub const SMOOTHING: f64 = 5.0;

    /// Creates the mean of these laps, smoothed over a length such as
    /// [`SMOOTHING`](Self::SMOOTHING), and learns weights by predicting each lap from the others.
    ///
    /// Each lap is a list of its parts, in order. A single lap teaches no weights: cars then simply
    /// follow the line.
    pub fn from_laps(
        laps: &[Vec<LapPart<'_>>],
        shape: LapShape,
        smoothing: f64,
    ) -> Result<Self, TrendLineError> {
        if !(smoothing.is_finite() && smoothing > 0.0) {
            return Err(TrendLineError::BadSmoothing);
        }
        let parts = || laps.iter().flatten();
        if !parts().all(LapPart::is_sound) {
            return Err(TrendLineError::BadLap);
        }
        let laps: Vec<&[LapPart<'_>]> = laps.iter().map(Vec::as_slice).collect();
        let course = average::average(&laps, shape, smoothing)?;
        let weights = Learned::from_laps(&laps, shape, smoothing)?;
        let offsets =
            parts().flat_map(|part| average::feet(&course, part.places)).map(|foot| foot.offset.abs());
        let width = offsets.fold(course.spacing(), f64::max);
        Ok(Self { course, weights, width })
    }

    /// Returns whether the line leads back to its start.
    pub fn shape(&self) -> LapShape {
        self.course.shape()
    }

    /// Returns the length: one round, or from end to end.
    pub fn length(&self) -> f64 {
        self.course.length()
    }

    /// Returns the time of the whole line at the usual speed, in seconds.
    pub fn secs(&self) -> f64 {
        self.course.secs()
    }

    /// Returns the greatest distance of a lap from the line.
    pub fn width(&self) -> f64 {
        self.width
    }

    /// Returns the point at distance `along` the line. A circuit starts again after its length; a
    /// stage is straight beyond its ends.
    pub fn position_at(&self, along: f64) -> Vec2 {
        self.course.position_at(along)
    }

    /// Returns the direction at `along`, as a unit vector.
    pub fn tangent_at(&self, along: f64) -> Vec2 {
        self.course.tangent_at(along)
    }

    /// Returns the curvature at `along` in radians per unit of length, positive to the left.
    pub fn curvature_at(&self, along: f64) -> f64 {
        self.course.curvature_at(along)
    }

    /// Returns the usual speed at `along`, per second.
    pub fn speed_at(&self, along: f64) -> f64 {
        self.course.speed_at(along)
    }

    /// Returns the foot of the perpendicular from `place` to the line.
    ///
    /// Of several feet it returns the nearest at which the line does not run against `way`: a road
    /// driven out and back is two lines side by side. If `way` is zero, returns the nearest.
    pub fn foot(&self, place: Vec2, way: Vec2) -> Foot {
        self.course.foot(place, way, None)
    }

    /// Returns the same foot, faster if it is near `along`.
    pub fn foot_near(&self, place: Vec2, way: Vec2, along: f64) -> Foot {
        self.course.foot(place, way, Some(along))
    }

    /// Returns the outlook of the last body, or `None` if it is off the track or against the laps.
    fn outlook(&self, history: &[Body], hint: Option<f64>) -> Option<Outlook<'_>> {
        let body = history.last()?;
        if !body.is_finite() {
            return None;
        }
        let way = outlook::pace(history);
        let foot = self.course.foot(body.position, way, hint);
        let is_on_track = foot.offset.abs() <= WIDTHS_MAX * self.width;
        let is_forward = self.course.tangent_at(foot.along).dot(way) >= 0.0;
        (is_on_track && is_forward).then(|| Outlook::new(&self.course, foot, history))
    }
}

impl LapPart<'_> {
    fn is_sound(&self) -> bool {
        self.places.len() <= self.known.len()
            && self.places.iter().all(|place| place.is_finite())
            && self.known.iter().all(Body::is_finite)
    }
}

/// Over a network only the position and velocity of one DR vector are known.
impl Context for TrendLine {
    fn guides(&self, vector: &DrVector<Vec2>) -> bool {
        self.outlook(&[body_of(vector)], None).is_some()
    }

    fn lengthen(&self, vector: &DrVector<Vec2>, path: &mut Vec<Vec2>, len: usize) {
        let body = body_of(vector);
        let outlook = self.outlook(&[body], None);
        for tick in path.len()..len {
            let secs = tick as f64 * TICK_SECS;
            path.push(match &outlook {
                Some(outlook) => body.position + self.weights.by_vector.displacement(outlook, tick as u32),
                None => body.position + body.velocity * secs,
            });
        }
    }
}

fn body_of(vector: &DrVector<Vec2>) -> Body {
    let start = vector.motion.state_at(0.0);
    Body { position: start.position, velocity: start.velocity, acceleration: Vec2::ZERO }
}

impl std::error::Error for TrendLineError {}

impl std::fmt::Display for TrendLineError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::NoLaps => "no lap has two places: give at least one lap",
            Self::BadLap => "a lap has a number that is not finite, or more places than known ticks",
            Self::TooShort => "the laps are too short for so much smoothing",
            Self::TooLong => "the laps are too long for so little smoothing",
            Self::BadSmoothing => "the smoothing length is not a finite number above 0",
        })
    }
}
