//! The laboratory: recordings in, experiments run, tables, plots and reports out.
//!
//! In the order that data takes:
//! - [`files`] opens recordings, and writes results so that no file is ever half written
//! - [`experiment`] is the frame of every experiment: settings in, an [`Outcome`](outcome::Outcome)
//!   out
//! - [`experiments`] is the list of experiments
//! - [`judge`] has the words in which claims are judged, each with its number
//! - [`outcome`] is what an experiment found: rows, claims, figures, notes
//! - [`figure`] describes a plot as data; [`plot`] draws it
//! - [`run`] does it all: `results.json`, SVG plots and one `report.html` (fields: see [`results`])
//! - [`record`] plays a match of bots and writes it to a file
//! - [`index`] is the page that links to many reports
//! - [`papers`] is the table of all claims for the book
//! - [`table`] keeps large tables in Parquet, [`trace`] the tables of a recorded run
//! - [`fairness`] compares schedulers
//! - [`budgets`] plays asteroids through real sessions, within budgets
//! - [`loss`] plays tanks over links that lose datagrams, beside a loop that sends every state
//! - [`prediction`] scores predictors on recordings, and counts the packets they need
//! - [`laps`] judges predictors on laps, by lines made of other laps
//! - [`delay`] plays games on screens that are old, or that simulate ahead of the server
//! - [`online`] plays the jet car and sailing over real sockets
//! - [`truth`] holds the real paths that experiments measure against
//! - [`dis_check`] compares the DIS models with a file of expected values
//!
//! An experiment is one file and one line in [`experiments`]:
//!
//! ```
//! use fairpath_experiments::experiment::{
//!     CannotRun, Declaration, DeclaredExperiment, ExperimentGroup, Progress, RunOption, Settings,
//! };
//! use fairpath_experiments::outcome::{Claim, Column, Outcome, Rows};
//! use fairpath_experiments::{cells, judge};
//!
//! static HOW_LONG: DeclaredExperiment = DeclaredExperiment {
//!     declaration: Declaration {
//!         group: ExperimentGroup::Accuracy,
//!         name: "how-long",
//!         alias: "X0",
//!         title: "How much motion is there?",
//!         source: "no paper",
//!         about: "Adds up the clean stretches of a recording.",
//!         options: &[RunOption::Motion],
//!         ..Declaration::EMPTY
//!     },
//!     run,
//! };
//!
//! fn run(settings: &Settings, _: &dyn Progress) -> Result<Outcome, CannotRun> {
//!     let motion = settings.motion.as_ref().ok_or_else(|| CannotRun {
//!         what: "there is no motion to measure".into(),
//!         fix: "give a recording with --motion".into(),
//!     })?;
//!     let secs = motion.recording.secs();
//!     let mut rows = Rows::new([Column::text("file", "recording"), Column::number("secs", "motion", "s")]);
//!     rows.push(cells![motion.file.as_str(), secs]);
//!     let claim = Claim::new("X0.enough", "there is a minute or more", judge::at_least(secs, 60.0)).unit("s");
//!     Ok(Outcome::new(rows).claim(claim))
//! }
//! ```
#![forbid(unsafe_code)]
#![allow(missing_docs, reason = "not published: names that explain themselves need no comment")]

/// Implements `From` for an enum by wrapping each source in its variant.
macro_rules! wrap {
    ($whole:ident: $($variant:ident($part:ty)),+) => {$(
        impl From<$part> for $whole {
            fn from(part: $part) -> Self {
                Self::$variant(part)
            }
        }
    )+};
}

pub mod budgets;
pub mod delay;
pub mod dis_check;
pub mod experiment;
pub mod experiments;
pub mod fairness;
pub mod figure;
pub mod files;
pub mod index;
pub mod judge;
pub mod laps;
pub mod loss;
pub mod online;
pub mod outcome;
pub mod papers;
pub mod plot;
pub mod prediction;
mod quantity;
pub mod record;
mod report;
pub mod results;
pub mod run;
pub mod segments;
pub mod table;
pub mod trace;
pub mod truth;

pub use quantity::{decimals_for, show, show_fixed};
