use std::net::SocketAddr;

use fairpath::time::Span;
use fairpath_sim::{DelayStatistics, LinkStatistics};

/// What a middleman did.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Statistics {
    /// How long it has been running.
    pub ran_for: Span,
    /// One row per client, in the order of their first packets; those who were forgotten too.
    pub clients: Vec<ClientStatistics>,
    /// Clients that were forgotten, and whose rows were dropped because there were more than
    /// [`GONE_MAX`].
    pub clients_unlisted: u64,
    /// Packets from strangers that were dropped because there were as many clients as there may be,
    /// or because the system had no socket left for them.
    pub refused: u64,
}

/// How many forgotten clients stay in the statistics. 256: 60 kB each at worst, 15 MB.
pub const GONE_MAX: usize = 256;

/// What a middleman did for one client.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClientStatistics {
    /// The first client is 1.
    pub nth: u32,
    /// Where it sends from.
    pub address: SocketAddr,
    /// Whether it was forgotten, having been idle.
    pub is_gone: bool,
    /// How often it got a new port to the server.
    pub rebinds: u64,
    /// To the server.
    pub up: DirectionStatistics,
    /// To the client.
    pub down: DirectionStatistics,
}

/// What a middleman did to the packets of one direction of one client.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct DirectionStatistics {
    /// What the link decided: counts, and in [`delays`](LinkStatistics#structfield.delays) the
    /// delay asked for.
    pub link: LinkStatistics,
    /// From receiving a packet to having sent it on, by one monotonic clock. Copies do not count,
    /// as in what was asked for.
    pub measured: DelayStatistics,
    /// Measured less asked, packet by packet: how late they left.
    pub late: DelayStatistics,
    /// Packets sent on, copies included.
    pub left: u64,
    /// Packets that still wait for their time, copies included.
    pub waiting: usize,
    /// Of those lost at a full queue, how many met the middleman's own bounds and not the link's.
    pub overflowed: u64,
    /// Packets that the system would not send, and refusals that came back from the other side:
    /// nobody listens there.
    pub failures: u64,
}
