//! Starts this program a second time in another role, so that each role is measured apart.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// A child process that reports to its stdout, in lines of JSON, and ends when stdin is closed.
#[derive(Debug)]
pub struct Helper {
    child: Child,
    /// Opened with the first report: a process that reports nothing needs no buffer.
    reports: Option<BufReader<ChildStdout>>,
}

impl Helper {
    pub fn start<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Self {
        let program = std::env::current_exe().expect("the path of this program is known");
        let child =
            Command::new(program).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        Self { child: child.expect("this program can be started again"), reports: None }
    }

    /// Returns the next report. Panics if the helper ended without one; its stderr says why.
    pub fn next_report<T: DeserializeOwned>(&mut self) -> T {
        let mut line = String::new();
        let stdout = || BufReader::new(self.child.stdout.take().expect("stdout is piped"));
        let read = self.reports.get_or_insert_with(stdout).read_line(&mut line).expect("a pipe can be read");
        assert!(read > 0, "a helper process ended before it reported; its stderr says why");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("a helper's report {line:?}: {error}"))
    }

    /// Closes the helper's stdin and returns its last report.
    pub fn finish<T: DeserializeOwned>(mut self) -> T {
        drop(self.child.stdin.take());
        self.next_report()
    }

    /// Returns the process id, for a profiler.
    pub fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        // The helper ends by itself once its stdin is closed.
        let _ = self.child.wait();
    }
}

pub fn report(what: &impl Serialize) {
    let line = serde_json::to_string(what).expect("reports serialize to JSON");
    let mut out = std::io::stdout().lock();
    // Writing fails if the parent process is gone. Then stdin is closed too, and the helper ends.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// Returns a flag that becomes true when stdin is closed: the parent has finished, or is gone.
pub fn until_stdin_ends() -> Arc<AtomicBool> {
    let has_ended = Arc::new(AtomicBool::new(false));
    let ended = Arc::clone(&has_ended);
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        ended.store(true, Ordering::Relaxed);
    });
    has_ended
}
