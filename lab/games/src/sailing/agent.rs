//! Synthetic sailors, as in Buchheit 2004: one that tries, one that knows. Both steer for the buoy.
//!
//! They decide in every tick from what they are shown and take it for the present.

use std::f64::consts::FRAC_PI_2;

use fairpath::rotation::wrap_angle;
use fairpath::time::{SharedInstant, Span};
use fairpath::vector::{Vec2, Vector};

use super::boat::Boat;
use super::config::SailingConfig;
use super::input::Input;
use super::scene::SailingScene;

/// A sailor who decides from a [`SailingScene`].
#[derive(Clone, Debug, PartialEq)]
pub struct Agent {
    trim: Trim,
    sheet: f64,
    /// Which way the simple one is trying: 1 lets out, −1 hauls in.
    way: f64,
    speed_before: f64,
    judge_at: SharedInstant,
}

/// How an agent trims its sail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trim {
    /// Changes the sheet a little, looks whether that made the boat faster, goes on if it did and
    /// back if it did not; hauls in a sail that flaps, as everybody would.
    Simple,
    /// Sets the sail to half the angle between bow and apparent wind, which drives hardest.
    Optimal,
}

/// How often the simple one judges, and by how much it changes the sheet each time (of all of it;
/// 4.5°).
const TRIAL: Span = Span::from_millis(400);
const TRIAL_STEP: f64 = 0.05;
/// How much rudder for how much off the buoy's bearing, rad/rad. At 2 and 10 ft/s the boat comes
/// round in about a second; an answer that comes later than that makes it swing.
const RUDDER_GAIN: f64 = 2.0;

impl Agent {
    /// Returns a sailor of this kind.
    pub fn new(trim: Trim) -> Self {
        Self { trim, sheet: 0.5, way: 1.0, speed_before: 0.0, judge_at: SharedInstant::ZERO }
    }

    /// Returns how it trims.
    pub fn trim(&self) -> Trim {
        self.trim
    }

    /// Looks at what is shown, and says what the hands in this seat want. `now` is the sailor's own
    /// time, which the scene may be behind or ahead of.
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
            // Nothing is left to haul in: a sail along the boat never draws, and only looks like one that
            // flaps.
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

/// Rudder by how far the bow is off the buoy.
fn rudder_for(rules: &SailingConfig, boat: &Boat) -> f64 {
    let way: Vec2 = rules.buoy - boat.position;
    if way.length() == 0.0 {
        return 0.0;
    }
    let off = wrap_angle(way.heading() - boat.heading);
    let rudder_max = rules.boat.rudder_max.max(f64::MIN_POSITIVE);
    (RUDDER_GAIN * off / rudder_max).clamp(-1.0, 1.0)
}
