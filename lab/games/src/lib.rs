//! The reference games of Fairpath: small deterministic worlds for tests, experiments and play.
//!
//! In order: deterministic, honest, quick, fun. The same seed and the same inputs give the same
//! bits on every platform. No game reads a clock, a socket or another random generator. A game
//! exposes its whole state to recorders and is replayed from seed and inputs.
//!
//! - [`tanks`]: two teams, boxes, flags and shots, after BZFlag; motion is linear and circular
//! - [`ethereal`]: two teams on foot, walls, health, ammunition; free movement in all directions
//! - [`race`]: cars on walled tracks, laps, four drivers with lines and mistakes of their own
//! - [`jet_car`]: a car with thrusters and no brakes among falling obstructions; steering needs
//!   feedback
//! - [`sailing`]: boats with a sheet and a rudder in shifting winds; the first at the buoy wins
//! - [`asteroids`]: ships and short-lived bullets; the rules only, for sessions
//! - [`online`]: client and server of a game played over a network
//! - [`GameChoice`]: the list of games by name
//! - [`shared`]: what all games use: logs, replays, traces, ranges of configuration values
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
//! Screens, sound, sockets, files. A person's input is the same [`tanks::Input`] as a bot's.
#![forbid(unsafe_code)]
#![allow(missing_docs, reason = "not published: names that explain themselves need no comment")]

pub mod asteroids;
mod choice;
pub mod ethereal;
pub mod jet_car;
pub mod online;
pub mod race;
pub mod sailing;
pub mod shared;
pub mod tanks;

pub use choice::{GameChoice, UnknownGame};
