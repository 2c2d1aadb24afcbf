//! The sockets and the two threads of a middleman.
//!
//! One thread receives from all sockets and lets the [`Proxy`] decide. The other sleeps until the
//! next packet is due and sends it. It sleeps on a condition variable, which wakes in time: tokio's
//! timer counts in milliseconds, and a receive with a timeout in the kernel's ticks (`cargo xtask
//! bench middleman` has the numbers).

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use fairpath::time::{SharedInstant, Span};
use fairpath_sim::LinkConfig;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

use super::StartError;
use super::config::{ChangeError, ClientSelector, Direction, Directions, MiddlemanConfig};
use super::proxy::{Packet, Proxy};
use super::statistics::MiddlemanStatistics;
use crate::client::any_local_address;

pub(super) struct Sockets {
    state: Mutex<ProxyState>,
    /// Notified when the next packet is due earlier than before, or at the stop.
    is_earlier: Condvar,
    started: Instant,
    listen: UdpSocket,
    address: SocketAddr,
    to: SocketAddr,
    runtime: tokio::runtime::Handle,
}

struct ProxyState {
    proxy: Proxy,
    /// One for each client of the proxy.
    upstreams: BTreeMap<u32, Upstream>,
    is_stopped: bool,
}

/// One client's socket to the server, and the task that receives from it.
struct Upstream {
    socket: Arc<UdpSocket>,
    receiving: AbortHandle,
}

const DATAGRAM_BYTES_MAX: usize = 65_535;
/// Packets sent before the receiving thread can take the lock. 32 take well below a millisecond.
const SENT_AT_ONCE_MAX: usize = 32;
/// Interval of checks for idle clients. They are forgotten up to this much later.
const SWEEP_EVERY: Span = Span::from_secs(1);

impl Sockets {
    pub(super) fn open(config: &MiddlemanConfig) -> Result<(Arc<Self>, SocketReader), StartError> {
        let cannot_listen = |error| StartError::Listen { address: config.listen, error };
        let listen = UdpSocket::bind(config.listen).map_err(cannot_listen)?;
        listen.set_nonblocking(true).map_err(cannot_listen)?;
        let address = listen.local_addr().map_err(cannot_listen)?;
        let receiver = SocketReader::new(&listen).map_err(StartError::System)?;
        let state = ProxyState { proxy: Proxy::new(config), upstreams: BTreeMap::new(), is_stopped: false };
        let sockets = Self {
            state: Mutex::new(state),
            is_earlier: Condvar::new(),
            started: Instant::now(),
            listen,
            address,
            to: config.to,
            runtime: receiver.runtime.handle().clone(),
        };
        Ok((Arc::new(sockets), receiver))
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The one monotonic clock. All timestamps come from it.
    pub(super) fn now(&self) -> SharedInstant {
        SharedInstant::from_micros(i64::try_from(self.started.elapsed().as_micros()).unwrap_or(i64::MAX))
    }

    pub(super) fn change(
        &self,
        clients: ClientSelector,
        directions: Directions,
        edit: impl FnMut(&mut LinkConfig),
    ) -> Result<usize, ChangeError> {
        self.lock().proxy.change(clients, directions, edit)
    }

    /// The constant delay of a TCP connection from this address.
    pub(super) fn stream_delay(&self, client: SocketAddr, direction: Direction) -> Duration {
        let delay = self.lock().proxy.links_of(client)[direction].delay;
        Duration::from_micros(delay.as_micros().max(0).unsigned_abs())
    }

    pub(super) fn rebind(self: &Arc<Self>, clients: ClientSelector) -> io::Result<usize> {
        let mut state = self.lock();
        let meant = state.proxy.matching(clients);
        for client in &meant {
            let upstream = self.open_upstream(*client)?;
            state.upstreams.insert(*client, upstream);
            state.proxy.on_rebound(*client);
        }
        Ok(meant.len())
    }

    pub(super) fn statistics(&self) -> MiddlemanStatistics {
        self.lock().proxy.statistics(self.now())
    }

    pub(super) fn stop(&self) {
        let mut state = self.lock();
        state.is_stopped = true;
        state.upstreams.clear();
        self.is_earlier.notify_all();
    }

    /// Handles a packet from a client, or from an unknown address that may become a client.
    fn handle_from_clients(self: &Arc<Self>, now: SharedInstant, from: SocketAddr, bytes: &[u8]) {
        let mut state = self.lock();
        let Some(client) = state.proxy.client_at(from).or_else(|| self.admit(&mut state, now, from)) else {
            state.proxy.on_refused();
            return;
        };
        self.handle_packet(&mut state, now, client, Direction::Up, bytes);
    }

    /// Makes an unknown address a client, if there is room and a socket for it.
    fn admit(self: &Arc<Self>, state: &mut ProxyState, now: SharedInstant, from: SocketAddr) -> Option<u32> {
        if state.is_stopped || !state.proxy.has_room() {
            return None;
        }
        let client = state.proxy.next_number();
        let upstream = self.open_upstream(client).ok()?;
        state.proxy.admit(now, from);
        state.upstreams.insert(client, upstream);
        Some(client)
    }

    fn handle_packet(
        &self,
        state: &mut ProxyState,
        now: SharedInstant,
        client: u32,
        direction: Direction,
        bytes: &[u8],
    ) {
        let before = state.proxy.poll_deadline();
        state.proxy.handle_packet(now, client, direction, bytes);
        if state.proxy.poll_deadline() != before {
            self.is_earlier.notify_all();
        }
    }

    /// Opens a socket to the server on any port. Connected, it receives from the server only.
    fn open_upstream(self: &Arc<Self>, client: u32) -> io::Result<Upstream> {
        let socket = UdpSocket::bind(any_local_address(self.to))?;
        socket.connect(self.to)?;
        socket.set_nonblocking(true)?;
        let received = socket.try_clone()?;
        let task = self.runtime.spawn(receive_from_server(Arc::clone(self), client, received));
        Ok(Upstream { socket: Arc::new(socket), receiving: task.abort_handle() })
    }

    fn lock(&self) -> MutexGuard<'_, ProxyState> {
        self.state.lock().expect("no thread panics while it holds the lock")
    }

    /// Sleeps until `until`, or until a packet is due earlier.
    fn wait<'a>(
        &self,
        state: MutexGuard<'a, ProxyState>,
        until: SharedInstant,
    ) -> MutexGuard<'a, ProxyState> {
        let micros = (until - self.now()).as_micros().max(0).unsigned_abs();
        let waited = self.is_earlier.wait_timeout(state, Duration::from_micros(micros));
        waited.expect("no thread panics while it holds the lock").0
    }
}

/// The receiving thread's reactor, and the socket that clients send to.
pub(super) struct SocketReader {
    runtime: Runtime,
    listen: tokio::net::UdpSocket,
}

impl SocketReader {
    fn new(listen: &UdpSocket) -> io::Result<Self> {
        let listen = listen.try_clone()?;
        let runtime = Builder::new_current_thread().enable_io().build()?;
        let inside = runtime.enter();
        let listen = tokio::net::UdpSocket::from_std(listen)?;
        drop(inside);
        Ok(Self { runtime, listen })
    }

    /// Runs the receiving thread until `stopped`.
    pub(super) fn run(self, sockets: &Arc<Sockets>, stopped: oneshot::Receiver<()>) {
        self.runtime.block_on(async {
            tokio::select! {
                _ = stopped => {}
                () = receive_from_clients(sockets, &self.listen) => {}
            }
        });
    }
}

async fn receive_from_clients(sockets: &Arc<Sockets>, listen: &tokio::net::UdpSocket) {
    let mut buffer = vec![0; DATAGRAM_BYTES_MAX];
    loop {
        // The error of an earlier packet to a client that is gone. Nothing to do about it.
        if let Ok((length, from)) = listen.recv_from(&mut buffer).await {
            sockets.handle_from_clients(sockets.now(), from, &buffer[..length]);
        }
    }
}

async fn receive_from_server(sockets: Arc<Sockets>, client: u32, socket: UdpSocket) {
    let Ok(socket) = tokio::net::UdpSocket::from_std(socket) else { return };
    let mut buffer = vec![0; DATAGRAM_BYTES_MAX];
    loop {
        let received = socket.recv(&mut buffer).await;
        let now = sockets.now();
        let mut state = sockets.lock();
        match received {
            Ok(length) => sockets.handle_packet(&mut state, now, client, Direction::Down, &buffer[..length]),
            Err(_) => state.proxy.on_failure(client, Direction::Up),
        }
    }
}

/// Runs the sending thread until the middleman stops.
pub(super) fn send(sockets: &Sockets) {
    let mut due = Vec::with_capacity(SENT_AT_ONCE_MAX);
    let mut next_sweep = SharedInstant::ZERO;
    let mut state = sockets.lock();
    while !state.is_stopped {
        let now = sockets.now();
        if now >= next_sweep {
            state.forget_idle(now);
            next_sweep = now + SWEEP_EVERY;
        }
        state.take_due(now, &mut due);
        if due.is_empty() {
            let until = state.proxy.poll_deadline().map_or(next_sweep, |at| at.min(next_sweep));
            state = sockets.wait(state, until);
            continue;
        }
        drop(state);
        let send = |(packet, destination): (Packet, Destination)| {
            let was_sent = destination.send(sockets, &packet.bytes).is_ok();
            (packet, sockets.now(), was_sent)
        };
        let sent: Vec<_> = due.drain(..).map(send).collect();
        state = sockets.lock();
        for (packet, at, was_sent) in sent {
            state.proxy.on_left(&packet, at, was_sent);
        }
    }
}

impl ProxyState {
    fn forget_idle(&mut self, now: SharedInstant) {
        for client in self.proxy.forget_idle(now) {
            self.upstreams.remove(&client);
        }
    }

    /// Takes the packets that are due, each with its current destination.
    fn take_due(&mut self, now: SharedInstant, due: &mut Vec<(Packet, Destination)>) {
        while due.len() < SENT_AT_ONCE_MAX {
            let Some(packet) = self.proxy.poll_packet(now) else { return };
            let destination = match packet.direction {
                Direction::Up => {
                    self.upstreams.get(&packet.client).map(|up| Destination::Up(Arc::clone(&up.socket)))
                }
                Direction::Down => self.proxy.address_of(packet.client).map(Destination::Down),
            };
            let destination = destination.expect("a client with packets on their way is not forgotten");
            due.push((packet, destination));
        }
    }
}

enum Destination {
    Up(Arc<UdpSocket>),
    Down(SocketAddr),
}

impl Destination {
    fn send(&self, sockets: &Sockets, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Up(socket) => send_up(socket, bytes),
            Self::Down(client) => sockets.listen.send_to(bytes, client),
        }
    }
}

/// The system reports an earlier packet's refusal on the next call, which sends nothing: try twice.
fn send_up(socket: &UdpSocket, bytes: &[u8]) -> io::Result<usize> {
    match socket.send(bytes) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => socket.send(bytes),
        sent => sent,
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.receiving.abort();
    }
}

impl fmt::Debug for Sockets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sockets").field("listen", &self.listen).field("to", &self.to).finish_non_exhaustive()
    }
}
