/// How much a link loses and how bursty its losses are, from the fates of its datagrams in the
/// order of their departure.
///
/// About the last hundred datagrams count, newer ones more: at 30 a second a link that begins to
/// lose a tenth of them is known to lose 2 % after 0.7 s and 5 % after 2 s. A single loss counts as
/// 1 % and fades.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LossEstimate {
    /// The share of datagrams lost, and the share with which a run of losses began.
    lost: f64,
    begun: f64,
    /// How many were lost in a row up to the newest.
    run: u32,
}

impl LossEstimate {
    /// The weight of a datagram is one in this many. Fewer: a single loss on a good link looks like
    /// a bad link. More: a link that turns bad is noticed late.
    const MEMORY: f64 = 96.0;
    /// Losses in a row that count. A longer run is an outage: it says little about the rest.
    const RUN_MAX: u32 = 16;
    /// A share below this is none: a hundredth of what a single loss counts.
    const NONE_BELOW: f64 = 1e-4;

    /// Returns the share of datagrams that are lost, from 0 to 1.
    pub fn ratio(&self) -> f64 {
        self.lost
    }

    /// Returns how many datagrams are lost in a row, on average; 1 if none is lost. Independent
    /// losses of a share p have runs of 1 / (1 - p).
    pub fn burst(&self) -> f64 {
        if self.begun > 0.0 { (self.lost / self.begun).max(1.0) } else { 1.0 }
    }

    /// The next datagram has arrived or is lost.
    pub(crate) fn on_judged(&mut self, is_lost: bool) {
        if !is_lost {
            self.run = 0;
            if self.lost > 0.0 {
                self.add(0.0, 0.0);
            }
            return;
        }
        self.run += 1;
        if self.run <= Self::RUN_MAX {
            self.add(1.0, if self.run == 1 { 1.0 } else { 0.0 });
        }
    }

    /// A datagram that counted as lost has arrived after all.
    pub(super) fn on_late(&mut self) {
        self.run = 0;
        self.lost = (self.lost - 1.0 / Self::MEMORY).max(0.0);
        self.begun = (self.begun - 1.0 / Self::MEMORY).max(0.0);
    }

    fn add(&mut self, lost: f64, begun: f64) {
        self.lost += (lost - self.lost) / Self::MEMORY;
        self.begun += (begun - self.begun) / Self::MEMORY;
        if self.lost < Self::NONE_BELOW {
            (self.lost, self.begun) = (0.0, 0.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Datagrams over a link of Gilbert's model.
    fn after(datagrams: usize, ratio: f64, burst: f64, seed: u64) -> LossEstimate {
        let mut random = Random::from_seed(seed);
        let mut estimate = LossEstimate::default();
        let mut is_bad = false;
        for _ in 0..datagrams {
            is_bad = random.chance(if is_bad { 1.0 - 1.0 / burst } else { ratio / (1.0 - ratio) / burst });
            estimate.on_judged(is_bad);
        }
        estimate
    }

    fn mean(of: impl Fn(u64) -> f64) -> f64 {
        (0..200).map(of).sum::<f64>() / 200.0
    }

    #[test]
    fn it_finds_share_and_bursts_within_a_few_percent() {
        for (ratio, burst) in [(0.05, 1.0 / 0.95), (0.2, 1.25), (0.1, 3.0), (0.3, 5.0)] {
            let found = mean(|seed| after(2_000, ratio, burst, seed).ratio());
            assert!((found - ratio).abs() < 0.1 * ratio + 0.005, "{found} of {ratio}");
            let found = mean(|seed| after(2_000, ratio, burst, seed).burst());
            assert!((found - burst).abs() < 0.15 * burst, "{found} in a row instead of {burst}");
        }
    }

    #[test]
    fn a_single_loss_is_one_percent_and_is_forgotten() {
        let mut estimate = LossEstimate::default();
        (0..100).for_each(|_| estimate.on_judged(false));
        assert_eq!(estimate, LossEstimate::default());
        estimate.on_judged(true);
        assert!((0.009..0.011).contains(&estimate.ratio()) && estimate.burst() == 1.0);
        (0..600).for_each(|_| estimate.on_judged(false));
        assert_eq!(estimate, LossEstimate::default(), "forgotten");
    }

    #[test]
    fn an_outage_counts_as_sixteen_and_what_comes_late_not_at_all() {
        let mut estimate = LossEstimate::default();
        (0..1_000).for_each(|_| estimate.on_judged(true));
        assert!(estimate.ratio() < 0.16, "{}", estimate.ratio());
        let mut estimate = LossEstimate::default();
        estimate.on_judged(true);
        estimate.on_late();
        assert_eq!(estimate, LossEstimate::default());
    }
}
