//! The experiments there are: one file each, and one line in [`all`].

use crate::experiment::Experiment;

pub use x9::{ClockSeen, Diary, Played, Scene, Stage, Ways, X9};
pub use x15::X15;

mod delay;
mod ei;
mod honesty;
mod play_patterns;
mod x1;
mod x10;
mod x11;
mod x12;
mod x13;
mod x14;
mod x15;
mod x16;
mod x17;
mod x2;
mod x3;
mod x4;
mod x5;
mod x6;
mod x7;
mod x8;
mod x9;

/// All of them, in the order of their numbers; ours come last.
pub fn all() -> &'static [&'static dyn Experiment] {
    &[
        &x1::X1,
        &x2::X2,
        &x3::X3,
        &x4::X4,
        &x5::X5,
        &x6::X6,
        &x7::X7,
        &x8::X8,
        &x9::X9 { stage: &x9::Nowhere, length: x9::X9::LENGTH },
        &x10::X10,
        &x11::X11,
        &x12::X12,
        &x13::X13,
        &x14::X14,
        &x15::X15 { recordings: &[] },
        &x16::X16,
        &x17::X17,
        &ei::ErrorIndexTable,
        &honesty::Honesty,
        &delay::HiddenDelay,
    ]
}

/// The one with this id, upper or lower case.
pub fn find(id: &str) -> Option<&'static dyn Experiment> {
    all().iter().copied().find(|experiment| experiment.id().eq_ignore_ascii_case(id))
}
