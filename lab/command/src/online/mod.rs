//! The jet car and sailing over real sockets: `serve --game …`, `play … --connect`, and experiments
//! with `--live`.
//!
//! | room | what is in it |
//! | --- | --- |
//! | `remote` | the player's end, with a socket |
//! | `serve` | `fairpath serve --game …` |
//! | `trials` | the experiments over real sockets, through a middleman |
//! | `tests` | both ends on real sockets |
//!
//! Both ends without their sockets are in [`fairpath_games::online`].

pub(crate) mod remote;
pub(crate) mod serve;
#[cfg(test)]
mod tests;
pub(crate) mod trials;

use std::time::Duration;

use fairpath::session::{Budget, Class, ClassId};

/// What each side may send. A jet car's scene is some 200 bytes, a hundred times a second; three
/// times that leaves room for what was held back.
const BUDGET: Budget = Budget { bytes_per_sec: 64_000, burst_bytes: 8_000 };

/// Nothing here is dead-reckoned: whole states travel.
const CLASSES: [(ClassId, Class); 0] = [];

/// How long an attempt to connect may take. 20 s: a handshake is four round trips, and the
/// experiments go up to 1.6 s each.
const CONNECT_WITHIN: Duration = Duration::from_secs(20);
