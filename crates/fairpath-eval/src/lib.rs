//! What was recorded, as numbers: recordings from bytes, and the metrics of dead reckoning.
//!
//! Pure, so that the laboratory, a test and a browser page read the same file to the same bits.
//!
//! - [`recording`]: motion that somebody's game really made, cut into clean stretches
#![forbid(unsafe_code)]

pub mod recording;
