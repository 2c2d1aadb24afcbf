use fairpath::random::Random;

use super::score::{Game, Score, mean, spread};

/// Two trials compared: the first one's measure over the second one's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    pub value: f64,
    /// The 95 % interval over other tanks or stretches of the kind, given three pairs or more.
    pub interval: Option<(f64, f64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    Spread,
    Mean,
    /// The error of this receiver, one of [`Score::receivers`].
    Receiver(usize),
    Vectors,
}

/// With fewer pairs an interval means nothing.
const PAIRS_MIN: usize = 3;
/// How often pairs are drawn anew: the ends of a 95 % interval then rest on 50 draws each.
const DRAWS: usize = 2000;

/// Compares two trials on the same motion. The interval is a paired bootstrap: games, or stretches
/// where a game has more than one, are drawn with replacement, the same ones for both.
pub fn ratio(one: &Score, other: &Score, measure: Measure, seed: u64) -> Ratio {
    let (one, other) = (Units::of(one, measure), Units::of(other, measure));
    let all: Vec<usize> = (0..one.count()).collect();
    let of = |drawn: &[usize]| one.measured(drawn) / other.measured(drawn);
    let value = of(&all);
    if all.len() < PAIRS_MIN || other.count() != all.len() {
        return Ratio { value, interval: None };
    }
    let mut random = Random::from_seed(seed);
    let mut drawn = all.clone();
    let mut ratios: Vec<f64> = (0..DRAWS)
        .map(|_| {
            drawn.fill_with(|| random.below(all.len() as u64) as usize);
            of(&drawn)
        })
        .filter(|ratio| ratio.is_finite())
        .collect();
    ratios.sort_by(f64::total_cmp);
    let at = |share: f64| ratios.get(((ratios.len() as f64 - 1.0) * share).round() as usize).copied();
    Ratio { value, interval: at(0.025).zip(at(0.975)) }
}

enum Units<'a> {
    /// Games of one stretch each, by their measure.
    Games(Vec<f64>),
    /// The stretches that all games consist of: what they come to has to be summed up first.
    Stretches(&'a [Game], Measure),
}

impl<'a> Units<'a> {
    fn of(score: &'a Score, measure: Measure) -> Self {
        let has_stretches = score.games.first().is_some_and(|game| game.stretches.len() > 1);
        if has_stretches {
            Self::Stretches(&score.games, measure)
        } else {
            Self::Games(score.games.iter().map(|game| measured(game, measure, &[0])).collect())
        }
    }

    fn count(&self) -> usize {
        match self {
            Self::Games(games) => games.len(),
            Self::Stretches(games, _) => games[0].stretches.len(),
        }
    }

    fn measured(&self, drawn: &[usize]) -> f64 {
        match self {
            Self::Games(games) => drawn.iter().map(|game| games[*game]).sum::<f64>() / drawn.len() as f64,
            Self::Stretches(games, measure) => {
                games.iter().map(|game| measured(game, *measure, drawn)).sum::<f64>() / games.len() as f64
            }
        }
    }
}

/// The measure of a game that consists of these stretches.
fn measured(game: &Game, measure: Measure, stretches: &[usize]) -> f64 {
    let mut errors = vec![0.0; game.errors.len()];
    for stretch in stretches {
        for (sum, error) in errors.iter_mut().zip(&game.stretches[*stretch]) {
            *sum += error;
        }
    }
    match measure {
        Measure::Spread => spread(&errors),
        Measure::Mean => mean(&errors),
        Measure::Receiver(receiver) => errors[receiver],
        Measure::Vectors => stretches.iter().map(|stretch| game.stretch_vectors[*stretch] as f64).sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(games: &[&[[f64; 2]]]) -> Score {
        let game = |stretches: &&[[f64; 2]]| Game {
            errors: vec![Vec::new(); 2],
            stretches: stretches.iter().map(|errors| errors.to_vec()).collect(),
            stretch_vectors: vec![10; stretches.len()],
            ..Game::default()
        };
        Score { label: String::new(), games: games.iter().map(game).collect() }
    }

    #[test]
    fn proportional_pairs_leave_no_doubt() {
        let base = score(&[&[[1.0, 3.0]], &[[2.0, 8.0]], &[[4.0, 6.0]], &[[1.0, 2.0]]]);
        let half = score(&[&[[0.5, 1.5]], &[[1.0, 4.0]], &[[2.0, 3.0]], &[[0.5, 1.0]]]);
        for measure in [Measure::Spread, Measure::Mean, Measure::Receiver(1)] {
            let Ratio { value, interval } = ratio(&half, &base, measure, 1);
            let (low, high) = interval.unwrap();
            assert!((value - 0.5).abs() < 1e-12 && (low - 0.5).abs() < 1e-12 && (high - 0.5).abs() < 1e-12);
        }
    }

    #[test]
    fn stretches_are_summed_before_receivers_are_compared() {
        let fair_in_the_end = score(&[&[[1.0, 3.0], [3.0, 1.0], [2.0, 2.0]]]);
        let unfair = score(&[&[[1.0, 3.0], [1.0, 3.0], [2.0, 2.0]]]);
        assert_eq!(ratio(&fair_in_the_end, &unfair, Measure::Spread, 1).value, 0.0);
        assert_eq!(ratio(&fair_in_the_end, &unfair, Measure::Mean, 1).value, 1.0);
        assert_eq!(ratio(&fair_in_the_end, &unfair, Measure::Vectors, 1).interval, Some((1.0, 1.0)));
    }

    #[test]
    fn two_games_are_too_few_for_an_interval_and_the_same_seed_gives_the_same_one() {
        let [one, other] = [[[1.0, 3.0], [2.0, 5.0]], [[2.0, 3.0], [2.0, 6.0]]];
        let few = |games: [[f64; 2]; 2]| score(&[&[games[0]], &[games[1]]]);
        assert_eq!(ratio(&few(one), &few(other), Measure::Mean, 1).interval, None);
        let many = score(&[&[one[0], one[1], other[0], other[1]]]);
        let base = score(&[&[other[0], one[1], one[0], other[0]]]);
        assert_eq!(ratio(&many, &base, Measure::Mean, 5), ratio(&many, &base, Measure::Mean, 5));
    }
}
