//! The frame of every experiment: settings in, an outcome out.
//!
//! An experiment reads no file, no clock and no global generator. The same settings return the same
//! outcome to the bit, on one thread or on many. Experiments over real sockets are the exception;
//! they [declare](Declaration::is_repeatable) it.

use std::fmt;
use std::path::PathBuf;

use fairpath::time::Span;
use fairpath_eval::recording::Recording;
use rayon::prelude::*;

use crate::experiments;
use crate::fairness::STRETCH_MIN;
use crate::laps::LapFile;
use crate::outcome::Outcome;

pub trait Experiment: Sync {
    fn declaration(&self) -> &Declaration;
    /// Runs the experiment. The outcome depends on the settings alone, if the experiment [is
    /// repeatable](Declaration::is_repeatable).
    fn run(&self, settings: &Settings, progress: &dyn Progress) -> Result<Outcome, CannotRun>;
}

/// An experiment as data: a declaration, and the function that runs it.
pub struct DeclaredExperiment {
    pub declaration: Declaration,
    pub run: fn(&Settings, &dyn Progress) -> Result<Outcome, CannotRun>,
}

#[derive(Clone, Copy)]
pub struct Declaration {
    pub group: ExperimentGroup,
    /// Its name on the command line: `deterministic-budget`.
    pub name: &'static str,
    /// The short name that its claims begin with: `X6`.
    pub alias: &'static str,
    pub title: &'static str,
    /// Where the claims come from: `Banavar 2005 fig 2.2`.
    pub source: &'static str,
    /// What is set up and measured, in a few sentences. Stands at the top of the report.
    pub about: &'static str,
    /// The options it takes. All others are refused.
    pub options: &'static [RunOption],
    /// The same experiment over real sockets, in real time.
    pub live: Option<&'static dyn Experiment>,
    /// Whether the same settings give the same numbers. False in real time.
    pub is_repeatable: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExperimentGroup {
    Accuracy,
    Fairness,
    Prediction,
    Delay,
}

/// An option of `fairpath lab run`, named as on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunOption {
    Seed,
    Motion,
    Delays,
    Jitter,
    Tanks,
    Laps,
    Seconds,
    Live,
}

#[derive(Clone, Debug, Default)]
pub struct Settings {
    pub seed: u64,
    /// Recorded motion. Default: the experiment's own motion.
    pub motion: Option<Recorded>,
    /// One-way delays. Default: the experiment's own.
    pub delays: Option<Vec<Span>>,
    /// Delays vary evenly by up to this much to either side. Default: the experiment's own choice.
    pub jitter: Option<Span>,
    /// How many tanks drive, each in its own game: more reduce chance. Default: the experiment's.
    pub tanks: Option<u64>,
    /// Recorded laps that are judged beside the experiment's own.
    pub laps: Vec<LapFile>,
    /// How long a live experiment plays. Default: the experiment's own length.
    pub length: Option<Span>,
    /// The `fairpath` program, for experiments that start processes of it.
    pub executable: Option<PathBuf>,
}

#[derive(Clone, Debug)]
pub struct Recorded {
    /// The file's name without its folder.
    pub file: String,
    pub recording: Recording,
}

/// Every other stretch of a recording: tune on one half, judge on the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// The first stretch, the third, …
    Odd,
    /// The second stretch, the fourth, …
    Even,
}

/// Settings that an experiment cannot work with. The text is one line: what is wrong, and the fix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CannotRun {
    pub what: String,
    pub fix: String,
}

/// Receives the progress of long work. May be called from several threads.
pub trait Progress: Sync {
    /// A new piece of work of so many steps begins.
    fn begin(&self, what: &str, steps: u64);
    fn step(&self);
    /// Whether the work is to stop. Only experiments in real time ask. Default: never.
    fn is_cancelled(&self) -> bool {
        false
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Experiment for DeclaredExperiment {
    fn declaration(&self) -> &Declaration {
        &self.declaration
    }

    fn run(&self, settings: &Settings, progress: &dyn Progress) -> Result<Outcome, CannotRun> {
        (self.run)(settings, progress)
    }
}

impl Declaration {
    /// A declaration to fill in: repeatable, without options and without a live variant.
    pub const EMPTY: Self = Self {
        group: ExperimentGroup::Accuracy,
        name: "",
        alias: "",
        title: "",
        source: "",
        about: "",
        options: &[],
        live: None,
        is_repeatable: true,
    };

    pub fn takes(&self, option: RunOption) -> bool {
        option == RunOption::Live && self.live.is_some() || self.options.contains(&option)
    }

    /// Refuses settings that the experiment would ignore, and names the experiments that take them.
    pub fn check(&self, settings: &Settings) -> Result<(), CannotRun> {
        settings.given().into_iter().try_for_each(|option| self.check_option(option))
    }

    pub fn check_option(&self, option: RunOption) -> Result<(), CannotRun> {
        if self.takes(option) {
            return Ok(());
        }
        let others = experiments::taking(option).join(", ");
        Err(CannotRun {
            what: format!("{} does not take {}", self.name, option.flag()),
            fix: format!("leave it out, or run one of {others}"),
        })
    }
}

impl ExperimentGroup {
    pub const ALL: [Self; 4] = [Self::Accuracy, Self::Fairness, Self::Prediction, Self::Delay];

    /// The group's name and the question that its experiments ask.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Accuracy => "accuracy: how far are entities shown from where they are?",
            Self::Fairness => "fairness: which receiver is sent what, and is that fair?",
            Self::Prediction => "prediction: where will players be?",
            Self::Delay => "delay: how can a game be played in spite of delay?",
        }
    }
}

impl RunOption {
    pub fn flag(self) -> String {
        format!("--{self:?}").to_lowercase()
    }
}

impl Settings {
    /// The options that were given, but for the seed, which has a default.
    pub fn given(&self) -> Vec<RunOption> {
        let all = [
            (RunOption::Motion, self.motion.is_some()),
            (RunOption::Delays, self.delays.is_some()),
            (RunOption::Jitter, self.jitter.is_some()),
            (RunOption::Tanks, self.tanks.is_some()),
            (RunOption::Laps, !self.laps.is_empty()),
            (RunOption::Seconds, self.length.is_some()),
        ];
        all.into_iter().filter(|(_, is_given)| *is_given).map(|(option, _)| option).collect()
    }

    /// The settings without options that the experiment does not take; recorded motion stays.
    #[must_use]
    pub fn limited_to(mut self, declaration: &Declaration) -> Self {
        self.delays = self.delays.filter(|_| declaration.takes(RunOption::Delays));
        self.jitter = self.jitter.filter(|_| declaration.takes(RunOption::Jitter));
        self.tanks = self.tanks.filter(|_| declaration.takes(RunOption::Tanks));
        self.length = self.length.filter(|_| declaration.takes(RunOption::Seconds));
        self.laps.retain(|_| declaration.takes(RunOption::Laps));
        self
    }

    pub fn delays_or(&self, usual: &[i64]) -> Vec<Span> {
        self.delays.clone().unwrap_or_else(|| usual.iter().copied().map(Span::from_millis).collect())
    }

    pub fn jitter_or_none(&self) -> Span {
        self.jitter.unwrap_or(Span::ZERO)
    }
}

impl Recorded {
    /// Keeps every other stretch of the players, counting only stretches that are long enough for
    /// the experiments on fairness. Shorter ones go with the long one before.
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

/// Works on all items on all cores; answers are in the order of the items, so the outcome does not
/// depend on the number of cores. Each item is one step of progress.
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
        write!(f, "{}; {}", self.what, self.fix)
    }
}
