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

/// What left in one direction of a link: numbers, nonces, and which copies were in which datagram.
///
/// For every datagram, take its [`header`](Self::header), and say [`on_sent`](Self::on_sent) once
/// it has left. Hand feedback to [`on_feedback`](Self::on_feedback). Nothing is ever remembered for
/// longer than [`REMEMBERED`](super::REMEMBERED), and never more than
/// [`PACKETS_MAX`](super::PACKETS_MAX) datagrams.
#[derive(Clone, Debug)]
pub struct SentPackets {
    random: Random,
    /// For the datagram that will leave next.
    nonce: Nonce,
    next: PacketNumber,
    /// Those before it, without a gap.
    packets: VecDeque<Packet>,
    /// All copies in them, in the same order.
    copies: VecDeque<(EntityId, CopyId)>,
    /// The newest feedback that came the other way.
    heard: Option<PacketNumber>,
    /// The newest datagram that was proven to have arrived, and up to where losses have been
    /// counted.
    newest_proven: Option<PacketNumber>,
    judged: PacketNumber,
    lost: u64,
    /// Those that the last feedback proved to have arrived.
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
    /// No receipt yet.
    Open,
    /// Overtaken by so many that it is lost; a receipt may yet tell otherwise.
    Lost,
    /// Its receipt was booked.
    Proven,
    /// Somebody acknowledged it without having it: nothing more is believed of it.
    Forfeited,
}

/// What feedback brought that was believed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FeedbackOutcome {
    /// How many datagrams are known to have arrived that were not before.
    pub receipts: usize,
    /// How many of their copies the dispatcher booked otherwise than said, or did not believe at
    /// all.
    pub corrected: usize,
    /// How many datagrams are taken for lost that were not before: three later ones have arrived.
    /// One that turns up after all is counted among the receipts then.
    pub lost: usize,
}

/// Feedback that was not believed. Nothing in it was booked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refused {
    /// It does not know the nonces of what it acknowledges. Counts against its sender.
    WrongNonce,
    /// It acknowledges a datagram that was never sent, or had no DR vectors. Counts against its
    /// sender.
    NeverSent,
    /// It acknowledges a datagram so old that it is forgotten, and cannot be checked.
    Forgotten,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::WrongNonce => "the feedback acknowledges what was not received",
            Self::NeverSent => "the feedback acknowledges what was never sent",
            Self::Forgotten => "the feedback acknowledges what is long forgotten",
        })
    }
}

impl std::error::Error for Refused {}

impl SentPackets {
    /// This many later datagrams must have arrived before one is taken for lost (RFC 9002, 6.1.1):
    /// links reorder.
    const OVERTAKEN: u64 = 3;

    /// Nothing has left yet. Nonces are drawn from `random`, which nobody else should know.
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

    /// What the next datagram begins with if it leaves now. The same again until one has left.
    pub fn header(&self, now: SharedInstant) -> Header {
        Header {
            packet: self.next.on_wire(),
            sent_at: now,
            nonce: self.nonce,
            confirmed: self.heard.map(PacketNumber::on_wire),
        }
    }

    /// A datagram with this header, and with these copies of DR vectors in it, has left. Feedback
    /// and signs of life have none; such datagrams get no receipts.
    pub fn on_sent(&mut self, header: &Header, copies: impl IntoIterator<Item = (EntityId, CopyId)>) {
        self.on_sent_with(header, copies, false);
    }

    /// The same; `wants_receipt` says that it carried something besides that gets a receipt too: a
    /// session's values.
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

    /// The newest datagram that has left; the first, if none has. What feedback is widened against.
    pub fn newest(&self) -> PacketNumber {
        PacketNumber(self.next.0.saturating_sub(1))
    }

    /// Which datagrams the last feedback proved to have arrived, of which that was not known
    /// before.
    pub fn proven(&self) -> &[PacketNumber] {
        &self.proven
    }

    /// How many datagrams with DR vectors were taken for lost so far, and have not turned up since.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// A datagram came the other way that is worth confirming. [`on_feedback`](Self::on_feedback)
    /// does it.
    pub fn confirm(&mut self, feedback: WirePacketNumber) {
        let number = feedback.widen(self.heard.unwrap_or_default());
        self.heard = self.heard.max(Some(number));
    }

    /// Feedback came from `receiver`: books it with the dispatcher, if it proves what it says.
    pub fn on_feedback<V: Planar>(
        &mut self,
        feedback: &Feedback,
        receiver: ReceiverId,
        dispatcher: &mut Dispatcher<V>,
        now: SharedInstant,
    ) -> Result<FeedbackOutcome, Refused> {
        // Also if it is refused: nobody is to learn from this whether a guess was right.
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
            let index = self.index_of(receipt.packet).expect("it was checked");
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

    /// Whether everything that it acknowledges was sent, and it has the nonces of all.
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

    /// There is one try for each datagram, or else 256 tries would find its nonce.
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
            let index = self.index_of(self.judged).expect("it is among those that are remembered");
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

    /// Where a datagram is among those that are remembered.
    fn index_of(&self, packet: PacketNumber) -> Option<usize> {
        let back = self.next.0.checked_sub(packet.0)? as usize;
        self.packets.len().checked_sub(back).filter(|index| *index < self.packets.len())
    }

    /// Which copies were in a datagram.
    fn copies_of(&self, index: usize) -> Vec<(EntityId, CopyId)> {
        // Counted from the end: receipts are about what left lately.
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
            let oldest = self.packets.pop_front().expect("there is one");
            self.copies.drain(..oldest.copies);
        }
    }
}
