//! The frame every experiment fits in: settings in, an outcome out.
//!
//! An experiment reads no file, no clock and no global generator, so the same settings give the
//! same outcome to the bit, on one thread or on many. The one that is played live says that it is
//! not like that.

use std::fmt;

use fairpath::time::Span;
use fairpath_eval::recording::Recording;
use rayon::prelude::*;

use crate::fairness::STRETCH_MIN;
use crate::outcome::Outcome;

/// One of the experiments that judge the papers' claims.
pub trait Experiment: Sync {
    /// What the command line calls it: `X1`.
    fn id(&self) -> &'static str;
    /// One line a person understands.
    fn title(&self) -> &'static str;
    /// Where the claims come from: `Banavar 2005 fig 2.2`.
    fn source(&self) -> &'static str;
    /// What is set up and measured, in a few sentences. Stands at the top of the report.
    fn about(&self) -> &'static str;
    /// Whether the same settings give the same numbers: true, unless it is played in real time.
    fn is_repeatable(&self) -> bool {
        true
    }
    /// Does it. The outcome depends on the settings alone, if it [is
    /// repeatable](Self::is_repeatable).
    fn run(&self, settings: &Settings, progress: &dyn Progress) -> Result<Outcome, CannotRun>;
}

/// What an experiment may depend on.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Every random choice follows from it.
    pub seed: u64,
    /// Recorded motion to use instead of the experiment's own.
    pub motion: Option<Recorded>,
    /// One-way delays to try instead of the experiment's own.
    pub delays: Option<Vec<Span>>,
    /// Delays vary evenly by up to this much to either side; the experiment's own choice if not
    /// given.
    pub jitter: Option<Span>,
    /// How many tanks drive in the experiments on fairness, each a game of its own, instead of
    /// their own number: more, and chance has less to say.
    pub tanks: Option<u64>,
}

/// A recording, and what to call it.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The file's name without its folder.
    pub file: String,
    /// What is in it.
    pub recording: Recording,
}

/// Every other stretch of a recording: what was tuned on one half is judged on the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// The first, the third, …
    Odd,
    /// The second, the fourth, …
    Even,
}

/// Settings this experiment cannot work with. Its text is one line: what, and how to fix it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CannotRun {
    /// What is in the way.
    pub what: String,
    /// What to do about it.
    pub fix: String,
}

/// Where long work says how far it is. May be called from several threads.
pub trait Progress: Sync {
    /// A new piece of work of so many steps begins.
    fn begin(&self, what: &str, steps: u64);
    /// One step is done.
    fn step(&self);
}

/// Tells nobody.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Recorded {
    /// Only every other stretch of the players', counting those that are long enough for the
    /// experiments on fairness. Shorter ones go with the long one before.
    #[must_use]
    pub fn only(mut self, half: Half) -> Self {
        let mut count = 0;
        let recording = &mut self.recording;
        recording.stretches.retain(|stretch| {
            let counts = recording.entities[stretch.entity].is_player && stretch.duration() >= STRETCH_MIN;
            count += usize::from(counts);
            (count % 2 == 1) == (half == Half::Odd)
        });
        self
    }
}

impl Settings {
    /// The delays that were asked for, or else `usual` milliseconds.
    pub fn delays_or(&self, usual: &[i64]) -> Vec<Span> {
        self.delays.clone().unwrap_or_else(|| usual.iter().copied().map(Span::from_millis).collect())
    }

    /// Refuses recorded motion: for experiments in which somebody has to look at a screen and act.
    pub(crate) fn without_recording(&self) -> Result<(), CannotRun> {
        match self.motion {
            None => Ok(()),
            Some(_) => Err(CannotRun {
                what: "it is about playing, and a recording goes the same way whatever is on a screen".into(),
                fix: "leave --motion out".into(),
            }),
        }
    }

    /// The jitter that was asked for, or else none.
    pub fn jitter_or_none(&self) -> Span {
        self.jitter.unwrap_or(Span::ZERO)
    }
}

/// Works on all items at once, as far as there are cores, and answers in their order: the outcome
/// does not depend on how many cores there were. Each item is one step of progress.
pub fn map_in_order<T: Sync, R: Send>(
    items: &[T],
    progress: &dyn Progress,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    items
        .par_iter()
        .map(|item| {
            let answer = work(item);
            progress.step();
            answer
        })
        .collect()
}

impl Progress for Silent {
    fn begin(&self, _: &str, _: u64) {}
    fn step(&self) {}
}

impl std::error::Error for CannotRun {}

impl fmt::Display for CannotRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.fix)
    }
}
