//! The list of predictors, by name. Adding one takes one line in [`all`].

use std::sync::Arc;

use fairpath_games::ethereal::TOP_SPEED;
use fairpath_predict::{
    Adaptive, Ekb, EkbConfig, Fading, Hm, Hybrid, InputScheme, Is, IsConfig, Linear, Oaekb, Objective, Order,
    Predictor, Ridge, Step, Tdm,
};

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
    /// Returns the setup of a match.
    pub fn of(play: &Play) -> Self {
        Self { top_speed: play.top_speed(), game: play.game.clone() }
    }

    /// Returns the length of one pixel of Shi 2014 in the data's unit: the data's top speed divided
    /// by Ethereal's. All lengths of Shi 2014 are multiplied by it. Example: with a top speed of 12
    /// m/s against 360 pixels/s, a pixel is 3.3 cm.
    pub fn scale(&self) -> f64 {
        self.top_speed / TOP_SPEED
    }

    /// Returns the hit radius and packet threshold of Shi 2014, 45 pixels, in the data's unit.
    pub fn hit_radius(&self) -> f64 {
        45.0 * self.scale()
    }

    fn ekb(&self) -> EkbConfig {
        EkbConfig::default().for_top_speed(self.top_speed)
    }

    fn interests(&self) -> IsConfig {
        IsConfig::default().scaled(self.scale())
    }

    fn input_scheme(&self, order: Order) -> Box<dyn Predictor> {
        Box::new(InputScheme { order, game: self.game.clone() })
    }
}

/// A predictor with a name.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    /// Lower case, for the command line and for tables.
    pub name: &'static str,
    /// What it does, in a few words.
    pub about: &'static str,
    make: fn(&MatchSetup) -> Box<dyn Predictor>,
}

impl Candidate {
    /// Creates the predictor. It has learned nothing yet.
    pub fn make(&self, setup: &MatchSetup) -> Box<dyn Predictor> {
        (self.make)(setup)
    }

    /// Returns the predictors in a comma-separated list of names, or all of them for `all`. An
    /// unknown name is an error.
    pub fn by_names(names: &str) -> Result<Vec<Self>, NoSuchCandidate> {
        if names.trim().eq_ignore_ascii_case("all") {
            return Ok(all().to_vec());
        }
        let mut chosen: Vec<Self> = Vec::new();
        for name in names.split(',').map(str::trim) {
            let found = all().iter().find(|each| each.name.eq_ignore_ascii_case(name));
            let found = found.ok_or_else(|| NoSuchCandidate(name.into()))?;
            if chosen.iter().all(|each| each.name != found.name) {
                chosen.push(*found);
            }
        }
        Ok(chosen)
    }
}

/// Returns all predictors. The line is always first: the others are compared with it.
pub fn all() -> &'static [Candidate] {
    const fn of(
        name: &'static str,
        about: &'static str,
        make: fn(&MatchSetup) -> Box<dyn Predictor>,
    ) -> Candidate {
        Candidate { name, about, make }
    }
    const ALL: &[Candidate] = &[
        of("line", "keeps the velocity", |_| Box::new(Linear)),
        of("tdm", "keeps the acceleration", |_| Box::new(Tdm)),
        of("is", "approaches friends and weak enemies, flees strong ones", |setup| {
            Box::new(Is::new(setup.interests()))
        }),
        of("hm", "constant acceleration for 300 ms, then is", |setup| {
            Box::new(Hm::new(setup.interests(), Hm::TDM_TICKS))
        }),
        of("ekb", "follows friends and fights as strength allows", |setup| Box::new(Ekb::new(setup.ekb()))),
        of("oaekb", "ekb around walls", |setup| Box::new(Oaekb::new(setup.ekb()))),
        of("hybrid-ekb", "ekb, but constant acceleration on a straight course", |setup| {
            Box::new(Hybrid::new(Ekb::new(setup.ekb()), setup.ekb()))
        }),
        of("hybrid-oaekb", "oaekb, but constant acceleration on a straight course", |setup| {
            Box::new(Hybrid::new(Oaekb::new(setup.ekb()), setup.ekb()))
        }),
        of("constant-velocity", "keeps the velocity, as line does", |setup| {
            setup.input_scheme(Order::Velocity)
        }),
        of("constant-acceleration", "keeps the acceleration, as tdm does", |setup| {
            setup.input_scheme(Order::Acceleration)
        }),
        of("constant-input-position", "keeps the input and runs the game", |setup| {
            setup.input_scheme(Order::InputPosition)
        }),
        of("constant-input-velocity", "keeps the change of the input and runs the game", |setup| {
            setup.input_scheme(Order::InputVelocity)
        }),
        of("constant-input-acceleration", "keeps the change of that change and runs the game", |setup| {
            setup.input_scheme(Order::InputAcceleration)
        }),
        of("fading-0.3", "a velocity that fades in 0.3 s", |_| Box::new(Fading::new(0.3))),
        of("fading-1", "a velocity that fades in 1 s", |_| Box::new(Fading::new(1.0))),
        of(
            "ridge",
            "regression on the last second, learned during the match",
            |_| Box::new(Ridge::default()),
        ),
        of("adaptive", "learns which guess fits each player, for the least mean error", |setup| {
            Box::new(Adaptive::new(setup.top_speed, Objective::Mean))
        }),
        of("adaptive-hits", "learns which guess fits each player, for the most hits", |setup| {
            Box::new(Adaptive::new(setup.top_speed, Objective::Hits { radius: setup.hit_radius() }))
        }),
    ];
    ALL
}

/// There is no predictor with this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoSuchCandidate(pub String);

impl std::error::Error for NoSuchCandidate {}

impl std::fmt::Display for NoSuchCandidate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = all().iter().map(|candidate| candidate.name).collect();
        let shown: String = self.0.chars().filter(|c| !c.is_control()).take(60).collect();
        write!(f, "there is no predictor {shown:?}: choose all, or some of {}", names.join(","))
    }
}
