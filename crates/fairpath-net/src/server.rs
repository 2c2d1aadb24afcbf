//! A server on a socket.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use fairpath::session::limits::HELLO_WITHIN;
use fairpath::session::{
    Budget, ClientId, CloseReason, ConnectionId, Server, ServerFrame, Statistics, Token,
};
use fairpath::time::SharedInstant;
use fairpath::vector::Planar;
use quinn::crypto::rustls::QuicServerConfig;
use quinn::{Endpoint, EndpointConfig, TokioRuntime};
use quinn_proto::HashedConnectionIdGenerator;
use socket2::SockRef;
use tokio::sync::{Notify, oneshot};

use crate::background::{Background, CHECK_EVERY, CLOSE_WITHIN};
use crate::clock::Clock;
use crate::congestion::Congestion;
use crate::connection::{
    ALPN_NATIVE, Connection, ConnectionLost, Inbound, ReceiveStream, SendStream, Transport, listen,
    transport_config,
};
use crate::connection_limiter::{ConnectionLimiter, Limits};
use crate::identity::{ClientVerifier, Fingerprint, Identity, IdentityError, unguessable};
#[cfg(feature = "lobby")]
use crate::lobby::{
    AnnounceError, Announcement, LobbyAddress, LobbyConnector, LobbyMember, LobbyPresence, join_lobby,
};
use crate::lock;
use crate::monitor::{Held, InFrame, Monitor, Watched};
use crate::pace::{Pause, pause};
use crate::problem::ConnectionProblem;
use crate::sender::{Departures, PeerSender, SendProgress, ServerOutbound};

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
    /// The clock that all clients synchronise to. Default [`Clock::unix`].
    pub clock: Clock,
}

impl NetServerConfig {
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
            clock: Clock::unix(),
        }
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
    /// The system provides no thread.
    System(io::Error),
}

/// A server on a socket. Native clients and browsers use one port.
///
/// It runs on a thread of its own, with a runtime of its own: the caller needs no async runtime,
/// and may have any. The session is behind a mutex. The game accesses the session itself in
/// [`frame`](Self::frame): the API is the same live and in the simulator, and nothing is copied
/// into commands. The thread holds the mutex while it handles one packet, or fills one datagram for
/// each client; a game that holds it for a whole frame delays packets by that long. A program
/// without a frame loop sleeps in [`wait`](Self::wait) or awaits [`ready`](Self::ready) until there
/// is an event.
///
/// Dropping the server stops it at once; [`shutdown`](Self::shutdown) lets clients confirm first,
/// and [`shutdown_for_restart`](Self::shutdown_for_restart) also asks them to return. All three
/// block until the thread has ended: under an async executor call them where blocking is allowed.
#[derive(Debug)]
pub struct NetServer<V: Planar> {
    task: Background,
    shared: Arc<SharedServer<V>>,
    address: SocketAddr,
    identity: Identity,
    #[cfg(feature = "lobby")]
    network: (Endpoint, tokio::runtime::Handle),
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
    /// How datagrams left.
    pub departures: Departures,
    /// The round trip as QUIC measures it.
    pub quic_round_trip: Duration,
    /// UDP payload bytes sent, QUIC's own included.
    pub udp_bytes_sent: u64,
    /// UDP payload bytes received, QUIC's own included.
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
    /// Refused by the [`Limits`].
    pub refused: u64,
    /// Admitted, but the handshake or the greeting failed.
    pub failed: u64,
    /// Admitted, and closed because the client broke the protocol.
    pub thrown_out: u64,
}

impl<V: Planar> NetServer<V> {
    /// Starts to serve a session.
    pub fn bind(config: NetServerConfig, session: Server<V>) -> Result<Self, BindError> {
        #[cfg(feature = "web")]
        let alpn: &[&[u8]] =
            if config.accepts_web { &[ALPN_NATIVE, crate::connection::ALPN_WEB] } else { &[ALPN_NATIVE] };
        #[cfg(not(feature = "web"))]
        let alpn: &[&[u8]] = &[ALPN_NATIVE];
        let transport = transport_config(config.congestion, config.budget);
        let quic = quic_server_config(&config.identity, alpn, None, transport)?;
        let (runtime, endpoint, address) = open_endpoint(config.listen, &config.identity, quic)?;
        let shared = Arc::new(SharedServer::new("NetServer", session, config.limits, config.clock));
        let inside = Arc::clone(&shared);
        #[cfg(feature = "lobby")]
        let network = (endpoint.clone(), runtime.handle().clone());
        let run = move |stop| run(inside, endpoint, stop);
        Ok(Self {
            task: Background::start("fairpath-server", runtime, run).map_err(BindError::System)?,
            shared,
            address,
            identity: config.identity,
            #[cfg(feature = "lobby")]
            network,
        })
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
        self.shared.clock.shared()
    }

    /// Gives the game access to the session. Data that it produced is sent right afterwards.
    ///
    /// # Panics
    /// Inside another `frame` of this server on the same thread: use that frame's session.
    #[track_caller]
    pub fn frame<R>(&self, turn: impl FnOnce(&mut ServerFrame<'_, V>) -> R) -> R {
        self.shared.frame(|session, now| turn(&mut session.frame(now)))
    }

    /// Does what [`frame`](Self::frame) does, and returns an error where `frame` panics: inside
    /// another `frame` of this server on the same thread.
    pub fn try_frame<R>(&self, turn: impl FnOnce(&mut ServerFrame<'_, V>) -> R) -> Result<R, InFrame> {
        self.shared.try_frame(|session, now| turn(&mut session.frame(now)))
    }

    /// Gives access to the session below the typed [`frame`](Self::frame), with plain bytes.
    ///
    /// # Panics
    /// Inside another `frame` of this server on the same thread: use that frame's session.
    #[track_caller]
    pub fn with_session<R>(&self, turn: impl FnOnce(&mut Server<V>, SharedInstant) -> R) -> R {
        self.shared.frame(turn)
    }

    /// Blocks until the session has an event, for at most `timeout`. Returns whether there is one.
    /// Not for a thread of an async executor: see [`ready`](Self::ready).
    ///
    /// # Panics
    /// Inside [`frame`](Self::frame).
    #[track_caller]
    pub fn wait(&self, timeout: Duration) -> bool {
        self.shared.inner.wait(timeout)
    }

    /// Completes when the session has an event. Works under any executor, and can be dropped at any
    /// time.
    ///
    /// # Panics
    /// If it is polled inside [`frame`](Self::frame).
    pub async fn ready(&self) {
        self.shared.inner.ready().await;
    }

    /// The next connection of a client that ended, and why. At most 1024 wait to be polled; then
    /// the oldest are dropped. May be called inside [`frame`](Self::frame).
    pub fn poll_ended(&self) -> Option<EndedConnection> {
        lock(&self.shared.ended).pop_front()
    }

    /// The status of every connection.
    ///
    /// # Panics
    /// Inside [`frame`](Self::frame).
    #[track_caller]
    pub fn status(&self) -> Vec<PeerStatus> {
        self.shared.status()
    }

    /// Counts of connections that did not become sessions.
    ///
    /// # Panics
    /// Inside [`frame`](Self::frame).
    #[track_caller]
    pub fn admission_statistics(&self) -> AdmissionStatistics {
        self.shared.inner.lock_for("admission_statistics").admission_statistics
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
        let (endpoint, runtime) = &self.network;
        let connector = LobbyConnector::new(endpoint.clone(), lobby, &self.identity);
        let connector = connector.map_err(AnnounceError::Connect)?;
        let member = AnnouncedServer { shared: Arc::clone(&self.shared), announcement };
        Ok(join_lobby(runtime, connector, member).0)
    }

    /// Accepts no new clients, waits up to `within` for connected clients to confirm reliable
    /// messages, tells them that the session has ended, and stops. Returns whether all confirmed.
    pub fn shutdown(mut self, within: Duration) -> bool {
        self.task.finish(within)
    }

    /// Stops like [`shutdown`](Self::shutdown), and tells clients to return. Start the next server
    /// with the same address and identity.
    ///
    /// Clients keep their game running, see [`CloseReason::Restarting`], and reconnect by
    /// themselves: first after up to [`retry_after_min`](crate::NetClientConfig::retry_after_min),
    /// then more and more rarely, each at times of its own. A server with another epoch begins new
    /// sessions: the clients' events are `SessionLost` and `Connected`.
    pub fn shutdown_for_restart(mut self, within: Duration) -> bool {
        self.shared.inner.lock().farewell = CloseReason::Restarting;
        self.task.finish(within)
    }
}

#[cfg(feature = "lobby")]
struct AnnouncedServer<V: Planar> {
    shared: Arc<SharedServer<V>>,
    announcement: Announcement,
}

#[cfg(feature = "lobby")]
impl<V: Planar> LobbyMember for AnnouncedServer<V> {
    fn announcement(&self) -> Announcement {
        let inner = self.shared.inner.lock();
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let (players, seats) = (count(inner.session.clients().count()), count(inner.session.seats()));
        Announcement { players, seats, ..self.announcement.clone() }
    }
}

#[derive(Debug)]
pub(crate) struct SharedServer<V: Planar> {
    inner: Monitor<ServerInner<V>>,
    ended: Mutex<VecDeque<EndedConnection>>,
    clock: Clock,
    /// Notified when anything happened.
    wake: Arc<Notify>,
    /// Notified after the game's access, which must not wait for the pause.
    hurry: Notify,
}

#[derive(Debug)]
pub(crate) struct ServerInner<V: Planar> {
    session: Server<V>,
    senders: BTreeMap<ConnectionId, PeerSender>,
    limiter: ConnectionLimiter,
    admission_statistics: AdmissionStatistics,
    measured_at: Instant,
    /// The reason that clients are given when the server stops.
    farewell: CloseReason,
}

impl<V: Planar> Watched for ServerInner<V> {
    fn has_events(&self) -> bool {
        self.session.has_events()
    }
}

/// Ended connections that wait to be polled: a full server that loses its network, and more.
const ENDED_MAX: usize = 1024;
/// Interval at which the session gets QUIC's round trips: several per half-life of its estimate.
const MEASURE_EVERY: Duration = Duration::from_millis(200);

impl<V: Planar> SharedServer<V> {
    /// Holds a session. `name` is the public type, for panic messages.
    pub(crate) fn new(name: &'static str, session: Server<V>, limits: Limits, clock: Clock) -> Self {
        let inner = ServerInner {
            session,
            senders: BTreeMap::new(),
            limiter: ConnectionLimiter::new(limits),
            admission_statistics: AdmissionStatistics::default(),
            measured_at: Instant::now(),
            farewell: CloseReason::Finished,
        };
        Self {
            inner: Monitor::new(name, "frame", inner),
            ended: Mutex::default(),
            clock,
            wake: Arc::new(Notify::new()),
            hurry: Notify::new(),
        }
    }

    /// Gives the game access to the session, and wakes the thread without a pause.
    #[track_caller]
    pub(crate) fn frame<R>(&self, turn: impl FnOnce(&mut Server<V>, SharedInstant) -> R) -> R {
        let result = self.turn(self.inner.lock(), turn);
        self.hurry.notify_one();
        result
    }

    fn try_frame<R>(&self, turn: impl FnOnce(&mut Server<V>, SharedInstant) -> R) -> Result<R, InFrame> {
        let result = self.turn(self.inner.try_lock()?, turn);
        self.hurry.notify_one();
        Ok(result)
    }

    fn with<R>(&self, turn: impl FnOnce(&mut Server<V>, SharedInstant) -> R) -> R {
        self.turn(self.inner.lock(), turn)
    }

    /// Gives access to the session. Reads the clock inside the lock: time never runs backwards.
    fn turn<R>(
        &self,
        mut inner: Held<'_, ServerInner<V>>,
        turn: impl FnOnce(&mut Server<V>, SharedInstant) -> R,
    ) -> R {
        let result = turn(&mut inner.session, self.clock.shared());
        drop(inner);
        self.wake.notify_one();
        result
    }

    #[track_caller]
    pub(crate) fn status(&self) -> Vec<PeerStatus> {
        let inner = self.inner.lock_for("status");
        let clients: BTreeMap<ConnectionId, ClientId> = inner
            .session
            .clients()
            .filter_map(|client| Some((inner.session.connection(client)?, client)))
            .collect();
        let status = |(id, sender): (&ConnectionId, &PeerSender)| {
            let client = clients.get(id).copied();
            let quic = sender.connection().quic_statistics();
            PeerStatus {
                client,
                address: sender.connection().address(),
                fingerprint: sender.connection().fingerprint(),
                transport: sender.connection().transport(),
                session: client.and_then(|client| inner.session.statistics(client)),
                departures: sender.departures(),
                quic_round_trip: quic.path.rtt,
                udp_bytes_sent: quic.udp_tx.bytes,
                udp_bytes_received: quic.udp_rx.bytes,
                quic_packets_lost: quic.path.lost_packets,
            }
        };
        inner.senders.iter().map(status).collect()
    }

    /// Dismisses the clients that have the key of this certificate.
    #[cfg(feature = "peer")]
    pub(crate) fn dismiss(&self, fingerprint: Fingerprint) {
        let theirs = |peer: &PeerStatus| peer.fingerprint == Some(fingerprint);
        let clients: Vec<ClientId> =
            self.status().into_iter().filter(theirs).filter_map(|peer| peer.client).collect();
        self.with(|session, now| clients.iter().for_each(|client| session.dismiss(*client, now)));
    }

    /// Runs the session's loop once. Returns whether something was sent.
    fn pump(&self) -> bool {
        let mut inner = self.inner.lock();
        let inner = &mut *inner;
        let now = self.clock.shared();
        inner.session.handle_timeout(now);
        inner.measure();
        let has_sent = inner.send_due(now);
        inner.close_ended();
        has_sent
    }

    /// The pause before the next pass, after connections had their turn to send.
    fn pause(&self) -> Pause {
        let mut inner = self.inner.lock();
        let now = self.clock.shared();
        let progress = inner.check_sent(now);
        let deadline = inner.session.poll_deadline(now);
        pause(progress, deadline.map(|at| self.clock.when(at.as_micros())))
    }
}

impl<V: Planar> ServerInner<V> {
    /// Sends to every client that is due. Returns whether something was sent.
    fn send_due(&mut self, now: SharedInstant) -> bool {
        let mut has_sent = false;
        for (id, sender) in &mut self.senders {
            if self.session.is_due(*id, now) {
                let outbound = &mut ServerOutbound { session: &mut self.session, id: *id, now };
                has_sent |= sender.pump(outbound).has_sent;
            }
        }
        has_sent
    }

    /// Checks which datagrams have left, and whether their clients have more to send.
    fn check_sent(&mut self, now: SharedInstant) -> SendProgress {
        let mut all = SendProgress::default();
        for (id, sender) in self.senders.iter_mut().filter(|(_, sender)| sender.is_sending()) {
            all.is_blocked |= !sender.has_left();
            all.has_sent |= !sender.is_sending() && self.session.is_due(*id, now);
        }
        all
    }

    fn close_ended(&mut self) {
        while let Some((id, reason)) = self.session.poll_close() {
            if reason.accuses() {
                self.on_thrown_out(id);
            }
            if let Some(sender) = self.senders.remove(&id) {
                sender.close(reason);
            }
        }
    }

    fn on_thrown_out(&mut self, id: ConnectionId) {
        if let Some(sender) = self.senders.get(&id) {
            self.admission_statistics.thrown_out += 1;
            self.limiter.on_thrown_out(sender.connection().address().ip());
        }
    }

    fn measure(&mut self) {
        if self.measured_at.elapsed() < MEASURE_EVERY {
            return;
        }
        self.measured_at = Instant::now();
        for (id, sender) in &self.senders {
            self.session.handle_round_trip(*id, sender.connection().round_trip());
        }
    }

    fn is_all_confirmed(&self) -> bool {
        let waiting = |client| self.session.statistics(client).map_or(0, |it| it.outbox_bytes);
        self.session.clients().filter(|client| self.session.is_connected(*client)).all(|it| waiting(it) == 0)
    }
}

// ── the thread

/// Serves until told to stop. Returns whether clients had confirmed everything.
async fn run<V: Planar>(
    shared: Arc<SharedServer<V>>,
    endpoint: Endpoint,
    stop: oneshot::Receiver<Duration>,
) -> bool {
    serve(&shared, &endpoint);
    let within = stop.await.unwrap_or_default();
    finish(&shared, &endpoint, within).await
}

pub(crate) fn serve<V: Planar>(shared: &Arc<SharedServer<V>>, endpoint: &Endpoint) {
    tokio::spawn(accept(Arc::clone(shared), endpoint.clone()));
    tokio::spawn(drive(Arc::clone(shared)));
}

/// Refuses new clients, waits for confirmations and closes. Returns whether all was confirmed.
pub(crate) async fn finish<V: Planar>(
    shared: &SharedServer<V>,
    endpoint: &Endpoint,
    within: Duration,
) -> bool {
    // New connections are refused from here on.
    endpoint.set_server_config(None);
    let flushed = async {
        while !shared.inner.lock().is_all_confirmed() {
            tokio::time::sleep(CHECK_EVERY).await;
        }
    };
    let is_all_confirmed = tokio::time::timeout(within, flushed).await.is_ok();
    let farewell = shared.inner.lock().farewell;
    endpoint.close(u32::from(farewell.code()).into(), farewell.to_string().as_bytes());
    let _ = tokio::time::timeout(CLOSE_WITHIN, endpoint.wait_idle()).await;
    is_all_confirmed
}

async fn drive<V: Planar>(shared: Arc<SharedServer<V>>) {
    loop {
        let began = Instant::now();
        let has_sent = shared.pump();
        let mut busy_for = began.elapsed();
        if has_sent {
            // Connections get their turn, and the datagrams leave.
            tokio::task::yield_now().await;
        }
        let checked_at = Instant::now();
        let pause = shared.pause();
        busy_for += checked_at.elapsed();
        let rest = pause_after(busy_for).map(|rest| Instant::now() + rest);
        pause.wait(&shared.wake).await;
        if let (Some(until), true) = (rest, pause != Pause::Yield) {
            let _ = tokio::time::timeout_at(until.into(), shared.hurry.notified()).await;
        }
    }
}

/// One pass checks every client. Unless the game has something to send, the next pass waits this
/// many times as long as the last one took. Datagrams that arrive in the meantime are handled
/// together, and the passes take a fifth of the time.
const PAUSE_FACTOR: u32 = 4;
/// Tokio's clock counts in milliseconds: a shorter pause would become longer than it should, and a
/// few clients are not worth a pause.
const PAUSE_MIN: Duration = Duration::from_millis(1);
/// Half a frame of 60 Hz. Data from client to client waits no longer, with any number of clients.
const PAUSE_MAX: Duration = Duration::from_millis(8);

fn pause_after(busy_for: Duration) -> Option<Duration> {
    let rest = busy_for * PAUSE_FACTOR;
    (rest >= PAUSE_MIN).then(|| rest.min(PAUSE_MAX))
}

/// Accepts connections. The server keeps nothing of an address before it is proven.
async fn accept<V: Planar>(shared: Arc<SharedServer<V>>, endpoint: Endpoint) {
    while let Some(incoming) = endpoint.accept().await {
        let address = incoming.remote_address().ip();
        let mut inner = shared.inner.lock();
        if !incoming.remote_address_validated() {
            inner.admission_statistics.retried += 1;
            // An address that is not validated can always be retried.
            let _ = incoming.retry();
        } else if inner.limiter.admit(address, Instant::now()) {
            tokio::spawn(receive(Arc::clone(&shared), incoming, address));
        } else {
            inner.admission_statistics.refused += 1;
            incoming.refuse();
        }
    }
}

async fn receive<V: Planar>(shared: Arc<SharedServer<V>>, incoming: quinn::Incoming, address: IpAddr) {
    let greeted = greet(incoming).await;
    shared.inner.lock().limiter.on_handshake_over(address);
    match greeted {
        Ok((connection, sending, receiving)) => {
            run_connection(&shared, connection, sending, receiving).await;
        }
        Err(ConnectionLost) => shared.inner.lock().admission_statistics.failed += 1,
    }
    shared.inner.lock().limiter.on_gone(address);
}

/// Waits from the first packet until the client has written to the ordered stream, for at most
/// [`HELLO_WITHIN`].
async fn greet(incoming: quinn::Incoming) -> Result<(Connection, SendStream, ReceiveStream), ConnectionLost> {
    let deadline = tokio::time::Instant::now() + Duration::from_micros(HELLO_WITHIN.as_micros() as u64);
    let connecting = handshake(incoming.accept()?);
    let connection = tokio::time::timeout_at(deadline, connecting).await.map_err(|_| ConnectionLost)??;
    match tokio::time::timeout_at(deadline, connection.accept_stream()).await {
        Ok(streams) => streams.map(|(sending, receiving)| (connection, sending, receiving)),
        Err(_) => {
            // Dropped without a reason, the connection would close with code 0, which tells the
            // client that the session is finished for good. A slow link deserves another attempt.
            connection.close(CloseReason::NoGreeting);
            Err(ConnectionLost)
        }
    }
}

#[cfg(not(feature = "web"))]
async fn handshake(connecting: quinn::Connecting) -> Result<Connection, ConnectionLost> {
    Ok(Connection::quic(connecting.await?))
}

#[cfg(feature = "web")]
async fn handshake(mut connecting: quinn::Connecting) -> Result<Connection, ConnectionLost> {
    let data = connecting.handshake_data().await?.downcast::<quinn::crypto::rustls::HandshakeData>();
    if data.is_ok_and(|data| data.protocol.as_deref() == Some(crate::connection::ALPN_WEB)) {
        let session = wtransport::endpoint::IncomingSessionFuture::with_quic_connecting(connecting);
        return Ok(Connection::web(session.await?.accept().await?));
    }
    Ok(Connection::quic(connecting.await?))
}

async fn run_connection<V: Planar>(
    shared: &Arc<SharedServer<V>>,
    connection: Connection,
    sending: SendStream,
    receiving: ReceiveStream,
) {
    let connection = Arc::new(connection);
    let id = {
        let mut inner = shared.inner.lock();
        let Some(id) = inner.session.handle_connected(Token(unguessable()), shared.clock.shared()) else {
            connection.close(CloseReason::Full);
            return;
        };
        inner.senders.insert(id, PeerSender::open(Arc::clone(&connection), sending, &shared.wake));
        id
    };
    let inbound = Arc::new(ServerInbound { shared: Arc::clone(shared), id, client: OnceLock::new() });
    let reason = listen(&connection, receiving, &inbound).await;
    if let Some(client) = inbound.client.get() {
        let mut ended = lock(&shared.ended);
        if ended.len() >= ENDED_MAX {
            ended.pop_front();
        }
        let (address, problem) = (connection.address(), connection.problem());
        ended.push_back(EndedConnection { client: *client, address, problem });
    }
    shared.inner.lock().senders.remove(&id);
    shared.with(|session, now| session.handle_disconnected(id, reason, now));
}

struct ServerInbound<V: Planar> {
    shared: Arc<SharedServer<V>>,
    id: ConnectionId,
    /// The client, once it has introduced itself.
    client: OnceLock<ClientId>,
}

impl<V: Planar> Inbound for ServerInbound<V> {
    fn on_stream(&self, bytes: &[u8]) {
        self.shared.with(|session, now| {
            session.handle_stream(self.id, bytes, now);
            if let (None, Some(client)) = (self.client.get(), session.client_on(self.id)) {
                let _ = self.client.set(client);
            }
        });
    }

    fn on_unordered(&self, bytes: &[u8]) {
        self.shared.with(|session, now| session.handle_unordered(self.id, bytes, now));
    }

    fn on_datagram(&self, bytes: &[u8]) {
        let mut inner = self.shared.inner.lock();
        let is_news = inner.session.handle_datagram(self.id, bytes, self.shared.clock.shared());
        drop(inner);
        if is_news {
            self.shared.wake.notify_one();
        }
    }

    fn on_violation(&self, _: CloseReason) {
        self.shared.inner.lock().on_thrown_out(self.id);
    }
}

pub(crate) fn quic_server_config(
    identity: &Identity,
    alpn: &[&[u8]],
    verifier: Option<ClientVerifier>,
    transport: quinn::TransportConfig,
) -> Result<quinn::ServerConfig, BindError> {
    let tls = identity.tls(alpn, verifier).map_err(BindError::Identity)?;
    let crypto = QuicServerConfig::try_from(tls).expect("TLS 1.3 has a cipher for QUIC");
    let mut quic = quinn::ServerConfig::with_crypto(Arc::new(crypto));
    quic.transport_config(Arc::new(transport));
    Ok(quic)
}

/// The receive buffer of the socket: a thousand clients at 20 Hz for a tenth of a second, each
/// datagram with the kernel's overhead (about 1 KiB). The default of Linux is 208 KiB, or 200
/// datagrams, which a thousand clients fill with one tick.
const UNREAD_BYTES: usize = 2 * 1024 * 1024;

/// Least time between two packets that tell a client that its connection is gone. A restarted
/// server tells a thousand clients within a second. Each is shorter than the packet it answers.
const RESET_EVERY: Duration = Duration::from_millis(1);

/// Opens a socket, an endpoint on it, and a runtime for the one thread that drives both.
pub(crate) fn open_endpoint(
    listen: SocketAddr,
    identity: &Identity,
    quic: quinn::ServerConfig,
) -> Result<(tokio::runtime::Runtime, Endpoint, SocketAddr), BindError> {
    let mut config = EndpointConfig::new(Arc::new(identity.reset_key()));
    let id_key = identity.connection_id_key();
    config
        .cid_generator(move || Box::new(HashedConnectionIdGenerator::from_key(id_key)))
        .min_reset_interval(RESET_EVERY);
    let failed = |error| BindError::Listen(listen, error);
    let socket = UdpSocket::bind(listen).map_err(failed)?;
    // As much as the system allows. Everything works with less, too.
    let _ = SockRef::from(&socket).set_recv_buffer_size(UNREAD_BYTES);
    let address = socket.local_addr().map_err(failed)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(BindError::System)?;
    let endpoint = {
        let _inside = runtime.enter();
        Endpoint::new(config, Some(quic), socket, Arc::new(TokioRuntime))
    };
    Ok((runtime, endpoint.map_err(failed)?, address))
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
            Self::System(error) => write!(f, "cannot start the network thread: {error}"),
        }
    }
}

impl std::error::Error for BindError {}
