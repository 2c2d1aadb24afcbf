use crate::time::{LocalInstant, SharedInstant, Span};

/// "What time is it?" The asker remembers when it asked: local time never travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Tells the asker which of its questions a reply belongs to.
    pub id: u32,
}

impl Request {
    /// The server's side of the exchange: when the request came in and when the reply goes out, on
    /// the server's own clock, which is the shared one.
    ///
    /// Stamp as close to the socket as you can. The time between the two stamps costs the client
    /// nothing, but time spent before the first or after the second counts as delay of the
    /// link.
    pub const fn answer(self, received: SharedInstant, sent: SharedInstant) -> Reply {
        Reply { id: self.id, received, sent }
    }
}

/// The server's answer to a [`Request`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The request it answers.
    pub id: u32,
    /// When the server received the request.
    pub received: SharedInstant,
    /// When the server sent this.
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
    /// Time spent on the link, there and back, without the server's own.
    pub(super) fn round_trip(&self) -> Span {
        (self.client_received - self.client_sent) - (self.server_sent - self.server_received)
    }
}
