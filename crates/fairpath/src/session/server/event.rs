use super::super::error::Refusal;
use super::super::message::Target;
use super::super::{ClientId, Party, Undelivered};
use crate::number::EntityId;

/// What a server's application should know.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerEvent {
    /// A client began a session.
    Joined(ClientId),
    /// A client's transport is gone; its session waits.
    Detached(ClientId),
    /// A client's session goes on.
    Resumed(ClientId),
    /// A client's session is over: it left, was sent away, or did not come back in time.
    SessionLost {
        /// Whose.
        client: ClientId,
        /// What it may not have heard.
        undelivered: Vec<Undelivered>,
    },
    /// A client made an object.
    Created {
        /// Which.
        object: EntityId,
        /// Who.
        by: ClientId,
    },
    /// An object of a client is gone.
    Destroyed {
        /// Which.
        object: EntityId,
        /// Who did it, or whose session ended.
        by: ClientId,
    },
    /// A state group of a client's object has a new value: see
    /// [`Server::state`](super::Server::state).
    StateChanged {
        /// Whose.
        object: EntityId,
        /// Which.
        group: u8,
    },
    /// A client called: the server, an object of the server's own, or everybody who sees an object
    /// of the client's.
    Called {
        /// Who.
        from: ClientId,
        /// On what.
        target: Target,
        /// What to do.
        method: u32,
        /// With what.
        bytes: Vec<u8>,
    },
    /// An object has another owner: if it is the server, somebody here must observe it now.
    OwnershipChanged {
        /// Which.
        object: EntityId,
        /// Whose it is now.
        owner: Party,
    },
    /// Something a client did was not accepted.
    Refused {
        /// Who.
        client: ClientId,
        /// About which object.
        object: EntityId,
        /// Why.
        refusal: Refusal,
    },
    /// A connection was closed because of what came on it.
    Closed {
        /// Whose it was, if that was known.
        client: Option<ClientId>,
        /// Why.
        reason: super::CloseReason,
    },
}
