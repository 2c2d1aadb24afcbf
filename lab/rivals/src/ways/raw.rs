//! The minimum: one socket, a list of addresses, and one system call for all receivers.

use std::io::IoSlice;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::time::Duration;

use ::fairpath::vector::Vec2;
use fairpath_bench::{TankPaths, machine};
use nix::cmsg_space;
use nix::sys::socket::{ControlMessage, MsgFlags, MultiHeaders, SockaddrStorage, sendmmsg};

use super::{ReceiverSide, ServerSide, any_port};
use crate::roles::{ConnectInfo, Terms};
use crate::snapshot::{TankStates, pack};

/// The largest datagram: an Ethernet frame without IP and UDP headers.
const DATAGRAM_BYTES_MAX: usize = 1472;
/// The most datagrams that the kernel cuts out of one buffer.
const SEGMENTS_MAX: usize = 64;

/// The sending loop: no connection, no encryption, no receipts, the same bytes for all receivers.
pub(super) struct RawServer {
    socket: UdpSocket,
    receivers: Vec<Option<SockaddrStorage>>,
    headers: MultiHeaders<SockaddrStorage>,
    is_together: bool,
}

impl RawServer {
    /// Sends all states in as few datagrams as possible.
    pub(super) fn together(terms: &Terms) -> Self {
        Self::new(terms, true)
    }

    /// Sends a datagram for each state. The kernel cuts them out of one buffer.
    pub(super) fn one_by_one(terms: &Terms) -> Self {
        Self::new(terms, false)
    }

    fn new(terms: &Terms, is_together: bool) -> Self {
        let socket = UdpSocket::bind(any_port()).expect("the loopback has a free port");
        socket.set_nonblocking(true).expect("UDP sockets can be non-blocking");
        let room = (!is_together).then(|| cmsg_space!(u16));
        Self {
            socket,
            receivers: Vec::new(),
            headers: MultiHeaders::preallocate(terms.receivers, room),
            is_together,
        }
    }

    /// Adds the sender of every received datagram to the receivers.
    fn accept(&mut self) {
        let mut hello = [0; 16];
        while let Ok((_, from)) = self.socket.recv_from(&mut hello) {
            let from = Some(SockaddrStorage::from(from));
            if !self.receivers.contains(&from) {
                self.receivers.push(from);
            }
        }
    }

    /// Sends the same bytes to every receiver, cut into datagrams of `segment` bytes if given.
    fn send(&mut self, bytes: &[u8], segment: Option<u16>) {
        let slices = [IoSlice::new(bytes)];
        let all = std::iter::repeat_n(&slices, self.receivers.len());
        let cut = segment.as_ref().map(ControlMessage::UdpGsoSegments);
        let sent = sendmmsg(
            self.socket.as_raw_fd(),
            &mut self.headers,
            all,
            &self.receivers,
            cut.as_slice(),
            MsgFlags::empty(),
        );
        let sent = sent.expect("the loopback accepts datagrams").count();
        assert_eq!(sent, self.receivers.len(), "a datagram to each");
    }
}

impl ServerSide for RawServer {
    fn connect_info(&self) -> (SocketAddr, String) {
        (self.socket.local_addr().expect("the socket is bound"), String::new())
    }

    fn receivers(&mut self) -> usize {
        self.accept();
        self.receivers.len()
    }

    fn tick(&mut self, paths: &TankPaths, _: Duration, at: Duration) {
        if self.receivers.is_empty() {
            return;
        }
        if self.is_together {
            for packet in pack(paths, at, DATAGRAM_BYTES_MAX) {
                self.send(&packet, None);
            }
        } else {
            let each = pack(paths, at, 22);
            let segment = each[0].len() as u16;
            for some in each.chunks(SEGMENTS_MAX) {
                self.send(&some.concat(), Some(segment));
            }
        }
    }
}

/// A socket, and the states received on it.
struct RawReceiver {
    socket: UdpSocket,
    snapshot: TankStates,
    buffer: Vec<u8>,
    has_heard: bool,
}

pub(super) fn receiver(terms: &Terms, info: &ConnectInfo, _: u64) -> Box<dyn ReceiverSide> {
    let socket = UdpSocket::bind(any_port()).expect("the loopback has a free port");
    socket.set_nonblocking(true).expect("UDP sockets can be non-blocking");
    socket.connect(info.address).expect("the loopback has the server's port");
    let snapshot = TankStates::of(terms.tanks);
    Box::new(RawReceiver { socket, snapshot, buffer: vec![0; 65_536], has_heard: false })
}

impl ReceiverSide for RawReceiver {
    fn frame(&mut self, began: Duration, shown: &mut [Option<Vec2>]) -> Duration {
        while let Ok(length) = self.socket.recv(&mut self.buffer) {
            self.snapshot.take(&self.buffer[..length]);
            self.has_heard = true;
        }
        if !self.has_heard {
            // The greeting may have been lost until an answer comes.
            self.socket.send(b"here").expect("the loopback has the server's port");
        }
        let now = machine::now() - began;
        self.snapshot.show(now, shown);
        now
    }
}
