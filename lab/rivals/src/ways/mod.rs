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
use fairpath_bench::{Scene, machine};

use crate::roles::{Invitation, Terms};

/// The server's side.
pub(crate) trait Teller {
    /// Where it is, and what proves it.
    fn invitation(&self) -> (SocketAddr, String);

    /// How many receivers are there.
    fn receivers(&mut self) -> usize;

    /// A tick: everything is where the scene has it at `at`; the last tick was at `before`.
    fn tick(&mut self, scene: &Scene, before: Duration, at: Duration);

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
pub(crate) trait Watcher {
    /// A frame: takes in what has come, and says where every tank is shown, if anything was heard
    /// of it, and at which instant after the scene `began`.
    fn frame(&mut self, began: Duration, shown: &mut [Option<Vec2>]) -> Duration;

    /// Goes away.
    fn leave(self: Box<Self>) {}
}

/// A way to tell.
pub(crate) struct Way {
    /// For the command line.
    pub(crate) name: &'static str,
    /// For the table.
    pub(crate) title: &'static str,
    /// Whether it sends every state, and could do so less often.
    pub(crate) sends_every_state: bool,
    pub(crate) tell: fn(&Terms) -> Box<dyn Teller>,
    pub(crate) watch: fn(&Terms, &Invitation, u64) -> Box<dyn Watcher>,
}

/// All of them; the first is what the others are compared with.
pub(crate) static WAYS: [Way; 11] = [
    Way {
        name: "raw",
        title: "raw UDP loop: sendmmsg, all states in one datagram",
        sends_every_state: true,
        tell: |terms| Box::new(raw::Loop::together(terms)),
        watch: raw::watch,
    },
    Way {
        name: "raw-each",
        title: "raw UDP loop: sendmmsg and GSO, a datagram for each state",
        sends_every_state: true,
        tell: |terms| Box::new(raw::Loop::one_by_one(terms)),
        watch: raw::watch,
    },
    Way {
        name: "quinn",
        title: "quinn datagrams alone",
        sends_every_state: true,
        tell: |_| Box::new(quinn::Server::of_states()),
        watch: quinn::watch_states,
    },
    Way {
        name: "renet",
        title: "renet",
        sends_every_state: true,
        tell: |terms| Box::new(renet::Server::new(terms)),
        watch: renet::watch,
    },
    Way {
        name: "replicon",
        title: "bevy_replicon, on renet",
        sends_every_state: true,
        tell: |terms| Box::new(replicon::Server::new(terms)),
        watch: replicon::watch,
    },
    Way {
        name: "lightyear",
        title: "lightyear",
        sends_every_state: true,
        tell: |terms| Box::new(lightyear::Server::new(terms)),
        watch: lightyear::watch,
    },
    Way {
        name: "quinn-vectors",
        title: "quinn alone, the same DR vectors, no books",
        sends_every_state: false,
        tell: |terms| Box::new(quinn::Server::of_vectors(terms, 1)),
        watch: quinn::watch_vectors,
    },
    Way {
        name: "quinn-vectors-bundled",
        title: "quinn alone, the same DR vectors, every third tick",
        sends_every_state: false,
        tell: |terms| Box::new(quinn::Server::of_vectors(terms, 3)),
        watch: quinn::watch_vectors,
    },
    Way {
        name: "fairpath",
        title: "Fairpath, every tick",
        sends_every_state: false,
        tell: |terms| Box::new(fairpath::Server::broadcast(terms)),
        watch: fairpath::watch,
    },
    Way {
        name: "fairpath-index",
        title: "Fairpath with error-index, every tick",
        sends_every_state: false,
        tell: |terms| Box::new(fairpath::Server::error_index(terms)),
        watch: fairpath::watch,
    },
    Way {
        name: "fairpath-bundled",
        title: "Fairpath, every third tick",
        sends_every_state: false,
        tell: |terms| Box::new(fairpath::Server::bundled(terms)),
        watch: fairpath::watch,
    },
];

impl Way {
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        WAYS.iter().find(|way| way.name == name)
    }
}

fn any_port() -> SocketAddr {
    ([127, 0, 0, 1], 0).into()
}

/// What netcode's tokens are dated with.
fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("it is later than 1970")
}
