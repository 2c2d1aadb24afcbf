//! A client with another description of the game is refused, each time with the right reason.

use fairpath::session::{ClientEvent, CloseReason};
use fairpath::time::SharedInstant;

use super::{Findings, Law};
use crate::plan::Stranger;

#[derive(Debug)]
pub(crate) struct StrangerCheck {
    stranger: Stranger,
    refused_at: Option<SharedInstant>,
}

impl StrangerCheck {
    pub(crate) fn new(stranger: Stranger) -> Self {
        Self { stranger, refused_at: None }
    }

    pub(crate) fn on_event(&mut self, event: &ClientEvent, now: SharedInstant, findings: &mut Findings) {
        let reason = self.stranger.reason();
        let is_right = match event {
            ClientEvent::Disconnected(Some(told)) if *told == reason => {
                self.refused_at = Some(now);
                true
            }
            // The connection can fail before the server has read the greeting.
            ClientEvent::Disconnected(told) => matches!(
                told,
                None | Some(CloseReason::NoGreeting | CloseReason::Silent | CloseReason::Restarting)
            ),
            _ => false,
        };
        findings.check(Law::Strangers, now, is_right, || {
            format!("a client with {:?} got {event:?}, expected {reason:?}", self.stranger)
        });
    }

    /// Returns whether the client was refused after this instant.
    pub(crate) fn is_refused_since(&self, since: SharedInstant) -> bool {
        self.refused_at.is_some_and(|at| at >= since)
    }
}
