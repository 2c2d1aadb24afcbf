//! Every connection of a server, and its timers.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use bytes::BytesMut;
use fairpath::session::{CloseReason, ConnectionId, DatagramEffect, Server};
use fairpath::time::SharedInstant;
use fairpath::vector::Planar;
use quinn_proto::{ConnectionHandle, DatagramEvent, Endpoint, Incoming};

use super::SOON;
use super::outbox::Outbox;
use super::peer::{DatagramState, Peer};
use super::port::{Packet, Port};
use super::sealed::Tags;
use super::workers::Worker;
use crate::admissions::Verdict;
use crate::sealed::{PacketKind, SealedStatistics};
use crate::served::{Served, ServedSession};
use crate::server::PeerStatus;

pub(super) struct Connections<V: Planar> {
    pub(super) served: Arc<ServedSession<V>>,
    /// The thread that these connections belong to.
    pub(super) worker: Worker,
    /// The time of this pass. It never runs backwards.
    pub(super) now: Instant,
    endpoint: Endpoint,
    /// Every connection, at the index of its handle.
    peers: Vec<Option<Peer>>,
    count: usize,
    /// The next timer of every connection, at the same index. A scan of a thousand takes about a
    /// microsecond; a heap would be slower, because timers move with every packet.
    deadlines: Vec<Option<Instant>>,
    by_session: BTreeMap<ConnectionId, usize>,
    /// Connections with something for the session.
    arrivals: Vec<usize>,
    /// Connections for which alone the session may have something to send.
    concerned: Vec<usize>,
    /// Connections that may have packets to send.
    active: Vec<usize>,
    /// Connections whose datagrams leave with this pass.
    departing: Vec<usize>,
    outbox: Outbox,
    /// Answers to packets that belong to no connection.
    response: Vec<u8>,
    tags: Tags,
    /// The sealed packet that is opened.
    opening: Vec<u8>,
}

/// Packets that one connection sends in one pass, before others have their turn.
const PACKETS_PER_PEER: usize = 32;

impl<V: Planar> Connections<V> {
    pub(super) fn new(endpoint: Endpoint, served: Arc<ServedSession<V>>, worker: Worker) -> Self {
        Self {
            served,
            worker,
            now: Instant::now(),
            endpoint,
            peers: Vec::new(),
            count: 0,
            deadlines: Vec::new(),
            by_session: BTreeMap::new(),
            arrivals: Vec::new(),
            concerned: Vec::new(),
            active: Vec::new(),
            departing: Vec::new(),
            outbox: Outbox::default(),
            response: Vec::new(),
            tags: Tags::new(worker),
            opening: Vec::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(super) fn refuse_new(&mut self) {
        self.endpoint.set_server_config(None);
    }

    pub(super) fn close_all(&mut self, reason: CloseReason) {
        let (served, now) = (&self.served, self.now);
        for (index, peer) in self.peers.iter_mut().enumerate() {
            if let Some(peer) = peer {
                peer.say_farewell(reason, served, now);
                activate(&mut self.active, index, peer);
            }
        }
        self.by_session.clear();
    }

    pub(super) fn status(&self, served: &Served<V>) -> Vec<PeerStatus> {
        let peers =
            self.by_session.iter().filter_map(|(id, index)| Some((*id, self.peers[*index].as_ref()?)));
        served.status(peers.map(|(id, peer)| (id, peer.status())))
    }

    pub(super) fn sealed_statistics(&mut self) -> SealedStatistics {
        self.tags.statistics(self.peers.iter_mut().flatten(), self.now)
    }

    // ── in

    /// Sorts a packet by its first byte (RFC 9443). Returns whether it belongs to a handshake.
    pub(super) fn handle_packet(&mut self, packet: &Packet<'_>) -> bool {
        let kind = PacketKind::of(packet.bytes);
        match kind {
            PacketKind::QuicLong | PacketKind::QuicShort => self.handle_quic(packet),
            PacketKind::Sealed => self.handle_sealed(packet),
            PacketKind::Other => {}
        }
        kind == PacketKind::QuicLong
    }

    /// Opens a sealed packet. The session reads its datagram with those of all others.
    fn handle_sealed(&mut self, packet: &Packet<'_>) {
        let Some(index) = self.tags.find(packet.bytes) else { return };
        let Some(Some(peer)) = self.peers.get_mut(index) else { return };
        let Some(sealed) = &mut peer.sealed else { return };
        // The clock of a path does not run backwards, and those of packets may.
        let at = packet.arrived_at.max(self.now).max(peer.arrived_at);
        peer.arrived_at = at;
        let before = sealed.address();
        let has_datagram = sealed.handle_packet(packet, at, &mut self.opening);
        let deadline = sealed.poll_deadline();
        if sealed.address() != before {
            // The client has echoed a challenge from there.
            peer.address.prove(sealed.address());
        }
        if has_datagram && !std::mem::replace(&mut peer.is_in_arrivals, true) {
            self.arrivals.push(index);
        }
        // Most packets carry receipts, and are answered by nothing.
        if deadline.is_some_and(|due| due <= at) {
            activate(&mut self.active, index, peer);
        } else if deadline.is_some_and(|due| self.deadlines[index].is_none_or(|before| due < before)) {
            self.deadlines[index] = deadline;
        }
    }

    fn handle_quic(&mut self, packet: &Packet<'_>) {
        let at = packet.arrived_at.max(self.now);
        self.response.clear();
        // Memory of its own: a fragment that waits for others must not hold a whole batch.
        let bytes = BytesMut::from(packet.bytes);
        match self.endpoint.handle(at, packet.from, packet.to, None, bytes, &mut self.response) {
            Some(DatagramEvent::ConnectionEvent(ConnectionHandle(index), event)) => {
                let Some(Some(peer)) = self.peers.get_mut(index) else { return };
                peer.address.on_received(packet.from, packet.bytes.len());
                peer.connection.handle_event(event);
                peer.arrived_at = at.max(peer.arrived_at);
                peer.is_quic_due = true;
                peer.has_quic_events = true;
                if !std::mem::replace(&mut peer.is_in_arrivals, true) {
                    self.arrivals.push(index);
                }
                activate(&mut self.active, index, peer);
            }
            Some(DatagramEvent::NewConnection(incoming)) => self.admit(incoming, packet.from, at),
            Some(DatagramEvent::Response(transmit)) => self.outbox.push_copy(transmit, &self.response),
            None => {}
        }
    }

    /// Accepts a connection. The server keeps nothing of an address before it is proven.
    fn admit(&mut self, incoming: Incoming, from: SocketAddr, at: Instant) {
        self.response.clear();
        let response = match self.served.admit(from.ip(), incoming.remote_address_validated()) {
            // An address that is not validated can always be retried.
            Verdict::Retry => self.endpoint.retry(incoming, &mut self.response).ok(),
            Verdict::Ignore => {
                self.endpoint.ignore(incoming);
                None
            }
            Verdict::Refuse => Some(self.endpoint.refuse(incoming, &mut self.response)),
            Verdict::Accept(place) => match self.endpoint.accept(incoming, at, &mut self.response, None) {
                Ok((handle, connection)) => {
                    self.insert(Peer::new(connection, handle, from, place, at));
                    None
                }
                Err(error) => {
                    self.served.on_handshake_over(from.ip(), &place, true);
                    self.served.on_gone(from.ip());
                    error.response
                }
            },
        };
        if let Some(transmit) = response {
            self.outbox.push_copy(transmit, &self.response);
        }
    }

    fn insert(&mut self, mut peer: Peer) {
        let index = peer.handle.0;
        if self.peers.len() <= index {
            self.peers.resize_with(index + 1, || None);
            self.deadlines.resize(index + 1, None);
        }
        activate(&mut self.active, index, &mut peer);
        self.peers[index] = Some(peer);
        self.count += 1;
    }

    pub(super) fn fire_timers(&mut self) {
        let now = self.now;
        for (index, deadline) in self.deadlines.iter_mut().enumerate() {
            if deadline.is_none_or(|at| at > now) {
                continue;
            }
            *deadline = None;
            let Some(peer) = &mut self.peers[index] else { continue };
            let is_news = peer.handle_timeout(&self.served, now);
            if is_news && !std::mem::replace(&mut peer.is_in_arrivals, true) {
                self.arrivals.push(index);
            }
            activate(&mut self.active, index, peer);
        }
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.deadlines.iter().flatten().min().copied()
    }

    // ── the session

    pub(super) fn has_arrivals(&self) -> bool {
        !self.arrivals.is_empty()
    }

    /// Hands arrivals to the session. Returns whether it may have something to do now for any
    /// connection; those for which alone it may are remembered for
    /// [`send_concerned`](Self::send_concerned).
    pub(super) fn deliver(&mut self, served: &mut Served<V>) -> bool {
        let mut is_news = false;
        for index in self.arrivals.drain(..) {
            let Some(peer) = &mut self.peers[index] else { continue };
            peer.is_in_arrivals = false;
            let before = peer.id();
            match peer.deliver(&self.served, served, self.now) {
                DatagramEffect::Nothing => {}
                DatagramEffect::SameConnection => self.concerned.push(index),
                DatagramEffect::AnyConnection => is_news = true,
            }
            match (before, peer.id()) {
                (None, Some(id)) => drop(self.by_session.insert(id, index)),
                (Some(id), None) => drop(self.by_session.remove(&id)),
                _ => {}
            }
            if peer.is_quic_due {
                activate(&mut self.active, index, peer);
            }
        }
        is_news
    }

    pub(super) fn has_concerned(&self) -> bool {
        !self.concerned.is_empty()
    }

    /// Takes what is due from the session for the connections that it concerns. Returns when it has
    /// something to do for one of them.
    pub(super) fn send_concerned(&mut self, session: &mut Server<V>, now: SharedInstant) -> Option<Instant> {
        let clock = self.served.clock;
        let mut earliest: Option<Instant> = None;
        for index in self.concerned.drain(..) {
            let Some(peer) = &mut self.peers[index] else { continue };
            let Some(id) = peer.id() else { continue };
            let has_sent = session.is_due(id, now) && peer.pump(session, now, self.now);
            if has_sent {
                activate(&mut self.active, index, peer);
            }
            let deadline = session.connection_deadline(id, now).map(|at| clock.when(at.as_micros()));
            // Without progress, what is due cannot leave yet.
            let deadline = deadline.map(|at| if has_sent { at } else { at.max(self.now + SOON) });
            earliest = [earliest, deadline].into_iter().flatten().min();
        }
        earliest
    }

    /// Takes one datagram, and all messages, of every client that is due. Returns whether there
    /// were any, and when something is due to one of them next.
    pub(super) fn send_due(
        &mut self,
        session: &mut Server<V>,
        now: SharedInstant,
    ) -> (bool, Option<SharedInstant>) {
        let (mut has_sent, mut earliest) = (false, None::<SharedInstant>);
        self.concerned.clear();
        for (id, index) in &self.by_session {
            if session.is_due(*id, now)
                && let Some(peer) = &mut self.peers[*index]
                && peer.pump(session, now, self.now)
            {
                has_sent = true;
                activate(&mut self.active, *index, peer);
            }
            earliest = [earliest, session.connection_deadline(*id, now)].into_iter().flatten().min();
        }
        (has_sent, earliest)
    }

    pub(super) fn close_ended(&mut self, session: &mut Server<V>) {
        loop {
            let by_session = &self.by_session;
            let ended = session.poll_close_among(|id| by_session.contains_key(&id));
            let Some((id, reason)) = ended else { return };
            let Some(index) = self.by_session.remove(&id) else { continue };
            let Some(peer) = &mut self.peers[index] else { continue };
            if reason.accuses() {
                peer.throw_out(reason, &self.served, self.now);
            } else {
                peer.close(reason, &self.served, self.now);
            }
            activate(&mut self.active, index, peer);
        }
    }

    // ── out

    /// Sends the packets of all connections. Returns whether a client that was held back may have
    /// something to send again.
    pub(super) fn transmit(&mut self, port: &mut impl Port) -> bool {
        let mut is_unblocked = false;
        // What the socket did not take last time leaves first.
        port.send(&mut self.outbox);
        let mut active = std::mem::take(&mut self.active);
        for index in active.drain(..) {
            let Some(peer) = &mut self.peers[index] else { continue };
            peer.is_in_active = false;
            if peer.has_sealed_datagram_only(self.now) && send_sealed(peer, &mut self.outbox, port, self.now)
            {
                is_unblocked |= peer.is_held_back();
                self.departing.push(index);
                self.deadlines[index] = peer.poll_deadline();
                continue;
            }
            if peer.connection.is_drained() && peer.is_in_arrivals {
                // The session must hear of it first, and puts the connection back.
                continue;
            }
            settle_events(&mut self.endpoint, peer);
            self.tags.settle(index, peer, self.served.clock, self.now);
            let is_done = fill(peer, &mut self.outbox, port, self.now);
            match peer.check_datagram() {
                DatagramState::None | DatagramState::HeldBack => {}
                DatagramState::Left { was_held_back } => {
                    is_unblocked |= was_held_back;
                    self.departing.push(index);
                }
            }
            self.deadlines[index] = peer.poll_deadline();
            if peer.connection.is_drained() {
                self.peers[index] = None;
                self.deadlines[index] = None;
                self.count -= 1;
            } else if !is_done {
                activate(&mut self.active, index, peer);
            }
        }
        if self.active.is_empty() {
            // The memory is used again.
            self.active = active;
        }
        port.send(&mut self.outbox);
        self.count_departures();
        is_unblocked
    }

    fn count_departures(&mut self) {
        if self.departing.is_empty() {
            return;
        }
        let now = Instant::now();
        for index in self.departing.drain(..) {
            if let Some(peer) = &mut self.peers[index] {
                peer.count_departure(now);
            }
        }
    }

    /// Whether packets wait for room in the socket.
    pub(super) fn has_unsent(&self) -> bool {
        !self.outbox.is_empty()
    }

    /// Whether a connection has more packets to send than it was allowed in its turn.
    pub(super) fn has_more_to_transmit(&self) -> bool {
        !self.active.is_empty() && self.outbox.is_empty()
    }
}

/// Puts a connection on the list of those that may have packets to send.
fn activate(active: &mut Vec<usize>, index: usize, peer: &mut Peer) {
    if !std::mem::replace(&mut peer.is_in_active, true) {
        active.push(index);
    }
}

fn settle_events(endpoint: &mut Endpoint, peer: &mut Peer) {
    while let Some(event) = peer.connection.poll_endpoint_events() {
        if let Some(event) = endpoint.handle_event(peer.handle, event) {
            peer.connection.handle_event(event);
            peer.is_quic_due = true;
        }
    }
}

/// Seals the datagram of a connection that has nothing else to send. Returns whether it did.
///
/// This is the way of nearly all packets. It reads nothing of QUIC: with many clients the states of
/// their connections are in no cache.
fn send_sealed(peer: &mut Peer, outbox: &mut Outbox, port: &mut impl Port, now: Instant) -> bool {
    if outbox.is_full() {
        port.send(outbox);
    }
    !outbox.is_full() && outbox.push(|bytes| peer.poll_sealed(now, bytes))
}

/// Makes packets of one connection. Returns whether there are no more.
fn fill(peer: &mut Peer, outbox: &mut Outbox, port: &mut impl Port, now: Instant) -> bool {
    peer.handle_turn(now);
    for _ in 0..PACKETS_PER_PEER {
        if outbox.is_full() {
            port.send(outbox);
            if outbox.is_full() {
                // The socket takes no more. The connection continues when there is room.
                return false;
            }
        }
        if !outbox.push(|bytes| peer.poll_transmit(now, bytes)) {
            return true;
        }
    }
    false
}
