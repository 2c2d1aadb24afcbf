//! How many bytes may be in flight to a peer.

use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

use fairpath::session::Budget;
use quinn::congestion::{BbrConfig, Controller, ControllerFactory, CubicConfig, NewRenoConfig};

/// The congestion controller of a connection. `cargo xtask bench congestion` compares them at 30 %
/// loss.
///
/// A session never sends more than its [`Budget`], which is the rate that a congestion controller
/// would have to find. It never sends stale data, so waiting gains nothing. Controllers that take
/// loss for congestion delay DR vectors on a lossy link that has room for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Congestion {
    /// A constant window: as much as the budget sends until a silent peer is given up. The default.
    ///
    /// Fair to other traffic only if the budget is: set the budget to what the slowest link
    /// carries, as one would for voice.
    #[default]
    Steady,
    /// The classic TCP controller: halves the window at every loss.
    NewReno,
    /// Today's TCP controller, quinn's default: reduces the window to 7/10 at every loss.
    Cubic,
    /// Estimates the bandwidth of the link. Experimental in quinn.
    Bbr,
}

impl Congestion {
    pub(crate) fn factory(self, budget: Budget) -> Arc<dyn ControllerFactory + Send + Sync> {
        match self {
            Self::Steady => Arc::new(Steady::within(budget)),
            Self::NewReno => Arc::new(NewRenoConfig::default()),
            Self::Cubic => Arc::new(CubicConfig::default()),
            Self::Bbr => Arc::new(BbrConfig::default()),
        }
    }
}

/// A window that never changes.
#[derive(Clone, Copy, Debug)]
struct Steady {
    window_bytes: u64,
}

impl Steady {
    /// Seconds of the budget that fit into the window: 4 s, after which a silent peer is given up.
    const SECONDS: u64 = 4;
    /// QUIC's headers double a datagram of a few DR vectors.
    const OVERHEAD: u64 = 2;
    /// A handshake and a first full burst, even with a small budget.
    const WINDOW_BYTES_MIN: u64 = 64 * 1024;

    fn within(budget: Budget) -> Self {
        let window_bytes = u64::from(budget.bytes_per_sec) * Self::SECONDS * Self::OVERHEAD;
        Self { window_bytes: window_bytes.max(Self::WINDOW_BYTES_MIN) }
    }
}

impl ControllerFactory for Steady {
    fn build(self: Arc<Self>, _: Instant, _: u16) -> Box<dyn Controller> {
        Box::new(*self)
    }
}

impl Controller for Steady {
    fn on_congestion_event(&mut self, _: Instant, _: Instant, _: bool, _: u64) {}

    fn on_mtu_update(&mut self, _: u16) {}

    fn window(&self) -> u64 {
        self.window_bytes
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(*self)
    }

    fn initial_window(&self) -> u64 {
        self.window_bytes
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_steady_window_follows_the_budget_and_ignores_loss() {
        let budget = Budget { bytes_per_sec: 32_000, burst_bytes: 4_000, share: None };
        let mut steady = Steady::within(budget);
        assert_eq!(steady.window(), 256_000);
        let now = Instant::now();
        steady.on_congestion_event(now, now, true, 100_000);
        assert_eq!(steady.window(), 256_000);
        assert_eq!(Steady::within(Budget { bytes_per_sec: 1, ..budget }).window(), 64 * 1024);
    }
}
