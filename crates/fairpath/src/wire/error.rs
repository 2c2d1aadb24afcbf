use std::fmt;

use crate::number::EntityId;

/// The peer sent bytes that we do not accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeError {
    /// The message ends before it is complete.
    Truncated,
    /// The message is complete, and there are bytes after it.
    TrailingBytes,
    /// A version of the format that this library does not speak.
    UnknownVersion(u8),
    /// No such kind of message.
    UnknownKind(u8),
    /// A message of another kind than the one asked for.
    WrongKind,
    /// DR vectors of another number of dimensions than the one asked for.
    WrongDimensions,
    /// No such motion model.
    UnknownModel(u8),
    /// A number that is not finite.
    NonFinite,
    /// A time, an id or a count beyond what the format allows.
    OutOfRange,
    /// The same can be said in fewer or other bits, and the format says which: padding that is not
    /// zero, an escape that was not needed, a table entry that nobody uses.
    NotCanonical,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => write!(f, "the message ends too early"),
            Self::TrailingBytes => write!(f, "there are bytes after the end of the message"),
            Self::UnknownVersion(version) => write!(f, "version {version} of the format is not known"),
            Self::UnknownKind(kind) => write!(f, "message kind {kind} is not known"),
            Self::WrongKind => write!(f, "a message of another kind was expected"),
            Self::WrongDimensions => write!(f, "another number of dimensions was expected"),
            Self::UnknownModel(model) => write!(f, "motion model {model} is not known"),
            Self::NonFinite => write!(f, "a number is not finite"),
            Self::OutOfRange => write!(f, "a time, an id or a count is out of range"),
            Self::NotCanonical => write!(f, "the message is not spelt the one way it must be"),
        }
    }
}

impl std::error::Error for DecodeError {}

/// The caller asked for a message that the format cannot carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncodeError {
    /// This entity's DR vector holds a number that is not finite.
    NonFinite(EntityId),
    /// Two DR vectors of this entity: a datagram holds at most one, the newest.
    DuplicateEntity(EntityId),
    /// Receipts must be in ascending order of their packets, one for each.
    UnorderedReceipts,
    /// More than [`VECTORS_MAX`](super::VECTORS_MAX) or [`RECEIPTS_MAX`](super::RECEIPTS_MAX).
    TooMany(usize),
    /// Times, or packet numbers, too far apart from each other or from zero for one message. The
    /// ends of time are 36 000 years from zero; DR vectors may be 2³² steps of the time grid
    /// apart, 49 days at the default, and packets 32 767.
    OutOfRange,
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NonFinite(EntityId(entity)) => {
                write!(f, "the DR vector of entity {entity} holds a number that is not finite")
            }
            Self::DuplicateEntity(EntityId(entity)) => {
                write!(f, "two DR vectors of entity {entity} in one message")
            }
            Self::UnorderedReceipts => write!(f, "receipts must ascend by packet number"),
            Self::TooMany(count) => write!(f, "{count} items do not fit in one message"),
            Self::OutOfRange => write!(f, "times or packet numbers are too far apart for one message"),
        }
    }
}

impl std::error::Error for EncodeError {}

/// A [`PrecisionSettings`](super::PrecisionSettings) that cannot work, by the name of the setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PrecisionError {
    /// This step is not a finite number from 10⁻⁹ to 10⁹.
    Step(&'static str),
    /// This range is empty, not finite, or reaches 2²³ steps or more from zero.
    Range(&'static str),
    /// A full turn is divided into an even number of steps, 8 to 2²⁰.
    AngleSteps(u32),
    /// The time grid's step is a microsecond to a second.
    TimeStep,
}

impl fmt::Display for PrecisionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Step(name) => write!(f, "the {name} step must be a number from 1e-9 to 1e9"),
            Self::Range(name) => {
                write!(f, "the {name} range must not be empty and must stay below 2^23 steps from zero")
            }
            Self::AngleSteps(steps) => write!(f, "{steps} angle steps: must be even, from 8 to 2^20"),
            Self::TimeStep => write!(f, "the time step must be from one microsecond to one second"),
        }
    }
}

impl std::error::Error for PrecisionError {}
