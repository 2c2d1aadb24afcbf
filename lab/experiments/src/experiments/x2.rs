//! X2: scheduling #1 makes everybody equally badly off.

use crate::experiment::{CannotRun, Experiment, Progress, Settings};
use crate::fairness::bench::{Bench, Case, JITTERS_MS};
use crate::fairness::{Contender, Score};
use crate::judge;
use crate::outcome::{Claim, Outcome};

pub(super) struct X2;

const BASE: Contender = Contender::Broadcast;
const ONE: Contender = Contender::SchedulingOne;
const CONTENDERS: [Contender; 3] = [BASE, ONE, Contender::SchedulingOneAtReception];

impl Experiment for X2 {
    fn id(&self) -> &'static str {
        "X2"
    }

    fn title(&self) -> &'static str {
        "Scheduling #1: fair, at the price of accuracy"
    }

    fn source(&self) -> &'static str {
        "Banavar 2005 fig 3.2–3.10"
    }

    fn about(&self) -> &'static str {
        "Whoever has the highest accumulated error is told at once; everybody else is told when their error will have grown to that, and \
         not at all if the next DR vector comes first. Against base, where everybody is told of everything at once, with receivers \
         800, 500 and 200 ms away and jitter of 0, ±100 and ±180 ms."
    }

    fn run(&self, settings: &Settings, progress: &dyn Progress) -> Result<Outcome, CannotRun> {
        let bench = Bench::new(settings, progress)?;
        let cases = bench.cases(&bench.jitters(&JITTERS_MS), &CONTENDERS);
        let mut outcome = bench.outcome(&cases, BASE);
        outcome.claims = cases.iter().flat_map(claims).collect();
        outcome.figures = cases.iter().flat_map(|case| bench.figures("x2", case, &CONTENDERS)).collect();
        Ok(outcome)
    }
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
            &format!("{when} even the best-off receiver of scheduling #1 is worse off than base's worst"),
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
