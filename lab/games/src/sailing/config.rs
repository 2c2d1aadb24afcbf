use std::f64::consts::{FRAC_PI_2, PI};

use fairpath::time::TickRate;
use fairpath::vector::{Vec2, Vector};

use super::boat::BoatModel;
use crate::shared::{Knob, OutOfRange, all_within};

/// Fifty ticks per second, as in Buchheit 2004.
pub const TICK_RATE: TickRate = TickRate::hz(50);
/// One knot, in feet per second: a nautical mile is 1852 m, a foot 0.3048 m.
pub const KNOT: f64 = 1852.0 / 0.3048 / 3600.0;
pub const BOATS_MAX: u32 = 16;
/// The most shifts in one pattern.
pub const PATTERN_LEN_MAX: usize = 64;

/// The rules of a race.
#[derive(Clone, Debug, PartialEq)]
pub struct SailingConfig {
    /// The number of boats. Default 2, the player and an opponent; at most [`BOATS_MAX`]. They
    /// start at the origin, heading for the buoy, and do not collide.
    pub boats: u32,
    pub boat: BoatModel,
    /// The wind. Default 20 knots from the west, steady.
    pub wind: Wind,
    /// The current. Default none.
    pub current: Current,
    /// The finish. Default 1000 ft to the east: downwind in west wind, across it in south wind.
    pub buoy: Vec2,
    /// The radius of the finish, in feet. Default 20, about a boat's length.
    pub buoy_radius: f64,
}

/// The wind, as air velocity in ft/s: see [`from_west`], [`from_south`] and [`blowing_from`].
#[derive(Clone, Debug, PartialEq)]
pub enum Wind {
    /// Constant wind.
    Constant(Vec2),
    /// Wind that shifts at random: mean direction it comes from and largest deviation, in radians;
    /// least and greatest speed, and least and greatest time between shifts.
    Random { from: f64, spread: f64, knots: [f64; 2], secs: [f64; 2] },
    /// Repeats a pattern of at most [`PATTERN_LEN_MAX`] shifts; an empty pattern is calm.
    Pattern(Vec<Shift>),
    /// God mode: it begins with this wind, and the player in seat 0 turns and strengthens it.
    God(Vec2),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// The wind, in feet per second.
    pub wind: Vec2,
    pub secs: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Current {
    /// No current.
    None,
    /// A constant current, in feet per second.
    Constant(Vec2),
    /// A constant current that is drawn at the start of the race.
    Drawn { knots_max: f64 },
    /// A current that shifts at random, with the least and greatest time between shifts.
    Shifting { knots_max: f64, secs: [f64; 2] },
}

impl Default for SailingConfig {
    fn default() -> Self {
        Self {
            boats: 2,
            boat: BoatModel::default(),
            wind: Wind::Constant(from_west(20.0)),
            current: Current::None,
            buoy: Vec2::new(1000.0, 0.0),
            buoy_radius: 20.0,
        }
    }
}

impl Wind {
    /// Returns Buchheit 2004's test wind: 20 knots from west and south in turn, `secs` each.
    pub fn west_and_south(secs: f64) -> Self {
        Self::Pattern(vec![Shift { wind: from_west(20.0), secs }, Shift { wind: from_south(20.0), secs }])
    }

    /// Returns 10 to 25 knots from SSE to WNW that shift every 5 to 20 s.
    pub fn random() -> Self {
        Self::Random { from: -0.75 * PI, spread: 0.375 * PI, knots: [10.0, 25.0], secs: [5.0, 20.0] }
    }
}

impl Current {
    /// Returns up to 2 knots that shift every 10 to 30 s.
    pub fn shifting() -> Self {
        Self::Shifting { knots_max: 2.0, secs: [10.0, 30.0] }
    }
}

/// Returns the velocity of wind from the west, in feet per second.
pub fn from_west(knots: f64) -> Vec2 {
    Vec2::new(knots * KNOT, 0.0)
}

/// Returns the velocity of wind from the south, in feet per second.
pub fn from_south(knots: f64) -> Vec2 {
    Vec2::new(0.0, knots * KNOT)
}

/// Returns the velocity of wind from `from` (rad from east towards north), in feet per second.
pub fn blowing_from(from: f64, knots: f64) -> Vec2 {
    Vec2::from_heading(from) * (-knots * KNOT)
}

/// The strongest wind: 100 knots, in feet per second.
pub(super) const WIND_MAX: f64 = 100.0 * KNOT;
const CURRENT_KNOTS_MAX: f64 = 20.0;
const SHIFT_SECS: std::ops::RangeInclusive<f64> = 0.1..=86_400.0;

impl SailingConfig {
    pub(super) fn check(&self) -> Result<(), OutOfRange> {
        all_within(&[
            ("boats", f64::from(self.boats), 1.0..=f64::from(BOATS_MAX)),
            ("buoy", self.buoy.length(), 0.0..=1e6),
            ("buoy_radius", self.buoy_radius, 1.0..=1e5),
        ])?;
        self.boat.check()?;
        self.wind.check()?;
        self.current.check()
    }
}

impl Wind {
    fn check(&self) -> Result<(), OutOfRange> {
        let speed = |wind: &Vec2| -> Knob { ("wind", wind.length(), 0.0..=WIND_MAX) };
        match self {
            Self::Constant(wind) | Self::God(wind) => all_within(&[speed(wind)]),
            Self::Random { from, spread, knots: [slowest, fastest], secs: [shortest, longest] } => {
                all_within(&[
                    ("wind.from", *from, -4.0 * PI..=4.0 * PI),
                    ("wind.spread", *spread, 0.0..=PI),
                    ("wind.knots[0]", *slowest, 0.0..=100.0),
                    ("wind.knots[1]", *fastest, *slowest..=100.0),
                    ("wind.secs[0]", *shortest, SHIFT_SECS),
                    ("wind.secs[1]", *longest, *shortest..=*SHIFT_SECS.end()),
                ])
            }
            Self::Pattern(shifts) => {
                all_within(&[("wind.pattern length", shifts.len() as f64, 0.0..=PATTERN_LEN_MAX as f64)])?;
                shifts.iter().try_for_each(|shift| {
                    all_within(&[speed(&shift.wind), ("wind.pattern secs", shift.secs, SHIFT_SECS)])
                })
            }
        }
    }
}

impl Current {
    fn check(&self) -> Result<(), OutOfRange> {
        let knots = |knots: f64| -> Knob { ("current", knots, 0.0..=CURRENT_KNOTS_MAX) };
        match self {
            Self::None => Ok(()),
            Self::Constant(current) => all_within(&[knots(current.length() / KNOT)]),
            Self::Drawn { knots_max } => all_within(&[knots(*knots_max)]),
            Self::Shifting { knots_max, secs: [shortest, longest] } => all_within(&[
                knots(*knots_max),
                ("current.secs[0]", *shortest, SHIFT_SECS),
                ("current.secs[1]", *longest, *shortest..=*SHIFT_SECS.end()),
            ]),
        }
    }
}

/// The largest angle of the sail: square to the boat.
pub(super) const SHEET_MAX: f64 = FRAC_PI_2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonsense_is_refused_by_name() {
        let broken = |change: fn(&mut SailingConfig)| {
            let mut config = SailingConfig::default();
            change(&mut config);
            config.check().map_err(|error| error.knob)
        };
        assert_eq!(broken(|_| ()), Ok(()));
        assert_eq!(broken(|c| c.wind = Wind::random()), Ok(()));
        assert_eq!(broken(|c| c.current = Current::shifting()), Ok(()));
        assert_eq!(broken(|c| c.boats = 17), Err("boats"));
        assert_eq!(broken(|c| c.boat.mass = 0.0), Err("mass"));
        assert_eq!(broken(|c| c.wind = Wind::God(Vec2::new(f64::NAN, 0.0))), Err("wind"));
        assert_eq!(broken(|c| c.wind = Wind::west_and_south(0.0)), Err("wind.pattern secs"));
        assert_eq!(broken(|c| c.current = Current::Drawn { knots_max: -1.0 }), Err("current"));
    }

    #[test]
    fn a_wind_is_named_for_where_it_comes_from() {
        assert!(blowing_from(PI, 20.0).distance(from_west(20.0)) < 1e-9);
        assert!(blowing_from(-FRAC_PI_2, 20.0).distance(from_south(20.0)) < 1e-9);
    }
}
