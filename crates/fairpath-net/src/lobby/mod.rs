//! A lobby: servers and peers announce themselves, and clients and peers find them.
//!
//! # How it works
//!
//! A lobby is a list of open connections. A server or peer that wants to be listed keeps a QUIC
//! connection to the lobby, *from the socket at which it wants to be reached*, and shows its
//! certificate. So the lobby has to believe hardly anything:
//!
//! * the **address** is the one that the connection comes from. QUIC proves it before the lobby
//!   keeps anything, and the lobby follows no connection to another address;
//! * the **fingerprint** is that of the certificate whose key the announcer has, proven by TLS;
//! * an entry **ends** with its connection, or when it is not renewed for [`EXPIRES_AFTER`].
//!
//! An announcer can lie only in its [`Announcement`]: name, game, seats, attributes. It cannot
//! announce the address of another host, and an unproven address is sent no more than it sent.
//!
//! **Introduction**: a connected peer may ask to be introduced to an entry that wants
//! introductions. The lobby tells each of the two the other's address and fingerprint at the same
//! moment. Both connect, from the sockets that the lobby has seen, and each attempt opens the way
//! for the other through most address translators (NAT). For translators that give every
//! destination a new port, and for firewalls, both ends may ask for a **relay**: two ports of the
//! lobby, one for each end, between which the lobby carries packets that it cannot read.
//!
//! # Bounds
//!
//! Everything is refused beyond a named limit: entries ([`LobbyLimits::entries_max`]), entries of
//! one address, connections and their rate ([`Limits`](crate::Limits)), requests of one connection,
//! introductions to one entry, relays and their traffic. A full lobby refuses newcomers and drops
//! no entry, because otherwise a flood could empty the list.
//!
//! PROTOCOL.md, section 16, specifies the bytes. [`LobbyServer`] runs a lobby,
//! [`find`](crate::lobby::find()) lists its entries,
//! [`NetServer::announce`](crate::NetServer::announce) and `NetPeer::join` (feature `peer`) add
//! one.

mod find;
mod message;
mod presence;
mod registry;
mod relay;
mod server;

use std::net::SocketAddr;
use std::time::Duration;

pub use find::{FindError, Found, find};
pub use message::{
    Announcement, EntryId, Filter, Listing, LobbyRefusal, LobbyRequest, LobbyResponse, MESSAGE_BYTES_MAX,
    NotAnnounceable, TEXT_BYTES_MAX,
};
pub use presence::{AnnounceError, LobbyPresence};
pub use registry::{LobbyLimits, ProvenPeer, Registry};
pub use server::{LobbyConfig, LobbyServer, LobbyStatistics};

pub(crate) use presence::{LobbyConnector, LobbyMember, join_lobby};

use crate::identity::Trust;

pub(crate) const ALPN_LOBBY: &[u8] = b"fairpath-lobby/1";

/// Time after which an entry that was not renewed is removed.
///
/// 30 s: three renewals. Much shorter, and a server disappears from the list because a packet was
/// lost; much longer, and players try servers that hang. An entry whose connection has closed is
/// removed at once.
pub const EXPIRES_AFTER: Duration = Duration::from_secs(30);

/// Interval at which entries are renewed, with the current number of players.
pub const RENEW_EVERY: Duration = Duration::from_secs(10);
const _: () = assert!(RENEW_EVERY.as_secs() * 3 <= EXPIRES_AFTER.as_secs());

/// The address of a lobby, and the certificate that it must have.
#[derive(Clone, Debug)]
pub struct LobbyAddress {
    /// The address.
    pub address: SocketAddr,
    /// The certificates that are accepted.
    pub trust: Trust,
    /// The name in the certificate, with [`Trust::Certificates`]. Default `localhost`.
    pub name: String,
}

impl LobbyAddress {
    /// A lobby at this address with such a certificate.
    pub fn new(address: SocketAddr, trust: Trust) -> Self {
        Self { address, trust, name: "localhost".into() }
    }
}

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
