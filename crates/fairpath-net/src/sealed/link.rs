//! Sealed packets of one connection.

use std::net::SocketAddr;

use fairpath::time::{LocalInstant, Span};

use super::path::Signal;
use super::{
    Challenge, Content, Direction, DropReason, Drops, Exporter, NoKey, Opener, Path, Sealer, Side, Tag,
};

/// One end of a connection's sealed packets: keys, path and counts.
///
/// A driver hands received packets to [`handle_packet`](Self::handle_packet) and the session's
/// datagrams to [`seal`](Self::seal), sends what [`poll_transmit`](Self::poll_transmit) writes,
/// pings over QUIC when [`poll_quic_ping`](Self::poll_quic_ping) says so, calls
/// [`refill`](Self::refill) now and then, and comes back at [`poll_deadline`](Self::poll_deadline).
#[derive(Debug)]
pub struct SealedLink {
    sealer: Sealer,
    opener: Opener,
    path: Path,
    statistics: LinkStatistics,
}

/// What a [`SealedLink`] has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LinkStatistics {
    /// Session datagrams that left sealed.
    pub datagrams_sent: u64,
    /// Session datagrams that arrived sealed.
    pub datagrams_received: u64,
    /// UDP payload bytes sent, the path's own packets included.
    pub bytes_sent: u64,
    /// UDP payload bytes received in authentic packets.
    pub bytes_received: u64,
    /// How often this end has fallen back to QUIC datagrams.
    pub falls: u64,
    /// How often the peer has moved to another address.
    pub moves: u64,
    /// Dropped packets, by reason.
    pub drops: Drops,
}

/// What the sealed datagrams of a server have done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SealedStatistics {
    /// Connections so far that were offered sealed datagrams.
    pub offered: u64,
    /// Current connections whose datagrams leave sealed. The others use QUIC datagrams.
    pub in_use: usize,
    /// The sums of all connections, ended ones included. Its drops also count packets that name no
    /// connection ([`DropReason::UnknownConnection`]).
    pub total: LinkStatistics,
}

impl SealedStatistics {
    /// Adds the counts of another thread's connections.
    pub(crate) fn add(&mut self, other: &Self) {
        self.offered += other.offered;
        self.in_use += other.in_use;
        self.total.add(&other.total);
    }
}

impl LinkStatistics {
    /// Adds the counts of another connection.
    pub(crate) fn add(&mut self, other: &Self) {
        self.datagrams_sent += other.datagrams_sent;
        self.datagrams_received += other.datagrams_received;
        self.bytes_sent += other.bytes_sent;
        self.bytes_received += other.bytes_received;
        self.falls += other.falls;
        self.moves += other.moves;
        self.drops.add(&other.drops);
    }
}

impl SealedLink {
    /// The server's end. `client` is the address that QUIC has proven.
    pub fn server(
        exporter: &(impl Exporter + ?Sized),
        client: SocketAddr,
        now: LocalInstant,
        draw: impl FnMut() -> Challenge + Send + 'static,
    ) -> Result<Self, NoKey> {
        let opener = Opener::new(exporter, Direction::ToServer)?;
        let path = Path::new(Side::Server, client, now, draw);
        Ok(Self { sealer: Sealer::to_client(exporter)?, opener, path, statistics: LinkStatistics::default() })
    }

    /// The client's end. The server has offered the tag.
    pub fn client(
        exporter: &(impl Exporter + ?Sized),
        tag: Tag,
        server: SocketAddr,
        now: LocalInstant,
        draw: impl FnMut() -> Challenge + Send + 'static,
    ) -> Result<Self, NoKey> {
        let opener = Opener::new(exporter, Direction::ToClient)?;
        let path = Path::new(Side::Client, server, now, draw);
        let sealer = Sealer::to_server(exporter, tag)?;
        Ok(Self { sealer, opener, path, statistics: LinkStatistics::default() })
    }

    /// Takes in a packet. Returns the session's datagram in it, if there is one.
    pub fn handle_packet<'a>(
        &mut self,
        now: LocalInstant,
        from: SocketAddr,
        packet: &'a mut [u8],
    ) -> Option<&'a [u8]> {
        let bytes = packet.len();
        if from != self.path.peer() {
            self.handle_elsewhere(now, from, packet);
            return None;
        }
        let opened = self.opener.open(packet).ok()?;
        self.statistics.bytes_received += bytes as u64;
        let newest_sent = self.sealer.next_number().saturating_sub(1);
        self.path.on_opened(now, &opened.content, opened.is_newest, newest_sent);
        let (Content::Datagram(datagram) | Content::Report(_, datagram)) = opened.content else {
            return None;
        };
        let is_report_alone = datagram.is_empty() && matches!(opened.content, Content::Report(..));
        self.statistics.datagrams_received += u64::from(!is_report_alone);
        (!is_report_alone).then_some(datagram)
    }

    /// Appends the packet with a session's datagram to `out`, and returns where to send it. `None`
    /// if the datagram has to leave in a QUIC datagram; then `out` is as it was.
    pub fn seal(&mut self, now: LocalInstant, datagram: &[u8], out: &mut Vec<u8>) -> Option<SocketAddr> {
        if !self.path.is_in_use(now) {
            return None;
        }
        let content = if self.path.take_report(now) {
            Content::Report(self.opener.newest_low(), datagram)
        } else {
            Content::Datagram(datagram)
        };
        let number = self.append(&content, out)?;
        self.path.on_datagram_sent(now, number);
        self.statistics.datagrams_sent += 1;
        Some(self.path.peer())
    }

    /// Appends the next packet of the path's own to `out`, and returns where to send it.
    pub fn poll_transmit(&mut self, now: LocalInstant, out: &mut Vec<u8>) -> Option<SocketAddr> {
        let (to, signal) = self.path.poll_signal(now)?;
        let content = match signal {
            Signal::Challenge(challenge) => Content::Challenge(challenge),
            Signal::Echo(challenge) => Content::Echo(challenge),
            Signal::Report => Content::Report(self.opener.newest_low(), &[]),
        };
        self.append(&content, out).map(|_| to)
    }

    /// Whether to send a ping over QUIC now.
    pub fn poll_quic_ping(&mut self, now: LocalInstant) -> bool {
        self.path.poll_quic_ping(now)
    }

    /// When to poll again, if nothing happens before.
    pub fn poll_deadline(&self) -> Option<LocalInstant> {
        self.path.poll_deadline()
    }

    /// Takes in QUIC's measure of the round trip.
    pub fn on_round_trip(&mut self, round_trip: Span) {
        self.path.on_round_trip(round_trip);
    }

    /// Derives keys in advance where one is missing. Cheap otherwise: call it once per pass.
    pub fn refill(&mut self, exporter: &(impl Exporter + ?Sized)) -> Result<(), NoKey> {
        self.sealer.refill(exporter)?;
        self.opener.refill(exporter)
    }

    /// Whether a packet of the peer was authentic, from whichever address.
    pub fn has_heard(&self) -> bool {
        self.statistics.bytes_received > 0 || self.opener.drops().of(DropReason::OtherAddress) > 0
    }

    /// Whether session datagrams leave sealed.
    pub fn is_in_use(&mut self, now: LocalInstant) -> bool {
        self.path.is_in_use(now)
    }

    /// The address to which sealed packets go.
    pub fn peer(&self) -> SocketAddr {
        self.path.peer()
    }

    /// What was sent, received and dropped so far.
    pub fn statistics(&self) -> LinkStatistics {
        LinkStatistics {
            falls: self.path.falls(),
            moves: self.path.moves(),
            drops: self.opener.drops(),
            ..self.statistics
        }
    }

    /// A packet from another address is dropped, whatever it carries. If it is authentic, the path
    /// hears of it.
    fn handle_elsewhere(&mut self, now: LocalInstant, from: SocketAddr, packet: &mut [u8]) {
        let bytes = packet.len();
        if let Ok(opened) = self.opener.inspect(packet) {
            self.path.on_elsewhere(now, from, bytes, opened.is_newest, &opened.content);
            self.opener.count_drop(DropReason::OtherAddress);
        }
    }

    fn append(&mut self, content: &Content<'_>, out: &mut Vec<u8>) -> Option<u64> {
        let start = out.len();
        let number = self.sealer.seal(content, out).ok()?;
        self.statistics.bytes_sent += (out.len() - start) as u64;
        Some(number)
    }
}
