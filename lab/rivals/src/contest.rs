//! Runs every method and collects the results.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use fairpath_bench::{ErrorHistogram, Helper, TankPaths, machine};
use fairpath_net::middleman::{Bounds, Middleman, MiddlemanConfig};
use fairpath_sim::{LinkConfig, Loss};

use crate::roles::{AS_RECEIVERS, AS_SERVER, ConnectInfo, Terms, Used};
use crate::table::FanOutTable;
use crate::ways::{METHODS, Method};

/// The numbers of entities and receivers.
const TANKS: usize = 64;
const RECEIVERS: [usize; 2] = [16, 64];
/// The rate of methods that send every state, in ticks per second.
const FULL_HZ: f64 = 30.0;
/// The duration of a measurement.
const MEASURE_SECS: f64 = 8.0;

/// The most rounds of a comparison.
const ROUNDS_MAX: usize = 99;

/// The part of the recording that is sampled without a network.
const LOOK_AT: Duration = Duration::from_secs(20);

/// The result of one method.
#[derive(Clone, Debug)]
pub(crate) struct MethodResult {
    pub(crate) title: String,
    /// Processor time of the server per entity, receiver and tick of 30 Hz, in nanoseconds.
    pub(crate) nanos: f64,
    /// The same per DR vector sent, for methods that send DR vectors.
    pub(crate) nanos_per_vector: Option<f64>,
    /// DR vectors per entity, receiver and tick of 30 Hz.
    pub(crate) vectors: Option<f64>,
    pub(crate) rms: f64,
    pub(crate) p99: f64,
    /// Bytes and datagrams that the server sent, per entity, receiver and tick of 30 Hz.
    pub(crate) bytes: f64,
    pub(crate) datagrams: f64,
    /// Samples of tanks that the receiver had no update of.
    pub(crate) unseen: u64,
    /// Ticks that were more than half a tick late.
    pub(crate) late: u32,
}

/// The word that asks for several rounds: `x5` for five.
fn rounds_of(word: &str) -> Option<usize> {
    word.strip_prefix('x')?.parse().ok().filter(|rounds| (1..=ROUNDS_MAX).contains(rounds))
}

/// Prints the whole table, or the part that the words choose.
pub(crate) fn fan_out(chosen: &[&str]) -> ExitCode {
    let rounds = chosen.iter().find_map(|word| rounds_of(word)).unwrap_or(1);
    let chosen: Vec<&str> = chosen.iter().copied().filter(|word| rounds_of(word).is_none()).collect();
    let counts: Vec<usize> = chosen.iter().filter_map(|word| word.parse().ok()).collect();
    let names: Vec<&str> = chosen.iter().copied().filter(|word| word.parse::<usize>().is_err()).collect();
    if let Some(unknown) = names.iter().find(|name| Method::named(name).is_none()) {
        let known: Vec<&str> = METHODS.iter().map(|method| method.name).collect();
        eprintln!("error: there is no method {unknown:?}; choose from {}", known.join(", "));
        return ExitCode::from(2);
    }
    let counts = if counts.is_empty() { RECEIVERS.to_vec() } else { counts };
    let is_chosen = |method: &Method| names.is_empty() || names.contains(&method.name);
    for receivers in counts {
        let methods: Vec<&Method> = METHODS.iter().filter(|method| is_chosen(method)).collect();
        println!("{}", compare(&methods, receivers, rounds));
    }
    ExitCode::SUCCESS
}

/// Runs every method once in each round. The run with the least processor time counts: other work
/// on the machine only adds to it.
fn compare(methods: &[&Method], receivers: usize, rounds: usize) -> FanOutTable {
    let full = |method: &&Method| run(method, TANKS, receivers, FULL_HZ, method.title.to_owned());
    let mut outcomes: Vec<MethodResult> = methods.iter().map(full).collect();
    for _ in 1..rounds {
        for (best, method) in outcomes.iter_mut().zip(methods) {
            let again = full(method);
            if again.nanos < best.nanos {
                *best = again;
            }
        }
    }
    let ours = outcomes.iter().zip(methods).find(|(_, one)| one.name == "fairpath").map(|(ours, _)| ours.rms);
    if let Some(hz) = ours.map(rate_with_error) {
        let slower = methods.iter().filter(|one| one.sends_every_state && one.name != "raw-each");
        outcomes
            .extend(slower.map(|one| run(one, TANKS, receivers, hz, format!("{}, {hz:.1} Hz", one.title))));
    }
    let share_moving = TankPaths::record(TANKS, LOOK_AT, crate::roles::SEED).share_moving();
    FanOutTable { tanks: TANKS, receivers, rounds, share_moving, outcomes }
}

/// Returns the rate at which sending every state gives this error: receivers extrapolate the last
/// state linearly. Found by bisection, without a network.
fn rate_with_error(rms: f64) -> f64 {
    let lasting = LOOK_AT;
    let paths = TankPaths::record(TANKS, lasting, crate::roles::SEED);
    let error_at = |hz: f64| {
        let mut errors = ErrorHistogram::default();
        for look in 0..2_000_u32 {
            let at = lasting * look / 2_000;
            let sent = Duration::from_secs_f64((at.as_secs_f64() * hz).floor() / hz);
            for tank in 0..TANKS {
                let state = paths.truth(tank, sent);
                let shown = state.position + state.velocity * (at.as_secs_f64() - sent.as_secs_f64());
                errors.record(Some(shown), paths.truth(tank, at).position);
            }
        }
        errors.rms()
    };
    let (mut low, mut high) = (1.0, 60.0);
    while high - low > 0.1 {
        let middle = (low + high) / 2.0;
        if error_at(middle) > rms { low = middle } else { high = middle }
    }
    high
}

/// Runs one method.
fn run(method: &Method, tanks: usize, receivers: usize, hz: f64, title: String) -> MethodResult {
    eprintln!("   {title}: {tanks} entities, {receivers} receivers");
    let terms = Terms { method: method.name.to_owned(), tanks, receivers, hz, secs: MEASURE_SECS };
    let played = play(&terms, LinkConfig::default());
    let share = (tanks * receivers) as f64 * played.secs * FULL_HZ;
    let nanos = played.used.processor_secs * 1e9;
    let vectors = played.used.vectors.map(|vectors| vectors as f64);
    MethodResult {
        title,
        nanos: nanos / share,
        nanos_per_vector: vectors.map(|vectors| nanos / vectors),
        vectors: vectors.map(|vectors| vectors / share),
        rms: played.errors.rms(),
        p99: played.errors.quantile(0.99),
        unseen: played.errors.unseen(),
        bytes: played.bytes as f64 / share,
        datagrams: played.datagrams as f64 / share,
        late: played.used.late,
    }
}

/// What one run of a server process and a receiver process measured.
pub(crate) struct RunResult {
    pub(crate) used: Used,
    pub(crate) errors: ErrorHistogram,
    pub(crate) secs: f64,
    pub(crate) bytes: u64,
    pub(crate) datagrams: u64,
}

/// Runs a server process and a receiver process once. All traffic goes through a proxy, which
/// counts it and is the same for all methods: on the loopback the sender pays for waking up the
/// receiver, which no server in a network does, and methods differ in how many threads their
/// receivers have.
pub(crate) fn play(terms: &Terms, link: LinkConfig) -> RunResult {
    let terms_text = serde_json::to_string(terms).expect("run terms serialize to JSON");
    let mut server = Helper::start([AS_SERVER, &terms_text]);
    let mut info: ConnectInfo = server.next_report();
    let proxy = proxy(info.address, link, terms.receivers);
    info.address = proxy.address();
    let info = serde_json::to_string(&info).expect("run terms serialize to JSON");
    let receivers = Helper::start([AS_RECEIVERS, &terms_text, &info]);
    let _: String = server.next_report();
    let (began, before) = (machine::now(), counts(&proxy));
    let used: Used = server.next_report();
    let (ended, after) = (machine::now(), counts(&proxy));
    let seconds: BTreeMap<u64, ErrorHistogram> = receivers.finish();
    let mut errors = ErrorHistogram::default();
    // Only seconds that lie wholly within the measurement count.
    for (_, second) in seconds.range(began.as_secs() + 1..ended.as_secs()) {
        errors.merge(second);
    }
    RunResult {
        used,
        errors,
        secs: (ended - began).as_secs_f64(),
        bytes: after.0 - before.0,
        datagrams: after.1 - before.1,
    }
}

/// Starts a proxy, which counts what the server sends.
fn proxy(to: SocketAddr, link: LinkConfig, receivers: usize) -> Middleman {
    let bounds = Bounds { clients_max: receivers, ..Bounds::default() };
    let config = MiddlemanConfig::between(([127, 0, 0, 1], 0).into(), to).both_ways(link).bounds(bounds);
    Middleman::start(config).expect("the loopback has a free port")
}

/// Returns the bytes and datagrams that the server has sent.
fn counts(proxy: &Middleman) -> (u64, u64) {
    let statistics = proxy.statistics();
    let down = || statistics.clients.iter().map(|client| &client.down.link);
    (down().map(|link| link.sent_bytes).sum(), down().map(|link| link.sent).sum())
}

/// Returns a link that loses this share of the packets.
pub(crate) fn lossy(ratio: f64) -> LinkConfig {
    LinkConfig { loss: Loss::each(ratio), ..LinkConfig::default() }
}
