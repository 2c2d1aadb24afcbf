//! A batch of DR vectors.
//!
//! Common values of the batch come first, once: the ids in ascending order, and tables of the
//! generation times, lives, shapes and parents that occur. Each DR vector then names its entry of
//! every table in as few bits as the table's length needs: none where all agree. Without parents
//! there is no table of them; a bit of the header says so.

use super::bits::{Counter, Echo, Pass, Reader, Writer, append};
use super::header::{HALF_BYTE, Header, Kind, header_bits, instant, pass_header};
use super::motion::{SHAPES, blank, pass_attitude, pass_motion, shape_of};
use super::{DecodeError, EncodeError, Precision, VECTORS_MAX};
use crate::dr_vector::DrVector;
use crate::number::{EntityId, Generation, Life};
use crate::time::SharedInstant;
use crate::vector::Planar;

/// A received batch of DR vectors.
#[derive(Clone, Debug, PartialEq)]
pub struct Updates<V: Planar> {
    /// The number and send time of the datagram.
    pub header: Header,
    /// The DR vectors, in ascending order of entity ids.
    pub vectors: Vec<DrVector<V>>,
}

/// Appends a message with all of these DR vectors, in any order, to `out`.
///
/// The message, and receipts for it, list them in ascending order of entity ids. A message without
/// DR vectors is valid: it keeps the link alive or carries a confirmation. On an error `out` is
/// unchanged.
///
/// ```
/// use fairpath::motion::MotionKind;
/// use fairpath::time::SharedInstant;
/// use fairpath::vector::Vec2;
/// use fairpath::wire::{Header, Precision, decode_updates, encode_updates};
/// use fairpath::{DrVector, State};
///
/// let precision = Precision::default();
/// let tank = State::moving(Vec2::new(12.345, -60.0), Vec2::new(20.0, 15.0));
/// let now = SharedInstant::from_millis(5_000);
/// let vector = DrVector {
///     entity: Default::default(),
///     life: Default::default(),
///     generation: Default::default(),
///     generated_at: now,
///     motion: MotionKind::Linear.from_state(&tank),
///     attitude: None,
///     parent: None,
/// };
/// let mut datagram = Vec::new();
/// encode_updates(&precision, &Header { sent_at: now, ..Header::default() }, &[vector], &mut datagram)?;
/// assert_eq!(datagram.len(), 20);
///
/// let received = decode_updates::<Vec2>(&precision, now, &datagram)?;
/// assert_eq!(received.vectors, [precision.as_decoded(&vector)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn encode_updates<V: Planar>(
    precision: &Precision,
    header: &Header,
    vectors: &[DrVector<V>],
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let sorted = sorted_by_entity(vectors)?;
    append(out, |writer| pass_sorted(writer, precision, header, &sorted))
}

/// A message of DR vectors without its header: the same for every receiver that is sent the same DR
/// vectors at the same instant.
///
/// A header ends in the middle of a byte, with or without a confirmation, so that every header can
/// be joined with every body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UpdatesBody {
    /// The first byte has its upper half free for the end of the header.
    bytes: Vec<u8>,
    has_parents: bool,
}

impl UpdatesBody {
    /// Replaces the body by one with all of these DR vectors, which must be in ascending order of
    /// entity ids, for messages that leave at `sent_at`. On an error the body is empty.
    pub fn encode<'a, V: Planar>(
        &mut self,
        precision: &Precision,
        sent_at: SharedInstant,
        sorted: impl IntoIterator<Item = &'a DrVector<V>>,
    ) -> Result<(), EncodeError> {
        self.bytes.clear();
        let sorted: Vec<&DrVector<V>> = sorted.into_iter().collect();
        check_sorted(&sorted)?;
        self.has_parents = sorted.iter().any(|vector| vector.parent.is_some());
        append(&mut self.bytes, |writer| {
            writer.bits(0, HALF_BYTE).map_err(|_| EncodeError::OutOfRange)?;
            pass_body(writer, precision, sent_at, self.has_parents, &sorted)
        })
    }

    /// Returns the bytes of the whole message with this header.
    pub fn bytes_with(&self, header: &Header) -> usize {
        // The last half byte of the header is in the first byte of the body.
        self.bytes.len() + header_bits(header) / 8
    }

    /// Appends the whole message with this header.
    pub fn write<V: Planar>(&self, header: &Header, out: &mut Vec<u8>) {
        let walk = |writer: &mut Writer<'_>| {
            pass_header(writer, kind_of::<V>(), self.has_parents, header, header.sent_at).map(drop)
        };
        append(out, walk).expect("a writer writes every header");
        let [first, rest @ ..] = &self.bytes[..] else { return };
        *out.last_mut().expect("a header has bytes") |= first;
        out.extend_from_slice(rest);
    }
}

/// Appends a message with the first of these DR vectors that fit in `bytes_max`; returns how many.
///
/// Pass the most urgent DR vectors first. Only the first [`VECTORS_MAX`] are considered. If none
/// fits, nothing is written.
pub fn pack_updates<V: Planar>(
    precision: &Precision,
    header: &Header,
    candidates: &[DrVector<V>],
    bytes_max: usize,
    out: &mut Vec<u8>,
) -> Result<usize, EncodeError> {
    let candidates = &candidates[..candidates.len().min(VECTORS_MAX)];
    let start = out.len();
    if !candidates.is_empty() {
        // Mostly all of them fit, and then no counting is needed.
        encode_updates(precision, header, candidates, out)?;
        if out.len() - start <= bytes_max {
            return Ok(candidates.len());
        }
        out.truncate(start);
    }
    let count = longest_that_fits(candidates.len(), bytes_max.saturating_mul(8), |count| {
        let mut counter = Counter::default();
        pass_sorted(&mut counter, precision, header, &sorted_by_entity(&candidates[..count])?)?;
        Ok(counter.bits)
    })?;
    if count > 0 {
        encode_updates(precision, header, &candidates[..count], out)?;
    }
    Ok(count)
}

/// Returns the greatest number of items, up to `count`, that fit in a message of `bits_max` bits.
/// Items cost about the same and a message little more than its items, so a proportional guess is a
/// few items off, and the exact answer a few steps away.
pub(super) fn longest_that_fits(
    count: usize,
    bits_max: usize,
    bits_of_first: impl Fn(usize) -> Result<usize, EncodeError>,
) -> Result<usize, EncodeError> {
    let bits_of_all = bits_of_first(count)?;
    if bits_of_all <= bits_max {
        return Ok(count);
    }
    let mut fitting = count * bits_max / bits_of_all;
    while fitting > 0 && bits_of_first(fitting)? > bits_max {
        fitting -= 1;
    }
    while fitting + 1 < count && bits_of_first(fitting + 1)? <= bits_max {
        fitting += 1;
    }
    Ok(fitting)
}

/// Reads a batch of DR vectors. `near` is any instant within two minutes of the send time.
pub fn decode_updates<V: Planar>(
    precision: &Precision,
    near: SharedInstant,
    bytes: &[u8],
) -> Result<Updates<V>, DecodeError> {
    let mut reader = Reader::new(bytes);
    let (header, has_parents) = pass_header(&mut reader, kind_of::<V>(), false, &Header::default(), near)?;
    let count = reader.bits(0, COUNT_WIDTH)? as usize;
    if count * GENERATION_WIDTH as usize > reader.bits_left() {
        return Err(DecodeError::Truncated);
    }
    let mut vectors = Vec::with_capacity(count);
    if count > 0 {
        let mut ids = vec![0; count];
        pass_ids(&mut reader, &mut ids)?;
        let shared =
            pass_shared(&mut reader, precision, header.sent_at, count, has_parents, &Shared::default())?;
        let mut steps = vec![shared.newest; count];
        for (id, step) in ids.into_iter().zip(&mut steps) {
            let mut vector = blank_vector(id);
            pass_vector(&mut reader, precision, &shared, step, &mut vector)?;
            vectors.push(vector);
        }
        if Shared::of(&steps, &vectors) != Some(shared) {
            return Err(DecodeError::NotCanonical);
        }
    } else if has_parents {
        return Err(DecodeError::NotCanonical);
    }
    reader.finish()?;
    Ok(Updates { header, vectors })
}

impl Precision {
    /// Returns exactly what a receiver will decode of this DR vector. The sender must predict from
    /// this; otherwise it corrects errors that no receiver has and misses real ones.
    ///
    /// Applying it twice changes nothing more. A DR vector that is not finite is returned
    /// unchanged; no message can carry it.
    #[must_use]
    pub fn as_decoded<V: Planar>(&self, vector: &DrVector<V>) -> DrVector<V> {
        let mut decoded = *vector;
        match pass_numbers(&mut Echo, self, &mut decoded) {
            Ok(()) => {
                decoded.generated_at = self.on_time_grid(vector.generated_at);
                decoded
            }
            Err(_) => *vector,
        }
    }

    /// Returns the bits of this DR vector alone, without its share of the ids and tables of its
    /// batch. Zero if it is not finite: no message can carry it.
    ///
    /// In a batch of 16 the share is 8 to 16 bits (`cargo xtask bench wire`).
    pub fn bits_of<V: Planar>(&self, vector: &DrVector<V>) -> usize {
        let mut counter = Counter::default();
        match pass_numbers(&mut counter, self, &mut vector.clone()) {
            Ok(()) => counter.bits,
            Err(_) => 0,
        }
    }
}

/// Bits of [`VECTORS_MAX`].
const COUNT_WIDTH: u32 = 8;
const _: () = assert!(VECTORS_MAX == (1 << COUNT_WIDTH) - 1);

/// Bits of a generation. It is never compressed, so a DR vector takes at least this many.
const GENERATION_WIDTH: u32 = 8;

/// Order of the code for the last id: best for worlds of about a hundred entities.
const ID_ORDER: u32 = 6;
/// Order of the code for the age of the newest DR vector: best for DR vectors of this tick.
const LAG_ORDER: u32 = 2;
/// Order of the code for the difference between the newest and the oldest: best for a tick or two.
const AGE_ORDER: u32 = 4;

fn kind_of<V: Planar>() -> Kind {
    if V::DIMENSIONS == 2 { Kind::Updates2d } else { Kind::Updates3d }
}

fn sorted_by_entity<V: Planar>(vectors: &[DrVector<V>]) -> Result<Vec<&DrVector<V>>, EncodeError> {
    let mut sorted: Vec<_> = vectors.iter().collect();
    sorted.sort_unstable_by_key(|vector| vector.entity);
    check_sorted(&sorted)?;
    Ok(sorted)
}

fn check_sorted<V: Planar>(sorted: &[&DrVector<V>]) -> Result<(), EncodeError> {
    if sorted.len() > VECTORS_MAX {
        return Err(EncodeError::TooMany(sorted.len()));
    }
    match sorted.windows(2).find(|pair| pair[0].entity >= pair[1].entity) {
        Some(pair) => Err(EncodeError::DuplicateEntity(pair[0].entity)),
        None => Ok(()),
    }
}

/// A whole message without the padding, for every pass except a reader.
fn pass_sorted<P: Pass, V: Planar>(
    pass: &mut P,
    precision: &Precision,
    header: &Header,
    sorted: &[&DrVector<V>],
) -> Result<(), EncodeError> {
    let out_of_range = |_| EncodeError::OutOfRange;
    let has_parents = sorted.iter().any(|vector| vector.parent.is_some());
    pass_header(pass, kind_of::<V>(), has_parents, header, header.sent_at).map_err(out_of_range)?;
    pass_body(pass, precision, header.sent_at, has_parents, sorted)
}

/// A message without header and padding, for every pass except a reader.
fn pass_body<P: Pass, V: Planar>(
    pass: &mut P,
    precision: &Precision,
    sent_at: SharedInstant,
    has_parents: bool,
    sorted: &[&DrVector<V>],
) -> Result<(), EncodeError> {
    let out_of_range = |_| EncodeError::OutOfRange;
    pass.bits(sorted.len() as u64, COUNT_WIDTH).map_err(out_of_range)?;
    if sorted.is_empty() {
        return Ok(());
    }
    let mut ids: Vec<u32> = sorted.iter().map(|vector| vector.entity.0).collect();
    pass_ids(pass, &mut ids).map_err(out_of_range)?;
    let steps = grid_steps(precision, sorted).ok_or(EncodeError::OutOfRange)?;
    let shared = Shared::of(&steps, sorted.iter().copied()).ok_or(EncodeError::OutOfRange)?;
    pass_shared(pass, precision, sent_at, sorted.len(), has_parents, &shared).map_err(out_of_range)?;
    for (&vector, mut step) in sorted.iter().zip(steps) {
        let passed = pass_vector(pass, precision, &shared, &mut step, &mut vector.clone());
        passed.map_err(|_| EncodeError::NonFinite(vector.entity))?;
    }
    Ok(())
}

/// The steps of the time grid nearest to the generation times; `None` beyond the largest time.
fn grid_steps<V: Planar>(precision: &Precision, vectors: &[&DrVector<V>]) -> Option<Vec<i64>> {
    let mut steps = Vec::with_capacity(vectors.len());
    let (mut previous, mut step) = (None, 0);
    for vector in vectors {
        // Most of a batch is generated in the same tick, and division is slow.
        if previous != Some(vector.generated_at) {
            let on_grid = instant(precision.on_time_grid(vector.generated_at).as_micros())?;
            step = on_grid.as_micros().div_euclid(precision.time_step().as_micros());
            previous = Some(vector.generated_at);
        }
        steps.push(step);
    }
    Some(steps)
}

/// The last id, then the others below it.
fn pass_ids<P: Pass>(pass: &mut P, ids: &mut [u32]) -> Result<(), DecodeError> {
    let (last, others) = ids.split_last_mut().expect("an empty batch has no ids");
    let least = others.len() as u64;
    let found = least + pass.exp_golomb(u64::from(*last).saturating_sub(least), ID_ORDER)?;
    *last = u32::try_from(found).map_err(|_| DecodeError::OutOfRange)?;
    pass.ascending(others, 0, found)
}

/// The common values of a batch.
#[derive(Debug, Default, PartialEq, Eq)]
struct Shared {
    /// The newest generation time, in steps of the time grid.
    newest: i64,
    /// Distances from the newest generation time in steps, ascending, beginning with zero.
    ages: Vec<u32>,
    lives: Small,
    shapes: Small,
    parents: Parents,
}

/// The parents of a batch.
#[derive(Debug, Default, PartialEq, Eq)]
struct Parents {
    /// Whether some DR vector has no parent while another has one.
    some_have_none: bool,
    ids: Vec<u32>,
}

impl Shared {
    /// Returns the common values of these DR vectors, generated at these steps of the time grid;
    /// `None` if the times are too far apart for one message.
    fn of<'a, V: Planar>(steps: &[i64], vectors: impl IntoIterator<Item = &'a DrVector<V>>) -> Option<Self> {
        let newest = steps.iter().copied().max()?;
        let mut shared = Self { newest, ..Self::default() };
        for (step, vector) in steps.iter().zip(vectors) {
            let age = u32::try_from(newest - step).ok()?;
            if let Err(at) = shared.ages.binary_search(&age) {
                shared.ages.insert(at, age);
            }
            shared.lives.insert(vector.life.number().into());
            shared.shapes.insert(shape_of(vector));
            match vector.parent {
                Some(parent) => shared.parents.insert(parent),
                None => shared.parents.some_have_none = true,
            }
        }
        shared.parents.some_have_none &= !shared.parents.ids.is_empty();
        Some(shared)
    }
}

impl Parents {
    fn insert(&mut self, EntityId(parent): EntityId) {
        if let Err(at) = self.ids.binary_search(&parent) {
            self.ids.insert(at, parent);
        }
    }

    /// The whole table: whether some have none, the number of ids minus one, and the ids.
    fn pass<P: Pass>(&self, pass: &mut P, count: usize) -> Result<Self, DecodeError> {
        let some_have_none = pass.flag(self.some_have_none)?;
        let others = pass.exp_golomb(self.ids.len().saturating_sub(1) as u64, 0)?;
        if others >= count as u64 {
            return Err(DecodeError::OutOfRange);
        }
        let mut ids = self.ids.clone();
        ids.resize(1 + others as usize, 0);
        pass_ids(pass, &mut ids)?;
        Ok(Self { some_have_none, ids })
    }

    /// One entry of the table: none comes first, if some have none.
    fn pass_member<P: Pass>(
        &self,
        pass: &mut P,
        parent: Option<EntityId>,
    ) -> Result<Option<EntityId>, DecodeError> {
        if self.ids.is_empty() {
            return Ok(None);
        }
        let first = usize::from(self.some_have_none);
        let rank = |EntityId(parent)| first + self.ids.partition_point(|&id| id < parent);
        let entries = first + self.ids.len();
        let entry = parent.map_or(0, rank).min(entries - 1);
        let entry = pass.below(entry as u64, entries as u64)? as usize;
        Ok(entry.checked_sub(first).map(|at| EntityId(self.ids[at])))
    }
}

/// The tables of a batch of `count`.
fn pass_shared<P: Pass>(
    pass: &mut P,
    precision: &Precision,
    sent_at: SharedInstant,
    count: usize,
    has_parents: bool,
    shared: &Shared,
) -> Result<Shared, DecodeError> {
    let sent_step = sent_at.as_micros().div_euclid(precision.time_step().as_micros());
    let lag = pass.exp_golomb_signed(sent_step.wrapping_sub(shared.newest), LAG_ORDER)?;
    let newest = sent_step.checked_sub(lag).ok_or(DecodeError::OutOfRange)?;
    let ages = pass_ages(pass, count, &shared.ages)?;
    let lives = shared.lives.pass(pass, 4)?;
    let shapes = shared.shapes.pass(pass, SHAPES)?;
    let parents = if has_parents { shared.parents.pass(pass, count)? } else { Parents::default() };
    Ok(Shared { newest, ages, lives, shapes, parents })
}

/// Zero is always among the ages; the greatest follows, then the ages between.
fn pass_ages<P: Pass>(pass: &mut P, count: usize, ages: &[u32]) -> Result<Vec<u32>, DecodeError> {
    let others = pass.exp_golomb(ages.len().saturating_sub(1) as u64, 0)?;
    if others >= count as u64 {
        return Err(DecodeError::OutOfRange);
    }
    let mut ages = ages.to_vec();
    ages.resize(1 + others as usize, 0);
    if let [_, between @ .., oldest] = &mut ages[..] {
        let found = others + pass.exp_golomb(u64::from(*oldest).saturating_sub(others), AGE_ORDER)?;
        *oldest = u32::try_from(found).map_err(|_| DecodeError::OutOfRange)?;
        pass.ascending(between, 1, found)?;
    }
    Ok(ages)
}

/// One DR vector, generated at this step of the time grid: its table entries and its numbers.
fn pass_vector<P: Pass, V: Planar>(
    pass: &mut P,
    precision: &Precision,
    shared: &Shared,
    step: &mut i64,
    vector: &mut DrVector<V>,
) -> Result<(), DecodeError> {
    let age = (shared.newest - *step) as u32;
    let entry = shared.ages.partition_point(|&younger| younger < age) as u64;
    let entry = pass.below(entry, shared.ages.len() as u64)? as usize;
    *step = shared.newest.checked_sub(shared.ages[entry].into()).ok_or(DecodeError::OutOfRange)?;
    let micros = step.checked_mul(precision.time_step().as_micros());
    vector.generated_at = micros.and_then(instant).ok_or(DecodeError::OutOfRange)?;

    let life = shared.lives.pass_member(pass, vector.life.number().into())?;
    vector.life = Life::new(life as u8);
    let shape = shared.shapes.pass_member(pass, shape_of(vector))?;
    if shape_of(vector) != shape {
        (vector.motion, vector.attitude) = blank(shape)?;
    }
    vector.parent = shared.parents.pass_member(pass, vector.parent)?;
    pass_numbers(pass, precision, vector)
}

/// The values of one DR vector that no table holds.
fn pass_numbers<P: Pass, V: Planar>(
    pass: &mut P,
    precision: &Precision,
    vector: &mut DrVector<V>,
) -> Result<(), DecodeError> {
    vector.generation = Generation(pass.bits(vector.generation.0.into(), GENERATION_WIDTH)? as u8);
    pass_motion(pass, precision, &mut vector.motion)?;
    match &mut vector.attitude {
        Some(attitude) => pass_attitude(pass, precision, attitude),
        None => Ok(()),
    }
}

/// Returns a DR vector for a reader to fill.
fn blank_vector<V: Planar>(id: u32) -> DrVector<V> {
    let (motion, attitude) = blank(1).expect("linear is a shape");
    DrVector {
        entity: EntityId(id),
        life: Life::default(),
        generation: Generation::default(),
        generated_at: SharedInstant::ZERO,
        motion,
        attitude,
        parent: None,
    }
}

/// A set of numbers below 16.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Small(u16);

impl Small {
    #[inline]
    fn insert(&mut self, number: u32) {
        self.0 |= 1 << number;
    }

    #[inline]
    fn len(self) -> u32 {
        self.0.count_ones()
    }

    fn iter(self) -> impl Iterator<Item = u32> {
        (0..16).filter(move |number| self.0 >> number & 1 == 1)
    }

    /// The whole set: its size minus one, then its members, all below `end`.
    fn pass<P: Pass>(self, pass: &mut P, end: u32) -> Result<Self, DecodeError> {
        let others = pass.exp_golomb(self.len().saturating_sub(1).into(), 0)?;
        if others >= end.into() {
            return Err(DecodeError::OutOfRange);
        }
        let mut numbers = [0; 16];
        for (number, member) in numbers.iter_mut().zip(self.iter()) {
            *number = member;
        }
        let members = &mut numbers[..=others as usize];
        pass.ascending(members, 0, end.into())?;
        let mut found = Self::default();
        members.iter().for_each(|&member| found.insert(member));
        Ok(found)
    }

    /// One member of the set, by its rank in it.
    #[inline]
    fn pass_member<P: Pass>(self, pass: &mut P, member: u32) -> Result<u32, DecodeError> {
        if self.0.is_power_of_two() {
            return Ok(self.0.trailing_zeros());
        }
        let rank = (self.0 & ((1 << member) - 1)).count_ones();
        let rank = pass.below(rank.min(self.len() - 1).into(), self.len().into())?;
        Ok(self.iter().nth(rank as usize).expect("a rank is below the number of members"))
    }
}
