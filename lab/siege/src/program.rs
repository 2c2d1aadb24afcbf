//! The real programs under attack.

use std::fs::{self, File};
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Server,
    Lobby,
}

/// A server or a lobby. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Program {
    child: Child,
    /// The command that it runs, and that honest players run.
    pub(crate) command: PathBuf,
    pub(crate) address: SocketAddr,
    pub(crate) pin: String,
}

impl Role {
    fn word(self) -> &'static str {
        match self {
            Self::Server => "serve",
            Self::Lobby => "lobby",
        }
    }
}

impl Program {
    /// Starts the program on a free port, and waits until it listens.
    pub(crate) fn start(command: &Path, role: Role, folder: &Path) -> io::Result<Self> {
        let log = folder.join(format!("{}.log", role.word()));
        let mut starting = Command::new(command);
        starting.args([role.word(), "--listen", "127.0.0.1:0"]);
        let output = File::create(&log)?;
        starting.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
        let mut child = starting.spawn()?;
        let end = Instant::now() + PATIENCE;
        loop {
            let said = fs::read_to_string(&log)?;
            if let Some((address, pin)) = parse(&said) {
                return Ok(Self { child, command: command.into(), address, pin });
            }
            if Instant::now() > end || child.try_wait()?.is_some() {
                let _ = (child.kill(), child.wait());
                return Err(io::Error::other(format!(
                    "`{} {}` does not listen: {said}",
                    command.display(),
                    role.word()
                )));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Processor time so far; zero where the system does not tell.
    pub(crate) fn cpu_secs(&self) -> f64 {
        const TICKS_PER_SEC: f64 = 100.0;
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap_or_default();
        // After the name in parentheses, fields 12 and 13 are user and system time.
        let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
        let ticks = |at: usize| fields.get(at).and_then(|it| it.parse::<f64>().ok()).unwrap_or_default();
        (ticks(11) + ticks(12)) / TICKS_PER_SEC
    }

    /// Memory in use; zero where the system does not tell.
    pub(crate) fn resident_bytes(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
        let kib: u64 = line.split_whitespace().next().and_then(|it| it.parse().ok()).unwrap_or_default();
        1024 * kib
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = (self.child.kill(), self.child.wait());
    }
}

/// A server starts in milliseconds; a busy machine may take longer.
const PATIENCE: Duration = Duration::from_secs(30);

/// Returns the address and the fingerprint in "listening on 127.0.0.1:7777, fingerprint 5f…".
fn parse(said: &str) -> Option<(SocketAddr, String)> {
    let line = said.lines().find_map(|line| line.strip_prefix("listening on "))?;
    let (address, rest) = line.split_once(", fingerprint ")?;
    let pin = rest.split_whitespace().next()?;
    Some((address.parse().ok()?, pin.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_of_a_program_is_understood_once_it_is_whole() {
        let line = "listening on 127.0.0.1:7555, fingerprint 48cd\n  fairpath bots";
        assert_eq!(parse(line), Some((([127, 0, 0, 1], 7555).into(), "48cd".to_owned())));
        assert_eq!(parse("listening on 127.0.0.1:7555, finger"), None);
        assert_eq!(parse(""), None);
    }
}
