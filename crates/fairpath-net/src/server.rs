//! A server on a socket.

use std::fmt;
use std::io;
use std::net::SocketAddr;
#[cfg(feature = "lobby")]
use std::net::UdpSocket;
use std::sync::Arc;
#[cfg(feature = "lobby")]
use std::sync::Mutex;
use std::time::Duration;

use fairpath::session::{Budget, ClientId, CloseReason, Server, ServerFrame, Statistics};
use fairpath::time::SharedInstant;
use fairpath::vector::Planar;

use crate::admissions::Limits;
#[cfg(feature = "lobby")]
use crate::client::ConnectError;
use crate::clock::Clock;
use crate::congestion::Congestion;
use crate::connection::{ALPN_NATIVE, ALPN_SEALED, Transport, server_transport_config};
#[cfg(feature = "lobby")]
use crate::driver::presence::LobbyLink;
use crate::driver::workers::Worker;
use crate::driver::{DriverStart, DriverThreads};
use crate::endpoint::{bind_many, endpoint_config, quic_server_config};
use crate::identity::{Fingerprint, Identity, IdentityError};
#[cfg(feature = "lobby")]
use crate::lobby::{
    AnnounceError, Announcement, LobbyAddress, LobbyConnector, LobbyMember, LobbyPresence, join_lobby,
};
#[cfg(feature = "lobby")]
use crate::lock;
use crate::monitor::FrameError;
use crate::problem::ConnectionProblem;
use crate::sealed::{LinkStatistics, SealedStatistics};
use crate::sender::Departures;
use crate::served::ServedSession;

/// Where and how a server listens.
#[derive(Debug)]
pub struct NetServerConfig {
    /// The address to listen on. With port 0 the system chooses it: see [`NetServer::address`].
    pub listen: SocketAddr,
    /// The server's certificate and key.
    pub identity: Identity,
    /// How many connections one address may open, and how fast.
    pub limits: Limits,
    /// The congestion controller: how many bytes may be in flight to each client.
    pub congestion: Congestion,
    /// The send budget of each client, for [`Congestion::Steady`]. Set it to the session's budget.
    /// Default [`Budget::default`].
    pub budget: Budget,
    /// Whether browsers may connect, over WebTransport on the same port. Default true.
    #[cfg(feature = "web")]
    pub accepts_web: bool,
    /// How many threads serve connections, 1 to [`THREADS_MAX`](Self::THREADS_MAX). Default 1,
    /// which is enough for several hundred players. Set it to the number of cores that the game
    /// leaves free. Each thread seals, opens, sends and receives for its own clients; the session
    /// itself they use in turns. Only on Linux: on other systems one thread serves.
    pub threads: usize,
    /// The clock that all clients synchronise to. Default [`Clock::unix`].
    pub clock: Clock,
}

impl NetServerConfig {
    /// The most threads of a server. With more the turns at the session would take longer than they
    /// save.
    pub const THREADS_MAX: usize = 64;

    /// The defaults, for a server with this certificate and key.
    pub fn new(listen: SocketAddr, identity: Identity) -> Self {
        Self {
            listen,
            identity,
            limits: Limits::default(),
            congestion: Congestion::default(),
            budget: Budget::default(),
            #[cfg(feature = "web")]
            accepts_web: true,
            threads: 1,
            clock: Clock::unix(),
        }
    }

    /// The protocols that clients may choose. Of those that the client knows, the first is chosen.
    fn alpn(&self) -> Vec<&'static [u8]> {
        #[cfg_attr(not(feature = "web"), expect(unused_mut, reason = "the feature `web` adds one"))]
        let mut alpn = vec![ALPN_SEALED, ALPN_NATIVE];
        #[cfg(feature = "web")]
        if self.accepts_web {
            alpn.push(crate::connection::ALPN_WEB);
        }
        alpn
    }
}

/// Why a server cannot start.
#[derive(Debug)]
#[non_exhaustive]
pub enum BindError {
    /// The text is no address, or the name has none.
    Address(io::Error),
    /// The address cannot be listened on.
    Listen(SocketAddr, io::Error),
    /// The [stored](Identity::stored) certificate cannot be loaded or made.
    StoredIdentity(IdentityError),
    /// The certificate and the key do not match, or are of an unsupported kind.
    Identity(rustls::Error),
    /// The number of [threads](NetServerConfig::threads) is 0 or too large.
    Threads(usize),
    /// The system provides no thread.
    System(io::Error),
}

/// A server on a socket. Native clients and browsers use one port.
///
/// It runs on a thread of its own, or on [several](NetServerConfig::threads): the caller needs no
/// async runtime, and may have any. The session is behind a mutex. The game accesses the session
/// itself in [`frame`](Self::frame): the API is the same live and in the simulator, and nothing is
/// copied into commands. A thread takes the
/// mutex once for all packets that have arrived and all datagrams that are due, and never in a
/// system call. A game that holds it for a whole frame delays packets by that long. A program
/// without a frame loop sleeps in [`wait`](Self::wait) or awaits [`ready`](Self::ready) until there
/// is an event.
///
/// One thread drives all connections unless the configuration says otherwise. On Linux one system
/// call carries the packets of a tick to all clients of a thread.
///
/// Dropping the server stops it at once; [`shutdown`](Self::shutdown) lets clients confirm first,
/// and [`shutdown_for_restart`](Self::shutdown_for_restart) also asks them to return. All three
/// block until the thread has ended: under an async executor call them where blocking is allowed.
#[derive(Debug)]
pub struct NetServer<V: Planar> {
    network: DriverNetwork<V>,
    served: Arc<ServedSession<V>>,
    address: SocketAddr,
    identity: Identity,
}

#[derive(Debug)]
struct DriverNetwork<V: Planar> {
    /// Dropped first: the driver carries the farewell to lobbies.
    #[cfg(feature = "lobby")]
    lobby: Mutex<Option<LobbyLink>>,
    #[cfg(feature = "lobby")]
    socket: UdpSocket,
    threads: DriverThreads<V>,
}

/// The status of one client's connection.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PeerStatus {
    /// The client. `None` before it has introduced itself.
    pub client: Option<ClientId>,
    /// The client's current address.
    pub address: SocketAddr,
    /// The fingerprint of the certificate whose key the client has. `None` unless the server asks
    /// for one, as peers of a mesh do.
    pub fingerprint: Option<Fingerprint>,
    /// The protocol of the connection.
    pub transport: Transport,
    /// The session's counters.
    pub session: Option<Statistics>,
    /// How datagrams left, on either carrier.
    pub departures: Departures,
    /// What was sent and received beside QUIC. `None` if the client does not know sealed datagrams.
    pub sealed: Option<LinkStatistics>,
    /// The round trip as QUIC measures it.
    pub quic_round_trip: Duration,
    /// UDP payload bytes sent, QUIC's own and sealed packets included.
    pub udp_bytes_sent: u64,
    /// UDP payload bytes received, QUIC's own and authentic sealed packets included.
    pub udp_bytes_received: u64,
    /// QUIC packets that are considered lost.
    pub quic_packets_lost: u64,
}

/// A connection of a client that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EndedConnection {
    /// The client. Its session may go on: it is over after
    /// [`SessionLost`](fairpath::session::ServerEvent::SessionLost).
    pub client: ClientId,
    /// The client's last address.
    pub address: SocketAddr,
    /// Why the connection ended. A client that left gave [`CloseReason::Finished`].
    pub problem: ConnectionProblem,
}

/// Counts of connections that did not become sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AdmissionStatistics {
    /// Asked to prove their address with a stateless retry. The server keeps nothing of them.
    pub retried: u64,
    /// Not answered: their address was asked for proof too often in one second. QUIC clients repeat
    /// their first packet after a second.
    pub ignored: u64,
    /// Refused by the [`Limits`], for any reason.
    pub refused: u64,
    /// Refused because the address had as many connections as it may.
    pub refused_by_address: u64,
    /// Refused because the address opened too many connections per second.
    pub refused_by_rate: u64,
    /// Refused because all handshakes were in use.
    pub refused_by_handshakes: u64,
    /// Admitted, but the handshake or the greeting failed.
    pub failed: u64,
    /// Admitted, and closed because the client broke the protocol.
    pub thrown_out: u64,
}

impl<V: Planar> NetServer<V> {
    /// Starts to serve a session.
    pub fn bind(config: NetServerConfig, session: Server<V>) -> Result<Self, BindError> {
        let served = Arc::new(ServedSession::new("NetServer", session, config.limits, config.clock));
        let transport = server_transport_config(config.congestion, config.budget);
        let (network, address) = DriverNetwork::open(&config, transport, Arc::clone(&served))?;
        Ok(Self { network, served, address, identity: config.identity })
    }

    /// The address that clients connect to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The fingerprint that clients pin.
    pub fn fingerprint(&self) -> Fingerprint {
        self.identity.fingerprint()
    }

    /// The current shared time.
    pub fn now(&self) -> SharedInstant {
        self.served.clock.shared()
    }

    /// Gives the game access to the session. Data that it produced is sent right afterwards.
    ///
    /// The end of this call flushes, as does that of [`try_frame`](Self::try_frame) and
    /// [`with_session`](Self::with_session): it wakes the server's thread, and DR vectors that are
    /// due leave at once, on an idle machine 99 of 100 within a millisecond (`cargo xtask bench
    /// latency`). No other call sends.
    ///
    /// # Panics
    /// * Inside another `frame` of this server on the same thread: use that frame's session.
    /// * If the server has ended because a callback of the game panicked: see
    ///   [`failure`](Self::failure).
    #[track_caller]
    pub fn frame<R>(&self, turn: impl FnOnce(&mut ServerFrame<'_, V>) -> R) -> R {
        self.with_session(|session, now| turn(&mut session.frame(now)))
    }

    /// Does what [`frame`](Self::frame) does, and returns an error where `frame` panics.
    pub fn try_frame<R>(&self, turn: impl FnOnce(&mut ServerFrame<'_, V>) -> R) -> Result<R, FrameError> {
        self.network.threads.try_frame(|session, now| turn(&mut session.frame(now)))
    }

    /// Gives access to the session below the typed [`frame`](Self::frame), with plain bytes.
    ///
    /// # Panics
    /// As [`frame`](Self::frame).
    #[track_caller]
    pub fn with_session<R>(&self, turn: impl FnOnce(&mut Server<V>, SharedInstant) -> R) -> R {
        self.network.threads.frame(turn)
    }

    /// Blocks until the session has an event, for at most `timeout`. Returns whether there is one.
    /// Not for a thread of an async executor: see [`ready`](Self::ready).
    ///
    /// # Panics
    /// Inside [`frame`](Self::frame).
    #[track_caller]
    pub fn wait(&self, timeout: Duration) -> bool {
        self.served.inner.wait(timeout)
    }

    /// Completes when the session has an event. Works under any executor, and can be dropped at any
    /// time.
    ///
    /// # Panics
    /// If it is polled inside [`frame`](Self::frame).
    pub async fn ready(&self) {
        self.served.inner.ready().await;
    }

    /// Returns why the server has ended by itself: the message of a callback of the game that
    /// panicked (scope, interceptor, admission check or scheduler). `None` while it serves.
    ///
    /// Such a panic may have left the session in the middle of a change, so it cannot go on. The
    /// server closes all connections with [`CloseReason::Restarting`]: clients return when another
    /// server runs at the address. [`wait`](Self::wait) and [`ready`](Self::ready) return at once,
    /// and `frame` panics. May be called inside `frame`.
    pub fn failure(&self) -> Option<String> {
        self.served.failure().map(str::to_owned)
    }

    /// The next connection of a client that ended, and why. At most 1024 wait to be polled; then
    /// the oldest are dropped. May be called inside [`frame`](Self::frame).
    pub fn poll_ended(&self) -> Option<EndedConnection> {
        self.served.poll_ended()
    }

    /// The status of every connection.
    ///
    /// # Panics
    /// Inside [`frame`](Self::frame).
    #[track_caller]
    pub fn status(&self) -> Vec<PeerStatus> {
        self.network.threads.status()
    }

    /// Counts of connections that did not become sessions.
    ///
    /// # Panics
    /// Inside [`frame`](Self::frame).
    #[track_caller]
    pub fn admission_statistics(&self) -> AdmissionStatistics {
        self.served.admission_statistics()
    }

    /// What [sealed](crate::sealed) datagrams have done, over all connections, and why sealed
    /// packets were dropped. Browsers are offered none.
    ///
    /// # Panics
    /// Inside [`frame`](Self::frame).
    #[track_caller]
    pub fn sealed_statistics(&self) -> SealedStatistics {
        self.network.threads.sealed_statistics()
    }

    /// Announces this server at a lobby until the returned presence is dropped. The server connects
    /// from its own socket, so that the lobby sees the address that clients need. It fills in the
    /// current numbers of players and seats.
    #[cfg(feature = "lobby")]
    pub fn announce(
        &self,
        lobby: LobbyAddress,
        announcement: Announcement,
    ) -> Result<LobbyPresence, AnnounceError> {
        announcement.check().map_err(AnnounceError::Announcement)?;
        let (endpoint, runtime) = self.network.reach(lobby.address).map_err(AnnounceError::Connect)?;
        let connector = LobbyConnector::new(endpoint, lobby, &self.identity);
        let connector = connector.map_err(AnnounceError::Connect)?;
        let member = AnnouncedServer { served: Arc::clone(&self.served), announcement };
        Ok(join_lobby(&runtime, connector, member).0)
    }

    /// Accepts no new clients, waits up to `within` for connected clients to confirm reliable
    /// messages, tells them that the session has ended, and stops. Returns whether all confirmed.
    ///
    /// Blocks for up to `within`, and about half a second more, in which the close is repeated to
    /// clients that missed it. A client confirms a round trip and 0.1 s after a message was sent,
    /// and two round trips later if a packet is lost: 1 s is enough for clients up to 150 ms away
    /// (one way), 3 s for all others that can play.
    pub fn shutdown(mut self, within: Duration) -> bool {
        self.network.threads.finish(within)
    }

    /// Stops like [`shutdown`](Self::shutdown), and tells clients to return. Start the next server
    /// with the same address and identity.
    ///
    /// Clients keep their game running, see [`CloseReason::Restarting`], and reconnect by
    /// themselves: first after up to [`retry_after_min`](crate::NetClientConfig::retry_after_min),
    /// then more and more rarely, each at times of its own. A server with another epoch begins new
    /// sessions: the clients' events are `SessionLost` and `Connected`.
    pub fn shutdown_for_restart(mut self, within: Duration) -> bool {
        self.served.inner.lock().farewell = CloseReason::Restarting;
        self.network.threads.finish(within)
    }
}

#[cfg(test)]
impl<V: Planar> NetServer<V> {
    /// Passes of the driver's thread so far.
    pub(crate) fn passes(&self) -> u64 {
        self.network.threads.passes()
    }
}

impl<V: Planar> DriverNetwork<V> {
    fn open(
        config: &NetServerConfig,
        transport: quinn::TransportConfig,
        served: Arc<ServedSession<V>>,
    ) -> Result<(Self, SocketAddr), BindError> {
        let quic = quic_server_config(&config.identity, &config.alpn(), None, transport)?;
        if !(1..=NetServerConfig::THREADS_MAX).contains(&config.threads) {
            return Err(BindError::Threads(config.threads));
        }
        let (sockets, address) = bind_many(config.listen, config.threads)?;
        #[cfg(feature = "lobby")]
        let shared_socket = sockets[0].try_clone().map_err(BindError::System)?;
        let workers = Worker::all(sockets.len());
        let start = |(socket, worker)| DriverStart {
            socket,
            worker,
            config: endpoint_config(&config.identity, worker),
        };
        let starts = sockets.into_iter().zip(workers).map(start).collect();
        let threads = DriverThreads::start(starts, quic, served);
        let driver = Self {
            #[cfg(feature = "lobby")]
            lobby: Mutex::default(),
            #[cfg(feature = "lobby")]
            socket: shared_socket,
            threads: threads.map_err(BindError::System)?,
        };
        Ok((driver, address))
    }

    /// Returns the endpoint that connects to lobbies, ready for this one.
    #[cfg(feature = "lobby")]
    fn reach(&self, lobby: SocketAddr) -> Result<(quinn::Endpoint, tokio::runtime::Handle), ConnectError> {
        let mut link = lock(&self.lobby);
        if link.is_none() {
            let socket = self.socket.try_clone().map_err(ConnectError::System)?;
            let opened = LobbyLink::open(socket).map_err(ConnectError::System)?;
            self.threads.hand_over(Arc::clone(&opened.packets));
            *link = Some(opened);
        }
        let link = link.as_ref().expect("there is one now");
        link.packets.add(lobby);
        Ok((link.endpoint.clone(), link.runtime.clone()))
    }
}

#[cfg(feature = "lobby")]
struct AnnouncedServer<V: Planar> {
    served: Arc<ServedSession<V>>,
    announcement: Announcement,
}

#[cfg(feature = "lobby")]
impl<V: Planar> LobbyMember for AnnouncedServer<V> {
    fn announcement(&self) -> Announcement {
        let inner = self.served.inner.lock();
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let (players, seats) = (count(inner.session.clients().count()), count(inner.session.seats()));
        Announcement { players, seats, ..self.announcement.clone() }
    }
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(error) => {
                write!(f, "cannot listen: {error}; give an address and a port, such as 0.0.0.0:7777")
            }
            Self::StoredIdentity(error) => write!(f, "cannot use the stored certificate: {error}"),
            Self::Listen(address, error) => {
                write!(f, "cannot listen on {address}: {error}; choose another address, or port 0")
            }
            Self::Identity(error) => {
                write!(f, "cannot use the TLS certificate with this private key: {error}")
            }
            Self::Threads(count) => {
                let max = NetServerConfig::THREADS_MAX;
                write!(f, "cannot serve with {count} threads; choose 1 to {max}")
            }
            Self::System(error) => write!(f, "cannot start the network thread: {error}"),
        }
    }
}

impl std::error::Error for BindError {}
