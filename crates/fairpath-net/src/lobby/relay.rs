//! Two ports, between which packets are carried for a pair that cannot reach each other.
//!
//! Each end has a port of its own, takes packets only from the address that the lobby has seen that
//! end at, and sends them to where the other end last sent from. What is carried is QUIC between
//! the two: a relay can drop it, and nothing else.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::net::UdpSocket;
use tokio::task::JoinHandle;

use super::server::Allowance;

/// Which end, by the order of their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RelayedEnd {
    Lower,
    Upper,
}

/// Carries packets between two.
#[derive(Debug)]
pub(super) struct PacketRelay {
    ports: [u16; 2],
    carrying: JoinHandle<()>,
}

/// What is carried each way in a second: two sessions' budgets, twice over for what QUIC adds. More
/// is dropped, as by any link.
const BYTES_PER_SEC: f64 = 128_000.0;
/// And at once.
const BYTES_BURST: f64 = 64_000.0;
/// Nothing longer is a packet on any path that we send on.
const PACKET_BYTES_MAX: usize = 2048;
/// A relay that carries nothing for this long ends. QUIC's own patience is 10 s.
const SILENCE_MAX: Duration = Duration::from_secs(30);

impl PacketRelay {
    /// Opens two ports here for two ends that are there. Within a runtime.
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

    /// The port that this end sends to.
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

/// One end's port.
#[derive(Debug)]
struct Port {
    socket: UdpSocket,
    /// From where packets are taken.
    allowed: IpAddr,
    /// From where the last one came.
    end: Mutex<Option<SocketAddr>>,
}

impl Port {
    fn new(socket: UdpSocket, allowed: IpAddr) -> Self {
        Self { socket, allowed: allowed.to_canonical(), end: Mutex::new(None) }
    }

    fn end(&self) -> Option<SocketAddr> {
        *self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Carries what comes at one port to the end behind the other, until nothing comes.
async fn carry(from: &Port, to: &Port) {
    let mut packet = [0; PACKET_BYTES_MAX];
    let mut allowance = Allowance::full(BYTES_BURST);
    let mut heard_at = Instant::now();
    loop {
        let left = SILENCE_MAX.saturating_sub(heard_at.elapsed());
        let Ok(received) = tokio::time::timeout(left, from.socket.recv_from(&mut packet)).await else {
            return;
        };
        // Errors of single packets, such as a port that was closed, are no reason to end.
        let Ok((length, source)) = received else { continue };
        if source.ip().to_canonical() != from.allowed {
            continue;
        }
        heard_at = Instant::now();
        *from.end.lock().unwrap_or_else(PoisonError::into_inner) = Some(source);
        if let Some(end) = to.end()
            && allowance.take_many(length as f64, BYTES_PER_SEC, BYTES_BURST)
        {
            let _ = to.socket.send_to(&packet[..length], end).await;
        }
    }
}
