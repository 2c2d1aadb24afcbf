use super::message::{Call, Message, Part, Target};
use super::protocol::Protocol;
use super::{ClassId, Delivery, Party, Payload};
use crate::number::EntityId;
use crate::vector::Planar;

/// A reliable message or value that will not be delivered, because its session is lost.
///
/// It may have arrived all the same, if only the confirmation was lost. Values are decoded as those
/// of events are, with [`Payload::get`]:
///
/// ```
/// # use fairpath::session::Undelivered;
/// # #[derive(serde::Serialize, serde::Deserialize)] struct Chat(String);
/// # #[derive(serde::Serialize, serde::Deserialize)] struct Ammo(u16);
/// fn report(undelivered: &[Undelivered]) {
///     for item in undelivered {
///         match item {
///             Undelivered::Call { call, .. } => {
///                 if let Some(Chat(text)) = call.get() {
///                     println!("not sent: {text}");
///                 }
///             }
///             Undelivered::State { object, value, .. } => {
///                 if let Some(Ammo(rounds)) = value.get() {
///                     println!("ship {} had {rounds} rounds", object.0);
///                 }
///             }
///             _ => {}
///         }
///     }
/// }
/// # report(&[]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Undelivered {
    /// A call.
    Call {
        /// The caller. A server also lists calls between clients that it was to forward.
        from: Party,
        /// The target of the call.
        target: Target,
        /// The number of the call.
        method: u32,
        /// The argument.
        call: Payload,
        /// How the call was to be delivered.
        delivery: Delivery,
    },
    /// The newest value of a state group.
    State {
        /// The object.
        object: EntityId,
        /// The state group.
        group: u8,
        /// The value. Plain bytes if the object no longer existed when the session was lost.
        value: Payload,
    },
    /// The announcement of an object.
    Announcement(EntityId),
    /// The removal of an object.
    Departure(EntityId),
    /// A change of an object's owner, or a request for one.
    Ownership(EntityId),
}

/// Gives undelivered bytes the types of the game.
#[derive(Clone, Copy, Debug)]
pub(super) struct UndeliveredTypes<'a, V: Planar, C: Fn(EntityId) -> Option<ClassId>> {
    pub(super) protocol: &'a Protocol<V>,
    /// Returns the class of an object, if it exists.
    pub(super) class_of: C,
}

impl<V: Planar, C: Fn(EntityId) -> Option<ClassId>> UndeliveredTypes<'_, V, C> {
    /// Converts a message of the ordered stream; `None` if it ends with the session anyway.
    pub(super) fn message(&self, message: Message) -> Option<Undelivered> {
        match message {
            Message::Call(call) => Some(self.call(call, Delivery::ReliableOrdered)),
            Message::Create(announcement) | Message::Enter(announcement) => {
                Some(Undelivered::Announcement(announcement.object))
            }
            Message::Destroy(object) | Message::Leave(object, _) => Some(Undelivered::Departure(object)),
            Message::Claim(object, _) | Message::Release(object, _) | Message::Owned(object, ..) => {
                Some(Undelivered::Ownership(object))
            }
            Message::Hello(_)
            | Message::Welcome(_)
            | Message::Confirm(_)
            | Message::Ids(..)
            | Message::Refused(..) => None,
        }
    }

    pub(super) fn part(&self, part: Part) -> Option<Undelivered> {
        match part {
            Part::State(object, group) => Some(self.state(object, group.group, group.bytes)),
            Part::Newest(_, call) => Some(self.call(call, Delivery::Newest)),
            _ => None,
        }
    }

    pub(super) fn call(&self, call: Call, delivery: Delivery) -> Undelivered {
        let Call { target, from, method, bytes } = call;
        let call = self.protocol.call_payload(method, bytes.clone()).unwrap_or_else(|| bytes.into());
        Undelivered::Call { from, target, method, call, delivery }
    }

    fn state(&self, object: EntityId, group: u8, bytes: Vec<u8>) -> Undelivered {
        let class = (self.class_of)(object);
        let typed = class.and_then(|class| self.protocol.state_payload(class, group, bytes.clone()));
        Undelivered::State { object, group, value: typed.unwrap_or_else(|| bytes.into()) }
    }
}
