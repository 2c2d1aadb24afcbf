//! The physics of a boat.

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

use fairpath::State;
use fairpath::rotation::wrap_angle;
use fairpath::vector::{Vec2, Vector};
use fairpath_sim::Digest;

use super::config::SHEET_MAX;
use super::input::Input;
use crate::shared::{OutOfRange, PlayerInput, add_vector, all_within};

/// The parameters of a boat: feet, seconds, radians; forces that make Buchheit 2004's drag ½·v².
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoatModel {
    /// C0: the force on a sail square to the wind, per (ft/s)². Default 0.113, so that 20
    /// knots from abeam drive the boat at 10 ft/s (6 knots). At most 0.4: below 0.5 drag bounds the
    /// speed in any wind, at any angle of the sail.
    pub sail_force: f64,
    /// C1: the turn per foot, in radians, at a rudder of 90°. Default 0.06:
    /// at full rudder (45°) a circle of 24 ft, in 15 s at 10 ft/s.
    pub turn: f64,
    /// The mass. Default 25: from rest to three quarters of its speed in five seconds. With more
    /// mass a trim takes longer to show its effect.
    pub mass: f64,
    /// The speed of the sheet, rad/s. Default π/4: two seconds for its full range.
    pub sheet_rate: f64,
    /// The speed at which wind swings the sail, rad/s. Default π: a second between both sides.
    pub swing_rate: f64,
    /// The speed of the rudder, rad/s. Default π/2: half a second from straight to full.
    pub rudder_rate: f64,
    /// The largest angle of the rudder, rad. Default π/4.
    pub rudder_max: f64,
    /// What a player's input does to the rudder.
    pub helm: Helm,
}

/// What [`Input::rudder`] does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Helm {
    /// It is the angle that the rudder turns to, at [`BoatModel::rudder_rate`].
    #[default]
    Angle,
    /// It turns the rudder at this share of [`BoatModel::rudder_rate`], and the rudder stays where
    /// it is left: as with a key for each way. Who sees the rudder late turns it too far.
    Rate,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Boat {
    pub position: Vec2,
    /// The heading, in radians from east towards north.
    pub heading: f64,
    /// The speed through the water, ft/s. Never negative: a sail pushes ahead, drag only slows.
    pub speed: f64,
    /// The largest angle that the sheet allows the sail, in radians, 0 to π/2.
    pub sheet: f64,
    /// The angle of the sail, rad from astern; positive is to starboard. Never beyond the sheet.
    pub sail: f64,
    /// The angle of the rudder, in radians; positive turns the boat to port.
    pub rudder: f64,
    /// Whether the wind holds the sail against its sheet; otherwise it flaps without force.
    pub is_tight: bool,
    /// The turn rate in the last tick, in rad/s.
    pub turn_rate: f64,
    /// The velocity in the last tick, current included.
    pub velocity: Vec2,
    /// The tick at which it reached the buoy. It stays there.
    pub finished_at: Option<u64>,
}

impl Default for BoatModel {
    fn default() -> Self {
        Self {
            sail_force: 0.113,
            turn: 0.06,
            mass: 25.0,
            sheet_rate: FRAC_PI_4,
            swing_rate: PI,
            rudder_rate: FRAC_PI_2,
            rudder_max: FRAC_PI_4,
            helm: Helm::Angle,
        }
    }
}

impl BoatModel {
    /// Returns the boat after `secs` of `input` in this wind and current. Without an input, sheet
    /// and rudder do not move.
    ///
    /// This is all of a boat's physics. Clients call it too, to predict their own boat and others.
    #[must_use]
    pub fn sail(&self, boat: &Boat, input: Option<Input>, wind: Vec2, current: Vec2, secs: f64) -> Boat {
        let mut boat = *boat;
        if let Some(input) = input.map(PlayerInput::limited) {
            let sheet_step = self.sheet_rate * secs;
            boat.sheet += (input.sheet * SHEET_MAX - boat.sheet).clamp(-sheet_step, sheet_step);
            let rudder_step = self.rudder_rate * secs;
            boat.rudder += match self.helm {
                Helm::Angle => {
                    (input.rudder * self.rudder_max - boat.rudder).clamp(-rudder_step, rudder_step)
                }
                Helm::Rate => input.rudder * rudder_step,
            };
            boat.rudder = boat.rudder.clamp(-self.rudder_max, self.rudder_max);
        }
        let apparent = boat.apparent_wind(wind, current);
        self.swing(&mut boat, apparent, secs);
        let force = if boat.is_tight { self.drive(&boat, apparent) } else { 0.0 };
        boat.speed += (force - 0.5 * boat.speed * boat.speed) / self.mass * secs;
        boat.turn_rate = self.turn * boat.speed * libm::sin(boat.rudder);
        boat.heading = wrap_angle(boat.heading + boat.turn_rate * secs);
        boat.velocity = Vec2::from_heading(boat.heading) * boat.speed + current;
        boat.position += boat.velocity * secs;
        boat
    }

    /// Swings the sail downwind, as far as its sheet allows.
    fn swing(&self, boat: &mut Boat, apparent: Vec2, secs: f64) {
        let pushed = wrap_angle(boat.downwind(apparent) - boat.sail);
        let swing = pushed.clamp(-self.swing_rate * secs, self.swing_rate * secs);
        let free = boat.sail + swing;
        boat.sail = free.clamp(-boat.sheet, boat.sheet);
        // Tight if the sheet stopped its motion outwards.
        boat.is_tight = free.abs() > boat.sheet && pushed * boat.sail > 0.0;
    }

    /// Returns the forward force of a tight sail: F·sin θ of F = C0·sin α·V².
    fn drive(&self, boat: &Boat, apparent: Vec2) -> f64 {
        let to_wind = wrap_angle(boat.downwind(apparent) - boat.sail).abs();
        let force = self.sail_force * libm::sin(to_wind) * apparent.length_squared();
        (force * libm::sin(boat.sail.abs())).max(0.0)
    }

    pub(super) fn check(&self) -> Result<(), OutOfRange> {
        all_within(&[
            ("sail_force", self.sail_force, 0.0..=0.4),
            ("turn", self.turn, 0.0..=1.0),
            // The lower bound keeps a tick from overshooting.
            ("mass", self.mass, 5.0..=1e6),
            ("sheet_rate", self.sheet_rate, 0.0..=100.0),
            ("swing_rate", self.swing_rate, 0.0..=100.0),
            ("rudder_rate", self.rudder_rate, 0.0..=100.0),
            ("rudder_max", self.rudder_max, 0.0..=FRAC_PI_2),
        ])
    }
}

impl Boat {
    /// Returns a boat at rest, with the sheet half out.
    pub fn at_rest(position: Vec2, heading: f64) -> Self {
        Self {
            position,
            heading,
            speed: 0.0,
            sheet: 0.5 * SHEET_MAX,
            sail: 0.0,
            rudder: 0.0,
            is_tight: false,
            turn_rate: 0.0,
            velocity: Vec2::ZERO,
            finished_at: None,
        }
    }

    /// Returns the wind relative to the moving boat.
    pub fn apparent_wind(&self, wind: Vec2, current: Vec2) -> Vec2 {
        wind - (Vec2::from_heading(self.heading) * self.speed + current)
    }

    /// Returns the angle between the bow and the apparent wind, 0 to π: Buchheit 2004's ρ.
    pub fn wind_angle(&self, wind: Vec2, current: Vec2) -> f64 {
        self.downwind(self.apparent_wind(wind, current)).abs()
    }

    /// Returns the angle of a free sail, from straight astern; positive is to starboard.
    fn downwind(&self, apparent: Vec2) -> f64 {
        let ahead = Vec2::from_heading(self.heading);
        // With these axes it is symmetric, and exact where wind and boat are in line.
        libm::atan2(-apparent.dot(ahead.perpendicular()), -apparent.dot(ahead))
    }

    pub fn state(&self) -> State<Vec2> {
        State::moving(self.position, self.velocity).with_heading(self.heading, self.turn_rate)
    }

    pub(super) fn digest(&self, digest: &mut Digest) {
        add_vector(self.position, digest);
        add_vector(self.velocity, digest);
        for number in [self.heading, self.speed, self.sheet, self.sail, self.rudder, self.turn_rate] {
            digest.f64(number);
        }
        digest.bool(self.is_tight).bool(self.finished_at.is_some()).u64(self.finished_at.unwrap_or(0));
    }
}
