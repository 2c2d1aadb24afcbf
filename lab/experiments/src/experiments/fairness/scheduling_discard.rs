//! X2: scheduling #1 makes all errors equally large.

use super::DECLARATION;
use crate::experiment::{CannotRun, Declaration, DeclaredExperiment, Progress, Settings};
use crate::fairness::bench::{Bench, Case, JITTERS_MS};
use crate::fairness::{LabScheduler, Score};
use crate::judge;
use crate::outcome::{Claim, Outcome};

pub(in crate::experiments) static EXPERIMENT: DeclaredExperiment = DeclaredExperiment {
    declaration: Declaration {
        name: "scheduling-discard",
        alias: "X2",
        title: "Scheduling #1 makes errors equal, at the price of accuracy",
        source: "Banavar 2005 fig 3.2–3.10",
        about: "The receiver with the highest accumulated error is sent a DR vector at once. Every other receiver is sent it when its own error \
                has grown to that, and not at all if the next DR vector comes first. Compared with base, where every receiver is sent everything \
                at once. Receivers are 800, 500 and 200 ms away; jitter is 0, ±100 and ±180 ms.",
        ..DECLARATION
    },
    run,
};

const BASE: LabScheduler = LabScheduler::BROADCAST;
const ONE: LabScheduler = LabScheduler::SCHEDULING_DISCARD;
const SCHEDULERS: [LabScheduler; 3] = [BASE, ONE, LabScheduler::SCHEDULING_DISCARD_AT_RECEPTION];

fn run(settings: &Settings, progress: &dyn Progress) -> Result<Outcome, CannotRun> {
    let bench = Bench::new(settings, progress)?;
    let cases = bench.cases(&bench.jitters(&JITTERS_MS), &SCHEDULERS);
    let mut outcome = bench.outcome(&cases, BASE);
    outcome.claims = cases.iter().flat_map(claims).collect();
    outcome.figures = cases.iter().flat_map(|case| bench.figures("x2", case, &SCHEDULERS)).collect();
    Ok(outcome)
}

fn claims(case: &Case) -> [Claim; 3] {
    let (when, suffix) = (case.shown(), case.suffix());
    [
        case.claim(
            &format!("X2.spread{suffix}"),
            &format!("{when} the spread of scheduling #1 is far below base's"),
            "",
            |scores| judge::far_below(scores.ratio(Score::spread, ONE, BASE), 1.0),
        )
        .unit("× base")
        .paper("much lower"),
        case.claim(
            &format!("X2.mean{suffix}"),
            &format!("{when} the mean error of scheduling #1 is several times base's"),
            "",
            |scores| judge::multifold(scores.ratio(Score::mean, ONE, BASE), 1.0),
        )
        .unit("× base")
        .paper("increased multifold"),
        case.claim(
            &format!("X2.every-receiver{suffix}"),
            &format!("{when} even the least error of scheduling #1 is larger than base's largest"),
            "",
            |scores| {
                let best = scores.of(ONE).receivers().into_iter().fold(f64::INFINITY, f64::min);
                let worst = scores.of(BASE).receivers().into_iter().fold(0.0, f64::max);
                judge::above(best / worst, 1.0)
            },
        )
        .unit("× base's worst")
        .paper("much greater"),
    ]
}
