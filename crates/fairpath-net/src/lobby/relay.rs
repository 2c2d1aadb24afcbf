//! Carries packets between two peers that cannot reach each other.
//!
//! Each end has a port of its own. The port takes packets only from the IP address that the lobby
//! has proven for that end, and sends them to the address from which the other end last sent. The
//! packets are QUIC between the two ends: a relay can only drop them, and speaks no QUIC itself.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::net::UdpSocket;
use tokio::task::JoinHandle;

use crate::lock;
use crate::token_bucket::TokenBucket;

/// One end of a relay. The one with the lower fingerprint is `Lower`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RelayedEnd {
    Lower,
    Upper,
}

#[derive(Debug)]
pub(super) struct PacketRelay {
    ports: [u16; 2],
    carrying: JoinHandle<()>,
}

/// Bytes carried each way per second: two sessions' budgets, twice for QUIC. More is dropped.
const BYTES_PER_SEC: f64 = 128_000.0;
const BYTES_BURST: f64 = 64_000.0;
/// Longest packet that is carried. No path that we use has longer ones.
const PACKET_BYTES_MAX: usize = 2048;
/// A relay that carries no packet for this long ends. QUIC itself gives up after 10 s.
const SILENCE_MAX: Duration = Duration::from_secs(30);

impl PacketRelay {
    /// Opens two ports on `here` for ends at these addresses. Must be called inside a runtime.
    pub(super) fn open(here: IpAddr, lower: IpAddr, upper: IpAddr) -> io::Result<Self> {
        let bind = || -> io::Result<UdpSocket> {
            let socket = std::net::UdpSocket::bind((here, 0))?;
            socket.set_nonblocking(true)?;
            UdpSocket::from_std(socket)
        };
        let (one, other) = (Arc::new(Port::new(bind()?, lower)), Arc::new(Port::new(bind()?, upper)));
        let ports = [one.socket.local_addr()?.port(), other.socket.local_addr()?.port()];
        let carrying = tokio::spawn(async move {
            tokio::select! {
                () = carry(&one, &other) => {}
                () = carry(&other, &one) => {}
            }
        });
        Ok(Self { ports, carrying })
    }

    pub(super) fn port(&self, end: RelayedEnd) -> u16 {
        self.ports[end as usize]
    }

    pub(super) fn is_alive(&self) -> bool {
        !self.carrying.is_finished()
    }
}

impl Drop for PacketRelay {
    fn drop(&mut self) {
        self.carrying.abort();
    }
}

#[derive(Debug)]
struct Port {
    socket: UdpSocket,
    allowed: IpAddr,
    /// The source of the last packet.
    end: Mutex<Option<SocketAddr>>,
}

impl Port {
    fn new(socket: UdpSocket, allowed: IpAddr) -> Self {
        Self { socket, allowed: allowed.to_canonical(), end: Mutex::new(None) }
    }

    fn end(&self) -> Option<SocketAddr> {
        *lock(&self.end)
    }
}

/// Carries packets from one port to the end behind the other, until none has come for long.
async fn carry(from: &Port, to: &Port) {
    let mut packet = [0; PACKET_BYTES_MAX];
    let mut allowance = TokenBucket::full(BYTES_BURST);
    let mut heard_at = Instant::now();
    loop {
        let left = SILENCE_MAX.saturating_sub(heard_at.elapsed());
        let Ok(received) = tokio::time::timeout(left, from.socket.recv_from(&mut packet)).await else {
            return;
        };
        // An error of a single packet, such as a closed port, does not end the relay.
        let Ok((length, source)) = received else { continue };
        if source.ip().to_canonical() != from.allowed {
            continue;
        }
        heard_at = Instant::now();
        *lock(&from.end) = Some(source);
        if let Some(end) = to.end()
            && allowance.take(length as f64, BYTES_PER_SEC, BYTES_BURST)
        {
            let _ = to.socket.send_to(&packet[..length], end).await;
        }
    }
}
