//! A game whose player sits far from its server: both ends, with no socket between them yet.
//!
//! ```text
//!  player                                                       server
//!  hands ──▶ ClientDisplay::act ── stamp, input ───── link ──────────▶ ClientSlot::hear ──▶ ClientSlot::play ──▶ the game's tick
//!  eyes  ◀── ClientDisplay::show ◀── ClientDisplay::hear ◀── link ── Reply ── ClientSlot::answer ◀────────────────┘
//! ```
//!
//! - [`ClientSlot`] is one seat at a free-running server: it holds the newest input, answers each with a
//!   state, keeps talking to somebody who is silent, and gives the seat up in the end
//! - [`ClientDisplay`] is what a player looks at: [`Uncompensated`] as it arrives, [`Extrapolated`] by the
//!   player's own hands, or [`Prototyped`] as Buchheit 2004 did it first
//! - [`Loopback`] is both ends and simulated links between them, for experiments and for play in one
//!   process
//! - [`HostedGame`] is a game for one guest, [`Room`] a server's room with a run for each, [`GameRooms`] a
//!   room for each game, and [`HostedClient`] the player's end: on a session, whoever carries its bytes
//! - [`TankPublisher`] is tanks that somebody here drives, told to a session
//! - [`FairnessReport`] is what a server's ledger says about a player
//! - [`WireState`] is a state that can travel as bytes, with every bit it has
//!
//! Whoever has real sockets takes the ends and carries their words.

mod client;
mod display;
mod fairness;
mod hosted;
mod loopback;
mod message;
mod publisher;
mod room;
mod rooms;
mod slot;

pub use client::HostedClient;
pub use display::{ClientDisplay, Extrapolated, Prototyped, Uncompensated};
pub use fairness::FairnessReport;
pub use hosted::{CLIENT_SEAT, HostedGame, HostedJetCar, HostedRace, HostedSailing};
pub use loopback::Loopback;
pub use message::{BadMessage, Reader, WireState, Writer, read_input, read_reply, write_input, write_reply};
pub use publisher::{ALIVE, EntitySink, SHOT, SessionAt, TANK, TankPublisher, show};
pub use room::{Room, RoomStatistics};
pub use rooms::GameRooms;
pub use slot::{ClientSlot, PADDING};

// What the ends of a hosted game say to each other, as calls of a session: inputs and states
// unreliable (a later one says all that an earlier one did), greetings and wishes reliable.

/// The player's hands, at the server: [`write_input`].
pub const INPUT: u32 = 1;
/// The server's answer, at the player: [`write_reply`].
pub const STATE: u32 = 2;
/// Which game this is, at the player: its number.
pub const WELCOME: u32 = 3;
/// The player wants another run, at the server.
pub const RESTART: u32 = 4;
/// The player wants a seat in the game of this number, at a server with a [`GameRooms`]; 0 is in none.
pub const JOIN: u32 = 5;
/// How the server's ledger stands, at the player: see [`FairnessReport`].
pub const FAIRNESS: u32 = 6;
