//! Packets that wait for one system call.

use std::net::{IpAddr, SocketAddr};

/// Packets that are about to leave, with reusable memory.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    packets: Vec<OutboundPacket>,
    /// Packets before this index have left.
    begin: usize,
    end: usize,
}

#[derive(Debug)]
pub(super) struct OutboundPacket {
    pub(super) bytes: Vec<u8>,
    pub(super) to: SocketAddr,
    /// The local address to send from, if the socket has several.
    pub(super) from: Option<IpAddr>,
}

impl Outbox {
    /// Packets that are sent before more are made. The kernel takes at most 1024 at once.
    pub(super) const PACKETS_MAX: usize = 256;

    pub(super) fn is_empty(&self) -> bool {
        self.begin == self.end
    }

    pub(super) fn is_full(&self) -> bool {
        self.end >= Self::PACKETS_MAX
    }

    /// Adds the packet that `fill` writes, if it writes one.
    pub(super) fn push(&mut self, fill: impl FnOnce(&mut Vec<u8>) -> Option<quinn_proto::Transmit>) -> bool {
        if self.end == self.packets.len() {
            let to = SocketAddr::from(([0, 0, 0, 0], 0));
            self.packets.push(OutboundPacket { bytes: Vec::new(), to, from: None });
        }
        let packet = &mut self.packets[self.end];
        packet.bytes.clear();
        let Some(transmit) = fill(&mut packet.bytes) else { return false };
        packet.bytes.truncate(transmit.size);
        packet.to = transmit.destination;
        packet.from = transmit.src_ip;
        self.end += 1;
        true
    }

    /// Adds a packet that was written elsewhere. If there is no room it is lost.
    pub(super) fn push_copy(&mut self, transmit: quinn_proto::Transmit, bytes: &[u8]) {
        if !self.is_full() {
            self.push(|packet| {
                packet.extend_from_slice(&bytes[..transmit.size]);
                Some(transmit)
            });
        }
    }

    /// The packets that have not left, in order.
    pub(super) fn unsent(&self) -> &[OutboundPacket] {
        &self.packets[self.begin..self.end]
    }

    /// The first `count` packets have left, or cannot leave.
    pub(super) fn on_sent(&mut self, count: usize) {
        self.begin += count;
        debug_assert!(self.begin <= self.end, "only packets of this outbox were sent");
        if self.is_empty() {
            (self.begin, self.end) = (0, 0);
        }
    }
}
