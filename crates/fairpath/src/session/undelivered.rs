use super::Delivery;
use super::message::{Call, Message, Part};
use crate::number::EntityId;

/// A reliable message or value that will not be delivered, because its session is lost.
///
/// It may have arrived all the same, if only the confirmation was lost.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Undelivered {
    /// A call, with its delivery class.
    Call(Call, Delivery),
    /// The newest value of a state group.
    State(EntityId, u8),
    /// The announcement of an object.
    Announcement(EntityId),
    /// The removal of an object.
    Departure(EntityId),
    /// A change of an object's owner, or a request for one.
    Ownership(EntityId),
}

impl Undelivered {
    /// Converts a message of the ordered stream; `None` if it ends with the session anyway.
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

    pub(super) fn part(part: Part) -> Option<Self> {
        match part {
            Part::State(object, group) => Some(Self::State(object, group.group)),
            Part::Newest(_, call) => Some(Self::Call(call, Delivery::Newest)),
            _ => None,
        }
    }
}
