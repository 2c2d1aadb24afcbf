//! Whole bytes: the alphabet of everything in a session that is not packed bit by bit (PROTOCOL.md,
//! section 11). Also for what others say around sessions, such as a lobby.

use std::fmt;

/// The peer sent a session message that we do not accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MessageError {
    /// It ends before it is complete.
    Truncated,
    /// It is complete, and there are bytes after it.
    TrailingBytes,
    /// A number is spelt in more bytes than it needs, or a list is not in order.
    NotCanonical,
    /// A number or a length beyond its limit.
    OutOfRange,
    /// No such kind of message, target, delivery class or reason.
    UnknownKind(u8),
}

impl fmt::Display for MessageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => write!(f, "the message ends too early"),
            Self::TrailingBytes => write!(f, "there are bytes after the end of the message"),
            Self::NotCanonical => write!(f, "the message is not spelt the one way it must be"),
            Self::OutOfRange => write!(f, "a number or a length is out of range"),
            Self::UnknownKind(kind) => write!(f, "{kind} is no kind that is known here"),
        }
    }
}

impl std::error::Error for MessageError {}

/// Takes a message apart.
#[derive(Clone, Debug)]
pub struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// From the beginning.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many bytes are left.
    pub fn left(&self) -> usize {
        self.0.len()
    }

    /// Nothing may be left.
    pub fn finish(self) -> Result<(), MessageError> {
        if self.is_empty() { Ok(()) } else { Err(MessageError::TrailingBytes) }
    }

    /// So many bytes as they are.
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], MessageError> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(MessageError::Truncated)?;
        self.0 = rest;
        Ok(taken)
    }

    /// So many bytes as they are, where their number is fixed.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], MessageError> {
        Ok(self.take(N)?.try_into().expect("as many as were taken"))
    }

    /// One byte.
    pub fn u8(&mut self) -> Result<u8, MessageError> {
        Ok(self.array::<1>()?[0])
    }

    /// 0 or 1.
    pub fn flag(&mut self) -> Result<bool, MessageError> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(MessageError::NotCanonical),
        }
    }

    /// Seven bits to the byte, the lowest first; the high bit says that more follow.
    pub fn varint(&mut self) -> Result<u64, MessageError> {
        let mut number = 0;
        for at in 0..10 {
            let byte = self.u8()?;
            let bits = u64::from(byte & 0x7F);
            if at == 9 && bits > 1 {
                return Err(MessageError::OutOfRange);
            }
            number |= bits << (7 * at);
            if byte & 0x80 == 0 {
                return if byte == 0 && at > 0 { Err(MessageError::NotCanonical) } else { Ok(number) };
            }
        }
        Err(MessageError::OutOfRange)
    }

    /// A number below 2^32.
    pub fn varint_u32(&mut self) -> Result<u32, MessageError> {
        u32::try_from(self.varint()?).map_err(|_| MessageError::OutOfRange)
    }

    /// Numbers of either sign: 0, −1, 1, −2 … are 0, 1, 2, 3 ….
    pub fn signed(&mut self) -> Result<i64, MessageError> {
        let code = self.varint()?;
        Ok((code >> 1) as i64 ^ -((code & 1) as i64))
    }

    /// A length and so many bytes.
    pub fn bytes(&mut self, length_max: usize) -> Result<&'a [u8], MessageError> {
        let length = self.varint()?;
        if length > length_max as u64 {
            return Err(MessageError::OutOfRange);
        }
        self.take(length as usize)
    }
}

/// Writes what [`Reader::varint`] reads.
pub fn put_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Writes what [`Reader::signed`] reads.
pub fn put_signed(out: &mut Vec<u8>, number: i64) {
    put_varint(out, (number << 1 ^ number >> 63) as u64);
}

/// Writes what [`Reader::bytes`] reads; its longest length is for the caller to keep.
pub fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_one_spelling() {
        for number in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX] {
            let mut out = Vec::new();
            put_varint(&mut out, number);
            assert_eq!(Reader::new(&out).varint(), Ok(number));
        }
        assert_eq!(Reader::new(&[0x80, 0x00]).varint(), Err(MessageError::NotCanonical));
        assert_eq!(Reader::new(&[0xFF; 10]).varint(), Err(MessageError::OutOfRange));
        assert_eq!(Reader::new(&[0x80]).varint(), Err(MessageError::Truncated));
    }

    #[test]
    fn numbers_of_either_sign_come_back() {
        for number in [0, -1, 1, i64::MIN, i64::MAX] {
            let mut out = Vec::new();
            put_signed(&mut out, number);
            assert_eq!(Reader::new(&out).signed(), Ok(number));
        }
    }
}
