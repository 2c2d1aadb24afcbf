//! The list of predictors, each with a name that a command line can take.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::{
    Adaptive, Ekb, EkbConfig, Fading, Hm, Hybrid, InputScheme, Is, IsConfig, Linear, Oaekb, Objective, Order,
    Predictor, Ridge, Step, Tdm,
};

use PredictorChoice as P;

/// A predictor by name. [`Display`](fmt::Display) and [`FromStr`] use the same names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "`explanation` says what each does")]
pub enum PredictorChoice {
    Line,
    Tdm,
    Is,
    Hm,
    Ekb,
    Oaekb,
    HybridEkb,
    HybridOaekb,
    ConstantVelocity,
    ConstantAcceleration,
    ConstantInputPosition,
    ConstantInputVelocity,
    ConstantInputAcceleration,
    FadingFast,
    FadingSlow,
    Ridge,
    Adaptive,
    AdaptiveHits,
}

/// Shi 2014's hit radius in pixels of the game Ethereal.
const HIT_RADIUS_PX: f64 = 45.0;

/// Every predictor in the order of the enum, with its name and explanation.
const TABLE: [(P, &str, &str); 18] = [
    (P::Line, "line", "keeps the velocity"),
    (P::Tdm, "tdm", "keeps the acceleration"),
    (P::Is, "is", "is drawn to some players and flees others"),
    (P::Hm, "hm", "keeps the acceleration for 300 ms, then does as `is`"),
    (P::Ekb, "ekb", "follows friends and fights as strength allows"),
    (P::Oaekb, "oaekb", "as `ekb`, around walls"),
    (P::HybridEkb, "hybrid-ekb", "as `ekb`, but as `tdm` on a straight course"),
    (P::HybridOaekb, "hybrid-oaekb", "as `oaekb`, but as `tdm` on a straight course"),
    (P::ConstantVelocity, "constant-velocity", "keeps the velocity, as an input scheme"),
    (P::ConstantAcceleration, "constant-acceleration", "keeps the acceleration, as an input scheme"),
    (P::ConstantInputPosition, "constant-input-position", "keeps what the player presses and runs the game"),
    (
        P::ConstantInputVelocity,
        "constant-input-velocity",
        "keeps how what the player presses changes, and runs the game",
    ),
    (
        P::ConstantInputAcceleration,
        "constant-input-acceleration",
        "keeps how that change changes, and runs the game",
    ),
    (P::FadingFast, "fading-0.3", "a velocity that fades in 0.3 s"),
    (P::FadingSlow, "fading-1", "a velocity that fades in 1 s"),
    (P::Ridge, "ridge", "linear regression on the last second, learned during the match"),
    (P::Adaptive, "adaptive", "learns which guess fits which player, for the least mean error"),
    (P::AdaptiveHits, "adaptive-hits", "learns which guess fits which player, for the most hits"),
];

impl PredictorChoice {
    /// Every predictor. The straight line comes first: the others are compared with it.
    pub const ALL: [Self; TABLE.len()] = {
        let mut all = [Self::Line; TABLE.len()];
        let mut index = 0;
        while index < all.len() {
            all[index] = TABLE[index].0;
            index += 1;
        }
        all
    };

    /// The predictor's name: lower case, words joined by hyphens.
    pub const fn name(self) -> &'static str {
        TABLE[self as usize].1
    }

    /// What the predictor does, in one line for people.
    pub const fn explanation(self) -> &'static str {
        TABLE[self as usize].2
    }

    /// Builds the predictor, which has learned nothing yet.
    ///
    /// `top_speed` is the players' top speed in the data's unit of length per second; it scales all
    /// lengths that Shi 2014 gives in pixels. `game` is the game's own step function. Predictors
    /// that run the game answer [`Missing::Input`](crate::Missing::Input) without it.
    pub fn build(self, top_speed: f64, game: Option<Arc<dyn Step + Sync>>) -> Box<dyn Predictor> {
        let scale = top_speed / EkbConfig::default().top_speed;
        let ekb = EkbConfig::default().for_top_speed(top_speed);
        let interests = IsConfig::default().scaled(scale);
        let scheme = |order| -> Box<dyn Predictor> { Box::new(InputScheme { order, game }) };
        match self {
            Self::Line => Box::new(Linear),
            Self::Tdm => Box::new(Tdm),
            Self::Is => Box::new(Is::new(interests)),
            Self::Hm => Box::new(Hm::new(interests, Hm::TDM_TICKS)),
            Self::Ekb => Box::new(Ekb::new(ekb)),
            Self::Oaekb => Box::new(Oaekb::new(ekb)),
            Self::HybridEkb => Box::new(Hybrid::new(Ekb::new(ekb), ekb)),
            Self::HybridOaekb => Box::new(Hybrid::new(Oaekb::new(ekb), ekb)),
            Self::ConstantVelocity => scheme(Order::Velocity),
            Self::ConstantAcceleration => scheme(Order::Acceleration),
            Self::ConstantInputPosition => scheme(Order::InputPosition),
            Self::ConstantInputVelocity => scheme(Order::InputVelocity),
            Self::ConstantInputAcceleration => scheme(Order::InputAcceleration),
            Self::FadingFast => Box::new(Fading::new(0.3)),
            Self::FadingSlow => Box::new(Fading::new(1.0)),
            Self::Ridge => Box::new(Ridge::default()),
            Self::Adaptive => Box::new(Adaptive::new(top_speed, Objective::Mean)),
            Self::AdaptiveHits => {
                Box::new(Adaptive::new(top_speed, Objective::Hits { radius: HIT_RADIUS_PX * scale }))
            }
        }
    }
}

impl fmt::Display for PredictorChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for PredictorChoice {
    type Err = UnknownPredictor;

    /// Parses a name in upper or lower case.
    fn from_str(text: &str) -> Result<Self, UnknownPredictor> {
        let found = Self::ALL.into_iter().find(|choice| choice.name().eq_ignore_ascii_case(text.trim()));
        found.ok_or_else(|| UnknownPredictor(text.into()))
    }
}

/// A name that is not in the list of predictors. The text lists the names there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownPredictor(pub String);

impl std::error::Error for UnknownPredictor {}

impl fmt::Display for UnknownPredictor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: String = self.0.chars().filter(|c| !c.is_control()).take(60).collect();
        let names = PredictorChoice::ALL.map(PredictorChoice::name).join(", ");
        write!(f, "no predictor is called {shown:?}; choose one of {names}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_follows_the_enum_and_every_name_is_parsed() {
        for (index, choice) in PredictorChoice::ALL.into_iter().enumerate() {
            assert_eq!(choice as usize, index);
            assert_eq!(choice.name().to_uppercase().parse(), Ok(choice));
        }
        let error = "wizard".parse::<PredictorChoice>().unwrap_err().to_string();
        assert!(error.contains("\"wizard\"") && error.contains("line, tdm"), "{error}");
    }
}
