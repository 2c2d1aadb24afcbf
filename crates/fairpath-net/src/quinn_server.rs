//! A server on quinn's tasks, for peers of a mesh.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use fairpath::session::limits::HELLO_WITHIN;
use fairpath::session::{ClientId, CloseReason, ConnectionId, DatagramEffect, Server, Token};
use fairpath::time::SharedInstant;
use fairpath::vector::Planar;
use quinn::Endpoint;
use tokio::sync::Notify;
use tokio::task::JoinError;

use crate::admissions::{HandshakePlace, Verdict, household};
use crate::background::{CHECK_EVERY, CLOSE_WITHIN};
use crate::connection::{Connection, ConnectionLost, Inbound, ReceiveStream, SendStream, listen};
use crate::identity::{Fingerprint, unguessable};
use crate::lock;
use crate::pace::{Pause, pause};
use crate::sender::{PeerSender, SendProgress, ServerOutbound};
use crate::served::{LinkStatus, ServedSession};
use crate::server::{EndedConnection, PeerStatus};

/// A session, and the tasks that send for it.
#[derive(Debug)]
pub(crate) struct QuinnServer<V: Planar> {
    served: Arc<ServedSession<V>>,
    /// Locked after the session, never before.
    senders: Mutex<Senders>,
    /// Notified when anything happened.
    wake: Arc<Notify>,
    /// Notified after the game's access, which must not wait for the pause.
    hurry: Notify,
}

#[derive(Debug)]
struct Senders {
    of: BTreeMap<ConnectionId, PeerSender>,
    measured_at: Instant,
}

/// Interval at which the session gets QUIC's round trips: several per half-life of its estimate.
const MEASURE_EVERY: Duration = Duration::from_millis(200);

impl<V: Planar> QuinnServer<V> {
    pub(crate) fn new(served: Arc<ServedSession<V>>) -> Self {
        Self {
            served,
            senders: Mutex::new(Senders { of: BTreeMap::new(), measured_at: Instant::now() }),
            wake: Arc::new(Notify::new()),
            hurry: Notify::new(),
        }
    }

    /// Gives the game access to the session, and wakes the thread without a pause.
    #[track_caller]
    pub(crate) fn frame<R>(&self, turn: impl FnOnce(&mut Server<V>, SharedInstant) -> R) -> R {
        self.served.assert_alive("NetPeer");
        let result = self.served.with(turn);
        self.hurry();
        result
    }

    pub(crate) fn failure(&self) -> Option<&str> {
        self.served.failure()
    }

    fn hurry(&self) {
        self.wake.notify_one();
        self.hurry.notify_one();
    }

    fn with<R>(&self, turn: impl FnOnce(&mut Server<V>, SharedInstant) -> R) -> R {
        let result = self.served.with(turn);
        self.wake.notify_one();
        result
    }

    #[track_caller]
    pub(crate) fn status(&self) -> Vec<PeerStatus> {
        let inner = self.served.inner.lock_for("status");
        let senders = lock(&self.senders);
        inner.status(senders.of.iter().map(|(id, sender)| (*id, link_status(sender))))
    }

    /// Dismisses the clients that have the key of this certificate.
    pub(crate) fn dismiss(&self, fingerprint: Fingerprint) {
        let theirs = |peer: &PeerStatus| peer.fingerprint == Some(fingerprint);
        let clients: Vec<ClientId> =
            self.status().into_iter().filter(theirs).filter_map(|peer| peer.client).collect();
        self.with(|session, now| clients.iter().for_each(|client| session.dismiss(*client, now)));
    }

    /// Runs the session's loop once. Returns whether something was sent.
    fn pump(&self) -> bool {
        let mut inner = self.served.inner.lock();
        let now = inner.advance(self.served.clock.shared());
        let (session, mut senders) = (&mut inner.session, lock(&self.senders));
        session.handle_timeout(now);
        senders.measure(session);
        let has_sent = senders.send_due(session, now);
        self.close_ended(session, &mut senders);
        has_sent
    }

    fn close_ended(&self, session: &mut Server<V>, senders: &mut Senders) {
        while let Some((id, reason)) = session.poll_close() {
            let Some(sender) = senders.of.remove(&id) else { continue };
            if reason.accuses() {
                self.served.on_thrown_out(sender.connection().address().ip());
            }
            sender.close(reason);
        }
    }

    /// The pause before the next pass, after connections had their turn to send.
    fn pause(&self) -> Pause {
        let mut inner = self.served.inner.lock();
        let now = inner.advance(self.served.clock.shared());
        let progress = lock(&self.senders).check_sent(&inner.session, now);
        let deadline = inner.session.poll_deadline(now);
        pause(progress, deadline.map(|at| self.served.clock.when(at.as_micros())))
    }
}

fn link_status(sender: &PeerSender) -> LinkStatus {
    let connection = sender.connection();
    LinkStatus {
        address: connection.address(),
        fingerprint: connection.fingerprint(),
        transport: connection.transport(),
        departures: sender.departures(),
        sealed: None,
        quic: connection.quic_statistics(),
    }
}

impl Senders {
    /// Sends to every client that is due. Returns whether something was sent.
    fn send_due<V: Planar>(&mut self, session: &mut Server<V>, now: SharedInstant) -> bool {
        let mut has_sent = false;
        for (id, sender) in &mut self.of {
            if session.is_due(*id, now) {
                let outbound = &mut ServerOutbound { session, id: *id, now };
                has_sent |= sender.pump(outbound).has_sent;
            }
        }
        has_sent
    }

    /// Checks which datagrams have left, and whether their clients have more to send.
    fn check_sent<V: Planar>(&mut self, session: &Server<V>, now: SharedInstant) -> SendProgress {
        let mut all = SendProgress::default();
        for (id, sender) in self.of.iter_mut().filter(|(_, sender)| sender.is_sending()) {
            all.is_blocked |= !sender.has_left();
            all.has_sent |= !sender.is_sending() && session.is_due(*id, now);
        }
        all
    }

    fn measure<V: Planar>(&mut self, session: &mut Server<V>) {
        if self.measured_at.elapsed() < MEASURE_EVERY {
            return;
        }
        self.measured_at = Instant::now();
        for (id, sender) in &self.of {
            session.handle_round_trip(*id, sender.connection().round_trip());
        }
    }
}

// ── the thread

pub(crate) fn serve<V: Planar>(shared: &Arc<QuinnServer<V>>, endpoint: &Endpoint) {
    tokio::spawn(accept(Arc::clone(shared), endpoint.clone()));
    supervise(shared, endpoint, drive(Arc::clone(shared)));
}

/// Runs a task. If it panics, in a callback of the game, the session may be in the middle of a
/// change: the server ends, and the game hears of it.
fn supervise<V: Planar>(
    shared: &Arc<QuinnServer<V>>,
    endpoint: &Endpoint,
    task: impl Future<Output = ()> + Send + 'static,
) {
    let (shared, endpoint, task) = (Arc::clone(shared), endpoint.clone(), tokio::spawn(task));
    tokio::spawn(async move {
        // The only other error is that the runtime ends.
        if let Err(panic) = task.await.map_err(JoinError::try_into_panic)
            && let Ok(panic) = panic
        {
            shared.served.fail(&*panic);
            let reason = CloseReason::Restarting;
            endpoint.set_server_config(None);
            endpoint.close(u32::from(reason.code()).into(), reason.to_string().as_bytes());
        }
    });
}

/// Refuses new clients, waits for confirmations and closes. Returns whether all was confirmed.
pub(crate) async fn finish<V: Planar>(
    shared: &QuinnServer<V>,
    endpoint: &Endpoint,
    within: Duration,
) -> bool {
    // New connections are refused from here on.
    endpoint.set_server_config(None);
    let flushed = async {
        while !shared.served.inner.lock().is_all_confirmed() {
            tokio::time::sleep(CHECK_EVERY).await;
        }
    };
    let is_all_confirmed = tokio::time::timeout(within, flushed).await.is_ok();
    let farewell = shared.served.inner.lock().farewell;
    endpoint.close(u32::from(farewell.code()).into(), farewell.to_string().as_bytes());
    let _ = tokio::time::timeout(CLOSE_WITHIN, endpoint.wait_idle()).await;
    is_all_confirmed
}

async fn drive<V: Planar>(shared: Arc<QuinnServer<V>>) {
    loop {
        let began = Instant::now();
        let has_sent = shared.pump();
        let mut busy_for = began.elapsed();
        if has_sent {
            // Connections get their turn, and the datagrams leave.
            tokio::task::yield_now().await;
        }
        let checked_at = Instant::now();
        let pause = shared.pause();
        busy_for += checked_at.elapsed();
        let rest = pause_after(busy_for).map(|rest| Instant::now() + rest);
        pause.wait(&shared.wake).await;
        if let (Some(until), true) = (rest, pause != Pause::Yield) {
            let _ = tokio::time::timeout_at(until.into(), shared.hurry.notified()).await;
        }
    }
}

/// One pass checks every client. Unless the game has something to send, the next pass waits this
/// many times as long as the last one took. Datagrams that arrive in the meantime are handled
/// together, and the passes take a fifth of the time.
const PAUSE_FACTOR: u32 = 4;
/// Tokio's clock counts in milliseconds: a shorter pause would become longer than it should, and a
/// few clients are not worth a pause.
const PAUSE_MIN: Duration = Duration::from_millis(1);
/// Half a frame of 60 Hz. Data from client to client waits no longer, with any number of clients.
const PAUSE_MAX: Duration = Duration::from_millis(8);

fn pause_after(busy_for: Duration) -> Option<Duration> {
    let rest = busy_for * PAUSE_FACTOR;
    (rest >= PAUSE_MIN).then(|| rest.min(PAUSE_MAX))
}

/// Accepts connections. The server keeps nothing of an address before it is proven.
async fn accept<V: Planar>(shared: Arc<QuinnServer<V>>, endpoint: Endpoint) {
    while let Some(incoming) = endpoint.accept().await {
        let address = incoming.remote_address().ip();
        match shared.served.admit(address, incoming.remote_address_validated()) {
            // An address that is not validated can always be retried.
            Verdict::Retry => drop(incoming.retry()),
            Verdict::Ignore => incoming.ignore(),
            Verdict::Refuse => incoming.refuse(),
            Verdict::Accept(place) => {
                let admitted = Admitted { shared: Arc::clone(&shared), address, place: Some(place) };
                supervise(&shared, &endpoint, receive(admitted, incoming));
            }
        }
    }
}

async fn receive<V: Planar>(mut admitted: Admitted<V>, incoming: quinn::Incoming) {
    let place = admitted.place.clone().unwrap_or_default();
    let greeted = tokio::select! {
        greeted = greet(incoming) => greeted,
        () = place.lost() => Err(ConnectionLost),
    };
    admitted.on_handshake_over(greeted.is_err());
    if let Ok((connection, sending, receiving)) = greeted {
        run_connection(&admitted.shared, admitted.address, connection, sending, receiving).await;
    }
}

/// A connection that the limiter counts. Dropping it releases its place, also after a panic.
struct Admitted<V: Planar> {
    shared: Arc<QuinnServer<V>>,
    address: IpAddr,
    /// Until its handshake is over.
    place: Option<HandshakePlace>,
}

impl<V: Planar> Admitted<V> {
    fn on_handshake_over(&mut self, has_failed: bool) {
        if let Some(place) = self.place.take() {
            self.shared.served.on_handshake_over(self.address, &place, has_failed);
        }
    }
}

impl<V: Planar> Drop for Admitted<V> {
    fn drop(&mut self) {
        self.on_handshake_over(true);
        self.shared.served.on_gone(self.address);
    }
}

/// Waits from the first packet until the client has written to the ordered stream, for at most
/// [`HELLO_WITHIN`].
async fn greet(incoming: quinn::Incoming) -> Result<(Connection, SendStream, ReceiveStream), ConnectionLost> {
    let deadline = tokio::time::Instant::now() + Duration::from_micros(HELLO_WITHIN.as_micros() as u64);
    let connected = tokio::time::timeout_at(deadline, incoming.accept()?).await;
    let connection = Connection::quic(connected.map_err(|_| ConnectionLost)??);
    match tokio::time::timeout_at(deadline, connection.accept_stream()).await {
        Ok(streams) => streams.map(|(sending, receiving)| (connection, sending, receiving)),
        Err(_) => {
            // Dropped without a reason, the connection would close with code 0, which tells the
            // client that the session is finished for good. A slow link deserves another attempt.
            connection.close(CloseReason::NoGreeting);
            Err(ConnectionLost)
        }
    }
}

async fn run_connection<V: Planar>(
    shared: &Arc<QuinnServer<V>>,
    address: IpAddr,
    connection: Connection,
    sending: SendStream,
    receiving: ReceiveStream,
) {
    let connection = Arc::new(connection);
    let id = {
        let mut inner = shared.served.inner.lock();
        let now = inner.advance(shared.served.clock.shared());
        let (household, token) = (household(address), Token(unguessable()));
        let Some(id) = inner.session.handle_connected_from(household, token, now) else {
            connection.close(CloseReason::Full);
            return;
        };
        let sender = PeerSender::open(Arc::clone(&connection), sending, &shared.wake);
        lock(&shared.senders).of.insert(id, sender);
        id
    };
    let inbound = Arc::new(ServerInbound { shared: Arc::clone(shared), id, client: OnceLock::new() });
    let reason = listen(&connection, receiving, &inbound).await;
    if let Some(client) = inbound.client.get().copied() {
        let (address, problem) = (connection.address(), connection.problem());
        shared.served.push_ended(EndedConnection { client, address, problem });
    }
    lock(&shared.senders).of.remove(&id);
    shared.with(|session, now| session.handle_disconnected(id, reason, now));
}

struct ServerInbound<V: Planar> {
    shared: Arc<QuinnServer<V>>,
    id: ConnectionId,
    /// The client, once it has introduced itself.
    client: OnceLock<ClientId>,
}

impl<V: Planar> Inbound for ServerInbound<V> {
    fn on_stream(&self, bytes: &[u8]) {
        self.shared.with(|session, now| {
            session.handle_stream(self.id, bytes, now);
            if let (None, Some(client)) = (self.client.get(), session.client_on(self.id)) {
                let _ = self.client.set(client);
            }
        });
    }

    fn on_unordered(&self, bytes: &[u8]) {
        self.shared.with(|session, now| session.handle_unordered(self.id, bytes, now));
    }

    fn on_datagram(&self, bytes: &[u8]) {
        let effect = self.shared.served.with(|session, now| session.handle_datagram(self.id, bytes, now));
        if effect != DatagramEffect::Nothing {
            self.shared.wake.notify_one();
        }
    }

    fn on_violation(&self, _: CloseReason) {
        if let Some(sender) = lock(&self.shared.senders).of.get(&self.id) {
            self.shared.served.on_thrown_out(sender.connection().address().ip());
        }
    }
}
