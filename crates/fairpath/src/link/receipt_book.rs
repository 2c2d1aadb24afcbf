use std::collections::VecDeque;

use super::{REMEMBERED, REPEATED};
use crate::number::{PacketNumber, WirePacketNumber};
use crate::time::SharedInstant;
use crate::wire::{
    EncodeError, Feedback, Header, Nonce, PACKETS_SPAN, RECEIPTS_MAX, Receipt, StaleSet, encode_feedback,
    pack_feedback,
};

/// The receiver's unconfirmed receipts.
///
/// Report every datagram with DR vectors ([`on_updates`](Self::on_updates)) and every confirmation
/// ([`on_confirmed`](Self::on_confirmed)); [`pack`](Self::pack) writes feedback. The book keeps the
/// newest [`RECEIPTS_MAX`](crate::wire::RECEIPTS_MAX) receipts for at most
/// [`REPEATED`](super::REPEATED). For a while after it gave up a receipt, its feedback does not
/// claim to be complete.
#[derive(Clone, Debug, Default)]
pub struct ReceiptBook {
    /// In ascending order of packet numbers.
    entries: Vec<Entry>,
    /// Receipts so far, and how many of them feedback has carried.
    arrived: u64,
    told: u64,
    newest: Option<PacketNumber>,
    /// The receipts in recent feedback messages.
    messages: VecDeque<Message>,
    gave_up_at: Option<SharedInstant>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    receipt: Receipt,
    nonce: Nonce,
    /// Receipts before this one.
    serial: u64,
}

/// A feedback message: it holds the receipts there were when it left, up to that of packet `last`.
#[derive(Clone, Copy, Debug)]
struct Message {
    number: WirePacketNumber,
    arrived: u64,
    last: PacketNumber,
}

impl ReceiptBook {
    /// Feedback messages remembered: at 30 per second a confirmation may be 8 s late. A later one
    /// confirms nothing; a newer confirmation covers the same receipts.
    pub const MESSAGES_MAX: usize = 256;

    /// Books a datagram of DR vectors that arrived with this header; `stale` names its outdated DR
    /// vectors. A datagram without DR vectors gets no receipt: do not call this for it. A datagram
    /// that arrives twice is booked once.
    pub fn on_updates(&mut self, header: &Header, stale: StaleSet, received_at: SharedInstant) {
        let packet = header.packet.widen(self.newest.unwrap_or_default());
        self.newest = self.newest.max(Some(packet));
        let Err(place) = self.entries.binary_search_by_key(&packet, |entry| entry.receipt.packet) else {
            return;
        };
        let receipt = Receipt { packet, received_at, delay: received_at - header.sent_at, stale };
        self.entries.insert(place, Entry { receipt, nonce: header.nonce, serial: self.arrived });
        self.arrived += 1;
        self.make_room(received_at);
    }

    /// Removes the receipts in the feedback message of this number: a header confirmed it.
    pub fn on_confirmed(&mut self, feedback: WirePacketNumber) {
        let Some(place) = self.messages.iter().rposition(|message| message.number == feedback) else {
            return;
        };
        let Message { arrived, last, .. } = self.messages[place];
        self.messages.drain(..=place);
        self.entries.retain(|entry| entry.serial >= arrived || entry.receipt.packet > last);
    }

    /// Returns whether a receipt waits that no feedback has carried yet.
    pub fn has_news(&self) -> bool {
        self.told < self.arrived
    }

    /// Returns the number of unconfirmed receipts.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns whether all receipts are confirmed.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Appends feedback with as many receipts as fit in `bytes_max`, oldest first, and returns
    /// their number. An empty book writes a message without receipts, which says that nothing else
    /// arrived. If there are receipts and none fits, it writes nothing.
    ///
    /// `header` must have an unused number ([`SentPackets::header`](super::SentPackets::header));
    /// its nonce is replaced by the proof.
    pub fn pack(
        &mut self,
        header: &Header,
        bytes_max: usize,
        out: &mut Vec<u8>,
    ) -> Result<usize, EncodeError> {
        let now = header.sent_at;
        self.give_up_old(now);
        // After a receipt was given up, the sender must not conclude that its datagram was lost,
        // for as long as the sender remembers the datagram.
        let is_complete = self.gave_up_at.is_none_or(|at| now - at > REMEMBERED);
        if self.entries.is_empty() {
            let header = Header { nonce: Nonce::default(), ..*header };
            encode_feedback(&Feedback { header, is_complete, receipts: Vec::new() }, out)?;
            return Ok(0);
        }
        let receipts: Vec<_> = self.entries.iter().map(|entry| (entry.receipt, entry.nonce)).collect();
        let count = pack_feedback(header, is_complete, &receipts, bytes_max, out)?;
        if count > 0 {
            self.remember(Message {
                number: header.packet,
                arrived: self.arrived,
                last: receipts[count - 1].0.packet,
            });
        }
        if count == receipts.len() {
            self.told = self.arrived;
        }
        Ok(count)
    }

    fn remember(&mut self, message: Message) {
        self.messages.push_back(message);
        if self.messages.len() > Self::MESSAGES_MAX {
            self.messages.pop_front();
        }
    }

    /// Gives up the oldest receipts that do not fit into one message with the newest.
    fn make_room(&mut self, now: SharedInstant) {
        let newest = self.entries.last().map_or(0, |entry| entry.receipt.packet.0);
        let too_far = self.entries.partition_point(|entry| newest - entry.receipt.packet.0 >= PACKETS_SPAN);
        let too_many = self.entries.len().saturating_sub(RECEIPTS_MAX);
        if too_far.max(too_many) > 0 {
            self.entries.drain(..too_far.max(too_many));
            self.gave_up_at = Some(now);
        }
    }

    fn give_up_old(&mut self, now: SharedInstant) {
        let before = self.entries.len();
        self.entries.retain(|entry| now - entry.receipt.received_at <= REPEATED);
        if self.entries.len() < before {
            self.gave_up_at = Some(now);
        }
    }
}
