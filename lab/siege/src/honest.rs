//! Honest players: real processes that play, join, and ask the lobby.

use std::error::Error;
use std::io;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::program::Program;

/// Four bots that play during the whole attack.
#[derive(Debug)]
pub(crate) struct Players(Child);

/// What the players noticed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Noticed {
    /// Mean distance between where a tank is and where another player is shown it.
    pub(crate) error: f64,
    /// The largest 95th percentile of one player.
    pub(crate) p95: f64,
    pub(crate) sessions_lost: u64,
    pub(crate) connected: usize,
}

/// Attempts, and how many of them succeeded.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Attempts {
    pub(crate) tried: u32,
    pub(crate) done: u32,
    pub(crate) longest: Duration,
}

pub(crate) const PLAYERS: usize = 4;
/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(250);
/// How long a player that joins stays.
const STAY: Duration = Duration::from_millis(200);

impl Players {
    pub(crate) fn begin(server: &Program, lasting: Duration) -> io::Result<Self> {
        Ok(Self(bots(server, PLAYERS, lasting).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?))
    }

    pub(crate) fn end(self) -> Result<Noticed, Box<dyn Error>> {
        let Output { stdout, .. } = self.0.wait_with_output()?;
        if stdout.is_empty() {
            // They never got in.
            return Ok(Noticed { sessions_lost: PLAYERS as u64, ..Noticed::default() });
        }
        Noticed::read(&stdout).ok_or_else(|| "`fairpath bots --json` printed something else".into())
    }
}

impl Noticed {
    fn read(summary: &[u8]) -> Option<Self> {
        let summary: Value = serde_json::from_slice(summary).ok()?;
        let bots = summary["bots"].as_array()?;
        let p95 = bots.iter().filter_map(|bot| bot["error"]["p95"].as_f64());
        Some(Self {
            error: summary["error_mean"].as_f64()?,
            p95: p95.fold(0.0, f64::max),
            sessions_lost: bots.iter().filter_map(|bot| bot["sessions_lost"].as_u64()).sum(),
            connected: bots.iter().filter(|bot| bot["is_connected"] == true).count(),
        })
    }
}

/// Players join one after the other, and leave again.
pub(crate) fn join_for(server: &Program, lasting: Duration) -> Attempts {
    let join = || bots(server, 1, STAY).stdout(Stdio::null()).stderr(Stdio::null()).status();
    attempt_for(lasting, &AtomicBool::new(false), || join().is_ok_and(|status| status.success()), STAY)
}

/// Asks a lobby for its list, again and again.
#[derive(Debug)]
pub(crate) struct Lookups {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Attempts>,
}

impl Lookups {
    pub(crate) fn begin(lobby: &Program, lasting: Duration) -> Self {
        let stop = Arc::<AtomicBool>::default();
        let (command, address, pin) = (lobby.command.clone(), lobby.address.to_string(), lobby.pin.clone());
        let look = move || {
            let mut asking = Command::new(&command);
            asking.args(["servers", "--lobby", &address, "--pin", &pin, "--json"]);
            asking.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            asking.status().is_ok_and(|status| status.success())
        };
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || attempt_for(lasting, &stopped, look, Duration::ZERO));
        Self { stop, thread }
    }

    pub(crate) fn end(self) -> Attempts {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_default()
    }
}

/// Tries again and again. `usual` is how long a success takes by itself.
fn attempt_for(
    lasting: Duration,
    stop: &AtomicBool,
    mut attempt: impl FnMut() -> bool,
    usual: Duration,
) -> Attempts {
    let end = Instant::now() + lasting;
    let mut attempts = Attempts::default();
    while Instant::now() < end && !stop.load(Ordering::Relaxed) {
        let began = Instant::now();
        let is_done = attempt();
        attempts.tried += 1;
        attempts.done += u32::from(is_done);
        if is_done {
            attempts.longest = attempts.longest.max(began.elapsed().saturating_sub(usual));
        }
        std::thread::sleep(PAUSE);
    }
    attempts
}

fn bots(server: &Program, count: usize, lasting: Duration) -> Command {
    let mut command = Command::new(&server.command);
    command.args(["bots", &count.to_string(), "--connect", &server.address.to_string()]);
    command.args(["--pin", &server.pin, "--for", &format!("{}ms", lasting.as_millis()), "--json"]);
    command.stdin(Stdio::null());
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_of_bots_is_read() {
        let summary = br#"{"bots":[{"error":{"p95":0.25},"is_connected":true,"sessions_lost":0},
            {"error":{"p95":0.5},"is_connected":false,"sessions_lost":2}],"error_mean":0.1}"#;
        let noticed = Noticed { error: 0.1, p95: 0.5, sessions_lost: 2, connected: 1 };
        assert_eq!(Noticed::read(summary), Some(noticed));
        assert_eq!(Noticed::read(b"{}"), None);
    }

    #[test]
    fn attempts_that_fail_count_as_tried() {
        let mut turn = 0;
        let alternate = || {
            turn += 1;
            turn % 2 == 0
        };
        let attempts =
            attempt_for(Duration::from_millis(600), &AtomicBool::new(false), alternate, Duration::ZERO);
        assert!(attempts.tried >= 1 && attempts.done == attempts.tried / 2, "{attempts:?}");
    }
}
