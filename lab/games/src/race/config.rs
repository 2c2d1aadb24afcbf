//! The rules of a race.

use std::fmt;

use fairpath::time::TickRate;

use super::car::CarModel;

/// Sixty ticks per second; tick k begins at ⌊k·10⁶/60⌋ µs.
pub const TICK_RATE: TickRate = TickRate::hz(60);
/// Cars in one race. Collisions look at every pair, so this bounds a tick's cost; the grid behind
/// the line of a stage has room for so many.
pub const CARS_MAX: u32 = 16;

/// The rules of a race.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RaceConfig {
    /// How many cars. Default 4, at most [`CARS_MAX`].
    pub cars: u32,
    /// How many laps to the finish; `None` goes on for ever, for practice. Default 3. A stage is
    /// one run, whatever is asked for here.
    pub laps: Option<u32>,
    /// Whether cars push each other. Default yes. If not, they drive through each other like
    /// ghosts, and nobody disturbs anybody's line: laps as if each had the road alone.
    pub cars_bump: bool,
    /// What all the cars can do.
    pub car: CarModel,
}

impl Default for RaceConfig {
    fn default() -> Self {
        Self { cars: 4, laps: Some(3), cars_bump: true, car: CarModel::default() }
    }
}

impl RaceConfig {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        if self.cars > CARS_MAX {
            return Err(ConfigError::TooManyCars { asked: self.cars });
        }
        if self.laps == Some(0) {
            return Err(ConfigError::NoLaps);
        }
        self.car.check()
    }
}

/// Why a race cannot start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// More than [`CARS_MAX`].
    TooManyCars {
        /// How many were asked for.
        asked: u32,
    },
    /// A race over no lap at all.
    NoLaps,
    /// This knob must be a positive number.
    NotPositive {
        /// Which one.
        knob: &'static str,
    },
    /// Faster than [`TOP_SPEED_LIMIT`](super::TOP_SPEED_LIMIT).
    TooFast,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManyCars { asked } => write!(f, "{asked} cars are too many, {CARS_MAX} fit"),
            Self::NoLaps => write!(f, "a race has at least one lap"),
            Self::NotPositive { knob } => write!(f, "{knob} must be a positive number"),
            Self::TooFast => write!(f, "top_speed is at most {} m/s", super::TOP_SPEED_LIMIT),
        }
    }
}

impl std::error::Error for ConfigError {}
