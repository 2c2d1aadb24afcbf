//! Fairpath on real sockets.
//!
//! In order: true to the simulator (what decides live is the code that decides in virtual time),
//! bounded (whatever a stranger sends, memory and sockets have an end), precise, fast.
//!
//! * [`NetServer`] and [`NetClient`]: a [session](fairpath::session) on QUIC, and on WebTransport
//!   for browsers.
//! * [`NetPeer`]: the same sessions without a server, everybody with everybody ([`mesh`]).
//! * [`lobby`]: where servers and peers are found, and peers are introduced.
//! * [`Identity`], [`Trust`], [`ConnectTokens`]: who proves what to whom.
//! * [`PageServer`]: the files of a page, for browsers.
//! * [`middleman`]: a UDP proxy that makes the network between any client and any server as bad as
//!   you ask.
//!
//! ```
//! use std::time::Duration;
//!
//! use fairpath::schedule::Broadcast;
//! use fairpath::session::{Class, ClassId, Client, ClientConfig, Server, ServerConfig};
//! use fairpath::{Observation, State, Trigger, Vec2};
//! use fairpath_net::{Identity, NetClient, NetClientConfig, NetServer, NetServerConfig, Trust};
//!
//! const SHIP: ClassId = ClassId(0);
//! let classes = [(SHIP, Class::new(Trigger::within(0.1)))];
//! let dice = fairpath_net::unguessable_random;
//!
//! let config = ServerConfig::new(classes.clone(), fairpath_net::new_epoch());
//! let session = Server::<Vec2>::new(config, Box::new(Broadcast), dice());
//! let identity = Identity::local(&[])?;
//! let server = NetServer::bind(NetServerConfig::new("127.0.0.1:0".parse()?, identity), session)?;
//!
//! let trust = Trust::Pinned(vec![server.fingerprint()]);
//! let session = Client::<Vec2>::new(ClientConfig::new(classes), dice());
//! let client = NetClient::connect(server.address(), NetClientConfig::new(trust), session)?;
//!
//! // Each side's frames: the server's ship moves, the client sees it.
//! let ship = server.frame(|session, now| session.create(SHIP, b"", now))?;
//! let seen = loop {
//!     let truth = State::moving(Vec2::new(3.0, 4.0), Vec2::new(1.0, 0.0));
//!     server.frame(|session, now| session.observe(ship, Observation::Moved(truth), now))?;
//!     if let Some(seen) = client.frame(|session, now| session.place(ship, now)) {
//!         break seen;
//!     }
//!     std::thread::sleep(Duration::from_millis(16));
//! };
//! assert!((seen.position.y - 4.0).abs() < 0.1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod client;
mod clock;
mod congestion;
mod connection_limiter;
mod identity;
mod link;
pub mod lobby;
pub mod mesh;
pub mod middleman;
mod outlet;
mod pace;
mod page;
mod server;
mod tokens;

use fairpath::random::Random;

pub use client::{ClientStatus, ClientThread, ConnectError, ConnectionState, NetClient, NetClientConfig};
pub use clock::Clock;
pub use congestion::Congestion;
pub use connection_limiter::Limits;
pub use identity::{Fingerprint, Identity, IdentityError, NotAFingerprint, Trust};
pub use link::Transport;
pub use mesh::{NetPeer, NetPeerConfig, PeerEvent};
pub use outlet::Departures;
pub use page::{PageFile, PageServer};
pub use server::{AdmissionStatistics, BindError, NetServer, NetServerConfig, PeerStatus};
pub use tokens::{BearerTooLong, ConnectTokens};

/// A generator that nobody can guess, as a live session needs: its receipts are proven with it.
pub fn unguessable_random() -> Random {
    Random::from_seed(u64::from_le_bytes(identity::unguessable()))
}

/// A number for this run of a server, different from those of all others.
pub fn new_epoch() -> u64 {
    u64::from_le_bytes(identity::unguessable())
}
