use super::ErrorIndexConfig;
use crate::time::SharedInstant;

/// Weight of fairness against mean error. Raised until the mean error exceeds `mean_max`. Where a
/// copy withheld from one receiver helps another, equal errors cost little. Where far receivers are
/// wrong whatever they are sent, equal errors mean that all are as wrong as they are. Which of the
/// two holds depends on how the entity moves, so it is measured: the mean error is compared with
/// that of sending to all receivers every k-th time, and held below
/// [`mean_max`](ErrorIndexConfig::mean_max) times that.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FairnessWeight {
    /// Logarithm of the learnt factor on the configured weight.
    learnt: f64,
    until: Option<SharedInstant>,
}

/// Immediate response to room in the mean error, as a power of e: a tenth of room adds half.
const RESPONSE: f64 = 5.0;
/// Permanent response per second, as a power of e. A tenth of room doubles the weight in a minute
/// or so: accounts are sums over minutes, and a faster response would only swing.
const LEARNING: f64 = 0.1;
/// Limits of learning: a twentieth of the configured weight, and five times.
const LEARNT: std::ops::RangeInclusive<f64> = -3.0..=1.5;
/// The largest room, positive or negative, that is learnt from.
const ROOM_MAX: f64 = 0.5;
/// Seconds for which the comparison counts less than half: a handful of DR vectors says nothing.
const WARM_UP_SECS: f64 = 5.0;

impl FairnessWeight {
    /// The weight, if the mean error is `times` that of sending to all receivers every k-th time.
    /// Metres of gain for each metre by which others are farther off on average.
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
