use crate::regression::{Regression, RegressionConfig};
use crate::{Body, TICK_SECS, TICKS_AHEAD_MAX};
use fairpath::vector::{Vec2, Vector};

use super::average::average;
use super::course::Course;
use super::outlook::{FEATURES, FOLLOW, Outlook, pace};
use super::{LapPart, LapShape, TrendLineError};

/// Times ahead for which weights are learned, in ticks. Between them weights are interpolated.
const KNOTS: [u32; 14] = [3, 6, 9, 12, 15, 18, 24, 36, 60, 90, 120, 180, 240, TICKS_AHEAD_MAX];

/// Maximum number of groups of laps. Each group is predicted by a line of the others.
const GROUPS_MAX: usize = 4;

/// Every fifth tick is learned from, because neighbouring ticks teach the same.
const LESSON_TICKS: usize = 5;
/// The first ticks of a lap are not learned from: they have no past to compare.
const FIRST_LESSON: usize = 15;

/// Weights of the vectors of an [`Outlook`] at each of the [`KNOTS`].
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Weights([[f64; FEATURES]; KNOTS.len()]);

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Learned {
    /// For a car whose past is known.
    pub(super) by_history: Weights,
    /// For a single DR vector.
    pub(super) by_vector: Weights,
}

impl Learned {
    /// Returns the best weights for these laps, each predicted by a line of the others.
    pub(super) fn from_laps(
        laps: &[&[LapPart<'_>]],
        shape: LapShape,
        smoothing: f64,
    ) -> Result<Self, TrendLineError> {
        let groups = laps.len().min(GROUPS_MAX);
        if groups < 2 {
            return Ok(Self { by_history: Weights::following(), by_vector: Weights::following() });
        }
        let scales = KNOTS.map(|ticks| straight_error(laps, ticks));
        let (mut by_history, mut by_vector) = (Lessons::new(&scales), Lessons::new(&scales));
        for group in 0..groups {
            let is_of_group = |number: &usize| number % groups == group;
            let others = (0..laps.len()).filter(|number| !is_of_group(number));
            let others: Vec<&[LapPart<'_>]> = others.map(|number| laps[number]).collect();
            let course = average(&others, shape, smoothing)?;
            for part in (0..laps.len()).filter(is_of_group).flat_map(|number| laps[number]) {
                by_history.take(&course, part, |history| history);
                by_vector.take(&course, part, |history| &history[history.len() - 1..]);
            }
        }
        Ok(Self { by_history: by_history.learned(), by_vector: by_vector.learned() })
    }
}

/// Weights while they are learned.
struct Lessons {
    /// Mean error of constant velocity at each knot: the unit of all other errors.
    scales: [f64; KNOTS.len()],
    regressions: [Regression<FEATURES>; KNOTS.len()],
}

impl Lessons {
    fn new(scales: &[f64; KNOTS.len()]) -> Self {
        let following = Weights::following();
        Self {
            scales: *scales,
            regressions: following
                .0
                .map(|weights| Regression::new(weights, 1.0, RegressionConfig::default())),
        }
    }

    /// Learns from a part of a lap; `seen` selects how much of its past is known.
    fn take(&mut self, course: &Course, part: &LapPart<'_>, seen: impl Fn(&[Body]) -> &[Body]) {
        let mut along = None;
        for tick in lessons(part, KNOTS[0]) {
            let history = seen(&part.known[..=tick]);
            let now = part.known[tick].position;
            let foot = course.foot(now, pace(history), along);
            along = Some(foot.along);
            let outlook = Outlook::new(course, foot, history);
            for ((ticks, scale), regression) in KNOTS.iter().zip(self.scales).zip(&mut self.regressions) {
                let Some(place) = part.places.get(tick + *ticks as usize) else { break };
                if scale > 0.0 {
                    let secs = f64::from(*ticks) * TICK_SECS;
                    let came = (*place - now - outlook.straight(secs)) * (1.0 / scale);
                    let features = outlook.features(secs).map(|feature| feature * (1.0 / scale));
                    regression.handle_lesson(&features, came);
                }
            }
        }
    }

    fn learned(self) -> Weights {
        Weights(self.regressions.map(|regression| regression.weights()))
    }
}

impl Weights {
    /// Returns weights that follow the line and nothing else.
    fn following() -> Self {
        let mut weights = [0.0; FEATURES];
        weights[FOLLOW] = 1.0;
        Self([weights; KNOTS.len()])
    }

    pub(super) fn displacement(&self, outlook: &Outlook<'_>, ticks: u32) -> Vec2 {
        let secs = f64::from(ticks) * TICK_SECS;
        let after = KNOTS.iter().position(|knot| *knot >= ticks).unwrap_or(KNOTS.len() - 1);
        let before = after.saturating_sub(1);
        let (from, to) = (KNOTS[before], KNOTS[after]);
        let share = if from < to {
            (f64::from(ticks) - f64::from(from)) / (f64::from(to) - f64::from(from))
        } else {
            0.0
        };
        let (from, to) = (&self.0[before], &self.0[after]);
        let mut sum = outlook.straight(secs);
        for ((feature, from), to) in outlook.features(secs).into_iter().zip(from).zip(to) {
            sum += feature * (from + (to - from) * share);
        }
        sum
    }
}

/// Returns the ticks of a part for which the place `ticks_ahead` later is known.
fn lessons(part: &LapPart<'_>, ticks_ahead: u32) -> impl Iterator<Item = usize> {
    (FIRST_LESSON..part.places.len().saturating_sub(ticks_ahead as usize)).step_by(LESSON_TICKS)
}

/// Returns the mean error of constant velocity: the unit of all other errors.
fn straight_error(laps: &[&[LapPart<'_>]], ticks: u32) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for part in laps.iter().copied().flatten() {
        for tick in lessons(part, ticks) {
            let now = part.known[tick];
            let straight = now.position + now.velocity * (f64::from(ticks) * TICK_SECS);
            sum += straight.distance(part.places[tick + ticks as usize]);
            count += 1.0;
        }
    }
    if count > 0.0 { sum / count } else { 0.0 }
}
