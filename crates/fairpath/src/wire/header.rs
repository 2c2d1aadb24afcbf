//! The header of every message.

use super::bits::{Pass, Reader};
use super::{DecodeError, Nonce, VERSION};
use crate::number::WirePacketNumber;
use crate::time::SharedInstant;

/// The header of every message.
///
/// All datagrams in one direction, of any kind, share one count, so that a gap means loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// The datagram's number in its direction. The receiver widens it against the newest seen.
    pub packet: WirePacketNumber,
    /// When the datagram was handed to the link, to the microsecond.
    pub sent_at: SharedInstant,
    /// In a message of DR vectors: the nonce that the receiver must prove to have seen. In
    /// feedback: the proof, the exclusive or of the nonces of all acknowledged datagrams.
    pub nonce: Nonce,
    /// The newest feedback message that the sender has received, if one is worth confirming: the
    /// receiver need not repeat its receipts.
    pub confirmed: Option<WirePacketNumber>,
}

/// The kind of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// DR vectors in the plane.
    Updates2d,
    /// DR vectors in space.
    Updates3d,
    /// Receipts.
    Feedback,
}

impl Kind {
    /// Returns the kind of a message. Reads the first byte only.
    pub fn of(bytes: &[u8]) -> Result<Self, DecodeError> {
        Ok(pass_first_byte(&mut Reader::new(bytes), Self::Feedback, false, false)?.0)
    }

    const fn code(self) -> u64 {
        match self {
            Self::Updates2d => 0,
            Self::Updates3d => 1,
            Self::Feedback => 2,
        }
    }

    const fn from_code(code: u64) -> Result<Self, DecodeError> {
        match code {
            0 => Ok(Self::Updates2d),
            1 => Ok(Self::Updates3d),
            2 => Ok(Self::Feedback),
            _ => Err(DecodeError::UnknownKind(code as u8)),
        }
    }
}

/// The first byte: version, kind, whether a confirmation follows, and whether DR vectors have
/// parents, which must be zero in feedback.
fn pass_first_byte<P: Pass>(
    pass: &mut P,
    kind: Kind,
    confirms: bool,
    has_parents: bool,
) -> Result<(Kind, bool, bool), DecodeError> {
    let version = pass.bits(VERSION.into(), 3)? as u8;
    if version != VERSION {
        return Err(DecodeError::UnknownVersion(version));
    }
    let kind = Kind::from_code(pass.bits(kind.code(), 3)?)?;
    let confirms = pass.flag(confirms)?;
    let has_parents = pass.flag(has_parents)?;
    if has_parents && kind == Kind::Feedback {
        return Err(DecodeError::NotCanonical);
    }
    Ok((kind, confirms, has_parents))
}

/// The header of a message of this kind, and whether its DR vectors have parents. `near` is an
/// instant less than half of the [`TIME_WIDTH`] range away from the send time; a writer passes the
/// send time itself.
pub(super) fn pass_header<P: Pass>(
    pass: &mut P,
    kind: Kind,
    has_parents: bool,
    header: &Header,
    near: SharedInstant,
) -> Result<(Header, bool), DecodeError> {
    let (found, confirms, has_parents) =
        pass_first_byte(pass, kind, header.confirmed.is_some(), has_parents)?;
    match (kind, found) {
        _ if kind == found => {}
        (Kind::Feedback, _) | (_, Kind::Feedback) => return Err(DecodeError::WrongKind),
        _ => return Err(DecodeError::WrongDimensions),
    }
    let packet = WirePacketNumber(pass.bits(header.packet.0.into(), 16)? as u16);
    let sent_low = pass.bits(header.sent_at.as_micros() as u64 & TIME_MASK, TIME_WIDTH)?;
    let sent_at = widen_time(sent_low, near)?;
    let nonce = Nonce(pass.bits(header.nonce.0.into(), 8)? as u8);
    let confirmed = if confirms {
        let number = header.confirmed.unwrap_or_default();
        Some(WirePacketNumber(pass.bits(number.0.into(), 16)? as u16))
    } else {
        None
    };
    Ok((Header { packet, sent_at, nonce, confirmed }, has_parents))
}

/// Bits of the header of a message.
pub(super) const fn header_bits(header: &Header) -> usize {
    let confirmation = if header.confirmed.is_some() { 16 } else { 0 };
    8 + 16 + TIME_WIDTH as usize + 8 + confirmation
}

/// Bits of a header's last byte.
pub(super) const HALF_BYTE: u32 = 4;
const _: () = assert!((8 + 16 + TIME_WIDTH + 8) % 8 == HALF_BYTE, "bodies begin there");

/// Bits of an instant's microseconds on the wire: two clocks, or the two ends of a link, may be 134
/// s apart. That is four times the 30 s for which QUIC connections are commonly kept alive; a
/// datagram that waited longer in a buffer would be taken for new.
const TIME_WIDTH: u32 = 28;
const TIME_MASK: u64 = (1 << TIME_WIDTH) - 1;

/// Returns the instant nearest to `near` with these low bits; of two, the later.
fn widen_time(low: u64, near: SharedInstant) -> Result<SharedInstant, DecodeError> {
    let ahead = low.wrapping_sub(near.as_micros() as u64) & TIME_MASK;
    let ahead = if ahead <= 1 << (TIME_WIDTH - 1) { ahead as i64 } else { ahead as i64 - (1 << TIME_WIDTH) };
    near.as_micros().checked_add(ahead).and_then(instant).ok_or(DecodeError::OutOfRange)
}

/// The largest time, in microseconds from zero: 36 000 years. Far enough from the limits of an
/// `i64` that no sum or rounding of instants overflows.
const TIME_LIMIT: i64 = 1 << 60;

/// Returns the instant at `micros`, or `None` beyond [`TIME_LIMIT`].
#[inline]
pub(super) fn instant(micros: i64) -> Option<SharedInstant> {
    (-TIME_LIMIT..=TIME_LIMIT).contains(&micros).then_some(SharedInstant::from_micros(micros))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_is_found_from_minutes_away() {
        let minutes = |minutes: i64| SharedInstant::from_micros(minutes * 60_000_000);
        for sent in [minutes(0), minutes(-3), minutes(60_000_000)] {
            let low = sent.as_micros() as u64 & TIME_MASK;
            for off in [-2, 0, 2] {
                assert_eq!(widen_time(low, sent + minutes(off).since_zero()), Ok(sent));
            }
        }
        assert_eq!(widen_time(0, SharedInstant::from_micros(i64::MAX)), Err(DecodeError::OutOfRange));
    }

    #[test]
    fn the_first_byte_tells_the_kind() {
        assert_eq!(Kind::of(&[0b0100_0000]), Ok(Kind::Updates2d));
        assert_eq!(Kind::of(&[0b0100_1010, 0xFF]), Ok(Kind::Feedback));
        assert_eq!(Kind::of(&[0b0101_1100]), Err(DecodeError::UnknownKind(7)));
        assert_eq!(Kind::of(&[0b0010_0000]), Err(DecodeError::UnknownVersion(1)));
        assert_eq!(Kind::of(&[0b0100_0001]), Ok(Kind::Updates2d));
        assert_eq!(Kind::of(&[0b0100_1001]), Err(DecodeError::NotCanonical));
        assert_eq!(Kind::of(&[]), Err(DecodeError::Truncated));
    }
}
