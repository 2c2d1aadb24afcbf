use fairpath::random::Random;

/// How a predictor fared on laps.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// One for each horizon.
    pub horizons: Vec<HorizonSummary>,
}

/// How it fared at one horizon.
#[derive(Clone, Debug, PartialEq)]
pub struct HorizonSummary {
    /// How far ahead, in ticks.
    pub ticks: u32,
    /// How many predictions were scored.
    pub predictions: usize,
    /// The mean error of all predictions.
    pub mean: f64,
    /// The error that half of them stay below.
    pub median: f64,
    /// What the mean lies within, 95 times in 100, had other laps been driven by the same drivers:
    /// laps are drawn with replacement. Nothing for fewer than three laps.
    pub interval: Option<(f64, f64)>,
    /// Each lap's own sum of errors and how many there were, in the order of laps.
    laps: Vec<(f64, f64)>,
}

/// From fewer laps an interval would only pretend to know.
const LAPS_MIN: usize = 3;
/// How often laps are drawn anew: the ends of a 95 % interval then rest on 50 draws each.
const DRAWS: usize = 2000;

impl Summary {
    /// Puts the errors of laps together, as [`errors`](super::errors) gives them.
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
        let everyone: Vec<usize> = (0..sums.len()).collect();
        Self {
            ticks,
            predictions: all.len(),
            mean: mean(&sums, &everyone),
            median: median(&all),
            interval: drawn(sums.len(), |laps| mean(&sums, laps)),
            laps: sums,
        }
    }

    /// Its mean error over another's on the same laps, and the 95 % interval of that; the same laps
    /// are drawn for both.
    pub fn ratio_to(&self, other: &Self) -> (f64, Option<(f64, f64)>) {
        let ratio = |laps: &[usize]| mean(&self.laps, laps) / mean(&other.laps, laps);
        let everyone: Vec<usize> = (0..self.laps.len()).collect();
        (ratio(&everyone), drawn(self.laps.len(), ratio))
    }
}

fn mean(sums: &[(f64, f64)], laps: &[usize]) -> f64 {
    let (sum, count) =
        laps.iter().fold((0.0, 0.0), |(sum, count), lap| (sum + sums[*lap].0, count + sums[*lap].1));
    sum / count
}

/// The middle one of ascending numbers; the mean of the middle two; not a number of nothing.
fn median(ascending: &[f64]) -> f64 {
    match ascending.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => ascending[count / 2],
        count => 0.5 * (ascending[count / 2 - 1] + ascending[count / 2]),
    }
}

/// What a measure lies within, 95 times in 100, when laps are drawn with replacement.
fn drawn(laps: usize, measure: impl Fn(&[usize]) -> f64) -> Option<(f64, f64)> {
    if laps < LAPS_MIN {
        return None;
    }
    // Any dice do: an interval must not depend on which experiment asks.
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
