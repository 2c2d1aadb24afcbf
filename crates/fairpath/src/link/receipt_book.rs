use std::collections::VecDeque;

use super::{REMEMBERED, REPEATED};
use crate::number::{PacketNumber, WirePacketNumber};
use crate::time::SharedInstant;
use crate::wire::{
    EncodeError, Feedback, Header, Nonce, PACKETS_SPAN, RECEIPTS_MAX, Receipt, StaleSet, encode_feedback,
    pack_feedback,
};

/// Receipts that the sender of DR vectors has not confirmed yet.
///
/// Tell it of every datagram with DR vectors ([`on_updates`](Self::on_updates)) and of every
/// confirmation ([`on_confirmed`](Self::on_confirmed)); [`pack`](Self::pack) writes feedback. It
/// keeps the newest [`RECEIPTS_MAX`](crate::wire::RECEIPTS_MAX) receipts for
/// [`REPEATED`](super::REPEATED) at most; while some were given up lately, it does not claim to be
/// complete.
#[derive(Clone, Debug, Default)]
pub struct ReceiptBook {
    /// In ascending order of their packets.
    entries: Vec<Entry>,
    /// How many have arrived in all, and how many of them feedback has told of.
    arrived: u64,
    told: u64,
    /// The newest datagram that came.
    newest: Option<PacketNumber>,
    /// What was in the feedback that left lately.
    messages: VecDeque<Message>,
    gave_up_at: Option<SharedInstant>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    receipt: Receipt,
    nonce: Nonce,
    /// How many had arrived before it.
    serial: u64,
}

/// A feedback message holds the receipts there were when it left, up to the one of packet `last`.
#[derive(Clone, Copy, Debug)]
struct Message {
    number: WirePacketNumber,
    arrived: u64,
    last: PacketNumber,
}

impl ReceiptBook {
    /// How many feedback messages are remembered: at 30 a second a confirmation may be 8 s late.
    /// One that is later confirms nothing, and some newer one will.
    pub const MESSAGES_MAX: usize = 256;

    /// A datagram of DR vectors with this header came; these of them were of no use. Without DR
    /// vectors it gets no receipt: then do not call this. A datagram that comes twice is booked
    /// once.
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

    /// A header said that this feedback has arrived: what was in it need not be repeated.
    pub fn on_confirmed(&mut self, feedback: WirePacketNumber) {
        let Some(place) = self.messages.iter().rposition(|message| message.number == feedback) else {
            return;
        };
        let Message { arrived, last, .. } = self.messages[place];
        self.messages.drain(..=place);
        self.entries.retain(|entry| entry.serial >= arrived || entry.receipt.packet > last);
    }

    /// Whether something has arrived that no feedback has told of yet.
    pub fn has_news(&self) -> bool {
        self.told < self.arrived
    }

    /// How many receipts are not confirmed.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether everything is confirmed.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Appends feedback with as many receipts as fit in `bytes_max`, the oldest first, and tells
    /// how many. Without any it is still a message: nothing more has come. Where there are some
    /// and none fits, nothing is written.
    ///
    /// Give the header a number that no datagram has yet
    /// ([`SentPackets::header`](super::SentPackets::header)); the proof is put in here.
    pub fn pack(
        &mut self,
        header: &Header,
        bytes_max: usize,
        out: &mut Vec<u8>,
    ) -> Result<usize, EncodeError> {
        let now = header.sent_at;
        self.give_up_old(now);
        // Who has given up lately may be keeping from the sender what it received.
        // For as long as the sender remembers it.
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

    /// Gives up the oldest that do not go into one message with the newest.
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
