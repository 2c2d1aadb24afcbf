//! The laws of the simulator, one file per room. Property tests: see `fairpath_laws` for seeds and
//! replay.

#[path = "laws/clock.rs"]
mod clock;
#[path = "laws/link.rs"]
mod link;
#[path = "laws/network.rs"]
mod network;
#[path = "laws/queue.rs"]
mod queue;
#[path = "laws/rtt_trace.rs"]
mod rtt_trace;
#[path = "laws/statistics.rs"]
mod statistics;
#[path = "laws/trace.rs"]
mod trace;
