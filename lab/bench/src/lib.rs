//! What measurements over real sockets have in common: motion that is the same for everybody, the
//! machine's clock, how wrong what is shown is, and processes that are measured apart.
//!
//! * [`Scene`]: tanks driven by bots, from a seed; the truth at any instant
//! * [`Errors`]: how far what is shown is from it
//! * [`machine`]: one clock for all processes, and the processor time of this one
//! * [`assault`]: hostile clients over QUIC
//! * [`Helper`]: this program once more, in another role
#![forbid(unsafe_code)]

pub mod assault;
mod error_histogram;
mod helper;
pub mod machine;
mod tank_recording;

pub use error_histogram::ErrorHistogram;
pub use helper::{Helper, report, until_stdin_ends};
pub use tank_recording::{FIELD, TankRecording};
