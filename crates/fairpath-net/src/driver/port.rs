//! A socket, and the sleep of the thread that owns it.
//!
//! Two implementations: on Linux one system call carries packets of all connections
//! (`sendmmsg`, `recvmmsg`); elsewhere each packet has its own.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(any(test, not(target_os = "linux")))]
mod portable;

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Instant;

use super::outbox::Outbox;

#[cfg(target_os = "linux")]
pub(super) use linux::LinuxPort as SystemPort;
#[cfg(not(target_os = "linux"))]
pub(super) use portable::PortablePort as SystemPort;

/// A received UDP datagram.
#[derive(Debug)]
pub(super) struct Packet<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) from: SocketAddr,
    /// The local address that it was sent to, if the socket has several.
    pub(super) to: Option<IpAddr>,
    /// When it arrived: earlier than now, if the thread was asleep.
    pub(super) arrived_at: Instant,
}

/// What ends the sleep of [`Port::wait`], besides the waker.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sleep {
    /// `None`: without a limit.
    pub(super) until: Option<Instant>,
    /// Whether a received packet ends it.
    pub(super) reads: bool,
    /// Whether room for packets that wait to leave ends it.
    pub(super) writes: bool,
}

/// Belongs to the thread that opened it.
pub(super) trait Port: Sized {
    type Signal: Signal;

    fn open(socket: UdpSocket) -> io::Result<Self>;

    /// Returns the handle that other threads wake this one with.
    fn waker(&self) -> Arc<Waker<Self::Signal>>;

    /// Whether the system may split packets. If so, the largest packet cannot be searched for.
    fn may_fragment(&self) -> bool;

    fn wait(&mut self, sleep: Sleep);

    /// Receives a batch of packets. Returns whether more may wait.
    fn receive(&mut self, handle: impl FnMut(Packet<'_>)) -> bool;

    /// Sends as many packets as the system takes. A packet that can never leave is dropped.
    fn send(&mut self, outbox: &mut Outbox);
}

pub(crate) trait Signal: Send + Sync + std::fmt::Debug + 'static {
    fn raise(&self);
}

pub(crate) type SystemSignal = <SystemPort as Port>::Signal;
pub(crate) type SystemWaker = Waker<SystemSignal>;

/// Ends the sleep of the thread.
#[derive(Debug)]
pub(crate) struct Waker<S> {
    /// A bit for each reason to wake since the last `take`.
    pending: AtomicU8,
    signal: S,
}

/// Why the thread is woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WakeReason {
    /// The game has had the session, or asks for something. It ends the thread's rest, too.
    Game = 1,
    /// Another thread has changed the session.
    Session = 2,
    /// Another thread has received packets of this thread's connections.
    Packets = 4,
}

/// The reasons to wake since the last look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct WakeReasons(u8);

impl WakeReasons {
    pub(super) fn has(self, reason: WakeReason) -> bool {
        self.0 & reason as u8 != 0
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl<S: Signal> Waker<S> {
    fn new(signal: S) -> Self {
        Self { pending: AtomicU8::new(0), signal }
    }

    pub(crate) fn wake(&self, reason: WakeReason) {
        // One signal for any number of calls before the thread runs.
        if self.pending.fetch_or(reason as u8, Ordering::AcqRel) & reason as u8 == 0 {
            self.signal.raise();
        }
    }

    pub(super) fn pending(&self) -> WakeReasons {
        WakeReasons(self.pending.load(Ordering::Acquire))
    }

    /// Returns the reasons of all calls since the last `take`.
    pub(super) fn take(&self) -> WakeReasons {
        WakeReasons(self.pending.swap(0, Ordering::AcqRel))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn bound() -> (UdpSocket, SocketAddr) {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("the loopback has a free port");
        let address = socket.local_addr().expect("bound");
        (socket, address)
    }

    fn transmit(to: SocketAddr, size: usize) -> quinn_proto::Transmit {
        quinn_proto::Transmit { destination: to, ecn: None, size, segment_size: None, src_ip: None }
    }

    fn asleep_for(millis: u64, reads: bool) -> Sleep {
        Sleep { until: Some(Instant::now() + Duration::from_millis(millis)), reads, writes: false }
    }

    fn flush(port: &mut impl Port, outbox: &mut Outbox) {
        while !outbox.is_empty() {
            port.wait(Sleep { until: None, reads: false, writes: true });
            port.send(outbox);
        }
    }

    /// Sends packets of many sizes between two ports, and checks bytes, addresses and order.
    fn carries_packets<P: Port>() {
        let ((left, left_at), (right, right_at)) = (bound(), bound());
        let (mut left, mut right) = (P::open(left).expect("opens"), P::open(right).expect("opens"));
        let mut outbox = Outbox::default();
        for size in 0..100usize {
            assert!(outbox.push(|bytes| {
                bytes.resize(size * 14, size as u8);
                Some(transmit(right_at, size * 14))
            }));
        }
        assert!(!outbox.push(|_| None));
        let mut received = Vec::new();
        let before = Instant::now();
        while received.len() < 100 {
            flush(&mut left, &mut outbox);
            right.wait(asleep_for(10_000, true));
            while right.receive(|packet| {
                assert_eq!(packet.from, left_at);
                assert!(packet.arrived_at <= Instant::now());
                received.push(packet.bytes.to_vec());
            }) {}
            assert!(before.elapsed() < Duration::from_secs(60), "{} of 100 packets arrived", received.len());
        }
        assert!(outbox.is_empty());
        for (size, bytes) in received.iter().enumerate() {
            assert_eq!(*bytes, vec![size as u8; size * 14]);
        }
    }

    /// A packet to an impossible address does not keep others from leaving.
    fn skips_impossible_packets<P: Port>() {
        let ((left, _), (right, right_at)) = (bound(), bound());
        let (mut left, mut right) = (P::open(left).expect("opens"), P::open(right).expect("opens"));
        let mut outbox = Outbox::default();
        let nowhere = SocketAddr::from(([127, 0, 0, 1], 0));
        for to in [nowhere, right_at, nowhere] {
            outbox.push(|bytes| {
                bytes.push(7);
                Some(transmit(to, 1))
            });
        }
        flush(&mut left, &mut outbox);
        right.wait(asleep_for(60_000, true));
        let mut count = 0;
        right.receive(|packet| count += packet.bytes.len());
        assert_eq!(count, 1);
    }

    /// A wake-up ends the sleep, also one that came before; without one it ends in time.
    fn wakes<P: Port>() {
        let (socket, address) = bound();
        let mut port = P::open(socket).expect("opens");
        let waker = port.waker();
        waker.wake(WakeReason::Game);
        waker.wake(WakeReason::Game);
        port.wait(asleep_for(600_000, true));
        assert!(waker.pending().has(WakeReason::Game));
        // Another reason is another signal: the thread may have slept on after the first.
        waker.wake(WakeReason::Packets);
        port.wait(asleep_for(600_000, true));
        let reasons = waker.take();
        assert!(reasons.has(WakeReason::Game) && reasons.has(WakeReason::Packets));
        assert!(!reasons.has(WakeReason::Session));
        assert!(waker.take().is_empty(), "two calls are one wake-up");
        let begin = Instant::now();
        port.wait(asleep_for(20, true));
        assert!(begin.elapsed() >= Duration::from_millis(19), "the last signal is used up");
        std::thread::scope(|scope| {
            scope.spawn(|| waker.wake(WakeReason::Game));
            port.wait(Sleep { until: None, reads: false, writes: false });
            assert!(waker.take().has(WakeReason::Game));
        });
        // A packet ends the sleep only of a thread that wants to read.
        let (other, _) = bound();
        other.send_to(b"hello", address).expect("sent");
        let begin = Instant::now();
        port.wait(asleep_for(20, false));
        assert!(begin.elapsed() >= Duration::from_millis(19));
        port.wait(asleep_for(600_000, true));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_port_of_this_system_carries_packets_and_wakes() {
        carries_packets::<SystemPort>();
        skips_impossible_packets::<SystemPort>();
        wakes::<SystemPort>();
    }

    #[test]
    fn the_portable_port_carries_packets_and_wakes() {
        carries_packets::<portable::PortablePort>();
        skips_impossible_packets::<portable::PortablePort>();
        wakes::<portable::PortablePort>();
    }
}
