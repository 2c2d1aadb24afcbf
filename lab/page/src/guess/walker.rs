//! Walks predictors through a match, and stores their results.

use fairpath::vector::{Vec2, Vector};
use fairpath_eval::candidates::{MatchSetup, all};
use fairpath_eval::evaluate::{Restarts, WalkStep};
use fairpath_eval::play::{Play, TickRun};
use fairpath_predict::{Missing, Predictor, Reason};

use super::HORIZONS;
use super::roster::{COUNT, ROSTER};

/// The predicted position of a player at each horizon.
pub(super) type Answer = [Vec2; HORIZONS.len()];

/// Ticks between two stored standings: ten per second. Every horizon is a multiple.
pub(super) const SAMPLE_TICKS: usize = 6;
const _: () = assert!((HORIZONS[0] as usize).is_multiple_of(SAMPLE_TICKS));

/// Walks every selected predictor through a match, each at its own pace. A predictor that is
/// selected later starts at the beginning. Earlier ticks are read from what was stored.
pub(super) struct Walker {
    players: usize,
    seats: Vec<WalkedPredictor>,
}

struct WalkedPredictor {
    predictor: Box<dyn Predictor>,
    learns: bool,
    is_asked: bool,
    /// What it needs to know, if it cannot answer.
    missing: Option<Missing>,
    /// The next tick to walk to.
    next: usize,
    /// Its answers at the last tick, for each player that was present.
    newest: Vec<Option<Answer>>,
    restarts: Vec<Restarts>,
    standing: PredictorStanding,
    /// The standing before every tick that is a multiple of [`SAMPLE_TICKS`].
    samples: Vec<PredictorStanding>,
    /// All its answers, for each tick and player, if it learns: later it would answer differently.
    /// Stored as `f32`: the rounding cannot be seen, and these answers are a fourth of the memory
    /// of a long recording.
    kept: Vec<[[f32; 2]; HORIZONS.len()]>,
}

/// The results of a predictor from the beginning up to a tick.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct PredictorStanding {
    pub(super) horizons: [HorizonScore; HORIZONS.len()],
    pub(super) packets: u32,
    /// Pairs of player and tick that were counted.
    pub(super) moments: u32,
}

/// The results at one horizon, counted at the tick of the question.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct HorizonScore {
    pub(super) sum: f64,
    pub(super) hits: u32,
    pub(super) count: u32,
}

impl HorizonScore {
    /// Returns the mean error, or 0 without predictions.
    pub(super) fn mean(&self) -> f64 {
        self.sum / f64::from(self.count.max(1))
    }
}

impl Walker {
    pub(super) fn new(stage: &MatchSetup, players: usize) -> Self {
        let seats = all().iter().zip(ROSTER).map(|(candidate, shown)| WalkedPredictor {
            predictor: candidate.make(stage),
            learns: shown.learns,
            is_asked: false,
            missing: None,
            next: 0,
            newest: vec![None; players],
            restarts: Vec::new(),
            standing: PredictorStanding::default(),
            samples: Vec::new(),
            kept: Vec::new(),
        });
        Self { players, seats: seats.collect() }
    }

    /// Selects the predictors whose bit is set, from now on.
    pub(super) fn ask(&mut self, mask: u32, stage: &MatchSetup) {
        for (number, seat) in self.seats.iter_mut().enumerate() {
            seat.is_asked = mask >> number & 1 == 1;
            if seat.is_asked && seat.restarts.is_empty() {
                // They are large, and most predictors are never selected.
                seat.restarts = (0..self.players).map(|_| Restarts::new(stage.hit_radius())).collect();
            }
        }
    }

    /// Walks the predictors farthest behind `tick` by one tick. Returns the number of predictions.
    pub(super) fn walk(&mut self, play: &Play, stage: &MatchSetup, tick: usize) -> usize {
        let behind = |seat: &&WalkedPredictor| seat.is_asked && seat.missing.is_none() && seat.next <= tick;
        let Some(next) = self.seats.iter().filter(behind).map(|seat| seat.next).min() else { return 0 };
        let mut walkers: Vec<&mut WalkedPredictor> =
            self.seats.iter_mut().filter(|seat| behind(&&**seat) && seat.next == next).collect();
        walkers.iter_mut().for_each(|seat| seat.begin_tick());
        let mut others = Vec::with_capacity(self.players);
        for subject in 0..self.players {
            let Some((run, index)) = run_at(play, subject, next) else {
                walkers.iter_mut().for_each(|seat| seat.keep(subject, None));
                continue;
            };
            // All predictors know the same, so it is looked up once.
            let known = play.look(subject, run, index, &mut others);
            for seat in &mut walkers {
                let mut answer = [Vec2::ZERO; HORIZONS.len()];
                seat.predictor.learn(subject, &known);
                let answered = seat.predictor.predict(subject, &known, &HORIZONS, &mut answer);
                let step = WalkStep { subject, run, index };
                let restarted = seat.restarts[subject].tick(seat.predictor.as_mut(), &known, step);
                seat.missing = answered.and(restarted).err();
                seat.score(&answer, run, index, stage.hit_radius());
                seat.keep(subject, seat.missing.is_none().then_some(answer));
            }
        }
        walkers.iter_mut().for_each(|seat| seat.end_tick());
        walkers.len() * self.players.max(1)
    }

    /// Returns whether every selected predictor has walked to a tick.
    pub(super) fn has_reached(&self, tick: usize) -> bool {
        self.seats.iter().all(|seat| !seat.is_asked || seat.missing.is_some() || seat.next > tick)
    }

    /// Returns a predictor's answer at a tick. A learning predictor not yet there has none.
    pub(super) fn answer(
        &mut self,
        play: &Play,
        tick: usize,
        subject: usize,
        predictor: usize,
    ) -> Option<Answer> {
        let seat = &mut self.seats[predictor];
        if !seat.is_asked || seat.missing.is_some() {
            return None;
        }
        if seat.learns {
            let kept = seat.kept.get(tick * self.players + subject)?;
            let is_known = kept.iter().flatten().all(|number| number.is_finite());
            return is_known.then(|| kept.map(|[x, y]| Vec2::new(x.into(), y.into())));
        }
        if seat.next == tick + 1 {
            return seat.newest[subject];
        }
        let (run, index) = run_at(play, subject, tick)?;
        let mut others = Vec::with_capacity(self.players);
        let mut answer = [Vec2::ZERO; HORIZONS.len()];
        let known = play.look(subject, run, index, &mut others);
        // Only the walk decides whether it can answer, not when the page asks.
        seat.predictor.predict(subject, &known, &HORIZONS, &mut answer).ok().map(|()| answer)
    }

    /// Returns the reason for an answer. A learning predictor knows only its current reason.
    pub(super) fn reason(
        &mut self,
        play: &Play,
        tick: usize,
        subject: usize,
        predictor: usize,
        ticks: u32,
    ) -> Reason {
        let seat = &mut self.seats[predictor];
        let Some((run, index)) = run_at(play, subject, tick) else { return Reason::Untold };
        if seat.learns && seat.next != tick + 1 {
            return Reason::Untold;
        }
        let mut others = Vec::with_capacity(self.players);
        let known = play.look(subject, run, index, &mut others);
        seat.predictor.reason(subject, &known, ticks)
    }

    /// Returns a predictor's results before a tick, as far as it has walked.
    pub(super) fn standing(&self, tick: usize, predictor: usize) -> PredictorStanding {
        let samples = &self.seats[predictor].samples;
        let place = (tick / SAMPLE_TICKS).min(samples.len().saturating_sub(1));
        samples.get(place).copied().unwrap_or_default()
    }

    /// Returns the number of ticks that a predictor has walked.
    pub(super) fn walked(&self, predictor: usize) -> usize {
        self.seats[predictor].next
    }

    pub(super) fn is_asked(&self, predictor: usize) -> bool {
        self.seats[predictor].is_asked
    }

    pub(super) fn missing(&self, predictor: usize) -> Option<Missing> {
        self.seats[predictor].missing
    }
}

const _: () = assert!(COUNT <= u32::BITS as usize, "the selection is kept in bits");

impl WalkedPredictor {
    fn begin_tick(&mut self) {
        if self.next.is_multiple_of(SAMPLE_TICKS) {
            self.samples.push(self.standing);
        }
    }

    fn score(&mut self, answer: &Answer, run: &TickRun, index: usize, hit_radius: f64) {
        self.standing.moments += 1;
        for ((score, place), ticks) in self.standing.horizons.iter_mut().zip(answer).zip(HORIZONS) {
            if let Some(truth) = run.truth.get(index + ticks as usize) {
                let error = place.distance(*truth);
                score.sum += error;
                score.hits += u32::from(error <= hit_radius);
                score.count += 1;
            }
        }
    }

    fn keep(&mut self, subject: usize, answer: Option<Answer>) {
        self.newest[subject] = answer;
        if self.learns {
            let nothing = [[f32::NAN; 2]; HORIZONS.len()];
            let short = |answer: Answer| answer.map(|place| [place.x as f32, place.y as f32]);
            self.kept.push(answer.map_or(nothing, short));
        }
    }

    fn end_tick(&mut self) {
        self.standing.packets = self.restarts.iter().map(|one| one.count() as u32).sum();
        self.next += 1;
    }
}

/// Returns the run of a player at a tick and the index in it, if the player is present.
pub(super) fn run_at(play: &Play, player: usize, tick: usize) -> Option<(&TickRun, usize)> {
    let runs = &play.players[player].runs;
    let begun = runs.partition_point(|run| run.first_tick <= tick);
    let run = &runs[begun.checked_sub(1)?];
    let index = tick - run.first_tick;
    (index < run.truth.len()).then_some((run, index))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairpath_eval::evaluate::{Question, score};

    /// Returns a short match, and all predictors walked through it.
    fn walked() -> (Play, MatchSetup, Walker) {
        let play = super::super::played(1, 2);
        let stage = MatchSetup::of(&play);
        let mut walker = Walker::new(&stage, play.players.len());
        walker.ask(u32::MAX, &stage);
        let runs = play.players.iter().flat_map(|player| &player.runs);
        let last = runs.map(|run| run.first_tick + run.truth.len()).max().unwrap_or(0) - 1;
        while walker.walk(&play, &stage, last) > 0 {}
        (play, stage, walker)
    }

    #[test]
    fn its_table_is_the_evaluators_and_answers_about_the_past_are_what_they_were() {
        let (play, stage, mut walker) = walked();
        let question = Question::new(HORIZONS.to_vec(), stage.hit_radius(), stage.hit_radius())
            .expect("a question as Shi 2014 asks it");
        for (number, candidate) in all().iter().enumerate() {
            let expected = score(&play, candidate.make(&stage).as_mut(), &question).expect("all is known");
            let standing = walker.seats[number].standing;
            for (horizon, ours) in standing.horizons.iter().enumerate() {
                let theirs = || expected.iter().map(|player| &player.horizons[horizon]);
                let name = candidate.name;
                assert_eq!(u64::from(ours.hits), theirs().map(|one| one.hits).sum::<u64>(), "{name}");
                assert_eq!(
                    ours.count as usize,
                    theirs().map(|one| one.errors.len()).sum::<usize>(),
                    "{name}"
                );
                let sum: f64 = theirs().map(|one| one.sum).sum();
                assert!((ours.sum - sum).abs() < 1e-9 * sum, "{name}: another order, the same sum");
            }
            let packets: u64 = expected.iter().map(|player| player.packets).sum();
            assert_eq!(u64::from(standing.packets), packets, "{}", candidate.name);
        }
        // Only learning predictors store answers: all others must answer the same at any time.
        let mut fresh = Walker::new(&stage, play.players.len());
        fresh.ask(u32::MAX, &stage);
        for tick in [0, 17, 400, 1_203] {
            while fresh.walk(&play, &stage, tick) > 0 {}
            for (predictor, shown) in ROSTER.iter().enumerate() {
                for player in 0..play.players.len() {
                    let then = fresh.answer(&play, tick, player, predictor);
                    let now = walker.answer(&play, tick, player, predictor);
                    assert_eq!(then, now, "{} at {tick}", shown.name);
                }
            }
        }
    }
}
