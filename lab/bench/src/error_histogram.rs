use fairpath::vector::{Vec2, Vector};
use serde::{Deserialize, Serialize};

/// A histogram of distances between shown positions and the truth, in constant memory.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ErrorHistogram {
    /// Counts by distance, in steps of [`ErrorHistogram::STEP`].
    counts: Vec<u64>,
    count: u64,
    squares: f64,
    worst: f64,
    /// Samples of entities that were not shown yet.
    unseen: u64,
}

impl Default for ErrorHistogram {
    fn default() -> Self {
        Self { counts: vec![0; Self::STEPS], count: 0, squares: 0.0, worst: 0.0, unseen: 0 }
    }
}

impl ErrorHistogram {
    /// A five-hundredth of a unit. The threshold is 150 steps.
    const STEP: f64 = 0.002;
    /// Covers 10 units. Larger errors count as 10 in quantiles, in full in the root mean square.
    const STEPS: usize = 5_000;

    /// Records one sample: the shown position, if the entity is shown, and the true position.
    pub fn record(&mut self, shown: Option<Vec2>, truth: Vec2) {
        let Some(shown) = shown else {
            self.unseen += 1;
            return;
        };
        let error = shown.distance(truth);
        let step = ((error / Self::STEP) as usize).min(Self::STEPS - 1);
        self.counts[step] += 1;
        self.count += 1;
        self.squares += error * error;
        self.worst = self.worst.max(error);
    }

    pub fn merge(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        self.count += other.count;
        self.squares += other.squares;
        self.worst = self.worst.max(other.worst);
        self.unseen += other.unseen;
    }

    /// Returns the root mean square error, or NaN without samples.
    pub fn rms(&self) -> f64 {
        if self.count == 0 { f64::NAN } else { (self.squares / self.count as f64).sqrt() }
    }

    /// Returns the error that this share of the samples does not exceed.
    pub fn quantile(&self, share: f64) -> f64 {
        let wanted = (share * self.count as f64).ceil() as u64;
        let mut below = 0;
        let step = self.counts.iter().position(|count| {
            below += count;
            below >= wanted
        });
        step.map_or(f64::NAN, |step| (step + 1) as f64 * Self::STEP)
    }

    pub fn worst(&self) -> f64 {
        self.worst
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn unseen(&self) -> u64 {
        self.unseen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_and_root_mean_square_are_those_of_what_was_seen() {
        let mut errors = ErrorHistogram::default();
        for far in 1..=100 {
            errors.record(Some(Vec2::new(f64::from(far) * 0.01, 0.0)), Vec2::ZERO);
        }
        errors.record(None, Vec2::ZERO);
        assert!(
            (errors.quantile(0.95) - 0.95).abs() <= 2.0 * ErrorHistogram::STEP,
            "{}",
            errors.quantile(0.95)
        );
        assert!((errors.rms() - (0.338_35_f64).sqrt()).abs() < 1e-9, "{}", errors.rms());
        assert_eq!((errors.count(), errors.unseen(), errors.worst()), (100, 1, 1.0));
    }

    #[test]
    fn two_halves_add_up_to_the_whole() {
        let look =
            |errors: &mut ErrorHistogram, far: f64| errors.record(Some(Vec2::new(far, 0.0)), Vec2::ZERO);
        let (mut one, mut other, mut whole) = Default::default();
        for step in 0..50 {
            let far = f64::from(step * step) * 0.01;
            look(if step % 2 == 0 { &mut one } else { &mut other }, far);
            look(&mut whole, far);
        }
        one.merge(&other);
        assert_eq!(one.quantile(0.99), whole.quantile(0.99));
        assert!((one.rms() - whole.rms()).abs() < 1e-12);
    }
}
