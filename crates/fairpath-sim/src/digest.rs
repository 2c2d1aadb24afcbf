//! A 64-bit digest of a run.

use std::fmt;

/// Accumulates values into 64 bits, the same on every platform: FNV-1a over little-endian bytes.
///
/// For golden tests and for [`run_twice`](crate::run_twice): equal runs have equal digests, and a
/// changed bit shows. It is not a cryptographic hash.
///
/// Values that may differ between platforms without meaning are unified: every NaN is the same NaN,
/// and −0 is 0 (`min` and `max` may return either). There is no method for `usize`, because its
/// size depends on the platform.
///
/// ```
/// use fairpath_sim::Digest;
///
/// let mut digest = Digest::new();
/// digest.u32(7).f64(0.5);
/// assert_eq!(digest.to_string(), "7356f8f90b90ab6b");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Digest(u64);

/// FNV's published 64-bit parameters.
const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;
const QUIET_NAN: u64 = 0x7ff8_0000_0000_0000;

impl Digest {
    /// Creates the digest of no values.
    pub const fn new() -> Self {
        Self(FNV_OFFSET)
    }

    /// Returns the 64 bits so far.
    pub const fn value(self) -> u64 {
        self.0
    }

    /// Adds one byte.
    pub fn u8(&mut self, value: u8) -> &mut Self {
        self.raw(&[value])
    }

    /// Adds two bytes.
    pub fn u16(&mut self, value: u16) -> &mut Self {
        self.raw(&value.to_le_bytes())
    }

    /// Adds four bytes.
    pub fn u32(&mut self, value: u32) -> &mut Self {
        self.raw(&value.to_le_bytes())
    }

    /// Adds eight bytes.
    pub fn u64(&mut self, value: u64) -> &mut Self {
        self.raw(&value.to_le_bytes())
    }

    /// Adds eight bytes.
    pub fn i64(&mut self, value: i64) -> &mut Self {
        self.raw(&value.to_le_bytes())
    }

    /// Adds one byte: 1 or 0.
    pub fn bool(&mut self, value: bool) -> &mut Self {
        self.u8(value.into())
    }

    /// Adds the eight bytes of a number, with one NaN and one zero.
    pub fn f64(&mut self, value: f64) -> &mut Self {
        let bits = if value.is_nan() {
            QUIET_NAN
        } else if value == 0.0 {
            0
        } else {
            value.to_bits()
        };
        self.u64(bits)
    }

    /// Adds the length and the bytes, so that "ab", "c" differs from "a", "bc".
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.u64(bytes.len() as u64).raw(bytes)
    }

    fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(FNV_PRIME);
        }
        self
    }
}

impl Default for Digest {
    fn default() -> Self {
        Self::new()
    }
}

/// Sixteen hexadecimal digits.
impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_published_fnv_1a() {
        // Test vectors of the algorithm's authors.
        assert_eq!(Digest::new().value(), 0xcbf2_9ce4_8422_2325);
        assert_eq!(Digest::new().u8(b'a').value(), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(Digest::new().raw(b"foobar").value(), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn what_means_nothing_does_not_show() {
        let of = |number: f64| *Digest::new().f64(number);
        assert_eq!(of(f64::NAN), of(-f64::NAN));
        assert_eq!(of(0.0), of(-0.0));
        assert_ne!(of(1.0), of(1.0 + f64::EPSILON));
    }

    #[test]
    fn lengths_are_part_of_it() {
        assert_ne!(Digest::new().bytes(b"ab").bytes(b"c"), Digest::new().bytes(b"a").bytes(b"bc"));
    }
}
