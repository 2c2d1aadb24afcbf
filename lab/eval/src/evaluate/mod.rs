//! The evaluator: the errors of predictions made at every tick of every player, from what was known
//! at that tick.
//!
//! One prediction at tick t covers all horizons. It is compared with the player's real position at
//! t + h, if no break lies between. Per predictor and horizon it measures:
//! * the mean and the median error (all predictions of all players count alike),
//! * hits: the share of predictions with an error of at most the hit radius; the *total* is the
//!   mean over the horizons (the figure of merit of Shi 2014),
//! * the mean over players of each player's own mean, with its 95 % confidence interval (Student's
//!   t over players: a further match would draw new players, not new ticks),
//!
//! and, per predictor, packets per second without lag (figures 9 and 13 of Shi 2014): the predictor
//! restarts from what is known whenever its error exceeds the threshold, at the beginning of every
//! run, and where it has reached [`TICKS_AHEAD_MAX`].
//!
//! [`score`] runs one predictor through one match and nothing else, so callers can use several
//! cores. A predictor that learns sees all players, and starts anew with every match.

mod score;
mod statistics;
mod walk;

pub use score::{HorizonScore, PlayerScore, Restarts, score};
pub use statistics::{Interval, confidence_interval};
pub use walk::{WalkStep, walk};

use fairpath_predict::TICKS_AHEAD_MAX;

use self::statistics::median;

/// Horizons to predict, and how to judge the answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    horizons: Vec<u32>,
    /// Predictions with at most this error are hits.
    pub hit_radius: f64,
    /// A prediction with a larger error is replaced, which costs one packet.
    pub threshold: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum QuestionError {
    /// No horizon, one below a tick, or one beyond [`TICKS_AHEAD_MAX`].
    Horizons,
    /// A hit radius or threshold that is not finite and positive.
    Length,
}

impl Question {
    /// Creates a question. Horizons are in ticks, in any order.
    pub fn new(mut horizons: Vec<u32>, hit_radius: f64, threshold: f64) -> Result<Self, QuestionError> {
        horizons.sort_unstable();
        horizons.dedup();
        let can_be_asked = |ticks: &u32| (1..=TICKS_AHEAD_MAX).contains(ticks);
        if horizons.is_empty() || !horizons.iter().all(can_be_asked) {
            return Err(QuestionError::Horizons);
        }
        let is_length = |length: f64| length.is_finite() && length > 0.0;
        if !is_length(hit_radius) || !is_length(threshold) {
            return Err(QuestionError::Length);
        }
        Ok(Self { horizons, hit_radius, threshold })
    }

    /// Returns the horizons in ticks, ascending.
    pub fn horizons(&self) -> &[u32] {
        &self.horizons
    }
}

impl std::error::Error for QuestionError {}

impl std::fmt::Display for QuestionError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Horizons => write!(f, "horizons must be from 1 to {TICKS_AHEAD_MAX} ticks of 1/60 s"),
            Self::Length => f.write_str("the hit radius and the threshold must be above 0"),
        }
    }
}

/// The results of a predictor over all players.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    pub horizons: Vec<HorizonSummary>,
    /// Mean over the horizons of the share of hits, in per cent.
    pub hits_total: f64,
    pub packets_per_sec: f64,
    pub packets_over_players: Interval,
}

#[derive(Clone, Debug, PartialEq)]
pub struct HorizonSummary {
    pub ticks: u32,
    pub predictions: u64,
    /// Mean error of all predictions.
    pub mean: f64,
    pub median: f64,
    pub hits_percent: f64,
    /// Mean error of each player, in order; NaN for a player without a scored prediction.
    pub player_means: Vec<f64>,
    pub mean_over_players: Interval,
    pub hits_over_players: Interval,
}

impl Summary {
    /// Combines the scores of all players. `players` must not be empty.
    pub fn of(players: &[PlayerScore]) -> Self {
        let count = players.first().map_or(0, |player| player.horizons.len());
        let horizons: Vec<HorizonSummary> =
            (0..count).map(|index| HorizonSummary::of(players, index)).collect();
        let hits_total = horizons.iter().map(|horizon| horizon.hits_percent).sum::<f64>() / count as f64;
        let secs: f64 = players.iter().map(|player| player.secs).sum();
        let packets: u64 = players.iter().map(|player| player.packets).sum();
        let rates: Vec<f64> = players.iter().map(|player| player.packets as f64 / player.secs).collect();
        Self {
            horizons,
            hits_total,
            packets_per_sec: packets as f64 / secs,
            packets_over_players: confidence_interval(&rates),
        }
    }
}

impl HorizonSummary {
    fn of(players: &[PlayerScore], index: usize) -> Self {
        let scores: Vec<&HorizonScore> = players.iter().map(|player| &player.horizons[index]).collect();
        let scored = || scores.iter().filter(|score| !score.errors.is_empty());
        let means: Vec<f64> = scored().map(|score| score.mean()).collect();
        let hits: Vec<f64> = scored().map(|score| score.hits_percent()).collect();
        let predictions: u64 = scores.iter().map(|score| score.errors.len() as u64).sum();
        let sum: f64 = scores.iter().map(|score| score.sum).sum();
        let hit_count: u64 = scores.iter().map(|score| score.hits).sum();
        Self {
            ticks: scores[0].ticks,
            predictions,
            mean: sum / predictions as f64,
            median: median(scores.iter().flat_map(|score| score.errors.iter().copied()).collect()),
            hits_percent: 100.0 * hit_count as f64 / predictions as f64,
            player_means: scores.iter().map(|score| score.mean()).collect(),
            mean_over_players: confidence_interval(&means),
            hits_over_players: confidence_interval(&hits),
        }
    }

    /// Returns the ratio of this predictor's mean error to another's, per player and then averaged.
    /// A player that is hard to predict is so for both, so the difficulty cancels out.
    pub fn ratio_to(&self, other: &Self) -> Interval {
        let both = self.player_means.iter().zip(&other.player_means);
        let ratios: Vec<f64> =
            both.map(|(own, theirs)| own / theirs).filter(|ratio| ratio.is_finite()).collect();
        confidence_interval(&ratios)
    }
}
