//! Where to shoot, and what is coming.

use fairpath::State;
use fairpath::motion::MotionKind;
use fairpath::rotation::wrap_angle;
use fairpath::time::{SharedInstant, Span};
use fairpath::vector::{Vec2, Vector};

use super::steer;
use crate::tanks::config::{MUZZLE_FRONT, TANK_LENGTH, TANK_WIDTH};
use crate::tanks::geometry::Rectangle;
use crate::tanks::input::Input;
use crate::tanks::map::Map;
use crate::tanks::tank::led_by;
use crate::tanks::view::{SeenShot, SeenTank, View};

/// A driver knows how fast shots fly and how far; the usual rules are close enough for a feeling.
const SHOT_SPEED: f64 = 100.0;
/// Shots that fly for more than two and a half seconds are a waste.
const FIRING_DISTANCE: f64 = 250.0;

/// How far the barrel is off where a shot fired now would meet `foe`, in radians; positive is to
/// the left.
pub(super) fn off_target(view: &View, foe: &SeenTank) -> f64 {
    let meeting = meeting_point(&view.own, &foe.state);
    wrap_angle((meeting - view.own.position).heading() - view.own.orientation)
}

/// Where a shot and a foe who drives on as it is shown meet.
fn meeting_point(own: &State<Vec2>, foe: &State<Vec2>) -> Vec2 {
    /// Each round is wrong by a quarter of the one before, the ratio of the speeds: three leave a
    /// hundredth.
    const ROUNDS: usize = 3;
    let motion = MotionKind::Circular.from_state(foe);
    let mut meeting = foe.position;
    for _ in 0..ROUNDS {
        let distance = (meeting.distance(own.position) - MUZZLE_FRONT).max(0.0);
        meeting = motion.position_at(distance / SHOT_SPEED);
    }
    meeting
}

/// Whether a shot fired now would meet `foe`, as this driver judges it.
pub(super) fn is_on_target(map: &Map, view: &View, foe: &SeenTank, error: f64) -> bool {
    let distance = foe.state.position.distance(view.own.position);
    // A broadside tank shows its length, one that comes or goes its width: half of the mean of both.
    let apparent = 0.25 * (TANK_LENGTH + TANK_WIDTH) / distance.max(TANK_LENGTH);
    distance < FIRING_DISTANCE
        && (off_target(view, foe) + error).abs() < apparent
        && map.sees(view.own.position, meeting_point(&view.own, &foe.state))
}

/// A shot that is going to hit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Threat {
    position: Vec2,
    velocity: Vec2,
    /// When it will be past.
    pub(super) passes_at: SharedInstant,
}

/// How far ahead a driver worries.
const WORRY_SECS: f64 = 1.6;
/// A shot this near to the middle hits a tank, or might.
const TOO_NEAR: f64 = 5.0;

/// The first foe's shot, seen before `seen`, that comes too near if the hands go on as they do.
pub(super) fn nearest_threat(view: &View, hands: Input, seen: SharedInstant) -> Option<Threat> {
    let foes_shots = view.shots.iter().filter(|shot| shot.team != view.team && shot.fired_at <= seen);
    let threats = foes_shots.filter_map(|shot| threat_of(view, hands, shot));
    threats.min_by_key(|threat| threat.passes_at)
}

fn threat_of(view: &View, hands: Input, shot: &SeenShot) -> Option<Threat> {
    let (position, velocity) = (shot.state.position, shot.state.velocity);
    let secs = secs_to_pass(view.own.position - position, velocity);
    if !(0.0..WORRY_SECS).contains(&secs) {
        return None;
    }
    let threat = Threat { position, velocity, passes_at: view.now + Span::from_secs_f64(secs) };
    (miss_distance(view, &threat, hands) < TOO_NEAR).then_some(threat)
}

/// Of all that the hands could do at once, what takes the tank farthest from the shot's line.
pub(super) fn best_dodge(view: &View, threat: &Threat) -> Input {
    const WAYS: [(f64, f64); 6] =
        [(1.0, 0.0), (-1.0, 0.0), (1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)];
    let ways = WAYS.map(|(throttle, turn)| Input::drive(throttle, turn));
    let miss = |way: &Input| miss_distance(view, threat, *way);
    ways.into_iter().max_by(|one, other| miss(one).total_cmp(&miss(other))).unwrap_or_default()
}

/// How far the shot passes from the own tank's middle if the hands do this.
fn miss_distance(view: &View, threat: &Threat, hands: Input) -> f64 {
    let secs = (threat.passes_at - view.now).as_secs_f64();
    let me = led_by(&steer::motion_of(&view.own, hands), secs).position;
    let line = Rectangle::new(threat.position, threat.velocity.heading(), 0.0, 0.0);
    line.to_local(me).y.abs()
}

/// When something that flies by at `velocity` is nearest to a point `offset` away.
fn secs_to_pass(offset: Vec2, velocity: Vec2) -> f64 {
    let squared = velocity.length_squared();
    if squared > 0.0 { offset.dot(velocity) / squared } else { -1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shot_at_the_meeting_point_meets() {
        let own = State::default();
        for (velocity, turn_rate) in [(Vec2::new(0.0, 25.0), 0.0), (Vec2::new(-20.0, 5.0), 0.7)] {
            let foe =
                State::moving(Vec2::new(150.0, 30.0), velocity).with_heading(velocity.heading(), turn_rate);
            let meeting = meeting_point(&own, &foe);
            let secs = (meeting.length() - MUZZLE_FRONT) / SHOT_SPEED;
            let there = MotionKind::Circular.from_state(&foe).position_at(secs);
            assert!(there.distance(meeting) < 1.0, "{there:?} {meeting:?}");
        }
    }
}
