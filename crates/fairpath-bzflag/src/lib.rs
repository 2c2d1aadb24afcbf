//! A proxy between unmodified BZFlag 2.4 clients and an unmodified `bzfs`.
//!
//! BZFlag shows a tank where its last update said, moved on from the instant of *arrival*. So every
//! tank is shown where it was, late by the sender's and the receiver's delay. The proxy restates
//! each update for each receiver: where the tank will be there, when the update arrives. With a
//! scheduler and a budget it also shares updates so that all players see equally well.
//!
//! In order: the game stays whole, tanks are shown where they are, players are treated alike.
//!
//! - [`message`]: the framing of BZFlag's messages, on TCP and UDP
//! - [`update`]: the state of a tank, and BZFlag's own rule for moving it on
//! - [`leg`]: delays, by lag pings and the senders' stamps
//! - [`Proxy`]: the proxy without its sockets
//! - [`driver`]: its sockets
//!
//! ```
//! use fairpath::time::{SharedInstant, Span};
//! use fairpath_bzflag::{ClientId, End, Proxy, ProxyConfig};
//!
//! let mut proxy = Proxy::new(ProxyConfig::default());
//! proxy.handle_connected(ClientId(1));
//! proxy.handle_stream(ClientId(1), End::Client, b"BZFLAG\r\n\r\n", SharedInstant::ZERO);
//! let transmit = proxy.poll_transmit().expect("the greeting passes");
//! assert_eq!((transmit.to, transmit.bytes), (End::Server, b"BZFLAG\r\n\r\n".to_vec()));
//! ```
//!
//! # Not here
//!
//! Cheat detection, chat filters, hits: the victim's client decides about hits, as always.
#![forbid(unsafe_code)]

pub mod driver;
pub mod leg;
pub mod message;
mod proxy;
pub mod update;

pub use proxy::{Channel, ClientId, End, PlayerStatus, Proxy, ProxyConfig, Record, Transmit};
