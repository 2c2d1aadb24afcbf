//! X3: scheduling #2 stops the errors of #1 from running away.

use crate::experiment::{CannotRun, Experiment, Progress, Settings};
use crate::fairness::bench::{Bench, Case};
use crate::fairness::{Contender, Score};
use crate::judge;
use crate::outcome::{Claim, Outcome};

pub(super) struct X3;

const BASE: Contender = Contender::Broadcast;
const ONE: Contender = Contender::SchedulingOne;
const TWO: Contender = Contender::SchedulingTwo;
const CONTENDERS: [Contender; 3] = [BASE, ONE, TWO];

impl Experiment for X3 {
    fn id(&self) -> &'static str {
        "X3"
    }

    fn title(&self) -> &'static str {
        "Scheduling #2: fairer than base, more accurate than #1"
    }

    fn source(&self) -> &'static str {
        "Banavar 2005 fig 3.11–3.13"
    }

    fn about(&self) -> &'static str {
        "As scheduling #1, but what still waits when the next DR vector comes is sent then instead of discarded. Receivers are 800, 500 \
         and 200 ms away and delays do not vary."
    }

    fn run(&self, settings: &Settings, progress: &dyn Progress) -> Result<Outcome, CannotRun> {
        let bench = Bench::new(settings, progress)?;
        let cases = bench.cases(&bench.jitters(&[0]), &CONTENDERS);
        let mut outcome = bench.outcome(&cases, BASE);
        outcome.claims = cases.iter().flat_map(claims).collect();
        outcome.figures = cases.iter().flat_map(|case| bench.figures("x3", case, &CONTENDERS)).collect();
        Ok(outcome)
    }
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
        .unit("× scheduling #1"),
        case.claim(
            "X3.farthest",
            "the farthest receiver is as well off as in base",
            "Where the near receivers catch up with it, the farthest is no longer always the worst off, so it is made to wait at times; \
             what it then misses comes on top of its own delay",
            |scores| judge::about(scores.farthest(BASE, TWO, BASE), 1.0),
        )
        .unit("× base")
        .paper("as good"),
    ]
}
