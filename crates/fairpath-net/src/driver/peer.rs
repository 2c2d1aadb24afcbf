//! One client's connection: QUIC below, the session above.

#[cfg(feature = "web")]
mod browser;
mod farewell;

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use bytes::Bytes;
use fairpath::session::limits::{HELLO_WITHIN, STREAM_MESSAGE_BYTES_MAX};
use fairpath::session::{ClientId, CloseReason, ConnectionId, DatagramEffect, Server, Token};
use fairpath::time::{SharedInstant, Span};
use fairpath::vector::Planar;
use quinn_proto::crypto::rustls::HandshakeData;
use quinn_proto::{
    Connection, ConnectionError, ConnectionHandle, Dir, Event, ReadError, StreamEvent, StreamId, Transmit,
    VarInt, WriteError,
};

use self::farewell::Farewell;
use super::sealed::{self, SealedPeer};
#[cfg(feature = "web")]
use super::web::{self, Web};
use crate::admissions::{HandshakePlace, household};
use crate::clock::Clock;
use crate::connection::{
    DATAGRAMS_PER_SEC, Transport, UNORDERED_BYTES_MAX, close_reason, proven_fingerprint,
};
use crate::identity::unguessable;
use crate::problem::ConnectionProblem;
use crate::proven::ClientAddress;
use crate::sealed::{ControlDatagram, DelayRise};
use crate::sender::{Departures, Outbound, ServerOutbound};
use crate::served::{LinkStatus, Served, ServedSession};
use crate::server::EndedConnection;
use crate::token_bucket::TokenBucket;

#[derive(Debug)]
pub(super) struct Peer {
    pub(super) connection: Connection,
    pub(super) handle: ConnectionHandle,
    /// HTTP/3, if the client is a browser.
    #[cfg(feature = "web")]
    web: Option<Box<Web>>,
    /// The address that the limiter counts this connection under. The client may move.
    counted_as: IpAddr,
    /// Where the client is, and where it claims to be.
    pub(super) address: ClientAddress,
    stage: Stage,
    /// Free space in QUIC's datagram buffer while no datagram waits in it.
    empty_buffer_space: usize,
    /// When the last datagram was handed over, until it is known to have left.
    handed_at: Option<Instant>,
    is_held_back: bool,
    departures: Departures,
    /// Whether the last datagram was handed to QUIC.
    is_datagram_in_quic: bool,
    /// Carries datagrams beside QUIC, if the client knows how.
    pub(super) sealed: Option<Box<SealedPeer>>,
    /// Whether it was decided if the client is offered sealed datagrams.
    pub(super) is_offer_decided: bool,
    /// Repeats the closing packet when the server stops.
    farewell: Option<Box<Farewell>>,
    /// Whether QUIC may have packets to send.
    pub(super) is_quic_due: bool,
    /// Whether QUIC may have events for the session.
    pub(super) has_quic_events: bool,
    /// QUIC's next timer, as of the last time that it was asked for packets.
    quic_deadline: Option<Instant>,
    /// The local address that packets leave from, as of the same time.
    local_ip: Option<IpAddr>,
    /// The largest session datagram in a sealed packet, as of the same time.
    sealed_bytes_max: usize,
    /// When the last packet arrived.
    pub(super) arrived_at: Instant,
    /// Whether the driver's list of connections with something to deliver has this one.
    pub(super) is_in_arrivals: bool,
    /// Whether the driver's list of connections with something to transmit has this one.
    pub(super) is_in_active: bool,
}

#[derive(Debug)]
enum Stage {
    /// The client has until this instant to write to the ordered stream.
    Greeting(Instant, HandshakePlace),
    Session(Box<Link>),
    /// The session has no part in this connection any more.
    Ended,
}

/// The streams and datagrams of a session.
#[derive(Debug)]
struct Link {
    id: ConnectionId,
    /// Once the client has introduced itself.
    client: Option<ClientId>,
    ordered: StreamId,
    /// The rest of an ordered message that the stream does not take yet.
    ordered_rest: Bytes,
    unordered_rest: Option<UnorderedRest>,
    /// The beginnings of unordered messages. QUIC limits the number of streams.
    unordered_unread: BTreeMap<StreamId, Vec<u8>>,
    datagram_limit: TokenBucket,
    measured_at: Option<Instant>,
    delay_rise: DelayRise,
}

/// The rest of an unordered message, and its stream if there was one to open.
#[derive(Debug)]
struct UnorderedRest {
    stream: Option<StreamId>,
    bytes: Bytes,
}

/// How a session's datagram leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Carrier {
    /// In a QUIC datagram: a browser's with the number of its session.
    Quic,
    /// In a sealed packet.
    Sealed,
}

/// Least time between two round trips that the session is given: several per half-life of its
/// estimate.
const MEASURE_EVERY: Duration = Duration::from_millis(200);

impl Peer {
    /// A connection whose handshake begins. The address that it comes from is proven.
    pub(super) fn new(
        mut connection: Connection,
        handle: ConnectionHandle,
        from: SocketAddr,
        place: HandshakePlace,
        now: Instant,
    ) -> Self {
        let greeting_until = now + Duration::from_micros(HELLO_WITHIN.as_micros() as u64);
        Self {
            empty_buffer_space: connection.datagrams().send_buffer_space(),
            connection,
            handle,
            #[cfg(feature = "web")]
            web: None,
            counted_as: from.ip(),
            address: ClientAddress::proven(from),
            stage: Stage::Greeting(greeting_until, place),
            handed_at: None,
            is_held_back: false,
            departures: Departures::default(),
            is_datagram_in_quic: false,
            sealed: None,
            is_offer_decided: false,
            farewell: None,
            is_quic_due: true,
            has_quic_events: true,
            quic_deadline: None,
            local_ip: None,
            sealed_bytes_max: 0,
            arrived_at: now,
            is_in_arrivals: false,
            is_in_active: false,
        }
    }

    /// The session's name of this connection, while it has one.
    pub(super) fn id(&self) -> Option<ConnectionId> {
        if let Stage::Session(link) = &self.stage { Some(link.id) } else { None }
    }

    /// When [`handle_timeout`](Self::handle_timeout) is due.
    pub(super) fn poll_deadline(&self) -> Option<Instant> {
        let greeting = if let Stage::Greeting(until, _) = self.stage { Some(until) } else { None };
        let sealed = self.sealed.as_ref().and_then(|sealed| sealed.poll_deadline());
        let farewell = self.farewell.as_ref().and_then(|farewell| farewell.poll_deadline());
        [greeting, self.quic_deadline, sealed, farewell].into_iter().flatten().min()
    }

    /// Returns whether the session may have to hear of it.
    pub(super) fn handle_timeout<V: Planar>(&mut self, shared: &ServedSession<V>, now: Instant) -> bool {
        let is_quic_due = self.connection.poll_timeout().is_some_and(|at| at <= now);
        if is_quic_due {
            self.connection.handle_timeout(now);
            self.is_quic_due = true;
            self.has_quic_events = true;
        }
        if let Stage::Greeting(until, place) = &self.stage
            && (*until <= now || place.is_lost())
        {
            // A slow link deserves another attempt, which this reason permits.
            self.close(CloseReason::NoGreeting, shared, now);
            return true;
        }
        is_quic_due
    }

    /// Closes the connection from this end.
    pub(super) fn close<V: Planar>(&mut self, reason: CloseReason, shared: &ServedSession<V>, now: Instant) {
        self.connection.close(now, VarInt::from_u32(reason.code().into()), reason.to_string().into());
        self.is_quic_due = true;
        let error = ConnectionError::LocallyClosed;
        self.end(ConnectionProblem::of_quic(&error, Some(reason), false), shared);
    }

    /// Closes the connection because the server stops. The closing packet leaves several times.
    pub(super) fn say_farewell<V: Planar>(
        &mut self,
        reason: CloseReason,
        shared: &ServedSession<V>,
        now: Instant,
    ) {
        self.close(reason, shared, now);
        self.farewell = Some(Box::default());
    }

    /// Closes the connection because the client broke the protocol.
    pub(super) fn throw_out<V: Planar>(
        &mut self,
        reason: CloseReason,
        shared: &ServedSession<V>,
        now: Instant,
    ) {
        shared.on_thrown_out(self.counted_as);
        self.close(reason, shared, now);
    }

    /// Ends the session's part in this connection.
    fn end<V: Planar>(&mut self, problem: ConnectionProblem, shared: &ServedSession<V>) {
        match std::mem::replace(&mut self.stage, Stage::Ended) {
            Stage::Greeting(_, place) => shared.on_handshake_over(self.counted_as, &place, true),
            Stage::Session(link) => {
                if let Some(client) = link.client {
                    let address = self.address.current();
                    shared.push_ended(EndedConnection { client, address, problem });
                }
            }
            Stage::Ended => return,
        }
        shared.on_gone(self.counted_as);
    }

    pub(super) fn status(&self) -> LinkStatus {
        LinkStatus {
            address: self.address.current(),
            fingerprint: proven_fingerprint(self.connection.crypto_session().peer_identity()),
            #[cfg(feature = "web")]
            transport: if self.web.is_some() { Transport::WebTransport } else { Transport::Quic },
            #[cfg(not(feature = "web"))]
            transport: Transport::Quic,
            departures: self.departures,
            sealed: self.sealed.as_ref().map(|sealed| sealed.statistics()),
            quic: self.connection.stats(),
        }
    }
}

// ── in

impl Peer {
    /// Hands arrivals to the session, at the time when they arrived. Returns for which connections
    /// the session may have something to send earlier than it said.
    pub(super) fn deliver<V: Planar>(
        &mut self,
        shared: &ServedSession<V>,
        served: &mut Served<V>,
        now: Instant,
    ) -> DatagramEffect {
        let mut effect = self.deliver_sealed(shared, served, now);
        if std::mem::take(&mut self.has_quic_events) {
            effect = effect.max(self.deliver_quic(shared, served, now));
        }
        self.measure(&mut served.session, shared.clock, now);
        effect
    }

    fn deliver_quic<V: Planar>(
        &mut self,
        shared: &ServedSession<V>,
        served: &mut Served<V>,
        now: Instant,
    ) -> DatagramEffect {
        let at = served.advance(shared.clock.shared_at(self.arrived_at));
        if matches!(&self.stage, Stage::Greeting(_, place) if place.is_lost()) {
            self.close(CloseReason::NoGreeting, shared, now);
        }
        let mut effect = DatagramEffect::Nothing;
        let of = |is_news| if is_news { DatagramEffect::AnyConnection } else { DatagramEffect::Nothing };
        while let Some(event) = self.connection.poll() {
            self.is_quic_due = true;
            effect = effect.max(match event {
                Event::ConnectionLost { reason } => of(self.on_lost(&reason, shared, served, at)),
                Event::DatagramReceived => self.deliver_datagrams(&mut served.session, at, now),
                Event::Stream(event) => of(self.on_stream_event(event, shared, served, at, now)),
                #[cfg(feature = "web")]
                Event::Connected => of(self.greet_browser(shared, now)),
                #[cfg(not(feature = "web"))]
                Event::Connected => DatagramEffect::Nothing,
                Event::HandshakeDataReady | Event::DatagramsUnblocked => DatagramEffect::Nothing,
            });
        }
        effect
    }

    fn on_lost<V: Planar>(
        &mut self,
        reason: &ConnectionError,
        shared: &ServedSession<V>,
        served: &mut Served<V>,
        at: SharedInstant,
    ) -> bool {
        let id = self.id();
        self.end(ConnectionProblem::of_quic(reason, None, false), shared);
        if let Some(id) = id {
            served.session.handle_disconnected(id, close_reason(reason), at);
        }
        true
    }

    /// Hands over datagrams that arrived sealed.
    fn deliver_sealed<V: Planar>(
        &mut self,
        shared: &ServedSession<V>,
        served: &mut Served<V>,
        now: Instant,
    ) -> DatagramEffect {
        let mut effect = DatagramEffect::Nothing;
        let (Stage::Session(link), Some(sealed)) = (&mut self.stage, &mut self.sealed) else {
            return effect;
        };
        sealed.unread.drain(|datagram, arrived_at| {
            let at = served.advance(shared.clock.shared_at(arrived_at));
            if link.takes_datagram(now) {
                effect = effect.max(served.session.handle_datagram(link.id, datagram, at));
            }
        });
        effect
    }

    fn deliver_datagrams<V: Planar>(
        &mut self,
        session: &mut Server<V>,
        at: SharedInstant,
        now: Instant,
    ) -> DatagramEffect {
        let mut effect = DatagramEffect::Nothing;
        // Before the greeting they wait in QUIC's buffer, which is bounded.
        let Stage::Session(link) = &mut self.stage else { return effect };
        while let Some(bytes) = self.connection.datagrams().recv() {
            let is_control = self.sealed.is_some() && ControlDatagram::is_control(&bytes);
            #[cfg(feature = "web")]
            let Some(bytes) = web::unwrap_datagram(self.web.as_deref(), bytes) else { continue };
            if link.takes_datagram(now) && !is_control {
                effect = effect.max(session.handle_datagram(link.id, &bytes, at));
            }
        }
        effect
    }

    fn on_stream_event<V: Planar>(
        &mut self,
        event: StreamEvent,
        shared: &ServedSession<V>,
        served: &mut Served<V>,
        at: SharedInstant,
        now: Instant,
    ) -> bool {
        #[cfg(feature = "web")]
        self.sort_streams(&event, shared, served, at, now);
        let violation = match event {
            #[cfg(feature = "web")]
            StreamEvent::Opened { .. } if self.web.is_some() => None,
            StreamEvent::Opened { dir: Dir::Bi } => self.accept_ordered(shared, served, at, now),
            StreamEvent::Opened { dir: Dir::Uni } => self.accept_unordered(&mut served.session, at),
            StreamEvent::Readable { id } => self.read(id, &mut served.session, at),
            // There may be room for what waits.
            StreamEvent::Writable { .. } | StreamEvent::Available { .. } => None,
            StreamEvent::Stopped { id, .. } => self.on_stopped(id),
            StreamEvent::Finished { .. } => return false,
        };
        if let Some(reason) = violation {
            self.on_violation(reason, shared, served, at, now);
        }
        true
    }

    fn on_violation<V: Planar>(
        &mut self,
        reason: CloseReason,
        shared: &ServedSession<V>,
        served: &mut Served<V>,
        at: SharedInstant,
        now: Instant,
    ) {
        if let Some(id) = self.id() {
            self.throw_out(reason, shared, now);
            served.session.handle_disconnected(id, None, at);
        }
    }

    /// The first stream in both directions is the ordered one, and begins the session.
    fn accept_ordered<V: Planar>(
        &mut self,
        shared: &ServedSession<V>,
        served: &mut Served<V>,
        at: SharedInstant,
        now: Instant,
    ) -> Option<CloseReason> {
        if !matches!(self.stage, Stage::Greeting(..)) {
            // Further streams stay unread, and flow control bounds what they hold.
            return None;
        }
        let ordered = self.connection.streams().accept(Dir::Bi)?;
        self.begin_session(ordered, shared, served, at, now)?;
        // Unordered messages and datagrams may have overtaken the greeting.
        let violation = self
            .read(ordered, &mut served.session, at)
            .or_else(|| self.accept_unordered(&mut served.session, at));
        self.deliver_datagrams(&mut served.session, at, now);
        violation
    }

    /// Begins a session on its ordered stream. `None` if there is no room for it.
    fn begin_session<V: Planar>(
        &mut self,
        ordered: StreamId,
        shared: &ServedSession<V>,
        served: &mut Served<V>,
        at: SharedInstant,
        now: Instant,
    ) -> Option<()> {
        if let Stage::Greeting(_, place) = &self.stage {
            shared.on_handshake_over(self.counted_as, place, false);
        }
        let (household, token) = (household(self.counted_as), Token(unguessable()));
        let Some(id) = served.session.handle_connected_from(household, token, at) else {
            self.stage = Stage::Ended;
            shared.on_gone(self.counted_as);
            let reason = CloseReason::Full;
            self.connection.close(now, VarInt::from_u32(reason.code().into()), reason.to_string().into());
            return None;
        };
        self.stage = Stage::Session(Box::new(Link {
            id,
            client: None,
            ordered,
            ordered_rest: Bytes::new(),
            unordered_rest: None,
            unordered_unread: BTreeMap::new(),
            datagram_limit: TokenBucket::full(DATAGRAMS_PER_SEC),
            measured_at: None,
            delay_rise: DelayRise::new(shared.clock.local_at(now)),
        }));
        Some(())
    }

    fn accept_unordered<V: Planar>(
        &mut self,
        session: &mut Server<V>,
        at: SharedInstant,
    ) -> Option<CloseReason> {
        loop {
            let Stage::Session(link) = &mut self.stage else { return None };
            let id = self.connection.streams().accept(Dir::Uni)?;
            link.unordered_unread.insert(id, Vec::new());
            let violation = self.read(id, session, at);
            if violation.is_some() {
                return violation;
            }
        }
    }

    /// Reads a stream. Returns a violation of the protocol.
    fn read<V: Planar>(
        &mut self,
        id: StreamId,
        session: &mut Server<V>,
        at: SharedInstant,
    ) -> Option<CloseReason> {
        let Stage::Session(link) = &mut self.stage else { return None };
        if id == link.ordered {
            return read_ordered(&mut self.connection, link, session, at);
        }
        let bytes = link.unordered_unread.get_mut(&id)?;
        match read_unordered(&mut self.connection, id, bytes) {
            UnorderedRead::More => return None,
            UnorderedRead::Reset => {}
            UnorderedRead::TooLong => return Some(CloseReason::Malformed),
            UnorderedRead::Complete => session.handle_unordered(link.id, bytes, at),
        }
        link.unordered_unread.remove(&id);
        None
    }

    /// The client wants no more of a stream. It needs the ordered one.
    fn on_stopped(&mut self, id: StreamId) -> Option<CloseReason> {
        let Stage::Session(link) = &mut self.stage else { return None };
        if link.unordered_rest.as_ref().is_some_and(|rest| rest.stream == Some(id)) {
            link.unordered_rest = None;
        }
        (id == link.ordered).then_some(CloseReason::OutOfPlace)
    }

    /// Tells the session what this end knows of the path: QUIC's round trip, and the share of the
    /// budget that the path has room for.
    fn measure<V: Planar>(&mut self, session: &mut Server<V>, clock: Clock, now: Instant) {
        let Stage::Session(link) = &mut self.stage else { return };
        if link.measured_at.is_some_and(|at| now.saturating_duration_since(at) < MEASURE_EVERY) {
            return;
        }
        link.measured_at = Some(now);
        let micros = i64::try_from(self.connection.rtt().as_micros()).unwrap_or(i64::MAX);
        session.handle_round_trip(link.id, Span::from_micros(micros));
        // Receipts measure the round trip of motion, whatever carries it.
        let round_trip = link.client.and_then(|client| session.statistics(client)?.round_trip);
        if let Some(share) = link.delay_rise.next_share(clock.local_at(now), round_trip) {
            session.set_budget_share(link.id, share, clock.shared_at(now));
        }
    }
}

impl Link {
    /// Counts a datagram. Returns false if it is beyond the limit.
    fn takes_datagram(&mut self, now: Instant) -> bool {
        self.datagram_limit.take_at(now, 1.0, DATAGRAMS_PER_SEC, DATAGRAMS_PER_SEC)
    }
}

/// Reads the ordered stream. It must not end before its connection.
fn read_ordered<V: Planar>(
    connection: &mut Connection,
    link: &mut Link,
    session: &mut Server<V>,
    at: SharedInstant,
) -> Option<CloseReason> {
    let mut stream = connection.recv_stream(link.ordered);
    let mut chunks = stream.read(true).ok()?;
    let violation = loop {
        match chunks.next(STREAM_MESSAGE_BYTES_MAX) {
            Ok(Some(chunk)) => session.handle_stream(link.id, &chunk.bytes, at),
            Err(ReadError::Blocked) => break None,
            Ok(None) | Err(ReadError::Reset(_)) => break Some(CloseReason::OutOfPlace),
        }
    };
    // The caller transmits anyway.
    let _ = chunks.finalize();
    link.client = link.client.or_else(|| session.client_on(link.id));
    violation
}

enum UnorderedRead {
    More,
    Complete,
    TooLong,
    Reset,
}

fn read_unordered(connection: &mut Connection, id: StreamId, bytes: &mut Vec<u8>) -> UnorderedRead {
    let mut stream = connection.recv_stream(id);
    let Ok(mut chunks) = stream.read(true) else { return UnorderedRead::Reset };
    let read = loop {
        match chunks.next(UNORDERED_BYTES_MAX + 1) {
            Ok(Some(chunk)) if bytes.len() + chunk.bytes.len() > UNORDERED_BYTES_MAX => {
                break UnorderedRead::TooLong;
            }
            Ok(Some(chunk)) => bytes.extend_from_slice(&chunk.bytes),
            Ok(None) => break UnorderedRead::Complete,
            Err(ReadError::Blocked) => break UnorderedRead::More,
            Err(ReadError::Reset(_)) => break UnorderedRead::Reset,
        }
    };
    let _ = chunks.finalize();
    read
}

// ── out

impl Peer {
    /// Takes from the session what can leave now: messages, and one datagram. Returns whether
    /// there was any.
    pub(super) fn pump<V: Planar>(
        &mut self,
        session: &mut Server<V>,
        now: SharedInstant,
        handed_at: Instant,
    ) -> bool {
        let Some(id) = self.id() else { return false };
        let outbound = &mut ServerOutbound { session: &mut *session, id, now };
        let mut has_sent = self.pump_ordered(outbound);
        has_sent |= self.pump_unordered(outbound);
        self.is_quic_due |= has_sent;
        has_sent |= self.pump_datagram(session, id, now, handed_at);
        has_sent
    }

    fn pump_ordered(&mut self, outbound: &mut impl Outbound) -> bool {
        let Stage::Session(link) = &mut self.stage else { return false };
        let mut has_sent = false;
        loop {
            if link.ordered_rest.is_empty() {
                let Some(bytes) = outbound.poll_stream() else { return has_sent };
                link.ordered_rest = bytes.into();
            }
            let written =
                self.connection.send_stream(link.ordered).write_chunks(rest(&mut link.ordered_rest));
            if written.is_err() {
                // Blocked: an event tells when there is room. Stopped: an event tells that, too.
                return has_sent;
            }
            has_sent = true;
        }
    }

    fn pump_unordered(&mut self, outbound: &mut impl Outbound) -> bool {
        let Stage::Session(link) = &mut self.stage else { return false };
        let mut has_sent = false;
        loop {
            let waiting = link.unordered_rest.take();
            let next = || {
                let bytes = outbound.poll_unordered()?;
                #[cfg(feature = "web")]
                let bytes = web::wrap_message(self.web.as_deref(), bytes);
                Some(UnorderedRest { stream: None, bytes: bytes.into() })
            };
            let Some(mut message) = waiting.or_else(next) else { return has_sent };
            let stream = message.stream.or_else(|| self.connection.streams().open(Dir::Uni));
            message.stream = stream;
            let Some(stream) = stream else {
                // The client allows no more streams for now.
                link.unordered_rest = Some(message);
                return has_sent;
            };
            let mut sending = self.connection.send_stream(stream);
            while !message.bytes.is_empty() {
                match sending.write_chunks(rest(&mut message.bytes)) {
                    Ok(_) => has_sent = true,
                    Err(WriteError::Blocked) => {
                        link.unordered_rest = Some(message);
                        return has_sent;
                    }
                    // The client does not want it.
                    Err(_) => break,
                }
            }
            let _ = sending.finish();
        }
    }

    fn pump_datagram<V: Planar>(
        &mut self,
        session: &mut Server<V>,
        id: ConnectionId,
        now: SharedInstant,
        handed_at: Instant,
    ) -> bool {
        // At most one datagram is ahead of the wire.
        if self.handed_at.is_some() {
            return false;
        }
        let Some((carrier, bytes_max)) = self.carrier(handed_at) else { return false };
        let has_datagram = match (carrier, &mut self.sealed) {
            // It is sealed when it leaves, without the session's mutex.
            (Carrier::Sealed, Some(sealed)) => {
                sealed.take_datagram(|out| session.poll_datagram_into(id, now, bytes_max, out))
            }
            _ => match session.poll_datagram(id, now, bytes_max) {
                Some(bytes) => {
                    self.send_in_quic(bytes);
                    true
                }
                None => false,
            },
        };
        if has_datagram {
            self.handed_at = Some(handed_at);
        }
        has_datagram
    }

    /// How the next datagram of the session leaves, and the most bytes that it may have. `None` if
    /// the client accepts no datagrams.
    fn carrier(&mut self, now: Instant) -> Option<(Carrier, usize)> {
        if self.sealed.as_mut().is_some_and(|sealed| sealed.is_in_use(now)) {
            return Some((Carrier::Sealed, self.sealed_bytes_max));
        }
        let bytes_max = self.connection.datagrams().max_size()?;
        #[cfg(feature = "web")]
        if let Some(web) = &self.web {
            return Some((Carrier::Quic, bytes_max.checked_sub(web.datagram_prefix()?)?));
        }
        Some((Carrier::Quic, bytes_max))
    }

    fn send_in_quic(&mut self, bytes: Vec<u8>) {
        #[cfg(feature = "web")]
        let bytes = match &self.web {
            Some(web) => web.wrap_datagram(&bytes),
            None => bytes,
        };
        // If the path has just become narrower, the datagram is lost.
        let _ = self.connection.datagrams().send(bytes.into(), true);
        self.is_datagram_in_quic = true;
        self.is_quic_due = true;
    }

    /// Does what is due beside QUIC, before packets are made.
    pub(super) fn handle_turn(&mut self, now: Instant) {
        if let Some(sealed) = &mut self.sealed {
            self.is_quic_due |= sealed.handle_turn(&mut self.connection, now);
        }
    }

    /// Whether a sealed datagram is all that there is to do.
    pub(super) fn has_sealed_datagram_only(&self, now: Instant) -> bool {
        !self.is_quic_due
            && matches!(self.stage, Stage::Session(_))
            && self.sealed.as_ref().is_some_and(|sealed| sealed.has_outgoing())
            && self.poll_deadline().is_none_or(|at| at > now)
    }

    /// Makes the sealed packet with the session's datagram; `None` if it cannot leave sealed.
    pub(super) fn poll_sealed(&mut self, now: Instant, packet: &mut Vec<u8>) -> Option<Transmit> {
        let destination = self.sealed.as_mut()?.seal_outgoing(now, packet)?;
        let (size, src_ip) = (packet.len(), self.local_ip);
        Some(Transmit { destination, ecn: None, size, segment_size: None, src_ip })
    }

    /// Whether the last datagram had to wait for room.
    pub(super) fn is_held_back(&self) -> bool {
        self.is_held_back
    }

    /// Makes the next packet: sealed ones first, then QUIC's.
    pub(super) fn poll_transmit(&mut self, now: Instant, packet: &mut Vec<u8>) -> Option<Transmit> {
        self.local_ip = self.connection.local_ip();
        self.sealed_bytes_max = sealed::datagram_bytes_max(&self.connection);
        if let Some(sealed) = &mut self.sealed {
            if let Some(destination) = sealed.poll_transmit(now, packet) {
                let (size, src_ip) = (packet.len(), self.local_ip);
                return Some(Transmit { destination, ecn: None, size, segment_size: None, src_ip });
            }
            // The client has just become silent on the sealed path, or the keys are used up.
            if let Some(bytes) = sealed.give_back() {
                self.send_in_quic(bytes);
            }
        }
        if self.is_quic_due {
            let transmit = self.poll_quic(now, packet);
            self.is_quic_due = transmit.is_some();
            self.quic_deadline = self.connection.poll_timeout();
            if let (Some(farewell), Some(transmit)) = (&mut self.farewell, &transmit) {
                farewell.record(transmit, packet, now);
            }
            return transmit;
        }
        let transmit = self.farewell.as_mut()?.poll_transmit(now, packet)?;
        self.address.may_send(transmit.destination, transmit.size).then_some(transmit)
    }

    /// Makes QUIC's next packet. Packets that are too much for an unproven address are dropped,
    /// which QUIC takes for loss.
    fn poll_quic(&mut self, now: Instant, packet: &mut Vec<u8>) -> Option<Transmit> {
        loop {
            let remote = self.connection.remote_address();
            let before = (!self.address.is_proven(remote)).then(|| Challenges::of(&self.connection));
            let transmit = self.connection.poll_transmit(now, 1, packet)?;
            if before.is_some_and(|before| before.are_over(&self.connection, &transmit, packet)) {
                self.address.prove(remote);
            }
            if self.address.may_send(transmit.destination, transmit.size) {
                return Some(transmit);
            }
            packet.clear();
        }
    }

    /// After packets were made: whether the last datagram is in one of them.
    pub(super) fn check_datagram(&mut self) -> DatagramState {
        if self.handed_at.is_none() {
            return DatagramState::None;
        }
        let is_in_quic = self.is_datagram_in_quic
            && self.connection.datagrams().send_buffer_space() < self.empty_buffer_space;
        if is_in_quic || self.sealed.as_ref().is_some_and(|sealed| sealed.has_outgoing()) {
            self.is_held_back = true;
            return DatagramState::HeldBack;
        }
        DatagramState::Left { was_held_back: self.is_held_back }
    }

    /// Counts the last datagram, which has left.
    pub(super) fn count_departure(&mut self, now: Instant) {
        let Some(handed_at) = self.handed_at.take() else { return };
        self.is_datagram_in_quic = false;
        let is_held_back = std::mem::take(&mut self.is_held_back);
        self.departures.count(now.saturating_duration_since(handed_at), is_held_back);
    }
}

/// Tells when QUIC has proven the address that a connection has moved to, which it does not say.
/// Until then it puts a challenge into every packet for that address, but into some that it makes
/// elsewhere.
#[derive(Clone, Copy, Debug)]
struct Challenges {
    sent: u64,
    /// Packets that search for the path's largest packet have none.
    probes: u64,
}

impl Challenges {
    fn of(connection: &Connection) -> Self {
        let stats = connection.stats();
        Self { sent: stats.frame_tx.path_challenge, probes: stats.path.sent_plpmtud_probes }
    }

    /// Whether this packet, made since, would have a challenge if the address were not proven.
    fn are_over(self, connection: &Connection, transmit: &Transmit, packet: &[u8]) -> bool {
        let now = Self::of(connection);
        let is_of_session = packet.first().is_some_and(|first| first & 0x80 == 0);
        is_of_session
            && !connection.is_closed()
            && transmit.destination == connection.remote_address()
            && (now.sent, now.probes) == (self.sent, self.probes)
    }
}

/// The state of a session's last datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DatagramState {
    None,
    HeldBack,
    Left { was_held_back: bool },
}

/// Whether the client chose this protocol when it connected.
pub(super) fn has_chosen(connection: &Connection, alpn: &[u8]) -> bool {
    let data = connection.crypto_session().handshake_data();
    let data = data.and_then(|data| data.downcast::<HandshakeData>().ok());
    data.is_some_and(|data| data.protocol.as_deref() == Some(alpn))
}

fn rest(bytes: &mut Bytes) -> &mut [Bytes] {
    std::slice::from_mut(bytes)
}
