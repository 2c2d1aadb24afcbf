#![doc = include_str!("../README.md")]
//!
//! ## Contents
//!
//! * [`SessionWorld`]: a server and its clients on simulated links, to test a whole game.
//! * [`star`]: one sender and its receivers, to test schedulers, budgets and placement.
//! * [`Network`]: peers, clocks and links in virtual time, with faults at chosen instants.
//! * [`Link`] and [`LinkModel`]: one direction of a link, with and without its packets; the model
//!   also serves a proxy on real sockets. [`LinkConfig`] configures it, [`RttTrace`] is a
//!   recording.
//! * [`EventQueue`] and [`SimClock`]: virtual time, and clocks that show it wrongly.
//! * [`repro!`] and [`run_twice`]: a failing test prints its replay line, and runs repeat.
//! * [`trace`] and [`Digest`]: a recorded run, as tables and as one number.
#![forbid(unsafe_code)]

mod clock;
pub mod csv;
pub mod digest;
mod link;
mod network;
mod queue;
mod repro;
pub mod session;
pub mod star;
pub mod trace;

pub use clock::{DRIFT_PPM_MAX, SimClock};
pub use digest::Digest;
pub use link::{
    Arrival, BadLinkConfig, BadRttTrace, DelayStatistics, Fate, IN_FLIGHT_MAX, Link, LinkConfig, LinkModel,
    LinkStatistics, Loss, LossCause, LossCounts, Rate, RttSample, RttTrace,
};
pub use network::{AGENDA_LEN_MAX, Delivery, Event, Fault, Network, PeerId, Wake};
pub use queue::{EventId, EventQueue};
pub use repro::{Repro, run_twice};
pub use session::{Accusation, DatagramRoute, SessionWorld, Tap};
