//! Tanks: two teams on a field with boxes play capture the flag. Modelled on BZFlag.
//!
//! A tank is a rectangle that drives on circles: its driver chooses speed and turn rate in every
//! tick, and between two ticks the tank moves exactly as [`Circular`](fairpath::motion::Circular)
//! says. Shots fly straight. So linear and circular DR vectors fit this game, and prediction errors
//! come only from the drivers' decisions.
//!
//! ```text
//! View ──▶ Bot / Script / a person ──▶ Input ──▶ Tanks::step ──▶ tanks, shots, flags, events
//!  ▲                                                                      │
//!  └────────── what this player's client shows (the truth, or not) ◀──────┘
//! ```
//!
//! - [`Tanks`] is the match; [`Match`] is the match with a driver for each tank
//! - [`Bot`] drives like a person: it decides a few times per second, from a [`View`]
//! - [`Script`] drives lines, circles and random motion for experiments
//! - [`InputLog`](crate::shared::InputLog) stores a match; its replay gives the same bits
//! - [`Match::record`] returns a match as a trace, for files and other tools
//! - [`TankPaths`] is the motion of many tanks, the truth at any instant, for measurements
//!
//! Angles are radians from +x towards +y. Lengths are in units; a tank is 6 units long.
//!
//! ## Not as in BZFlag
//!
//! Tanks do not jump and do not drive through each other; shots do not inherit their tank's speed;
//! a capture destroys no tank; a tank sends its own team's flag home by touching it.

mod bot;
mod config;
mod contact;
mod flag;
mod game;
mod geometry;
mod input;
mod map;
mod paths;
mod roads;
mod script;
mod shot;
mod tank;
mod view;
mod world;

pub use bot::{Bot, Temperament};
pub use config::{
    ConfigError, FLAG_RADIUS, Ground, MUZZLE_FRONT, SHOT_RADIUS, TANK_LENGTH, TANK_RADIUS, TANK_WIDTH,
    TANKS_MAX, TICK_RATE, TanksConfig,
};
pub use flag::{Flag, FlagPlace};
pub use game::{Driver, Match, REFERENCE_DIGEST, reference_match};
pub use geometry::Rectangle;
pub use input::{FIRE_BUTTON, Input};
pub use map::{BASE_SIDE, BOXES_MAX, Barrier, GAP, HALF_SIDE, Map, MapError};
pub use paths::{FIELD, TankPaths};
pub use script::{RandomScript, Script};
pub use shot::{SHOT_SLOTS, Shot, ShotEnd};
pub use tank::{Condition, Tank};
pub use view::{SeenFlag, SeenShot, SeenTank, View};
pub use world::{Event, MovingKind, Score, Tanks};

pub use crate::shared::Team;
