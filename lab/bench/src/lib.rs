//! Shared by the measurements over real sockets: reproducible motion, the machine's clock, the
//! error of the shown positions, and processes that are measured apart.
//!
//! * [`TankPaths`]: tanks driven by bots, from a seed; the truth at any instant
//! * [`ErrorHistogram`]: distances between shown positions and the truth
//! * [`machine`]: one clock for all processes, and the processor time of this process
//! * [`assault`]: hostile clients over QUIC
//! * [`Helper`]: a second process of this program, in another role
#![forbid(unsafe_code)]
#![allow(missing_docs, reason = "not published: names that explain themselves need no comment")]

pub mod assault;
mod error_histogram;
mod helper;
pub mod machine;

pub use error_histogram::ErrorHistogram;
pub use fairpath_games::tanks::{FIELD, TankPaths};
pub use helper::{Helper, report, until_stdin_ends};
