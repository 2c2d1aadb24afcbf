use std::net::SocketAddr;

use fairpath::time::Span;
use fairpath_sim::{DelayStatistics, LinkStatistics};

/// The statistics of a middleman.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MiddlemanStatistics {
    /// How long it has been running.
    pub ran_for: Span,
    /// One row per client, in the order of their first packets, forgotten ones included.
    pub clients: Vec<ClientStatistics>,
    /// Forgotten clients without a row, because there were more than [`FORGOTTEN_CLIENTS_MAX`].
    pub clients_unlisted: u64,
    /// Packets from unknown addresses that were dropped because the middleman was full or the
    /// system had no socket left.
    pub refused: u64,
}

/// Forgotten clients that keep their rows. 256: at most 60 kB each, 15 MB.
pub const FORGOTTEN_CLIENTS_MAX: usize = 256;

/// The statistics of one client.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClientStatistics {
    /// The client's number. The first client is 1.
    pub nth: u32,
    /// The client's address.
    pub address: SocketAddr,
    /// Whether the client was idle and is forgotten.
    pub is_gone: bool,
    /// How often it got a new port towards the server.
    pub rebinds: u64,
    /// Towards the server.
    pub up: DirectionStatistics,
    /// Towards the client.
    pub down: DirectionStatistics,
}

/// The statistics of one direction of one client.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct DirectionStatistics {
    /// The decisions of the link: counts, and in [`delays`](LinkStatistics#structfield.delays) the
    /// delays that it asked for.
    pub link: LinkStatistics,
    /// Delay from receiving a packet to sending it, by one monotonic clock. Copies are not counted.
    pub measured: DelayStatistics,
    /// Measured delay minus the delay asked for, packet by packet: how late packets left.
    pub late: DelayStatistics,
    /// Packets sent, copies included.
    pub left: u64,
    /// Packets that still wait, copies included.
    pub waiting: usize,
    /// Packets lost to the middleman's own limits, of those lost at a full queue.
    pub overflowed: u64,
    /// Packets that the system would not send, and refusals because the other port is closed.
    pub failures: u64,
}
