//! `fairpath lab eval`, `fairpath lab packets` and `fairpath lab tune`

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use fairpath_experiments::experiment::Settings;
use fairpath_experiments::prediction::{
    self, AdaptiveClaims, Candidate, Evaluation, HORIZONS_MS, Packets, Tuning, Watched,
};

use crate::BadInput;
use crate::lab::{self, Output};
use crate::options::{NamedList, predictor_help, predictors};
use crate::print::quoted;

/// Score predictors on recordings: where will players be in 0.3 to 2.1 s?
#[derive(Args)]
#[command(after_help = "Examples:\n  \
        fairpath lab eval --trace match.csv.gz\n  \
        fairpath lab eval --trace one.csv.gz two.parquet duel.xml --predictors line,tdm --picture\n  \
        fairpath lab eval --trace one.csv.gz two.csv.gz --claims\n  \
        fairpath lab eval --trace match.csv.gz --horizons 300,1000 --json | jq '.rows[] | {mean}'\n\n\
        A recording is CSV with the header t,entity,team,x,y (NAME.breaks.csv.gz beside NAME.csv.gz is read too), \
        BZFlag's path, a file that `fairpath lab record` wrote, or a match of Ethereal as XML. A world is a grid: a \
        first line such as `low -40 -20 cell 2.5`, then a row of cells per line with # for walls; or a map in \
        Ethereal's letters.\n\n\
        results.json and --json have one row per recording, predictor and horizon: mean, median, hits_percent, the \
        mean over players with its 95 % interval, the ratio to the line, and hits_total_percent and packets_per_s \
        over all horizons. With --claims there is one row per recording, mode and measure: ours, the best of the \
        others and its name, and whether ours is within the claim.\n\n\
        Exit code: 0 done, 2 bad input.")]
pub(crate) struct Eval {
    /// Recordings to score on
    #[arg(long, value_name = "FILE", required = true, num_args = 1..)]
    trace: Vec<PathBuf>,
    /// The predictors to score: all, or names
    #[arg(
        long,
        value_name = "NAME,…",
        default_value = "all",
        value_parser = predictors,
        long_help = predictor_help("The predictors to score: all, or names separated by commas")
    )]
    predictors: NamedList<Candidate>,
    /// How far ahead to predict, in ms [default: 300,600,…,2100]
    #[arg(long, value_name = "MS,…", allow_hyphen_values = true)]
    horizons: Option<String>,
    /// A prediction off by at most this length is a hit [default: Shi 2014's 45 pixels, scaled by
    /// top speed]
    #[arg(long, value_name = "R", allow_hyphen_values = true)]
    hit_radius: Option<String>,
    /// A prediction off by more than this length costs a packet [default: Shi 2014's 45 pixels,
    /// scaled by top speed]
    #[arg(long, value_name = "G", allow_hyphen_values = true)]
    threshold: Option<String>,
    /// A file with the walls, for recordings without them
    #[arg(long, value_name = "FILE")]
    world: Option<PathBuf>,
    /// Draw a few seconds of play for every predictor
    #[arg(long)]
    picture: bool,
    /// Compare the adaptive predictor with all others in one table: mean error, hits and packets
    #[arg(long, conflicts_with_all = ["predictors", "picture"])]
    claims: bool,
    #[command(flatten)]
    output: Output,
}

/// Count the packets that keep receivers within a threshold, beside the fewest possible
#[derive(Args)]
#[command(after_help = "Examples:\n  \
        fairpath lab packets --trace match.csv.gz --threshold 0.3\n  \
        fairpath lab packets --trace one.csv.gz two.csv.gz --json | jq '.rows[]'\n\n\
        Exit code: 0 done, 2 bad input.")]
pub(crate) struct CountPackets {
    /// Recordings to count on
    #[arg(long, value_name = "FILE", required = true, num_args = 1..)]
    trace: Vec<PathBuf>,
    /// Receivers may be off by this length [default: Shi 2014's 45 pixels, scaled by top speed]
    #[arg(long, value_name = "G", allow_hyphen_values = true)]
    threshold: Option<String>,
    #[command(flatten)]
    output: Output,
}

/// Choose the adaptive predictor's parameters, leaving each recording out in turn
#[derive(Args)]
#[command(after_help = "Examples:\n  \
        fairpath lab tune --trace one.csv.gz two.csv.gz three.csv.gz\n\n\
        The table judges each recording with parameters that were chosen on all others. results.json has the \
        parameters; its last row has those chosen if nothing is left out. Takes minutes.\n\n\
        Exit code: 0 done, 2 bad input.")]
pub(crate) struct Tune {
    /// Recordings to choose on, at least two
    #[arg(long, value_name = "FILE", required = true, num_args = 1..)]
    trace: Vec<PathBuf>,
    #[command(flatten)]
    output: Output,
}

impl Eval {
    pub(crate) fn execute(self) -> Result<ExitCode, BadInput> {
        let candidates = self.predictors.chosen.clone();
        let horizons_ms = self.horizons.as_deref().map_or_else(|| Ok(HORIZONS_MS.to_vec()), horizons)?;
        let hit_radius = self.hit_radius.as_deref().map(|text| length("--hit-radius", text)).transpose()?;
        let threshold = self.threshold.as_deref().map(|text| length("--threshold", text)).transpose()?;
        let watched = open_all(&self.trace, self.world.as_deref())?;
        let evaluation =
            Evaluation { watched, candidates, horizons_ms, hit_radius, threshold, pictures: self.picture };
        let command = self.command_line();
        let out = |name: &str| self.output.out_or(Path::new("fairpath-out").join(name));
        if self.claims {
            let claims = AdaptiveClaims { evaluation };
            lab::run_one(&claims, &Settings::default(), &command, &out("claims"), &self.output)?;
        } else {
            lab::run_one(&evaluation, &Settings::default(), &command, &out("eval"), &self.output)?;
        }
        Ok(ExitCode::SUCCESS)
    }

    fn command_line(&self) -> String {
        let mut line = format!("fairpath lab eval --trace {}", traces(&self.trace));
        let mut add = |option: &str, value: &str| line += &format!(" {option} {}", quoted(value));
        if !self.claims {
            add("--predictors", &self.predictors.text);
        }
        let options = [
            ("--horizons", &self.horizons),
            ("--hit-radius", &self.hit_radius),
            ("--threshold", &self.threshold),
        ];
        for (option, value) in options {
            if let Some(value) = value {
                add(option, value);
            }
        }
        if let Some(world) = &self.world {
            add("--world", &world.to_string_lossy());
        }
        if self.picture {
            line += " --picture";
        }
        if self.claims {
            line += " --claims";
        }
        line
    }
}

impl CountPackets {
    pub(crate) fn execute(self) -> Result<ExitCode, BadInput> {
        let threshold = self.threshold.as_deref().map(|text| length("--threshold", text)).transpose()?;
        let packets = Packets { watched: open_all(&self.trace, None)?, threshold };
        let out = self.output.out_or(Path::new("fairpath-out").join("packets"));
        lab::run_one(&packets, &Settings::default(), &self.command_line(), &out, &self.output)?;
        Ok(ExitCode::SUCCESS)
    }

    fn command_line(&self) -> String {
        let threshold =
            self.threshold.as_ref().map_or_else(String::new, |text| format!(" --threshold {}", quoted(text)));
        format!("fairpath lab packets --trace {}{threshold}", traces(&self.trace))
    }
}

impl Tune {
    pub(crate) fn execute(self) -> Result<ExitCode, BadInput> {
        let tuning = Tuning { watched: open_all(&self.trace, None)? };
        let command = format!("fairpath lab tune --trace {}", traces(&self.trace));
        let out = self.output.out_or(Path::new("fairpath-out").join("tune"));
        lab::run_one(&tuning, &Settings::default(), &command, &out, &self.output)?;
        Ok(ExitCode::SUCCESS)
    }
}

fn open_all(paths: &[PathBuf], world: Option<&Path>) -> Result<Vec<Watched>, BadInput> {
    let world = world.map(prediction::open_world).transpose()?;
    paths.iter().map(|path| Ok(prediction::open(path, world.as_ref())?)).collect()
}

fn traces(paths: &[PathBuf]) -> String {
    let quoted: Vec<String> = paths.iter().map(|path| quoted(&path.to_string_lossy())).collect();
    quoted.join(" ")
}

fn horizons(text: &str) -> Result<Vec<f64>, BadInput> {
    let millis =
        |word: &str| word.trim().parse::<f64>().ok().filter(|millis| (1.0..=5000.0).contains(millis));
    let all: Option<Vec<f64>> = text.split(',').map(millis).collect();
    all.ok_or_else(|| BadInput::of("--horizons", text, "give milliseconds up to 5000, such as 300,600,900"))
}

fn length(option: &str, text: &str) -> Result<f64, BadInput> {
    let given = text.trim().parse::<f64>().ok().filter(|length| length.is_finite() && *length > 0.0);
    given.ok_or_else(|| BadInput::of(option, text, "give a length above 0, in the recording's unit"))
}
