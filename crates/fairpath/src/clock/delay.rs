use crate::time::Span;

/// How long messages take to one peer: mean and deviation, averaged as TCP does for its
/// retransmission timer (RFC 6298), from the one-way delays that the peer feeds back.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DelayEstimate {
    moments: Option<Moments>,
}

/// In microseconds, with their fractions: whole ones would stop moving an eighth at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Moments {
    mean: f64,
    deviation: f64,
}

impl DelayEstimate {
    /// The least delay that is believed. A message that seems to arrive before it was sent shows
    /// the error of two clocks, and more than a second of that is a new clock epoch, not a
    /// delay.
    pub const MIN: Span = Span::from_secs(-1);
    /// The greatest delay that is believed: longer than any link we promise to serve, so one absurd
    /// report cannot move the mean by more than an eighth of this.
    pub const MAX: Span = Span::from_secs(10);
    /// Weight of a new delay in the mean (RFC 6298, alpha).
    const MEAN_GAIN: f64 = 1.0 / 8.0;
    /// Weight of a new distance from the mean in the deviation (RFC 6298, beta).
    const DEVIATION_GAIN: f64 = 1.0 / 4.0;
    /// How many deviations above the mean count as high (RFC 6298, K).
    const HIGH_DEVIATIONS: f64 = 4.0;

    /// Takes in one measured one-way delay. It may be negative by the error of the clocks; outside
    /// [`MIN`](Self::MIN) to [`MAX`](Self::MAX) it counts as the nearest of these.
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

    /// The delay to expect, or nothing before the first sample.
    #[inline]
    pub fn mean(&self) -> Option<Span> {
        self.moments.map(|moments| micros(moments.mean))
    }

    /// The mean distance from the mean.
    pub fn deviation(&self) -> Option<Span> {
        self.moments.map(|moments| micros(moments.deviation))
    }

    /// A delay that is seldom exceeded: the mean and four deviations.
    pub fn high(&self) -> Option<Span> {
        self.moments.map(|moments| micros(moments.mean + Self::HIGH_DEVIATIONS * moments.deviation))
    }
}

/// To the nearest microsecond. Delays are bounded, so a truncation will do: it is asked for every
/// receiver at every trigger, and `round` is a call where the processor has no instruction for it.
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
