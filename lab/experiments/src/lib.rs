//! The laboratory: recordings in, experiments run, tables, plots and reports out.
//!
//! In the order data takes:
//! - [`files`] opens recordings, and writes results so that nothing is ever half there
//! - [`experiment`] is the frame every experiment fits in: settings in, an
//!   [`Outcome`](outcome::Outcome) out
//! - [`experiments`] are the experiments there are
//! - [`judge`] has the words in which claims are judged, each with its number
//! - [`outcome`] is what an experiment found: rows, claims, figures, notes
//! - [`figure`] describes a plot as data; [`plot`] draws it
//! - [`run`] does it all: `results.json`, SVG plots and one `report.html` (fields: see [`results`])
//! - [`record`] plays a match nobody watches and writes it down
//! - [`index`] is the page that leads to many reports
//! - [`table`] keeps large tables in Parquet, [`trace`] the tables of a recorded run
//! - [`fairness`] plays schedulers against each other
//! - [`prediction`] scores predictors on recordings, and counts the packets they need
//! - [`laps`] judges predictors on laps that others taught
//! - [`delay`] plays games on screens that are old, or that play on what the server has not seen
//! - [`truth`] holds the real paths that experiments measure against
//! - [`dis_check`] compares the DIS models with a file of expected values
//!
//! An experiment is one file and one line in [`experiments`]:
//!
//! ```
//! use fairpath_experiments::experiment::{CannotRun, Experiment, Progress, Settings};
//! use fairpath_experiments::outcome::{Claim, Column, Outcome, Rows};
//! use fairpath_experiments::{cells, judge};
//!
//! struct HowLong;
//!
//! impl Experiment for HowLong {
//!     fn id(&self) -> &'static str { "X0" }
//!     fn title(&self) -> &'static str { "How much motion is there?" }
//!     fn source(&self) -> &'static str { "no paper" }
//!     fn about(&self) -> &'static str { "Adds up the clean stretches of a recording." }
//!     fn run(&self, settings: &Settings, _: &dyn Progress) -> Result<Outcome, CannotRun> {
//!         let motion = settings.motion.as_ref().ok_or_else(|| CannotRun {
//!             what: "there is no motion to measure".into(),
//!             fix: "give a recording with --motion".into(),
//!         })?;
//!         let secs = motion.recording.secs();
//!         let mut rows = Rows::new([Column::text("file", "recording"), Column::number("secs", "motion", "s")]);
//!         rows.push(cells![motion.file.as_str(), secs]);
//!         let claim = Claim::new("X0.enough", "there is a minute or more", judge::at_least(secs, 60.0)).unit("s");
//!         Ok(Outcome::new(rows).claim(claim))
//!     }
//! }
//! ```
#![forbid(unsafe_code)]

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
pub mod outcome;
pub mod plot;
pub mod prediction;
mod quantity;
pub mod record;
mod report;
pub mod results;
pub mod run;
pub mod table;
pub mod trace;
pub mod truth;

pub use quantity::{decimals_for, show, show_fixed};
