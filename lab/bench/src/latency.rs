//! How soon a due DR vector leaves after the call that flushes, beside the lateness of a thread
//! that sleeps.
//!
//! Prints times, because the promise is one: 99 of 100 leave within a millisecond.

use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use fairpath::schedule::Broadcast;
use fairpath::session::{Class, ClassId, Client, ClientConfig, Server, ServerConfig};
use fairpath::time::Span;
use fairpath::vector::{Vec2, Vector};
use fairpath::{EntityId, Observation, State};
use fairpath_net::{
    ClientThread, Identity, NetClient, NetClientConfig, NetServer, NetServerConfig, Trust, unguessable_random,
};
use fairpath_sim::DelayStatistics;

use crate::fleet::any_port;
use crate::measure::BenchTable;
use crate::middleman::row;

const CLIENTS: usize = 16;
/// Enough that a datagram with their DR vectors is longer than any other.
const OBJECTS: usize = 32;
const MOTION_BYTES_MIN: usize = 200;
/// Calls that are measured, and the pause between them: 50 Hz, with a bit more each time, so that
/// the calls fall anywhere between the passes of the server's thread.
const CALLS: u32 = 1_500;
const PAUSE: Duration = Duration::from_micros(20_000);
const DRIFT: Duration = Duration::from_micros(37);
/// Calls before the measurement: sealed datagrams are in use, and clocks have settled.
const WARM_UP: u32 = 200;
const GOAL: Span = Span::from_millis(1);
const OBJECT: ClassId = ClassId(0);

pub(crate) fn bench() -> BenchTable {
    let server = server();
    let tap = Tap::open(server.address());
    let thread = ClientThread::start().expect("a thread starts");
    // One client is behind the tap, which sees when packets leave.
    let clients: Vec<_> = (0..CLIENTS)
        .map(|nth| join(&server, &thread, if nth == 0 { tap.address } else { server.address() }))
        .collect();
    let create = |session: &mut Server<Vec2>, now| session.create(OBJECT, b"", now).expect("room");
    let objects: Vec<EntityId> =
        server.with_session(|session, now| (0..OBJECTS).map(|_| create(session, now)).collect());
    while server.with_session(|session, _| session.clients().count()) < CLIENTS {
        std::thread::sleep(Duration::from_millis(5));
    }
    let sleeper = Sleeper::start();
    let mut measured = Measured::default();
    for call in 0..WARM_UP + CALLS {
        if call == WARM_UP {
            measured = Measured::default();
        }
        std::thread::sleep(PAUSE + DRIFT * (call % 100));
        let called_at = Instant::now();
        server.with_session(|session, now| jump_all(session, &objects, call, now));
        measured.add(called_at, Instant::now(), &tap);
        clients
            .iter()
            .for_each(|client| client.with_session(|session, _| while session.poll_event().is_some() {}));
    }
    let asleep = sleeper.finish();
    let is_held = measured.from_call.p99() <= Some(GOAL) && measured.missing == 0;
    BenchTable::of_notes(&format!(
        "Latency of {CALLS} flushing calls, {CLIENTS} clients, {OBJECTS} objects (µs)"
    ))
    .note(format!("{:<58} {:>8} {:>8} {:>8} {:>8}", "", "median", "p95", "p99", "max"))
    .note(row("from the call to the datagram on the wire", &measured.from_call))
    .note(row("from the end of the call to the datagram on the wire", &measured.from_return))
    .note(row("the call itself", &measured.inside))
    .note(row("lateness of a thread that sleeps 1 to 4 ms", &asleep))
    .note(format!("calls whose datagram was not seen within a second: {}", measured.missing))
    .note(format!(
        "goal on an idle machine: 99 of 100 within {} ms: {}",
        GOAL.as_millis_f64(),
        if is_held { "held" } else { "not held" }
    ))
}

fn server() -> NetServer<Vec2> {
    let config = ServerConfig { clients_max: CLIENTS, ..ServerConfig::new(classes(), 1) };
    let session = Server::new(config, Box::new(Broadcast), unguessable_random());
    let mut net = NetServerConfig::new(any_port(), Identity::local(&[]).expect("a certificate"));
    net.limits.per_address_max = CLIENTS;
    net.limits.per_address_burst = 2 * CLIENTS as u32;
    NetServer::bind(net, session).expect("the loopback has a free port")
}

fn classes() -> [(ClassId, Class); 1] {
    [(OBJECT, Class::within(0.3))]
}

fn join(server: &NetServer<Vec2>, thread: &ClientThread, address: SocketAddr) -> NetClient<Vec2> {
    let config = NetClientConfig::new(Trust::Pinned(vec![server.fingerprint()]));
    let session = Client::new(ClientConfig::new(classes()), unguessable_random());
    NetClient::connect_on(thread, address, config, session).expect("a socket opens")
}

/// Puts every object elsewhere: each of them is due.
fn jump_all(session: &mut Server<Vec2>, objects: &[EntityId], call: u32, now: fairpath::time::SharedInstant) {
    while session.poll_event().is_some() {}
    for (nth, object) in objects.iter().enumerate() {
        let position = Vec2::new(f64::from(call % 100), nth as f64);
        let state = State::moving(position, Vec2::ZERO);
        session.observe(*object, Observation::Jumped(state), now).expect("its own object");
    }
}

#[derive(Default)]
struct Measured {
    from_call: DelayStatistics,
    from_return: DelayStatistics,
    inside: DelayStatistics,
    missing: u32,
}

impl Measured {
    /// Waits until the datagram of a call has passed the tap, and books its times.
    fn add(&mut self, called_at: Instant, returned_at: Instant, tap: &Tap) {
        let seen = loop {
            if let Some(seen) = tap.motion_since(called_at) {
                break seen;
            }
            if returned_at.elapsed() > Duration::from_secs(1) {
                self.missing += 1;
                return;
            }
            std::thread::sleep(Duration::from_micros(200));
        };
        self.from_call.add(span(seen - called_at));
        self.from_return.add(span(seen.saturating_duration_since(returned_at)));
        self.inside.add(span(returned_at - called_at));
    }
}

fn span(duration: Duration) -> Span {
    Span::from_micros(i64::try_from(duration.as_micros()).unwrap_or(i64::MAX))
}

// ── a thread that sleeps ────────────────────────────────────────────────────────────────────────

struct Sleeper {
    is_over: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<DelayStatistics>,
}

impl Sleeper {
    fn start() -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        let thread = std::thread::spawn(move || {
            let mut late = DelayStatistics::default();
            for nth in 0_u64.. {
                if over.load(Ordering::Relaxed) {
                    break;
                }
                let (pause, began) = (Duration::from_micros(1_000 + nth * 37 % 3_000), Instant::now());
                std::thread::sleep(pause);
                late.add(span(began.elapsed() - pause));
            }
            late
        });
        Self { is_over, thread }
    }

    fn finish(self) -> DelayStatistics {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.join().expect("the thread has not panicked")
    }
}

// ── a socket between one client and the server ──────────────────────────────────────────────────

/// Carries the packets of one client, and notes when motion came from the server.
struct Tap {
    shared: Arc<TapState>,
    address: SocketAddr,
}

struct TapState {
    server: SocketAddr,
    /// Towards the client.
    front: UdpSocket,
    /// Towards the server.
    back: UdpSocket,
    client: Mutex<Option<SocketAddr>>,
    /// When the newest datagram with motion came.
    motion_at: Mutex<Option<Instant>>,
}

impl Tap {
    fn open(server: SocketAddr) -> Self {
        let [front, back] =
            [(); 2].map(|()| UdpSocket::bind(any_port()).expect("the loopback has a free port"));
        let address = front.local_addr().expect("a bound socket has an address");
        let shared =
            Arc::new(TapState { server, front, back, client: Mutex::default(), motion_at: Mutex::default() });
        let (up, down) = (Arc::clone(&shared), Arc::clone(&shared));
        // They run until the bench ends.
        std::thread::spawn(move || up.carry_up());
        std::thread::spawn(move || down.carry_down());
        Self { shared, address }
    }

    fn motion_since(&self, instant: Instant) -> Option<Instant> {
        lock(&self.shared.motion_at).filter(|at| *at >= instant)
    }
}

impl TapState {
    fn carry_up(&self) {
        let mut buffer = [0; 2048];
        while let Ok((length, from)) = self.front.recv_from(&mut buffer) {
            *lock(&self.client) = Some(from);
            // A packet that the system refuses is lost.
            let _ = self.back.send_to(&buffer[..length], self.server);
        }
    }

    fn carry_down(&self) {
        let mut buffer = [0; 2048];
        while let Ok((length, _)) = self.back.recv_from(&mut buffer) {
            let now = Instant::now();
            if length >= MOTION_BYTES_MIN {
                *lock(&self.motion_at) = Some(now);
            }
            if let Some(client) = *lock(&self.client) {
                let _ = self.front.send_to(&buffer[..length], client);
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
