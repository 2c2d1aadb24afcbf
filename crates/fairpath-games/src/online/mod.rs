//! A game whose player sits far from its server: both ends, with no socket between them yet.
//!
//! ```text
//!  player                                                       server
//!  hands ──▶ Screen::act ── stamp, input ───── link ──────────▶ Host::hear ──▶ Host::play ──▶ the game's tick
//!  eyes  ◀── Screen::show ◀── Screen::hear ◀── link ── Reply ── Host::answer ◀────────────────┘
//! ```
//!
//! - [`Host`] is one seat at a free-running server: it holds the newest input, answers each with a state, keeps talking
//!   to somebody who is silent, and gives the seat up in the end
//! - [`Screen`] is what a player looks at: [`Heard`] as it arrives, [`Extrapolated`] by the player's own hands, or
//!   [`Prototyped`] as S3 did it first
//! - [`Way`] is both ends and simulated links between them, for experiments and for play in one process
//! - [`Portable`] is a state that can travel as bytes, with every bit it has
//!
//! Whoever has real sockets takes the ends and carries their words.

mod host;
mod message;
mod screen;
mod way;

pub use host::{Host, PADDING};
pub use message::{BadMessage, Portable, Reader, Writer, read_input, read_reply, write_input, write_reply};
pub use screen::{Extrapolated, Heard, Prototyped, Screen};
pub use way::Way;
