use std::collections::VecDeque;
use std::fmt;

use super::{LossEstimate, PACKETS_MAX, REMEMBERED};
use crate::ledger::CopyRange;
use crate::number::{PacketNumber, WirePacketNumber};
use crate::random::Random;
use crate::time::SharedInstant;
use crate::wire::{Feedback, Header, Nonce};

/// The datagrams sent in one direction of a link: numbers, nonces, and the copies in each.
///
/// For every datagram, take a [`header`](Self::header), and call [`on_sent`](Self::on_sent) once it
/// has left. Pass feedback to [`settle`](Self::settle), and its result to
/// [`Dispatcher::on_feedback`](crate::schedule::Dispatcher::on_feedback). Datagrams are remembered
/// for at most [`REMEMBERED`](super::REMEMBERED), and at most
/// [`PACKETS_MAX`](super::PACKETS_MAX) of them.
///
/// `C` is content that the same receipt confirms, besides copies: a session has some, the
/// default has none.
#[derive(Clone, Debug)]
pub struct SentPackets<C = ()> {
    random: Random,
    /// Nonce of the next datagram.
    nonce: Nonce,
    next: PacketNumber,
    /// The datagrams before `next`, without a gap.
    packets: VecDeque<Packet<C>>,
    /// How many of them want a receipt and have none.
    open: usize,
    /// The newest feedback received.
    heard: Option<PacketNumber>,
    /// The newest datagram proven to have arrived, and the datagram up to which losses are counted.
    newest_proven: Option<PacketNumber>,
    judged: PacketNumber,
    lost: u64,
    /// Loss among the datagrams from the first proven one on: a receiver does not acknowledge what
    /// comes before its clock is ready.
    loss: LossEstimate,
    first_proven: Option<PacketNumber>,
    /// Datagrams that the last feedback proved to have arrived.
    arrived: Vec<ArrivedPacket<C>>,
}

#[derive(Clone, Copy, Debug)]
struct Packet<C> {
    nonce: Nonce,
    fate: Fate,
    wants_receipt: bool,
    copies: CopyRange,
    sent_at: SharedInstant,
    content: C,
}

/// A datagram that is now known to have arrived.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ArrivedPacket<C = ()> {
    /// The copies of DR vectors in it.
    pub copies: CopyRange,
    /// When it arrived, as the receiver says.
    pub received_at: SharedInstant,
    /// The rest of its content.
    pub content: C,
}

/// What feedback settles, if it proves it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settled<'a, C = ()> {
    /// Datagrams newly known to have arrived, in the order of their numbers.
    pub arrived: &'a [ArrivedPacket<C>],
    /// Before this instant nothing else had arrived; `None` if the feedback does not say so.
    pub complete_until: Option<SharedInstant>,
    /// Datagrams newly counted as lost, because three later ones have arrived. If the receipt of
    /// one comes later, it is among the arrived.
    pub lost: usize,
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

impl Refused {
    /// Returns whether an honest receiver never sends such feedback.
    pub fn is_dishonest(self) -> bool {
        matches!(self, Self::WrongNonce | Self::NeverSent)
    }
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
    /// Returns the books of a new link. Nonces are drawn from `random`, which must be secret.
    pub fn new(random: Random) -> Self {
        Self::with_content(random)
    }

    /// Records that a datagram with this header and these copies of DR vectors has left. A datagram
    /// without copies, such as feedback, gets no receipt.
    pub fn on_sent(&mut self, header: &Header, copies: CopyRange) {
        self.on_sent_with(header, copies, (), !copies.is_empty());
    }
}

impl<C> SentPackets<C> {
    /// Later arrivals that make a datagram count as lost (RFC 9002, 6.1.1): links reorder.
    const OVERTAKEN: u64 = 3;

    /// Returns the books of a new link whose datagrams have more content than copies.
    pub fn with_content(mut random: Random) -> Self {
        Self {
            nonce: Nonce::draw(&mut random),
            random,
            next: PacketNumber(0),
            packets: VecDeque::new(),
            open: 0,
            heard: None,
            newest_proven: None,
            judged: PacketNumber(0),
            lost: 0,
            loss: LossEstimate::default(),
            first_proven: None,
            arrived: Vec::new(),
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

    /// Records a datagram with this header, these copies and this content. Only if `wants_receipt`,
    /// the receiver acknowledges it.
    pub fn on_sent_with(&mut self, header: &Header, copies: CopyRange, content: C, wants_receipt: bool) {
        let (nonce, sent_at) = (self.nonce, header.sent_at);
        self.packets.push_back(Packet { nonce, fate: Fate::Open, wants_receipt, copies, sent_at, content });
        self.open += usize::from(wants_receipt);
        self.next = self.next.next();
        self.nonce = Nonce::draw(&mut self.random);
        self.forget_old(sent_at);
    }

    /// Returns the newest datagram sent, or zero if there is none. Feedback is widened against it.
    pub fn newest(&self) -> PacketNumber {
        PacketNumber(self.next.0.saturating_sub(1))
    }

    /// Returns how many remembered datagrams want a receipt and have none.
    pub fn open(&self) -> usize {
        self.open
    }

    /// Returns how many datagrams with a receipt wanted count as lost now.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Returns how much the link has lost lately, of the datagrams that want a receipt.
    pub fn loss(&self) -> &LossEstimate {
        &self.loss
    }

    /// Confirms a received datagram in the headers to come. [`settle`](Self::settle) calls this
    /// itself.
    pub fn confirm(&mut self, feedback: WirePacketNumber) {
        let number = feedback.widen(self.heard.unwrap_or_default());
        self.heard = self.heard.max(Some(number));
    }

    /// Checks that every acknowledged datagram was sent and that the proof covers all nonces.
    fn check(&self, feedback: &Feedback) -> Result<(), Refused> {
        let mut proof = Nonce::default();
        for receipt in &feedback.receipts {
            if receipt.packet >= self.next {
                return Err(Refused::NeverSent);
            }
            let packet = &self.packets[self.index_of(receipt.packet).ok_or(Refused::Forgotten)?];
            if !packet.wants_receipt {
                return Err(Refused::NeverSent);
            }
            proof = Nonce::of_all([proof, packet.nonce]);
        }
        if proof == feedback.header.nonce { Ok(()) } else { Err(Refused::WrongNonce) }
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
            let is_lost = packet.fate == Fate::Open && packet.wants_receipt;
            if is_lost {
                packet.fate = Fate::Lost;
                lost += 1;
            }
            let is_measured = self.first_proven.is_some_and(|first| self.judged >= first);
            if is_measured && (is_lost || packet.fate == Fate::Proven) {
                self.loss.on_judged(is_lost);
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

    fn forget_old(&mut self, now: SharedInstant) {
        while self
            .packets
            .front()
            .is_some_and(|oldest| now - oldest.sent_at > REMEMBERED || self.packets.len() > PACKETS_MAX)
        {
            let oldest = self.packets.pop_front().expect("the front exists");
            self.open -= usize::from(oldest.wants_receipt && oldest.fate != Fate::Proven);
        }
    }
}

impl<C: Default> SentPackets<C> {
    /// Handles feedback: returns what it settles, if it proves that.
    pub fn settle(&mut self, feedback: &Feedback) -> Result<Settled<'_, C>, Refused> {
        // Refused feedback is confirmed too: the receiver must not learn whether a guess was right.
        self.confirm(feedback.header.packet);
        self.arrived.clear();
        let checked = self.check(feedback);
        if checked.is_err_and(Refused::is_dishonest) {
            self.forfeit(feedback);
        }
        checked?;
        for receipt in &feedback.receipts {
            let index = self.index_of(receipt.packet).expect("checked above");
            let packet = &mut self.packets[index];
            if !matches!(packet.fate, Fate::Open | Fate::Lost) {
                continue;
            }
            if packet.fate == Fate::Lost {
                self.lost -= 1;
                if self.first_proven.is_some_and(|first| receipt.packet >= first) {
                    self.loss.on_late();
                }
            }
            self.open -= 1;
            packet.fate = Fate::Proven;
            let content = std::mem::take(&mut packet.content);
            let (copies, received_at) = (packet.copies, receipt.received_at);
            self.arrived.push(ArrivedPacket { copies, received_at, content });
        }
        self.first_proven =
            self.first_proven.or_else(|| feedback.receipts.first().map(|receipt| receipt.packet));
        self.newest_proven = self.newest_proven.max(feedback.receipts.last().map(|receipt| receipt.packet));
        let lost = self.count_losses();
        let complete_until = feedback.is_complete.then_some(feedback.header.sent_at);
        Ok(Settled { arrived: &self.arrived, complete_until, lost })
    }
}
