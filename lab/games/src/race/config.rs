//! The rules of a race.

use std::sync::Arc;

use fairpath::time::TickRate;

use super::car::CarModel;
use super::track::Track;
use crate::shared::{OutOfRange, all_within, count_from};

/// Sixty ticks per second; tick k begins at ⌊k·10⁶/60⌋ µs.
pub const TICK_RATE: TickRate = TickRate::hz(60);
/// RaceScene in one race. Collisions look at every pair, so this bounds a tick's cost; the grid
/// behind the line of a stage has room for so many.
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
    pub(super) fn check(&self) -> Result<(), OutOfRange> {
        all_within(&[
            ("cars", self.cars.into(), 0.0..=CARS_MAX.into()),
            count_from("laps", self.laps.unwrap_or(1), 1),
        ])?;
        self.car.check()
    }
}

/// A track and the rules of a race on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Course {
    /// The track.
    pub track: Arc<Track>,
    /// The rules.
    pub config: RaceConfig,
}
