use crate::predict::{Body, TICK_SECS};
use crate::vector::{Vec2, Vector};

use super::course::{Course, Foot};

/// How many vectors an [`Outlook`] draws.
pub(super) const FEATURES: usize = 10;

/// How much farther than the plain line somebody comes, as a sum of these, each with a weight.
pub(super) type Features = [Vec2; FEATURES];

/// Where following the line stands among the [`Features`]: alone, with weight 1, it is "turn as the line turns, brake
/// as laps brake".
pub(super) const FOLLOW: usize = 0;

/// Over how many ticks a car's past is compared with the line's. The shortest sees the turn of this instant and much noise,
/// the longest neither.
const LOOK_BACK: [usize; 3] = [2, 6, 15];

/// Beyond this a car is not taken to be faster than usual, or to have come farther than the line: it has jumped.
const RATIO_MAX: f64 = 2.0;

/// What a line says about where somebody goes from here.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outlook<'a> {
    course: &'a Course,
    body: Body,
    foot: Foot,
    /// The point of the line at the foot, and when a usual drive is there.
    start: Vec2,
    time: f64,
    /// To the left of the line at the foot.
    left: Vec2,
    /// How much faster than usual it drives.
    ratio: f64,
    /// How the line's way must be turned and stretched to be the car's, by what both did in the past.
    likeness: [Likeness; LOOK_BACK.len()],
    /// The acceleration that the line would have here.
    line_acceleration: Vec2,
    /// What the measured acceleration has more than that.
    own_acceleration: Vec2,
}

impl<'a> Outlook<'a> {
    pub(super) fn new(course: &'a Course, foot: Foot, history: &[Body]) -> Self {
        let body = history.last().copied().unwrap_or_default();
        let (start, time) = (course.position_at(foot.along), course.time_at(foot.along));
        let (tangent, usual) = (course.tangent_at(foot.along), course.speed_at(foot.along));
        let ratio = (body.velocity.length() / usual).min(RATIO_MAX);
        let heading = Likeness::of(body.velocity, tangent * (usual * ratio));
        let likeness = LOOK_BACK.map(|ticks| {
            let ticks = ticks.min(history.len().saturating_sub(1));
            if ticks == 0 {
                return heading;
            }
            let own = body.position - history[history.len() - 1 - ticks].position;
            let before = course.along_at(time - ratio * ticks as f64 * TICK_SECS);
            Likeness::of(own, start - course.position_at(before))
        });
        let driven = usual * ratio;
        let along = tangent * (driven * ratio * course.speed_slope_at(foot.along));
        let across = tangent.perpendicular() * (driven * driven * course.curvature_at(foot.along));
        let line_acceleration = likeness[1].applied(along + across);
        // Zero means that nobody measured it.
        let own_acceleration =
            if body.acceleration == Vec2::ZERO { Vec2::ZERO } else { body.acceleration - line_acceleration };
        Self {
            course,
            body,
            foot,
            start,
            time,
            left: tangent.perpendicular(),
            ratio,
            likeness,
            line_acceleration,
            own_acceleration,
        }
    }

    /// Where along the line the foot is.
    pub(super) fn along(&self) -> f64 {
        self.foot.along
    }

    /// How far the plain line comes in so many seconds.
    pub(super) fn straight(&self, secs: f64) -> Vec2 {
        self.body.velocity * secs
    }

    pub(super) fn features(&self, secs: f64) -> Features {
        let straight = self.straight(secs);
        let end = self.course.along_at(self.time + self.ratio * secs);
        let way = self.course.position_at(end) - self.start;
        let steady =
            self.course.position_at(self.foot.along + self.body.velocity.length() * secs) - self.start;
        let left = self.course.tangent_at(end).perpendicular();
        let [near, middle, far] = self.likeness;
        let followed = middle.applied(way);
        let reach = 0.5 * secs * secs;
        [
            followed - straight,
            self.own_acceleration * reach,
            self.line_acceleration * reach,
            near.applied(way) - followed,
            far.applied(way) - followed,
            way - followed,
            middle.applied(steady) - followed,
            (left - self.left) * self.foot.offset,
            left * (self.foot.offset * secs),
            way * (1.0 - self.ratio),
        ]
    }
}

/// A turn and a stretch: as complex numbers multiply.
#[derive(Clone, Copy, Debug)]
struct Likeness(Vec2);

impl Likeness {
    /// What makes `other` into `one`, within reason.
    fn of(one: Vec2, other: Vec2) -> Self {
        let squared = other.length_squared();
        if !(squared > f64::MIN_POSITIVE) {
            return Self(Vec2::new(1.0, 0.0));
        }
        let along = one.dot(other) / squared;
        let across = other.perpendicular().dot(one) / squared;
        Self(Vec2::new(along, across).clamp_length(RATIO_MAX))
    }

    fn applied(self, to: Vec2) -> Vec2 {
        to * self.0.x + to.perpendicular() * self.0.y
    }
}
