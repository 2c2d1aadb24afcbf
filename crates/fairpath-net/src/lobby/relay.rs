//! Carries packets between two peers that cannot reach each other.
//!
//! Each end has a port of its own. The port takes packets only from the IP address that the lobby
//! has proven for that end. They may come from another UDP port than the end's connection to the
//! lobby, because some address translators give every destination a port of its own; then that port
//! is proven first, and is sent three times the bytes that came from there until it is. The packets
//! are QUIC between the two ends: a relay can only drop them.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::net::UdpSocket;
use tokio::task::JoinHandle;

use crate::identity::unguessable;
use crate::lock;
use crate::proven::ClientAddress;
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
    /// Opens two ports on `here` for ends whose connections to the lobby come from these addresses.
    /// Must be called inside a runtime.
    pub(super) fn open(here: IpAddr, lower: SocketAddr, upper: SocketAddr) -> io::Result<Self> {
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
    end: Mutex<End>,
}

/// One end, as its port knows it.
#[derive(Debug)]
struct End {
    allowed: IpAddr,
    address: ClientAddress,
    /// The source of the end's packets: the newest proven one, or the newest until one is proven.
    route: Option<SocketAddr>,
    probe: Option<Probe>,
}

/// A question to an address that is not proven.
#[derive(Debug)]
struct Probe {
    to: SocketAddr,
    names: [u8; 16],
    asked_at: Instant,
}

/// What a port does with a packet.
#[derive(Debug, PartialEq, Eq)]
enum Arrival {
    Carry,
    /// Carry it, and send a probe with these names to its source.
    CarryAndAsk([u8; 16]),
    Drop,
}

/// Pause between two probes of one address.
const ASK_EVERY: Duration = Duration::from_millis(200);

impl Port {
    fn new(socket: UdpSocket, lobby_sees: SocketAddr) -> Self {
        Self { socket, end: Mutex::new(End::new(lobby_sees)) }
    }
}

impl End {
    fn new(lobby_sees: SocketAddr) -> Self {
        let allowed = lobby_sees.ip().to_canonical();
        let address = ClientAddress::proven(SocketAddr::new(allowed, lobby_sees.port()));
        Self { allowed, address, route: None, probe: None }
    }

    fn on_packet(&mut self, source: SocketAddr, packet: &[u8], now: Instant) -> Arrival {
        let source = SocketAddr::new(source.ip().to_canonical(), source.port());
        if source.ip() != self.allowed {
            return Arrival::Drop;
        }
        if let Some(probe) = self.probe.take_if(|probe| probe.to == source && is_answer(packet, probe.names))
        {
            self.address.prove(probe.to);
            self.route = Some(probe.to);
            return Arrival::Drop;
        }
        self.address.on_received(source, packet.len());
        if self.address.is_proven(source) {
            self.route = Some(source);
            return Arrival::Carry;
        }
        if self.route.is_none_or(|route| !self.address.is_proven(route)) {
            self.route = Some(source);
        }
        let known = self.probe.as_ref().filter(|probe| probe.to == source);
        let is_early = known.is_some_and(|probe| now.saturating_duration_since(probe.asked_at) < ASK_EVERY);
        if is_early || !self.address.may_send(source, PROBE_BYTES) {
            return Arrival::Carry;
        }
        // The same names: the answer to an earlier probe may be under way.
        let names = known.map_or_else(unguessable, |probe| probe.names);
        self.probe = Some(Probe { to: source, names, asked_at: now });
        Arrival::CarryAndAsk(names)
    }

    /// The address to send a packet of this size to.
    fn destination(&mut self, bytes: usize) -> Option<SocketAddr> {
        let route = self.route?;
        self.address.may_send(route, bytes).then_some(route)
    }
}

/// The shortest first packet that a QUIC server answers.
const PROBE_BYTES: usize = 1200;
/// A version of QUIC that does not exist (RFC 9000, section 15).
const NO_VERSION: [u8; 4] = [0x5a, 0x6a, 0x7a, 0x8a];

/// A first packet of QUIC in a version that does not exist. Every peer is a QUIC server, which
/// answers it with the versions that it knows, and with both connection ids. So a relay proves an
/// address without a word of its own protocol.
fn probe_packet(names: [u8; 16]) -> Vec<u8> {
    let (destination, source) = names.split_at(8);
    let mut packet = [&[0xc0], &NO_VERSION[..], &[8], destination, &[8], source].concat();
    packet.resize(PROBE_BYTES, 0);
    packet
}

/// Whether this is the answer to the probe with these names.
fn is_answer(packet: &[u8], names: [u8; 16]) -> bool {
    let (destination, source) = names.split_at(8);
    let expected = [&[0; 4], &[8][..], source, &[8], destination].concat();
    packet.first().is_some_and(|first| first & 0x80 != 0) && packet[1..].starts_with(&expected)
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
        let packet = &packet[..length];
        let arrival = lock(&from.end).on_packet(source, packet, Instant::now());
        if let Arrival::CarryAndAsk(names) = arrival {
            let _ = from.socket.send_to(&probe_packet(names), source).await;
        }
        if arrival == Arrival::Drop {
            continue;
        }
        heard_at = Instant::now();
        let destination = lock(&to.end).destination(length);
        if let Some(destination) = destination
            && allowance.take(length as f64, BYTES_PER_SEC, BYTES_BURST)
        {
            let _ = to.socket.send_to(packet, destination).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(port: u16) -> SocketAddr {
        ([192, 0, 2, 7], port).into()
    }

    fn answer(names: [u8; 16]) -> Vec<u8> {
        let (destination, source) = names.split_at(8);
        [&[0xd3, 0, 0, 0, 0, 8], source, &[8], destination, &[0, 0, 0, 1]].concat()
    }

    #[test]
    fn an_end_at_the_address_that_the_lobby_sees_is_sent_everything() {
        let (mut end, now) = (End::new(at(1)), Instant::now());
        assert_eq!(end.destination(100), None, "it may not listen yet");
        assert_eq!(end.on_packet(at(1), &[0; 1200], now), Arrival::Carry);
        assert_eq!(end.destination(1_000_000), Some(at(1)));
        assert_eq!(end.on_packet(([192, 0, 2, 8], 1).into(), &[0; 1200], now), Arrival::Drop);
    }

    #[test]
    fn another_port_is_asked_and_gets_three_times_its_bytes_until_it_answers() {
        let (mut end, now) = (End::new(at(1)), Instant::now());
        let Arrival::CarryAndAsk(names) = end.on_packet(at(2), &[0; 1200], now) else { panic!("no probe") };
        assert_eq!(end.destination(1200), Some(at(2)));
        assert_eq!(end.destination(1200), Some(at(2)));
        assert_eq!(end.destination(1), None, "with the probe these are 3600 bytes");
        assert_eq!(end.on_packet(at(2), &answer([7; 16]), now), Arrival::Carry, "a guess is a packet");
        assert_eq!(end.on_packet(at(2), &answer(names), now), Arrival::Drop);
        assert_eq!(end.destination(1_000_000), Some(at(2)));
    }

    #[test]
    fn packets_stay_with_a_proven_port_whatever_comes_from_others() {
        let (mut end, now) = (End::new(at(1)), Instant::now());
        end.on_packet(at(1), &[0; 1200], now);
        for port in 2..100 {
            end.on_packet(at(port), &[0; 60], now);
            assert_eq!(end.destination(1200), Some(at(1)), "a claim moves nothing");
        }
        let Arrival::CarryAndAsk(names) = end.on_packet(at(200), &[0; 1200], now) else { panic!("no probe") };
        assert_eq!(end.destination(1200), Some(at(1)));
        assert_eq!(end.on_packet(at(201), &answer(names), now), Arrival::Carry, "from elsewhere");
        assert_eq!(end.on_packet(at(200), &answer(names), now), Arrival::Drop);
        assert_eq!(end.destination(1200), Some(at(200)));
    }
}
