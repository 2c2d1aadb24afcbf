//! X4: send at random, in proportion to a receiver's error or silence.

use fairpath::schedule::Weighting;

use super::DECLARATION;
use crate::experiment::{CannotRun, Declaration, DeclaredExperiment, Progress, Settings};
use crate::fairness::bench::{Bench, Case, Scores};
use crate::fairness::{LabScheduler, Score};
use crate::judge;
use crate::outcome::{Claim, Outcome};

pub(in crate::experiments) static EXPERIMENT: DeclaredExperiment = DeclaredExperiment {
    declaration: Declaration {
        name: "probabilistic-budget",
        alias: "X4",
        title: "Share a budget at random, by five weightings of error and silence",
        source: "Banavar 2005 fig 3.15–3.17",
        about: "One DR vector is sent per trigger, on average. Each receiver is sent it with a probability in proportion to its accumulated \
                error (PA), its instantaneous error (PI), the time since the last send to it (PT), or a mixture. Compared with 1/3 base, where \
                every receiver is sent every third DR vector: the same cost.",
        ..DECLARATION
    },
    run,
};

const THIRD: LabScheduler = LabScheduler::EVERY_NTH;

fn run(settings: &Settings, progress: &dyn Progress) -> Result<Outcome, CannotRun> {
    let bench = Bench::new(settings, progress)?;
    let schedulers: Vec<LabScheduler> =
        [THIRD].into_iter().chain(Weighting::ALL.map(LabScheduler::probabilistic)).collect();
    let cases = bench.cases(&bench.jitters(&[0]), &schedulers);
    let mut outcome = bench.outcome(&cases, THIRD);
    outcome.claims = cases.iter().flat_map(claims).collect();
    outcome.figures = cases.iter().flat_map(|case| bench.figures("x4", case, &schedulers)).collect();
    Ok(outcome)
}

fn claims(case: &Case) -> [Claim; 4] {
    [
        case.claim(
            "X4.spread",
            "the spread is below that of 1/3 base for every weighting",
            "The time since the last send (PT) says nothing of errors: it evens out silence, so the farthest receiver stays worst while chance \
             makes every error larger",
            |scores| judge::below_in_every(of_all(scores, Score::spread)),
        )
        .unit("× 1/3 base, at most")
        .paper("lower for all five"),
        case.claim("X4.mean", "the mean error is above that of 1/3 base for every weighting", "", |scores| {
            judge::above_in_every(of_all(scores, Score::mean))
        })
        .unit("× 1/3 base, at least")
        .paper("higher for all five"),
        case.claim(
            "X4.receivers",
            "every receiver has a larger error than in 1/3 base, for every weighting",
            "The farthest receiver is sent DR vectors so much more often than every third time that this outweighs the irregularity",
            |scores| {
                let pairs = Weighting::ALL
                    .into_iter()
                    .flat_map(|weighting| scores.receivers(LabScheduler::probabilistic(weighting), THIRD));
                judge::above_in_every(pairs)
            },
        )
        .unit("× 1/3 base, at least")
        .paper("higher for all receivers"),
        case.claim(
            "X4.best",
            "sharing by the instantaneous error alone (PI = 1) has the least spread",
            "Spread is made of accumulated errors, and shares that look at them correct it; PI has the best mean instead. Banavar 2005's own code computes PI as \
             accumulated minus acknowledged error, which is something else",
            |scores| {
                let spread = |weighting: Weighting| scores.of(LabScheduler::probabilistic(weighting)).spread();
                let others = Weighting::ALL.into_iter().filter(|weighting| *weighting != Weighting::INSTANTANEOUS);
                let least = others.map(spread).fold(f64::INFINITY, f64::min);
                judge::below(spread(Weighting::INSTANTANEOUS) / least, 1.0)
            },
        )
        .unit("× the best of the others")
        .paper("PI = 1 best"),
    ]
}

/// A measure of every weighting, beside that of 1/3 base.
fn of_all(scores: &Scores, of: fn(&Score) -> f64) -> impl Iterator<Item = (f64, f64)> {
    let third = of(scores.of(THIRD));
    Weighting::ALL
        .into_iter()
        .map(move |weighting| (of(scores.of(LabScheduler::probabilistic(weighting))), third))
}
