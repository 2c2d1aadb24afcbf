use fairpath::random::Random;
use fairpath::time::SharedInstant;
use fairpath_sim::Digest;

use super::bot::{Bot, Skill};
use super::config::JetCarConfig;
use super::input::Input;
use super::scene::JetCarScene;
use super::world::JetCar;
use crate::shared::{InputLog, OutOfRange};

#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "there is one of them, and the usual one is the large one")]
pub enum Driver {
    /// A bot that decides from what it is shown.
    Bot(Bot),
    /// A fixed input, set by the caller between steps: a person's, for example.
    Hands(Input),
}

impl Driver {
    /// Returns the input at `now` for the shown scene.
    pub fn drive(&mut self, rules: &JetCarConfig, now: SharedInstant, shown: &JetCarScene) -> Input {
        match self {
            Self::Bot(bot) => bot.drive(rules, now, shown),
            Self::Hands(input) => *input,
        }
    }
}

/// A run with its driver, without delay.
///
/// ```
/// use fairpath_games::jet_car::{JetCarConfig, JetCarRun};
///
/// # fn main() -> Result<(), fairpath_games::shared::OutOfRange> {
/// let mut run = JetCarRun::of_bot(JetCarConfig::default(), 7)?;
/// while !run.game().is_over() {
///     run.step();
/// }
/// println!("{} points", run.game().scene().score);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct JetCarRun {
    game: JetCar,
    driver: Driver,
    log: InputLog<JetCar>,
}

impl JetCarRun {
    /// Returns a run with a practised bot.
    pub fn of_bot(config: JetCarConfig, seed: u64) -> Result<Self, OutOfRange> {
        /// Keeps the driver's random stream apart from the game's, which forks small numbers.
        const PLAYER: u64 = 1 << 32;
        let dice = Random::from_seed(seed).fork(PLAYER);
        Self::new(config, seed, Driver::Bot(Bot::new(Skill::default(), dice)))
    }

    pub fn new(config: JetCarConfig, seed: u64, driver: Driver) -> Result<Self, OutOfRange> {
        Ok(Self { game: JetCar::new(config, seed)?, driver, log: InputLog::new(config, seed) })
    }

    /// Asks the driver for its input, then plays one tick.
    pub fn step(&mut self) {
        let scene = self.game.scene();
        let input = self.driver.drive(self.game.config(), scene.now(), scene);
        self.log.record(&[input]);
        self.game.step(input, 1);
    }

    pub fn seat(&mut self, driver: Driver) {
        self.driver = driver;
    }

    pub fn game(&self) -> &JetCar {
        &self.game
    }

    /// Returns the input log, from which the run can be replayed.
    pub fn log(&self) -> &InputLog<JetCar> {
        &self.log
    }
}

/// The result of [`reference_digest`] on every platform.
pub const REFERENCE_DIGEST: u64 = 0xAF8D_67D4_57DE_35AB;

/// Plays a run in calm air and one in wind to their ends, and returns one digest of both. Natively
/// and in WebAssembly it must be [`REFERENCE_DIGEST`]. The runs exercise every rule and the bot.
pub fn reference_digest() -> u64 {
    let mut digest = Digest::new();
    for config in [JetCarConfig::default(), JetCarConfig::windy()] {
        let Ok(mut run) = JetCarRun::of_bot(config, 0x5EED) else {
            unreachable!("the default rules are sound")
        };
        while !run.game().is_over() {
            run.step();
            if run.game().scene().tick.is_multiple_of(100) {
                digest.u64(run.game().digest());
            }
        }
        digest.u64(run.game().digest());
    }
    digest.value()
}
