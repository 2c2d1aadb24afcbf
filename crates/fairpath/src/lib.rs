//! Guess where things are, and tell each player only what that player's guess gets wrong.
#![forbid(unsafe_code)]

pub mod clock;
pub mod converge;
mod dr_vector;
pub mod error;
pub mod ledger;
pub mod motion;
pub mod number;
mod owner;
pub mod place;
pub mod random;
pub mod rotation;
pub mod schedule;
mod state;
pub mod time;
pub mod trigger;
pub mod vector;
pub mod wire;

pub use dr_vector::{Attitude, DrVector};
pub use owner::{Export, NotFinite, Owner};
pub use state::{Observation, State};
