//! Tanks that this process drives.

use fairpath_games::online::TankPublisher;
use fairpath_games::tanks::{Bot, Driver, Ground, Match, Script, Tanks, TanksConfig, Temperament};

use crate::BadInput;

/// How a tank is driven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Habit {
    /// As bots play.
    Bot,
    /// Straight on.
    Straight,
    /// Round and round.
    Circle,
    /// Other speeds and turns at random times: what the laboratory's tanks do.
    Random,
}

impl Habit {
    pub(crate) fn by_name(name: &str) -> Result<Self, BadInput> {
        match name {
            "bot" => Ok(Self::Bot),
            "straight" => Ok(Self::Straight),
            "circle" => Ok(Self::Circle),
            "random" => Ok(Self::Random),
            other => Err(BadInput::of("--drive", other, "choose bot, straight, circle or random")),
        }
    }
}

/// So many bots against each other, on the field of this seed.
pub(crate) fn bots(count: u32, seed: u64) -> Result<TankPublisher, BadInput> {
    let config = TanksConfig { tanks: [count - count / 2, count / 2], ..TanksConfig::default() };
    Ok(TankPublisher::new(Match::of_bots(config, seed)?))
}

/// One tank alone on the field of this seed: the others are elsewhere.
pub(crate) fn lone(number: u32, seed: u64, habit: Habit) -> Result<TankPublisher, BadInput> {
    let map = Tanks::new(TanksConfig::default(), seed)?.map().clone();
    let tanks = if number.is_multiple_of(2) { [1, 0] } else { [0, 1] };
    let config = TanksConfig { tanks, ground: Ground::Given(map), ..TanksConfig::default() };
    let temperament = Temperament::ALL[number as usize / 2 % Temperament::ALL.len()];
    let dice = seed.wrapping_add(1 + u64::from(number));
    let game = Match::new(config, dice, |_, _, random| match habit {
        Habit::Bot => Driver::Bot(Bot::new(temperament, random)),
        Habit::Straight => Driver::Script(Script::STRAIGHT),
        Habit::Circle => Driver::Script(Script::CIRCLE),
        Habit::Random => Driver::Script(Script::random(random)),
    })?;
    Ok(TankPublisher::new(game))
}
