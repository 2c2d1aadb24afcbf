use std::collections::BTreeMap;
use std::f64::consts::TAU;

use fairpath::vector::{Vec2, Vector};
use fairpath_predict::{Known, Missing, Predictor, TICK_SECS};

use super::{HORIZONS, PathThrough};

/// Dead reckoning, or the path that players most often took from here, whichever is to be trusted:
/// after Delaney 2003, whose statistical model needs races to a common goal.
///
/// It learns during a match: what players did next in a cell of the ground with a heading. Where
/// enough of them came by and did about the same, their mean displacement is the answer, elsewhere
/// the line. When that is so was chosen on matches of our own bots.
#[derive(Clone, Debug)]
pub struct CommonPath {
    config: CommonPathConfig,
    top_speed: f64,
    habits: BTreeMap<Place, [Habit; HORIZONS.len()]>,
    subjects: Vec<Vec<Visit>>,
}

/// When the common path is trusted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CommonPathConfig {
    /// The side of a cell, in seconds at top speed. Smaller cells tell paths better apart, and more
    /// players must have come by before one is known.
    pub cell_secs: f64,
    /// How many must have come by.
    pub visits_min: u32,
    /// How far apart they may have ended, as a share of how far the fastest could have come.
    pub spread_max: f64,
}

impl Default for CommonPathConfig {
    fn default() -> Self {
        Self { cell_secs: 0.3, visits_min: 5, spread_max: 0.2 }
    }
}

/// What is tried for each parameter.
pub(super) const CHOICES: [CommonPathConfig; 8] = {
    let of = CommonPathConfig::of;
    [
        of(0.15, 3, 0.1),
        of(0.15, 3, 0.3),
        of(0.15, 10, 0.1),
        of(0.15, 10, 0.3),
        of(0.3, 3, 0.1),
        of(0.3, 3, 0.3),
        of(0.3, 10, 0.1),
        of(0.3, 10, 0.3),
    ]
};

impl CommonPathConfig {
    const fn of(cell_secs: f64, visits_min: u32, spread_max: f64) -> Self {
        Self { cell_secs, visits_min, spread_max }
    }
}

/// A cell and one of eight headings, or none for a player that stands.
type Place = (i32, i32, u8);

/// What players did next, over one horizon.
#[derive(Clone, Copy, Debug, Default)]
struct Habit {
    count: f64,
    sum: Vec2,
    squares: f64,
}

/// A tick of a subject whose outcome is not yet known at all horizons.
#[derive(Clone, Copy, Debug)]
struct Visit {
    position: Vec2,
    place: Place,
}

/// The most places that are remembered, which bounds the memory to about 20 MB.
const PLACES_MAX: usize = 1 << 16;
const SUBJECTS_MAX: usize = 1 << 10;
const PAST_LEN: usize = HORIZONS[HORIZONS.len() - 1] as usize;
/// A player slower than this, in top speeds, stands.
const STANDS: f64 = 0.05;

impl CommonPath {
    pub fn new(config: CommonPathConfig, top_speed: f64) -> Self {
        Self { config, top_speed, habits: BTreeMap::new(), subjects: Vec::new() }
    }

    fn place(&self, known: &Known<'_>) -> Place {
        let newest = known.newest();
        let cell = newest.position * (1.0 / (self.config.cell_secs * self.top_speed));
        let heading = if newest.velocity.length() < STANDS * self.top_speed {
            8
        } else {
            (newest.velocity.heading().rem_euclid(TAU) / TAU * 8.0).round() as u8 % 8
        };
        (cell.x.floor() as i32, cell.y.floor() as i32, heading)
    }
}

impl Habit {
    /// The mean displacement, if the players who came by did about the same.
    fn mean(&self, config: &CommonPathConfig, reach: f64) -> Option<Vec2> {
        if self.count < f64::from(config.visits_min) {
            return None;
        }
        let mean = self.sum * (1.0 / self.count);
        let spread = (self.squares / self.count - mean.length_squared()).max(0.0).sqrt();
        (spread <= config.spread_max * reach).then_some(mean)
    }
}

impl Predictor for CommonPath {
    fn name(&self) -> &str {
        "common path"
    }

    fn learn(&mut self, subject: usize, known: &Known<'_>) {
        if subject >= SUBJECTS_MAX || !known.newest().is_finite() {
            return;
        }
        if self.subjects.len() <= subject {
            self.subjects.resize_with(subject + 1, Vec::new);
        }
        let visit = Visit { position: known.newest().position, place: self.place(known) };
        let past = &mut self.subjects[subject];
        if known.history.len() <= past.len() {
            past.clear();
        }
        for (horizon, ticks) in HORIZONS.iter().enumerate() {
            let Some(then) = past.len().checked_sub(*ticks as usize).map(|ago| past[ago]) else { continue };
            if !self.habits.contains_key(&then.place) && self.habits.len() >= PLACES_MAX {
                continue;
            }
            let habit = &mut self.habits.entry(then.place).or_default()[horizon];
            let displacement = visit.position - then.position;
            habit.count += 1.0;
            habit.sum += displacement;
            habit.squares += displacement.length_squared();
        }
        if past.len() == PAST_LEN {
            past.remove(0);
        }
        past.push(visit);
    }

    fn predict(
        &mut self,
        _subject: usize,
        known: &Known<'_>,
        ticks: &[u32],
        positions: &mut [Vec2],
    ) -> Result<(), Missing> {
        let newest = known.newest();
        let habits = self.habits.get(&self.place(known));
        let displacement = |horizon: usize| {
            let secs = f64::from(HORIZONS[horizon]) * TICK_SECS;
            let common = habits.and_then(|habits| habits[horizon].mean(&self.config, secs * self.top_speed));
            common.unwrap_or(newest.velocity * secs)
        };
        let mut path = PathThrough::default();
        for (tick, position) in ticks.iter().zip(positions) {
            *position = newest.position + path.at(*tick, displacement);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairpath_predict::Body;

    /// A corner that all take: straight for a second, then left.
    fn lap() -> Vec<Body> {
        let position = |tick: f64| {
            if tick < 60.0 { Vec2::new(5.0 * tick, 0.0) } else { Vec2::new(300.0, 5.0 * (tick - 60.0)) }
        };
        let body = |tick: i32| {
            let (now, before) = (position(f64::from(tick)), position(f64::from(tick) - 1.0));
            Body { position: now, velocity: (now - before) * 60.0, ..Body::default() }
        };
        (0..200).map(body).collect()
    }

    #[test]
    fn a_corner_that_all_take_is_foreseen_after_a_few() {
        let config = CommonPathConfig { visits_min: 10, ..CommonPathConfig::default() };
        let mut predictor = CommonPath::new(config, 300.0);
        let lap = lap();
        let mut ahead = |lessons: usize| {
            for subject in 0..lessons {
                for tick in 1..=lap.len() {
                    predictor.learn(subject, &Known { history: &lap[..tick], ..Known::default() });
                }
            }
            let mut positions = [Vec2::ZERO];
            let known = Known { history: &lap[..40], ..Known::default() };
            predictor.predict(9, &known, &[72], &mut positions).unwrap();
            positions[0].distance(lap[39 + 72].position)
        };
        let (before, after) = (ahead(0), ahead(4));
        assert!(before > 200.0, "the line goes straight on: {before}");
        assert!(after < 60.0, "the others went round the corner: {after}");
    }

    #[test]
    fn a_jump_is_no_path() {
        let mut predictor = CommonPath::new(CommonPathConfig::default(), 300.0);
        let lap = lap();
        for tick in 1..=100 {
            predictor.learn(0, &Known { history: &lap[..tick], ..Known::default() });
        }
        let learned = |predictor: &CommonPath| {
            predictor.habits.values().flatten().map(|habit| habit.count).sum::<f64>()
        };
        let before = learned(&predictor);
        let far = [Body { position: Vec2::new(9e3, 9e3), ..Body::default() }];
        predictor.learn(0, &Known { history: &far, ..Known::default() });
        assert_eq!(learned(&predictor), before);
    }
}
