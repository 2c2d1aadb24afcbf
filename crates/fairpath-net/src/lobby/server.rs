//! A lobby on a socket.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use fairpath::session::codec::put_bytes;
use fairpath::session::{CloseReason, Household, Shares};
use quinn::Endpoint;
use tokio::sync::{mpsc, oneshot};

use super::message::{
    EntryId, Filter, Listing, LobbyRefusal, LobbyRequest, LobbyResponse, MESSAGE_BYTES_MAX,
};
use super::registry::{LobbyLimits, ProvenPeer, Registry};
use super::relay::{PacketRelay, RelayedEnd};
use super::{ALPN_LOBBY, transport_config};
use crate::admissions::{Admissions, HandshakePlace, Limits, Verdict, household};
use crate::background::{Background, CLOSE_WITHIN};
use crate::clock::Clock;
use crate::connection::proven_fingerprint;
use crate::endpoint::{open_endpoint, quic_server_config};
use crate::identity::client_certificates::ClientCertificates;
use crate::identity::{Fingerprint, Identity};
use crate::incidents::Incident;
use crate::lock;
use crate::server::{AdmissionStatistics, BindError};
use crate::token_bucket::{SharedBucket, TokenBucket};

/// Where and how a lobby listens.
#[derive(Debug)]
pub struct LobbyConfig {
    /// The address to listen on. With port 0 the system chooses it: see [`LobbyServer::address`].
    pub listen: SocketAddr,
    /// The lobby's certificate and key.
    pub identity: Identity,
    /// How many connections one address may open, and how fast.
    pub limits: Limits,
    /// How many entries and relays it has.
    pub lobby_limits: LobbyLimits,
}

impl LobbyConfig {
    /// The defaults, for a lobby with this certificate and key.
    pub fn new(listen: SocketAddr, identity: Identity) -> Self {
        Self { listen, identity, limits: Limits::default(), lobby_limits: LobbyLimits::default() }
    }
}

/// The counters of a lobby.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LobbyStatistics {
    /// Entries on the list now.
    pub entries: usize,
    /// Connections now.
    pub connections: usize,
    /// Pairs relayed now.
    pub relays: usize,
    /// Requests for the list.
    pub lists: u64,
    /// Pairs introduced to each other.
    pub introductions: u64,
    /// Requests refused.
    pub refused: u64,
    /// Connections closed because the client broke the protocol.
    pub closed: u64,
    /// Counts of connections that were not accepted.
    pub admission: AdmissionStatistics,
}

/// A [lobby](super) on a socket, with a thread of its own. Dropping it stops it.
#[derive(Debug)]
pub struct LobbyServer {
    shared: Arc<SharedLobby>,
    address: SocketAddr,
    fingerprint: Fingerprint,
    _task: Background,
}

impl LobbyServer {
    /// Starts a lobby.
    pub fn bind(config: LobbyConfig) -> Result<Self, BindError> {
        let verifier = Arc::new(ClientCertificates::optional());
        let mut quic =
            quic_server_config(&config.identity, &[ALPN_LOBBY], Some(verifier), transport_config())?;
        // QUIC moves a connection to a new address before that address is proven. A lobby tells
        // others the address that it sees, so it follows no connection to another address.
        quic.migration(false);
        let (runtime, endpoint, address) = open_endpoint(config.listen, &config.identity, quic)?;
        let shared = Arc::new(SharedLobby::new(&config));
        let (inside, fingerprint) = (Arc::clone(&shared), config.identity.fingerprint());
        let run = move |stop| run(inside, endpoint, stop);
        let task = Background::start("fairpath-lobby", runtime, run).map_err(BindError::System)?;
        Ok(Self { shared, address, fingerprint, _task: task })
    }

    /// The address that the lobby listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The fingerprint that servers, peers and clients pin.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// All entries.
    pub fn entries(&self) -> Vec<Listing> {
        let mut inner = lock(&self.shared.inner);
        inner.registry.expire(self.shared.clock.local());
        inner.registry.find(&Filter::default(), EntryId(0)).collect()
    }

    /// The counters.
    pub fn statistics(&self) -> LobbyStatistics {
        let mut inner = lock(&self.shared.inner);
        inner.registry.expire(self.shared.clock.local());
        LobbyStatistics {
            entries: inner.registry.len(),
            connections: inner.clients.len(),
            relays: inner.relays().count(),
            admission: inner.admissions.statistics(),
            ..inner.statistics
        }
    }
}

#[derive(Debug)]
struct SharedLobby {
    inner: Mutex<LobbyInner>,
    clock: Clock,
    relay_from: IpAddr,
    limits: LobbyLimits,
}

#[derive(Debug)]
struct LobbyInner {
    registry: Registry,
    admissions: Admissions,
    clients: BTreeMap<u64, LobbyClient>,
    next_client: u64,
    /// Pairs that were introduced, the lower fingerprint first.
    introductions: BTreeMap<(Fingerprint, Fingerprint), Introduction>,
    statistics: LobbyStatistics,
}

#[derive(Debug)]
struct LobbyClient {
    quic: quinn::Connection,
    fingerprint: Option<Fingerprint>,
    responses: mpsc::Sender<LobbyResponse>,
    introduction_limit: SharedBucket,
}

#[derive(Debug)]
struct Introduction {
    introduced_at: Instant,
    /// The household that asked for it.
    asker: Household,
    relay: Option<Relayed>,
}

#[derive(Debug)]
struct Relayed {
    packets: PacketRelay,
    /// The household that asked for it, which need not have asked for the introduction.
    asker: Household,
    opened_at: Instant,
}

/// Connections at once: a full list, and a quarter more that only read it.
const CLIENTS_MAX: usize = 4096 + 1024;
/// Responses that wait for one connection: a page of the list and some introductions.
const RESPONSES_MAX: usize = 2 * PAGE;
/// Entries in one response to `Find`. The client asks for more.
const PAGE: usize = 32;
/// Requests of one connection per second, on average. A mesh of 32 takes 32 introductions.
const REQUESTS_PER_SEC: f64 = 5.0;
const REQUESTS_BURST: f64 = 80.0;
/// What a page of the list counts for. A full list of 4096 entries has 128 pages.
const PAGE_COST: f64 = 0.5;
const _: () = assert!(4096.0 / PAGE as f64 * PAGE_COST < REQUESTS_BURST, "one connection reads a full list");
/// Introductions to one entry per second, on average. Each makes that peer open a connection. One
/// household that asks gets half of the burst, and what others leave.
const INTRODUCTIONS_PER_SEC: f64 = 4.0;
const INTRODUCTIONS_BURST: f64 = 64.0;
/// How long after its introduction a pair may ask for a relay.
const RELAY_WITHIN: Duration = Duration::from_secs(120);
/// Pairs that are remembered: all of a mesh of 32, several times over.
const INTRODUCTIONS_KEPT_MAX: usize = 4096;
/// Longest silence of a connection, before its first request and between two.
const SILENCE_MAX: Duration = super::EXPIRES_AFTER;

impl SharedLobby {
    fn new(config: &LobbyConfig) -> Self {
        let inner = LobbyInner {
            registry: Registry::new(config.lobby_limits),
            admissions: Admissions::new(config.limits),
            clients: BTreeMap::new(),
            next_client: 0,
            introductions: BTreeMap::new(),
            statistics: LobbyStatistics::default(),
        };
        Self {
            inner: Mutex::new(inner),
            clock: Clock::unix(),
            relay_from: config.listen.ip(),
            limits: config.lobby_limits,
        }
    }

    /// Handles one request. Returns the responses to its client, and may send responses to others.
    fn handle(&self, client: u64, request: LobbyRequest) -> Vec<LobbyResponse> {
        let mut inner = lock(&self.inner);
        let now = self.clock.local();
        inner.registry.expire(now);
        let answered = match request {
            LobbyRequest::Announce(announcement) => inner.seen(client).and_then(|seen| {
                let entry = inner.registry.announce(seen, announcement, now)?;
                Ok(vec![LobbyResponse::Announced(entry, seen.address)])
            }),
            LobbyRequest::Withdraw => {
                inner.registry.withdraw(client);
                Ok(Vec::new())
            }
            LobbyRequest::Find(filter, after) => {
                inner.statistics.lists += 1;
                let mut found: Vec<Listing> = inner.registry.find(&filter, after).take(PAGE + 1).collect();
                let has_more = found.len() > PAGE;
                found.truncate(PAGE);
                let listings = found.into_iter().map(LobbyResponse::Found);
                Ok(listings.chain([LobbyResponse::End(has_more)]).collect())
            }
            LobbyRequest::Meet(entry) => inner.introduce(client, entry).map(|meeting| vec![meeting]),
            LobbyRequest::Relay(peer) => self.relay(&mut inner, client, peer).map(|relay| vec![relay]),
        };
        answered.unwrap_or_else(|refusal| {
            inner.statistics.refused += 1;
            vec![LobbyResponse::Refused(refusal)]
        })
    }

    /// Opens a relay for two clients that were introduced, and tells the other one.
    fn relay(
        &self,
        inner: &mut LobbyInner,
        client: u64,
        peer: Fingerprint,
    ) -> Result<LobbyResponse, LobbyRefusal> {
        inner.forget_introductions();
        let asker = inner.seen(client)?;
        let other = inner.client_of(peer).ok_or(LobbyRefusal::NoRelay)?;
        let other = inner.seen(other)?;
        let pair = pair(asker.fingerprint, peer);
        let home = household(asker.address.ip());
        let known = inner.introductions.get(&pair).ok_or(LobbyRefusal::NoRelay)?;
        if known.relay.is_none() {
            inner.make_room_for_relay(home, self.limits)?;
            let (lower, upper) = if asker.fingerprint == pair.0 { (asker, other) } else { (other, asker) };
            let relay = PacketRelay::open(self.relay_from, lower.address, upper.address);
            let packets = relay.map_err(|_| LobbyRefusal::NoRelay)?;
            let relayed = Relayed { packets, asker: home, opened_at: Instant::now() };
            inner.introductions.get_mut(&pair).ok_or(LobbyRefusal::NoRelay)?.relay = Some(relayed);
        }
        let known = inner.introductions.get(&pair).ok_or(LobbyRefusal::NoRelay)?;
        let relay = known.relay.as_ref().ok_or(LobbyRefusal::NoRelay)?;
        let port =
            |name| relay.packets.port(if name == pair.0 { RelayedEnd::Lower } else { RelayedEnd::Upper });
        let (ports_asker, port_other) = (port(asker.fingerprint), port(peer));
        inner.tell(other.connection, LobbyResponse::Relay(asker.fingerprint, port_other))?;
        Ok(LobbyResponse::Relay(peer, ports_asker))
    }
}

impl LobbyInner {
    fn admit(&mut self, address: IpAddr, is_proven: bool) -> Verdict {
        if is_proven && self.clients.len() >= CLIENTS_MAX {
            self.admissions.refuse(Incident::NoHandshake, address, Instant::now())
        } else {
            self.admissions.admit(address, is_proven, Instant::now())
        }
    }

    fn seen(&self, client: u64) -> Result<ProvenPeer, LobbyRefusal> {
        let known = self.clients.get(&client).ok_or(LobbyRefusal::NoSuchEntry)?;
        let fingerprint = known.fingerprint.ok_or(LobbyRefusal::NoCertificate)?;
        Ok(ProvenPeer { connection: client, address: known.quic.remote_address(), fingerprint })
    }

    fn client_of(&self, fingerprint: Fingerprint) -> Option<u64> {
        // The newest connection: an older one with the same certificate may be dead already.
        self.clients
            .iter()
            .rev()
            .find(|(_, client)| client.fingerprint == Some(fingerprint))
            .map(|(id, _)| *id)
    }

    /// Introduces two clients. Tells the entry first and returns the response to the asker.
    fn introduce(&mut self, client: u64, entry: EntryId) -> Result<LobbyResponse, LobbyRefusal> {
        let asker = self.seen(client)?;
        let (other, is_wanted) = self.registry.get(entry).ok_or(LobbyRefusal::NoSuchEntry)?;
        if other.fingerprint == asker.fingerprint {
            return Err(LobbyRefusal::NoSuchEntry);
        }
        if !is_wanted {
            return Err(LobbyRefusal::NotWanted);
        }
        let home = household(asker.address.ip());
        self.make_room_for_introduction(home)?;
        // Use the current connection, not the state of the last renewal.
        let other = self.seen(other.connection)?;
        let host = self.clients.get_mut(&other.connection).ok_or(LobbyRefusal::NoSuchEntry)?;
        if !host.introduction_limit.take(home, Instant::now()) {
            return Err(LobbyRefusal::Busy);
        }
        self.tell(other.connection, LobbyResponse::Meet(asker.fingerprint, asker.address))?;
        let known = self.introductions.entry(pair(asker.fingerprint, other.fingerprint));
        let known = known.or_insert(Introduction { introduced_at: Instant::now(), asker: home, relay: None });
        known.introduced_at = Instant::now();
        self.statistics.introductions += 1;
        Ok(LobbyResponse::Meet(other.fingerprint, other.address))
    }

    fn tell(&self, client: u64, response: LobbyResponse) -> Result<(), LobbyRefusal> {
        let client = self.clients.get(&client).ok_or(LobbyRefusal::NoSuchEntry)?;
        client.responses.try_send(response).map_err(|_| LobbyRefusal::Busy)
    }

    fn relays(&self) -> impl Iterator<Item = &Relayed> + '_ {
        let relays = self.introductions.values().filter_map(|known| known.relay.as_ref());
        relays.filter(|relay| relay.packets.is_alive())
    }

    /// Frees a relay for this household, if all are in use.
    fn make_room_for_relay(&mut self, newcomer: Household, limits: LobbyLimits) -> Result<(), LobbyRefusal> {
        if self.relays().count() < limits.relays_max {
            return Ok(());
        }
        let shares = Shares { kept: limits.relays_kept_per_address };
        let loser = shares.loser(newcomer, self.relays().map(|relay| relay.asker));
        let newest = self
            .introductions
            .values_mut()
            .filter(|known| known.relay.as_ref().is_some_and(|relay| Some(relay.asker) == loser))
            .max_by_key(|known| known.relay.as_ref().map(|relay| relay.opened_at));
        newest.ok_or(LobbyRefusal::NoRelay)?.relay = None;
        Ok(())
    }

    /// Forgets an introduction of the household that has asked for the most, if too many are
    /// remembered.
    fn make_room_for_introduction(&mut self, newcomer: Household) -> Result<(), LobbyRefusal> {
        self.forget_introductions();
        if self.introductions.len() < INTRODUCTIONS_KEPT_MAX {
            return Ok(());
        }
        let asked = self.introductions.values().map(|known| known.asker);
        let loser = Shares { kept: 0 }.loser(newcomer, asked);
        let of_loser = self.introductions.iter().filter(|(_, known)| Some(known.asker) == loser);
        // A relay is worth more than a memory.
        let oldest = of_loser.min_by_key(|(_, known)| (known.relay.is_some(), known.introduced_at));
        let pair = oldest.map(|(pair, _)| *pair).ok_or(LobbyRefusal::Busy)?;
        self.introductions.remove(&pair);
        Ok(())
    }

    fn forget_introductions(&mut self) {
        self.introductions.retain(|_, known| {
            known.relay.take_if(|relay| !relay.packets.is_alive());
            known.relay.is_some() || known.introduced_at.elapsed() < RELAY_WITHIN
        });
    }
}

/// Two fingerprints in ascending order.
fn pair(one: Fingerprint, other: Fingerprint) -> (Fingerprint, Fingerprint) {
    (one.min(other), one.max(other))
}

// ── the thread

async fn run(shared: Arc<SharedLobby>, endpoint: Endpoint, stop: oneshot::Receiver<Duration>) -> bool {
    tokio::spawn(accept(shared, endpoint.clone()));
    let _ = stop.await;
    endpoint.close(u32::from(CloseReason::Finished.code()).into(), b"the lobby closes");
    let _ = tokio::time::timeout(CLOSE_WITHIN, endpoint.wait_idle()).await;
    true
}

/// Accepts connections. The lobby keeps nothing of an address before it is proven.
async fn accept(shared: Arc<SharedLobby>, endpoint: Endpoint) {
    while let Some(incoming) = endpoint.accept().await {
        let address = incoming.remote_address().ip();
        let verdict = lock(&shared.inner).admit(address, incoming.remote_address_validated());
        match verdict {
            // An address that is not validated can always be retried.
            Verdict::Retry => drop(incoming.retry()),
            Verdict::Ignore => incoming.ignore(),
            Verdict::Refuse => incoming.refuse(),
            Verdict::Accept(place) => {
                tokio::spawn(receive(Arc::clone(&shared), incoming, address, place));
            }
        }
    }
}

async fn receive(
    shared: Arc<SharedLobby>,
    incoming: quinn::Incoming,
    address: IpAddr,
    place: HandshakePlace,
) {
    let handshake = async { incoming.accept().ok()?.await.ok() };
    let connected = tokio::select! {
        connected = tokio::time::timeout(Duration::from_secs(5), handshake) => connected.ok().flatten(),
        () = place.lost() => None,
    };
    lock(&shared.inner).admissions.on_handshake_over(address, &place, connected.is_none());
    if let Some(quic) = connected {
        run_connection(&shared, quic).await;
    }
    lock(&shared.inner).admissions.on_gone(address);
}

async fn run_connection(shared: &Arc<SharedLobby>, quic: quinn::Connection) {
    let (responses, waiting) = mpsc::channel(RESPONSES_MAX);
    let client = {
        let mut inner = lock(&shared.inner);
        let client = inner.next_client;
        inner.next_client += 1;
        let known = LobbyClient {
            fingerprint: proven_fingerprint(quic.peer_identity()),
            quic: quic.clone(),
            responses: responses.clone(),
            introduction_limit: SharedBucket::full(INTRODUCTIONS_PER_SEC, INTRODUCTIONS_BURST),
        };
        inner.clients.insert(client, known);
        client
    };
    let ended = listen(shared, client, &quic, &responses, waiting).await;
    {
        let mut inner = lock(&shared.inner);
        inner.clients.remove(&client);
        inner.registry.withdraw(client);
        inner.statistics.closed += u64::from(ended.is_err());
    }
    let reason = ended.err().unwrap_or(CloseReason::Finished);
    quic.close(u32::from(reason.code()).into(), reason.to_string().as_bytes());
}

/// Handles requests until the client closes the stream. An error is the close reason.
async fn listen(
    shared: &Arc<SharedLobby>,
    client: u64,
    quic: &quinn::Connection,
    responses: &mpsc::Sender<LobbyResponse>,
    waiting: mpsc::Receiver<LobbyResponse>,
) -> Result<(), CloseReason> {
    let opened = tokio::time::timeout(SILENCE_MAX, quic.accept_bi()).await;
    let Ok((sending, mut receiving)) = opened.map_err(|_| CloseReason::NoGreeting)? else { return Ok(()) };
    tokio::spawn(write_responses(sending, waiting));
    let mut limit = TokenBucket::full(REQUESTS_BURST);
    loop {
        let read = tokio::time::timeout(SILENCE_MAX, read_message(&mut receiving)).await;
        let Some(bytes) = read.map_err(|_| CloseReason::Silent)?? else { return Ok(()) };
        let request = LobbyRequest::decode(&bytes).map_err(|_| CloseReason::Malformed)?;
        let cost = if matches!(request, LobbyRequest::Find(..)) { PAGE_COST } else { 1.0 };
        if !limit.take(cost, REQUESTS_PER_SEC, REQUESTS_BURST) {
            return Err(CloseReason::TooFast);
        }
        for response in shared.handle(client, request) {
            // A client that does not read its responses waits here, and is closed as silent.
            let told = tokio::time::timeout(SILENCE_MAX, responses.send(response)).await;
            if told.map_err(|_| CloseReason::Silent)?.is_err() {
                return Ok(());
            }
        }
    }
}

async fn write_responses(mut sending: quinn::SendStream, mut waiting: mpsc::Receiver<LobbyResponse>) {
    while let Some(response) = waiting.recv().await {
        if write_message(&mut sending, &response.encode()).await.is_err() {
            return;
        }
    }
}

pub(super) async fn write_message(
    sending: &mut quinn::SendStream,
    message: &[u8],
) -> Result<(), quinn::WriteError> {
    let mut bytes = Vec::with_capacity(message.len() + 2);
    put_bytes(&mut bytes, message);
    sending.write_all(&bytes).await
}

/// The next message of a stream; `None` at its end. Refuses a too long one before reading it.
pub(super) async fn read_message(receiving: &mut quinn::RecvStream) -> Result<Option<Vec<u8>>, CloseReason> {
    let mut length = 0;
    for at in 0..2 {
        let mut byte = [0];
        if receiving.read_exact(&mut byte).await.is_err() {
            return Ok(None);
        }
        length |= usize::from(byte[0] & 0x7F) << (7 * at);
        if byte[0] & 0x80 == 0 {
            if byte[0] == 0 && at > 0 || length > MESSAGE_BYTES_MAX {
                return Err(CloseReason::Malformed);
            }
            let mut message = vec![0; length];
            return Ok(receiving.read_exact(&mut message).await.is_ok().then_some(message));
        }
    }
    Err(CloseReason::Malformed)
}
const _: () = assert!(MESSAGE_BYTES_MAX < 1 << 14, "two bytes are enough for a length");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lobby::{Announcement, LobbyAddress, find};
    use crate::{Trust, lock};

    /// Before, a connection was closed after 80 pages, and a list of 2 561 entries had 81.
    #[test]
    fn a_full_list_is_read_to_its_end() {
        let identity = Identity::local(&[]).expect("made");
        let lobby =
            LobbyServer::bind(LobbyConfig::new(([127, 0, 0, 1], 0).into(), identity)).expect("a port");
        let count = LobbyLimits::default().entries_max as u32;
        for number in 0..count {
            let [_, _, high, low] = number.to_be_bytes();
            let mut fingerprint = Fingerprint([0; 32]);
            fingerprint.0[..4].copy_from_slice(&number.to_be_bytes());
            let connection = u64::MAX - u64::from(number);
            let seen = ProvenPeer { connection, address: ([10, 7, high, low], 7777).into(), fingerprint };
            let announced = Announcement::new("tanks", &format!("server {number}"));
            let now = lobby.shared.clock.local();
            lock(&lobby.shared.inner).registry.announce(seen, announced, now).expect("there is room");
        }
        let address = LobbyAddress::new(lobby.address(), Trust::Pinned(vec![lobby.fingerprint()]));
        let found = find(&address, &Filter::default(), false).expect("the whole list");
        assert_eq!(found.len(), count as usize);
        assert_eq!(lobby.statistics().closed, 0, "no connection was too fast");
    }
}
