//! Structured logs of what a server refuses, with a limit for each kind of line.
//!
//! An attack must not fill a disk with lines about itself. So of each kind one line leaves in a
//! second, and says how many incidents it stands for. Nothing leaves unless the program has a
//! subscriber of `tracing`; all events have a target that begins with `fairpath`.

use std::net::IpAddr;
use std::time::{Duration, Instant};

/// What a server refused, or did to protect others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Incident {
    /// The household has as many connections as it may.
    TooManyConnections,
    /// The household opens connections too fast.
    TooFast,
    /// All handshakes are in use, or too many households are known.
    NoHandshake,
    /// First packets in the name of one household come too often to be answered.
    FirstPackets,
    /// A handshake or a greeting failed or took too long.
    Failed,
    /// A client broke the protocol.
    ThrownOut,
}

impl Incident {
    pub(crate) const ALL: [Self; 6] = [
        Self::TooManyConnections,
        Self::TooFast,
        Self::NoHandshake,
        Self::FirstPackets,
        Self::Failed,
        Self::ThrownOut,
    ];

    fn text(self) -> &'static str {
        match self {
            Self::TooManyConnections => "connection refused: the address has as many as it may",
            Self::TooFast => "connection refused: the address opens too many per second",
            Self::NoHandshake => "connection refused: all handshakes are in use",
            Self::FirstPackets => "first packets not answered: too many in the name of one address",
            Self::Failed => "a handshake or greeting failed",
            Self::ThrownOut => "a client broke the protocol",
        }
    }
}

/// Writes one line a second for each kind of incident.
#[derive(Debug, Default)]
pub(crate) struct IncidentLog {
    lines: [Line; Incident::ALL.len()],
}

#[derive(Clone, Copy, Debug, Default)]
struct Line {
    count: u64,
    written_at: Option<Instant>,
}

/// Pause between two lines of one kind.
const LINE_EVERY: Duration = Duration::from_secs(1);

impl IncidentLog {
    /// Counts an incident, and writes a line if none of its kind was written of late. `address` is
    /// that of the newest one.
    pub(crate) fn note(&mut self, incident: Incident, address: IpAddr, now: Instant) {
        let line = &mut self.lines[incident as usize];
        line.count += 1;
        if line.written_at.is_some_and(|at| now.saturating_duration_since(at) < LINE_EVERY) {
            return;
        }
        line.written_at = Some(now);
        let count = std::mem::take(&mut line.count);
        tracing::warn!(target: "fairpath::admission", %address, count, "{}", incident.text());
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;
    use std::sync::{Arc, Mutex};

    use tracing::field::{Field, Visit};
    use tracing::span::{Attributes, Id, Record};
    use tracing::{Event, Metadata, Subscriber};

    use super::*;

    /// Keeps the counts of all events.
    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u64>>>);

    impl Visit for Lines {
        fn record_u64(&mut self, field: &Field, value: u64) {
            if field.name() == "count" {
                self.0.lock().unwrap().push(value);
            }
        }

        fn record_debug(&mut self, _: &Field, _: &dyn Debug) {}
    }

    impl Subscriber for Lines {
        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            metadata.target().starts_with("fairpath")
        }

        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }

        fn record(&self, _: &Id, _: &Record<'_>) {}
        fn record_follows_from(&self, _: &Id, _: &Id) {}
        fn enter(&self, _: &Id) {}
        fn exit(&self, _: &Id) {}

        fn event(&self, event: &Event<'_>) {
            event.record(&mut self.clone());
        }
    }

    #[test]
    fn an_attack_writes_a_line_a_second_that_counts_it() {
        let (lines, mut log, begin) = (Lines::default(), IncidentLog::default(), Instant::now());
        tracing::subscriber::with_default(lines.clone(), || {
            for nth in 0..3_500u32 {
                let now = begin + Duration::from_millis(nth.into());
                log.note(Incident::TooFast, [192, 0, 2, 1].into(), now);
            }
            log.note(Incident::ThrownOut, [192, 0, 2, 1].into(), begin);
        });
        let counts = lines.0.lock().unwrap().clone();
        assert_eq!(counts, [1, 1_000, 1_000, 1_000, 1]);
    }
}
