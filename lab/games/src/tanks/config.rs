use std::f64::consts::FRAC_PI_4;

use fairpath::time::{Span, TickRate};

use super::map::Map;
use crate::shared::{OutOfRange, POSITIVE, all_within, positive_up_to};

/// Sixty ticks per second; tick k begins at ⌊k·10⁶/60⌋ µs and lasts until the next one.
pub const TICK_RATE: TickRate = TickRate::hz(60);
/// The most tanks together. Collision checks visit every pair: this bounds a tick's cost.
pub const TANKS_MAX: u32 = 64;
/// Length of a tank, in units.
pub const TANK_LENGTH: f64 = 6.0;
/// Width of a tank, in units.
pub const TANK_WIDTH: f64 = 2.8;
/// The radius of a tank against flags: 0.72 of its length, as in BZFlag.
pub const TANK_RADIUS: f64 = 0.72 * TANK_LENGTH;
/// The distance from a tank's centre at which a shot starts: just outside the radius, as in BZFlag.
pub const MUZZLE_FRONT: f64 = TANK_RADIUS + 0.1;
/// Half the thickness of a shot, as in BZFlag.
pub const SHOT_RADIUS: f64 = 0.5;
/// The radius of a flag, as in BZFlag. A tank picks a flag up when the two radii touch.
pub const FLAG_RADIUS: f64 = 2.5;

/// The rules of a match. Lengths are in units (a tank is 6 long), speeds in units per second.
///
/// The defaults are BZFlag's: speed and turn rate follow the input within a tick.
#[derive(Clone, Debug, PartialEq)]
pub struct TanksConfig {
    /// The number of tanks of red and of blue. Default 5 and 5, at most [`TANKS_MAX`] together.
    /// `[1, 0]` is a single tank for scripted motion.
    pub tanks: [u32; 2],
    /// The map. Default: generated with up to 24 boxes.
    pub ground: Ground,
    /// Top speed ahead. Default 25. Much lower, and tanks cannot dodge shots. At most 60: there a
    /// tank moves more than a third of its width per tick, and collisions get coarse.
    pub speed_max: f64,
    /// Top speed in reverse. Default 12.5.
    pub reverse_speed_max: f64,
    /// Fastest turn, radians per second. Default π/4: a full-speed circle has a radius of 31.8.
    pub turn_rate_max: f64,
    /// How fast the speed may change, units per second squared. Default infinite: at once. At 25 a
    /// tank takes a second to full speed and stops within 12.5 units; at zero it never moves.
    pub acceleration_max: f64,
    /// How fast the turn rate may change, radians per second squared. Default infinite: at once.
    /// Below about 2 a tank overshoots the direction it turns to.
    pub turn_acceleration_max: f64,
    /// The speed of shots. Default 100; a shot does not inherit its tank's speed.
    pub shot_speed: f64,
    /// The range of shots. Default 350: 3.5 s of flight at the default speed.
    pub shot_range: f64,
    /// The time from one shot to the next. Default 3.5 s. If it is shorter than a quarter of a
    /// shot's flight, a tank also has to wait for one of its four [shot slots](super::SHOT_SLOTS).
    pub reload: Span,
    /// The time until a destroyed tank respawns. Default 5 s, BZFlag's time to explode.
    pub respawn_after: Span,
    /// The time until a dropped flag returns. Default 30 s. Much shorter, and dropping it is free.
    pub flag_return_after: Span,
    /// Whether shots hit their own team. Default no. A shot never hits the tank that fired it.
    pub friendly_fire: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Ground {
    /// The default field with up to this many boxes from the seed, in pairs: an odd one is dropped.
    Generated { boxes: usize },
    /// This map.
    Given(Map),
}

impl Default for TanksConfig {
    fn default() -> Self {
        Self {
            tanks: [5, 5],
            ground: Ground::Generated { boxes: 24 },
            speed_max: 25.0,
            reverse_speed_max: 12.5,
            turn_rate_max: FRAC_PI_4,
            acceleration_max: f64::INFINITY,
            turn_acceleration_max: f64::INFINITY,
            shot_speed: 100.0,
            shot_range: 350.0,
            reload: Span::from_millis(3_500),
            respawn_after: Span::from_secs(5),
            flag_return_after: Span::from_secs(30),
            friendly_fire: false,
        }
    }
}

impl TanksConfig {
    /// Returns a single tank on an [open field](Map::open), for [scripts](super::Script).
    pub fn lone_tank() -> Self {
        Self { tanks: [1, 0], ground: Ground::Given(Map::open()), ..Self::default() }
    }

    pub(super) fn check(&self) -> Result<(), OutOfRange> {
        let any_limit = 0.0..=f64::INFINITY;
        all_within(&[
            ("tanks", f64::from(self.tanks[0]) + f64::from(self.tanks[1]), 0.0..=TANKS_MAX.into()),
            ("speed_max", self.speed_max, positive_up_to(SPEED_LIMIT)),
            ("reverse_speed_max", self.reverse_speed_max, positive_up_to(self.speed_max)),
            ("turn_rate_max", self.turn_rate_max, POSITIVE),
            ("shot_speed", self.shot_speed, POSITIVE),
            ("shot_range", self.shot_range, POSITIVE),
            ("reload", self.reload.as_secs_f64(), POSITIVE),
            ("respawn_after", self.respawn_after.as_secs_f64(), POSITIVE),
            ("flag_return_after", self.flag_return_after.as_secs_f64(), POSITIVE),
            ("acceleration_max", self.acceleration_max, any_limit.clone()),
            ("turn_acceleration_max", self.turn_acceleration_max, any_limit),
        ])
    }

    pub(super) fn shot_life(&self) -> Span {
        Span::from_secs_f64(self.shot_range / self.shot_speed)
    }
}

/// Above this a tank moves over half its width per tick and could pass a thin box.
const SPEED_LIMIT: f64 = 60.0;
const _: () = assert!(SPEED_LIMIT / 60.0 < 0.5 * TANK_WIDTH);

/// The reason why a match cannot start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    OutOfRange(OutOfRange),
    /// The bases have no room for all tanks.
    NoRoom,
}

impl From<OutOfRange> for ConfigError {
    fn from(error: OutOfRange) -> Self {
        Self::OutOfRange(error)
    }
}

impl std::fmt::Display for ConfigError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::OutOfRange(error) => error.fmt(out),
            Self::NoRoom => write!(out, "the bases have no room for all tanks; lower `tanks`"),
        }
    }
}

impl std::error::Error for ConfigError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonsense_is_refused_by_name() {
        let broken = |change: fn(&mut TanksConfig)| {
            let mut config = TanksConfig::default();
            change(&mut config);
            config.check().map_err(|error| error.knob)
        };
        assert_eq!(broken(|_| ()), Ok(()));
        assert_eq!(broken(|c| c.tanks = [60, 5]), Err("tanks"));
        assert_eq!(broken(|c| c.tanks = [u32::MAX, 5]), Err("tanks"));
        assert_eq!(broken(|c| c.shot_speed = f64::NAN), Err("shot_speed"));
        assert_eq!(broken(|c| c.reload = Span::ZERO), Err("reload"));
        assert_eq!(broken(|c| c.speed_max = 61.0), Err("speed_max"));
        assert_eq!(broken(|c| c.reverse_speed_max = 25.1), Err("reverse_speed_max"));
        assert_eq!(broken(|c| c.acceleration_max = f64::NAN), Err("acceleration_max"));
    }
}
