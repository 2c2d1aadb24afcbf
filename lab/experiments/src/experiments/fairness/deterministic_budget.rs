//! X6: the same shares as in X4, in turns instead of at random.

use fairpath::schedule::Weighting;

use super::DECLARATION;
use super::factors::{Factors, all_weightings};
use crate::experiment::{CannotRun, Declaration, DeclaredExperiment, Progress, Settings};
use crate::fairness::bench::{Bench, Case};
use crate::fairness::{LabScheduler, Measure, Score};
use crate::judge;
use crate::outcome::{Claim, Outcome};

pub(in crate::experiments) static EXPERIMENT: DeclaredExperiment = DeclaredExperiment {
    declaration: Declaration {
        name: "deterministic-budget",
        alias: "X6",
        title: "Share a budget in turns: fairer at the same cost and accuracy",
        source: "Banavar 2005 fig 3.19–3.21",
        about: "Receivers take turns. The length of a turn follows from a receiver's share of the errors; one DR vector is sent per trigger on \
                average. Compared with base (every receiver, every time) and 1/3 base (every receiver, every third time), with five weightings, \
                two of whose factors Banavar 2005's code computes otherwise than its text; without jitter.",
        ..DECLARATION
    },
    run,
};

const BASE: LabScheduler = LabScheduler::BROADCAST;
const THIRD: LabScheduler = LabScheduler::EVERY_NTH;
const TURNS: LabScheduler = LabScheduler::DETERMINISTIC;

fn run(settings: &Settings, progress: &dyn Progress) -> Result<Outcome, CannotRun> {
    let bench = Bench::new(settings, progress)?;
    let schedulers: Vec<LabScheduler> =
        [BASE, THIRD].into_iter().chain(all_weightings().map(LabScheduler::deterministic)).collect();
    let cases = bench.cases(&bench.jitters(&[0]), &schedulers);
    let mut outcome = bench.outcome(&cases, THIRD);
    outcome.claims = cases.iter().flat_map(|case| fairer_at_equal_cost("X6", "", case)).collect();
    for factors in Factors::BOTH {
        outcome.claims.extend(cases.iter().map(|case| best_weighting(case, factors)));
    }
    outcome.figures =
        cases.iter().flat_map(|case| bench.figures("x6", case, &[BASE, THIRD, TURNS])).collect();
    Ok(outcome)
}

/// The claims of X6, which X7 repeats under jitter.
pub(super) fn fairer_at_equal_cost(id: &str, suffix: &str, case: &Case) -> [Claim; 4] {
    let when = case.shown();
    [
        case.claim(
            &format!("{id}.spread-base{suffix}"),
            &format!("{when} the spread of the deterministic budget is below base's"),
            "",
            |scores| judge::below(scores.ratio(Score::spread, TURNS, BASE), 1.0),
        )
        .unit("× base")
        .paper("lower"),
        case.claim(
            &format!("{id}.spread-third{suffix}"),
            &format!("{when} it is below that of 1/3 base"),
            "",
            |scores| judge::below(scores.ratio(Score::spread, TURNS, THIRD), 1.0),
        )
        .unit("× 1/3 base")
        .paper("lower"),
        case.claim_of_ratio(
            &format!("{id}.mean{suffix}"),
            &format!("{when} the mean error is almost that of 1/3 base"),
            "The error of a receiver is about linear in the time between its DR vectors, and that is one over its share: what the near ones lose by \
             smaller shares is more than what the farthest gains by a larger one",
            (Measure::Mean, TURNS, THIRD),
            |ratio| judge::about(ratio, 1.0),
        )
        .unit("× 1/3 base")
        .paper("almost the same"),
        case.claim(
            &format!("{id}.farthest{suffix}"),
            &format!("{when} the farthest receiver has a smaller error than in 1/3 base"),
            "",
            |scores| judge::below(scores.farthest(BASE, TURNS, THIRD), 1.0),
        )
        .unit("× 1/3 base")
        .paper("fallen"),
    ]
}

fn best_weighting(case: &Case, factors: Factors) -> Claim {
    case.claim(
        &format!("X6.best{}", factors.suffix()),
        &format!("sharing by the accumulated error alone (PA = 1) has the least spread, {}", factors.shown()),
        "A mixture has less spread and pays for it with a larger mean error: at nearly the mean of 1/3 base PA is the best",
        |scores| {
            let spread = |weighting: Weighting| scores.of(LabScheduler::deterministic(weighting)).spread();
            let others = factors.weightings().into_iter().filter(|weighting| *weighting != Weighting::ACCUMULATED);
            judge::below(spread(Weighting::ACCUMULATED) / others.map(spread).fold(f64::INFINITY, f64::min), 1.0)
        },
    )
    .unit("× the best of the others")
    .paper("PA = 1 best")
    .reading(factors.shown())
}
