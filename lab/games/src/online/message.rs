//! The byte encoding of inputs and replies.
//!
//! Numbers keep all their bits, or the two ends would not compute the same physics. Received bytes
//! are untrusted: the reader checks every bound and returns an error for what it refuses.

use std::fmt;

use fairpath::time::{LocalInstant, Span};
use fairpath::vector::Vec2;
use fairpath_compensate::{Epoch, Reply};

use crate::shared::PlayerInput;

/// A state with a byte encoding.
pub trait WireState: Sized {
    fn write(&self, out: &mut Writer);

    fn read(from: &mut Reader<'_>) -> Result<Self, BadMessage>;
}

#[derive(Clone, Debug, Default)]
pub struct Writer(Vec<u8>);

#[derive(Clone, Debug)]
pub struct Reader<'a>(&'a [u8]);

/// The reason why bytes are not a valid message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BadMessage {
    Truncated,
    /// Bytes are left after the end of the message.
    TooLong,
    /// A number is NaN or exceeds ±1e9.
    NotFinite,
    /// A kind, count or flag has an unknown value.
    Unknown(u8),
}

/// The largest number that a game uses. The reader refuses larger ones: physics could overflow.
const NUMBER_MAX: f64 = 1e9;

impl Writer {
    pub fn u8(&mut self, value: u8) -> &mut Self {
        self.0.push(value);
        self
    }

    /// Writes four bytes, little-endian.
    pub fn u32(&mut self, value: u32) -> &mut Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    /// Writes eight bytes, little-endian.
    pub fn u64(&mut self, value: u64) -> &mut Self {
        self.0.extend(value.to_le_bytes());
        self
    }

    /// Writes all bits of a number.
    pub fn f64(&mut self, value: f64) -> &mut Self {
        self.u64(value.to_bits())
    }

    pub fn vector(&mut self, value: Vec2) -> &mut Self {
        self.f64(value.x).f64(value.y)
    }

    /// Writes a presence flag, then the value if there is one.
    pub fn option<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) -> &mut Self {
        self.u8(value.is_some().into());
        if let Some(value) = value {
            write(self, value);
        }
        self
    }

    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], BadMessage> {
        let (first, rest) = self.0.split_first_chunk().ok_or(BadMessage::Truncated)?;
        self.0 = rest;
        Ok(*first)
    }

    pub fn u8(&mut self) -> Result<u8, BadMessage> {
        self.take::<1>().map(|[byte]| byte)
    }

    /// Reads four bytes, little-endian.
    pub fn u32(&mut self) -> Result<u32, BadMessage> {
        self.take().map(u32::from_le_bytes)
    }

    /// Reads eight bytes, little-endian.
    pub fn u64(&mut self) -> Result<u64, BadMessage> {
        self.take().map(u64::from_le_bytes)
    }

    /// Reads a number of at most ±1e9.
    pub fn f64(&mut self) -> Result<f64, BadMessage> {
        let value = f64::from_bits(self.u64()?);
        if value.abs() <= NUMBER_MAX { Ok(value) } else { Err(BadMessage::NotFinite) }
    }

    pub fn vector(&mut self) -> Result<Vec2, BadMessage> {
        Ok(Vec2::new(self.f64()?, self.f64()?))
    }

    /// Reads a flag: 0 or 1.
    pub fn flag(&mut self) -> Result<bool, BadMessage> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(BadMessage::Unknown(other)),
        }
    }

    /// Reads a presence flag, then the value if there is one.
    pub fn option<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, BadMessage>,
    ) -> Result<Option<T>, BadMessage> {
        if self.flag()? { read(self).map(Some) } else { Ok(None) }
    }

    /// Checks that no bytes are left.
    pub fn end(self) -> Result<(), BadMessage> {
        if self.0.is_empty() { Ok(()) } else { Err(BadMessage::TooLong) }
    }
}

/// Encodes an input and its time stamp by the client's clock.
pub fn write_input<I: PlayerInput>(stamp: LocalInstant, input: I) -> Vec<u8> {
    let mut out = Writer::default();
    out.u64(stamp.as_micros().cast_unsigned());
    for axis in input.axes() {
        out.f64(axis);
    }
    out.u32(input.buttons());
    out.into_bytes()
}

/// Decodes what [`write_input`] encoded. The input is clamped by [`PlayerInput::limited`].
pub fn read_input<I: PlayerInput>(bytes: &[u8]) -> Result<(LocalInstant, I), BadMessage> {
    let mut from = Reader::new(bytes);
    let stamp = LocalInstant::from_micros(from.u64()?.cast_signed());
    let axes = [from.f64()?, from.f64()?, from.f64()?, from.f64()?];
    let buttons = from.u32()?;
    from.end()?;
    Ok((stamp, I::from_axes(axes, buttons).limited()))
}

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

/// Decodes what [`write_reply`] encoded.
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
            Self::Truncated => write!(f, "the message ends too early"),
            Self::TooLong => write!(f, "bytes are left after the end of the message"),
            Self::NotFinite => write!(f, "a number is not finite or exceeds 1e9"),
            Self::Unknown(what) => write!(f, "unknown value {what}"),
        }
    }
}

impl std::error::Error for BadMessage {}
