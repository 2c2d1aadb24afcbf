//! One connection to a peer, whatever it is made of: QUIC of our own, or a browser's WebTransport.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use fairpath::session::limits::{CALL_BYTES_MAX, STREAM_MESSAGE_BYTES_MAX, UNORDERED_WINDOW};
use fairpath::session::{Budget, CloseReason};
use fairpath::time::Span;
use quinn::VarInt;
use rustls::pki_types::CertificateDer;
use tokio::task::JoinSet;

use crate::congestion::Congestion;
use crate::identity::Fingerprint;

/// What the two ends of a native connection call what they speak.
pub(crate) const ALPN_NATIVE: &[u8] = b"fairpath/1";
/// What browsers call it.
pub(crate) const ALPN_WEB: &[u8] = wtransport::tls::WEBTRANSPORT_ALPN;

/// What a connection is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// QUIC, with a protocol of our own.
    Quic,
    /// WebTransport, as browsers have it.
    WebTransport,
}

/// One connection.
#[derive(Debug)]
pub(crate) struct Link {
    quic: quinn::Connection,
    web: Option<wtransport::Connection>,
    /// What quinn's buffer has room for when nothing waits in it.
    empty_buffer_space: usize,
}

/// A stream to write to.
#[derive(Debug)]
pub(crate) enum Sending {
    Quic(quinn::SendStream),
    Web(wtransport::SendStream),
}

/// A stream to read from.
#[derive(Debug)]
pub(crate) enum Receiving {
    Quic(quinn::RecvStream),
    Web(wtransport::RecvStream),
}

/// The connection is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConnectionLost;

/// Whoever is told what arrives.
pub(crate) trait Inbound: Send + Sync + 'static {
    fn on_stream(&self, bytes: &[u8]);
    fn on_unordered(&self, bytes: &[u8]);
    fn on_datagram(&self, bytes: &[u8]);
    /// The connection is closed because the peer did what no honest one does.
    fn on_broken(&self, _: CloseReason) {}
}

/// A message is a call and a few numbers.
const UNORDERED_BYTES_MAX: usize = CALL_BYTES_MAX + 64;
/// Streams that WebTransport needs for itself, both kinds.
const STREAMS_OF_WEB: u32 = 8;
/// Bytes that a peer may have under way on streams: two full windows of unordered messages of
/// middling size, and the ordered stream.
const RECEIVE_WINDOW_BYTES: u32 = 512 * 1024;
const _: () = assert!(RECEIVE_WINDOW_BYTES as usize > 8 * STREAM_MESSAGE_BYTES_MAX);
/// Room for one datagram of any size that fits into a packet, and never for two of them.
const DATAGRAM_BUFFER_BYTES: usize = 2_048;
/// Datagrams that came and were not read yet: half a second of a full budget. The oldest are
/// dropped first.
const DATAGRAMS_UNREAD_BYTES: usize = 64 * 1024;
/// A connection on which nothing at all comes is dead after this long; the session knows it sooner,
/// by its own silence.
const IDLE_TIMEOUT: Duration = Duration::from_secs(10);

/// How QUIC is to behave for a session.
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

/// Acknowledgements need few packets of their own: what leaves in the 25 ms that QUIC waits takes
/// them along. Only who hears a burst without having anything to say acknowledges it before that.
fn ack_frequency() -> quinn::AckFrequencyConfig {
    let mut config = quinn::AckFrequencyConfig::default();
    config.ack_eliciting_threshold(VarInt::from_u32(10));
    config
}

impl Link {
    pub(crate) fn quic(quic: quinn::Connection) -> Self {
        Self { empty_buffer_space: quic.datagram_send_buffer_space(), quic, web: None }
    }

    pub(crate) fn web(web: wtransport::Connection) -> Self {
        let quic = web.quic_connection().clone();
        Self { empty_buffer_space: quic.datagram_send_buffer_space(), quic, web: Some(web) }
    }

    pub(crate) fn transport(&self) -> Transport {
        if self.web.is_some() { Transport::WebTransport } else { Transport::Quic }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.quic.remote_address()
    }

    /// The certificate whose key the peer has, if it was asked for one.
    pub(crate) fn fingerprint(&self) -> Option<Fingerprint> {
        proven_fingerprint(&self.quic)
    }

    /// There and back, as QUIC measures it.
    pub(crate) fn round_trip(&self) -> Span {
        Span::from_micros(i64::try_from(self.quic.rtt().as_micros()).unwrap_or(i64::MAX))
    }

    /// What QUIC itself counts.
    pub(crate) fn quic_statistics(&self) -> quinn::ConnectionStats {
        self.quic.stats()
    }

    // ── datagrams
    // ───────────────────────────────────────────────────────────────────────────────────────

    /// Whether the last datagram has left.
    pub(crate) fn is_clear(&self) -> bool {
        self.quic.datagram_send_buffer_space() >= self.empty_buffer_space
    }

    /// What fits into one; nothing if the peer takes none.
    pub(crate) fn datagram_bytes_max(&self) -> Option<usize> {
        match &self.web {
            Some(web) => web.max_datagram_size(),
            None => self.quic.max_datagram_size(),
        }
    }

    /// Sends one. A path that just became narrower loses it, as it would have a little later.
    pub(crate) fn send_datagram(&self, bytes: Vec<u8>) {
        match &self.web {
            Some(web) => drop(web.send_datagram(bytes)),
            None => drop(self.quic.send_datagram(Bytes::from(bytes))),
        }
    }

    async fn read_datagram(&self) -> Result<Bytes, ConnectionLost> {
        match &self.web {
            Some(web) => {
                web.receive_datagram().await.map(|datagram| datagram.payload()).map_err(|_| ConnectionLost)
            }
            None => self.quic.read_datagram().await.map_err(|_| ConnectionLost),
        }
    }

    // ── streams
    // ─────────────────────────────────────────────────────────────────────────────────────────

    /// The ordered stream, from the client's end.
    pub(crate) async fn open_stream(&self) -> Result<(Sending, Receiving), ConnectionLost> {
        match &self.web {
            Some(web) => {
                let (sending, receiving) =
                    web.open_bi().await.map_err(|_| ConnectionLost)?.await.map_err(|_| ConnectionLost)?;
                Ok((Sending::Web(sending), Receiving::Web(receiving)))
            }
            None => {
                let (sending, receiving) = self.quic.open_bi().await.map_err(|_| ConnectionLost)?;
                Ok((Sending::Quic(sending), Receiving::Quic(receiving)))
            }
        }
    }

    /// The ordered stream, from the server's end: it is there once the client has said something on
    /// it.
    pub(crate) async fn accept_stream(&self) -> Result<(Sending, Receiving), ConnectionLost> {
        match &self.web {
            Some(web) => {
                let (sending, receiving) = web.accept_bi().await.map_err(|_| ConnectionLost)?;
                Ok((Sending::Web(sending), Receiving::Web(receiving)))
            }
            None => {
                let (sending, receiving) = self.quic.accept_bi().await.map_err(|_| ConnectionLost)?;
                Ok((Sending::Quic(sending), Receiving::Quic(receiving)))
            }
        }
    }

    /// Sends an unordered message: a stream of its own, so that it waits for nothing.
    pub(crate) async fn send_unordered(&self, bytes: &[u8]) -> Result<(), ConnectionLost> {
        let mut stream = match &self.web {
            Some(web) => Sending::Web(
                web.open_uni().await.map_err(|_| ConnectionLost)?.await.map_err(|_| ConnectionLost)?,
            ),
            None => Sending::Quic(self.quic.open_uni().await.map_err(|_| ConnectionLost)?),
        };
        stream.write(bytes).await?;
        stream.quic().finish().map_err(|_| ConnectionLost)
    }

    async fn accept_unordered(&self) -> Result<Receiving, ConnectionLost> {
        match &self.web {
            Some(web) => web.accept_uni().await.map(Receiving::Web).map_err(|_| ConnectionLost),
            None => self.quic.accept_uni().await.map(Receiving::Quic).map_err(|_| ConnectionLost),
        }
    }

    // ── the end
    // ─────────────────────────────────────────────────────────────────────────────────────────

    pub(crate) fn close(&self, reason: CloseReason) {
        self.quic.close(VarInt::from_u32(reason.code().into()), reason.to_string().as_bytes());
    }

    /// Why the peer closed it, if it did and said so.
    pub(crate) fn reason(&self) -> Option<CloseReason> {
        let quinn::ConnectionError::ApplicationClosed(close) = self.quic.close_reason()? else { return None };
        u8::try_from(close.error_code.into_inner()).ok().and_then(CloseReason::from_code)
    }
}

/// The certificate whose key the other end of a connection has proven to have.
pub(crate) fn proven_fingerprint(quic: &quinn::Connection) -> Option<Fingerprint> {
    let chain = quic.peer_identity()?.downcast::<Vec<CertificateDer<'static>>>().ok()?;
    chain.first().map(Fingerprint::of)
}

impl Sending {
    pub(crate) async fn write(&mut self, bytes: &[u8]) -> Result<(), ConnectionLost> {
        self.quic().write_all(bytes).await.map_err(|_| ConnectionLost)
    }

    fn quic(&mut self) -> &mut quinn::SendStream {
        match self {
            Self::Quic(stream) => stream,
            Self::Web(stream) => stream.quic_stream_mut(),
        }
    }
}

impl Receiving {
    fn quic(&mut self) -> &mut quinn::RecvStream {
        match self {
            Self::Quic(stream) => stream,
            Self::Web(stream) => stream.quic_stream_mut(),
        }
    }
}

/// Tells the inbound all that comes, until the connection is gone. The answer is why, if the peer
/// said so.
pub(crate) async fn listen<E: Inbound>(
    link: &Link,
    stream: Receiving,
    inbound: &Arc<E>,
) -> Option<CloseReason> {
    let broken = tokio::select! {
        () = listen_to_datagrams(link, inbound.as_ref()) => None,
        broken = listen_to_stream(stream, inbound.as_ref()) => broken,
        broken = listen_to_unordered(link, inbound) => broken,
    };
    if let Some(reason) = broken {
        inbound.on_broken(reason);
        link.close(reason);
    }
    link.reason()
}

/// Datagrams that are looked at in a second, and at once. An honest peer sends one for each frame
/// and a few more; beyond this they are dropped unread, as a full link would.
const DATAGRAMS_PER_SEC: f64 = 1_000.0;

async fn listen_to_datagrams(link: &Link, inbound: &impl Inbound) {
    let mut tokens = DATAGRAMS_PER_SEC;
    let mut refilled_at = Instant::now();
    while let Ok(bytes) = link.read_datagram().await {
        let elapsed = refilled_at.elapsed().as_secs_f64();
        refilled_at = Instant::now();
        tokens = (tokens + elapsed * DATAGRAMS_PER_SEC).min(DATAGRAMS_PER_SEC);
        if tokens >= 1.0 {
            tokens -= 1.0;
            inbound.on_datagram(&bytes);
        }
    }
}

/// An ordered stream that ends before its connection is not how sessions end.
async fn listen_to_stream(mut stream: Receiving, inbound: &impl Inbound) -> Option<CloseReason> {
    loop {
        match stream.quic().read_chunk(STREAM_MESSAGE_BYTES_MAX, true).await {
            Ok(Some(chunk)) => inbound.on_stream(&chunk.bytes),
            Ok(None) | Err(quinn::ReadError::Reset(_)) => return Some(CloseReason::OutOfPlace),
            Err(_) => return None,
        }
    }
}

/// Unordered messages come side by side; their number is bounded by how many streams the peer may
/// open.
async fn listen_to_unordered<E: Inbound>(link: &Link, inbound: &Arc<E>) -> Option<CloseReason> {
    let mut unordered = JoinSet::new();
    loop {
        tokio::select! {
            accepted = link.accept_unordered() => {
                let Ok(stream) = accepted else { return None };
                unordered.spawn(read_unordered(stream, Arc::clone(inbound)));
            }
            Some(broken) = unordered.join_next() => {
                if let Ok(Some(reason)) = broken {
                    return Some(reason);
                }
            }
        }
    }
}

async fn read_unordered<E: Inbound>(mut stream: Receiving, inbound: Arc<E>) -> Option<CloseReason> {
    match stream.quic().read_to_end(UNORDERED_BYTES_MAX).await {
        Ok(bytes) => {
            inbound.on_unordered(&bytes);
            None
        }
        Err(quinn::ReadToEndError::TooLong) => Some(CloseReason::Malformed),
        Err(quinn::ReadToEndError::Read(_)) => None,
    }
}
