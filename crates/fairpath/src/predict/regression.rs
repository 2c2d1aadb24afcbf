use crate::vector::{Vec2, Vector};

/// Learns how far one comes as a sum of vectors, its features, each with a weight that is the same for x and y: turn the
/// scene and the answer turns with it.
///
/// Recursive least squares, with each lesson weighted by one over how wrong it was: what is minimised in the long run
/// is the mean distance and not its square, so that a few wild jumps do not spoil the guess for everybody else.
#[derive(Clone, Debug)]
pub(super) struct Regression<const FEATURES: usize> {
    weights: [f64; FEATURES],
    /// How little is known of the weights yet: symmetric, large where nothing was seen.
    doubt: [[f64; FEATURES]; FEATURES],
    /// How wrong it usually is.
    usual_error: f64,
}

impl<const FEATURES: usize> Regression<FEATURES> {
    /// What a lesson is worth after one more: the last fifty thousand count, five minutes of eight players.
    /// Less would forget a player while he waits to respawn; 1 never follows a change of mind.
    const MEMORY: f64 = 0.99998;
    /// Doubt at the start, in features' units squared, which are such that usual ones are about 1: next to nothing is known
    /// but what the start says.
    const DOUBT: f64 = 10.0;
    /// Forgetting stops where doubt has grown to this: what never happens must not be forgotten into infinity.
    const DOUBT_MAX: f64 = 1e4;
    /// A lesson that was almost right counts at most five times the usual one: below that it is measurement noise.
    const RIGHT: f64 = 0.2;

    /// Starts from these weights, and from how wrong they usually are.
    pub(super) fn new(weights: [f64; FEATURES], usual_error: f64) -> Self {
        let mut doubt = [[0.0; FEATURES]; FEATURES];
        for (place, row) in doubt.iter_mut().enumerate() {
            row[place] = Self::DOUBT;
        }
        Self { weights, doubt, usual_error }
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
        let unlike = (error / self.usual_error.max(f64::MIN_POSITIVE)).max(Self::RIGHT);
        self.handle_component(&features.map(|feature| feature.x), came.x, unlike);
        self.handle_component(&features.map(|feature| feature.y), came.y, unlike);
    }

    fn handle_component(&mut self, features: &[f64; FEATURES], came: f64, noise: f64) {
        let doubtful = self.doubt.map(|row| dot(&row, features));
        let gain = 1.0 / (Self::MEMORY * noise + dot(features, &doubtful));
        let surprise = came - dot(&self.weights, features);
        let is_vague = self.doubt.iter().enumerate().any(|(place, row)| row[place] > Self::DOUBT_MAX);
        let growth = if is_vague { 1.0 } else { 1.0 / Self::MEMORY };
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
