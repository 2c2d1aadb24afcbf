//! The server's half of sealed datagrams: the tags of all connections, and the part of one.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use fairpath::time::{LocalInstant, Span};
use quinn_proto::Connection;

use super::peer::{Peer, has_chosen};
use super::port::Packet;
use super::workers::Worker;
use crate::clock::Clock;
use crate::connection::{ALPN_SEALED, DATAGRAMS_UNREAD_BYTES};
use crate::identity::unguessable;
use crate::sealed::{
    ControlDatagram, DropReason, LinkStatistics, OVERHEAD_TO_CLIENT, Opener, REPORT_BYTES, SealedLink,
    SealedStatistics, Tag,
};

/// Finds the connection of a sealed packet. Each connection has one tag at most, so admission
/// bounds the table.
#[derive(Debug)]
pub(super) struct Tags {
    worker: Worker,
    by_tag: BTreeMap<Tag, usize>,
    /// Connections that were offered sealed datagrams.
    offered: u64,
    /// Counts of connections that have ended, and of packets that belong to none.
    past: LinkStatistics,
}

impl Tags {
    pub(super) fn new(worker: Worker) -> Self {
        Self { worker, by_tag: BTreeMap::new(), offered: 0, past: LinkStatistics::default() }
    }

    /// The index of the connection that a packet names. Counts a packet that names none.
    pub(super) fn find(&mut self, packet: &[u8]) -> Option<usize> {
        let found = Opener::tag_of(packet)
            .and_then(|tag| self.by_tag.get(&tag).copied().ok_or(DropReason::UnknownConnection));
        found.inspect_err(|reason| self.past.drops.count(*reason)).ok()
    }

    /// Begins the sealed part of a connection with its session, and ends it with that.
    pub(super) fn settle(&mut self, index: usize, peer: &mut Peer, clock: Clock, now: Instant) {
        if peer.id().is_none() {
            self.forget(peer);
        } else if !std::mem::replace(&mut peer.is_offer_decided, true)
            && has_chosen(&peer.connection, ALPN_SEALED)
        {
            let tag = self.draw();
            // Without keys the client hears of no offer, and uses QUIC datagrams.
            let client = peer.address.current();
            peer.sealed = SealedPeer::new(&peer.connection, client, tag, clock, now).map(Box::new);
            if peer.sealed.is_some() {
                self.by_tag.insert(tag, index);
                self.offered += 1;
            }
        }
    }

    /// Ends the sealed part of a connection: the next packet with its tag is a stranger's.
    pub(super) fn forget(&mut self, peer: &mut Peer) {
        if let Some(sealed) = peer.sealed.take() {
            self.by_tag.remove(&sealed.tag);
            self.past.add(&sealed.link.statistics());
        }
    }

    pub(super) fn statistics<'a>(
        &self,
        peers: impl Iterator<Item = &'a mut Peer>,
        now: Instant,
    ) -> SealedStatistics {
        let mut statistics = SealedStatistics { offered: self.offered, in_use: 0, total: self.past };
        for sealed in peers.filter_map(|peer| peer.sealed.as_mut()) {
            statistics.in_use += usize::from(sealed.is_in_use(now));
            statistics.total.add(&sealed.link.statistics());
        }
        statistics
    }

    /// A random tag that no connection has, and that says which thread its connection belongs to.
    fn draw(&self) -> Tag {
        loop {
            let tag: Tag = unguessable();
            if self.worker.has_marked(tag[0]) && !self.by_tag.contains_key(&tag) {
                return tag;
            }
        }
    }
}

/// The sealed datagrams of one connection.
#[derive(Debug)]
pub(super) struct SealedPeer {
    tag: Tag,
    link: SealedLink,
    clock: Clock,
    /// The next offer, until a sealed packet of the client is authentic.
    offer: Option<NextOffer>,
    /// The session's datagram that leaves next, in memory that is used again.
    outgoing: Vec<u8>,
    has_outgoing: bool,
    pub(super) unread: Unread,
}

#[derive(Clone, Copy, Debug)]
struct NextOffer {
    at: Instant,
    pause: Duration,
}

/// Pause after the first offer. Longer than most round trips, and short beside the time in which a
/// player joins. Each further pause is twice as long.
const OFFER_PAUSE_MIN: Duration = Duration::from_millis(250);
/// For a client that never answers, because its network blocks sealed packets: then an offer costs
/// a few bytes a second.
const OFFER_PAUSE_MAX: Duration = Duration::from_secs(8);

impl SealedPeer {
    /// `client` is proven.
    fn new(
        connection: &Connection,
        client: SocketAddr,
        tag: Tag,
        clock: Clock,
        now: Instant,
    ) -> Option<Self> {
        let link =
            SealedLink::server(connection.crypto_session(), client, clock.local_at(now), unguessable).ok()?;
        let offer = Some(NextOffer { at: now, pause: OFFER_PAUSE_MIN });
        let (outgoing, unread) = (Vec::new(), Unread::default());
        Some(Self { tag, link, clock, offer, outgoing, has_outgoing: false, unread })
    }

    /// The address to which sealed packets go. It is proven.
    pub(super) fn address(&self) -> SocketAddr {
        self.link.peer()
    }

    /// Takes the session's next datagram, which `fill` writes if there is one. Returns whether it
    /// did.
    pub(super) fn take_datagram(&mut self, fill: impl FnOnce(&mut Vec<u8>) -> bool) -> bool {
        self.outgoing.clear();
        self.has_outgoing = fill(&mut self.outgoing);
        self.has_outgoing
    }

    /// Whether the session's datagram has not left yet.
    pub(super) fn has_outgoing(&self) -> bool {
        self.has_outgoing
    }

    /// Gives back a datagram that cannot leave sealed.
    pub(super) fn give_back(&mut self) -> Option<Vec<u8>> {
        std::mem::take(&mut self.has_outgoing).then(|| std::mem::take(&mut self.outgoing))
    }

    /// Takes in a packet, which `memory` is for. Returns whether the session has something to read.
    pub(super) fn handle_packet(&mut self, packet: &Packet<'_>, at: Instant, memory: &mut Vec<u8>) -> bool {
        memory.clear();
        memory.extend_from_slice(packet.bytes);
        let datagram = self.link.handle_packet(self.clock.local_at(at), packet.from, memory);
        if let Some(datagram) = datagram {
            self.unread.push(datagram, at);
        }
        if self.offer.is_some() && self.link.has_heard() {
            self.offer = None;
        }
        datagram.is_some()
    }

    /// Whether the session's datagrams leave sealed.
    pub(super) fn is_in_use(&mut self, now: Instant) -> bool {
        self.link.is_in_use(self.clock.local_at(now))
    }

    /// Sends offers and pings over QUIC, and keeps keys and round trip up to date. Returns whether
    /// QUIC has something to send.
    pub(super) fn handle_turn(&mut self, connection: &mut Connection, now: Instant) -> bool {
        // Without further keys the sealer refuses in time, and QUIC carries the datagrams.
        let _ = self.link.refill(connection.crypto_session());
        let round_trip = i64::try_from(connection.rtt().as_micros()).unwrap_or(i64::MAX / 2);
        self.link.on_round_trip(Span::from_micros(round_trip));
        let mut has_sent = false;
        if let Some(offer) = &mut self.offer
            && offer.at <= now
        {
            *offer = NextOffer { at: now + offer.pause, pause: (2 * offer.pause).min(OFFER_PAUSE_MAX) };
            has_sent |= send_control(connection, &ControlDatagram::Offer(self.tag));
        }
        if self.offer.is_none() && self.link.poll_quic_ping(self.clock.local_at(now)) {
            has_sent |= send_control(connection, &ControlDatagram::Ping);
        }
        has_sent
    }

    /// Writes the next packet, and returns where to send it. The session's datagram is first; if it
    /// cannot leave sealed, it stays.
    pub(super) fn poll_transmit(&mut self, now: Instant, packet: &mut Vec<u8>) -> Option<SocketAddr> {
        // A client that has not answered may not know the keys yet.
        if self.offer.is_some() {
            return None;
        }
        if self.has_outgoing
            && let Some(to) = self.seal_outgoing(now, packet)
        {
            return Some(to);
        }
        self.link.poll_transmit(self.clock.local_at(now), packet)
    }

    /// Writes the packet with the session's datagram, and returns where to send it. If it cannot
    /// leave sealed, it stays.
    pub(super) fn seal_outgoing(&mut self, now: Instant, packet: &mut Vec<u8>) -> Option<SocketAddr> {
        let to = self.link.seal(self.clock.local_at(now), &self.outgoing, packet)?;
        self.has_outgoing = false;
        Some(to)
    }

    /// When this connection needs a turn.
    pub(super) fn poll_deadline(&self) -> Option<Instant> {
        match self.offer {
            Some(offer) => Some(offer.at),
            None => self.link.poll_deadline().map(|at: LocalInstant| self.clock.instant_of(at)),
        }
    }

    pub(super) fn statistics(&self) -> LinkStatistics {
        self.link.statistics()
    }
}

/// The largest session datagram that fits into a sealed packet on this connection's path. QUIC
/// searches for the path's largest packet.
pub(super) fn datagram_bytes_max(connection: &Connection) -> usize {
    usize::from(connection.current_mtu()) - OVERHEAD_TO_CLIENT - REPORT_BYTES
}

/// Returns whether QUIC has taken it. If not, the next one may fit.
fn send_control(connection: &mut Connection, control: &ControlDatagram) -> bool {
    connection.datagrams().send(control.encode().into(), false).is_ok()
}

/// Opened datagrams that the session has not read yet, with the times when they arrived.
#[derive(Debug, Default)]
pub(super) struct Unread {
    bytes: Vec<u8>,
    datagrams: VecDeque<(usize, Instant)>,
}

impl Unread {
    /// Adds a datagram. While the game holds the session for long, the oldest are dropped, as QUIC
    /// drops them.
    fn push(&mut self, datagram: &[u8], arrived_at: Instant) {
        while self.bytes.len() + datagram.len() > DATAGRAMS_UNREAD_BYTES
            && let Some((length, _)) = self.datagrams.pop_front()
        {
            self.bytes.drain(..length);
        }
        self.bytes.extend_from_slice(datagram);
        self.datagrams.push_back((datagram.len(), arrived_at));
    }

    /// Hands over every datagram, in order, and keeps the memory.
    pub(super) fn drain(&mut self, mut handle: impl FnMut(&[u8], Instant)) {
        let mut begin = 0;
        for (length, arrived_at) in self.datagrams.drain(..) {
            handle(&self.bytes[begin..begin + length], arrived_at);
            begin += length;
        }
        self.bytes.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unread_datagrams_are_bounded_and_the_newest_stay() {
        let (mut unread, now) = (Unread::default(), Instant::now());
        for nth in 0..200u8 {
            unread.push(&vec![nth; 1_000], now);
            assert!(unread.bytes.len() <= DATAGRAMS_UNREAD_BYTES);
        }
        let mut read = Vec::new();
        unread.drain(|datagram, _| {
            assert_eq!(datagram, vec![datagram[0]; 1_000]);
            read.push(datagram[0]);
        });
        let kept = u8::try_from(DATAGRAMS_UNREAD_BYTES / 1_000).expect("fewer than were pushed");
        assert_eq!(read, (200 - kept..200).collect::<Vec<_>>());
        unread.drain(|_, _| panic!("all of them were read"));
    }

    #[test]
    fn packets_of_no_connection_are_counted_by_reason() {
        let mut tags = Tags::new(Worker::ALONE);
        for packet in [&[0x80; 60][..], &[0x80; 22], &[0x81; 60]] {
            assert_eq!(tags.find(packet), None);
        }
        let reasons = [DropReason::UnknownConnection, DropReason::TooShort, DropReason::UnknownForm];
        let drops = tags.statistics(std::iter::empty(), Instant::now()).total.drops;
        assert_eq!(reasons.map(|reason| drops.of(reason)), [1, 1, 1]);
    }
}
