//! A rate limiter.

use std::time::Instant;

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
