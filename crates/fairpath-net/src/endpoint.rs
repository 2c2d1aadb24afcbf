//! Sockets, and the QUIC settings that every endpoint shares.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Duration;

use quinn::EndpointConfig;
use quinn::crypto::rustls::QuicServerConfig;
#[cfg(any(feature = "lobby", feature = "web"))]
use quinn::{Endpoint, TokioRuntime};
use socket2::{Domain, Protocol, SockRef, Socket, Type};

use crate::driver::workers::{MarkedConnectionIds, Worker};
use crate::identity::{ClientVerifier, Identity};
use crate::server::BindError;

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
    // Every connection proves its address itself: by now, another host may have the address of an
    // earlier one.
    let mut tokens = quinn::ValidationTokenConfig::default();
    tokens.sent(0);
    quic.validation_token_config(tokens);
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
#[cfg(feature = "lobby")]
pub(crate) fn open_endpoint(
    listen: SocketAddr,
    identity: &Identity,
    quic: quinn::ServerConfig,
) -> Result<(tokio::runtime::Runtime, Endpoint, SocketAddr), BindError> {
    let (socket, address) = bind(listen)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(BindError::System)?;
    let endpoint = {
        let _inside = runtime.enter();
        Endpoint::new(endpoint_config(identity, Worker::ALONE), Some(quic), socket, Arc::new(TokioRuntime))
    };
    let endpoint = endpoint.map_err(|error| BindError::Listen(listen, error))?;
    Ok((runtime, endpoint, address))
}

/// Opens the socket of a server.
pub(crate) fn bind(listen: SocketAddr) -> Result<(UdpSocket, SocketAddr), BindError> {
    let failed = |error| BindError::Listen(listen, error);
    let socket = UdpSocket::bind(listen).map_err(failed)?;
    // As much as the system allows. Everything works with less, too.
    let _ = SockRef::from(&socket).set_recv_buffer_size(UNREAD_BYTES);
    let address = socket.local_addr().map_err(failed)?;
    Ok((socket, address))
}

/// Opens a socket for each of so many threads, all on one address.
#[cfg(target_os = "linux")]
pub(crate) fn bind_many(listen: SocketAddr, count: usize) -> Result<(Vec<UdpSocket>, SocketAddr), BindError> {
    let (alone, address) = bind(listen)?;
    if count == 1 {
        return Ok((vec![alone], address));
    }
    // Sockets that share a port do not notice another server that shares it as well. The first
    // socket has: it shares nothing.
    drop(alone);
    let open = || {
        let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
        socket.set_reuse_port(true)?;
        let _ = socket.set_recv_buffer_size(UNREAD_BYTES);
        socket.bind(&address.into())?;
        Ok(socket.into())
    };
    let sockets = (0..count).map(|_| open()).collect::<std::io::Result<Vec<UdpSocket>>>();
    Ok((sockets.map_err(|error| BindError::Listen(address, error))?, address))
}

/// Opens the socket of a server. Other systems than Linux do not share a port among sockets by
/// client, so one thread serves.
#[cfg(not(target_os = "linux"))]
pub(crate) fn bind_many(listen: SocketAddr, _: usize) -> Result<(Vec<UdpSocket>, SocketAddr), BindError> {
    let (socket, address) = bind(listen)?;
    Ok((vec![socket], address))
}

/// The settings of an endpoint that listens, on one of a server's threads. Keys come from the
/// identity: a restarted server recognises connection ids of its last run, and answers them with a
/// reset.
pub(crate) fn endpoint_config(identity: &Identity, worker: Worker) -> EndpointConfig {
    let mut config = EndpointConfig::new(Arc::new(identity.reset_key()));
    let id_key = identity.connection_id_key();
    config
        .cid_generator(move || Box::new(MarkedConnectionIds::new(id_key, worker)))
        .min_reset_interval(RESET_EVERY)
        .grease_quic_bit(false);
    config
}
