//! Tanks that this process drives.

use clap::ValueEnum;
use fairpath_games::online::TankPublisher;
use fairpath_games::tanks::{Bot, Driver, Ground, Match, Script, Tanks, TanksConfig, Temperament};

use crate::BadInput;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DriveChoice {
    /// As bots play
    Bot,
    /// Straight on
    Straight,
    /// In a circle
    Circle,
    /// With other speeds and turns at random times, as in the experiments
    Random,
}

/// Bots in two teams, on the field of this seed.
pub(crate) fn bots(count: u32, seed: u64) -> Result<TankPublisher, BadInput> {
    let config = TanksConfig { tanks: [count - count / 2, count / 2], ..TanksConfig::default() };
    Ok(TankPublisher::new(Match::of_bots(config, seed)?))
}

/// One tank alone on the field of this seed: the others are elsewhere.
pub(crate) fn lone(number: u32, seed: u64, drive: DriveChoice) -> Result<TankPublisher, BadInput> {
    let map = Tanks::new(TanksConfig::default(), seed)?.map().clone();
    let tanks = if number.is_multiple_of(2) { [1, 0] } else { [0, 1] };
    let config = TanksConfig { tanks, ground: Ground::Given(map), ..TanksConfig::default() };
    let temperament = Temperament::ALL[number as usize / 2 % Temperament::ALL.len()];
    let dice = seed.wrapping_add(1 + u64::from(number));
    let game = Match::new(config, dice, |_, _, random| match drive {
        DriveChoice::Bot => Driver::Bot(Bot::new(temperament, random)),
        DriveChoice::Straight => Driver::Script(Script::STRAIGHT),
        DriveChoice::Circle => Driver::Script(Script::CIRCLE),
        DriveChoice::Random => Driver::Script(Script::random(random)),
    })?;
    Ok(TankPublisher::new(game))
}
