//! `fairpath lab …`

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand};
use fairpath::time::Span;
use fairpath_experiments::experiment::{Experiment, Progress, Settings, Silent};
use fairpath_experiments::experiments::{X9, X15};
use fairpath_experiments::index::{self, Entry};
use fairpath_experiments::record::TanksMatch;
use fairpath_experiments::run::RunError;
use fairpath_experiments::{experiments, run};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::BadInput;
use crate::fairness::Fairness;
use crate::laps::{Laps, open_all};
use crate::live::stage::Processes;
use crate::motion::MotionOptions;
use crate::online;
use crate::prediction::{CountPackets, Eval, Tune};
use crate::print;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run an experiment; write its numbers, plots and report
    Run(Box<Run>),
    /// Play a match of bots and write it to a file that `lab run --motion` reads
    Record(Record),
    /// Play schedulers against each other: who is told of a DR vector, and is that fair?
    Fairness(Box<Fairness>),
    /// Score predictors on recordings: where will they be in 0.3 to 2.1 s?
    Eval(Box<Eval>),
    /// Count the packets that keep receivers within a threshold, beside the fewest there could be
    Packets(CountPackets),
    /// Choose the adaptive predictor's numbers, leaving each recording out in turn
    Tune(Tune),
    /// Predict recorded laps, each by a line that the others have worn into the track
    Laps(Laps),
    /// List the experiments there are
    #[command(after_help = "Example:\n  fairpath lab list")]
    List,
}

/// Run an experiment; write its numbers, plots and report
#[derive(Args)]
#[command(
    after_help = "Examples:\n  \
        fairpath lab run X1\n  \
        fairpath lab run all --seed 7 --out everything\n  \
        fairpath lab run X1 --motion match.csv.gz --delays 100,300,800 --jitter 20 --out my-match\n  \
        fairpath lab run X1 --json | jq '.claims[] | {id, held, measured}'\n\n\
        Exit code: 0 done, 1 a claim does not hold (only with --strict), 2 bad input.",
    after_long_help = LONG_HELP
)]
pub(crate) struct Run {
    /// Which one: see `fairpath lab list`; or all of them
    experiment: String,
    /// Every random choice follows from it
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    motion: MotionOptions,
    /// One-way delays to try, in ms, instead of the experiment's own
    #[arg(long, value_name = "MS,…", value_delimiter = ',', value_parser = delay)]
    delays: Option<Vec<Span>>,
    /// Delays vary evenly by up to this many ms to either side
    #[arg(long, value_name = "MS", value_parser = delay)]
    jitter: Option<Span>,
    /// How many tanks drive in the experiments on fairness (X2 to X8, X17, EI, H), instead of their
    /// own number: the more, the less is chance
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    tanks: Option<u64>,
    /// Recorded laps that X15 is to be judged on beside its own: CSV, plain or gzipped
    #[arg(long, value_name = "FILE", num_args = 1..)]
    laps: Vec<PathBuf>,
    /// How long X9 plays, in real time [default: 130]
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u32).range(15..=3600))]
    seconds: Option<u32>,
    /// Over real sockets through a middleman, in real time, instead of in virtual time: X13, X14
    /// and X16
    #[arg(long)]
    live: bool,
    #[command(flatten)]
    told: Told,
    /// Exit with 1 if a claim does not hold
    #[arg(long)]
    strict: bool,
}

/// Where results go.
#[derive(Args)]
pub(crate) struct Told {
    /// Directory for results.json, plots and report.html [default: fairpath-out/ and the
    /// experiment]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print results.json to stdout instead of the tables
    #[arg(long)]
    json: bool,
}

impl Told {
    pub(crate) fn out_or(&self, usual: PathBuf) -> PathBuf {
        self.out.clone().unwrap_or(usual)
    }
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
  fairpath lab run all --seed 7 --out everything
  fairpath lab run X1 --motion match.csv.gz --delays 100,300,800 --jitter 20 --out my-match
  fairpath lab run X1 --json | jq '.claims[] | {id, held, measured}'
  fairpath lab run X13 --live

A recording has the header `t,entity,team,x,y` (s, m; NAME.breaks.csv.gz beside NAME.csv.gz with `t,entity,reason` is
used as well) or BZFlag's `t_ms,player,team,…,x,y,z,vx,vy,vz,azimuth,angvel,life,forced,…`, or it is what
`fairpath lab record` wrote, as Parquet or CSV.

results.json and --json have:
  experiment, seed, version, command, motion, delays_ms, jitter_ms   what was run, and how to repeat it
  rows[]     one object per row of the table, the same keys in each; a key ends in its unit
  claims[]   id, text, held (true, false, or null where it does not apply), measured, unit, expected, paper, remark
  figures[], notes[]
With `all` there is a folder for each experiment, an index.html that leads to them, and --json prints a list; X9, which is
played by processes in real time, is passed over.

Exit code: 0 done, 1 a claim does not hold (only with --strict), 2 bad input.";

pub(crate) fn execute(command: Command) -> Result<ExitCode, BadInput> {
    match command {
        Command::Run(run) => run.execute(),
        Command::Record(record) => record.execute(),
        Command::Fairness(fairness) => fairness.execute(),
        Command::Eval(eval) => eval.execute(),
        Command::Packets(packets) => packets.execute(),
        Command::Tune(tune) => tune.execute(),
        Command::Laps(laps) => laps.execute(),
        Command::List => {
            print::to_stdout(&print::list(experiments::all()))?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// What `lab run` takes for every experiment there is.
const ALL: &str = "all";

impl Run {
    fn execute(self) -> Result<ExitCode, BadInput> {
        if !self.laps.is_empty() && !self.experiment.eq_ignore_ascii_case("X15") {
            return Err("only X15 takes --laps: run it, or leave them out".into());
        }
        if self.seconds.is_some() && !self.experiment.eq_ignore_ascii_case("X9") {
            return Err("only X9 takes --seconds: run it, or leave them out".into());
        }
        let settings = Settings {
            seed: self.seed,
            motion: self.motion.open()?,
            delays: self.delays.clone(),
            jitter: self.jitter,
            tanks: self.tanks,
        };
        let any_refuted = if self.live {
            let experiment = online::trials::find(&self.experiment)
                .ok_or_else(|| BadInput::of("--live", &self.experiment, "choose one of X13, X14, X16"))?;
            let usual = Path::new("fairpath-out").join(format!("{}-live", experiment.id()));
            let command = format!("{} --live", self.command_line(experiment.id()));
            run_one(experiment, &settings, &command, &self.told.out_or(usual), &self.told)?
        } else if self.experiment.eq_ignore_ascii_case(ALL) {
            self.run_all(&settings)?
        } else {
            let recordings = open_all(&self.laps)?;
            let with_laps = X15 { recordings: &recordings };
            let experiment = if self.laps.is_empty() { find(&self.experiment)? } else { &with_laps };
            let live = X9 { stage: &Processes, length: self.seconds.map_or(X9::LENGTH, seconds) };
            let experiment = if experiment.id() == live.id() { &live } else { experiment };
            let out = self.told.out_or(Path::new("fairpath-out").join(experiment.id()));
            run_one(experiment, &settings, &self.command_line(experiment.id()), &out, &self.told)?
        };
        Ok(if self.strict && any_refuted { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }

    /// Runs every experiment into a folder of its own, and says whether a claim did not hold. One
    /// that cannot work with these settings is passed over, with its reason.
    fn run_all(&self, settings: &Settings) -> Result<bool, BadInput> {
        let out = self.told.out_or("fairpath-out".into());
        let mut entries = Vec::new();
        for experiment in experiments::all() {
            let command = self.command_line(experiment.id());
            let into = out.join(experiment.id());
            let entry = match with_bar(experiment.id(), |progress| {
                run::run(*experiment, settings, &command, &into, progress)
            }) {
                Ok(finished) => Entry::Finished(Box::new(finished.results)),
                Err(RunError::CannotRun(reason)) => Entry::passed_over(*experiment, &reason),
                Err(error) => return Err(error.into()),
            };
            if !self.told.json {
                print::to_stdout(&print::entry(&entry))?;
            }
            entries.push(entry);
        }
        let page = index::write(&entries, &self.command_line(ALL), &out)?;
        if self.told.json {
            print::to_stdout(&index::to_json(&entries))?;
        } else {
            print::to_stdout(&format!("\nindex: {}\n", page.display()))?;
        }
        Ok(entries.iter().any(Entry::any_refuted))
    }

    /// The line that repeats this run: what decides the numbers, not where they go.
    fn command_line(&self, experiment: &str) -> String {
        let mut line = format!("fairpath lab run {experiment} --seed {}", self.seed);
        line += &self.motion.words();
        if let Some(delays) = &self.delays {
            let delays: Vec<String> = delays.iter().map(|delay| delay.as_millis_f64().to_string()).collect();
            line += &format!(" --delays {}", delays.join(","));
        }
        if let Some(jitter) = self.jitter {
            line += &format!(" --jitter {}", jitter.as_millis_f64());
        }
        if let Some(tanks) = self.tanks {
            line += &format!(" --tanks {tanks}");
        }
        if let Some(seconds) = self.seconds {
            line += &format!(" --seconds {seconds}");
        }
        if !self.laps.is_empty() {
            line += &format!(" --laps {}", print::all_quoted(&self.laps));
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
        let recorded = TanksMatch { seed, secs, players, boxes };
        let written = with_bar("tanks", |progress| recorded.record(&self.out, progress))?;
        print::to_stdout(&print::recorded(&written))?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Runs an experiment, prints what was found, and says whether a claim did not hold.
pub(crate) fn run_one(
    experiment: &dyn Experiment,
    settings: &Settings,
    command: &str,
    out: &Path,
    told: &Told,
) -> Result<bool, BadInput> {
    let finished =
        with_bar(experiment.id(), |progress| run::run(experiment, settings, command, out, progress))?;
    if told.json {
        print::to_stdout(&finished.results.to_json())?;
    } else {
        print::to_stdout(&print::results(&finished))?;
    }
    Ok(finished.results.any_refuted())
}

/// Shows how far some work is, where somebody watches.
fn with_bar<T>(id: &'static str, work: impl FnOnce(&dyn Progress) -> T) -> T {
    match Bar::new(id) {
        Some(bar) => work(&bar),
        None => work(&Silent),
    }
}

fn find(id: &str) -> Result<&'static dyn Experiment, BadInput> {
    experiments::find(id).ok_or_else(|| {
        let known: Vec<&str> = experiments::all().iter().map(|experiment| experiment.id()).collect();
        BadInput::from(format!("there is no experiment {id:?}: choose one of {}", known.join(", ")))
    })
}

fn seconds(seconds: u32) -> Span {
    Span::from_secs(seconds.into())
}

/// The longest delay that can be asked for. A minute: to the Moon and back 20 times; more is a slip
/// of the unit.
const DELAY_MS_MAX: f64 = 60_000.0;

pub(crate) fn delay(text: &str) -> Result<Span, String> {
    match text.trim().parse::<f64>() {
        Ok(millis) if (0.0..=DELAY_MS_MAX).contains(&millis) => Ok(Span::from_secs_f64(millis * 1e-3)),
        _ => Err(format!("give milliseconds from 0 to {DELAY_MS_MAX}")),
    }
}

/// Progress as a bar on stderr. There is none where nobody watches: nothing is to be mixed into a
/// log.
struct Bar {
    id: &'static str,
    bar: ProgressBar,
}

impl Bar {
    fn new(id: &'static str) -> Option<Self> {
        if !std::io::stderr().is_terminal() {
            return None;
        }
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template("{msg:<24} {bar:32} {pos}/{len}  {eta} left");
        bar.set_style(style.expect("the template is ours"));
        bar.enable_steady_tick(Duration::from_millis(200));
        Some(Self { id, bar })
    }
}

impl Progress for Bar {
    fn begin(&self, what: &str, steps: u64) {
        self.bar.reset();
        self.bar.set_message(format!("{}: {what}", self.id));
        self.bar.set_length(steps);
    }

    fn step(&self) {
        self.bar.inc(1);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
