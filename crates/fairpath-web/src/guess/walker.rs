use fairpath::predict::Predictor;
use fairpath::vector::{Vec2, Vector};
use fairpath_eval::candidates::Stage;
use fairpath_eval::evaluate::{Restarts, Step};
use fairpath_eval::play::Play;

use super::{HORIZONS, candidates, run_at};

/// Leads every predictor through a match and keeps what they answered.
pub(super) struct Walker {
    players: usize,
    seats: Vec<Seat>,
    /// The next tick to walk to.
    next: usize,
}

/// One predictor and its answers.
struct Seat {
    predictor: Box<dyn Predictor>,
    /// For each tick and player what was expected at each horizon; not a number where it was not asked.
    answers: Vec<[[f32; 2]; HORIZONS.len()]>,
    restarts: Vec<Restarts>,
    /// Packets up to each tick.
    packets: Vec<u64>,
    /// Whether it has all that it needs.
    can_answer: bool,
}

impl Walker {
    pub(super) fn new(stage: &Stage, players: usize) -> Self {
        let seat = |candidate: fairpath_eval::candidates::Candidate| Seat {
            predictor: candidate.make(stage),
            answers: Vec::new(),
            restarts: (0..players).map(|_| Restarts::new(stage.hit_radius())).collect(),
            packets: Vec::new(),
            can_answer: true,
        };
        Self { players, seats: candidates().map(seat).collect(), next: 0 }
    }

    /// Asks everybody about every tick up to this one.
    pub(super) fn walk_to(&mut self, play: &Play, tick: usize) {
        while self.next <= tick {
            self.seats.iter_mut().for_each(|seat| seat.walk(play, self.players, self.next));
            self.next += 1;
        }
    }

    /// What a predictor expected at a tick that was walked to.
    pub(super) fn answer(
        &self,
        tick: usize,
        player: usize,
        predictor: usize,
    ) -> Option<[Vec2; HORIZONS.len()]> {
        let answer = self.seats[predictor].answers.get(tick * self.players + player)?;
        let is_known = answer.iter().flatten().all(|number| number.is_finite());
        is_known.then(|| answer.map(|[x, y]| Vec2::new(x.into(), y.into())))
    }

    /// How many packets it would have taken up to a tick.
    pub(super) fn packets(&self, tick: usize, predictor: usize) -> u64 {
        self.seats[predictor].packets.get(tick).copied().unwrap_or(0)
    }

    pub(super) fn can_answer(&self, predictor: usize) -> bool {
        self.seats[predictor].can_answer
    }
}

impl Seat {
    /// One tick of everybody, in the order of `fairpath_eval::evaluate::walk`.
    fn walk(&mut self, play: &Play, players: usize, tick: usize) {
        let mut others = Vec::new();
        for subject in 0..players {
            let mut places = [Vec2::ZERO * f64::NAN; HORIZONS.len()];
            if self.can_answer
                && let Some((run, index)) = run_at(play, subject, tick)
            {
                let known = play.look(subject, run, index, &mut others);
                self.predictor.learn(subject, &known);
                let answered = self.predictor.predict(subject, &known, &HORIZONS, &mut places);
                let step = Step { subject, run, index };
                let restarted = self.restarts[subject].tick(self.predictor.as_mut(), &known, step);
                self.can_answer = answered.is_ok() && restarted.is_ok();
            }
            self.answers.push(places.map(|place| [place.x as f32, place.y as f32]));
        }
        self.packets.push(self.restarts.iter().map(Restarts::count).sum());
    }
}
