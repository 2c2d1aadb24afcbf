//! The state that a client is sent, draws and can extrapolate: the game without its randomness.

use fairpath::State;
use fairpath::time::SharedInstant;
use fairpath::vector::{Vec2, Vector};
use fairpath_sim::Digest;

use super::config::{JetCarConfig, POINTS_AVOIDED, POINTS_HIT, TICK_RATE};
use super::input::Input;
use crate::shared::{PlayerInput, add_vector};

/// The state of the field at one instant.
///
/// [`step`](Self::step) is all of the game's physics, and pure: the server calls it after it adds
/// random events, and a client to replay inputs that the server has not seen yet.
#[derive(Clone, Debug, PartialEq)]
pub struct JetCarScene {
    pub tick: u64,
    /// The player's car: only its thrusters and wind move it.
    pub car: Car,
    /// The obstructions, in the order of appearance; at most [`OBSTRUCTIONS_MAX`].
    pub obstructions: Vec<Obstruction>,
    pub gust: Option<Gust>,
    pub score: i32,
    /// The number of cars left, the current one included.
    pub lives: u32,
}

/// The most obstructions at once; about five by default. At the bound none appears until one goes.
pub const OBSTRUCTIONS_MAX: usize = 256;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Car {
    pub position: Vec2,
    /// The velocity, px/s.
    pub velocity: Vec2,
    /// The number of cars before it.
    pub life: u16,
    /// Whether it was placed in the last tick.
    pub is_new: bool,
}

/// An obstruction that moves down.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Obstruction {
    /// Its number, in the order of appearance, from one.
    pub number: u32,
    pub size: Size,
    pub pace: Pace,
    pub position: Vec2,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    Small,
    Medium,
    Large,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    Slow,
    Moderate,
    Fast,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gust {
    /// The push, W: each tick adds it to the velocity.
    pub push: Vec2,
    pub ticks_left: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// An obstruction left the field.
    Avoided { number: u32 },
    /// The car hit an obstruction, which is removed.
    Hit { number: u32, at: Vec2 },
    /// The car hit a wall and is destroyed; the next one begins at the start, if any is left.
    Destroyed { at: Vec2 },
    /// The time is up, or no car is left.
    Over,
}

impl JetCarScene {
    pub fn new(rules: &JetCarConfig) -> Self {
        Self {
            tick: 0,
            car: Car::at_start(rules, 0),
            obstructions: Vec::new(),
            gust: None,
            score: 0,
            lives: rules.lives,
        }
    }

    /// Plays `ticks` ticks with `input`, without random events.
    pub fn step(&mut self, rules: &JetCarConfig, input: Input, ticks: u32) {
        for _ in 0..ticks {
            self.step_noting(rules, input, &mut Vec::new());
        }
    }

    /// Plays one tick and adds its events.
    pub(super) fn step_noting(&mut self, rules: &JetCarConfig, input: Input, events: &mut Vec<Event>) {
        let was_over = self.is_over(rules);
        self.tick += 1;
        if was_over {
            return;
        }
        let wind = self.blow();
        self.car.fly(rules, input.limited(), wind);
        for obstruction in &mut self.obstructions {
            obstruction.position.y += obstruction.speed(rules) * TICK_RATE.step_secs();
        }
        self.meet_obstructions(rules, events);
        self.meet_walls(rules, events);
        if self.is_over(rules) {
            events.push(Event::Over);
        }
    }

    /// Returns the wind in this tick, and counts it down.
    fn blow(&mut self) -> Vec2 {
        let Some(gust) = &mut self.gust else { return Vec2::ZERO };
        let push = gust.push;
        gust.ticks_left = gust.ticks_left.saturating_sub(1);
        if gust.ticks_left == 0 {
            self.gust = None;
        }
        push
    }

    fn meet_obstructions(&mut self, rules: &JetCarConfig, events: &mut Vec<Event>) {
        let car = self.car;
        let score = &mut self.score;
        self.obstructions.retain(|obstruction| {
            let number = obstruction.number;
            if obstruction.touches(rules, car.position) {
                *score += POINTS_HIT;
                events.push(Event::Hit { number, at: obstruction.position });
                false
            } else if obstruction.has_passed(rules) {
                *score += POINTS_AVOIDED;
                events.push(Event::Avoided { number });
                false
            } else {
                true
            }
        });
    }

    fn meet_walls(&mut self, rules: &JetCarConfig, events: &mut Vec<Event>) {
        let half = 0.5 * rules.car_size;
        if (half..=rules.width - half).contains(&self.car.position.x) {
            return;
        }
        events.push(Event::Destroyed { at: self.car.position });
        self.lives -= 1;
        self.car = Car::at_start(rules, self.car.life.saturating_add(1));
    }

    /// Returns whether the time is up or no car is left.
    pub fn is_over(&self, rules: &JetCarConfig) -> bool {
        self.lives == 0 || self.tick >= rules.ticks()
    }

    /// Returns the time since the start.
    pub fn now(&self) -> SharedInstant {
        SharedInstant::ZERO + TICK_RATE.begin(self.tick.cast_signed())
    }

    pub(super) fn digest(&self, digest: &mut Digest) {
        let Self { tick, car, obstructions, gust, score, lives } = self;
        digest.u64(*tick).i64((*score).into()).u32(*lives);
        add_vector(car.position, digest);
        add_vector(car.velocity, digest);
        digest.u16(car.life).bool(car.is_new);
        for Obstruction { number, size, pace, position } in obstructions {
            digest.u32(*number).u8(*size as u8).u8(*pace as u8);
            add_vector(*position, digest);
        }
        digest.bool(gust.is_some());
        if let Some(Gust { push, ticks_left }) = gust {
            add_vector(*push, digest);
            digest.u32(*ticks_left);
        }
    }
}

impl Car {
    fn at_start(rules: &JetCarConfig, life: u16) -> Self {
        Self { position: rules.start(), velocity: Vec2::ZERO, life, is_new: true }
    }

    /// Moves the car for one tick: P += V·Δt, then V += U/10 + W. Top and bottom stop it.
    pub fn fly(&mut self, rules: &JetCarConfig, input: Input, wind: Vec2) {
        self.is_new = false;
        self.position += self.velocity * TICK_RATE.step_secs();
        self.velocity += input.stick() * (rules.thrust / 10.0) + wind;
        let half = 0.5 * rules.car_size;
        let held = self.position.y.clamp(half, rules.height - half);
        if held != self.position.y {
            self.position.y = held;
            self.velocity.y = 0.0;
        }
    }

    pub fn state(&self) -> State<Vec2> {
        State::moving(self.position, self.velocity)
    }
}

impl Obstruction {
    /// Returns its width and height, in pixels.
    pub fn extent(&self, rules: &JetCarConfig) -> Vec2 {
        let width = rules.widths[self.size as usize];
        Vec2::new(width, 0.5 * width)
    }

    /// Returns its speed, in pixels per second.
    pub fn speed(&self, rules: &JetCarConfig) -> f64 {
        rules.speeds[self.pace as usize]
    }

    /// Returns whether it overlaps a car at this position.
    pub fn touches(&self, rules: &JetCarConfig, car: Vec2) -> bool {
        let reach = (self.extent(rules) + Vec2::new(rules.car_size, rules.car_size)) * 0.5;
        let apart = self.position - car;
        apart.x.abs() < reach.x && apart.y.abs() < reach.y
    }

    /// Returns whether it has left the field at the bottom.
    fn has_passed(&self, rules: &JetCarConfig) -> bool {
        self.position.y - 0.5 * self.extent(rules).y > rules.height
    }

    pub fn state(&self, rules: &JetCarConfig) -> State<Vec2> {
        State::moving(self.position, Vec2::new(0.0, self.speed(rules)))
    }
}

impl Size {
    pub const ALL: [Self; 3] = [Self::Small, Self::Medium, Self::Large];
}

impl Pace {
    pub const ALL: [Self; 3] = [Self::Slow, Self::Moderate, Self::Fast];
}
