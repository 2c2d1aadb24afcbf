//! Ethereal: two teams of free-moving shooters among walls. Modelled on Shi 2014's test game.
//!
//! A player moves with keys in eight directions, aims with a mouse, shoots along a line of sight,
//! and picks up health and ammunition. A kill is a point, and the first team at the limit wins the
//! round. Players do not collide: a player's path depends only on its own keys and the walls, so a
//! predictor that knows the keys can run [`Body::step`] itself. Input-based predictors use a
//! [`Map`] as their step function.
//!
//! ```text
//! View ──▶ Bot / a person ──▶ Input ──▶ Ethereal::step ──▶ players, items, events ──▶ Recording
//!  ▲                                            │
//!  └── what this player's client shows ◀────────┘
//! ```
//!
//! - [`Ethereal`] is the match; [`Match`] is the match with a driver for each player
//! - [`Bot`] plays like a person with a [`Temperament`]: it decides a few times per second, from a
//!   [`View`]
//! - [`Map`] is the static world: bounds, walls (as a grid and as rectangles), lines of sight
//! - [`Recording`] stores births, deaths, inputs and snapshots; its [`CheckedReplay`] gives the
//!   same bits and compares them with the recording
//! - [`PlayStatistics`] measures how the match was played
//!
//! ## Scale
//!
//! Lengths are pixels, y grows downwards as on a screen, and a tick is 1/60 s. Shi 2014 gives: a
//! window of 1280 × 960, a player about 60 wide, fights within 800, a hit within 45. It does not
//! give the top speed, but its error table implies it: a prediction with constant velocity is off
//! by 95 more pixels for every further 300 ms, so its players moved at about 318 pixels per second
//! on average. [`TOP_SPEED`] is 360, six pixels per tick, which leaves an average player time to
//! turn and to stand. The usual map is four windows wide and a little more than three
//! high: a player needs 13 s from one end to the other and cannot see that far.
//!
//! ## Not as in Shi 2014
//!
//! Shi 2014 does not say how shots, items and walls worked. Here shots are instant, items lie at
//! fixed places, and a map is a grid of square cells.

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
