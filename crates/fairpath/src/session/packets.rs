//! Which datagrams went out with what, and which came in.

use std::collections::BTreeMap;

use super::limits::SENT_PACKETS_MAX;
use super::newest::Slot;
use super::seen::Seen;
use crate::ledger::CopyId;
use crate::number::{EntityId, PacketNumber, WirePacketNumber};
use crate::time::{LocalInstant, Now, SharedInstant, Span};
use crate::wire::{Feedback, RECEIPTS_MAX, Receipt, StaleSet};

/// What a datagram carried that its sender wants to know the fate of.
#[derive(Clone, Debug, Default)]
pub(super) struct Content {
    pub(super) copies: Vec<(EntityId, CopyId)>,
    pub(super) quickest: Vec<u64>,
    pub(super) newest: Vec<(Slot, u64)>,
}

/// A datagram that arrived at the peer.
#[derive(Clone, Debug)]
pub(super) struct Settled {
    pub(super) content: Content,
    pub(super) received_at: SharedInstant,
}

/// The sender's side: what is under way.
#[derive(Clone, Debug, Default)]
pub(super) struct Departed {
    next: PacketNumber,
    open: BTreeMap<PacketNumber, (LocalInstant, Content)>,
    /// How long the last round trip took that was measured.
    round_trip: Option<Span>,
}

impl Departed {
    /// The number of the next datagram.
    pub(super) fn next(&self) -> PacketNumber {
        self.next
    }

    /// It left.
    pub(super) fn on_sent(&mut self, content: Content, now: LocalInstant) {
        self.open.insert(self.next, (now, content));
        self.next = self.next.next();
        while self.open.len() > SENT_PACKETS_MAX {
            self.open.pop_first();
        }
    }

    /// What the peer says has arrived, once each.
    pub(super) fn settle(&mut self, feedback: &Feedback, now: LocalInstant) -> Vec<Settled> {
        self.round_trip = None;
        let mut settled = Vec::new();
        for receipt in &feedback.receipts {
            if let Some((sent_at, content)) = self.open.remove(&receipt.packet) {
                let held = feedback.header.sent_at - receipt.received_at;
                self.round_trip = Some((now - sent_at - held.max(Span::ZERO)).max(Span::ZERO));
                settled.push(Settled { content, received_at: receipt.received_at });
            }
        }
        settled
    }

    /// The round trip that the last feedback shows.
    pub(super) fn round_trip(&self) -> Option<Span> {
        self.round_trip
    }
}

/// The receiver's side: what came, and what the peer must be told of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Arrived {
    newest: Option<PacketNumber>,
    seen: Seen,
    count: u64,
    /// Receipts that the peer has not confirmed.
    receipts: BTreeMap<PacketNumber, Receipt>,
    /// Which receipts went with which of our datagrams.
    repeated: BTreeMap<PacketNumber, Vec<PacketNumber>>,
    newest_feedback: Option<PacketNumber>,
    owes_since: Option<LocalInstant>,
}

impl Arrived {
    /// Numbers this far below the newest are forgotten.
    const WINDOW: u64 = 1024;
    /// How long a receipt waits for a datagram that leaves anyway: a frame and a bit.
    const OWED_MAX: Span = Span::from_millis(25);

    /// The full number of a datagram that comes for the first time; nothing if it came before.
    pub(super) fn accept(&mut self, packet: WirePacketNumber) -> Option<PacketNumber> {
        let number = packet.widen(self.newest.unwrap_or_default());
        if !self.seen.slide(number.0, Self::WINDOW) {
            return None;
        }
        self.newest = Some(self.newest.map_or(number, |newest| newest.max(number)));
        self.count += 1;
        Some(number)
    }

    /// A datagram that wants a receipt was taken in.
    pub(super) fn owe(&mut self, packet: PacketNumber, sent_at: SharedInstant, stale: StaleSet, now: Now) {
        let delay = now.shared - sent_at;
        self.receipts.insert(packet, Receipt { packet, received_at: now.shared, delay, stale });
        while self.receipts.len() > RECEIPTS_MAX {
            self.receipts.pop_first();
        }
        self.owes_since = self.owes_since.or(Some(now.local));
    }

    /// Whether, and from when on, a datagram must leave to carry receipts.
    pub(super) fn poll_deadline(&self) -> Option<LocalInstant> {
        self.owes_since.map(|since| since + Self::OWED_MAX)
    }

    /// All receipts that are not confirmed.
    pub(super) fn receipts(&self) -> Vec<Receipt> {
        self.receipts.values().copied().collect()
    }

    /// These went out with our datagram `packet`.
    pub(super) fn on_repeated(&mut self, packet: PacketNumber, receipts: &[Receipt]) {
        self.repeated.insert(packet, receipts.iter().map(|receipt| receipt.packet).collect());
        while self.repeated.len() > 64 {
            self.repeated.pop_first();
        }
        self.owes_since = None;
    }

    /// The peer has the receipts that went out with our datagram of this number.
    pub(super) fn on_confirmed(&mut self, packet: WirePacketNumber, next: PacketNumber) {
        let packet = packet.widen(next);
        for receipt in self.repeated.remove(&packet).unwrap_or_default() {
            self.receipts.remove(&receipt);
        }
        self.repeated = self.repeated.split_off(&packet);
    }

    /// A feedback message came in the peer's datagram of this number.
    pub(super) fn on_feedback(&mut self, packet: PacketNumber) {
        self.newest_feedback = Some(self.newest_feedback.map_or(packet, |newest| newest.max(packet)));
    }

    /// What to confirm to the peer.
    pub(super) fn confirmation(&self) -> Option<WirePacketNumber> {
        self.newest_feedback.map(PacketNumber::on_wire)
    }

    /// Datagrams that came, and that must have been sent.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.count, self.newest.map_or(0, |newest| newest.0 + 1))
    }
}
