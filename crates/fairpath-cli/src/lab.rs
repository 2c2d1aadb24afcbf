//! `fairpath lab …`

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand};
use fairpath::time::Span;
use fairpath_lab::experiment::{Experiment, Progress, Settings, Silent};
use fairpath_lab::files::open_recording;
use fairpath_lab::record::TanksMatch;
use fairpath_lab::{experiments, run};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::BadInput;
use crate::print;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run an experiment; write its numbers, plots and report
    Run(Run),
    /// Play a match of bots and write it to a file that `lab run --motion` reads
    Record(Record),
    /// List the experiments there are
    #[command(after_help = "Example:\n  fairpath lab list")]
    List,
}

/// Run an experiment; write its numbers, plots and report
#[derive(Args)]
#[command(
    after_help = "Examples:\n  \
        fairpath lab run X1\n  \
        fairpath lab run X1 --motion match.csv.gz --delays 100,300,800 --jitter 20 --out my-match\n  \
        fairpath lab run X1 --json | jq '.claims[] | {id, held, measured}'\n\n\
        Exit code: 0 done, 1 a claim does not hold (only with --strict), 2 bad input.",
    after_long_help = LONG_HELP
)]
pub(crate) struct Run {
    /// Which one: see `fairpath lab list`
    experiment: String,
    /// Every random choice follows from it
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Recorded motion to run on, instead of the experiment's own: CSV, plain or gzipped, or Parquet
    #[arg(long, value_name = "FILE")]
    motion: Option<PathBuf>,
    /// One-way delays to try, in ms, instead of the experiment's own
    #[arg(long, value_name = "MS,…", value_delimiter = ',', value_parser = delay)]
    delays: Option<Vec<Span>>,
    /// Delays vary evenly by up to this many ms to either side
    #[arg(long, value_name = "MS", value_parser = delay)]
    jitter: Option<Span>,
    /// Directory for results.json, plots and report.html [default: fairpath-out/ and the experiment]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print results.json to stdout instead of the tables
    #[arg(long)]
    json: bool,
    /// Exit with 1 if a claim does not hold
    #[arg(long)]
    strict: bool,
}

/// Play a match of bots and write it to a file that `lab run --motion` reads
#[derive(Args)]
#[command(after_help = "Examples:\n  \
        fairpath lab record tanks\n  \
        fairpath lab record tanks --seed 7 --seconds 300 --players 20 --out my-match.csv\n  \
        fairpath lab run X1 --motion fairpath-out/tanks.parquet\n\n\
        Writes one file per table, with the columns of a trace: where every tank and shot was at every tick\n\
        (NAME.parquet or NAME.csv), what the drivers did (NAME.inputs.…) and, beside CSV, what the run was\n\
        (NAME.metadata.csv; Parquet has it inside).\n\n\
        Exit code: 0 done, 2 bad input.")]
pub(crate) struct Record {
    /// Which game; so far: tanks
    game: String,
    /// Map, bots and dice follow from it
    #[arg(long, value_name = "N", default_value_t = TanksMatch::default().seed)]
    seed: u64,
    /// How long the match lasts
    #[arg(long, value_name = "S", default_value_t = TanksMatch::default().secs)]
    seconds: u32,
    /// How many tanks there are on both sides together
    #[arg(long, value_name = "N", default_value_t = TanksMatch::default().players)]
    players: u32,
    /// How many boxes stand in their way, at most
    #[arg(long, value_name = "N", default_value_t = TanksMatch::default().boxes)]
    boxes: usize,
    /// Where to: a name that ends in .parquet or .csv
    #[arg(long, value_name = "FILE", default_value = "fairpath-out/tanks.parquet")]
    out: PathBuf,
}

const LONG_HELP: &str = "\
Examples:
  fairpath lab run X1
  fairpath lab run X1 --motion match.csv.gz --delays 100,300,800 --jitter 20 --out my-match
  fairpath lab run X1 --json | jq '.claims[] | {id, held, measured}'

A recording has the header `t,entity,team,x,y` (s, m; NAME.breaks.csv.gz beside NAME.csv.gz with `t,entity,reason` is
used as well) or BZFlag's `t_ms,player,team,…,x,y,z,vx,vy,vz,azimuth,angvel,life,forced,…`, or it is what
`fairpath lab record` wrote, as Parquet or CSV.

results.json and --json have:
  experiment, seed, version, command, motion, delays_ms, jitter_ms   what was run, and how to repeat it
  rows[]     one object per row of the table, the same keys in each; a key ends in its unit
  claims[]   id, text, held (true, false, or null where it does not apply), measured, unit, expected, paper, remark
  figures[], notes[]

Exit code: 0 done, 1 a claim does not hold (only with --strict), 2 bad input.";

pub(crate) fn execute(command: Command) -> Result<ExitCode, BadInput> {
    match command {
        Command::Run(run) => run.execute(),
        Command::Record(record) => record.execute(),
        Command::List => {
            print::to_stdout(&print::list(experiments::all()))?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

impl Run {
    fn execute(self) -> Result<ExitCode, BadInput> {
        let experiment = find(&self.experiment)?;
        let settings = Settings {
            seed: self.seed,
            motion: self.motion.as_deref().map(open_recording).transpose()?,
            delays: self.delays.clone(),
            jitter: self.jitter,
        };
        let out = self.out.clone().unwrap_or_else(|| Path::new("fairpath-out").join(experiment.id()));
        let bar = Bar::new();
        let progress: &dyn Progress = bar.as_ref().map_or(&Silent, |bar| bar);
        let finished = run::run(experiment, &settings, &self.command_line(experiment), &out, progress)?;
        drop(bar);
        if self.json {
            print::to_stdout(&finished.results.to_json())?;
        } else {
            print::to_stdout(&print::results(&finished))?;
        }
        let failed = self.strict && finished.results.any_refuted();
        Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }

    /// The line that repeats this run: what decides the numbers, not where they go.
    fn command_line(&self, experiment: &dyn Experiment) -> String {
        let mut line = format!("fairpath lab run {} --seed {}", experiment.id(), self.seed);
        if let Some(motion) = &self.motion {
            line += &format!(" --motion {}", print::quoted(&motion.to_string_lossy()));
        }
        if let Some(delays) = &self.delays {
            let delays: Vec<String> = delays.iter().map(|delay| delay.as_millis_f64().to_string()).collect();
            line += &format!(" --delays {}", delays.join(","));
        }
        if let Some(jitter) = self.jitter {
            line += &format!(" --jitter {}", jitter.as_millis_f64());
        }
        line
    }
}

impl Record {
    fn execute(self) -> Result<ExitCode, BadInput> {
        if self.game != "tanks" {
            return Err(format!("there is no game {:?}: choose one of tanks", self.game).into());
        }
        let Self { seed, seconds: secs, players, boxes, .. } = self;
        let bar = Bar::new();
        let progress: &dyn Progress = bar.as_ref().map_or(&Silent, |bar| bar);
        let written = TanksMatch { seed, secs, players, boxes }.record(&self.out, progress)?;
        drop(bar);
        print::to_stdout(&print::recorded(&written))?;
        Ok(ExitCode::SUCCESS)
    }
}

fn find(id: &str) -> Result<&'static dyn Experiment, BadInput> {
    experiments::find(id).ok_or_else(|| {
        let known: Vec<&str> = experiments::all().iter().map(|experiment| experiment.id()).collect();
        BadInput::from(format!("there is no experiment {id:?}: choose one of {}", known.join(", ")))
    })
}

/// The longest delay that can be asked for. A minute: to the Moon and back 20 times; more is a slip of the unit.
const DELAY_MS_MAX: f64 = 60_000.0;

fn delay(text: &str) -> Result<Span, String> {
    match text.trim().parse::<f64>() {
        Ok(millis) if (0.0..=DELAY_MS_MAX).contains(&millis) => Ok(Span::from_secs_f64(millis * 1e-3)),
        _ => Err(format!("give milliseconds from 0 to {DELAY_MS_MAX}")),
    }
}

/// Progress as a bar on stderr. There is none where nobody watches: nothing is to be mixed into a log.
struct Bar(ProgressBar);

impl Bar {
    fn new() -> Option<Self> {
        if !std::io::stderr().is_terminal() {
            return None;
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template("{msg:<24} {bar:32} {pos}/{len}  {eta} left");
        bar.set_style(style.expect("the template is ours"));
        bar.enable_steady_tick(Duration::from_millis(200));
        Some(Self(bar))
    }
}

impl Progress for Bar {
    fn begin(&self, what: &str, steps: u64) {
        self.0.reset();
        self.0.set_message(what.to_owned());
        self.0.set_length(steps);
    }

    fn step(&self) {
        self.0.inc(1);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
