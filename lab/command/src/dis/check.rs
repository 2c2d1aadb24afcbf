use std::io::{BufRead, Read};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use fairpath_dis::stamp::Instants;
use fairpath_dis::{Monitor, capture};
use fairpath_experiments::{dis_check, files};

use super::table::{self, Order, Width};
use super::{ExerciseOptions, local};
use crate::{BadInput, print};

/// Check a recording against the rules of DIS, or the nine models against expected values
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// A recording (pcap), or a JSON list of cases, plain or gzipped
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    exercise: ExerciseOptions,
}

const EXAMPLES: &str = "\
Examples:
  fairpath dis check exercise.pcap
  fairpath dis check vectors.json

Of a recording: prediction errors, heartbeats and time stamps of every entity, and what is wrong.
Of a JSON list: passes per model and the worst relative error.
Exit code: 0 all is well, 1 some is not, 2 bad input.";

impl Arguments {
    pub(crate) fn execute(self) -> Result<ExitCode, BadInput> {
        let mut input = files::stream(&self.file)?;
        let first =
            input.fill_buf().map_err(|error| BadInput(format!("{}: {error}", self.file.display())))?;
        // The four bytes that a recording begins with are no text. Other recordings are explained.
        let is_recording = first.get(..4).is_some_and(|magic| !magic.is_ascii())
            || self.file.extension().is_some_and(|it| it == "pcap" || it == "pcapng" || it == "cap");
        if is_recording { self.recording(input) } else { self.vectors(&files::read(&self.file)?) }
    }

    fn vectors(&self, bytes: &[u8]) -> Result<ExitCode, BadInput> {
        let report = dis_check::check(bytes, &self.file.display().to_string())?;
        let text = if self.json { serde_json::to_string_pretty(&report)? } else { report.to_string() };
        print::to_stdout(&format!("{}\n", text.trim_end()))?;
        Ok(if report.all_passed() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    fn recording(&self, input: impl Read) -> Result<ExitCode, BadInput> {
        let wrong = |error| BadInput(format!("{}: {error}", self.file.display()));
        let mut monitor = Monitor::new(self.exercise.config()?);
        let (mut first, mut last) = (None, 0);
        for datagram in capture::Reader::new(input).map_err(wrong)? {
            let datagram = datagram.map_err(wrong)?;
            let now = Instants { local: local(datagram.unix_us), unix_us: datagram.unix_us };
            monitor.handle_datagram(&datagram.bytes, now);
            first.get_or_insert(datagram.unix_us);
            last = datagram.unix_us;
        }
        let first = first.unwrap_or(0);
        let report = monitor.report(local(last));
        let secs = (last - first) as f64 * 1e-6;
        let text = if self.json {
            format!("{}\n", table::as_json(&report, secs))
        } else {
            let rows = table::rows(&report, Order::Problems, Width::Wide).join("\n");
            format!("{}{rows}\n", table::summary(&report, secs, Width::Wide))
        };
        print::to_stdout(&text)?;
        let is_well = report.errors.is_empty() && report.entities.iter().all(|it| it.problems.is_empty());
        Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}
