//! One connection to a peer, over plain QUIC or over a browser's WebTransport.

use std::any::Any;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use fairpath::session::limits::{CALL_BYTES_MAX, STREAM_MESSAGE_BYTES_MAX, UNORDERED_WINDOW};
use fairpath::session::{Budget, CloseReason};
#[cfg(feature = "peer")]
use fairpath::time::Span;
use quinn::VarInt;
use quinn::crypto::rustls::HandshakeData;
use rustls::pki_types::CertificateDer;
use tokio::task::JoinSet;

use crate::carrier::{SealedCarrier, SortingSocket};
use crate::congestion::Congestion;
use crate::identity::Fingerprint;
use crate::problem::ConnectionProblem;
use crate::sealed::{ControlDatagram, LinkStatistics};
use crate::token_bucket::TokenBucket;

/// The ALPN protocol name of a session over plain QUIC.
pub(crate) const ALPN_NATIVE: &[u8] = b"fairpath/1";
/// The same, with [sealed](crate::sealed) datagrams where the server offers them.
pub(crate) const ALPN_SEALED: &[u8] = b"fairpath/2";
#[cfg(feature = "web")]
pub(crate) const ALPN_WEB: &[u8] = wtransport_proto::WEBTRANSPORT_ALPN;

/// The protocol that a connection uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Transport {
    /// QUIC, with Fairpath's own protocol directly on it. Native clients use this.
    Quic,
    /// WebTransport, which browsers use.
    #[cfg(feature = "web")]
    WebTransport,
}

#[derive(Debug)]
pub(crate) struct Connection {
    quic: quinn::Connection,
    #[cfg(feature = "web")]
    web: Option<wtransport::Connection>,
    /// Carries datagrams beside QUIC, if both ends know how.
    sealed: Option<Arc<SealedCarrier>>,
    /// Free space in quinn's datagram buffer while no datagram waits in it.
    empty_buffer_space: usize,
    /// The reason for which this end closed the connection.
    closed_for: OnceLock<CloseReason>,
}

#[derive(Debug)]
pub(crate) enum SendStream {
    Quic(quinn::SendStream),
    #[cfg(feature = "web")]
    Web(wtransport::SendStream),
}

#[derive(Debug)]
pub(crate) enum ReceiveStream {
    Quic(quinn::RecvStream),
    #[cfg(feature = "web")]
    Web(wtransport::RecvStream),
}

/// The connection is closed, or could not be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConnectionLost;

impl<E: std::error::Error> From<E> for ConnectionLost {
    fn from(_: E) -> Self {
        Self
    }
}

pub(crate) trait Inbound: Send + Sync + 'static {
    fn on_stream(&self, bytes: &[u8]);
    fn on_unordered(&self, bytes: &[u8]);
    fn on_datagram(&self, bytes: &[u8]);
    /// This end closes the connection because the peer broke the protocol.
    fn on_violation(&self, _: CloseReason) {}
}

/// The longest unordered message: a call and a few numbers.
pub(crate) const UNORDERED_BYTES_MAX: usize = CALL_BYTES_MAX + 64;
/// Streams of each kind that WebTransport itself needs.
const STREAMS_OF_WEB: u32 = 8;
/// Bytes in flight on streams: two windows of medium unordered messages, and the ordered stream.
const RECEIVE_WINDOW_BYTES: u32 = 512 * 1024;
const _: () = assert!(RECEIVE_WINDOW_BYTES as usize > 8 * STREAM_MESSAGE_BYTES_MAX);
/// Space for one datagram of any size that fits into a packet, and never for two.
const DATAGRAM_BUFFER_BYTES: usize = 2_048;
/// Received unread datagrams: half a second of a full budget. The oldest are dropped first.
pub(crate) const DATAGRAMS_UNREAD_BYTES: usize = 64 * 1024;
/// QUIC closes a connection silent for this long. The session notices earlier, by its own timeout.
const IDLE_TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) fn transport_config(congestion: Congestion, budget: Budget) -> quinn::TransportConfig {
    let mut config = quinn::TransportConfig::default();
    config
        .max_concurrent_bidi_streams(VarInt::from_u32(STREAMS_OF_WEB))
        .max_concurrent_uni_streams(VarInt::from_u32(UNORDERED_WINDOW as u32 + STREAMS_OF_WEB))
        .stream_receive_window(VarInt::from_u32(2 * STREAM_MESSAGE_BYTES_MAX as u32))
        .receive_window(VarInt::from_u32(RECEIVE_WINDOW_BYTES))
        .send_window(RECEIVE_WINDOW_BYTES.into())
        .datagram_send_buffer_size(DATAGRAM_BUFFER_BYTES)
        .datagram_receive_buffer_size(Some(DATAGRAMS_UNREAD_BYTES))
        .ack_frequency_config(Some(ack_frequency()))
        .max_idle_timeout(Some(IDLE_TIMEOUT.try_into().expect("ten seconds fit")))
        .congestion_controller_factory(congestion.factory(budget));
    config
}

/// A client that sends nothing over QUIC for this long is asked for a sign of life: twice before
/// QUIC gives it up. Round trips are measured more often: by QUIC datagrams, and by the pings
/// beside sealed ones.
const KEEP_ALIVE_EVERY: Duration = Duration::from_secs(5);
const _: () = assert!(2 * KEEP_ALIVE_EVERY.as_secs() <= IDLE_TIMEOUT.as_secs());
/// A client may acknowledge this late. quinn-proto asks for no more than a round trip, or 25 ms if
/// that is longer. The session's receipts acknowledge motion earlier, and QUIC repeats only
/// messages.
const ACKNOWLEDGE_WITHIN: Duration = Duration::from_millis(300);

/// The settings of a server: clients acknowledge rarely, and are asked for a sign of life if they
/// send nothing.
pub(crate) fn server_transport_config(congestion: Congestion, budget: Budget) -> quinn::TransportConfig {
    let mut config = transport_config(congestion, budget);
    let mut acknowledgements = ack_frequency();
    acknowledgements.max_ack_delay(Some(ACKNOWLEDGE_WITHIN));
    config.keep_alive_interval(Some(KEEP_ALIVE_EVERY)).ack_frequency_config(Some(acknowledgements));
    config
}

/// Acknowledgements need few packets of their own: they ride on whatever leaves within the 25 ms
/// that QUIC waits. A receiver acknowledges earlier only after a burst of ten packets.
fn ack_frequency() -> quinn::AckFrequencyConfig {
    let mut config = quinn::AckFrequencyConfig::default();
    config.ack_eliciting_threshold(VarInt::from_u32(10));
    config
}

impl Connection {
    pub(crate) fn quic(quic: quinn::Connection) -> Self {
        Self {
            empty_buffer_space: quic.datagram_send_buffer_space(),
            quic,
            #[cfg(feature = "web")]
            web: None,
            sealed: None,
            closed_for: OnceLock::new(),
        }
    }

    /// Uses sealed datagrams on the socket, if the peer knows them.
    pub(crate) fn with_sealed(self, socket: &Arc<SortingSocket>) -> Self {
        let handshake = self.quic.handshake_data().and_then(|data| data.downcast::<HandshakeData>().ok());
        let is_known = handshake.is_some_and(|data| data.protocol.as_deref() == Some(ALPN_SEALED));
        let sealed = is_known.then(|| SealedCarrier::attach(socket, self.quic.clone()));
        Self { sealed, ..self }
    }

    /// What was sent and received beside QUIC. `None` if the server has not offered it.
    pub(crate) fn sealed_statistics(&self) -> Option<LinkStatistics> {
        self.sealed.as_ref().and_then(|sealed| sealed.statistics())
    }

    #[cfg(feature = "web")]
    pub(crate) fn web(web: wtransport::Connection) -> Self {
        let quic = Self::quic(web.quic_connection().clone());
        Self { web: Some(web), ..quic }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.quic.remote_address()
    }

    pub(crate) fn quic_statistics(&self) -> quinn::ConnectionStats {
        self.quic.stats()
    }

    /// Whether the last datagram has left.
    pub(crate) fn is_clear(&self) -> bool {
        self.quic.datagram_send_buffer_space() >= self.empty_buffer_space
    }

    /// The largest datagram that fits into a packet. `None` if the peer accepts no datagrams.
    pub(crate) fn datagram_bytes_max(&self) -> Option<usize> {
        #[cfg(feature = "web")]
        if let Some(web) = &self.web {
            return web.max_datagram_size();
        }
        self.quic.max_datagram_size()
    }

    /// Sends a datagram. If the path has just become narrower, the datagram is lost. Returns
    /// whether it has left already, beside QUIC.
    pub(crate) fn send_datagram(&self, bytes: Vec<u8>) -> bool {
        #[cfg(feature = "web")]
        if let Some(web) = &self.web {
            drop(web.send_datagram(bytes));
            return false;
        }
        if self.sealed.as_ref().is_some_and(|sealed| sealed.send(&bytes)) {
            return true;
        }
        drop(self.quic.send_datagram(Bytes::from(bytes)));
        false
    }

    pub(crate) async fn read_datagram(&self) -> Result<Bytes, ConnectionLost> {
        #[cfg(feature = "web")]
        if let Some(web) = &self.web {
            return Ok(web.receive_datagram().await?.payload());
        }
        let Some(sealed) = &self.sealed else { return Ok(self.quic.read_datagram().await?) };
        loop {
            let bytes = tokio::select! {
                read = self.quic.read_datagram() => read?,
                bytes = sealed.next() => return Ok(bytes),
            };
            if !ControlDatagram::is_control(&bytes) {
                return Ok(bytes);
            }
            sealed.on_control(&bytes);
        }
    }

    /// Keeps the path of sealed datagrams alive. Never completes.
    pub(crate) async fn run_sealed(&self) {
        match &self.sealed {
            Some(sealed) => sealed.run().await,
            None => std::future::pending().await,
        }
    }

    pub(crate) async fn open_stream(&self) -> Result<(SendStream, ReceiveStream), ConnectionLost> {
        #[cfg(feature = "web")]
        if let Some(web) = &self.web {
            let (sending, receiving) = web.open_bi().await?.await?;
            return Ok((SendStream::Web(sending), ReceiveStream::Web(receiving)));
        }
        let (sending, receiving) = self.quic.open_bi().await?;
        Ok((SendStream::Quic(sending), ReceiveStream::Quic(receiving)))
    }

    /// Sends an unordered message on a stream of its own, so that it waits for no other message.
    pub(crate) async fn send_unordered(&self, bytes: &[u8]) -> Result<(), ConnectionLost> {
        let mut stream = self.open_unordered().await?;
        stream.write(bytes).await?;
        Ok(stream.quic().finish()?)
    }

    async fn open_unordered(&self) -> Result<SendStream, ConnectionLost> {
        #[cfg(feature = "web")]
        if let Some(web) = &self.web {
            return Ok(SendStream::Web(web.open_uni().await?.await?));
        }
        Ok(SendStream::Quic(self.quic.open_uni().await?))
    }

    async fn accept_unordered(&self) -> Result<ReceiveStream, ConnectionLost> {
        #[cfg(feature = "web")]
        if let Some(web) = &self.web {
            return Ok(ReceiveStream::Web(web.accept_uni().await?));
        }
        Ok(ReceiveStream::Quic(self.quic.accept_uni().await?))
    }

    pub(crate) fn close(&self, reason: CloseReason) {
        let _ = self.closed_for.set(reason);
        self.quic.close(VarInt::from_u32(reason.code().into()), reason.to_string().as_bytes());
    }

    /// The reason that the peer gave when it closed the connection.
    pub(crate) fn reason(&self) -> Option<CloseReason> {
        close_reason(&self.quic.close_reason()?)
    }

    /// Why the connection ended, after its handshake.
    pub(crate) fn problem(&self) -> ConnectionProblem {
        self.quic.close_reason().map_or(ConnectionProblem::Lost, |error| {
            ConnectionProblem::of_quic(&error, self.closed_for.get().copied(), false)
        })
    }
}

/// For a server on quinn.
#[cfg(feature = "peer")]
impl Connection {
    pub(crate) fn transport(&self) -> Transport {
        #[cfg(feature = "web")]
        if self.web.is_some() {
            return Transport::WebTransport;
        }
        Transport::Quic
    }

    /// The fingerprint of the peer's certificate, if this end asked for one.
    pub(crate) fn fingerprint(&self) -> Option<Fingerprint> {
        proven_fingerprint(self.quic.peer_identity())
    }

    pub(crate) fn round_trip(&self) -> Span {
        Span::from_micros(i64::try_from(self.quic.rtt().as_micros()).unwrap_or(i64::MAX))
    }

    /// Waits for the ordered stream at the server's end. It exists once the client has written.
    pub(crate) async fn accept_stream(&self) -> Result<(SendStream, ReceiveStream), ConnectionLost> {
        #[cfg(feature = "web")]
        if let Some(web) = &self.web {
            let (sending, receiving) = web.accept_bi().await?;
            return Ok((SendStream::Web(sending), ReceiveStream::Web(receiving)));
        }
        let (sending, receiving) = self.quic.accept_bi().await?;
        Ok((SendStream::Quic(sending), ReceiveStream::Quic(receiving)))
    }
}

/// The reason that the peer gave when it closed the connection.
pub(crate) fn close_reason(error: &quinn::ConnectionError) -> Option<CloseReason> {
    let quinn::ConnectionError::ApplicationClosed(close) = error else { return None };
    u8::try_from(close.error_code.into_inner()).ok().and_then(CloseReason::from_code)
}

/// The fingerprint of the certificate whose key the peer has proven to hold, as QUIC names it.
pub(crate) fn proven_fingerprint(identity: Option<Box<dyn Any>>) -> Option<Fingerprint> {
    let chain = identity?.downcast::<Vec<CertificateDer<'static>>>().ok()?;
    chain.first().map(Fingerprint::of)
}

impl SendStream {
    pub(crate) async fn write(&mut self, bytes: &[u8]) -> Result<(), ConnectionLost> {
        Ok(self.quic().write_all(bytes).await?)
    }

    fn quic(&mut self) -> &mut quinn::SendStream {
        match self {
            Self::Quic(stream) => stream,
            #[cfg(feature = "web")]
            Self::Web(stream) => stream.quic_stream_mut(),
        }
    }
}

impl ReceiveStream {
    fn quic(&mut self) -> &mut quinn::RecvStream {
        match self {
            Self::Quic(stream) => stream,
            #[cfg(feature = "web")]
            Self::Web(stream) => stream.quic_stream_mut(),
        }
    }
}

/// Hands arrivals to `inbound` until the connection ends. Returns the reason that the peer gave.
pub(crate) async fn listen<I: Inbound>(
    connection: &Arc<Connection>,
    stream: ReceiveStream,
    inbound: &Arc<I>,
) -> Option<CloseReason> {
    // Tasks of their own, which end with this set: streams rarely have something to read, and are
    // not asked with every datagram.
    let mut tasks = JoinSet::new();
    let (reading, heard) = (Arc::clone(connection), Arc::clone(inbound));
    tasks.spawn(async move { listen_to_datagrams(&reading, heard.as_ref()).await });
    if connection.sealed.is_some() {
        let sealing = Arc::clone(connection);
        tasks.spawn(async move { sealing.run_sealed().await });
    }
    let violation = tokio::select! {
        _ = tasks.join_next() => None,
        violation = listen_to_stream(stream, inbound.as_ref()) => violation,
        violation = listen_to_unordered(connection, inbound) => violation,
    };
    if let Some(reason) = violation {
        inbound.on_violation(reason);
        connection.close(reason);
    }
    connection.reason()
}

/// Datagrams of one peer that are handled in a second, and at once. An honest peer sends one per
/// frame and a few more. Datagrams beyond this are dropped unread, as a full link would drop them.
pub(crate) const DATAGRAMS_PER_SEC: f64 = 1_000.0;

async fn listen_to_datagrams(connection: &Connection, inbound: &impl Inbound) {
    let mut limit = TokenBucket::full(DATAGRAMS_PER_SEC);
    while let Ok(bytes) = connection.read_datagram().await {
        if limit.take(1.0, DATAGRAMS_PER_SEC, DATAGRAMS_PER_SEC) {
            inbound.on_datagram(&bytes);
        }
    }
}

/// Returns a violation if the ordered stream ends before its connection.
async fn listen_to_stream(mut stream: ReceiveStream, inbound: &impl Inbound) -> Option<CloseReason> {
    loop {
        match stream.quic().read_chunk(STREAM_MESSAGE_BYTES_MAX, true).await {
            Ok(Some(chunk)) => inbound.on_stream(&chunk.bytes),
            Ok(None) | Err(quinn::ReadError::Reset(_)) => return Some(CloseReason::OutOfPlace),
            Err(_) => return None,
        }
    }
}

/// Reads unordered messages side by side. The number of streams that a peer may open bounds them.
async fn listen_to_unordered<I: Inbound>(connection: &Connection, inbound: &Arc<I>) -> Option<CloseReason> {
    let mut unordered = JoinSet::new();
    loop {
        tokio::select! {
            accepted = connection.accept_unordered() => {
                let Ok(stream) = accepted else { return None };
                unordered.spawn(read_unordered(stream, Arc::clone(inbound)));
            }
            Some(violation) = unordered.join_next() => {
                if let Ok(Some(reason)) = violation {
                    return Some(reason);
                }
            }
        }
    }
}

async fn read_unordered<I: Inbound>(mut stream: ReceiveStream, inbound: Arc<I>) -> Option<CloseReason> {
    match stream.quic().read_to_end(UNORDERED_BYTES_MAX).await {
        Ok(bytes) => {
            inbound.on_unordered(&bytes);
            None
        }
        Err(quinn::ReadToEndError::TooLong) => Some(CloseReason::Malformed),
        Err(quinn::ReadToEndError::Read(_)) => None,
    }
}
