//! Placeholder.

pub mod ethereal;
