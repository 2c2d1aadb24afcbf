use std::sync::Arc;

use fairpath::time::TickRate;

use super::car::CarModel;
use super::track::Track;
use crate::shared::{OutOfRange, all_within, count_from};

/// Sixty ticks per second; tick k begins at ⌊k·10⁶/60⌋ µs.
pub const TICK_RATE: TickRate = TickRate::hz(60);
/// The most cars in one race. Bounds a tick's cost (every pair is checked) and fits a stage's grid.
pub const CARS_MAX: u32 = 16;

/// The rules of a race.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RaceConfig {
    /// The number of cars. Default 4, at most [`CARS_MAX`].
    pub cars: u32,
    /// The number of laps; `None` is an endless practice run. Default 3. A stage is always one run.
    pub laps: Option<u32>,
    /// Whether cars collide. Default yes. If not, each drives its laps undisturbed.
    pub cars_bump: bool,
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
    pub track: Arc<Track>,
    pub config: RaceConfig,
}
