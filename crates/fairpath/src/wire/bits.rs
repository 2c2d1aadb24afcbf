//! Bits, and the three codes that all messages are written in.
//!
//! Each part of a message is described once, as a function over a [`Pass`]. With a [`Writer`] it
//! writes, with a [`Reader`] it reads, with a [`Counter`] it returns the size, with an [`Echo`] it
//! returns what the receiver will decode. So the four cannot disagree.

use super::DecodeError;

/// Bits of the largest value that [`Pass::exp_golomb`] can write: 2⁴⁸ µs are nine years.
pub(super) const EXP_GOLOMB_BITS_MAX: u32 = 48;

/// One way of walking through a message. Every method takes the value to write and returns the
/// value of the message. A reader ignores the argument; all others return it unchanged.
pub(super) trait Pass {
    /// `width` bits, at most 56, the most significant first.
    fn bits(&mut self, value: u64, width: u32) -> Result<u64, DecodeError>;

    /// A number in the phase-in code: the smallest `short_count` numbers in `width` − 1 bits, as
    /// they are, all others in `width` bits, with `short_count` added to them.
    fn phase_in(&mut self, value: u64, width: u32, short_count: u64) -> Result<u64, DecodeError>;

    #[inline]
    fn flag(&mut self, value: bool) -> Result<bool, DecodeError> {
        Ok(self.bits(value.into(), 1)? == 1)
    }

    /// A number below `bound`, in as few bits as that allows: where `bound` is not a power of two,
    /// the smallest numbers take one bit less than the others. Below one it takes none.
    #[inline]
    fn below(&mut self, value: u64, bound: u64) -> Result<u64, DecodeError> {
        let width = u64::BITS - (bound - 1).leading_zeros();
        if width == 0 {
            return Ok(0);
        }
        self.phase_in(value, width, (1 << width) - bound)
    }

    /// A number below 2⁴⁸ in the exponential Golomb code of this order: shortest around 2^`order`.
    #[inline]
    fn exp_golomb(&mut self, value: u64, order: u32) -> Result<u64, DecodeError> {
        self.exp_golomb_in_parts(value, order)
    }

    /// The same, part by part.
    fn exp_golomb_in_parts(&mut self, value: u64, order: u32) -> Result<u64, DecodeError> {
        let above = (value >> order).saturating_add(1);
        let width = self.zeros(above.ilog2(), EXP_GOLOMB_BITS_MAX - order)?;
        let leading = 1 << width;
        let above = leading | self.bits(above & (leading - 1), width)?;
        let low = self.bits(value & ((1 << order) - 1), order)?;
        Ok(((above - 1) << order) | low)
    }

    /// A number of either sign, as zigzag and exponential Golomb code.
    fn exp_golomb_signed(&mut self, value: i64, order: u32) -> Result<i64, DecodeError> {
        Ok(unzigzag(self.exp_golomb(zigzag(value), order)?))
    }

    /// `count` zeros and a one.
    fn zeros(&mut self, count: u32, count_max: u32) -> Result<u32, DecodeError> {
        let mut found = 0;
        while !self.flag(found == count)? {
            found += 1;
            if found > count_max {
                return Err(DecodeError::OutOfRange);
            }
        }
        Ok(found)
    }

    /// Different numbers in ascending order, all in `low..end`: the middle one first, then the
    /// numbers below and above it. Each number costs only the choice that its neighbours leave, and
    /// a run without gaps costs nothing (binary interpolative coding, Moffat and Stuiver 2000). The
    /// caller checks that the range has room for all numbers.
    fn ascending(&mut self, numbers: &mut [u32], low: u64, end: u64) -> Result<(), DecodeError> {
        if numbers.is_empty() {
            return Ok(());
        }
        let middle = numbers.len() / 2;
        let least = low + middle as u64;
        let unused = end - low - numbers.len() as u64;
        let number = least + self.below(u64::from(numbers[middle]).wrapping_sub(least), unused + 1)?;
        numbers[middle] = number as u32;
        self.ascending(&mut numbers[..middle], low, number)?;
        self.ascending(&mut numbers[middle + 1..], number + 1, end)
    }
}

/// Maps 0, −1, 1, −2, 2, … to 0, 1, 2, 3, 4, …
#[inline]
pub(super) const fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

/// Maps 0, 1, 2, 3, 4, … to 0, −1, 1, −2, 2, …
#[inline]
pub(super) const fn unzigzag(code: u64) -> i64 {
    (code >> 1) as i64 ^ -((code & 1) as i64)
}

/// Appends to a byte buffer.
pub(super) struct Writer<'a> {
    out: &'a mut Vec<u8>,
    /// The low `pending_width` bits, fewer than 32, are not in the buffer yet; those above are.
    pending: u64,
    pending_width: u32,
}

impl<'a> Writer<'a> {
    pub(super) fn new(out: &'a mut Vec<u8>) -> Self {
        Self { out, pending: 0, pending_width: 0 }
    }

    /// Fills the last byte with zeros.
    pub(super) fn finish(self) {
        let left_aligned = (self.pending << (32 - self.pending_width)) as u32;
        let bytes = self.pending_width.div_ceil(8) as usize;
        self.out.extend_from_slice(&left_aligned.to_be_bytes()[..bytes]);
    }

    /// Appends at most 32 bits.
    #[inline(always)]
    fn put(&mut self, value: u64, width: u32) {
        debug_assert!(width <= 32 && value >> width == 0, "{value} does not fit in {width} bits");
        self.pending = self.pending << width | value;
        self.pending_width += width;
        if self.pending_width >= 32 {
            self.pending_width -= 32;
            let whole = (self.pending >> self.pending_width) as u32;
            self.out.extend_from_slice(&whole.to_be_bytes());
        }
    }
}

impl Pass for Writer<'_> {
    #[inline]
    fn bits(&mut self, value: u64, width: u32) -> Result<u64, DecodeError> {
        if width > 32 {
            self.put(value >> 32, width - 32);
            self.put(value & 0xFFFF_FFFF, 32);
        } else {
            self.put(value, width);
        }
        Ok(value)
    }

    #[inline(always)]
    fn phase_in(&mut self, value: u64, width: u32, short_count: u64) -> Result<u64, DecodeError> {
        if value < short_count {
            self.bits(value, width - 1)?;
        } else {
            self.bits(value + short_count, width)?;
        }
        Ok(value)
    }
}

/// Appends what `walk` writes to `out`. On an error `out` is unchanged.
pub(super) fn append<E>(
    out: &mut Vec<u8>,
    walk: impl FnOnce(&mut Writer<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let start = out.len();
    let mut writer = Writer::new(out);
    let walked = walk(&mut writer);
    match walked {
        Ok(()) => writer.finish(),
        Err(_) => out.truncate(start),
    }
    walked
}

/// Reads from a byte slice.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    /// In bits.
    position: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, position: 0 }
    }

    #[inline]
    pub(super) fn bits_left(&self) -> usize {
        self.bytes.len() * 8 - self.position
    }

    /// Checks that the last byte is padded with zeros and that no byte follows.
    pub(super) fn finish(mut self) -> Result<(), DecodeError> {
        if self.bits_left() >= 8 {
            return Err(DecodeError::TrailingBytes);
        }
        match self.bits(0, self.bits_left() as u32)? {
            0 => Ok(()),
            _ => Err(DecodeError::NotCanonical),
        }
    }

    /// Returns the next `width` bits, 1 to 56, with zeros after the end, and does not consume them.
    #[inline]
    fn peek(&self, width: u32) -> u64 {
        debug_assert!((1..=56).contains(&width), "a window holds 56 bits at any position");
        (self.window(self.position / 8) << (self.position % 8)) >> (64 - width)
    }

    /// Returns the eight bytes from `at` on, with zeros after the end.
    #[inline]
    fn window(&self, at: usize) -> u64 {
        if let Some(bytes) = self.bytes.get(at..at + 8) {
            return u64::from_be_bytes(bytes.try_into().expect("a slice of eight"));
        }
        let mut bytes = [0; 8];
        let tail = &self.bytes[at.min(self.bytes.len())..];
        bytes[..tail.len()].copy_from_slice(tail);
        u64::from_be_bytes(bytes)
    }

    #[inline]
    fn take(&mut self, width: u32) -> Result<(), DecodeError> {
        if width as usize > self.bits_left() {
            return Err(DecodeError::Truncated);
        }
        self.position += width as usize;
        Ok(())
    }
}

impl Pass for Reader<'_> {
    /// As part by part, at once where it fits into a window.
    #[inline]
    fn exp_golomb(&mut self, value: u64, order: u32) -> Result<u64, DecodeError> {
        let window = self.window(self.position / 8) << (self.position % 8);
        let zeros = window.leading_zeros();
        let width = 2 * zeros + 1 + order;
        if width > 56 || width as usize > self.bits_left() {
            return self.exp_golomb_in_parts(value, order);
        }
        self.position += width as usize;
        let above = window >> (63 - 2 * zeros);
        let low = (window << (2 * zeros + 1)) >> 1 >> (63 - order);
        Ok(((above - 1) << order) | low)
    }

    /// As bit by bit, at once.
    #[inline]
    fn zeros(&mut self, _: u32, count_max: u32) -> Result<u32, DecodeError> {
        debug_assert!(count_max < 56, "a window holds 56 bits at any position");
        let found = (self.peek(count_max + 1) << (63 - count_max)).leading_zeros();
        if found > count_max && self.bits_left() > count_max as usize {
            return Err(DecodeError::OutOfRange);
        }
        self.take(found.min(count_max) + 1)?;
        Ok(found)
    }

    #[inline]
    fn bits(&mut self, _: u64, width: u32) -> Result<u64, DecodeError> {
        if width == 0 {
            return Ok(0);
        }
        let value = self.peek(width);
        self.take(width)?;
        Ok(value)
    }

    #[inline(always)]
    fn phase_in(&mut self, _: u64, width: u32, short_count: u64) -> Result<u64, DecodeError> {
        let long = self.peek(width);
        let short = long >> 1;
        if short < short_count {
            self.take(width - 1)?;
            Ok(short)
        } else {
            self.take(width)?;
            Ok(long - short_count)
        }
    }
}

#[derive(Default)]
pub(super) struct Counter {
    pub(super) bits: usize,
}

impl Pass for Counter {
    #[inline]
    fn bits(&mut self, value: u64, width: u32) -> Result<u64, DecodeError> {
        self.bits += width as usize;
        Ok(value)
    }

    #[inline(always)]
    fn phase_in(&mut self, value: u64, width: u32, short_count: u64) -> Result<u64, DecodeError> {
        self.bits += width as usize - usize::from(value < short_count);
        Ok(value)
    }
}

/// Returns what the receiver would read, and writes nothing.
pub(super) struct Echo;

impl Pass for Echo {
    #[inline]
    fn bits(&mut self, value: u64, _: u32) -> Result<u64, DecodeError> {
        Ok(value)
    }

    #[inline(always)]
    fn phase_in(&mut self, value: u64, _: u32, _: u64) -> Result<u64, DecodeError> {
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a walk writes, as a string of zeros and ones.
    fn spelt(walk: impl Fn(&mut Writer<'_>) -> Result<(), DecodeError>) -> String {
        let mut bytes = Vec::new();
        let mut writer = Writer::new(&mut bytes);
        walk(&mut writer).expect("a writer writes");
        let width = bytes_and_pending(&writer);
        writer.finish();
        let all: String = bytes.iter().map(|byte| format!("{byte:08b}")).collect();
        all[..width].to_owned()
    }

    fn bytes_and_pending(writer: &Writer<'_>) -> usize {
        writer.out.len() * 8 + writer.pending_width as usize
    }

    #[test]
    fn the_codes_are_spelt_as_in_the_specification() {
        let below = |value, bound| spelt(|pass| pass.below(value, bound).map(drop));
        assert_eq!([0, 1, 2, 3, 4].map(|value| below(value, 5)), ["00", "01", "10", "110", "111"]);
        assert_eq!([0, 3].map(|value| below(value, 4)), ["00", "11"]);
        assert_eq!(below(0, 1), "");

        let exp_golomb = |value, order| spelt(|pass| pass.exp_golomb(value, order).map(drop));
        assert_eq!([0, 1, 2, 3].map(|value| exp_golomb(value, 0)), ["1", "010", "011", "00100"]);
        assert_eq!([0, 3, 4, 12].map(|value| exp_golomb(value, 2)), ["100", "111", "01000", "0010000"]);
    }

    #[test]
    fn a_run_without_gaps_is_free() {
        let ascending = |numbers: &[u32], end| spelt(|pass| pass.ascending(&mut numbers.to_vec(), 0, end));
        assert_eq!(ascending(&[0, 1, 2, 3, 4], 5), "");
        // 2 of 1 or 2 in the middle, then 0 of 0 or 1 below it.
        assert_eq!(ascending(&[0, 2], 3), "10");
    }

    #[test]
    fn everything_written_is_read_again() {
        let mut bytes = Vec::new();
        let walk = |pass: &mut dyn FnMut(u64, u64) -> u64| {
            for bound in [1, 2, 3, 100_002, (1 << 32) + 1] {
                for value in [0, bound / 3, bound - 1] {
                    assert_eq!(pass(value, bound), value);
                }
            }
        };
        let mut writer = Writer::new(&mut bytes);
        walk(&mut |value, bound| writer.below(value, bound).unwrap());
        for order in [0, 7, 20] {
            for value in [0, 1, 1 << order, (1 << 47) - 1] {
                writer.exp_golomb(value, order).unwrap();
            }
        }
        writer.finish();
        let mut reader = Reader::new(&bytes);
        walk(&mut |_, bound| reader.below(0, bound).unwrap());
        for order in [0, 7, 20] {
            for value in [0, 1, 1 << order, (1 << 47) - 1] {
                assert_eq!(reader.exp_golomb(0, order), Ok(value));
            }
        }
        assert_eq!(reader.finish(), Ok(()));
    }

    #[test]
    fn leading_zeros_are_counted_at_once_as_bit_by_bit() {
        /// A reader that has only what every pass has.
        struct BitByBit<'a>(Reader<'a>);
        impl Pass for BitByBit<'_> {
            fn bits(&mut self, value: u64, width: u32) -> Result<u64, DecodeError> {
                self.0.bits(value, width)
            }
            fn phase_in(&mut self, value: u64, width: u32, short: u64) -> Result<u64, DecodeError> {
                self.0.phase_in(value, width, short)
            }
        }
        for length in 0..9 {
            for one in 0..8 * length + 1 {
                let mut bytes = vec![0; length];
                if let Some(byte) = bytes.get_mut(one / 8) {
                    *byte = 0x80 >> (one % 8);
                }
                for count_max in [0, 5, 28, 48] {
                    let (mut quick, mut slow) = (Reader::new(&bytes), BitByBit(Reader::new(&bytes)));
                    let found = quick.zeros(0, count_max);
                    assert_eq!(found, slow.zeros(0, count_max), "{one} in {length} bytes, up to {count_max}");
                    assert!(found.is_err() || quick.position == slow.0.position);
                }
            }
        }
    }

    #[test]
    fn numbers_are_read_at_once_as_part_by_part() {
        let mut random = crate::random::Random::from_seed(7);
        for round in 0..20_000 {
            let (order, lead) = (random.below(25) as u32, random.below(9) as u32);
            let width = 1 + random.below(47);
            let value = random.below(1 << width);
            let mut bytes = Vec::new();
            let mut writer = Writer::new(&mut bytes);
            writer.bits(0, lead).unwrap();
            writer.exp_golomb(value, order).unwrap();
            writer.finish();
            bytes.truncate(bytes.len() - (round % 3).min(bytes.len()));
            let (mut quick, mut slow) = (Reader::new(&bytes), Reader::new(&bytes));
            if quick.bits(0, lead).is_ok() {
                slow.bits(0, lead).unwrap();
                let found = quick.exp_golomb(0, order);
                assert_eq!(found, slow.exp_golomb_in_parts(0, order), "{value} of order {order}");
                assert!(found.is_err() || quick.position == slow.position);
                assert!(round % 3 > 0 || found == Ok(value));
            }
        }
    }

    #[test]
    fn zigzag_folds_the_signs_together() {
        assert_eq!([0, -1, 1, -2, 2].map(zigzag), [0, 1, 2, 3, 4]);
        for value in [0, -1, 7, i64::MAX, i64::MIN] {
            assert_eq!(unzigzag(zigzag(value)), value);
        }
    }
}
