use crate::time::{LocalInstant, Span};

/// A token bucket: a sustained rate per second, and a burst.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    per_sec: f64,
    /// The share of the rate that is in force.
    share: f64,
    burst: f64,
    debt_max: f64,
    level: f64,
    filled_at: Option<LocalInstant>,
}

impl Bucket {
    pub(super) fn new(per_sec: f64, burst: f64) -> Self {
        Self { per_sec, share: 1.0, burst, debt_max: burst, level: burst, filled_at: None }
    }

    /// Sets how much can be owed. Default: one burst.
    pub(super) fn with_debt_max(mut self, debt_max: f64) -> Self {
        self.debt_max = debt_max;
        self
    }

    /// Sets the share of the rate that is in force from now on. Default: all of it.
    pub(super) fn set_share(&mut self, share: f64, now: LocalInstant) {
        self.level(now);
        self.share = share.clamp(Self::SHARE_MIN, 1.0);
    }

    /// Below it a bucket would take minutes to fill.
    const SHARE_MIN: f64 = 0.01;

    /// Returns the tokens that come in a second.
    pub(super) fn rate(&self) -> f64 {
        self.per_sec * self.share
    }

    /// Returns the most tokens that it can hold.
    pub(super) fn burst(&self) -> f64 {
        self.burst
    }

    /// Returns the tokens available at `now`.
    pub(super) fn level(&mut self, now: LocalInstant) -> f64 {
        let since = self.filled_at.map_or(Span::ZERO, |at| now - at).max(Span::ZERO);
        self.filled_at = Some(self.filled_at.map_or(now, |at| at.max(now)));
        self.level = (self.level + self.rate() * since.as_secs_f64()).min(self.burst);
        self.level
    }

    /// Takes `amount` tokens, into debt if necessary, by at most one burst. A long message on a
    /// stream must not block motion for seconds.
    pub(super) fn spend(&mut self, amount: f64) {
        self.level = (self.level - amount).max(-self.debt_max);
    }

    /// Takes `amount` tokens, as many as were available when the bucket was last looked at, and
    /// returns how many it took.
    pub(super) fn take_up_to(&mut self, amount: f64) -> f64 {
        let taken = amount.min(self.level.max(0.0));
        self.level -= taken;
        taken
    }

    /// Takes `amount` tokens if they are available, and returns whether they were.
    pub(super) fn try_spend(&mut self, amount: f64, now: LocalInstant) -> bool {
        let is_there = self.level(now) >= amount;
        if is_there {
            self.spend(amount);
        }
        is_there
    }

    /// Changes rate and burst from `now` on.
    pub(super) fn set_rate(&mut self, per_sec: f64, burst: f64, now: LocalInstant) {
        self.level(now);
        (self.per_sec, self.burst) = (per_sec, burst);
    }

    /// Returns when `amount` tokens will be available.
    pub(super) fn when(&self, amount: f64, now: LocalInstant) -> LocalInstant {
        let missing = (amount.min(self.burst) - self.level).max(0.0);
        self.filled_at.unwrap_or(now) + Span::from_secs_f64(missing / self.rate())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_debt_is_paid_off_within_two_bursts() {
        let mut bucket = Bucket::new(100.0, 50.0);
        let at = LocalInstant::from_millis;
        bucket.level(at(0));
        bucket.spend(1e9);
        assert_eq!(bucket.when(50.0, at(0)), at(1_000));
        assert!(!bucket.try_spend(1.0, at(500)) && bucket.try_spend(50.0, at(1_000)));
    }

    #[test]
    fn a_share_slows_it_down_from_then_on() {
        let mut bucket = Bucket::new(100.0, 50.0);
        let at = LocalInstant::from_millis;
        assert!(bucket.try_spend(50.0, at(0)));
        bucket.set_share(0.25, at(100));
        assert_eq!(bucket.when(20.0, at(100)), at(500), "ten were there, and 25 come in a second");
        assert!(!bucket.try_spend(20.5, at(500)) && bucket.try_spend(20.0, at(500)));
        bucket.set_share(0.0, at(500));
        assert_eq!(bucket.when(1.0, at(500)), at(1_500), "it never stops");
        bucket.set_share(1.0, at(500));
        assert_eq!(bucket.when(1.0, at(500)), at(510));
    }

    #[test]
    fn it_gives_its_burst_at_once_and_its_rate_for_ever() {
        let mut bucket = Bucket::new(100.0, 50.0);
        let at = LocalInstant::from_millis;
        assert!(bucket.try_spend(50.0, at(0)) && !bucket.try_spend(1.0, at(0)));
        assert_eq!(bucket.when(10.0, at(0)), at(100));
        assert!(bucket.try_spend(10.0, at(100)));
        let mut given = 0;
        for millis in 100..10_100 {
            given += u32::from(bucket.try_spend(1.0, at(millis)));
        }
        assert!((999..=1000).contains(&given), "{given} in ten seconds");
    }
}
