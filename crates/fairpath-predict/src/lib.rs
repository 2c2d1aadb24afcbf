#![doc = include_str!("../README.md")]
//! # Predictors
//!
//! Every predictor sees the same [`Known`] and answers the same question, so predictors can be
//! compared and exchanged. All of them work in the plane and count time in [ticks](TICK_RATE) of
//! 1/60 s, as Shi 2014 does. Resample data of another rate first, from past samples only.
//!
//! | type | what it does | in the literature |
//! | --- | --- | --- |
//! | [`Linear`] | keeps the velocity | first-order dead reckoning (IEEE 1278.1) |
//! | [`Tdm`] | keeps the acceleration | "traditional dead-reckoning model", Shi 2014 |
//! | [`InputScheme`] | keeps the velocity, the acceleration, or what the player presses and runs the game's own [`Step`] | five schemes of Pantel and Wolf, in Shi 2014 section 2.4 |
//! | [`Is`] | is drawn to some players and flees others | "interest scheme" of Li and Chen, our reconstruction |
//! | [`Hm`] | constant acceleration for 300 ms, then [`Is`] | "hybrid method" of Li and Chen, our reconstruction |
//! | [`Ekb`] | follows friends, goes their way, fights as strength allows | "experience knows best", Shi 2014 sections 3 and 4.1 |
//! | [`Oaekb`] | the same around walls | "obstacle avoiding EKB", Shi 2014 section 4.2 |
//! | [`Hybrid`] | one of these two, but constant acceleration on a straight course | "hybrid EKB", "hybrid OAEKB", Shi 2014 section 4.3 |
//! | [`Fading`] | lets the velocity fade | baseline |
//! | [`Ridge`] | linear regression on the last second, learned during the match | baseline |
//! | [`TrendLinePredictor`] | drives along the mean of earlier laps | ours, after Jawad 2017 |
//! | [`TangentPredictor`] | one straight step along the tangent of that line | Jawad 2017, as printed and as coded |
//! | [`Adaptive`] | learns during the match which guess fits which player | ours |
//!
//! [`live`] places entities with a predictor over a network, where owner and receiver must agree.
//! [`LastingMotion`] chooses the motion that an owner sends.

mod adaptive;
mod choice;
mod ekb;
mod ekb_config;
mod fading;
mod hm;
mod hybrid;
mod input_scheme;
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
mod tdm;
mod trend_line;

pub use adaptive::{Adaptive, AdaptiveConfig, AdaptiveForecast, LastingMotion, Objective, SUBJECTS_MAX};
pub use choice::{PredictorChoice, UnknownPredictor};
pub use ekb::Ekb;
pub use ekb_config::{Aim, EkbConfig, HybridRule, Others};
pub use fading::Fading;
pub use hm::Hm;
pub use hybrid::Hybrid;
pub use input_scheme::{InputScheme, Order, Step};
pub use is::{Is, IsConfig};
pub use known::{Body, Condition, Gain, Grid, GridError, Item, Known, Other, Relation};
pub use linear::Linear;
pub use oaekb::Oaekb;
pub use reason::{PlayPatterns, Reason};
pub use ridge::Ridge;
pub use tdm::Tdm;
pub use trend_line::{
    Foot, LapPart, LapShape, NODES_MAX, SpeedRule, TangentPredictor, TrendLine, TrendLineError,
    TrendLinePredictor,
};

use std::fmt::Debug;

use fairpath::time::TickRate;
use fairpath::vector::Vec2;

/// The resolution of all predictors: 60 ticks per second.
pub const TICK_RATE: TickRate = TickRate::hz(60);

/// The length of a tick in seconds.
pub const TICK_SECS: f64 = 1.0 / 60.0;

/// The farthest prediction, in ticks: 5 s. Farther ahead no predictor knows what a player does.
pub const TICKS_AHEAD_MAX: u32 = 300;

/// Predicts where a player will be.
///
/// Call [`learn`](Self::learn) for each tick of each subject in order, and
/// [`predict`](Self::predict) whenever a position is needed. The same calls return the same bits.
/// After the first few calls no method allocates.
pub trait Predictor: Debug + Send {
    /// Returns the name that the literature uses.
    fn name(&self) -> &str;

    /// Learns from one more tick of a subject. Predictors that do not learn ignore it.
    ///
    /// `subject` identifies the player: a small number that stays the same while it plays.
    fn learn(&mut self, _subject: usize, _known: &Known<'_>) {}

    /// Writes where the subject will be at each of `ticks` after the last known tick.
    ///
    /// `ticks` must ascend, and none may exceed [`TICKS_AHEAD_MAX`]. `positions[i]` receives the
    /// answer for `ticks[i]`. One pass over the future serves all of them.
    fn predict(
        &mut self,
        subject: usize,
        known: &Known<'_>,
        ticks: &[u32],
        positions: &mut [Vec2],
    ) -> Result<(), Missing>;

    /// Returns the numbers behind the answer for `ticks` ahead, to explain it to a person. Costs
    /// about as much as a prediction.
    fn reason(&mut self, _subject: usize, _known: &Known<'_>, _ticks: u32) -> Reason {
        Reason::Untold
    }
}

/// Knowledge that a predictor needs and does not have. Without it there is no prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Missing {
    /// The walls: [`Known::world`].
    World,
    /// What the subject presses: [`Known::inputs`], or the game's [`Step`] function.
    Input,
    /// Earlier laps.
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
