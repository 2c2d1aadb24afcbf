//! The ways there are to tell.

mod fairpath;
mod lightyear;
mod quinn;
mod raw;
mod renet;
mod replicon;

use std::net::SocketAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ::fairpath::vector::Vec2;
use fairpath_bench::{TankRecording, machine};

use crate::roles::{ConnectInfo, RunTerms};

/// The server's side.
pub(crate) trait ServerSide {
    /// Where it is, and what proves it.
    fn invitation(&self) -> (SocketAddr, String);

    /// How many receivers are there.
    fn receivers(&mut self) -> usize;

    /// A tick: everything is where the scene has it at `at`; the last tick was at `before`.
    fn tick(&mut self, scene: &TankRecording, before: Duration, at: Duration);

    /// Nothing to do until the next tick, unless something comes.
    fn wait_until(&mut self, next: Duration) {
        std::thread::sleep(next.saturating_sub(machine::now()));
    }

    /// DR vectors that left so far.
    fn vectors(&self) -> Option<u64> {
        None
    }
}

/// One receiver.
pub(crate) trait ReceiverSide {
    /// A frame: takes in what has come, and says where every tank is shown, if anything was heard
    /// of it, and at which instant after the scene `began`.
    fn frame(&mut self, began: Duration, shown: &mut [Option<Vec2>]) -> Duration;

    /// Goes away.
    fn leave(self: Box<Self>) {}
}

/// A way to tell.
pub(crate) struct Method {
    /// For the command line.
    pub(crate) name: &'static str,
    /// For the table.
    pub(crate) title: &'static str,
    /// Whether it sends every state, and could do so less often.
    pub(crate) sends_every_state: bool,
    pub(crate) tell: fn(&RunTerms) -> Box<dyn ServerSide>,
    pub(crate) watch: fn(&RunTerms, &ConnectInfo, u64) -> Box<dyn ReceiverSide>,
}

/// All of them; the first is what the others are compared with.
pub(crate) static METHODS: [Method; 11] = [
    Method {
        name: "raw",
        title: "raw UDP loop: sendmmsg, all states in one datagram",
        sends_every_state: true,
        tell: |terms| Box::new(raw::RawServer::together(terms)),
        watch: raw::watch,
    },
    Method {
        name: "raw-each",
        title: "raw UDP loop: sendmmsg and GSO, a datagram for each state",
        sends_every_state: true,
        tell: |terms| Box::new(raw::RawServer::one_by_one(terms)),
        watch: raw::watch,
    },
    Method {
        name: "quinn",
        title: "quinn datagrams alone",
        sends_every_state: true,
        tell: |_| Box::new(quinn::QuinnServer::of_states()),
        watch: quinn::watch_states,
    },
    Method {
        name: "renet",
        title: "renet",
        sends_every_state: true,
        tell: |terms| Box::new(renet::RenetServer::new(terms)),
        watch: renet::watch,
    },
    Method {
        name: "replicon",
        title: "bevy_replicon, on renet",
        sends_every_state: true,
        tell: |terms| Box::new(replicon::RepliconServer::new(terms)),
        watch: replicon::watch,
    },
    Method {
        name: "lightyear",
        title: "lightyear",
        sends_every_state: true,
        tell: |terms| Box::new(lightyear::LightyearServer::new(terms)),
        watch: lightyear::watch,
    },
    Method {
        name: "quinn-vectors",
        title: "quinn alone, the same DR vectors, no books",
        sends_every_state: false,
        tell: |terms| Box::new(quinn::QuinnServer::of_vectors(terms, 1)),
        watch: quinn::watch_vectors,
    },
    Method {
        name: "quinn-vectors-bundled",
        title: "quinn alone, the same DR vectors, every third tick",
        sends_every_state: false,
        tell: |terms| Box::new(quinn::QuinnServer::of_vectors(terms, 3)),
        watch: quinn::watch_vectors,
    },
    Method {
        name: "fairpath",
        title: "Fairpath, every tick",
        sends_every_state: false,
        tell: |terms| Box::new(fairpath::FairpathServer::broadcast(terms)),
        watch: fairpath::watch,
    },
    Method {
        name: "fairpath-index",
        title: "Fairpath with error-index, every tick",
        sends_every_state: false,
        tell: |terms| Box::new(fairpath::FairpathServer::error_index(terms)),
        watch: fairpath::watch,
    },
    Method {
        name: "fairpath-bundled",
        title: "Fairpath, every third tick",
        sends_every_state: false,
        tell: |terms| Box::new(fairpath::FairpathServer::bundled(terms)),
        watch: fairpath::watch,
    },
];

impl Method {
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        METHODS.iter().find(|way| way.name == name)
    }
}

fn any_port() -> SocketAddr {
    ([127, 0, 0, 1], 0).into()
}

/// What netcode's tokens are dated with.
fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("it is later than 1970")
}
