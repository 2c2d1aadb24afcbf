//! The list of games, each with a name that a command line can take.

use std::fmt;
use std::str::FromStr;

/// A game by name. [`Display`](fmt::Display) and [`FromStr`] use the same names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GameChoice {
    /// [`tanks`](crate::tanks).
    Tanks,
    /// [`ethereal`](crate::ethereal).
    Ethereal,
    /// [`race`](crate::race).
    Race,
    /// [`jet_car`](crate::jet_car). `jet-car-wind` has gusts; by default the air is calm.
    JetCar { has_wind: bool },
    /// [`sailing`](crate::sailing). In `sailing-shifts` the wind shifts between west and south.
    Sailing { wind_shifts: bool },
}

impl GameChoice {
    /// Every game and weather.
    pub const ALL: [Self; 7] = [
        Self::Tanks,
        Self::Ethereal,
        Self::Race,
        Self::JetCar { has_wind: false },
        Self::JetCar { has_wind: true },
        Self::Sailing { wind_shifts: false },
        Self::Sailing { wind_shifts: true },
    ];

    /// The game's name: lower case, words joined by hyphens.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tanks => "tanks",
            Self::Ethereal => "ethereal",
            Self::Race => "race",
            Self::JetCar { has_wind: false } => "jet-car",
            Self::JetCar { has_wind: true } => "jet-car-wind",
            Self::Sailing { wind_shifts: false } => "sailing",
            Self::Sailing { wind_shifts: true } => "sailing-shifts",
        }
    }

    /// What the game is, in one line for people.
    pub const fn explanation(self) -> &'static str {
        match self {
            Self::Tanks => "two teams of tanks, boxes, flags and shots",
            Self::Ethereal => "two teams on foot, walls, health and ammunition",
            Self::Race => "cars on walled tracks",
            Self::JetCar { has_wind: false } => "a car with thrusters and no brakes among falling things",
            Self::JetCar { has_wind: true } => "the same in gusts of wind",
            Self::Sailing { wind_shifts: false } => "a sailing boat, an opponent and a buoy",
            Self::Sailing { wind_shifts: true } => "the same in a wind that shifts",
        }
    }
}

impl fmt::Display for GameChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for GameChoice {
    type Err = UnknownGame;

    /// Parses a name in upper or lower case.
    fn from_str(text: &str) -> Result<Self, UnknownGame> {
        let found = Self::ALL.into_iter().find(|game| game.name().eq_ignore_ascii_case(text.trim()));
        found.ok_or_else(|| UnknownGame(text.into()))
    }
}

/// A name that is not in the list of games. The text lists the names there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownGame(pub String);

impl std::error::Error for UnknownGame {}

impl fmt::Display for UnknownGame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "no game is called {:?}; choose one of {}",
            self.0,
            GameChoice::ALL.map(GameChoice::name).join(", ")
        )
    }
}
