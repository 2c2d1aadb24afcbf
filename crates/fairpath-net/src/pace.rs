//! When the run loop of a session runs next.

use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::sender::SendProgress;

/// How long to wait before the next pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pause {
    /// Only until other tasks had their turn: sent data leaves then, and there may be more.
    Yield,
    /// Until this instant, or until a notification.
    Until(Instant),
    /// Until a notification.
    Long,
}

/// A datagram that cannot leave is checked again this soon, and so is a deadline that passed
/// without effect. Tokio's clock counts in milliseconds.
const SOON: Duration = Duration::from_millis(1);

/// The pause after a pass with this result, if the next work is due at `deadline`.
pub(crate) fn pause(progress: SendProgress, deadline: Option<Instant>) -> Pause {
    if progress.has_sent {
        return Pause::Yield;
    }
    let soon = Instant::now() + SOON;
    if progress.is_blocked {
        return Pause::Until(soon);
    }
    deadline.map_or(Pause::Long, |at| Pause::Until(at.max(soon)))
}

impl Pause {
    /// Waits, but not past a notification.
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
