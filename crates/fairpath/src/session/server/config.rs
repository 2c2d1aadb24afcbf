use std::fmt::Debug;

use super::super::limits::{OBJECTS_PER_CLIENT_MAX, RESUME_WITHIN, SILENCE_MAX};
use super::super::{Budget, Household, LossProtection, Protocol};
use crate::place::Placement;
use crate::schedule::DispatcherConfig;
use crate::time::Span;
use crate::vector::Planar;

/// Settings of a server.
#[derive(Clone, Debug)]
pub struct ServerConfig<V: Planar> {
    /// The description of the game. Clients must use the same.
    pub protocol: Protocol<V>,
    /// How server and clients place updates. Default [`Placement::Global`].
    pub placement: Placement,
    /// Limit of the bytes sent to each client. Default [`Budget::default`].
    pub budget: Budget,
    /// Least time between two datagrams to one client; data that becomes due meanwhile leaves with
    /// the next. Default zero: datagrams leave at once.
    ///
    /// With many clients that send at any time, a datagram for each of their DR vectors is mostly
    /// header. At one tick of the game (50 ms at 20 Hz) a client that sees 32 tanks is sent 20
    /// datagrams a second instead of 60: half the bytes at a third of the server's time, and 25 ms
    /// more delay on average.
    pub datagram_every: Span,
    /// Further copies of DR vectors that are sent to a client if its link loses datagrams. Default
    /// [`LossProtection::default`].
    pub loss_protection: LossProtection,
    /// Settings of the dispatcher, which distributes updates to the clients.
    pub dispatcher: DispatcherConfig,
    /// Most clients with a session. Default 64. An absent client can cost an outbox of 256 KiB.
    pub clients_max: usize,
    /// Seats that one household keeps when a newcomer of another finds the server full. Default 8:
    /// a family and its guests. Beyond them, the household with the most seats gives up the one
    /// that it took last ([`Shares`](crate::session::Shares)), with
    /// [`CloseReason::Full`](crate::session::CloseReason::Full). While seats are free, a household
    /// may have any number.
    ///
    /// Raise it to the size of the largest group that plays behind one router: a school class, a
    /// LAN party. With [`clients_max`](Self::clients_max) no connected client is ever removed; then
    /// one address can keep all others out. Sessions without a connection are removed for a
    /// newcomer in any case.
    pub seats_kept: usize,
    /// Most objects that one client may own. Default
    /// [`OBJECTS_PER_CLIENT_MAX`](crate::session::limits::OBJECTS_PER_CLIENT_MAX), 256. Raise it
    /// for clients that speak for many, such as a gateway to another network, together with
    /// [`ClientConfig::objects_max`](crate::session::ClientConfig::objects_max). Too high for
    /// players: one client can fill the world
    /// ([`OBJECTS_MAX`](crate::session::limits::OBJECTS_MAX)).
    pub objects_per_client_max: usize,
    /// Time without data after which a client loses its connection, but not its session. Default
    /// [`SILENCE_MAX`].
    pub silence_max: Span,
    /// How long a session without a connection can be resumed. Default [`RESUME_WITHIN`].
    pub resume_within: Span,
    /// Interval of the scope check, which decides what each client sees. Default 100 ms: at 25 u/s
    /// that is 2.5 units late. From 64 clients on they are checked in parts, one after the other.
    /// The cost depends on the scope's [`Reach`](crate::session::Reach).
    pub scope_every: Span,
    /// Number of this run of the server. Use another number after every start, so that no client
    /// resumes a session of an earlier run.
    pub epoch: u64,
}

impl<V: Planar> ServerConfig<V> {
    /// Returns the default settings for this game and this epoch.
    pub fn new(protocol: impl Into<Protocol<V>>, epoch: u64) -> Self {
        Self {
            protocol: protocol.into(),
            placement: Placement::default(),
            budget: Budget::default(),
            datagram_every: Span::ZERO,
            loss_protection: LossProtection::default(),
            dispatcher: DispatcherConfig::default(),
            clients_max: 64,
            seats_kept: 8,
            objects_per_client_max: OBJECTS_PER_CLIENT_MAX,
            silence_max: SILENCE_MAX,
            resume_within: RESUME_WITHIN,
            scope_every: Span::from_millis(100),
            epoch,
        }
    }
}

/// Decides which clients are admitted.
pub trait Admission: Debug + Send {
    /// Decides about a client with this
    /// [`authentication`](crate::session::ClientConfig::authentication). Returns what the check
    /// learned about the player, for [`Joined`](crate::session::ServerEvent::Joined): an account, a
    /// name. Returns `None` to refuse the client. Also called when a session is resumed.
    fn admit(&mut self, authentication: &[u8]) -> Option<Vec<u8>>;

    /// Decides like [`admit`](Self::admit), which it calls by default, for a check that needs to
    /// know more. `resumes`: the client has proven that an existing session is its own.
    fn check(&mut self, authentication: &[u8], from: Household, resumes: bool) -> Option<Admitted> {
        let _ = (from, resumes);
        self.admit(authentication).map(|bearer| Admitted { bearer, pass: None })
    }
}

/// What an [`Admission`] check learned about a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admitted {
    /// The player: an account, a name.
    pub bearer: Vec<u8>,
    /// A pass admits to one session at a time: a new one ends the other that has it. `None`: the
    /// client may have any number.
    pub pass: Option<Pass>,
}

/// Names what a client was admitted by, such as one connect token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pass(pub [u8; 16]);

/// Admits every client.
#[derive(Clone, Copy, Debug, Default)]
pub struct AdmitAll;

impl Admission for AdmitAll {
    fn admit(&mut self, _: &[u8]) -> Option<Vec<u8>> {
        Some(Vec::new())
    }
}
