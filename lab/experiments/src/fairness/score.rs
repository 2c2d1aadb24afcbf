use super::run::{Belief, FairnessRun};

/// One trial, game by game. Errors are those at the end, averaged over games; counts are sums.
#[derive(Clone, Debug)]
pub struct Score {
    pub label: String,
    /// The games: one per tank, or one per set of random numbers on a recording.
    pub games: Vec<Game>,
}

/// One game: its stretches one after the other, as if they had been played without a pause.
#[derive(Clone, Debug, Default)]
pub struct Game {
    pub secs: Vec<f64>,
    pub errors: Vec<Vec<f64>>,
    /// For each stretch: every receiver's accumulated error at its end, counted from its beginning.
    pub stretches: Vec<Vec<f64>>,
    pub stretch_vectors: Vec<u64>,
    pub triggers: u64,
    pub vectors: Vec<u64>,
    pub bytes: u64,
    pub distance: Vec<f64>,
    pub belief: Belief,
}

impl Game {
    /// Puts the runs of a game's stretches together.
    pub fn of(runs: impl IntoIterator<Item = FairnessRun>) -> Self {
        let mut game = Self::default();
        let mut before = 0.0;
        for run in runs {
            game.append(&run, before);
            before += run.length();
        }
        for distance in &mut game.distance {
            *distance /= before.max(f64::MIN_POSITIVE);
        }
        game
    }

    fn append(&mut self, run: &FairnessRun, before: f64) {
        self.errors.resize(run.errors.len(), Vec::new());
        self.vectors.resize(run.errors.len(), 0);
        self.distance.resize(run.errors.len(), 0.0);
        self.secs.extend(run.secs.iter().map(|secs| before + secs));
        for (all, more) in self.errors.iter_mut().zip(&run.errors) {
            let so_far = all.last().copied().unwrap_or(0.0);
            all.extend(more.iter().map(|error| so_far + error));
        }
        for (all, more) in self.vectors.iter_mut().zip(&run.vectors) {
            *all += more;
        }
        for (all, more) in self.distance.iter_mut().zip(&run.distance) {
            *all += more * run.length();
        }
        self.stretches.push(run.errors.iter().map(|errors| errors[errors.len() - 1]).collect());
        self.stretch_vectors.push(run.vectors.iter().sum());
        self.triggers += run.triggers;
        self.bytes += run.bytes;
        self.belief.secs.extend(run.belief.secs.iter().map(|secs| before + secs));
        self.belief.off.extend(&run.belief.off);
        self.belief.bias.extend(&run.belief.bias);
        self.belief.open.extend(&run.belief.open);
        self.belief.settled_off.extend(&run.belief.settled_off);
        self.belief.unsettled += run.belief.unsettled;
    }

    pub fn final_errors(&self) -> Vec<f64> {
        self.errors.iter().map(|errors| errors[errors.len() - 1]).collect()
    }

    fn errors_at(&self, instant: usize) -> Vec<f64> {
        self.errors.iter().map(|errors| errors[instant]).collect()
    }
}

impl FairnessRun {
    fn length(&self) -> f64 {
        self.secs[self.secs.len() - 1]
    }
}

impl Score {
    /// How far receivers are apart at the end, averaged over games: fairness.
    pub fn spread(&self) -> f64 {
        self.average(|game| spread(&game.final_errors()))
    }

    pub fn spread_over_time(&self) -> f64 {
        self.average(|game| {
            let instants = 0..game.secs.len();
            mean(&instants.map(|instant| spread(&game.errors_at(instant))).collect::<Vec<_>>())
        })
    }

    /// The receivers' mean error at the end, averaged over games: accuracy.
    pub fn mean(&self) -> f64 {
        self.average(|game| mean(&game.final_errors()))
    }

    pub fn jain(&self) -> f64 {
        self.average(|game| jain(&game.final_errors()))
    }

    pub fn worst(&self) -> f64 {
        self.average(|game| game.final_errors().into_iter().fold(0.0, f64::max))
    }

    pub fn receivers(&self) -> Vec<f64> {
        let receivers = self.games.first().map_or(0, |game| game.errors.len());
        (0..receivers)
            .map(|receiver| self.average(|game| game.errors[receiver].last().copied().unwrap_or(0.0)))
            .collect()
    }

    pub fn vectors(&self) -> u64 {
        self.games.iter().flat_map(|game| &game.vectors).sum()
    }

    /// Which share of all DR vectors sent went to each receiver.
    pub fn shares(&self) -> Vec<f64> {
        let receivers = self.games.first().map_or(0, |game| game.vectors.len());
        let all = self.vectors().max(1) as f64;
        let of = |receiver: usize| self.games.iter().map(|game| game.vectors[receiver]).sum::<u64>();
        (0..receivers).map(|receiver| of(receiver) as f64 / all).collect()
    }

    pub fn triggers(&self) -> u64 {
        self.games.iter().map(|game| game.triggers).sum()
    }

    pub fn bytes(&self) -> u64 {
        self.games.iter().map(|game| game.bytes).sum()
    }

    pub fn distance(&self) -> f64 {
        self.average(|game| mean(&game.distance))
    }

    /// How far off the ledger's estimates were, as a mean over triggers and receivers.
    pub fn ledger_off(&self) -> f64 {
        self.average(|game| mean(&game.belief.off))
    }

    /// The share of ledger entries that were estimates at a trigger, as receipts were missing.
    pub fn ledger_open(&self) -> f64 {
        self.average(|game| mean(&game.belief.open))
    }

    /// How far off the ledger ever was where everything was reported: what is left is rounding.
    pub fn ledger_settled_off(&self) -> f64 {
        let all = self.games.iter().flat_map(|game| &game.belief.settled_off);
        all.copied().fold(0.0, f64::max)
    }

    /// Copies given up on in all games: no receipt will ever say when they arrived.
    pub fn unsettled(&self) -> u64 {
        self.games.iter().map(|game| game.belief.unsettled).sum()
    }

    /// Mean and spread at each instant, averaged over games that last as long as the first.
    pub fn over_time(&self) -> Vec<(f64, f64, f64)> {
        let Some(first) = self.games.first() else { return Vec::new() };
        let alike: Vec<&Game> =
            self.games.iter().filter(|game| game.secs.len() == first.secs.len()).collect();
        let average = |instant: usize, of: &dyn Fn(&[f64]) -> f64| {
            alike.iter().map(|game| of(&game.errors_at(instant))).sum::<f64>() / alike.len() as f64
        };
        (0..first.secs.len())
            .map(|at| {
                (first.secs[at], average(at, &|errors| mean(errors)), average(at, &|errors| spread(errors)))
            })
            .collect()
    }

    fn average(&self, of: impl Fn(&Game) -> f64) -> f64 {
        self.games.iter().map(of).sum::<f64>() / self.games.len().max(1) as f64
    }
}

/// The mean; zero for an empty list.
pub fn mean(errors: &[f64]) -> f64 {
    errors.iter().sum::<f64>() / errors.len().max(1) as f64
}

/// The population standard deviation.
pub fn spread(errors: &[f64]) -> f64 {
    let mean = mean(errors);
    let squares: Vec<f64> = errors.iter().map(|error| (error - mean) * (error - mean)).collect();
    self::mean(&squares).sqrt()
}

/// Jain's fairness index, (Σx)² / (n·Σx²): 1 if all are equal or zero, 1/n if one bears it all.
pub fn jain(errors: &[f64]) -> f64 {
    let (sum, squares) = errors.iter().fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
    if squares > 0.0 { sum * sum / (errors.len() as f64 * squares) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_of_known_numbers() {
        assert_eq!(mean(&[1.0, 2.0, 6.0]), 3.0);
        assert_eq!(spread(&[1.0, 5.0]), 2.0);
        assert_eq!(spread(&[4.0, 4.0, 4.0]), 0.0);
        assert_eq!((jain(&[2.0, 2.0]), jain(&[1.0, 0.0, 0.0, 0.0]), jain(&[0.0, 0.0])), (1.0, 0.25, 1.0));
    }

    #[test]
    fn stretches_of_a_game_add_up() {
        let run = |errors: [f64; 2]| FairnessRun {
            secs: vec![0.0, 2.0],
            errors: errors.iter().map(|error| vec![0.0, *error]).collect(),
            triggers: 3,
            vectors: vec![2, 1],
            bytes: 60,
            distance: vec![1.0, 3.0],
            belief: Belief::default(),
        };
        let game = Game::of([run([1.0, 5.0]), run([5.0, 1.0])]);
        assert_eq!(game.secs, [0.0, 2.0, 2.0, 4.0]);
        assert_eq!(game.final_errors(), [6.0, 6.0]);
        assert_eq!((game.triggers, game.bytes, game.distance.clone()), (6, 120, vec![1.0, 3.0]));
        let score = Score { label: "x".into(), games: vec![game] };
        assert_eq!((score.spread(), score.mean(), score.worst(), score.vectors()), (0.0, 6.0, 6.0, 6));
        assert_eq!(score.spread_over_time(), 1.0, "0, 2, 2 and 0");
    }
}
