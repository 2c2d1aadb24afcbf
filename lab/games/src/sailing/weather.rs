//! The random shifts of wind and current. Only the server knows them; no client is sent this.

use std::f64::consts::TAU;

use fairpath::random::Random;
use fairpath::vector::{Vec2, Vector};
use fairpath_sim::Digest;

use super::config::{Current, KNOT, SailingConfig, Shift, TICK_RATE, Wind, blowing_from};
use super::scene::{Event, SailingScene};
use crate::shared::add_random;

/// The weather of a race. Wind and current have separate random streams.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Weather {
    wind: Random,
    current: Random,
    wind_shift_at: u64,
    wind_shifts: u64,
    current_shift_at: u64,
}

/// The next wind or current, and its duration in ticks; `None` is for ever.
struct Next {
    velocity: Vec2,
    ticks: Option<u64>,
}

impl Weather {
    pub(super) fn new(seed: u64) -> Self {
        let dice = Random::from_seed(seed);
        Self {
            wind: dice.fork(0),
            current: dice.fork(1),
            wind_shift_at: 0,
            wind_shifts: 0,
            current_shift_at: 0,
        }
    }

    /// Sets wind and current of the next tick.
    pub(super) fn pass_over(
        &mut self,
        rules: &SailingConfig,
        scene: &mut SailingScene,
        events: &mut Vec<Event>,
    ) {
        if scene.tick >= self.wind_shift_at {
            let Next { velocity, ticks } = self.next_wind(&rules.wind);
            self.wind_shifts += 1;
            self.wind_shift_at = until(scene.tick, ticks);
            scene.wind = velocity;
            events.push(Event::WindShifted);
        }
        if scene.tick >= self.current_shift_at {
            let Next { velocity, ticks } = self.next_current(&rules.current);
            self.current_shift_at = until(scene.tick, ticks);
            scene.current = velocity;
            events.push(Event::CurrentShifted);
        }
    }

    fn next_wind(&mut self, wind: &Wind) -> Next {
        match wind {
            Wind::Constant(wind) | Wind::God(wind) => Next { velocity: *wind, ticks: None },
            Wind::Random { from, spread, knots, secs } => {
                let from = from + spread * self.wind.between(-1.0, 1.0);
                let knots = self.wind.between(knots[0], knots[1]);
                let secs = self.wind.between(secs[0], secs[1]);
                Next { velocity: blowing_from(from, knots), ticks: Some(ticks(secs)) }
            }
            Wind::Pattern(shifts) if shifts.is_empty() => Next { velocity: Vec2::ZERO, ticks: None },
            Wind::Pattern(shifts) => {
                let Shift { wind, secs } = shifts[(self.wind_shifts % shifts.len() as u64) as usize];
                Next { velocity: wind, ticks: Some(ticks(secs)) }
            }
        }
    }

    fn next_current(&mut self, current: &Current) -> Next {
        match *current {
            Current::None => Next { velocity: Vec2::ZERO, ticks: None },
            Current::Constant(current) => Next { velocity: current, ticks: None },
            Current::Drawn { knots_max } => Next { velocity: self.draw_current(knots_max), ticks: None },
            Current::Shifting { knots_max, secs } => {
                let velocity = self.draw_current(knots_max);
                Next { velocity, ticks: Some(ticks(self.current.between(secs[0], secs[1]))) }
            }
        }
    }

    fn draw_current(&mut self, knots_max: f64) -> Vec2 {
        let speed = knots_max * KNOT * self.current.unit();
        Vec2::from_heading(TAU * self.current.unit()) * speed
    }

    pub(super) fn digest(&self, digest: &mut Digest) {
        add_random(&self.wind, digest);
        add_random(&self.current, digest);
        digest.u64(self.wind_shift_at).u64(self.wind_shifts).u64(self.current_shift_at);
    }
}

fn until(tick: u64, ticks: Option<u64>) -> u64 {
    ticks.map_or(u64::MAX, |ticks| tick + ticks)
}

/// Returns `secs` in whole ticks, at least one.
fn ticks(secs: f64) -> u64 {
    ((secs * f64::from(TICK_RATE.as_hz())).round() as u64).max(1)
}
