//! Test anything that talks over a network without a network: virtual time, simulated links, one
//! seed.
//!
//! In order: repeatable (the same seed gives the same run, bit for bit, on every platform), honest
//! (what a link does is what its documentation says, and laws check it), simple, fast. Nothing here
//! reads a clock, a file or a socket, and nothing calls you back: you send, you step, you are
//! handed what happens.
//!
//! * [`Network`]: peers, clocks and links in virtual time, with faults at chosen instants. Start
//!   here.
//! * [`Link`] and [`LinkModel`]: one direction, with and without its packets; the same effects
//!   serve virtual time and a proxy on real sockets. [`LinkConfig`] has all the knobs, [`RttTrace`]
//!   recorded round trips.
//! * [`SessionWorld`]: a server and its clients on such a network, to test a whole game.
//! * [`star`]: one sender and its receivers, to test schedulers, budgets and placement.
//! * [`EventQueue`] and [`SimClock`]: time itself, and clocks that show it wrongly.
//! * [`repro!`] and [`run_twice`]: a failing test prints the line that replays it, and a run
//!   repeats.
//! * [`trace`] and [`Digest`]: what happened, as tables and as one number.
//!
//! Pings over a link that loses a fifth of its packets:
//!
//! ```
//! use fairpath::time::{SharedInstant, Span};
//! use fairpath_sim::{Event, LinkConfig, Loss, Network, PeerId};
//!
//! let (near, far) = (PeerId(0), PeerId(1));
//! let mut network = Network::new(7, 2);
//! network.connect(near, far, LinkConfig::default().delay(Span::from_millis(40)).loss(Loss::each(0.2)));
//! for ping in 0..100 {
//!     network.wake(near, SharedInstant::from_millis(100 * ping), 0);
//! }
//!
//! let mut round_trips = Vec::new();
//! while let Some(event) = network.step() {
//!     match event {
//!         Event::Wake(_) => network.send(near, far, 32, network.now()),
//!         Event::Delivery(ping) if ping.to == far => network.send(far, near, 32, ping.payload),
//!         Event::Delivery(pong) => {
//!             round_trips.push(network.now() - pong.payload);
//!             continue;
//!         }
//!     };
//! }
//! assert!(round_trips.iter().all(|rtt| *rtt == Span::from_millis(80)));
//! assert!((50..80).contains(&round_trips.len()), "about 0.8 × 0.8 of a hundred come back");
//! ```
//!
//! ## Not here
//!
//! Bandwidth shared between links, routing, congestion control, and anything that a protocol should
//! do itself: retransmission, ordering, fragmentation.
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
pub use session::{DatagramRoute, SessionWorld, Tap};
