//! One system call for the packets of all connections.

use std::io::{self, IoSlice, IoSliceMut};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use nix::errno::Errno;
use nix::libc::{in_addr, in_pktinfo, in6_addr, in6_pktinfo};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::socket::{
    ControlMessage, ControlMessageOwned, MsgFlags, MultiHeaders, RecvMsg, SockaddrStorage, recvmmsg,
    sendmmsg, setsockopt, sockopt,
};
use nix::sys::time::TimeSpec;
use nix::{cmsg_space, libc};
use quinn_udp::{UdpSockRef, UdpSocketState};
use socket2::SockRef;

use super::{Packet, Port, Signal, Sleep, Waker};
use crate::driver::outbox::{OutboundPacket, Outbox};

pub(in crate::driver) struct LinuxPort {
    socket: UdpSocket,
    waker: Arc<Waker<EventFd>>,
    is_ipv4: bool,
    may_fragment: bool,
    unread: Box<[u8]>,
    inbound: MultiHeaders<SockaddrStorage>,
    outbound: MultiHeaders<SockaddrStorage>,
    addresses: Vec<Option<SockaddrStorage>>,
}

/// Packets of one receive call.
const BATCH: usize = 64;
/// Space for one packet. QUIC searches for packets of up to 1452 bytes, and ours are no larger.
const PACKET_BYTES_MAX: usize = 2048;
/// The most that a packet can have waited in the socket. Otherwise the system's clock was set.
const WAITED_MAX: Duration = Duration::from_secs(1);

impl Signal for EventFd {
    fn raise(&self) {
        // It fails only if the counter is full: then the thread is about to wake anyway.
        let _ = self.write(1);
    }
}

impl Port for LinuxPort {
    type Signal = EventFd;

    fn open(socket: UdpSocket) -> io::Result<Self> {
        // Non-blocking, no fragments, local addresses.
        let may_fragment = UdpSocketState::new(UdpSockRef::from(&socket))?.may_fragment();
        let address = socket.local_addr()?;
        // Every packet by itself: clients rarely send two at once. No marks: the window is
        // constant.
        setsockopt(&socket, sockopt::UdpGroSegment, &false)?;
        let _ = SockRef::from(&socket).set_recv_tos_v4(false);
        if address.is_ipv6() {
            let _ = SockRef::from(&socket).set_recv_tclass_v6(false);
        }
        if !address.ip().is_unspecified() {
            // There is one local address.
            match address {
                SocketAddr::V4(_) => setsockopt(&socket, sockopt::Ipv4PacketInfo, &false)?,
                SocketAddr::V6(_) => setsockopt(&socket, sockopt::Ipv6RecvPacketInfo, &false)?,
            }
        }
        setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
        let signal = EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC)?;
        Ok(Self {
            socket,
            waker: Arc::new(Waker::new(signal)),
            is_ipv4: address.is_ipv4(),
            may_fragment,
            unread: vec![0; BATCH * PACKET_BYTES_MAX].into_boxed_slice(),
            inbound: inbound_headers(),
            outbound: MultiHeaders::preallocate(Outbox::PACKETS_MAX, None),
            addresses: Vec::with_capacity(Outbox::PACKETS_MAX),
        })
    }

    fn waker(&self) -> Arc<Waker<EventFd>> {
        Arc::clone(&self.waker)
    }

    fn may_fragment(&self) -> bool {
        self.may_fragment
    }

    fn wait(&mut self, sleep: Sleep) {
        let mut events = PollFlags::empty();
        events.set(PollFlags::POLLIN, sleep.reads);
        events.set(PollFlags::POLLOUT, sleep.writes);
        let signal = self.waker.signal.as_fd();
        let mut sources = [PollFd::new(signal, PollFlags::POLLIN), PollFd::new(self.socket.as_fd(), events)];
        // A socket without events would still report errors, and the wait would return at once.
        let count = if events.is_empty() { 1 } else { 2 };
        let timeout = sleep.until.map(|at| TimeSpec::from(at.saturating_duration_since(Instant::now())));
        // An interruption is a short sleep.
        let _ = ppoll(&mut sources[..count], timeout, None);
        if sources[0].any() == Some(true) {
            let _ = self.waker.signal.read();
        }
    }

    fn receive(&mut self, mut handle: impl FnMut(Packet<'_>)) -> bool {
        let mut slices: Vec<_> =
            self.unread.chunks_exact_mut(PACKET_BYTES_MAX).map(|chunk| [IoSliceMut::new(chunk)]).collect();
        let fd = self.socket.as_raw_fd();
        let received = recvmmsg(fd, &mut self.inbound, slices.iter_mut(), MsgFlags::MSG_DONTWAIT, None);
        // An error belongs to a packet that was sent before, and QUIC notices losses by itself.
        let Ok(received) = received else { return false };
        let (now, wall) = (Instant::now(), SystemTime::now());
        let (mut count, mut is_cut) = (0, false);
        for message in received {
            count += 1;
            let Some(Origin { to, stamp }) = origin(&message) else {
                is_cut = true;
                continue;
            };
            let from = message.address.as_ref().and_then(socket_address);
            let (Some(from), false) = (from, message.flags.contains(MsgFlags::MSG_TRUNC)) else { continue };
            is_cut |= stamp.is_none();
            let waited = stamp.and_then(|stamp| wall.duration_since(UNIX_EPOCH + stamp).ok());
            let waited = waited.filter(|waited| *waited <= WAITED_MAX).unwrap_or_default();
            let arrived_at = now.checked_sub(waited).unwrap_or(now);
            // A packet without bytes has no slice.
            let bytes = message.iovs().next().unwrap_or_default();
            handle(Packet { bytes, from, to, arrived_at });
        }
        if is_cut {
            // The kernel writes lengths into the headers, and the next call takes them for sizes.
            self.inbound = inbound_headers();
        }
        count == BATCH
    }

    fn send(&mut self, outbox: &mut Outbox) {
        while let Some(first) = outbox.unsent().first() {
            let from = first.from;
            let same = outbox.unsent().iter().take_while(|packet| packet.from == from).count();
            match self.send_from(from, &outbox.unsent()[..same]) {
                Ok(sent) => outbox.on_sent(sent),
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN | Errno::ENOBUFS) => return,
                // The first packet cannot leave: no route, or too large.
                Err(_) => outbox.on_sent(1),
            }
        }
    }
}

impl LinuxPort {
    /// Sends packets that leave from the same local address. Returns how many have left.
    fn send_from(&mut self, from: Option<IpAddr>, packets: &[OutboundPacket]) -> nix::Result<usize> {
        self.addresses.clear();
        self.addresses.extend(packets.iter().map(|packet| Some(SockaddrStorage::from(packet.to))));
        let slices: Vec<_> = packets.iter().map(|packet| [IoSlice::new(&packet.bytes)]).collect();
        let (fd, flags) = (self.socket.as_raw_fd(), MsgFlags::MSG_DONTWAIT);
        let Some(from) = from else {
            let none: [ControlMessage<'_>; 0] = [];
            let sent = sendmmsg(fd, &mut self.outbound, &slices, &self.addresses, none, flags)?;
            return Ok(sent.count());
        };
        let (v4, v6);
        let (control, space) = if self.is_ipv4 {
            v4 = pktinfo_v4(from);
            (ControlMessage::Ipv4PacketInfo(&v4), cmsg_space!(in_pktinfo))
        } else {
            v6 = pktinfo_v6(from);
            (ControlMessage::Ipv6PacketInfo(&v6), cmsg_space!(in6_pktinfo))
        };
        let mut headers = MultiHeaders::preallocate(packets.len(), Some(space));
        Ok(sendmmsg(fd, &mut headers, &slices, &self.addresses, [control], flags)?.count())
    }
}

fn inbound_headers() -> MultiHeaders<SockaddrStorage> {
    MultiHeaders::preallocate(BATCH, Some(cmsg_space!(libc::timespec, in_pktinfo, in6_pktinfo)))
}

/// What the kernel says about a packet.
struct Origin {
    to: Option<IpAddr>,
    /// Since 1970.
    stamp: Option<Duration>,
}

/// `None` if it does not fit into the header.
fn origin(message: &RecvMsg<'_, '_, SockaddrStorage>) -> Option<Origin> {
    let mut origin = Origin { to: None, stamp: None };
    for control in message.cmsgs().ok()? {
        match control {
            ControlMessageOwned::ScmTimestampns(stamp) => origin.stamp = Some(Duration::from(stamp)),
            ControlMessageOwned::Ipv4PacketInfo(info) => {
                origin.to = Some(IpAddr::from(info.ipi_addr.s_addr.to_ne_bytes()));
            }
            ControlMessageOwned::Ipv6PacketInfo(info) => {
                origin.to = Some(IpAddr::from(info.ipi6_addr.s6_addr));
            }
            _ => {}
        }
    }
    Some(origin)
}

fn socket_address(address: &SockaddrStorage) -> Option<SocketAddr> {
    let v4 = address.as_sockaddr_in().map(|address| SocketAddr::from(*address));
    v4.or_else(|| address.as_sockaddr_in6().map(|address| SocketAddr::from(*address)))
}

fn pktinfo_v4(from: IpAddr) -> in_pktinfo {
    let IpAddr::V4(from) = from.to_canonical() else { return pktinfo_v4([0, 0, 0, 0].into()) };
    let from = in_addr { s_addr: u32::from_ne_bytes(from.octets()) };
    in_pktinfo { ipi_ifindex: 0, ipi_spec_dst: from, ipi_addr: in_addr { s_addr: 0 } }
}

fn pktinfo_v6(from: IpAddr) -> in6_pktinfo {
    let from = match from {
        IpAddr::V4(from) => from.to_ipv6_mapped(),
        IpAddr::V6(from) => from,
    };
    in6_pktinfo { ipi6_addr: in6_addr { s6_addr: from.octets() }, ipi6_ifindex: 0 }
}
