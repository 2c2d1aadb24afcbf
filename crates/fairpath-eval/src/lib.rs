//! What was recorded, as numbers: recordings from bytes, and the metrics of dead reckoning.
//!
//! Pure, so that the laboratory, a test and a browser page read the same file to the same bits.
//!
//! - [`laps`]: predictors on laps, each lap by what the others taught
//! - [`recording`]: motion that somebody's game really made, cut into clean stretches
#![forbid(unsafe_code)]

pub mod laps;
pub mod recording;
