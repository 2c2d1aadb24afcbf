//! How many clients one server can serve: each drives one tank and sees the 32 nearest, at 20 Hz.
//!
//! Server and bots are separate processes on one machine. A bot is a whole client: a socket, QUIC,
//! TLS, a session with a clock of its own. Only the thread is shared.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::time::Duration;

use fairpath::schedule::Broadcast;
use fairpath::session::{
    Class, ClassId, Client, ClientConfig, Nearest, Protocol, Server, ServerConfig, ServerEvent,
};
use fairpath::time::Span;
use fairpath::vector::{Vec2, Vec3, Vector};
use fairpath::wire::{Precision, PrecisionSettings};
use fairpath::{EntityId, Observation, State};
use fairpath_bench::{ErrorHistogram, Helper, TankPaths, machine, report, until_stdin_ends};
use fairpath_net::{
    ClientThread, Identity, NetClient, NetClientConfig, NetServer, NetServerConfig, Trust, unguessable_random,
};
use serde::{Deserialize, Serialize};

use crate::measure::BenchTable;

const CLIENTS: usize = 1_000;
const NEIGHBOURS: usize = 32;
const TICKS_HZ: f64 = 20.0;
/// Each peer sends at most one datagram per tick to the same peer.
const TICK: Span = Span::from_millis(50);
/// Interval of the scope check: in a quarter of a second a tank drives its own length.
const SCOPE_EVERY: Span = Span::from_millis(250);
const THRESHOLD: f64 = 0.3;
const TANK: ClassId = ClassId(0);
/// Duration of the measurement, and of the wait before it for handshakes, clocks, first updates.
const MEASURE: Duration = Duration::from_secs(60);
const SETTLE: Duration = Duration::from_secs(10);
/// Extra length of the recording after the measurement.
const AFTER_ALL: Duration = Duration::from_secs(20);
/// Groups of bots that tick at different times: real players do not all act at once.
const TURNS: usize = 10;
/// Bots that connect per second: a handshake takes each end a millisecond or two.
const ARRIVALS_HZ: f64 = 50.0;
/// A tick that ends later than this is noticeable: half a frame at 20 Hz.
const LATE: Duration = Duration::from_millis(25);
const SEED: u64 = 11;

/// Arguments that start this program as the server, and as the bots.
pub(crate) const AS_SERVER: &str = "--as-crowded-server";
pub(crate) const AS_BOTS: &str = "--as-a-crowd";

#[derive(Debug, Serialize, Deserialize)]
struct ServerAddress {
    address: SocketAddr,
    pin: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct ServerReport {
    processor_secs: f64,
    secs: f64,
    /// How late each tick ended, in microseconds, sorted.
    late_us: Vec<u64>,
    /// How long the game waited for the session in each tick, in microseconds, sorted.
    wait_us: Vec<u64>,
    lost: u64,
    udp_dropped: u64,
    bytes: u64,
    vectors: u64,
    resident: u64,
}

/// What the bots report: errors in each second, and their processor time.
#[derive(Debug, Serialize, Deserialize)]
struct BotsReport {
    seconds: BTreeMap<u64, ErrorHistogram>,
    processor_secs: BTreeMap<u64, f64>,
}

pub(crate) const HELP: &str = "\
thousand [CLIENTS [SECS [THREADS]]]   measure CLIENTS clients (1 to 4000, default 1000) for SECS seconds (1 to 60,
                            default 60) at a server with THREADS threads (1 to 64, default 1)
thousand search             find the largest number of clients that one server holds, in steps of 50, 20 s each
";
/// Duration of each measurement of the search, and its step.
const TRY: Duration = Duration::from_secs(20);
const STEP: usize = 50;
/// The largest number of clients: with more, the bots' sockets reach the system's limits first.
const CLIENTS_MAX: usize = 4_000;

/// Runs what the arguments ask for, or returns `None` if they are not valid.
pub(crate) fn bench(arguments: &[String]) -> Option<BenchTable> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let clients = |word: &str| word.parse().ok().filter(|clients| (1..=CLIENTS_MAX).contains(clients));
    let secs = |word: &str| word.parse().ok().filter(|secs| (1..=MEASURE.as_secs()).contains(secs));
    let span = |word: &str| secs(word).map(Duration::from_secs);
    let threads =
        |word: &str| word.parse().ok().filter(|threads| (1..=NetServerConfig::THREADS_MAX).contains(threads));
    match words.as_slice() {
        [] => Some(CrowdRun::gather(CLIENTS, MEASURE, 1).table()),
        ["search"] => Some(search()),
        [count] => Some(CrowdRun::gather(clients(count)?, MEASURE, 1).table()),
        [count, lasting] => Some(CrowdRun::gather(clients(count)?, span(lasting)?, 1).table()),
        [count, lasting, by] => Some(CrowdRun::gather(clients(count)?, span(lasting)?, threads(by)?).table()),
        _ => None,
    }
}

/// Searches by bisection between a number of clients that holds and one that does not.
fn search() -> BenchTable {
    let (mut holds, mut fails) = (0, CLIENTS_MAX / STEP);
    let (mut best, mut next) = (None, CLIENTS / STEP);
    while fails - holds > 1 {
        let crowd = CrowdRun::gather(next * STEP, TRY, 1);
        eprintln!("{}", crowd.table());
        if crowd.is_held() {
            (holds, best) = (next, Some(crowd));
            next = (2 * next).min(holds.midpoint(fails));
        } else {
            fails = next;
            next = holds.midpoint(fails);
        }
    }
    best.map_or_else(
        || BenchTable::of_notes("50 clients are already too many for this machine"),
        |crowd| crowd.table(),
    )
}

struct CrowdRun {
    clients: usize,
    threads: usize,
    served: ServerReport,
    errors: ErrorHistogram,
    bots_cores: f64,
}

impl CrowdRun {
    fn gather(clients: usize, measure: Duration, threads: usize) -> Self {
        let (count, secs) = (clients.to_string(), measure.as_secs().to_string());
        let mut server = Helper::start([AS_SERVER, &count, &secs, &threads.to_string()]);
        let invitation: ServerAddress = server.next_report();
        let address = invitation.address.to_string();
        let bots = Helper::start([AS_BOTS, &count, &address, &invitation.pin]);
        eprintln!("   the server is process {}, the bots are process {}", server.id(), bots.id());
        let _: String = server.next_report();
        let from = machine::now().as_secs() + 1;
        let served: ServerReport = server.next_report();
        let until = machine::now().as_secs();
        let seen: BotsReport = bots.finish();

        let mut errors = ErrorHistogram::default();
        seen.seconds.range(from..until).for_each(|(_, second)| errors.merge(second));
        let used: Vec<f64> = seen.processor_secs.range(from..until).map(|(_, used)| *used).collect();
        let used_secs = used.last().unwrap_or(&0.0) - used.first().unwrap_or(&0.0);
        Self {
            clients,
            threads,
            served,
            errors,
            bots_cores: used_secs / used.len().saturating_sub(1).max(1) as f64,
        }
    }

    /// Returns the lateness that this share of the ticks does not exceed, in milliseconds.
    fn late_ms(&self, share: f64) -> f64 {
        of_sorted(&self.served.late_us, share)
    }

    fn is_held(&self) -> bool {
        let is_in_time = self.late_ms(0.99) <= LATE.as_secs_f64() * 1e3;
        is_in_time && self.served.lost + self.served.udp_dropped == 0
    }

    fn table(&self) -> BenchTable {
        let Self { clients, threads, served, errors, bots_cores } = self;
        let share = served.secs * *clients as f64;
        BenchTable::of_notes(&format!(
            "{clients} clients, each drives a tank and sees the {NEIGHBOURS} nearest, {TICKS_HZ} Hz, {:.0} s, \
             server threads: {threads}",
            served.secs
        ))
        .note(format!(
            "lateness of ticks, p50 / p99 / worst {:>8.1} / {:.1} / {:.1} ms",
            self.late_ms(0.5),
            self.late_ms(0.99),
            self.late_ms(1.0)
        ))
        .note(format!(
            "the game's wait for the session, p50 / p99 / worst {:>4.1} / {:.1} / {:.1} ms",
            of_sorted(&served.wait_us, 0.5),
            of_sorted(&served.wait_us, 0.99),
            of_sorted(&served.wait_us, 1.0)
        ))
        .note(format!(
            "sessions lost {}, datagrams dropped by full sockets {}",
            served.lost, served.udp_dropped
        ))
        .note(format!(
            "error, RMS / p95 / p99 / worst {:>11.3} / {:.3} / {:.3} / {:.0} units, of {} samples",
            errors.rms(),
            errors.quantile(0.95),
            errors.quantile(0.99),
            errors.worst(),
            errors.count()
        ))
        .note(format!(
            "processor, server / bots {:>15.2} / {bots_cores:.2} cores; server {:.0} µs per client and second, {} MB",
            served.processor_secs / served.secs,
            served.processor_secs / share * 1e6,
            served.resident >> 20,
        ))
        .note(format!(
            "to each client {:>21.0} bytes and {:.0} DR vectors a second",
            served.bytes as f64 / share,
            served.vectors as f64 / share
        ))
        .note(if self.is_held() { "held: p99 at most 25 ms, no session lost, no datagram dropped" } else { "not held" })
    }
}

/// Returns the time that this share of sorted times does not exceed, in milliseconds.
fn of_sorted(times_us: &[u64], share: f64) -> f64 {
    times_us[((times_us.len() - 1) as f64 * share) as usize] as f64 / 1e3
}

/// As finely as it takes to stay far below the threshold, in a world of many fields.
fn precision(clients: usize) -> Precision {
    let corner = TankPaths::reach(clients);
    let settings = PrecisionSettings {
        position_step: 0.05,
        world_min: Vec3::new(-corner, -corner, 0.0),
        world_max: Vec3::new(corner, corner, 1.0),
        ..PrecisionSettings::default()
    };
    Precision::new(settings).expect("valid precision settings")
}

fn protocol(crowd: usize) -> Protocol<Vec2> {
    let class = Class::within(THRESHOLD).circular();
    Protocol::new("thousand", 1).raw_class(TANK, class).with_precision(precision(crowd))
}

// ── the server ──────────────────────────────────────────────────────────────────────────────────

pub(crate) fn run_server(arguments: &[String]) {
    let clients: usize = arguments[0].parse().expect("a number");
    let measure = Duration::from_secs(arguments[1].parse().expect("a number"));
    let threads = arguments[2].parse().expect("a number");
    let config = ServerConfig {
        clients_max: clients,
        datagram_every: TICK,
        scope_every: SCOPE_EVERY,
        ..ServerConfig::new(protocol(clients), 1)
    };
    let session = Server::<Vec2>::new(config, Box::new(Broadcast), unguessable_random());
    let session = session.with_scope(Nearest { count: NEIGHBOURS });
    let here = ([127, 0, 0, 1], 0).into();
    let mut net = NetServerConfig::new(here, Identity::local(&[]).expect("a certificate"));
    net.threads = threads;
    // All clients come from one address.
    net.limits.per_address_max = clients;
    net.limits.per_address_per_sec = 1_000;
    net.limits.per_address_burst = 2 * clients as u32;
    net.limits.handshakes_max = clients;
    let server = NetServer::bind(net, session).expect("the loopback has a free port");
    let pin = server.fingerprint().to_string();
    report(&ServerAddress { address: server.address(), pin });

    let mut lost = 0;
    let mut ticks = ServerTicks::new();
    while server.with_session(|session, _| session.clients().count()) < clients {
        ticks.next(&server, &mut lost);
    }
    let settled = machine::now() + SETTLE;
    while machine::now() < settled {
        ticks.next(&server, &mut lost);
    }
    report(&"measuring");
    let status = || {
        let peers = server.status();
        let vectors: u64 = peers.iter().filter_map(|peer| Some(peer.session.as_ref()?.vectors_sent)).sum();
        (peers.iter().map(|peer| peer.udp_bytes_sent).sum::<u64>(), vectors)
    };
    let (dropped, used, began, (bytes, vectors)) =
        (udp_dropped(), machine::processor_time(), machine::now(), status());
    (lost, ticks.late_us, ticks.wait_us) = (0, Vec::new(), Vec::new());
    while machine::now() < began + measure {
        ticks.next(&server, &mut lost);
    }
    let (more_bytes, more_vectors) = status();
    ticks.late_us.sort_unstable();
    ticks.wait_us.sort_unstable();
    report(&ServerReport {
        processor_secs: (machine::processor_time() - used).as_secs_f64(),
        secs: (machine::now() - began).as_secs_f64(),
        late_us: ticks.late_us,
        wait_us: ticks.wait_us,
        lost,
        udp_dropped: udp_dropped() - dropped,
        // Counts of clients that are gone are gone, too.
        bytes: more_bytes.saturating_sub(bytes),
        vectors: more_vectors.saturating_sub(vectors),
        resident: machine::resident_bytes(),
    });
    let has_ended = until_stdin_ends();
    while !has_ended.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Runs the game's ticks and records how late each ends.
struct ServerTicks {
    timer: machine::TickTimer,
    late_us: Vec<u64>,
    wait_us: Vec<u64>,
}

impl ServerTicks {
    fn new() -> Self {
        Self { timer: machine::TickTimer::hz(TICKS_HZ), late_us: Vec::new(), wait_us: Vec::new() }
    }

    /// Plays one tick: places every tank. Lateness is the time from the scheduled tick to its end.
    fn next(&mut self, server: &NetServer<Vec2>, lost: &mut u64) {
        let late = self.timer.wait();
        let woke = machine::now();
        server.with_session(|session, now| {
            self.wait_us.push((machine::now() - woke).as_micros() as u64);
            while let Some(event) = session.poll_event() {
                *lost += u64::from(matches!(
                    event,
                    ServerEvent::Detached(_) | ServerEvent::SessionLost { .. } | ServerEvent::Closed { .. }
                ));
            }
            let objects: Vec<EntityId> = session.objects().collect();
            let placed = objects.iter().filter_map(|object| session.place(*object, now)).count();
            std::hint::black_box(placed);
        });
        self.late_us.push((late + (machine::now() - woke)).as_micros() as u64);
    }
}

/// Returns the datagrams that full sockets dropped, of all processes on this machine.
fn udp_dropped() -> u64 {
    let text = std::fs::read_to_string("/proc/net/snmp").unwrap_or_default();
    let mut rows = text.lines().filter_map(|line| line.strip_prefix("Udp:"));
    let (names, values) = (rows.next().unwrap_or_default(), rows.next().unwrap_or_default());
    let columns = names.split_whitespace().zip(values.split_whitespace());
    let errors = columns.filter(|(name, _)| matches!(*name, "RcvbufErrors" | "SndbufErrors"));
    errors.filter_map(|(_, value)| value.parse::<u64>().ok()).sum()
}

// ── the bots ────────────────────────────────────────────────────────────────────────────────────

pub(crate) fn run_bots(arguments: &[String]) {
    let count: usize = arguments[0].parse().expect("a number");
    let address: SocketAddr = arguments[1].parse().expect("an address");
    let trust = Trust::Pinned(vec![arguments[2].parse().expect("a fingerprint")]);
    let lasting = SETTLE + MEASURE + AFTER_ALL;
    let truth = TankPaths::record(count, lasting, SEED);
    let has_ended = until_stdin_ends();

    let thread = ClientThread::start().expect("a thread starts");
    let came = machine::now();
    let mut began = None;
    let mut bots: Vec<CrowdBot> = Vec::new();
    let (mut seconds, mut processor_secs) = (BTreeMap::<u64, ErrorHistogram>::new(), BTreeMap::new());
    let mut timer = machine::TickTimer::hz(TICKS_HZ * TURNS as f64);
    for turn in 0_usize.. {
        if has_ended.load(Ordering::Relaxed) {
            break;
        }
        timer.wait();
        let passed = (machine::now() - came).as_secs_f64();
        let arrived = ((passed * ARRIVALS_HZ) as usize).min(count);
        while bots.len() < arrived {
            bots.push(CrowdBot::new(&thread, bots.len(), count, address, trust.clone()));
        }
        // The tanks start when every bot is connected.
        if began.is_none() && bots.len() == count && bots.iter().all(|bot| bot.own.is_some()) {
            began = Some(machine::now());
        }
        let second = machine::now().as_secs();
        processor_secs.entry(second).or_insert_with(|| machine::processor_time().as_secs_f64());
        let errors = seconds.entry(second).or_default();
        for bot in bots.iter_mut().filter(|bot| bot.tank % TURNS == turn % TURNS) {
            // Every bot drives in every tick, and one in ten compares.
            let is_comparing = ((bot.tank + turn) / TURNS).is_multiple_of(10);
            bot.frame(&truth, began, is_comparing.then_some(&mut *errors));
        }
    }
    report(&BotsReport { seconds, processor_secs });
    // Closing a thousand connections in order would take too long.
    std::process::exit(0);
}

struct CrowdBot {
    tank: usize,
    client: NetClient<Vec2>,
    own: Option<EntityId>,
    looked_at: Duration,
}

impl CrowdBot {
    /// Connects bot `tank` of `crowd` bots.
    fn new(thread: &ClientThread, tank: usize, crowd: usize, server: SocketAddr, trust: Trust) -> Self {
        let config = ClientConfig { datagram_every: TICK, ..ClientConfig::new(protocol(crowd)) };
        let session = Client::new(config, unguessable_random());
        let client = NetClient::connect_on(thread, server, NetClientConfig::new(trust), session);
        let client = client.expect("a socket opens");
        Self { tank, client, own: None, looked_at: Duration::ZERO }
    }

    /// Drives the own tank and records the errors of the others.
    fn frame(&mut self, truth: &TankPaths, began: Option<Duration>, errors: Option<&mut ErrorHistogram>) {
        let Self { tank, client, own, looked_at } = self;
        client.with_session(|session, local| {
            while session.poll_event().is_some() {}
            if !session.is_connected() {
                return;
            }
            let now = began.map(|began| machine::now() - began);
            if own.is_none() {
                *own = session.create(TANK, &(*tank as u16).to_le_bytes(), local).ok();
            }
            if let Some(own) = *own {
                // An error means that the session is ending; the next frame handles it.
                let _ = session.observe(own, drive(truth, *tank, *looked_at, now), local);
                *looked_at = now.unwrap_or_default();
            }
            let (Some(errors), Some(now)) = (errors, now) else { return };
            let others: Vec<EntityId> = session.objects().filter(|object| Some(*object) != *own).collect();
            for other in others {
                let of =
                    session.creation(other).and_then(|bytes| bytes.try_into().ok()).map(u16::from_le_bytes);
                let Some(of) = of else { continue };
                let shown = session.place(other, local).map(|state| state.position);
                errors.record(shown, truth.truth(usize::from(of), now).position);
            }
        });
    }
}

/// Until the start every tank stands at its first position.
fn drive(truth: &TankPaths, tank: usize, before: Duration, now: Option<Duration>) -> Observation<Vec2> {
    let Some(now) = now else {
        return Observation::Moved(State::moving(truth.truth(tank, Duration::ZERO).position, Vec2::ZERO));
    };
    truth.observe(tank, before, now)
}
