//! The jet car, sailing and a race for several over real sockets. Both ends without sockets are in
//! [`fairpath_games::online`].
//!
//! - [`bind`] starts a server for a [`Room`](fairpath_games::online::Room)
//! - [`RemotePlayer`] is a player's end

mod remote;
#[cfg(test)]
mod tests;

pub use remote::{PlayerStatus, RemoteGame, RemotePlayer};

use std::net::SocketAddr;
use std::time::Duration;

use fairpath::schedule::Broadcast;
use fairpath::session::{Budget, Class, ClassId, Server, ServerConfig};
use fairpath::vector::Vec2;
use fairpath_net::{BindError, Identity, NetServer, NetServerConfig, new_epoch, unguessable_random};

/// What each side may send: twice the scenes of a race, 1000 bytes each, 60 a second.
const BUDGET: Budget = Budget { bytes_per_sec: 128_000, burst_bytes: 8_000, share: None };
/// No class: whole states travel, nothing is dead-reckoned.
const CLASSES: [(ClassId, Class); 0] = [];
/// The limit for connecting. 20 s: a handshake is four round trips, of up to 1.6 s in experiments.
pub(crate) const CONNECT_WITHIN: Duration = Duration::from_secs(20);

/// How often a server compares its ticks with elapsed time: a fifth of the shortest tick.
pub const LOOK_EVERY: Duration = Duration::from_millis(2);

/// Starts a server without clients.
pub fn bind(
    listen: SocketAddr,
    identity: Identity,
    clients_max: usize,
) -> Result<NetServer<Vec2>, BindError> {
    let session = ServerConfig { budget: BUDGET, clients_max, ..ServerConfig::new(CLASSES, new_epoch()) };
    let session = Server::<Vec2>::new(session, Box::new(Broadcast), unguessable_random());
    let mut config = NetServerConfig::new(listen, identity);
    config.budget = BUDGET;
    config.limits.per_address_max = clients_max.max(config.limits.per_address_max);
    NetServer::bind(config, session)
}
