use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use fairpath_experiments::experiment::Settings;
use fairpath_experiments::laps::{HORIZONS_MS, LapFile, LapTrial, open_laps};

use crate::BadInput;
use crate::lab::{self, Output};
use crate::print::all_quoted;

/// Predict recorded laps, each by the mean line of the others
#[derive(Args)]
#[command(after_help = "Examples:\n  \
        fairpath lab laps --trace practice.csv.gz\n  \
        fairpath lab laps --trace monday.csv tuesday.csv --horizons 50,100,300,2000\n  \
        fairpath lab laps --trace gnss.csv.gz --rate 10 --json | jq '.rows[] | {predictor, mean}'\n\n\
        Laps are CSV with the columns lap,t,x,y in seconds and metres, one row per sample, all laps of a file on one \
        track. Each lap is predicted by constant velocity (linear), by constant acceleration (TDM), by Jawad 2017's \
        trend line as printed and as coded, by our trend line (dense, and live from one DR vector), and by the \
        adaptive predictor. The lines are made of the other laps.\n\n\
        results.json and --json have one row per file, predictor and horizon: mean, median, the 95 % interval of the \
        mean over laps, and the ratios to linear and TDM with their intervals.\n\n\
        Exit code: 0 done, 2 bad input.")]
pub(crate) struct Laps {
    /// Recordings of laps
    #[arg(long, value_name = "FILE", required = true, num_args = 1..)]
    trace: Vec<PathBuf>,
    /// How far ahead to predict, in ms [default: 50,100,…,300,500,1000,1500,2000]
    #[arg(long, value_name = "MS,…", allow_hyphen_values = true)]
    horizons: Option<String>,
    /// The greatest number of samples per second that predictors see; GNSS has about 10 [default:
    /// all]
    #[arg(long, value_name = "HZ", allow_hyphen_values = true)]
    rate: Option<String>,
    #[command(flatten)]
    output: Output,
}

impl Laps {
    pub(crate) fn execute(self) -> Result<ExitCode, BadInput> {
        let trial = LapTrial {
            files: open_all(&self.trace)?,
            horizons_ms: self.horizons.as_deref().map_or_else(|| Ok(HORIZONS_MS.to_vec()), horizons)?,
            rate_max: self.rate.as_deref().map(rate).transpose()?,
        };
        let out = self.output.out_or(Path::new("fairpath-out").join("laps"));
        lab::run_one(&trial, &Settings::default(), &self.command_line(), &out, &self.output)?;
        Ok(ExitCode::SUCCESS)
    }

    fn command_line(&self) -> String {
        let mut line = format!("fairpath lab laps --trace {}", all_quoted(&self.trace));
        for (option, value) in [("--horizons", &self.horizons), ("--rate", &self.rate)] {
            if let Some(value) = value {
                line += &format!(" {option} {value}");
            }
        }
        line
    }
}

pub(crate) fn open_all(paths: &[PathBuf]) -> Result<Vec<LapFile>, BadInput> {
    paths.iter().map(|path| Ok(open_laps(path)?)).collect()
}

fn horizons(text: &str) -> Result<Vec<f64>, BadInput> {
    let millis =
        |word: &str| word.trim().parse::<f64>().ok().filter(|millis| (1.0..=5000.0).contains(millis));
    let all: Option<Vec<f64>> = text.split(',').map(millis).collect();
    all.ok_or_else(|| BadInput::of("--horizons", text, "give milliseconds up to 5000, such as 50,100,300"))
}

fn rate(text: &str) -> Result<f64, BadInput> {
    let given = text.trim().parse::<f64>().ok().filter(|rate| (4.0..=1000.0).contains(rate));
    given.ok_or_else(|| BadInput::of("--rate", text, "give samples a second, from 4 to 1000"))
}
