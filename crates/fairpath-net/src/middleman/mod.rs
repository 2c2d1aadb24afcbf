//! A UDP proxy that simulates a bad network between any client and any server.
//!
//! Clients send to the middleman, which opens a socket to the server for each of them and carries
//! answers back. In each direction, the packets of each client pass a [`LinkConfig`]: delay,
//! jitter, loss, duplication, reordering, a bottleneck, recorded round trips. The link model of the
//! simulator, [`fairpath_sim::LinkModel`], decides about every packet with a seeded generator
//! ([`link_random`]). So a case that a simulation found can be tried live, with the same losses.
//!
//! ```
//! use std::net::UdpSocket;
//!
//! use fairpath::time::Span;
//! use fairpath_net::middleman::{ClientSelector, LinkConfig, Middleman, MiddlemanConfig};
//!
//! let server = UdpSocket::bind("127.0.0.1:0")?;
//! let link = LinkConfig::default().delay(Span::from_millis(20));
//! let config = MiddlemanConfig::between("127.0.0.1:0".parse()?, server.local_addr()?);
//! let middleman = Middleman::start(config.both_ways(link))?;
//!
//! let client = UdpSocket::bind("127.0.0.1:0")?;
//! client.send_to(b"hello", middleman.address())?;
//! let mut buffer = [0; 100];
//! let (length, from) = server.recv_from(&mut buffer)?;
//! server.send_to(&buffer[..length], from)?;
//! assert_eq!(client.recv(&mut buffer)?, 5);
//!
//! assert_eq!(middleman.rebind(ClientSelector::All)?, 1, "the server now sees another address");
//! let statistics = middleman.stop();
//! assert!(statistics.clients[0].down.measured.min() >= Some(Span::from_millis(20)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Not here
//!
//! Routing and forged packets. TCP connections pass only if [`MiddlemanConfig::carries_tcp`] says so,
//! and are only delayed. The middleman holds packets in memory and is an ordinary
//! process: packets leave about 0.1 ms late on an idle machine, and later on a busy one.
//! [`MiddlemanStatistics`] say how late.

mod command;
mod config;
mod proxy;
mod sockets;
mod statistics;
mod streams;

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;

use fairpath::time::{SharedInstant, Span};
use tokio::sync::oneshot;

pub use command::{BadCommand, COMMANDS, Command, SETTINGS, Setting, no_files, parse_span};
pub use config::{
    Bounds, CLIENT_LINKS_MAX, ChangeError, ClientSelector, Direction, Directions, Links, MiddlemanConfig,
    PerDirection, link_random,
};
pub use fairpath_sim::csv::CsvError;
pub use fairpath_sim::{
    BadLinkConfig, BadRttTrace, DelayStatistics, LinkConfig, LinkStatistics, Loss, LossCounts, Rate,
    RttSample, RttTrace,
};
pub use statistics::{ClientStatistics, DirectionStatistics, FORGOTTEN_CLIENTS_MAX, MiddlemanStatistics};

use sockets::Sockets;
use streams::Streams;

/// A running middleman, on two threads of its own. No call blocks, so it can be used inside an
/// asynchronous test. Dropping it stops it.
#[derive(Debug)]
pub struct Middleman {
    sockets: Arc<Sockets>,
    /// Dropping them stops the receiving threads.
    stops: Vec<oneshot::Sender<()>>,
    threads: Vec<JoinHandle<()>>,
}

/// Why a middleman cannot start.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// The address cannot be listened on.
    Listen {
        /// The address.
        address: SocketAddr,
        /// The reason.
        error: io::Error,
    },
    /// The server's address is the middleman's own.
    ToItself(SocketAddr),
    /// A link is invalid.
    BadLink(ChangeError),
    /// The system provides no thread or no reactor.
    System(io::Error),
}

impl Middleman {
    /// Starts a middleman.
    pub fn start(config: MiddlemanConfig) -> Result<Self, StartError> {
        config.links.check().map_err(StartError::BadLink)?;
        if is_same(config.listen, config.to) {
            return Err(StartError::ToItself(config.to));
        }
        let (sockets, receiver) = Sockets::open(&config)?;
        let (stop, stopped) = oneshot::channel();
        let mut middleman = Self { sockets, stops: vec![stop], threads: Vec::new() };
        middleman.spawn("middleman-in", move |sockets| receiver.run(&sockets, stopped))?;
        middleman.spawn("middleman-out", |sockets| sockets::send(&sockets))?;
        if config.carries_tcp {
            let streams = Streams::open(middleman.address(), config.to)?;
            let (stop, stopped) = oneshot::channel();
            middleman.stops.push(stop);
            middleman.spawn("middleman-tcp", move |sockets| streams.run(&sockets, stopped))?;
        }
        Ok(middleman)
    }

    /// The address that clients send to.
    pub fn address(&self) -> SocketAddr {
        self.sockets.address()
    }

    /// Now on the middleman's clock, which starts at zero. All its times use this clock.
    pub fn now(&self) -> SharedInstant {
        self.sockets.now()
    }

    /// Changes the links of these clients in these directions, also for clients that come later.
    /// Packets in flight are not affected. Returns the number of current clients that were changed.
    pub fn change(
        &self,
        clients: ClientSelector,
        directions: Directions,
        edit: impl FnMut(&mut LinkConfig),
    ) -> Result<usize, ChangeError> {
        self.sockets.change(clients, directions, edit)
    }

    /// Loses every packet from now on, for `lasting` or until [`heal`](Self::heal). Packets in
    /// flight still arrive. Also for later clients. Replaces a current partition.
    pub fn partition(
        &self,
        clients: ClientSelector,
        directions: Directions,
        lasting: Option<Span>,
    ) -> Result<usize, ChangeError> {
        let now = self.now();
        let end = lasting.map_or(SharedInstant::from_micros(i64::MAX), |lasting| now + lasting);
        self.change(clients, directions, |link| {
            link.partitions.retain(|during| during.start > now);
            link.partitions.push(now..end);
        })
    }

    /// Ends current partitions.
    pub fn heal(&self, clients: ClientSelector, directions: Directions) -> Result<usize, ChangeError> {
        let now = self.now();
        self.change(clients, directions, |link| link.partitions.retain(|during| during.start > now))
    }

    /// Gives these clients a new port towards the server, like a router that has forgotten them.
    /// Packets that the server sends to the old port are lost; packets in flight leave from the new
    /// one. Returns the number of clients.
    pub fn rebind(&self, clients: ClientSelector) -> io::Result<usize> {
        self.sockets.rebind(clients)
    }

    /// The statistics so far.
    pub fn statistics(&self) -> MiddlemanStatistics {
        self.sockets.statistics()
    }

    /// Stops the middleman. Waiting packets are not sent; the statistics count them.
    pub fn stop(mut self) -> MiddlemanStatistics {
        self.end();
        self.statistics()
    }

    fn spawn(
        &mut self,
        name: &str,
        run: impl FnOnce(Arc<Sockets>) + Send + 'static,
    ) -> Result<(), StartError> {
        let sockets = Arc::clone(&self.sockets);
        let thread = std::thread::Builder::new().name(name.into()).spawn(move || run(sockets));
        self.threads.push(thread.map_err(StartError::System)?);
        Ok(())
    }

    fn end(&mut self) {
        self.stops.clear();
        self.sockets.stop();
        for thread in self.threads.drain(..) {
            // A panicked thread has printed its message; a second panic would hide it.
            let _ = thread.join();
        }
    }
}

impl Drop for Middleman {
    fn drop(&mut self) {
        self.end();
    }
}

/// Whether a packet sent to `to` comes back to `listen`.
fn is_same(listen: SocketAddr, to: SocketAddr) -> bool {
    let is_here = to.ip() == listen.ip() || (listen.ip().is_unspecified() && to.ip().is_loopback());
    is_here && listen.port() == to.port()
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listen { address, error } => {
                write!(f, "cannot listen on {address}: {error}; choose another address, or port 0")
            }
            Self::ToItself(address) => {
                write!(f, "cannot forward to {address}: it is the middleman's own address; give the server's")
            }
            Self::BadLink(error) => error.fmt(f),
            Self::System(error) => write!(f, "cannot start the middleman's threads: {error}"),
        }
    }
}

impl std::error::Error for StartError {}
