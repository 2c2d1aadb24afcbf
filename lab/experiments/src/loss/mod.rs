//! Tanks over links that lose datagrams: real sessions in virtual time, beside a loop that sends
//! every state at every tick over the same links.
//!
//! - [`LossScene`] is one game: what is lost, how far away, and what protects against it
//! - [`LossScore`] is how wrong the screens were, and what it cost

mod raw_loop;
mod scene;
mod score;

pub use scene::{LossPattern, LossScene, TANKS};
pub use score::LossScore;
