use crate::number::EntityId;
use crate::session::message::Target;
use crate::session::{ClassId, ClientId, CloseReason, Party, Payload, Refusal, Undelivered};

/// Events for a client's application.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientEvent {
    /// A new session has begun; the server knows this client by this id. The shared clock is ready:
    /// its uncertainty is at most 20 ms, or it has taken four samples since the greeting
    /// ([`ClockConfig::ready_within`](crate::clock::ClockConfig::ready_within),
    /// [`ready_after`](crate::clock::ClockConfig::ready_after)).
    Connected(ClientId),
    /// The transport was lost or the server closed it. The session can be resumed, unless
    /// `SessionLost` follows.
    Disconnected(Option<CloseReason>),
    /// The session continues on a new transport: all delivery promises hold.
    Resumed,
    /// The session is over; all its objects and ids are invalid. The next session may use the same
    /// ids for other objects: until `Connected` actions on them fail with
    /// [`ObjectError`](crate::session::ObjectError)`::Unknown` or `NoSession`, afterwards they may
    /// mean another object. Forget them, or keep [`ObjectHandle`](crate::session::ObjectHandle)s.
    SessionLost {
        /// Reliable messages and values that may not have arrived.
        undelivered: Vec<Undelivered>,
    },
    /// An object has become visible. If its class has motion, its first state is known.
    ObjectEntered {
        /// The object.
        object: EntityId,
        /// Its class.
        class: ClassId,
        /// Its owner.
        owner: Party,
        /// The value it was created with.
        creation: Payload,
    },
    /// An object is no longer visible.
    ObjectLeft {
        /// The object.
        object: EntityId,
        /// Whether the object was destroyed, and not only left this client's scope.
        is_destroyed: bool,
    },
    /// Another peer set a state of an object.
    StateChanged {
        /// The object.
        object: EntityId,
        /// The state group.
        group: u8,
        /// The new value.
        value: Payload,
    },
    /// A peer called this client.
    Called {
        /// The caller.
        from: Party,
        /// The target of the call. The object may not have entered yet, if the call was not
        /// `ReliableOrdered`.
        target: Target,
        /// The number of the call.
        method: u32,
        /// The argument.
        call: Payload,
    },
    /// An object has a new owner. If that is this client, call `observe` for it from now on,
    /// beginning at `place`. If it was this client, stop. What it observed and set since the change
    /// is void, and may come back as `Refused` with `NotOwner`.
    OwnershipChanged {
        /// The object.
        object: EntityId,
        /// The new owner.
        owner: Party,
    },
    /// The server refused an action of this client. The action has no effect at other peers. Honest
    /// clients cause some refusals:
    /// [`Refusal::is_innocent`](crate::session::Refusal::is_innocent).
    Refused {
        /// The object of the action.
        object: EntityId,
        /// The reason.
        refusal: Refusal,
    },
}
