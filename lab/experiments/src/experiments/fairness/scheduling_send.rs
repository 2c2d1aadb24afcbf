//! X3: scheduling #2 stops the errors of #1 from running away.

use super::DECLARATION;
use crate::experiment::{CannotRun, Declaration, DeclaredExperiment, Progress, Settings};
use crate::fairness::bench::{Bench, Case};
use crate::fairness::{LabScheduler, Score};
use crate::judge;
use crate::outcome::{Claim, Outcome};

pub(in crate::experiments) static EXPERIMENT: DeclaredExperiment = DeclaredExperiment {
    declaration: Declaration {
        name: "scheduling-send",
        alias: "X3",
        title: "Scheduling #2: fairer than base, more accurate than #1",
        source: "Banavar 2005 fig 3.11–3.13",
        about: "As scheduling #1, but a copy that still waits when the next DR vector comes is sent then instead of discarded. Compared with \
                base, where every receiver is sent everything at once. Receivers are 800, 500 and 200 ms away; delays do not vary.",
        ..DECLARATION
    },
    run,
};

const BASE: LabScheduler = LabScheduler::BROADCAST;
const ONE: LabScheduler = LabScheduler::SCHEDULING_DISCARD;
const TWO: LabScheduler = LabScheduler::SCHEDULING_SEND;
const SCHEDULERS: [LabScheduler; 3] = [BASE, ONE, TWO];

fn run(settings: &Settings, progress: &dyn Progress) -> Result<Outcome, CannotRun> {
    let bench = Bench::new(settings, progress)?;
    let cases = bench.cases(&bench.jitters(&[0]), &SCHEDULERS);
    let mut outcome = bench.outcome(&cases, BASE);
    outcome.claims = cases.iter().flat_map(claims).collect();
    outcome.figures = cases.iter().flat_map(|case| bench.figures("x3", case, &SCHEDULERS)).collect();
    Ok(outcome)
}

fn claims(case: &Case) -> [Claim; 4] {
    [
        case.claim("X3.spread", "the spread of scheduling #2 is below base's", "", |scores| {
            judge::below(scores.ratio(Score::spread, TWO, BASE), 1.0)
        })
        .unit("× base")
        .paper("lower"),
        case.claim("X3.mean-above-base", "its mean error is above base's", "", |scores| {
            judge::above(scores.ratio(Score::mean, TWO, BASE), 1.0)
        })
        .unit("× base")
        .paper("moderate increase"),
        case.claim("X3.mean-below-one", "and well below that of scheduling #1", "", |scores| {
            judge::well_below(scores.ratio(Score::mean, TWO, ONE), 1.0)
        })
        .unit("× scheduling #1")
        .paper("the errors no longer run away"),
        case.claim(
            "X3.farthest",
            "the farthest receiver has the same error as in base",
            "Where the errors of near receivers catch up with it, the farthest no longer always has the largest error, so it waits at times; \
             what it then misses comes on top of its own delay",
            |scores| judge::about(scores.farthest(BASE, TWO, BASE), 1.0),
        )
        .unit("× base")
        .paper("as good")
        .reading("read off a bar chart"),
    ]
}
