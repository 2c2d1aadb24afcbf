//! What a boat can do, and how it moves within a tick.

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

use fairpath::State;
use fairpath::rotation::wrap_angle;
use fairpath::vector::{Vec2, Vector};
use fairpath_sim::Digest;

use super::config::SHEET_MAX;
use super::input::Input;
use crate::shared::{OutOfRange, PlayerInput, add_vector, all_within};

/// What a boat can do. Feet, seconds, radians; forces in units that make Buchheit 2004's drag ½·v².
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoatModel {
    /// C0: how hard the air pushes a sail square to it, per (ft/s)². Default 0.113, so that 20
    /// knots from abeam drive the boat at 10 ft/s (6 knots). At most 0.4: below 0.5 drag bounds
    /// the speed in any wind, however the sail stands.
    pub sail_force: f64,
    /// C1: how far the boat turns per foot it sails, in radians, at a rudder of 90°. Default 0.06:
    /// at full rudder (45°) a circle of 24 ft, in 15 s at 10 ft/s.
    pub turn: f64,
    /// Default 25: from rest to three quarters of its speed in five seconds. Heavier and a trim
    /// shows its worth later.
    pub mass: f64,
    /// How fast the sheet is hauled in or let out, rad/s. Default π/4: two seconds for all of it.
    pub sheet_rate: f64,
    /// How fast the wind swings the sail across, rad/s. Default π: a second from one side to the
    /// other when it is let out all the way.
    pub swing_rate: f64,
    /// How fast the rudder turns, rad/s. Default π/2: half a second from straight to full.
    pub rudder_rate: f64,
    /// How far the rudder turns, rad. Default π/4.
    pub rudder_max: f64,
}

/// A boat under way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Boat {
    /// Its middle.
    pub position: Vec2,
    /// Where it points, in radians from east towards north.
    pub heading: f64,
    /// Through the water, ahead, in ft/s. Never astern: a sail only ever pushes ahead, and drag
    /// only slows.
    pub speed: f64,
    /// How far the sheet lets the sail out, in radians, 0 to π/2.
    pub sheet: f64,
    /// Where the sail is, in radians from straight astern; positive is out to starboard. Never
    /// beyond the sheet.
    pub sail: f64,
    /// Where the rudder is, in radians; positive turns the boat to port.
    pub rudder: f64,
    /// Whether wind stretches the sail against its sheet; otherwise it flaps and does nothing.
    pub is_tight: bool,
    /// How fast it turned in the last tick, in rad/s.
    pub turn_rate: f64,
    /// Where it really went in the last tick, current included.
    pub velocity: Vec2,
    /// When it was at the buoy, in ticks. From then on it lies there.
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
        }
    }
}

impl BoatModel {
    /// Returns where a boat is after `secs` in which its sailor wants `input`, in this wind and
    /// current. Without an input, sheet and rudder stay as they are.
    ///
    /// This is the whole of a boat's physics. A client that predicts its own boat, or guesses at
    /// another, calls it too.
    #[must_use]
    pub fn sail(&self, boat: &Boat, input: Option<Input>, wind: Vec2, current: Vec2, secs: f64) -> Boat {
        let mut boat = *boat;
        if let Some(input) = input.map(PlayerInput::limited) {
            let sheet_step = self.sheet_rate * secs;
            boat.sheet += (input.sheet * SHEET_MAX - boat.sheet).clamp(-sheet_step, sheet_step);
            let rudder_step = self.rudder_rate * secs;
            boat.rudder += (input.rudder * self.rudder_max - boat.rudder).clamp(-rudder_step, rudder_step);
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

    /// The sail goes where the wind lets it: towards lying along the air, as far as its sheet
    /// allows.
    fn swing(&self, boat: &mut Boat, apparent: Vec2, secs: f64) {
        let pushed = wrap_angle(boat.downwind(apparent) - boat.sail);
        let swing = pushed.clamp(-self.swing_rate * secs, self.swing_rate * secs);
        let free = boat.sail + swing;
        boat.sail = free.clamp(-boat.sheet, boat.sheet);
        // Tight where the sheet, and not the wind, ended its way outwards.
        boat.is_tight = free.abs() > boat.sheet && pushed * boat.sail > 0.0;
    }

    /// Returns how hard a tight sail drives the boat ahead: F·sin θ of F = C0·sin α·V².
    fn drive(&self, boat: &Boat, apparent: Vec2) -> f64 {
        let to_wind = wrap_angle(boat.downwind(apparent) - boat.sail).abs();
        let force = self.sail_force * libm::sin(to_wind) * apparent.length_squared();
        (force * libm::sin(boat.sail.abs())).max(0.0)
    }

    pub(super) fn check(&self) -> Result<(), OutOfRange> {
        all_within(&[
            ("sail_force", self.sail_force, 0.0..=0.4),
            ("turn", self.turn, 0.0..=1.0),
            // Light enough to be nervous, heavy enough that no tick overshoots.
            ("mass", self.mass, 5.0..=1e6),
            ("sheet_rate", self.sheet_rate, 0.0..=100.0),
            ("swing_rate", self.swing_rate, 0.0..=100.0),
            ("rudder_rate", self.rudder_rate, 0.0..=100.0),
            ("rudder_max", self.rudder_max, 0.0..=FRAC_PI_2),
        ])
    }
}

impl Boat {
    /// At rest, with the sheet half out.
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

    /// Returns the wind as it is felt on board, moving with it.
    pub fn apparent_wind(&self, wind: Vec2, current: Vec2) -> Vec2 {
        wind - (Vec2::from_heading(self.heading) * self.speed + current)
    }

    /// Returns the angle between the bow and where the apparent wind comes from, 0 to π: Buchheit
    /// 2004's ρ.
    pub fn wind_angle(&self, wind: Vec2, current: Vec2) -> f64 {
        self.downwind(self.apparent_wind(wind, current)).abs()
    }

    /// Returns where a sail that hangs freely would point, from straight astern; positive is to
    /// starboard.
    fn downwind(&self, apparent: Vec2) -> f64 {
        let ahead = Vec2::from_heading(self.heading);
        // Astern and starboard as axes: exact where wind and boat are in line, and the same to both sides.
        libm::atan2(-apparent.dot(ahead.perpendicular()), -apparent.dot(ahead))
    }

    /// Returns the same in the library's words.
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
