//! A client on a socket. It reconnects by itself.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use fairpath::session::{Budget, Client, CloseReason, Statistics};
use fairpath::time::LocalInstant;
use fairpath::vector::Planar;
use quinn::crypto::rustls::QuicClientConfig;
use tokio::runtime::Handle;
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinSet;

use crate::background::{Background, CHECK_EVERY, CLOSE_WITHIN};
use crate::clock::Clock;
use crate::congestion::Congestion;
use crate::connection::{
    ALPN_NATIVE, Connection, ConnectionLost, Inbound, ReceiveStream, SendStream, Transport, listen,
    transport_config,
};
use crate::identity::{Identity, Trust};
use crate::lock;
use crate::pace::{Pause, pause};
use crate::sender::{ClientOutbound, Departures, PeerSender, SendProgress};

/// How a client connects to its server.
#[derive(Clone, Debug)]
pub struct NetClientConfig {
    /// The server certificates that the client accepts.
    pub trust: Trust,
    /// The name that the server's certificate must be valid for, with [`Trust::Certificates`].
    /// Default `localhost`. WebTransport uses the address instead.
    pub server_name: String,
    /// The protocol of the connection. Default [`Transport::Quic`]. A native client uses
    /// WebTransport only to test what browsers do.
    pub transport: Transport,
    /// The congestion controller: how many bytes may be in flight.
    pub congestion: Congestion,
    /// The send budget, for [`Congestion::Steady`]. Set it to the session's budget. Default
    /// [`Budget::default`].
    pub budget: Budget,
    /// Time limit of one connection attempt. Default 5 s: two slowest round trips, lost twice.
    pub connect_within: Duration,
    /// Pause after the first failed attempt. Each further failure doubles it. Default 250 ms.
    pub retry_after_min: Duration,
    /// Longest pause between attempts. Default 4 s. Much longer, and players press the button
    /// themselves; much shorter, and a crowd of clients keeps a server from starting.
    pub retry_after_max: Duration,
    /// The client's own clock. Default [`Clock::unix`]. The session synchronises it.
    pub clock: Clock,
}

impl NetClientConfig {
    /// The defaults, for a server with these certificates.
    pub fn new(trust: Trust) -> Self {
        Self {
            trust,
            server_name: "localhost".into(),
            transport: Transport::Quic,
            congestion: Congestion::default(),
            budget: Budget::default(),
            connect_within: Duration::from_secs(5),
            retry_after_min: Duration::from_millis(250),
            retry_after_max: Duration::from_secs(4),
            clock: Clock::unix(),
        }
    }
}

/// Why a client cannot start.
#[derive(Debug)]
#[non_exhaustive]
pub enum ConnectError {
    /// A trusted certificate cannot be used.
    Trust(rustls::Error),
    /// The system provides no socket or no thread.
    System(io::Error),
}

/// The state of a client's connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionState {
    /// The client is connecting, or reconnecting.
    Connecting {
        /// Attempts that failed since the last connection.
        failed: u32,
    },
    /// There is a connection. [`Client::is_connected`] tells whether a session runs on it.
    Connected,
    /// The connection ended and the client does not try again: the server gave this reason, or,
    /// with `None`, this client left.
    Over(Option<CloseReason>),
}

/// A client on a socket.
///
/// It runs on a thread of its own. The game accesses the session in [`frame`](Self::frame), as with
/// [`NetServer`](crate::NetServer). If the client's address changes, QUIC moves the connection. If
/// the connection dies, the client reconnects and resumes the session, unless the server has
/// dismissed it. Dropping the client leaves at once; [`leave`](Self::leave) first waits until
/// reliable messages are confirmed.
#[derive(Debug)]
pub struct NetClient<V: Planar> {
    task: Background,
    shared: Arc<SharedClient<V>>,
}

/// A thread that many clients share, for bots and load tests. A single client starts its own.
///
/// Dropping it ends the clients on it without telling the server.
#[derive(Debug)]
pub struct ClientThread {
    runtime: Handle,
    /// Dropping this ends the thread.
    _stop: oneshot::Sender<()>,
}

/// The status of a client's connection.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClientStatus {
    /// Whether there is a connection.
    pub connection_state: ConnectionState,
    /// The address of the server's end, if there is a connection.
    pub server: Option<SocketAddr>,
    /// Connections so far, this one included.
    pub connections: u32,
    /// The session's counters.
    pub session: Statistics,
    /// How datagrams left on this connection.
    pub departures: Departures,
    /// UDP payload bytes sent on this connection, QUIC's own included.
    pub udp_bytes_sent: u64,
    /// UDP payload bytes received on this connection, QUIC's own included.
    pub udp_bytes_received: u64,
}

impl<V: Planar> NetClient<V> {
    /// Starts to connect a session to a server. Returns before there is a connection.
    pub fn connect(
        server: SocketAddr,
        config: NetClientConfig,
        session: Client<V>,
    ) -> Result<Self, ConnectError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(ConnectError::System)?;
        let connector = Connector::new(runtime.handle(), server, &config)?;
        let shared = Arc::new(SharedClient::new(session, config.clock));
        let inside = Arc::clone(&shared);
        let run = move |stop| run(inside, connector, config, stop);
        let task = Background::start("fairpath-client", runtime, run).map_err(ConnectError::System)?;
        Ok(Self { task, shared })
    }

    /// Starts to connect like [`connect`](Self::connect), on a shared thread.
    pub fn connect_on(
        thread: &ClientThread,
        server: SocketAddr,
        config: NetClientConfig,
        session: Client<V>,
    ) -> Result<Self, ConnectError> {
        let connector = Connector::new(&thread.runtime, server, &config)?;
        let shared = Arc::new(SharedClient::new(session, config.clock));
        let inside = Arc::clone(&shared);
        let task = Background::start_on(&thread.runtime, |stop| run(inside, connector, config, stop));
        Ok(Self { task, shared })
    }

    /// The current time on this client's own clock.
    pub fn now(&self) -> LocalInstant {
        self.shared.clock.local()
    }

    /// Gives the game access to the session. Data that it produced is sent right afterwards.
    pub fn frame<R>(&self, turn: impl FnOnce(&mut Client<V>, LocalInstant) -> R) -> R {
        self.shared.with(turn)
    }

    /// Whether there is a connection.
    pub fn connection_state(&self) -> ConnectionState {
        self.shared.connection_state()
    }

    /// The status of the connection.
    pub fn status(&self) -> ClientStatus {
        self.shared.status()
    }

    /// Leaves for good. Waits up to `within` for reliable messages to be confirmed, and returns
    /// whether all of them were.
    pub fn leave(mut self, within: Duration) -> bool {
        self.task.finish(within)
    }
}

impl ClientThread {
    /// Starts a thread without clients.
    pub fn start() -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel::<()>();
        let run = move || drop(runtime.block_on(stopped));
        std::thread::Builder::new().name("fairpath-clients".into()).spawn(run)?;
        Ok(Self { runtime: handle, _stop: stop })
    }
}

#[derive(Debug)]
pub(crate) struct SharedClient<V: Planar> {
    inner: Mutex<ClientInner<V>>,
    clock: Clock,
    wake: Arc<Notify>,
}

#[derive(Debug)]
pub(crate) struct ClientInner<V: Planar> {
    session: Client<V>,
    sender: Option<PeerSender>,
    connection_state: ConnectionState,
    connections: u32,
    /// The reason for which this end closed the last connection.
    closed_for: Option<CloseReason>,
}

impl<V: Planar> SharedClient<V> {
    pub(crate) fn new(session: Client<V>, clock: Clock) -> Self {
        let connection_state = ConnectionState::Connecting { failed: 0 };
        let inner = ClientInner { session, sender: None, connection_state, connections: 0, closed_for: None };
        Self { inner: Mutex::new(inner), clock, wake: Arc::new(Notify::new()) }
    }

    /// Gives access to the session. Reads the clock inside the lock: time never runs backwards.
    pub(crate) fn with<R>(&self, turn: impl FnOnce(&mut Client<V>, LocalInstant) -> R) -> R {
        let mut inner = lock(&self.inner);
        let result = turn(&mut inner.session, self.clock.local());
        drop(inner);
        self.wake.notify_one();
        result
    }

    pub(crate) fn connection_state(&self) -> ConnectionState {
        lock(&self.inner).connection_state
    }

    /// Whether the session is connected and its clock is synchronised.
    #[cfg(feature = "peer")]
    pub(crate) fn is_in_session(&self) -> bool {
        lock(&self.inner).session.is_connected()
    }

    /// Closes the connection at once, when no task drives the session any more.
    #[cfg(feature = "peer")]
    pub(crate) fn leave_at_once(&self) {
        if let Some(sender) = lock(&self.inner).sender.take() {
            sender.close(CloseReason::Finished);
        }
    }

    pub(crate) fn status(&self) -> ClientStatus {
        let inner = lock(&self.inner);
        let quic = inner.sender.as_ref().map(|sender| sender.connection().quic_statistics());
        ClientStatus {
            connection_state: inner.connection_state,
            server: inner.sender.as_ref().map(|sender| sender.connection().address()),
            connections: inner.connections,
            session: inner.session.statistics(),
            departures: inner.sender.as_ref().map(PeerSender::departures).unwrap_or_default(),
            udp_bytes_sent: quic.as_ref().map_or(0, |quic| quic.udp_tx.bytes),
            udp_bytes_received: quic.as_ref().map_or(0, |quic| quic.udp_rx.bytes),
        }
    }

    fn pump(&self) -> Pause {
        let mut inner = lock(&self.inner);
        let ClientInner { session, sender, closed_for, .. } = &mut *inner;
        let now = self.clock.local();
        session.handle_timeout(now);
        let mut progress = SendProgress::default();
        if let Some(sender) = sender {
            progress = sender.pump(&mut ClientOutbound { session, now });
        }
        if let Some(reason) = session.poll_close()
            && let Some(sender) = sender.take()
        {
            *closed_for = Some(reason);
            sender.close(reason);
        }
        let deadline = session.poll_deadline(now);
        pause(progress, deadline.map(|at| self.clock.when(at.as_micros())))
    }
}

// ── the thread

/// Stays connected until `stop` is sent or dropped. Returns whether all messages were confirmed.
pub(crate) async fn run<V: Planar>(
    shared: Arc<SharedClient<V>>,
    connector: Connector,
    config: NetClientConfig,
    stop: oneshot::Receiver<Duration>,
) -> bool {
    // The tasks end with this set.
    let mut tasks = JoinSet::new();
    tasks.spawn(drive(Arc::clone(&shared)));
    let connecting = tasks.spawn(reconnect_forever(Arc::clone(&shared), connector.clone(), config));
    let within = stop.await.unwrap_or_default();
    let is_flushed = flush(&shared, within).await;
    shared.with(|session, now| session.leave(now));
    // The run loop closes the connection. Stop reconnecting before it can open another one.
    let closed = async {
        while lock(&shared.inner).sender.is_some() {
            tokio::time::sleep(CHECK_EVERY).await;
        }
    };
    let _ = tokio::time::timeout(CLOSE_WITHIN, closed).await;
    connecting.abort();
    let _ = tokio::time::timeout(CLOSE_WITHIN, connector.wait_idle()).await;
    lock(&shared.inner).connection_state = ConnectionState::Over(None);
    is_flushed
}

pub(crate) async fn flush<V: Planar>(shared: &SharedClient<V>, within: Duration) -> bool {
    let flushed = async {
        while lock(&shared.inner).session.statistics().outbox_bytes > 0 {
            tokio::time::sleep(CHECK_EVERY).await;
        }
    };
    tokio::time::timeout(within, flushed).await.is_ok()
}

async fn drive<V: Planar>(shared: Arc<SharedClient<V>>) {
    loop {
        let pause = shared.pump();
        pause.wait(&shared.wake).await;
    }
}

/// Connects and reconnects, until the server's close reason says that it is pointless.
async fn reconnect_forever<V: Planar>(
    shared: Arc<SharedClient<V>>,
    connector: Connector,
    config: NetClientConfig,
) {
    let mut failed = 0;
    loop {
        let connected = tokio::time::timeout(config.connect_within, connector.connect(failed)).await;
        if let Ok(Ok((connection, sending, receiving))) = connected {
            let began = Instant::now();
            let reason = run_connection(&shared, connection, sending, receiving).await;
            if reason.is_some_and(is_final) {
                lock(&shared.inner).connection_state = ConnectionState::Over(reason);
                return;
            }
            // A connection that lasted resets the count. A short one counts as a failed attempt.
            failed = if began.elapsed() > config.connect_within { 0 } else { failed + 1 };
        } else {
            failed += 1;
        }
        // Set before the pause, so that a mesh can name a relay in the meantime.
        lock(&shared.inner).connection_state = ConnectionState::Connecting { failed };
        tokio::time::sleep(config.retry_after(failed)).await;
    }
}

impl NetClientConfig {
    fn retry_after(&self, failed: u32) -> Duration {
        let doublings = failed.saturating_sub(1).min(16);
        (self.retry_after_min * (1 << doublings)).min(self.retry_after_max)
    }
}

/// Whether reconnecting is pointless after this reason.
fn is_final(reason: CloseReason) -> bool {
    matches!(
        reason,
        CloseReason::Finished
            | CloseReason::Dismissed
            | CloseReason::NotAdmitted
            | CloseReason::WrongVersion
            | CloseReason::WrongDimensions
            | CloseReason::WrongPrecision
    )
}

/// Runs one connection from start to end. Returns the reason of its end, if either side gave one.
async fn run_connection<V: Planar>(
    shared: &Arc<SharedClient<V>>,
    connection: Connection,
    sending: SendStream,
    receiving: ReceiveStream,
) -> Option<CloseReason> {
    let connection = Arc::new(connection);
    {
        let mut inner = lock(&shared.inner);
        inner.connection_state = ConnectionState::Connected;
        inner.connections += 1;
        inner.closed_for = None;
        inner.sender = Some(PeerSender::open(Arc::clone(&connection), sending, &shared.wake));
    }
    shared.with(|session, now| session.handle_connected(now));
    let reason = listen(&connection, receiving, &Arc::new(ClientInbound(Arc::clone(shared)))).await;
    let closed_for = {
        let mut inner = lock(&shared.inner);
        inner.sender = None;
        inner.closed_for
    };
    shared.with(|session, now| session.handle_disconnected(reason, now));
    reason.or(closed_for)
}

#[derive(Clone)]
pub(crate) enum Connector {
    Quic {
        endpoint: quinn::Endpoint,
        config: quinn::ClientConfig,
        routes: Arc<Routes>,
        name: String,
    },
    #[cfg(feature = "web")]
    Web {
        endpoint: Arc<wtransport::Endpoint<wtransport::endpoint::endpoint_side::Client>>,
        url: String,
    },
}

/// The addresses of one server: the direct one, and that of a relay if there is one.
#[derive(Debug)]
pub(crate) struct Routes(Mutex<RouteState>);

#[derive(Debug)]
struct RouteState {
    direct: SocketAddr,
    relay: Option<SocketAddr>,
    is_relay_next: bool,
}

impl Routes {
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self(Mutex::new(RouteState { direct: address, relay: None, is_relay_next: false }))
    }

    #[cfg(feature = "peer")]
    pub(crate) fn set_direct(&self, address: SocketAddr) {
        lock(&self.0).direct = address;
    }

    /// Sets the relay, and tries it next, because the direct address did not answer.
    #[cfg(feature = "peer")]
    pub(crate) fn set_relay(&self, address: SocketAddr) {
        let mut routes = lock(&self.0);
        routes.relay = Some(address);
        routes.is_relay_next = true;
    }

    /// The address to try after this many failures: the direct one first, then both in turn.
    fn next(&self, failed: u32) -> SocketAddr {
        let mut routes = lock(&self.0);
        let takes_relay = failed > 0 && routes.is_relay_next;
        routes.is_relay_next = !takes_relay;
        routes.relay.filter(|_| takes_relay).unwrap_or(routes.direct)
    }
}

impl Connector {
    fn new(runtime: &Handle, server: SocketAddr, config: &NetClientConfig) -> Result<Self, ConnectError> {
        let _inside = runtime.enter();
        let any = any_local_address(server);
        match config.transport {
            Transport::Quic => {
                let endpoint = quinn::Endpoint::client(any).map_err(ConnectError::System)?;
                Self::from_endpoint(endpoint, Arc::new(Routes::new(server)), config, None)
            }
            #[cfg(feature = "web")]
            Transport::WebTransport => {
                let tls = config.trust.tls(crate::connection::ALPN_WEB, None).map_err(ConnectError::Trust)?;
                let web = wtransport::ClientConfig::builder()
                    .with_bind_address(any)
                    .with_custom_tls_and_transport(tls, transport_config(config.congestion, config.budget))
                    .build();
                let endpoint = wtransport::Endpoint::client(web).map_err(ConnectError::System)?;
                Ok(Self::Web { endpoint: Arc::new(endpoint), url: format!("https://{server}/") })
            }
        }
    }

    /// Connects from an existing socket. Shows `identity` to servers that ask for a certificate.
    pub(crate) fn from_endpoint(
        endpoint: quinn::Endpoint,
        routes: Arc<Routes>,
        config: &NetClientConfig,
        identity: Option<&Identity>,
    ) -> Result<Self, ConnectError> {
        let transport = transport_config(config.congestion, config.budget);
        let quic = quic_client_config(&config.trust, ALPN_NATIVE, identity, transport)?;
        Ok(Self::Quic { endpoint, config: quic, routes, name: config.server_name.clone() })
    }

    async fn connect(&self, failed: u32) -> Result<(Connection, SendStream, ReceiveStream), ConnectionLost> {
        let connection = match self {
            Self::Quic { endpoint, config, routes, name } => {
                let connecting = endpoint.connect_with(config.clone(), routes.next(failed), name)?;
                Connection::quic(connecting.await?)
            }
            #[cfg(feature = "web")]
            Self::Web { endpoint, url } => Connection::web(endpoint.connect(url).await?),
        };
        let (sending, receiving) = connection.open_stream().await?;
        Ok((connection, sending, receiving))
    }

    async fn wait_idle(&self) {
        match self {
            Self::Quic { endpoint, .. } => endpoint.wait_idle().await,
            #[cfg(feature = "web")]
            Self::Web { endpoint, .. } => endpoint.wait_idle().await,
        }
    }
}

pub(crate) fn quic_client_config(
    trust: &Trust,
    alpn: &[u8],
    identity: Option<&Identity>,
    transport: quinn::TransportConfig,
) -> Result<quinn::ClientConfig, ConnectError> {
    let tls = trust.tls(alpn, identity).map_err(ConnectError::Trust)?;
    let crypto = QuicClientConfig::try_from(tls).expect("TLS 1.3 has a cipher for QUIC");
    let mut quic = quinn::ClientConfig::new(Arc::new(crypto));
    quic.transport_config(Arc::new(transport));
    Ok(quic)
}

/// The local address to connect from: any port, same address family.
pub(crate) fn any_local_address(server: SocketAddr) -> SocketAddr {
    match server {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    }
}

struct ClientInbound<V: Planar>(Arc<SharedClient<V>>);

impl<V: Planar> Inbound for ClientInbound<V> {
    fn on_stream(&self, bytes: &[u8]) {
        self.0.with(|session, now| session.handle_stream(bytes, now));
    }

    fn on_unordered(&self, bytes: &[u8]) {
        self.0.with(|session, now| session.handle_unordered(bytes, now));
    }

    fn on_datagram(&self, bytes: &[u8]) {
        self.0.with(|session, now| session.handle_datagram(bytes, now));
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Trust(error) => write!(f, "cannot use a trusted certificate: {error}"),
            Self::System(error) => write!(f, "cannot open a UDP socket or start a thread: {error}"),
        }
    }
}

impl std::error::Error for ConnectError {}

#[cfg(all(test, feature = "peer"))]
mod tests {
    use super::*;

    #[test]
    fn the_direct_address_is_tried_first_and_a_relay_as_soon_as_it_is_known() {
        let (direct, moved, relay): (SocketAddr, SocketAddr, SocketAddr) =
            (([1; 4], 1).into(), ([1; 4], 2).into(), ([2; 4], 3).into());
        let routes = Routes::new(direct);
        assert_eq!((routes.next(0), routes.next(1), routes.next(2)), (direct, direct, direct));
        routes.set_relay(relay);
        assert_eq!((routes.next(3), routes.next(4), routes.next(5)), (relay, direct, relay));
        routes.set_direct(moved);
        assert_eq!(
            (routes.next(0), routes.next(1)),
            (moved, relay),
            "after a connection the direct address is first"
        );
    }
}
