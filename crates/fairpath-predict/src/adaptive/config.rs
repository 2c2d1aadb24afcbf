use crate::regression::RegressionConfig;

/// Every number in the adaptive predictor that was chosen by what works, but for
/// [`LESSON_TICKS`](super::LESSON_TICKS).
///
/// The defaults were chosen by hand, with six team recordings in view. `fairpath lab tune` chooses
/// by a rule, and says what its choice is worth on a recording that had no part in it: as much as
/// the defaults, within one or two per cent. All else follows from a rule or from Shi 2014: see the
/// module's documentation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdaptiveConfig {
    /// How many of its last lessons the regression remembers. Default 50 000, five minutes of eight
    /// players. Less would forget a player while he waits to respawn; far more never follows a
    /// change of mind.
    pub regression_lessons: f64,
    /// How little the regression believes its start, the line, in features' units squared (usual
    /// features are about 1). Default 10. At 0.1 it takes minutes to leave the line, at 1000
    /// its first answers are wild.
    pub regression_doubt: f64,
    /// Lessons that were nearer than this part of the usual error count alike. Default 0.2: one
    /// that was almost right counts five times the usual one. At 1 the regression minimises
    /// squares and follows a few wild jumps, at 0.01 it follows noise of measurement.
    pub regression_rightness: f64,
    /// How many of the last cases of a situation the gate remembers. Default 3000, some minutes.
    /// Too few and it follows chance, too many and it does not see that a player has changed
    /// weapons.
    pub gate_cases: f64,
    /// Until a situation was met this often, what is true everywhere counts more than what was seen
    /// in it. Default 100.
    pub common_cases: f64,
    /// Until a player was seen this often in a situation, everybody's experience counts more than
    /// his own. Default 300: habits show after a minute or so.
    pub others_cases: f64,
    /// How far a single neighbour's pull reaches, in seconds at top speed; it falls to 1/e. Default
    /// 0.6.
    pub neighbour_reach: f64,
    /// Turns are believed up to this, in radians per second. Default 8: beyond it they are the
    /// jitter of a standing player.
    pub turn_rate_max: f64,
    /// What a hit radius more of distance costs [who aims at hits](super::Objective::Hits), in
    /// hits. Default 0.1: ten radii are worth a hit. At 0, where nothing hits, a guess that is
    /// a little off is worth no more than one that is far off, and the mean error rises by up
    /// to a fifth; at 1 only distance counts.
    pub distance_in_hits: f64,
}

impl AdaptiveConfig {
    pub(super) fn regression(&self) -> RegressionConfig {
        RegressionConfig {
            lessons: self.regression_lessons,
            doubt: self.regression_doubt,
            rightness: self.regression_rightness,
        }
    }
}

impl Default for AdaptiveConfig {
    fn default() -> Self {
        let RegressionConfig { lessons, doubt, rightness } = RegressionConfig::default();
        Self {
            regression_lessons: lessons,
            regression_doubt: doubt,
            regression_rightness: rightness,
            gate_cases: 3000.0,
            common_cases: 100.0,
            others_cases: 300.0,
            neighbour_reach: 0.6,
            turn_rate_max: 8.0,
            distance_in_hits: 0.1,
        }
    }
}
