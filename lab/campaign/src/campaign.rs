//! Runs many seeds on all cores and collects the results.

use std::panic::{AssertUnwindSafe, catch_unwind};

use fairpath::time::SharedInstant;
use rayon::prelude::*;

use crate::check::{Findings, Law, Violation};
use crate::plan::Plan;
use crate::run::{PlanOutcome, run};

/// Seeds that once found a bug, and the bug. Every test run replays them.
pub const REGRESSIONS: &[(u64, &str)] = &[
    (5, "reliable unordered calls that overtook the greeting were lost"),
    (115, "a former owner kept a state group that it had set too late"),
    (316, "in the checker, the first DR vectors of a restarted server were not counted"),
    (667, "a datagram full of DR vectors was two bytes longer than allowed"),
    (887, "a client whose clock was set back during its greeting accused the server"),
    (1_969, "an object in a circle of parents coasted on after its owner had broken the circle"),
    (
        2_757,
        "in the checker, calls to a client that its clock had disconnected were owed until the server noticed",
    ),
    (4_617, "in the checker, late news was allowed to bend a correction half as much as it can"),
    (8_349, "under hop placement, a new owner's first update was dated before the server's last"),
    (102_510, "in the simulator, a repeated greeting reopened a dead transport"),
    (105_547, "the same: a client was never shown an object"),
    (114_864, "copies whose receipts were given up were booked as lost, and the page as settled"),
    (114_918, "under local placement, a stamp from the future held an object still"),
];

/// A range of seeds to run.
#[derive(Clone, Copy, Debug)]
pub struct Campaign {
    pub from: u64,
    pub seeds: u64,
}

/// A seed that broke a law.
#[derive(Clone, Debug)]
pub struct Failure {
    pub seed: u64,
    pub violation: Violation,
}

/// The results of a range of seeds.
#[derive(Clone, Debug, Default)]
pub struct CampaignResult {
    pub seeds: u64,
    /// Their virtual time together, in seconds.
    pub secs: f64,
    /// How often each law was checked, in the order of [`Law::ALL`].
    pub looked: [u64; Law::ALL.len()],
    pub failures: Vec<Failure>,
}

impl Campaign {
    pub fn run(&self) -> CampaignResult {
        let seeds = self.from..self.from + self.seeds;
        let tallies = seeds.into_par_iter().map(|seed| CampaignResult::of(seed, &play(seed)));
        tallies.reduce(CampaignResult::default, CampaignResult::and)
    }

    /// Runs only the cheap seeds: those with at most four clients.
    pub fn run_small(&self) -> CampaignResult {
        let seeds = (self.from..self.from + self.seeds).into_par_iter();
        let small = seeds.filter(|seed| Plan::from_seed(*seed).clients <= 4);
        small
            .map(|seed| CampaignResult::of(seed, &play(seed)))
            .reduce(CampaignResult::default, CampaignResult::and)
    }

    /// Runs seeds until one breaks a law. Returns the lowest such seed.
    pub fn run_to_first_failure(&self) -> Option<Failure> {
        let seeds = self.from..self.from + self.seeds;
        seeds.into_par_iter().find_map_first(|seed| CampaignResult::of(seed, &play(seed)).failures.pop())
    }
}

/// Runs one seed. A panic counts as a violation.
fn play(seed: u64) -> PlanOutcome {
    let played = catch_unwind(AssertUnwindSafe(|| run(&Plan::from_seed(seed))));
    played.unwrap_or_else(|panic| {
        let what = panic.downcast_ref::<String>().map(String::as_str);
        let what = what.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("unknown panic");
        let violation =
            Violation { law: Law::Panic, at: SharedInstant::ZERO, what: format!("panicked: {what}") };
        let findings = Findings { violation: Some(violation), ..Findings::default() };
        PlanOutcome { findings, digest: 0, lasted: fairpath::time::Span::ZERO, ids_reused: 0 }
    })
}

pub fn replay_line(seed: u64) -> String {
    format!("cargo xtask sim --seed {seed}")
}

impl CampaignResult {
    fn of(seed: u64, outcome: &PlanOutcome) -> Self {
        let violation = outcome.findings.violation.clone();
        Self {
            seeds: 1,
            secs: outcome.lasted.as_secs_f64(),
            looked: outcome.findings.looked,
            failures: violation.map(|violation| Failure { seed, violation }).into_iter().collect(),
        }
    }

    /// Returns both results merged.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.seeds += other.seeds;
        self.secs += other.secs;
        self.looked.iter_mut().zip(other.looked).for_each(|(sum, more)| *sum += more);
        self.failures.extend(other.failures);
        self.failures.sort_by_key(|failure| failure.seed);
        self
    }
}
