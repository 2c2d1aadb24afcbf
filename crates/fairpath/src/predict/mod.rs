//! Path predictors: where somebody will be, given where they were, who is around them, and what the world looks like.
//!
//! A motion model continues a curve; a predictor may know more: that players follow friends, flee when weak, walk
//! around walls, keep to a racing line. All of them see the same [`Known`] and answer the same question, so that they
//! can be compared (the laboratory does) and exchanged.
//!
//! Everything here is in the plane and counts in [ticks](TICK_RATE) of 1/60 s, as the play-pattern study (S2) does.
//! Whoever has other data resamples it first, looking only backwards.
//!
//! | file | predictor | from |
//! | --- | --- | --- |
//! | `linear` | keeps the velocity | everybody |
//! | `tdm` | keeps the acceleration | "traditional", S2 |
//! | `adaptive` | whatever fits this player, learned online | ours |

mod adaptive;
mod known;
mod linear;
mod tdm;

pub use adaptive::{Adaptive, Aim, KNOTS, LESSON_TICKS, LastingLine, SUBJECTS_MAX};
pub use known::{Body, Condition, Grid, GridError, Known, Other, Relation};
pub use linear::Linear;
pub use tdm::Tdm;

use std::fmt::Debug;

use crate::time::TickRate;
use crate::vector::Vec2;

/// How fine predictors look at time: 60 ticks in a second.
pub const TICK_RATE: TickRate = TickRate::hz(60);

/// Seconds in a tick.
pub const TICK_SECS: f64 = 1.0 / 60.0;

/// How far ahead a predictor may be asked, in ticks: 5 s. Nobody knows what a player does after that.
pub const TICKS_AHEAD_MAX: u32 = 300;

/// Says where somebody will be.
///
/// Call [`learn`](Self::learn) for each tick of each subject in order, [`predict`](Self::predict) whenever an answer
/// is wanted. The same calls give the same bits. After a few calls none of them allocates.
pub trait Predictor: Debug + Send {
    /// What the literature calls it.
    fn name(&self) -> &str;

    /// Another tick of a subject became known. For those that learn; the others do nothing.
    ///
    /// `subject` names whoever it is about: a small number, the same for the same player for ever.
    fn learn(&mut self, _subject: usize, _known: &Known<'_>) {}

    /// Where the subject will be so many `ticks` after the last known one. `ticks` ascend, none is above
    /// [`TICKS_AHEAD_MAX`]; the answers go to the same places of `positions`. One run serves all of them.
    fn predict(
        &mut self,
        subject: usize,
        known: &Known<'_>,
        ticks: &[u32],
        positions: &mut [Vec2],
    ) -> Result<(), Missing>;
}

/// What a predictor would need to know and does not: it gives no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Missing {
    /// The walls.
    World,
    /// What the subject presses.
    Input,
    /// Laps that were driven before.
    TrendLine,
}

impl std::fmt::Display for Missing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::World => "needs to know the walls",
            Self::Input => "needs to know what players press",
            Self::TrendLine => "needs laps that were driven before",
        })
    }
}

impl std::error::Error for Missing {}
