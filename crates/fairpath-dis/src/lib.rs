#![doc = include_str!("../README.md")]
//!
//! # Map
//!
//! * [`Gateway`] is the heart: PDUs in, objects and calls out, and back. No sockets, no clock.
//! * [`Exchange`] is what the gateways of one session agree on.
//! * [`net`] has the sockets: broadcast, multicast, unicast, and a gateway that runs on them.
//! * [`pdu`] reads and writes PDUs, [`stamp`] understands their time, [`frame`] the Earth.
//! * [`Monitor`] measures what a network does: prediction errors, heartbeats, jitter, stamps.
//! * [`capture`] reads and writes recordings that Wireshark opens.
#![forbid(unsafe_code)]

pub mod capture;
mod events;
mod exchange;
pub mod frame;
mod gateway;
mod id;
mod monitor;
pub mod net;
pub mod path;
pub mod pdu;
pub mod stamp;

pub use events::Shot;
pub use exchange::{
    Appearance, Described, ENTITIES_MAX, Entity, Event, Exchange, Fineness, Other, OtherParameters,
    VariableParameters, relay,
};
pub use gateway::{Counters, Gateway, GatewayConfig, Passing};
pub use id::{Application, DisId, EntityType, ParseIdError, SiteFilter, Thresholds, TypeRule};
pub use monitor::{EntityReport, Monitor, Report};
