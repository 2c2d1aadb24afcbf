//! Runs an experiment and writes its results, plots and report.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::experiment::{CannotRun, Experiment, Progress, Settings};
use crate::files::{OutputError, OutputFile, check_writable, write_together};
use crate::outcome::Outcome;
use crate::plot::draw;
use crate::report::Report;
use crate::results::Results;

pub const RESULTS_FILE: &str = "results.json";
pub const REPORT_FILE: &str = "report.html";

#[derive(Clone, Debug)]
pub struct Finished {
    /// The results; also in [`RESULTS_FILE`].
    pub results: Results,
    pub report: PathBuf,
}

/// A run without results. The text is one line.
#[derive(Debug)]
#[non_exhaustive]
pub enum RunError {
    CannotRun(CannotRun),
    Output(OutputError),
}

/// Runs `experiment` and writes `results.json`, its plots as SVG and `report.html` into `out`.
///
/// `command` is the line that would repeat the run; it is shown, not executed. Until the run is
/// over nothing is written, so an error or an interruption leaves `out` as it was.
pub fn run(
    experiment: &dyn Experiment,
    settings: &Settings,
    command: &str,
    out: &Path,
    progress: &dyn Progress,
) -> Result<Finished, RunError> {
    experiment.declaration().check(settings)?;
    check_writable(out)?;
    let outcome = experiment.run(settings, progress)?;
    let results = Results::new(experiment, settings, command, &outcome);
    write_together(out, &output_files(experiment, &results, &outcome))?;
    Ok(Finished { results, report: out.join(REPORT_FILE) })
}

/// The report comes last: where it exists, all files that it links to exist too.
fn output_files(experiment: &dyn Experiment, results: &Results, outcome: &Outcome) -> Vec<OutputFile> {
    let drawings: Vec<String> = outcome.figures.iter().map(draw).collect();
    let declaration = experiment.declaration();
    let report = Report { declaration, results, outcome, drawings: &drawings }.to_html();
    let figures = outcome.figures.iter().zip(drawings).map(|(figure, svg)| file(&figure.file_name(), svg));
    let mut files: Vec<OutputFile> = figures.collect();
    files.push(file(RESULTS_FILE, results.to_json()));
    files.push(file(REPORT_FILE, report));
    files
}

fn file(name: &str, text: String) -> OutputFile {
    OutputFile { name: name.into(), bytes: text.into_bytes() }
}

wrap!(RunError: CannotRun(CannotRun), Output(OutputError));

impl std::error::Error for RunError {}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CannotRun(error) => error.fmt(f),
            Self::Output(error) => error.fmt(f),
        }
    }
}
