//! Reliable messages, kept until the peer confirms them, across transports.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::limits::{OUTBOX_BYTES_MAX, OUTBOX_MESSAGES_MAX, UNORDERED_WINDOW};
use super::message::{
    ARRIVALS_MAX, AnnouncementArrival, Call, Confirmation, Message, Received, UnorderedMessage,
};
use super::received_numbers::ReceivedNumbers;
use crate::time::SharedInstant;

/// Reliable messages to the peer. A transport loses nothing while it lives. Messages handed to a
/// lost transport are handed to the next one again, from the first that the peer does not have.
#[derive(Clone, Debug, Default)]
pub(super) struct Outbox {
    /// Unconfirmed messages with their sizes; the number of the first is `confirmed`.
    ordered: VecDeque<(Message, usize)>,
    confirmed: u64,
    /// Messages of `ordered` that were handed to this transport.
    handed: usize,
    unordered: BTreeMap<u64, (Call, usize)>,
    unordered_waiting: BTreeSet<u64>,
    next_unordered: u64,
    bytes: usize,
}

/// Too many messages or bytes are unconfirmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OutboxFull;

impl Outbox {
    /// Adds an ordered message and returns its number.
    pub(super) fn push(&mut self, message: Message) -> Result<u64, OutboxFull> {
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        self.reserve(bytes.len())?;
        self.ordered.push_back((message, bytes.len()));
        Ok(self.confirmed + self.ordered.len() as u64 - 1)
    }

    pub(super) fn push_unordered(&mut self, call: Call) -> Result<(), OutboxFull> {
        let bytes = call.bytes.len() + UNORDERED_OVERHEAD;
        self.reserve(bytes)?;
        self.unordered.insert(self.next_unordered, (call, bytes));
        self.unordered_waiting.insert(self.next_unordered);
        self.next_unordered += 1;
        Ok(())
    }

    pub(super) fn poll(&mut self) -> Option<&Message> {
        let (message, _) = self.ordered.get(self.handed)?;
        self.handed += 1;
        Some(message)
    }

    /// Returns the next independent message, if the peer's window has room for it.
    pub(super) fn poll_unordered(&mut self) -> Option<UnorderedMessage> {
        let oldest = *self.unordered.keys().next()?;
        let number = *self.unordered_waiting.first().filter(|number| **number < oldest + UNORDERED_WINDOW)?;
        self.unordered_waiting.remove(&number);
        Some(UnorderedMessage { number, call: self.unordered[&number].0.clone() })
    }

    pub(super) fn has_waiting(&self) -> bool {
        self.handed < self.ordered.len() || !self.unordered_waiting.is_empty()
    }

    /// Removes the messages that the peer has. False if it cannot have them: they were not sent.
    pub(super) fn confirm(&mut self, received: &Received) -> bool {
        let newest = received.beyond.last().map_or(received.unordered, |last| last + 1);
        let count = received.ordered.saturating_sub(self.confirmed);
        if count > self.handed as u64 || newest > self.next_unordered {
            return false;
        }
        for (_, bytes) in self.ordered.drain(..count as usize) {
            self.bytes -= bytes;
        }
        self.confirmed += count;
        self.handed -= count as usize;
        let beyond: BTreeSet<u64> = received.beyond.iter().copied().collect();
        let arrived = self
            .unordered
            .extract_if(.., |number, _| *number < received.unordered || beyond.contains(number));
        for (number, (_, bytes)) in arrived {
            self.bytes -= bytes;
            self.unordered_waiting.remove(&number);
        }
        true
    }

    /// Returns whether the peer has confirmed the ordered message of this number.
    pub(super) fn is_confirmed(&self, number: u64) -> bool {
        number < self.confirmed
    }

    /// Replaces the motion in an announcement that is not handed to this transport yet.
    pub(super) fn renew_motion(&mut self, number: u64, motion: Vec<u8>) {
        let place = number.checked_sub(self.confirmed).map(|place| place as usize);
        let Some(place) = place.filter(|place| *place >= self.handed) else { return };
        let Some((message, bytes)) = self.ordered.get_mut(place) else { return };
        if let Message::Create(announcement) | Message::Enter(announcement) = message {
            announcement.motion = motion;
            let mut encoded = Vec::new();
            message.encode(&mut encoded);
            self.bytes = self.bytes + encoded.len() - *bytes;
            *bytes = encoded.len();
        }
    }

    /// Starts over on a new transport: unconfirmed messages are handed over again.
    pub(super) fn rewind(&mut self) {
        self.handed = 0;
        self.unordered_waiting = self.unordered.keys().copied().collect();
    }

    /// Returns the messages that will never arrive, in the order they were sent.
    pub(super) fn into_undelivered(self) -> (Vec<Message>, Vec<Call>) {
        let ordered = self.ordered.into_iter().map(|(message, _)| message).collect();
        (ordered, self.unordered.into_values().map(|(call, _)| call).collect())
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn messages(&self) -> usize {
        self.ordered.len() + self.unordered.len()
    }

    fn reserve(&mut self, bytes: usize) -> Result<(), OutboxFull> {
        if self.bytes + bytes > OUTBOX_BYTES_MAX || self.messages() >= OUTBOX_MESSAGES_MAX {
            return Err(OutboxFull);
        }
        self.bytes += bytes;
        Ok(())
    }
}

/// Bytes of an unordered message besides its content.
const UNORDERED_OVERHEAD: usize = 16;

/// Which reliable messages of the peer have arrived.
#[derive(Clone, Debug, Default)]
pub(super) struct Inbox {
    ordered: u64,
    unordered: ReceivedNumbers,
    /// Announcements with a motion whose arrival is not reported yet.
    arrivals: Vec<AnnouncementArrival>,
}

impl Inbox {
    /// Counts an ordered message that arrived at `now`.
    pub(super) fn count(&mut self, message: &Message, now: SharedInstant) {
        let has_motion = message.announcement().is_some_and(|announcement| !announcement.motion.is_empty());
        if has_motion && self.arrivals.len() < ARRIVALS_MAX {
            self.arrivals.push(AnnouncementArrival { number: self.ordered, at: now });
        }
        self.ordered += 1;
    }

    /// Returns the confirmation of everything that has arrived.
    pub(super) fn confirm(&mut self) -> Confirmation {
        Confirmation { received: self.received(), arrivals: std::mem::take(&mut self.arrivals) }
    }

    /// Forgets arrivals on a lost transport: the peer learns from the greeting what has arrived.
    pub(super) fn rewind(&mut self) {
        self.arrivals.clear();
    }

    /// Whether this unordered message is new; `None` if no honest peer could have sent it yet.
    pub(super) fn accept_unordered(&mut self, number: u64) -> Option<bool> {
        self.unordered.insert(number, UNORDERED_WINDOW).ok()
    }

    pub(super) fn received(&self) -> Received {
        Received {
            ordered: self.ordered,
            unordered: self.unordered.floor(),
            beyond: self.unordered.beyond().collect(),
        }
    }
}
