//! A client on a socket. It reconnects by itself.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fairpath::session::{Budget, Client, ClientFrame, Statistics};
use fairpath::time::{LocalInstant, Span};
use fairpath::vector::Planar;
use quinn::crypto::rustls::QuicClientConfig;
use rustls::pki_types::ServerName;
use tokio::runtime::Handle;
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinSet;

use crate::background::{Background, CHECK_EVERY, CLOSE_WITHIN};
use crate::carrier::{Carrier, SortingSocket};
use crate::clock::Clock;
use crate::congestion::Congestion;
use crate::connection::{
    ALPN_NATIVE, ALPN_SEALED, Connection, Inbound, ReceiveStream, SendStream, Transport, listen,
    transport_config,
};
use crate::identity::{Identity, Trust};
use crate::lock;
use crate::monitor::{Held, InFrame, Monitor, Watched};
use crate::pace::{Pause, pause};
use crate::problem::ConnectionProblem;
use crate::reconnect::{Pauses, Reconnect, Step};
use crate::sealed::{DelayRise, LinkStatistics};
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
    /// What carries the session's datagrams. Default [`Carrier::Sealed`]. WebTransport and mesh
    /// peers always use QUIC datagrams.
    pub carrier: Carrier,
    /// The congestion controller: how many bytes may be in flight.
    pub congestion: Congestion,
    /// The send budget, for [`Congestion::Steady`]. Set it to the session's budget. Default
    /// [`Budget::default`].
    pub budget: Budget,
    /// Time limit of one connection attempt. Default 5 s: two slowest round trips, lost twice. An
    /// attempt that the server has not answered at all ends after 2.5 s.
    pub connect_within: Duration,
    /// Pause after the first failed attempt. Each further failure doubles it. Default 250 ms.
    /// Every pause is shortened by up to a half at random, so that a crowd of clients that lost
    /// its server does not return at once.
    pub retry_after_min: Duration,
    /// Longest pause between attempts. Default 2 s: with attempts of 2.5 s without an answer, all
    /// of a thousand clients are back within 5 s after their server is. Much longer, and players
    /// press the button themselves; much shorter, and a crowd of clients keeps a server from
    /// starting.
    pub retry_after_max: Duration,
    /// The client's own clock. Default [`Clock::unix`]. The session synchronises it.
    pub clock: Clock,
}

pub(crate) const RETRY_AFTER_MAX: Duration = Duration::from_secs(2);

impl NetClientConfig {
    /// The defaults, for a server with these certificates.
    pub fn new(trust: Trust) -> Self {
        Self {
            trust,
            server_name: "localhost".into(),
            transport: Transport::Quic,
            carrier: Carrier::default(),
            congestion: Congestion::default(),
            budget: Budget::default(),
            connect_within: Duration::from_secs(5),
            retry_after_min: Duration::from_millis(250),
            retry_after_max: RETRY_AFTER_MAX,
            clock: Clock::unix(),
        }
    }
}

/// Why a client cannot start.
#[derive(Debug)]
#[non_exhaustive]
pub enum ConnectError {
    /// The text is no address, or the name has none.
    Address(io::Error),
    /// A trusted certificate cannot be used.
    Trust(rustls::Error),
    /// The [`server_name`](NetClientConfig::server_name) is no DNS name and no IP address.
    ServerName(String),
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
        /// Why the last attempt failed, or the last connection ended. `None` at the start.
        last: Option<ConnectionProblem>,
    },
    /// There is a connection. [`Client::is_connected`] tells whether a session runs on it.
    Connected,
    /// The connection ended and the client does not try again: for this
    /// [final](ConnectionProblem::is_final) reason, or, with `None`, because this client left.
    Over(Option<ConnectionProblem>),
}

/// A client on a socket.
///
/// It runs on a thread of its own, with a runtime of its own: the caller needs no async runtime,
/// and may have any. The game accesses the session in [`frame`](Self::frame), as with
/// [`NetServer`](crate::NetServer). A program without a frame loop sleeps in [`wait`](Self::wait)
/// or awaits [`ready`](Self::ready) until there is an event.
///
/// If the client's address changes, QUIC moves the connection. If the connection dies or the server
/// restarts, the client reconnects by itself, and resumes the session or joins anew.
/// [`poll_problem`](Self::poll_problem) says why, at once; after a
/// [final](ConnectionProblem::is_final) problem it stops. Dropping the client leaves at once;
/// [`leave`](Self::leave) first waits until reliable messages are confirmed. Both block until the
/// thread has ended: under an async executor call them where blocking is allowed.
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
    /// The session's counters. They start anew with each session, and go on when one is resumed.
    pub session: Statistics,
    /// How datagrams left on this connection.
    pub departures: Departures,
    /// What was sent and received beside QUIC on this connection. `None` without
    /// [`Carrier::Sealed`], or if the server does not offer it.
    pub sealed: Option<LinkStatistics>,
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
        let shared = Arc::new(SharedClient::new("NetClient", "frame", session, config.clock));
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
        let shared = Arc::new(SharedClient::new("NetClient", "frame", session, config.clock));
        let inside = Arc::clone(&shared);
        let task = Background::start_on(&thread.runtime, |stop| run(inside, connector, config, stop));
        Ok(Self { task, shared })
    }

    /// The current time on this client's own clock.
    pub fn now(&self) -> LocalInstant {
        self.shared.clock.local()
    }

    /// Gives the game access to the session. Data that it produced is sent right afterwards: the
    /// end of this call flushes, as does that of [`try_frame`](Self::try_frame) and
    /// [`with_session`](Self::with_session).
    ///
    /// # Panics
    /// Inside another `frame` of this client on the same thread: use that frame's session.
    #[track_caller]
    pub fn frame<R>(&self, turn: impl FnOnce(&mut ClientFrame<'_, V>) -> R) -> R {
        self.shared.with(|session, now| turn(&mut session.frame(now)))
    }

    /// Does what [`frame`](Self::frame) does, and returns an error where `frame` panics: inside
    /// another `frame` of this client on the same thread.
    pub fn try_frame<R>(&self, turn: impl FnOnce(&mut ClientFrame<'_, V>) -> R) -> Result<R, InFrame> {
        self.shared.try_with(|session, now| turn(&mut session.frame(now)))
    }

    /// Gives access to the session below the typed [`frame`](Self::frame), with plain bytes.
    ///
    /// # Panics
    /// Inside another `frame` of this client on the same thread: use that frame's session.
    #[track_caller]
    pub fn with_session<R>(&self, turn: impl FnOnce(&mut Client<V>, LocalInstant) -> R) -> R {
        self.shared.with(turn)
    }

    /// Blocks until the session has an event or [`poll_problem`](Self::poll_problem) a problem, for
    /// at most `timeout`. Returns whether there is one. Not for a thread of an async executor: see
    /// [`ready`](Self::ready).
    ///
    /// # Panics
    /// Inside [`frame`](Self::frame).
    #[track_caller]
    pub fn wait(&self, timeout: Duration) -> bool {
        self.shared.inner.wait(timeout)
    }

    /// Completes when the session has an event or [`poll_problem`](Self::poll_problem) a problem.
    /// Works under any executor, and can be dropped at any time.
    ///
    /// # Panics
    /// If it is polled inside [`frame`](Self::frame).
    pub async fn ready(&self) {
        self.shared.inner.ready().await;
    }

    /// Whether there is a connection, and if not, why. May be called inside [`frame`](Self::frame).
    pub fn connection_state(&self) -> ConnectionState {
        self.shared.connection_state()
    }

    /// The next problem of the connection: why an attempt failed or a connection ended. The same
    /// problem of repeated attempts is returned once. At most 32 wait to be polled; then the oldest
    /// are dropped. May be called inside [`frame`](Self::frame).
    pub fn poll_problem(&self) -> Option<ConnectionProblem> {
        lock(&self.shared.link).unread.pop_front()
    }

    /// The status of the connection.
    ///
    /// # Panics
    /// Inside [`frame`](Self::frame).
    #[track_caller]
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
    inner: Monitor<ClientInner<V>>,
    /// Locked after `inner`, never before.
    link: Arc<Mutex<Link>>,
    clock: Clock,
    wake: Arc<Notify>,
}

#[derive(Debug)]
pub(crate) struct ClientInner<V: Planar> {
    session: Client<V>,
    sender: Option<PeerSender>,
    connections: u32,
    /// Whether the server has answered the greeting on this connection.
    is_greeted: bool,
    /// The share of the budget that the path has room for, and when it was last looked at.
    delay_rise: DelayRise,
    measured_at: LocalInstant,
    link: Arc<Mutex<Link>>,
}

/// Least time between two round trips that decide about the share of the budget: a few receipts.
const MEASURE_EVERY: Span = Span::from_millis(200);

impl<V: Planar> ClientInner<V> {
    /// Limits the session to the share of its budget that the path has room for.
    fn limit_to_path(&mut self, now: LocalInstant) {
        if now - self.measured_at < MEASURE_EVERY {
            return;
        }
        self.measured_at = now;
        if let Some(share) = self.delay_rise.next_share(now, self.session.statistics().round_trip) {
            self.session.set_budget_share(share, now);
        }
    }
}

impl<V: Planar> Watched for ClientInner<V> {
    fn has_events(&self) -> bool {
        self.session.has_events() || !lock(&self.link).unread.is_empty()
    }
}

/// The state of the connection, in a mutex of its own: a game may ask for it inside `frame`.
#[derive(Debug)]
struct Link {
    state: ConnectionState,
    /// The problem that was reported last, unless a session has begun since.
    reported: Option<ConnectionProblem>,
    unread: VecDeque<ConnectionProblem>,
}

/// Problems that wait to be polled. Only changes are kept, so few do.
const PROBLEMS_MAX: usize = 32;

impl Link {
    fn report(&mut self, problem: ConnectionProblem) {
        if self.reported.replace(problem) != Some(problem) {
            if self.unread.len() >= PROBLEMS_MAX {
                self.unread.pop_front();
            }
            self.unread.push_back(problem);
        }
    }
}

impl<V: Planar> SharedClient<V> {
    /// Holds a session. `name` and `access` are the public type and its method that hands the
    /// session to the game, for panic messages.
    pub(crate) fn new(name: &'static str, access: &'static str, session: Client<V>, clock: Clock) -> Self {
        let state = ConnectionState::Connecting { failed: 0, last: None };
        let link = Arc::new(Mutex::new(Link { state, reported: None, unread: VecDeque::new() }));
        let (sender, shared_link) = (None, Arc::clone(&link));
        let now = clock.local();
        let inner = ClientInner {
            session,
            sender,
            connections: 0,
            is_greeted: false,
            delay_rise: DelayRise::new(now),
            measured_at: now,
            link: shared_link,
        };
        Self { inner: Monitor::new(name, access, inner), link, clock, wake: Arc::new(Notify::new()) }
    }

    /// Gives access to the session. Reads the clock inside the lock: time never runs backwards.
    #[track_caller]
    pub(crate) fn with<R>(&self, turn: impl FnOnce(&mut Client<V>, LocalInstant) -> R) -> R {
        self.turn(self.inner.lock(), turn)
    }

    fn try_with<R>(&self, turn: impl FnOnce(&mut Client<V>, LocalInstant) -> R) -> Result<R, InFrame> {
        Ok(self.turn(self.inner.try_lock()?, turn))
    }

    fn turn<R>(
        &self,
        mut inner: Held<'_, ClientInner<V>>,
        turn: impl FnOnce(&mut Client<V>, LocalInstant) -> R,
    ) -> R {
        let result = turn(&mut inner.session, self.clock.local());
        drop(inner);
        self.wake.notify_one();
        result
    }

    pub(crate) fn connection_state(&self) -> ConnectionState {
        lock(&self.link).state
    }

    /// Sets the state after a problem, and reports the problem.
    fn on_problem(&self, problem: ConnectionProblem, state: ConnectionState) {
        // Releasing the session wakes a game that waits.
        let _inner = self.inner.lock();
        let mut link = lock(&self.link);
        link.state = state;
        link.report(problem);
    }

    /// Whether the session is connected and its clock is synchronised.
    #[cfg(feature = "peer")]
    pub(crate) fn is_in_session(&self) -> bool {
        self.inner.lock().session.is_connected()
    }

    /// Closes the connection at once, when no task drives the session any more.
    #[cfg(feature = "peer")]
    pub(crate) fn leave_at_once(&self) {
        if let Some(sender) = self.inner.lock().sender.take() {
            sender.close(fairpath::session::CloseReason::Finished);
        }
    }

    #[track_caller]
    pub(crate) fn status(&self) -> ClientStatus {
        let inner = self.inner.lock_for("status");
        let quic = inner.sender.as_ref().map(|sender| sender.connection().quic_statistics());
        let sealed = inner.sender.as_ref().and_then(|sender| sender.connection().sealed_statistics());
        let beside = sealed.unwrap_or_default();
        ClientStatus {
            connection_state: self.connection_state(),
            server: inner.sender.as_ref().map(|sender| sender.connection().address()),
            connections: inner.connections,
            session: inner.session.statistics(),
            departures: inner.sender.as_ref().map(PeerSender::departures).unwrap_or_default(),
            sealed,
            udp_bytes_sent: quic.as_ref().map_or(0, |quic| quic.udp_tx.bytes) + beside.bytes_sent,
            udp_bytes_received: quic.as_ref().map_or(0, |quic| quic.udp_rx.bytes) + beside.bytes_received,
        }
    }

    fn pump(&self) -> Pause {
        let mut inner = self.inner.lock();
        let now = self.clock.local();
        inner.limit_to_path(now);
        let ClientInner { session, sender, .. } = &mut *inner;
        session.handle_timeout(now);
        let mut progress = SendProgress::default();
        if let Some(sender) = sender {
            progress = sender.pump(&mut ClientOutbound { session, now });
        }
        if let Some(reason) = session.poll_close()
            && let Some(sender) = sender.take()
        {
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
        while shared.inner.lock().sender.is_some() {
            tokio::time::sleep(CHECK_EVERY).await;
        }
    };
    let _ = tokio::time::timeout(CLOSE_WITHIN, closed).await;
    connecting.abort();
    let _ = tokio::time::timeout(CLOSE_WITHIN, connector.wait_idle()).await;
    lock(&shared.link).state = ConnectionState::Over(None);
    is_flushed
}

pub(crate) async fn flush<V: Planar>(shared: &SharedClient<V>, within: Duration) -> bool {
    let flushed = async {
        while shared.inner.lock().session.statistics().outbox_bytes > 0 {
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

/// Connects and reconnects, until a problem is final.
async fn reconnect_forever<V: Planar>(
    shared: Arc<SharedClient<V>>,
    connector: Connector,
    config: NetClientConfig,
) {
    let clock = shared.clock;
    let pauses = Pauses::new(config.connect_within, config.retry_after_min, config.retry_after_max);
    let mut machine = Reconnect::new(pauses, crate::unguessable_random(), clock.local());
    while let Some(at) = machine.poll_deadline() {
        tokio::time::sleep_until(clock.instant_of(at).into()).await;
        if machine.poll(clock.local()) != Some(Step::Connect) {
            continue;
        }
        let problem = match attempt(&mut machine, &connector, clock).await {
            Ok((connection, sending, receiving)) => {
                machine.on_connected(clock.local());
                run_connection(&shared, connection, sending, receiving).await
            }
            Err(problem) => {
                connector.give_up();
                problem
            }
        };
        machine.on_problem(problem, clock.local());
        if problem.is_final() {
            return shared.on_problem(problem, ConnectionState::Over(Some(problem)));
        }
        // Set before the pause, so that a mesh can name a relay in the meantime.
        let state = ConnectionState::Connecting { failed: machine.failed(), last: Some(problem) };
        shared.on_problem(problem, state);
    }
}

/// Makes one attempt, for as long as the machine allows.
async fn attempt(
    machine: &mut Reconnect,
    connector: &Connector,
    clock: Clock,
) -> Result<(Connection, SendStream, ReceiveStream), ConnectionProblem> {
    let mut connecting = std::pin::pin!(connector.connect(machine.failed()));
    while let Some(at) = machine.poll_deadline() {
        tokio::select! {
            connected = &mut connecting => return connected,
            () = tokio::time::sleep_until(clock.instant_of(at).into()) => {
                if connector.is_answered() {
                    machine.on_answered();
                }
                if machine.poll(clock.local()) == Some(Step::GiveUp) {
                    break;
                }
            }
        }
    }
    Err(ConnectionProblem::NoAnswer)
}

/// Runs one connection from start to end. Returns why it ended.
async fn run_connection<V: Planar>(
    shared: &Arc<SharedClient<V>>,
    connection: Connection,
    sending: SendStream,
    receiving: ReceiveStream,
) -> ConnectionProblem {
    let connection = Arc::new(connection);
    {
        let mut inner = shared.inner.lock();
        lock(&shared.link).state = ConnectionState::Connected;
        inner.connections += 1;
        inner.is_greeted = false;
        inner.delay_rise = DelayRise::new(shared.clock.local());
        inner.sender = Some(PeerSender::open(Arc::clone(&connection), sending, &shared.wake));
    }
    shared.with(|session, now| session.handle_connected(now));
    let reason = listen(&connection, receiving, &Arc::new(ClientInbound(Arc::clone(shared)))).await;
    let is_greeted = {
        let mut inner = shared.inner.lock();
        inner.sender = None;
        inner.is_greeted
    };
    shared.with(|session, now| session.handle_disconnected(reason, now));
    if is_greeted { connection.problem() } else { connection.problem().before_session() }
}

#[derive(Clone)]
pub(crate) enum Connector {
    Quic {
        endpoint: quinn::Endpoint,
        /// The endpoint's socket, if nothing else uses it.
        socket: Option<Arc<SortingSocket>>,
        carrier: Carrier,
        config: quinn::ClientConfig,
        routes: Arc<Routes>,
        name: String,
        is_pinned: bool,
    },
    #[cfg(feature = "web")]
    Web {
        endpoint: Arc<wtransport::Endpoint<wtransport::endpoint::endpoint_side::Client>>,
        server: SocketAddr,
        is_pinned: bool,
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
                let socket = SortingSocket::bind(any).map_err(ConnectError::System)?;
                let endpoint = socket.endpoint(None).map_err(ConnectError::System)?;
                let routes = Arc::new(Routes::new(server));
                Self::quic(endpoint, Some(socket), config.carrier, routes, config, None)
            }
            #[cfg(feature = "web")]
            Transport::WebTransport => {
                let tls =
                    config.trust.tls(&[crate::connection::ALPN_WEB], None).map_err(ConnectError::Trust)?;
                let web = wtransport::ClientConfig::builder()
                    .with_bind_address(any)
                    .with_custom_tls_and_transport(tls, transport_config(config.congestion, config.budget))
                    .build();
                let endpoint = wtransport::Endpoint::client(web).map_err(ConnectError::System)?;
                Ok(Self::Web { endpoint: Arc::new(endpoint), server, is_pinned: config.trust.is_pinned() })
            }
        }
    }

    #[cfg(feature = "peer")]
    /// Connects from an existing socket, with QUIC datagrams only. Shows `identity` to servers that
    /// ask for a certificate.
    pub(crate) fn from_endpoint(
        endpoint: quinn::Endpoint,
        routes: Arc<Routes>,
        config: &NetClientConfig,
        identity: Option<&Identity>,
    ) -> Result<Self, ConnectError> {
        Self::quic(endpoint, None, Carrier::QuicOnly, routes, config, identity)
    }

    /// Connects from an endpoint. Sealed datagrams need its socket.
    fn quic(
        endpoint: quinn::Endpoint,
        socket: Option<Arc<SortingSocket>>,
        carrier: Carrier,
        routes: Arc<Routes>,
        config: &NetClientConfig,
        identity: Option<&Identity>,
    ) -> Result<Self, ConnectError> {
        let name = config.server_name.clone();
        if ServerName::try_from(name.as_str()).is_err() {
            return Err(ConnectError::ServerName(name));
        }
        let transport = transport_config(config.congestion, config.budget);
        let is_sealed = carrier == Carrier::Sealed;
        let alpn: &[&[u8]] = if is_sealed { &[ALPN_SEALED, ALPN_NATIVE] } else { &[ALPN_NATIVE] };
        let quic = quic_client_config(&config.trust, alpn, identity, transport)?;
        let is_pinned = config.trust.is_pinned();
        Ok(Self::Quic { endpoint, socket, carrier, config: quic, routes, name, is_pinned })
    }

    /// Whether the server has answered the current attempt. Without a socket of its own that is not
    /// known, and an attempt has all its time.
    fn is_answered(&self) -> bool {
        match self {
            Self::Quic { socket: Some(socket), .. } => socket.is_attempt_answered(),
            _ => true,
        }
    }

    /// Silences the attempt that has just failed, or takes too long. Without a socket of its own,
    /// or over WebTransport, it closes as QUIC does.
    fn give_up(&self) {
        if let Self::Quic { socket: Some(socket), .. } = self {
            socket.give_up_attempt();
        }
    }

    async fn connect(
        &self,
        failed: u32,
    ) -> Result<(Connection, SendStream, ReceiveStream), ConnectionProblem> {
        let connection = match self {
            Self::Quic { endpoint, socket, carrier, config, routes, name, is_pinned } => {
                let address = check_route(routes.next(failed))?;
                let connecting = endpoint.connect_with(config.clone(), address, name);
                let connecting = connecting.map_err(|_| ConnectionProblem::Unreachable)?;
                let problem = |error| ConnectionProblem::of_quic(&error, None, *is_pinned);
                let connection =
                    Connection::quic(connecting.await.map_err(|error| match problem(error) {
                        ConnectionProblem::Lost => ConnectionProblem::NoAnswer,
                        problem => problem.before_session(),
                    })?);
                if let Some(socket) = socket {
                    socket.on_connected();
                }
                match socket.as_ref().filter(|_| *carrier == Carrier::Sealed) {
                    Some(socket) => connection.with_sealed(socket),
                    None => connection,
                }
            }
            #[cfg(feature = "web")]
            Self::Web { endpoint, server, is_pinned } => {
                let url = format!("https://{}/", check_route(*server)?);
                let connected = endpoint.connect(url).await;
                Connection::web(connected.map_err(|error| ConnectionProblem::of_web(&error, *is_pinned))?)
            }
        };
        match connection.open_stream().await {
            Ok((sending, receiving)) => Ok((connection, sending, receiving)),
            Err(_) => Err(connection.problem().before_session()),
        }
    }

    async fn wait_idle(&self) {
        match self {
            Self::Quic { endpoint, .. } => endpoint.wait_idle().await,
            #[cfg(feature = "web")]
            Self::Web { endpoint, .. } => endpoint.wait_idle().await,
        }
    }
}

/// Returns the address if this machine has a route to it. Sends no packet: QUIC's socket learns
/// nothing of a missing route, and a player without a network would wait for an answer.
fn check_route(address: SocketAddr) -> Result<SocketAddr, ConnectionProblem> {
    let routed = UdpSocket::bind(any_local_address(address)).and_then(|socket| socket.connect(address));
    routed.map(|()| address).map_err(|_| ConnectionProblem::Unreachable)
}

pub(crate) fn quic_client_config(
    trust: &Trust,
    alpn: &[&[u8]],
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
        let mut inner = self.0.inner.lock();
        if !inner.is_greeted {
            // The first bytes are the server's answer to the greeting: a session begins, and the
            // next problem is news again.
            inner.is_greeted = true;
            lock(&inner.link).reported = None;
        }
        self.0.turn(inner, |session, now| session.handle_stream(bytes, now));
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
            Self::Address(error) => {
                write!(
                    f,
                    "cannot connect: {error}; give a name or an address and a port, such as 192.0.2.7:7777"
                )
            }
            Self::Trust(error) => write!(f, "cannot use a trusted certificate: {error}"),
            Self::ServerName(name) => {
                write!(f, "cannot use the server name {name:?}: give a DNS name or an IP address")
            }
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
