//! What a driver's hands do, and a log of it.

use super::config::{ConfigError, TanksConfig};
use super::world::Tanks;

/// What a driver's hands do during one tick: a person's, a bot's or a script's.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Input {
    /// −1 full reverse, 0 stop, 1 full ahead.
    pub throttle: f64,
    /// −1 full right (clockwise), 0 straight, 1 full left.
    pub turn: f64,
    /// Whether to fire, as soon as a shot is loaded.
    pub fire: bool,
}

impl Input {
    /// Hands off.
    pub const IDLE: Self = Self { throttle: 0.0, turn: 0.0, fire: false };

    /// Drives without firing.
    pub const fn drive(throttle: f64, turn: f64) -> Self {
        Self { throttle, turn, fire: false }
    }

    /// The same, firing or not.
    #[must_use]
    pub const fn firing(self, fire: bool) -> Self {
        Self { fire, ..self }
    }

    /// The same within −1 … 1; what is not a number is 0. Every input passes through here on its
    /// way in.
    #[must_use]
    pub fn limited(self) -> Self {
        // Adding zero makes −0 the one zero: an input that equals another drives to the same bits.
        let limit = |axis: f64| if axis.is_nan() { 0.0 } else { axis.clamp(-1.0, 1.0) + 0.0 };
        Self { throttle: limit(self.throttle), turn: limit(self.turn), fire: self.fire }
    }
}

/// Rules, seed and inputs of a match: all that is needed to see it again, bit for bit.
///
/// Only changes are kept, so a minute of ten bots takes some tens of kilobytes.
#[derive(Clone, Debug, PartialEq)]
pub struct InputLog {
    config: TanksConfig,
    seed: u64,
    ticks: u64,
    changes: Vec<InputChange>,
    held: Vec<Input>,
}

/// From this tick on, this tank's driver does this.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InputChange {
    /// The step, counted from zero, that the input is first used in.
    pub tick: u64,
    /// Which tank, counted from zero.
    pub tank: u32,
    /// What the hands do from then on.
    pub input: Input,
}

impl InputLog {
    /// An empty log of a match with these rules and this seed.
    pub fn new(config: TanksConfig, seed: u64) -> Self {
        let tanks = config.tanks[0].saturating_add(config.tanks[1]).min(super::TANKS_MAX);
        let held = (0..tanks).map(|_| Input::IDLE).collect();
        Self { config, seed, ticks: 0, changes: Vec::new(), held }
    }

    /// A log read back from its parts; changes must be in the order of their ticks.
    pub fn from_changes(config: TanksConfig, seed: u64, ticks: u64, changes: Vec<InputChange>) -> Self {
        let mut log = Self::new(config, seed);
        for change in &changes {
            if let Some(held) = log.held.get_mut(change.tank as usize) {
                *held = change.input;
            }
        }
        Self { ticks, changes, ..log }
    }

    /// Notes the inputs of one step.
    pub fn record(&mut self, inputs: &[Input]) {
        for (tank, held) in (0..).zip(&mut self.held) {
            let input = inputs.get(tank as usize).copied().unwrap_or_default().limited();
            if input != *held {
                *held = input;
                self.changes.push(InputChange { tick: self.ticks, tank, input });
            }
        }
        self.ticks += 1;
    }

    /// How many steps it covers.
    pub fn ticks(&self) -> u64 {
        self.ticks
    }

    /// The rules of the match.
    pub fn config(&self) -> &TanksConfig {
        &self.config
    }

    /// The seed of the match.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Every change, in the order of ticks.
    pub fn changes(&self) -> &[InputChange] {
        &self.changes
    }

    /// The match from its beginning, to be stepped through.
    pub fn replay(&self) -> Result<Replay<'_>, ConfigError> {
        let tanks = Tanks::new(self.config.clone(), self.seed)?;
        let held = tanks.tanks().iter().map(|_| Input::IDLE).collect();
        Ok(Replay { log: self, tanks, held, next: 0 })
    }
}

/// A logged match, seen again.
#[derive(Clone, Debug)]
pub struct Replay<'a> {
    log: &'a InputLog,
    tanks: Tanks,
    held: Vec<Input>,
    next: usize,
}

impl Replay<'_> {
    /// Plays one more tick; `false` at the end of the log.
    pub fn step(&mut self) -> bool {
        let tick = self.tanks.tick();
        if tick >= self.log.ticks {
            return false;
        }
        while let Some(change) = self.log.changes.get(self.next).filter(|change| change.tick <= tick) {
            if let Some(held) = self.held.get_mut(change.tank as usize) {
                *held = change.input;
            }
            self.next += 1;
        }
        self.tanks.step(&self.held);
        true
    }

    /// The match as it stands.
    pub fn tanks(&self) -> &Tanks {
        &self.tanks
    }

    /// Plays to the end.
    pub fn finish(mut self) -> Tanks {
        while self.step() {}
        self.tanks
    }
}
