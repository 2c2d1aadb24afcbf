use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::OnceLock;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use fairpath::time::Span;
use fairpath_experiments::experiment::{Experiment, ExperimentGroup, Progress, RunOption, Settings};
use fairpath_experiments::index::{self, IndexEntry};
use fairpath_experiments::record::{BotsMatch, TanksMatch};
use fairpath_experiments::run::RunError;
use fairpath_experiments::{experiments, run, segments};
use fairpath_games::GameChoice;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::BadInput;
use crate::bzflag_lab::BzflagArguments;
use crate::fairness::FairnessArguments;
use crate::laps::{Laps, open_all};
use crate::live::EndCondition;
use crate::motion::MotionOptions;
use crate::options::games;
use crate::papers::{Claims, Teach};
use crate::prediction::{CountPackets, Eval, Tune};
use crate::print;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run an experiment; write its numbers, plots and report
    Run(Box<RunArguments>),
    /// Play a match of bots and write it to a file that `lab run --motion` reads
    Record(RecordArguments),
    /// Complete a live recording whose program was killed
    #[command(after_help = "Example:\n  fairpath lab join seen.parquet\n\n\
        `fairpath record`, `serve --out` and `bots --out` write segments to FILE.segments and join them at their end. \
        Commands that read recordings read segments too; this one makes a single file of them.\n\n\
        Exit code: 0 done, 2 bad input.")]
    Join {
        /// The file that the recording should have become: NAME.parquet or NAME.csv
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Compare schedulers: accuracy, fairness and cost
    Fairness(Box<FairnessArguments>),
    /// Score predictors on recordings: where will players be in 0.3 to 2.1 s?
    Eval(Box<Eval>),
    /// Count the packets that keep receivers within a threshold, beside the fewest possible
    Packets(CountPackets),
    /// Choose the adaptive predictor's parameters, leaving each recording out in turn
    Tune(Tune),
    /// Predict recorded laps, each by the mean line of the others
    Laps(Laps),
    /// Judge every claim of the papers with several seeds, as one table
    Claims(Claims),
    /// Teach the learned predictors of `lab eval` by matches of our own bots
    Teach(Teach),
    /// Play BZFlag's real programs under delay, with and without the proxy
    Bzflag(BzflagArguments),
    /// List the experiments
    #[command(after_help = "Example:\n  fairpath lab list")]
    List,
}

/// Run an experiment; write its numbers, plots and report
#[derive(Args)]
#[command(
    after_help = "Examples:\n  \
        fairpath lab run placement\n  \
        fairpath lab run all --seed 7 --out everything\n  \
        fairpath lab run placement --motion match.csv.gz --delays 100,300,800 --jitter 20\n  \
        fairpath lab run X6 --json | jq '.claims[] | {id, held, measured}'\n\n\
        Exit code: 0 done, 1 a claim does not hold (only with --strict), 2 bad input.",
    after_long_help = LONG_HELP
)]
pub(crate) struct RunArguments {
    /// The experiment's name or alias, or all
    #[arg(value_name = "EXPERIMENT", value_parser = experiment_names(), ignore_case = true)]
    experiment: String,
    /// Every random choice follows from it
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    motion: MotionOptions,
    /// One-way delays in ms, instead of the experiment's own
    #[arg(long, value_name = "MS,…", value_delimiter = ',', value_parser = delay)]
    delays: Option<Vec<Span>>,
    /// Delays vary evenly by up to this many ms to either side
    #[arg(long, value_name = "MS", value_parser = delay)]
    jitter: Option<Span>,
    /// How many tanks drive in the experiments on fairness: the more, the smaller the part of
    /// chance
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    tanks: Option<u64>,
    /// Recorded laps to judge trend-line on, beside its own: CSV, plain or gzipped
    #[arg(long, value_name = "FILE", num_args = 1..)]
    laps: Vec<PathBuf>,
    /// How long live-objects plays, in seconds of real time [default: 130]
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u32).range(15..=3600))]
    seconds: Option<u32>,
    /// Run over real sockets and a middleman in real time, instead of in virtual time
    #[arg(long)]
    live: bool,
    #[command(flatten)]
    output: Output,
    /// Exit with 1 if a claim does not hold
    #[arg(long)]
    strict: bool,
}

/// Where results go.
#[derive(Args)]
pub(crate) struct Output {
    /// Directory for results.json, plots and report.html [default: fairpath-out/NAME]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print results.json to stdout instead of the tables
    #[arg(long)]
    json: bool,
}

impl Output {
    pub(crate) fn out_or(&self, usual: PathBuf) -> PathBuf {
        self.out.clone().unwrap_or(usual)
    }
}

/// Play a match of bots and write it to a file that `lab run --motion` reads
#[derive(Args)]
#[command(after_help = "Examples:\n  \
        fairpath lab record tanks\n  \
        fairpath lab record race --seconds 120 --out race.parquet\n  \
        fairpath lab record tanks --seed 7 --seconds 300 --players 20 --out my-match.csv\n  \
        fairpath lab run placement --motion fairpath-out/tanks.parquet\n\n\
        Writes one file per table: the position of every tank and shot at every tick (NAME.parquet or NAME.csv), \
        the drivers' inputs (NAME.inputs.…) and, beside CSV, the settings of the match (NAME.metadata.csv; a \
        Parquet file contains them).\n\n\
        Exit code: 0 done, 2 bad input.")]
pub(crate) struct RecordArguments {
    /// The game
    #[arg(value_parser = games(&GameChoice::ALL), ignore_case = true)]
    game: GameChoice,
    /// Map, bots and random numbers follow from it
    #[arg(long, value_name = "N", default_value_t = TanksMatch::default().seed)]
    seed: u64,
    /// The length of the match in seconds
    #[arg(long, value_name = "S", default_value_t = TanksMatch::default().secs)]
    seconds: u32,
    /// The number of tanks, both teams together. Only for tanks
    #[arg(long, value_name = "N", default_value_t = TanksMatch::default().players)]
    players: u32,
    /// The greatest number of boxes on the field. Only for tanks
    #[arg(long, value_name = "N", default_value_t = TanksMatch::default().boxes)]
    boxes: usize,
    /// The file to write; its name ends in .parquet or .csv [default: fairpath-out/GAME.parquet]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

const LONG_HELP: &str = "\
Examples:
  fairpath lab run placement
  fairpath lab run all --seed 7 --out everything
  fairpath lab run placement --motion match.csv.gz --delays 100,300,800 --jitter 20
  fairpath lab run X6 --json | jq '.claims[] | {id, held, measured}'
  fairpath lab run jet-car --live

A recording is one of:
  CSV with the header `t,entity,team,x,y` in seconds and metres; NAME.breaks.csv.gz beside NAME.csv.gz
  with `t,entity,reason` is read too
  BZFlag's `t_ms,player,team,…,x,y,z,vx,vy,vz,azimuth,angvel,life,forced,…`
  a file that `fairpath lab record` wrote, as Parquet or CSV

results.json and --json have:
  experiment, name, seed, version, command, motion, delays_ms, jitter_ms
             what was run, and how to repeat it
  rows[]     one object per row of the table, the same keys in each; a key ends in its unit
  counts[]   class, held, not_held, not_applicable: how many claims of each class hold
  claims[]   id, text, class (the paper's words, our stricter reading, ours alone), reading, held
             (true, false, or null where it does not apply), measured, unit, expected, paper, remark
  figures[], notes[]

`all` writes a folder for each experiment and an index.html that links to them; with --json it prints
a list. An option applies to the experiments that take it. With --motion, experiments that take no
recording are not run; nor is live-objects, which plays in real time.

Exit code: 0 done, 1 a claim does not hold (only with --strict), 2 bad input.";

pub(crate) fn execute(command: Command) -> Result<ExitCode, BadInput> {
    match command {
        Command::Run(run) => run.execute(),
        Command::Record(record) => record.execute(),
        Command::Join { file } => {
            if segments::folder_beside(&file).is_none() {
                let fix = "there is no FILE.segments beside it; pass the file that the recording should have become";
                return Err(BadInput::of("join", &file.display().to_string(), fix));
            }
            let written = segments::join(&file)?;
            print::note!("joined {} states in {}", written.states, file.display());
            Ok(ExitCode::SUCCESS)
        }
        Command::Fairness(fairness) => fairness.execute(),
        Command::Eval(eval) => eval.execute(),
        Command::Packets(packets) => packets.execute(),
        Command::Tune(tune) => tune.execute(),
        Command::Laps(laps) => laps.execute(),
        Command::Claims(claims) => claims.execute(),
        Command::Teach(teach) => teach.execute(),
        Command::Bzflag(arguments) => arguments.execute(),
        Command::List => {
            print::to_stdout(&print::list(&ExperimentGroup::ALL))?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

const ALL: &str = "all";

impl RunArguments {
    fn execute(self) -> Result<ExitCode, BadInput> {
        let settings = Settings {
            seed: self.seed,
            motion: self.motion.open()?,
            delays: self.delays.clone(),
            jitter: self.jitter,
            tanks: self.tanks,
            laps: open_all(&self.laps)?,
            length: self.seconds.map(|seconds| Span::from_secs(seconds.into())),
            executable: None,
        };
        let any_refuted = match experiments::find(&self.experiment) {
            None => self.run_all(&settings)?,
            Some(experiment) => self.run_single(experiment, settings)?,
        };
        Ok(if self.strict && any_refuted { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }

    fn run_single(&self, experiment: &dyn Experiment, settings: Settings) -> Result<bool, BadInput> {
        let declaration = experiment.declaration();
        let name = declaration.name;
        let settings = Settings { executable: Some(std::env::current_exe()?), ..settings };
        let Some(live) = declaration.live.filter(|_| self.live) else {
            if self.live {
                declaration.check_option(RunOption::Live)?;
            }
            let out = self.output.out_or(Path::new("fairpath-out").join(name));
            return run_one(experiment, &settings, &self.command_line(name), &out, &self.output);
        };
        let out = self.output.out_or(Path::new("fairpath-out").join(format!("{name}-live")));
        run_one(live, &settings, &format!("{} --live", self.command_line(name)), &out, &self.output)
    }

    /// Runs every experiment into a folder of its own, and returns whether a claim did not hold. An
    /// experiment that cannot work with these settings is not run; its entry says why.
    fn run_all(&self, settings: &Settings) -> Result<bool, BadInput> {
        if self.live {
            let named = experiments::taking(RunOption::Live).join(", ");
            return Err(format!("--live takes one experiment at a time; run one of {named}").into());
        }
        let out = self.output.out_or("fairpath-out".into());
        let mut entries = Vec::new();
        for experiment in experiments::all() {
            let declaration = experiment.declaration();
            let command = self.command_line(declaration.name);
            let into = out.join(declaration.name);
            let settings = settings.clone().limited_to(declaration);
            let entry =
                match run::run(*experiment, &settings, &command, &into, &ProgressLine::new(declaration.name))
                {
                    Ok(finished) => IndexEntry::Finished(Box::new(finished.results)),
                    Err(RunError::CannotRun(reason)) => IndexEntry::passed_over(*experiment, &reason),
                    Err(error) => return Err(error.into()),
                };
            if !self.output.json {
                print::to_stdout(&print::entry(&entry))?;
            }
            entries.push(entry);
        }
        let page = index::write(&entries, &self.command_line(ALL), &out)?;
        if self.output.json {
            print::to_stdout(&index::to_json(&entries))?;
        } else {
            print::to_stdout(&format!("\nindex: {}\n", page.display()))?;
        }
        Ok(entries.iter().any(IndexEntry::any_refuted))
    }

    /// The command line that repeats this run: the options that decide the numbers.
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

impl RecordArguments {
    fn execute(self) -> Result<ExitCode, BadInput> {
        let Self { game, seed, seconds: secs, players, boxes, out } = self;
        let out = out.unwrap_or_else(|| Path::new("fairpath-out").join(format!("{game}.parquet")));
        if game != GameChoice::Tanks {
            let written = BotsMatch { game, seed, secs }.record(&out)?;
            print::to_stdout(&print::recorded(&written))?;
            return Ok(ExitCode::SUCCESS);
        }
        let recorded = TanksMatch { seed, secs, players, boxes };
        let written = recorded.record(&out, &ProgressLine::new("tanks"))?;
        print::to_stdout(&print::recorded(&written))?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Runs an experiment, prints its results, and returns whether a claim did not hold.
pub(crate) fn run_one(
    experiment: &dyn Experiment,
    settings: &Settings,
    command: &str,
    out: &Path,
    output: &Output,
) -> Result<bool, BadInput> {
    let progress = ProgressLine::new(experiment.declaration().name);
    let finished = run::run(experiment, settings, command, out, &progress)?;
    drop(progress);
    if output.json {
        print::to_stdout(&finished.results.to_json())?;
    } else {
        print::to_stdout(&print::results(&finished))?;
    }
    Ok(finished.results.any_refuted())
}

/// Parses `all`, or the name or alias of an experiment.
fn experiment_names() -> impl TypedValueParser<Value = String> {
    let declarations = experiments::all().iter().map(|experiment| experiment.declaration());
    let named = declarations.map(|it| PossibleValue::new(it.name).alias(it.alias).help(it.title));
    PossibleValuesParser::new([PossibleValue::new(ALL).help("Every experiment")].into_iter().chain(named))
}

/// The longest delay: a minute. More is a mistake in the unit.
const DELAY_MS_MAX: f64 = 60_000.0;

pub(crate) fn delay(text: &str) -> Result<Span, String> {
    match text.trim().parse::<f64>() {
        Ok(millis) if (0.0..=DELAY_MS_MAX).contains(&millis) => Ok(Span::from_secs_f64(millis * 1e-3)),
        _ => Err(format!("give milliseconds from 0 to {DELAY_MS_MAX}")),
    }
}

/// Progress as a bar on stderr, if stderr is a terminal; and Ctrl-C for experiments that ask.
pub(crate) struct ProgressLine {
    name: &'static str,
    bar: Option<ProgressBar>,
    /// Begun when an experiment first asks: until then Ctrl-C ends the process at once.
    end: OnceLock<Option<EndCondition>>,
}

impl ProgressLine {
    pub(crate) fn new(name: &'static str) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("{msg:<32} {bar:32} {pos}/{len}  {eta} left");
            bar.set_style(style.expect("the template is a constant"));
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        });
        Self { name, bar, end: OnceLock::new() }
    }
}

impl Progress for ProgressLine {
    fn begin(&self, what: &str, steps: u64) {
        if let Some(bar) = &self.bar {
            bar.reset();
            bar.set_message(format!("{}: {what}", self.name));
            bar.set_length(steps);
        }
    }

    fn step(&self) {
        if let Some(bar) = &self.bar {
            bar.inc(1);
        }
    }

    fn is_cancelled(&self) -> bool {
        self.end.get_or_init(|| EndCondition::new(None).ok()).as_ref().is_some_and(EndCondition::is_here)
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
