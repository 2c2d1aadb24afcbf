//! A session that the game and the network share, and the admission of connections to it.

use std::any::Any;
use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Mutex, OnceLock};
use std::time::Instant;

use fairpath::session::{ClientId, CloseReason, ConnectionId, Server};
use fairpath::time::SharedInstant;
use fairpath::vector::Planar;

use crate::admissions::{Admissions, HandshakePlace, Limits, Verdict};
use crate::clock::Clock;
use crate::connection::Transport;
use crate::identity::Fingerprint;
use crate::lock;
use crate::monitor::{Held, InFrame, Monitor, Watched};
use crate::sealed::LinkStatistics;
use crate::sender::Departures;
use crate::server::{AdmissionStatistics, EndedConnection, PeerStatus};

/// The session of a server, behind its mutex.
#[derive(Debug)]
pub(crate) struct ServedSession<V: Planar> {
    pub(crate) inner: Monitor<Served<V>>,
    /// Not behind the session's mutex: connections come while a game holds that.
    admissions: Mutex<Admissions>,
    ended: Mutex<VecDeque<EndedConnection>>,
    /// The message of the panic that has ended a thread.
    failure: OnceLock<String>,
    pub(crate) clock: Clock,
}

#[derive(Debug)]
pub(crate) struct Served<V: Planar> {
    pub(crate) session: Server<V>,
    /// The latest instant that the session was given. It never runs backwards.
    latest: SharedInstant,
    /// The reason that clients are given when the server stops.
    pub(crate) farewell: CloseReason,
    /// Whether a thread has panicked, which a waiting game must hear of.
    has_failed: bool,
}

/// What a transport knows of a connection, for [`PeerStatus`].
#[derive(Debug)]
pub(crate) struct LinkStatus {
    pub(crate) address: SocketAddr,
    pub(crate) fingerprint: Option<Fingerprint>,
    pub(crate) transport: Transport,
    pub(crate) departures: Departures,
    pub(crate) sealed: Option<LinkStatistics>,
    pub(crate) quic: quinn_proto::ConnectionStats,
}

/// Ended connections that wait to be polled: a full server that loses its network, and more.
const ENDED_MAX: usize = 1024;

impl<V: Planar> Watched for Served<V> {
    fn has_events(&self) -> bool {
        self.has_failed || self.session.has_events()
    }
}

impl<V: Planar> ServedSession<V> {
    /// Holds a session. `name` is the public type, for panic messages.
    pub(crate) fn new(name: &'static str, session: Server<V>, limits: Limits, clock: Clock) -> Self {
        let (latest, farewell) = (clock.shared(), CloseReason::Finished);
        Self {
            inner: Monitor::new(name, "frame", Served { session, latest, farewell, has_failed: false }),
            admissions: Mutex::new(Admissions::new(limits)),
            ended: Mutex::default(),
            failure: OnceLock::new(),
            clock,
        }
    }

    /// Gives access to the session, with the current time.
    #[track_caller]
    pub(crate) fn with<R>(&self, turn: impl FnOnce(&mut Server<V>, SharedInstant) -> R) -> R {
        self.turn(self.inner.lock(), turn)
    }

    pub(crate) fn try_with<R>(
        &self,
        turn: impl FnOnce(&mut Server<V>, SharedInstant) -> R,
    ) -> Result<R, InFrame> {
        Ok(self.turn(self.inner.try_lock()?, turn))
    }

    /// Reads the clock inside the lock: time never runs backwards.
    fn turn<R>(
        &self,
        mut inner: Held<'_, Served<V>>,
        turn: impl FnOnce(&mut Server<V>, SharedInstant) -> R,
    ) -> R {
        let now = inner.advance(self.clock.shared());
        turn(&mut inner.session, now)
    }

    /// A thread has panicked, and the server ends. Keeps the first message, and wakes the game.
    pub(crate) fn fail(&self, panic: &(dyn Any + Send)) {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        let text = text.unwrap_or("a panic without a message");
        tracing::error!(target: "fairpath::server", panic = text, "the server ends: a callback panicked");
        let _ = self.failure.set(text.to_owned());
        // The thread has released the mutex while it unwound.
        self.inner.lock().has_failed = true;
    }

    /// Panics in the game's access if the server has ended: a game that goes on alone would not
    /// notice. `name` is the public type.
    #[track_caller]
    pub(crate) fn assert_alive(&self, name: &str) {
        if let Some(failure) = self.failure() {
            panic!(
                "{name}::frame: the session has ended, because a callback of the game panicked: {failure}; \
                 {name}::failure returns this message without a panic"
            );
        }
    }

    /// Why the server has ended by itself.
    pub(crate) fn failure(&self) -> Option<&str> {
        self.failure.get().map(String::as_str)
    }

    /// Decides whether a connection may start its handshake, and counts it.
    pub(crate) fn admit(&self, address: IpAddr, is_proven: bool) -> Verdict {
        lock(&self.admissions).admit(address, is_proven, Instant::now())
    }

    /// The handshake and the greeting of an accepted connection are over, or have failed.
    pub(crate) fn on_handshake_over(&self, address: IpAddr, place: &HandshakePlace, has_failed: bool) {
        lock(&self.admissions).on_handshake_over(address, place, has_failed);
    }

    /// A connection was closed because the client broke the protocol.
    pub(crate) fn on_thrown_out(&self, address: IpAddr) {
        lock(&self.admissions).on_thrown_out(address);
    }

    /// An accepted connection is gone.
    pub(crate) fn on_gone(&self, address: IpAddr) {
        lock(&self.admissions).on_gone(address);
    }

    #[track_caller]
    pub(crate) fn admission_statistics(&self) -> AdmissionStatistics {
        // Needs no session, but a call inside `frame` shall behave the same with every driver.
        drop(self.inner.lock_for("admission_statistics"));
        lock(&self.admissions).statistics()
    }

    /// Keeps an ended connection for the game, and forgets the oldest if there are too many.
    pub(crate) fn push_ended(&self, connection: EndedConnection) {
        let EndedConnection { client, address, problem } = &connection;
        tracing::debug!(target: "fairpath::server", client = client.0, %address, %problem, "a connection ended");
        let mut ended = lock(&self.ended);
        if ended.len() >= ENDED_MAX {
            ended.pop_front();
        }
        ended.push_back(connection);
    }

    pub(crate) fn poll_ended(&self) -> Option<EndedConnection> {
        lock(&self.ended).pop_front()
    }
}

impl<V: Planar> Served<V> {
    /// The time that the session is given for something that happened at `at`.
    pub(crate) fn advance(&mut self, at: SharedInstant) -> SharedInstant {
        self.latest = self.latest.max(at);
        self.latest
    }

    /// Whether connected clients have confirmed every reliable message.
    pub(crate) fn is_all_confirmed(&self) -> bool {
        let waiting = |client| self.session.statistics(client).map_or(0, |it| it.outbox_bytes);
        self.session.clients().filter(|client| self.session.is_connected(*client)).all(|it| waiting(it) == 0)
    }

    /// The status of connections, in the order given.
    pub(crate) fn status(&self, links: impl Iterator<Item = (ConnectionId, LinkStatus)>) -> Vec<PeerStatus> {
        let clients: BTreeMap<ConnectionId, ClientId> = self
            .session
            .clients()
            .filter_map(|client| Some((self.session.connection(client)?, client)))
            .collect();
        let status = |(id, link): (ConnectionId, LinkStatus)| {
            let client = clients.get(&id).copied();
            let beside = link.sealed.unwrap_or_default();
            PeerStatus {
                client,
                address: link.address,
                fingerprint: link.fingerprint,
                transport: link.transport,
                session: client.and_then(|client| self.session.statistics(client)),
                departures: link.departures,
                sealed: link.sealed,
                quic_round_trip: link.quic.path.rtt,
                udp_bytes_sent: link.quic.udp_tx.bytes + beside.bytes_sent,
                udp_bytes_received: link.quic.udp_rx.bytes + beside.bytes_received,
                quic_packets_lost: link.quic.path.lost_packets,
            }
        };
        links.map(status).collect()
    }
}
