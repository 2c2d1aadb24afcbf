//! Learned predictors of the literature that Shi 2014 compares with in words, as comparators: none
//! of their own code or data was at hand, so these are our reconstructions.
//!
//! - [`Network`]: a bank of small neural networks that predict changes of velocity, after
//!   McCoy 2007
//! - [`Rules`]: a fuzzy inference system whose conclusions are learned, after Hakiri 2010
//! - [`CommonPath`]: dead reckoning, or the path most often taken from here, after Delaney 2003
//! - [`Taught`]: how they are taught: by matches of our own bots only, seeded
//!
//! What was taught is in `taught.txt`, which `fairpath lab teach` writes. The predictors are told
//! the top speed of the data, in which all lengths are counted, and see a player in a frame that
//! is turned to its velocity: a turned or scaled match is predicted alike.

mod common_path;
mod network;
mod rules;
mod teach;

pub use common_path::{CommonPath, CommonPathConfig};
pub use network::Network;
pub use rules::Rules;
pub use teach::{LESSON_TICKS, NotTaught, Taught, lessons_of, own_matches};

use fairpath::vector::{Vec2, Vector};
use fairpath_predict::{Known, Missing, Predictor, Relation, TICK_SECS};

/// Ticks ahead for which something is learned: Shi 2014's delays, one nearer and the farthest.
pub const HORIZONS: [u32; 9] = [6, 18, 36, 54, 72, 90, 108, 126, 300];
/// Ticks over which velocities are averaged.
const SPANS: [usize; 4] = [6, 15, 30, 60];
/// Speed, acceleration, mean velocities, the friends' centre and the nearest enemy.
pub const INPUTS: usize = 1 + 2 + 2 * SPANS.len() + 4;
/// What an input may be at most, to either side. Lengths are in seconds at top speed.
const INPUT_MAX: f64 = 3.0;

/// A player as a learned predictor sees it: turned so that it moves along x.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    pub inputs: [f64; INPUTS],
    ahead: Vec2,
    top_speed: f64,
}

/// One question with its answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lesson {
    pub inputs: [f64; INPUTS],
    /// Mean velocity up to the horizon less the last known one, turned, in top speeds.
    pub change: [f64; 2],
}

/// Predicts how a player's mean velocity up to each of [`HORIZONS`] differs from its last one.
pub trait Bank: Clone + std::fmt::Debug + Send {
    const NAME: &'static str;

    fn change(&self, horizon: usize, inputs: &[f64; INPUTS]) -> [f64; 2];
}

/// A predictor from a bank.
#[derive(Clone, Debug)]
pub struct BankPredictor<B> {
    bank: B,
    top_speed: f64,
}

impl<B: Bank> BankPredictor<B> {
    pub fn new(bank: B, top_speed: f64) -> Self {
        Self { bank, top_speed }
    }
}

impl Seen {
    pub fn of(known: &Known<'_>, top_speed: f64) -> Self {
        let newest = known.newest();
        let direction = newest.velocity.normalize_or_zero();
        let ahead = if direction == Vec2::ZERO { Vec2::new(1.0, 0.0) } else { direction };
        let mut seen = Self { inputs: [0.0; INPUTS], ahead, top_speed };
        let mut inputs = vec![newest.velocity.length() / top_speed];
        // Over a tenth of a second: what it does to the velocity in the time of a key press.
        inputs.extend(seen.turned(newest.acceleration * 0.1));
        let (_, past) = known.history.split_last().unwrap_or((&newest, &[]));
        for span in SPANS {
            let span = span.min(past.len());
            let mean = match past.len().checked_sub(span).and_then(|from| past.get(from)) {
                Some(before) => (newest.position - before.position) * (1.0 / (span as f64 * TICK_SECS)),
                None => newest.velocity,
            };
            inputs.extend(seen.turned(mean - newest.velocity));
        }
        let offsets = |relation: Relation| {
            let others = known.others.iter().filter(move |other| other.relation == relation);
            others.map(|other| other.body.position - newest.position)
        };
        let friends = offsets(Relation::Friend).fold((0.0, Vec2::ZERO), |(n, sum), at| (n + 1.0, sum + at));
        inputs.extend(seen.turned(friends.1 * (1.0 / f64::max(friends.0, 1.0))));
        let nearest = offsets(Relation::Enemy)
            .min_by(|one, other| one.length_squared().total_cmp(&other.length_squared()));
        inputs.extend(seen.turned(nearest.unwrap_or(Vec2::ZERO)));
        for (input, value) in seen.inputs.iter_mut().zip(inputs) {
            *input = if value.is_finite() { value.clamp(-INPUT_MAX, INPUT_MAX) } else { 0.0 };
        }
        seen
    }

    /// A vector of the world along the motion and across it, in top speeds.
    fn turned(&self, vector: Vec2) -> [f64; 2] {
        [vector.dot(self.ahead) / self.top_speed, vector.dot(self.ahead.perpendicular()) / self.top_speed]
    }

    fn turned_back(&self, [along, across]: [f64; 2]) -> Vec2 {
        (self.ahead * along + self.ahead.perpendicular() * across) * self.top_speed
    }
}

impl<B: Bank> Predictor for BankPredictor<B> {
    fn name(&self) -> &str {
        B::NAME
    }

    fn predict(
        &mut self,
        _subject: usize,
        known: &Known<'_>,
        ticks: &[u32],
        positions: &mut [Vec2],
    ) -> Result<(), Missing> {
        let newest = known.newest();
        let seen = Seen::of(known, self.top_speed);
        let displacement = |horizon: usize| {
            let secs = f64::from(HORIZONS[horizon]) * TICK_SECS;
            (newest.velocity + seen.turned_back(self.bank.change(horizon, &seen.inputs))) * secs
        };
        let mut path = PathThrough::default();
        for (tick, position) in ticks.iter().zip(positions) {
            *position = newest.position + path.at(*tick, displacement);
        }
        Ok(())
    }
}

/// Displacements between horizons, on straight lines. Asked for ascending ticks.
#[derive(Clone, Copy, Debug, Default)]
struct PathThrough {
    next: usize,
    near: (u32, Vec2),
    far: (u32, Vec2),
}

impl PathThrough {
    fn at(&mut self, tick: u32, displacement: impl Fn(usize) -> Vec2) -> Vec2 {
        while self.far.0 < tick && self.next < HORIZONS.len() {
            (self.near, self.far) = (self.far, (HORIZONS[self.next], displacement(self.next)));
            self.next += 1;
        }
        if self.far.0 == self.near.0 {
            return self.near.1;
        }
        let share = f64::from(tick.saturating_sub(self.near.0)) / f64::from(self.far.0 - self.near.0);
        self.near.1 * (1.0 - share) + self.far.1 * share
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairpath_predict::{Body, Other};

    fn turned(vector: Vec2, by: f64) -> Vec2 {
        let ahead = Vec2::from_heading(by);
        ahead * vector.x + ahead.perpendicular() * vector.y
    }

    fn walk(by: f64, scale: f64) -> Vec<Body> {
        let position = |tick: f64| turned(Vec2::new(3.0 * tick, 0.02 * tick * tick) * scale, by);
        let body = |tick: i32| Body {
            position: position(f64::from(tick)),
            velocity: (position(f64::from(tick)) - position(f64::from(tick) - 1.0)) * 60.0,
            acceleration: turned(Vec2::new(0.0, 144.0 * scale), by),
        };
        (0..90).map(body).collect()
    }

    fn enemy(by: f64, scale: f64) -> Other {
        Other {
            relation: Relation::Enemy,
            body: Body { position: turned(Vec2::new(400.0, 50.0) * scale, by), ..Body::default() },
            ticks_ago: 0,
            condition: fairpath_predict::Condition::default(),
        }
    }

    /// Every learned predictor answers for a turned and scaled match as for the original.
    #[test]
    fn a_turned_and_scaled_match_is_predicted_alike() {
        let answers = |by: f64, scale: f64| {
            let (history, others) = (walk(by, scale), [enemy(by, scale)]);
            let known = Known { history: &history, others: &others, ..Known::default() };
            let mut positions = [Vec2::ZERO; 4];
            let mut all = Vec::new();
            let taught = Taught::shipped();
            let top_speed = 360.0 * scale;
            let predictors: [Box<dyn Predictor>; 2] = [
                Box::new(BankPredictor::new(taught.networks.clone(), top_speed)),
                Box::new(BankPredictor::new(taught.rules.clone(), top_speed)),
            ];
            for mut predictor in predictors {
                predictor.predict(0, &known, &[1, 18, 77, 300], &mut positions).unwrap();
                all.extend(positions.map(|position| turned(position, -by) * (1.0 / scale)));
            }
            all
        };
        let (original, other) = (answers(0.0, 1.0), answers(2.0, 0.03));
        assert!(original.iter().all(|position| position.is_finite()));
        for (one, other) in original.iter().zip(&other) {
            assert!(one.distance(*other) < 1e-6, "{one:?} {other:?}");
        }
    }

    #[test]
    fn between_horizons_the_path_is_straight_and_passes_through_them() {
        let mut path = PathThrough::default();
        let displacement = |horizon: usize| Vec2::new(f64::from(HORIZONS[horizon]), horizon as f64);
        assert_eq!(path.at(3, displacement), Vec2::new(3.0, 0.0));
        assert_eq!(path.at(18, displacement), Vec2::new(18.0, 1.0));
        assert_eq!(path.at(27, displacement), Vec2::new(27.0, 1.5));
        assert_eq!(path.at(300, displacement), Vec2::new(300.0, 8.0));
    }
}
