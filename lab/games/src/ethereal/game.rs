//! A match with its players in their seats.

use fairpath::number::EntityId;
use fairpath::random::Random;

use super::bot::{Bot, Temperament};
use super::config::EtherealConfig;
use super::input::Input;
use super::recording::Recording;
use super::view::View;
use super::world::Ethereal;
use crate::shared::{OutOfRange, Team};

/// Who plays.
#[derive(Clone, Debug)]
pub enum Driver {
    /// Somebody who decides from what is shown.
    Bot(Box<Bot>),
    /// A person, or whoever sets the input between steps.
    Hands(Input),
}

impl Driver {
    /// A bot.
    pub fn bot(bot: Bot) -> Self {
        Self::Bot(Box::new(bot))
    }

    /// What kind of bot sits here, if one does.
    pub fn temperament(&self) -> Option<Temperament> {
        match self {
            Self::Bot(bot) => Some(bot.temperament()),
            Self::Hands(_) => None,
        }
    }
}

/// A match with its players in their seats.
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
    /// Every player a bot, their temperaments in turn on both sides.
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

    /// Asks `seat` for somebody per player, and hands it the dice that are this seat's own.
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

    /// The same, keeping a recording from here on. Only one from the start can be replayed.
    #[must_use]
    pub fn with_recording(mut self) -> Self {
        let kinds: Vec<_> = self.drivers.iter().map(Driver::temperament).collect();
        self.recording = Some(Recording::begin(&self.ethereal, &kinds));
        self
    }

    /// Puts somebody into a seat, for whoever sat there; nothing happens if there is no such
    /// player.
    pub fn seat(&mut self, player: EntityId, driver: Driver) {
        if let Some(seat) = self.drivers.get_mut(player.0 as usize) {
            *seat = driver;
        }
    }

    /// Lets everybody look and decide, then plays one tick.
    pub fn step(&mut self) {
        self.step_showing(|_| ());
    }

    /// The same, but `screen` may first change what somebody is shown: the others where dead
    /// reckoning places them, for example. It is called only for bots that look in this tick.
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
                // Between looks the hands stay as they are.
                Driver::Bot(_) => {}
            }
        }
        self.ethereal.step(&self.inputs);
        if let Some(recording) = &mut self.recording {
            recording.note(&self.ethereal);
        }
    }

    /// The match as it stands.
    pub fn ethereal(&self) -> &Ethereal {
        &self.ethereal
    }

    /// Who plays, in the order of players.
    pub fn drivers(&self) -> &[Driver] {
        &self.drivers
    }

    /// What everybody did in the last tick, in the order of players.
    pub fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    /// The recording, if one is kept.
    pub fn recording(&self) -> Option<&Recording> {
        self.recording.as_ref()
    }
}

/// Keeps seats' dice apart from the world's, which forks the same seed with small numbers.
const DRIVERS: u64 = 1 << 32;
const TALKS: u64 = 1 << 33;

/// What a team's bots say to each other: dice that they all read alike.
fn team_talk(seed: u64, team: Team) -> Random {
    Random::from_seed(seed).fork(TALKS + team.index() as u64)
}

/// What [`reference_digest`] must answer, on every platform.
pub const REFERENCE_DIGEST: u64 = 0xDC26_21CC_08AC_B28D;

/// Plays one minute of four against four and answers the digest of the last tick. Natively and in
/// WebAssembly this must be [`REFERENCE_DIGEST`]: every rule and every bot had a hand in it.
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
