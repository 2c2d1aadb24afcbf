//! X4: send at random, in proportion to a receiver's error or silence.

use super::DECLARATION;
use super::factors::{Factors, all_weightings};
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
                every receiver is sent every third DR vector: the same cost. The code in Banavar 2005's appendix computes PI and PT otherwise than \
                its text: from the last acknowledgement on. Both are played; claims without a suffix are about the code, which the thesis measured.",
        ..DECLARATION
    },
    run,
};

const THIRD: LabScheduler = LabScheduler::EVERY_NTH;

fn run(settings: &Settings, progress: &dyn Progress) -> Result<Outcome, CannotRun> {
    let bench = Bench::new(settings, progress)?;
    let schedulers: Vec<LabScheduler> =
        [THIRD].into_iter().chain(all_weightings().map(LabScheduler::probabilistic)).collect();
    let cases = bench.cases(&bench.jitters(&[0]), &schedulers);
    let mut outcome = bench.outcome(&cases, THIRD);
    outcome.claims = cases
        .iter()
        .flat_map(|case| Factors::BOTH.into_iter().flat_map(move |factors| claims(case, factors)))
        .collect();
    outcome.figures = cases.iter().flat_map(|case| bench.figures("x4", case, &schedulers)).collect();
    Ok(outcome)
}

fn claims(case: &Case, factors: Factors) -> [Claim; 4] {
    let claim = |id: &str, text: &str, why: &str, judge: &dyn Fn(&Scores) -> judge::Judgement| {
        let why = if factors == Factors::Text { why } else { "" };
        let id = format!("X4.{id}{}", factors.suffix());
        let text = format!("{text}, {}", factors.shown());
        case.claim(&id, &text, why, judge).reading(factors.shown())
    };
    [
        claim(
            "spread",
            "the spread is below that of 1/3 base for every weighting",
            "The time since the last send (PT) says nothing of errors: it evens out silence, so the farthest receiver stays worst while chance \
             makes every error larger",
            &|scores| judge::below_in_every(of_all(scores, factors, Score::spread)),
        )
        .unit("× 1/3 base, at most")
        .paper("lower for all five"),
        claim("mean", "the mean error is above that of 1/3 base for every weighting", "", &|scores| {
            judge::above_in_every(of_all(scores, factors, Score::mean))
        })
        .unit("× 1/3 base, at least")
        .paper("higher for all five"),
        claim(
            "receivers",
            "every receiver has a larger error than in 1/3 base, for every weighting",
            "The farthest receiver is sent DR vectors so much more often than every third time that this outweighs the irregularity",
            &|scores| {
                let pairs = factors
                    .weightings()
                    .into_iter()
                    .flat_map(|weighting| scores.receivers(LabScheduler::probabilistic(weighting), THIRD));
                judge::above_in_every(pairs)
            },
        )
        .unit("× 1/3 base, at least")
        .paper("higher for all receivers"),
        claim(
            "best",
            "sharing by the instantaneous error alone (PI = 1) has the least spread",
            "Spread is made of accumulated errors, and shares that look at them correct it; PI has the best mean instead. It is the best as the code computes it",
            &|scores| {
                let best = factors.instantaneous();
                let spread = |weighting| scores.of(LabScheduler::probabilistic(weighting)).spread();
                let others = factors.weightings().into_iter().filter(|weighting| *weighting != best);
                let least = others.map(spread).fold(f64::INFINITY, f64::min);
                judge::below(spread(best) / least, 1.0)
            },
        )
        .unit("× the best of the others")
        .paper("PI = 1 best"),
    ]
}

/// A measure of every weighting, beside that of 1/3 base.
fn of_all(
    scores: &Scores,
    factors: Factors,
    of: fn(&Score) -> f64,
) -> impl Iterator<Item = (f64, f64)> + use<'_> {
    let third = of(scores.of(THIRD));
    factors
        .weightings()
        .into_iter()
        .map(move |weighting| (of(scores.of(LabScheduler::probabilistic(weighting))), third))
}
