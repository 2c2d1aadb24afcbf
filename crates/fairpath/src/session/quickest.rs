//! Quickest delivery: calls repeated in every packet until the peer confirms them.

use std::collections::BTreeMap;

use super::limits::{QUICKEST_MAX, QUICKEST_WINDOW};
use super::message::Call;
use crate::time::{LocalInstant, Span};

/// Quickest calls that the peer has not confirmed.
#[derive(Clone, Debug, Default)]
pub(super) struct Quickest {
    next_number: u64,
    waiting: BTreeMap<u64, Call>,
    sent_at: Option<LocalInstant>,
}

impl Quickest {
    /// Interval of packets for these calls alone, if no other packet leaves: once a tick.
    const REPEAT_EVERY: Span = Span::from_micros(16_667);

    /// Adds a call. False if too many wait.
    pub(super) fn push(&mut self, call: Call) -> bool {
        let oldest = self.waiting.keys().next().copied().unwrap_or(self.next_number);
        if self.waiting.len() >= QUICKEST_MAX || self.next_number >= oldest + QUICKEST_WINDOW {
            return false;
        }
        self.waiting.insert(self.next_number, call);
        self.next_number += 1;
        self.sent_at = None;
        true
    }

    /// Returns the calls for every packet.
    pub(super) fn waiting(&self) -> impl Iterator<Item = (u64, &Call)> {
        self.waiting.iter().map(|(number, call)| (*number, call))
    }

    /// Returns when a packet must leave for these calls alone.
    pub(super) fn poll_deadline(&self) -> Option<LocalInstant> {
        let first = LocalInstant::from_micros(i64::MIN);
        (!self.waiting.is_empty()).then(|| self.sent_at.map_or(first, |at| at + Self::REPEAT_EVERY))
    }

    pub(super) fn on_sent(&mut self, now: LocalInstant) {
        self.sent_at = Some(now);
    }

    pub(super) fn on_confirmed(&mut self, number: u64) {
        self.waiting.remove(&number);
    }

    pub(super) fn into_undelivered(self) -> Vec<Call> {
        self.waiting.into_values().collect()
    }
}
