//! All that a client is sent, draws, and can play on by itself: the part of the race without dice.

use std::f64::consts::FRAC_PI_4;

use fairpath::rotation::wrap_angle;
use fairpath::time::SharedInstant;
use fairpath::vector::{Vec2, Vector};
use fairpath_sim::Digest;

use super::boat::Boat;
use super::config::{KNOT, SailingConfig, TICK_RATE, WIND_MAX, Wind};
use super::input::Input;
use crate::shared::{PlayerInput, add_vector};

/// The sea at one instant.
///
/// [`step`](Self::step) is pure: a server that free-runs calls it under the wind its weather gave,
/// and a client that replays the inputs its server has not seen yet calls it on the server's scene,
/// as if wind and current would hold.
#[derive(Clone, Debug, PartialEq)]
pub struct SailingScene {
    /// How many ticks have been played.
    pub tick: u64,
    /// How the air moves, in ft/s.
    pub wind: Vec2,
    /// How the water moves, in ft/s.
    pub current: Vec2,
    /// The boats, in the order of seats.
    pub boats: Vec<Boat>,
}

/// Something that happened during a tick.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// The wind blows otherwise now.
    WindShifted,
    /// The current flows otherwise now.
    CurrentShifted,
    /// A boat reached the buoy.
    Finished {
        /// Whose.
        seat: u32,
    },
}

/// In god mode, how fast the wind turns, rad/s, and how fast it rises, ft/s².
const GOD_TURN: f64 = FRAC_PI_4;
const GOD_RISE: f64 = 4.0 * KNOT;
/// Below this, in ft/s, the wind would forget where it came from.
const GOD_WIND_MIN: f64 = 0.1;

impl SailingScene {
    /// Returns the start of a race: everybody at rest at the origin, heading for the buoy, in calm
    /// air until the weather says otherwise.
    pub fn new(rules: &SailingConfig) -> Self {
        let boat = Boat::at_rest(Vec2::ZERO, rules.buoy.heading());
        Self { tick: 0, wind: Vec2::ZERO, current: Vec2::ZERO, boats: vec![boat; rules.boats as usize] }
    }

    /// Plays `ticks` ticks without any weather. `hands` says what the sailor in a seat wants; where
    /// it says nothing, sheet and rudder stay as they are.
    pub fn step(&mut self, rules: &SailingConfig, hands: impl Fn(usize) -> Option<Input>, ticks: u32) {
        for _ in 0..ticks {
            self.step_noting(rules, &hands, &mut Vec::new());
        }
    }

    /// Plays one tick, and notes what happened.
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

    /// The wind does what the hands in god mode say.
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
