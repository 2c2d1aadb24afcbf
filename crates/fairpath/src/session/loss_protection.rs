use crate::link::LossEstimate;
use crate::schedule::CopyPlan;
use crate::time::Span;

/// How DR vectors are protected against loss: further copies of each, some milliseconds apart, to a
/// peer whose link loses datagrams.
///
/// A lost DR vector is always sent again once receipts show that it is missing, but that takes a
/// round trip and more. A further copy is there 17 ms later.
///
/// ```
/// use fairpath::session::{Class, LossProtection, Protocol, ServerConfig};
/// use fairpath::vector::Vec2;
///
/// let game = Protocol::<Vec2>::new("tanks", 1).class::<u32>("tank", Class::within(0.3));
/// let loss_protection = LossProtection::Off;
/// let config = ServerConfig { loss_protection, ..ServerConfig::new(game, 1) };
/// assert_ne!(config.loss_protection, LossProtection::default());
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum LossProtection {
    /// No further copies: a lost DR vector is sent again when receipts show that it is missing.
    Off,
    /// As many further copies as the loss of the peer's link calls for. They begin when 2 % are
    /// lost and end below 0.5 %. None leaves while delay rises: then a queue fills, and copies
    /// would make it longer.
    ///
    /// Further copies use only bytes that are left of the peer's [`Budget`](super::Budget) beyond
    /// half of a burst, so they delay nothing else. A copy is not sent once a newer DR vector of
    /// the object exists, or once the peer has acknowledged this one.
    Adaptive {
        /// Most further copies of one DR vector, at most [`CopyPlan::COPIES_MAX`]. Default 6.
        ///
        /// Scattered losses take one to three copies 17 ms apart, losses in bursts up to six copies
        /// 50 ms apart. Too low: DR vectors are lost with all their copies, and objects that turned
        /// are off for a round trip; at 30 % loss and one copy that is one in eleven. Too high
        /// costs bytes on lossy links only: at 20 % loss and three copies about 2.5 times as many.
        copies_max: u8,
    },
    /// The same further copies whatever is lost. For experiments, and for links that are known.
    Fixed(CopyPlan),
}

impl Default for LossProtection {
    fn default() -> Self {
        Self::Adaptive { copies_max: CopyPlan::COPIES_MAX as u8 }
    }
}

/// Decides about the further copies to one peer.
#[derive(Clone, Debug)]
pub(super) struct LossGuard {
    protection: LossProtection,
    trend: DelayTrend,
    level: usize,
    is_bursty: bool,
    plan: CopyPlan,
}

/// A plan for scattered losses of a share: it begins at `from`, and ends below `until`.
struct Level {
    from: f64,
    until: f64,
    plan: CopyPlan,
}

impl LossGuard {
    /// Half a tick apart, because the state of the next tick is what a copy competes with. Two
    /// ticks of a 60 Hz game, or the ticks of a 30 Hz game and the middles between them; 36 and not
    /// 34, so that a tick that is a little late takes the copy along ([`CopyPlan::EARLY`]).
    ///
    /// The shares are those at which fewer copies leave more error than a loop that sends every
    /// state (`fairpath lab run loss`). They end well below where they begin: an estimate of 7 %
    /// from a hundred datagrams is off by 2 %.
    const SCATTERED: [Level; 4] = [
        Level { from: 0.0, until: 0.0, plan: CopyPlan::NONE },
        Level { from: 0.02, until: 0.005, plan: CopyPlan::after_ms(&[17]) },
        Level { from: 0.07, until: 0.05, plan: CopyPlan::after_ms(&[17, 36]) },
        Level { from: 0.17, until: 0.13, plan: CopyPlan::after_ms(&[17, 36, 53]) },
    ];
    /// For losses in runs: farther apart than most runs last, and for longer. The first is not on a
    /// tick of 30 Hz: what leaves between the ticks makes runs shorter where they are counted in
    /// datagrams. Most are skipped, because the receipt is back after two or three.
    const BURSTS: CopyPlan = CopyPlan::after_ms(&[53, 103, 153, 203, 253, 303]);
    /// Runs so many times as long as those of independent losses are bursts; below the second they
    /// are not any more.
    const BURSTY: (f64, f64) = (1.5, 1.25);
    /// A link that loses more than this is congested or gone; copies would make it worse.
    const LOSS_MAX: f64 = 0.6;

    pub(super) fn new(protection: LossProtection) -> Self {
        Self { protection, trend: DelayTrend::default(), level: 0, is_bursty: false, plan: CopyPlan::NONE }
    }

    pub(super) fn plan(&self) -> CopyPlan {
        self.plan
    }

    /// Whether DR vectors are repeated now.
    pub(super) fn is_on(&self) -> bool {
        self.plan.copies() > 0 && !self.trend.is_rising()
    }

    pub(super) fn on_round_trip(&mut self, round_trip: Span) {
        self.trend.on_round_trip(round_trip);
    }

    /// Chooses the plan for what the link loses.
    pub(super) fn on_loss(&mut self, loss: &LossEstimate) {
        self.plan = match self.protection {
            LossProtection::Off => CopyPlan::NONE,
            LossProtection::Fixed(plan) => plan,
            LossProtection::Adaptive { copies_max } => self.choose(loss).at_most(copies_max),
        };
    }

    fn choose(&mut self, loss: &LossEstimate) -> CopyPlan {
        let ratio = if loss.ratio() > Self::LOSS_MAX { 0.0 } else { loss.ratio() };
        while ratio < Self::SCATTERED[self.level].until {
            self.level -= 1;
        }
        while Self::SCATTERED.get(self.level + 1).is_some_and(|next| ratio >= next.from) {
            self.level += 1;
        }
        let excess = loss.burst() * (1.0 - ratio);
        self.is_bursty = excess > if self.is_bursty { Self::BURSTY.1 } else { Self::BURSTY.0 };
        if self.level > 0 && self.is_bursty { Self::BURSTS } else { Self::SCATTERED[self.level].plan }
    }
}

/// Whether a peer's round trips become longer: datagrams wait in a queue.
#[derive(Clone, Copy, Debug, Default)]
struct DelayTrend {
    /// `None` before the first round trip.
    moments: Option<TrendMoments>,
}

/// Of round trips, in microseconds.
#[derive(Clone, Copy, Debug)]
struct TrendMoments {
    /// The mean of the last eight or so.
    recent: f64,
    /// What they usually are: follows shorter ones soon, longer ones late.
    usual: f64,
    /// How far they usually are from that.
    spread: f64,
}

impl DelayTrend {
    /// Rises below this are no queue worth sending less for.
    const RISE_MIN: f64 = 20_000.0;
    /// A rise is this many times the usual spread, and this share of the usual round trip.
    const RISE_SPREADS: f64 = 2.5;
    const RISE_SHARE: f64 = 0.25;
    /// Weights of a round trip. A dozen are measured each second: a way that becomes longer for
    /// good is usual after half a minute.
    const RECENT_GAIN: f64 = 1.0 / 8.0;
    const SHORTER_GAIN: f64 = 1.0 / 64.0;
    const LONGER_GAIN: f64 = 1.0 / 256.0;
    const SPREAD_GAIN: f64 = 1.0 / 128.0;

    fn on_round_trip(&mut self, round_trip: Span) {
        let sample = round_trip.as_micros() as f64;
        let is_rising = self.is_rising();
        let Some(moments) = &mut self.moments else {
            self.moments = Some(TrendMoments { recent: sample, usual: sample, spread: 0.0 });
            return;
        };
        let off = sample - moments.usual;
        moments.recent += (sample - moments.recent) * Self::RECENT_GAIN;
        moments.usual += off * if off < 0.0 { Self::SHORTER_GAIN } else { Self::LONGER_GAIN };
        if !is_rising {
            moments.spread += (off.abs() - moments.spread) * Self::SPREAD_GAIN;
        }
    }

    fn is_rising(&self) -> bool {
        self.moments.is_some_and(|it| {
            let least = (Self::RISE_SPREADS * it.spread).max(Self::RISE_SHARE * it.usual);
            it.recent - it.usual > least.max(Self::RISE_MIN)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Round trips around a mean, with normal jitter.
    fn measure(trend: &mut DelayTrend, random: &mut Random, count: usize, mean_ms: f64, jitter_ms: f64) {
        for _ in 0..count {
            let sample = mean_ms + jitter_ms * random.normal();
            trend.on_round_trip(Span::from_secs_f64(sample.max(1.0) / 1e3));
        }
    }

    #[test]
    fn a_queue_that_fills_is_a_rise_and_jitter_is_none() {
        for (mean_ms, jitter_ms) in [(1.0, 0.2), (30.0, 2.0), (100.0, 35.0), (300.0, 21.0)] {
            let (mut trend, mut random) = (DelayTrend::default(), Random::from_seed(7));
            let mut rises = 0;
            for _ in 0..1_000 {
                measure(&mut trend, &mut random, 1, mean_ms, jitter_ms);
                rises += u32::from(trend.is_rising());
            }
            assert!(rises < 20, "{rises} of 1000 round trips of {mean_ms} ± {jitter_ms} ms");
            let queue_ms = 60.0 + mean_ms + 3.0 * jitter_ms;
            (0..24).for_each(|step| {
                measure(&mut trend, &mut random, 1, mean_ms + queue_ms * f64::from(step) / 24.0, jitter_ms);
            });
            assert!(trend.is_rising(), "two seconds of a queue that grows to {queue_ms} ms");
            measure(&mut trend, &mut random, 40, mean_ms, jitter_ms);
            assert!(!trend.is_rising(), "the queue is empty again");
        }
    }

    #[test]
    fn a_longer_way_is_usual_after_half_a_minute() {
        let (mut trend, mut random) = (DelayTrend::default(), Random::from_seed(7));
        measure(&mut trend, &mut random, 100, 40.0, 2.0);
        measure(&mut trend, &mut random, 40, 90.0, 2.0);
        assert!(trend.is_rising());
        measure(&mut trend, &mut random, 360, 90.0, 2.0);
        assert!(!trend.is_rising());
    }

    /// Plays datagrams over a link of Gilbert's model, and counts how many leave with each number
    /// of copies, of the last thousand.
    fn copies(protection: LossProtection, ratio: f64, burst: f64, seed: u64) -> [usize; 7] {
        let (mut guard, mut loss) = (LossGuard::new(protection), LossEstimate::default());
        let (mut random, mut is_bad) = (Random::from_seed(seed), false);
        let mut counts = [0; 7];
        for datagram in 0..1_500 {
            is_bad = random.chance(if is_bad { 1.0 - 1.0 / burst } else { ratio / (1.0 - ratio) / burst });
            loss.on_judged(is_bad);
            guard.on_loss(&loss);
            counts[guard.plan().copies()] += usize::from(datagram >= 500);
        }
        counts
    }

    #[test]
    fn more_loss_takes_more_copies_and_bursts_take_the_most() {
        let scattered = |ratio: f64| copies(LossProtection::default(), ratio, 1.0 / (1.0 - ratio), 3);
        assert_eq!(scattered(0.0)[0], 1_000);
        assert!(scattered(0.002)[0] > 900, "{:?}", scattered(0.002));
        assert!(scattered(0.04)[1] > 600, "{:?}", scattered(0.04));
        assert!(scattered(0.12)[2] > 600, "{:?}", scattered(0.12));
        assert!(scattered(0.3)[3] > 900, "{:?}", scattered(0.3));
        let bursts = copies(LossProtection::default(), 0.2, 4.0, 3);
        assert!(bursts[6] > 800, "{bursts:?}");
        let few = copies(LossProtection::Adaptive { copies_max: 2 }, 0.3, 5.0, 3);
        assert_eq!((few[0] + few[1] + few[2], few[2] > 800), (1_000, true), "{few:?}");
        assert_eq!(copies(LossProtection::Off, 0.3, 1.43, 3)[0], 1_000);
    }

    #[test]
    fn a_link_that_turns_bad_is_protected_within_a_second_or_two() {
        for seed in 0..100 {
            let (mut guard, mut loss) = (LossGuard::new(LossProtection::default()), LossEstimate::default());
            (0..300).for_each(|_| loss.on_judged(false));
            let mut random = Random::from_seed(seed);
            let mut datagrams = 0;
            while guard.plan().copies() == 0 {
                loss.on_judged(random.chance(0.1));
                guard.on_loss(&loss);
                datagrams += 1;
            }
            assert!(datagrams <= 75, "2.5 s at 30 Hz: {datagrams} datagrams with seed {seed}");
        }
    }

    #[test]
    fn a_link_that_loses_nearly_everything_is_not_flooded() {
        let loss = |ratio: f64| copies(LossProtection::default(), ratio, 1.0 / (1.0 - ratio), 3);
        assert!(loss(0.85)[0] > 950, "{:?}", loss(0.85));
    }
}
