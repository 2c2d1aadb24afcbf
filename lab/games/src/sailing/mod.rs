//! Sailing: a boat with a sheet and a rudder, and a buoy a thousand feet away. After Buchheit 2004.
//!
//! The player does not set the sail directly: it lets out a rope (the sheet), and the wind pushes
//! the sail as far as the sheet allows, or lets it flap. A boat responds slowly, so the effect of a
//! trim shows only seconds later, and later still with network delay.
//!
//! ```text
//! SailingScene ──▶ Agent / a person ──▶ Input ──▶ Sailing::step ──▶ SailingScene, events
//!  ▲                                               Weather: shifts of wind and current
//!  └─── what this player's client shows: the truth, an old scene, or an extrapolated one
//! ```
//!
//! - [`Sailing`] is the race as the server runs it: a [`SailingScene`] and its weather
//! - [`SailingScene`] is the state that a client is sent, draws, and can extrapolate with
//!   [`SailingScene::step`]
//! - [`BoatModel::sail`] is all of a boat's physics
//! - [`Agent`] is a bot: *simple* trims by trial and error, *optimal* computes the best trim; both
//!   steer for the buoy
//! - [`Regatta`] is a race with a driver for each boat
//! - [`View`] is the scene as one client draws it: the own boat in the centre, a moving grid, a
//!   scaled mini-map
//!
//! ## What a client can predict
//!
//! | part | decided by | a client with the scene and its inputs |
//! | --- | --- | --- |
//! | the own boat | the player's sheet and rudder | knows it to the bit, while wind and current hold |
//! | wind in god mode | the player | knows it to the bit |
//! | other boats | their drivers | assumes that they keep sheet and rudder |
//! | the next shift of wind or current | the server's random generators | cannot know |
//!
//! ## Scale
//!
//! Feet, seconds, radians from +x (east) towards +y (north); a tick is 20 ms. The forces are
//! Buchheit 2004's: F = C0·sin α·V² on a tight sail, of which F·sin θ drives the boat, against a
//! drag of ½·v². Buchheit 2004 does not give C0, C1 and the mass. C0 makes a wind of 20 knots drive
//! a boat at some 10 ft/s, so the buoy is a little less than two minutes away. The mass gives about
//! ten seconds to reach that speed; with C1 the boat turns round in about eight.
//!
//! ## Not here
//!
//! Leeway, heeling, waves, and boats that bump or take each other's wind. Agents do not tack:
//! against the wind they do not reach the buoy.

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
pub use boat::{Boat, BoatModel, Helm};
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
