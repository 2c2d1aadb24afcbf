use std::fmt;
use std::ops::Range;

use fairpath::time::{SharedInstant, Span};

use super::loss::Loss;
use super::rtt_trace::RttTrace;

/// What one direction of a link does to packets. The default delivers every packet at once.
///
/// All effects compose. A packet meets them in this order: a partition, the bottleneck and its
/// queue, loss (chosen, random, from the trace), delay (constant + half the traced round trip +
/// jitter, together never below zero), reordering, duplication.
///
/// ```
/// use fairpath::time::Span;
/// use fairpath_sim::{LinkConfig, Loss};
///
/// let train = LinkConfig::default()
///     .delay(Span::from_millis(60))
///     .jitter_normal(Span::from_millis(15))
///     .keep_order(true)
///     .loss(Loss::bursts(0.03, 8.0));
/// assert!(train.check().is_ok());
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkConfig {
    /// How long every packet takes, one way; a game's "ping" is twice that. Default 0. Must not be
    /// negative. Example: light in fibre needs 5 ms per 1000 km, real routes about 8.
    pub delay: Span,
    /// Measured round trips. Half of each adds to the delay; lost pings lose packets. Default none.
    pub rtt_trace: Option<RttTrace>,
    /// Uniform jitter: adds a draw between minus and plus this. Default 0. Above the delay the mean
    /// moves up, because no packet arrives before it was sent; above the gap between packets they
    /// arrive out of order, unless [`keep_order`](Self::keep_order) is set. Example: 100 ms is what
    /// "±100 ms" means in the experiments.
    pub jitter_uniform: Span,
    /// Normal jitter: adds a draw with this standard deviation. Default 0. Above a third of the
    /// delay the mean moves up, because the tail of negative delays is cut off.
    pub jitter_normal: Span,
    /// Whether a packet waits for the packets sent before it, as in one queue. Default false: each
    /// has its own delay and may overtake. When true, jitter above the gap between packets bunches
    /// them and raises the mean delay: all wait for the slowest.
    pub keep_order: bool,
    /// The share of packets that take a detour and are overtaken, even if order is kept. Default 0;
    /// 1 delays all packets and reorders none. Example: 0.01 with 30 ms at 60 packets/s puts one
    /// packet in a hundred behind the next one or two.
    pub reorder_ratio: f64,
    /// How much longer the detour takes. Default 0, which reorders nothing.
    pub reorder_extra: Span,
    /// Random loss. Default none.
    pub loss: Loss,
    /// The packets to lose, by number; sorted. The first packet is 1. Default none. For scenarios.
    pub drop_nth: Vec<u64>,
    /// The share of packets that arrive twice, the copy with a jitter of its own. Default 0; 1
    /// doubles every packet. Copies are made behind the bottleneck and cost no rate.
    pub duplicate_ratio: f64,
    /// A bottleneck. Default none: any rate passes.
    pub rate: Option<Rate>,
    /// When every packet sent is lost; packets sent before still arrive. Default never.
    pub partitions: Vec<Range<SharedInstant>>,
}

/// A bottleneck: packets leave one after the other, from a queue of limited size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Its rate. At least 1. Example: 125 000 is one megabit per second.
    pub bytes_per_sec: u64,
    /// How many bytes may wait or be in transmission; further packets are dropped (tail drop). A
    /// packet larger than this never passes. Large queues turn overload into delay instead of loss
    /// ("bufferbloat"): a full one delays by `queue_bytes_max / bytes_per_sec`. Example: 32 000 at
    /// one megabit is 256 ms.
    pub queue_bytes_max: u64,
}

/// A setting of a [`LinkConfig`] is out of range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BadLinkConfig {
    /// This setting is a probability and must be within 0 and 1.
    NotARatio(&'static str),
    /// This setting is a length of time and must be within zero and a hundred years.
    NotASpan(&'static str),
    /// A rate of zero would never pass a packet. Use a partition instead.
    NoRate,
}

/// Small enough that sums of such spans stay away from where instants saturate.
const SPAN_MAX: Span = Span::from_secs(100 * 366 * 86_400);

impl LinkConfig {
    /// The names of the presets.
    pub const NAMES: [&'static str; 6] =
        ["perfect", "lan", "broadband", "mobile", "wifi-bad", "intercontinental"];

    /// Two machines on one switch: 0.2 ms, hardly any jitter, no loss.
    ///
    /// This and the other presets are round numbers of the right size, not measurements. To test
    /// against a real network record its round trips and use [`rtt_trace`](Self::rtt_trace).
    pub fn lan() -> Self {
        Self::default().delay(Span::from_micros(200)).jitter_normal(Span::from_micros(30)).keep_order(true)
    }

    /// A wired home to a server in the same country: 15 ms one way, 1 ms of jitter, 0.1 % lost.
    pub fn broadband() -> Self {
        Self::default()
            .delay(Span::from_millis(15))
            .jitter_normal(Span::from_millis(1))
            .keep_order(true)
            .loss(Loss::each(0.001))
    }

    /// A phone on 4G standing still: 60 ms one way (a measured hour had round trips of 119 ms in
    /// the median and 125 ms at the 95th percentile), short bursts of loss.
    pub fn mobile() -> Self {
        Self::default()
            .delay(Span::from_millis(60))
            .jitter_normal(Span::from_millis(5))
            .keep_order(true)
            .loss(Loss::bursts(0.005, 3.0))
    }

    /// Behind a wireless repeater at a bad hour: 50 ms one way with 25 ms of jitter (a measured one
    /// had round trips of 103 ms in the median and 205 ms at the 95th percentile), 3 % lost in
    /// bursts, a few duplicates.
    pub fn wifi_bad() -> Self {
        Self::default()
            .delay(Span::from_millis(50))
            .jitter_normal(Span::from_millis(25))
            .keep_order(true)
            .loss(Loss::bursts(0.03, 5.0))
            .duplicate_ratio(0.002)
    }

    /// Half around the world: 150 ms one way, 15 ms of jitter, 1 % lost, sometimes another route.
    pub fn intercontinental() -> Self {
        Self::default()
            .delay(Span::from_millis(150))
            .jitter_normal(Span::from_millis(15))
            .keep_order(true)
            .loss(Loss::bursts(0.01, 2.0))
            .reorder(0.002, Span::from_millis(30))
    }

    /// Returns a preset by its name, one of [`NAMES`](Self::NAMES).
    pub fn by_name(name: &str) -> Option<Self> {
        match name {
            "perfect" => Some(Self::default()),
            "lan" => Some(Self::lan()),
            "broadband" => Some(Self::broadband()),
            "mobile" => Some(Self::mobile()),
            "wifi-bad" => Some(Self::wifi_bad()),
            "intercontinental" => Some(Self::intercontinental()),
            _ => None,
        }
    }

    /// Sets [`delay`](Self#structfield.delay).
    #[must_use]
    pub fn delay(mut self, delay: Span) -> Self {
        self.delay = delay;
        self
    }

    /// Sets [`rtt_trace`](Self#structfield.rtt_trace).
    #[must_use]
    pub fn rtt_trace(mut self, trace: RttTrace) -> Self {
        self.rtt_trace = Some(trace);
        self
    }

    /// Sets [`jitter_uniform`](Self#structfield.jitter_uniform).
    #[must_use]
    pub fn jitter_uniform(mut self, plus_minus: Span) -> Self {
        self.jitter_uniform = plus_minus;
        self
    }

    /// Sets [`jitter_normal`](Self#structfield.jitter_normal).
    #[must_use]
    pub fn jitter_normal(mut self, standard_deviation: Span) -> Self {
        self.jitter_normal = standard_deviation;
        self
    }

    /// Sets [`keep_order`](Self#structfield.keep_order).
    #[must_use]
    pub fn keep_order(mut self, keep_order: bool) -> Self {
        self.keep_order = keep_order;
        self
    }

    /// Sets [`reorder_ratio`](Self#structfield.reorder_ratio) and
    /// [`reorder_extra`](Self#structfield.reorder_extra).
    #[must_use]
    pub fn reorder(mut self, ratio: f64, extra: Span) -> Self {
        self.reorder_ratio = ratio;
        self.reorder_extra = extra;
        self
    }

    /// Sets [`loss`](Self#structfield.loss).
    #[must_use]
    pub fn loss(mut self, loss: Loss) -> Self {
        self.loss = loss;
        self
    }

    /// Adds a packet to [`drop_nth`](Self#structfield.drop_nth): 3 loses the third packet.
    #[must_use]
    pub fn drop_nth(mut self, nth: u64) -> Self {
        let place = self.drop_nth.partition_point(|earlier| *earlier < nth);
        self.drop_nth.insert(place, nth);
        self
    }

    /// Sets [`duplicate_ratio`](Self#structfield.duplicate_ratio).
    #[must_use]
    pub fn duplicate_ratio(mut self, ratio: f64) -> Self {
        self.duplicate_ratio = ratio;
        self
    }

    /// Sets [`rate`](Self#structfield.rate).
    #[must_use]
    pub fn rate(mut self, bytes_per_sec: u64, queue_bytes_max: u64) -> Self {
        self.rate = Some(Rate { bytes_per_sec, queue_bytes_max });
        self
    }

    /// Adds a range to [`partitions`](Self#structfield.partitions).
    #[must_use]
    pub fn partition(mut self, during: Range<SharedInstant>) -> Self {
        self.partitions.push(during);
        self
    }

    /// Returns the same link without loss, duplicates and detours; it stays as slow, jittery and
    /// narrow. Tests of liveness inject faults first, then heal the links and require convergence.
    #[must_use]
    pub fn healed(&self) -> Self {
        Self {
            delay: self.delay,
            rtt_trace: self.rtt_trace.as_ref().and_then(RttTrace::without_losses),
            jitter_uniform: self.jitter_uniform,
            jitter_normal: self.jitter_normal,
            keep_order: self.keep_order,
            rate: self.rate,
            ..Self::default()
        }
    }

    /// Checks that every setting is within its range. Creating a link panics otherwise.
    pub fn check(&self) -> Result<(), BadLinkConfig> {
        let ratios = [
            ("reorder_ratio", self.reorder_ratio),
            ("duplicate_ratio", self.duplicate_ratio),
            ("loss.good_to_bad", self.loss.good_to_bad),
            ("loss.bad_to_good", self.loss.bad_to_good),
            ("loss.in_good", self.loss.in_good),
            ("loss.in_bad", self.loss.in_bad),
        ];
        if let Some((knob, _)) = ratios.iter().find(|(_, ratio)| !(0.0..=1.0).contains(ratio)) {
            return Err(BadLinkConfig::NotARatio(knob));
        }
        let spans = [
            ("delay", self.delay),
            ("jitter_uniform", self.jitter_uniform),
            ("jitter_normal", self.jitter_normal),
            ("reorder_extra", self.reorder_extra),
        ];
        if let Some((knob, _)) = spans.iter().find(|(_, span)| !(Span::ZERO..=SPAN_MAX).contains(span)) {
            return Err(BadLinkConfig::NotASpan(knob));
        }
        if self.rate.is_some_and(|rate| rate.bytes_per_sec == 0) {
            return Err(BadLinkConfig::NoRate);
        }
        Ok(())
    }
}

impl fmt::Display for BadLinkConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotARatio(knob) => write!(f, "{knob} must be within 0 and 1"),
            Self::NotASpan(knob) => write!(f, "{knob} must be within zero and a hundred years"),
            Self::NoRate => {
                write!(f, "rate must be at least one byte per second: use a partition to lose every packet")
            }
        }
    }
}

impl std::error::Error for BadLinkConfig {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_a_link_that_can_be_built() {
        for name in LinkConfig::NAMES {
            assert_eq!(LinkConfig::by_name(name).expect(name).check(), Ok(()), "{name}");
        }
        assert_eq!(LinkConfig::by_name("carrier-pigeon"), None);
    }

    #[test]
    fn nonsense_is_refused_by_name() {
        let lossy = |ratio| LinkConfig::default().loss(Loss::each(ratio)).check();
        assert_eq!(lossy(1.0), Ok(()));
        assert_eq!(lossy(1.5), Err(BadLinkConfig::NotARatio("loss.in_good")));
        assert_eq!(lossy(f64::NAN), Err(BadLinkConfig::NotARatio("loss.in_good")));
        let impossible = LinkConfig::default().loss(Loss::bursts(0.9, 2.0));
        assert_eq!(impossible.check(), Err(BadLinkConfig::NotARatio("loss.good_to_bad")));
        let early = LinkConfig::default().delay(Span::from_millis(-1));
        assert_eq!(early.check().unwrap_err().to_string(), "delay must be within zero and a hundred years");
        assert_eq!(LinkConfig::default().rate(0, 1_500).check(), Err(BadLinkConfig::NoRate));
    }

    #[test]
    fn healing_keeps_the_distance() {
        let healed = LinkConfig::wifi_bad().drop_nth(3).healed();
        assert_eq!(healed.delay, LinkConfig::wifi_bad().delay);
        assert_eq!(healed.loss, Loss::NONE);
        assert!(healed.drop_nth.is_empty());
    }
}
