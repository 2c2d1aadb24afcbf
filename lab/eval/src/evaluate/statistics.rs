/// A mean and the half width of its 95 % confidence interval (Student's t).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    pub mean: f64,
    /// Half width; NaN for fewer than two values.
    pub half_width: f64,
}

impl Interval {
    pub fn low(&self) -> f64 {
        self.mean - self.half_width
    }

    pub fn high(&self) -> f64 {
        self.mean + self.half_width
    }
}

/// Returns the 95 % confidence interval of the mean of independent values, such as players.
pub fn confidence_interval(values: &[f64]) -> Interval {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    let half_width = match values.len() {
        0 | 1 => f64::NAN,
        players => students_t(players - 1) * (squares / (count - 1.0) / count).sqrt(),
    };
    Interval { mean, half_width }
}

/// Returns the 97.5th percentile of Student's distribution.
fn students_t(degrees_of_freedom: usize) -> f64 {
    const TABLE: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
        2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048,
        2.045, 2.042,
    ];
    // Beyond the table: two terms of the expansion around the normal one, right to three digits.
    let beyond = || {
        let per_freedom = 1.0 / degrees_of_freedom as f64;
        1.960 + (2.372 + 2.82 * per_freedom) * per_freedom
    };
    TABLE.get(degrees_of_freedom - 1).copied().unwrap_or_else(beyond)
}

/// Returns the median; the mean of the middle two for an even count; NaN for no values.
pub(super) fn median(mut values: Vec<f32>) -> f64 {
    if values.is_empty() {
        return f64::NAN;
    }
    let middle = values.len() / 2;
    let is_odd = values.len() % 2 == 1;
    let (below, &mut upper, _) = values.select_nth_unstable_by(middle, f32::total_cmp);
    let upper = f64::from(upper);
    if is_odd {
        return upper;
    }
    let lower = below.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    0.5 * (f64::from(lower) + upper)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_known_values() {
        let interval = confidence_interval(&[1.0, 2.0, 3.0, 4.0]);
        assert_eq!(interval.mean, 2.5);
        // s = 1.2910, t(3) = 3.182, s/√4·t
        assert!((interval.half_width - 2.0540).abs() < 1e-3, "{interval:?}");
        assert!(confidence_interval(&[7.0]).half_width.is_nan());
        assert!((students_t(31) - 2.040).abs() < 2e-3 && (students_t(120) - 1.980).abs() < 1e-3);
    }

    #[test]
    fn the_middle_of_few() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(vec![]).is_nan());
    }
}
