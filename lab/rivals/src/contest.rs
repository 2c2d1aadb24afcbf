//! Who is measured, in which order, and what comes of it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use fairpath_bench::{ErrorHistogram, Helper, TankRecording, machine};
use fairpath_net::middleman::{Bounds, Handle, Middleman, MiddlemanConfig};
use fairpath_sim::{LinkConfig, Loss};

use crate::roles::{AS_RECEIVERS, AS_SERVER, ConnectInfo, RunTerms, Used};
use crate::table::FanOutTable;
use crate::ways::{METHODS, Method};

/// How many there are of everything.
const TANKS: usize = 64;
const RECEIVERS: [usize; 2] = [16, 64];
/// How often those tell who send every state.
const FULL_HZ: f64 = 30.0;
/// How long is measured.
const MEASURE_SECS: f64 = 8.0;

/// How much of the scene is looked at without a network.
const LOOK_AT: Duration = Duration::from_secs(20);

/// Everything that is known of one way to tell.
#[derive(Clone, Debug)]
pub(crate) struct MethodResult {
    pub(crate) title: String,
    /// Processor time of the server for each entity, receiver and tick of 30 Hz, in nanoseconds.
    pub(crate) nanos: f64,
    /// For each DR vector that left, where there are such things.
    pub(crate) nanos_per_vector: Option<f64>,
    /// DR vectors for each entity, receiver and tick of 30 Hz.
    pub(crate) vectors: Option<f64>,
    pub(crate) rms: f64,
    pub(crate) p99: f64,
    /// Bytes and datagrams that left the server for each entity, receiver and tick of 30 Hz.
    pub(crate) bytes: f64,
    pub(crate) datagrams: f64,
    /// Looks at a tank that its receiver had not heard of.
    pub(crate) unseen: u64,
    /// Ticks that came later than half a tick.
    pub(crate) late: u32,
}

/// The whole table, or the part of it that was asked for.
pub(crate) fn fan_out(chosen: &[&str]) -> ExitCode {
    let counts: Vec<usize> = chosen.iter().filter_map(|word| word.parse().ok()).collect();
    let names: Vec<&str> = chosen.iter().copied().filter(|word| word.parse::<usize>().is_err()).collect();
    if let Some(unknown) = names.iter().find(|name| Method::named(name).is_none()) {
        let known: Vec<&str> = METHODS.iter().map(|way| way.name).collect();
        eprintln!("error: there is no way {unknown:?}; there are: {}", known.join(", "));
        return ExitCode::from(2);
    }
    let counts = if counts.is_empty() { RECEIVERS.to_vec() } else { counts };
    let is_chosen = |way: &Method| names.is_empty() || names.contains(&way.name);
    for receivers in counts {
        let ways: Vec<&Method> = METHODS.iter().filter(|way| is_chosen(way)).collect();
        println!("{}", compare(&ways, receivers));
    }
    ExitCode::SUCCESS
}

fn compare(ways: &[&Method], receivers: usize) -> FanOutTable {
    let full = |way: &&Method| run(way, TANKS, receivers, FULL_HZ, way.title.to_owned());
    let mut outcomes: Vec<MethodResult> = ways.iter().map(full).collect();
    let ours = outcomes.iter().zip(ways).find(|(_, way)| way.name == "fairpath").map(|(ours, _)| ours.rms);
    if let Some(hz) = ours.map(rate_with_error) {
        let slower = ways.iter().filter(|way| way.sends_every_state && way.name != "raw-each");
        outcomes
            .extend(slower.map(|way| run(way, TANKS, receivers, hz, format!("{}, {hz:.1} Hz", way.title))));
    }
    let share_moving = TankRecording::record(TANKS, LOOK_AT, crate::roles::SEED).share_moving();
    FanOutTable { tanks: TANKS, receivers, share_moving, outcomes }
}

/// How often every state must be sent so that what receivers show is off by this much, on average:
/// they go straight on from the last state. Found by trying, without a network.
fn rate_with_error(rms: f64) -> f64 {
    let lasting = LOOK_AT;
    let scene = TankRecording::record(TANKS, lasting, crate::roles::SEED);
    let error_at = |hz: f64| {
        let mut errors = ErrorHistogram::default();
        for look in 0..2_000_u32 {
            let at = lasting * look / 2_000;
            let sent = Duration::from_secs_f64((at.as_secs_f64() * hz).floor() / hz);
            for tank in 0..TANKS {
                let told = scene.truth(tank, sent);
                let shown = told.position + told.velocity * (at.as_secs_f64() - sent.as_secs_f64());
                errors.look(Some(shown), scene.truth(tank, at).position);
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

/// One way to tell.
fn run(way: &Method, tanks: usize, receivers: usize, hz: f64, title: String) -> MethodResult {
    eprintln!("   {title}: {tanks} entities, {receivers} receivers");
    let terms = RunTerms { way: way.name.to_owned(), tanks, receivers, hz, secs: MEASURE_SECS };
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

/// What one pair of processes came to.
pub(crate) struct RunResult {
    pub(crate) used: Used,
    pub(crate) errors: ErrorHistogram,
    pub(crate) secs: f64,
    pub(crate) bytes: u64,
    pub(crate) datagrams: u64,
}

/// Plays once. Everything goes through a proxy, which counts, and which is the same for all: on the
/// loopback it is who sends that pays for waking up who receives, which no server in a network
/// does, and ways differ in how many threads their receivers have.
pub(crate) fn play(terms: &RunTerms, link: LinkConfig) -> RunResult {
    let terms_text = serde_json::to_string(terms).expect("it becomes JSON");
    let mut server = Helper::start([AS_SERVER, &terms_text]);
    let mut invitation: ConnectInfo = server.next_report();
    let proxy = proxy(invitation.address, link, terms.receivers);
    invitation.address = proxy.address();
    let invitation = serde_json::to_string(&invitation).expect("it becomes JSON");
    let receivers = Helper::start([AS_RECEIVERS, &terms_text, &invitation]);
    let _: String = server.next_report();
    let (began, before) = (machine::now(), counts(&proxy));
    let used: Used = server.next_report();
    let (ended, after) = (machine::now(), counts(&proxy));
    let seconds: BTreeMap<u64, ErrorHistogram> = receivers.finish();
    let mut errors = ErrorHistogram::default();
    // Whole seconds that were measured from their beginning to their end.
    for (_, second) in seconds.range(began.as_secs() + 1..ended.as_secs()) {
        errors.add(second);
    }
    RunResult {
        used,
        errors,
        secs: (ended - began).as_secs_f64(),
        bytes: after.0 - before.0,
        datagrams: after.1 - before.1,
    }
}

/// A proxy, which has counted what the server sent.
fn proxy(to: SocketAddr, link: LinkConfig, receivers: usize) -> Handle {
    let bounds = Bounds { clients_max: receivers, ..Bounds::default() };
    let config = MiddlemanConfig::between(([127, 0, 0, 1], 0).into(), to).both_ways(link).bounds(bounds);
    Middleman::start(config).expect("the loopback has ports")
}

/// Bytes and datagrams that came from the server.
fn counts(proxy: &Handle) -> (u64, u64) {
    let statistics = proxy.statistics();
    let down = || statistics.clients.iter().map(|client| &client.down.link);
    (down().map(|link| link.sent_bytes).sum(), down().map(|link| link.sent).sum())
}

/// A link that loses so many of all packets.
pub(crate) fn lossy(ratio: f64) -> LinkConfig {
    LinkConfig { loss: Loss::each(ratio), ..LinkConfig::default() }
}
