//! The two processes: the server, which is measured, and the receivers, which measure the error.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::time::Duration;

use fairpath_bench::{ErrorHistogram, TankPaths, machine, report, until_stdin_ends};
use serde::{Deserialize, Serialize};

use crate::ways::Method;

/// Arguments that start this program as the server, and as the receivers.
pub(crate) const AS_SERVER: &str = "--as-server";
pub(crate) const AS_RECEIVERS: &str = "--as-receivers";

/// The terms that both processes share.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Terms {
    pub(crate) method: String,
    pub(crate) tanks: usize,
    pub(crate) receivers: usize,
    pub(crate) hz: f64,
    /// The duration of the measurement.
    pub(crate) secs: f64,
}

/// What receivers need to connect.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ConnectInfo {
    pub(crate) address: SocketAddr,
    /// The certificate or its fingerprint, for methods that have one.
    pub(crate) proof: String,
    /// The instant at which the recording began, by the machine's clock.
    pub(crate) began: Duration,
}

/// What the server reports about the measurement.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Used {
    pub(crate) processor_secs: f64,
    pub(crate) ticks: u32,
    /// DR vectors sent to all receivers, for methods that send DR vectors.
    pub(crate) vectors: Option<u64>,
    /// Ticks that were more than half a tick late.
    pub(crate) late: u32,
}

/// The seed of the paths, the same in all processes.
pub(crate) const SEED: u64 = 7;
/// The length of the recording: longer than any process lives.
const RECORDING_SPAN: Duration = Duration::from_secs(60);
/// Wait between the last connection and the measurement: handshakes, path discovery and clocks are
/// done by then.
const SETTLE_SECS: f64 = 3.0;
/// Frames per second of a receiver.
const FRAMES_HZ: f64 = 60.0;
/// Longest wait for all receivers to connect.
const GATHER_WITHIN: Duration = Duration::from_secs(30);

impl Terms {
    fn from_words(words: &[&str]) -> Self {
        serde_json::from_str(words[0]).expect("this program started the process")
    }

    fn method(&self) -> &'static Method {
        Method::named(&self.method).expect("this program started the process")
    }
}

pub(crate) fn serve(words: &[&str]) {
    let terms = Terms::from_words(words);
    let paths = TankPaths::record(terms.tanks, RECORDING_SPAN, SEED);
    let mut server = (terms.method().server)(&terms);
    let (address, proof) = server.connect_info();
    let began = machine::now();
    report(&ConnectInfo { address, proof, began });

    let has_ended = until_stdin_ends();
    let period = Duration::from_secs_f64(1.0 / terms.hz);
    let settle = (SETTLE_SECS * terms.hz) as u32;
    let measured = (terms.secs * terms.hz) as u32;
    let (mut before, mut next) = (Duration::ZERO, machine::now());
    let (mut gathered, mut late, mut start) = (None, 0, (Duration::ZERO, None));
    for tick in 0_u32.. {
        let at = machine::now() - began;
        server.tick(&paths, before, at);
        before = at;
        if gathered.is_none() && server.receivers() >= terms.receivers {
            gathered = Some(tick);
        }
        assert!(
            gathered.is_some() || at < GATHER_WITHIN,
            "{}: only {} of {} receivers connected within 30 s",
            terms.method,
            server.receivers(),
            terms.receivers
        );
        if gathered.is_some_and(|gathered| tick == gathered + settle) {
            report(&"measuring");
            start = (machine::processor_time(), server.vectors());
            late = 0;
        }
        if gathered.is_some_and(|gathered| tick == gathered + settle + measured) {
            break;
        }
        next += period;
        late += u32::from(machine::now() > next + period / 2);
        server.wait_until(next);
    }
    let vectors = server.vectors().zip(start.1).map(|(after, before)| after - before);
    let processor_secs = (machine::processor_time() - start.0).as_secs_f64();
    report(&Used { processor_secs, ticks: measured, vectors, late });
    // Receivers still draw, but the server sends nothing more and their errors do not count.
    while !has_ended.load(Ordering::Relaxed) {
        server.wait_until(machine::now() + period);
    }
}

pub(crate) fn receive(words: &[&str]) {
    let terms = Terms::from_words(words);
    let info: ConnectInfo = serde_json::from_str(words[1]).expect("this program started the process");
    let paths = TankPaths::record(terms.tanks, RECORDING_SPAN, SEED);
    let mut receivers: Vec<_> =
        (0..terms.receivers).map(|nth| (terms.method().receiver)(&terms, &info, nth as u64)).collect();
    let has_ended = until_stdin_ends();
    let mut shown = vec![None; terms.tanks];
    let mut timer = machine::TickTimer::hz(FRAMES_HZ);
    // Errors by second: the parent process knows afterwards which seconds were measured.
    let mut seconds: BTreeMap<u64, ErrorHistogram> = BTreeMap::new();
    while !has_ended.load(Ordering::Relaxed) {
        timer.wait();
        for receiver in &mut receivers {
            let now = receiver.frame(info.began, &mut shown);
            let errors = seconds.entry((info.began + now).as_secs()).or_default();
            for (tank, shown) in shown.iter().enumerate() {
                errors.record(*shown, paths.truth(tank, now).position);
            }
        }
    }
    report(&seconds);
    for receiver in receivers {
        receiver.leave();
    }
}
