//! When the run loop of a session turns next.

use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::outlet::Pumped;

/// How long to wait before the next turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pause {
    /// Only until everybody else had a turn: what was sent leaves then, and there may be more.
    Yield,
    /// Until then, or until something happens.
    Until(Instant),
    /// Until something happens.
    Long,
}

/// A datagram that cannot leave is looked at again so soon, and so is a deadline that was met
/// without anything coming of it. A millisecond is what tokio's clock counts in.
const SOON: Duration = Duration::from_millis(1);

/// The pause after a turn that came to this, if there is something to do at `deadline`.
pub(crate) fn pause(pumped: Pumped, deadline: Option<Instant>) -> Pause {
    if pumped.has_sent {
        return Pause::Yield;
    }
    let soon = Instant::now() + SOON;
    if pumped.is_blocked {
        return Pause::Until(soon);
    }
    deadline.map_or(Pause::Long, |at| Pause::Until(at.max(soon)))
}

impl Pause {
    /// Waits, but not once something happened.
    pub(crate) async fn wait(self, wake: &Notify) {
        match self {
            Self::Yield => tokio::task::yield_now().await,
            Self::Until(at) => {
                let _ = tokio::time::timeout_at(at.into(), wake.notified()).await;
            }
            Self::Long => wake.notified().await,
        }
    }
}
