//! Goal: no world breaks a law, and the same seed is the same world. Method: some hundred small
//! worlds, and those that found something once. Many more: `cargo xtask sim --seeds 20000`.

use std::collections::BTreeMap;

use fairpath::time::Span;
use fairpath_campaign::{Campaign, Incident, Law, Plan, REGRESSIONS, replay_line, run};

/// Seeds of the everyday run. Quick enough for two slow cores, and other seeds than long campaigns
/// begin with.
const FROM: u64 = 1 << 32;
const SEEDS: u64 = 200;

#[test]
fn some_hundred_worlds_keep_all_laws() {
    let tally = Campaign { from: FROM, seeds: SEEDS }.run_small();
    let failures: Vec<String> = tally
        .failures
        .iter()
        .map(|it| format!("{}\n  {}\n  {}", it.violation, Plan::from_seed(it.seed), replay_line(it.seed)))
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    let never_looked =
        Law::ALL.iter().zip(tally.looked).find(|(law, looked)| **law != Law::Panic && *looked == 0);
    assert_eq!(never_looked, None, "a law that is never checked");
}

#[test]
fn what_was_found_once_stays_fixed() {
    for (seed, story) in REGRESSIONS {
        let plan = Plan::from_seed(*seed);
        assert_eq!(run(&plan).findings.violation, None, "again: {story}\n{plan}");
    }
}

#[test]
fn the_same_seed_is_the_same_world() {
    for seed in [1, 2, 3, 5, 8] {
        let plan = Plan::from_seed(seed);
        assert_eq!(plan.to_string(), Plan::from_seed(seed).to_string());
        let (one, other) = (run(&plan), run(&plan));
        assert_eq!(one, other, "{plan}");
        assert_ne!(one.digest, run(&Plan::from_seed(seed + 100)).digest);
    }
}

#[test]
fn ids_go_round_and_nothing_is_confused() {
    let is_long = |plan: &Plan| !plan.rests.is_empty() && plan.bullets > 4.0;
    let long = (FROM..).map(Plan::from_seed).filter(is_long).take(8);
    let outcomes: Vec<_> = long.map(|plan| (run(&plan), plan)).collect();
    for (outcome, plan) in &outcomes {
        assert_eq!(outcome.findings.violation, None, "{plan}");
    }
    let reused: u64 = outcomes.iter().map(|(outcome, _)| outcome.ids_reused).sum();
    assert!(reused > 50, "{reused} ids were used again");
}

#[test]
fn a_plan_is_one_line() {
    let line = Plan::from_seed(12).to_string();
    assert!(line.starts_with("seed 12: ") && !line.contains('\n'), "{line}");
}

/// What a plan holds, by name: `Debug` says `Stall(3, …)`, `SchedulingSend { … }`.
fn names(plan: &Plan) -> Vec<String> {
    let name = |debug: String| debug.chars().take_while(|letter| letter.is_alphabetic()).collect::<String>();
    let any_link = |holds: fn(&fairpath_sim::LinkConfig) -> bool| plan.links.iter().flatten().any(holds);
    let mut names: Vec<String> =
        plan.incidents.iter().map(|(_, incident)| name(format!("{incident:?}"))).collect();
    names.extend([name(format!("{:?}", plan.scheduler.choice)), name(format!("{:?}", plan.placement))]);
    let faults = [
        ("loss", any_link(|link| link.loss.mean_ratio() > 0.01)),
        ("bursts", any_link(|link| link.loss.good_to_bad > 0.0)),
        ("reordering", any_link(|link| link.reorder_ratio > 0.0)),
        ("duplicates", any_link(|link| link.duplicate_ratio > 0.0)),
        ("jitter", any_link(|link| link.jitter_uniform > Span::ZERO)),
        ("rates", any_link(|link| link.rate.is_some())),
        ("asymmetry", (0..plan.clients).any(|client| !plan.is_symmetric(client))),
        ("liars", !plan.liars.is_empty()),
        ("late", !plan.late.is_empty()),
        ("doubts", plan.trusts),
        ("scope", plan.sight.is_some()),
        ("stones", plan.stones > 1_000),
        ("bullets", plan.bullets > 0.0),
        ("rests", !plan.rests.is_empty()),
        ("riders", plan.riders > 0),
        ("two clients", plan.clients == 2),
        ("dozens of clients", plan.clients > 32),
    ];
    names.extend(plan.stranger.map(|stranger| format!("{stranger:?}")));
    names.extend(faults.into_iter().filter(|(_, is_there)| *is_there).map(|(name, _)| name.to_owned()));
    names
}

#[test]
fn every_fault_scheduler_and_placement_is_drawn() {
    let mut drawn: BTreeMap<String, u32> = BTreeMap::new();
    for seed in 0..3_000 {
        let mut names = names(&Plan::from_seed(seed));
        names.sort();
        names.dedup();
        names.into_iter().for_each(|name| *drawn.entry(name).or_default() += 1);
    }
    println!("{drawn:?}");
    let incidents = "Partition Cut Crash Leave Absent Step Drift Restart Narrow Stall Claim Release Rebuild Chatter Dismiss \
        PlannedRestart Garble Attach Board Give Sink OneWay ServerStall";
    let schedulers = "Broadcast EveryNth SchedulingDiscard SchedulingSend RelativeError FixedProbability ProbabilisticBudget \
        DeterministicBudget ErrorIndex";
    let often =
        incidents.split_whitespace().chain(schedulers.split_whitespace()).chain(["Local", "Hop", "Global"]);
    let others = "loss bursts reordering duplicates jitter rates asymmetry liars late doubts scope bullets riders \
        OtherGame OtherVersion OtherClasses OtherPrecision";
    for name in often.chain(others.split_whitespace()).chain(["two clients"]) {
        assert!(drawn.get(name).is_some_and(|count| *count >= 30), "{name}: {:?} of 3000", drawn.get(name));
    }
    for name in ["dozens of clients", "stones", "rests"] {
        assert!(drawn.contains_key(name), "{name}: {drawn:?}");
    }
}

#[test]
fn those_who_found_something_are_as_they_were() {
    // Found with slow readers or with the ingredients.
    const FOUND_LATER: [u64; 5] = [316, 667, 887, 1_969, 4_617];
    for (seed, _) in REGRESSIONS.iter().filter(|(seed, _)| !FOUND_LATER.contains(seed)) {
        let plan = Plan::from_seed(*seed);
        let stalls = plan.incidents.iter().any(|(_, incident)| matches!(incident, Incident::Stall(..)));
        assert!(!stalls, "slow readers were thought of later: {plan}");
        let Plan { stones, riders, bullets, stranger, .. } = plan;
        let is_plain = stones == 0 && riders == 0 && bullets == 0.0 && stranger.is_none();
        let later = |it: &Incident| {
            matches!(
                it,
                Incident::PlannedRestart(_)
                    | Incident::Garble(_)
                    | Incident::OneWay(..)
                    | Incident::ServerStall(_)
            )
        };
        let is_old = is_plain && !plan.incidents.iter().any(|(_, incident)| later(incident));
        assert!(is_old, "the ingredients were thought of later: {plan}");
    }
}
