use std::time::Duration;

use fairpath::time::SharedInstant;
use fairpath::vector::{Vec2, Vector};
use fairpath_games::tanks::TankPaths;

/// How wrong the screens were in one game, and what it cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LossScore {
    /// Root mean square of the distances between shown and true positions, in units.
    pub rms: f64,
    /// The distance that 99 % of the samples do not exceed.
    pub p99: f64,
    /// Bytes from the server to a client for each tank and tick, everything included.
    pub bytes: f64,
    /// Bytes back, for each tank and tick: receipts and clock requests.
    pub bytes_back: f64,
    /// Further copies among all copies of DR vectors.
    pub repeats: f64,
}

/// Distances between shown and true positions, except around jumps: a tank that is put elsewhere
/// is hundreds of units off on every screen until the datagram arrives, and a mean would show
/// nothing else.
#[derive(Clone, Debug)]
pub(super) struct ErrorSamples {
    errors: Vec<f32>,
    /// Of each tank.
    jumps: Vec<Vec<Duration>>,
}

/// How long before and after a jump nothing is sampled.
const BEFORE_JUMP: Duration = Duration::from_millis(100);
const AFTER_JUMP: Duration = Duration::from_millis(1_000);

impl ErrorSamples {
    pub(super) fn new(paths: &TankPaths) -> Self {
        let jumps = (0..paths.len()).map(|tank| paths.jumps(tank).collect()).collect();
        Self { errors: Vec::new(), jumps }
    }

    pub(super) fn add(&mut self, paths: &TankPaths, tank: usize, at: SharedInstant, shown: Vec2) {
        let at = since_zero(at);
        let is_near = |jump: &Duration| at + BEFORE_JUMP > *jump && at < *jump + AFTER_JUMP;
        if !self.jumps[tank].iter().any(is_near) {
            self.errors.push(shown.distance(paths.truth(tank, at).position) as f32);
        }
    }

    /// Returns root mean square and 99th percentile.
    pub(super) fn summary(mut self) -> (f64, f64) {
        let count = self.errors.len();
        let squares: f64 = self.errors.iter().map(|error| f64::from(*error).powi(2)).sum();
        let place = count * 99 / 100;
        let p99 = *self.errors.select_nth_unstable_by(place, f32::total_cmp).1;
        ((squares / count as f64).sqrt(), p99.into())
    }
}

pub(super) fn since_zero(at: SharedInstant) -> Duration {
    Duration::from_micros((at - SharedInstant::ZERO).as_micros().max(0) as u64)
}
