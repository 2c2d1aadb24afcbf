//! Aiming, and dodging shots.

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

/// The bot's estimate of the shot speed: that of the default rules.
const SHOT_SPEED: f64 = 100.0;
/// A bot does not fire at targets beyond two and a half seconds of flight.
const FIRING_DISTANCE: f64 = 250.0;

/// Returns the angle from the barrel to where a shot would meet `foe`, rad; positive to the left.
pub(super) fn off_target(view: &View, foe: &SeenTank) -> f64 {
    let meeting = meeting_point(&view.own, &foe.state);
    wrap_angle((meeting - view.own.position).heading() - view.own.orientation)
}

/// Returns where a shot meets a foe that keeps its shown motion.
fn meeting_point(own: &State<Vec2>, foe: &State<Vec2>) -> Vec2 {
    /// Each iteration quarters the error (the ratio of speeds): three leave about a hundredth.
    const ROUNDS: usize = 3;
    let motion = MotionKind::Circular.from_state(foe);
    let mut meeting = foe.position;
    for _ in 0..ROUNDS {
        let distance = (meeting.distance(own.position) - MUZZLE_FRONT).max(0.0);
        meeting = motion.position_at(distance / SHOT_SPEED);
    }
    meeting
}

/// Returns whether a shot fired now would meet `foe`, given the bot's aiming error.
pub(super) fn is_on_target(map: &Map, view: &View, foe: &SeenTank, error: f64) -> bool {
    let distance = foe.state.position.distance(view.own.position);
    // A tank shows its length from the side, its width from the front: half of the mean.
    let apparent = 0.25 * (TANK_LENGTH + TANK_WIDTH) / distance.max(TANK_LENGTH);
    distance < FIRING_DISTANCE
        && (off_target(view, foe) + error).abs() < apparent
        && map.sees(view.own.position, meeting_point(&view.own, &foe.state))
}

/// A shot that would hit the bot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Threat {
    position: Vec2,
    velocity: Vec2,
    pub(super) passes_at: SharedInstant,
}

/// How far ahead a bot considers shots.
const WORRY_SECS: f64 = 1.6;
/// A shot that passes this near to the centre of the tank counts as a hit.
const TOO_NEAR: f64 = 5.0;

/// Returns the foe's first shot, fired before `seen`, that comes too near if the input stays.
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

/// Returns the input that moves the tank farthest from the shot's line.
pub(super) fn best_dodge(view: &View, threat: &Threat) -> Input {
    const WAYS: [(f64, f64); 6] =
        [(1.0, 0.0), (-1.0, 0.0), (1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)];
    let ways = WAYS.map(|(throttle, turn)| Input::drive(throttle, turn));
    let miss = |way: &Input| miss_distance(view, threat, *way);
    ways.into_iter().max_by(|one, other| miss(one).total_cmp(&miss(other))).unwrap_or_default()
}

/// Returns the distance at which the shot passes the tank's centre under this input.
fn miss_distance(view: &View, threat: &Threat, hands: Input) -> f64 {
    let secs = (threat.passes_at - view.now).as_secs_f64();
    let me = led_by(&steer::motion_of(&view.own, hands), secs).position;
    let line = Rectangle::new(threat.position, threat.velocity.heading(), 0.0, 0.0);
    line.to_local(me).y.abs()
}

/// Returns when an object that moves at `velocity` is nearest to a point `offset` away.
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
