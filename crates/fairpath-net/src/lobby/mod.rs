//! A lobby: where servers and peers say that they are there, and where others find them and are
//! introduced.
//!
//! # The heart
//!
//! A lobby is a list of open connections. Who wants to be on it keeps a QUIC connection to the
//! lobby, *from the socket at which it wants to be reached*, and shows its certificate. So hardly
//! anything on the list has to be believed:
//!
//! * the **address** is the one the lobby sees, proven by QUIC before anything is kept, and again
//!   whenever it changes;
//! * the **fingerprint** is that of the certificate whose key the announcer has, proven by TLS;
//! * an entry **ends** with its connection, or when it is not renewed for [`EXPIRES_AFTER`].
//!
//! What is left to lie about is what an [`Announcement`] says: name, game, seats, attributes.
//! Nobody can announce somebody else's address, and nobody is sent more than they asked for from an
//! address that is not theirs.
//!
//! **Introduction**: whoever is connected may ask to meet an entry that wants to be met. The lobby
//! tells each of the two the other's address and fingerprint at the same moment. Both call, from
//! the sockets that the lobby has seen, and each one's call opens the way for the other's, through
//! most address translators. For those that give every destination a new address, and for
//! firewalls, both ends may ask for a **relay**: two ports of the lobby's, one for each, between
//! which it carries packets that it cannot read.
//!
//! # Bounds
//!
//! Everything is refused beyond a named number: entries ([`LobbyLimits::entries_max`]), entries of
//! one household, connections and their rate ([`Limits`](crate::Limits)), questions of one
//! connection, introductions to one entry, relays and what they carry. When it is full,
//! newcomers are refused; nobody inside is pushed out, or a flood would do it.
//!
//! The bytes are in PROTOCOL.md, section 16. [`LobbyServer`] runs one;
//! [`find`](crate::lobby::find()) asks one; [`NetServer::announce`](crate::NetServer::announce) and
//! [`NetPeer::join`](crate::NetPeer::join) are on one.

mod attend;
mod find;
mod message;
mod registry;
mod relay;
mod server;

use std::net::SocketAddr;
use std::time::Duration;

pub use attend::{AnnounceError, LobbyPresence};
pub use find::{FindError, Found, find};
pub use message::{
    Announcement, EntryId, Filter, Listing, LobbyRefusal, LobbyRequest, LobbyResponse, MESSAGE_BYTES_MAX,
    NotAnnounceable, TEXT_BYTES_MAX,
};
pub use registry::{LobbyLimits, ProvenPeer, Registry};
pub use server::{LobbyConfig, LobbyServer, LobbyStatistics};

pub(crate) use attend::{Attendee, Attending, attend};

use crate::identity::Trust;

/// What the two ends of a connection to a lobby call what they speak.
pub(crate) const ALPN_LOBBY: &[u8] = b"fairpath-lobby/1";

/// An entry that was not renewed for this long is taken off the list.
///
/// 30 s: three renewals. Much shorter, and a server vanishes from the list because a packet was
/// lost; much longer, and people try servers that hang. (One whose connection is known to be dead
/// goes at once.)
pub const EXPIRES_AFTER: Duration = Duration::from_secs(30);

/// How often entries are renewed, with how many players there are by then.
pub const RENEW_EVERY: Duration = Duration::from_secs(10);
const _: () = assert!(RENEW_EVERY.as_secs() * 3 <= EXPIRES_AFTER.as_secs());

/// Where a lobby is, and how it is known.
#[derive(Clone, Debug)]
pub struct LobbyAddress {
    /// Where.
    pub address: SocketAddr,
    /// Which certificate it must have.
    pub trust: Trust,
    /// The name that must be good for, for [`Trust::Certificates`]. Default `localhost`.
    pub name: String,
}

impl LobbyAddress {
    /// A lobby that is known by its certificate.
    pub fn new(address: SocketAddr, trust: Trust) -> Self {
        Self { address, trust, name: "localhost".into() }
    }
}

/// How QUIC is to behave between a lobby and who talks to it.
fn transport_config() -> quinn::TransportConfig {
    let mut config = quinn::TransportConfig::default();
    config
        .max_concurrent_bidi_streams(1u8.into())
        .max_concurrent_uni_streams(0u8.into())
        .stream_receive_window((16 * MESSAGE_BYTES_MAX as u32).into())
        .receive_window((16 * MESSAGE_BYTES_MAX as u32).into())
        .datagram_receive_buffer_size(None)
        .max_idle_timeout(Some(EXPIRES_AFTER.try_into().expect("half a minute fits")));
    config
}
