//! The bytes of records and messages.

use fairpath::DrVector;
use fairpath::number::EntityId;
use fairpath::time::SharedInstant;
use fairpath::vector::Planar;
use fairpath::wire::{Header, Precision, decode_updates, encode_updates};

use crate::cell::CellId;
use crate::entity::Promise;
use crate::message::{GhostBatch, Message};
use crate::record::{
    EntityRecord, IdRecord, LeaseRecord, Record, Revision, ServerId, Snapshot, Title, WorldRecord, WriteId,
};

/// The version of these bytes, in front of every record and message.
const VERSION: u8 = 1;

/// Bytes that are not a record or message of this version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeError {
    /// They end too early.
    Truncated,
    /// They go on after the end.
    TrailingBytes,
    /// They have another version.
    Version(u8),
    /// No record or message is of this kind.
    UnknownKind(u8),
    /// A DR vector in them is wrong.
    Vector(fairpath::wire::DecodeError),
}

impl std::fmt::Display for DecodeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Truncated => f.write_str("the bytes end too early"),
            Self::TrailingBytes => f.write_str("bytes follow the end"),
            Self::Version(version) => write!(f, "the bytes have version {version}, not {VERSION}"),
            Self::UnknownKind(kind) => write!(f, "nothing has kind {kind}"),
            Self::Vector(error) => write!(f, "a DR vector is wrong: {error}"),
        }
    }
}

impl std::error::Error for DecodeError {}

/// Takes values from the front of bytes.
#[derive(Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
    precision: &'a Precision,
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(DecodeError::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }
}

/// A value with bytes.
pub trait Coded: Sized {
    /// Appends the bytes.
    fn write(&self, precision: &Precision, out: &mut Vec<u8>);

    /// Reads a value from the front.
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError>;

    /// Returns the bytes of a record or message.
    fn encode(&self, precision: &Precision) -> Vec<u8> {
        let mut out = vec![VERSION];
        self.write(precision, &mut out);
        out
    }

    /// Returns the record or message in these bytes, which must hold nothing else.
    fn decode(precision: &Precision, bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader { rest: bytes, precision };
        match u8::read(&mut reader)? {
            VERSION => {}
            other => return Err(DecodeError::Version(other)),
        }
        let value = Self::read(&mut reader)?;
        if reader.rest.is_empty() { Ok(value) } else { Err(DecodeError::TrailingBytes) }
    }
}

macro_rules! coded_number {
    ($($number:ty),*) => {$(
        impl Coded for $number {
            fn write(&self, _: &Precision, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }
            fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
                let bytes = reader.take(size_of::<Self>())?;
                Ok(Self::from_le_bytes(bytes.try_into().expect("as many as asked for")))
            }
        }
    )*};
}

coded_number!(u8, u32, u64, i32, i64);

macro_rules! coded_struct {
    ($name:ident $(<$v:ident>)? { $($field:ident),* }) => {
        impl $(<$v: Planar>)? Coded for $name $(<$v>)? {
            fn write(&self, precision: &Precision, out: &mut Vec<u8>) {
                $(self.$field.write(precision, out);)*
            }
            fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
                Ok(Self { $($field: Coded::read(reader)?),* })
            }
        }
    };
}

coded_struct!(CellId { x, y });
coded_struct!(WriteId { server, number });
coded_struct!(Title { term, cell, fence });
coded_struct!(WorldRecord { write, cells, protocol, precision, lease_us });
coded_struct!(IdRecord { write, next });
coded_struct!(LeaseRecord { write, holder, fence, successor });
coded_struct!(EntityRecord<V> { write, title, is_gone, snapshot });
coded_struct!(Snapshot<V> { saved_at, vector, game, promised, outbox, received });
coded_struct!(Promise { number, to, bytes });
coded_struct!(GhostBatch<V> { server, cell, fence, speak_until, sent_at, vectors });

macro_rules! coded_newtype {
    ($($name:ident),*) => {$(
        impl Coded for $name {
            fn write(&self, precision: &Precision, out: &mut Vec<u8>) {
                self.0.write(precision, out);
            }
            fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
                Coded::read(reader).map(Self)
            }
        }
    )*};
}

coded_newtype!(ServerId, Revision, EntityId);

/// Kinds are numbered in the order of the enum, from zero.
macro_rules! coded_enum {
    ($name:ident { $($kind:literal => $variant:ident $body:tt),* $(,)? }) => {
        impl<V: Planar> Coded for $name<V> {
            fn write(&self, precision: &Precision, out: &mut Vec<u8>) {
                match self {
                    $(coded_enum!(@pattern $variant $body) => {
                        out.push($kind);
                        coded_enum!(@write precision out $body);
                    })*
                }
            }
            fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
                match u8::read(reader)? {
                    $($kind => Ok(coded_enum!(@read reader $variant $body)),)*
                    other => Err(DecodeError::UnknownKind(other)),
                }
            }
        }
    };
    (@pattern $variant:ident ($field:ident)) => { Self::$variant($field) };
    (@pattern $variant:ident {$($field:ident),*}) => { Self::$variant { $($field),* } };
    (@write $precision:ident $out:ident ($field:ident)) => { $field.write($precision, $out); };
    (@write $precision:ident $out:ident {$($field:ident),*}) => { $($field.write($precision, $out);)* };
    (@read $reader:ident $variant:ident ($field:ident)) => { Self::$variant(Coded::read($reader)?) };
    (@read $reader:ident $variant:ident {$($field:ident),*}) => {
        Self::$variant { $($field: Coded::read($reader)?),* }
    };
}

coded_enum!(Record { 0 => World(record), 1 => Ids(record), 2 => Lease(record), 3 => Entity(record) });
coded_enum!(Message {
    0 => Ghosts(batch),
    1 => Offer { from, entity, revision, cell, record },
    2 => Accept { from, entity, revision, title },
    3 => Release { entity, term },
    4 => Promise { server, from, to, number, bytes },
    5 => Receipt { from, to, number },
    6 => Presence { server, entities, cells, is_draining },
});

impl Coded for bool {
    fn write(&self, precision: &Precision, out: &mut Vec<u8>) {
        u8::from(*self).write(precision, out);
    }
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        match u8::read(reader)? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(DecodeError::UnknownKind(other)),
        }
    }
}

impl Coded for SharedInstant {
    fn write(&self, precision: &Precision, out: &mut Vec<u8>) {
        self.as_micros().write(precision, out);
    }
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        i64::read(reader).map(Self::from_micros)
    }
}

impl<T: Coded> Coded for Option<T> {
    fn write(&self, precision: &Precision, out: &mut Vec<u8>) {
        self.is_some().write(precision, out);
        if let Some(value) = self {
            value.write(precision, out);
        }
    }
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        if bool::read(reader)? { T::read(reader).map(Some) } else { Ok(None) }
    }
}

impl<T: Coded> Coded for Box<T> {
    fn write(&self, precision: &Precision, out: &mut Vec<u8>) {
        (**self).write(precision, out);
    }
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        T::read(reader).map(Self::new)
    }
}

impl<T: Coded, U: Coded> Coded for (T, U) {
    fn write(&self, precision: &Precision, out: &mut Vec<u8>) {
        self.0.write(precision, out);
        self.1.write(precision, out);
    }
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok((T::read(reader)?, U::read(reader)?))
    }
}

impl<T: Coded> Coded for Vec<T> {
    fn write(&self, precision: &Precision, out: &mut Vec<u8>) {
        (self.len() as u32).write(precision, out);
        self.iter().for_each(|value| value.write(precision, out));
    }
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        // Nothing is reserved for a claimed length: a value takes at least a byte.
        let count = u32::read(reader)?;
        (0..count).map(|_| T::read(reader)).collect()
    }
}

impl<V: Planar> Coded for DrVector<V> {
    fn write(&self, precision: &Precision, out: &mut Vec<u8>) {
        // An age of zero: a checkpoint may be older than a datagram can say.
        let header = Header { sent_at: self.generated_at, ..Header::default() };
        let mut bytes = Vec::new();
        let written = encode_updates(precision, &header, &[*self], &mut bytes);
        debug_assert!(written.is_ok(), "an exported DR vector can be encoded");
        self.generated_at.write(precision, out);
        bytes.write(precision, out);
    }
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let near = SharedInstant::read(reader)?;
        let bytes: Vec<u8> = Coded::read(reader)?;
        let updates = decode_updates::<V>(reader.precision, near, &bytes).map_err(DecodeError::Vector)?;
        match updates.vectors[..] {
            [vector] => Ok(vector),
            [] => Err(DecodeError::Truncated),
            _ => Err(DecodeError::TrailingBytes),
        }
    }
}
