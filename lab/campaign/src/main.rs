//! Runs seeds of the campaign; `cargo xtask sim` starts it.

use std::fmt::Debug;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use std::{fs, io};

use clap::Parser;
use fairpath_campaign::{Campaign, CampaignResult, Failure, Law, Plan, replay_line, run_traced, worlds};
use rayon::prelude::*;

const DURATION: &str = "\
A thousand seeds take about 70 s of processor time, shared by all cores: 2 minutes on two busy cores.
The ordinary tests play the seeds from 4294967296 on, of the first 200 those with at most four clients,
eight worlds in which ids are used again, and every seed that once found a bug.";

/// Runs simulated worlds drawn from seeds: subjects them to faults, heals them, checks them.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask sim", after_help = DURATION)]
struct Arguments {
    /// The number of seeds.
    #[arg(long, default_value_t = 500)]
    seeds: u64,
    /// The first seed.
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Play fresh seeds for this many minutes, and write seeds that break a law to the file of `--keep`.
    #[arg(long, conflicts_with_all = ["seeds", "from", "seed", "first"])]
    minutes: Option<u32>,
    /// Where `--minutes` keeps what it finds: one line for each seed, added to those of before.
    #[arg(long, value_name = "FILE", default_value = "target/campaign-findings.txt", requires = "minutes")]
    keep: PathBuf,
    /// Run only this seed, and print its plan.
    #[arg(long, conflicts_with_all = ["seeds", "from"])]
    seed: Option<u64>,
    /// With `--seed`: print every recorded event.
    #[arg(long, requires = "seed")]
    trace: bool,
    /// Play worlds of many servers instead of sessions.
    #[arg(long, conflicts_with = "trace")]
    worlds: bool,
    /// Stop at the first seed that breaks a law.
    #[arg(long)]
    first: bool,
}

/// Prints a line. A reader that has gone, such as `head`, ends nothing: what is found still counts.
macro_rules! say {
    ($($text:tt)*) => { let _ = writeln!(io::stdout(), $($text)*); };
}

/// The same for progress.
macro_rules! note {
    ($($text:tt)*) => { let _ = writeln!(io::stderr(), $($text)*); };
}

/// Seeds between two lines of progress.
const CHUNK: u64 = 500;
/// The same for fresh seeds: some ten seconds.
const CHUNK_OF_FRESH: u64 = 200;
/// The first of the fresh seeds.
const FRESH_FROM: u64 = 1 << 40;
/// The most failures that are printed in full.
const TOLD_MAX: usize = 20;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if arguments.worlds {
        return play_worlds(&arguments);
    }
    if let Some(seed) = arguments.seed {
        return play_one(seed, arguments.trace);
    }
    if let Some(minutes) = arguments.minutes {
        return play_for(Duration::from_secs(60 * u64::from(minutes)), &arguments.keep);
    }
    let campaign = Campaign { from: arguments.from, seeds: arguments.seeds };
    if arguments.first { play_to_first(campaign) } else { play_all(campaign) }
}

fn play_worlds(arguments: &Arguments) -> ExitCode {
    if let Some(seed) = arguments.seed {
        say!("{}", worlds::WorldPlan::from_seed(seed));
        let outcome = worlds::play(seed);
        say!("{:?}", outcome.entered);
        return report_worlds(vec![(seed, outcome)]);
    }
    let seeds = (arguments.from..arguments.from + arguments.seeds).into_par_iter();
    if arguments.first {
        let broken = seeds.map(|seed| (seed, worlds::play(seed)));
        let broken =
            broken.find_map_first(|(seed, outcome)| outcome.violation.is_some().then_some((seed, outcome)));
        if let Some((seed, _)) = &broken {
            say!("caught after {} seeds", seed - arguments.from + 1);
        }
        return report_worlds(broken.into_iter().collect());
    }
    report_worlds(seeds.map(|seed| (seed, worlds::play(seed))).collect())
}

fn report_worlds(outcomes: Vec<(u64, worlds::WorldOutcome)>) -> ExitCode {
    let broken = outcomes.iter().filter_map(|(seed, outcome)| Some((seed, outcome.violation.as_ref()?)));
    let mut count = 0;
    for (seed, violation) in broken {
        count += 1;
        if count <= TOLD_MAX {
            say!("VIOLATION {violation}");
            say!("  replay: {}", worlds::replay_line(*seed));
        }
    }
    for law in worlds::WorldLaw::ALL {
        let looked: u64 = outcomes.iter().filter_map(|(_, outcome)| outcome.looked.get(&law)).sum();
        say!("  {law:<10?} {looked:>12} times");
    }
    let sum =
        |of: fn(&worlds::WorldOutcome) -> u64| outcomes.iter().map(|(_, outcome)| of(outcome)).sum::<u64>();
    say!(
        "{} hand-overs, {} takeovers, {} crashes, {} drains",
        sum(|outcome| outcome.entered.offered),
        sum(|outcome| outcome.entered.taken),
        sum(|outcome| outcome.crashes),
        sum(|outcome| outcome.drained)
    );
    say!("{count} of {} worlds broke a law", outcomes.len());
    if count == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn play_one(seed: u64, is_traced: bool) -> ExitCode {
    let plan = Plan::from_seed(seed);
    say!("{plan}");
    let trace = |seen: &dyn Debug| {
        if is_traced {
            say!("{seen:?}");
        }
    };
    let outcome = run_traced(&plan, trace);
    say!("{:.1} s, digest {:016x}", outcome.lasted.as_secs_f64(), outcome.digest);
    match outcome.findings.violation {
        None => {
            say!("no violation");
            ExitCode::SUCCESS
        }
        Some(violation) => {
            say!("VIOLATION {violation}");
            ExitCode::FAILURE
        }
    }
}

fn play_to_first(campaign: Campaign) -> ExitCode {
    match campaign.run_to_first_failure() {
        None => {
            say!("no violation in {} seeds", campaign.seeds);
            ExitCode::SUCCESS
        }
        Some(failure) => {
            say!("caught after {} seeds", failure.seed - campaign.from + 1);
            tell(&failure);
            ExitCode::FAILURE
        }
    }
}

/// Plays seeds that were probably never played, until the time is over.
#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "only which seeds are played follows from the clock; a world follows from its seed"
)]
fn play_for(lasting: Duration, keep: &Path) -> ExitCode {
    use std::time::{Instant, SystemTime, UNIX_EPOCH};

    let fresh = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros());
    // Below are the seeds that people count up from zero, and above those of the ordinary tests.
    let from = FRESH_FROM + fresh as u64 % (u64::MAX / 2);
    say!("seeds from {from} on");
    let (end, mut sum) = (Instant::now() + lasting, CampaignResult::default());
    while Instant::now() < end {
        let tally = Campaign { from: from + sum.seeds, seeds: CHUNK_OF_FRESH }.run();
        for failure in &tally.failures {
            tell(failure);
            let line = format!("{}  # {}\n", replay_line(failure.seed), failure.violation);
            if let Err(error) = append(keep, &line) {
                note!("cannot write {}: {error}", keep.display());
                return ExitCode::from(2);
            }
        }
        sum = sum.and(tally);
        let left = end.saturating_duration_since(Instant::now()).as_secs();
        note!("   {} seeds, {} failed, {left} s to go", sum.seeds, sum.failures.len());
    }
    tell_sum(&sum);
    if sum.failures.is_empty() {
        return ExitCode::SUCCESS;
    }
    say!("they are kept in {}", keep.display());
    ExitCode::FAILURE
}

fn append(path: &Path, line: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::OpenOptions::new().create(true).append(true).open(path)?.write_all(line.as_bytes())
}

fn play_all(campaign: Campaign) -> ExitCode {
    let mut sum = CampaignResult::default();
    let mut told = 0;
    while sum.seeds < campaign.seeds {
        let seeds = CHUNK.min(campaign.seeds - sum.seeds);
        let tally = Campaign { from: campaign.from + sum.seeds, seeds }.run();
        for failure in tally.failures.iter().take(TOLD_MAX - told) {
            tell(failure);
            told += 1;
        }
        sum = sum.and(tally);
        note!("   {} of {} seeds, {} failed", sum.seeds, campaign.seeds, sum.failures.len());
    }
    tell_sum(&sum);
    if sum.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn tell_sum(sum: &CampaignResult) {
    say!("{} seeds, {:.0} s of virtual time; checks:", sum.seeds, sum.secs);
    for (law, looked) in Law::ALL.iter().zip(sum.looked) {
        say!("  {law:<10?} {looked:>12} times");
    }
    say!("{} of {} seeds broke a law", sum.failures.len(), sum.seeds);
}

fn tell(failure: &Failure) {
    say!("VIOLATION {}", failure.violation);
    say!("  {}", Plan::from_seed(failure.seed));
    say!("  replay: {}", replay_line(failure.seed));
}
