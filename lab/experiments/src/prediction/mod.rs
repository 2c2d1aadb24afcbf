//! Predictors on recordings: how far off they are, how many packets they need, and what that looks
//! like.
//!
//! - [`open`] reads a match: a team recording, BZFlag's path, a trace, or Ethereal's XML
//! - [`Evaluation`] is what `fairpath lab eval` runs, [`Packets`] what `fairpath lab packets` runs
//! - [`AdaptiveClaims`], `fairpath lab eval --claims`, holds our own predictor against all others
//! - [`Tuning`], `fairpath lab tune`, chooses its numbers, leaving each recording out in turn
//! - [`picture`] draws a few seconds of play with predictions fanned out
//!
//! The numbers themselves come from [`fairpath_eval`]; here are the files, the cores and the plots.

mod claims;
mod evaluation;
mod open;
mod packets;
mod picture;
mod tune;

pub use claims::AdaptiveClaims;
pub use evaluation::{Evaluation, HORIZONS_MS};
pub use open::{Watched, World, open, open_world};
pub use packets::Packets;
pub use picture::{Window, picture};
pub use tune::Tuning;

use fairpath_eval::candidates::MatchSetup;
pub use fairpath_eval::candidates::{Candidate, all_and_learned};

use crate::experiment::CannotRun;
use crate::show;

/// What the predictors are told about a match; an error if no player moves in it.
pub(crate) fn stage(watched: &Watched) -> Result<MatchSetup, CannotRun> {
    let stage = MatchSetup::of(&watched.play);
    if stage.top_speed > 0.0 {
        return Ok(stage);
    }
    Err(CannotRun {
        what: format!("{}: no player moves for half a second", watched.file),
        fix: "pass a recording with motion".into(),
    })
}

pub(crate) fn scale_note(watched: &Watched, stage: &MatchSetup) -> String {
    let unit = watched.play.unit;
    format!(
        "{}: {} players, {} s of motion. Top speed (99.9th percentile over half seconds) {} {unit}/s, so one pixel of Shi 2014 is {} {unit}.",
        watched.file,
        watched.play.players.len(),
        show(watched.play.secs()),
        show(stage.top_speed),
        show(stage.scale()),
    )
}
