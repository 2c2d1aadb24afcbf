use super::exchange::Exchange;
use super::millionths;
use crate::time::{LocalInstant, Span};

/// The bounds that the exchanges so far prove for the offset, shared − local. All bounds widen with
/// age at the same rate, so the tighter of two stays the tighter one. The best bound of each kind
/// is therefore all the memory needed. Old bounds become wide and are replaced.
#[derive(Clone, Copy, Debug)]
pub(super) struct OffsetBounds {
    upper: Bound,
    lower: Bound,
    drift_ppm: u32,
}

/// At `at` the offset was at most (or at least) `offset`.
#[derive(Clone, Copy, Debug)]
struct Bound {
    offset: Span,
    at: LocalInstant,
}

/// Error of the difference of two stamps, because each is truncated to whole microseconds.
const STAMP_RESOLUTION: Span = Span::from_micros(1);

impl OffsetBounds {
    /// Returns the bounds that one exchange proves: no message arrived before it was sent.
    pub(super) fn from_exchange(exchange: &Exchange, drift_ppm: u32) -> Self {
        let forward = exchange.server_received.since_zero() - exchange.client_sent.since_zero();
        let backward = exchange.server_sent.since_zero() - exchange.client_received.since_zero();
        Self {
            upper: Bound { offset: forward + STAMP_RESOLUTION, at: exchange.client_sent },
            lower: Bound { offset: backward - STAMP_RESOLUTION, at: exchange.client_received },
            drift_ppm,
        }
    }

    pub(super) fn upper_at(&self, local: LocalInstant) -> Span {
        self.upper.offset + self.drift_between(self.upper.at, local)
    }

    pub(super) fn lower_at(&self, local: LocalInstant) -> Span {
        self.lower.offset - self.drift_between(self.lower.at, local)
    }

    /// Returns the best estimate: midway between the bounds as proven, without the drift
    /// allowances. Drift may go either way, so the estimate stays put until a new exchange.
    pub(super) fn middle(&self) -> Span {
        let width = self.upper.offset - self.lower.offset;
        self.lower.offset + Span::from_micros(width.as_micros() / 2)
    }

    /// Returns how far `offset` can be from the true offset at `local`, if these bounds hold.
    pub(super) fn farthest_from(&self, offset: Span, local: LocalInstant) -> Span {
        (self.upper_at(local) - offset).max(offset - self.lower_at(local))
    }

    /// Whether no offset satisfies both: a clock stepped, or drifts more than `drift_ppm`.
    pub(super) fn contradicts(&self, other: &Self) -> bool {
        let local = self.newest().max(other.newest());
        let upper = self.upper_at(local).min(other.upper_at(local));
        let lower = self.lower_at(local).max(other.lower_at(local));
        lower > upper
    }

    #[must_use]
    pub(super) fn tightened_by(&self, other: &Self) -> Self {
        let local = self.newest().max(other.newest());
        let upper = if other.upper_at(local) <= self.upper_at(local) { other.upper } else { self.upper };
        let lower = if other.lower_at(local) >= self.lower_at(local) { other.lower } else { self.lower };
        Self { upper, lower, drift_ppm: self.drift_ppm }
    }

    fn newest(&self) -> LocalInstant {
        self.upper.at.max(self.lower.at)
    }

    /// Returns the drift allowance, rounded up: it may be too generous, never too small.
    fn drift_between(&self, at: LocalInstant, local: LocalInstant) -> Span {
        let apart = (local - at).abs();
        if apart == Span::ZERO { apart } else { millionths(apart, self.drift_ppm) + STAMP_RESOLUTION }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::SharedInstant;

    /// An exchange at `sent` ms with these ways there and back in ms, both clocks being equal.
    fn exchange(sent: i64, there: i64, back: i64) -> OffsetBounds {
        let stamp = SharedInstant::from_millis(sent + there);
        let exchange = Exchange {
            client_sent: LocalInstant::from_millis(sent),
            server_received: stamp,
            server_sent: stamp,
            client_received: LocalInstant::from_millis(sent + there + back),
        };
        OffsetBounds::from_exchange(&exchange, 200)
    }

    fn at(millis: i64) -> LocalInstant {
        LocalInstant::from_millis(millis)
    }

    #[test]
    fn the_quickest_ways_may_come_from_different_exchanges() {
        let both = exchange(0, 40, 90).tightened_by(&exchange(10, 80, 40));
        assert_eq!(both.middle(), Span::ZERO);
        let uncertainty = both.farthest_from(Span::ZERO, at(150));
        assert!(uncertainty < Span::from_micros(40_050), "{uncertainty:?}");
    }

    #[test]
    fn an_old_bound_gives_way_once_it_has_become_wide() {
        // 200 ppm: after 100 s the quick exchange is worth 20 ms less on either side.
        let quick = exchange(0, 40, 40);
        let slow = |sent| exchange(sent, 50, 50);
        let kept = quick.tightened_by(&slow(10_000)).farthest_from(Span::ZERO, at(10_100));
        assert!(kept < Span::from_millis(43), "{kept:?}");
        let replaced = quick.tightened_by(&slow(100_000)).farthest_from(Span::ZERO, at(100_100));
        assert!((Span::from_millis(50)..Span::from_millis(51)).contains(&replaced), "{replaced:?}");
    }
}
