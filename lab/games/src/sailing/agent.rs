//! Bots that sail, as in Buchheit 2004: one trims by trial and error, one computes the best trim.
//! Both steer for the buoy.
//!
//! They decide in every tick and take the shown scene for the present.

use std::f64::consts::FRAC_PI_2;

use fairpath::rotation::wrap_angle;
use fairpath::time::{SharedInstant, Span};
use fairpath::vector::{Vec2, Vector};

use super::boat::{Boat, Helm};
use super::config::SailingConfig;
use super::input::Input;
use super::scene::SailingScene;

/// A bot that decides from a [`SailingScene`].
#[derive(Clone, Debug, PartialEq)]
pub struct Agent {
    trim: Trim,
    sheet: f64,
    /// The direction of the current trial: 1 lets the sheet out, −1 hauls it in.
    way: f64,
    speed_before: f64,
    judge_at: SharedInstant,
}

/// How an agent trims its sail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trim {
    /// Changes the sheet a little, goes on if the boat got faster, else back. Hauls in if flapping.
    Simple,
    /// Sets the sail to half the angle between bow and apparent wind, for the largest force.
    Optimal,
}

/// The interval of trials, and the change of the sheet per trial (as a share of its range; 4.5°).
const TRIAL: Span = Span::from_millis(400);
const TRIAL_STEP: f64 = 0.05;
/// Rudder per heading error, rad/rad. At 2 and 10 ft/s the boat comes round in about a second; with
/// more delay it oscillates.
const RUDDER_GAIN: f64 = 2.0;
/// Rate of the rudder per missing part of its range: full until a quarter of the range is missing.
/// At infinity the rudder would chatter around its goal.
const RUDDER_RATE_GAIN: f64 = 4.0;

impl Agent {
    pub fn new(trim: Trim) -> Self {
        Self { trim, sheet: 0.5, way: 1.0, speed_before: 0.0, judge_at: SharedInstant::ZERO }
    }

    pub fn trim(&self) -> Trim {
        self.trim
    }

    /// Returns the input for the boat in this seat. `now` is the player's time, not the scene's.
    pub fn sail(
        &mut self,
        rules: &SailingConfig,
        now: SharedInstant,
        scene: &SailingScene,
        seat: usize,
    ) -> Input {
        let Some(boat) = scene.boats.get(seat) else { return Input::IDLE };
        match self.trim {
            Trim::Simple => self.try_sheets(now, boat),
            Trim::Optimal => self.sheet = 0.5 * boat.wind_angle(scene.wind, scene.current) / FRAC_PI_2,
        }
        Input::new(self.sheet, rudder_for(rules, boat))
    }

    fn try_sheets(&mut self, now: SharedInstant, boat: &Boat) {
        if now < self.judge_at {
            return;
        }
        self.judge_at = now + TRIAL;
        if self.sheet <= 0.0 {
            // Fully in, a sail has no force and only looks as if it flapped.
            self.way = 1.0;
        } else if !boat.is_tight {
            self.way = -1.0;
        } else if boat.speed < self.speed_before {
            self.way = -self.way;
        }
        self.speed_before = boat.speed;
        self.sheet = (self.sheet + self.way * TRIAL_STEP).clamp(0.0, 1.0);
    }
}

/// Returns the rudder from the angle between bow and buoy.
fn rudder_for(rules: &SailingConfig, boat: &Boat) -> f64 {
    let way: Vec2 = rules.buoy - boat.position;
    if way.length() == 0.0 {
        return 0.0;
    }
    let off = wrap_angle(way.heading() - boat.heading);
    let rudder_max = rules.boat.rudder_max.max(f64::MIN_POSITIVE);
    let wanted = (RUDDER_GAIN * off / rudder_max).clamp(-1.0, 1.0);
    match rules.boat.helm {
        Helm::Angle => wanted,
        Helm::Rate => (RUDDER_RATE_GAIN * (wanted - boat.rudder / rudder_max)).clamp(-1.0, 1.0),
    }
}
