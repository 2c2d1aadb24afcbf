use fairpath::random::Random;

/// Random loss in bursts: the model of Gilbert and Elliott.
///
/// The link is in a good or a bad state; each packet is lost with that state's probability, and
/// after it the state may change. With equal losses in both states the losses are independent
/// ([`Loss::each`]); with a bad state that loses everything they come in bursts
/// ([`Loss::bursts`]), as on radio links.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    /// Probability, after each packet, that a good link turns bad: *p* in the literature. Default
    /// 0.
    pub good_to_bad: f64,
    /// Probability, after each packet, that a bad link turns good: *r*, one over the mean number of
    /// packets a bad spell lasts. Default 1. At 0 a bad link stays bad.
    pub bad_to_good: f64,
    /// Probability that a packet is lost in the good state. Default 0.
    pub in_good: f64,
    /// Probability that a packet is lost in the bad state. Default 0.
    pub in_bad: f64,
}

impl Loss {
    /// No loss.
    pub const NONE: Self = Self { good_to_bad: 0.0, bad_to_good: 1.0, in_good: 0.0, in_bad: 0.0 };

    /// Every packet is lost with this probability, independently of the others.
    pub const fn each(ratio: f64) -> Self {
        Self { in_good: ratio, in_bad: ratio, ..Self::NONE }
    }

    /// This share of all packets is lost, in bursts of `mean_packets` on average (at least 1).
    ///
    /// A share above `mean_packets / (mean_packets + 1)` is impossible, because good spells last at
    /// least one packet. Example: 0.02 and 4 is a burst of four every two hundred packets.
    pub fn bursts(ratio: f64, mean_packets: f64) -> Self {
        let bad_to_good = 1.0 / mean_packets;
        Self { good_to_bad: bad_to_good * ratio / (1.0 - ratio), bad_to_good, in_good: 0.0, in_bad: 1.0 }
    }

    /// Returns the share of packets that meet a bad link, in the long run.
    pub fn bad_share(&self) -> f64 {
        let changes = self.good_to_bad + self.bad_to_good;
        if changes > 0.0 { self.good_to_bad / changes } else { 0.0 }
    }

    /// Returns the share of packets that are lost, in the long run.
    pub fn mean_ratio(&self) -> f64 {
        self.in_good + (self.in_bad - self.in_good) * self.bad_share()
    }
}

impl Default for Loss {
    fn default() -> Self {
        Self::NONE
    }
}

/// The state of one link, and the random numbers that change it.
#[derive(Clone, Debug)]
pub(super) struct LossChain {
    is_bad: bool,
    random: Random,
}

impl LossChain {
    /// Creates a link that is bad with the probability of the long run.
    pub(super) fn new(loss: &Loss, mut random: Random) -> Self {
        Self { is_bad: random.chance(loss.bad_share()), random }
    }

    pub(super) fn next_is_lost(&mut self, loss: &Loss) -> bool {
        let (ratio, change) =
            if self.is_bad { (loss.in_bad, loss.bad_to_good) } else { (loss.in_good, loss.good_to_bad) };
        let is_lost = self.random.chance(ratio);
        self.is_bad ^= self.random.chance(change);
        is_lost
    }
}
