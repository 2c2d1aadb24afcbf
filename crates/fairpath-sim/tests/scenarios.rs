//! Small stories on a tiny world with a fake clock, one file each: what the harness is for, and how
//! it reads.

#[path = "scenarios/ship.rs"]
mod ship;

#[path = "scenarios/drawing.rs"]
mod drawing;
#[path = "scenarios/lost_update.rs"]
mod lost_update;
#[path = "scenarios/overload.rs"]
mod overload;
#[path = "scenarios/partition.rs"]
mod partition;
#[path = "scenarios/recorded_stall.rs"]
mod recorded_stall;
#[path = "scenarios/same_again.rs"]
mod same_again;
#[path = "scenarios/wrong_clock.rs"]
mod wrong_clock;
