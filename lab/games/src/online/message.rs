//! What both ends tell each other, as bytes.
//!
//! Numbers keep all their bits, or the two ends would not play the same physics. Whatever comes is
//! from a stranger: it is read with its bounds, and refused with a reason.

use std::fmt;

use fairpath::time::{LocalInstant, Span};
use fairpath::vector::Vec2;
use fairpath_compensate::{Epoch, Reply};

use crate::shared::PlayerInput;

/// A state that can travel.
pub trait WireState: Sized {
    /// Appends it.
    fn write(&self, out: &mut Writer);

    /// Takes it off the front.
    fn read(from: &mut Reader<'_>) -> Result<Self, BadMessage>;
}

/// Bytes that are being written.
#[derive(Clone, Debug, Default)]
pub struct Writer(Vec<u8>);

/// Bytes that are being read.
#[derive(Clone, Debug)]
pub struct Reader<'a>(&'a [u8]);

/// Why bytes are not a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BadMessage {
    /// It ends too early.
    Truncated,
    /// It goes on after its end.
    TooLong,
    /// A number is not one, or is beyond everything.
    NotFinite,
    /// A kind, a count or a flag that there is none of.
    Unknown(u8),
}

/// No number in a game is beyond this: what is larger is a mistake or a lie, and physics would make
/// infinities of it.
const NUMBER_MAX: f64 = 1e9;

impl Writer {
    /// One byte.
    pub fn u8(&mut self, value: u8) -> &mut Self {
        self.0.push(value);
        self
    }

    /// Four bytes.
    pub fn u32(&mut self, value: u32) -> &mut Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    /// Eight bytes.
    pub fn u64(&mut self, value: u64) -> &mut Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    /// All bits of a number.
    pub fn f64(&mut self, value: f64) -> &mut Self {
        self.u64(value.to_bits())
    }

    /// A vector.
    pub fn vector(&mut self, value: Vec2) -> &mut Self {
        self.f64(value.x).f64(value.y)
    }

    /// A value that may be missing.
    pub fn option<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) -> &mut Self {
        self.u8(value.is_some().into());
        if let Some(value) = value {
            write(self, value);
        }
        self
    }

    /// What was written.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

impl<'a> Reader<'a> {
    /// Begins to read.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], BadMessage> {
        let (first, rest) = self.0.split_first_chunk().ok_or(BadMessage::Truncated)?;
        self.0 = rest;
        Ok(*first)
    }

    /// One byte.
    pub fn u8(&mut self) -> Result<u8, BadMessage> {
        self.take::<1>().map(|[byte]| byte)
    }

    /// Four bytes.
    pub fn u32(&mut self) -> Result<u32, BadMessage> {
        self.take().map(u32::from_le_bytes)
    }

    /// Eight bytes.
    pub fn u64(&mut self) -> Result<u64, BadMessage> {
        self.take().map(u64::from_le_bytes)
    }

    /// A number that a game can have.
    pub fn f64(&mut self) -> Result<f64, BadMessage> {
        let value = f64::from_bits(self.u64()?);
        if value.abs() <= NUMBER_MAX { Ok(value) } else { Err(BadMessage::NotFinite) }
    }

    /// A vector.
    pub fn vector(&mut self) -> Result<Vec2, BadMessage> {
        Ok(Vec2::new(self.f64()?, self.f64()?))
    }

    /// Yes or no.
    pub fn flag(&mut self) -> Result<bool, BadMessage> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(BadMessage::Unknown(other)),
        }
    }

    /// A value that may be missing.
    pub fn option<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, BadMessage>,
    ) -> Result<Option<T>, BadMessage> {
        if self.flag()? { read(self).map(Some) } else { Ok(None) }
    }

    /// Ends reading: nothing may be left.
    pub fn end(self) -> Result<(), BadMessage> {
        if self.0.is_empty() { Ok(()) } else { Err(BadMessage::TooLong) }
    }
}

/// What the hands do, and since when by their own clock.
pub fn write_input<I: PlayerInput>(stamp: LocalInstant, input: I) -> Vec<u8> {
    let mut out = Writer::default();
    out.u64(stamp.as_micros().cast_unsigned());
    for axis in input.axes() {
        out.f64(axis);
    }
    out.into_bytes()
}

/// What [`write_input`] wrote, within what hands can do.
pub fn read_input<I: PlayerInput>(bytes: &[u8]) -> Result<(LocalInstant, I), BadMessage> {
    let mut from = Reader::new(bytes);
    let stamp = LocalInstant::from_micros(from.u64()?.cast_signed());
    let axes = [from.f64()?, from.f64()?, from.f64()?, from.f64()?];
    from.end()?;
    Ok((stamp, I::from_axes(axes, 0).limited()))
}

/// A server's answer.
pub fn write_reply<S: WireState>(reply: &Reply<S>) -> Vec<u8> {
    let mut out = Writer::default();
    out.u32(reply.epoch.0).u64(reply.tick);
    out.option(reply.acknowledged, |out, stamp| {
        out.u64(stamp.as_micros().cast_unsigned());
    });
    out.u64(reply.applied.as_micros().cast_unsigned());
    reply.state.write(&mut out);
    out.into_bytes()
}

/// What [`write_reply`] wrote.
pub fn read_reply<S: WireState>(bytes: &[u8]) -> Result<Reply<S>, BadMessage> {
    let mut from = Reader::new(bytes);
    let reply = Reply {
        epoch: Epoch(from.u32()?),
        tick: from.u64()?,
        acknowledged: from.option(|from| Ok(LocalInstant::from_micros(from.u64()?.cast_signed())))?,
        applied: Span::from_micros(from.u64()?.cast_signed()),
        state: S::read(&mut from)?,
    };
    from.end()?;
    Ok(reply)
}

impl fmt::Display for BadMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => write!(f, "it ends too early"),
            Self::TooLong => write!(f, "it goes on after its end"),
            Self::NotFinite => write!(f, "a number is beyond everything"),
            Self::Unknown(what) => write!(f, "{what} means nothing here"),
        }
    }
}

impl std::error::Error for BadMessage {}
