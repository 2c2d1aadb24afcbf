#![doc = include_str!("../README.md")]
//!
//! # Map
//!
//! * [`NetServer`] and [`NetClient`] serve a [session](fairpath::session), or join one.
//! * [`Identity`] is a certificate and its key, [`Trust`] the certificates that a client accepts.
//! * [`ConnectionProblem`] says why a connection failed or ended.
//! * [`ConnectTokens`] admit players, [`Limits`] bound the connections of one address.
//! * [`lobby`] lists servers and introduces peers, [`NetPeer`] plays without a server ([`mesh`]).
//! * [`ServerMetrics`] are a server's numbers for Prometheus, and refusals are events of `tracing`.
//! * [`sealed`] carries session datagrams beside QUIC.
//! * [`middleman`] is the proxy that simulates a bad network.
//!
//! In order: true to the simulator (the code that decides live is the code that decides in virtual
//! time), bounded (memory and sockets have limits, whatever peers send), precise, fast.
#![forbid(unsafe_code)]

mod admissions;
mod attempts;
mod background;
mod builder;
mod carrier;
mod client;
mod clock;
mod congestion;
mod connection;
mod driver;
mod endpoint;
mod identity;
mod incidents;
#[cfg(feature = "lobby")]
pub mod lobby;
#[cfg(feature = "peer")]
pub mod mesh;
mod metrics;
#[cfg(feature = "middleman")]
pub mod middleman;
mod monitor;
mod pace;
mod problem;
mod proven;
#[cfg(feature = "peer")]
mod quinn_server;
mod reconnect;
pub mod sealed;
mod sender;
mod served;
mod server;
mod token_bucket;
mod tokens;

use std::sync::{Mutex, MutexGuard, PoisonError};

use fairpath::random::Random;

pub use admissions::Limits;
pub use builder::{ClientBuilder, ServerBuilder};
pub use carrier::Carrier;
pub use client::{ClientStatus, ClientThread, ConnectError, ConnectionState, NetClient, NetClientConfig};
pub use clock::Clock;
pub use congestion::Congestion;
pub use connection::Transport;
pub use identity::{Fingerprint, Identity, IdentityError, NotAFingerprint, Trust};
#[cfg(feature = "peer")]
pub use mesh::{NetPeer, NetPeerConfig, PeerEvent};
pub use metrics::{MetricsListener, ServerMetrics};
pub use monitor::{FrameError, InFrame};
pub use problem::ConnectionProblem;
pub use sender::Departures;
pub use server::{AdmissionStatistics, BindError, EndedConnection, NetServer, NetServerConfig, PeerStatus};
pub use tokens::{BearerTooLong, ConnectTokens};

/// Returns a generator seeded from the operating system. A live session needs one that no
/// peer can predict, because it proves receipts with it.
pub fn unguessable_random() -> Random {
    Random::from_seed(u64::from_le_bytes(identity::unguessable()))
}

/// Returns a random number that identifies this run of a server. Clients notice a restart by it.
pub fn new_epoch() -> u64 {
    u64::from_le_bytes(identity::unguessable())
}

/// Locks a mutex. If a game panicked while it held the lock, the value is still consistent:
/// sessions and lists never panic in the middle of a change.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
