//! A client on a socket, which comes back by itself.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fairpath::session::{Budget, Client, CloseReason, Statistics};
use fairpath::time::LocalInstant;
use fairpath::vector::Planar;
use quinn::crypto::rustls::QuicClientConfig;
use tokio::runtime::Handle;
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinSet;

use crate::clock::Clock;
use crate::congestion::Congestion;
use crate::identity::{Identity, Trust};
use crate::link::{
    ALPN_NATIVE, ALPN_WEB, ConnectionLost, Inbound, Link, Receiving, Sending, Transport, listen,
    transport_config,
};
use crate::outlet::{Departures, Outbound, Outlet, Pumped};
use crate::pace::{Pause, pause};

/// How a client reaches its server.
#[derive(Clone, Debug)]
pub struct NetClientConfig {
    /// Which server it believes.
    pub trust: Trust,
    /// What it asks the server to be, for [`Trust::Certificates`]. Default `localhost`. By
    /// WebTransport it is the address itself.
    pub server_name: String,
    /// What the connection is made of. Default [`Transport::Quic`]; WebTransport is for those who
    /// test what browsers do.
    pub transport: Transport,
    /// How much may be under way.
    pub congestion: Congestion,
    /// What the session sends, for [`Congestion::Steady`]. The same as the session's. Default
    /// [`Budget::default`].
    pub budget: Budget,
    /// How long an attempt to connect may take. Default 5 s: two round trips of the slowest link,
    /// twice lost.
    pub connect_within: Duration,
    /// How long it waits after the first attempt that failed; twice as long after each further one.
    /// Default 250 ms.
    pub retry_after_min: Duration,
    /// How long it waits at most. Default 4 s: far above it people reach for the button, far below
    /// it a crowd of clients keeps a server from starting.
    pub retry_after_max: Duration,
    /// What it lives by. Default [`Clock::unix`]; it need not be right.
    pub clock: Clock,
}

impl NetClientConfig {
    /// The usual, with a server to believe.
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

/// Why a client cannot even start.
#[derive(Debug)]
#[non_exhaustive]
pub enum ConnectError {
    /// What it is to trust is no certificate.
    Trust(rustls::Error),
    /// The system gives it no socket or no thread.
    System(io::Error),
}

/// How a client is connected at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionState {
    /// Trying to; so many attempts failed since the last connection.
    Connecting {
        /// How many.
        failed: u32,
    },
    /// There is a connection. Whether there is a session on it the session knows.
    Connected,
    /// It is over, and it does not try again: for this reason, or because this client left.
    Over(Option<CloseReason>),
}

/// A client on a socket.
///
/// It runs on a thread of its own, and the game gets the session in [`frame`](Self::frame), as with
/// [`NetServer`](crate::NetServer). If the address changes, QUIC moves the connection; if the
/// connection dies, the client connects again and resumes the session, for as long as the server
/// does not send it away. Dropping it leaves at once; [`leave`](Self::leave) waits until what was
/// promised has arrived.
#[derive(Debug)]
pub struct NetClient<V: Planar> {
    shared: Arc<Shared<V>>,
    stop: Option<oneshot::Sender<Duration>>,
    ending: Option<Ending>,
}

/// How it is heard that a client has ended, and whether everything was confirmed.
#[derive(Debug)]
enum Ending {
    Own(JoinHandle<bool>),
    Shared(mpsc::Receiver<bool>),
}

/// A thread that many clients run on: for bots, and for whoever plays a crowd. A client of its own
/// needs none.
///
/// Dropping it ends the clients that are still on it, without goodbye.
#[derive(Debug)]
pub struct ClientThread {
    runtime: Handle,
    /// It ends when this is dropped.
    _stop: oneshot::Sender<()>,
}

/// How a client's connection is.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClientStatus {
    /// Whether there is one.
    pub reach: ConnectionState,
    /// Where the other end of the connection is, if there is one.
    pub server: Option<SocketAddr>,
    /// Connections so far.
    pub connections: u32,
    /// What the session counts.
    pub session: Statistics,
    /// How datagrams left, on this connection.
    pub departures: Departures,
    /// Bytes of UDP that were sent on this connection, with everything.
    pub udp_bytes_sent: u64,
    /// Bytes of UDP that came on this connection, with everything.
    pub udp_bytes_received: u64,
}

impl<V: Planar> NetClient<V> {
    /// Starts to connect a session to a server, and does not wait for it.
    pub fn connect(
        server: SocketAddr,
        config: NetClientConfig,
        session: Client<V>,
    ) -> Result<Self, ConnectError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(ConnectError::System)?;
        let caller = {
            let _inside = runtime.enter();
            Caller::new(server, &config)?
        };
        let shared = Arc::new(Shared::new(session, config.clock));
        let (stop, stopped) = oneshot::channel();
        let inside = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("fairpath-client".into())
            .spawn(move || runtime.block_on(run(inside, caller, config, stopped)));
        let ending = Some(Ending::Own(thread.map_err(ConnectError::System)?));
        Ok(Self { shared, stop: Some(stop), ending })
    }

    /// The same on a thread that is there already.
    pub fn connect_on(
        thread: &ClientThread,
        server: SocketAddr,
        config: NetClientConfig,
        session: Client<V>,
    ) -> Result<Self, ConnectError> {
        let caller = {
            let _inside = thread.runtime.enter();
            Caller::new(server, &config)?
        };
        let shared = Arc::new(Shared::new(session, config.clock));
        let (stop, stopped) = oneshot::channel();
        let (ended, ending) = mpsc::channel();
        let inside = Arc::clone(&shared);
        thread.runtime.spawn(async move {
            // Who dropped the client does not want to know.
            let _ = ended.send(run(inside, caller, config, stopped).await);
        });
        Ok(Self { shared, stop: Some(stop), ending: Some(Ending::Shared(ending)) })
    }

    /// What this client's own clock shows.
    pub fn now(&self) -> LocalInstant {
        self.shared.clock.local()
    }

    /// The game's turn with the session. What it did leaves at once afterwards.
    pub fn frame<R>(&self, turn: impl FnOnce(&mut Client<V>, LocalInstant) -> R) -> R {
        self.shared.with(turn)
    }

    /// Whether there is a connection.
    pub fn reach(&self) -> ConnectionState {
        self.shared.reach()
    }

    /// How the connection is.
    pub fn status(&self) -> ClientStatus {
        self.shared.status()
    }

    /// Leaves for good, after so long at most to let arrive what was promised. Whether all of it
    /// was confirmed.
    pub fn leave(mut self, within: Duration) -> bool {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(within);
        }
        self.end()
    }

    fn end(&mut self) -> bool {
        self.stop = None;
        // If it panicked it has said so; a second panic while the first unwinds would hide it.
        match self.ending.take() {
            Some(Ending::Own(thread)) => thread.join().unwrap_or(false),
            Some(Ending::Shared(ended)) => ended.recv().unwrap_or(false),
            None => false,
        }
    }
}

impl ClientThread {
    /// Starts it.
    pub fn start() -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel::<()>();
        let run = move || drop(runtime.block_on(stopped));
        std::thread::Builder::new().name("fairpath-clients".into()).spawn(run)?;
        Ok(Self { runtime: handle, _stop: stop })
    }
}

impl<V: Planar> Drop for NetClient<V> {
    fn drop(&mut self) {
        self.end();
    }
}

/// What the thread and the game share.
#[derive(Debug)]
pub(crate) struct Shared<V: Planar> {
    live: Mutex<Live<V>>,
    clock: Clock,
    wake: Arc<Notify>,
}

#[derive(Debug)]
pub(crate) struct Live<V: Planar> {
    session: Client<V>,
    outlet: Option<Outlet>,
    reach: ConnectionState,
    connections: u32,
    /// Why this end closed the last connection.
    closed_for: Option<CloseReason>,
}

impl<V: Planar> Shared<V> {
    pub(crate) fn new(session: Client<V>, clock: Clock) -> Self {
        let reach = ConnectionState::Connecting { failed: 0 };
        let live = Live { session, outlet: None, reach, connections: 0, closed_for: None };
        Self { live: Mutex::new(live), clock, wake: Arc::new(Notify::new()) }
    }

    /// A game that panicked in its turn left the session as it is between two calls: others go on
    /// with it.
    fn lock(&self) -> MutexGuard<'_, Live<V>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A turn with the session. The clock is read inside the lock, so time never runs backwards for
    /// the session.
    pub(crate) fn with<R>(&self, turn: impl FnOnce(&mut Client<V>, LocalInstant) -> R) -> R {
        let mut live = self.lock();
        let result = turn(&mut live.session, self.clock.local());
        drop(live);
        self.wake.notify_one();
        result
    }

    pub(crate) fn reach(&self) -> ConnectionState {
        self.lock().reach
    }

    /// Whether the session has a transport, and its clock is known.
    pub(crate) fn is_in_session(&self) -> bool {
        self.lock().session.is_connected()
    }

    /// Says that it is over, for who has nobody left to drive the session.
    pub(crate) fn leave_at_once(&self) {
        if let Some(outlet) = self.lock().outlet.take() {
            outlet.close(CloseReason::Finished);
        }
    }

    /// How the connection is.
    pub(crate) fn status(&self) -> ClientStatus {
        let live = self.lock();
        let quic = live.outlet.as_ref().map(|outlet| outlet.link().quic_statistics());
        ClientStatus {
            reach: live.reach,
            server: live.outlet.as_ref().map(|outlet| outlet.link().address()),
            connections: live.connections,
            session: live.session.statistics(),
            departures: live.outlet.as_ref().map(Outlet::departures).unwrap_or_default(),
            udp_bytes_sent: quic.as_ref().map_or(0, |quic| quic.udp_tx.bytes),
            udp_bytes_received: quic.as_ref().map_or(0, |quic| quic.udp_rx.bytes),
        }
    }

    /// The session's run loop, once.
    fn pump(&self) -> Pause {
        let mut live = self.lock();
        let Live { session, outlet, closed_for, .. } = &mut *live;
        let now = self.clock.local();
        session.handle_timeout(now);
        let mut pumped = Pumped::default();
        if let Some(outlet) = outlet {
            pumped = outlet.pump(&mut ClientOutbound { session, now });
        }
        if let Some(reason) = session.poll_close()
            && let Some(outlet) = outlet.take()
        {
            *closed_for = Some(reason);
            outlet.close(reason);
        }
        let deadline = session.poll_deadline(now);
        pause(pumped, deadline.map(|at| self.clock.when(at.as_micros())))
    }
}

// ── the thread
// ──────────────────────────────────────────────────────────────────────────────────────────────

/// Stays connected until it is told to stop, or is dropped. Whether everything was confirmed when
/// it ended.
pub(crate) async fn run<V: Planar>(
    shared: Arc<Shared<V>>,
    caller: Caller,
    config: NetClientConfig,
    stop: oneshot::Receiver<Duration>,
) -> bool {
    // They end when this does.
    let mut tasks = JoinSet::new();
    tasks.spawn(drive(Arc::clone(&shared)));
    let staying = tasks.spawn(stay_connected(Arc::clone(&shared), caller.clone(), config));
    let within = stop.await.unwrap_or_default();
    let is_flushed = flush(&shared, within).await;
    shared.with(|session, now| session.leave(now));
    // The run loop closes the connection, and then nobody is to open another one.
    let closed = async {
        while shared.lock().outlet.is_some() {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    };
    let _ = tokio::time::timeout(LAST_WORDS, closed).await;
    staying.abort();
    let _ = tokio::time::timeout(LAST_WORDS, caller.wait_idle()).await;
    shared.lock().reach = ConnectionState::Over(None);
    is_flushed
}

pub(crate) async fn flush<V: Planar>(shared: &Shared<V>, within: Duration) -> bool {
    let flushed = async {
        while shared.lock().session.statistics().outbox_bytes > 0 {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    };
    tokio::time::timeout(within, flushed).await.is_ok()
}

/// How often it is looked whether all is confirmed.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
/// How long the server may take to hear that it is over.
const LAST_WORDS: Duration = Duration::from_millis(500);

async fn drive<V: Planar>(shared: Arc<Shared<V>>) {
    loop {
        let pause = shared.pump();
        pause.wait(&shared.wake).await;
    }
}

/// Connects, and connects again, until the server says that there is no use.
async fn stay_connected<V: Planar>(shared: Arc<Shared<V>>, caller: Caller, config: NetClientConfig) {
    let mut failed = 0;
    loop {
        let called = tokio::time::timeout(config.connect_within, caller.call(failed)).await;
        if let Ok(Ok((link, sending, receiving))) = called {
            let began = Instant::now();
            let reason = converse(&shared, link, sending, receiving).await;
            if reason.is_some_and(is_final) {
                shared.lock().reach = ConnectionState::Over(reason);
                return;
            }
            // A connection that lasted proves that it can be done; one that did not is an attempt that
            // failed.
            failed = if began.elapsed() > config.connect_within { 0 } else { failed + 1 };
        } else {
            failed += 1;
        }
        // Said before the pause: who knows another way has it for naming one.
        shared.lock().reach = ConnectionState::Connecting { failed };
        tokio::time::sleep(config.retry_after(failed)).await;
    }
}

impl NetClientConfig {
    fn retry_after(&self, failed: u32) -> Duration {
        let doublings = failed.saturating_sub(1).min(16);
        (self.retry_after_min * (1 << doublings)).min(self.retry_after_max)
    }
}

/// Whether there is no use in trying again.
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

/// One connection, from its beginning to its end. The answer is why it ended, if somebody said so.
async fn converse<V: Planar>(
    shared: &Arc<Shared<V>>,
    link: Link,
    sending: Sending,
    receiving: Receiving,
) -> Option<CloseReason> {
    let link = Arc::new(link);
    {
        let mut live = shared.lock();
        live.reach = ConnectionState::Connected;
        live.connections += 1;
        live.closed_for = None;
        live.outlet = Some(Outlet::open(Arc::clone(&link), sending, &shared.wake));
    }
    shared.with(|session, now| session.handle_connected(now));
    let reason = listen(&link, receiving, &Arc::new(ClientInbound(Arc::clone(shared)))).await;
    let closed_for = {
        let mut live = shared.lock();
        live.outlet = None;
        live.closed_for
    };
    shared.with(|session, now| session.handle_disconnected(reason, now));
    reason.or(closed_for)
}

/// Opens connections to one server.
#[derive(Clone)]
pub(crate) enum Caller {
    Quic { endpoint: quinn::Endpoint, config: quinn::ClientConfig, ways: Arc<Ways>, name: String },
    Web { endpoint: Arc<wtransport::Endpoint<wtransport::endpoint::endpoint_side::Client>>, url: String },
}

/// The addresses at which one and the same server may be reached: the best one, and a detour if
/// there is one.
#[derive(Debug)]
pub(crate) struct Ways(Mutex<WaysInTurn>);

#[derive(Debug)]
struct WaysInTurn {
    best: SocketAddr,
    detour: Option<SocketAddr>,
    /// Whether the detour is tried next.
    is_detours_turn: bool,
}

impl Ways {
    pub(crate) fn new(best: SocketAddr) -> Self {
        Self(Mutex::new(WaysInTurn { best, detour: None, is_detours_turn: false }))
    }

    /// From now on this is the best one.
    pub(crate) fn set_best(&self, address: SocketAddr) {
        self.lock().best = address;
    }

    /// The one to try next, since the best did not open.
    pub(crate) fn set_detour(&self, address: SocketAddr) {
        let mut ways = self.lock();
        ways.detour = Some(address);
        ways.is_detours_turn = true;
    }

    /// The one for the next attempt, after so many that failed: the best first, then each in its
    /// turn.
    fn next(&self, failed: u32) -> SocketAddr {
        let mut ways = self.lock();
        let takes_detour = failed > 0 && ways.is_detours_turn;
        ways.is_detours_turn = !takes_detour;
        ways.detour.filter(|_| takes_detour).unwrap_or(ways.best)
    }

    fn lock(&self) -> MutexGuard<'_, WaysInTurn> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Caller {
    fn new(server: SocketAddr, config: &NetClientConfig) -> Result<Self, ConnectError> {
        let any = any_port_like(server);
        match config.transport {
            Transport::Quic => {
                let endpoint = quinn::Endpoint::client(any).map_err(ConnectError::System)?;
                Self::from_endpoint(endpoint, Arc::new(Ways::new(server)), config, None)
            }
            Transport::WebTransport => {
                let tls = config.trust.tls(ALPN_WEB, None).map_err(ConnectError::Trust)?;
                let web = wtransport::ClientConfig::builder()
                    .with_bind_address(any)
                    .with_custom_tls_and_transport(tls, transport_config(config.congestion, config.budget))
                    .build();
                let endpoint = wtransport::Endpoint::client(web).map_err(ConnectError::System)?;
                Ok(Self::Web { endpoint: Arc::new(endpoint), url: format!("https://{server}/") })
            }
        }
    }

    /// Calls from a socket that is there already, as `caller` if that is asked.
    pub(crate) fn from_endpoint(
        endpoint: quinn::Endpoint,
        ways: Arc<Ways>,
        config: &NetClientConfig,
        caller: Option<&Identity>,
    ) -> Result<Self, ConnectError> {
        let transport = transport_config(config.congestion, config.budget);
        let quic = calling_config(&config.trust, ALPN_NATIVE, caller, transport)?;
        Ok(Self::Quic { endpoint, config: quic, ways, name: config.server_name.clone() })
    }

    async fn call(&self, failed: u32) -> Result<(Link, Sending, Receiving), ConnectionLost> {
        let link = match self {
            Self::Quic { endpoint, config, ways, name } => {
                let calling = endpoint.connect_with(config.clone(), ways.next(failed), name);
                Link::quic(calling.map_err(|_| ConnectionLost)?.await.map_err(|_| ConnectionLost)?)
            }
            Self::Web { endpoint, url } => {
                Link::web(endpoint.connect(url).await.map_err(|_| ConnectionLost)?)
            }
        };
        let (sending, receiving) = link.open_stream().await?;
        Ok((link, sending, receiving))
    }

    async fn wait_idle(&self) {
        match self {
            Self::Quic { endpoint, .. } => endpoint.wait_idle().await,
            Self::Web { endpoint, .. } => endpoint.wait_idle().await,
        }
    }
}

/// How a client calls: whom it believes, for what, and as whom.
pub(crate) fn calling_config(
    trust: &Trust,
    alpn: &[u8],
    caller: Option<&Identity>,
    transport: quinn::TransportConfig,
) -> Result<quinn::ClientConfig, ConnectError> {
    let tls = trust.tls(alpn, caller).map_err(ConnectError::Trust)?;
    let crypto = QuicClientConfig::try_from(tls).expect("TLS 1.3 has a cipher for QUIC");
    let mut quic = quinn::ClientConfig::new(Arc::new(crypto));
    quic.transport_config(Arc::new(transport));
    Ok(quic)
}

/// Where to call from, to reach an address of this family.
pub(crate) fn any_port_like(server: SocketAddr) -> SocketAddr {
    match server {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    }
}

/// What comes from the server.
struct ClientInbound<V: Planar>(Arc<Shared<V>>);

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

/// What the session has to say to the server.
struct ClientOutbound<'a, V: Planar> {
    session: &'a mut Client<V>,
    now: LocalInstant,
}

impl<V: Planar> Outbound for ClientOutbound<'_, V> {
    fn poll_stream(&mut self) -> Option<Vec<u8>> {
        self.session.poll_stream(self.now)
    }

    fn poll_unordered(&mut self) -> Option<Vec<u8>> {
        self.session.poll_unordered()
    }

    fn poll_datagram(&mut self, bytes_max: usize) -> Option<Vec<u8>> {
        self.session.poll_datagram(self.now, bytes_max)
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Trust(error) => write!(f, "what is to be trusted is of no use: {error}"),
            Self::System(error) => write!(f, "the system refuses: {error}"),
        }
    }
}

impl std::error::Error for ConnectError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_way_is_tried_first_and_a_detour_as_soon_as_it_is_known() {
        let (best, better, detour): (SocketAddr, SocketAddr, SocketAddr) =
            (([1; 4], 1).into(), ([1; 4], 2).into(), ([2; 4], 3).into());
        let ways = Ways::new(best);
        assert_eq!((ways.next(0), ways.next(1), ways.next(2)), (best, best, best));
        ways.set_detour(detour);
        assert_eq!((ways.next(3), ways.next(4), ways.next(5)), (detour, best, detour));
        ways.set_best(better);
        assert_eq!(
            (ways.next(0), ways.next(1)),
            (better, detour),
            "who had a connection begins with the best"
        );
    }
}
