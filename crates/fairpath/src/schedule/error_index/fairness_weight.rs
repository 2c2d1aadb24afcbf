use super::ErrorIndexConfig;
use crate::time::SharedInstant;

/// How hard those who fare well are held back for the others: as hard as the mean error leaves room
/// for.
///
/// Where a copy withheld from one is of use to another, all can be treated alike for little. Where
/// the far are wrong whatever they are told, alike means that all are as wrong as they. Which of
/// the two it is depends on how the entity moves, so it is found out: the mean error is compared
/// with that of telling all every k-th time, and held below
/// [`mean_max`](ErrorIndexConfig::mean_max) times that.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FairnessWeight {
    /// The logarithm of what it has learnt, relative to the knob.
    learnt: f64,
    until: Option<SharedInstant>,
}

/// By which power of e it answers to room in the mean error: to a tenth of it by half as much
/// again.
const RESPONSE: f64 = 5.0;
/// The same, kept for good, for every second. A tenth of room becomes twice as hard in a minute or
/// so: accounts are sums over minutes, and what answers faster than they change only swings.
const LEARNING: f64 = 0.1;
/// Where learning ends: a twentieth of the knob, and five times.
const LEARNT: std::ops::RangeInclusive<f64> = -3.0..=1.5;
/// More room than this, or less, is no lesson.
const ROOM_MAX: f64 = 0.5;
/// So long the comparison counts less than half: a handful of DR vectors say nothing.
const WARM_UP_SECS: f64 = 5.0;

impl FairnessWeight {
    /// How hard, if the mean error is now so many times that of telling all every k-th time. Metres
    /// of gain for each metre by which others are farther off on average.
    pub(super) fn strength(
        &mut self,
        times: Option<f64>,
        account_secs: f64,
        now: SharedInstant,
        config: &ErrorIndexConfig,
    ) -> f64 {
        let sure = account_secs / (account_secs + WARM_UP_SECS);
        let room = times.map_or(0.0, |times| (config.mean_max - times) * sure).clamp(-ROOM_MAX, ROOM_MAX);
        let passed = self.until.map_or(0.0, |until| (now - until).as_secs_f64()).clamp(0.0, 1.0);
        self.until = Some(now);
        self.learnt = (self.learnt + LEARNING * room * passed).clamp(*LEARNT.start(), *LEARNT.end());
        config.fairness * libm::exp(self.learnt + RESPONSE * room)
    }
}
