//! Driving to a point: round boxes, at a speed that the turn allows, without collisions.

use std::f64::consts::{FRAC_PI_4, PI};

use fairpath::State;
use fairpath::motion::Circular;
use fairpath::rotation::wrap_angle;
use fairpath::vector::{Vec2, Vector};

use crate::tanks::config::{TANK_RADIUS, TANK_WIDTH};
use crate::tanks::input::Input;
use crate::tanks::map::Map;
use crate::tanks::roads::CLEARANCE;
use crate::tanks::tank::{led_by, shape_of};
use crate::tanks::view::View;

/// The bot's estimate of a tank's speed: that of the default rules.
const SPEED: f64 = 25.0;
const REVERSE_SPEED: f64 = 12.5;
const TURN_RATE: f64 = FRAC_PI_4;
/// The angle from which a bot turns fully; below it turns proportionally less. The turn rate covers
/// it in about two looks, so a turn ends without overshooting.
const FULL_TURN_FROM: f64 = TURN_RATE * FULL_TURN_SECS;
/// How long a full turn takes for that angle.
pub(super) const FULL_TURN_SECS: f64 = 0.2;
/// Nearer to its goal than this, a bot does not sway.
const SWAY_BEYOND: f64 = 50.0;
/// Below this angle, in radians, a bot does not turn.
const STRAIGHT_ENOUGH: f64 = 0.02;

/// A route to a goal, planned once and followed until it no longer fits.
#[derive(Clone, Debug, Default)]
pub(super) struct Route {
    goal: Vec2,
    /// The remaining waypoints, the last one first.
    stops: Vec<Vec2>,
}

impl Route {
    /// Returns the input to drive to `goal` round obstacles, deviating by `sway` while it is far.
    pub(super) fn drive(&mut self, map: &Map, own: &State<Vec2>, goal: Vec2, sway: f64) -> Input {
        let next = self.next_stop(map, own.position, goal);
        let is_far = own.position.distance(next) > SWAY_BEYOND;
        drive_to(own, next, if is_far { sway } else { 0.0 })
    }

    fn next_stop(&mut self, map: &Map, from: Vec2, goal: Vec2) -> Vec2 {
        /// A goal that has moved this far needs a new route.
        const ANOTHER_GOAL: f64 = 20.0;
        /// The distance at which a waypoint is passed; with less the tank would circle around it.
        const PASSED: f64 = 8.0;
        let next = self.stops.last().copied().unwrap_or(goal);
        // Routes are planned with clearance and given up only when a box is in the way.
        let is_lost = !map.is_free_way(from, next, 0.0);
        if goal.distance(self.goal) > ANOTHER_GOAL || is_lost {
            self.goal = goal;
            self.stops = map.way(from, goal);
        }
        while let Some(next) = self.stops.last() {
            let room = if next.distance(from) < PASSED { TANK_WIDTH } else { CLEARANCE };
            if !map.is_free_way(from, self.after_next(goal), room) {
                break;
            }
            self.stops.pop();
        }
        self.stops.last().copied().unwrap_or(goal)
    }

    /// Returns the waypoint after the next one, or the goal.
    fn after_next(&self, goal: Vec2) -> Vec2 {
        self.stops.iter().rev().nth(1).copied().unwrap_or(goal)
    }
}

/// Returns the turn input for a heading error of `off` radians; positive is to the left.
pub(super) fn turn_for(off: f64) -> f64 {
    if off.abs() < STRAIGHT_ENOUGH { 0.0 } else { (off / FULL_TURN_FROM).clamp(-1.0, 1.0) }
}

/// Returns the input to a visible point: an arc as fast as it allows, or reverse if shorter.
fn drive_to(own: &State<Vec2>, point: Vec2, sway: f64) -> Input {
    /// Farther away than this, turning round is quicker than reversing.
    const REVERSE_WITHIN: f64 = 60.0;
    /// The least throttle: slower bots do not look like players.
    const THROTTLE_MIN: f64 = 0.35;
    let way = point - own.position;
    let off = wrap_angle(way.heading() + sway - own.orientation);
    let distance = way.length();
    if off.abs() > 0.7 * PI && distance < REVERSE_WITHIN {
        return Input::drive(-1.0, turn_for(wrap_angle(off - PI)));
    }
    // The radius of the circle that starts along the heading and passes through the point.
    let radius = distance / (2.0 * libm::sin(off).abs().max(1e-3));
    let throttle = if off.abs() < STRAIGHT_ENOUGH { 1.0 } else { radius * TURN_RATE / SPEED };
    Input::drive(throttle.clamp(THROTTLE_MIN, 1.0), turn_for(off))
}

/// Returns the input, or the first milder variant that leads into no obstacle within a second.
pub(super) fn clear_of_trouble(map: &Map, view: &View, wish: Input) -> Input {
    let Input { throttle, turn, .. } = wish;
    let side = if turn < 0.0 { -1.0 } else { 1.0 };
    let ways = [
        (throttle, turn),
        (0.5 * throttle, turn),
        // At very low speed a tank turns within its own length.
        (0.15 * throttle, turn),
        (throttle, side),
        (throttle, -side),
        (0.4 * throttle, side),
        (0.4 * throttle, -side),
        (-throttle.signum(), side),
        (-throttle.signum(), 0.0),
    ];
    let free = ways.into_iter().find(|(throttle, turn)| is_free(map, view, *throttle, *turn));
    let (throttle, turn) = free.unwrap_or((throttle, turn));
    Input::drive(throttle, turn)
}

/// Returns whether driving like this meets no obstacle for 0.9 s, long enough to react.
fn is_free(map: &Map, view: &View, throttle: f64, turn: f64) -> bool {
    const AHEAD_SECS: [f64; 3] = [0.3, 0.6, 0.9];
    let motion = motion_of(&view.own, Input::drive(throttle, turn));
    AHEAD_SECS.iter().all(|secs| {
        let shape = shape_of(&led_by(&motion, *secs)).inflated(0.3);
        let meets_tank = view.tanks.iter().any(|tank| {
            let there = tank.state.position + tank.state.velocity * *secs;
            there.distance(shape.centre) < 4.0 * TANK_RADIUS
                && shape.overlaps(&shape_of(&State { position: there, ..tank.state }))
        });
        !meets_tank && map.is_clear(&shape)
    })
}

/// Returns the own tank's motion under this input.
pub(super) fn motion_of(own: &State<Vec2>, input: Input) -> Circular<Vec2> {
    let speed = if input.throttle < 0.0 { REVERSE_SPEED } else { SPEED };
    Circular {
        position: own.position,
        heading: own.orientation,
        speed: input.throttle * speed,
        turn_rate: input.turn * TURN_RATE,
        climb_rate: 0.0,
        climb_acceleration: 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_behind_is_reached_backwards_if_near() {
        let own = State::default();
        assert!(drive_to(&own, Vec2::new(-20.0, 1.0), 0.0).throttle < 0.0);
        assert!(drive_to(&own, Vec2::new(-200.0, 1.0), 0.0).throttle > 0.0);
        assert_eq!(drive_to(&own, Vec2::new(100.0, 0.0), 0.0), Input::drive(1.0, 0.0));
        assert_eq!(drive_to(&own, Vec2::new(0.0, 100.0), 0.0).turn, 1.0, "full left");
    }
}
