//! Rate limiters.

#[cfg(feature = "lobby")]
use std::collections::BTreeMap;
use std::time::Instant;

#[cfg(feature = "lobby")]
use fairpath::session::Household;

/// A token bucket: allows a rate on average and a burst at once.
#[derive(Debug)]
pub(crate) struct TokenBucket {
    tokens: f64,
    refilled_at: Instant,
}

impl TokenBucket {
    pub(crate) fn full(burst: f64) -> Self {
        Self { tokens: burst, refilled_at: Instant::now() }
    }

    /// Takes `count` tokens. Returns false, and takes none, if there are fewer.
    pub(crate) fn take(&mut self, count: f64, per_sec: f64, burst: f64) -> bool {
        self.take_at(Instant::now(), count, per_sec, burst)
    }

    /// Does what [`take`](Self::take) does, for a caller that knows the time.
    pub(crate) fn take_at(&mut self, now: Instant, count: f64, per_sec: f64, burst: f64) -> bool {
        let elapsed = now.saturating_duration_since(self.refilled_at).as_secs_f64();
        self.refilled_at = now;
        self.tokens = (self.tokens + elapsed * per_sec).min(burst);
        let is_enough = self.tokens >= count;
        if is_enough {
            self.tokens -= count;
        }
        is_enough
    }
}

/// A token bucket that households share: none takes more than it leaves to the others.
///
/// One that has taken `n` tokens of late may take another while more than `n` are left. So a
/// household alone gets half of the burst at once and then the whole rate, two get a third each,
/// and one that has taken nothing finds something.
#[cfg(feature = "lobby")]
#[derive(Debug)]
pub(crate) struct SharedBucket {
    tokens: f64,
    per_sec: f64,
    burst: f64,
    /// What each has taken, less the rate.
    taken: BTreeMap<Household, f64>,
    refilled_at: Instant,
}

#[cfg(feature = "lobby")]
impl SharedBucket {
    pub(crate) fn full(per_sec: f64, burst: f64) -> Self {
        Self { tokens: burst, per_sec, burst, taken: BTreeMap::new(), refilled_at: Instant::now() }
    }

    /// Takes a token. Returns false, and takes none, if there is none for this household.
    pub(crate) fn take(&mut self, household: Household, now: Instant) -> bool {
        let refill = now.saturating_duration_since(self.refilled_at).as_secs_f64() * self.per_sec;
        self.refilled_at = now;
        self.tokens = (self.tokens + refill).min(self.burst);
        self.taken.retain(|_, taken| {
            *taken -= refill;
            *taken > 0.0
        });
        let taken = self.taken.get(&household).copied().unwrap_or_default();
        let is_left = self.tokens >= 1.0 && taken < self.tokens;
        if is_left {
            self.tokens -= 1.0;
            self.taken.insert(household, taken + 1.0);
        }
        is_left
    }
}

#[cfg(all(test, feature = "lobby"))]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_household_leaves_something_to_others() {
        let mut bucket = SharedBucket::full(4.0, 64.0);
        let now = bucket.refilled_at;
        let mut taken = |household, at| (0..200).filter(|_| bucket.take(Household(household), at)).count();
        assert_eq!(taken(1, now), 32, "a mesh of 32 behind one router");
        assert_eq!(taken(2, now), 16);
        assert_eq!(taken(3, now), 8);
        assert_eq!(taken(4, now), 4);
        assert!(taken(5, now) > 0);
        let later = now + Duration::from_secs(60);
        assert_eq!(taken(1, later), 32);
    }

    #[test]
    fn alone_a_household_gets_the_whole_rate() {
        let mut bucket = SharedBucket::full(4.0, 64.0);
        let begin = bucket.refilled_at;
        let count = |millis: std::ops::Range<u64>, bucket: &mut SharedBucket| {
            millis.filter(|it| bucket.take(Household(1), begin + Duration::from_millis(*it))).count()
        };
        count(0..10_000, &mut bucket);
        let in_ten_secs = count(10_000..20_000, &mut bucket);
        assert!((35..=45).contains(&in_ten_secs), "{in_ten_secs}");
        assert!(bucket.taken.len() <= 1);
    }
}
