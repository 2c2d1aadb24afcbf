//! X5: what chance alone costs.

use super::DECLARATION;
use crate::experiment::{CannotRun, Declaration, DeclaredExperiment, Progress, Settings};
use crate::fairness::LabScheduler;
use crate::fairness::bench::{Bench, Case};
use crate::judge;
use crate::outcome::{Claim, Outcome};

pub(in crate::experiments) static EXPERIMENT: DeclaredExperiment = DeclaredExperiment {
    declaration: Declaration {
        name: "chance-alone",
        alias: "X5",
        title: "What random gaps cost, at the same number of DR vectors",
        source: "Banavar 2005 fig 3.18",
        about: "Every receiver is sent every DR vector (base), every third one (1/3 base), or each one with probability 1/3 (1/3 probabilistic). \
                The last two cost the same on average; only the gaps between DR vectors differ.",
        ..DECLARATION
    },
    run,
};

const BASE: LabScheduler = LabScheduler::BROADCAST;
const THIRD: LabScheduler = LabScheduler::EVERY_NTH;
const CHANCE: LabScheduler = LabScheduler::FIXED_PROBABILITY;
const SCHEDULERS: [LabScheduler; 3] = [BASE, THIRD, CHANCE];

fn run(settings: &Settings, progress: &dyn Progress) -> Result<Outcome, CannotRun> {
    let bench = Bench::new(settings, progress)?;
    let cases = bench.cases(&bench.jitters(&[0]), &SCHEDULERS);
    let mut outcome = bench.outcome(&cases, THIRD);
    outcome.claims = cases.iter().flat_map(claims).collect();
    outcome.figures = cases.iter().flat_map(|case| bench.figures("x5", case, &SCHEDULERS)).collect();
    Ok(outcome)
}

fn claims(case: &Case) -> [Claim; 2] {
    [
        case.claim("X5.worst", "every receiver has its largest error with 1/3 probabilistic", "", |scores| {
            let base = scores.of(BASE).receivers();
            let pairs = scores.receivers(CHANCE, THIRD).into_iter().zip(base);
            judge::above_in_every(pairs.map(|((chance, third), base)| (chance, third.max(base))))
        })
        .unit("× the worse of the others, at least")
        .paper("highest for all three receivers"),
        case.claim("X5.cost", "at the cost of 1/3 base", "", |scores| {
            judge::about(scores.ratio(|score| score.vectors() as f64, CHANCE, THIRD), 1.0)
        })
        .unit("× 1/3 base")
        .paper("the same on average"),
    ]
}
