use super::Delivery;
use super::message::{Call, Message, Part};
use crate::number::EntityId;

/// Something that was promised to arrive and will not: the session it belonged to is lost.
///
/// It may have arrived all the same, where only the confirmation was lost.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Undelivered {
    /// A call of this delivery class.
    Call(Call, Delivery),
    /// The newest value of a state group.
    State(EntityId, u8),
    /// That the object exists, or may be seen.
    Announcement(EntityId),
    /// That the object is gone.
    Departure(EntityId),
    /// Whose the object is, or should be.
    Ownership(EntityId),
}

impl Undelivered {
    /// What a message on the ordered stream amounts to; nothing if it dies with the session anyway.
    pub(super) fn message(message: Message) -> Option<Self> {
        match message {
            Message::Call(call) => Some(Self::Call(call, Delivery::ReliableOrdered)),
            Message::Create(announcement) | Message::Enter(announcement) => {
                Some(Self::Announcement(announcement.object))
            }
            Message::Destroy(object) | Message::Leave(object, _) => Some(Self::Departure(object)),
            Message::Claim(object, _) | Message::Release(object, _) | Message::Owned(object, ..) => {
                Some(Self::Ownership(object))
            }
            Message::Hello(_)
            | Message::Welcome(_)
            | Message::Confirm(_)
            | Message::Ids(..)
            | Message::Refused(..) => None,
        }
    }

    /// What a value that was not confirmed amounts to.
    pub(super) fn part(part: Part) -> Option<Self> {
        match part {
            Part::State(object, group) => Some(Self::State(object, group.group)),
            Part::Newest(_, call) => Some(Self::Call(call, Delivery::Newest)),
            _ => None,
        }
    }
}
