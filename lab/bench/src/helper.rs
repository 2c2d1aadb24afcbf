//! This program once more, in another role, so that it is measured apart.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// A process of this same program. It reports on its stdout, a line of JSON at a time, and ends
/// when nobody holds its stdin any more.
#[derive(Debug)]
pub struct Helper {
    child: Child,
    reports: BufReader<ChildStdout>,
}

impl Helper {
    /// Starts one with these arguments.
    pub fn start<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Self {
        let program = std::env::current_exe().expect("this program is somewhere");
        let child =
            Command::new(program).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = child.expect("this program can be started again");
        let reports = BufReader::new(child.stdout.take().expect("it was asked for"));
        Self { child, reports }
    }

    /// What it reports next. A helper that died has said why on stderr; there is nothing to measure
    /// without it.
    pub fn next_report<T: DeserializeOwned>(&mut self) -> T {
        let mut line = String::new();
        let read = self.reports.read_line(&mut line).expect("a pipe can be read");
        assert!(read > 0, "a helper ended before it reported");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("a helper reports {line:?}: {error}"))
    }

    /// Lets it end, and has its last report.
    pub fn finish<T: DeserializeOwned>(mut self) -> T {
        drop(self.child.stdin.take());
        self.next_report()
    }

    /// Its process, for a profiler.
    pub fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        // It ends by itself once its stdin is gone.
        let _ = self.child.wait();
    }
}

/// What a helper has to say.
pub fn report(what: &impl Serialize) {
    let line = serde_json::to_string(what).expect("numbers and words become JSON");
    let mut out = std::io::stdout().lock();
    // Nobody reads it any more if whoever started this is gone; then it ends soon, too.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// Becomes true when whoever started this helper wants it to end, or is gone.
pub fn until_stdin_ends() -> Arc<AtomicBool> {
    let has_ended = Arc::new(AtomicBool::new(false));
    let ended = Arc::clone(&has_ended);
    std::thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        ended.store(true, Ordering::Relaxed);
    });
    has_ended
}
