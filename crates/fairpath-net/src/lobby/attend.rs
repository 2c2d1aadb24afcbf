//! A connection to a lobby that stays: whoever is on its list has one, from the socket at which it
//! is reached.

use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};

use super::message::{Announcement, EntryId, LobbyRefusal, LobbyRequest, LobbyResponse, NotAnnounceable};
use super::server::{read_message, write_message};
use super::{ALPN_LOBBY, LobbyAddress, RENEW_EVERY, transport_config};
use crate::client::{ConnectError, calling_config};
use crate::identity::Identity;

/// Somebody's presence at a lobby. Dropped, it ends, and the entry is taken off the list.
#[derive(Debug)]
pub struct LobbyPresence {
    task: AbortHandle,
    standing: Arc<Mutex<Standing>>,
}

/// How it stands with a lobby.
#[derive(Clone, Copy, Debug, Default)]
struct Standing {
    announced: Option<(EntryId, SocketAddr)>,
    refusal: Option<LobbyRefusal>,
}

impl LobbyPresence {
    /// Under which name, and at which address, the lobby has it; nothing while it is not on the
    /// list.
    pub fn announced(&self) -> Option<(EntryId, SocketAddr)> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner).announced
    }

    /// Why the lobby last refused something, if it did.
    pub fn refusal(&self) -> Option<LobbyRefusal> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner).refusal
    }
}

impl Drop for LobbyPresence {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Why somebody cannot even try to get on a list.
#[derive(Debug)]
#[non_exhaustive]
pub enum AnnounceError {
    /// No lobby would take what is said.
    Announcement(NotAnnounceable),
    /// What the lobby is to be known by is of no use.
    Connect(ConnectError),
}

/// What it takes to be at a lobby.
pub(crate) struct Attending {
    endpoint: quinn::Endpoint,
    config: quinn::ClientConfig,
    lobby: LobbyAddress,
    standing: Arc<Mutex<Standing>>,
}

/// Questions that wait to be asked.
const ASKS_MAX: usize = 64;
/// Answers that wait to be dealt with.
const ANSWERS_MAX: usize = 64;
/// How long a connection may take.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// How long it waits before it tries again; twice as long each time.
const RETRY_AFTER_MIN: Duration = Duration::from_millis(250);
/// And at most.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(8);

impl Attending {
    pub(crate) fn new(
        endpoint: quinn::Endpoint,
        lobby: LobbyAddress,
        identity: &Identity,
    ) -> Result<Self, ConnectError> {
        let config = calling_config(&lobby.trust, ALPN_LOBBY, Some(identity), transport_config())?;
        Ok(Self { endpoint, config, lobby, standing: Arc::default() })
    }

    async fn connect(&self) -> Option<quinn::Connection> {
        let calling = self.endpoint.connect_with(self.config.clone(), self.lobby.address, &self.lobby.name);
        tokio::time::timeout(CONNECT_WITHIN, calling.ok()?).await.ok()?.ok()
    }

    fn stand(&self, edit: impl FnOnce(&mut Standing)) {
        edit(&mut self.standing.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Who wants to be at a lobby: what it says of itself, and what it makes of the answers.
pub(crate) trait Attendee: Send + 'static {
    /// What to say now.
    fn announcement(&self) -> Announcement;
    /// Something came; what to ask then.
    fn on_answer(&mut self, answer: LobbyResponse) -> Vec<LobbyRequest>;
}

/// Goes to a lobby, and stays there and comes back until the attendance is dropped. The sender is
/// for further questions.
pub(crate) fn attend(
    runtime: &tokio::runtime::Handle,
    attending: Attending,
    attendee: impl Attendee,
) -> (LobbyPresence, mpsc::Sender<LobbyRequest>) {
    let standing = Arc::clone(&attending.standing);
    let (asking, asks) = mpsc::channel(ASKS_MAX);
    let task = runtime.spawn(stay(attending, attendee, asks)).abort_handle();
    (LobbyPresence { task, standing }, asking)
}

async fn stay(attending: Attending, mut attendee: impl Attendee, mut asks: mpsc::Receiver<LobbyRequest>) {
    let mut retry_after = RETRY_AFTER_MIN;
    loop {
        if let Some(quic) = attending.connect().await {
            // Dropped with this task, it tells the lobby that it is over.
            let quic = Closing(quic);
            if converse(&attending, &quic.0, &mut attendee, &mut asks).await.is_some() {
                retry_after = RETRY_AFTER_MIN;
            }
            attending.stand(|standing| standing.announced = None);
        }
        tokio::time::sleep(retry_after).await;
        retry_after = (2 * retry_after).min(RETRY_AFTER_MAX);
    }
}

struct Closing(quinn::Connection);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.close(0u8.into(), b"");
    }
}

/// One connection. Whether anything was ever answered on it.
async fn converse(
    attending: &Attending,
    quic: &quinn::Connection,
    attendee: &mut impl Attendee,
    asks: &mut mpsc::Receiver<LobbyRequest>,
) -> Option<()> {
    let (mut sending, mut receiving) = quic.open_bi().await.ok()?;
    let (answered, mut answers) = mpsc::channel(ANSWERS_MAX);
    // A task of its own, since reading half a message cannot be taken back. It ends with this.
    let mut reading = JoinSet::new();
    reading.spawn(async move {
        while let Ok(Some(bytes)) = read_message(&mut receiving).await {
            let Ok(answer) = LobbyResponse::decode(&bytes) else { return };
            if answered.send(answer).await.is_err() {
                return;
            }
        }
    });
    let mut renewing = tokio::time::interval(RENEW_EVERY);
    let mut was_answered = None;
    loop {
        let next = tokio::select! {
            answer = answers.recv() => {
                let Some(answer) = answer else { return was_answered };
                was_answered = Some(());
                attending.stand(|standing| match answer {
                    LobbyResponse::Announced(entry, seen) => standing.announced = Some((entry, seen)),
                    LobbyResponse::Refused(refusal) => standing.refusal = Some(refusal),
                    _ => {}
                });
                attendee.on_answer(answer)
            }
            _ = renewing.tick() => vec![LobbyRequest::Announce(attendee.announcement())],
            Some(ask) = asks.recv() => vec![ask],
        };
        for ask in next {
            if write_message(&mut sending, &ask.encode()).await.is_err() {
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
