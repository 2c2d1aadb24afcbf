//! The least there can be: a socket, everybody's address, and one call for all of them.

use std::io::IoSlice;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::time::Duration;

use ::fairpath::vector::Vec2;
use fairpath_bench::{TankRecording, machine};
use nix::cmsg_space;
use nix::sys::socket::{ControlMessage, MsgFlags, MultiHeaders, SockaddrStorage, sendmmsg};

use super::{ServerSide, ReceiverSide, any_port};
use crate::roles::{ConnectInfo, RunTerms};
use crate::snapshot::{ReceivedStates, pack};

/// One datagram holds what Ethernet carries, without IP and UDP.
const DATAGRAM_BYTES_MAX: usize = 1472;
/// The kernel cuts at most so many datagrams out of one buffer.
const SEGMENTS_MAX: usize = 64;

/// The sending loop: no connection, no encryption, no receipts, and the same bytes for everybody.
pub(super) struct RawServer {
    socket: UdpSocket,
    receivers: Vec<Option<SockaddrStorage>>,
    headers: MultiHeaders<SockaddrStorage>,
    is_together: bool,
}

impl RawServer {
    /// All states in as few datagrams as there can be.
    pub(super) fn together(terms: &RunTerms) -> Self {
        Self::new(terms, true)
    }

    /// A datagram for each state; the kernel cuts them out of one buffer.
    pub(super) fn one_by_one(terms: &RunTerms) -> Self {
        Self::new(terms, false)
    }

    fn new(terms: &RunTerms, is_together: bool) -> Self {
        let socket = UdpSocket::bind(any_port()).expect("the loopback has ports");
        socket.set_nonblocking(true).expect("sockets can be that");
        let room = (!is_together).then(|| cmsg_space!(u16));
        Self {
            socket,
            receivers: Vec::new(),
            headers: MultiHeaders::preallocate(terms.receivers, room),
            is_together,
        }
    }

    /// Who says anything is a receiver.
    fn accept(&mut self) {
        let mut hello = [0; 16];
        while let Ok((_, from)) = self.socket.recv_from(&mut hello) {
            let from = Some(SockaddrStorage::from(from));
            if !self.receivers.contains(&from) {
                self.receivers.push(from);
            }
        }
    }

    /// The same bytes to everybody, cut into datagrams of `segment` bytes if that is given.
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
        let sent = sent.expect("the loopback takes it").count();
        assert_eq!(sent, self.receivers.len(), "a datagram to each");
    }
}

impl ServerSide for RawServer {
    fn invitation(&self) -> (SocketAddr, String) {
        (self.socket.local_addr().expect("it is bound"), String::new())
    }

    fn receivers(&mut self) -> usize {
        self.accept();
        self.receivers.len()
    }

    fn tick(&mut self, scene: &TankRecording, _: Duration, at: Duration) {
        if self.receivers.is_empty() {
            return;
        }
        if self.is_together {
            for packet in pack(scene, at, DATAGRAM_BYTES_MAX) {
                self.send(&packet, None);
            }
        } else {
            let each = pack(scene, at, 22);
            let segment = each[0].len() as u16;
            for some in each.chunks(SEGMENTS_MAX) {
                self.send(&some.concat(), Some(segment));
            }
        }
    }
}

/// A socket, and what came on it.
struct RawReceiver {
    socket: UdpSocket,
    snapshot: ReceivedStates,
    buffer: Vec<u8>,
    has_heard: bool,
}

pub(super) fn watch(terms: &RunTerms, invitation: &ConnectInfo, _: u64) -> Box<dyn ReceiverSide> {
    let socket = UdpSocket::bind(any_port()).expect("the loopback has ports");
    socket.set_nonblocking(true).expect("sockets can be that");
    socket.connect(invitation.address).expect("the server is there");
    let snapshot = ReceivedStates::of(terms.tanks);
    Box::new(RawReceiver { socket, snapshot, buffer: vec![0; 65_536], has_heard: false })
}

impl ReceiverSide for RawReceiver {
    fn frame(&mut self, began: Duration, shown: &mut [Option<Vec2>]) -> Duration {
        while let Ok(length) = self.socket.recv(&mut self.buffer) {
            self.snapshot.take(&self.buffer[..length]);
            self.has_heard = true;
        }
        if !self.has_heard {
            // Until an answer comes it may have been lost.
            self.socket.send(b"here").expect("the server is there");
        }
        let now = machine::now() - began;
        self.snapshot.show(now, shown);
        now
    }
}
