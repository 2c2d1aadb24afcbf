//! Path predictors: where somebody will be, given where they were, who is around them, and what the
//! world looks like.
//!
//! A motion model continues a curve; a predictor may know more: that players follow friends, flee
//! when weak, walk around walls, keep to a racing line. All of them see the same [`Known`] and
//! answer the same question, so that they can be compared (the laboratory does) and exchanged.
//!
//! Everything here is in the plane and counts in [ticks](TICK_RATE) of 1/60 s, as the play-pattern
//! study (Shi 2014) does. Whoever has other data resamples it first, looking only backwards.
//!
//! | file | predictor | from |
//! | --- | --- | --- |
//! | `linear` | keeps the velocity | everybody |
//! | `tdm` | keeps the acceleration | "traditional", Shi 2014 |
//! | `constant_velocity`, `constant_acceleration` | the same two, as input schemes | Pantel and Wolf, in Shi 2014 2.4 |
//! | `constant_input_position`, `…_velocity`, `…_acceleration` | continue what is pressed and run the game's own [`Step`] | Pantel and Wolf |
//! | `is` | is drawn to some players and flees others | Li and Chen, our reconstruction |
//! | `hm` | `tdm` for 300 ms, then `is` | Li and Chen, our reconstruction |
//! | `ekb` | follows friends, goes their way, fights as strength allows | Shi 2014 3, 4.1 |
//! | `oaekb` | the same around walls | Shi 2014 4.2 |
//! | `hybrid_ekb`, `hybrid_oaekb` | the same, but `tdm` for who keeps a straight course | Shi 2014 4.3 |
//! | `fading` | lets the velocity fade | baseline |
//! | `ridge` | linear regression on the last second, learned on the way | baseline |
//! | `trend_line` | keeps to a line that laps have worn into a track | Jawad 2017, and ours |
//! | `adaptive` | whatever fits this player, learned on the way | ours |
//!
//! What they share: `patterns` is EKB's tick, `regression` learns weights, [`EkbConfig`] all its
//! parameters, `search` and `route` lead around walls, `hybrid` tells a straight course, `rollout`
//! runs tick by tick. [`live`] is for placing with a predictor what comes over a network, where
//! both ends must agree.

mod adaptive;
mod choice;
mod constant_acceleration;
mod constant_input_acceleration;
mod constant_input_position;
mod constant_input_velocity;
mod constant_velocity;
mod ekb;
mod ekb_config;
mod fading;
mod hm;
mod hybrid;
mod hybrid_ekb;
mod hybrid_oaekb;
mod is;
mod known;
mod linear;
pub mod live;
mod oaekb;
mod patterns;
mod reason;
mod regression;
mod ridge;
mod rollout;
mod route;
mod search;
mod step;
mod tdm;
mod trend_line;

pub use adaptive::{Adaptive, AdaptiveConfig, KNOTS, LESSON_TICKS, LastingMotion, Objective, SUBJECTS_MAX};
pub use choice::{PredictorChoice, UnknownPredictor};
pub use constant_acceleration::ConstantAcceleration;
pub use constant_input_acceleration::ConstantInputAcceleration;
pub use constant_input_position::ConstantInputPosition;
pub use constant_input_velocity::ConstantInputVelocity;
pub use constant_velocity::ConstantVelocity;
pub use ekb::Ekb;
pub use ekb_config::{Aim, EkbConfig, Others};
pub use fading::Fading;
pub use hm::Hm;
pub use hybrid_ekb::HybridEkb;
pub use hybrid_oaekb::HybridOaekb;
pub use is::{Is, IsConfig};
pub use known::{Body, Condition, Grid, GridError, Known, Other, Relation};
pub use linear::Linear;
pub use oaekb::Oaekb;
pub use reason::{PlayPatterns, Reason};
pub use ridge::Ridge;
pub use step::Step;
pub use tdm::Tdm;
pub use trend_line::{
    Foot, LapPart, LapShape, NODES_MAX, S4TrendLine, SpeedRule, TrendLine, TrendLineError, TrendLinePredictor,
};

use std::fmt::Debug;

use fairpath::time::TickRate;
use fairpath::vector::Vec2;

/// How fine predictors look at time: 60 ticks in a second.
pub const TICK_RATE: TickRate = TickRate::hz(60);

/// Seconds in a tick.
pub const TICK_SECS: f64 = 1.0 / 60.0;

/// How far ahead a predictor may be asked, in ticks: 5 s. Nobody knows what a player does after
/// that.
pub const TICKS_AHEAD_MAX: u32 = 300;

/// Says where somebody will be.
///
/// Call [`learn`](Self::learn) for each tick of each subject in order, [`predict`](Self::predict)
/// whenever an answer is wanted. The same calls give the same bits. After a few calls none of them
/// allocates.
pub trait Predictor: Debug + Send {
    /// What the literature calls it.
    fn name(&self) -> &str;

    /// Another tick of a subject became known. For those that learn; the others do nothing.
    ///
    /// `subject` names whoever it is about: a small number, the same for the same player for ever.
    fn learn(&mut self, _subject: usize, _known: &Known<'_>) {}

    /// Where the subject will be so many `ticks` after the last known one. `ticks` ascend, none is
    /// above [`TICKS_AHEAD_MAX`]; the answers go to the same places of `positions`. One run
    /// serves all of them.
    fn predict(
        &mut self,
        subject: usize,
        known: &Known<'_>,
        ticks: &[u32],
        positions: &mut [Vec2],
    ) -> Result<(), Missing>;

    /// What the answer for so many ticks ahead rests on, as far as numbers can tell. For people,
    /// not for programs; it costs about as much as a prediction.
    fn reason(&mut self, _subject: usize, _known: &Known<'_>, _ticks: u32) -> Reason {
        Reason::Untold
    }
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
