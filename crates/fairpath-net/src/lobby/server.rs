//! A lobby on a socket.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fairpath::session::CloseReason;
use fairpath::session::codec::put_bytes;
use quinn::Endpoint;
use tokio::sync::{mpsc, oneshot};

use super::message::{
    EntryId, Filter, Listing, LobbyRefusal, LobbyRequest, LobbyResponse, MESSAGE_BYTES_MAX,
};
use super::registry::{LobbyLimits, ProvenPeer, Registry};
use super::relay::{PacketRelay, RelayedEnd};
use super::{ALPN_LOBBY, transport_config};
use crate::clock::Clock;
use crate::connection_limiter::{ConnectionLimiter, Limits};
use crate::identity::{Callers, Fingerprint, Identity};
use crate::link::proven_fingerprint;
use crate::server::{AdmissionStatistics, BindError, open_endpoint, quic_config};

/// Where and how a lobby listens.
#[derive(Debug)]
pub struct LobbyConfig {
    /// Where to listen. Port 0 lets the system choose: [`LobbyServer::address`] tells which.
    pub listen: SocketAddr,
    /// What it proves to be.
    pub identity: Identity,
    /// Who may come, and how fast.
    pub limits: Limits,
    /// How much it takes.
    pub lobby_limits: LobbyLimits,
}

impl LobbyConfig {
    /// The usual, with an identity.
    pub fn new(listen: SocketAddr, identity: Identity) -> Self {
        Self { listen, identity, limits: Limits::default(), lobby_limits: LobbyLimits::default() }
    }
}

/// What a lobby has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LobbyStatistics {
    /// Entries on the list now.
    pub entries: usize,
    /// Connections now.
    pub connections: usize,
    /// Pairs relayed now.
    pub relays: usize,
    /// Lists that were asked for.
    pub lists: u64,
    /// Pairs that were introduced.
    pub introductions: u64,
    /// What was refused.
    pub refused: u64,
    /// Connections that were closed for what came on them.
    pub closed: u64,
    /// Who did not get in.
    pub door: AdmissionStatistics,
}

/// A lobby on a socket, with a thread of its own. The [module](super) says what it is. Dropping it
/// ends it.
#[derive(Debug)]
pub struct LobbyServer {
    shared: Arc<Shared>,
    address: SocketAddr,
    fingerprint: Fingerprint,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl LobbyServer {
    /// Starts.
    pub fn bind(config: LobbyConfig) -> Result<Self, BindError> {
        let quic = quic_config(&config.identity, &[ALPN_LOBBY], Callers::Anybody, transport_config())?;
        let (runtime, endpoint, address) = open_endpoint(config.listen, &config.identity, quic)?;
        let shared = Arc::new(Shared::new(&config));
        let (stop, stopped) = oneshot::channel();
        let inside = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("fairpath-lobby".into())
            .spawn(move || runtime.block_on(run(inside, endpoint, stopped)));
        let thread = Some(thread.map_err(BindError::System)?);
        let fingerprint = config.identity.fingerprint();
        Ok(Self { shared, address, fingerprint, stop: Some(stop), thread })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What others pin.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// Everybody on the list.
    pub fn entries(&self) -> Vec<Listing> {
        let mut live = self.shared.lock();
        live.book.expire(self.shared.clock.local());
        live.book.find(&Filter::default(), EntryId(0)).collect()
    }

    /// What it has done.
    pub fn statistics(&self) -> LobbyStatistics {
        let mut live = self.shared.lock();
        live.book.expire(self.shared.clock.local());
        LobbyStatistics {
            entries: live.book.len(),
            connections: live.lines.len(),
            relays: live.relayed(),
            ..live.statistics
        }
    }
}

impl Drop for LobbyServer {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // If it panicked it has said so.
            let _ = thread.join();
        }
    }
}

#[derive(Debug)]
struct Shared {
    live: Mutex<Live>,
    clock: Clock,
    /// Where relays listen.
    relay_from: IpAddr,
    limits: LobbyLimits,
}

#[derive(Debug)]
struct Live {
    book: Registry,
    door: ConnectionLimiter,
    lines: BTreeMap<u64, Line>,
    next_line: u64,
    /// Pairs that were introduced, the lower name first.
    acquaintances: BTreeMap<(Fingerprint, Fingerprint), Acquaintance>,
    statistics: LobbyStatistics,
}

/// Somebody connected.
#[derive(Debug)]
struct Line {
    quic: quinn::Connection,
    fingerprint: Option<Fingerprint>,
    answers: mpsc::Sender<LobbyResponse>,
    /// How much others may still want to meet it.
    sociability: Allowance,
}

#[derive(Debug)]
struct Acquaintance {
    introduced_at: Instant,
    relay: Option<PacketRelay>,
}

/// Connections at once: everybody on a full list, and a quarter more who only look.
const LINES_MAX: usize = 4096 + 1024;
/// Answers that wait for one connection: a page of the list and some introductions.
const ANSWERS_MAX: usize = 2 * PAGE;
/// Entries that are told at once; more are asked for.
const PAGE: usize = 32;
/// Questions of one connection: so many a second for ever, and so many at once. Who joins a mesh of
/// 32 asks 32 introductions.
const ASKS_PER_SEC: f64 = 5.0;
/// See [`ASKS_PER_SEC`].
const ASKS_BURST: f64 = 80.0;
/// Introductions to one entry: so many a second, and so many at once. Each makes it call somebody.
const MEETS_PER_SEC: f64 = 4.0;
/// See [`MEETS_PER_SEC`].
const MEETS_BURST: f64 = 64.0;
/// How long a pair may ask for a relay after it was introduced.
const RELAY_WITHIN: Duration = Duration::from_secs(120);
/// Pairs that are remembered: all of a mesh of 32 some times over.
const ACQUAINTANCES_MAX: usize = 4096;
/// A connection must ask something within this long, and then at least renew.
const SILENCE_MAX: Duration = super::EXPIRES_AFTER;

impl Shared {
    fn new(config: &LobbyConfig) -> Self {
        let live = Live {
            book: Registry::new(config.lobby_limits),
            door: ConnectionLimiter::new(config.limits),
            lines: BTreeMap::new(),
            next_line: 0,
            acquaintances: BTreeMap::new(),
            statistics: LobbyStatistics::default(),
        };
        Self {
            live: Mutex::new(live),
            clock: Clock::unix(),
            relay_from: config.listen.ip(),
            limits: config.lobby_limits,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One question, and what is answered to whoever asked; others may be told something too.
    fn handle(&self, line: u64, ask: LobbyRequest) -> Vec<LobbyResponse> {
        let mut live = self.lock();
        let now = self.clock.local();
        live.book.expire(now);
        let answered = match ask {
            LobbyRequest::Announce(announcement) => live.seen(line).and_then(|seen| {
                let entry = live.book.announce(seen, announcement, now)?;
                Ok(vec![LobbyResponse::Announced(entry, seen.address)])
            }),
            LobbyRequest::Withdraw => {
                live.book.withdraw(line);
                Ok(Vec::new())
            }
            LobbyRequest::Find(filter, after) => {
                live.statistics.lists += 1;
                let mut found: Vec<Listing> = live.book.find(&filter, after).take(PAGE + 1).collect();
                let has_more = found.len() > PAGE;
                found.truncate(PAGE);
                Ok(found
                    .into_iter()
                    .map(LobbyResponse::Found)
                    .chain([LobbyResponse::End(has_more)])
                    .collect())
            }
            LobbyRequest::Meet(entry) => live.introduce(line, entry).map(|meeting| vec![meeting]),
            LobbyRequest::Relay(peer) => self.relay(&mut live, line, peer).map(|relay| vec![relay]),
        };
        answered.unwrap_or_else(|refusal| {
            live.statistics.refused += 1;
            vec![LobbyResponse::Refused(refusal)]
        })
    }

    /// Carries what two say to each other who were introduced; the other one is told as well.
    fn relay(&self, live: &mut Live, line: u64, peer: Fingerprint) -> Result<LobbyResponse, LobbyRefusal> {
        live.forget_acquaintances();
        let asker = live.seen(line)?;
        let other = live.line_of(peer).ok_or(LobbyRefusal::NoRelay)?;
        let other = live.seen(other)?;
        let pair = pair(asker.fingerprint, peer);
        let has_room = live.relayed() < self.limits.relays_max;
        let known = live.acquaintances.get_mut(&pair).ok_or(LobbyRefusal::NoRelay)?;
        if known.relay.is_none() {
            if !has_room {
                return Err(LobbyRefusal::NoRelay);
            }
            let (lower, upper) = if asker.fingerprint == pair.0 { (asker, other) } else { (other, asker) };
            let relay = PacketRelay::open(self.relay_from, lower.address.ip(), upper.address.ip());
            known.relay = Some(relay.map_err(|_| LobbyRefusal::NoRelay)?);
        }
        let relay = known.relay.as_ref().ok_or(LobbyRefusal::NoRelay)?;
        let port = |name| relay.port(if name == pair.0 { RelayedEnd::Lower } else { RelayedEnd::Upper });
        let (ports_asker, port_other) = (port(asker.fingerprint), port(peer));
        live.tell(other.connection, LobbyResponse::Relay(asker.fingerprint, port_other))?;
        Ok(LobbyResponse::Relay(peer, ports_asker))
    }
}

impl Live {
    /// Who that is, as it is proven now.
    fn seen(&self, line: u64) -> Result<ProvenPeer, LobbyRefusal> {
        let known = self.lines.get(&line).ok_or(LobbyRefusal::NoSuchEntry)?;
        let fingerprint = known.fingerprint.ok_or(LobbyRefusal::NoCertificate)?;
        Ok(ProvenPeer { connection: line, address: known.quic.remote_address(), fingerprint })
    }

    fn line_of(&self, fingerprint: Fingerprint) -> Option<u64> {
        // The newest: an older one of the same name may be dead already.
        self.lines.iter().rev().find(|(_, line)| line.fingerprint == Some(fingerprint)).map(|(id, _)| *id)
    }

    /// Tells two of each other: the entry first, and the answer is for who asked.
    fn introduce(&mut self, line: u64, entry: EntryId) -> Result<LobbyResponse, LobbyRefusal> {
        let asker = self.seen(line)?;
        let (other, is_wanted) = self.book.get(entry).ok_or(LobbyRefusal::NoSuchEntry)?;
        if other.fingerprint == asker.fingerprint {
            return Err(LobbyRefusal::NoSuchEntry);
        }
        if !is_wanted {
            return Err(LobbyRefusal::NotWanted);
        }
        self.forget_acquaintances();
        if self.acquaintances.len() >= ACQUAINTANCES_MAX {
            return Err(LobbyRefusal::Busy);
        }
        // As it is seen now, not as it was when it last renewed.
        let other = self.seen(other.connection)?;
        let host = self.lines.get_mut(&other.connection).ok_or(LobbyRefusal::NoSuchEntry)?;
        if !host.sociability.take(MEETS_PER_SEC, MEETS_BURST) {
            return Err(LobbyRefusal::Busy);
        }
        self.tell(other.connection, LobbyResponse::Meet(asker.fingerprint, asker.address))?;
        let known = self.acquaintances.entry(pair(asker.fingerprint, other.fingerprint));
        let known = known.or_insert(Acquaintance { introduced_at: Instant::now(), relay: None });
        known.introduced_at = Instant::now();
        self.statistics.introductions += 1;
        Ok(LobbyResponse::Meet(other.fingerprint, other.address))
    }

    fn tell(&self, line: u64, answer: LobbyResponse) -> Result<(), LobbyRefusal> {
        let line = self.lines.get(&line).ok_or(LobbyRefusal::NoSuchEntry)?;
        line.answers.try_send(answer).map_err(|_| LobbyRefusal::Busy)
    }

    fn relayed(&self) -> usize {
        let relays = self.acquaintances.values().filter_map(|known| known.relay.as_ref());
        relays.filter(|relay| relay.is_alive()).count()
    }

    fn forget_acquaintances(&mut self) {
        self.acquaintances.retain(|_, known| {
            known.relay.take_if(|relay| !relay.is_alive());
            known.relay.is_some() || known.introduced_at.elapsed() < RELAY_WITHIN
        });
    }
}

/// Two names in one order, whoever asks.
fn pair(one: Fingerprint, other: Fingerprint) -> (Fingerprint, Fingerprint) {
    (one.min(other), one.max(other))
}

/// So many a second for ever, and so many at once.
#[derive(Debug)]
pub(super) struct Allowance {
    left: f64,
    refilled_at: Instant,
}

impl Allowance {
    pub(super) fn full(burst: f64) -> Self {
        Self { left: burst, refilled_at: Instant::now() }
    }

    fn take(&mut self, per_sec: f64, burst: f64) -> bool {
        self.take_many(1.0, per_sec, burst)
    }

    pub(super) fn take_many(&mut self, count: f64, per_sec: f64, burst: f64) -> bool {
        let elapsed = self.refilled_at.elapsed().as_secs_f64();
        self.refilled_at = Instant::now();
        self.left = (self.left + elapsed * per_sec).min(burst);
        let is_enough = self.left >= count;
        if is_enough {
            self.left -= count;
        }
        is_enough
    }
}

// ── the thread
// ──────────────────────────────────────────────────────────────────────────────────────────────

async fn run(shared: Arc<Shared>, endpoint: Endpoint, stop: oneshot::Receiver<()>) {
    tokio::spawn(accept(shared, endpoint.clone()));
    let _ = stop.await;
    endpoint.close(u32::from(CloseReason::Finished.code()).into(), b"the lobby closes");
    let _ = tokio::time::timeout(LAST_WORDS, endpoint.wait_idle()).await;
}

/// How long connections may take to hear that it is over.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Lets people in. Until an address is proven nothing is kept of whoever uses it.
async fn accept(shared: Arc<Shared>, endpoint: Endpoint) {
    while let Some(incoming) = endpoint.accept().await {
        let address = incoming.remote_address().ip();
        let mut live = shared.lock();
        if !incoming.remote_address_validated() {
            live.statistics.door.retried += 1;
            // It can always be retried when it is not validated.
            let _ = incoming.retry();
        } else if live.lines.len() < LINES_MAX && live.door.admit(address, Instant::now()) {
            tokio::spawn(receive(Arc::clone(&shared), incoming, address));
        } else {
            live.statistics.door.refused += 1;
            incoming.refuse();
        }
    }
}

async fn receive(shared: Arc<Shared>, incoming: quinn::Incoming, address: IpAddr) {
    let shaken = async { incoming.accept().ok()?.await.ok() };
    let connected = tokio::time::timeout(Duration::from_secs(5), shaken).await.ok().flatten();
    shared.lock().door.on_handshake_over(address);
    match connected {
        Some(quic) => converse(&shared, quic).await,
        None => shared.lock().statistics.door.failed += 1,
    }
    shared.lock().door.on_gone(address);
}

/// One connection, from its beginning to its end.
async fn converse(shared: &Arc<Shared>, quic: quinn::Connection) {
    let (answers, waiting) = mpsc::channel(ANSWERS_MAX);
    let line = {
        let mut live = shared.lock();
        let line = live.next_line;
        live.next_line += 1;
        let known = Line {
            fingerprint: proven_fingerprint(&quic),
            quic: quic.clone(),
            answers: answers.clone(),
            sociability: Allowance::full(MEETS_BURST),
        };
        live.lines.insert(line, known);
        line
    };
    let ended = listen(shared, line, &quic, &answers, waiting).await;
    {
        let mut live = shared.lock();
        live.lines.remove(&line);
        live.book.withdraw(line);
        live.statistics.closed += u64::from(ended.is_err());
    }
    let reason = ended.err().unwrap_or(CloseReason::Finished);
    quic.close(u32::from(reason.code()).into(), reason.to_string().as_bytes());
}

/// Answers questions until the other end has no more. An error is why it is sent away.
async fn listen(
    shared: &Arc<Shared>,
    line: u64,
    quic: &quinn::Connection,
    answers: &mpsc::Sender<LobbyResponse>,
    waiting: mpsc::Receiver<LobbyResponse>,
) -> Result<(), CloseReason> {
    let opened = tokio::time::timeout(SILENCE_MAX, quic.accept_bi()).await;
    let Ok((sending, mut receiving)) = opened.map_err(|_| CloseReason::NoGreeting)? else { return Ok(()) };
    tokio::spawn(write_answers(sending, waiting));
    let mut patience = Allowance::full(ASKS_BURST);
    loop {
        let read = tokio::time::timeout(SILENCE_MAX, read_message(&mut receiving)).await;
        let Some(bytes) = read.map_err(|_| CloseReason::Silent)?? else { return Ok(()) };
        if !patience.take(ASKS_PER_SEC, ASKS_BURST) {
            return Err(CloseReason::TooFast);
        }
        let ask = LobbyRequest::decode(&bytes).map_err(|_| CloseReason::Malformed)?;
        for answer in shared.handle(line, ask) {
            // Who does not read what it asked for waits here, and is silent soon.
            let told = tokio::time::timeout(SILENCE_MAX, answers.send(answer)).await;
            if told.map_err(|_| CloseReason::Silent)?.is_err() {
                return Ok(());
            }
        }
    }
}

async fn write_answers(mut sending: quinn::SendStream, mut waiting: mpsc::Receiver<LobbyResponse>) {
    while let Some(answer) = waiting.recv().await {
        if write_message(&mut sending, &answer.encode()).await.is_err() {
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

/// The next message of a stream; nothing at its end. What is too long to be one is refused before
/// it is read.
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
