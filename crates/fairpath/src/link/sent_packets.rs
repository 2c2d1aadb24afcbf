use std::collections::VecDeque;
use std::fmt;

use super::{PACKETS_MAX, REMEMBERED};
use crate::ledger::CopyId;
use crate::number::{EntityId, PacketNumber, ReceiverId, WirePacketNumber};
use crate::random::Random;
use crate::schedule::{Booking, Dispatcher};
use crate::time::SharedInstant;
use crate::vector::Planar;
use crate::wire::{Feedback, Header, Nonce};

/// The datagrams sent in one direction of a link: numbers, nonces, and the copies in each.
///
/// For every datagram, take a [`header`](Self::header), and call [`on_sent`](Self::on_sent) once it
/// has left. Pass feedback to [`on_feedback`](Self::on_feedback). Datagrams are remembered for at
/// most [`REMEMBERED`](super::REMEMBERED), and at most [`PACKETS_MAX`](super::PACKETS_MAX) of them.
#[derive(Clone, Debug)]
pub struct SentPackets {
    random: Random,
    /// Nonce of the next datagram.
    nonce: Nonce,
    next: PacketNumber,
    /// The datagrams before `next`, without a gap.
    packets: VecDeque<Packet>,
    /// The copies of all these datagrams, in the same order.
    copies: VecDeque<(EntityId, CopyId)>,
    /// The newest feedback received.
    heard: Option<PacketNumber>,
    /// The newest datagram proven to have arrived, and the datagram up to which losses are counted.
    newest_proven: Option<PacketNumber>,
    judged: PacketNumber,
    lost: u64,
    /// Datagrams that the last feedback proved to have arrived.
    proven: Vec<PacketNumber>,
}

#[derive(Clone, Copy, Debug)]
struct Packet {
    nonce: Nonce,
    sent_at: SharedInstant,
    copies: usize,
    wants_receipt: bool,
    fate: Fate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// Without a receipt so far.
    Open,
    /// Overtaken by so many datagrams that it counts as lost; a late receipt changes that.
    Lost,
    /// Its receipt was booked.
    Proven,
    /// Acknowledged with a wrong nonce: no further receipt for it is believed.
    Forfeited,
}

/// The result of feedback that was believed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FeedbackOutcome {
    /// Datagrams newly known to have arrived.
    pub receipts: usize,
    /// Copies in them that the dispatcher booked at another time than stated, or did not believe.
    pub corrected: usize,
    /// Datagrams newly counted as lost, because three later ones have arrived. If the receipt of
    /// one comes later, it counts among `receipts`.
    pub lost: usize,
}

/// Why feedback was not believed. None of its receipts was booked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refused {
    /// The nonces of the acknowledged datagrams are wrong. Counts against the receiver.
    WrongNonce,
    /// An acknowledged datagram was never sent, or had no DR vectors. Counts against the receiver.
    NeverSent,
    /// An acknowledged datagram is too old to be remembered, so it cannot be checked.
    Forgotten,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::WrongNonce => "the feedback has a wrong nonce: the receiver does not have all datagrams that it acknowledges",
            Self::NeverSent => "the feedback acknowledges a datagram that was never sent or wants no receipt",
            Self::Forgotten => "the feedback acknowledges a datagram too old to be checked",
        })
    }
}

impl std::error::Error for Refused {}

impl SentPackets {
    /// Later arrivals that make a datagram count as lost (RFC 9002, 6.1.1): links reorder.
    const OVERTAKEN: u64 = 3;

    /// Returns the books of a new link. Nonces are drawn from `random`, which must be secret.
    pub fn new(mut random: Random) -> Self {
        Self {
            nonce: Nonce::draw(&mut random),
            random,
            next: PacketNumber(0),
            packets: VecDeque::new(),
            copies: VecDeque::new(),
            heard: None,
            newest_proven: None,
            judged: PacketNumber(0),
            lost: 0,
            proven: Vec::new(),
        }
    }

    /// Returns the header of the next datagram, if it leaves now. The number stays the same until
    /// [`on_sent`](Self::on_sent).
    pub fn header(&self, now: SharedInstant) -> Header {
        Header {
            packet: self.next.on_wire(),
            sent_at: now,
            nonce: self.nonce,
            confirmed: self.heard.map(PacketNumber::on_wire),
        }
    }

    /// Records that a datagram with this header and these copies of DR vectors has left. A datagram
    /// without copies, such as feedback, gets no receipt.
    pub fn on_sent(&mut self, header: &Header, copies: impl IntoIterator<Item = (EntityId, CopyId)>) {
        self.on_sent_with(header, copies, false);
    }

    /// Records a datagram as [`on_sent`](Self::on_sent) does. If `wants_receipt`, it gets a receipt
    /// even without copies: a session uses this for its values.
    pub fn on_sent_with(
        &mut self,
        header: &Header,
        copies: impl IntoIterator<Item = (EntityId, CopyId)>,
        wants_receipt: bool,
    ) {
        let before = self.copies.len();
        self.copies.extend(copies);
        let copies = self.copies.len() - before;
        self.packets.push_back(Packet {
            nonce: self.nonce,
            sent_at: header.sent_at,
            copies,
            wants_receipt: wants_receipt || copies > 0,
            fate: Fate::Open,
        });
        self.next = self.next.next();
        self.nonce = Nonce::draw(&mut self.random);
        self.forget_old(header.sent_at);
    }

    /// Returns the newest datagram sent, or zero if there is none. Feedback is widened against it.
    pub fn newest(&self) -> PacketNumber {
        PacketNumber(self.next.0.saturating_sub(1))
    }

    /// Returns the datagrams that the last feedback newly proved to have arrived.
    pub fn proven(&self) -> &[PacketNumber] {
        &self.proven
    }

    /// Returns how many datagrams with a receipt wanted count as lost now.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Confirms a received datagram in the headers to come. [`on_feedback`](Self::on_feedback)
    /// calls this itself.
    pub fn confirm(&mut self, feedback: WirePacketNumber) {
        let number = feedback.widen(self.heard.unwrap_or_default());
        self.heard = self.heard.max(Some(number));
    }

    /// Handles feedback from `receiver`: books its receipts with the dispatcher, if it proves them.
    pub fn on_feedback<V: Planar>(
        &mut self,
        feedback: &Feedback,
        receiver: ReceiverId,
        dispatcher: &mut Dispatcher<V>,
        now: SharedInstant,
    ) -> Result<FeedbackOutcome, Refused> {
        // Refused feedback is confirmed too: the receiver must not learn whether a guess was right.
        self.confirm(feedback.header.packet);
        self.proven.clear();
        let checked = self.check(feedback);
        if matches!(checked, Err(Refused::WrongNonce | Refused::NeverSent)) {
            self.forfeit(feedback);
            dispatcher.on_unproven(receiver);
        }
        checked?;
        let mut heard = FeedbackOutcome::default();
        for receipt in &feedback.receipts {
            let index = self.index_of(receipt.packet).expect("checked above");
            let packet = &mut self.packets[index];
            if !matches!(packet.fate, Fate::Open | Fate::Lost) {
                continue;
            }
            self.lost -= u64::from(packet.fate == Fate::Lost);
            packet.fate = Fate::Proven;
            self.proven.push(receipt.packet);
            heard.receipts += 1;
            for (entity, copy) in self.copies_of(index) {
                let booking = dispatcher.on_receipt(entity, receiver, copy, receipt.received_at, now);
                heard.corrected += usize::from(matches!(booking, Booking::Corrected | Booking::Impossible));
            }
        }
        if feedback.is_complete {
            dispatcher.on_complete(receiver, feedback.header.sent_at, now);
        }
        self.newest_proven = self.newest_proven.max(feedback.receipts.last().map(|receipt| receipt.packet));
        heard.lost = self.count_losses();
        Ok(heard)
    }

    /// Checks that every acknowledged datagram was sent and that the proof covers all nonces.
    fn check(&self, feedback: &Feedback) -> Result<(), Refused> {
        let mut nonces = Vec::with_capacity(feedback.receipts.len());
        for receipt in &feedback.receipts {
            if receipt.packet >= self.next {
                return Err(Refused::NeverSent);
            }
            let packet = self.packets[self.index_of(receipt.packet).ok_or(Refused::Forgotten)?];
            if !packet.wants_receipt {
                return Err(Refused::NeverSent);
            }
            nonces.push(packet.nonce);
        }
        if Nonce::of_all(nonces) == feedback.header.nonce { Ok(()) } else { Err(Refused::WrongNonce) }
    }

    /// Allows one attempt per datagram; otherwise 256 attempts would find its nonce.
    fn forfeit(&mut self, feedback: &Feedback) {
        for receipt in &feedback.receipts {
            if let Some(index) = self.index_of(receipt.packet)
                && self.packets[index].fate != Fate::Proven
            {
                self.packets[index].fate = Fate::Forfeited;
            }
        }
    }

    fn count_losses(&mut self) -> usize {
        let Some(newest) = self.newest_proven else { return 0 };
        let mut lost = 0;
        let oldest = PacketNumber(self.next.0 - self.packets.len() as u64);
        self.judged = self.judged.max(oldest);
        while self.judged.0 + Self::OVERTAKEN <= newest.0 {
            let index = self.index_of(self.judged).expect("not older than the oldest remembered");
            let packet = &mut self.packets[index];
            if packet.fate == Fate::Open && packet.wants_receipt {
                packet.fate = Fate::Lost;
                lost += 1;
            }
            self.judged = self.judged.next();
        }
        self.lost += lost as u64;
        lost
    }

    fn index_of(&self, packet: PacketNumber) -> Option<usize> {
        let back = self.next.0.checked_sub(packet.0)? as usize;
        self.packets.len().checked_sub(back).filter(|index| *index < self.packets.len())
    }

    fn copies_of(&self, index: usize) -> Vec<(EntityId, CopyId)> {
        // Counted from the end, because receipts are about recent datagrams.
        let after: usize = self.packets.range(index + 1..).map(|packet| packet.copies).sum();
        let end = self.copies.len() - after;
        self.copies.range(end - self.packets[index].copies..end).copied().collect()
    }

    fn forget_old(&mut self, now: SharedInstant) {
        while self
            .packets
            .front()
            .is_some_and(|oldest| now - oldest.sent_at > REMEMBERED || self.packets.len() > PACKETS_MAX)
        {
            let oldest = self.packets.pop_front().expect("the front exists");
            self.copies.drain(..oldest.copies);
        }
    }
}
