//! Asking a lobby who is there, and how far away they are.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::task::JoinSet;

use super::message::{EntryId, Filter, Listing, LobbyRequest, LobbyResponse, NotAnnounceable};
use super::server::{read_message, write_message};
use super::{ALPN_LOBBY, LobbyAddress, transport_config};
use crate::client::{ConnectError, any_port_like, calling_config};
use crate::identity::Trust;
use crate::link::ALPN_NATIVE;

/// An entry that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// What the lobby says.
    pub listing: Listing,
    /// How long the way there and back takes, as QUIC has measured it; nothing if it was not asked,
    /// or nobody with the right certificate answered.
    pub round_trip: Option<Duration>,
}

/// Why nothing was found out.
#[derive(Debug)]
#[non_exhaustive]
pub enum FindError {
    /// What the lobby is to be known by is of no use, or the system gives no socket.
    Start(ConnectError),
    /// The lobby would not take the filter.
    Filter(NotAnnounceable),
    /// Nobody answered there who is to be trusted.
    NoAnswer(SocketAddr),
    /// It answered with something that is no answer.
    NotALobby(SocketAddr),
}

/// How long the lobby may take to be reached, and to answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// How long an entry may take to be reached, to be measured.
const MEASURE_WITHIN: Duration = Duration::from_secs(2);
/// Entries that are measured at once; each is a handshake.
const MEASURED_AT_ONCE: usize = 16;
/// Entries that are taken from a lobby: more than a person reads.
const FOUND_MAX: usize = 4096;

/// Asks a lobby who is there, and, if `measures`, everybody found how far away they are: then the
/// nearest are first. It waits until it knows.
///
/// Entries that want to be introduced may be out of reach for who was not: they are listed without
/// a round trip.
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
    let config =
        calling_config(&lobby.trust, ALPN_LOBBY, None, transport_config()).map_err(FindError::Start)?;
    let endpoint = quinn::Endpoint::client(any_port_like(lobby.address));
    let endpoint = endpoint.map_err(|error| FindError::Start(ConnectError::System(error)))?;
    let (nobody, no_lobby) = (|| FindError::NoAnswer(lobby.address), || FindError::NotALobby(lobby.address));
    let calling = endpoint.connect_with(config, lobby.address, &lobby.name).map_err(|_| nobody())?;
    let quic = calling.await.map_err(|_| nobody())?;
    let (mut sending, mut receiving) = quic.open_bi().await.map_err(|_| nobody())?;
    let mut listings: Vec<Listing> = Vec::new();
    loop {
        let after = listings.last().map_or(EntryId(0), |last| last.entry);
        let ask = LobbyRequest::Find(filter.clone(), after).encode();
        write_message(&mut sending, &ask).await.map_err(|_| nobody())?;
        loop {
            let bytes = read_message(&mut receiving).await.map_err(|_| no_lobby())?.ok_or_else(nobody)?;
            match LobbyResponse::decode(&bytes).map_err(|_| no_lobby())? {
                // In order, or asking for more would never end.
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
                _ => return Err(no_lobby()),
            }
        }
    }
}

/// Shakes hands with everybody, some at a time, and goes again.
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
    let config = calling_config(&trust, ALPN_NATIVE, None, transport_config()).ok()?;
    let endpoint = quinn::Endpoint::client(any_port_like(listing.address)).ok()?;
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
                "{address}: no lobby answered that we trust; see whether it runs, and what it says its fingerprint is"
            ),
            Self::NotALobby(address) => write!(f, "{address}: whoever answers there is no lobby"),
        }
    }
}

impl std::error::Error for FindError {}
