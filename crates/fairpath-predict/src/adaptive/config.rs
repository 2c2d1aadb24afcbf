use crate::regression::RegressionConfig;

/// The tuned numbers of the adaptive predictor, except `LESSON_TICKS` of `adaptive/mod.rs`.
///
/// The defaults were chosen by hand on six team recordings. `fairpath lab tune` chooses by a rule
/// and measures its choice on a recording left out: it does as well as the defaults, within one or
/// two per cent. All other numbers follow from a rule or from Shi 2014: see the comments in
/// `adaptive/mod.rs`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdaptiveConfig {
    /// Number of recent samples that the regression remembers. Default 50 000, five minutes of
    /// eight players. Fewer, and it forgets a player during a respawn; far more, and it never
    /// follows a change of habit.
    pub regression_lessons: f64,
    /// How uncertain the regression's start, the line, is, in features' units squared (typical
    /// features are about 1). Default 10. At 0.1 it takes minutes to leave the line; at 1000 its
    /// first answers are wild.
    pub regression_doubt: f64,
    /// Errors below this part of the typical error count alike. Default 0.2: a sample that was
    /// almost right counts five times a typical one. At 1 the regression minimises squares and
    /// follows a few wild jumps; at 0.01 it follows measurement noise.
    pub regression_rightness: f64,
    /// Number of recent cases per situation that the gate remembers. Default 3000, some minutes.
    /// Too few, and it follows chance; too many, and it misses that a player has changed weapons.
    pub gate_cases: f64,
    /// Number of cases of a situation from which its own mean counts more than the mean of all
    /// situations. Default 100.
    pub common_cases: f64,
    /// Number of cases of a player in a situation from which the player's own mean counts more than
    /// the mean of all players. Default 300: habits show after about a minute.
    pub others_cases: f64,
    /// Distance where the nearest neighbour weighs 1/e, in seconds at top speed. Default 0.6.
    pub neighbour_reach: f64,
    /// Maximum turn rate, in radians per second. Default 8: a standing player jitters faster.
    pub turn_rate_max: f64,
    /// Cost of one hit radius of distance for [`Objective::Hits`](super::Objective::Hits), in hits.
    /// Default 0.1: ten radii cost one missed hit. At 0, where nothing hits, a near miss costs as
    /// much as a far one, and the mean error rises by up to a fifth; at 1 only distance counts.
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
