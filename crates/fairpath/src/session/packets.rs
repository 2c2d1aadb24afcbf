//! The content of sent datagrams, and which datagrams arrived.
//!
//! [`link`](crate::link) handles numbers, nonces and receipts. A session adds values and calls that
//! the same receipts confirm, and drops repeated datagrams.

use super::newest::Slot;
use super::received_numbers::ReceivedNumbers;
use crate::link::ReceiptBook;
use crate::number::{PacketNumber, WirePacketNumber};
use crate::time::{LocalInstant, Now, Span};
use crate::wire::{Header, StaleSet};

/// What a session remembers of a datagram in flight, besides its copies.
#[derive(Clone, Debug)]
pub(super) struct Content {
    pub(super) left_at: LocalInstant,
    /// Most datagrams have DR vectors only.
    pub(super) values: Option<Box<SentValues>>,
}

impl Default for Content {
    fn default() -> Self {
        Self { left_at: LocalInstant::ZERO, values: None }
    }
}

/// The content of a datagram, besides DR vectors, that a receipt confirms.
#[derive(Clone, Debug, Default)]
pub(super) struct SentValues {
    pub(super) tells_time: bool,
    pub(super) quickest: Vec<u64>,
    pub(super) newest: Vec<(Slot, u64)>,
}

impl SentValues {
    pub(super) fn is_empty(&self) -> bool {
        !self.tells_time && self.quickest.is_empty() && self.newest.is_empty()
    }
}

/// How soon the sender of a datagram wants its receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owed {
    /// The sender repeats the content until the receipt arrives.
    Soon,
    /// DR vectors only: the receipt is for the ledger, which knows when to expect it.
    AtLeisure,
}

/// The receiver's side: datagrams that arrived, and the receipts owed for them.
#[derive(Clone, Debug, Default)]
pub(super) struct Arrived {
    newest: Option<PacketNumber>,
    seen: ReceivedNumbers,
    count: u64,
    book: ReceiptBook,
    /// The latest time to send receipts.
    owed_at: Option<LocalInstant>,
    /// A datagram arrived out of order since receipts last left: the peer should learn of it soon.
    is_out_of_turn: bool,
}

impl Arrived {
    /// Numbers remembered below the newest.
    const WINDOW: u64 = 1024;
    /// How long an urgent receipt waits for another datagram: a little more than a frame. Less than
    /// the 25 ms after which QUIC acknowledges on its own, so that QUIC's acknowledgement travels
    /// with the receipts and not in an earlier packet.
    const SOON: Span = Span::from_millis(20);
    /// How long other receipts wait: those of three ticks at 30 Hz leave together. Much longer:
    /// schedulers decide by outdated information.
    const AT_LEISURE: Span = Span::from_millis(80);
    /// How long receipts wait after a datagram arrived out of order: the missing one may be lost,
    /// and its sender repeats it once it knows. Not zero: the missing one may arrive soon.
    const OUT_OF_TURN: Span = Span::from_millis(5);

    /// Returns whether a datagram arrives for the first time.
    pub(super) fn accept(&mut self, packet: WirePacketNumber) -> bool {
        let number = packet.widen(self.newest.unwrap_or_default());
        let is_new = self.seen.slide(number.0, Self::WINDOW);
        if is_new {
            self.is_out_of_turn |= number != self.newest.map_or(PacketNumber(0), PacketNumber::next);
            self.newest = self.newest.max(Some(number));
            self.count += 1;
        }
        is_new
    }

    pub(super) fn owe(&mut self, header: &Header, stale: StaleSet, owed: Owed, now: Now) {
        self.book.on_updates(header, stale, now.shared);
        let within = match owed {
            _ if self.is_out_of_turn => Self::OUT_OF_TURN,
            Owed::Soon => Self::SOON,
            Owed::AtLeisure => Self::AT_LEISURE,
        };
        let at = now.local + within;
        self.owed_at = Some(self.owed_at.map_or(at, |before| before.min(at)));
    }

    /// Returns when a datagram must leave to carry receipts.
    pub(super) fn poll_deadline(&self) -> Option<LocalInstant> {
        self.owed_at
    }

    /// Returns feedback with as many unconfirmed receipts as fit; `None` if there are none.
    pub(super) fn pack(&mut self, header: &Header, bytes_max: usize) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        let has_some = !self.book.is_empty() && self.book.pack(header, bytes_max, &mut bytes).ok()? > 0;
        has_some.then_some(bytes)
    }

    /// Records that the packed receipts have left.
    pub(super) fn on_told(&mut self) {
        self.owed_at = None;
        self.is_out_of_turn = false;
    }

    /// Removes the receipts that left with the datagram of this number: the peer has them.
    pub(super) fn on_confirmed(&mut self, packet: WirePacketNumber) {
        self.book.on_confirmed(packet);
    }

    /// Returns the datagrams received, and those the peer must have sent.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.count, self.newest.map_or(0, |newest| newest.0 + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::SharedInstant;

    fn at(millis: i64) -> Now {
        Now::synchronised(SharedInstant::from_millis(millis))
    }

    /// A datagram of this number comes; when receipts must leave.
    fn due(arrived: &mut Arrived, number: u64, owed: Owed, millis: i64) -> Option<LocalInstant> {
        let header = Header { packet: PacketNumber(number).on_wire(), ..Header::default() };
        assert!(arrived.accept(header.packet));
        arrived.owe(&header, StaleSet::NONE, owed, at(millis));
        arrived.poll_deadline()
    }

    #[test]
    fn receipts_of_three_ticks_leave_together_and_in_haste_where_something_is_missing() {
        let mut arrived = Arrived::default();
        for (number, millis) in [(0, 0), (1, 33), (2, 66)] {
            assert_eq!(due(&mut arrived, number, Owed::AtLeisure, millis), Some(at(80).local));
        }
        arrived.on_told();
        assert_eq!(arrived.poll_deadline(), None);
        assert_eq!(due(&mut arrived, 3, Owed::AtLeisure, 100), Some(at(180).local));
        assert_eq!(
            due(&mut arrived, 4, Owed::Soon, 133),
            Some(at(153).local),
            "a value is repeated until then"
        );
        arrived.on_told();
        assert_eq!(due(&mut arrived, 6, Owed::AtLeisure, 200), Some(at(205).local), "5 is missing");
        arrived.on_told();
        assert_eq!(due(&mut arrived, 5, Owed::AtLeisure, 210), Some(at(215).local), "and comes after all");
        arrived.on_told();
        assert_eq!(due(&mut arrived, 7, Owed::AtLeisure, 233), Some(at(313).local));
    }
}
