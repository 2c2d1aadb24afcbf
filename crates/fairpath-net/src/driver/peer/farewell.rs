use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use quinn_proto::Transmit;

/// Repeats the packet that closes a connection when the server stops.
///
/// QUIC repeats a close only when another QUIC packet of the client arrives. A client whose
/// datagrams are sealed may send none until the server is gone, and would take a lost close for a
/// silent server. The client drops a packet that it has.
#[derive(Debug, Default)]
pub(super) struct Farewell {
    closing: Option<ClosingPacket>,
}

#[derive(Debug)]
struct ClosingPacket {
    bytes: Vec<u8>,
    destination: SocketAddr,
    src_ip: Option<IpAddr>,
    /// When the next repetition leaves, and how many are left.
    next_at: Instant,
    repetitions: u32,
}

/// With a loss of a tenth of all packets, one client in ten thousand misses all four.
const REPETITIONS: u32 = 3;
/// Three repetitions leave before QUIC forgets the connection, which takes at least 75 ms.
const REPEAT_AFTER: Duration = Duration::from_millis(20);

impl Farewell {
    /// Keeps the last packet that QUIC made, which has the close.
    pub(super) fn record(&mut self, transmit: &Transmit, packet: &[u8], now: Instant) {
        self.closing = Some(ClosingPacket {
            bytes: packet[..transmit.size].to_vec(),
            destination: transmit.destination,
            src_ip: transmit.src_ip,
            next_at: now + REPEAT_AFTER,
            repetitions: REPETITIONS,
        });
    }

    pub(super) fn poll_deadline(&self) -> Option<Instant> {
        let closing = self.closing.as_ref()?;
        (closing.repetitions > 0).then_some(closing.next_at)
    }

    /// Writes a repetition that is due.
    pub(super) fn poll_transmit(&mut self, now: Instant, packet: &mut Vec<u8>) -> Option<Transmit> {
        let is_due = self.poll_deadline().is_some_and(|at| at <= now);
        let closing = self.closing.as_mut().filter(|_| is_due)?;
        closing.repetitions -= 1;
        closing.next_at = now + REPEAT_AFTER;
        packet.extend_from_slice(&closing.bytes);
        let (destination, src_ip) = (closing.destination, closing.src_ip);
        Some(Transmit { destination, ecn: None, size: closing.bytes.len(), segment_size: None, src_ip })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closing_packet_leaves_four_times() {
        let (begin, mut farewell, mut sent) = (Instant::now(), Farewell::default(), 0);
        let transmit = Transmit {
            destination: SocketAddr::from(([127, 0, 0, 1], 9)),
            ecn: None,
            size: 3,
            segment_size: None,
            src_ip: None,
        };
        assert_eq!(farewell.poll_deadline(), None, "QUIC has made no packet yet");
        farewell.record(&transmit, &[1, 2, 3, 4], begin);
        for millis in 0..500 {
            let mut packet = Vec::new();
            if farewell.poll_transmit(begin + Duration::from_millis(millis), &mut packet).is_some() {
                assert_eq!(packet, [1, 2, 3]);
                sent += 1;
            }
        }
        assert_eq!((sent, farewell.poll_deadline()), (3, None));
    }
}
