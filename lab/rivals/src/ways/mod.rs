//! The methods that are compared.

#[cfg(feature = "bevy-rivals")]
mod components;
mod fairpath;
#[cfg(feature = "bevy-rivals")]
mod lightyear;
mod quinn;
mod raw;
mod renet;
#[cfg(feature = "bevy-rivals")]
mod replicon;

use std::net::SocketAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ::fairpath::vector::Vec2;
use fairpath_bench::{TankPaths, machine};

use crate::roles::{ConnectInfo, Terms};

/// The server side of a method.
pub(crate) trait ServerSide {
    /// Returns the server's address, and its certificate or fingerprint if it has one.
    fn connect_info(&self) -> (SocketAddr, String);

    /// Returns the number of connected receivers.
    fn receivers(&mut self) -> usize;

    /// Plays one tick: sends the recording's states at `at`. The last tick was at `before`.
    fn tick(&mut self, paths: &TankPaths, before: Duration, at: Duration);

    /// Waits until the next tick. A method that must read its sockets meanwhile overrides this.
    fn wait_until(&mut self, next: Duration) {
        std::thread::sleep(next.saturating_sub(machine::now()));
    }

    /// Returns the number of DR vectors sent so far, if the method sends DR vectors.
    fn vectors(&self) -> Option<u64> {
        None
    }
}

/// The receiver side of a method.
pub(crate) trait ReceiverSide {
    /// Draws one frame: handles what has arrived, writes the shown position of every tank that has
    /// an update, and returns the instant since the recording `began`.
    fn frame(&mut self, began: Duration, shown: &mut [Option<Vec2>]) -> Duration;

    /// Disconnects.
    fn leave(self: Box<Self>) {}
}

/// A method to replicate tanks.
pub(crate) struct Method {
    /// The name on the command line.
    pub(crate) name: &'static str,
    /// The title in the table.
    pub(crate) title: &'static str,
    /// Whether it sends every state at every tick, and could do so less often.
    pub(crate) sends_every_state: bool,
    pub(crate) server: fn(&Terms) -> Box<dyn ServerSide>,
    pub(crate) receiver: fn(&Terms, &ConnectInfo, u64) -> Box<dyn ReceiverSide>,
}

/// All methods that were built. The first is the baseline.
pub(crate) static METHODS: &[Method] = &[
    Method {
        name: "raw",
        title: "raw UDP loop: sendmmsg, all states in one datagram",
        sends_every_state: true,
        server: |terms| Box::new(raw::RawServer::together(terms)),
        receiver: raw::receiver,
    },
    Method {
        name: "raw-each",
        title: "raw UDP loop: sendmmsg and GSO, a datagram for each state",
        sends_every_state: true,
        server: |terms| Box::new(raw::RawServer::one_by_one(terms)),
        receiver: raw::receiver,
    },
    Method {
        name: "quinn",
        title: "quinn datagrams alone",
        sends_every_state: true,
        server: |_| Box::new(quinn::QuinnServer::of_states()),
        receiver: quinn::receiver_of_states,
    },
    Method {
        name: "renet",
        title: "renet",
        sends_every_state: true,
        server: |terms| Box::new(renet::RenetSnapshotServer::new(terms)),
        receiver: renet::receiver,
    },
    #[cfg(feature = "bevy-rivals")]
    Method {
        name: "replicon",
        title: "bevy_replicon, on renet",
        sends_every_state: true,
        server: |terms| Box::new(replicon::RepliconServer::new(terms)),
        receiver: replicon::receiver,
    },
    #[cfg(feature = "bevy-rivals")]
    Method {
        name: "lightyear",
        title: "lightyear",
        sends_every_state: true,
        server: |terms| Box::new(lightyear::LightyearServer::new(terms)),
        receiver: lightyear::receiver,
    },
    Method {
        name: "quinn-vectors",
        title: "quinn alone, the same DR vectors, no ledgers",
        sends_every_state: false,
        server: |terms| Box::new(quinn::QuinnServer::of_vectors(terms, 1)),
        receiver: quinn::receiver_of_vectors,
    },
    Method {
        name: "quinn-vectors-bundled",
        title: "quinn alone, the same DR vectors, every third tick",
        sends_every_state: false,
        server: |terms| Box::new(quinn::QuinnServer::of_vectors(terms, 3)),
        receiver: quinn::receiver_of_vectors,
    },
    Method {
        name: "fairpath",
        title: "Fairpath, every tick",
        sends_every_state: false,
        server: |terms| Box::new(fairpath::FairpathServer::broadcast(terms)),
        receiver: fairpath::receiver,
    },
    Method {
        name: "fairpath-index",
        title: "Fairpath with error-index, every tick",
        sends_every_state: false,
        server: |terms| Box::new(fairpath::FairpathServer::error_index(terms)),
        receiver: fairpath::receiver,
    },
    Method {
        name: "fairpath-index-third",
        title: "Fairpath with error-index, budget for a third of the receivers",
        sends_every_state: false,
        server: |terms| Box::new(fairpath::FairpathServer::error_index_bound(terms)),
        receiver: fairpath::receiver,
    },
    Method {
        name: "fairpath-quic",
        title: "Fairpath, every tick, QUIC datagrams only",
        sends_every_state: false,
        server: |terms| Box::new(fairpath::FairpathServer::broadcast(terms)),
        receiver: fairpath::receiver_of_quic,
    },
    Method {
        name: "fairpath-bundled",
        title: "Fairpath, every third tick",
        sends_every_state: false,
        server: |terms| Box::new(fairpath::FairpathServer::bundled(terms)),
        receiver: fairpath::receiver,
    },
];

impl Method {
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        METHODS.iter().find(|method| method.name == name)
    }
}

fn any_port() -> SocketAddr {
    ([127, 0, 0, 1], 0).into()
}

/// Returns the time since 1970, which netcode puts into its tokens.
fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is later than 1970")
}
