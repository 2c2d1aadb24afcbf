//! Asteroids: ships that thrust and coast, and bullets that live for a second or two. The rules of
//! the example `04_asteroids` of `fairpath-net`, with more bullets.
//!
//! Ships are few, live long and change their course at any time. Bullets are many, live shortly and
//! never change their course: for a sender they are nearly all births and deaths. A pilot knows no
//! other ship, so that a flight does not depend on the network.

use fairpath::random::Random;
use fairpath::session::{Class, ClassId};
use fairpath::time::Span;
use fairpath::vector::{Vec2, Vector};
use fairpath::{State, Trigger};

pub const SHIP: ClassId = ClassId(1);
pub const BULLET: ClassId = ClassId(2);

/// Units per second.
pub const SHIP_SPEED_MAX: f64 = 60.0;
/// Units per second squared.
pub const THRUST: f64 = 80.0;
pub const BULLET_SPEED: f64 = 300.0;
/// Distance at which a ship's owner sends an update.
pub const THRESHOLD: f64 = 0.2;

/// A pilot thrusts and coasts for times between these, in seconds, as in the example.
const THRUSTS_SECS: [f64; 2] = [0.2, 0.6];
const COASTS_SECS: [f64; 2] = [2.0, 4.0];
/// A pilot fires and pauses for times between these, in seconds.
const FIRES_SECS: [f64; 2] = [0.5, 1.5];
const PAUSES_SECS: [f64; 2] = [0.5, 1.5];
/// Bullets per second while the pilot fires.
const BULLETS_PER_SEC: f64 = 4.0;
const BULLET_LIFE_SECS: [f64; 2] = [1.0, 2.0];
/// Pilots fly to places this far from the middle.
const ARENA_RADIUS: f64 = 200.0;

/// Returns the classes of a session.
pub fn classes() -> [(ClassId, Class); 2] {
    let turned = Trigger::PreReckoning { angle: 0.01, speed_min: 2.0 };
    let ship = Class::new(Trigger::AnyOf(vec![Trigger::within(THRESHOLD), turned])).quadratic();
    [(SHIP, ship.facing_within(0.3)), (BULLET, Class::within(THRESHOLD))]
}

/// A ship and its pilot.
#[derive(Clone, Debug)]
pub struct Pilot {
    pub ship: State<Vec2>,
    random: Random,
    is_thrusting: bool,
    thrust_secs_left: f64,
    course: f64,
    is_firing: bool,
    fire_secs_left: f64,
    next_bullet_secs: f64,
}

/// A bullet that a pilot fires.
#[derive(Clone, Copy, Debug)]
pub struct Shot {
    pub state: State<Vec2>,
    pub life: Span,
}

impl Pilot {
    pub fn new(seed: u64) -> Self {
        let mut random = Random::from_seed(seed);
        let place = Vec2::from_heading(random.between(0.0, std::f64::consts::TAU));
        Self {
            ship: State::moving(place * random.between(0.0, ARENA_RADIUS), Vec2::ZERO),
            random,
            is_thrusting: false,
            thrust_secs_left: 0.0,
            course: 0.0,
            is_firing: false,
            fire_secs_left: 0.0,
            next_bullet_secs: 0.0,
        }
    }

    /// Flies for one tick. Returns the bullet fired in it, if any.
    pub fn step(&mut self, secs: f64) -> Option<Shot> {
        self.decide(secs);
        self.fly(secs);
        self.fire(secs)
    }

    fn decide(&mut self, secs: f64) {
        let Self { random, .. } = self;
        self.thrust_secs_left -= secs;
        if self.thrust_secs_left < 0.0 {
            self.is_thrusting = !self.is_thrusting;
            let [min, max] = if self.is_thrusting { THRUSTS_SECS } else { COASTS_SECS };
            self.thrust_secs_left = random.between(min, max);
            let goal = Vec2::from_heading(random.between(0.0, std::f64::consts::TAU)) * ARENA_RADIUS;
            self.course = (goal - self.ship.position).heading();
        }
        self.fire_secs_left -= secs;
        if self.fire_secs_left < 0.0 {
            self.is_firing = !self.is_firing;
            let [min, max] = if self.is_firing { FIRES_SECS } else { PAUSES_SECS };
            self.fire_secs_left = random.between(min, max);
        }
    }

    fn fly(&mut self, secs: f64) {
        let State { position, velocity, orientation, .. } = self.ship;
        let turn_rate = (Vec2::turn_between(orientation, self.course) / secs).clamp(-4.0, 4.0);
        let (nose, drag) = (orientation + turn_rate * secs, velocity * -0.5);
        let push = if self.is_thrusting { Vec2::from_heading(nose) * THRUST } else { drag };
        let wanted = velocity + push * secs;
        let reached = wanted * (SHIP_SPEED_MAX / wanted.length().max(SHIP_SPEED_MAX));
        self.ship = State::moving(position + (velocity + reached) * (0.5 * secs), reached)
            .with_acceleration((reached - velocity) * (1.0 / secs))
            .with_heading(nose, turn_rate);
    }

    fn fire(&mut self, secs: f64) -> Option<Shot> {
        self.next_bullet_secs -= secs;
        if !self.is_firing || self.next_bullet_secs > 0.0 {
            return None;
        }
        self.next_bullet_secs = 1.0 / BULLETS_PER_SEC;
        let way = Vec2::from_heading(self.ship.orientation);
        let [min, max] = BULLET_LIFE_SECS;
        let life = Span::from_secs_f64(self.random.between(min, max));
        Some(Shot { state: State::moving(self.ship.position, way * BULLET_SPEED), life })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pilot_keeps_to_the_rules() {
        let mut pilot = Pilot::new(7);
        let (ticks, secs) = (60 * 120, 1.0 / 60.0);
        let mut shots = 0;
        for _ in 0..ticks {
            let before = pilot.ship;
            shots += u32::from(pilot.step(secs).is_some());
            let push = (pilot.ship.velocity - before.velocity).length() / secs;
            assert!(push <= THRUST + 1e-6 && pilot.ship.velocity.length() <= SHIP_SPEED_MAX + 1e-9);
            assert!(pilot.ship.position.length() < 3.0 * ARENA_RADIUS);
        }
        // Four a second, half of the time, for two minutes.
        assert!((180..300).contains(&shots), "{shots} bullets");
    }
}
