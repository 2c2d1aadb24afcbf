use fairpath::number::EntityId;
use fairpath::random::Random;
use fairpath::time::SharedInstant;
use fairpath_sim::trace::Trace;

use super::bot::{Bot, Temperament};
use super::config::{ConfigError, TanksConfig};
use super::input::Input;
use super::map::Map;
use super::script::Script;
use super::view::View;
use super::world::Tanks;
use crate::shared::{InputLog, Recorder};

#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "a match has a few dozen drivers, and most of them are bots")]
pub enum Driver {
    /// A bot that decides from its [`View`].
    Bot(Bot),
    /// Fixed motion for experiments.
    Script(Script),
    /// A fixed input, set by the caller between steps: a person's, for example.
    Hands(Input),
}

impl Driver {
    /// Returns whether the driver uses a view in this tick; otherwise none is built.
    fn is_looking(&self, now: SharedInstant) -> bool {
        match self {
            Self::Bot(bot) => bot.is_looking(now),
            Self::Script(_) => true,
            Self::Hands(_) => false,
        }
    }

    fn drive(&mut self, map: &Map, view: &View) -> Input {
        match self {
            Self::Bot(bot) => bot.drive(map, view),
            Self::Script(script) => script.drive(map, view.now, &view.own),
            Self::Hands(input) => *input,
        }
    }

    fn held(&self, now: SharedInstant) -> Input {
        match self {
            Self::Bot(bot) => bot.held(now),
            Self::Script(_) => Input::IDLE,
            Self::Hands(input) => *input,
        }
    }
}

/// A match with a driver for each tank.
///
/// ```
/// use fairpath::number::EntityId;
/// use fairpath_games::tanks::{Driver, Input, Match, TanksConfig};
///
/// # fn main() -> Result<(), fairpath_games::tanks::ConfigError> {
/// // A person takes over tank 0: full ahead, a little to the left.
/// let mut game = Match::of_bots(TanksConfig::default(), 1)?;
/// game.seat(EntityId(0), Driver::Hands(Input::drive(1.0, 0.2)));
/// game.step();
/// assert_eq!(game.tanks().tanks()[0].state().signed_speed().round(), 25.0);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Match {
    tanks: Tanks,
    drivers: Vec<Driver>,
    inputs: Vec<Input>,
    log: Option<InputLog<Tanks>>,
    seed: u64,
}

impl Match {
    /// Returns a match of bots. Each team's bots take the temperaments in turn.
    pub fn of_bots(config: TanksConfig, seed: u64) -> Result<Self, ConfigError> {
        let mut turn = [0; 2];
        Self::new(config, seed, |tanks, id, random| {
            let Some(tank) = tanks.tank(id) else { return Driver::Hands(Input::IDLE) };
            let number = &mut turn[tank.team().index()];
            let temperament = Temperament::ALL[*number % Temperament::ALL.len()];
            *number += 1;
            Driver::Bot(Bot::new(temperament, random))
        })
    }

    /// Returns a match in which one script drives every tank, with a random generator each.
    pub fn of_scripts(config: TanksConfig, script: &Script, seed: u64) -> Result<Self, ConfigError> {
        Self::new(config, seed, |_, _, random| Driver::Script(script.clone().with_dice(random)))
    }

    /// Returns a match whose drivers `seat` returns. `seat` gets a random generator for each tank.
    pub fn new(
        config: TanksConfig,
        seed: u64,
        mut seat: impl FnMut(&Tanks, EntityId, Random) -> Driver,
    ) -> Result<Self, ConfigError> {
        /// Keeps the drivers' random streams apart from the world's, which forks small numbers.
        const DRIVERS: u64 = 1 << 32;
        let tanks = Tanks::new(config, seed)?;
        let dice = Random::from_seed(seed);
        let drivers: Vec<Driver> = tanks
            .tanks()
            .iter()
            .map(|tank| seat(&tanks, tank.id(), dice.fork(DRIVERS + u64::from(tank.id().0))))
            .collect();
        let inputs = drivers.iter().map(|driver| driver.held(tanks.now())).collect();
        Ok(Self { tanks, drivers, inputs, log: None, seed })
    }

    /// Starts an input log. Only a log started at tick zero replays the match.
    #[must_use]
    pub fn with_log(mut self) -> Self {
        self.log = Some(InputLog::new(self.tanks.config().clone(), self.seed));
        self
    }

    /// Replaces the driver of a tank. Does nothing if there is no such tank.
    pub fn seat(&mut self, tank: EntityId, driver: Driver) {
        if let Some(seat) = self.drivers.get_mut(tank.0 as usize) {
            *seat = driver;
        }
    }

    /// Asks every driver for its input, then plays one tick.
    pub fn step(&mut self) {
        self.step_showing(|_| ());
    }

    /// Plays one tick like [`step`](Self::step), but `screen` may first change what a looking
    /// driver is shown: other tanks and shots where dead reckoning places them, for example.
    pub fn step_showing(&mut self, mut screen: impl FnMut(&mut View)) {
        let now = self.tanks.now();
        let map = self.tanks.map();
        for ((id, driver), input) in (0..).map(EntityId).zip(&mut self.drivers).zip(&mut self.inputs) {
            let view = driver.is_looking(now).then(|| self.tanks.look(id)).flatten();
            *input = match view {
                Some(mut view) => {
                    screen(&mut view);
                    driver.drive(map, &view)
                }
                None => driver.held(now),
            };
        }
        if let Some(log) = &mut self.log {
            log.record(&self.inputs);
        }
        self.tanks.step(&self.inputs);
    }

    pub fn tanks(&self) -> &Tanks {
        &self.tanks
    }

    pub fn seed(&self) -> u64 {
        self.seed
    }

    pub fn drivers(&self) -> &[Driver] {
        &self.drivers
    }

    /// Returns the inputs of the last tick, in the order of tanks.
    pub fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    /// Returns the input log, if [`with_log`](Self::with_log) started one.
    pub fn log(&self) -> Option<&InputLog<Tanks>> {
        self.log.as_ref()
    }

    /// Returns a recorder that begins with the current state.
    pub fn recorder(&self) -> Recorder<Tanks> {
        Recorder::new(&self.tanks, self.tanks.config().clone(), self.seed)
    }

    /// Plays `ticks` ticks and returns them as a trace.
    pub fn record(&mut self, ticks: u64) -> Trace {
        let mut recorder = self.recorder();
        for _ in 0..ticks {
            self.step();
            recorder.record(&self.tanks, &self.inputs);
        }
        recorder.finish()
    }
}

/// The digest of [`reference_match`] on every platform.
pub const REFERENCE_DIGEST: u64 = 0x0571_C6D5_718F_17CB;

/// Plays three minutes of five against five, with every rule and kind of bot. Natively and in
/// WebAssembly the [digest](Tanks::digest) must be [`REFERENCE_DIGEST`].
pub fn reference_match() -> Match {
    const TICKS: u32 = 3 * 60 * 60;
    let Ok(mut game) = Match::of_bots(TanksConfig::default(), REFERENCE_SEED) else {
        unreachable!("the default rules are sound")
    };
    for _ in 0..TICKS {
        game.step();
    }
    game
}

/// A match in which both teams bring home a flag.
const REFERENCE_SEED: u64 = 1;
