use fairpath::vector::{Vec2, Vector};

/// Learns how far one comes as a sum of vectors, its features, each with a weight that is the same
/// for x and y: turn the scene and the answer turns with it.
///
/// Recursive least squares, with each lesson weighted by one over how wrong it was: what is
/// minimised in the long run is the mean distance and not its square, so that a few wild jumps do
/// not spoil the guess for everybody else.
#[derive(Clone, Debug)]
pub(super) struct Regression<const FEATURES: usize> {
    weights: [f64; FEATURES],
    /// How little is known of the weights yet: symmetric, large where nothing was seen.
    doubt: [[f64; FEATURES]; FEATURES],
    /// How wrong it usually is.
    usual_error: f64,
    config: RegressionConfig,
}

/// How a [`Regression`] learns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RegressionConfig {
    /// How many of the last lessons count. Fifty thousand: five minutes of eight players.
    pub(super) lessons: f64,
    /// Doubt at the start, in features' units squared, which are such that usual ones are about 1.
    /// Ten: next to nothing is known but what the start says.
    pub(super) doubt: f64,
    /// A lesson counts by one over how wrong it was, in usual errors, but not by less than this:
    /// below it is measurement noise. A fifth: one that was almost right counts five times the
    /// usual one.
    pub(super) rightness: f64,
}

impl Default for RegressionConfig {
    fn default() -> Self {
        Self { lessons: 50_000.0, doubt: 10.0, rightness: 0.2 }
    }
}

impl<const FEATURES: usize> Regression<FEATURES> {
    /// Forgetting stops where doubt has grown to this: what never happens must not be forgotten
    /// into infinity.
    const DOUBT_MAX: f64 = 1e4;
    /// Starts from these weights, and from how wrong they usually are.
    pub(super) fn new(weights: [f64; FEATURES], usual_error: f64, config: RegressionConfig) -> Self {
        let mut doubt = [[0.0; FEATURES]; FEATURES];
        for (place, row) in doubt.iter_mut().enumerate() {
            row[place] = config.doubt;
        }
        Self { weights, doubt, usual_error, config }
    }

    /// What it has learned so far.
    pub(super) fn weights(&self) -> [f64; FEATURES] {
        self.weights
    }

    /// How far it thinks one comes.
    pub(super) fn answer(&self, features: &[Vec2; FEATURES]) -> Vec2 {
        let mut sum = Vec2::ZERO;
        for (weight, feature) in self.weights.iter().zip(features) {
            sum += *feature * *weight;
        }
        sum
    }

    /// In that situation one came so far.
    pub(super) fn handle_lesson(&mut self, features: &[Vec2; FEATURES], came: Vec2) {
        let error = (came - self.answer(features)).length();
        self.usual_error += 0.001 * (error - self.usual_error);
        let unlike = (error / self.usual_error.max(f64::MIN_POSITIVE)).max(self.config.rightness);
        self.handle_component(&features.map(|feature| feature.x), came.x, unlike);
        self.handle_component(&features.map(|feature| feature.y), came.y, unlike);
    }

    fn handle_component(&mut self, features: &[f64; FEATURES], came: f64, noise: f64) {
        let memory = 1.0 - 1.0 / self.config.lessons;
        let doubtful = self.doubt.map(|row| dot(&row, features));
        let gain = 1.0 / (memory * noise + dot(features, &doubtful));
        let surprise = came - dot(&self.weights, features);
        let is_vague = self.doubt.iter().enumerate().any(|(place, row)| row[place] > Self::DOUBT_MAX);
        let growth = if is_vague { 1.0 } else { 1.0 / memory };
        for place in 0..FEATURES {
            let step = doubtful[place] * gain;
            self.weights[place] += step * surprise;
            for (doubt, doubtful) in self.doubt[place].iter_mut().zip(&doubtful) {
                *doubt = (*doubt - step * doubtful) * growth;
            }
        }
    }
}

fn dot<const FEATURES: usize>(a: &[f64; FEATURES], b: &[f64; FEATURES]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
