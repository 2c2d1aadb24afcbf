use std::path::PathBuf;
use std::process::ExitCode;

use clap::Subcommand;
use fairpath_experiments::{dis_check, files};

use crate::BadInput;
use crate::print;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Compare the nine DIS models with a file of expected values
    #[command(after_help = "Example:\n  fairpath dis check vectors.json\n\n\
        Prints passes per model and the worst relative error.\n\
        Exit code: 0 all hold, 1 some do not, 2 bad input.")]
    Check {
        /// A JSON list of cases, plain or gzipped
        #[arg(value_name = "FILE.json")]
        file: PathBuf,
        /// Print the report as JSON
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn execute(command: Command) -> Result<ExitCode, BadInput> {
    let Command::Check { file, json } = command;
    let bytes = files::read(&file)?;
    let report = dis_check::check(&bytes, &file.display().to_string())?;
    let text = if json { serde_json::to_string_pretty(&report)? } else { report.to_string() };
    print::to_stdout(&format!("{}\n", text.trim_end()))?;
    Ok(if report.all_passed() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
