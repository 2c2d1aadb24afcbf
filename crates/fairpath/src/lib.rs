#![doc = include_str!("../README.md")]
//! # Modules
//!
//! In the order in which data passes through them:
//!
//! - [`time`], [`number`]: instants that name their clock, identifiers, packet numbers
//! - [`vector`], [`rotation`]: small vectors and orientations, in the plane and in space
//! - [`motion`]: the motion models that predict a [`State`]
//! - [`trigger`], with [`Owner`]: decides when a prediction is too wrong and exports a [`DrVector`]
//! - [`Forecast`]: chooses the motion to export; [`FixedSteps`]: the loop with fixed steps
//! - [`ledger`], [`schedule`]: each receiver's error, and which receiver is sent the next update
//! - [`wire`], [`link`]: the bytes of updates and receipts, and the memory of both ends of a link
//! - [`place`], with [`Replica`]: where a receiver sees an entity; [`converge`]: smooth corrections
//! - [`clock`]: the clock that all peers share, with its uncertainty
//! - [`session`]: all of it together, between a server and its clients
//! - [`error`]: exact integrals of the error between two motions
//! - [`random`]: the seeded generator
//! - [`prelude`]: the names that a game uses, in one import
#![forbid(unsafe_code)]

pub mod clock;
pub mod converge;
mod directory;
mod dr_vector;
pub mod error;
mod forecast;
pub mod ledger;
pub mod link;
pub mod motion;
pub mod number;
mod owner;
pub mod place;
pub mod prelude;
pub mod random;
pub mod rotation;
pub mod schedule;
pub mod session;
mod state;
mod steps;
pub mod time;
pub mod trigger;
pub mod vector;
pub mod wire;

pub use dr_vector::{Attitude, DrVector};
pub use forecast::Forecast;
pub use motion::MotionKind;
pub use number::{EntityId, ReceiverId};
pub use owner::{Export, OBSERVED_AHEAD_MAX, OBSERVED_LATE_MAX, ObserveError, Owner};
pub use place::{Placement, Replica};
pub use state::{Observation, State};
pub use steps::{FixedSteps, Tick, Ticks};
pub use time::{LocalInstant, Now, SharedInstant, Span};
pub use trigger::Trigger;
pub use vector::{Planar, Vec2, Vec3, Vector};
