//! Goal: no world breaks a law, and the same seed is the same world. Method: some hundred small worlds, and those that
//! found something once. Many more: `cargo xtask sim --seeds 20000`.

use fairpath_campaign::{Campaign, Plan, REGRESSIONS, replay_line, run};

/// Seeds of the everyday run. Quick enough for two slow cores, and other seeds than long campaigns begin with.
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
    let never_looked = tally.looked[..7].iter().position(|count| *count == 0);
    assert_eq!(never_looked, None, "a law that nobody looks at");
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
fn a_plan_is_one_line() {
    let line = Plan::from_seed(12).to_string();
    assert!(line.starts_with("seed 12: ") && !line.contains('\n'), "{line}");
}
