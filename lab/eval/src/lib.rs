//! Recordings from bytes, and the metrics of dead reckoning.
//!
//! Pure functions, so that the laboratory, a test and a browser page compute the same bits from the
//! same file.
//!
//! - [`budget`]: how much memory and work one file may cost
//! - [`laps`]: predictors on laps, each lap predicted by what the other laps taught
//! - [`recording`]: recorded motion, cut into clean stretches
//! - [`play`]: the same at 60 ticks a second, as predictors see it
//! - [`candidates`]: the list of predictors, by name
//! - [`learned`]: learned predictors of the literature, taught by matches of our own bots
//! - [`evaluate`]: the errors of their predictions
//! - [`live`]: how many packets motion models need if sender and receiver must agree
//! - [`offline`]: the fewest packets that a sender with knowledge of the future could need
#![forbid(unsafe_code)]
#![allow(missing_docs, reason = "not published: names that explain themselves need no comment")]

pub mod budget;
pub mod candidates;
pub mod evaluate;
pub mod laps;
pub mod learned;
pub mod live;
pub mod offline;
pub mod play;
pub mod recording;
