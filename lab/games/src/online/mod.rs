//! A game whose player sits far from its server: both ends, with no socket between them yet.
//!
//! ```text
//!  player                                                       server
//!  hands ──▶ Screen::act ── stamp, input ───── link ──────────▶ Host::hear ──▶ Host::play ──▶ the game's tick
//!  eyes  ◀── Screen::show ◀── Screen::hear ◀── link ── Reply ── Host::answer ◀────────────────┘
//! ```
//!
//! - [`Host`] is one seat at a free-running server: it holds the newest input, answers each with a
//!   state, keeps talking to somebody who is silent, and gives the seat up in the end
//! - [`Screen`] is what a player looks at: [`Heard`] as it arrives, [`Extrapolated`] by the
//!   player's own hands, or [`Prototyped`] as Buchheit 2004 did it first
//! - [`Way`] is both ends and simulated links between them, for experiments and for play in one
//!   process
//! - [`Hosted`] is a game for one guest, [`Room`] a server's room with a run for each, [`Hall`] a
//!   room for each game, and [`Guest`] the player's end: on a session, whoever carries its bytes
//! - [`Crew`] is tanks that somebody here drives, told to a session
//! - [`Fairness`] is what a server's ledger says about a player
//! - [`Portable`] is a state that can travel as bytes, with every bit it has
//!
//! Whoever has real sockets takes the ends and carries their words.

mod crew;
mod fairness;
mod guest;
mod hall;
mod host;
mod hosted;
mod message;
mod room;
mod screen;
mod way;

pub use crew::{ALIVE, At, Crew, SHOT, Session, TANK, show};
pub use fairness::Fairness;
pub use guest::Guest;
pub use hall::Hall;
pub use host::{Host, PADDING};
pub use hosted::{GUEST, Hosted, HostedJetCar, HostedRace, HostedSailing};
pub use message::{BadMessage, Portable, Reader, Writer, read_input, read_reply, write_input, write_reply};
pub use room::{Room, RoomStatistics};
pub use screen::{Extrapolated, Heard, Prototyped, Screen};
pub use way::Way;

// What the ends of a hosted game say to each other, as calls of a session: inputs and states
// unreliable (a later one says all that an earlier one did), greetings and wishes reliable.

/// The player's hands, at the server: [`write_input`].
pub const INPUT: u32 = 1;
/// The server's answer, at the player: [`write_reply`].
pub const STATE: u32 = 2;
/// Which game this is, at the player: its number.
pub const WELCOME: u32 = 3;
/// The player wants another run, at the server.
pub const AGAIN: u32 = 4;
/// The player wants a seat in the game of this number, at a server with a [`Hall`]; 0 is in none.
pub const SIT: u32 = 5;
/// How the server's ledger stands, at the player: see [`Fairness`].
pub const FAIRNESS: u32 = 6;
