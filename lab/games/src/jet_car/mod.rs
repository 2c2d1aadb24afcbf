//! Jet car: a car with thrusters and no brakes, in a field of things that come down. After Buchheit
//! 2004's prototype.
//!
//! Whatever passes by is a point, whatever is hit costs four, and the side walls destroy the car.
//! Nothing slows the car but its own thrusters, so steering needs feedback, and that is what a long
//! way to the server takes away.
//!
//! ```text
//! JetCarScene ──▶ Bot / a person ──▶ Input ──▶ JetCar::step ──▶ JetCarScene, events
//!  ▲                                      Dice: what comes down, when wind blows
//!  └─── what this player's screen shows: the truth, an old one, or an extrapolated one
//! ```
//!
//! - [`JetCar`] is the run as the server plays it: a [`JetCarScene`] and its dice
//! - [`JetCarScene`] is all that a client is sent, draws, and can play on by itself with
//!   [`JetCarScene::step`]
//! - [`Bot`] plays like a practised person: it looks a few times per second, and its hands follow
//!   later
//! - [`JetCarRun`] is a run with its player; [`InputLog`](crate::shared::InputLog) keeps it, and
//!   its replay gives the same bits
//!
//! ## What a client can predict
//!
//! | part | who decides | a client with the scene and the inputs |
//! | --- | --- | --- |
//! | the car | the player's thrusters | knows it to the bit, while no new gust begins |
//! | obstructions on the field | nobody, they just come down | knows them to the bit |
//! | the gust that blows | the server, when it began | knows it to the bit: a gust carries its own end |
//! | hits, walls, score, lives | follow from the above | knows them as long as it knows the above |
//! | new obstructions, new gusts | the server's dice, unseen | cannot know |
//!
//! ## Scale
//!
//! Lengths are pixels, y grows downwards as on a screen, and a tick is 10 ms. Buchheit 2004 gives
//! the equations, the points, the two minutes and three lives; the sizes follow from what it
//! reports. A parked car is hit by 30 to 40 % and ends at −165: that takes some 220 obstructions in
//! two minutes, and a third of the field's width covered. At 1600 ms the fast ones seem to begin at
//! the bottom: they take that long for the whole way, at 300 px/s.
//!
//! ## Not as in Buchheit 2004
//!
//! Its polygons are rectangles here: nothing turns. Where the field ends above and below is not
//! written down; here the car stops there, unharmed.

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
