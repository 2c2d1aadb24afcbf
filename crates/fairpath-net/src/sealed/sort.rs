//! Telling sealed packets from QUIC's on one socket.

/// The kind of a UDP packet, by its first byte. Like RFC 9443, which has RTP where sealed packets
/// are. Sound if both ends send QUIC with the fixed bit set (`grease_quic_bit(false)`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketKind {
    /// 192 to 255: QUIC with a long header.
    QuicLong,
    /// 64 to 127: QUIC with a short header, and stateless resets.
    QuicShort,
    /// 128 to 191: a sealed packet.
    Sealed,
    /// 0 to 63, and packets without a byte: STUN, DTLS, garbage. Nothing here reads them.
    Other,
}

impl PacketKind {
    /// The kind of a packet.
    pub fn of(packet: &[u8]) -> Self {
        match packet.first().map(|first| first >> 6) {
            Some(0b11) => Self::QuicLong,
            Some(0b10) => Self::Sealed,
            Some(0b01) => Self::QuicShort,
            _ => Self::Other,
        }
    }
}

/// Sorts received packets, and counts them by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sorter {
    /// QUIC packets, of both headers.
    pub quic: u64,
    /// Sealed packets.
    pub sealed: u64,
    /// Packets that were dropped, because they are neither.
    pub other: u64,
}

impl Sorter {
    /// Sorts one buffer of a receive call: packets of `stride` bytes each, the last one possibly
    /// shorter, as the system joins them (GRO). Hands each sealed packet to `on_sealed`, moves
    /// QUIC's to the front, in their order, and returns how many bytes they take.
    ///
    /// QUIC's packets still have `stride` bytes each, except the last: none of them was shorter
    /// but the last of all.
    pub fn take_sealed(
        &mut self,
        buffer: &mut [u8],
        stride: usize,
        mut on_sealed: impl FnMut(&mut [u8]),
    ) -> usize {
        let stride = stride.max(1);
        let mut kept = 0;
        let mut start = 0;
        while start < buffer.len() {
            let end = (start + stride).min(buffer.len());
            match PacketKind::of(&buffer[start..end]) {
                PacketKind::Sealed => {
                    self.sealed += 1;
                    on_sealed(&mut buffer[start..end]);
                }
                PacketKind::QuicLong | PacketKind::QuicShort => {
                    self.quic += 1;
                    buffer.copy_within(start..end, kept);
                    kept += end - start;
                }
                PacketKind::Other => self.other += 1,
            }
            start = end;
        }
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_first_byte_has_its_kind() {
        for first in 0..=255 {
            let expected = match first {
                0..=63 => PacketKind::Other,
                64..=127 => PacketKind::QuicShort,
                128..=191 => PacketKind::Sealed,
                192..=255 => PacketKind::QuicLong,
            };
            assert_eq!(PacketKind::of(&[first]), expected, "{first}");
        }
        assert_eq!(PacketKind::of(&[]), PacketKind::Other);
    }

    #[test]
    fn each_segment_is_sorted_by_itself() {
        let mut sorter = Sorter::default();
        let mut buffer = [0x80, 1, 0x40, 2, 0x00, 3, 0xC0, 4, 0x90, 5, 0x41];
        let mut sealed = Vec::new();
        let kept = sorter.take_sealed(&mut buffer, 2, |packet| sealed.push(packet.to_vec()));
        assert_eq!(buffer[..kept], [0x40, 2, 0xC0, 4, 0x41]);
        assert_eq!(sealed, [[0x80, 1], [0x90, 5]]);
        assert_eq!(sorter, Sorter { quic: 3, sealed: 2, other: 1 });
    }
}
