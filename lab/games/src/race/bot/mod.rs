//! Bots that drive like people: each with its own line, and never twice the same.
//!
//! A bot looks about ten times per second, decides from what it is *shown*, and keeps its input
//! until it looks again. It has a [`DrivingPlan`] of line and speeds, deviates randomly from both,
//! overtakes slower cars, makes mistakes (brakes too late, leaves its line by a metre or two, does
//! not look for a while), and recovers from them.
//!
//! | module | contents |
//! | --- | --- |
//! | `style` | the driving styles |
//! | `plan` | a line and speeds for a track |

mod plan;
mod style;

pub use plan::DrivingPlan;
pub use style::Style;

use std::f64::consts::FRAC_PI_3;
use std::sync::Arc;

use fairpath::random::Random;
use fairpath::rotation::wrap_angle;
use fairpath::time::{SharedInstant, Span};
use fairpath::vector::Vector;

use super::car::{CAR_RADIUS, CarModel};
use super::input::Input;
use super::track::{Place, Track};
use super::view::{SeenCar, View};
use style::Character;

/// A bot that decides from a [`View`].
#[derive(Clone, Debug)]
pub struct Bot {
    character: Character,
    plan: Arc<DrivingPlan>,
    car: CarModel,
    random: Random,
    /// Where along the track the car was at the last look.
    along: Option<f64>,
    look_at: SharedInstant,
    looked_at: SharedInstant,
    hands: Input,
    /// When a steering key pressed for a short turn is released.
    release_at: SharedInstant,
    /// The current deviation from its line, in metres, and from its speed, as a share.
    wander: f64,
    pace_wander: f64,
    mistake: Option<Mistake>,
    next_mistake_at: SharedInstant,
    /// Since when the car has hardly moved.
    stuck_since: Option<SharedInstant>,
    backing_until: SharedInstant,
    /// Until when it drives more slowly after a collision.
    shaken_until: SharedInstant,
    speed: f64,
}

/// A mistake that lasts for a while.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Mistake {
    error: Error,
    until: SharedInstant,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Error {
    /// Drives faster than planned by this factor.
    TooFast(f64),
    /// Drives this many metres beside the planned line.
    OffLine(f64),
    /// Does not look.
    Distracted,
}

/// The target of a look.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Wish {
    /// The offset to aim at, to the left of the centre line, in metres.
    offset: f64,
    speed: f64,
}

/// A car slower than this speed, in m/s, for longer than this time is stuck.
const STUCK_SPEED: f64 = 1.0;
const STUCK_AFTER: Span = Span::from_millis(900);
/// How far ahead it aims at a standstill, in metres.
const SIGHT_MIN: f64 = 5.0;
/// How far along the track it looks for other cars, in metres.
const SIGHT_MAX: f64 = 45.0;
/// The search range for its own place, in metres: twice what it drives between two looks.
const MYSELF: f64 = 25.0;
/// The lateral gap to a car that it overtakes, in metres.
const PASSING_ROOM: f64 = 0.7;

impl Bot {
    /// Returns a bot with this plan that draws from `random`.
    pub fn new(plan: Arc<DrivingPlan>, car: CarModel, mut random: Random) -> Self {
        let character = plan.style().character();
        let first_mistake = Span::from_secs_f64(character.mistake_secs * random.exponential());
        Self {
            character,
            plan,
            car,
            random,
            along: None,
            look_at: SharedInstant::ZERO,
            looked_at: SharedInstant::ZERO,
            hands: Input::IDLE,
            release_at: SharedInstant::ZERO,
            wander: 0.0,
            pace_wander: 0.0,
            mistake: None,
            next_mistake_at: SharedInstant::ZERO + first_mistake,
            stuck_since: None,
            backing_until: SharedInstant::ZERO,
            shaken_until: SharedInstant::ZERO,
            speed: 0.0,
        }
    }

    pub fn style(&self) -> Style {
        self.plan.style()
    }

    /// Returns whether it looks at its view `now`. Between looks it keeps its input.
    pub fn is_looking(&self, now: SharedInstant) -> bool {
        self.look_at <= now
    }

    /// Returns its input at `now` without a look: as before, but a short key press ends in time.
    pub fn held(&self, now: SharedInstant) -> Input {
        let steer = if self.character.has_wheel || now < self.release_at { self.hands.steer } else { 0.0 };
        Input { steer, ..self.hands }
    }

    /// Returns its input; decides anew from `view` if it looks now.
    pub fn drive(&mut self, track: &Track, view: &View) -> Input {
        if !self.is_looking(view.now) {
            return self.held(view.now);
        }
        self.look_again_soon(view.now);
        self.notice_hits(view);
        self.notice_being_stuck(view);
        self.wander_on(view.now);
        self.err_now_and_then(view.now);
        self.looked_at = view.now;
        if self.error() == Some(Error::Distracted) {
            return self.held(view.now);
        }
        let place = self.find_myself(track, view);
        let wish = self.among_others(track, view, place, self.own_wish(track, place));
        let turn = self.turn_towards(track, view, place, wish.offset);
        self.hands = if view.now < self.backing_until {
            back_out(turn)
        } else {
            self.steer_and_pace(view, wish, turn)
        };
        self.by_hand(view.now)
    }

    fn look_again_soon(&mut self, now: SharedInstant) {
        let secs = self.character.look_secs * self.random.between(0.5, 1.5);
        self.look_at = now + Span::from_secs_f64(secs);
    }

    /// Detects a collision by a loss of speed without braking, and drives slower for a while.
    fn notice_hits(&mut self, view: &View) {
        let speed = view.own.velocity.length();
        let explained = 1.3 * self.car.grip_at(self.speed) * (view.now - self.looked_at).as_secs_f64();
        if self.speed - speed > explained + 1.0 {
            self.shaken_until = view.now + Span::from_secs_f64(self.random.between(1.5, 3.5));
        }
        self.speed = speed;
    }

    fn notice_being_stuck(&mut self, view: &View) {
        if self.speed > STUCK_SPEED || view.now < self.backing_until {
            self.stuck_since = None;
            return;
        }
        let since = *self.stuck_since.get_or_insert(view.now);
        if view.now - since > STUCK_AFTER {
            self.stuck_since = None;
            self.backing_until = view.now + Span::from_secs_f64(self.random.between(0.8, 1.8));
        }
    }

    /// Updates the random deviations from line and speed (Ornstein–Uhlenbeck processes).
    fn wander_on(&mut self, now: SharedInstant) {
        let Character { wander, wander_secs, pace_wander, .. } = self.character;
        let kept = libm::exp(-(now - self.looked_at).as_secs_f64() / wander_secs);
        let fresh = (1.0 - kept * kept).sqrt();
        self.wander = kept * self.wander + fresh * wander * self.random.normal();
        self.pace_wander = kept * self.pace_wander + fresh * pace_wander * self.random.normal();
    }

    fn err_now_and_then(&mut self, now: SharedInstant) {
        self.mistake = self.mistake.filter(|mistake| now < mistake.until);
        if now < self.next_mistake_at {
            return;
        }
        let (error, secs) = match self.random.below(3) {
            0 => (Error::TooFast(self.random.between(1.08, 1.22)), self.random.between(1.5, 3.0)),
            1 => {
                let side = if self.random.chance(0.5) { 1.0 } else { -1.0 };
                (Error::OffLine(side * self.random.between(1.2, 2.8)), self.random.between(1.0, 2.5))
            }
            _ => (Error::Distracted, self.random.between(0.25, 0.6)),
        };
        self.mistake = Some(Mistake { error, until: now + Span::from_secs_f64(secs) });
        let pause = secs + self.character.mistake_secs * self.random.exponential();
        self.next_mistake_at = now + Span::from_secs_f64(pause);
    }

    fn error(&self) -> Option<Error> {
        self.mistake.map(|mistake| mistake.error)
    }

    fn find_myself(&mut self, track: &Track, view: &View) -> Place {
        let near = self.along.map(|along| track.project_within(view.own.position, along, MYSELF));
        // Far off the track, the car has been moved elsewhere.
        let is_lost = |place: &Place| place.offset.abs() > MYSELF;
        let place = near.filter(|place| !is_lost(place)).unwrap_or_else(|| track.find(view.own.position));
        self.along = Some(place.along);
        place
    }

    /// Returns the planned line and speed with the current deviations.
    fn own_wish(&self, track: &Track, place: Place) -> Wish {
        let target = track.wrap(place.along + self.sight());
        let slip = if let Some(Error::OffLine(metres)) = self.error() { metres } else { 0.0 };
        let offset = self.plan.offset_at(target) + self.wander + slip;
        let haste = if let Some(Error::TooFast(factor)) = self.error() { factor } else { 1.0 };
        let courage = if self.looked_at < self.shaken_until { 0.85 } else { 1.0 };
        // The input takes effect about a look later.
        let soon = place.along + self.speed * self.character.look_secs;
        let speed = self.plan.speed_at(soon) * (1.0 + self.pace_wander) * haste * courage;
        Wish { offset: track.limited(Place { along: target, offset }, CAR_RADIUS + 0.3).offset, speed }
    }

    fn sight(&self) -> f64 {
        SIGHT_MIN + self.character.sight_secs * self.speed
    }

    /// Overtakes slower cars where there is room, otherwise stays behind.
    fn among_others(&self, track: &Track, view: &View, place: Place, wish: Wish) -> Wish {
        let is_in_sight = |other: &&SeenCar| other.state.position.distance(view.own.position) < SIGHT_MAX;
        let others = view.others.iter().filter(is_in_sight);
        others.fold(wish, |wish, other| self.beside(track, other, place, wish))
    }

    fn beside(&self, track: &Track, other: &SeenCar, place: Place, wish: Wish) -> Wish {
        let there = track.project_within(other.state.position, place.along, SIGHT_MAX);
        let gap = track.way(place.along, there.along);
        let their_speed = other.state.velocity.dot(track.tangent_at(there.along));
        let closing = self.speed - their_speed;
        let near = 7.0 + 1.3 * closing.max(0.0);
        let side_by_side = 2.0 * CAR_RADIUS + PASSING_ROOM;
        if !(-1.0..near).contains(&gap) || (wish.offset - there.offset).abs() > side_by_side {
            return wish;
        }
        let has_room = |offset: f64| {
            let at = Place { along: there.along, offset };
            track.limited(at, CAR_RADIUS + 0.2).offset == offset
        };
        let (left, right) = (there.offset + side_by_side, there.offset - side_by_side);
        let sides = if place.offset >= there.offset { [left, right] } else { [right, left] };
        match sides.into_iter().find(|offset| has_room(*offset)) {
            Some(offset) => Wish { offset, ..wish },
            None => Wish { speed: wish.speed.min((their_speed + 0.6 * (gap - 4.0)).max(1.5)), ..wish },
        }
    }

    /// Returns the angle to the point of the track that it aims at, in radians.
    fn turn_towards(&self, track: &Track, view: &View, place: Place, offset: f64) -> f64 {
        let aim = track.position_of(Place { along: place.along + self.sight(), offset });
        // At speed the velocity counts, at low speed the heading.
        let heading =
            if view.own.signed_speed() > 3.0 { view.own.velocity.heading() } else { view.own.orientation };
        wrap_angle((aim - view.own.position).heading() - heading)
    }

    /// Returns the input to steer on the circle to the point it aims at, at the wished speed.
    fn steer_and_pace(&self, view: &View, wish: Wish, turn: f64) -> Input {
        let bend = 2.0 * libm::sin(turn) / self.sight();
        let is_facing_away = turn.abs() > FRAC_PI_3;
        let steer = if is_facing_away { turn.signum() } else { bend / self.car.curvature_max(self.speed) };
        let speed = if is_facing_away { wish.speed.min(7.0) } else { wish.speed };
        let missing = speed - view.own.signed_speed();
        let throttle = if missing > -0.3 { 0.2 + 0.6 * missing } else { 0.0 };
        let brake = if missing < -0.3 { -0.5 * (missing + 0.3) } else { 0.0 };
        Input {
            throttle: throttle.clamp(0.0, 1.0),
            brake: brake.clamp(0.0, 1.0),
            steer: steer.clamp(-1.0, 1.0),
        }
    }

    /// Returns the input as its device gives it: a wheel any amount, keys up or down, even briefly.
    fn by_hand(&mut self, now: SharedInstant) -> Input {
        if !self.character.has_wheel {
            let steer = self.hands.steer;
            let until_look = self.look_at - now;
            self.release_at = now + until_look.scaled(steer.abs());
            let pressed = |pedal: f64| if pedal > 0.5 { 1.0 } else { 0.0 };
            let reverse = self.hands.throttle < 0.0;
            self.hands = Input {
                throttle: if reverse { -1.0 } else { pressed(self.hands.throttle) },
                brake: pressed(self.hands.brake),
                steer: if steer.abs() < 0.08 { 0.0 } else { steer.signum() },
            };
        }
        self.held(now)
    }
}

/// Returns the input to reverse towards the goal: in reverse the wheels turn the car the other way.
fn back_out(turn: f64) -> Input {
    Input { throttle: -1.0, brake: 0.0, steer: -turn.signum() }
}
