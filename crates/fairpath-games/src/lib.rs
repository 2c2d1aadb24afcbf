//! Placeholder.

pub mod race;
