//! Plays cases with real processes of the `fairpath` program: a server, an owner and receivers,
//! with a middleman before every receiver. The processes end with this one, however it ends.

use std::error::Error;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use fairpath::place::Placement;
use fairpath::time::Span;
use fairpath_net::middleman::{Middleman, MiddlemanConfig};
use fairpath_sim::LinkConfig;
use serde_json::Value;
use tempfile::TempDir;

use super::{CaseLogs, ClockAccuracy, LiveCase, PathDelays, ProcessLog};
use crate::experiment::{CannotRun, Progress};
use crate::trace::{read_followed, read_states};

/// Plays all cases at once and returns their logs in the same order.
pub(super) fn play(
    executable: &Path,
    cases: &[LiveCase],
    progress: &dyn Progress,
) -> Result<Vec<CaseLogs>, CannotRun> {
    let play = || {
        let folder = tempfile::Builder::new().prefix("fairpath-x9-").tempdir()?;
        Launcher { executable, folder, progress }.play(cases)
    };
    play().map_err(|error: Failure| CannotRun {
        what: error.to_string(),
        fix: "no report was written; run it again".into(),
    })
}

/// How long a process may take to print a line that is waited for. A busy machine takes seconds to
/// start thirty of them, and connecting at 800 ms each way takes nine.
const LINE_WITHIN: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// The owner ends so long before the receivers, which still receive its last DR vectors.
const OWNER_ENDS_BEFORE: Duration = Duration::from_secs(3);
/// The server ends so long after them, and after the time they took to start.
const SERVER_ENDS_AFTER: Duration = Duration::from_secs(10);

type Failure = Box<dyn Error>;

struct Launcher<'a> {
    executable: &'a Path,
    folder: TempDir,
    progress: &'a dyn Progress,
}

struct RunningCase<'a> {
    case: &'a LiveCase,
    address: String,
    pin: String,
    server: ChildProcess,
    owner: Option<ChildProcess>,
    receivers: Vec<ChildProcess>,
    /// When the first receiver will end.
    ends_at: Instant,
    /// One before each receiver; dropping it would cut the connection.
    _middlemen: Vec<Middleman>,
}

impl Launcher<'_> {
    fn play(&self, cases: &[LiveCase]) -> Result<Vec<CaseLogs>, Failure> {
        let mut running = Vec::new();
        for (number, case) in (1..).zip(cases) {
            running.push(self.start_case(number, case)?);
        }
        for receiver in running.iter_mut().flat_map(|case| &mut case.receivers) {
            self.wait_for_line(receiver, "connected as")?;
        }
        // The owner starts once every receiver is connected.
        for (number, case) in (1..).zip(&mut running) {
            case.owner = Some(self.start_owner(number, case)?);
        }
        self.wait_for_all(&mut running)?;
        running.iter().map(|case| self.collect(case)).collect()
    }

    fn start_case<'a>(&self, number: usize, case: &'a LiveCase) -> Result<RunningCase<'a>, Failure> {
        let mut server = self.start_server(number, case)?;
        let greeting = self.wait_for_line(&mut server, "listening on")?;
        let words: Vec<&str> = greeting.split([' ', ',']).filter(|word| !word.is_empty()).collect();
        let ["listening", "on", address, "fingerprint", pin] = words[..] else {
            return Err(format!("the server printed {greeting:?} instead of its address").into());
        };
        let length = as_duration(case.length);
        let mut running = RunningCase {
            case,
            address: address.into(),
            pin: pin.into(),
            server,
            owner: None,
            receivers: Vec::new(),
            ends_at: Instant::now() + length,
            _middlemen: Vec::new(),
        };
        for (which, delays) in (1..).zip(&case.paths) {
            let middleman = Middleman::start(middleman_config(&running.address, *delays, case.jitter)?)?;
            let name = format!("{number}-receiver-{which}");
            let out = self.recording(&name).display().to_string();
            let to = [
                "record",
                &out,
                "--connect",
                &middleman.address().to_string(),
                "--pin",
                &running.pin,
                "--for",
                &in_seconds(length),
            ];
            running
                .receivers
                .push(self.start(&name, &[&to[..], &motion_arguments(case), &LOGGING].concat())?);
            running._middlemen.push(middleman);
        }
        Ok(running)
    }

    fn start_server(&self, number: usize, case: &LiveCase) -> Result<ChildProcess, Failure> {
        let placement = match case.placement {
            Placement::Local => "local",
            Placement::Hop => "hop",
            Placement::Global => "global",
        };
        let (scheduler, receivers) = (case.scheduler.to_string(), case.paths.len().to_string());
        let lasting = in_seconds(as_duration(case.length) + SERVER_ENDS_AFTER);
        let how = ["--placement", placement, "--scheduler", &scheduler, "--receivers", &receivers];
        let rest = ["--budget", "1", "--json", "--for", &lasting];
        self.start(
            &format!("{number}-server"),
            &[&["serve", "--listen", "127.0.0.1:0"], &how[..], &rest, &motion_arguments(case)].concat(),
        )
    }

    fn start_owner(&self, number: usize, running: &RunningCase<'_>) -> Result<ChildProcess, Failure> {
        let name = format!("{number}-owner");
        let out = self.recording(&name).display().to_string();
        let left = running.ends_at.saturating_duration_since(Instant::now() + OWNER_ENDS_BEFORE);
        let (seed, lasting) = (running.case.seed.to_string(), in_seconds(left));
        let to = ["bots", "1", "--connect", &running.address, "--pin", &running.pin, "--out", &out];
        let how = ["--drive", "random", "--seed", &seed, "--for", &lasting];
        self.start(&name, &[&to[..], &how, &motion_arguments(running.case), &LOGGING].concat())
    }

    fn wait_for_all(&self, running: &mut [RunningCase<'_>]) -> Result<(), Failure> {
        let ends_at = running.iter().map(|case| case.ends_at).max().unwrap_or_else(Instant::now);
        let left = (ends_at - Instant::now()).as_secs();
        self.progress.begin("playing", left);
        let (began, mut reported) = (Instant::now(), 0);
        while !running.iter_mut().flat_map(RunningCase::processes).try_fold(true, |all, process| {
            let ended = process.has_ended()?;
            Ok::<_, Failure>(all && ended)
        })? {
            self.pause()?;
            while reported < left.min(began.elapsed().as_secs()) {
                self.progress.step();
                reported += 1;
            }
            if Instant::now() > ends_at + SERVER_ENDS_AFTER + LINE_WITHIN {
                return Err("a process does not end: the machine is too busy".into());
            }
        }
        Ok(())
    }

    fn collect(&self, running: &RunningCase<'_>) -> Result<CaseLogs, Failure> {
        let server = self.summary(&running.server)?;
        let owner = running.owner.as_ref().ok_or("the owner was never started")?;
        let log = |process: &ChildProcess| {
            let summary = self.summary(process)?;
            let states = read_states(fs::read(self.recording(&process.name))?)?.1;
            let followed = self.folder.path().join(format!("{}.followed.parquet", process.name));
            let followed = if followed.exists() { read_followed(fs::read(followed)?)? } else { Vec::new() };
            let vectors = vectors_sent_to(&summary["client"], &server);
            Ok::<_, Failure>(ProcessLog { states, followed, clock: clock(&summary["clock"]), vectors })
        };
        let receivers = running.receivers.iter().map(log).collect::<Result<_, _>>()?;
        Ok(CaseLogs { owner: log(owner)?, receivers })
    }

    fn summary(&self, process: &ChildProcess) -> Result<Value, Failure> {
        let text = fs::read_to_string(self.folder.path().join(format!("{}.json", process.name)))?;
        let parsed = serde_json::from_str(&text);
        Ok(parsed
            .map_err(|error| format!("{} printed {text:?}, which is not JSON: {error}", process.name))?)
    }

    /// Waits until a process prints a line that begins like this, and returns the line.
    fn wait_for_line(&self, process: &mut ChildProcess, beginning: &str) -> Result<String, Failure> {
        let since = Instant::now();
        loop {
            let printed = fs::read_to_string(&process.stderr)?;
            // A line that has not ended may be half of one.
            let mut lines = printed.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
            if let Some(line) = lines.find(|line| line.starts_with(beginning)) {
                return Ok(line.to_owned());
            }
            if process.has_ended()? || since.elapsed() > LINE_WITHIN {
                return Err(format!("{} never printed {beginning:?}", process.name).into());
            }
            self.pause()?;
        }
    }

    fn pause(&self) -> Result<(), Failure> {
        if self.progress.is_cancelled() {
            return Err("interrupted".into());
        }
        sleep(LOOK_EVERY);
        Ok(())
    }

    fn start(&self, name: &str, arguments: &[&str]) -> Result<ChildProcess, Failure> {
        let at = |ending: &str| self.folder.path().join(format!("{name}.{ending}"));
        let stderr = at("txt");
        let child = Command::new(self.executable)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(File::create(at("json"))?)
            .stderr(File::create(&stderr)?)
            .spawn()?;
        Ok(ChildProcess { name: name.into(), stderr, child })
    }

    fn recording(&self, name: &str) -> PathBuf {
        self.folder.path().join(format!("{name}.parquet"))
    }
}

/// How every process logs what it sees: on one timeline.
const LOGGING: [&str; 5] = ["--stamp", "machine", "--zero", "0", "--json"];

impl RunningCase<'_> {
    fn processes(&mut self) -> impl Iterator<Item = &mut ChildProcess> {
        self.receivers.iter_mut().chain(&mut self.owner).chain([&mut self.server])
    }
}

/// A process that does not outlive this one.
struct ChildProcess {
    name: String,
    stderr: PathBuf,
    child: Child,
}

impl ChildProcess {
    /// Whether the process has ended; an error, if it has failed.
    fn has_ended(&mut self) -> Result<bool, Failure> {
        match self.child.try_wait()? {
            None => Ok(false),
            Some(status) if status.success() => Ok(true),
            Some(status) => {
                let printed = fs::read_to_string(&self.stderr).unwrap_or_default();
                let last = printed.lines().last().unwrap_or("nothing").to_owned();
                Err(format!("{} failed with {status} and printed: {last}", self.name).into())
            }
        }
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        // A process that has ended already is not killed, and waiting takes no time.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How motion is sent in a case. Receivers assume straight motion, as in Banavar 2005. Where costs
/// are compared, a sixth of the usual threshold makes 500 triggers of 300: one is below 1 %.
fn motion_arguments(case: &LiveCase) -> Vec<&'static str> {
    let arguments = ["--model", "linear", "--threshold", if case.is_bare { "0.05" } else { "0.3" }];
    let bare = case.is_bare.then_some("--as-in-the-papers");
    arguments.into_iter().chain(bare).collect()
}

fn middleman_config(server: &str, delays: PathDelays, jitter: Span) -> Result<MiddlemanConfig, Failure> {
    let link = |delay| LinkConfig::default().delay(delay).jitter_uniform(jitter);
    let config = MiddlemanConfig::between(([127, 0, 0, 1], 0).into(), server.parse()?);
    Ok(config.each_way(link(delays.up), link(delays.down)))
}

fn vectors_sent_to(client: &Value, server: &Value) -> u64 {
    let clients = server["clients"].as_array().map_or(&[][..], Vec::as_slice);
    let found = clients.iter().find(|each| each["client"] == *client);
    found.and_then(|each| each["session"]["vectors_sent"].as_u64()).unwrap_or(0)
}

fn clock(summary: &Value) -> ClockAccuracy {
    let number = |key: &str| summary[key].as_f64().unwrap_or(f64::NAN);
    let count = |key: &str| summary[key].as_u64().unwrap_or(0);
    ClockAccuracy {
        looks: count("looks"),
        covered: count("covered"),
        off_ms_mean: number("off_mean_ms"),
        off_ms_max: number("off_max_ms"),
        stated_ms_mean: number("stated_mean_ms"),
        stated_ms_max: number("stated_max_ms"),
    }
}

fn as_duration(span: Span) -> Duration {
    Duration::from_micros(span.as_micros().unsigned_abs())
}

/// As `--for` takes it.
fn in_seconds(duration: Duration) -> String {
    format!("{}s", duration.as_secs_f64())
}
