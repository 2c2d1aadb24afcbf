use std::collections::VecDeque;

use super::steady::Steady;
use fairpath::time::{LocalInstant, Span};

/// Chooses how far in the past to show other players, so that the states needed to show them have
/// arrived. It follows the jitter.
///
/// The delay covers a chosen share of the last [`SAMPLES_MAX`] packet delays. When packet delays
/// grow it follows at once, because otherwise guesses would be shown. When they shrink it follows
/// slowly, because time on the screen runs faster meanwhile.
///
/// ```
/// use fairpath_compensate::{AdaptiveDelay, AdaptiveDelayConfig};
/// use fairpath::time::{LocalInstant, Span};
///
/// let mut delay = AdaptiveDelay::new(AdaptiveDelayConfig::default());
/// for packet in 0..100 {
///     let took = Span::from_millis(60 + packet % 20); // 60 to 79 ms
///     delay.observe(LocalInstant::from_millis(33 * packet), took);
/// }
/// assert_eq!(delay.delay(), Span::from_millis(79));
/// ```
#[derive(Clone, Debug)]
pub struct AdaptiveDelay {
    config: AdaptiveDelayConfig,
    clock: Steady,
    last: Option<LocalInstant>,
    delay: Span,
    in_order: VecDeque<Span>,
    sorted: Vec<Span>,
}

/// The number of packet delays considered. 128: four seconds at 30 packets a second. Fewer, and a
/// share of 98 % is the worst of a handful; more, and a spike is paid for too long.
pub const SAMPLES_MAX: usize = 128;

/// Configuration of an [`AdaptiveDelay`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdaptiveDelayConfig {
    /// The share of packets that should arrive in time. Default 0.98. Lower, and other players
    /// stutter; at 1 a single late packet in the window decides.
    pub share: f64,
    /// Added to the delay: the time between packets, so that there is always one after the instant
    /// shown. Default 0; with 30 packets a second, 33 ms.
    pub spare: Span,
    /// Minimum delay. Default 0.
    pub least: Span,
    /// Maximum delay. Beyond it a few guesses are better than an old world. Default 500 ms.
    pub most: Span,
    /// How fast the delay shrinks, in seconds per second. Default 0.05: other players move 5 % too
    /// fast meanwhile, which is not visible; 100 ms too much are gone after two seconds.
    pub shrink: f64,
}

impl Default for AdaptiveDelayConfig {
    fn default() -> Self {
        Self { share: 0.98, spare: Span::ZERO, least: Span::ZERO, most: Span::from_millis(500), shrink: 0.05 }
    }
}

impl AdaptiveDelay {
    /// Creates one without samples.
    pub fn new(config: AdaptiveDelayConfig) -> Self {
        Self {
            config,
            clock: Steady::default(),
            last: None,
            delay: config.least,
            in_order: VecDeque::with_capacity(SAMPLES_MAX),
            sorted: Vec::with_capacity(SAMPLES_MAX),
        }
    }

    /// Adds the delay of a packet that arrived at `now`: arrival minus described instant.
    ///
    /// For use with [`Interpolation`](super::Interpolation) the clocks need not agree: their
    /// difference is part of every delay.
    pub fn observe(&mut self, now: LocalInstant, took: Span) {
        self.remember(took);
        let wanted = (self.quantile() + self.config.spare).max(self.config.least).min(self.config.most);
        let now = self.clock.advance(now);
        let elapsed = self.last.replace(now).map_or(Span::ZERO, |last| now - last);
        self.delay = wanted.max(self.delay - elapsed.scaled(self.config.shrink));
    }

    /// Returns how far in the past to show other players now.
    pub fn delay(&self) -> Span {
        self.delay
    }

    fn remember(&mut self, took: Span) {
        if self.in_order.len() == SAMPLES_MAX
            && let Some(oldest) = self.in_order.pop_front()
            && let Ok(place) = self.sorted.binary_search(&oldest)
        {
            self.sorted.remove(place);
        }
        self.in_order.push_back(took);
        self.sorted.insert(self.sorted.partition_point(|sample| *sample < took), took);
    }

    fn quantile(&self) -> Span {
        let rank = (self.config.share.clamp(0.0, 1.0) * self.sorted.len() as f64).ceil() as usize;
        self.sorted.get(rank.max(1) - 1).copied().unwrap_or(Span::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: i64) -> Span {
        Span::from_millis(millis)
    }

    #[test]
    fn it_grows_at_once_and_shrinks_slowly() {
        let mut delay =
            AdaptiveDelay::new(AdaptiveDelayConfig { share: 1.0, ..AdaptiveDelayConfig::default() });
        let mut now = LocalInstant::ZERO;
        let mut feed = |delay: &mut AdaptiveDelay, count: usize, took: Span| {
            for _ in 0..count {
                now += ms(10);
                delay.observe(now, took);
            }
            delay.delay()
        };
        assert_eq!(feed(&mut delay, 200, ms(50)), ms(50));
        assert_eq!(feed(&mut delay, 1, ms(150)), ms(150));
        assert_eq!(feed(&mut delay, SAMPLES_MAX - 1, ms(50)), ms(150), "it is still among the last");
        assert_eq!(feed(&mut delay, 100, ms(50)), ms(100), "5 % of a second");
        assert_eq!(feed(&mut delay, 1_000, ms(50)), ms(50));
    }

    #[test]
    fn a_few_late_ones_are_left_behind_and_nonsense_is_bounded() {
        let mut delay = AdaptiveDelay::new(AdaptiveDelayConfig::default());
        for packet in 0..100 {
            let took = if packet % 64 == 1 { ms(400) } else { ms(50) };
            delay.observe(LocalInstant::from_millis(packet), took);
        }
        assert_eq!(delay.sorted.len(), 100);
        assert_eq!(delay.quantile(), ms(50), "two in a hundred");
        for _ in 0..1_000 {
            delay.observe(LocalInstant::from_millis(200), Span::MAX);
        }
        assert_eq!(delay.delay(), ms(500));
        assert_eq!(delay.sorted.len(), SAMPLES_MAX);
    }
}
