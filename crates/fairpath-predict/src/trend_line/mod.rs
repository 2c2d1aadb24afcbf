//! The trend line: where laps have worn a line into a track, and how a car goes on along it.
//!
//! From laps that were driven before comes one smooth line (their mean, not over time but at every
//! place along it), with the usual speed everywhere. A car is seldom *on* that line, and drivers
//! differ, so the line does not say where a car is but how motion changes from here: as the line
//! turns ahead, the car will turn, and as laps usually brake and accelerate there, it will.
//!
//! ```text
//! laps ──▶ average ──▶ Course: cubics by arc length, usual speed, foot of the perpendicular
//!   │                     │
//!   │ each lap by the     ▼
//!   └ line of others ▶ Outlook: a dozen vectors ──▶ weighted sum ──▶ position
//!                         └ what the line does from the foot on, turned and stretched so that what it did *before*
//!                           the foot is what the car did
//! ```
//!
//! How much to believe the measured acceleration, the line, and the pull back to it depends on the
//! noise of the measurement, on how far ahead one looks, and on the drivers. It is learned when the
//! line is built: each lap is predicted by a line of the other laps, and the weights that would
//! have been best are kept with the line. They hold nothing but the laps' own habits, and placing
//! by a line stays a function of the line and of what is known.
//!
//! Jawad 2017, from which the idea comes, takes one straight step along the line's tangent:
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

/// What laps have in common: a line, the usual speed along it, and what both are worth.
///
/// ```
/// use fairpath_predict::{Body, LapPart, LapShape, TrendLine};
/// use fairpath::vector::Vec2;
///
/// // Round and round at 100 m from the middle, 20 m/s, seen 60 times a second.
/// let body = |tick: u32| {
///     let way = Vec2::from_heading(f64::from(tick) / 300.0);
///     Body { position: way * 100.0, velocity: way.perpendicular() * 20.0, acceleration: way * -4.0 }
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
    /// How far from the line laps have been.
    width: f64,
}

/// A part of a lap without a gap, tick by tick. Most laps are one part.
#[derive(Clone, Copy, Debug)]
pub struct LapPart<'a> {
    /// What was known at each tick, as it will be when predictions are wanted: with the same delay
    /// and noise.
    pub known: &'a [Body],
    /// Where the car really was at each of these ticks. Missing at the end where nobody knows.
    pub places: &'a [Vec2],
}

/// Whether laps lead back to where they began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LapShape {
    /// They do: after the end the line goes on at its beginning.
    Circuit,
    /// They do not: before the beginning and after the end the line goes on straight.
    Stage,
}

/// Why there is no line through these laps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TrendLineError {
    /// No lap has more than one place.
    NoLaps,
    /// A place is not a finite number, or more is known of a lap than its places.
    BadLap,
    /// The laps are too short for so much smoothing.
    TooShort,
    /// The laps are too long for so little smoothing: more than [`NODES_MAX`] nodes.
    TooLong,
    /// The smoothing is not a positive length.
    BadSmoothing,
}

/// How many nodes a line may have: 32 km at 2 m.
pub const NODES_MAX: usize = 1 << 14;

/// Somebody farther from the line than this many times the farthest lap is not on the track.
const WIDTHS_MAX: f64 = 2.0;

impl TrendLine {
    /// The usual smoothing length, for cars and metres: 5.
    ///
    /// Nodes are 0.4 of it apart. Below 2 m the curvature of the mean of a few laps is noise (0.002
    /// 1/m at 50 m/s is 5 m/s² of acceleration that nobody has); above 10 m hairpins open up. A
    /// circle of 20 m keeps its radius to 2 cm.
    pub const SMOOTHING: f64 = 5.0;

    /// The mean of these laps, smoothed over a length such as [`SMOOTHING`](Self::SMOOTHING), and
    /// weights learned by predicting each lap from others. Of one lap alone nothing can be
    /// learned: then the line is simply followed.
    ///
    /// A lap is its parts, in order.
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

    /// Whether it leads back to where it began.
    pub fn shape(&self) -> LapShape {
        self.course.shape()
    }

    /// How long it is: one round, or from end to end.
    pub fn length(&self) -> f64 {
        self.course.length()
    }

    /// How long it takes at the usual speed.
    pub fn secs(&self) -> f64 {
        self.course.secs()
    }

    /// How far from it laps have been.
    pub fn width(&self) -> f64 {
        self.width
    }

    /// The point so far along it. A circuit begins again after its length, a stage goes on straight
    /// beyond its ends.
    pub fn position_at(&self, along: f64) -> Vec2 {
        self.course.position_at(along)
    }

    /// Which way it goes there, as a unit vector.
    pub fn tangent_at(&self, along: f64) -> Vec2 {
        self.course.tangent_at(along)
    }

    /// How much it bends there, in radians per unit of length, positive to the left.
    pub fn curvature_at(&self, along: f64) -> f64 {
        self.course.curvature_at(along)
    }

    /// How fast it is usually driven there, per second.
    pub fn speed_at(&self, along: f64) -> f64 {
        self.course.speed_at(along)
    }

    /// The foot of the perpendicular from a place to the line; of several the nearest at which the
    /// line does not go against `way`: out and back on one road are two lines beside each
    /// other. Zero is no way, and the nearest of all is found.
    pub fn foot(&self, place: Vec2, way: Vec2) -> Foot {
        self.course.foot(place, way, None)
    }

    /// The same foot, found more quickly if it is near that place along the line.
    pub fn foot_near(&self, place: Vec2, way: Vec2, along: f64) -> Foot {
        self.course.foot(place, way, Some(along))
    }

    /// Where a body goes from here, unless the line has nothing to say about it: it is not on the
    /// track, or drives against the laps. `history` ends with the newest.
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

/// Live, all that is known is the position and the velocity of one DR vector.
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
            Self::NoLaps => "there is no lap to make a line of",
            Self::BadLap => "a lap has a place that is no finite number, or knows more places than ticks",
            Self::TooShort => "the laps are too short for so much smoothing",
            Self::TooLong => "the laps are too long for so little smoothing",
            Self::BadSmoothing => "the smoothing must be a length above 0",
        })
    }
}
