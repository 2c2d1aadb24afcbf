use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use fairpath::time::Span;
use fairpath_experiments::experiment::Settings;
use fairpath_experiments::fairness::exploration::Exploration;
use fairpath_experiments::fairness::{Jitter, LabScheduler, Model, Receiver, Trial};
use fairpath_experiments::files::open_rtt_trace;

use crate::BadInput;
use crate::lab::{self, Output, delay};
use crate::motion::MotionOptions;
use crate::options::{ModelChoice, NamedList, scheduler_help, schedulers};
use crate::print::quoted;

/// Compare schedulers: accuracy, fairness and cost
#[derive(Args)]
#[command(after_help = EXAMPLES, after_long_help = LONG_HELP)]
pub(crate) struct FairnessArguments {
    #[command(flatten)]
    motion: MotionOptions,
    /// The receivers' one-way delays in ms, or n:low-high for n delays spaced evenly
    #[arg(long, value_name = "MS,…", default_value = "800,500,200", allow_hyphen_values = true)]
    receivers: String,
    /// Draw the n delays of n:low-high at random instead
    #[arg(long, conflicts_with = "rtt")]
    drawn: bool,
    /// Files of recorded round trips (columns t,rtt_ms), one receiver for each
    #[arg(
        long,
        visible_alias = "rtt-trace",
        value_name = "FILE,…",
        value_delimiter = ',',
        conflicts_with = "receivers"
    )]
    rtt: Vec<PathBuf>,
    /// Delays vary evenly by up to this many ms to either side
    #[arg(long, value_name = "MS", default_value = "0", allow_hyphen_values = true)]
    jitter: String,
    /// Draw jitter from a normal distribution with --jitter as its standard deviation
    #[arg(long)]
    normal: bool,
    /// The schedulers to compare: all, or names
    #[arg(
        long,
        value_name = "NAME,…",
        default_value = "all",
        value_parser = schedulers,
        long_help = scheduler_help("The schedulers to compare: all, or names separated by commas")
    )]
    schedulers: NamedList<LabScheduler>,
    /// DR vectors per trigger [default: a third of the receivers]
    #[arg(long, value_name = "B", allow_hyphen_values = true)]
    budget: Option<String>,
    /// The owner generates a DR vector when receivers are off by more than this length
    #[arg(long, value_name = "E", default_value = "0.3", allow_hyphen_values = true)]
    threshold: String,
    /// What DR vectors extrapolate with
    #[arg(long, value_enum, default_value_t = ModelChoice::Linear)]
    model: ModelChoice,
    /// Every random choice follows from it
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// How many tanks, or how often a recording is played with other random numbers [default: 5
    /// tanks, 1 recording]
    #[arg(long, value_name = "K", allow_hyphen_values = true)]
    seeds: Option<String>,
    #[command(flatten)]
    output: Output,
}

const EXAMPLES: &str = "\
Examples:
  fairpath lab fairness
  fairpath lab fairness --motion match.csv.gz --jitter 100 --schedulers every-nth,error-index
  fairpath lab fairness --receivers 32:20-400 --budget 8 --seeds 10 --json | jq '.rows[] | {mean}'
  fairpath lab fairness --receivers 128:20-400 --drawn --schedulers deterministic-budget,error-index
  fairpath lab fairness --rtt home.csv,train.csv.gz,satellite.csv

Exit code: 0 done, 2 bad input.";

const LONG_HELP: &str = "\
Examples:
  fairpath lab fairness
  fairpath lab fairness --motion match.csv.gz --jitter 100 --schedulers every-nth,error-index
  fairpath lab fairness --receivers 32:20-400 --budget 8 --seeds 10 --json | jq '.rows[] | {mean}'
  fairpath lab fairness --receivers 128:20-400 --drawn --schedulers deterministic-budget,error-index
  fairpath lab fairness --rtt home.csv,train.csv.gz,satellite.csv

results.json and --json have one row per scheduler:
  mean, spread         accumulated error (length × s) at the end: mean and standard deviation over
                       the receivers
  spread_over_time     the standard deviation averaged over time
  worst                the accumulated error of the worst receiver
  jain                 Jain's fairness index
  dr_vectors, bytes    the cost
  spread_ratio, mean_ratio, dr_vectors_ratio
                       to every-nth (1/3 base in the papers) at the same budget; …_low and …_high are
                       a 95 % interval from a paired bootstrap over tanks or stretches
  distance             mean distance between the real and the placed entity
  estimate_error       how far the sender's ledger was off at the triggers, as a mean over triggers
                       and receivers
  estimated_share      how often the ledger estimated because receipts were missing
  settled_error_max    how far the ledger was off at most where all receipts were in
  unsettled_copies     copies that were given up without a receipt

Exit code: 0 done, 2 bad input.";

/// More do not fit into a plot, and take too long.
const RECEIVERS_MAX: usize = 1024;
const SEEDS_MAX: u64 = 1000;

impl FairnessArguments {
    pub(crate) fn execute(self) -> Result<ExitCode, BadInput> {
        let exploration = Exploration {
            schedulers: self.schedulers.chosen.clone(),
            receivers: self.receivers()?,
            budget: self.budget.as_deref().map(budget).transpose()?,
            threshold: threshold(&self.threshold)?,
            model: match self.model {
                ModelChoice::Linear => Model::Linear,
                ModelChoice::Circular => Model::Circular,
            },
            games: self.seeds()?,
        };
        let settings = Settings { seed: self.seed, motion: self.motion.open()?, ..Settings::default() };
        let out = self.output.out_or(Path::new("fairpath-out").join("fairness"));
        lab::run_one(&exploration, &settings, &self.command_line(), &out, &self.output)?;
        Ok(ExitCode::SUCCESS)
    }

    fn receivers(&self) -> Result<Vec<Receiver>, BadInput> {
        if !self.rtt.is_empty() {
            return self.rtt.iter().map(|path| recorded(path)).collect();
        }
        let jitter = millis("--jitter", &self.jitter)?;
        let jitter = if self.normal { Jitter::Normal(jitter) } else { Jitter::Uniform(jitter) };
        let (text, seed) = (&self.receivers, self.drawn.then_some(self.seed));
        Ok(Receiver::all_at(&delays(text, seed)?, jitter))
    }

    fn seeds(&self) -> Result<u64, BadInput> {
        let Some(text) = &self.seeds else { return Ok(if self.motion.is_recorded() { 1 } else { 5 }) };
        match text.parse() {
            Ok(seeds) if (1..=SEEDS_MAX).contains(&seeds) => Ok(seeds),
            _ => Err(BadInput::of("--seeds", text, &format!("give a whole number from 1 to {SEEDS_MAX}"))),
        }
    }

    fn command_line(&self) -> String {
        let mut line = format!("fairpath lab fairness --seed {}{}", self.seed, self.motion.words());
        let mut add = |option: &str, value: &str| line += &format!(" {option} {}", quoted(value));
        if self.rtt.is_empty() {
            add("--receivers", &self.receivers);
            add("--jitter", &self.jitter);
        } else {
            let files: Vec<_> = self.rtt.iter().map(|path| path.to_string_lossy()).collect();
            add("--rtt", &files.join(","));
        }
        add("--schedulers", &self.schedulers.text);
        if let Some(budget) = &self.budget {
            add("--budget", budget);
        }
        add("--threshold", &self.threshold);
        add("--model", self.model.name());
        if let Some(seeds) = &self.seeds {
            add("--seeds", seeds);
        }
        for (flag, is_set) in [("--normal", self.normal), ("--drawn", self.drawn)] {
            if is_set {
                line += &format!(" {flag}");
            }
        }
        line
    }
}

/// `800,500,200`, or `32:20-400`: spaced evenly, or drawn if there is a seed to draw with.
fn delays(text: &str, drawn_with: Option<u64>) -> Result<Vec<Span>, BadInput> {
    let bad = || BadInput::of("--receivers", text, "give delays in ms such as 800,500,200, or 32:20-400");
    let delays = match text.split_once(':') {
        None if drawn_with.is_some() => {
            return Err(BadInput::of(
                "--drawn",
                text,
                "give --receivers a range to draw from, such as 32:20-400",
            ));
        }
        None => text.split(',').map(delay).collect::<Result<Vec<_>, _>>().map_err(|_| bad())?,
        Some((count, range)) => {
            let (low, high) = range.split_once('-').ok_or_else(bad)?;
            let (low, high) = (delay(low).map_err(|_| bad())?, delay(high).map_err(|_| bad())?);
            let count: usize = count.trim().parse().map_err(|_| bad())?;
            if low > high {
                return Err(bad());
            }
            let count = count.min(RECEIVERS_MAX + 1);
            match drawn_with {
                Some(seed) => Receiver::drawn(count, low, high, seed),
                None => Receiver::spaced(count, low, high),
            }
        }
    };
    if delays.is_empty() || delays.len() > RECEIVERS_MAX {
        return Err(BadInput::of("--receivers", text, &format!("give 1 to {RECEIVERS_MAX} receivers")));
    }
    Ok(delays)
}

fn recorded(path: &Path) -> Result<Receiver, BadInput> {
    let name = path.file_name().map_or_else(|| path.to_string_lossy(), |name| name.to_string_lossy());
    let stem = name.trim_end_matches(".gz").trim_end_matches(".csv");
    Ok(Receiver::recorded(stem, open_rtt_trace(path)?))
}

fn millis(option: &str, text: &str) -> Result<Span, BadInput> {
    delay(text).map_err(|fix| BadInput::of(option, text, &fix))
}

fn budget(text: &str) -> Result<f64, BadInput> {
    let given = text.trim().parse::<f64>().ok().filter(|budget| budget.is_finite() && *budget >= 0.0);
    given.ok_or_else(|| BadInput::of("--budget", text, "give DR vectors per trigger, 0 or more"))
}

fn threshold(text: &str) -> Result<f64, BadInput> {
    let given = text.trim().parse::<f64>().ok().filter(|threshold| threshold.is_finite() && *threshold > 0.0);
    let fix = format!("give a length above 0, such as {}", Trial::THRESHOLD);
    given.ok_or_else(|| BadInput::of("--threshold", text, &fix))
}
