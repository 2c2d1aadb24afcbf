//! A UDP proxy that makes the network between any client and any server as bad as you ask.
//!
//! Clients send to the middleman, and each gets a socket of its own to the server; what comes back
//! goes back. In between, each direction of each client meets a [`LinkConfig`]: delay, jitter,
//! loss, copies, detours, a bottleneck, recorded round trips. The fate of every packet is decided
//! by [`fairpath_sim::LinkModel`], the model of the simulator, with seeded [`dice`]: what a
//! simulation found can be tried live, with the same losses.
//!
//! ```
//! use std::net::UdpSocket;
//!
//! use fairpath::time::Span;
//! use fairpath_net::middleman::{Middleman, MiddlemanConfig, ClientSelector};
//! use fairpath_sim::LinkConfig;
//!
//! let server = UdpSocket::bind("127.0.0.1:0")?;
//! let link = LinkConfig::default().delay(Span::from_millis(20));
//! let config = MiddlemanConfig::between("127.0.0.1:0".parse()?, server.local_addr()?).both_ways(link);
//! let middleman = Middleman::start(config)?;
//!
//! let client = UdpSocket::bind("127.0.0.1:0")?;
//! client.send_to(b"hello", middleman.address())?;
//! let mut buffer = [0; 100];
//! let (length, from) = server.recv_from(&mut buffer)?;
//! server.send_to(&buffer[..length], from)?;
//! assert_eq!(client.recv(&mut buffer)?, 5);
//!
//! assert_eq!(middleman.rebind(ClientSelector::Everyone)?, 1, "from now on the server sees another address");
//! let statistics = middleman.stop();
//! assert!(statistics.clients[0].down.measured.min() >= Some(Span::from_millis(20)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! ## Not here
//!
//! TCP, routing, and packets that nobody sent. Packets are held in memory and sent by an ordinary
//! process: they leave about 0.1 ms late on an idle machine and as late as it likes on a busy one.
//! [`Statistics`] say how late it was.

mod command;
mod config;
mod relay;
mod sockets;
mod statistics;

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;

use fairpath::time::{SharedInstant, Span};
use fairpath_sim::LinkConfig;
use tokio::sync::oneshot;

pub use command::{BadCommand, COMMANDS, Command, SETTINGS, Setting, no_files, parse_span};
pub use config::{
    Bounds, CHOSEN_MAX, ChangeError, ClientSelector, Direction, Directions, Links, MiddlemanConfig,
    PerDirection, dice,
};
pub use statistics::{ClientStatistics, DirectionStatistics, GONE_MAX, Statistics};

use sockets::Sockets;

/// Starts middlemen.
#[derive(Debug)]
pub struct Middleman;

/// A running middleman. It runs on two threads of its own; every call is answered at once, also
/// inside an asynchronous test. Dropping it stops it.
#[derive(Debug)]
pub struct Handle {
    sockets: Arc<Sockets>,
    /// Dropped to stop the receiving thread.
    stop: Option<oneshot::Sender<()>>,
    threads: Vec<JoinHandle<()>>,
}

/// Why a middleman cannot start.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// It cannot listen there.
    Listen {
        /// Where.
        address: SocketAddr,
        /// Why.
        error: io::Error,
    },
    /// It would send to itself.
    ToItself(SocketAddr),
    /// A link cannot be built.
    BadLink(ChangeError),
    /// The system gives it no threads or no way to watch sockets.
    System(io::Error),
}

impl Middleman {
    /// Starts one.
    pub fn start(config: MiddlemanConfig) -> Result<Handle, StartError> {
        config.links.check().map_err(StartError::BadLink)?;
        if is_same(config.listen, config.to) {
            return Err(StartError::ToItself(config.to));
        }
        let (sockets, receiver) = Sockets::open(&config)?;
        let (stop, stopped) = oneshot::channel();
        let mut handle = Handle { sockets, stop: Some(stop), threads: Vec::new() };
        handle.spawn("middleman-in", move |sockets| receiver.run(&sockets, stopped))?;
        handle.spawn("middleman-out", |sockets| sockets::send(&sockets))?;
        Ok(handle)
    }
}

impl Handle {
    /// Where clients send to.
    pub fn address(&self) -> SocketAddr {
        self.sockets.address()
    }

    /// The middleman's clock, which everything it is told and tells is measured by: zero is its
    /// start.
    pub fn now(&self) -> SharedInstant {
        self.sockets.now()
    }

    /// Changes the links of these clients in these directions, also of those who come later.
    /// Packets that are on their way arrive as they were going to. The answer is how many
    /// clients that are there it was about.
    pub fn change(
        &self,
        who: ClientSelector,
        ways: Directions,
        edit: impl FnMut(&mut LinkConfig),
    ) -> Result<usize, ChangeError> {
        self.sockets.change(who, ways, edit)
    }

    /// From now on everything is lost, for so long or until [`heal`](Self::heal); what was sent
    /// before still arrives. It holds for those who come meanwhile too, and replaces a
    /// partition that is under way.
    pub fn partition(
        &self,
        who: ClientSelector,
        ways: Directions,
        lasting: Option<Span>,
    ) -> Result<usize, ChangeError> {
        let now = self.now();
        let end = lasting.map_or(SharedInstant::from_micros(i64::MAX), |lasting| now + lasting);
        self.change(who, ways, |link| {
            link.partitions.retain(|during| during.start > now);
            link.partitions.push(now..end);
        })
    }

    /// Ends partitions that have begun.
    pub fn heal(&self, who: ClientSelector, ways: Directions) -> Result<usize, ChangeError> {
        let now = self.now();
        self.change(who, ways, |link| link.partitions.retain(|during| during.start > now))
    }

    /// These clients reach the server from a new port from now on, as behind a router that has
    /// forgotten them. What the server sends to the old port is lost; what is on its way leaves
    /// from the new one. The answer is how many.
    pub fn rebind(&self, who: ClientSelector) -> io::Result<usize> {
        self.sockets.rebind(who)
    }

    /// What happened so far.
    pub fn statistics(&self) -> Statistics {
        self.sockets.statistics()
    }

    /// Ends it: what still waits is not sent any more, and is in the statistics.
    pub fn stop(mut self) -> Statistics {
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
        self.stop = None;
        self.sockets.stop();
        for thread in self.threads.drain(..) {
            // It panicked, and has said so; a second panic while the first unwinds would hide it.
            let _ = thread.join();
        }
    }
}

impl Drop for Handle {
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
            Self::Listen { address, error } => write!(f, "cannot listen on {address}: {error}"),
            Self::ToItself(address) => {
                write!(f, "{address} is the middleman itself: it would send in circles")
            }
            Self::BadLink(error) => error.fmt(f),
            Self::System(error) => write!(f, "the system refuses: {error}"),
        }
    }
}

impl std::error::Error for StartError {}
