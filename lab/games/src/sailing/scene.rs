//! The state that a client is sent, draws and can extrapolate: the race without its randomness.

use std::f64::consts::FRAC_PI_4;

use fairpath::rotation::wrap_angle;
use fairpath::time::SharedInstant;
use fairpath::vector::{Vec2, Vector};
use fairpath_sim::Digest;

use super::boat::Boat;
use super::config::{KNOT, SailingConfig, TICK_RATE, WIND_MAX, Wind};
use super::input::Input;
use crate::shared::{PlayerInput, add_vector};

/// The state of a race at one instant.
///
/// [`step`](Self::step) is pure: the server calls it after it updates wind and current, and a
/// client to replay inputs that the server has not seen yet, in unchanged weather.
#[derive(Clone, Debug, PartialEq)]
pub struct SailingScene {
    pub tick: u64,
    /// The wind, in ft/s.
    pub wind: Vec2,
    /// The current, in ft/s.
    pub current: Vec2,
    pub boats: Vec<Boat>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    WindShifted,
    CurrentShifted,
    Finished { seat: u32 },
}

/// In god mode, how fast the wind turns, rad/s, and how fast it rises, ft/s².
const GOD_TURN: f64 = FRAC_PI_4;
const GOD_RISE: f64 = 4.0 * KNOT;
/// The least wind in god mode, in ft/s: at zero its direction would be lost.
const GOD_WIND_MIN: f64 = 0.1;

impl SailingScene {
    /// Returns the scene at tick zero: boats at rest at the origin, heading for the buoy, calm.
    pub fn new(rules: &SailingConfig) -> Self {
        let boat = Boat::at_rest(Vec2::ZERO, rules.buoy.heading());
        Self { tick: 0, wind: Vec2::ZERO, current: Vec2::ZERO, boats: vec![boat; rules.boats as usize] }
    }

    /// Plays `ticks` ticks in constant weather. `hands` returns a seat's input; `None` keeps it.
    pub fn step(&mut self, rules: &SailingConfig, hands: impl Fn(usize) -> Option<Input>, ticks: u32) {
        for _ in 0..ticks {
            self.step_noting(rules, &hands, &mut Vec::new());
        }
    }

    /// Plays one tick and adds its events.
    pub(super) fn step_noting(
        &mut self,
        rules: &SailingConfig,
        hands: impl Fn(usize) -> Option<Input>,
        events: &mut Vec<Event>,
    ) {
        if let (Wind::God(_), Some(input)) = (&rules.wind, hands(0)) {
            self.obey(input.limited());
        }
        self.tick += 1;
        for (seat, boat) in self.boats.iter_mut().enumerate() {
            if boat.finished_at.is_some() {
                continue;
            }
            *boat = rules.boat.sail(boat, hands(seat), self.wind, self.current, TICK_RATE.step_secs());
            if boat.position.distance(rules.buoy) <= rules.buoy_radius {
                boat.finished_at = Some(self.tick);
                boat.speed = 0.0;
                boat.turn_rate = 0.0;
                boat.velocity = Vec2::ZERO;
                events.push(Event::Finished { seat: seat as u32 });
            }
        }
    }

    /// Changes the wind as the input in god mode asks.
    fn obey(&mut self, input: Input) {
        let secs = TICK_RATE.step_secs();
        let turned = wrap_angle(self.wind.heading() + input.wind_turn * GOD_TURN * secs);
        let speed = self.wind.length() + input.wind_rise * GOD_RISE * secs;
        if input.wind_turn != 0.0 || input.wind_rise != 0.0 {
            self.wind = Vec2::from_heading(turned) * speed.clamp(GOD_WIND_MIN, WIND_MAX);
        }
    }

    /// Returns whether every boat is at the buoy.
    pub fn is_over(&self) -> bool {
        self.boats.iter().all(|boat| boat.finished_at.is_some())
    }

    /// Returns the time since the start.
    pub fn now(&self) -> SharedInstant {
        SharedInstant::ZERO + TICK_RATE.begin(self.tick.cast_signed())
    }

    pub(super) fn digest(&self, digest: &mut Digest) {
        digest.u64(self.tick);
        add_vector(self.wind, digest);
        add_vector(self.current, digest);
        for boat in &self.boats {
            boat.digest(digest);
        }
    }
}
