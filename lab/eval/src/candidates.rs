//! The predictors of [`PredictorChoice`], with what they are told about a match.

use std::sync::Arc;

use fairpath_games::ethereal::TOP_SPEED;
use fairpath_predict::{Predictor, PredictorChoice, Step, UnknownPredictor};

use crate::learned::{BankPredictor, CommonPath, Taught};
use crate::play::Play;

/// What a predictor knows about a match before it begins.
#[derive(Clone, Debug)]
pub struct MatchSetup {
    /// The top speed of the data, in its own unit of length per second.
    pub top_speed: f64,
    /// The game's own step function, if any. Input schemes need it.
    pub game: Option<Game>,
}

/// A game's step function, shared by the predictors of all players.
pub type Game = Arc<dyn Step + Sync>;

impl MatchSetup {
    pub fn of(play: &Play) -> Self {
        Self { top_speed: play.top_speed(), game: play.game.clone() }
    }

    /// Returns one pixel of Shi 2014 in the data's unit, which scales all its lengths: the data's
    /// top speed by Ethereal's. Example: 12 m/s by 360 pixels/s is 3.3 cm per pixel.
    pub fn scale(&self) -> f64 {
        self.top_speed / TOP_SPEED
    }

    /// Returns the hit radius and packet threshold of Shi 2014, 45 pixels, in the data's unit.
    pub fn hit_radius(&self) -> f64 {
        45.0 * self.scale()
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    pub name: &'static str,
    pub about: &'static str,
    maker: Maker,
}

#[derive(Clone, Copy, Debug)]
enum Maker {
    Choice(PredictorChoice),
    /// One of [`learned`](crate::learned).
    Learned(Learned),
}

#[derive(Clone, Copy, Debug)]
enum Learned {
    Networks,
    Rules,
    CommonPath,
}

impl Candidate {
    const fn of(choice: PredictorChoice) -> Self {
        Self { name: choice.name(), about: choice.explanation(), maker: Maker::Choice(choice) }
    }

    /// Builds the predictor, which has learned nothing yet.
    pub fn make(&self, stage: &MatchSetup) -> Box<dyn Predictor> {
        let learned = match self.maker {
            Maker::Choice(choice) => return choice.build(stage.top_speed, stage.game.clone()),
            Maker::Learned(learned) => learned,
        };
        let Taught { networks, rules, common_path } = Taught::shipped();
        match learned {
            Learned::Networks => Box::new(BankPredictor::new(networks, stage.top_speed)),
            Learned::Rules => Box::new(BankPredictor::new(rules, stage.top_speed)),
            Learned::CommonPath => Box::new(CommonPath::new(common_path, stage.top_speed)),
        }
    }

    /// Returns the candidates in a list of names, or all of them for `all`, with the learned ones.
    pub fn by_names(names: &str) -> Result<Vec<Self>, UnknownPredictor> {
        if names.trim().eq_ignore_ascii_case("all") {
            return Ok(all_and_learned());
        }
        let mut chosen: Vec<Self> = Vec::new();
        for name in names.split(',') {
            let name = name.trim();
            let learned = LEARNED.iter().find(|learned| learned.name.eq_ignore_ascii_case(name));
            let candidate = learned.map_or_else(|| name.parse().map(Self::of), |learned| Ok(*learned))?;
            if chosen.iter().all(|each| each.name != candidate.name) {
                chosen.push(candidate);
            }
        }
        Ok(chosen)
    }
}

/// The learned predictors of the literature, in our reconstruction. Only `lab eval` has them.
pub const LEARNED: [Candidate; 3] = [
    Candidate {
        name: "neural",
        about: "small neural networks that predict changes of velocity, after McCoy 2007",
        maker: Maker::Learned(Learned::Networks),
    },
    Candidate {
        name: "fuzzy",
        about: "fuzzy rules with learned conclusions, after Hakiri 2010",
        maker: Maker::Learned(Learned::Rules),
    },
    Candidate {
        name: "common-path",
        about: "the line, or the path most often taken from here, after Delaney 2003",
        maker: Maker::Learned(Learned::CommonPath),
    },
];

/// Returns [`all`] and [`LEARNED`].
pub fn all_and_learned() -> Vec<Candidate> {
    all().iter().chain(&LEARNED).copied().collect()
}

/// Returns every predictor. The straight line comes first: the others are compared with it.
pub fn all() -> &'static [Candidate] {
    const ALL: [Candidate; PredictorChoice::ALL.len()] = {
        let mut all = [Candidate::of(PredictorChoice::Line); PredictorChoice::ALL.len()];
        let mut index = 0;
        while index < all.len() {
            all[index] = Candidate::of(PredictorChoice::ALL[index]);
            index += 1;
        }
        all
    };
    &ALL
}
