//! X4: telling by chance, in proportion to what somebody has suffered.

use crate::experiment::{CannotRun, Experiment, Progress, Settings};
use crate::fairness::bench::{Bench, Case, Scores};
use crate::fairness::{Contender, Factor, Score};
use crate::judge;
use crate::outcome::{Claim, Outcome};

pub(super) struct X4;

const THIRD: Contender = Contender::EveryNth;

impl Experiment for X4 {
    fn id(&self) -> &'static str {
        "X4"
    }

    fn title(&self) -> &'static str {
        "Probabilistic budget: five ways to share"
    }

    fn source(&self) -> &'static str {
        "Banavar 2005 fig 3.15–3.17"
    }

    fn about(&self) -> &'static str {
        "At every trigger one DR vector may be sent, on average: each receiver is told with a probability in proportion to its accumulated \
         error (PA), its instantaneous error (PI), the time since it was last told (PT), or a mixture. Against 1/3 base, where \
         everybody is told of every third DR vector: the same cost."
    }

    fn run(&self, settings: &Settings, progress: &dyn Progress) -> Result<Outcome, CannotRun> {
        let bench = Bench::new(settings, progress)?;
        let contenders: Vec<Contender> =
            [THIRD].into_iter().chain(Factor::ALL.map(Contender::Probabilistic)).collect();
        let cases = bench.cases(&bench.jitters(&[0]), &contenders);
        let mut outcome = bench.outcome(&cases, THIRD);
        outcome.claims = cases.iter().flat_map(claims).collect();
        outcome.figures = cases.iter().flat_map(|case| bench.figures("x4", case, &contenders)).collect();
        Ok(outcome)
    }
}

fn claims(case: &Case) -> [Claim; 4] {
    [
        case.claim(
            "X4.spread",
            "the spread is below that of 1/3 base for every weighting",
            "The time since somebody was last told (PT) says nothing of errors: it evens out silence, so the farthest stays farthest while chance \
             makes everybody's error larger",
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
            "every receiver is worse off than in 1/3 base, for every weighting",
            "The farthest is told so much more often than every third time that this outweighs the irregularity",
            |scores| {
                let pairs = Factor::ALL
                    .into_iter()
                    .flat_map(|factor| scores.receivers(Contender::Probabilistic(factor), THIRD));
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
                let spread = |factor: Factor| scores.of(Contender::Probabilistic(factor)).spread();
                let others = Factor::ALL.into_iter().filter(|factor| *factor != Factor::Instantaneous);
                let least = others.map(spread).fold(f64::INFINITY, f64::min);
                judge::below(spread(Factor::Instantaneous) / least, 1.0)
            },
        )
        .unit("× the best of the others")
        .paper("PI = 1 best"),
    ]
}

/// A measure of every weighting, beside that of 1/3 base.
fn of_all(scores: &Scores, of: fn(&Score) -> f64) -> impl Iterator<Item = (f64, f64)> {
    let third = of(scores.of(THIRD));
    Factor::ALL.into_iter().map(move |factor| (of(scores.of(Contender::Probabilistic(factor))), third))
}
