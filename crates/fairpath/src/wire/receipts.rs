//! Feedback: a receiver reports which datagrams arrived, when, and their outdated DR vectors.
//!
//! A receipt can be lost, and a later one cannot say when an earlier datagram arrived. So each
//! feedback message repeats all receipts that the sender has not confirmed yet. The encoding makes
//! repetition cheap: a run of datagrams without a gap costs nothing to name, evenly spaced arrivals
//! with an even delay cost nothing more, and jitter costs bits in proportion to its size.

use super::bits::{Counter, EXP_GOLOMB_BITS_MAX, Pass, Reader, append, zigzag};
use super::header::{Header, Kind, instant, pass_header};
use super::updates::longest_that_fits;
use super::{DecodeError, EncodeError, Nonce, PACKETS_SPAN, RECEIPTS_MAX, VECTORS_MAX};
use crate::number::{PacketNumber, WirePacketNumber};
use crate::time::{SharedInstant, Span};

/// The arrival of one datagram of DR vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The datagram.
    pub packet: PacketNumber,
    /// When the datagram arrived, on the receiver's estimate of the shared clock.
    pub received_at: SharedInstant,
    /// `received_at` minus the send time of the datagram. Negative if clocks differ more.
    pub delay: Span,
    /// The datagram's DR vectors older than those the receiver had. All others were used.
    pub stale: StaleSet,
}

/// A batch of receipts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Feedback {
    /// The header; its nonce is the proof, the exclusive or of all acknowledged nonces.
    pub header: Header,
    /// Whether every datagram that had arrived by the send time is acknowledged here or confirmed.
    /// If true, any other sent long before is lost. If false, some did not fit or were given up.
    pub is_complete: bool,
    /// The receipts, in ascending order of packet numbers.
    pub receipts: Vec<Receipt>,
}

/// A set of DR vectors of one datagram, by their index in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StaleSet([u64; 4]);

impl StaleSet {
    /// The empty set.
    pub const NONE: Self = Self([0; 4]);

    /// Adds the DR vector at index `place`, from zero. From [`VECTORS_MAX`] on it is ignored.
    pub fn insert(&mut self, place: usize) {
        if place < VECTORS_MAX {
            self.0[place / 64] |= 1 << (place % 64);
        }
    }

    /// Returns whether the DR vector at index `place` is in the set.
    pub fn contains(&self, place: usize) -> bool {
        place < VECTORS_MAX && self.0[place / 64] >> (place % 64) & 1 == 1
    }

    /// Returns whether the set is empty: all DR vectors of the datagram were used.
    pub fn is_empty(&self) -> bool {
        *self == Self::NONE
    }

    /// Returns the size of the set.
    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Returns the indices in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        (0..VECTORS_MAX).filter(|&place| self.contains(place))
    }

    fn last(&self) -> Option<usize> {
        (0..VECTORS_MAX).rev().find(|&place| self.contains(place))
    }

    /// One bit if the set is empty; else the last index, and one bit for each index before it.
    fn pass<P: Pass>(&self, pass: &mut P) -> Result<Self, DecodeError> {
        let mut found = Self::NONE;
        let last = self.last();
        if !pass.flag(last.is_some())? {
            return Ok(found);
        }
        let last = pass.bits(last.unwrap_or_default() as u64, 8)? as usize;
        if last >= VECTORS_MAX {
            return Err(DecodeError::OutOfRange);
        }
        for place in 0..last {
            if pass.flag(self.contains(place))? {
                found.insert(place);
            }
        }
        found.insert(last);
        Ok(found)
    }
}

impl FromIterator<usize> for StaleSet {
    fn from_iter<I: IntoIterator<Item = usize>>(places: I) -> Self {
        let mut set = Self::NONE;
        places.into_iter().for_each(|place| set.insert(place));
        set
    }
}

/// Appends this message to `out`. Its receipts must be in ascending order of packet numbers.
///
/// On an error `out` is unchanged.
pub fn encode_feedback(feedback: &Feedback, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    check_order(&feedback.receipts)?;
    append(out, |writer| pass_known(writer, feedback))
}

/// Appends a message with the first of these receipts, as many as fit in `bytes_max`, and returns
/// their number. If none fits, nothing is written.
///
/// Each receipt comes with the nonce of its datagram; the proof of the included ones replaces the
/// nonce of `header`. If receipts are left out, the message is marked incomplete, whatever
/// `is_complete` says.
pub fn pack_feedback(
    header: &Header,
    is_complete: bool,
    receipts: &[(Receipt, Nonce)],
    bytes_max: usize,
    out: &mut Vec<u8>,
) -> Result<usize, EncodeError> {
    let first = |count: usize| Feedback {
        header: Header { nonce: Nonce::of_all(receipts[..count].iter().map(|(_, nonce)| *nonce)), ..*header },
        is_complete: is_complete && count == receipts.len(),
        receipts: receipts[..count].iter().map(|(receipt, _)| *receipt).collect(),
    };
    let count = receipts.len().min(RECEIPTS_MAX);
    check_order(&first(count).receipts)?;
    let count = longest_that_fits(count, bytes_max.saturating_mul(8), |count| {
        let mut counter = Counter::default();
        pass_known(&mut counter, &first(count))?;
        Ok(counter.bits)
    })?;
    if count > 0 {
        encode_feedback(&first(count), out)?;
    }
    Ok(count)
}

/// Reads a batch of receipts. `near` is any instant within two minutes of the send time.
/// `newest_sent` is the newest datagram sent, or any number less than 32 768 away from it.
pub fn decode_feedback(
    near: SharedInstant,
    newest_sent: PacketNumber,
    bytes: &[u8],
) -> Result<Feedback, DecodeError> {
    let mut reader = Reader::new(bytes);
    let (header, _) = pass_header(&mut reader, Kind::Feedback, false, &Header::default(), near)?;
    let is_complete = reader.flag(false)?;
    let count = reader.bits(0, COUNT_WIDTH)? as usize;
    if count > reader.bits_left() {
        return Err(DecodeError::Truncated);
    }
    let blank = Receipt {
        packet: PacketNumber::default(),
        received_at: header.sent_at,
        delay: Span::ZERO,
        stale: StaleSet::NONE,
    };
    let mut receipts = vec![blank; count];
    pass_receipts(&mut reader, header.sent_at, newest_sent, &mut receipts)?;
    reader.finish()?;
    Ok(Feedback { header, is_complete, receipts })
}

/// Bits of [`RECEIPTS_MAX`].
const COUNT_WIDTH: u32 = 8;
const _: () = assert!(RECEIPTS_MAX == (1 << COUNT_WIDTH) - 1);

/// Order of the code for the time since the newest arrival: best for about a millisecond.
const HOLD_ORDER: u32 = 10;
/// Order of the code for a column's least value: best for tens of milliseconds.
const LEAST_ORDER: u32 = 14;

fn check_order(receipts: &[Receipt]) -> Result<(), EncodeError> {
    if receipts.len() > RECEIPTS_MAX {
        return Err(EncodeError::TooMany(receipts.len()));
    }
    if receipts.windows(2).any(|pair| pair[0].packet >= pair[1].packet) {
        return Err(EncodeError::UnorderedReceipts);
    }
    Ok(())
}

/// A whole message without the padding, for every pass except a reader.
fn pass_known<P: Pass>(pass: &mut P, feedback: &Feedback) -> Result<(), EncodeError> {
    let Feedback { header, is_complete, receipts } = feedback;
    let newest = receipts.last().map_or(PacketNumber(0), |receipt| receipt.packet);
    let walk = |pass: &mut P| {
        pass_header(pass, Kind::Feedback, false, header, header.sent_at)?;
        pass.flag(*is_complete)?;
        pass.bits(receipts.len() as u64, COUNT_WIDTH)?;
        pass_receipts(pass, header.sent_at, newest, &mut receipts.clone())
    };
    walk(pass).map_err(|_| EncodeError::OutOfRange)
}

/// The receipts, column by column.
fn pass_receipts<P: Pass>(
    pass: &mut P,
    sent_at: SharedInstant,
    near: PacketNumber,
    receipts: &mut [Receipt],
) -> Result<(), DecodeError> {
    if receipts.is_empty() {
        return Ok(());
    }
    pass_packets(pass, near, receipts)?;
    pass_arrivals(pass, sent_at, receipts)?;
    let mut delays = Column::of(receipts.iter().map(|receipt| receipt.delay.as_micros()));
    pass_column(pass, delays.numbers())?;
    for (receipt, delay) in receipts.iter_mut().zip(delays.numbers()) {
        receipt.delay = Span::from_micros(*delay);
        receipt.stale = receipt.stale.pass(pass)?;
    }
    Ok(())
}

/// One number for each receipt. Few are kept without an allocation: mostly there are few.
enum Column<T> {
    Few([T; 8], usize),
    Many(Vec<T>),
}

impl<T: Copy + Default> Column<T> {
    #[inline]
    fn of(numbers: impl ExactSizeIterator<Item = T>) -> Self {
        let count = numbers.len();
        let mut few = [T::default(); 8];
        if count > few.len() {
            return Self::Many(numbers.collect());
        }
        few.iter_mut().zip(numbers).for_each(|(place, number)| *place = number);
        Self::Few(few, count)
    }

    #[inline]
    fn numbers(&mut self) -> &mut [T] {
        match self {
            Self::Few(few, count) => &mut few[..*count],
            Self::Many(many) => many,
        }
    }
}

/// The newest packet, the distance to the oldest, and the packets between.
fn pass_packets<P: Pass>(
    pass: &mut P,
    near: PacketNumber,
    receipts: &mut [Receipt],
) -> Result<(), DecodeError> {
    let others = receipts.len() as u64 - 1;
    let oldest = receipts[0].packet.0;
    let newest = receipts[others as usize].packet;
    let found = pass.bits(newest.on_wire().0.into(), 16)?;
    let newest_found = WirePacketNumber(found as u16).widen(near);
    if others == 0 {
        receipts[0].packet = newest_found;
        return Ok(());
    }
    let span = others + pass.exp_golomb((newest.0 - oldest).saturating_sub(others), 0)?;
    if span >= PACKETS_SPAN || span > newest_found.0 {
        return Err(DecodeError::OutOfRange);
    }
    let mut offsets = Column::of(receipts.iter().map(|receipt| receipt.packet.0.wrapping_sub(oldest) as u32));
    let offsets = offsets.numbers();
    pass.ascending(&mut offsets[1..others as usize], 1, span)?;
    offsets[others as usize] = span as u32;
    for (receipt, offset) in receipts.iter_mut().zip(offsets) {
        receipt.packet = PacketNumber(newest_found.0 - span + u64::from(*offset));
    }
    Ok(())
}

/// The time from the newest arrival to the message, and the intervals between the arrivals.
fn pass_arrivals<P: Pass>(
    pass: &mut P,
    sent_at: SharedInstant,
    receipts: &mut [Receipt],
) -> Result<(), DecodeError> {
    let mut intervals =
        Column::of(receipts.windows(2).map(|pair| (pair[1].received_at - pair[0].received_at).as_micros()));
    let intervals = intervals.numbers();
    let newest = receipts.last().expect("there is at least one receipt").received_at;
    let hold = pass.exp_golomb_signed((sent_at - newest).as_micros(), HOLD_ORDER)?;
    if !intervals.is_empty() {
        pass_column(pass, intervals)?;
    }
    let mut received_at = sent_at - Span::from_micros(hold);
    for (at, receipt) in receipts.iter_mut().enumerate().rev() {
        receipt.received_at = instant(received_at.as_micros()).ok_or(DecodeError::OutOfRange)?;
        if at > 0 {
            received_at = received_at - Span::from_micros(intervals[at - 1]);
        }
    }
    Ok(())
}

/// Limit of the numbers in a column: 2⁴⁵ µs are a year.
const COLUMN_LIMIT: i64 = 1 << 45;
const _: () = assert!(zigzag(COLUMN_LIMIT) < 1 << EXP_GOLOMB_BITS_MAX);
/// In place of an order: all numbers of the column are equal.
const ALL_SAME: u32 = 31;
/// The greatest order, for differences of a quarter of an hour.
const COLUMN_ORDER_MAX: u32 = 30;

/// Numbers that are close together: the least of them, and the difference of each from it.
fn pass_column<P: Pass>(pass: &mut P, column: &mut [i64]) -> Result<(), DecodeError> {
    let least = column.iter().copied().min().unwrap_or_default();
    let order = column_order(column, least)?;
    let least = pass.exp_golomb_signed(least, LEAST_ORDER)?;
    let order = pass.bits(order.into(), 5)? as u32;
    for number in column.iter_mut() {
        let above = if order == ALL_SAME { 0 } else { pass.exp_golomb((*number - least) as u64, order)? };
        *number = least + above as i64;
    }
    let least_found = column.iter().copied().min().unwrap_or_default();
    if least_found != least || column_order(column, least)? != order {
        return Err(DecodeError::NotCanonical);
    }
    Ok(())
}

/// Returns the order that suits the mean difference from the least number.
fn column_order(column: &[i64], least: i64) -> Result<u32, DecodeError> {
    if column.iter().any(|number| !(-COLUMN_LIMIT..=COLUMN_LIMIT).contains(number)) {
        return Err(DecodeError::OutOfRange);
    }
    let sum: i64 = column.iter().map(|number| number - least).sum();
    if sum == 0 {
        return Ok(ALL_SAME);
    }
    Ok((sum / column.len() as i64).max(1).ilog2().min(COLUMN_ORDER_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receipt(packet: u64, received_us: i64, delay_us: i64) -> Receipt {
        Receipt {
            packet: PacketNumber(packet),
            received_at: SharedInstant::from_micros(received_us),
            delay: Span::from_micros(delay_us),
            stale: StaleSet::NONE,
        }
    }

    fn feedback(receipts: &[Receipt]) -> Feedback {
        let header = Header { sent_at: SharedInstant::from_millis(10_000), ..Header::default() };
        Feedback { header, is_complete: true, receipts: receipts.to_vec() }
    }

    fn encoded(receipts: &[Receipt]) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode_feedback(&feedback(receipts), &mut bytes).expect("sound receipts");
        bytes
    }

    #[test]
    fn a_steady_link_costs_a_bit_per_receipt() {
        let steady = |count: i64| -> Vec<Receipt> {
            (0..count).map(|i| receipt(100 + i as u64, 9_000_000 + 33_333 * i, 50_000)).collect()
        };
        assert_eq!(encoded(&steady(2)).len() + 2, encoded(&steady(18)).len());
    }

    #[test]
    fn receipts_must_ascend() {
        let twice = [receipt(7, 0, 0), receipt(7, 1, 0)];
        let error = |receipts: &[Receipt]| encode_feedback(&feedback(receipts), &mut Vec::new());
        assert_eq!(error(&twice), Err(EncodeError::UnorderedReceipts));
        let apart = [receipt(0, 0, 0), receipt(40_000, 1, 0)];
        assert_eq!(error(&apart), Err(EncodeError::OutOfRange));
    }

    #[test]
    fn stale_vectors_are_counted_by_their_place() {
        let stale = StaleSet::from_iter([3, 0, 254, 255]);
        assert_eq!(stale.iter().collect::<Vec<_>>(), [0, 3, 254]);
        assert_eq!(stale.len(), 3);
        assert!(!stale.contains(255));
        let sent = [Receipt { stale, ..receipt(9, 0, -5) }];
        let feedback = decode_feedback(SharedInstant::ZERO, PacketNumber(0), &encoded(&sent));
        assert_eq!(feedback.expect("what was encoded").receipts, sent);
    }
}
