//! Values of the game that travel: creation values, state groups and the arguments of calls.

use std::any::{TypeId, type_name};
use std::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::ClientId;
use crate::number::EntityId;
use crate::time::SharedInstant;
use crate::vector::{Vec2, Vec3};

/// A type whose values travel between server and clients: any type that implements serde's
/// `Serialize` and `Deserialize`.
///
/// ```
/// #[derive(serde::Serialize, serde::Deserialize)]
/// struct Ship { name: String }
/// # fn is_a_value<T: fairpath::session::Value>() {}
/// # is_a_value::<Ship>();
/// ```
///
/// A value may contain an [`EntityId`], a [`ClientId`], a [`SharedInstant`], a [`Vec2`] or a
/// [`Vec3`]. A [`LocalInstant`](crate::LocalInstant) means nothing to another peer, so it has no
/// `Serialize`.
///
/// Values are encoded with [postcard](https://docs.rs/postcard): numbers of any size take as many
/// bytes as they need, fields have no names on the wire. Both ends must define the type alike.
/// Do not use recursive types: a hostile peer could nest them until the stack overflows.
///
/// A value owns its data, because it outlives the packet it was decoded from. If the compiler says
/// that an "implementation of `Deserialize` is not general enough", a field borrows: use `String`
/// instead of `&str`, `Vec<T>` instead of `&[T]`.
#[diagnostic::on_unimplemented(
    message = "values of type `{Self}` cannot be sent and received",
    label = "not a type with serde's `Serialize` and `Deserialize`",
    note = "add `#[derive(serde::Serialize, serde::Deserialize)]` to a type of the game, and pass `&value`",
    note = "wrap a text, a list or a number in a type of the game: `struct Chat(String);`"
)]
pub trait Value: Serialize + DeserializeOwned + 'static {}

#[diagnostic::do_not_recommend]
impl<T: Serialize + DeserializeOwned + 'static> Value for T {}

/// Returns the bytes of a value; `None` if its `Serialize` fails, for example for a sequence of
/// unknown length.
pub(super) fn encode<T: Value>(value: &T) -> Option<Vec<u8>> {
    postcard::to_allocvec(value).ok()
}

/// Returns the value of these bytes; `None` if they are not exactly one value.
pub(super) fn decode<T: Value>(bytes: &[u8]) -> Option<T> {
    let (value, rest) = postcard::take_from_bytes(bytes).ok()?;
    rest.is_empty().then_some(value)
}

/// A registered type, as far as a session needs it.
#[derive(Clone, Copy)]
pub(super) struct ValueType {
    pub(super) id: TypeId,
    /// For messages to the programmer only. It never travels: compilers may change it.
    pub(super) rust_name: &'static str,
    decodes: fn(&[u8]) -> bool,
}

impl ValueType {
    pub(super) fn of<T: Value>() -> Self {
        let decodes = |bytes: &[u8]| decode::<T>(bytes).is_some();
        Self { id: TypeId::of::<T>(), rust_name: type_name::<T>(), decodes }
    }

    /// Returns whether these bytes are a value of the type.
    pub(super) fn decodes(&self, bytes: &[u8]) -> bool {
        (self.decodes)(bytes)
    }
}

impl PartialEq for ValueType {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl fmt::Debug for ValueType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.rust_name)
    }
}

/// A value that arrived, or that an object was created with.
///
/// ```
/// # use fairpath::session::{Payload, Value};
/// # #[derive(serde::Serialize, serde::Deserialize)] struct Chat(String);
/// # #[derive(serde::Serialize, serde::Deserialize)] struct Hit { damage: u16 }
/// fn called(call: &Payload) {
///     if let Some(Chat(text)) = call.get() {
///         println!("{text}");
///     } else if let Some(Hit { damage }) = call.get() {
///         println!("-{damage}");
///     }
/// }
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Payload {
    /// `None` if the protocol gives the bytes no type.
    id: Option<TypeId>,
    bytes: Vec<u8>,
}

impl Payload {
    pub(super) fn new(value_type: Option<&ValueType>, bytes: Vec<u8>) -> Self {
        Self { id: value_type.map(|value_type| value_type.id), bytes }
    }

    /// Returns the value, if it is of this type.
    pub fn get<T: Value>(&self) -> Option<T> {
        if self.is::<T>() { decode(&self.bytes) } else { None }
    }

    /// Returns whether the value is of this type.
    pub fn is<T: Value>(&self) -> bool {
        self.id == Some(TypeId::of::<T>())
    }

    /// Returns the encoded value.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Plain bytes, to which the protocol gives no type.
impl From<Vec<u8>> for Payload {
    fn from(bytes: Vec<u8>) -> Self {
        Self::new(None, bytes)
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Payload({:?})", self.bytes)
    }
}

/// Lets values of a game contain a type of the library, encoded as another type.
macro_rules! travels_as {
    ($wire:ty, $type:ident, $to:expr, $from:expr) => {
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let to: fn(&Self) -> $wire = $to;
                to(self).serialize(serializer)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let from: fn($wire) -> Self = $from;
                <$wire>::deserialize(deserializer).map(from)
            }
        }
    };
}

travels_as!(u32, EntityId, |object| object.0, EntityId);
travels_as!(u32, ClientId, |client| client.0, ClientId);
travels_as!(i64, SharedInstant, |at| at.as_micros(), SharedInstant::from_micros);
travels_as!([f64; 2], Vec2, |v| [v.x, v.y], |[x, y]| Self { x, y });
travels_as!([f64; 3], Vec3, |v| [v.x, v.y, v.z], |[x, y, z]| Self { x, y, z });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_contain_types_of_the_library() {
        let value = (
            (EntityId(300), ClientId(7)),
            SharedInstant::from_micros(-5),
            (Vec2::new(1.0, 2.0), Vec3::new(0.1, -2.0, 3.0)),
        );
        let bytes = encode(&value).expect("encodable");
        assert_eq!(bytes.len(), 2 + 1 + 1 + 16 + 24);
        assert_eq!(decode(&bytes), Some(value));
    }
}
