//! A run with its player.

use fairpath::random::Random;
use fairpath::time::SharedInstant;
use fairpath_sim::Digest;

use super::bot::{Bot, Skill};
use super::config::JetCarConfig;
use super::input::Input;
use super::scene::JetCarScene;
use super::world::JetCar;
use crate::shared::{InputLog, OutOfRange};

/// Who plays.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "there is one of them, and the usual one is the large one")]
pub enum Driver {
    /// Somebody who decides from what is shown.
    Bot(Bot),
    /// A person, or whoever sets the input between steps.
    Hands(Input),
}

impl Driver {
    /// Returns what the hands do at `now`, with this on the screen.
    pub fn drive(&mut self, rules: &JetCarConfig, now: SharedInstant, shown: &JetCarScene) -> Input {
        match self {
            Self::Bot(bot) => bot.drive(rules, now, shown),
            Self::Hands(input) => *input,
        }
    }
}

/// A run with its player, on a screen without delay.
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
    /// Played by a practised bot.
    pub fn of_bot(config: JetCarConfig, seed: u64) -> Result<Self, OutOfRange> {
        /// Keeps the player's dice apart from the game's, which forks the same seed with small
        /// numbers.
        const PLAYER: u64 = 1 << 32;
        let dice = Random::from_seed(seed).fork(PLAYER);
        Self::new(config, seed, Driver::Bot(Bot::new(Skill::default(), dice)))
    }

    /// Played by `driver`.
    pub fn new(config: JetCarConfig, seed: u64, driver: Driver) -> Result<Self, OutOfRange> {
        Ok(Self { game: JetCar::new(config, seed)?, driver, log: InputLog::new(config, seed) })
    }

    /// Lets the player look and decide, then plays one tick.
    pub fn step(&mut self) {
        let scene = self.game.scene();
        let input = self.driver.drive(self.game.config(), scene.now(), scene);
        self.log.record(&[input]);
        self.game.step(input, 1);
    }

    /// Puts somebody else at the stick.
    pub fn seat(&mut self, driver: Driver) {
        self.driver = driver;
    }

    /// Returns the run as it stands.
    pub fn game(&self) -> &JetCar {
        &self.game
    }

    /// Returns all that is needed to see it again.
    pub fn log(&self) -> &InputLog<JetCar> {
        &self.log
    }
}

/// What [`reference_digest`] must answer, on every platform.
pub const REFERENCE_DIGEST: u64 = 0xAF8D_67D4_57DE_35AB;

/// Plays a run in calm air and one in wind to their ends and answers one digest of both. Natively
/// and in WebAssembly this must be [`REFERENCE_DIGEST`]: every rule and the bot had a hand in it.
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
