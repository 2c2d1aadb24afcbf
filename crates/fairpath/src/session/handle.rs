use crate::number::EntityId;

/// Identifies one object as one peer knows it, and never another one.
///
/// An [`EntityId`] is short because it travels with every update, so it is used again: two minutes
/// after its object was destroyed, and at once by another run of the server. It means an object
/// only from the event that introduces it to `ObjectLeft`, `Destroyed` or `SessionLost`. A game
/// that keeps ids for longer keeps handles instead, which
/// [`Client::resolve`](super::Client::resolve) and [`Server::resolve`](super::Server::resolve)
/// check. A handle is valid at the peer that returned it and does not travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectHandle {
    pub(super) object: EntityId,
    /// The run of the server.
    pub(super) epoch: u64,
    /// Counts the objects that the peer has known.
    pub(super) number: u64,
}

impl ObjectHandle {
    /// Returns the id that the object has or had.
    pub fn id(self) -> EntityId {
        self.object
    }
}
