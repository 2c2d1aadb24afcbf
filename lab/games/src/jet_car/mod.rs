//! Jet car: a car with thrusters and no brakes among falling obstructions. After Buchheit 2004.
//!
//! Every obstruction avoided is a point, every one hit costs four points, and the side walls
//! destroy the car. Only its own thrusters slow the car down, so steering needs quick feedback,
//! which a long round trip to the server takes away.
//!
//! ```text
//! JetCarScene ──▶ Bot / a person ──▶ Input ──▶ JetCar::step ──▶ JetCarScene, events
//!  ▲                                            Dice: obstructions and gusts
//!  └─── what this player's client shows: the truth, an old scene, or an extrapolated one
//! ```
//!
//! - [`JetCar`] is the run as the server plays it: a [`JetCarScene`] and random generators
//! - [`JetCarScene`] is the state that a client is sent, draws, and can extrapolate with
//!   [`JetCarScene::step`]
//! - [`Bot`] plays like a practised person: it looks a few times per second and reacts with a delay
//! - [`JetCarRun`] is a run with its driver; [`InputLog`](crate::shared::InputLog) stores it, and
//!   its replay gives the same bits
//!
//! ## What a client can predict
//!
//! | part | decided by | a client with the scene and the inputs |
//! | --- | --- | --- |
//! | the car | the player's thrusters | knows it to the bit, while no new gust begins |
//! | obstructions on the field | their constant speed | knows them to the bit |
//! | the current gust | the server, when it began | knows it to the bit: the scene contains its end |
//! | hits, walls, score, lives | all of the above | knows them as long as it knows the above |
//! | new obstructions, new gusts | the server's random generators | cannot know |
//!
//! ## Scale
//!
//! Lengths are pixels, y grows downwards as on a screen, and a tick is 10 ms. Buchheit 2004 gives
//! the equations, the points, the two minutes and three lives; the sizes follow from its results. A
//! parked car is hit by 30 to 40 % of the obstructions and ends at −165 points: that takes some 220
//! obstructions in two minutes, and a third of the field's width covered. At 1600 ms of delay the
//! fast ones seem to begin at the bottom: they need that long for the whole field, at 300 px/s.
//!
//! ## Not as in Buchheit 2004
//!
//! Its polygons are rectangles here, and nothing rotates. Buchheit 2004 does not say what happens
//! at the top and bottom of the field; here the car stops there, unharmed.

mod bot;
mod config;
mod dice;
mod input;
mod message;
mod predict;
mod run;
mod scene;
mod world;

pub use bot::{Bot, Skill};
pub use config::{Gusts, JetCarConfig, POINTS_AVOIDED, POINTS_HIT, TICK_RATE};
pub use input::Input;
pub use run::{Driver, JetCarRun, REFERENCE_DIGEST, reference_digest};
pub use scene::{Car, Event, Gust, JetCarScene, OBSTRUCTIONS_MAX, Obstruction, Pace, Size};
pub use world::JetCar;
