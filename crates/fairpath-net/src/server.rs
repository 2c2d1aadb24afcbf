//! A server on a socket.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fairpath::session::limits::HELLO_WITHIN;
use fairpath::session::{Budget, ClientId, CloseReason, ConnectionId, Server, Statistics, Token};
use fairpath::time::SharedInstant;
use fairpath::vector::Planar;
use quinn::crypto::rustls::{HandshakeData, QuicServerConfig};
use quinn::{Endpoint, EndpointConfig, TokioRuntime};
use tokio::sync::{Notify, oneshot};

use crate::clock::Clock;
use crate::congestion::Congestion;
use crate::doorkeeper::{Doorkeeper, Limits};
use crate::identity::{Fingerprint, Identity, unguessable};
use crate::link::{
    ALPN_NATIVE, ALPN_WEB, Ear, Gone, Link, Receiving, Sending, Transport, listen, transport_config,
};
use crate::outlet::{Departures, Outlet, Pumped, Voice};
use crate::pace::{Pause, pause};

/// Where and how a server listens.
#[derive(Debug)]
pub struct NetServerConfig {
    /// Where to listen. Port 0 lets the system choose: [`NetServer::address`] tells which.
    pub listen: SocketAddr,
    /// What it proves to be.
    pub identity: Identity,
    /// Who may come, and how fast.
    pub limits: Limits,
    /// How much may be under way.
    pub congestion: Congestion,
    /// What the session sends to each client, for [`Congestion::Steady`]. The same as the session's. Default
    /// [`Budget::default`].
    pub budget: Budget,
    /// Whether browsers may come, by WebTransport on the same port. Default yes.
    pub accepts_web: bool,
    /// The clock that everybody synchronises to. Default [`Clock::unix`].
    pub clock: Clock,
}

impl NetServerConfig {
    /// The usual, with an identity.
    pub fn new(listen: SocketAddr, identity: Identity) -> Self {
        Self {
            listen,
            identity,
            limits: Limits::default(),
            congestion: Congestion::default(),
            budget: Budget::default(),
            accepts_web: true,
            clock: Clock::unix(),
        }
    }
}

/// Why a server cannot start.
#[derive(Debug)]
#[non_exhaustive]
pub enum BindError {
    /// It cannot listen there.
    Listen(SocketAddr, io::Error),
    /// Certificate and key do not go together, or are of a kind that is not supported.
    Identity(rustls::Error),
    /// The system gives it no thread.
    System(io::Error),
}

/// A server on a socket: native clients and browsers on one port.
///
/// It runs on a thread of its own. The session is behind a mutex, and the game gets the session itself, in
/// [`frame`](Self::frame): there is one API, whether it runs live or in the simulator, and nothing is copied into commands. The
/// thread holds the mutex for as long as it takes to deal with one packet, or to fill one datagram for each client; a game that
/// holds it for a whole frame makes packets wait for so long. Dropping the server stops it; [`shutdown`](Self::shutdown) does
/// so gracefully.
#[derive(Debug)]
pub struct NetServer<V: Planar> {
    shared: Arc<Shared<V>>,
    address: SocketAddr,
    fingerprint: Fingerprint,
    stop: Option<oneshot::Sender<Duration>>,
    thread: Option<JoinHandle<()>>,
}

/// How one client's connection is.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PeerStatus {
    /// Who; nothing before it has said so.
    pub client: Option<ClientId>,
    /// From where, at the moment.
    pub address: SocketAddr,
    /// What the connection is made of.
    pub transport: Transport,
    /// What the session counts.
    pub session: Option<Statistics>,
    /// How datagrams left.
    pub departures: Departures,
    /// What QUIC measures: there and back.
    pub quic_round_trip: Duration,
    /// Bytes of UDP that were sent, with everything.
    pub udp_bytes_sent: u64,
    /// Bytes of UDP that came, with everything.
    pub udp_bytes_received: u64,
    /// Packets of QUIC that are taken for lost.
    pub quic_packets_lost: u64,
}

/// Who did not get in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DoorStatistics {
    /// Asked to prove their address; nothing was remembered of them.
    pub retried: u64,
    /// Refused by the [`Limits`].
    pub refused: u64,
    /// Let in, but no session came of it.
    pub failed: u64,
}

impl<V: Planar> NetServer<V> {
    /// Starts to serve a session.
    pub fn bind(config: NetServerConfig, session: Server<V>) -> Result<Self, BindError> {
        let fingerprint = config.identity.fingerprint();
        let quic = quic_config(&config)?;
        let reset_key = Arc::new(config.identity.reset_key());
        let failed = |error| BindError::Listen(config.listen, error);
        let socket = UdpSocket::bind(config.listen).map_err(failed)?;
        let address = socket.local_addr().map_err(failed)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(BindError::System)?;
        let endpoint = {
            let _inside = runtime.enter();
            Endpoint::new(EndpointConfig::new(reset_key), Some(quic), socket, Arc::new(TokioRuntime))
        };
        let endpoint = endpoint.map_err(failed)?;
        let shared = Arc::new(Shared::new(session, config.limits, config.clock));
        let (stop, stopped) = oneshot::channel();
        let inside = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("fairpath-server".into()).spawn(move || {
            runtime.block_on(run(inside, endpoint, stopped));
        });
        let thread = Some(thread.map_err(BindError::System)?);
        Ok(Self { shared, address, fingerprint, stop: Some(stop), thread })
    }

    /// Where clients send to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What clients pin.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// The shared time.
    pub fn now(&self) -> SharedInstant {
        self.shared.clock.shared()
    }

    /// The game's turn with the session. What it did leaves at once afterwards.
    pub fn frame<R>(&self, turn: impl FnOnce(&mut Server<V>, SharedInstant) -> R) -> R {
        self.shared.with(turn)
    }

    /// How everybody's connection is.
    pub fn status(&self) -> Vec<PeerStatus> {
        let live = self.shared.lock();
        let clients: BTreeMap<ConnectionId, ClientId> = live
            .session
            .clients()
            .filter_map(|client| Some((live.session.connection(client)?, client)))
            .collect();
        let status = |(id, outlet): (&ConnectionId, &Outlet)| {
            let client = clients.get(id).copied();
            let quic = outlet.link().quic_statistics();
            PeerStatus {
                client,
                address: outlet.link().address(),
                transport: outlet.link().transport(),
                session: client.and_then(|client| live.session.statistics(client)),
                departures: outlet.departures(),
                quic_round_trip: quic.path.rtt,
                udp_bytes_sent: quic.udp_tx.bytes,
                udp_bytes_received: quic.udp_rx.bytes,
                quic_packets_lost: quic.path.lost_packets,
            }
        };
        live.outlets.iter().map(status).collect()
    }

    /// Who did not get in.
    pub fn door_statistics(&self) -> DoorStatistics {
        self.shared.lock().door_statistics
    }

    /// Lets nobody in any more, gives clients so long to confirm what was promised to them, tells them that it is over, and ends.
    pub fn shutdown(mut self, within: Duration) -> Server<V> {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(within);
        }
        self.end();
        // The thread is gone, and with it all who shared.
        let empty = Shared::placeholder(&self.shared);
        std::mem::replace(&mut self.shared.lock().session, empty)
    }

    fn end(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // It panicked, and has said so; a second panic while the first unwinds would hide it.
            let _ = thread.join();
        }
    }
}

impl<V: Planar> Drop for NetServer<V> {
    fn drop(&mut self) {
        self.end();
    }
}
