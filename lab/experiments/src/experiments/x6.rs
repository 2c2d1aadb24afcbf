//! X6: the same shares as in X4, in turns instead of by chance.

use crate::experiment::{CannotRun, Experiment, Progress, Settings};
use crate::fairness::bench::{Bench, Case};
use crate::fairness::{Contender, Factor, Measure, Score};
use crate::judge;
use crate::outcome::{Claim, Outcome};

pub(super) struct X6;

const BASE: Contender = Contender::Broadcast;
const THIRD: Contender = Contender::EveryNth;
const TURNS: Contender = Contender::Deterministic(Factor::Accumulated);

impl Experiment for X6 {
    fn id(&self) -> &'static str {
        "X6"
    }

    fn title(&self) -> &'static str {
        "Deterministic budget: fairer at the same cost and accuracy"
    }

    fn source(&self) -> &'static str {
        "Banavar 2005 fig 3.19–3.21"
    }

    fn about(&self) -> &'static str {
        "Receivers are told in turns whose length follows from their share of the errors, one DR vector per trigger on average. Against \
         base and 1/3 base, with every way of sharing; without jitter."
    }

    fn run(&self, settings: &Settings, progress: &dyn Progress) -> Result<Outcome, CannotRun> {
        let bench = Bench::new(settings, progress)?;
        let contenders: Vec<Contender> =
            [BASE, THIRD].into_iter().chain(Factor::ALL.map(Contender::Deterministic)).collect();
        let cases = bench.cases(&bench.jitters(&[0]), &contenders);
        let mut outcome = bench.outcome(&cases, THIRD);
        outcome.claims = cases.iter().flat_map(|case| fairer_at_equal_cost("X6", "", case)).collect();
        outcome.claims.extend(cases.iter().map(best_factor));
        outcome.figures =
            cases.iter().flat_map(|case| bench.figures("x6", case, &[BASE, THIRD, TURNS])).collect();
        Ok(outcome)
    }
}

/// What X6 claims, and X7 again under jitter.
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
            &format!("{when} the farthest receiver is better off than in 1/3 base"),
            "",
            |scores| judge::below(scores.farthest(BASE, TURNS, THIRD), 1.0),
        )
        .unit("× 1/3 base")
        .paper("fallen"),
    ]
}

fn best_factor(case: &Case) -> Claim {
    case.claim(
        "X6.best",
        "sharing by the accumulated error alone (PA = 1) has the least spread",
        "A mixture has less spread and pays for it with a larger mean error: at nearly the mean of 1/3 base PA is the best",
        |scores| {
            let spread = |factor: Factor| scores.of(Contender::Deterministic(factor)).spread();
            let others = Factor::ALL.into_iter().filter(|factor| *factor != Factor::Accumulated);
            judge::below(spread(Factor::Accumulated) / others.map(spread).fold(f64::INFINITY, f64::min), 1.0)
        },
    )
    .unit("× the best of the others")
    .paper("PA = 1 best")
}
