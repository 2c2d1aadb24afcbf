//! A server and its clients in virtual time, over simulated links. [`SessionWorld`] tests games.

mod pipe;

use std::collections::BTreeMap;
use std::fmt::Debug;

use fairpath::random::Random;
use fairpath::session::{
    Client, ClientFrame, CloseReason, ConnectionId, DatagramEffect, Server, ServerFrame, Token,
};
use fairpath::time::{LocalInstant, SharedInstant, Span, TickRate};
use fairpath::vector::Planar;

use crate::link::LinkConfig;
use crate::network::{Delivery, Event, Network, PeerId};
pub use pipe::Packet;
use pipe::Pipe;

/// A server, its clients and the links between them, in virtual time.
///
/// Datagrams cross the simulated links and may be lost. The reliable streams of the transport
/// repeat lost packets, so loss costs them time and a partition stops them. A client without a
/// connection tries to connect once a second, whatever the reason: also after `leave`, after which a
/// `NetClient` stops. [`leave`](Self::leave) keeps it away. A connection begins without a handshake
/// of its own: the first packet is the session's greeting.
///
/// The server ticks 60 times a second in true time, or at the rate of
/// [`with_tick_rate`](Self::with_tick_rate). Clients tick then too, by their own clocks.
#[derive(Debug)]
pub struct SessionWorld<V: Planar> {
    /// The links, the clocks and the faults. Peer 0 is the server, client `i` is peer `i + 1`.
    pub network: Network<Packet>,
    /// The server.
    pub server: Server<V>,
    seats: Vec<Seat<V>>,
    /// The server's ends of connections, by client and the client's number of the connection.
    ends: BTreeMap<(PeerId, u64), (ConnectionId, Pipe)>,
    /// A client's connections below this number are over: a repeated greeting does not reopen them.
    over_below: BTreeMap<PeerId, u64>,
    tokens: Random,
    started: SharedInstant,
    tick_rate: TickRate,
    frame: i64,
    is_server_up: bool,
    /// Packets that arrived while the server is stalled; `None` if it is not.
    unread: Option<Vec<Delivery<Packet>>>,
    accusations: Vec<Accusation>,
    tap: Option<Box<dyn Tap<V>>>,
}

/// Sees every datagram of a world when it leaves and after a client has handled it, and may change
/// what leaves: for tests that check datagrams or forge them.
pub trait Tap<V: Planar>: Debug + Send {
    /// A datagram is about to leave a client or the server, on one of its connections.
    fn on_sends(&mut self, _way: DatagramRoute, _now: SharedInstant, _datagram: &mut Vec<u8>) {}

    /// A client has handled a datagram.
    fn on_client_heard(
        &mut self,
        _way: DatagramRoute,
        _now: SharedInstant,
        _datagram: &[u8],
        _client: &mut Client<V>,
    ) {
    }

    /// A client has handled messages of the server's ordered stream, which wait until its clock is
    /// good enough.
    fn on_client_streamed(&mut self, _client: usize, _now: SharedInstant, _session: &mut Client<V>) {}
}

/// The client and the direction of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DatagramRoute {
    /// The client at one end.
    pub client: usize,
    /// Which of the client's connections, counted from zero.
    pub connection: u64,
    /// Whether the datagram goes to the server.
    pub is_up: bool,
}

/// A client has closed its connection because the server broke the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accusation {
    /// The client that says so.
    pub client: usize,
    /// What it says.
    pub reason: CloseReason,
}

/// A client and its end of a connection.
#[derive(Debug)]
struct Seat<V: Planar> {
    client: Client<V>,
    pipe: Option<Pipe>,
    next_connection: u64,
    try_at: SharedInstant,
    is_absent: bool,
    /// Packets that arrived while the client is stalled; `None` if it is not.
    unread: Option<Vec<Packet>>,
}

const SERVER: PeerId = PeerId(0);
const TICK_RATE: TickRate = TickRate::hz(60);
/// What QUIC can carry on every path, less its own overhead.
const DATAGRAM_BYTES_MAX: usize = 1_150;
/// Packets that wait for a stalled client: seconds of traffic. More are lost, as in a full socket.
const UNREAD_MAX: usize = 1_024;
/// The same for a stalled server of some dozens of clients.
const SERVER_UNREAD_MAX: usize = 16 * UNREAD_MAX;
/// How often a client without a connection tries to connect.
const RECONNECT_EVERY: Span = Span::from_secs(1);

impl<V: Planar> SessionWorld<V> {
    /// Creates a world where every client has the same link, or another one by
    /// [`with_link`](Self::with_link). Clients connect by themselves.
    pub fn new(seed: u64, link: LinkConfig, server: Server<V>, clients: Vec<Client<V>>) -> Self {
        let mut network = Network::new(seed, clients.len() as u32 + 1);
        for peer in network.peers().skip(1) {
            network.connect(SERVER, peer, link.clone());
        }
        let seat = |client| Seat {
            client,
            pipe: None,
            next_connection: 0,
            try_at: SharedInstant::ZERO,
            is_absent: false,
            unread: None,
        };
        Self {
            network,
            server,
            seats: clients.into_iter().map(seat).collect(),
            ends: BTreeMap::new(),
            over_below: BTreeMap::new(),
            tokens: Random::from_seed(seed).fork(1),
            started: SharedInstant::ZERO,
            tick_rate: TICK_RATE,
            frame: 0,
            is_server_up: true,
            unread: None,
            accusations: Vec::new(),
            tap: None,
        }
    }

    /// Sets the link of one client, in both directions.
    #[must_use]
    pub fn with_link(mut self, index: usize, link: LinkConfig) -> Self {
        self.network.connect(SERVER, peer(index), link);
        self
    }

    /// Sets the tap.
    #[must_use]
    pub fn with_tap(mut self, tap: impl Tap<V> + 'static) -> Self {
        self.tap = Some(Box::new(tap));
        self
    }

    /// Sets how often server and clients tick. Default 60 times a second. For clients with several
    /// frame rates choose a common multiple: 720 for 10, 20, 60 and 144.
    #[must_use]
    pub fn with_tick_rate(mut self, rate: TickRate) -> Self {
        self.tick_rate = rate;
        self
    }

    /// Returns the true time, which is the server's.
    pub fn now(&self) -> SharedInstant {
        self.network.now()
    }

    /// Returns a client.
    pub fn client(&mut self, index: usize) -> &mut Client<V> {
        &mut self.seats[index].client
    }

    /// Returns a client and the time on its own clock.
    pub fn client_now(&mut self, index: usize) -> (&mut Client<V>, LocalInstant) {
        let local = self.network.local_now(peer(index));
        (&mut self.seats[index].client, local)
    }

    /// Returns a client at the current instant, as a game uses it in a frame.
    pub fn client_frame(&mut self, index: usize) -> ClientFrame<'_, V> {
        let (client, local) = self.client_now(index);
        client.frame(local)
    }

    /// Returns the server at the current instant, as a game uses it in a frame.
    pub fn server_frame(&mut self) -> ServerFrame<'_, V> {
        let now = self.now();
        self.server.frame(now)
    }

    /// Returns a client and the server.
    pub fn client_and_server(&mut self, index: usize) -> (&mut Client<V>, &Server<V>) {
        (&mut self.seats[index].client, &self.server)
    }

    /// Returns how many clients there are.
    pub fn client_count(&self) -> usize {
        self.seats.len()
    }

    /// Runs until every present client has a session.
    ///
    /// # Panics
    /// If that takes longer than a minute.
    pub fn connect_all(&mut self) {
        let give_up_at = self.now() + Span::from_secs(60);
        while !self.seats.iter().all(|seat| seat.is_absent || seat.client.is_connected()) {
            assert!(
                self.now() < give_up_at,
                "a client has no session after a minute: check the links and the admission check"
            );
            self.run_for(Span::from_millis(100), |_, _| {});
        }
    }

    /// Cuts a client's connection and keeps it from connecting until [`arrive`](Self::arrive). Before
    /// the first run this makes a late joiner. The server is not told.
    pub fn absent(&mut self, index: usize) {
        self.seats[index].is_absent = true;
        self.cut(index);
    }

    /// Lets an absent client connect again.
    pub fn arrive(&mut self, index: usize) {
        self.seats[index].is_absent = false;
    }

    /// Lets a client leave for good, as `NetClient::leave` does: the server is told, unless the link
    /// loses the notice. The client stays away until [`arrive`](Self::arrive).
    pub fn leave(&mut self, index: usize) {
        let (client, local) = self.client_now(index);
        client.leave(local);
        self.pump_client(index);
        self.absent(index);
    }

    /// Cuts a client's connection without notice to the server, as when its address changes. The
    /// client connects again.
    pub fn cut(&mut self, index: usize) {
        let local = self.network.local_now(peer(index));
        let seat = &mut self.seats[index];
        if seat.pipe.take().is_some() {
            seat.client.handle_disconnected(None, local);
            seat.try_at = self.network.now();
        }
    }

    /// Stalls a client: it neither reads nor writes nor ticks until [`wake`](Self::wake).
    pub fn stall(&mut self, index: usize) {
        self.seats[index].unread.get_or_insert_default();
    }

    /// Wakes a stalled client, which handles all packets that arrived meanwhile.
    pub fn wake(&mut self, index: usize) {
        for packet in self.seats[index].unread.take().unwrap_or_default() {
            self.deliver_to_client(index, packet);
        }
    }

    /// Stalls the server: it neither reads nor writes nor ticks until
    /// [`wake_server`](Self::wake_server), as when its machine swaps or a debugger holds it.
    pub fn stall_server(&mut self) {
        self.unread.get_or_insert_default();
    }

    /// Wakes a stalled server, which handles all packets that arrived meanwhile.
    pub fn wake_server(&mut self) {
        for delivery in self.unread.take().unwrap_or_default() {
            self.deliver_to_server(delivery);
        }
    }

    /// Returns what clients have accused the server of since the last call.
    pub fn drain_accusations(&mut self) -> Vec<Accusation> {
        std::mem::take(&mut self.accusations)
    }

    /// Replaces a client, as when its machine restarts. The new one knows nothing of the session,
    /// and connects after a second.
    pub fn restart_client(&mut self, index: usize, client: Client<V>) {
        let seat = &mut self.seats[index];
        seat.client = client;
        (seat.pipe, seat.unread) = (None, None);
        seat.try_at = self.network.now() + RECONNECT_EVERY;
    }

    /// Stops the server: closes every connection with `reason`, of which a lossy link may lose the
    /// notice. Nothing answers until [`restart_server`](Self::restart_server).
    pub fn stop_server(&mut self, reason: CloseReason) {
        (self.is_server_up, self.unread) = (false, None);
        for (to, connection) in std::mem::take(&mut self.ends).into_keys() {
            self.send(SERVER, to, Packet::close(connection, Some(reason)));
        }
    }

    /// Replaces the server, as when it restarts. The new one knows no connections.
    pub fn restart_server(&mut self, server: Server<V>) {
        self.server = server;
        (self.is_server_up, self.unread) = (true, None);
        self.ends.clear();
        // No connection to the old server can go on with this one.
        for (index, seat) in self.seats.iter().enumerate() {
            self.over_below.insert(peer(index), seat.next_connection);
        }
    }

    /// Runs for `span` and calls `frame` at every tick, after arrived packets were handled.
    pub fn run_for(&mut self, span: Span, mut frame: impl FnMut(&mut Self, SharedInstant)) {
        let until = self.now() + span;
        loop {
            let at = self.started + self.tick_rate.begin(self.frame + 1);
            if at > until {
                break;
            }
            self.frame += 1;
            self.step_until(at);
            self.tick();
            frame(self, at);
            self.pump_all();
        }
        self.step_until(until);
    }

    fn step_until(&mut self, until: SharedInstant) {
        while let Some(event) = self.network.step_until(until) {
            let Event::Delivery(delivery) = event else { continue };
            if delivery.to == SERVER {
                match &mut self.unread {
                    Some(unread) if unread.len() < SERVER_UNREAD_MAX => unread.push(delivery),
                    Some(_) => {}
                    None if self.is_server_up => {
                        self.deliver_to_server(delivery);
                        self.pump_server();
                    }
                    None => {}
                }
            } else {
                let index = delivery.to.0 as usize - 1;
                self.deliver_to_client(index, delivery.payload);
                self.pump_client(index);
            }
        }
    }

    fn tick(&mut self) {
        let now = self.now();
        if self.is_server_up && self.unread.is_none() {
            self.server.handle_timeout(now);
        }
        for index in 0..self.seats.len() {
            let local = self.network.local_now(peer(index));
            let seat = &mut self.seats[index];
            if seat.unread.is_some() {
                continue;
            }
            let was_connected = seat.client.is_connected();
            seat.client.handle_timeout(local);
            let has_begun = !was_connected && seat.client.is_connected();
            if let Some(tap) = self.tap.as_mut().filter(|_| has_begun) {
                tap.on_client_streamed(index, now, &mut seat.client);
            }
            if seat.pipe.is_none() && seat.try_at <= now && !seat.is_absent {
                seat.pipe = Some(Pipe::new(seat.next_connection));
                seat.next_connection += 1;
                seat.client.handle_connected(local);
            }
        }
        self.pump_all();
    }

    fn pump_all(&mut self) {
        self.pump_server();
        (0..self.seats.len()).for_each(|index| self.pump_client(index));
    }

    // ── the server's side of the transport ──

    fn deliver_to_server(&mut self, delivery: Delivery<Packet>) {
        let now = self.now();
        let Delivery { from, payload, .. } = delivery;
        let key = (from, payload.connection);
        if !self.ends.contains_key(&key) {
            let over_below = self.over_below.entry(from).or_default();
            if !payload.is_first() || payload.connection < *over_below {
                // A restarted server knows no such connection.
                self.send(SERVER, from, Packet::close(payload.connection, None));
                return;
            }
            *over_below = payload.connection + 1;
            let mut token = [0; 16];
            token[..8].copy_from_slice(&self.tokens.bits().to_le_bytes());
            token[8..].copy_from_slice(&self.tokens.bits().to_le_bytes());
            let Some(id) = self.server.handle_connected(Token(token), now) else { return };
            self.ends.insert(key, (id, Pipe::new(payload.connection)));
        }
        let (id, pipe) = self.ends.get_mut(&key).expect("it was just made");
        let (id, arrived) = (*id, pipe.handle(payload));
        for packet in arrived.replies {
            self.send(SERVER, from, packet);
        }
        arrived.streams.iter().for_each(|bytes| self.server.handle_stream(id, bytes, now));
        arrived.unordered.iter().for_each(|bytes| self.server.handle_unordered(id, bytes, now));
        for bytes in &arrived.datagrams {
            let before = self.server.poll_deadline(now);
            let effect = self.server.handle_datagram(id, bytes, now);
            // A caller that sleeps until a deadline relies on this. Debug only: it is slow.
            debug_assert!(
                is_as_soon_as_told(&self.server, id, effect, before, now),
                "handle_datagram moved the deadline forward and returned {effect:?}"
            );
        }
        if let Some(reason) = arrived.closed {
            self.ends.remove(&key);
            self.server.handle_disconnected(id, reason, now);
        }
    }

    fn pump_server(&mut self) {
        if self.unread.is_some() {
            return;
        }
        let now = self.now();
        let mut packets = Vec::new();
        for ((to, connection), (id, pipe)) in &mut self.ends {
            while let Some(bytes) = self.server.poll_stream(*id, now) {
                pipe.push_stream(bytes);
            }
            while let Some(bytes) = self.server.poll_unordered(*id) {
                pipe.push_unordered(bytes);
            }
            packets.extend(pipe.poll(now).into_iter().map(|packet| (*to, packet)));
            while let Some(mut bytes) = self.server.poll_datagram(*id, now, DATAGRAM_BYTES_MAX) {
                if let Some(tap) = &mut self.tap {
                    let way =
                        DatagramRoute { client: to.0 as usize - 1, connection: *connection, is_up: false };
                    tap.on_sends(way, now, &mut bytes);
                }
                packets.push((*to, pipe.datagram(bytes)));
            }
        }
        while let Some((closing, reason)) = self.server.poll_close() {
            let end = self.ends.iter().find(|(_, (id, _))| *id == closing).map(|(key, _)| *key);
            if let Some((to, connection)) = end {
                self.ends.remove(&(to, connection));
                packets.push((to, Packet::close(connection, Some(reason))));
            }
        }
        packets.into_iter().for_each(|(to, packet)| self.send(SERVER, to, packet));
    }

    // ── a client's side of the transport ──

    fn deliver_to_client(&mut self, index: usize, packet: Packet) {
        let local = self.network.local_now(peer(index));
        let now = self.now();
        let seat = &mut self.seats[index];
        if let Some(unread) = &mut seat.unread {
            if unread.len() < UNREAD_MAX {
                unread.push(packet);
            }
            return;
        }
        let Some(pipe) = seat.pipe.as_mut().filter(|pipe| pipe.connection() == packet.connection) else {
            return;
        };
        let connection = packet.connection;
        let arrived = pipe.handle(packet);
        arrived.streams.iter().for_each(|bytes| seat.client.handle_stream(bytes, local));
        if let Some(tap) = self.tap.as_mut().filter(|_| !arrived.streams.is_empty()) {
            tap.on_client_streamed(index, now, &mut seat.client);
        }
        arrived.unordered.iter().for_each(|bytes| seat.client.handle_unordered(bytes, local));
        for bytes in &arrived.datagrams {
            let was_connected = seat.client.is_connected();
            seat.client.handle_datagram(bytes, local);
            if let Some(tap) = &mut self.tap {
                let way = DatagramRoute { client: index, connection, is_up: false };
                if !was_connected && seat.client.is_connected() {
                    tap.on_client_streamed(index, now, &mut seat.client);
                }
                tap.on_client_heard(way, now, bytes, &mut seat.client);
            }
        }
        if let Some(reason) = arrived.closed {
            seat.pipe = None;
            seat.try_at = now + RECONNECT_EVERY;
            seat.client.handle_disconnected(reason, local);
        }
        arrived.replies.into_iter().for_each(|packet| self.send(peer(index), SERVER, packet));
    }

    fn pump_client(&mut self, index: usize) {
        let local = self.network.local_now(peer(index));
        let now = self.now();
        let seat = &mut self.seats[index];
        let mut packets = Vec::new();
        if let Some(pipe) = seat.pipe.as_mut().filter(|_| seat.unread.is_none()) {
            while let Some(bytes) = seat.client.poll_stream(local) {
                pipe.push_stream(bytes);
            }
            while let Some(bytes) = seat.client.poll_unordered() {
                pipe.push_unordered(bytes);
            }
            packets = pipe.poll(now);
            while let Some(mut bytes) = seat.client.poll_datagram(local, DATAGRAM_BYTES_MAX) {
                if let Some(tap) = &mut self.tap {
                    let way = DatagramRoute { client: index, connection: pipe.connection(), is_up: true };
                    tap.on_sends(way, now, &mut bytes);
                }
                packets.push(pipe.datagram(bytes));
            }
            if let Some(reason) = seat.client.poll_close() {
                if reason.accuses() {
                    self.accusations.push(Accusation { client: index, reason });
                }
                packets.push(Packet::close(pipe.connection(), Some(reason)));
                seat.pipe = None;
                seat.try_at = now + RECONNECT_EVERY;
            }
        }
        packets.into_iter().for_each(|packet| self.send(peer(index), SERVER, packet));
    }

    fn send(&mut self, from: PeerId, to: PeerId, packet: Packet) {
        self.network.send(from, to, packet.size_bytes(), packet);
    }
}

fn peer(index: usize) -> PeerId {
    PeerId(index as u32 + 1)
}

/// Why a connection was closed, if the peer said so.
type Reason = Option<CloseReason>;

/// Whether the server's deadline is no earlier than the effect of a datagram allows.
fn is_as_soon_as_told<V: Planar>(
    server: &Server<V>,
    id: ConnectionId,
    effect: DatagramEffect,
    before: Option<SharedInstant>,
    now: SharedInstant,
) -> bool {
    let deadline = server.poll_deadline(now);
    let is_sooner = deadline.is_some_and(|at| before.is_none_or(|before| at < before));
    match effect {
        DatagramEffect::Nothing => !is_sooner,
        DatagramEffect::SameConnection => !is_sooner || deadline == server.connection_deadline(id, now),
        DatagramEffect::AnyConnection => true,
    }
}
