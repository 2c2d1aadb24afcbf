use fairpath::number::EntityId;
use fairpath::random::Random;

use super::bot::{Bot, Temperament};
use super::config::EtherealConfig;
use super::input::Input;
use super::recording::Recording;
use super::view::View;
use super::world::Ethereal;
use crate::shared::{OutOfRange, Team};

#[derive(Clone, Debug)]
pub enum Driver {
    /// A bot that decides from its [`View`].
    Bot(Box<Bot>),
    /// A fixed input, set by the caller between steps: a person's, for example.
    Hands(Input),
}

impl Driver {
    pub fn bot(bot: Bot) -> Self {
        Self::Bot(Box::new(bot))
    }

    /// Returns the bot's temperament; `None` if it is not a bot.
    pub fn temperament(&self) -> Option<Temperament> {
        match self {
            Self::Bot(bot) => Some(bot.temperament()),
            Self::Hands(_) => None,
        }
    }
}

/// A match with a driver for each player.
///
/// ```
/// use fairpath::number::EntityId;
/// use fairpath::vector::Vec2;
/// use fairpath_games::ethereal::{Driver, EtherealConfig, Input, Keys, Match, TOP_SPEED};
///
/// # fn main() -> Result<(), fairpath_games::shared::OutOfRange> {
/// // A person takes over player 0 and runs to the right, aiming ahead.
/// let mut game = Match::of_bots(EtherealConfig::default(), 1)?;
/// game.seat(EntityId(0), Driver::Hands(Input::new(Keys::RIGHT, Vec2::new(0.0, 0.0))));
/// for _ in 0..10 {
///     game.step();
/// }
/// assert_eq!(game.ethereal().players()[0].body().velocity, Vec2::new(TOP_SPEED, 0.0));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Match {
    ethereal: Ethereal,
    drivers: Vec<Driver>,
    inputs: Vec<Input>,
    recording: Option<Recording>,
}

impl Match {
    /// Returns a match of bots. Each team's bots take the temperaments in turn.
    pub fn of_bots(config: EtherealConfig, seed: u64) -> Result<Self, OutOfRange> {
        let mut turn = [0; 2];
        let talks = Team::BOTH.map(|team| team_talk(seed, team));
        Self::new(config, seed, |ethereal, id, random| {
            let Some(player) = ethereal.player(id) else { return Driver::Hands(Input::IDLE) };
            let team = player.team().index();
            let temperament = Temperament::ALL[turn[team] % Temperament::ALL.len()];
            turn[team] += 1;
            Driver::bot(Bot::new(temperament, talks[team].clone(), random))
        })
    }

    /// Returns a match whose drivers `driver` returns; it gets a random generator per player.
    pub fn new(
        config: EtherealConfig,
        seed: u64,
        mut driver: impl FnMut(&Ethereal, EntityId, Random) -> Driver,
    ) -> Result<Self, OutOfRange> {
        let ethereal = Ethereal::new(config, seed)?;
        let dice = Random::from_seed(seed);
        let drivers: Vec<Driver> = ethereal
            .players()
            .iter()
            .map(|player| driver(&ethereal, player.id(), dice.fork(DRIVERS + u64::from(player.id().0))))
            .collect();
        let inputs = vec![Input::IDLE; drivers.len()];
        Ok(Self { ethereal, drivers, inputs, recording: None })
    }

    /// Starts a recording. Only a recording started at tick zero can be replayed.
    #[must_use]
    pub fn with_recording(mut self) -> Self {
        let kinds: Vec<_> = self.drivers.iter().map(Driver::temperament).collect();
        self.recording = Some(Recording::begin(&self.ethereal, &kinds));
        self
    }

    /// Replaces the driver of a player. Does nothing if there is no such player.
    pub fn seat(&mut self, player: EntityId, driver: Driver) {
        if let Some(seat) = self.drivers.get_mut(player.0 as usize) {
            *seat = driver;
        }
    }

    /// Asks every driver for its input, then plays one tick.
    pub fn step(&mut self) {
        self.step_showing(|_| ());
    }

    /// Plays one tick like [`step`](Self::step), but `screen` may first change what a looking bot
    /// is shown: for example, other players where dead reckoning places them.
    pub fn step_showing(&mut self, mut screen: impl FnMut(&mut View)) {
        let tick = self.ethereal.tick();
        for ((id, driver), input) in (0..).map(EntityId).zip(&mut self.drivers).zip(&mut self.inputs) {
            match driver {
                Driver::Hands(hands) => *input = *hands,
                Driver::Bot(bot) if bot.is_looking(tick) => {
                    let Some(mut view) = self.ethereal.look(id) else { continue };
                    screen(&mut view);
                    *input = bot.play(self.ethereal.map(), &view);
                }
                // Between looks a bot keeps its input.
                Driver::Bot(_) => {}
            }
        }
        self.ethereal.step(&self.inputs);
        if let Some(recording) = &mut self.recording {
            recording.note(&self.ethereal);
        }
    }

    pub fn ethereal(&self) -> &Ethereal {
        &self.ethereal
    }

    pub fn drivers(&self) -> &[Driver] {
        &self.drivers
    }

    /// Returns the inputs of the last tick, in the order of players.
    pub fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    /// Returns the recording, if [`with_recording`](Self::with_recording) started one.
    pub fn recording(&self) -> Option<&Recording> {
        self.recording.as_ref()
    }
}

/// Keeps the drivers' random streams apart from the world's, which forks small numbers.
const DRIVERS: u64 = 1 << 32;
const TALKS: u64 = 1 << 33;

/// Returns the random generator that all bots of a team share to agree on meeting places.
fn team_talk(seed: u64, team: Team) -> Random {
    Random::from_seed(seed).fork(TALKS + team.index() as u64)
}

/// The result of [`reference_digest`] on every platform.
pub const REFERENCE_DIGEST: u64 = 0xDC26_21CC_08AC_B28D;

/// Plays one minute of four against four, with every rule and kind of bot. Returns the last tick's
/// digest, [`REFERENCE_DIGEST`] natively and in WebAssembly.
pub fn reference_digest() -> u64 {
    const TICKS: u32 = 60 * 60;
    let Ok(mut game) = Match::of_bots(EtherealConfig::default(), 0xE7E2) else {
        unreachable!("the default rules are sound")
    };
    for _ in 0..TICKS {
        game.step();
    }
    game.ethereal().digest()
}
