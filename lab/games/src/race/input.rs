//! What a driver's hands and feet do, and a log of it.

use std::sync::Arc;

use super::config::{ConfigError, RaceConfig};
use super::track::Track;
use super::world::Race;
use crate::shared::Hands;

/// What a driver's hands and feet do during one tick: a person's or a bot's.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Input {
    /// 0 off, 1 full; negative is the reverse gear.
    pub throttle: f64,
    /// 0 off, 1 full.
    pub brake: f64,
    /// −1 full right, 0 straight, 1 full left. The wheels follow as fast as they can.
    pub steer: f64,
}

impl Input {
    /// Hands and feet off.
    pub const IDLE: Self = Self { throttle: 0.0, brake: 0.0, steer: 0.0 };

    /// The same within −1 … 1 (the brake within 0 … 1); what is not a number is 0. Every input
    /// passes through here on its way in.
    #[must_use]
    pub fn limited(self) -> Self {
        let limit = |axis: f64, low: f64| if axis.is_nan() { 0.0 } else { axis.clamp(low, 1.0) };
        Self {
            throttle: limit(self.throttle, -1.0),
            brake: limit(self.brake, 0.0),
            steer: limit(self.steer, -1.0),
        }
    }
}

impl Hands for Input {
    fn limited(self) -> Self {
        Self::limited(self)
    }

    fn axes(self) -> [f64; 4] {
        [self.throttle, self.brake, self.steer, 0.0]
    }

    fn from_axes([throttle, brake, steer, _]: [f64; 4]) -> Self {
        Self { throttle, brake, steer }
    }
}

/// Track, rules and inputs of a race: all that is needed to see it again, bit for bit.
///
/// Only changes are kept.
#[derive(Clone, Debug, PartialEq)]
pub struct InputLog {
    track: Arc<Track>,
    config: RaceConfig,
    ticks: u64,
    changes: Vec<InputChange>,
    held: Vec<Input>,
}

/// From this tick on, this car's driver does this.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InputChange {
    /// The step, counted from zero, that the input is first used in.
    pub tick: u64,
    /// Which car, counted from zero.
    pub car: u32,
    /// What hands and feet do from then on.
    pub input: Input,
}

impl InputLog {
    /// An empty log of a race on this track with these rules.
    pub fn new(track: Arc<Track>, config: RaceConfig) -> Self {
        let held = (0..config.cars.min(super::CARS_MAX)).map(|_| Input::IDLE).collect();
        Self { track, config, ticks: 0, changes: Vec::new(), held }
    }

    /// A log read back from its parts; changes must be in the order of their ticks.
    pub fn from_changes(
        track: Arc<Track>,
        config: RaceConfig,
        ticks: u64,
        changes: Vec<InputChange>,
    ) -> Self {
        let mut log = Self::new(track, config);
        for change in &changes {
            if let Some(held) = log.held.get_mut(change.car as usize) {
                *held = change.input;
            }
        }
        Self { ticks, changes, ..log }
    }

    /// Notes the inputs of one step.
    pub fn record(&mut self, inputs: &[Input]) {
        for (car, held) in (0..).zip(&mut self.held) {
            let input = inputs.get(car as usize).copied().unwrap_or_default().limited();
            if input != *held {
                *held = input;
                self.changes.push(InputChange { tick: self.ticks, car, input });
            }
        }
        self.ticks += 1;
    }

    /// Where the race was.
    pub fn track(&self) -> &Arc<Track> {
        &self.track
    }

    /// The rules of the race.
    pub fn config(&self) -> &RaceConfig {
        &self.config
    }

    /// How many steps it covers.
    pub fn ticks(&self) -> u64 {
        self.ticks
    }

    /// Every change, in the order of ticks.
    pub fn changes(&self) -> &[InputChange] {
        &self.changes
    }

    /// The race from its beginning, to be stepped through.
    pub fn replay(&self) -> Result<Replay<'_>, ConfigError> {
        let race = Race::new(Arc::clone(&self.track), self.config)?;
        let held = race.cars().iter().map(|_| Input::IDLE).collect();
        Ok(Replay { log: self, race, held, next: 0 })
    }
}

/// A logged race, seen again.
#[derive(Clone, Debug)]
pub struct Replay<'a> {
    log: &'a InputLog,
    race: Race,
    held: Vec<Input>,
    next: usize,
}

impl Replay<'_> {
    /// Plays one more tick; `false` at the end of the log.
    pub fn step(&mut self) -> bool {
        let tick = self.race.tick();
        if tick >= self.log.ticks {
            return false;
        }
        while let Some(change) = self.log.changes.get(self.next).filter(|change| change.tick <= tick) {
            if let Some(held) = self.held.get_mut(change.car as usize) {
                *held = change.input;
            }
            self.next += 1;
        }
        self.race.step(&self.held);
        true
    }

    /// The race as it stands.
    pub fn race(&self) -> &Race {
        &self.race
    }

    /// Plays to the end.
    pub fn finish(mut self) -> Race {
        while self.step() {}
        self.race
    }
}
