//! Getting somewhere: round boxes, at a speed the turn allows, without running into things.

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

/// A driver knows how fast a tank is; the usual rules are close enough for a feeling.
const SPEED: f64 = 25.0;
const REVERSE_SPEED: f64 = 12.5;
const TURN_RATE: f64 = FRAC_PI_4;
/// Full turn from this much off, proportionally less below: what the turn rate covers in about two
/// looks, so a turn ends without swinging past.
const FULL_TURN_FROM: f64 = TURN_RATE * FULL_TURN_SECS;
/// How long a full turn takes to make that up.
pub(super) const FULL_TURN_SECS: f64 = 0.2;
/// Nearer than this, it takes aiming to get there.
const SWAY_BEYOND: f64 = 50.0;
/// Nearly straight is straight.
const STRAIGHT_ENOUGH: f64 = 0.02;

/// A way to somewhere, planned once and followed until it no longer fits.
#[derive(Clone, Debug, Default)]
pub(super) struct Route {
    goal: Vec2,
    /// The points still to pass, the last one first.
    stops: Vec<Vec2>,
}

impl Route {
    /// What the hands do to get to `goal`, round what stands between, heading off by `sway` while
    /// it is far.
    pub(super) fn drive(&mut self, map: &Map, own: &State<Vec2>, goal: Vec2, sway: f64) -> Input {
        let next = self.next_stop(map, own.position, goal);
        let is_far = own.position.distance(next) > SWAY_BEYOND;
        drive_to(own, next, if is_far { sway } else { 0.0 })
    }

    fn next_stop(&mut self, map: &Map, from: Vec2, goal: Vec2) -> Vec2 {
        /// A goal that moves this far is another goal.
        const ANOTHER_GOAL: f64 = 20.0;
        /// Near enough: a tank that insisted on the point itself would circle around it.
        const PASSED: f64 = 8.0;
        let next = self.stops.last().copied().unwrap_or(goal);
        // Planned with room to spare, given up only when a box is plainly in the way.
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

    /// The stop after the next one, or the goal.
    fn after_next(&self, goal: Vec2) -> Vec2 {
        self.stops.iter().rev().nth(1).copied().unwrap_or(goal)
    }
}

/// How hard to turn to make up for being `off` radians off: positive is to the left.
pub(super) fn turn_for(off: f64) -> f64 {
    if off.abs() < STRAIGHT_ENOUGH { 0.0 } else { (off / FULL_TURN_FROM).clamp(-1.0, 1.0) }
}

/// Straight to a point nothing stands before: on an arc as fast as its curvature allows, backwards
/// if that is clearly shorter.
fn drive_to(own: &State<Vec2>, point: Vec2, sway: f64) -> Input {
    /// Farther away than this it is quicker to turn round than to reverse all the way.
    const REVERSE_WITHIN: f64 = 60.0;
    /// Below a third of full speed a bot looks asleep.
    const THROTTLE_MIN: f64 = 0.35;
    let way = point - own.position;
    let off = wrap_angle(way.heading() + sway - own.orientation);
    let distance = way.length();
    if off.abs() > 0.7 * PI && distance < REVERSE_WITHIN {
        return Input::drive(-1.0, turn_for(wrap_angle(off - PI)));
    }
    // The circle that leaves along the heading and meets the point has this radius.
    let radius = distance / (2.0 * libm::sin(off).abs().max(1e-3));
    let throttle = if off.abs() < STRAIGHT_ENOUGH { 1.0 } else { radius * TURN_RATE / SPEED };
    Input::drive(throttle.clamp(THROTTLE_MIN, 1.0), turn_for(off))
}

/// The wish, or the first of its milder relatives that does not lead into something within a
/// second.
pub(super) fn clear_of_trouble(map: &Map, view: &View, wish: Input) -> Input {
    let Input { throttle, turn, .. } = wish;
    let side = if turn < 0.0 { -1.0 } else { 1.0 };
    let ways = [
        (throttle, turn),
        (0.5 * throttle, turn),
        // At a crawl a tank turns within its own length.
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

/// Whether driving like this meets nothing for as long as it takes to do something else.
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

/// How the own tank will move under this input.
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
