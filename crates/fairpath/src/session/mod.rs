//! Sessions: replicated objects between a server and its clients, above any transport.
//!
//! A [`Server`] and its [`Client`]s are state machines without a socket. A transport (QUIC, or the
//! simulator) carries three things for them: unreliable datagrams, one ordered stream of bytes each
//! way, and independent reliable messages. If a transport is lost, the session can continue on
//! another one within [`RESUME_WITHIN`](limits::RESUME_WITHIN).
//!
//! # The run loop
//!
//! Both ends are driven alike. After *every* call into one of them:
//!
//! 1. write the bytes of [`poll_stream`](Client::poll_stream) and
//!    [`poll_unordered`](Client::poll_unordered), until `None`;
//! 2. while the transport can send a datagram *right now*, send the next
//!    [`poll_datagram`](Client::poll_datagram), until `None`. Do not buffer more than one: a
//!    datagram is booked as sent when it is returned;
//! 3. close the transport if [`poll_close`](Client::poll_close) returns a reason, with its code;
//! 4. handle each [`poll_event`](Client::poll_event), until `None`;
//! 5. sleep until data arrives or [`poll_deadline`](Client::poll_deadline) is reached; then call
//!    [`handle_timeout`](Client::handle_timeout) or the `handle_*` of the data.
//!
//! `now` must never go backwards. A server's clock *is* the shared clock, so a server takes
//! `SharedInstant`s; a client takes its own clock's `LocalInstant`s and synchronises itself.
//!
//! # The game
//!
//! A [`Protocol`] describes the game once, for both ends: its classes, typed states and calls. In
//! every frame the game asks for the session at that instant, a [`ServerFrame`] or a
//! [`ClientFrame`], and uses its own types. `fairpath-net` runs the loop above on a thread and
//! hands out the frames.
//!
//! An object has one owner, a client or the server, and a [`Class`]: trigger, motion model, rates,
//! smoothing. The owner observes every new state at the instant for which it is true; all other
//! peers [`draw`](ClientFrame::draw) and [`place`](ClientFrame::place) it. The server checks
//! clients' updates ([`Interceptor`]), chooses which objects each client sees ([`Scope`]), and any
//! [`Scheduler`](crate::schedule::Scheduler) decides which client is sent an update when. Each
//! object has up to 32 *state groups*, typed ([`Class::state`], [`Class::server_state`]) or plain
//! bytes, which are sent when they change; only the newest value is delivered.
//!
//! ```
//! use fairpath::prelude::*;
//! use fairpath::random::Random;
//! use fairpath::schedule::Broadcast;
//! use fairpath::session::{Client, ClientConfig, Server, ServerConfig, Token};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize)]
//! struct Ship { name: String }
//! #[derive(Serialize, Deserialize)]
//! struct Score(u32);
//!
//! let ship = Class::within(0.3).server_state::<Score>("score");
//! let game = Protocol::<Vec2>::new("ships", 1).class::<Ship>("ship", ship);
//! let config = ServerConfig::new(game.clone(), 1);
//! let mut server = Server::new(config, Box::new(Broadcast), Random::from_seed(1));
//! let mut client = Client::new(ClientConfig::new(game), Random::from_seed(2));
//! let id = server.handle_connected(Token([7; 16]), SharedInstant::ZERO).expect("there is room");
//! client.handle_connected(LocalInstant::ZERO);
//!
//! let truth = |now: SharedInstant| {
//!     let ahead = Vec2::from_heading(0.5 * now.as_secs_f64());
//!     State::moving(ahead * 40.0, ahead.perpendicular() * 20.0)
//! };
//! let (nautilus, begin) = (Ship { name: "Nautilus".into() }, SharedInstant::ZERO);
//! let ship = server.frame(begin).create(&nautilus, truth(begin), begin)?;
//! server.frame(begin).set(ship, &Score(7))?;
//!
//! for micros in (0..10_000_000).step_by(16_667) {
//!     let (now, local) = (SharedInstant::from_micros(micros), LocalInstant::from_micros(micros));
//!     server.frame(now).observe(ship, truth(now), now)?;
//!     // A transport carries these bytes. Here the loop does.
//!     while let Some(bytes) = client.poll_stream(local) { server.handle_stream(id, &bytes, now) }
//!     while let Some(bytes) = client.poll_datagram(local, 1200) {
//!         server.handle_datagram(id, &bytes, now);
//!     }
//!     while let Some(bytes) = server.poll_stream(id, now) { client.handle_stream(&bytes, local) }
//!     while let Some(bytes) = server.poll_datagram(id, now, 1200) {
//!         client.handle_datagram(&bytes, local);
//!     }
//!     if let Some(placed) = client.frame(local).place(ship) {
//!         assert!(placed.position.distance(truth(now).position) < 0.5);
//!     }
//! }
//! let Some(Score(points)) = client.frame(LocalInstant::from_millis(10_000)).get(ship) else { panic!() };
//! assert_eq!(points, 7);
//! assert!(client.statistics().vectors_received < 50);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Parents
//!
//! An object can be attached to a moving parent: a rider to a platform, a plane to a carrier. Its
//! owner calls [`attach`](Client::attach) and then observes states relative to the parent
//! ([`State::relative_to`](crate::State::relative_to)). `place` and `draw` return world states
//! everywhere. Scopes see world states, too, and a client that sees an object is also shown its
//! parents. Interceptors check the motion relative to the parent.
//!
//! # What is promised
//!
//! | delivery | promise |
//! | --- | --- |
//! | [`ReliableOrdered`](Delivery::ReliableOrdered) | exactly once, in order, as long as the session lives |
//! | [`ReliableUnordered`](Delivery::ReliableUnordered) | exactly once, as long as the session lives; no message waits for another |
//! | [`Quickest`](Delivery::Quickest) | exactly once, repeated in every packet until confirmed |
//! | [`Newest`](Delivery::Newest) | the newest value arrives, older ones may not, none after a newer one |
//! | [`Unreliable`](Delivery::Unreliable) | at most once |
//!
//! When a session cannot be resumed, both ends get `SessionLost` with the reliable messages that
//! were not confirmed. The client then joins anew and is sent every object from the beginning.

mod attach;
mod bucket;
mod byte_budget;
mod channel;
mod class;
mod client;
pub mod codec;
mod error;
mod filler;
mod handle;
mod household;
mod id_blocks;
mod id_map;
mod interceptor;
pub mod limits;
mod loss_protection;
pub mod message;
mod newest;
mod outbox;
mod packets;
mod position_index;
mod protocol;
mod queues;
mod quickest;
mod received_numbers;
mod scope;
mod server;
mod settings;
mod sights;
mod statistics;
mod undelivered;
mod urgent;
mod value;

pub use class::{Class, ClassId, Rates};
pub use client::{Client, ClientConfig, ClientEvent, ClientFrame};
pub use codec::MessageError;
pub use error::{CallError, CloseReason, ObjectError, Refusal};
pub use handle::ObjectHandle;
pub use household::{Household, Shares};
pub use interceptor::{ClaimRequest, Interceptor, SpeedCheck, TeleportCheck, Update};
pub use loss_protection::LossProtection;
pub use message::Target;
pub use protocol::{GameId, Protocol};
pub use queues::Queues;
pub use scope::{Everything, Nearest, Reach, Scope, ScopeObject, Within};
pub use server::{
    Admission, AdmitAll, Admitted, ConnectionId, DatagramEffect, Pass, Server, ServerConfig, ServerEvent,
    ServerFrame,
};
pub use settings::{ClassSettings, Settings};
pub use statistics::Statistics;
pub use undelivered::Undelivered;
pub use value::{Payload, Value};

use crate::number::ReceiverId;

/// Identifies a client of a server for the life of its session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(pub u32);

impl ClientId {
    /// Returns the client's id in ledger and scheduler.
    pub const fn receiver(self) -> ReceiverId {
        ReceiverId(self.0)
    }
}

/// A peer that can own objects and make calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Party {
    /// The server.
    Server,
    /// A client.
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

/// Proves that a client is the one that began a session. Sixteen secret bytes from the operating
/// system's generator, never from [`Random`](crate::random::Random).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Token(pub [u8; 16]);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

/// How a call is delivered. The [module](self) lists the promise of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Delivery {
    /// Exactly once and in order.
    ReliableOrdered,
    /// Exactly once, in any order.
    ReliableUnordered,
    /// At most once.
    Unreliable,
    /// Only the newest of the calls to one target and method, repeated until confirmed.
    Newest,
    /// Exactly once, in any order, repeated in every packet until confirmed: for a few bytes that
    /// must not be late.
    Quickest,
}

/// Limit of the bytes sent to one peer: births, states, calls, receipts and motion together,
/// without the headers of QUIC, UDP and IP.
///
/// Where it suffices, every update leaves at once. Where it does not, updates wait and leave in the
/// order of the server's [`Queued`](crate::schedule::Queued) scheduler, each as the newest of its
/// object. Births of objects leave at once, too, within half of the budget; beyond it they wait,
/// the nearest first. Reliable calls, confirmations and removals never wait: what exceeds half of
/// the budget of them is sent beyond it.
///
/// ```
/// use fairpath::session::Budget;
///
/// let slow_link = Budget::bytes_per_sec(4_000);
/// let thrifty = Budget::share_of_broadcast(0.5);
/// # assert_eq!((slow_link.bytes_per_sec, thrifty.share), (4_000, Some(0.5)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// Sustained bytes per second. Default 32 000, a quarter of a megabit.
    ///
    /// Too low: updates wait. Too high: the queue of a slow link delays everything. Sixteen tanks
    /// at 20 updates a second and 10 bytes each take 3200.
    pub bytes_per_sec: u32,
    /// Bytes at once. Default 4 000: three full datagrams. Must be at least one full datagram, or
    /// large messages never leave.
    pub burst_bytes: u32,
    /// The part of the bytes that broadcast would take, measured for each client over the last few
    /// seconds; `bytes_per_sec` holds besides. Default `None`: no such limit. 1 and more do not
    /// limit anything. A client ignores it.
    pub share: Option<f64>,
}

impl Default for Budget {
    fn default() -> Self {
        Self { bytes_per_sec: 32_000, burst_bytes: 4_000, share: None }
    }
}

impl Budget {
    /// Returns a budget of so many bytes per second.
    pub const fn bytes_per_sec(bytes_per_sec: u32) -> Self {
        Self { bytes_per_sec, burst_bytes: 4_000, share: None }
    }

    /// Returns a budget of this part of the bytes that sending everything would take, from 0 to 1.
    pub const fn share_of_broadcast(share: f64) -> Self {
        Self { bytes_per_sec: 32_000, burst_bytes: 4_000, share: Some(share) }
    }
}
