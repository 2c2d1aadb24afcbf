use fairpath::random::Random;

/// The mean of some runs, and its 95 % interval over other runs (bootstrap).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    pub count: usize,
    pub mean: f64,
    /// The interval; the mean itself where there are fewer than three runs.
    pub interval: (f64, f64),
}

/// How often the runs are drawn anew: 25 draws beyond each end.
const DRAWS: usize = 1_000;
/// With fewer runs an interval means nothing.
const RUNS_MIN: usize = 3;

impl Summary {
    pub fn of(numbers: &[f64]) -> Self {
        Self::of_ratio(&numbers.iter().map(|number| (*number, 1.0)).collect::<Vec<_>>())
    }

    /// The sum of the first parts over the sum of the second ones: hits over shots.
    pub fn of_ratio(parts: &[(f64, f64)]) -> Self {
        let ratio = |parts: &mut dyn Iterator<Item = (f64, f64)>| {
            let (part, whole) = parts.fold((0.0, 0.0), |sum, (part, whole)| (sum.0 + part, sum.1 + whole));
            part / whole
        };
        let mean = ratio(&mut parts.iter().copied());
        if parts.len() < RUNS_MIN {
            return Self { count: parts.len(), mean, interval: (mean, mean) };
        }
        // Always the same draws: an outcome, and so its intervals, follows from the settings alone.
        let mut random = Random::from_seed(0x95);
        let mut means: Vec<f64> = (0..DRAWS)
            .map(|_| ratio(&mut parts.iter().map(|_| parts[random.below(parts.len() as u64) as usize])))
            .filter(|mean| mean.is_finite())
            .collect();
        means.sort_by(f64::total_cmp);
        let at = |share: f64| means[((means.len() - 1) as f64 * share).round() as usize];
        let interval = if means.is_empty() { (mean, mean) } else { (at(0.025), at(0.975)) };
        Self { count: parts.len(), mean, interval }
    }

    pub fn half_width(&self) -> f64 {
        0.5 * (self.interval.1 - self.interval.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_runs_leave_no_doubt_and_different_ones_do() {
        assert_eq!(Summary::of(&[4.0; 9]).interval, (4.0, 4.0));
        let Summary { mean, interval: (low, high), .. } = Summary::of(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        assert!(mean == 3.0 && 1.0 < low && low < 2.9 && 3.1 < high && high < 5.0, "{low} {high}");
        assert_eq!(Summary::of(&[1.0, 5.0]).interval, (3.0, 3.0), "two are too few");
    }

    #[test]
    fn a_ratio_weighs_long_runs_more() {
        assert_eq!(Summary::of_ratio(&[(1.0, 1.0), (0.0, 3.0)]).mean, 0.25);
        assert!(Summary::of(&[]).mean.is_nan());
    }
}
