use fairpath::vector::{Vec2, Vector};

/// Learns a displacement as a weighted sum of vectors, its features. Each weight is the same for x
/// and y, so a turned scene gives the turned answer. Recursive least squares, with each sample
/// weighted by one over its error. In the long run this minimises the mean distance instead of its
/// square, so a few wild jumps do not spoil the weights.
#[derive(Clone, Debug)]
pub(super) struct Regression<const FEATURES: usize> {
    weights: [f64; FEATURES],
    /// Uncertainty of the weights: symmetric, large where nothing was seen.
    doubt: [[f64; FEATURES]; FEATURES],
    usual_error: f64,
    config: RegressionConfig,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RegressionConfig {
    /// Number of most recent samples that count. 50 000: five minutes of eight players.
    pub(super) lessons: f64,
    /// Uncertainty at the start, in features' units squared; typical features are about 1. Ten:
    /// almost nothing is known beyond the starting weights.
    pub(super) doubt: f64,
    /// A sample's weight is one over its error in typical errors, but the error counts as at least
    /// this: below it is measurement noise. 0.2: an almost right sample counts five times as much.
    pub(super) rightness: f64,
}

impl Default for RegressionConfig {
    fn default() -> Self {
        Self { lessons: 50_000.0, doubt: 10.0, rightness: 0.2 }
    }
}

impl<const FEATURES: usize> Regression<FEATURES> {
    /// Forgetting stops when uncertainty reaches this value. Otherwise weights of features that
    /// never occur would become infinitely uncertain.
    const DOUBT_MAX: f64 = 1e4;
    /// Starts from these weights and their typical error.
    pub(super) fn new(weights: [f64; FEATURES], usual_error: f64, config: RegressionConfig) -> Self {
        let mut doubt = [[0.0; FEATURES]; FEATURES];
        for (place, row) in doubt.iter_mut().enumerate() {
            row[place] = config.doubt;
        }
        Self { weights, doubt, usual_error, config }
    }

    pub(super) fn weights(&self) -> [f64; FEATURES] {
        self.weights
    }

    pub(super) fn answer(&self, features: &[Vec2; FEATURES]) -> Vec2 {
        let mut sum = Vec2::ZERO;
        for (weight, feature) in self.weights.iter().zip(features) {
            sum += *feature * *weight;
        }
        sum
    }

    /// Learns that `features` led to the displacement `came`.
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
