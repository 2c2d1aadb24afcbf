//! The threads of one server: which connection belongs to which, and how they wake each other.
//!
//! Every thread has a socket of its own on the server's port, and the system gives all packets of
//! one client to one of them. So the thread that accepts a connection receives its packets, until
//! the client's address changes. A connection is marked with its thread: the first byte of its
//! connection ids and of its sealed tag says which it is, and a thread passes on the packets of
//! others.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use quinn_proto::{ConnectionId, ConnectionIdGenerator, HashedConnectionIdGenerator};

use super::port::{Packet, Signal, WakeReason, Waker};
use crate::lock;
use crate::sealed::{Opener, PacketKind};

/// One thread of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Worker {
    pub(super) nth: usize,
    count: usize,
}

impl Worker {
    /// The only thread of a server.
    #[cfg(any(feature = "lobby", test))]
    pub(crate) const ALONE: Self = Self { nth: 0, count: 1 };

    /// The threads of a server, in order.
    pub(crate) fn all(count: usize) -> impl Iterator<Item = Self> {
        (0..count).map(move |nth| Self { nth, count })
    }

    /// Whether a connection id or tag that begins with this byte is one of this thread's.
    pub(super) fn has_marked(self, first_byte: u8) -> bool {
        usize::from(first_byte) % self.count == self.nth
    }
}

/// Makes connection ids that say which thread their connection belongs to.
pub(crate) struct MarkedConnectionIds {
    inner: HashedConnectionIdGenerator,
    worker: Worker,
}

impl MarkedConnectionIds {
    /// `key` comes from the identity: a restarted server recognises connection ids of its last run.
    pub(crate) fn new(key: u64, worker: Worker) -> Self {
        Self { inner: HashedConnectionIdGenerator::from_key(key), worker }
    }
}

impl ConnectionIdGenerator for MarkedConnectionIds {
    fn generate_cid(&mut self) -> ConnectionId {
        loop {
            // The first byte is random.
            let id = self.inner.generate_cid();
            if self.worker.has_marked(id[0]) {
                return id;
            }
        }
    }

    fn validate(&self, id: &ConnectionId) -> Result<(), quinn_proto::InvalidCid> {
        self.inner.validate(id)
    }

    fn cid_len(&self) -> usize {
        self.inner.cid_len()
    }

    fn cid_lifetime(&self) -> Option<std::time::Duration> {
        self.inner.cid_lifetime()
    }
}

/// What the threads of a server share besides the session.
#[derive(Debug)]
pub(super) struct Workers<S> {
    desks: Vec<Desk<S>>,
    /// Held by the thread that has the session.
    turn: Mutex<()>,
}

/// How other threads reach one.
#[derive(Debug)]
struct Desk<S> {
    waker: Arc<Waker<S>>,
    packets: Mutex<VecDeque<PassedPacket>>,
}

/// A packet that another thread has received.
#[derive(Debug)]
pub(super) struct PassedPacket {
    bytes: Vec<u8>,
    from: SocketAddr,
    to: Option<IpAddr>,
    arrived_at: Instant,
}

impl PassedPacket {
    pub(super) fn as_packet(&self) -> Packet<'_> {
        Packet { bytes: &self.bytes, from: self.from, to: self.to, arrived_at: self.arrived_at }
    }
}

/// Packets that wait for their thread. More are lost, as in a full socket.
const PASSED_MAX: usize = 1024;

impl<S: Signal> Workers<S> {
    /// The threads that have these wakers, in order.
    pub(super) fn new(wakers: Vec<Arc<Waker<S>>>) -> Self {
        let desk = |waker| Desk { waker, packets: Mutex::default() };
        Self { desks: wakers.into_iter().map(desk).collect(), turn: Mutex::default() }
    }

    pub(super) fn waker(&self, worker: Worker) -> &Arc<Waker<S>> {
        &self.desks[worker.nth].waker
    }

    /// Wakes every thread.
    pub(super) fn wake_all(&self, reason: WakeReason) {
        self.desks.iter().for_each(|desk| desk.waker.wake(reason));
    }

    /// Wakes every thread but this one.
    pub(super) fn wake_others(&self, worker: Worker, reason: WakeReason) {
        let others = self.desks.iter().enumerate().filter(|(nth, _)| *nth != worker.nth);
        others.for_each(|(_, desk)| desk.waker.wake(reason));
    }

    /// Waits until no other thread has the session. Each has it for one step. The game does not
    /// wait in this queue.
    pub(super) fn take_turn(&self) -> MutexGuard<'_, ()> {
        lock(&self.turn)
    }

    /// Passes a packet on to the thread that its connection belongs to. Returns false if that is
    /// the thread that has received it.
    pub(super) fn pass_on(&self, worker: Worker, packet: &Packet<'_>) -> bool {
        if worker.count == 1 {
            return false;
        }
        let Some(owner) = first_byte_of_id(packet.bytes).map(|byte| usize::from(byte) % worker.count) else {
            return false;
        };
        if owner == worker.nth {
            return false;
        }
        let desk = &self.desks[owner];
        let mut packets = lock(&desk.packets);
        if packets.len() < PASSED_MAX {
            let Packet { bytes, from, to, arrived_at } = *packet;
            packets.push_back(PassedPacket { bytes: bytes.to_vec(), from, to, arrived_at });
        }
        drop(packets);
        desk.waker.wake(WakeReason::Packets);
        true
    }

    /// Takes the packets that other threads have passed on to this one.
    pub(super) fn take_passed(&self, worker: Worker) -> VecDeque<PassedPacket> {
        std::mem::take(&mut lock(&self.desks[worker.nth].packets))
    }
}

/// The first byte of the connection id or tag that a server has chosen. `None` for packets of a
/// handshake: they name ids that clients have chosen, and come from one address.
fn first_byte_of_id(packet: &[u8]) -> Option<u8> {
    match PacketKind::of(packet) {
        PacketKind::QuicShort => packet.get(1).copied(),
        PacketKind::Sealed => Opener::tag_of(packet).ok().map(|tag| tag[0]),
        PacketKind::QuicLong | PacketKind::Other => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_connection_id_belongs_to_one_thread_and_is_recognised_by_all() {
        for count in [1, 2, 3, 8, 64] {
            for worker in Worker::all(count) {
                let mut ids = MarkedConnectionIds::new(7, worker);
                for _ in 0..20 {
                    let id = ids.generate_cid();
                    let owners = Worker::all(count).filter(|it| it.has_marked(id[0])).collect::<Vec<_>>();
                    assert_eq!(owners, [worker]);
                    // A server that starts again with another number of threads recognises it, too.
                    let other = Worker { nth: 0, count: 1 };
                    assert!(MarkedConnectionIds::new(7, other).validate(&id).is_ok());
                    assert!(MarkedConnectionIds::new(8, other).validate(&id).is_err());
                }
            }
        }
    }

    #[test]
    fn packets_of_a_handshake_are_not_passed_on() {
        assert_eq!(first_byte_of_id(&[0xc0, 0, 0, 0, 1, 8, 5]), None);
        assert_eq!(first_byte_of_id(&[0x40, 5, 0]), Some(5));
        assert_eq!(first_byte_of_id(&[0x40]), None);
        assert_eq!(first_byte_of_id(&[]), None);
    }
}
