//! The inputs of a run, stored as changes, and the run replayed from them.

use super::game::{Game, PlayerInput};

/// Rules, seed and inputs of a run: enough to replay it bit for bit.
///
/// Only changes of inputs are stored, so a minute of ten bots takes some tens of kilobytes.
#[derive(Clone, Debug, PartialEq)]
pub struct InputLog<G: Game> {
    config: G::Config,
    seed: u64,
    ticks: u64,
    changes: Vec<InputChange<G::Input>>,
    held: Vec<G::Input>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InputChange<I> {
    /// The first tick, counted from zero, that uses the input.
    pub tick: u64,
    /// The player's seat, counted from zero.
    pub seat: u32,
    pub input: I,
}

impl<G: Game> InputLog<G> {
    /// Returns an empty log of a run with these rules and this seed.
    pub fn new(config: G::Config, seed: u64) -> Self {
        let held = (0..G::seats(&config)).map(|_| G::Input::default()).collect();
        Self { config, seed, ticks: 0, changes: Vec::new(), held }
    }

    /// Returns the log with these parts. Changes must be in the order of their ticks.
    pub fn from_changes(
        config: G::Config,
        seed: u64,
        ticks: u64,
        changes: Vec<InputChange<G::Input>>,
    ) -> Self {
        let mut log = Self::new(config, seed);
        for change in &changes {
            hold(&mut log.held, change);
        }
        Self { ticks, changes, ..log }
    }

    pub fn record(&mut self, inputs: &[G::Input]) {
        for (seat, held) in (0..).zip(&mut self.held) {
            let input = inputs.get(seat as usize).copied().unwrap_or_default().limited();
            if input != *held {
                *held = input;
                self.changes.push(InputChange { tick: self.ticks, seat, input });
            }
        }
        self.ticks += 1;
    }

    pub fn config(&self) -> &G::Config {
        &self.config
    }

    pub fn seed(&self) -> u64 {
        self.seed
    }

    pub fn ticks(&self) -> u64 {
        self.ticks
    }

    /// Returns every change, in the order of ticks.
    pub fn changes(&self) -> &[InputChange<G::Input>] {
        &self.changes
    }

    pub fn replay(&self) -> Result<Replay<'_, G>, G::ConfigError> {
        let game = G::begin(&self.config, self.seed)?;
        let held = self.held.iter().map(|_| G::Input::default()).collect();
        Ok(Replay { log: self, game, held, next: 0 })
    }
}

/// A replay of a logged run, tick by tick.
#[derive(Clone, Debug)]
pub struct Replay<'a, G: Game> {
    log: &'a InputLog<G>,
    game: G,
    held: Vec<G::Input>,
    next: usize,
}

impl<G: Game> Replay<'_, G> {
    /// Plays the next tick. Returns `false` at the end of the log.
    pub fn step(&mut self) -> bool {
        let tick = self.game.tick();
        if tick >= self.log.ticks {
            return false;
        }
        while let Some(change) = self.log.changes.get(self.next).filter(|change| change.tick <= tick) {
            hold(&mut self.held, change);
            self.next += 1;
        }
        self.game.advance(&self.held);
        true
    }

    pub fn game(&self) -> &G {
        &self.game
    }

    /// Returns the inputs of the last tick played, in the order of seats.
    pub fn inputs(&self) -> &[G::Input] {
        &self.held
    }

    /// Plays to the end of the log and returns the game.
    pub fn finish(mut self) -> G {
        while self.step() {}
        self.game
    }
}

/// Applies a change. A change for a seat that does not exist is ignored.
fn hold<I: Copy>(held: &mut [I], change: &InputChange<I>) {
    if let Some(held) = held.get_mut(change.seat as usize) {
        *held = change.input;
    }
}
