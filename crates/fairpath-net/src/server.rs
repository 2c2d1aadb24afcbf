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
use socket2::SockRef;
use tokio::runtime::Handle;
use tokio::sync::{Notify, oneshot};
use wtransport::endpoint::IncomingSessionFuture;

use crate::clock::Clock;
use crate::congestion::Congestion;
use crate::connection_limiter::{ConnectionLimiter, Limits};
use crate::identity::{Callers, Fingerprint, Identity, unguessable};
use crate::link::{
    ALPN_NATIVE, ALPN_WEB, ConnectionLost, Inbound, Link, Receiving, Sending, Transport, listen,
    transport_config,
};
use crate::lobby::{
    AnnounceError, Announcement, Attendee, Attending, LobbyAddress, LobbyPresence, LobbyRequest,
    LobbyResponse, attend,
};
use crate::outlet::{Departures, Outbound, Outlet, Pumped};
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
    /// What the session sends to each client, for [`Congestion::Steady`]. The same as the
    /// session's. Default [`Budget::default`].
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
/// It runs on a thread of its own. The session is behind a mutex, and the game gets the session
/// itself, in [`frame`](Self::frame): there is one API, whether it runs live or in the simulator,
/// and nothing is copied into commands. The thread holds the mutex for as long as it takes to deal
/// with one packet, or to fill one datagram for each client; a game that holds it for a whole frame
/// makes packets wait for so long. Dropping the server stops it; [`shutdown`](Self::shutdown) does
/// so gracefully.
#[derive(Debug)]
pub struct NetServer<V: Planar> {
    shared: Arc<Shared<V>>,
    address: SocketAddr,
    identity: Identity,
    endpoint: Endpoint,
    runtime: Handle,
    stop: Option<oneshot::Sender<Duration>>,
    thread: Option<JoinHandle<bool>>,
}

/// How one client's connection is.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PeerStatus {
    /// Who; nothing before it has said so.
    pub client: Option<ClientId>,
    /// From where, at the moment.
    pub address: SocketAddr,
    /// The certificate whose key it has; nothing if it was not asked. Only peers of a
    /// [mesh](crate::mesh) are.
    pub fingerprint: Option<Fingerprint>,
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
pub struct AdmissionStatistics {
    /// Asked to prove their address; nothing was remembered of them.
    pub retried: u64,
    /// Refused by the [`Limits`].
    pub refused: u64,
    /// Let in, but no session came of it.
    pub failed: u64,
    /// Let in, and thrown out for what they said.
    pub thrown_out: u64,
}

impl<V: Planar> NetServer<V> {
    /// Starts to serve a session.
    pub fn bind(config: NetServerConfig, session: Server<V>) -> Result<Self, BindError> {
        let alpn: &[&[u8]] = if config.accepts_web { &[ALPN_NATIVE, ALPN_WEB] } else { &[ALPN_NATIVE] };
        let transport = transport_config(config.congestion, config.budget);
        let quic = quic_config(&config.identity, alpn, Callers::Anonymous, transport)?;
        let (runtime, endpoint, address) = open_endpoint(config.listen, &config.identity, quic)?;
        let shared = Arc::new(Shared::new(session, config.limits, config.clock));
        let (stop, stopped) = oneshot::channel();
        let (inside, socket, handle) = (Arc::clone(&shared), endpoint.clone(), runtime.handle().clone());
        let thread = std::thread::Builder::new()
            .name("fairpath-server".into())
            .spawn(move || runtime.block_on(run(inside, socket, stopped)));
        let thread = Some(thread.map_err(BindError::System)?);
        let identity = config.identity;
        Ok(Self { shared, address, identity, endpoint, runtime: handle, stop: Some(stop), thread })
    }

    /// Where clients send to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What clients pin.
    pub fn fingerprint(&self) -> Fingerprint {
        self.identity.fingerprint()
    }

    /// The shared time.
    pub fn now(&self) -> SharedInstant {
        self.shared.clock.shared()
    }

    /// The game's turn with the session. What it did leaves at once afterwards.
    pub fn frame<R>(&self, turn: impl FnOnce(&mut Server<V>, SharedInstant) -> R) -> R {
        self.shared.frame(turn)
    }

    /// How everybody's connection is.
    pub fn status(&self) -> Vec<PeerStatus> {
        self.shared.status()
    }

    /// Who did not get in.
    pub fn door_statistics(&self) -> AdmissionStatistics {
        self.shared.lock().door_statistics
    }

    /// Puts this server on a lobby's list, and keeps it there until the attendance is dropped. It
    /// calls from its own socket, so that the lobby sees where it is; players and seats are
    /// filled in as they are.
    pub fn announce(
        &self,
        lobby: LobbyAddress,
        announcement: Announcement,
    ) -> Result<LobbyPresence, AnnounceError> {
        announcement.check().map_err(AnnounceError::Announcement)?;
        let attending = Attending::new(self.endpoint.clone(), lobby, &self.identity);
        let attending = attending.map_err(AnnounceError::Connect)?;
        let attendee = Hosting { shared: Arc::clone(&self.shared), announcement };
        Ok(attend(&self.runtime, attending, attendee).0)
    }

    /// Lets nobody in any more, gives clients so long to confirm what was promised to them, tells
    /// them that it is over, and ends. Whether everybody had confirmed everything by then.
    pub fn shutdown(mut self, within: Duration) -> bool {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(within);
        }
        self.end()
    }

    fn end(&mut self) -> bool {
        self.stop = None;
        // If it panicked it has said so; a second panic while the first unwinds would hide it.
        self.thread.take().is_some_and(|thread| thread.join().unwrap_or(false))
    }
}

impl<V: Planar> Drop for NetServer<V> {
    fn drop(&mut self) {
        self.end();
    }
}

/// A server at a lobby.
struct Hosting<V: Planar> {
    shared: Arc<Shared<V>>,
    announcement: Announcement,
}

impl<V: Planar> Attendee for Hosting<V> {
    fn announcement(&self) -> Announcement {
        let live = self.shared.lock();
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let (players, seats) = (count(live.session.clients().count()), count(live.session.seats()));
        Announcement { players, seats, ..self.announcement.clone() }
    }

    fn on_answer(&mut self, _: LobbyResponse) -> Vec<LobbyRequest> {
        Vec::new()
    }
}

/// What the thread and the game share.
#[derive(Debug)]
pub(crate) struct Shared<V: Planar> {
    live: Mutex<Live<V>>,
    clock: Clock,
    /// Something happened.
    wake: Arc<Notify>,
    /// It was the game: what it did is not to wait.
    hurry: Notify,
}

#[derive(Debug)]
pub(crate) struct Live<V: Planar> {
    session: Server<V>,
    outlets: BTreeMap<ConnectionId, Outlet>,
    door: ConnectionLimiter,
    door_statistics: AdmissionStatistics,
    measured_at: Instant,
}

/// How often the session is told what QUIC measures: a few times for each half-life of what it
/// makes of it.
const MEASURE_EVERY: Duration = Duration::from_millis(200);

impl<V: Planar> Shared<V> {
    pub(crate) fn new(session: Server<V>, limits: Limits, clock: Clock) -> Self {
        let live = Live {
            session,
            outlets: BTreeMap::new(),
            door: ConnectionLimiter::new(limits),
            door_statistics: AdmissionStatistics::default(),
            measured_at: Instant::now(),
        };
        Self { live: Mutex::new(live), clock, wake: Arc::new(Notify::new()), hurry: Notify::new() }
    }

    /// A game that panicked in its turn left the session as it is between two calls: others go on
    /// with it.
    fn lock(&self) -> MutexGuard<'_, Live<V>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The game's turn with the session: what it did is not to wait.
    pub(crate) fn frame<R>(&self, turn: impl FnOnce(&mut Server<V>, SharedInstant) -> R) -> R {
        let result = self.with(turn);
        self.hurry.notify_one();
        result
    }

    /// A turn with the session. The clock is read inside the lock, so time never runs backwards for
    /// the session.
    fn with<R>(&self, turn: impl FnOnce(&mut Server<V>, SharedInstant) -> R) -> R {
        let mut live = self.lock();
        let result = turn(&mut live.session, self.clock.shared());
        drop(live);
        self.wake.notify_one();
        result
    }

    /// How everybody's connection is.
    pub(crate) fn status(&self) -> Vec<PeerStatus> {
        let live = self.lock();
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
                fingerprint: outlet.link().fingerprint(),
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

    /// Sends away who has the key of this certificate, if it is there.
    pub(crate) fn dismiss(&self, fingerprint: Fingerprint) {
        let theirs = |peer: &PeerStatus| peer.fingerprint == Some(fingerprint);
        let clients: Vec<ClientId> =
            self.status().into_iter().filter(theirs).filter_map(|peer| peer.client).collect();
        self.with(|session, now| clients.iter().for_each(|client| session.dismiss(*client, now)));
    }

    /// The session's run loop, once. Whether something was sent.
    fn pump(&self) -> bool {
        let mut live = self.lock();
        let now = self.clock.shared();
        live.session.handle_timeout(now);
        live.measure();
        let has_sent = live.let_out(now);
        live.close_those_that_end();
        has_sent
    }

    /// How long to wait, once what was sent had its turn to leave.
    fn pause(&self) -> Pause {
        let mut live = self.lock();
        let now = self.clock.shared();
        let pumped = live.look_after(now);
        let deadline = live.session.poll_deadline(now);
        pause(pumped, deadline.map(|at| self.clock.when(at.as_micros())))
    }
}

impl<V: Planar> Live<V> {
    /// Lets out what is due. Whether something was sent.
    fn let_out(&mut self, now: SharedInstant) -> bool {
        let mut has_sent = false;
        for (id, outlet) in &mut self.outlets {
            if self.session.is_due(*id, now) {
                let outbound = &mut ServerOutbound { session: &mut self.session, id: *id, now };
                has_sent |= outlet.pump(outbound).has_sent;
            }
        }
        has_sent
    }

    /// What has become of datagrams that were let out, and whether those who sent one have more.
    fn look_after(&mut self, now: SharedInstant) -> Pumped {
        let mut all = Pumped::default();
        for (id, outlet) in self.outlets.iter_mut().filter(|(_, outlet)| outlet.is_sending()) {
            all.is_blocked |= !outlet.has_left();
            all.has_sent |= !outlet.is_sending() && self.session.is_due(*id, now);
        }
        all
    }

    fn close_those_that_end(&mut self) {
        while let Some((id, reason)) = self.session.poll_close() {
            if reason.accuses() {
                self.on_thrown_out(id);
            }
            if let Some(outlet) = self.outlets.remove(&id) {
                outlet.close(reason);
            }
        }
    }

    fn on_thrown_out(&mut self, id: ConnectionId) {
        if let Some(outlet) = self.outlets.get(&id) {
            self.door_statistics.thrown_out += 1;
            self.door.on_thrown_out(outlet.link().address().ip());
        }
    }

    fn measure(&mut self) {
        if self.measured_at.elapsed() < MEASURE_EVERY {
            return;
        }
        self.measured_at = Instant::now();
        for (id, outlet) in &self.outlets {
            self.session.handle_round_trip(*id, outlet.link().round_trip());
        }
    }

    fn is_all_confirmed(&self) -> bool {
        let waiting = |client| self.session.statistics(client).map_or(0, |it| it.outbox_bytes);
        self.session.clients().filter(|client| self.session.is_connected(*client)).all(|it| waiting(it) == 0)
    }
}

// ── the thread
// ──────────────────────────────────────────────────────────────────────────────────────────────

/// Whether everybody had confirmed everything when it ended.
async fn run<V: Planar>(
    shared: Arc<Shared<V>>,
    endpoint: Endpoint,
    stop: oneshot::Receiver<Duration>,
) -> bool {
    serve(&shared, &endpoint);
    let within = stop.await.unwrap_or_default();
    finish(&shared, &endpoint, within).await
}

/// Begins to let people in and to talk with them.
pub(crate) fn serve<V: Planar>(shared: &Arc<Shared<V>>, endpoint: &Endpoint) {
    tokio::spawn(accept(Arc::clone(shared), endpoint.clone()));
    tokio::spawn(drive(Arc::clone(shared)));
}

/// Lets nobody in any more, waits for what was promised, and says that it is over. Whether
/// everybody had confirmed everything.
pub(crate) async fn finish<V: Planar>(shared: &Shared<V>, endpoint: &Endpoint, within: Duration) -> bool {
    // Who comes now is refused.
    endpoint.set_server_config(None);
    let flushed = async {
        while !shared.lock().is_all_confirmed() {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    };
    let is_all_confirmed = tokio::time::timeout(within, flushed).await.is_ok();
    endpoint
        .close(u32::from(CloseReason::Finished.code()).into(), CloseReason::Finished.to_string().as_bytes());
    let _ = tokio::time::timeout(LAST_WORDS, endpoint.wait_idle()).await;
    is_all_confirmed
}

/// How often it is looked whether all is confirmed.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
/// How long a connection may take to hear that it is over.
const LAST_WORDS: Duration = Duration::from_millis(500);

async fn drive<V: Planar>(shared: Arc<Shared<V>>) {
    loop {
        let began = Instant::now();
        let has_sent = shared.pump();
        let mut looked_for = began.elapsed();
        if has_sent {
            // Connections have their turn, and what was sent leaves.
            tokio::task::yield_now().await;
        }
        let looks_again = Instant::now();
        let pause = shared.pause();
        looked_for += looks_again.elapsed();
        let rest = rest_after(looked_for).map(|rest| Instant::now() + rest);
        pause.wait(&shared.wake).await;
        if let (Some(until), true) = (rest, pause != Pause::Yield) {
            let _ = tokio::time::timeout_at(until.into(), shared.hurry.notified()).await;
        }
    }
}

/// A turn looks at every client. Unless it is the game that has something to say, the next one
/// waits so many times as long as the looking took: datagrams that come in the meantime are dealt
/// with together, and looking takes a fifth of the time.
const REST: u32 = 4;
/// Tokio's clock counts in milliseconds: less would become more than it should, and a few clients
/// are not worth waiting for.
const REST_MIN: Duration = Duration::from_millis(1);
/// Half a frame of 60 Hz: what clients say to each other waits no longer, however many there are.
const REST_MAX: Duration = Duration::from_millis(8);

fn rest_after(looked_for: Duration) -> Option<Duration> {
    let rest = looked_for * REST;
    (rest >= REST_MIN).then(|| rest.min(REST_MAX))
}

/// Lets people in. Until an address is proven nothing is kept of whoever uses it.
async fn accept<V: Planar>(shared: Arc<Shared<V>>, endpoint: Endpoint) {
    while let Some(incoming) = endpoint.accept().await {
        let address = incoming.remote_address().ip();
        let mut live = shared.lock();
        if !incoming.remote_address_validated() {
            live.door_statistics.retried += 1;
            // It can always be retried when it is not validated.
            let _ = incoming.retry();
        } else if live.door.admit(address, Instant::now()) {
            tokio::spawn(receive(Arc::clone(&shared), incoming, address));
        } else {
            live.door_statistics.refused += 1;
            incoming.refuse();
        }
    }
}

async fn receive<V: Planar>(shared: Arc<Shared<V>>, incoming: quinn::Incoming, address: IpAddr) {
    let within = Duration::from_micros(HELLO_WITHIN.as_micros() as u64);
    let greeted = tokio::time::timeout(within, greet(incoming)).await;
    shared.lock().door.on_handshake_over(address);
    match greeted {
        Ok(Ok((link, sending, receiving))) => converse(&shared, link, sending, receiving).await,
        _ => shared.lock().door_statistics.failed += 1,
    }
    shared.lock().door.on_gone(address);
}

/// From the first packet to a stream on which somebody has said something.
async fn greet(incoming: quinn::Incoming) -> Result<(Link, Sending, Receiving), ConnectionLost> {
    let mut connecting = incoming.accept().map_err(|_| ConnectionLost)?;
    let data = connecting.handshake_data().await.map_err(|_| ConnectionLost)?;
    let protocol = data.downcast::<HandshakeData>().ok().and_then(|data| data.protocol);
    let link = if protocol.as_deref() == Some(ALPN_WEB) {
        let session = IncomingSessionFuture::with_quic_connecting(connecting);
        let request = session.await.map_err(|_| ConnectionLost)?;
        Link::web(request.accept().await.map_err(|_| ConnectionLost)?)
    } else {
        Link::quic(connecting.await.map_err(|_| ConnectionLost)?)
    };
    let (sending, receiving) = link.accept_stream().await?;
    Ok((link, sending, receiving))
}

async fn converse<V: Planar>(shared: &Arc<Shared<V>>, link: Link, sending: Sending, receiving: Receiving) {
    let link = Arc::new(link);
    let id = {
        let mut live = shared.lock();
        let Some(id) = live.session.handle_connected(Token(unguessable()), shared.clock.shared()) else {
            link.close(CloseReason::Full);
            return;
        };
        live.outlets.insert(id, Outlet::open(Arc::clone(&link), sending, &shared.wake));
        id
    };
    let inbound = Arc::new(ServerInbound { shared: Arc::clone(shared), id });
    let reason = listen(&link, receiving, &inbound).await;
    shared.lock().outlets.remove(&id);
    shared.with(|session, now| session.handle_disconnected(id, reason, now));
}

/// What comes from one client.
struct ServerInbound<V: Planar> {
    shared: Arc<Shared<V>>,
    id: ConnectionId,
}

impl<V: Planar> Inbound for ServerInbound<V> {
    fn on_stream(&self, bytes: &[u8]) {
        self.shared.with(|session, now| session.handle_stream(self.id, bytes, now));
    }

    fn on_unordered(&self, bytes: &[u8]) {
        self.shared.with(|session, now| session.handle_unordered(self.id, bytes, now));
    }

    fn on_datagram(&self, bytes: &[u8]) {
        let mut live = self.shared.lock();
        let is_news = live.session.handle_datagram(self.id, bytes, self.shared.clock.shared());
        drop(live);
        if is_news {
            self.shared.wake.notify_one();
        }
    }

    fn on_broken(&self, _: CloseReason) {
        self.shared.lock().on_thrown_out(self.id);
    }
}

/// What the session has to say to one client.
struct ServerOutbound<'a, V: Planar> {
    session: &'a mut Server<V>,
    id: ConnectionId,
    now: SharedInstant,
}

impl<V: Planar> Outbound for ServerOutbound<'_, V> {
    fn poll_stream(&mut self) -> Option<Vec<u8>> {
        self.session.poll_stream(self.id, self.now)
    }

    fn poll_unordered(&mut self) -> Option<Vec<u8>> {
        self.session.poll_unordered(self.id)
    }

    fn poll_datagram(&mut self, bytes_max: usize) -> Option<Vec<u8>> {
        self.session.poll_datagram(self.id, self.now, bytes_max)
    }
}

/// How a server listens: as whom, for what, to whom.
pub(crate) fn quic_config(
    identity: &Identity,
    alpn: &[&[u8]],
    callers: Callers,
    transport: quinn::TransportConfig,
) -> Result<quinn::ServerConfig, BindError> {
    let tls = identity.tls(alpn, callers).map_err(BindError::Identity)?;
    let crypto = QuicServerConfig::try_from(tls).expect("TLS 1.3 has a cipher for QUIC");
    let mut quic = quinn::ServerConfig::with_crypto(Arc::new(crypto));
    quic.transport_config(Arc::new(transport));
    Ok(quic)
}

/// What may have come and not been read: a thousand clients at 20 Hz for a tenth of a second, each
/// datagram with what the kernel adds to it (about 1 KiB). Linux gives 208 KiB by itself: 200
/// datagrams, which a crowd that ticks at once fills in a moment.
const UNREAD_BYTES: usize = 2 * 1024 * 1024;

/// A socket, what listens on it, and a runtime for one thread to drive both.
pub(crate) fn open_endpoint(
    listen: SocketAddr,
    identity: &Identity,
    quic: quinn::ServerConfig,
) -> Result<(tokio::runtime::Runtime, Endpoint, SocketAddr), BindError> {
    let reset_key = Arc::new(identity.reset_key());
    let failed = |error| BindError::Listen(listen, error);
    let socket = UdpSocket::bind(listen).map_err(failed)?;
    // As much as the system allows; with what it gives by itself everything works too.
    let _ = SockRef::from(&socket).set_recv_buffer_size(UNREAD_BYTES);
    let address = socket.local_addr().map_err(failed)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(BindError::System)?;
    let endpoint = {
        let _inside = runtime.enter();
        Endpoint::new(EndpointConfig::new(reset_key), Some(quic), socket, Arc::new(TokioRuntime))
    };
    Ok((runtime, endpoint.map_err(failed)?, address))
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listen(address, error) => write!(f, "cannot listen on {address}: {error}"),
            Self::Identity(error) => write!(f, "certificate and key are of no use: {error}"),
            Self::System(error) => write!(f, "the system refuses: {error}"),
        }
    }
}

impl std::error::Error for BindError {}
