//! Drives a [`Proxy`] over sockets, on one thread of its own.
//!
//! Clients connect to one port, TCP and UDP. The proxy opens a TCP connection and a UDP socket to
//! `bzfs` for each of them, because `bzfs` tells players apart by their addresses.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fairpath::time::{SharedInstant, Span};
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpSocket, TcpStream, UdpSocket};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use crate::{Channel, ClientId, End, PlayerStatus, Proxy, ProxyConfig, Record, Transmit};

/// The settings of a [`RunningProxy`].
#[derive(Clone, Debug, PartialEq)]
pub struct DriverConfig {
    /// The address that clients connect to. Port 0 lets the system choose.
    pub listen: SocketAddr,
    /// The address of `bzfs`.
    pub server: SocketAddr,
    /// Whether `bzfs` sees the clients' own addresses. Default: no. Needs Linux, the right to use
    /// foreign addresses (`CAP_NET_ADMIN`), and a route back through this machine. Where the system
    /// refuses, the connection is made from the proxy's address and a [`Problem`] says so.
    pub is_transparent: bool,
    /// The greatest number of connections; others are closed at once. Default 256: `bzfs` has room
    /// for 200 players.
    pub clients_max: usize,
    /// What is done with updates.
    pub proxy: ProxyConfig,
}

impl DriverConfig {
    /// Returns the default settings between these two addresses.
    pub fn between(listen: SocketAddr, server: SocketAddr) -> Self {
        Self { listen, server, is_transparent: false, clients_max: 256, proxy: ProxyConfig::default() }
    }
}

/// Something that went wrong with one connection. The others continue.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// The server does not accept a connection.
    ServerUnreachable {
        /// The server's address.
        server: SocketAddr,
        /// The reason.
        reason: String,
    },
    /// A connection was closed because too many are open.
    TooManyClients(SocketAddr),
    /// A connection was closed because its end reads too slowly.
    TooSlow(SocketAddr),
    /// The client's address cannot be used towards the server; the proxy's own is.
    NotTransparent {
        /// The client's address.
        client: IpAddr,
        /// The reason.
        reason: String,
    },
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ServerUnreachable { server, reason } => {
                write!(f, "cannot connect to the server at {server}: {reason}; is bzfs running there?")
            }
            Self::TooManyClients(client) => write!(f, "refused {client}: too many connections are open"),
            Self::TooSlow(client) => write!(f, "closed {client}: it does not read what it is sent"),
            Self::NotTransparent { client, reason } => write!(
                f,
                "cannot use {client} towards the server: {reason}; the server sees the proxy's address"
            ),
        }
    }
}

/// A proxy that runs. Dropping it stops it.
#[derive(Debug)]
pub struct RunningProxy {
    address: SocketAddr,
    shared: Arc<Mutex<Shared>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    players: Vec<(ClientId, PlayerStatus)>,
    problems: Vec<Problem>,
    records: Vec<Record>,
}

/// Problems that wait to be drained; later ones are dropped.
const PROBLEMS_MAX: usize = 100;
/// Records that wait to be drained; later ones are dropped.
const RECORDS_MAX: usize = 1 << 20;
/// How often the list of players is brought up to date.
const STATUS_INTERVAL: Span = Span::from_millis(200);

impl RunningProxy {
    /// Starts a proxy.
    pub fn start(config: DriverConfig) -> io::Result<Self> {
        let (tcp, udp) = bind_both(config.listen)?;
        let address = tcp.local_addr()?;
        tcp.set_nonblocking(true)?;
        udp.set_nonblocking(true)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (tcp, udp) = {
            let _inside = runtime.enter();
            (TcpListener::from_std(tcp)?, UdpSocket::from_std(udp)?)
        };
        let shared = Arc::new(Mutex::new(Shared::default()));
        let (stop, stopped) = oneshot::channel();
        let driver = Driver::new(config, Arc::new(udp), Arc::clone(&shared));
        let thread = std::thread::Builder::new()
            .name("bzflag-proxy".into())
            .spawn(move || runtime.block_on(driver.run(tcp, stopped)))?;
        Ok(Self { address, shared, stop: Some(stop), thread: Some(thread) })
    }

    /// Returns the address that clients connect to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the players, as of at most 200 ms ago.
    pub fn players(&self) -> Vec<(ClientId, PlayerStatus)> {
        self.lock().players.clone()
    }

    /// Returns the problems since the last call.
    pub fn drain_problems(&self) -> Vec<Problem> {
        std::mem::take(&mut self.lock().problems)
    }

    /// Returns the records since the last call.
    pub fn drain_records(&self) -> Vec<Record> {
        std::mem::take(&mut self.lock().records)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for RunningProxy {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was already printed.
            let _ = thread.join();
        }
    }
}

/// Chunks that wait for a slow reader: at 64 KiB each more than any world.
const WAITING_MAX: usize = 1024;
/// Events that wait for the driver. Readers wait while it is full.
const EVENTS_MAX: usize = 1024;
/// A link request may move a player to another UDP port after this long without a datagram.
const REBIND_AFTER: Duration = Duration::from_secs(5);
/// How long a connection to the server may take.
const CONNECT_MAX: Duration = Duration::from_secs(10);

struct Driver {
    config: DriverConfig,
    proxy: Proxy,
    began: Instant,
    front: Arc<UdpSocket>,
    connections: BTreeMap<ClientId, Connection>,
    datagrams_from: BTreeMap<SocketAddr, ClientId>,
    next_client: u32,
    events: (mpsc::Sender<Event>, mpsc::Receiver<Event>),
    shared: Arc<Mutex<Shared>>,
    status_at: SharedInstant,
}

struct Connection {
    peer: SocketAddr,
    to_client: mpsc::Sender<Vec<u8>>,
    to_server: mpsc::Sender<Vec<u8>>,
    server_udp: Arc<UdpSocket>,
    /// Where the client's datagrams come from, and when the last one came.
    client_udp: Option<(SocketAddr, Instant)>,
}

enum Event {
    Connected { client: ClientId, peer: SocketAddr, accepted: TcpStream, server: TcpStream, udp: UdpSocket },
    Problem(Problem),
    Stream(ClientId, End, Vec<u8>),
    StreamEnd(ClientId, End),
    FromServer(ClientId, Vec<u8>),
}

impl Driver {
    fn new(config: DriverConfig, front: Arc<UdpSocket>, shared: Arc<Mutex<Shared>>) -> Self {
        Self {
            proxy: Proxy::new(config.proxy.clone()),
            config,
            began: Instant::now(),
            front,
            connections: BTreeMap::new(),
            datagrams_from: BTreeMap::new(),
            next_client: 1,
            events: mpsc::channel(EVENTS_MAX),
            shared,
            status_at: SharedInstant::ZERO,
        }
    }

    async fn run(mut self, listener: TcpListener, mut stopped: oneshot::Receiver<()>) {
        let mut buffer = vec![0; 65_536];
        let front = Arc::clone(&self.front);
        loop {
            let wake_at = self.wake_after();
            tokio::select! {
                _ = &mut stopped => return,
                Ok((accepted, peer)) = listener.accept() => self.accept(accepted, peer),
                Ok((length, from)) = front.recv_from(&mut buffer) => {
                    self.handle_datagram(from, &buffer[..length]);
                }
                Some(event) = self.events.1.recv() => self.handle_event(event),
                () = tokio::time::sleep(wake_at) => {}
            }
            // What else has come is handled together.
            while let Ok(event) = self.events.1.try_recv() {
                self.handle_event(event);
            }
            self.proxy.handle_timeout(self.now());
            self.transmit();
            self.publish();
        }
    }

    fn now(&self) -> SharedInstant {
        SharedInstant::from_micros(i64::try_from(self.began.elapsed().as_micros()).unwrap_or(i64::MAX))
    }

    fn wake_after(&self) -> Duration {
        let status_at = self.status_at + STATUS_INTERVAL;
        let at = self.proxy.poll_deadline().map_or(status_at, |at| at.min(status_at));
        Duration::from_micros((at - self.now()).as_micros().max(0).unsigned_abs())
    }

    // ── connections ──

    fn accept(&mut self, accepted: TcpStream, peer: SocketAddr) {
        if self.connections.len() >= self.config.clients_max {
            return self.report(Problem::TooManyClients(peer));
        }
        let client = ClientId(self.next_client);
        self.next_client += 1;
        let (server, events) = (self.config.server, self.events.0.clone());
        let source = self.config.is_transparent.then_some(peer.ip());
        tokio::spawn(async move {
            let event = match timeout(CONNECT_MAX, connect(server, source)).await {
                Ok(Ok((server, udp, problem))) => {
                    if let Some(problem) = problem {
                        let _ = events.send(Event::Problem(problem)).await;
                    }
                    Event::Connected { client, peer, accepted, server, udp }
                }
                Ok(Err(error)) => {
                    Event::Problem(Problem::ServerUnreachable { server, reason: error.to_string() })
                }
                Err(_) => Event::Problem(Problem::ServerUnreachable { server, reason: "no answer".into() }),
            };
            let _ = events.send(event).await;
        });
    }

    fn handle_event(&mut self, event: Event) {
        let now = self.now();
        match event {
            Event::Connected { client, peer, accepted, server, udp } => {
                self.open(client, peer, accepted, server, udp);
            }
            Event::Problem(problem) => self.report(problem),
            Event::Stream(client, from, bytes) => self.proxy.handle_stream(client, from, &bytes, now),
            Event::StreamEnd(client, from) => {
                self.proxy.handle_stream_end(client, from);
                self.transmit();
                self.close(client);
            }
            Event::FromServer(client, bytes) => {
                self.proxy.handle_datagram(client, End::Server, &bytes, now);
            }
        }
    }

    fn open(
        &mut self,
        client: ClientId,
        peer: SocketAddr,
        accepted: TcpStream,
        server: TcpStream,
        udp: UdpSocket,
    ) {
        // Messages are small, and no player wants to wait for more of them.
        let _ = (accepted.set_nodelay(true), server.set_nodelay(true));
        let (from_client, client_half) = accepted.into_split();
        let (from_server, server_half) = server.into_split();
        let server_udp = Arc::new(udp);
        self.spawn_reader(client, End::Client, from_client);
        self.spawn_reader(client, End::Server, from_server);
        self.spawn_datagram_reader(client, Arc::clone(&server_udp));
        let connection = Connection {
            peer,
            to_client: spawn_writer(client_half),
            to_server: spawn_writer(server_half),
            server_udp,
            client_udp: None,
        };
        self.connections.insert(client, connection);
        self.proxy.handle_connected(client);
    }

    fn spawn_reader(&self, client: ClientId, from: End, mut half: OwnedReadHalf) {
        let events = self.events.0.clone();
        tokio::spawn(async move {
            let mut buffer = vec![0; 16_384];
            while let Ok(length @ 1..) = half.read(&mut buffer).await {
                if events.send(Event::Stream(client, from, buffer[..length].to_vec())).await.is_err() {
                    return;
                }
            }
            let _ = events.send(Event::StreamEnd(client, from)).await;
        });
    }

    fn spawn_datagram_reader(&self, client: ClientId, socket: Arc<UdpSocket>) {
        let events = self.events.0.clone();
        tokio::spawn(async move {
            let mut buffer = vec![0; 65_536];
            // Ends with the connection, which owns the other reference.
            while Arc::strong_count(&socket) > 1 {
                let Ok(received) = timeout(CONNECT_MAX, socket.recv(&mut buffer)).await else { continue };
                let Ok(length) = received else {
                    // The server's port is closed for now.
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                };
                if events.send(Event::FromServer(client, buffer[..length].to_vec())).await.is_err() {
                    return;
                }
            }
        });
    }

    /// Forgets a connection. Its writers send what is left and close.
    fn close(&mut self, client: ClientId) {
        self.proxy.handle_closed(client);
        if let Some(connection) = self.connections.remove(&client)
            && let Some((address, _)) = connection.client_udp
        {
            self.datagrams_from.remove(&address);
        }
    }

    // ── datagrams of clients ──

    fn handle_datagram(&mut self, from: SocketAddr, bytes: &[u8]) {
        let known = self.datagrams_from.get(&from).copied();
        let Some(client) = known.or_else(|| self.adopt(from, bytes)) else { return };
        if let Some(connection) = self.connections.get_mut(&client) {
            connection.client_udp = Some((from, Instant::now()));
        }
        self.proxy.handle_datagram(client, End::Client, bytes, self.now());
    }

    /// Finds the connection that a datagram from an unknown address belongs to: it must ask for a
    /// link for a player that is connected from the same host.
    fn adopt(&mut self, from: SocketAddr, bytes: &[u8]) -> Option<ClientId> {
        let player = Proxy::link_request(bytes)?;
        let client = self.proxy.clients_of(player).find(|client| {
            self.connections.get(client).is_some_and(|connection| {
                let is_free = connection.client_udp.is_none_or(|(_, at)| at.elapsed() > REBIND_AFTER);
                connection.peer.ip() == from.ip() && is_free
            })
        })?;
        let before = self.connections.get_mut(&client)?.client_udp.take();
        if let Some((address, _)) = before {
            self.datagrams_from.remove(&address);
        }
        self.datagrams_from.insert(from, client);
        Some(client)
    }

    // ── bytes out ──

    fn transmit(&mut self) {
        while let Some(Transmit { client, to, channel, bytes }) = self.proxy.poll_transmit() {
            let Some(connection) = self.connections.get(&client) else { continue };
            match (channel, to) {
                (Channel::Stream, to) => {
                    let queue = match to {
                        End::Client => &connection.to_client,
                        End::Server => &connection.to_server,
                    };
                    if let Err(mpsc::error::TrySendError::Full(_)) = queue.try_send(bytes) {
                        let peer = connection.peer;
                        self.report(Problem::TooSlow(peer));
                        self.close(client);
                    }
                }
                // A datagram for which the kernel has no room is lost, as any datagram may be.
                // tokio's own calls also refuse those that come before tokio has seen the new
                // socket ready, and a client asks for its link only once.
                (Channel::Datagram, End::Server) => {
                    let _ = SockRef::from(&*connection.server_udp).send(&bytes);
                }
                (Channel::Datagram, End::Client) => {
                    if let Some((address, _)) = connection.client_udp {
                        let _ = SockRef::from(&*self.front).send_to(&bytes, &address.into());
                    }
                }
            }
        }
    }

    fn publish(&mut self) {
        let now = self.now();
        let is_due = now - self.status_at >= STATUS_INTERVAL;
        if !is_due && !self.config.proxy.records {
            return;
        }
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(record) = self.proxy.poll_record() {
            if shared.records.len() < RECORDS_MAX {
                shared.records.push(record);
            }
        }
        if is_due {
            self.status_at = now;
            shared.players = self.proxy.players(now);
        }
    }

    fn report(&self, problem: Problem) {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        if shared.problems.len() < PROBLEMS_MAX {
            shared.problems.push(problem);
        }
    }
}

/// Takes one port for TCP and UDP. A port that the system chose for TCP may be taken for UDP: then
/// it chooses another.
fn bind_both(listen: SocketAddr) -> io::Result<(std::net::TcpListener, std::net::UdpSocket)> {
    let mut tries = 0;
    loop {
        let tcp = std::net::TcpListener::bind(listen)?;
        match std::net::UdpSocket::bind(tcp.local_addr()?) {
            Ok(udp) => return Ok((tcp, udp)),
            Err(error) if listen.port() != 0 || tries == TRIES_MAX => return Err(error),
            Err(_) => tries += 1,
        }
    }
}

/// Ports that are tried if the system may choose. Few machines have used half of theirs.
const TRIES_MAX: u32 = 32;

fn spawn_writer(mut half: OwnedWriteHalf) -> mpsc::Sender<Vec<u8>> {
    let (sender, mut receiver) = mpsc::channel::<Vec<u8>>(WAITING_MAX);
    tokio::spawn(async move {
        while let Some(bytes) = receiver.recv().await {
            if half.write_all(&bytes).await.is_err() {
                return;
            }
        }
        let _ = half.shutdown().await;
    });
    sender
}

/// Opens both ways to the server, from the client's own address if that is asked for and possible.
async fn connect(
    server: SocketAddr,
    source: Option<IpAddr>,
) -> io::Result<(TcpStream, UdpSocket, Option<Problem>)> {
    let mut problem = None;
    if let Some(client) = source {
        match connect_from(server, SocketAddr::new(client, 0)).await {
            Ok((tcp, udp)) => return Ok((tcp, udp, None)),
            Err(error) => problem = Some(Problem::NotTransparent { client, reason: error.to_string() }),
        }
    }
    let tcp = TcpStream::connect(server).await?;
    let udp = UdpSocket::bind(SocketAddr::new(tcp.local_addr()?.ip(), 0)).await?;
    udp.connect(server).await?;
    Ok((tcp, udp, problem))
}

async fn connect_from(server: SocketAddr, source: SocketAddr) -> io::Result<(TcpStream, UdpSocket)> {
    let socket = if source.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    allow_foreign(&SockRef::from(&socket));
    socket.bind(source)?;
    let tcp = socket.connect(server).await?;
    let socket = Socket::new(Domain::for_address(source), Type::DGRAM, Some(Protocol::UDP))?;
    allow_foreign(&SockRef::from(&socket));
    socket.set_nonblocking(true)?;
    socket.bind(&source.into())?;
    socket.connect(&server.into())?;
    Ok((tcp, UdpSocket::from_std(socket.into())?))
}

/// Asks for the right to use an address that is not this machine's. Binding fails without it.
fn allow_foreign(socket: &SockRef<'_>) {
    #[cfg(target_os = "linux")]
    let _ = socket.set_ip_transparent_v4(true);
    #[cfg(not(target_os = "linux"))]
    let _ = socket;
}
