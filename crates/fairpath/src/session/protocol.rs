use std::any::{TypeId, type_name};
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use super::class::{Class, ClassId};
use super::settings::{CLASSES_MAX, RULES_MAX, rules};
use super::value::{Payload, Value, ValueType, encode};
use super::{CallError, Delivery, ObjectError, limits};
use crate::vector::Planar;
use crate::wire::Precision;

/// The description of a game that server and clients share: its name and version, the classes of
/// its objects, the calls between its peers, and the precision of numbers.
///
/// Write one function that returns it, and use that at both ends. When a client joins, the server
/// compares a fingerprint of both descriptions and refuses a client that differs, with a reason.
/// Thresholds, rates and smoothing are not compared: the client takes the server's.
///
/// ```
/// use fairpath::Vec2;
/// use fairpath::session::{Class, Delivery, Protocol};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Ship { name: String }
/// #[derive(Serialize, Deserialize)]
/// struct Score(u32);
/// #[derive(Serialize, Deserialize)]
/// struct Chat(String);
///
/// fn asteroids() -> Protocol<Vec2> {
///     // Ships curve. The server counts their score.
///     let ship = Class::within(0.2).circular().server_state::<Score>("score");
///     Protocol::new("asteroids", 1)
///         .class::<Ship>("ship", ship)
///         .call::<Chat>("chat", Delivery::ReliableOrdered)
/// }
/// # asteroids();
/// ```
///
/// A class or call is identified by its Rust type in the program, by a number in the order of
/// registration on the wire, and by its name in the fingerprint. Rename the type as you like; give
/// the game a new version when the *content* of a type changes, which the fingerprint cannot see.
pub struct Protocol<V: Planar> {
    description: Arc<Description>,
    dimensions: PhantomData<fn() -> V>,
}

#[derive(Clone, Debug)]
struct Description {
    name: String,
    version: u32,
    precision: Precision,
    classes: BTreeMap<ClassId, Class>,
    calls: BTreeMap<u32, CallType>,
    /// The classes and calls by their types.
    class_ids: BTreeMap<TypeId, ClassId>,
    methods: BTreeMap<TypeId, u32>,
}

#[derive(Clone, Debug)]
struct CallType {
    name: String,
    delivery: Delivery,
    value: ValueType,
}

/// Identifies a game on the wire.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GameId {
    /// The name, at most [`GAME_NAME_BYTES_MAX`](limits::GAME_NAME_BYTES_MAX) bytes.
    pub name: String,
    /// The version.
    pub version: u32,
    /// A digest of classes and calls: ids, names, motion models, names of typed values.
    pub fingerprint: u64,
}

impl<V: Planar> Protocol<V> {
    /// Returns the description of a game without classes and calls.
    ///
    /// Raise `version` when clients of an older version must not join.
    ///
    /// # Panics
    /// If the name has more than [`GAME_NAME_BYTES_MAX`](limits::GAME_NAME_BYTES_MAX) bytes.
    pub fn new(name: &str, version: u32) -> Self {
        let bytes_max = limits::GAME_NAME_BYTES_MAX;
        assert!(name.len() <= bytes_max, "the name of the game has more than {bytes_max} bytes: {name}");
        let description = Description {
            name: name.into(),
            version,
            precision: Precision::default(),
            classes: BTreeMap::new(),
            calls: BTreeMap::new(),
            class_ids: BTreeMap::new(),
            methods: BTreeMap::new(),
        };
        Self { description: Arc::new(description), dimensions: PhantomData }
    }

    /// Adds a class. Its objects are created with a value of type `T`, which every peer that sees
    /// the object gets with it: a name, a colour, a model.
    ///
    /// # Panics
    /// If `T` or `name` already identifies a class.
    #[must_use = "the returned game has the class, not this one: chain the calls"]
    pub fn class<T: Value>(self, name: &str, class: Class) -> Self {
        let id = ClassId(self.description.classes.len() as u32);
        let value = ValueType::of::<T>();
        let mut this = self.raw_class(id, Class { name: name.into(), creation: Some(value), ..class });
        let before = this.edit().class_ids.insert(value.id, id);
        assert!(before.is_none(), "{value:?} already identifies a class; use a type of its own for {name}");
        this
    }

    /// Adds a kind of call with a value of type `T` as its argument.
    ///
    /// # Panics
    /// If `T` or `name` already identifies a call.
    #[must_use = "the returned game has the call, not this one: chain the calls"]
    pub fn call<T: Value>(mut self, name: &str, delivery: Delivery) -> Self {
        let value = ValueType::of::<T>();
        let it = self.edit();
        let is_new = it.calls.values().all(|call| call.name != name);
        assert!(is_new, "two calls have the name {name}");
        let method = it.calls.len() as u32;
        it.calls.insert(method, CallType { name: name.into(), delivery, value });
        let before = it.methods.insert(value.id, method);
        assert!(before.is_none(), "{value:?} already identifies a call; use a type of its own for {name}");
        self
    }

    /// Adds a class whose creation value is plain bytes, under a number of the game's choice.
    ///
    /// # Panics
    /// If the number or the name already identifies a class, or there are too many classes or rules
    /// of a trigger for the handshake: 512 and 16.
    #[must_use]
    pub fn raw_class(mut self, id: ClassId, class: Class) -> Self {
        let it = self.edit();
        let name = &class.name;
        let is_new = it.classes.values().all(|other| name.is_empty() || other.name != *name);
        assert!(is_new, "two classes have the name {name}");
        assert!(!it.classes.contains_key(&id), "two classes have the number {}", id.0);
        assert!(it.classes.len() < CLASSES_MAX, "a game has at most {CLASSES_MAX} classes");
        assert!(rules(&class.trigger) <= RULES_MAX, "a trigger has at most {RULES_MAX} rules: class {name}");
        it.classes.insert(id, class);
        self
    }

    /// Forbids clients to create objects of any class, as [`Class::server_only`] does for one.
    #[must_use]
    pub fn server_only(mut self) -> Self {
        self.edit().classes.values_mut().for_each(|class| class.is_server_only = true);
        self
    }

    /// Sets how numbers are rounded on the wire. Default [`Precision::default`].
    #[must_use]
    pub fn with_precision(mut self, precision: Precision) -> Self {
        self.edit().precision = precision;
        self
    }

    /// Returns the name of the game.
    pub fn name(&self) -> &str {
        &self.description.name
    }

    /// Returns the version of the game.
    pub fn version(&self) -> u32 {
        self.description.version
    }

    /// Returns how numbers are rounded on the wire.
    pub fn precision(&self) -> &Precision {
        &self.description.precision
    }

    /// Returns the class of this number.
    pub fn class_by_id(&self, id: ClassId) -> Option<&Class> {
        self.description.classes.get(&id)
    }

    /// Returns the number of the class whose objects are created with a `T`.
    pub fn class_id<T: Value>(&self) -> Option<ClassId> {
        self.description.class_ids.get(&TypeId::of::<T>()).copied()
    }

    /// Returns the number of the call with a `T`, and how it is delivered.
    pub fn method<T: Value>(&self) -> Option<(u32, Delivery)> {
        let method = *self.description.methods.get(&TypeId::of::<T>())?;
        Some((method, self.description.calls[&method].delivery))
    }

    pub(super) fn classes(&self) -> &BTreeMap<ClassId, Class> {
        &self.description.classes
    }

    /// Returns what a peer must agree with to join.
    pub fn game_id(&self) -> GameId {
        let Description { name, version, .. } = &*self.description;
        GameId { name: name.clone(), version: *version, fingerprint: self.fingerprint() }
    }

    /// PROTOCOL.md fixes the names and numbers that enter here: renaming a motion model or
    /// reordering [`Delivery`] changes the wire.
    fn fingerprint(&self) -> u64 {
        let mut digest = Digest::EMPTY;
        for (id, class) in self.classes() {
            digest.add(&[&b"class"[..], &id.0.to_le_bytes(), class.name.as_bytes()].concat());
            digest.add(class.shape().as_bytes());
            class.states.iter().for_each(|state| {
                digest.add(&[&[state.group, u8::from(state.is_servers)][..], state.name.as_bytes()].concat());
            });
        }
        for (method, call) in &self.description.calls {
            digest.add(&[&b"call"[..], &method.to_le_bytes(), call.name.as_bytes()].concat());
            digest.add(&[call.delivery as u8]);
        }
        digest.0
    }

    /// Returns the class and the bytes with which an object of this value is created.
    pub(super) fn creation_of<T: Value>(
        &self,
        value: &T,
        has_motion: bool,
    ) -> Result<(ClassId, Vec<u8>), ObjectError> {
        let id = self.class_id::<T>().ok_or_else(|| ObjectError::NotInProtocol(type_name::<T>()))?;
        if self.class_by_id(id).is_some_and(|class| class.has_motion != has_motion) {
            return Err(ObjectError::WrongMotion);
        }
        Ok((id, encode(value).ok_or_else(|| ObjectError::NotEncodable(type_name::<T>()))?))
    }

    /// Returns the group and the bytes of a state of an object of this class.
    pub(super) fn state_of<T: Value>(&self, class: ClassId, value: &T) -> Result<(u8, Vec<u8>), ObjectError> {
        let group = self.group::<T>(class)?;
        Ok((group, encode(value).ok_or_else(|| ObjectError::NotEncodable(type_name::<T>()))?))
    }

    /// Returns the state group of a class that holds values of type `T`.
    pub(super) fn group<T: Value>(&self, class: ClassId) -> Result<u8, ObjectError> {
        let class = self.class_by_id(class).ok_or(ObjectError::UnknownClass)?;
        let state = class.group_of::<T>().ok_or_else(|| ObjectError::NotInProtocol(type_name::<T>()))?;
        Ok(state.group)
    }

    /// Returns the number, the delivery class and the bytes of a call with this value.
    pub(super) fn call_of<T: Value>(&self, value: &T) -> Result<(u32, Delivery, Vec<u8>), CallError> {
        let method = self.method::<T>();
        let (method, delivery) = method.ok_or_else(|| CallError::NotInProtocol(type_name::<T>()))?;
        let bytes = encode(value).ok_or_else(|| CallError::NotEncodable(type_name::<T>()))?;
        Ok((method, delivery, bytes))
    }

    /// Returns the argument of a call; `None` if the protocol gives it a type that it is not of.
    pub(super) fn call_payload(&self, method: u32, bytes: Vec<u8>) -> Option<Payload> {
        let call = self.description.calls.get(&method);
        checked(call.map(|call| &call.value), bytes)
    }

    /// Returns the creation value of an object; `None` if it is not of the class's type.
    pub(super) fn creation_payload(&self, class: ClassId, bytes: Vec<u8>) -> Option<Payload> {
        checked(self.class_by_id(class).and_then(|class| class.creation.as_ref()), bytes)
    }

    /// Returns the value of a state group; `None` if it is not of the group's type.
    pub(super) fn state_payload(&self, class: ClassId, group: u8, bytes: Vec<u8>) -> Option<Payload> {
        let state = self.class_by_id(class).and_then(|class| class.state_group(group));
        checked(state.map(|state| &state.value), bytes)
    }

    fn edit(&mut self) -> &mut Description {
        Arc::make_mut(&mut self.description)
    }
}

fn checked(value_type: Option<&ValueType>, bytes: Vec<u8>) -> Option<Payload> {
    let is_right = value_type.is_none_or(|value_type| value_type.decodes(&bytes));
    is_right.then(|| Payload::new(value_type, bytes))
}

/// A game without a name, for plain bytes: tests, tools, games that bring their own types.
impl<V: Planar, I: IntoIterator<Item = (ClassId, Class)>> From<I> for Protocol<V> {
    fn from(classes: I) -> Self {
        classes.into_iter().fold(Self::new("", 0), |protocol, (id, class)| protocol.raw_class(id, class))
    }
}

impl<V: Planar> Clone for Protocol<V> {
    fn clone(&self) -> Self {
        Self { description: Arc::clone(&self.description), dimensions: PhantomData }
    }
}

impl<V: Planar> fmt::Debug for Protocol<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.description.fmt(f)
    }
}

/// FNV-1a over strings with their lengths. It finds mistakes, not attacks: a peer may send any
/// fingerprint it likes.
struct Digest(u64);

impl Digest {
    const EMPTY: Self = Self(0xCBF2_9CE4_8422_2325);

    fn add(&mut self, bytes: &[u8]) {
        for byte in (bytes.len() as u32).to_le_bytes().iter().chain(bytes) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};

    use super::*;
    use crate::trigger::Trigger;
    use crate::vector::Vec2;

    #[derive(Serialize, Deserialize)]
    struct Ship(u8);
    #[derive(Serialize, Deserialize)]
    struct Rock(u8);
    #[derive(Serialize, Deserialize)]
    struct Chat(String);

    fn game() -> Protocol<Vec2> {
        Protocol::new("game", 1)
            .class::<Ship>("ship", Class::within(0.2).state::<Rock>("cargo"))
            .call::<Chat>("chat", Delivery::ReliableOrdered)
    }

    #[test]
    fn a_fingerprint_sees_what_peers_must_share_and_nothing_else() {
        let fingerprint = |protocol: Protocol<Vec2>| protocol.game_id().fingerprint;
        let same = Protocol::new("other", 2)
            .class::<Rock>("ship", Class::new(Trigger::within(9.0)).state::<Chat>("cargo").claimable())
            .call::<Ship>("chat", Delivery::ReliableOrdered);
        assert_eq!(fingerprint(same), fingerprint(game()), "types, thresholds and permissions do not count");
        let others = [
            Protocol::new("game", 1),
            game().class::<Rock>("rock", Class::within(1.0)),
            game().call::<Ship>("ship", Delivery::Newest),
            Protocol::new("game", 1).class::<Ship>("ship", Class::within(0.2).circular()),
            Protocol::new("game", 1).class::<Ship>("ship", Class::within(0.2).state::<Rock>("load")),
            Protocol::new("game", 1).class::<Ship>("ship", Class::within(0.2).server_state::<Rock>("cargo")),
        ];
        let mut seen: Vec<u64> = others.into_iter().chain([game()]).map(fingerprint).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 7);
    }

    #[test]
    fn values_of_the_wrong_type_are_noticed_where_there_is_a_type() {
        let game = game();
        let chat = super::super::value::encode(&Chat("hi".into())).unwrap();
        let payload = game.call_payload(0, chat.clone()).unwrap();
        assert!(payload.get::<Chat>().is_some() && payload.get::<Ship>().is_none());
        assert_eq!(game.call_payload(0, vec![9, b'x']), None, "shorter than it says");
        assert_eq!(game.call_payload(0, [chat, vec![0]].concat()), None, "longer than one value");
        assert!(game.call_payload(7, vec![1, 2, 3]).is_some(), "bytes below the typed calls");
    }

    #[test]
    #[should_panic(expected = "already identifies a class")]
    fn one_type_is_one_class() {
        let _ = game().class::<Ship>("boat", Class::within(1.0));
    }
}
