use crate::{Body, TICK_SECS};
use fairpath::vector::{Vec2, Vector};

use super::course::{Course, Foot};

pub(super) const FEATURES: usize = 15;

/// Vectors whose weighted sum is the displacement beyond constant velocity.
pub(super) type Features = [Vec2; FEATURES];

/// Index of following the line in [`Features`]: turn as the line turns, brake as laps brake.
pub(super) const FOLLOW: usize = 0;

/// Ticks over which a car's past is compared with the line. The shortest sees the current turn and
/// much noise, the longest neither.
const LOOK_BACK: [usize; 5] = [2, 6, 15, 30, 60];
/// Index of the span that is followed unless learning finds better: 100 ms.
const USUAL: usize = 1;
/// Index of the span that tells noise from motion: one second.
const LONGEST: usize = LOOK_BACK.len() - 1;

/// Ticks over which a car's pace relative to the usual speed is measured. Half a second: by then
/// the noise of a cheap GPS receiver is a few per cent of a car's speed, and plans hardly change.
const PACE_TICKS: usize = 30;
/// Maximum ratio to the usual speed: no car is more than twice as fast.
const RATIO_MAX: f64 = 2.0;
/// Maximum scale between the line and a car. Beyond it the car has jumped.
const STRETCH_MAX: f64 = 4.0;

/// What a line says about the way ahead of a body.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outlook<'a> {
    course: &'a Course,
    body: Body,
    foot: Foot,
    /// Point of the line at the foot, and the time at which a usual drive is there.
    start: Vec2,
    time: f64,
    /// Left of the line at the foot.
    left: Vec2,
    /// The car's speed, and its ratio to the usual speed.
    speed: f64,
    ratio: f64,
    /// The same ratio by the pace of the last half second.
    pace_ratio: f64,
    /// Rotation and scale from the line's past to the car's past.
    likeness: [Likeness; LOOK_BACK.len()],
    /// The car's past minus the line's past, matched to the car over the longest span.
    strayed: [Vec2; 3],
    /// Acceleration of a car that follows the line.
    line_acceleration: Vec2,
    /// Measured acceleration minus that.
    own_acceleration: Vec2,
}

impl<'a> Outlook<'a> {
    pub(super) fn new(course: &'a Course, foot: Foot, history: &[Body]) -> Self {
        let body = history.last().copied().unwrap_or_default();
        let (start, slope) = course.position_and_slope_at(foot.along);
        let (time, usual) = (course.time_at(foot.along), course.speed_at(foot.along));
        let tangent = slope.normalize_or_zero();
        let speed = body.velocity.length();
        let ratio_of = |speed: f64| (speed / usual).min(RATIO_MAX);
        let (ratio, pace_ratio) = (ratio_of(speed), ratio_of(pace(history).length()));
        let own = |ticks: usize| body.position - history[history.len() - 1 - ticks].position;
        let line = |ticks: usize, ratio: f64| {
            start - course.position_at(course.along_at(time - ratio * ticks as f64 * TICK_SECS))
        };
        let known = history.len().saturating_sub(1);
        let mut likeness = [Likeness::of(body.velocity, tangent * (usual * ratio)); LOOK_BACK.len()];
        let mut strayed = [Vec2::ZERO; 3];
        if known > 0 {
            let ticks = LOOK_BACK[LONGEST].min(known);
            likeness[LONGEST] = Likeness::of(own(ticks), line(ticks, pace_ratio));
            // Over such a short time the line is almost straight: another pace scales it.
            let paced = if ratio > 0.0 { pace_ratio / ratio } else { 0.0 };
            for place in 0..LONGEST {
                let ticks = LOOK_BACK[place].min(known);
                let (own, line) = (own(ticks), line(ticks, ratio));
                likeness[place] = Likeness::of(own, line);
                if let Some(strayed) = strayed.get_mut(place) {
                    *strayed = own - likeness[LONGEST].applied(line * paced);
                }
            }
        }
        let driven = usual * ratio;
        let along = tangent * (driven * ratio * course.speed_slope_at(foot.along));
        let across = tangent.perpendicular() * (driven * driven * course.curvature_at(foot.along));
        let line_acceleration = likeness[USUAL].applied(along + across);
        // Without a past there is no measured acceleration.
        let own_acceleration = if known > 0 { body.acceleration - line_acceleration } else { Vec2::ZERO };
        Self {
            course,
            body,
            foot,
            start,
            time,
            left: slope.perpendicular(),
            speed,
            ratio,
            pace_ratio,
            likeness,
            strayed,
            line_acceleration,
            own_acceleration,
        }
    }

    /// Returns the distance along the line to the foot.
    pub(super) fn along(&self) -> f64 {
        self.foot.along
    }

    pub(super) fn straight(&self, secs: f64) -> Vec2 {
        self.body.velocity * secs
    }

    pub(super) fn features(&self, secs: f64) -> Features {
        let end = self.course.along_at(self.time + self.ratio * secs);
        let (there, slope) = self.course.position_and_slope_at(end);
        let way = there - self.start;
        let paced_end = self.course.along_at(self.time + self.pace_ratio * secs);
        let paced = self.course.position_at(paced_end) - self.start;
        let steady = self.course.position_at(self.foot.along + self.speed * secs) - self.start;
        let left = slope.perpendicular();
        let followed = self.likeness[USUAL].applied(way);
        let like = |place: usize| self.likeness[place].applied(way) - followed;
        let reach = 0.5 * secs * secs;
        [
            followed - self.straight(secs),
            self.own_acceleration * reach,
            self.line_acceleration * reach,
            like(0),
            like(2),
            like(3),
            self.likeness[LONGEST].applied(paced) - followed,
            way - followed,
            self.likeness[USUAL].applied(steady) - followed,
            (left - self.left) * self.foot.offset,
            left * (self.foot.offset * secs),
            way * (1.0 - self.ratio),
            self.strayed[0],
            self.strayed[1],
            self.strayed[2],
        ]
    }
}

/// Returns the mean velocity of the last half second, or of what is known of it.
pub(super) fn pace(history: &[Body]) -> Vec2 {
    let Some(newest) = history.last() else { return Vec2::ZERO };
    match PACE_TICKS.min(history.len() - 1) {
        0 => newest.velocity,
        ticks => {
            let oldest = history[history.len() - 1 - ticks];
            (newest.position - oldest.position) * (1.0 / (ticks as f64 * TICK_SECS))
        }
    }
}

/// A rotation and scale, multiplied as complex numbers are.
#[derive(Clone, Copy, Debug)]
struct Likeness(Vec2);

impl Likeness {
    /// Returns what maps `other` to `one`, limited to [`STRETCH_MAX`].
    fn of(one: Vec2, other: Vec2) -> Self {
        let squared = other.length_squared();
        if squared.is_nan() || squared <= f64::MIN_POSITIVE {
            return Self(Vec2::new(1.0, 0.0));
        }
        let along = one.dot(other) / squared;
        let across = other.perpendicular().dot(one) / squared;
        Self(Vec2::new(along, across).clamp_length(STRETCH_MAX))
    }

    fn applied(self, to: Vec2) -> Vec2 {
        to * self.0.x + to.perpendicular() * self.0.y
    }
}
