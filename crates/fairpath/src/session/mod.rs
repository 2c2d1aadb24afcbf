//! Sessions: replicated objects between a server and its clients, above any transport.
//!
//! A [`Server`] and its [`Client`]s are state machines without a socket. A transport (QUIC, or the
//! simulator) carries three things for them: unreliable datagrams, one ordered stream of bytes each
//! way, and independent reliable messages. If a transport dies the session can go on with another
//! one within [`RESUME_WITHIN`](limits::RESUME_WITHIN).
//!
//! # The run loop
//!
//! Both ends are driven alike. After *every* call into one of them:
//!
//! 1. write what [`poll_stream`](Client::poll_stream) and
//!    [`poll_unordered`](Client::poll_unordered) give, until `None`;
//! 2. while the transport can send a datagram *right now*, send what
//!    [`poll_datagram`](Client::poll_datagram) gives, until `None`. Do not buffer more than one: a
//!    datagram is booked as departed when it is handed out;
//! 3. close the transport if [`poll_close`](Client::poll_close) says so, with the code of its
//!    reason;
//! 4. deal with [`poll_event`](Client::poll_event), until `None`;
//! 5. sleep until something arrives or [`poll_deadline`](Client::poll_deadline) is there, and then
//!    call [`handle_timeout`](Client::handle_timeout) or the `handle_*` of what arrived.
//!
//! `now` must never go backwards. A server's clock *is* the shared one, so a server is told
//! `SharedInstant`s; a client is told what its own clock shows, and finds out the rest.
//!
//! # Objects
//!
//! An object has one owner, a client or the server, and a [`Class`]: trigger, motion model, rates.
//! The owner calls `observe` every frame, everybody else `place`. The server checks what clients
//! say ([`Interceptor`]), shows each client what it may see ([`Scope`]), and lets any
//! [`Scheduler`](crate::schedule::Scheduler) decide who is told when. Up to 32 *state groups* of
//! bytes per object are sent when they change, and only their newest value.
//!
//! # What is promised
//!
//! | delivery | promise |
//! | --- | --- |
//! | [`ReliableOrdered`](Delivery::ReliableOrdered) | exactly once, in order, as long as the session lives |
//! | [`ReliableUnordered`](Delivery::ReliableUnordered) | exactly once, as long as the session lives; none waits for another |
//! | [`Quickest`](Delivery::Quickest) | exactly once, repeated in every packet until confirmed |
//! | [`Newest`](Delivery::Newest) | the newest value arrives, older ones may not, none after a newer one |
//! | [`Unreliable`](Delivery::Unreliable) | at most once |
//!
//! When a session cannot be resumed, both ends get `SessionLost`, which names what was promised and
//! not confirmed; then the client joins anew and is shown everything from the beginning.

mod bucket;
mod channel;
mod class;
mod client;
pub mod codec;
mod error;
mod interceptor;
pub mod limits;
mod manifest;
pub mod message;
mod newest;
mod outbox;
mod packets;
mod queues;
mod quickest;
mod received_numbers;
mod scope;
mod server;
mod statistics;
mod undelivered;

pub use class::{Class, ClassId, Rates};
pub use client::{Client, ClientConfig, ClientEvent};
pub use codec::MessageError;
pub use error::{CallError, CloseReason, ObjectError, Refusal};
pub use interceptor::{Interceptor, SpeedCheck, TeleportCheck, Update};
pub use message::Target;
pub use queues::Queues;
pub use scope::{Everything, Nearest, Scope, ScopeObject, Within};
pub use server::{Admission, AdmitAll, ConnectionId, Server, ServerConfig, ServerEvent};
pub use statistics::Statistics;
pub use undelivered::Undelivered;

use crate::number::ReceiverId;

/// A client of a server, for as long as its session lives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(pub u32);

impl ClientId {
    /// What ledger and scheduler call it.
    pub const fn receiver(self) -> ReceiverId {
        ReceiverId(self.0)
    }
}

/// Somebody who owns objects and calls others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Party {
    /// The server.
    Server,
    /// One of its clients.
    Client(ClientId),
}

impl Party {
    fn code(self) -> u64 {
        match self {
            Self::Server => 0,
            Self::Client(client) => u64::from(client.0) + 1,
        }
    }

    fn from_code(code: u64) -> Option<Self> {
        match code.checked_sub(1) {
            None => Some(Self::Server),
            Some(client) => u32::try_from(client).ok().map(|client| Self::Client(ClientId(client))),
        }
    }
}

/// Proves that a client is the one that began a session. Sixteen bytes that nobody can guess: from
/// the operating system's generator, never from [`Random`](crate::random::Random).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Token(pub [u8; 16]);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

/// How a call travels. See the [module](self) for what each promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Delivery {
    /// Exactly once and in order.
    ReliableOrdered,
    /// Exactly once, in any order.
    ReliableUnordered,
    /// At most once.
    Unreliable,
    /// Of calls to one target and method only the newest, until it is confirmed.
    Newest,
    /// Exactly once, in any order, and in every packet until it is confirmed: for few bytes that
    /// must not be late.
    Quickest,
}

/// How many bytes may go to one peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Bytes a second, for ever. Default 32 000, which is a quarter of a megabit.
    ///
    /// Too low, and updates queue up by weight; too high, and a slow link's queue makes everything
    /// late. Sixteen tanks at 20 updates a second and 10 bytes each take 3200.
    pub bytes_per_sec: u32,
    /// Bytes at once. Default 4 000: three full datagrams. At least one full datagram, or nothing
    /// large ever leaves.
    pub burst_bytes: u32,
}

impl Default for Budget {
    fn default() -> Self {
        Self { bytes_per_sec: 32_000, burst_bytes: 4_000 }
    }
}
