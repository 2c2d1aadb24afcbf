//! The connections to lobbies, from the socket of the server.
//!
//! A lobby lists the address that it sees, so the connection to it must leave from the server's own
//! socket. An endpoint of quinn sends on that socket by itself, and the driver hands it every
//! packet that comes from the address of a lobby. The address is enough: a lobby connects to no
//! server, so none of these packets can be for the server.

use std::collections::VecDeque;
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, Endpoint, EndpointConfig, TokioRuntime, UdpPoller};
use tokio::runtime::Handle;

use super::port::Packet;
use crate::background::{Background, CLOSE_WITHIN};
use crate::lock;

/// An endpoint on the server's socket, and the thread that it runs on. Dropping it tells lobbies
/// that the server leaves.
#[derive(Debug)]
pub(crate) struct LobbyLink {
    _thread: Background,
    pub(crate) endpoint: Endpoint,
    pub(crate) runtime: Handle,
    pub(crate) packets: Arc<LobbyPackets>,
}

/// Packets of lobbies that the endpoint has not read.
#[derive(Debug, Default)]
pub(crate) struct LobbyPackets(Mutex<Queue>);

#[derive(Debug, Default)]
struct Queue {
    lobbies: Vec<SocketAddr>,
    packets: VecDeque<(Vec<u8>, RecvMeta)>,
    reader: Option<Waker>,
}

/// A lobby answers with lists of a few packets. More are lost, as in a full socket.
const UNREAD_MAX: usize = 256;

impl LobbyLink {
    pub(crate) fn open(socket: UdpSocket) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (handle, packets) = (runtime.handle().clone(), Arc::default());
        let endpoint = {
            let _inside = runtime.enter();
            let socket = Arc::new(SharedSocket { socket, packets: Arc::clone(&packets) });
            let mut config = EndpointConfig::default();
            config.grease_quic_bit(false);
            Endpoint::new_with_abstract_socket(config, None, socket, Arc::new(TokioRuntime))?
        };
        let closing = endpoint.clone();
        let thread = Background::start("fairpath-presence", runtime, |stop| async move {
            let _ = stop.await;
            closing.close(0u8.into(), b"");
            tokio::time::timeout(CLOSE_WITHIN, closing.wait_idle()).await.is_ok()
        })?;
        Ok(Self { _thread: thread, endpoint, runtime: handle, packets })
    }
}

impl LobbyPackets {
    /// Takes packets of this lobby from now on.
    pub(crate) fn add(&self, lobby: SocketAddr) {
        let (mut queue, lobby) = (lock(&self.0), canonical(lobby));
        if !queue.lobbies.contains(&lobby) {
            queue.lobbies.push(lobby);
        }
    }

    /// Takes a packet if it is a lobby's. Returns whether it is.
    pub(super) fn take(&self, packet: &Packet<'_>) -> bool {
        let mut queue = lock(&self.0);
        if !queue.lobbies.contains(&canonical(packet.from)) {
            return false;
        }
        if queue.packets.len() < UNREAD_MAX {
            let (addr, dst_ip, len) = (packet.from, packet.to, packet.bytes.len());
            let meta = RecvMeta { addr, dst_ip, len, stride: len, ..RecvMeta::default() };
            queue.packets.push_back((packet.bytes.to_vec(), meta));
        }
        if let Some(reader) = queue.reader.take() {
            reader.wake();
        }
        true
    }
}

/// A socket of both families shows IPv4 addresses as IPv6 ones.
fn canonical(address: SocketAddr) -> SocketAddr {
    let ip: IpAddr = address.ip().to_canonical();
    SocketAddr::new(ip, address.port())
}

/// The server's socket, as the endpoint sees it: it sends, and reads what the driver hands over.
#[derive(Debug)]
struct SharedSocket {
    socket: UdpSocket,
    packets: Arc<LobbyPackets>,
}

impl AsyncUdpSocket for SharedSocket {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Box::pin(AlwaysWritable)
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        // A packet that does not fit into a full socket is lost, and QUIC repeats it.
        let _ = self.socket.send_to(transmit.contents, transmit.destination);
        Ok(())
    }

    fn poll_recv(
        &self,
        context: &mut Context<'_>,
        slices: &mut [IoSliceMut<'_>],
        found: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let mut queue = lock(&self.packets.0);
        let mut count = 0;
        for (slice, meta) in slices.iter_mut().zip(found) {
            let Some((bytes, origin)) = queue.packets.pop_front() else { break };
            let len = bytes.len().min(slice.len());
            slice[..len].copy_from_slice(&bytes[..len]);
            *meta = RecvMeta { len, stride: len, ..origin };
            count += 1;
        }
        if count > 0 {
            return Poll::Ready(Ok(count));
        }
        queue.reader = Some(context.waker().clone());
        Poll::Pending
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }
}

#[derive(Debug)]
struct AlwaysWritable;

impl UdpPoller for AlwaysWritable {
    fn poll_writable(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
