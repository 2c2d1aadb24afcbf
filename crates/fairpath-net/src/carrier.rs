//! The client's half of sealed datagrams: they share the socket of its QUIC endpoint.

use std::collections::VecDeque;
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use fairpath::time::{LocalInstant, Span};
use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, Runtime, TokioRuntime, UdpPoller};
use socket2::{Domain, Protocol, Socket, Type};
use tokio::sync::Notify;

use crate::attempts::Attempts;
use crate::clock::Clock;
use crate::identity::unguessable;
use crate::lock;
use crate::sealed::{ControlDatagram, LinkStatistics, SealedLink, Sorter, Tag};

/// What carries the datagrams of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Carrier {
    /// QUIC datagrams.
    QuicOnly,
    /// [Sealed](crate::sealed) packets beside QUIC where the server offers them and the network
    /// carries them, and QUIC datagrams otherwise. The default.
    #[default]
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
    attempts: Attempts,
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
    /// The link may have something to send before the task wakes.
    changed: Notify,
    /// When the task of the link wakes; `None`: only if it is notified.
    wakes_at: Mutex<Option<LocalInstant>>,
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

    /// The current attempt to connect has become a connection.
    pub(crate) fn on_connected(&self) {
        lock(&self.sorting).attempts.on_connected();
    }

    /// Whether the server has answered the current attempt to connect.
    pub(crate) fn is_attempt_answered(&self) -> bool {
        lock(&self.sorting).attempts.is_answered()
    }

    /// The current attempt to connect is over: nothing more is sent or read for it.
    pub(crate) fn give_up_attempt(&self) {
        lock(&self.sorting).attempts.give_up();
    }

    /// Hands the sealed packets in a buffer to the connection. Returns the bytes that are left.
    fn sort(&self, buffer: &mut [u8], meta: &RecvMeta) -> usize {
        let mut sorting = lock(&self.sorting);
        for packet in buffer.chunks_mut(meta.stride.max(1)) {
            if sorting.attempts.is_for_none(packet) {
                // The first byte of packets that nothing reads.
                packet[0] = 0;
            }
        }
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
        // Several packets in one call are of one connection.
        if !lock(&self.sorting).attempts.may_leave(transmit.contents) {
            return Ok(());
        }
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
            wakes_at: Mutex::default(),
        });
        lock(&socket.sorting).carrier = Arc::downgrade(&carrier);
        carrier
    }

    /// Sends a session's datagram. Returns false if it has to leave in a QUIC datagram.
    pub(crate) fn send(&self, datagram: &[u8]) -> bool {
        let mut packet = Vec::with_capacity(datagram.len() + crate::sealed::OVERHEAD_TO_SERVER + 2);
        let now = self.clock.local();
        let mut link = lock(&self.link);
        let Some(link) = link.as_mut() else { return false };
        let Some(to) = link.seal(now, datagram, &mut packet) else { return false };
        self.wake_in_time(link);
        self.transmit(to, &packet);
        true
    }

    /// Wakes the task of the link, if it would wake too late.
    fn wake_in_time(&self, link: &SealedLink) {
        let Some(deadline) = link.poll_deadline() else { return };
        if lock(&self.wakes_at).is_none_or(|at| deadline < at) {
            self.changed.notify_one();
        }
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
            let deadline = self.pump().map(tokio::time::Instant::from_std);
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
        self.wake_in_time(link);
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
        let deadline = link.poll_deadline();
        *lock(&self.wakes_at) = deadline;
        deadline.map(|at| self.clock.when(at.as_micros()))
    }

    /// Sends a packet. If the socket is full, the packet is lost, as on a full link.
    fn transmit(&self, destination: SocketAddr, contents: &[u8]) {
        let transmit = Transmit { destination, ecn: None, contents, segment_size: None, src_ip: None };
        let _ = self.socket.try_send(&transmit);
    }
}

#[cfg(test)]
mod tests {
    //! Goal: datagrams of real connections travel sealed, and in QUIC datagrams when sealed ones
    //! are blocked. Method: two endpoints on loopback with sorting sockets; one of them plays a
    //! server that offers sealed datagrams. Nothing is timed: a test waits until it sees what it
    //! expects.

    use std::time::Duration;

    use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};

    use super::*;
    use crate::congestion::Congestion;
    use crate::connection::{ALPN_NATIVE, ALPN_SEALED, Connection, transport_config};
    use crate::identity::{Identity, Trust};

    struct Ends {
        client: Connection,
        server: Connection,
        client_socket: Arc<SortingSocket>,
        server_socket: Arc<SortingSocket>,
        server_carrier: Option<Arc<SealedCarrier>>,
        _endpoints: [quinn::Endpoint; 2],
    }

    /// Connects two ends. The server knows these protocols.
    async fn connect(server_alpn: &[&[u8]]) -> Ends {
        let identity = Identity::local(&["localhost"]).expect("a certificate");
        let transport = || Arc::new(transport_config(Congestion::default(), Default::default()));
        let tls = identity.tls(server_alpn, None).expect("TLS");
        let crypto = QuicServerConfig::try_from(tls).expect("TLS 1.3");
        let mut config = quinn::ServerConfig::with_crypto(Arc::new(crypto));
        config.transport_config(transport());
        let any: SocketAddr = ([127, 0, 0, 1], 0).into();
        let [client_socket, server_socket] = [(); 2].map(|()| SortingSocket::bind(any).expect("a socket"));
        let listening = server_socket.endpoint(Some(config)).expect("an endpoint");

        let trust = Trust::Pinned(vec![identity.fingerprint()]);
        let tls = trust.tls(&[ALPN_SEALED, ALPN_NATIVE], None).expect("TLS");
        let crypto = QuicClientConfig::try_from(tls).expect("TLS 1.3");
        let mut config = quinn::ClientConfig::new(Arc::new(crypto));
        config.transport_config(transport());
        let calling = client_socket.endpoint(None).expect("an endpoint");
        let address = listening.local_addr().expect("an address");
        let connecting = calling.connect_with(config, address, "localhost").expect("a valid name");
        let accepting = async { listening.accept().await.expect("a client").await.expect("a handshake") };
        let (client, server) = tokio::join!(connecting, accepting);

        let client = Connection::quic(client.expect("a handshake")).with_sealed(&client_socket);
        let (server, server_carrier) = offer(server, &server_socket);
        let _endpoints = [calling, listening];
        Ends { client, server, client_socket, server_socket, server_carrier, _endpoints }
    }

    /// The server's end: its link is a server's, and the offer leaves.
    fn offer(
        quic: quinn::Connection,
        socket: &Arc<SortingSocket>,
    ) -> (Connection, Option<Arc<SealedCarrier>>) {
        let connection = Connection::quic(quic.clone()).with_sealed(socket);
        let carrier = lock(&socket.sorting).carrier.upgrade();
        if let Some(carrier) = &carrier {
            let now = carrier.clock.local();
            let link = SealedLink::server(&quic, quic.remote_address(), now, unguessable).expect("keys");
            *lock(&carrier.link) = Some(link);
            let offer = ControlDatagram::Offer([1, 2, 3, 4]).encode();
            quic.send_datagram(offer.into()).expect("room");
        }
        (connection, carrier)
    }

    impl Ends {
        /// Both ends send datagrams and read them until `is_seen` or for half a minute.
        async fn play_until(&self, is_seen: impl Fn(&Self) -> bool) {
            let send = async {
                for nth in 0..3_000_u32 {
                    if is_seen(self) {
                        return true;
                    }
                    let datagram = [&[9], &nth.to_le_bytes()[..]].concat();
                    self.client.send_datagram(datagram.clone());
                    self.server.send_datagram(datagram);
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
                false
            };
            let read = |connection| async move {
                while let Ok(bytes) = Connection::read_datagram(connection).await {
                    assert_eq!((bytes.len(), bytes[0]), (5, 9), "a session's datagram as it was sent");
                }
            };
            let seen = tokio::select! {
                seen = send => seen,
                () = read(&self.client) => false,
                () = read(&self.server) => false,
                () = self.client.run_sealed() => false,
                () = self.server.run_sealed() => false,
            };
            assert!(seen, "client {:?}", self.client.sealed_statistics());
        }

        fn received(&self) -> [u64; 2] {
            [&self.client, &self.server]
                .map(|end| end.sealed_statistics().map_or(0, |statistics| statistics.datagrams_received))
        }

        fn block(&self, blocks: bool) {
            [&self.client_socket, &self.server_socket]
                .iter()
                .for_each(|socket| lock(&socket.sorting).blocks_sealed = blocks);
        }
    }

    #[tokio::test]
    async fn datagrams_travel_sealed_and_fall_back_to_quic_when_they_are_blocked() {
        let ends = connect(&[ALPN_SEALED]).await;
        ends.play_until(|ends| ends.received().iter().all(|count| *count > 20)).await;
        ends.block(true);
        let fell = |ends: &Ends| {
            [&ends.client, &ends.server]
                .iter()
                .all(|end| end.sealed_statistics().is_some_and(|statistics| statistics.falls > 0))
        };
        ends.play_until(fell).await;
        let (sealed, quic) = (ends.received(), ends.server.quic_statistics().frame_rx.datagram);
        ends.play_until(|ends| ends.server.quic_statistics().frame_rx.datagram > quic + 10).await;
        assert_eq!(ends.received(), sealed, "nothing sealed arrives");
        ends.block(false);
        ends.play_until(|ends| ends.received()[0] > sealed[0] && ends.received()[1] > sealed[1]).await;
        let drops = ends.server.sealed_statistics().map(|statistics| statistics.drops.total());
        assert_eq!(drops, Some(0), "every packet was authentic");
    }

    #[tokio::test]
    async fn a_server_that_knows_no_sealed_datagrams_is_spoken_to_in_quic_datagrams() {
        let ends = connect(&[ALPN_NATIVE]).await;
        assert!(ends.server_carrier.is_none());
        ends.play_until(|ends| ends.server.quic_statistics().frame_rx.datagram > 10).await;
        assert_eq!(ends.client.sealed_statistics(), None);
    }

    #[tokio::test]
    async fn garbage_on_the_socket_is_dropped_and_counted() {
        let ends = connect(&[ALPN_SEALED]).await;
        ends.play_until(|ends| ends.received().iter().all(|count| *count > 0)).await;
        let stranger = std::net::UdpSocket::bind(SocketAddr::from(([127, 0, 0, 1], 0))).expect("a socket");
        let server = ends.server_socket.local_addr().expect("an address");
        let others = lock(&ends.server_socket.sorting).sorter.other;
        for first in 0..=255 {
            stranger.send_to(&[first; 60], server).expect("sent");
        }
        let counted = |ends: &Ends| lock(&ends.server_socket.sorting).sorter.other >= others + 64;
        ends.play_until(counted).await;
        let statistics = ends.server.sealed_statistics().expect("sealed");
        assert!(statistics.drops.total() > 0, "{statistics:?}");
        assert_eq!(statistics.moves, 0);
    }
}
