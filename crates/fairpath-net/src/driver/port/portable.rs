//! A system call for each packet, on any system.

use std::io::{self, IoSliceMut};
use std::net::UdpSocket;
use std::sync::Arc;
use std::time::Instant;

use quinn_udp::{RecvMeta, Transmit, UdpSockRef, UdpSocketState};
use tokio::io::Interest;
use tokio::runtime::Runtime;
use tokio::sync::Notify;

use super::{Packet, Port, Signal, Sleep, Waker};
use crate::driver::outbox::Outbox;

pub(in crate::driver) struct PortablePort {
    /// Dropped before the runtime.
    socket: tokio::net::UdpSocket,
    runtime: Runtime,
    state: UdpSocketState,
    has_one_address: bool,
    waker: Arc<Waker<Notify>>,
    unread: Box<[u8]>,
}

/// Packets of one receive call.
const BATCH: usize = quinn_udp::BATCH_SIZE;
/// Packets that the system may hand over as one.
const BYTES_MAX: usize = 64 * 1024;

impl Signal for Notify {
    fn raise(&self) {
        self.notify_one();
    }
}

impl Port for PortablePort {
    type Signal = Notify;

    fn open(socket: UdpSocket) -> io::Result<Self> {
        let state = UdpSocketState::new(UdpSockRef::from(&socket))?;
        let has_one_address = !socket.local_addr()?.ip().is_unspecified();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let socket = {
            let _inside = runtime.enter();
            tokio::net::UdpSocket::from_std(socket)?
        };
        let waker = Arc::new(Waker::new(Notify::new()));
        let unread = vec![0; BATCH * BYTES_MAX].into_boxed_slice();
        Ok(Self { socket, runtime, state, has_one_address, waker, unread })
    }

    fn waker(&self) -> Arc<Waker<Notify>> {
        Arc::clone(&self.waker)
    }

    fn may_fragment(&self) -> bool {
        self.state.may_fragment()
    }

    fn wait(&mut self, sleep: Sleep) {
        let Self { socket, runtime, waker, .. } = self;
        let ready = async {
            match (sleep.reads, sleep.writes) {
                (true, true) => drop(socket.ready(Interest::READABLE | Interest::WRITABLE).await),
                (true, false) => drop(socket.readable().await),
                (false, true) => drop(socket.writable().await),
                (false, false) => std::future::pending().await,
            }
        };
        let passed = async {
            match sleep.until {
                Some(at) => tokio::time::sleep_until(at.into()).await,
                None => std::future::pending().await,
            }
        };
        runtime.block_on(async {
            tokio::select! {
                () = waker.signal.notified() => {}
                () = ready => {}
                () = passed => {}
            }
        });
    }

    fn receive(&mut self, mut handle: impl FnMut(Packet<'_>)) -> bool {
        let mut slices = self.unread.chunks_exact_mut(BYTES_MAX);
        let mut slices: [_; BATCH] =
            std::array::from_fn(|_| IoSliceMut::new(slices.next().expect("a chunk for each slice")));
        let mut found = [RecvMeta::default(); BATCH];
        let (state, socket) = (&self.state, &self.socket);
        let received = socket
            .try_io(Interest::READABLE, || state.recv(UdpSockRef::from(socket), &mut slices, &mut found));
        // An error belongs to a packet that was sent before, and QUIC notices losses by itself.
        let count = received.unwrap_or_default();
        let arrived_at = Instant::now();
        for (slice, meta) in slices.iter().zip(&found[..count]) {
            let to = meta.dst_ip.filter(|_| !self.has_one_address);
            // The system may hand over several packets of one sender as one.
            let bytes = &slice[..meta.len];
            let mut packets = bytes.chunks(meta.stride.max(1));
            let first = packets.next().unwrap_or_default();
            for bytes in std::iter::once(first).chain(packets) {
                handle(Packet { bytes, from: meta.addr, to, arrived_at });
            }
        }
        count == BATCH
    }

    fn send(&mut self, outbox: &mut Outbox) {
        let (state, socket) = (&self.state, &self.socket);
        while let Some(packet) = outbox.unsent().first() {
            let transmit = Transmit {
                destination: packet.to,
                ecn: None,
                contents: &packet.bytes,
                segment_size: None,
                src_ip: packet.from,
            };
            let sent = socket.try_io(Interest::WRITABLE, || {
                // Other errors are losses.
                state.send(UdpSockRef::from(socket), &transmit)
            });
            match sent {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                _ => outbox.on_sent(1),
            }
        }
    }
}
