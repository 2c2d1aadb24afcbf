//! Tanks over real sockets: what `serve`, `bots` and `record` share.
//!
//! Every client simulates its own tanks and sends DR vectors; the server forwards them. Shots fly
//! but never hit: hits are for a game to decide, and this one measures where tanks are seen.

pub(crate) mod bots;
pub(crate) mod bzflag;
mod crew;
mod flight;
mod journal;
pub(crate) mod lobby;
mod page;
pub(crate) mod record;
pub(crate) mod replay;
pub(crate) mod serve;
mod serve_game;
pub(crate) mod servers;

use std::io::{IsTerminal, Write};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use fairpath::motion::MotionKind;
use fairpath::schedule::DispatcherConfig;
use fairpath::session::{Class, ClassId, ClientConfig, Rates, Statistics};
use fairpath::time::Span;
use fairpath::{Trigger, Vec2};
use fairpath_games::online::{SHOT, TANK};
use fairpath_net::middleman::parse_span;
use fairpath_net::{ConnectionProblem, ConnectionState, Fingerprint, Trust};
use serde_json::{Value, json};

use crate::BadInput;
use crate::options::ModelChoice;

/// The length of a frame: one tick of the game.
const FRAME: Duration = Duration::from_micros(16_667);

/// How tanks are dead-reckoned.
#[derive(Args, Clone, Debug)]
struct TankOptions {
    /// The owner sends a DR vector when receivers are off by more units than this; a tank is 6 long
    #[arg(long, value_name = "UNITS", default_value_t = 0.3)]
    threshold: f64,
    /// How receivers extrapolate a tank between DR vectors
    #[arg(long, value_enum, default_value_t = ModelChoice::Circular)]
    model: ModelChoice,
    /// Send only what the threshold and the scheduler ask for: no heartbeats, no promises to
    /// neglected receivers, no freezing
    #[arg(long)]
    as_in_the_papers: bool,
}

/// Longer than any run.
const NEVER: Span = Span::from_secs(1_000_000);

impl TankOptions {
    fn classes(&self) -> Result<[(ClassId, Class); 2], BadInput> {
        if !(self.threshold.is_finite() && self.threshold > 0.0) {
            return Err(BadInput::of("--threshold", &self.threshold.to_string(), "give a length above zero"));
        }
        let model = match self.model {
            ModelChoice::Linear => MotionKind::Linear,
            ModelChoice::Circular => MotionKind::Circular,
        };
        let class = || {
            if self.as_in_the_papers {
                let rates = Rates { interval_max: NEVER, ..Rates::default() };
                Class::new(Trigger::Distance { threshold: self.threshold }).with_rates(rates)
            } else {
                Class::new(Trigger::within(self.threshold))
            }
        };
        Ok([(TANK, class().with_model(model)), (SHOT, class())])
    }

    fn dispatcher(&self) -> DispatcherConfig {
        if self.as_in_the_papers {
            DispatcherConfig { horizon: NEVER, ..DispatcherConfig::as_in_the_papers() }
        } else {
            DispatcherConfig::default()
        }
    }

    fn client(&self) -> Result<ClientConfig<Vec2>, BadInput> {
        Ok(ClientConfig::new(self.classes()?))
    }
}

/// The server to connect to, and how to trust it.
#[derive(Args, Clone, Debug)]
struct ServerAddress {
    /// The address of the server, or of a middleman before it
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:7777")]
    connect: String,
    /// The fingerprint of the server's certificate, as `serve` prints it
    #[arg(long, value_name = "FINGERPRINT", required_unless_present = "trust")]
    pin: Option<String>,
    /// A PEM file with certificates to trust, instead of --pin
    #[arg(long, value_name = "FILE", conflicts_with = "pin")]
    trust: Option<PathBuf>,
    /// The name that a certificate trusted with --trust must be valid for
    #[arg(long, value_name = "NAME", default_value = "localhost")]
    name: String,
}

impl ServerAddress {
    fn address(&self) -> Result<SocketAddr, BadInput> {
        address("--connect", &self.connect)
    }

    /// The error of clients that never connected, with the last problem that one of them had.
    fn no_answer(&self, problem: Option<ConnectionProblem>) -> BadInput {
        let check = "check that it runs, and that --pin is the fingerprint it prints";
        let why = problem.map_or_else(|| format!("; {check}"), |problem| format!(": {problem}"));
        BadInput::of("--connect", &self.connect, &format!("no trusted server answered{why}"))
    }

    fn trust(&self) -> Result<Trust, BadInput> {
        match (&self.pin, &self.trust) {
            (Some(pin), _) => Ok(Trust::Pinned(vec![pinned("--pin", pin)?])),
            (None, Some(path)) => Ok(Trust::load(path)?),
            (None, None) => Err(BadInput("no server is trusted; pass --pin or --trust".into())),
        }
    }
}

/// When to end, and how to print the summary.
#[derive(Args, Clone, Debug)]
pub(crate) struct SummaryOptions {
    /// End after this time, such as 60s [default: at Ctrl-C]
    #[arg(long = "for", value_name = "TIME", allow_hyphen_values = true)]
    lasting: Option<String>,
    /// Print the summary as JSON, on one line
    #[arg(long)]
    pub(crate) json: bool,
}

impl SummaryOptions {
    pub(crate) fn end(&self) -> Result<EndCondition, BadInput> {
        let lasting = self
            .lasting
            .as_deref()
            .map(|text| parse_span(text).map_err(|error| BadInput(format!("--for {error}"))));
        EndCondition::new(lasting.transpose()?)
    }
}

/// Whether it is time to end: by time, or by Ctrl-C.
pub(crate) struct EndCondition {
    at: Option<Instant>,
    is_interrupted: Arc<AtomicBool>,
}

impl EndCondition {
    pub(crate) fn new(lasting: Option<Span>) -> Result<Self, BadInput> {
        let is_interrupted = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&is_interrupted);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let waiting = {
            let _inside = runtime.enter();
            crate::middleman::interrupted()?
        };
        std::thread::spawn(move || {
            runtime.block_on(waiting);
            told.store(true, Ordering::Relaxed);
        });
        let at = lasting.map(|span| Instant::now() + Duration::from_micros(span.as_micros().unsigned_abs()));
        Ok(Self { at, is_interrupted })
    }

    pub(crate) fn is_here(&self) -> bool {
        self.is_interrupted.load(Ordering::Relaxed) || self.at.is_some_and(|at| at <= Instant::now())
    }
}

/// Waits from frame to frame. A late frame is not caught up.
struct FramePacer {
    next: Instant,
}

impl FramePacer {
    fn new() -> Self {
        Self { next: Instant::now() }
    }

    /// Sleeps until the next frame. Returns how late it begins.
    fn wait(&mut self) -> Duration {
        let (now, due) = (Instant::now(), self.next + FRAME);
        self.next = due.max(now);
        std::thread::sleep(self.next - now);
        due.elapsed()
    }
}

/// A status screen that is redrawn every second, if stderr is a terminal.
struct StatusScreen {
    is_there: bool,
    drawn_at: Option<Instant>,
}

impl StatusScreen {
    fn new() -> Self {
        Self { is_there: std::io::stderr().is_terminal(), drawn_at: None }
    }

    /// No screen: every line is printed.
    fn none() -> Self {
        Self { is_there: false, drawn_at: None }
    }

    /// Prints a line where there is no screen to show it.
    fn log(&self, line: impl FnOnce() -> String) {
        if !self.is_there {
            // A closed stderr is no error.
            let _ = writeln!(std::io::stderr(), "{}", line());
        }
    }

    fn draw(&mut self, text: impl FnOnce() -> String) {
        let is_due = self.drawn_at.is_none_or(|at| at.elapsed() >= Duration::from_secs(1));
        if self.is_there && is_due {
            self.drawn_at = Some(Instant::now());
            // Clears the screen and begins at its top. A closed stderr is no error.
            let _ = write!(std::io::stderr(), "\x1b[2J\x1b[H{}", text());
        }
    }
}

/// Why a client has no connection, if a problem is known.
fn problem_in(state: ConnectionState) -> Option<ConnectionProblem> {
    match state {
        ConnectionState::Connecting { last, .. } => last,
        ConnectionState::Over(problem) => problem,
        ConnectionState::Connected => None,
    }
}

fn statistics_as_json(statistics: &Statistics) -> Value {
    json!({
        "rtt_ms": statistics.round_trip.map(Span::as_millis_f64),
        "rtt_deviation_ms": statistics.round_trip_deviation.map(Span::as_millis_f64),
        "loss": statistics.loss_ratio(),
        "datagrams_sent": statistics.datagrams_sent,
        "datagrams_received": statistics.datagrams_received,
        "datagrams_repeated": statistics.datagrams_repeated,
        "bytes_sent": statistics.bytes_sent,
        "bytes_received": statistics.bytes_received,
        "vectors_sent": statistics.vectors_sent,
        "vectors_repeated": statistics.vectors_repeated,
        "vectors_received": statistics.vectors_received,
        "outbox_bytes": statistics.outbox_bytes,
        "ledger_error_per_sec": statistics.error_per_sec,
    })
}

/// The head of a table of [`statistics_as_cells`].
const STATISTICS_HEAD: &str = "   rtt ms    loss   sent B/s  came B/s   sent/s   came/s";

fn statistics_as_cells(statistics: &Statistics, secs: f64) -> String {
    let per_sec = |count: u64| count as f64 / secs.max(1e-9);
    let round_trip =
        statistics.round_trip.map_or_else(|| "–".into(), |it| format!("{:.1}", it.as_millis_f64()));
    format!(
        "{round_trip:>9} {:>6.1}% {:>10.0} {:>9.0} {:>8.1} {:>8.1}",
        100.0 * statistics.loss_ratio(),
        per_sec(statistics.bytes_sent),
        per_sec(statistics.bytes_received),
        per_sec(statistics.datagrams_sent),
        per_sec(statistics.datagrams_received),
    )
}

pub(crate) fn address(option: &str, text: &str) -> Result<SocketAddr, BadInput> {
    let found = text.to_socket_addrs().ok().and_then(|mut addresses| addresses.next());
    found.ok_or_else(|| BadInput::of(option, text, "give HOST:PORT such as 127.0.0.1:7777"))
}

pub(crate) fn pinned(option: &str, text: &str) -> Result<Fingerprint, BadInput> {
    text.parse()
        .map_err(|error: fairpath_net::NotAFingerprint| BadInput::of(option, text, &error.to_string()))
}
