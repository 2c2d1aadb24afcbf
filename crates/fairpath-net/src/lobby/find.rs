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
}

const ANSWER_WITHIN: Duration = Duration::from_secs(5);
const MEASURE_WITHIN: Duration = Duration::from_secs(2);
/// Entries that are measured at once. Each costs a handshake.
const MEASURED_AT_ONCE: usize = 16;
/// Entries that are read from a lobby: more than a person reads.
const FOUND_MAX: usize = 4096;

/// Lists the entries of a lobby that match a filter. If `measures` is set, it also measures the
/// round trip to each and puts the nearest first. Blocks until it has the answer.
///
/// Peers that want introductions are listed without a round trip: they may be unreachable.
pub fn find(lobby: &LobbyAddress, filter: &Filter, measures: bool) -> Result<Vec<Found>, FindError> {
    filter.check().map_err(FindError::Filter)?;
    let system = |error: io::Error| FindError::Start(ConnectError::System(error));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(system)?;
    runtime.block_on(async {
        let listings = tokio::time::timeout(ANSWER_WITHIN, list(lobby, filter)).await;
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

async fn list(lobby: &LobbyAddress, filter: &Filter) -> Result<Vec<Listing>, FindError> {
    let config = quic_client_config(&lobby.trust, &[ALPN_LOBBY], None, transport_config())
        .map_err(FindError::Start)?;
    let endpoint = quinn::Endpoint::client(any_local_address(lobby.address));
    let endpoint = endpoint.map_err(|error| FindError::Start(ConnectError::System(error)))?;
    let no_answer = || FindError::NoAnswer(lobby.address);
    let not_a_lobby = || FindError::NotALobby(lobby.address);
    let connecting = endpoint.connect_with(config, lobby.address, &lobby.name).map_err(|_| no_answer())?;
    let quic = connecting.await.map_err(|_| no_answer())?;
    let (mut sending, mut receiving) = quic.open_bi().await.map_err(|_| no_answer())?;
    let mut listings: Vec<Listing> = Vec::new();
    loop {
        let after = listings.last().map_or(EntryId(0), |last| last.entry);
        let request = LobbyRequest::Find(filter.clone(), after).encode();
        write_message(&mut sending, &request).await.map_err(|_| no_answer())?;
        loop {
            let bytes =
                read_message(&mut receiving).await.map_err(|_| not_a_lobby())?.ok_or_else(no_answer)?;
            match LobbyResponse::decode(&bytes).map_err(|_| not_a_lobby())? {
                // In ascending order, or a lobby could make this loop endless.
                LobbyResponse::Found(listing)
                    if listings.last().is_none_or(|last| last.entry < listing.entry) =>
                {
                    listings.push(listing);
                }
                LobbyResponse::End(true) if listings.len() < FOUND_MAX => break,
                LobbyResponse::End(_) => {
                    quic.close(0u8.into(), b"");
                    let _ = tokio::time::timeout(Duration::from_millis(100), endpoint.wait_idle()).await;
                    return Ok(listings);
                }
                _ => return Err(not_a_lobby()),
            }
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
        }
    }
}

impl std::error::Error for FindError {}
