//! What a sealed packet carries, and its header.

use super::{DropReason, NUMBER_BYTES, TAG_BYTES};

/// Names a connection in packets to the server, so that the server finds the key without trusting
/// the source address. The server draws it at random.
pub type Tag = [u8; TAG_BYTES];
/// Random bytes that only a peer at the right address, with the right keys, can send back.
pub type Challenge = [u8; 8];

/// What a sealed packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content<'a> {
    /// A session's datagram.
    Datagram(&'a [u8]),
    /// A session's datagram, or none, and a report to the peer: the low 16 bits of the highest
    /// number opened so far.
    Report(u16, &'a [u8]),
    /// The peer sends these bytes back.
    Challenge(Challenge),
    /// The bytes of the peer's challenge.
    Echo(Challenge),
}

/// A QUIC datagram that is not of the session: it begins with 0, and a session's never does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlDatagram {
    /// Has no meaning but to be acknowledged by QUIC.
    Ping,
    /// The server opens sealed packets that carry this tag.
    Offer(Tag),
}

/// Bits of the first byte: `10`, epoch modulo 4, kind, and two zeros.
const FORM: u8 = 0b1000_0000;
const FORM_MASK: u8 = 0b1100_0011;
const EPOCH_SHIFT: u8 = 4;
const KIND_SHIFT: u8 = 2;
const LOW_TWO: u8 = 0b11;

/// The first byte of a packet, read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FirstByte {
    /// The epoch modulo 4.
    pub(super) epoch: u8,
    kind: u8,
}

impl FirstByte {
    pub(super) fn new(epoch: u32, content: &Content<'_>) -> Self {
        let kind = match content {
            Content::Datagram(_) => 0,
            Content::Report(..) => 1,
            Content::Challenge(_) => 2,
            Content::Echo(_) => 3,
        };
        Self { epoch: epoch as u8 & LOW_TWO, kind }
    }

    pub(super) fn encode(self) -> u8 {
        FORM | self.epoch << EPOCH_SHIFT | self.kind << KIND_SHIFT
    }

    pub(super) fn decode(byte: u8) -> Result<Self, DropReason> {
        if byte & FORM_MASK != FORM {
            return Err(DropReason::UnknownForm);
        }
        Ok(Self { epoch: byte >> EPOCH_SHIFT & LOW_TWO, kind: byte >> KIND_SHIFT & LOW_TWO })
    }

    /// Reads the decrypted bytes of a packet with this first byte.
    pub(super) fn content(self, plain: &[u8]) -> Result<Content<'_>, DropReason> {
        let content = match self.kind {
            0 => Some(Content::Datagram(plain)),
            1 => plain
                .split_first_chunk()
                .map(|(seen, datagram)| Content::Report(u16::from_le_bytes(*seen), datagram)),
            2 => plain.try_into().ok().map(Content::Challenge),
            _ => plain.try_into().ok().map(Content::Echo),
        };
        content.ok_or(DropReason::Malformed)
    }
}

impl Content<'_> {
    /// Appends the bytes to be encrypted.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Datagram(bytes) => out.extend_from_slice(bytes),
            Self::Report(seen, bytes) => {
                out.extend_from_slice(&seen.to_le_bytes());
                out.extend_from_slice(bytes);
            }
            Self::Challenge(bytes) | Self::Echo(bytes) => out.extend_from_slice(bytes),
        }
    }
}

/// Returns the number with these low bits that is nearest to the one expected next; of two equally
/// near ones the lower, because a number far ahead is the less likely.
pub(super) fn widen(low: [u8; NUMBER_BYTES], expected: u64) -> u64 {
    let ahead = i64::from(u16::from_le_bytes(low).wrapping_sub(expected as u16) as i16);
    let number = expected.wrapping_add_signed(ahead);
    // There are no numbers below zero: what would be one lies ahead.
    if ahead < 0 && expected < ahead.unsigned_abs() { number.wrapping_add(1 << 16) } else { number }
}

impl ControlDatagram {
    /// A session's datagram begins with the length of a message, which is at least 9.
    const FIRST: u8 = 0;

    /// Whether a QUIC datagram is a control datagram rather than one of the session.
    pub fn is_control(bytes: &[u8]) -> bool {
        bytes.first() == Some(&Self::FIRST)
    }

    /// The bytes of the QUIC datagram.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Ping => vec![Self::FIRST, 0],
            Self::Offer(tag) => [&[Self::FIRST, 1], &tag[..]].concat(),
        }
    }

    /// Reads a control datagram. `None` for one of another version, which a reader ignores.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [Self::FIRST, 0] => Some(Self::Ping),
            [Self::FIRST, 1, tag @ ..] => tag.try_into().ok().map(Self::Offer),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_widen_to_the_nearest_and_never_below_zero() {
        let widen = |low: u16, expected| super::widen(low.to_le_bytes(), expected);
        assert_eq!(widen(5, 0), 5);
        assert_eq!(widen(65_535, 0), 65_535, "there is nothing below zero");
        assert_eq!(widen(65_535, 65_536), 65_535);
        assert_eq!(widen(3, 65_530), 65_539);
        assert_eq!(widen(0, 98_304), 65_536, "of two equally near the lower");
        assert_eq!(widen(0x8000, 0), 0x8000);
    }

    #[test]
    fn control_datagrams_are_read_as_written_and_others_are_ignored() {
        for control in [ControlDatagram::Ping, ControlDatagram::Offer([1, 2, 3, 4])] {
            let bytes = control.encode();
            assert!(ControlDatagram::is_control(&bytes));
            assert_eq!(ControlDatagram::decode(&bytes), Some(control));
        }
        for unknown in [&[0][..], &[0, 1, 2], &[0, 1, 2, 3, 4, 5, 6], &[0, 2], &[9, 0], &[]] {
            assert_eq!(ControlDatagram::decode(unknown), None, "{unknown:?}");
        }
    }
}
