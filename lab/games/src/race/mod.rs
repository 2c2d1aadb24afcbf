//! Race: cars on a walled road, seen from above; the first over the finish wins.
//!
//! On a circuit cars drive laps, on a stage one run from start to finish, as in Jawad 2017. A car's
//! tyres push by so much and no more; its driver has throttle, brake and steering wheel. Everybody
//! drives the same road again and again, each in their own way and never twice the same: that is
//! what a trend line can learn, and what a line through the last velocity cannot know.
//!
//! ```text
//! View ──▶ Bot / a person ──▶ Input ──▶ Race::step ──▶ cars, events ──▶ LapRecorder ──▶ laps
//!  ▲                                                     │
//!  └─── what this driver's screen shows (the truth, or not) ◀──┘
//! ```
//!
//! - [`Track`] is the road: generated from a seed, a [`Preset`], or read from a file
//! - [`Race`] is the race; [`Heat`] is the race with its drivers in their seats
//! - [`Bot`] drives in one of four [`Style`]s: four lines, four ways of braking, four kinds of
//!   mistakes
//! - [`record_laps`] records laps of all four, with dice that evaluation never sees
//! - [`InputLog`](crate::shared::InputLog) stores a race; its replay gives the same bits
//!
//! Metres, seconds, radians from +x towards +y.
//!
//! ## Not here
//!
//! Hills, weather, tyre wear, damage, gears, pit stops, and cars longer than wide: towards walls
//! and each other they are discs.

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
