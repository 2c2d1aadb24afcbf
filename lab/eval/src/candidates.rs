//! The predictors there are, by name. Adding one is one line in [`all`].

use std::sync::Arc;

use fairpath_games::ethereal::TOP_SPEED;
use fairpath_predict::{
    Adaptive, Ekb, EkbConfig, Fading, Hm, Hybrid, InputScheme, Is, IsConfig, Linear, Oaekb, Objective, Order,
    Predictor, Ridge, Step, Tdm,
};

use crate::play::Play;

/// What a predictor is told about a match before it begins.
#[derive(Clone, Debug)]
pub struct MatchSetup {
    /// The top speed of the data, in its own unit of length per second.
    pub top_speed: f64,
    /// The game's own step function, where there is one: for those who predict from what is
    /// pressed.
    pub game: Option<Game>,
}

/// A game's step function, as many predictors as there are players may share it.
pub type Game = Arc<dyn Step + Sync>;

impl MatchSetup {
    /// What there is to be told about a match.
    pub fn of(play: &Play) -> Self {
        Self { top_speed: play.top_speed(), game: play.game.clone() }
    }

    /// How many of the data's units one pixel of Shi 2014 is: the data's top speed by Ethereal's.
    /// All lengths that Shi 2014 gives are multiplied by it. Players of 12 m/s among players of
    /// 360 pixels/s: a pixel is 3.3 cm.
    pub fn scale(&self) -> f64 {
        self.top_speed / TOP_SPEED
    }

    /// Shi 2014's hit radius and packet threshold, 45 pixels, in the data's unit.
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

/// A predictor that can be asked for by name.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    /// Lower case, for the command line and for tables.
    pub name: &'static str,
    /// What it does, in a few words.
    pub about: &'static str,
    make: fn(&MatchSetup) -> Box<dyn Predictor>,
}

impl Candidate {
    /// A new one, which has learned nothing yet.
    pub fn make(&self, setup: &MatchSetup) -> Box<dyn Predictor> {
        (self.make)(setup)
    }

    /// Those in a list of names, or all of them for `all`; a name that is none is the error.
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

/// Everybody. The line is always first: the others are compared with it.
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
        of("is", "is drawn to some players and flees others", |setup| Box::new(Is::new(setup.interests()))),
        of("hm", "tdm for 300 ms, then is", |setup| Box::new(Hm::new(setup.interests(), Hm::TDM_TICKS))),
        of("ekb", "follows friends and fights as strength allows", |setup| Box::new(Ekb::new(setup.ekb()))),
        of("oaekb", "ekb around walls", |setup| Box::new(Oaekb::new(setup.ekb()))),
        of("hybrid-ekb", "ekb, but tdm on a straight course", |setup| {
            Box::new(Hybrid::new(Ekb::new(setup.ekb()), setup.ekb()))
        }),
        of("hybrid-oaekb", "oaekb, but tdm on a straight course", |setup| {
            Box::new(Hybrid::new(Oaekb::new(setup.ekb()), setup.ekb()))
        }),
        of("constant-velocity", "the line, as an input scheme", |setup| setup.input_scheme(Order::Velocity)),
        of("constant-acceleration", "tdm, as an input scheme", |setup| {
            setup.input_scheme(Order::Acceleration)
        }),
        of("constant-input-position", "keeps pressing the same", |setup| {
            setup.input_scheme(Order::InputPosition)
        }),
        of("constant-input-velocity", "goes on changing what is pressed", |setup| {
            setup.input_scheme(Order::InputVelocity)
        }),
        of("constant-input-acceleration", "goes on changing that, too", |setup| {
            setup.input_scheme(Order::InputAcceleration)
        }),
        of("fading-0.3", "a velocity that fades in 0.3 s", |_| Box::new(Fading::new(0.3))),
        of("fading-1", "a velocity that fades in 1 s", |_| Box::new(Fading::new(1.0))),
        of("ridge", "regression on the last second, learned on the way", |_| Box::new(Ridge::default())),
        of("adaptive", "whatever fits this player, for the least mean error", |setup| {
            Box::new(Adaptive::new(setup.top_speed, Objective::Mean))
        }),
        of("adaptive-hits", "whatever fits this player, for the most hits", |setup| {
            Box::new(Adaptive::new(setup.top_speed, Objective::Hits { radius: setup.hit_radius() }))
        }),
    ];
    ALL
}

/// Nobody is called so.
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
