use super::CopyCounts;
use crate::fairness::{mean, spread};

/// What was measured in one game.
#[derive(Clone, Debug)]
pub struct BudgetScore {
    pub ships: ClassScore,
    pub bullets: ClassScore,
    /// Bytes from the server to a client, per second: datagrams, stream and messages.
    pub bytes_per_sec: f64,
    /// The part of them in datagrams.
    pub datagram_bytes_per_sec: f64,
    /// Copies of DR vectors about ships and about bullets.
    pub copies: [CopyCounts; 2],
    /// Seconds that were measured.
    pub secs: f64,
}

/// How far receivers place objects of one class from the truth.
#[derive(Clone, Debug, Default)]
pub struct ClassScore {
    /// By receiver.
    means: Vec<f64>,
    p95s: Vec<f64>,
    pooled_p95: f64,
    /// The part of samples in which a receiver did not know the object.
    pub missing_ratio: f64,
}

/// The errors of one class, by receiver.
#[derive(Clone, Debug)]
pub(super) struct Samples {
    errors: Vec<Vec<f64>>,
    missing: u64,
}

impl Samples {
    pub(super) fn new(receivers: usize) -> Self {
        Self { errors: vec![Vec::new(); receivers], missing: 0 }
    }

    pub(super) fn add(&mut self, receiver: usize, error: Option<f64>) {
        match error {
            Some(error) => self.errors[receiver].push(error),
            None => self.missing += 1,
        }
    }

    pub(super) fn score(mut self) -> ClassScore {
        let all: Vec<f64> = self.errors.concat();
        let count = all.len() as u64 + self.missing;
        ClassScore {
            means: self.errors.iter().map(|errors| mean(errors)).collect(),
            p95s: self.errors.iter_mut().map(|errors| p95(errors)).collect(),
            pooled_p95: p95(&mut { all }),
            missing_ratio: self.missing as f64 / count.max(1) as f64,
        }
    }
}

/// NaN for an empty list.
fn p95(errors: &mut [f64]) -> f64 {
    if errors.is_empty() {
        return f64::NAN;
    }
    let place = (errors.len() * 95 / 100).min(errors.len() - 1);
    *errors.select_nth_unstable_by(place, f64::total_cmp).1
}

impl ClassScore {
    pub fn receivers(&self) -> usize {
        self.means.len()
    }

    pub fn mean(&self) -> f64 {
        mean(&self.means)
    }

    /// The mean over all receivers but the last.
    pub fn mean_of_others(&self) -> f64 {
        mean(&self.means[..self.means.len() - 1])
    }

    pub fn p95(&self) -> f64 {
        self.pooled_p95
    }

    pub fn best_p95(&self) -> f64 {
        self.p95s.iter().copied().fold(f64::INFINITY, f64::min)
    }

    pub fn worst_p95(&self) -> f64 {
        self.p95s.iter().copied().fold(f64::NEG_INFINITY, f64::max)
    }

    /// The standard deviation of the receivers' mean errors.
    pub fn spread(&self) -> f64 {
        spread(&self.means)
    }
}
