//! Runs seeds of the campaign; `cargo xtask sim` starts it.

use std::fmt::Debug;
use std::process::ExitCode;

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

/// Seeds between two lines of progress.
const CHUNK: u64 = 500;
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
    let campaign = Campaign { from: arguments.from, seeds: arguments.seeds };
    if arguments.first { play_to_first(campaign) } else { play_all(campaign) }
}

fn play_worlds(arguments: &Arguments) -> ExitCode {
    if let Some(seed) = arguments.seed {
        println!("{}", worlds::WorldPlan::from_seed(seed));
        let outcome = worlds::play(seed);
        println!("{:?}", outcome.entered);
        return report_worlds(vec![(seed, outcome)]);
    }
    let seeds = (arguments.from..arguments.from + arguments.seeds).into_par_iter();
    if arguments.first {
        let broken = seeds.map(|seed| (seed, worlds::play(seed)));
        let broken =
            broken.find_map_first(|(seed, outcome)| outcome.violation.is_some().then_some((seed, outcome)));
        if let Some((seed, _)) = &broken {
            println!("caught after {} seeds", seed - arguments.from + 1);
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
            println!("VIOLATION {violation}");
            println!("  replay: {}", worlds::replay_line(*seed));
        }
    }
    for law in worlds::WorldLaw::ALL {
        let looked: u64 = outcomes.iter().filter_map(|(_, outcome)| outcome.looked.get(&law)).sum();
        println!("  {law:<10?} {looked:>12} times");
    }
    let sum =
        |of: fn(&worlds::WorldOutcome) -> u64| outcomes.iter().map(|(_, outcome)| of(outcome)).sum::<u64>();
    println!(
        "{} hand-overs, {} takeovers, {} crashes, {} drains",
        sum(|outcome| outcome.entered.offered),
        sum(|outcome| outcome.entered.taken),
        sum(|outcome| outcome.crashes),
        sum(|outcome| outcome.drained)
    );
    println!("{count} of {} worlds broke a law", outcomes.len());
    if count == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn play_one(seed: u64, is_traced: bool) -> ExitCode {
    let plan = Plan::from_seed(seed);
    println!("{plan}");
    let trace = |seen: &dyn Debug| {
        if is_traced {
            println!("{seen:?}");
        }
    };
    let outcome = run_traced(&plan, trace);
    println!("{:.1} s, digest {:016x}", outcome.lasted.as_secs_f64(), outcome.digest);
    match outcome.findings.violation {
        None => {
            println!("no violation");
            ExitCode::SUCCESS
        }
        Some(violation) => {
            println!("VIOLATION {violation}");
            ExitCode::FAILURE
        }
    }
}

fn play_to_first(campaign: Campaign) -> ExitCode {
    match campaign.run_to_first_failure() {
        None => {
            println!("no violation in {} seeds", campaign.seeds);
            ExitCode::SUCCESS
        }
        Some(failure) => {
            println!("caught after {} seeds", failure.seed - campaign.from + 1);
            tell(&failure);
            ExitCode::FAILURE
        }
    }
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
        eprintln!("   {} of {} seeds, {} failed", sum.seeds, campaign.seeds, sum.failures.len());
    }
    println!("{} seeds, {:.0} s of virtual time; checks:", sum.seeds, sum.secs);
    for (law, looked) in Law::ALL.iter().zip(sum.looked) {
        println!("  {law:<10?} {looked:>12} times");
    }
    println!("{} of {} seeds broke a law", sum.failures.len(), sum.seeds);
    if sum.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn tell(failure: &Failure) {
    println!("VIOLATION {}", failure.violation);
    println!("  {}", Plan::from_seed(failure.seed));
    println!("  replay: {}", replay_line(failure.seed));
}
