//! A predictor that learns what fits the player, the game and the time ahead.
//!
//! Play patterns differ from game to game: players of strafing shooters lose their velocity within
//! a third of a second, cars keep theirs, some players stand and aim. Instead of one pattern, this
//! predictor compares five simple guesses and learns afterwards which one would have been right:
//!
//! ```text
//!  history, others ──▶ Sketch ──┬──▶ Regression per knot ──┐
//!                               ├──▶ line                  │   five guesses per knot
//!                               ├──▶ fading 1 s, 0.3 s     ├──▶ Gate: which cost least for this
//!                               └──▶ stay                  ┘    player in such a case? ──▶ position
//! ```
//!
//! - The regression is the strongest guess: a weighted sum of nineteen vectors (past velocities,
//!   the turn, the offsets to the middle of the arena, to friends and to enemies, and the input
//!   where it is known), learned during the match from all players together.
//! - The gate knows the mean cost of each guess per kind of situation and follows the cheapest.
//!
//! No weights are shipped: everything is learned in the running match. It predicts for a few
//! [`KNOTS`] and interpolates linearly between them.
//!
//! Ten numbers are tuned: the nine of [`AdaptiveConfig`] and [`LESSON_TICKS`]. `fairpath lab tune`
//! chooses the nine for each recording from all the others, and measures that choice on the one
//! left out. The rest follows from rules: it looks back two seconds and halves that four times,
//! divides situations at a half, an eighth and a 32nd of the top speed, predicts at the delays of
//! Shi 2014 and some nearer and farther ones, and fades as the two baselines do. The vectors and
//! guesses were chosen on six team recordings (HaxBall, QuakeWorld, Rocket League).

mod config;
mod features;
mod forecast;
mod gate;
mod lasting;

pub use config::AdaptiveConfig;
pub use forecast::AdaptiveForecast;
pub use lasting::LastingMotion;

use std::collections::VecDeque;

use super::regression::Regression;
use super::{Known, Missing, Predictor, Reason, TICK_SECS, TICKS_AHEAD_MAX};
use fairpath::vector::{Vec2, Vector};
use features::{Arena, FEATURES, Sketch, VELOCITY};
use gate::{Experience, Gate};

/// What a prediction is optimised for. No single point is best at both: a player at a fork goes
/// left or right, but the mean error is least in between, where no player ever is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Objective {
    /// The least mean distance from the truth.
    Mean,
    /// The most predictions within a distance of the truth.
    Hits {
        /// Distance that counts as a hit, in the world's unit of length.
        radius: f64,
    },
}

/// Learns during the match which of five guesses fits each player and each time ahead.
#[derive(Clone, Debug)]
pub struct Adaptive {
    name: &'static str,
    top_speed: f64,
    objective: Objective,
    config: AdaptiveConfig,
    arena: Arena,
    knots: Vec<Knot>,
    subjects: Vec<Subject>,
}

/// The times ahead that it learns, in ticks.
const KNOTS: [u32; 12] = [6, 12, 18, 36, 54, 72, 90, 108, 126, 180, 240, TICKS_AHEAD_MAX];

/// It learns from every third tick, because neighbouring ticks teach the same.
const LESSON_TICKS: u32 = 3;

/// Most subjects with a memory of their own. Others are predicted by what these taught.
pub const SUBJECTS_MAX: usize = 1024;

const _: () = {
    let mut knot = 0;
    while knot < KNOTS.len() {
        assert!(KNOTS[knot].is_multiple_of(LESSON_TICKS), "a knot lies on a lesson");
        knot += 1;
    }
};

/// Number of guesses. The strongest is first: the gate starts with it, and it starts as the line.
const EXPERTS: usize = 5;

#[derive(Clone, Debug)]
struct Knot {
    ticks: u32,
    regression: Regression<FEATURES>,
    gate: Gate<EXPERTS>,
    /// For how many seconds each guess after the first keeps the velocity.
    carried: [f64; EXPERTS - 1],
}

#[derive(Clone, Debug)]
struct Subject {
    /// Length of the history at the last call. A shorter history starts a new life.
    known: usize,
    ticks: u32,
    /// Newest first, one per [`LESSON_TICKS`].
    past: VecDeque<PendingOutcome>,
    own: Vec<Experience<EXPERTS>>,
}

/// A situation that waits for its outcome.
#[derive(Clone, Copy, Debug)]
struct PendingOutcome {
    sketch: Sketch,
    place: Vec2,
}

impl Adaptive {
    /// Creates the predictor for players that are rarely faster than `top_speed`, in units per
    /// second. It only sets the scale: an error by a factor of two does little harm.
    pub fn new(top_speed: f64, objective: Objective) -> Self {
        Self::with_config(top_speed, objective, AdaptiveConfig::default())
    }

    /// Creates the predictor with other tuned numbers.
    pub fn with_config(top_speed: f64, objective: Objective, config: AdaptiveConfig) -> Self {
        let top_speed = if top_speed.is_finite() && top_speed > 0.0 { top_speed } else { 1.0 };
        let name = match objective {
            Objective::Mean => "adaptive",
            Objective::Hits { .. } => "adaptive (hits)",
        };
        let knots = KNOTS.map(|ticks| Knot::new(ticks, &config)).into();
        Self { name, top_speed, objective, config, arena: Arena::default(), knots, subjects: Vec::new() }
    }

    /// Compares every waiting situation with its outcome.
    fn learn_from(&mut self, subject: usize, place: Vec2) {
        let scale = 1.0 / self.top_speed;
        let Some(subject) = self.subjects.get_mut(subject) else { return };
        for (knot, own) in self.knots.iter_mut().zip(&mut subject.own) {
            let lessons_ago = (knot.ticks / LESSON_TICKS) as usize;
            let Some(seen) = subject.past.get(lessons_ago - 1) else { break };
            let came = (place - seen.place) * scale;
            let costs = knot
                .guesses(&seen.sketch)
                .map(|guess| self.objective.cost((guess - came).length(), scale, &self.config));
            knot.gate.handle_costs(own, seen.sketch.context, &costs);
            knot.regression.handle_lesson(&seen.sketch.features, came);
        }
    }

    fn sketch(&self, known: &Known<'_>) -> Sketch {
        Sketch::of(known, &self.arena, self.top_speed, &self.config)
    }

    fn way_at(&self, place: usize, subject: usize, sketch: &Sketch) -> Vec2 {
        let knot = &self.knots[place];
        let own = self.subjects.get(subject).map(|subject| &subject.own[place]);
        let leader = own.map_or(0, |own| knot.gate.leader(own, sketch.context));
        knot.guess(leader, sketch) * self.top_speed
    }
}

impl Predictor for Adaptive {
    fn name(&self) -> &str {
        self.name
    }

    fn learn(&mut self, subject: usize, known: &Known<'_>) {
        if subject >= SUBJECTS_MAX || !known.newest().is_finite() {
            return;
        }
        if self.subjects.len() <= subject {
            self.subjects.resize_with(subject + 1, Subject::new);
        }
        let place = known.newest().position;
        let is_lesson = self.subjects[subject].handle_tick(known.history.len());
        if !is_lesson {
            return;
        }
        self.arena.handle_place(place);
        self.learn_from(subject, place);
        let sketch = self.sketch(known);
        self.subjects[subject].remember(PendingOutcome { sketch, place });
    }

    fn predict(
        &mut self,
        subject: usize,
        known: &Known<'_>,
        ticks: &[u32],
        positions: &mut [Vec2],
    ) -> Result<(), Missing> {
        let sketch = self.sketch(known);
        let start = known.newest().position;
        let mut ways = [None; KNOTS.len()];
        let mut way_at = |knot: usize| *ways[knot].get_or_insert_with(|| self.way_at(knot, subject, &sketch));
        for (&ticks, position) in ticks.iter().zip(positions) {
            let after = KNOTS.partition_point(|knot| *knot < ticks);
            *position = start + way(ticks, after, &mut way_at);
        }
        Ok(())
    }

    fn reason(&mut self, subject: usize, known: &Known<'_>, ticks: u32) -> Reason {
        let place = KNOTS.partition_point(|knot| *knot < ticks).min(KNOTS.len() - 1);
        let (knot, context) = (&self.knots[place], self.sketch(known).context);
        let Some(subject) = self.subjects.get(subject) else { return Reason::Untold };
        let own = &subject.own[place];
        let unit = match self.objective {
            Objective::Mean => self.top_speed,
            Objective::Hits { .. } => 1.0,
        };
        Reason::Experts {
            leader: knot.gate.leader(own, context),
            expected: knot.gate.expected(own, context).map(|cost| cost * unit),
        }
    }
}

/// Returns the displacement at a tick: interpolated between knots, of which `after` is the first at
/// or after the tick; constant beyond the last. Computes only the knots it needs.
fn way(ticks: u32, after: usize, way_at: &mut impl FnMut(usize) -> Vec2) -> Vec2 {
    let Some(&knot) = KNOTS.get(after) else { return way_at(KNOTS.len() - 1) };
    let after_way = way_at(after);
    if ticks == knot {
        return after_way;
    }
    let (before, before_way) = match after.checked_sub(1) {
        Some(before) => (KNOTS[before], way_at(before)),
        None => (0, Vec2::ZERO),
    };
    let part = f64::from(ticks - before) / f64::from(knot - before);
    before_way + (after_way - before_way) * part
}

impl Objective {
    /// Returns the cost of an error, in top speeds.
    fn cost(self, off: f64, scale: f64, config: &AdaptiveConfig) -> f64 {
        match self {
            Self::Mean => off,
            // A soft edge: a near miss is better than a far one, and may hit next time. Where
            // hardly anything hits, the distance decides.
            Self::Hits { radius } => {
                let off = off / (radius * scale);
                1.0 - libm::exp(-off * off) + config.distance_in_hits * off
            }
        }
    }
}

impl Knot {
    fn new(ticks: u32, config: &AdaptiveConfig) -> Self {
        let secs = f64::from(ticks) * TICK_SECS;
        let mut line = [0.0; FEATURES];
        line[VELOCITY] = secs;
        let fading = |rest: f64| rest * (1.0 - libm::exp(-secs / rest));
        Self {
            ticks,
            regression: Regression::new(line, 0.1 * secs, config.regression()),
            gate: Gate::new(config),
            carried: [secs, fading(1.0), fading(0.3), 0.0],
        }
    }

    fn guess(&self, expert: usize, sketch: &Sketch) -> Vec2 {
        match expert.checked_sub(1) {
            None => self.regression.answer(&sketch.features),
            Some(simple) => sketch.features[VELOCITY] * self.carried[simple],
        }
    }

    fn guesses(&self, sketch: &Sketch) -> [Vec2; EXPERTS] {
        std::array::from_fn(|expert| self.guess(expert, sketch))
    }
}

impl Subject {
    const PAST_MAX: usize = (TICKS_AHEAD_MAX / LESSON_TICKS) as usize;

    fn new() -> Self {
        Self {
            known: 0,
            ticks: 0,
            past: VecDeque::with_capacity(Self::PAST_MAX),
            own: KNOTS.iter().map(|_| Experience::new()).collect(),
        }
    }

    /// Notes another tick; returns whether to learn from it. Drops situations of an earlier life.
    fn handle_tick(&mut self, known: usize) -> bool {
        if known <= 1 || known < self.known {
            self.past.clear();
            self.ticks = 0;
        }
        self.known = known;
        let is_lesson = self.ticks.is_multiple_of(LESSON_TICKS);
        self.ticks = self.ticks.wrapping_add(1) % LESSON_TICKS;
        is_lesson
    }

    fn remember(&mut self, seen: PendingOutcome) {
        self.past.truncate(Self::PAST_MAX - 1);
        self.past.push_front(seen);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Body;

    const HORIZONS: [u32; 3] = [18, 54, 126];

    /// Plays a match of one player and returns the mean error at each horizon over its second half.
    fn play(predictor: &mut Adaptive, path: impl Fn(f64) -> Vec2, secs: usize) -> [f64; 3] {
        let at = |tick: usize| path(tick as f64 * TICK_SECS);
        let history: Vec<Body> = (1..secs * 60)
            .map(|tick| Body {
                position: at(tick),
                velocity: (at(tick) - at(tick - 1)) * 60.0,
                acceleration: Vec2::ZERO,
            })
            .collect();
        let mut errors = [0.0; 3];
        let mut scored = 0.0;
        for now in 1..history.len() {
            let known = Known { history: &history[..now], ..Known::default() };
            predictor.learn(0, &known);
            let mut positions = [Vec2::ZERO; 3];
            predictor.predict(0, &known, &HORIZONS, &mut positions).expect("always answers");
            if now > history.len() / 2 && now + 126 < history.len() {
                scored += 1.0;
                for (place, ticks) in HORIZONS.iter().enumerate() {
                    let truth = history[now - 1 + *ticks as usize].position;
                    errors[place] += (positions[place] - truth).length();
                }
            }
        }
        errors.map(|error| error / scored)
    }

    #[test]
    fn it_starts_as_the_line_and_stays_one_where_that_is_right() {
        let mut predictor = Adaptive::new(10.0, Objective::Mean);
        let errors = play(&mut predictor, |secs| Vec2::new(5.0 * secs, -3.0 * secs), 20);
        assert!(errors.iter().all(|error| *error < 1e-6), "{errors:?}");
    }

    #[test]
    fn it_learns_to_go_round() {
        let circle = |secs: f64| Vec2::new(libm::cos(1.5 * secs), libm::sin(1.5 * secs)) * 6.0;
        let errors = play(&mut Adaptive::new(10.0, Objective::Mean), circle, 60);
        // The line is off by 0.6, 5 and 20.
        assert!(errors[0] < 0.05 && errors[1] < 0.3 && errors[2] < 1.0, "{errors:?}");
    }

    #[test]
    fn it_learns_that_a_dodge_does_not_last() {
        // Left and right, four times a second, without getting anywhere.
        let dodge = |secs: f64| Vec2::new(0.3 * libm::sin(25.0 * secs), 0.0);
        let errors = play(&mut Adaptive::new(10.0, Objective::Mean), dodge, 60);
        assert!(errors.iter().all(|error| *error < 0.35), "{errors:?}");
    }

    #[test]
    fn a_new_life_does_not_teach_the_way_from_the_grave() {
        let mut predictor = Adaptive::new(10.0, Objective::Mean);
        let still = |x: f64| Body { position: Vec2::new(x, 0.0), ..Body::default() };
        let mut answers = Vec::new();
        for life in 0..50 {
            let history = vec![still(f64::from(life % 2) * 100.0); 200];
            for now in 1..=history.len() {
                let known = Known { history: &history[..now], ..Known::default() };
                predictor.learn(0, &known);
                let mut positions = [Vec2::ZERO; 3];
                predictor.predict(0, &known, &HORIZONS, &mut positions).expect("always answers");
                answers.push((positions[0] - history[0].position).length());
            }
        }
        assert!(answers.iter().all(|off| *off < 1e-6), "no player moved");
    }

    #[test]
    fn what_is_asked_between_knots_lies_between_them() {
        let mut predictor = Adaptive::new(10.0, Objective::Hits { radius: 1.0 });
        let history = [Body { velocity: Vec2::new(6.0, 0.0), ..Body::default() }];
        let known = Known { history: &history, ..Known::default() };
        let asked = [1, 6, 7, 100, 299, 300];
        let mut positions = [Vec2::ZERO; 6];
        predictor.predict(7, &known, &asked, &mut positions).expect("always answers");
        for (ticks, position) in asked.iter().zip(positions) {
            assert!((position.x - 0.1 * f64::from(*ticks)).abs() < 1e-9, "{ticks}: {position:?}");
        }
    }
}
