//! The client's half of sealed datagrams: they share the socket of its QUIC endpoint.

use std::collections::VecDeque;
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use fairpath::time::Span;
use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, Runtime, TokioRuntime, UdpPoller};
use socket2::{Domain, Protocol, Socket, Type};
use tokio::sync::Notify;

use crate::clock::Clock;
use crate::identity::unguessable;
use crate::lock;
use crate::sealed::{ControlDatagram, LinkStatistics, SealedLink, Sorter, Tag};

/// What carries the datagrams of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Carrier {
    /// QUIC datagrams. The default, until servers offer sealed datagrams.
    #[default]
    QuicOnly,
    /// [Sealed](crate::sealed) packets beside QUIC where the server offers them and the network
    /// carries them, and QUIC datagrams otherwise.
    Sealed,
}

/// A UDP socket of which quinn sees QUIC packets only. Sealed packets go to the newest connection.
#[derive(Debug)]
pub(crate) struct SortingSocket {
    inner: Arc<dyn AsyncUdpSocket>,
    sorting: Mutex<Sorting>,
}

#[derive(Debug, Default)]
struct Sorting {
    sorter: Sorter,
    carrier: Weak<SealedCarrier>,
    /// Drops sealed packets, as a network that does not carry them.
    #[cfg(test)]
    blocks_sealed: bool,
}

/// The sealed datagrams of one connection.
#[derive(Debug)]
pub(crate) struct SealedCarrier {
    socket: Arc<SortingSocket>,
    quic: quinn::Connection,
    clock: Clock,
    /// `None` until the server offers sealed datagrams.
    link: Mutex<Option<SealedLink>>,
    /// Datagrams that the session has not taken yet.
    unread: Mutex<VecDeque<Bytes>>,
    arrived: Notify,
    /// The link may have something to send.
    changed: Notify,
}

/// Datagrams that wait for the session: half a second at the highest rate that is handled. Then the
/// oldest are dropped.
const UNREAD_MAX: usize = 512;

impl SortingSocket {
    /// Opens a socket. Call it inside a tokio runtime.
    pub(crate) fn bind(address: SocketAddr) -> io::Result<Arc<Self>> {
        let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
        if address.is_ipv6() {
            // As quinn does: a socket of both families where the system has it.
            let _ = socket.set_only_v6(false);
        }
        socket.bind(&address.into())?;
        let inner = TokioRuntime.wrap_udp_socket(socket.into())?;
        Ok(Arc::new(Self { inner, sorting: Mutex::default() }))
    }

    /// An endpoint on this socket.
    pub(crate) fn endpoint(
        self: &Arc<Self>,
        server: Option<quinn::ServerConfig>,
    ) -> io::Result<quinn::Endpoint> {
        let mut config = quinn::EndpointConfig::default();
        // Sealed packets have this bit clear, QUIC's must have it set.
        config.grease_quic_bit(false);
        let socket = Arc::clone(self) as Arc<dyn AsyncUdpSocket>;
        quinn::Endpoint::new_with_abstract_socket(config, server, socket, Arc::new(TokioRuntime))
    }

    /// Hands the sealed packets in a buffer to the connection. Returns the bytes that are left.
    fn sort(&self, buffer: &mut [u8], meta: &RecvMeta) -> usize {
        let mut sorting = lock(&self.sorting);
        let carrier = sorting.carrier.upgrade();
        #[cfg(test)]
        let carrier = carrier.filter(|_| !sorting.blocks_sealed);
        sorting.sorter.take_sealed(buffer, meta.stride, |packet| {
            if let Some(carrier) = &carrier {
                carrier.on_packet(meta.addr, packet);
            }
        })
    }
}

impl AsyncUdpSocket for SortingSocket {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Arc::clone(&self.inner).create_io_poller()
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        self.inner.try_send(transmit)
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let count = ready!(self.inner.poll_recv(cx, bufs, meta))?;
        for (buffer, meta) in bufs.iter_mut().zip(meta).take(count) {
            meta.len = self.sort(&mut buffer[..meta.len], meta);
        }
        Poll::Ready(Ok(count))
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.inner.local_addr()
    }

    fn max_transmit_segments(&self) -> usize {
        self.inner.max_transmit_segments()
    }

    fn max_receive_segments(&self) -> usize {
        self.inner.max_receive_segments()
    }

    fn may_fragment(&self) -> bool {
        self.inner.may_fragment()
    }
}

impl SealedCarrier {
    /// Takes over the sealed packets of the socket, for a connection on it.
    pub(crate) fn attach(socket: &Arc<SortingSocket>, quic: quinn::Connection) -> Arc<Self> {
        let carrier = Arc::new(Self {
            socket: Arc::clone(socket),
            quic,
            clock: Clock::showing(0),
            link: Mutex::new(None),
            unread: Mutex::default(),
            arrived: Notify::new(),
            changed: Notify::new(),
        });
        lock(&socket.sorting).carrier = Arc::downgrade(&carrier);
        carrier
    }

    /// Sends a session's datagram. Returns false if it has to leave in a QUIC datagram.
    pub(crate) fn send(&self, datagram: &[u8]) -> bool {
        let mut packet = Vec::with_capacity(datagram.len() + crate::sealed::OVERHEAD_TO_SERVER + 2);
        let now = self.clock.local();
        let to = lock(&self.link).as_mut().and_then(|link| link.seal(now, datagram, &mut packet));
        if let Some(to) = to {
            self.transmit(to, &packet);
            self.changed.notify_one();
        }
        to.is_some()
    }

    /// The next datagram that arrived sealed. Can be dropped at any time.
    pub(crate) async fn next(&self) -> Bytes {
        loop {
            if let Some(datagram) = lock(&self.unread).pop_front() {
                return datagram;
            }
            self.arrived.notified().await;
        }
    }

    /// Takes in a control datagram. Of the server's offers the first counts.
    pub(crate) fn on_control(&self, bytes: &[u8]) {
        if let Some(ControlDatagram::Offer(tag)) = ControlDatagram::decode(bytes) {
            self.on_offer(tag);
        }
    }

    /// Sends what the path itself wants to send, for as long as the connection lives.
    pub(crate) async fn run(&self) {
        loop {
            let deadline = self.pump().map(|at| tokio::time::Instant::from_std(at));
            let changed = self.changed.notified();
            match deadline {
                None => changed.await,
                Some(at) => drop(tokio::time::timeout_at(at, changed).await),
            }
        }
    }

    pub(crate) fn statistics(&self) -> Option<LinkStatistics> {
        lock(&self.link).as_ref().map(SealedLink::statistics)
    }

    fn on_offer(&self, tag: Tag) {
        let mut link = lock(&self.link);
        if link.is_none() {
            let server = self.quic.remote_address();
            *link = SealedLink::client(&self.quic, tag, server, self.clock.local(), unguessable).ok();
            self.changed.notify_one();
        }
    }

    fn on_packet(&self, from: SocketAddr, packet: &mut [u8]) {
        let mut link = lock(&self.link);
        let Some(link) = link.as_mut() else { return };
        if let Some(datagram) = link.handle_packet(self.clock.local(), from, packet) {
            let mut unread = lock(&self.unread);
            if unread.len() >= UNREAD_MAX {
                unread.pop_front();
            }
            unread.push_back(Bytes::copy_from_slice(datagram));
            self.arrived.notify_one();
        }
        self.changed.notify_one();
    }

    /// Sends what is due. Returns when more is.
    fn pump(&self) -> Option<std::time::Instant> {
        let mut link = lock(&self.link);
        let link = link.as_mut()?;
        let now = self.clock.local();
        // Without further keys the sealer refuses in time, and QUIC carries the datagrams.
        let _ = link.refill(&self.quic);
        let round_trip = i64::try_from(self.quic.rtt().as_micros()).unwrap_or(i64::MAX / 2);
        link.on_round_trip(Span::from_micros(round_trip));
        if link.poll_quic_ping(now) {
            let _ = self.quic.send_datagram(ControlDatagram::Ping.encode().into());
        }
        let mut packet = Vec::new();
        while let Some(to) = link.poll_transmit(now, &mut packet) {
            self.transmit(to, &packet);
            packet.clear();
        }
        link.poll_deadline().map(|at| self.clock.when(at.as_micros()))
    }

    /// Sends a packet. If the socket is full, the packet is lost, as on a full link.
    fn transmit(&self, destination: SocketAddr, contents: &[u8]) {
        let transmit = Transmit { destination, ecn: None, contents, segment_size: None, src_ip: None };
        let _ = self.socket.try_send(&transmit);
    }
}
