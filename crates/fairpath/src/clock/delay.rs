use crate::time::Span;

/// Estimates the one-way delay to a peer from the delays that the peer reports: mean and deviation,
/// averaged as TCP does for its retransmission timer (RFC 6298).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DelayEstimate {
    moments: Option<Moments>,
}

/// In fractional microseconds: integers would stop moving by eighths.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Moments {
    mean: f64,
    deviation: f64,
}

impl DelayEstimate {
    /// The least delay believed. A negative delay shows the error of two clocks; an error above one
    /// second starts a new clock epoch instead.
    pub const MIN: Span = Span::from_secs(-1);
    /// The greatest delay believed: longer than that of any supported link, so that one absurd
    /// report moves the mean by at most an eighth of it.
    pub const MAX: Span = Span::from_secs(10);
    /// Weight of a new delay in the mean (RFC 6298, alpha).
    const MEAN_GAIN: f64 = 1.0 / 8.0;
    /// Weight of a new distance from the mean in the deviation (RFC 6298, beta).
    const DEVIATION_GAIN: f64 = 1.0 / 4.0;
    /// Deviations above the mean that make a high delay (RFC 6298, K).
    const HIGH_DEVIATIONS: f64 = 4.0;

    /// Adds one measured one-way delay. It may be negative because of clock error. A delay outside
    /// [`MIN`](Self::MIN) to [`MAX`](Self::MAX) is clamped.
    pub fn handle_sample(&mut self, delay: Span) {
        let delay = delay.clamp(Self::MIN, Self::MAX).as_micros() as f64;
        self.moments = Some(match self.moments {
            None => Moments { mean: delay, deviation: 0.5 * delay.abs() },
            Some(old) => Moments {
                mean: old.mean + Self::MEAN_GAIN * (delay - old.mean),
                deviation: old.deviation + Self::DEVIATION_GAIN * ((delay - old.mean).abs() - old.deviation),
            },
        });
    }

    /// Returns the expected delay, or `None` before the first sample.
    #[inline]
    pub fn mean(&self) -> Option<Span> {
        self.moments.map(|moments| micros(moments.mean))
    }

    /// Returns the mean distance from the mean, or `None` before the first sample.
    pub fn deviation(&self) -> Option<Span> {
        self.moments.map(|moments| micros(moments.deviation))
    }

    /// Returns a delay that is seldom exceeded: the mean plus four deviations.
    pub fn high(&self) -> Option<Span> {
        self.moments.map(|moments| micros(moments.mean + Self::HIGH_DEVIATIONS * moments.deviation))
    }
}

/// Rounds to the nearest microsecond. Delays are bounded, so truncation is enough: this runs for
/// every receiver at every trigger, and `round` is a call on some processors.
fn micros(micros: f64) -> Span {
    Span::from_micros((micros + 0.5f64.copysign(micros)) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(delays_ms: impl IntoIterator<Item = i64>) -> DelayEstimate {
        let mut estimate = DelayEstimate::default();
        for delay in delays_ms {
            estimate.handle_sample(Span::from_millis(delay));
        }
        estimate
    }

    #[test]
    fn nothing_is_known_before_the_first() {
        assert_eq!(after([]).mean(), None);
        assert_eq!(after([]).high(), None);
    }

    #[test]
    fn the_first_sets_the_mean_and_half_of_it_as_deviation() {
        assert_eq!(after([100]).mean(), Some(Span::from_millis(100)));
        assert_eq!(after([100]).deviation(), Some(Span::from_millis(50)));
        assert_eq!(after([100]).high(), Some(Span::from_millis(300)));
    }

    #[test]
    fn the_second_moves_them_by_an_eighth_and_a_quarter() {
        let two = after([100, 180]);
        assert_eq!(two.mean(), Some(Span::from_millis(110)));
        assert_eq!(two.deviation(), Some(Span::from_micros(57_500)), "50 + (80 − 50) / 4");
    }

    #[test]
    fn a_steady_delay_is_learnt_whatever_came_before() {
        let steady = after([900].into_iter().chain(std::iter::repeat_n(-3, 200)));
        assert_eq!(steady.mean(), Some(Span::from_millis(-3)), "negative by clock error, and so be it");
        assert_eq!(steady.deviation(), Some(Span::ZERO));
    }

    #[test]
    fn absurd_samples_are_bounded() {
        let mut estimate = after([50]);
        estimate.handle_sample(Span::MAX);
        assert!(estimate.mean() < Some(Span::from_millis(1_400)));
        estimate.handle_sample(Span::from_micros(i64::MIN));
        assert!(estimate.mean() > Some(DelayEstimate::MIN) && estimate.high() > estimate.mean());
    }
}
