//! Ethereal: two teams of free-moving shooters among walls. After the test game of the play-pattern
//! study (Shi 2014).
//!
//! A player moves in any direction by keys, aims with a mouse, shoots along a line of sight, runs
//! out of health and ammunition, and picks both up again. A kill is a point, and the first team at
//! the limit wins the round. Nobody blocks anybody: where a player goes is its own keys and the
//! walls, so a predictor that knows the keys can run [`Body::step`] itself; for the input schemes a
//! [`Map`] is the step function they want.
//!
//! ```text
//! View ──▶ Bot / a person ──▶ Input ──▶ Ethereal::step ──▶ players, items, events ──▶ Recording ⇄ XML
//!  ▲                                            │
//!  └── what this player's screen shows ◀────────┘
//! ```
//!
//! - [`Ethereal`] is the match; [`Match`] is the match with its players in their seats
//! - [`Bot`] plays like a person of some [`Temperament`]: it decides a few times per second, from a
//!   [`View`]
//! - [`Map`] is the static world: bounds, walls as a grid and as rectangles, lines of sight
//! - [`Recording`] keeps births, deaths, inputs and snapshots; its [`CheckedReplay`] gives the same bits
//!   and checks them
//! - [`PlayStatistics`] says what the play looked like
//!
//! ## Scale
//!
//! Lengths are pixels, y grows downwards as on a screen, and a tick is 1/60 s. Shi 2014 gives: a
//! window of 1280 × 960, a player about 60 wide, fights within 800, a hit within 45. It does not
//! give the top speed. Its error table does: a prediction that keeps to the last velocity drifts
//! away by 95 pixels more in every further 300 ms, so its players moved at about 318 pixels per
//! second on average. [`TOP_SPEED`] is 360, six pixels per tick, which leaves an average player
//! some time to turn and stand. The usual map is four windows wide and a little more than three
//! high: its two ends are far out of sight of each other, and 13 s apart.
//!
//! ## Not as in Shi 2014
//!
//! How that game's shots, items and walls worked is not written down; here shots are instant, items
//! lie at fixed places, and a map is a grid of square cells.

mod bot;
mod config;
mod frame;
mod game;
mod history;
mod input;
mod item;
mod map;
mod player;
mod predict;
mod recording;
mod statistics;
mod view;
mod world;

pub use bot::{Bot, Temperament};
pub use config::{
    ACCELERATION, EtherealConfig, Ground, PLAYERS_MAX, SCREEN, TICK_RATE, TICKS_PER_SECOND, TOP_SPEED,
};
pub use frame::PlayerFrame;
pub use game::{Driver, Match, REFERENCE_DIGEST, reference_digest};
pub use history::HISTORY_TICKS;
pub use input::{Input, Keys};
pub use item::{Item, ItemKind, ItemSpot, PICK_UP_WITHIN};
pub use map::{AlignedRectangle, CELL_SIZE, CELLS_PER_SIDE_MAX, Cell, GridCell, Map, MapError};
pub use player::{Body, Condition, PLAYER_RADIUS, Player};
pub use recording::{
    CheckedReplay, Desync, Difference, LifeRecord, PlayerRecord, PlayerSnapshot, RECORDING_TICKS_MAX,
    RecordedInput, Recording, ReplayError, SNAPSHOT_TICKS, XML_BYTES_MAX, XmlError, XmlProblem,
};
pub use statistics::PlayStatistics;
pub use view::{SIGHT, SeenItem, SeenPlayer, View};
pub use world::{Ethereal, Event, ShotEnd};

pub use crate::shared::Team;
