//! A player like a practised person.
//!
//! It looks at its screen a few times per second and takes what it sees for the present: it knows
//! nothing of delays, of the dice, or of the field beyond the screen. Its hands follow its eyes by
//! a reaction time. It has learnt to live with that one, as people have: it imagines the screen
//! ahead by its own reaction time, its own hands included. What the network adds it does not
//! expect, so on an old screen it steers too late, and then too much. When the car does not do what
//! the hands did, it loses its nerve and steers more gently, down to hardly at all: that keeps it
//! alive, and gets it hit.

use std::collections::VecDeque;

use fairpath::random::Random;
use fairpath::time::{SharedInstant, Span};
use fairpath::vector::{Vec2, Vector};

use super::config::{JetCarConfig, TICK_RATE};
use super::input::Input;
use super::scene::{Car, JetCarScene, Obstruction};

/// A player who decides from a [`JetCarScene`].
#[derive(Clone, Debug)]
pub struct Bot {
    skill: Skill,
    random: Random,
    look_at: SharedInstant,
    hands: Input,
    /// Decided, but not yet in the hands; in the order of time, at most [`DECIDED_MAX`].
    decided: VecDeque<(SharedInstant, Input)>,
    /// Where it is going, across the field.
    aim: Option<f64>,
    /// 1 steers as briskly as it can, [`NERVE_MIN`] hardly at all.
    nerve: f64,
    /// The car at the last look, unless wind blew then.
    seen: Option<Car>,
    /// How much the look before that surprised it.
    surprise: f64,
    /// What the hands have done since, as seconds of full stick, and until when that is counted.
    pushed: Vec2,
    pushed_until: SharedInstant,
}

/// How well a [`Bot`] plays. The defaults were chosen so that without delay it scores what Buchheit
/// 2004's experienced player did, about 100 in two minutes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Skill {
    /// How often it looks, in seconds on average; each time between half and one and a half of it.
    /// Default 0.12.
    pub look_secs: f64,
    /// From the eye to the hand, in seconds. Default 0.2, what people need to react to something
    /// seen.
    pub reaction_secs: f64,
    /// How far off it sees things, in pixels (standard deviation). Default 6.
    pub sight_noise: f64,
    /// How many of the nearest obstructions it thinks of at once. Default 4; at one it flees from
    /// one into the next.
    pub attention: usize,
    /// How far ahead it thinks, in seconds. Default 1.2. Below half a second it cannot get out of
    /// the way of anything.
    pub foresight_secs: f64,
    /// How briskly it steers as long as nothing surprises it, up to 1. Default 1;
    /// [`used_to`](Self::used_to) finds what suits a delay.
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
    /// Somebody who has played enough on a screen that answers the hands so late to know how gently
    /// to steer: as briskly as does not yet make the car swing from wall to wall. On a screen
    /// that answers at once nobody needs that.
    #[must_use]
    pub fn used_to(self, delay: Span) -> Self {
        /// The longest delay that brisk steering bears. With [`PULL`] and [`BRAKE`] an answer that
        /// comes later than 0.2 s makes swings grow; half as brisk, one later than 0.4 s
        /// does.
        const BEARABLE_SECS: f64 = 0.2;
        let nerve = BEARABLE_SECS / delay.as_secs_f64().max(BEARABLE_SECS);
        Self { nerve: nerve.max(NERVE_MIN), ..self }
    }
}

/// How many decisions can be on their way from eye to hand; with usual skills it is two or three.
const DECIDED_MAX: usize = 32;
/// How many places across the field it considers.
const PLACES: u32 = 25;
/// One step of its imagination, in seconds.
const IMAGINED_STEP: f64 = 0.04;
/// How strongly it pulls towards where it wants to be, per second squared, and brakes, per second:
/// it gets there without swinging past. At full stick (400 px/s²) that is from 44 px away.
const PULL: f64 = 9.0;
const BRAKE: f64 = 6.0;
/// The least nerve: a car parked in all but name, which the walls rarely get and obstructions
/// often.
const NERVE_MIN: f64 = 0.05;
/// What is left of its nerve after a crash, and at least after a surprise.
const AFTER_CRASH: f64 = 0.25;
const AFTER_SURPRISE_MIN: f64 = 0.5;
/// It is surprised when the velocity changed otherwise than its hands would have it, by so many
/// seconds of full stick; and each further second costs so much of its nerve.
const SURPRISE_SECS: f64 = 0.03;
const SURPRISE_COST: f64 = 2.5;
/// How long it takes to regain a good part of it, in seconds.
const CALM_DOWN_SECS: f64 = 20.0;
/// What it fears: a wall more than a hit, a hit sooner more than later, and moving about for
/// nothing a little.
const FEAR_OF_WALL: f64 = 12.0;
const FEAR_OF_HIT: f64 = 4.0;
const LAZINESS: f64 = 0.4;
/// How much nearer than the real edges it takes danger to be, in pixels.
const CAUTION: f64 = 6.0;

impl Bot {
    /// Returns a player of this skill, with dice of its own.
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

    /// Returns whether it looks at its screen `now`, by its own clock.
    pub fn is_looking(&self, now: SharedInstant) -> bool {
        self.look_at <= now
    }

    /// Looks at what is shown, if it is time to, and says what the hands do. `now` is the player's
    /// own time, which the scene may be behind or ahead of.
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

    /// Returns what the hands do at `now`.
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

    /// Compares what the car did since the last look with what the hands did.
    fn notice_surprises(&mut self, rules: &JetCarConfig, scene: &JetCarScene) {
        let pushed = std::mem::replace(&mut self.pushed, Vec2::ZERO) * rules.acceleration();
        // Wind explains everything.
        let car = Some(scene.car).filter(|_| scene.gust.is_none());
        self.nerve += (self.skill.nerve - self.nerve) * self.skill.look_secs / CALM_DOWN_SECS;
        if let (Some(car), Some(seen)) = (car, self.seen) {
            let changed = car.velocity.x - seen.velocity.x;
            let surprise = (changed - pushed.x).abs() / rules.acceleration().max(f64::MIN_POSITIVE);
            // Once is chance, twice is not.
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

    /// Returns the screen ahead by the reaction time, as far as its own hands and plain motion go;
    /// things are not seen exactly.
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

    /// Those it has an eye on: the nearest that can still be met.
    fn threats(&self, rules: &JetCarConfig, scene: &JetCarScene) -> Vec<Obstruction> {
        let car = scene.car.position;
        let until = |one: &Obstruction| (car.y - one.position.y) / one.speed(rules);
        let mut threats: Vec<Obstruction> = scene.obstructions.clone();
        threats.retain(|one| one.position.y < car.y + 0.5 * (rules.car_size + one.extent(rules).y));
        threats.sort_by(|one, other| until(one).total_cmp(&until(other)));
        threats.truncate(self.skill.attention);
        threats
    }

    /// Returns how bad it would be to go to `place` now.
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

    /// Returns how to push towards `target` and stop there: −1 … 1 per axis.
    fn steer(&self, rules: &JetCarConfig, position: Vec2, velocity: Vec2, target: Vec2) -> Vec2 {
        let pull = PULL * self.nerve * self.nerve;
        let wish = (target - position) * pull - velocity * (BRAKE * self.nerve);
        let full = rules.acceleration().max(f64::MIN_POSITIVE);
        Vec2::new((wish.x / full).clamp(-1.0, 1.0), (wish.y / full).clamp(-1.0, 1.0))
    }
}
