//! Byte encoding of all session messages that are not packed bit by bit (PROTOCOL.md, section 11).
//! Protocols around sessions, such as a lobby, use it too.

use std::fmt;

/// Why a received session message was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MessageError {
    /// The message ends before it is complete.
    Truncated,
    /// Bytes follow after the complete message.
    TrailingBytes,
    /// A number takes more bytes than necessary, or a list is not in order.
    NotCanonical,
    /// A number or a length exceeds its limit.
    OutOfRange,
    /// The kind of message, target, delivery class or reason is unknown.
    UnknownKind(u8),
    /// A greeting of another version of the session protocol.
    OtherVersion(u8),
}

impl fmt::Display for MessageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => write!(f, "the message is truncated"),
            Self::TrailingBytes => write!(f, "bytes follow after the end of the message"),
            Self::NotCanonical => write!(f, "the message is not in canonical form"),
            Self::OutOfRange => write!(f, "a number or a length is out of range"),
            Self::UnknownKind(kind) => write!(f, "unknown kind {kind}"),
            Self::OtherVersion(version) => {
                write!(f, "the peer uses version {version} of the session protocol")
            }
        }
    }
}

impl std::error::Error for MessageError {}

/// Reads a message.
#[derive(Clone, Debug)]
pub struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// Returns a reader at the beginning of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Returns whether no bytes are left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of bytes left.
    pub fn left(&self) -> usize {
        self.0.len()
    }

    /// Checks that no bytes are left.
    pub fn finish(self) -> Result<(), MessageError> {
        if self.is_empty() { Ok(()) } else { Err(MessageError::TrailingBytes) }
    }

    /// Reads `count` bytes.
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], MessageError> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(MessageError::Truncated)?;
        self.0 = rest;
        Ok(taken)
    }

    /// Reads `N` bytes.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], MessageError> {
        Ok(self.take(N)?.try_into().expect("as many as were taken"))
    }

    /// Reads one byte.
    pub fn u8(&mut self) -> Result<u8, MessageError> {
        Ok(self.array::<1>()?[0])
    }

    /// Reads a byte that is 0 or 1.
    pub fn flag(&mut self) -> Result<bool, MessageError> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(MessageError::NotCanonical),
        }
    }

    /// Reads a number in seven bits per byte, the lowest first; the high bit says that more follow.
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

    /// Reads a number below 2^32.
    pub fn varint_u32(&mut self) -> Result<u32, MessageError> {
        u32::try_from(self.varint()?).map_err(|_| MessageError::OutOfRange)
    }

    /// Reads a number of either sign: 0, −1, 1, −2 … are encoded as 0, 1, 2, 3 ….
    pub fn signed(&mut self) -> Result<i64, MessageError> {
        let code = self.varint()?;
        Ok((code >> 1) as i64 ^ -((code & 1) as i64))
    }

    /// Reads a length of at most `length_max` and as many bytes.
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

/// Writes what [`Reader::bytes`] reads. The caller checks the length.
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
