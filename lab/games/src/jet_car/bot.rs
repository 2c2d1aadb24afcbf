//! A bot that plays like a practised person.
//!
//! It looks a few times per second and takes the shown scene for the present: it knows nothing of
//! network delay or of random events. Its input follows a look after a reaction time. It
//! compensates for its own reaction time by extrapolating the scene, its own inputs included. It
//! does not expect network delay, so on an old scene it steers too late, and then too much. When
//! the car does not do what the input asked for, it becomes cautious (its nerve drops) and steers
//! more gently: that saves the car but costs hits.

use std::collections::VecDeque;

use fairpath::random::Random;
use fairpath::time::{SharedInstant, Span};
use fairpath::vector::{Vec2, Vector};

use super::config::{JetCarConfig, TICK_RATE};
use super::input::Input;
use super::scene::{Car, JetCarScene, Obstruction};

/// A bot that decides from a [`JetCarScene`].
#[derive(Clone, Debug)]
pub struct Bot {
    skill: Skill,
    random: Random,
    look_at: SharedInstant,
    hands: Input,
    /// Decisions within the reaction time, in the order of time, at most [`DECIDED_MAX`].
    decided: VecDeque<(SharedInstant, Input)>,
    /// The target x coordinate.
    aim: Option<f64>,
    /// How strongly it steers: from [`NERVE_MIN`] to 1.
    nerve: f64,
    /// The car at the last look, unless wind blew then.
    seen: Option<Car>,
    /// The surprise of the look before that.
    surprise: f64,
    /// The thrust since then, in seconds of full thrust, and until when it is counted.
    pushed: Vec2,
    pushed_until: SharedInstant,
}

/// How well a [`Bot`] plays. The defaults were chosen so that without delay it scores what Buchheit
/// 2004's experienced player did, about 100 in two minutes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Skill {
    /// The mean time between two looks, in seconds; each is 0.5 to 1.5 times as long. Default 0.12.
    pub look_secs: f64,
    /// The reaction time, in seconds. Default 0.2, like people.
    pub reaction_secs: f64,
    /// The standard deviation of seen positions, in pixels. Default 6.
    pub sight_noise: f64,
    /// How many of the nearest obstructions it considers. Default 4; with 1 it evades blindly.
    pub attention: usize,
    /// How far ahead it plans, in seconds. Default 1.2. Below half a second it cannot evade.
    pub foresight_secs: f64,
    /// How strongly it steers, up to 1. Default 1; [`used_to`](Self::used_to) lowers it.
    pub nerve: f64,
}

impl Default for Skill {
    fn default() -> Self {
        Self {
            look_secs: 0.12,
            reaction_secs: 0.2,
            sight_noise: 6.0,
            attention: 4,
            foresight_secs: 1.2,
            nerve: 1.0,
        }
    }
}

impl Skill {
    /// Returns the skill of a player that is used to a delay: it steers as strongly as possible
    /// without oscillating between the walls. Without delay the skill is unchanged.
    #[must_use]
    pub fn used_to(self, delay: Span) -> Self {
        /// The longest delay at full strength. With [`PULL`] and [`BRAKE`] oscillations grow beyond
        /// 0.2 s of delay; at half strength beyond 0.4 s.
        const BEARABLE_SECS: f64 = 0.2;
        let nerve = BEARABLE_SECS / delay.as_secs_f64().max(BEARABLE_SECS);
        Self { nerve: nerve.max(NERVE_MIN), ..self }
    }
}

/// The most decisions within the reaction time; with default skills there are two or three.
const DECIDED_MAX: usize = 32;
/// The number of target positions that it considers.
const PLACES: u32 = 25;
/// The time step of its planning, in seconds.
const IMAGINED_STEP: f64 = 0.04;
/// The gains of its position controller: pull per second squared, brake per second. They are
/// critically damped. Full thrust (400 px/s²) begins 44 px away.
const PULL: f64 = 9.0;
const BRAKE: f64 = 6.0;
/// The least nerve: a nearly parked car, which rarely hits walls and often obstructions.
const NERVE_MIN: f64 = 0.05;
/// The factor of its nerve after a crash, and the least factor after a surprise.
const AFTER_CRASH: f64 = 0.25;
const AFTER_SURPRISE_MIN: f64 = 0.5;
/// The difference between actual and expected change of velocity that surprises it, in seconds of
/// full thrust; and the nerve that each further second costs.
const SURPRISE_SECS: f64 = 0.03;
const SURPRISE_COST: f64 = 2.5;
/// The time constant with which its nerve recovers, in seconds.
const CALM_DOWN_SECS: f64 = 20.0;
/// Costs in its planning: a wall over a hit, an early hit over a late one, a little for motion.
const FEAR_OF_WALL: f64 = 12.0;
const FEAR_OF_HIT: f64 = 4.0;
const LAZINESS: f64 = 0.4;
/// The safety margin around obstacles, in pixels.
const CAUTION: f64 = 6.0;

impl Bot {
    /// Returns a bot of this skill that draws from `random`.
    pub fn new(skill: Skill, random: Random) -> Self {
        Self {
            skill,
            random,
            look_at: SharedInstant::ZERO,
            hands: Input::IDLE,
            decided: VecDeque::new(),
            aim: None,
            nerve: skill.nerve,
            seen: None,
            surprise: 0.0,
            pushed: Vec2::ZERO,
            pushed_until: SharedInstant::ZERO,
        }
    }

    /// Returns whether it looks `now`, by its own clock.
    pub fn is_looking(&self, now: SharedInstant) -> bool {
        self.look_at <= now
    }

    /// Returns its input; decides anew from `scene` if it looks now. `now` is the player's time.
    pub fn drive(&mut self, rules: &JetCarConfig, now: SharedInstant, scene: &JetCarScene) -> Input {
        if self.is_looking(now) {
            let look_secs = self.skill.look_secs * self.random.between(0.5, 1.5);
            self.look_at = now + Span::from_secs_f64(look_secs);
            self.held(now);
            self.notice_surprises(rules, scene);
            let decision = self.decide(rules, now, scene);
            if self.decided.len() < DECIDED_MAX {
                self.decided.push_back((now + Span::from_secs_f64(self.skill.reaction_secs), decision));
            }
        }
        self.held(now)
    }

    /// Returns its input at `now`.
    pub fn held(&mut self, now: SharedInstant) -> Input {
        while let Some((at, decision)) = self.decided.pop_front_if(|(at, _)| *at <= now) {
            self.count_push(at);
            self.hands = decision;
        }
        self.count_push(now);
        self.hands
    }

    fn count_push(&mut self, until: SharedInstant) {
        let secs = (until - self.pushed_until).as_secs_f64();
        self.pushed += self.hands.stick() * secs;
        self.pushed_until = until;
    }

    /// Compares the car's motion since the last look with the input, and updates the nerve.
    fn notice_surprises(&mut self, rules: &JetCarConfig, scene: &JetCarScene) {
        let pushed = std::mem::replace(&mut self.pushed, Vec2::ZERO) * rules.acceleration();
        // Wind explains every surprise.
        let car = Some(scene.car).filter(|_| scene.gust.is_none());
        self.nerve += (self.skill.nerve - self.nerve) * self.skill.look_secs / CALM_DOWN_SECS;
        if let (Some(car), Some(seen)) = (car, self.seen) {
            let changed = car.velocity.x - seen.velocity.x;
            let surprise = (changed - pushed.x).abs() / rules.acceleration().max(f64::MIN_POSITIVE);
            // Only a repeated surprise counts.
            let again = surprise.min(std::mem::replace(&mut self.surprise, surprise));
            self.nerve *= if car.life == seen.life {
                (1.0 - SURPRISE_COST * (again - SURPRISE_SECS).max(0.0)).max(AFTER_SURPRISE_MIN)
            } else {
                AFTER_CRASH
            };
        }
        self.nerve = self.nerve.clamp(NERVE_MIN, 1.0);
        self.seen = car;
    }

    fn decide(&mut self, rules: &JetCarConfig, now: SharedInstant, scene: &JetCarScene) -> Input {
        let imagined = self.imagine(rules, now, scene);
        let threats = self.threats(rules, &imagined);
        let wishes = (0..PLACES).map(|number| {
            let share = (f64::from(number) + 0.5) / f64::from(PLACES);
            let place = rules.car_size + share * (rules.width - 2.0 * rules.car_size);
            (place, self.fear(rules, &imagined, &threats, place))
        });
        let best = wishes.min_by(|(_, one), (_, other)| one.total_cmp(other));
        let place = best.map_or(imagined.car.position.x, |(place, _)| place);
        self.aim = Some(place);
        let home = rules.start().y;
        let push = self.steer(rules, imagined.car.position, imagined.car.velocity, Vec2::new(place, home));
        Input::new(push.x, push.y)
    }

    /// Returns the scene extrapolated by the reaction time and its inputs, with noisy positions.
    fn imagine(&mut self, rules: &JetCarConfig, now: SharedInstant, scene: &JetCarScene) -> JetCarScene {
        let mut imagined = scene.clone();
        let mut hands = self.decided.iter().copied().peekable();
        let mut held = self.hands;
        let ticks = (self.skill.reaction_secs * f64::from(TICK_RATE.as_hz())) as i64;
        for tick in 0..ticks {
            while let Some((_, decision)) = hands.next_if(|(at, _)| *at <= now + TICK_RATE.begin(tick)) {
                held = decision;
            }
            imagined.step(rules, held, 1);
        }
        let noise = self.skill.sight_noise;
        imagined.car.position.x += noise * self.random.normal();
        for obstruction in &mut imagined.obstructions {
            obstruction.position.x += noise * self.random.normal();
            obstruction.position.y += noise * self.random.normal();
        }
        imagined
    }

    /// Returns the obstructions that it considers: the nearest that can still hit.
    fn threats(&self, rules: &JetCarConfig, scene: &JetCarScene) -> Vec<Obstruction> {
        let car = scene.car.position;
        let until = |one: &Obstruction| (car.y - one.position.y) / one.speed(rules);
        let mut threats: Vec<Obstruction> = scene.obstructions.clone();
        threats.retain(|one| one.position.y < car.y + 0.5 * (rules.car_size + one.extent(rules).y));
        threats.sort_by(|one, other| until(one).total_cmp(&until(other)));
        threats.truncate(self.skill.attention);
        threats
    }

    /// Returns the cost of going to `place` now.
    fn fear(&self, rules: &JetCarConfig, scene: &JetCarScene, threats: &[Obstruction], place: f64) -> f64 {
        let target = Vec2::new(place, rules.start().y);
        let (mut position, mut velocity) = (scene.car.position, scene.car.velocity);
        let edge = 0.5 * rules.car_size + CAUTION;
        let mut met = vec![false; threats.len()];
        let mut fear = LAZINESS * (place - self.aim.unwrap_or(position.x)).abs() / rules.width
            + LAZINESS * (place - 0.5 * rules.width).abs() / rules.width;
        let steps = (self.skill.foresight_secs / IMAGINED_STEP) as u32;
        for step in 1..=steps {
            let push = self.steer(rules, position, velocity, target) * rules.acceleration();
            velocity += push * IMAGINED_STEP;
            position += velocity * IMAGINED_STEP;
            let urgency = 1.0 - 0.5 * f64::from(step) / f64::from(steps);
            if position.x < edge || position.x > rules.width - edge {
                fear += FEAR_OF_WALL * urgency / f64::from(steps);
            }
            let secs = f64::from(step) * IMAGINED_STEP;
            for (threat, met) in threats.iter().zip(&mut met).filter(|(_, met)| !**met) {
                let apart = threat.position + Vec2::new(0.0, threat.speed(rules) * secs) - position;
                let reach = (threat.extent(rules) + Vec2::new(rules.car_size, rules.car_size)) * 0.5;
                if apart.x.abs() < reach.x + CAUTION && apart.y.abs() < reach.y + CAUTION {
                    *met = true;
                    fear += FEAR_OF_HIT * urgency;
                }
            }
        }
        fear
    }

    /// Returns the thrust to reach `target` and stop there: −1 … 1 per axis.
    fn steer(&self, rules: &JetCarConfig, position: Vec2, velocity: Vec2, target: Vec2) -> Vec2 {
        let pull = PULL * self.nerve * self.nerve;
        let wish = (target - position) * pull - velocity * (BRAKE * self.nerve);
        let full = rules.acceleration().max(f64::MIN_POSITIVE);
        Vec2::new((wish.x / full).clamp(-1.0, 1.0), (wish.y / full).clamp(-1.0, 1.0))
    }
}
