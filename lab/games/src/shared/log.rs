//! What everybody's hands did, as changes, and the run again from them.

use super::game::{Game, Hands};

/// Rules, seed and inputs of a run: all that is needed to see it again, bit for bit. Only changes
/// are kept.
#[derive(Clone, Debug, PartialEq)]
pub struct InputLog<G: Game> {
    config: G::Config,
    seed: u64,
    ticks: u64,
    changes: Vec<InputChange<G::Input>>,
    held: Vec<G::Input>,
}

/// From this tick on, this player's hands do this.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InputChange<I> {
    /// The step, counted from zero, that the input is first used in.
    pub tick: u64,
    /// Whose hands: seats are counted from zero.
    pub seat: u32,
    /// What they do from then on.
    pub input: I,
}

impl<G: Game> InputLog<G> {
    /// An empty log of a run with these rules and this seed.
    pub fn new(config: G::Config, seed: u64) -> Self {
        let held = (0..G::seats(&config)).map(|_| G::Input::default()).collect();
        Self { config, seed, ticks: 0, changes: Vec::new(), held }
    }

    /// A log read back from its parts; changes must be in the order of their ticks.
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

    /// Notes the inputs of one step.
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

    /// The rules of the run.
    pub fn config(&self) -> &G::Config {
        &self.config
    }

    /// The seed of the run.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// How many steps it covers.
    pub fn ticks(&self) -> u64 {
        self.ticks
    }

    /// Every change, in the order of ticks.
    pub fn changes(&self) -> &[InputChange<G::Input>] {
        &self.changes
    }

    /// The run from its beginning, to be stepped through.
    pub fn replay(&self) -> Result<Replay<'_, G>, G::ConfigError> {
        let game = G::begin(&self.config, self.seed)?;
        let held = self.held.iter().map(|_| G::Input::default()).collect();
        Ok(Replay { log: self, game, held, next: 0 })
    }
}

/// A logged run, seen again.
#[derive(Clone, Debug)]
pub struct Replay<'a, G: Game> {
    log: &'a InputLog<G>,
    game: G,
    held: Vec<G::Input>,
    next: usize,
}

impl<G: Game> Replay<'_, G> {
    /// Plays one more tick; `false` at the end of the log.
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

    /// The run as it stands.
    pub fn game(&self) -> &G {
        &self.game
    }

    /// Plays to the end.
    pub fn finish(mut self) -> G {
        while self.step() {}
        self.game
    }
}

/// Takes over a change; one of a seat that nobody has is passed over.
fn hold<I: Copy>(held: &mut [I], change: &InputChange<I>) {
    if let Some(held) = held.get_mut(change.seat as usize) {
        *held = change.input;
    }
}
