//! The jet car and sailing over real sockets: `serve --game …`, `play … --connect`, and experiments with `--live`.
//!
//! | room | what is in it |
//! | --- | --- |
//! | `hosted` | the two games as a server hosts them |
//! | `room` | the server's end: a run for each guest, on elapsed time |
//! | `remote` | the player's end |
//! | `serve` | `fairpath serve --game …` |
//! | `trials` | the experiments over real sockets, through a middleman |
//! | `tests` | both ends on real sockets |
//!
//! What they say to each other are calls of a session: inputs and states unreliable (a later one says all that an earlier one
//! did), greetings and wishes reliable.

pub(crate) mod hosted;
pub(crate) mod remote;
pub(crate) mod room;
pub(crate) mod serve;
#[cfg(test)]
mod tests;
pub(crate) mod trials;

use std::time::Duration;

use fairpath::session::{Budget, Class, ClassId};

/// The player's hands, at the server: [`write_input`](fairpath_games::online::write_input).
const INPUT: u32 = 1;
/// The server's answer, at the player: [`write_reply`](fairpath_games::online::write_reply).
const STATE: u32 = 2;
/// Which game this is, at the player: its number.
const WELCOME: u32 = 3;
/// The player wants another run, at the server.
const AGAIN: u32 = 4;

/// What each side may send. A jet car's scene is some 200 bytes, a hundred times a second; three times that leaves room for
/// what was held back.
const BUDGET: Budget = Budget { bytes_per_sec: 64_000, burst_bytes: 8_000 };

/// Nothing here is dead-reckoned: whole states travel.
const CLASSES: [(ClassId, Class); 0] = [];

/// How long an attempt to connect may take. 20 s: a handshake is four round trips, and the experiments go up to 1.6 s each.
const CONNECT_WITHIN: Duration = Duration::from_secs(20);
