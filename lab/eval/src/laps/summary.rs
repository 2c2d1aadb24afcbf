use fairpath::random::Random;

#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    pub horizons: Vec<HorizonSummary>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct HorizonSummary {
    pub ticks: u32,
    pub predictions: usize,
    pub mean: f64,
    pub median: f64,
    /// 95 % interval of the mean for other laps of the same drivers: bootstrap over three or more.
    pub interval: Option<(f64, f64)>,
    /// Sum and count of errors per lap, in order.
    laps: Vec<(f64, f64)>,
}

/// With fewer laps an interval would be meaningless.
const LAPS_MIN: usize = 3;
/// Bootstrap draws: each end of a 95 % interval then rests on 50 draws.
const DRAWS: usize = 2000;

impl Summary {
    /// Combines the errors of laps, as [`errors`](super::errors) returns them.
    pub fn of(horizons: &[u32], laps: &[Vec<Vec<f64>>]) -> Self {
        let summary = |(place, ticks): (usize, &u32)| {
            let errors: Vec<&[f64]> = laps.iter().map(|lap| lap[place].as_slice()).collect();
            HorizonSummary::of(*ticks, &errors)
        };
        Self { horizons: horizons.iter().enumerate().map(summary).collect() }
    }
}

impl HorizonSummary {
    fn of(ticks: u32, laps: &[&[f64]]) -> Self {
        let mut all: Vec<f64> = laps.concat();
        all.sort_by(f64::total_cmp);
        let sums: Vec<(f64, f64)> =
            laps.iter().map(|errors| (errors.iter().sum(), errors.len() as f64)).collect();
        let every_lap: Vec<usize> = (0..sums.len()).collect();
        Self {
            ticks,
            predictions: all.len(),
            mean: mean(&sums, &every_lap),
            median: median(&all),
            interval: drawn(sums.len(), |laps| mean(&sums, laps)),
            laps: sums,
        }
    }

    /// Returns the ratio to another mean error on the same laps, and its paired 95 % interval.
    pub fn ratio_to(&self, other: &Self) -> (f64, Option<(f64, f64)>) {
        let ratio = |laps: &[usize]| mean(&self.laps, laps) / mean(&other.laps, laps);
        let every_lap: Vec<usize> = (0..self.laps.len()).collect();
        (ratio(&every_lap), drawn(self.laps.len(), ratio))
    }
}

fn mean(sums: &[(f64, f64)], laps: &[usize]) -> f64 {
    let (sum, count) =
        laps.iter().fold((0.0, 0.0), |(sum, count), lap| (sum + sums[*lap].0, count + sums[*lap].1));
    sum / count
}

/// Returns the median of ascending numbers, of an even count the middle two's mean; NaN for none.
fn median(ascending: &[f64]) -> f64 {
    match ascending.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => ascending[count / 2],
        count => 0.5 * (ascending[count / 2 - 1] + ascending[count / 2]),
    }
}

fn drawn(laps: usize, measure: impl Fn(&[usize]) -> f64) -> Option<(f64, f64)> {
    if laps < LAPS_MIN {
        return None;
    }
    // A fixed seed: an interval must not depend on which experiment asks.
    let mut random = Random::from_seed(0);
    let mut chosen = vec![0; laps];
    let mut values: Vec<f64> = (0..DRAWS)
        .map(|_| {
            chosen.fill_with(|| random.below(laps as u64) as usize);
            measure(&chosen)
        })
        .filter(|value| value.is_finite())
        .collect();
    values.sort_by(f64::total_cmp);
    let at = |share: f64| values.get(((values.len() as f64 - 1.0) * share).round() as usize).copied();
    at(0.025).zip(at(0.975))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn laps_count_by_their_predictions() {
        let laps = [vec![vec![1.0, 1.0, 1.0]], vec![vec![5.0]], vec![vec![2.0, 2.0]]];
        let summary = Summary::of(&[3], &laps);
        let at = &summary.horizons[0];
        assert_eq!((at.predictions, at.mean, at.median), (6, 2.0, 1.5));
        let (low, high) = at.interval.expect("three laps");
        assert!(low < 2.0 && 2.0 < high, "{low} to {high}");
        assert_eq!(at.ratio_to(at), (1.0, Some((1.0, 1.0))));
        assert_eq!(Summary::of(&[3], &laps[..2]).horizons[0].interval, None);
    }
}
