//! The two processes: the server, which is measured, and the receivers, who see how good it is.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::time::Duration;

use fairpath_bench::{ErrorHistogram, TankRecording, machine, report, until_stdin_ends};
use serde::{Deserialize, Serialize};

use crate::ways::Method;

/// How this program is called to be the server, and to be the receivers.
pub(crate) const AS_SERVER: &str = "--as-server";
pub(crate) const AS_RECEIVERS: &str = "--as-receivers";

/// What both processes must agree about.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RunTerms {
    pub(crate) way: String,
    pub(crate) tanks: usize,
    pub(crate) receivers: usize,
    pub(crate) hz: f64,
    /// How long is measured.
    pub(crate) secs: f64,
}

/// What receivers must know to come.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ConnectInfo {
    pub(crate) address: SocketAddr,
    /// What the server proves to be, where there is such a thing.
    pub(crate) proof: String,
    /// When the scene began, by the machine's clock.
    pub(crate) began: Duration,
}

/// What the server used.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Used {
    pub(crate) processor_secs: f64,
    pub(crate) ticks: u32,
    /// DR vectors that left, for all receivers, where there are such things.
    pub(crate) vectors: Option<u64>,
    /// Ticks that came later than half a tick.
    pub(crate) late: u32,
}

/// The motion is the same in all processes.
pub(crate) const SEED: u64 = 7;
/// Longer than any process lives.
const SCENE_LASTS: Duration = Duration::from_secs(60);
/// From when everybody is there until the measurement begins: handshakes, path discovery and clocks
/// are over then.
const SETTLE_SECS: f64 = 3.0;
/// How often a receiver draws.
const FRAMES_HZ: f64 = 60.0;
/// Nobody waits longer than this for receivers.
const GATHER_WITHIN: Duration = Duration::from_secs(30);

impl RunTerms {
    fn from_words(words: &[&str]) -> Self {
        serde_json::from_str(words[0]).expect("started by this same program")
    }

    fn way(&self) -> &'static Method {
        Method::named(&self.way).expect("started by this same program")
    }
}

pub(crate) fn serve(words: &[&str]) {
    let terms = RunTerms::from_words(words);
    let scene = TankRecording::record(terms.tanks, SCENE_LASTS, SEED);
    let mut teller = (terms.way().tell)(&terms);
    let (address, proof) = teller.invitation();
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
        teller.tick(&scene, before, at);
        before = at;
        if gathered.is_none() && teller.receivers() >= terms.receivers {
            gathered = Some(tick);
        }
        assert!(
            gathered.is_some() || at < GATHER_WITHIN,
            "{}: {} of {}",
            terms.way,
            teller.receivers(),
            terms.receivers
        );
        if gathered.is_some_and(|gathered| tick == gathered + settle) {
            report(&"measuring");
            start = (machine::processor_time(), teller.vectors());
            late = 0;
        }
        if gathered.is_some_and(|gathered| tick == gathered + settle + measured) {
            break;
        }
        next += period;
        late += u32::from(machine::now() > next + period / 2);
        teller.wait_until(next);
    }
    let vectors = teller.vectors().zip(start.1).map(|(after, before)| after - before);
    let processor_secs = (machine::processor_time() - start.0).as_secs_f64();
    report(&Used { processor_secs, ticks: measured, vectors, late });
    // Receivers still look; they are told nothing any more, and their errors do not count.
    while !has_ended.load(Ordering::Relaxed) {
        teller.wait_until(machine::now() + period);
    }
}

pub(crate) fn receive(words: &[&str]) {
    let terms = RunTerms::from_words(words);
    let invitation: ConnectInfo = serde_json::from_str(words[1]).expect("started by this same program");
    let scene = TankRecording::record(terms.tanks, SCENE_LASTS, SEED);
    let mut receivers: Vec<_> =
        (0..terms.receivers).map(|nth| (terms.way().watch)(&terms, &invitation, nth as u64)).collect();
    let has_ended = until_stdin_ends();
    let mut shown = vec![None; terms.tanks];
    let mut timer = machine::TickTimer::hz(FRAMES_HZ);
    // What each second was like: the judge knows afterwards which seconds were measured.
    let mut seconds: BTreeMap<u64, ErrorHistogram> = BTreeMap::new();
    while !has_ended.load(Ordering::Relaxed) {
        timer.wait();
        for receiver in &mut receivers {
            let now = receiver.frame(invitation.began, &mut shown);
            let errors = seconds.entry((invitation.began + now).as_secs()).or_default();
            for (tank, shown) in shown.iter().enumerate() {
                errors.look(*shown, scene.truth(tank, now).position);
            }
        }
    }
    report(&seconds);
    for receiver in receivers {
        receiver.leave();
    }
}
