use fairpath::time::{SharedInstant, Span};

use super::model::{Fate, LossCause};

/// Counts the packets of one link by their fate. Bounded memory, however many there were.
///
/// A packet's fate is decided and counted when it is sent: delivered ones may be in flight.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LinkStatistics {
    /// Packets handed to the link.
    pub sent: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Packets that arrive, each counted once.
    pub delivered: u64,
    /// Their bytes.
    pub delivered_bytes: u64,
    /// Packets that arrive twice.
    pub duplicated: u64,
    /// Packets that overtake one sent before them.
    pub reordered: u64,
    /// Packets that do not arrive, by cause.
    pub lost: LossCounts,
    /// Delays of the delivered packets, queueing included; copies do not count.
    pub delays: DelayStatistics,
    latest_arrival: Option<SharedInstant>,
}

impl LinkStatistics {
    /// Returns the lost packets per packet sent; zero if none was sent.
    pub fn loss_ratio(&self) -> f64 {
        if self.sent == 0 { 0.0 } else { self.lost.total() as f64 / self.sent as f64 }
    }

    pub(super) fn count(&mut self, sent_at: SharedInstant, size_bytes: u32, fate: Fate) {
        self.sent += 1;
        self.sent_bytes += u64::from(size_bytes);
        let at = match fate {
            Fate::Lost(cause) => return self.lost.count(cause),
            Fate::Delivered { at } => at,
            Fate::Duplicated { at, .. } => {
                self.duplicated += 1;
                at
            }
        };
        self.delivered += 1;
        self.delivered_bytes += u64::from(size_bytes);
        self.reordered += u64::from(self.latest_arrival > Some(at));
        self.latest_arrival = self.latest_arrival.max(Some(at));
        self.delays.add(at - sent_at);
    }
}

/// Lost packets by cause; the causes are explained at [`LossCause`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LossCounts {
    /// By [`LossCause::Partition`].
    pub partition: u64,
    /// By [`LossCause::QueueFull`].
    pub queue_full: u64,
    /// By [`LossCause::Chosen`].
    pub chosen: u64,
    /// By [`LossCause::Random`].
    pub random: u64,
    /// By [`LossCause::Trace`].
    pub trace: u64,
}

impl LossCounts {
    /// Returns their sum.
    pub fn total(&self) -> u64 {
        self.partition + self.queue_full + self.chosen + self.random + self.trace
    }

    fn count(&mut self, cause: LossCause) {
        *match cause {
            LossCause::Partition => &mut self.partition,
            LossCause::QueueFull => &mut self.queue_full,
            LossCause::Chosen => &mut self.chosen,
            LossCause::Random => &mut self.random,
            LossCause::Trace => &mut self.trace,
        } += 1;
    }
}

/// Smallest, mean, largest and quantiles of many delays, in a few kilobytes.
///
/// Smallest, mean and largest are exact. Quantiles come from a histogram whose buckets grow with
/// the delay; their error is at most 1.6 %.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DelayStatistics {
    count: u64,
    sum_us: i128,
    min: Span,
    max: Span,
    buckets: Vec<u64>,
}

/// Each doubling of the delay is cut into this many buckets: a bucket is 1/32 of its lower end
/// wide, and its middle is at most half of that, 1.6 %, from anything in it.
const BUCKETS_PER_DOUBLING: u64 = 32;
/// One hour in microseconds is below 2^32: beyond it, delays share the last bucket.
const DOUBLINGS: u64 = 32;
const BUCKET_COUNT_MAX: usize = bucket_of((1 << DOUBLINGS) - 1) + 1;
const _: () = assert!(BUCKET_COUNT_MAX <= 1_000, "a link's statistics are a few kilobytes");

impl DelayStatistics {
    /// Returns how many delays were counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the smallest delay; `None` if none was counted.
    pub fn min(&self) -> Option<Span> {
        (self.count > 0).then_some(self.min)
    }

    /// Returns the largest delay; `None` if none was counted.
    pub fn max(&self) -> Option<Span> {
        (self.count > 0).then_some(self.max)
    }

    /// Returns the mean delay, rounded down to the microsecond.
    pub fn mean(&self) -> Option<Span> {
        (self.count > 0).then(|| Span::from_micros((self.sum_us / i128::from(self.count)) as i64))
    }

    /// Returns the median.
    pub fn p50(&self) -> Option<Span> {
        self.quantile(0.50)
    }

    /// Returns the 95th percentile.
    pub fn p95(&self) -> Option<Span> {
        self.quantile(0.95)
    }

    /// Returns the 99th percentile.
    pub fn p99(&self) -> Option<Span> {
        self.quantile(0.99)
    }

    /// Returns the delay that a share of the delays (0 to 1) does not exceed.
    pub fn quantile(&self, share: f64) -> Option<Span> {
        let rank = ((share * self.count as f64).ceil() as u64).clamp(1, self.count.max(1));
        let mut below = 0;
        let bucket = self.buckets.iter().position(|count| {
            below += count;
            below >= rank
        })?;
        Some(Span::from_micros(middle_of(bucket as u64)).clamp(self.min, self.max))
    }

    /// Counts a delay. A negative one counts as zero, because no packet arrives before it was sent.
    pub fn add(&mut self, delay: Span) {
        let delay = delay.max(Span::ZERO);
        self.min = if self.count == 0 { delay } else { self.min.min(delay) };
        self.max = self.max.max(delay);
        self.count += 1;
        self.sum_us += i128::from(delay.as_micros());
        let bucket = bucket_of(delay.as_micros() as u64).min(BUCKET_COUNT_MAX - 1);
        if self.buckets.len() <= bucket {
            self.buckets.resize(bucket + 1, 0);
        }
        self.buckets[bucket] += 1;
    }
}

/// Small delays have a bucket each; above, the leading bit picks the doubling, five more the
/// bucket.
const fn bucket_of(micros: u64) -> usize {
    if micros < BUCKETS_PER_DOUBLING {
        return micros as usize;
    }
    let shift = micros.ilog2() - BUCKETS_PER_DOUBLING.ilog2();
    (shift as u64 * BUCKETS_PER_DOUBLING + (micros >> shift)) as usize
}

const fn middle_of(bucket: u64) -> i64 {
    if bucket < 2 * BUCKETS_PER_DOUBLING {
        return bucket as i64;
    }
    let shift = bucket / BUCKETS_PER_DOUBLING - 1;
    let low = (bucket - shift * BUCKETS_PER_DOUBLING) << shift;
    (low + (1 << shift) / 2) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_delay_is_near_the_middle_of_its_bucket() {
        let mut micros = 0u64;
        while micros < 1 << DOUBLINGS {
            let middle = middle_of(bucket_of(micros) as u64) as f64;
            assert!(
                (middle - micros as f64).abs() <= micros as f64 / 64.0,
                "{micros} µs landed at {middle} µs"
            );
            micros = micros * 21 / 20 + 1;
        }
    }

    #[test]
    fn nothing_counted_says_nothing() {
        let none = DelayStatistics::default();
        assert_eq!((none.min(), none.mean(), none.p50(), none.max()), (None, None, None, None));
    }
}
