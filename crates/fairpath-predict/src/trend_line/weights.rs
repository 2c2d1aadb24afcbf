use crate::regression::{Regression, RegressionConfig};
use crate::{Body, TICK_SECS, TICKS_AHEAD_MAX};
use fairpath::vector::{Vec2, Vector};

use super::average::average;
use super::course::Course;
use super::outlook::{FEATURES, FOLLOW, Outlook, pace};
use super::{LapPart, LapShape, TrendLineError};

/// For how far ahead weights are learned, in ticks; between these they change evenly.
const KNOTS: [u32; 14] = [3, 6, 9, 12, 15, 18, 24, 36, 60, 90, 120, 180, 240, TICKS_AHEAD_MAX];

/// Laps are dealt to at most this many groups, each to be predicted by a line of the others.
const GROUPS_MAX: usize = 4;

/// Lessons come from every fifth tick: neighbouring ones teach the same.
const LESSON_TICKS: usize = 5;
/// The first ticks of a lap teach nothing: there is no past to compare.
const FIRST_LESSON: usize = 15;

/// What the vectors of an [`Outlook`] are worth at each of the [`KNOTS`].
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Weights([[f64; FEATURES]; KNOTS.len()]);

/// Weights for both kinds of knowledge.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Learned {
    /// For whoever has seen the car for a while.
    pub(super) by_history: Weights,
    /// For whoever has a single DR vector.
    pub(super) by_vector: Weights,
}

impl Learned {
    /// Those that would have been best for these laps, each of them predicted by a line of others.
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

/// Weights while they are being learned.
struct Lessons {
    /// How wrong the plain line is at each knot: the measure of everything else.
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

    /// Learns from a part of a lap, of whose past so much is `seen`.
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
    /// Follows the line and nothing else.
    fn following() -> Self {
        let mut weights = [0.0; FEATURES];
        weights[FOLLOW] = 1.0;
        Self([weights; KNOTS.len()])
    }

    /// How far somebody comes in so many ticks.
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

/// From which ticks of a part it is known where the car was so many ticks later.
fn lessons(part: &LapPart<'_>, ticks_ahead: u32) -> impl Iterator<Item = usize> {
    (FIRST_LESSON..part.places.len().saturating_sub(ticks_ahead as usize)).step_by(LESSON_TICKS)
}

/// How wrong the plain line usually is: the measure of everything else.
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
