//! The reference games of Fairpath: small worlds that move the way games move, for tests,
//! experiments and play.
//!
//! In order: deterministic, honest, quick, fun. The same seed and the same inputs give the same
//! bits on every platform; nothing here reads a clock, a socket or anybody else's dice. A game is
//! stepped tick by tick, shows everything a recorder wants to know, and is replayed from its seed
//! and its inputs alone.
//!
//! - [`tanks`]: two teams, boxes, flags and shots, after BZFlag; motion is linear and circular
//! - [`ethereal`]: two teams on foot, walls, health, ammunition; free movement in all directions
//! - [`race`]: cars on walled tracks, laps, four drivers with lines and mistakes of their own
//! - [`jet_car`]: a car with thrusters and no brakes among things that come down; needs feedback
//! - [`sailing`]: a boat, a sail on a rope, a rudder, shifting winds, and a buoy to reach before
//!   the opponent
//! - [`online`]: both ends of a game whose player is far from its server
//! - [`GameChoice`]: the list of games by name
//! - [`shared`]: what games have in common: logs, replays and traces
//!
//! Ten seconds of two against two:
//!
//! ```
//! use fairpath_games::tanks::{Match, TanksConfig, Team};
//!
//! # fn main() -> Result<(), fairpath_games::tanks::ConfigError> {
//! let config = TanksConfig { tanks: [2, 2], ..TanksConfig::default() };
//! let mut game = Match::of_bots(config, 7)?;
//! for _ in 0..10 * 60 {
//!     game.step();
//! }
//! for team in Team::BOTH {
//!     let score = game.tanks().score(team);
//!     println!("{team:?}: {} captures, {} kills", score.captures, score.kills);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! ## Not here
//!
//! Screens, sound, sockets, files. A person's hands arrive as the same [`tanks::Input`] a bot
//! gives.
#![forbid(unsafe_code)]

mod choice;
pub mod ethereal;
pub mod jet_car;
pub mod online;
pub mod race;
pub mod sailing;
pub mod shared;
pub mod tanks;

pub use choice::{GameChoice, UnknownGame};
