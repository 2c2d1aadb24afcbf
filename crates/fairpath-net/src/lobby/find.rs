//! Lists the entries of a lobby, and measures how far away they are.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::task::JoinSet;

use super::message::{EntryId, Filter, Listing, LobbyRequest, LobbyResponse, NotAnnounceable};
use super::server::{read_message, write_message};
use super::{ALPN_LOBBY, LobbyAddress, transport_config};
use crate::client::{ConnectError, any_local_address, quic_client_config};
use crate::connection::ALPN_NATIVE;
use crate::identity::Trust;

/// An entry that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The entry as the lobby lists it.
    pub listing: Listing,
    /// The round trip as QUIC measured it. `None` if it was not measured, or if no server with the
    /// right certificate answered.
    pub round_trip: Option<Duration>,
}

/// Why the entries of a lobby cannot be listed.
#[derive(Debug)]
#[non_exhaustive]
pub enum FindError {
    /// The trusted certificate cannot be used, or the system provides no socket.
    Start(ConnectError),
    /// Every lobby would refuse the filter.
    Filter(NotAnnounceable),
    /// No server with a trusted certificate answered at this address.
    NoAnswer(SocketAddr),
    /// The server at this address does not speak the lobby protocol.
    NotALobby(SocketAddr),
    /// The lobby at this address lists more entries than a client reads.
    TooLong(SocketAddr),
}

/// How long a lobby has for each page of its list, and for all of them.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
const LIST_WITHIN: Duration = Duration::from_secs(30);
const MEASURE_WITHIN: Duration = Duration::from_secs(2);
/// Entries that are measured at once. Each costs a handshake.
const MEASURED_AT_ONCE: usize = 16;
/// Entries that are read from a lobby: four full lists of the default size.
const FOUND_MAX: usize = 16_384;
/// Bytes of the messages that they come in. 16 MiB: 1 kB for each, twice what ours take. In memory
/// an entry takes at most four times its message.
const FOUND_BYTES_MAX: usize = 16 << 20;
/// Connections for one list. A lobby closes a connection that asks for many pages at once; the next
/// one goes on where it ended.
const CONNECTIONS_MAX: usize = 8;

/// Lists the entries of a lobby that match a filter. If `measures` is set, it also measures the
/// round trip to each and puts the nearest first. Blocks until it has the answer.
///
/// Peers that want introductions are listed without a round trip: they may be unreachable.
pub fn find(lobby: &LobbyAddress, filter: &Filter, measures: bool) -> Result<Vec<Found>, FindError> {
    filter.check().map_err(FindError::Filter)?;
    let system = |error: io::Error| FindError::Start(ConnectError::System(error));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(system)?;
    runtime.block_on(async {
        let listings = tokio::time::timeout(LIST_WITHIN, list(lobby, filter)).await;
        let listings = listings.map_err(|_| FindError::NoAnswer(lobby.address))??;
        if !measures {
            let found = listings.into_iter().map(|listing| Found { listing, round_trip: None });
            return Ok(found.collect());
        }
        let mut found = measure(listings).await;
        found.sort_by_key(|it| (it.round_trip.is_none(), it.round_trip, it.listing.entry));
        Ok(found)
    })
}

/// The entries of a list while it is read, within [`FOUND_MAX`] and [`FOUND_BYTES_MAX`].
#[derive(Default)]
struct Collected {
    listings: Vec<Listing>,
    bytes: usize,
}

enum NotCollected {
    /// The entries do not ascend: a lobby could make the list endless.
    OutOfOrder,
    TooLong,
}

impl Collected {
    fn last(&self) -> EntryId {
        self.listings.last().map_or(EntryId(0), |last| last.entry)
    }

    fn push(&mut self, listing: Listing, bytes: usize) -> Result<(), NotCollected> {
        if !self.listings.is_empty() && listing.entry <= self.last() {
            return Err(NotCollected::OutOfOrder);
        }
        self.bytes += bytes;
        if self.listings.len() >= FOUND_MAX || self.bytes > FOUND_BYTES_MAX {
            return Err(NotCollected::TooLong);
        }
        self.listings.push(listing);
        Ok(())
    }
}

async fn list(lobby: &LobbyAddress, filter: &Filter) -> Result<Vec<Listing>, FindError> {
    let mut collected = Collected::default();
    for _ in 0..CONNECTIONS_MAX {
        let before = collected.listings.len();
        match read_pages(lobby, filter, &mut collected).await {
            Ok(()) => return Ok(collected.listings),
            Err(FindError::NoAnswer(_)) if collected.listings.len() > before => {}
            Err(error) => return Err(error),
        }
    }
    Err(FindError::NoAnswer(lobby.address))
}

/// Reads the list from where it was left, on a connection of its own.
async fn read_pages(
    lobby: &LobbyAddress,
    filter: &Filter,
    collected: &mut Collected,
) -> Result<(), FindError> {
    let config = quic_client_config(&lobby.trust, &[ALPN_LOBBY], None, transport_config())
        .map_err(FindError::Start)?;
    let endpoint = quinn::Endpoint::client(any_local_address(lobby.address));
    let endpoint = endpoint.map_err(|error| FindError::Start(ConnectError::System(error)))?;
    let no_answer = || FindError::NoAnswer(lobby.address);
    let connecting = endpoint.connect_with(config, lobby.address, &lobby.name).map_err(|_| no_answer())?;
    let connected = tokio::time::timeout(ANSWER_WITHIN, connecting).await;
    let quic = connected.map_err(|_| no_answer())?.map_err(|_| no_answer())?;
    let (mut sending, mut receiving) = quic.open_bi().await.map_err(|_| no_answer())?;
    loop {
        let request = LobbyRequest::Find(filter.clone(), collected.last()).encode();
        write_message(&mut sending, &request).await.map_err(|_| no_answer())?;
        let page = read_page(lobby, &mut receiving, collected);
        let has_more = tokio::time::timeout(ANSWER_WITHIN, page).await.map_err(|_| no_answer())??;
        if !has_more {
            quic.close(0u8.into(), b"");
            let _ = tokio::time::timeout(Duration::from_millis(100), endpoint.wait_idle()).await;
            return Ok(());
        }
    }
}

/// Reads one page. Returns whether there are more entries.
async fn read_page(
    lobby: &LobbyAddress,
    receiving: &mut quinn::RecvStream,
    collected: &mut Collected,
) -> Result<bool, FindError> {
    let not_a_lobby = || FindError::NotALobby(lobby.address);
    loop {
        let read = read_message(receiving).await.map_err(|_| not_a_lobby())?;
        let bytes = read.ok_or(FindError::NoAnswer(lobby.address))?;
        match LobbyResponse::decode(&bytes).map_err(|_| not_a_lobby())? {
            LobbyResponse::Found(listing) => {
                collected.push(listing, bytes.len()).map_err(|problem| match problem {
                    NotCollected::OutOfOrder => not_a_lobby(),
                    NotCollected::TooLong => FindError::TooLong(lobby.address),
                })?;
            }
            LobbyResponse::End(has_more) => return Ok(has_more),
            _ => return Err(not_a_lobby()),
        }
    }
}

/// Performs a handshake with every entry, some at a time, and closes the connection again.
async fn measure(listings: Vec<Listing>) -> Vec<Found> {
    let mut found = Vec::with_capacity(listings.len());
    let mut listings = listings.into_iter();
    let mut measuring = JoinSet::new();
    loop {
        while measuring.len() < MEASURED_AT_ONCE
            && let Some(listing) = listings.next()
        {
            measuring.spawn(async move {
                let round_trip = tokio::time::timeout(MEASURE_WITHIN, shake_hands(&listing)).await;
                Found { listing, round_trip: round_trip.ok().flatten() }
            });
        }
        match measuring.join_next().await {
            Some(Ok(measured)) => found.push(measured),
            Some(Err(_)) => {}
            None => return found,
        }
    }
}

async fn shake_hands(listing: &Listing) -> Option<Duration> {
    let trust = Trust::Pinned(vec![listing.fingerprint]);
    let config = quic_client_config(&trust, &[ALPN_NATIVE], None, transport_config()).ok()?;
    let endpoint = quinn::Endpoint::client(any_local_address(listing.address)).ok()?;
    let quic = endpoint.connect_with(config, listing.address, "localhost").ok()?.await.ok()?;
    let round_trip = quic.rtt();
    quic.close(0u8.into(), b"");
    let _ = tokio::time::timeout(Duration::from_millis(100), endpoint.wait_idle()).await;
    Some(round_trip)
}

impl fmt::Display for FindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start(error) => error.fmt(f),
            Self::Filter(error) => error.fmt(f),
            Self::NoAnswer(address) => write!(
                f,
                "cannot reach a trusted lobby at {address}; check that it runs and that the fingerprint is its own"
            ),
            Self::NotALobby(address) => {
                write!(f, "the server at {address} is not a lobby; check the address")
            }
            Self::TooLong(address) => write!(
                f,
                "the lobby at {address} lists more than {FOUND_MAX} entries or {} MiB; filter by game, seats or \
                 attributes",
                FOUND_BYTES_MAX >> 20
            ),
        }
    }
}

impl std::error::Error for FindError {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::Fingerprint;
    use crate::lobby::message::{Announcement, MESSAGE_BYTES_MAX};

    fn listing(entry: u64) -> Listing {
        Listing {
            entry: EntryId(entry),
            address: ([127, 0, 0, 1], 7777).into(),
            fingerprint: Fingerprint([9; 32]),
            announcement: Announcement::new("tanks", "one of many"),
        }
    }

    #[test]
    fn a_hostile_list_ends_at_its_bounds() {
        let mut collected = Collected::default();
        assert!(collected.push(listing(5), 100).is_ok());
        assert!(matches!(collected.push(listing(5), 100), Err(NotCollected::OutOfOrder)));
        let many = (6..).position(|entry| collected.push(listing(entry), 100).is_err());
        assert_eq!(many, Some(FOUND_MAX - 1));
        let mut collected = Collected::default();
        let long = (1..).position(|entry| collected.push(listing(entry), MESSAGE_BYTES_MAX).is_err());
        assert_eq!(long, Some(FOUND_BYTES_MAX / MESSAGE_BYTES_MAX));
    }
}
