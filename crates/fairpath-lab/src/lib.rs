//! Placeholder.

pub mod dis_check;
