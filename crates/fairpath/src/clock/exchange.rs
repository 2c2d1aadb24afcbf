use crate::time::{LocalInstant, SharedInstant, Span};

/// A client's request for the server's time. Local time is never sent: the client remembers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Matches the reply to the request.
    pub id: u32,
}

impl Request {
    /// Answers a request at the server: `received` and `sent` are the times of request and reply on
    /// the server's clock, which is the shared clock.
    ///
    /// Stamp as close to the socket as possible. The time between the two stamps costs the client
    /// nothing, but time before the first or after the second counts as delay of the link.
    pub const fn answer(self, received: SharedInstant, sent: SharedInstant) -> Reply {
        Reply { id: self.id, received, sent }
    }
}

/// The server's answer to a [`Request`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The id of the request.
    pub id: u32,
    /// When the server received the request.
    pub received: SharedInstant,
    /// When the server sent this reply.
    pub sent: SharedInstant,
}

/// The four stamps of a completed exchange, in the order in which they were taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exchange {
    pub(super) client_sent: LocalInstant,
    pub(super) server_received: SharedInstant,
    pub(super) server_sent: SharedInstant,
    pub(super) client_received: LocalInstant,
}

impl Exchange {
    /// Returns the time on the link, there and back, without the server's own.
    pub(super) fn round_trip(&self) -> Span {
        (self.client_received - self.client_sent) - (self.server_sent - self.server_received)
    }
}
