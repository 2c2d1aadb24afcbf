//! Sockets: a DIS network over broadcast, multicast or unicast, and a gateway that runs on one.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use fairpath::{Span, Vec3};
use fairpath_net::{NetClient, NetServer};
use socket2::{Domain, Protocol, Socket, Type};

use crate::exchange::relay;
use crate::gateway::Gateway;
use crate::stamp::Instants;

/// The standard's UDP port.
pub const PORT: u16 = 3000;

/// Which datagrams are received, and where PDUs are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketConfig {
    /// The port that is listened on. Default [`PORT`].
    pub port: u16,
    /// Where PDUs are sent. Default broadcast on the same port. A multicast address is joined.
    pub to: SocketAddrV4,
    /// The address of the network interface. Default: the system chooses one, and listens on all.
    pub interface: Ipv4Addr,
    /// How many routers multicast may cross. Default 1: none.
    pub ttl: u32,
}

impl Default for SocketConfig {
    fn default() -> Self {
        Self {
            port: PORT,
            to: SocketAddrV4::new(Ipv4Addr::BROADCAST, PORT),
            interface: Ipv4Addr::UNSPECIFIED,
            ttl: 1,
        }
    }
}

/// A datagram from the network, with the instant of its arrival.
#[derive(Clone, Debug)]
pub struct Received {
    /// The payload.
    pub bytes: Vec<u8>,
    /// The sender.
    pub from: SocketAddrV4,
    /// When it arrived.
    pub at: Instant,
    /// When it arrived: UTC, microseconds since 1970.
    pub unix_us: i64,
}

/// A socket on a DIS network. A thread of its own takes the time of each arrival.
#[derive(Debug)]
pub struct DisSocket {
    socket: Arc<UdpSocket>,
    to: SocketAddrV4,
    received: Receiver<Received>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// Datagrams that wait for the program: a second of the largest exercise.
const WAITING_MAX: usize = 16_384;
/// Bytes that wait in the system: 10 000 PDUs at once.
const SYSTEM_BUFFER_BYTES: usize = 4 << 20;

impl DisSocket {
    /// Opens a socket. Other programs on this machine may use the same port.
    pub fn open(config: &SocketConfig) -> io::Result<Self> {
        let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
        socket.set_reuse_address(true)?;
        // Less is no failure: the system has limits.
        let _ = socket.set_recv_buffer_size(SYSTEM_BUFFER_BYTES);
        let is_multicast = config.to.ip().is_multicast();
        // Broadcasts and multicasts do not reach a socket that is bound to one address.
        let any = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, config.port);
        let is_local = config.interface.is_loopback() && !is_multicast;
        let listen = if is_local { SocketAddrV4::new(config.interface, config.port) } else { any };
        socket.bind(&SocketAddr::V4(listen).into())?;
        if is_multicast {
            socket.join_multicast_v4(config.to.ip(), &config.interface)?;
            socket.set_multicast_ttl_v4(config.ttl)?;
            socket.set_multicast_loop_v4(true)?;
            if !config.interface.is_unspecified() {
                socket.set_multicast_if_v4(&config.interface)?;
            }
        } else {
            socket.set_broadcast(true)?;
        }
        let socket = Arc::new(UdpSocket::from(socket));
        // So that the thread notices the end.
        socket.set_read_timeout(Some(Duration::from_millis(100)))?;
        let stop = Arc::new(AtomicBool::new(false));
        let (sender, received) = sync_channel(WAITING_MAX);
        let thread = std::thread::Builder::new().name("dis socket".into()).spawn({
            let (socket, stop) = (Arc::clone(&socket), Arc::clone(&stop));
            move || listen_until(&socket, &stop, &sender)
        })?;
        Ok(Self { socket, to: config.to, received, stop, thread: Some(thread) })
    }

    /// Returns the port that it listens on.
    pub fn port(&self) -> io::Result<u16> {
        Ok(self.socket.local_addr()?.port())
    }

    /// Returns where PDUs are sent.
    pub fn destination(&self) -> SocketAddrV4 {
        self.to
    }

    /// Sends a datagram to the network.
    pub fn send(&self, bytes: &[u8]) -> io::Result<()> {
        self.socket.send_to(bytes, self.to).map(|_| ())
    }

    /// Returns the next datagram, waiting for it at most this long.
    pub fn receive(&self, timeout: Duration) -> Option<Received> {
        match self.received.recv_timeout(timeout) {
            Ok(received) => Some(received),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => {
                // The thread has ended, which only a broken socket brings about.
                std::thread::sleep(timeout);
                None
            }
        }
    }
}

impl Drop for DisSocket {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn listen_until(socket: &UdpSocket, stop: &AtomicBool, sender: &SyncSender<Received>) {
    let mut buffer = vec![0; 65_536];
    while !stop.load(Ordering::Relaxed) {
        match socket.recv_from(&mut buffer) {
            Ok((length, SocketAddr::V4(from))) => {
                let bytes = buffer[..length].to_vec();
                let received = Received { bytes, from, at: Instant::now(), unix_us: unix_us() };
                // A full queue loses the datagram, as a full socket does.
                let _ = sender.try_send(received);
            }
            Ok(_) => {}
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
            // An answer to what was sent, such as "port unreachable", is no reason to stop.
            Err(_) => std::thread::sleep(Duration::from_millis(10)),
        }
    }
}

/// Returns UTC, in microseconds since 1970.
pub fn unix_us() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as i64)
}

/// How often a gateway looks after the session and its entities.
const FRAME_EVERY: Duration = Duration::from_millis(20);
/// Most datagrams that are taken in one go, so that the session is not held up.
const BATCH_MAX: usize = 512;

/// Runs a gateway until `is_over` says so. With a server the session's calls are passed on too.
/// `watch` is called once a second.
pub fn run(
    gateway: &mut Gateway,
    client: &NetClient<Vec3>,
    server: Option<&NetServer<Vec3>>,
    socket: &DisSocket,
    is_over: impl Fn() -> bool,
    mut watch: impl FnMut(&Gateway),
) {
    let mut next_frame = Instant::now();
    let mut next_watch = Instant::now() + Duration::from_secs(1);
    let mut batch = Vec::new();
    while !is_over() {
        let wait = next_frame.saturating_duration_since(Instant::now());
        batch.extend(socket.receive(wait));
        while batch.len() < BATCH_MAX
            && let Some(received) = (!batch.is_empty()).then(|| socket.received.try_recv().ok()).flatten()
        {
            batch.push(received);
        }
        let is_frame = Instant::now() >= next_frame;
        if is_frame {
            next_frame = Instant::now() + FRAME_EVERY;
            if let Some(server) = server {
                server.frame(|game| {
                    while let Some(event) = game.poll_event() {
                        relay(&event, game);
                    }
                });
            }
        }
        if is_frame || !batch.is_empty() {
            client.frame(|game| {
                let (now, read_at) = (game.now(), Instant::now());
                for Received { bytes, at, unix_us, .. } in batch.drain(..) {
                    let waited = Span::from_micros((read_at - at).as_micros() as i64);
                    gateway.handle_datagram(&bytes, Instants { local: now - waited, unix_us }, game);
                }
                if is_frame {
                    gateway.handle_frame(Instants { local: now, unix_us: unix_us() }, game);
                }
            });
        }
        while let Some(bytes) = gateway.poll_datagram() {
            // A network that is down for a moment loses PDUs, as DIS expects.
            let _ = socket.send(&bytes);
        }
        if Instant::now() >= next_watch {
            next_watch += Duration::from_secs(1);
            watch(gateway);
        }
    }
}
