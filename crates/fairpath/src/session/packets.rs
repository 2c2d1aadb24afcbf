//! Which datagrams went out with what, and which came in.
//!
//! Numbers, nonces and receipts are [`link`](crate::link)'s; here is what a session adds: values and calls that are
//! confirmed by the same receipts, and repeated datagrams.

use std::collections::BTreeMap;

use super::limits::SENT_PACKETS_MAX;
use super::newest::Slot;
use super::seen::Seen;
use crate::ledger::CopyId;
use crate::link::{ReceiptBook, SentPackets};
use crate::number::{EntityId, PacketNumber, ReceiverId, WirePacketNumber};
use crate::random::Random;
use crate::schedule::Dispatcher;
use crate::time::{LocalInstant, Now, SharedInstant, Span};
use crate::vector::Planar;
use crate::wire::{Feedback, Header, StaleSet};

/// What a datagram carried that its sender wants to know the fate of, besides DR vectors.
#[derive(Clone, Debug, Default)]
pub(super) struct Content {
    pub(super) tells_time: bool,
    pub(super) quickest: Vec<u64>,
    pub(super) newest: Vec<(Slot, u64)>,
}

impl Content {
    fn is_empty(&self) -> bool {
        !self.tells_time && self.quickest.is_empty() && self.newest.is_empty()
    }
}

/// The sender's side: what is under way.
#[derive(Clone, Debug)]
pub(super) struct Departed {
    sent: SentPackets,
    open: BTreeMap<PacketNumber, (LocalInstant, Content)>,
}

/// What feedback settles.
#[derive(Clone, Debug, Default)]
pub(super) struct Settled {
    /// Of the newest datagram in it, without the time the peer held it.
    pub(super) round_trip: Option<Span>,
    pub(super) contents: Vec<Content>,
    /// Whether it proved what it said.
    pub(super) is_refused: bool,
}

impl Departed {
    pub(super) fn new(random: Random) -> Self {
        Self { sent: SentPackets::new(random), open: BTreeMap::new() }
    }

    /// What the next datagram begins with.
    pub(super) fn header(&self, now: SharedInstant) -> Header {
        self.sent.header(now)
    }

    /// How many datagrams' fate is open.
    pub(super) fn open(&self) -> usize {
        self.open.len()
    }

    /// What feedback is widened against.
    pub(super) fn newest(&self) -> PacketNumber {
        self.sent.newest()
    }

    /// A datagram left.
    pub(super) fn on_sent(
        &mut self,
        header: &Header,
        copies: Vec<(EntityId, CopyId)>,
        content: Content,
        now: Now,
    ) {
        let wants_receipt = !copies.is_empty() || !content.is_empty();
        self.sent.on_sent_with(header, copies, wants_receipt);
        if wants_receipt {
            self.open.insert(self.sent.newest(), (now.local, content));
        }
        while self.open.len() > SENT_PACKETS_MAX {
            self.open.pop_first();
        }
    }

    /// The peer says what has arrived. The ledger is told here.
    pub(super) fn settle<V: Planar>(
        &mut self,
        feedback: &Feedback,
        receiver: ReceiverId,
        dispatcher: &mut Dispatcher<V>,
        now: Now,
    ) -> Settled {
        let is_refused = self.sent.on_feedback(feedback, receiver, dispatcher, now.shared).is_err();
        let mut settled = Settled { is_refused, ..Settled::default() };
        for packet in self.sent.proven() {
            let Some((sent_at, content)) = self.open.remove(packet) else { continue };
            let receipt = feedback.receipts.iter().find(|receipt| receipt.packet == *packet);
            let held = receipt.map_or(Span::ZERO, |receipt| feedback.header.sent_at - receipt.received_at);
            settled.round_trip = Some((now.local - sent_at - held.max(Span::ZERO)).max(Span::ZERO));
            settled.contents.push(content);
        }
        settled
    }
}

/// The receiver's side: what came, and what the peer must be told of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Arrived {
    newest: Option<PacketNumber>,
    seen: Seen,
    count: u64,
    book: ReceiptBook,
    owes_since: Option<LocalInstant>,
}

impl Arrived {
    /// Numbers this far below the newest are forgotten.
    const WINDOW: u64 = 1024;
    /// How long a receipt waits for a datagram that leaves anyway: a frame and a bit. Less than the 25 ms after which QUIC
    /// acknowledges on its own: then its acknowledgement travels with the receipts, and not in a packet before them.
    const OWED_MAX: Span = Span::from_millis(20);

    /// Whether a datagram comes for the first time.
    pub(super) fn accept(&mut self, packet: WirePacketNumber) -> bool {
        let number = packet.widen(self.newest.unwrap_or_default());
        let is_new = self.seen.slide(number.0, Self::WINDOW);
        if is_new {
            self.newest = self.newest.max(Some(number));
            self.count += 1;
        }
        is_new
    }

    /// A datagram that wants a receipt was taken in.
    pub(super) fn owe(&mut self, header: &Header, stale: StaleSet, now: Now) {
        self.book.on_updates(header, stale, now.shared);
        self.owes_since = self.owes_since.or(Some(now.local));
    }

    /// From when on a datagram must leave to carry receipts.
    pub(super) fn poll_deadline(&self) -> Option<LocalInstant> {
        self.owes_since.map(|since| since + Self::OWED_MAX)
    }

    /// Feedback with all receipts that are not confirmed, as many as fit; nothing if there are none.
    pub(super) fn pack(&mut self, header: &Header, bytes_max: usize) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        let has_some = !self.book.is_empty() && self.book.pack(header, bytes_max, &mut bytes).ok()? > 0;
        has_some.then_some(bytes)
    }

    /// What was packed has left.
    pub(super) fn on_told(&mut self) {
        self.owes_since = None;
    }

    /// The peer has the receipts that went out with our datagram of this number.
    pub(super) fn on_confirmed(&mut self, packet: WirePacketNumber) {
        self.book.on_confirmed(packet);
    }

    /// Datagrams that came, and that must have been sent.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.count, self.newest.map_or(0, |newest| newest.0 + 1))
    }
}
