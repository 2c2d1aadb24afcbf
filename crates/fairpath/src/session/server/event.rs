use super::super::error::Refusal;
use super::super::message::Target;
use super::super::{ClassId, ClientId, Party, Payload, Undelivered};
use crate::number::EntityId;

/// Events for a server's application.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerEvent {
    /// A client began a session.
    Joined {
        /// The client.
        client: ClientId,
        /// What the [`Admission`](super::Admission) learned about the player. Empty by default.
        bearer: Vec<u8>,
    },
    /// A client lost its transport; its session can be resumed.
    Detached(ClientId),
    /// A client resumed its session.
    Resumed(ClientId),
    /// A client's session is over: the client left, was dismissed, or did not return in time.
    SessionLost {
        /// The client.
        client: ClientId,
        /// Reliable messages and values that the client may not have received.
        undelivered: Vec<Undelivered>,
    },
    /// A client created an object.
    Created {
        /// The object.
        object: EntityId,
        /// Its class.
        class: ClassId,
        /// The value it was created with.
        creation: Payload,
        /// The client.
        by: ClientId,
    },
    /// An object owned by a client was destroyed.
    Destroyed {
        /// The object.
        object: EntityId,
        /// The client that destroyed it, or lost its session.
        by: ClientId,
    },
    /// A client set a state of its object.
    StateChanged {
        /// The object.
        object: EntityId,
        /// The state group.
        group: u8,
        /// The new value.
        value: Payload,
    },
    /// A client called the server, an object of the server, or the viewers of its own object.
    Called {
        /// The caller.
        from: ClientId,
        /// The target of the call.
        target: Target,
        /// The number of the call.
        method: u32,
        /// The argument.
        call: Payload,
    },
    /// An object has a new owner: a client claimed or released it, or its owner's session is over
    /// and the class [outlives](crate::session::Class::outlives_owner) it. The server's own `give`
    /// raises no event. If the owner is the server, call `observe` for the object from now on,
    /// beginning at `place`.
    OwnershipChanged {
        /// The object.
        object: EntityId,
        /// The new owner.
        owner: Party,
    },
    /// The server refused an action of a client. Honest clients cause some refusals:
    /// [`Refusal::is_innocent`](crate::session::Refusal::is_innocent).
    Refused {
        /// The client.
        client: ClientId,
        /// The object of the action.
        object: EntityId,
        /// The reason.
        refusal: Refusal,
    },
    /// The server closed a connection because of data on it, or for lack of data.
    Closed {
        /// The client of the connection, if known.
        client: Option<ClientId>,
        /// The reason.
        reason: super::CloseReason,
    },
}

/// For which connections a datagram may have made something due earlier than
/// [`poll_deadline`](super::Server::poll_deadline) said. Later ones include earlier ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum DatagramEffect {
    /// For none: it held receipts, or nothing that was accepted.
    #[default]
    Nothing,
    /// For the connection that it came on: it asked for the time, or wants a receipt.
    SameConnection,
    /// For any connection: it held motion, calls or states, or the client broke the protocol.
    AnyConnection,
}
