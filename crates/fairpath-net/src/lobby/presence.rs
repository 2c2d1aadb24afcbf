//! A lasting connection to a lobby. Every listed entry has one, from the socket it is reached at.

use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};

use super::message::{Announcement, EntryId, LobbyRefusal, LobbyRequest, LobbyResponse, NotAnnounceable};
use super::server::{read_message, write_message};
use super::{ALPN_LOBBY, LobbyAddress, RENEW_EVERY, transport_config};
use crate::client::{ConnectError, quic_client_config};
use crate::identity::Identity;
use crate::lock;

/// An entry on the list of a lobby. Dropping it closes the connection and removes the entry.
#[derive(Debug)]
pub struct LobbyPresence {
    task: AbortHandle,
    status: Arc<Mutex<PresenceStatus>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct PresenceStatus {
    announced: Option<(EntryId, SocketAddr)>,
    refusal: Option<LobbyRefusal>,
}

impl LobbyPresence {
    /// The id and the address under which the lobby lists this entry. `None` if unlisted.
    pub fn announced(&self) -> Option<(EntryId, SocketAddr)> {
        lock(&self.status).announced
    }

    /// Why the lobby last refused a request, if it did.
    pub fn refusal(&self) -> Option<LobbyRefusal> {
        lock(&self.status).refusal
    }
}

impl Drop for LobbyPresence {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Why an entry cannot be announced.
#[derive(Debug)]
#[non_exhaustive]
pub enum AnnounceError {
    /// Every lobby would refuse the announcement.
    Announcement(NotAnnounceable),
    /// The trusted certificate cannot be used.
    Connect(ConnectError),
}

pub(crate) struct LobbyConnector {
    endpoint: quinn::Endpoint,
    config: quinn::ClientConfig,
    lobby: LobbyAddress,
    status: Arc<Mutex<PresenceStatus>>,
}

const REQUESTS_MAX: usize = 64;
const RESPONSES_MAX: usize = 64;
const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// Pause after the first failed attempt. Each further failure doubles it.
const RETRY_AFTER_MIN: Duration = Duration::from_millis(250);
const RETRY_AFTER_MAX: Duration = Duration::from_secs(8);

impl LobbyConnector {
    pub(crate) fn new(
        endpoint: quinn::Endpoint,
        lobby: LobbyAddress,
        identity: &Identity,
    ) -> Result<Self, ConnectError> {
        let config = quic_client_config(&lobby.trust, &[ALPN_LOBBY], Some(identity), transport_config())?;
        Ok(Self { endpoint, config, lobby, status: Arc::default() })
    }

    async fn connect(&self) -> Option<quinn::Connection> {
        let connecting =
            self.endpoint.connect_with(self.config.clone(), self.lobby.address, &self.lobby.name);
        tokio::time::timeout(CONNECT_WITHIN, connecting.ok()?).await.ok()?.ok()
    }
}

/// A server or peer at a lobby: what it announces, and how it reacts to responses.
pub(crate) trait LobbyMember: Send + 'static {
    fn announcement(&self) -> Announcement;
    /// Handles a response. Returns the requests to send next.
    fn on_response(&mut self, _: LobbyResponse) -> Vec<LobbyRequest> {
        Vec::new()
    }
}

/// Connects and reconnects to a lobby until the presence is dropped. The sender takes requests.
pub(crate) fn join_lobby(
    runtime: &tokio::runtime::Handle,
    connector: LobbyConnector,
    member: impl LobbyMember,
) -> (LobbyPresence, mpsc::Sender<LobbyRequest>) {
    let status = Arc::clone(&connector.status);
    let (sender, requests) = mpsc::channel(REQUESTS_MAX);
    let task = runtime.spawn(reconnect_forever(connector, member, requests)).abort_handle();
    (LobbyPresence { task, status }, sender)
}

async fn reconnect_forever(
    connector: LobbyConnector,
    mut member: impl LobbyMember,
    mut requests: mpsc::Receiver<LobbyRequest>,
) {
    let mut retry_after = RETRY_AFTER_MIN;
    loop {
        if let Some(quic) = connector.connect().await {
            // Dropping it with this task tells the lobby that the connection ends.
            let quic = CloseOnDrop(quic);
            if run_connection(&connector, &quic.0, &mut member, &mut requests).await.is_some() {
                retry_after = RETRY_AFTER_MIN;
            }
            lock(&connector.status).announced = None;
        }
        tokio::time::sleep(retry_after).await;
        retry_after = (2 * retry_after).min(RETRY_AFTER_MAX);
    }
}

struct CloseOnDrop(quinn::Connection);

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        self.0.close(0u8.into(), b"");
    }
}

/// Runs one connection. Returns `Some` if the lobby ever responded on it.
async fn run_connection(
    connector: &LobbyConnector,
    quic: &quinn::Connection,
    member: &mut impl LobbyMember,
    requests: &mut mpsc::Receiver<LobbyRequest>,
) -> Option<()> {
    let (mut sending, mut receiving) = quic.open_bi().await.ok()?;
    let (answered, mut responses) = mpsc::channel(RESPONSES_MAX);
    // A task of its own, because a partly read message cannot be put back.
    let mut reading = JoinSet::new();
    reading.spawn(async move {
        while let Ok(Some(bytes)) = read_message(&mut receiving).await {
            let Ok(response) = LobbyResponse::decode(&bytes) else { return };
            if answered.send(response).await.is_err() {
                return;
            }
        }
    });
    let mut renewing = tokio::time::interval(RENEW_EVERY);
    let status = || lock(&connector.status);
    let mut was_answered = None;
    loop {
        let next = tokio::select! {
            response = responses.recv() => {
                let Some(response) = response else { return was_answered };
                was_answered = Some(());
                match response {
                    LobbyResponse::Announced(entry, seen) => status().announced = Some((entry, seen)),
                    LobbyResponse::Refused(refusal) => status().refusal = Some(refusal),
                    _ => {}
                }
                member.on_response(response)
            }
            _ = renewing.tick() => vec![LobbyRequest::Announce(member.announcement())],
            Some(request) = requests.recv() => vec![request],
        };
        for request in next {
            if write_message(&mut sending, &request.encode()).await.is_err() {
                return was_answered;
            }
        }
    }
}

impl fmt::Display for AnnounceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Announcement(error) => error.fmt(f),
            Self::Connect(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for AnnounceError {}
