use fairpath::vector::{Vec2, Vector};
use fairpath_predict::{Known, Missing, Predictor, TICKS_AHEAD_MAX};

use super::{Question, WalkStep, walk};
use crate::play::{Play, TickRun};

#[derive(Clone, Debug, PartialEq)]
pub struct PlayerScore {
    pub horizons: Vec<HorizonScore>,
    /// Number of restarts.
    pub packets: u64,
    pub secs: f64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct HorizonScore {
    pub ticks: u32,
    /// Every error, in the order of ticks; rounded to seven digits, which keeps the median.
    pub errors: Vec<f32>,
    /// Their sum, before rounding.
    pub sum: f64,
    pub hits: u64,
}

impl HorizonScore {
    pub fn mean(&self) -> f64 {
        self.sum / self.errors.len() as f64
    }

    pub fn hits_percent(&self) -> f64 {
        100.0 * self.hits as f64 / self.errors.len() as f64
    }

    fn note(&mut self, error: f64, hit_radius: f64) {
        self.errors.push(error as f32);
        self.sum += error;
        self.hits += u64::from(error <= hit_radius);
    }
}

/// Scores one predictor on all players, or returns what it lacks. Not finite is infinitely far off.
pub fn score(
    play: &Play,
    predictor: &mut dyn Predictor,
    question: &Question,
) -> Result<Vec<PlayerScore>, Missing> {
    let new = |ticks: &u32| HorizonScore { ticks: *ticks, ..HorizonScore::default() };
    let mut scores: Vec<PlayerScore> = (play.players.iter())
        .map(|player| PlayerScore {
            horizons: question.horizons().iter().map(new).collect(),
            packets: 0,
            secs: player.secs(),
        })
        .collect();
    let mut restarts: Vec<Restarts> = scores.iter().map(|_| Restarts::new(question.threshold)).collect();
    let mut predicted = vec![Vec2::ZERO; question.horizons().len()];
    walk(play, predictor, |predictor, known, step| {
        predictor.predict(step.subject, known, question.horizons(), &mut predicted)?;
        for (horizon, position) in scores[step.subject].horizons.iter_mut().zip(&predicted) {
            if let Some(truth) = step.run.truth.get(step.index + horizon.ticks as usize) {
                horizon.note(error(*position, *truth), question.hit_radius);
            }
        }
        restarts[step.subject].tick(predictor, known, step)
    })?;
    for (score, restarts) in scores.iter_mut().zip(&restarts) {
        score.packets = restarts.count;
    }
    Ok(scores)
}

fn error(predicted: Vec2, truth: Vec2) -> f64 {
    let distance = predicted.distance(truth);
    if distance.is_nan() { f64::INFINITY } else { distance }
}

/// Follows a prediction until its error exceeds the threshold, then starts the next: its packets.
#[derive(Clone, Debug)]
pub struct Restarts {
    threshold: f64,
    /// 1, 2, … up to [`TICKS_AHEAD_MAX`](fairpath_predict::TICKS_AHEAD_MAX).
    ticks: Vec<u32>,
    predicted: Vec<Vec2>,
    begun: usize,
    count: u64,
}

impl Restarts {
    pub fn new(threshold: f64) -> Self {
        let ticks: Vec<u32> = (1..=TICKS_AHEAD_MAX).collect();
        Self { threshold, predicted: vec![Vec2::ZERO; ticks.len()], ticks, begun: 0, count: 0 }
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn tick(
        &mut self,
        predictor: &mut dyn Predictor,
        known: &Known<'_>,
        WalkStep { subject, run, index }: WalkStep<'_>,
    ) -> Result<(), Missing> {
        if index > 0 && self.still_holds(run, index) {
            return Ok(());
        }
        self.begun = index;
        self.count += 1;
        // Predicts everything now: what is learned later must not change what receivers were sent.
        predictor.predict(subject, known, &self.ticks, &mut self.predicted)
    }

    fn still_holds(&self, run: &TickRun, index: usize) -> bool {
        let position = self.predicted.get(index - self.begun - 1);
        position.is_some_and(|position| error(*position, run.truth[index]) <= self.threshold)
    }
}
