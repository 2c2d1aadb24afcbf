//! Race: cars on a walled track, seen from above; the first over the finish line wins.
//!
//! On a circuit cars drive laps, on a stage one run from start to finish, as in Jawad 2017. A car's
//! tyres have limited grip; its driver has throttle, brake and steering wheel. Every driver drives
//! the same track again and again, similar but never identical each time. A trend line can learn
//! this; a constant-velocity prediction cannot.
//!
//! ```text
//! View ──▶ Bot / a person ──▶ Input ──▶ Race::step ──▶ cars, events ──▶ LapRecorder ──▶ laps
//!  ▲                                                     │
//!  └─── what this driver's client shows (the truth, or not) ◀──┘
//! ```
//!
//! - [`Track`] is the track: generated from a seed, a [`Preset`], or read from a file
//! - [`Race`] is the race; [`Heat`] is the race with a driver for each car
//! - [`Bot`] drives in one of four [`Style`]s, which differ in line, braking and mistakes
//! - [`record_laps`] records laps of all four styles, with separate random streams for training and
//!   evaluation
//! - [`InputLog`](crate::shared::InputLog) stores a race; its replay gives the same bits
//!
//! Metres, seconds, radians from +x towards +y.
//!
//! ## Not here
//!
//! Hills, weather, tyre wear, damage, gears, pit stops. In collisions a car is a disc.

mod bot;
mod car;
mod config;
mod contact;
mod heat;
mod input;
mod lap;
mod message;
mod track;
mod view;
mod world;

pub use bot::{Bot, DrivingPlan, Style};
pub use car::{CAR_RADIUS, CarModel, CarMotion, TOP_SPEED_LIMIT};
pub use config::{CARS_MAX, Course, RaceConfig, TICK_RATE};
pub use heat::{Driver, Heat, REFERENCE_DIGEST, reference_digest};
pub use input::Input;
pub use lap::{LAP_SAMPLES_MAX, Lap, LapDice, LapRecorder, LapSample, laps_to_csv, record_laps};
pub use message::{RacePredictor, RaceScene};
pub use track::{
    LENGTH_MAX, LENGTH_MIN, Place, Preset, REACH, SECTIONS_MAX, Section, Shape, Track, TrackCsvError,
    TrackCsvProblem, TrackError, WIDTH_MAX, WIDTH_MIN,
};
pub use view::{SeenCar, View};
pub use world::{Car, Condition, Race, RaceEvent};
