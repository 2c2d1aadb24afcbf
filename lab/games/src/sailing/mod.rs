//! Sailing: a boat, a sail on a rope, a rudder, and a buoy a thousand feet away. After Buchheit
//! 2004's final game.
//!
//! The sail is not where the player puts it: the player lets out a rope (the sheet), and the wind
//! pushes the sail as far as that allows, or lets it flap. A boat answers slowly, so a trim shows
//! its worth only seconds later, and later still on a screen that is old.
//!
//! ```text
//! SailingScene ──▶ Agent / a person ──▶ Input ──▶ Sailing::step ──▶ SailingScene, events
//!  ▲                                        Weather: where wind and current shift to, and when
//!  └─── what this sailor's screen shows: the truth, an old one, or an extrapolated one
//! ```
//!
//! - [`Sailing`] is the race as the server runs it: a [`SailingScene`] and its weather
//! - [`SailingScene`] is all that a client is sent, draws, and can play on by itself with
//!   [`SailingScene::step`]
//! - [`BoatModel::sail`] is the whole of a boat's physics
//! - [`Agent`] sails: *simple* by trying, *optimal* by knowing; both steer for the buoy
//! - [`Regatta`] is a race with its crews: the player's, and opponents that the server sails
//! - [`View`] is the scene as it is drawn: the own boat in the middle, a grid that moves, a
//!   mini-map that scales
//!
//! ## What a client can predict
//!
//! | part | who decides | a client with the scene and its inputs |
//! | --- | --- | --- |
//! | the own boat | the player's sheet and rudder | knows it to the bit, while wind and current hold |
//! | wind in god mode | the player | knows it to the bit |
//! | other boats | their crews | can only guess: they keep sheet and rudder as they are |
//! | the next shift of wind or current | the server's weather, unseen | cannot know |
//!
//! ## Scale
//!
//! Feet, seconds, radians from +x (east) towards +y (north); a tick is 20 ms. The forces are
//! Buchheit 2004's: F = C0·sin α·V² on a tight sail, of which F·sin θ drives the boat, against a
//! drag of ½·v². Buchheit 2004 does not give C0, C1 and the mass. C0 makes a wind of 20 knots drive
//! a boat at some 10 ft/s, so the buoy is a little less than two minutes away; the mass lets it
//! take about ten seconds to get there; C1 turns it around in about eight.
//!
//! ## Not here
//!
//! Leeway, heeling, waves, and boats that bump or take each other's wind. Nobody tacks: with a wind
//! from where the buoy is, the agents do not get there.

mod agent;
mod boat;
mod config;
mod input;
mod message;
mod predict;
mod regatta;
mod scene;
mod view;
mod weather;
mod world;

pub use agent::{Agent, Trim};
pub use boat::{Boat, BoatModel};
pub use config::{
    BOATS_MAX, Current, KNOT, PATTERN_LEN_MAX, SailingConfig, Shift, TICK_RATE, Wind, blowing_from,
    from_south, from_west,
};
pub use input::Input;
pub use predict::SailingPredictor;
pub use regatta::{Driver, REFERENCE_DIGEST, Regatta, reference_digest};
pub use scene::{Event, SailingScene};
pub use view::{GRID, SeenBoat, View};
pub use world::Sailing;
