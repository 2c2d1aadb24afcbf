//! The results for machines: `results.json`.
//!
//! Fields, in this order; none is ever left out, and numbers are finite or null:
//!
//! | field | meaning |
//! | --- | --- |
//! | `schema` | 1; grows when a field changes its meaning. New fields may come without that |
//! | `experiment` | its alias, such as `X1`: the ids of its claims begin with it |
//! | `name` | its name, such as `placement` |
//! | `title`, `source` | what it is about, and where its claims come from |
//! | `seed` | every random choice follows from it |
//! | `version` | of fairpath |
//! | `command` | the line that repeats this run |
//! | `motion` | null for the experiment's own motion, else `{file, entities, stretches, secs, unit}` |
//! | `delays_ms`, `jitter_ms` | as asked for on the command line, or null for the experiment's own |
//! | `rows` | list of objects, the same keys in each; which keys depends on the experiment, and a key ends in its unit |
//! | `counts` | list of `{class, held, not_held, not_applicable}`: how many claims of each class hold |
//! | `claims` | list of `{id, text, class, reading, held, measured, unit, expected, paper, remark}` |
//! | `figures` | the plots' file names |
//! | `notes` | what a reader must know to trust the numbers |
//!
//! Of a claim: `class` is whose words it is in: `the paper's words`, `our stricter reading` or
//! `ours alone`; `reading` is how the paper was read, where it can be read in several ways;
//! `held` is true, false, or null where the claim does not apply to the data;
//! `measured` is the number it was judged by and `unit` that number's unit; `expected` says in
//! words what it had to be (`≤ 0.3 × 590 = 177`); `paper` is what the paper itself reports;
//! `remark` says why it did not hold or does not apply. All but `id`, `text` and `expected` may be
//! null.

use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};

use crate::experiment::{Experiment, Recorded, Settings};
use crate::outcome::{Claim, ClaimCount, Outcome, Rows};

/// Grows when a field changes its meaning.
pub const SCHEMA: u32 = 1;

/// The results of one run, and how to repeat it.
#[derive(Clone, Debug, Serialize)]
pub struct Results {
    pub schema: u32,
    pub experiment: &'static str,
    pub name: &'static str,
    pub title: &'static str,
    pub source: &'static str,
    pub seed: u64,
    pub version: &'static str,
    pub command: String,
    pub motion: Option<MotionSummary>,
    pub delays_ms: Option<Vec<f64>>,
    pub jitter_ms: Option<f64>,
    pub rows: Rows,
    /// The shorter table for people, if there is one; not in the JSON.
    #[serde(skip)]
    pub headline: Option<Rows>,
    /// The claims counted by class.
    pub counts: Vec<ClaimCount>,
    pub claims: Vec<Claim>,
    pub figures: Vec<String>,
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MotionSummary {
    pub file: String,
    /// The number of players. Balls and shots do not count, here and below.
    pub entities: usize,
    pub stretches: usize,
    pub secs: f64,
    pub unit: String,
}

impl Results {
    pub fn new(experiment: &dyn Experiment, settings: &Settings, command: &str, outcome: &Outcome) -> Self {
        let declaration = experiment.declaration();
        Self {
            schema: SCHEMA,
            experiment: declaration.alias,
            name: declaration.name,
            title: declaration.title,
            source: declaration.source,
            seed: settings.seed,
            version: env!("CARGO_PKG_VERSION"),
            command: command.into(),
            motion: settings.motion.as_ref().map(MotionSummary::of),
            delays_ms: settings.delays.as_ref().map(|all| all.iter().map(|d| d.as_millis_f64()).collect()),
            jitter_ms: settings.jitter.map(|jitter| jitter.as_millis_f64()),
            rows: outcome.rows.clone(),
            headline: outcome.headline.clone(),
            counts: ClaimCount::of_all(&outcome.claims),
            claims: outcome.claims.clone(),
            figures: outcome.figures.iter().map(|figure| figure.file_name()).collect(),
            notes: outcome.notes.clone(),
        }
    }

    /// The content of `results.json`: indented, ends with a line break.
    pub fn to_json(&self) -> String {
        let mut json =
            serde_json::to_string_pretty(self).expect("results hold only strings and finite numbers");
        json.push('\n');
        json
    }

    /// Whether a claim did not hold: `--strict` looks for this.
    pub fn any_refuted(&self) -> bool {
        self.claims.iter().any(|claim| claim.judgement.is_refuted())
    }
}

impl MotionSummary {
    fn of(motion: &Recorded) -> Self {
        let recording = &motion.recording;
        Self {
            file: motion.file.clone(),
            entities: recording.entities.iter().filter(|entity| entity.is_player).count(),
            stretches: recording.players().count(),
            secs: recording.secs(),
            unit: recording.unit.to_string(),
        }
    }
}

impl Serialize for Claim {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Claim", 10)?;
        object.serialize_field("id", &self.id)?;
        object.serialize_field("text", &self.text)?;
        object.serialize_field("class", self.class.as_str())?;
        object.serialize_field("reading", &self.reading)?;
        object.serialize_field("held", &self.judgement.verdict.as_option())?;
        object.serialize_field("measured", &self.judgement.measured)?;
        object.serialize_field("unit", &self.unit)?;
        object.serialize_field("expected", &self.judgement.expected)?;
        object.serialize_field("paper", &self.paper)?;
        object.serialize_field("remark", &self.remark)?;
        object.end()
    }
}
