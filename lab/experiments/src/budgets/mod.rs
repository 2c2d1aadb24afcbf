//! Asteroids with bullets in virtual time, through real sessions: what a budget does to each class
//! and each receiver.
//!
//! - [`BudgetScene`] is one game: players, links, a scheduler and its budget
//! - [`BudgetScore`] is what an omniscient observer measures in it
//! - [`CopyCounts`] says why copies were sent

mod copies;
mod scene;
mod score;

pub use copies::{CopyCounts, CopyReason};
pub use scene::{BudgetScene, Opening, SceneScheduler};
pub use score::{BudgetScore, ClassScore};
