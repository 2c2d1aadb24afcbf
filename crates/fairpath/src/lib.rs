//! Guess where things are, and tell each player only what that player's guess gets wrong.
//!
//! In order: correct, predictable, small on the wire, fast. Nothing here reads a clock, a socket or
//! a die: time, bytes and a seeded generator are passed in, so the same code runs live, in a
//! simulator and in a browser, and gives the same bits.
//!
//! The map, in the order data takes:
//!
//! - [`time`] and [`number`]: instants that name their clock, names, wrapping undone in one place
//! - [`vector`] and [`rotation`]: small vectors of our own, in the plane and in space
//! - [`motion`]: the guesses; [`State`] is what they answer with
//! - [`trigger`] and [`Owner`]: when a guess has become too wrong
//! - [`ledger`] and [`schedule`]: who has been how wrong, and who is told next
//! - [`wire`]: the bytes; [`link`]: what both ends remember of them
//! - [`place`], with [`Replica`]: where to show it; [`converge`]: how to bend a correction for the
//!   eye
//! - [`clock`]: one timeline for everybody, that says how sure it is
//! - [`session`]: all of it together, between a server and its clients
//! - [`error`]: how wrong, exactly
//! - [`random`]: the seeded generator
#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod clock;
pub mod converge;
mod directory;
mod dr_vector;
pub mod error;
pub mod ledger;
pub mod link;
pub mod motion;
pub mod number;
mod owner;
pub mod place;
pub mod random;
pub mod rotation;
pub mod schedule;
pub mod session;
mod state;
pub mod time;
pub mod trigger;
pub mod vector;
pub mod wire;

pub use dr_vector::{Attitude, DrVector};
pub use motion::MotionKind;
pub use number::{EntityId, ReceiverId};
pub use owner::{Export, NotFinite, Owner};
pub use place::{Placement, Replica};
pub use state::{Observation, State};
pub use time::{LocalInstant, Now, SharedInstant, Span};
pub use trigger::Trigger;
pub use vector::{Planar, Vec2, Vec3, Vector};
