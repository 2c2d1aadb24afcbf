use std::fmt;

use crate::number::EntityId;

/// Why received bytes were not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeError {
    /// The message ends before it is complete.
    Truncated,
    /// Bytes follow after the complete message.
    TrailingBytes,
    /// The version of the format is not [`VERSION`](super::VERSION).
    UnknownVersion(u8),
    /// The kind of message is unknown.
    UnknownKind(u8),
    /// The message is of another kind than requested.
    WrongKind,
    /// The DR vectors have another number of dimensions than requested.
    WrongDimensions,
    /// The motion model is unknown.
    UnknownModel(u8),
    /// A number is not finite.
    NonFinite,
    /// A time, an id or a count exceeds the limits of the format.
    OutOfRange,
    /// The message is not in canonical form: padding that is not zero, an unnecessary escape, an
    /// unused table entry.
    NotCanonical,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => write!(f, "the message is truncated"),
            Self::TrailingBytes => write!(f, "bytes follow after the end of the message"),
            Self::UnknownVersion(version) => write!(
                f,
                "wire format version {version} is not supported; use the same fairpath version at both ends"
            ),
            Self::UnknownKind(kind) => write!(f, "unknown message kind {kind}"),
            Self::WrongKind => write!(f, "the message is of another kind than requested"),
            Self::WrongDimensions => {
                write!(f, "the DR vectors have another number of dimensions than requested")
            }
            Self::UnknownModel(model) => write!(f, "unknown motion model {model}"),
            Self::NonFinite => write!(f, "a number is not finite"),
            Self::OutOfRange => write!(f, "a time, an id or a count is out of range"),
            Self::NotCanonical => write!(f, "the message is not in canonical form"),
        }
    }
}

impl std::error::Error for DecodeError {}

/// Why a message could not be encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodeError {
    /// The DR vector of this entity has a number that is not finite.
    NonFinite(EntityId),
    /// There are two DR vectors of this entity. A datagram holds one per entity, the newest.
    DuplicateEntity(EntityId),
    /// The receipts are not in ascending order of packet numbers, or two are of one packet.
    UnorderedReceipts,
    /// There are more than [`VECTORS_MAX`](super::VECTORS_MAX) DR vectors or
    /// [`RECEIPTS_MAX`](super::RECEIPTS_MAX) receipts.
    TooMany(usize),
    /// Times or packet numbers are too far apart, or times too far from zero. The limits: 36 000
    /// years from zero; 2³² steps of the time grid between DR vectors, 49 days at the default; 32
    /// 767 packets.
    OutOfRange,
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NonFinite(EntityId(entity)) => {
                write!(f, "the DR vector of entity {entity} has a number that is not finite")
            }
            Self::DuplicateEntity(EntityId(entity)) => {
                write!(f, "entity {entity} has two DR vectors in one message; pass only the newest")
            }
            Self::UnorderedReceipts => write!(f, "receipts must be in ascending order of packet numbers"),
            Self::TooMany(count) => write!(f, "{count} items do not fit in one message; the limit is 255"),
            Self::OutOfRange => write!(f, "times or packet numbers are too far apart for one message"),
        }
    }
}

impl std::error::Error for EncodeError {}

/// Why a [`PrecisionSettings`](super::PrecisionSettings) is invalid, with the name of the setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PrecisionError {
    /// The step is not a finite number from 10⁻⁹ to 10⁹.
    Step(&'static str),
    /// The range is empty, not finite, or reaches 2²³ steps or more from zero.
    Range(&'static str),
    /// `angle_steps` is odd or not in 8 to 2²⁰.
    AngleSteps(u32),
    /// `time_step` is not in one microsecond to one second.
    TimeStep,
}

impl fmt::Display for PrecisionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Step(name) => write!(f, "the {name} step must be from 1e-9 to 1e9"),
            Self::Range(name) => {
                write!(f, "the {name} range must not be empty and must end less than 2^23 steps from zero")
            }
            Self::AngleSteps(steps) => {
                write!(f, "angle_steps is {steps}; it must be even and from 8 to 2^20")
            }
            Self::TimeStep => write!(f, "time_step must be from one microsecond to one second"),
        }
    }
}

impl std::error::Error for PrecisionError {}
