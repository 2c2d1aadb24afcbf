//! What was recorded, as numbers: recordings from bytes, and the metrics of dead reckoning.
//!
//! Pure, so that the laboratory, a test and a browser page read the same file to the same bits.
//!
//! - [`laps`]: predictors on laps, each lap by what the others taught
//! - [`recording`]: motion that somebody's game really made, cut into clean stretches
//! - [`play`]: the same at 60 ticks a second, as predictors see it
//! - [`candidates`]: the predictors there are, by name
//! - [`evaluate`]: how far off their predictions are
//! - [`live`]: how many packets motion models need when sender and receiver must agree
//! - [`offline`]: how few packets anybody could have needed who knew the future
#![forbid(unsafe_code)]

pub mod candidates;
pub mod evaluate;
pub mod laps;
pub mod live;
pub mod offline;
pub mod play;
pub mod recording;
