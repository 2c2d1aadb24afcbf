//! The predictors there are, by name. Adding one is one line in [`all`].

use fairpath::predict::{Linear, Predictor, Tdm};
use fairpath_games::ethereal::TOP_SPEED;

/// What a predictor is told about the data before it begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stage {
    /// The top speed of the data, in its own unit of length per second.
    pub top_speed: f64,
}

impl Stage {
    /// How many of the data's units one pixel of S2 is: lengths that S2 gives are multiplied by it (SPEC: by
    /// top speed). A player who crosses S2's window in the time one of ours needs to cross a pitch has a window
    /// as large as that pitch.
    pub fn scale(&self) -> f64 {
        self.top_speed / TOP_SPEED
    }

    /// S2's hit radius and packet threshold, 45 pixels, in the data's unit.
    pub fn hit_radius(&self) -> f64 {
        45.0 * self.scale()
    }
}

/// A predictor that can be asked for by name.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    /// Lower case, for the command line and for tables.
    pub name: &'static str,
    /// What it does, in a few words.
    pub about: &'static str,
    make: fn(&Stage) -> Box<dyn Predictor>,
}

impl Candidate {
    /// A new one, which has learned nothing yet.
    pub fn make(&self, stage: &Stage) -> Box<dyn Predictor> {
        (self.make)(stage)
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
    &[
        Candidate { name: "line", about: "keeps the velocity", make: |_| Box::new(Linear) },
        Candidate {
            name: "tdm",
            about: "keeps the acceleration (S2's traditional model)",
            make: |_| Box::new(Tdm),
        },
    ]
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
