//! X5: what chance alone costs.

use crate::experiment::{CannotRun, Experiment, Progress, Settings};
use crate::fairness::Contender;
use crate::fairness::bench::{Bench, Case};
use crate::judge;
use crate::outcome::{Claim, Outcome};

pub(super) struct X5;

const BASE: Contender = Contender::Broadcast;
const THIRD: Contender = Contender::EveryNth;
const CHANCE: Contender = Contender::FixedProbability;
const CONTENDERS: [Contender; 3] = [BASE, THIRD, CHANCE];

impl Experiment for X5 {
    fn id(&self) -> &'static str {
        "X5"
    }

    fn title(&self) -> &'static str {
        "What chance alone costs"
    }

    fn source(&self) -> &'static str {
        "Banavar 2005 fig 3.18"
    }

    fn about(&self) -> &'static str {
        "Everybody told of every DR vector (base), of every third one (1/3 base), or of each with probability 1/3 (1/3 probabilistic). The \
         last two cost the same on average; only the gaps differ."
    }

    fn run(&self, settings: &Settings, progress: &dyn Progress) -> Result<Outcome, CannotRun> {
        let bench = Bench::new(settings, progress)?;
        let cases = bench.cases(&bench.jitters(&[0]), &CONTENDERS);
        let mut outcome = bench.outcome(&cases, THIRD);
        outcome.claims = cases.iter().flat_map(claims).collect();
        outcome.figures = cases.iter().flat_map(|case| bench.figures("x5", case, &CONTENDERS)).collect();
        Ok(outcome)
    }
}

fn claims(case: &Case) -> [Claim; 2] {
    [
        case.claim("X5.worst", "every receiver is worst off with 1/3 probabilistic", "", |scores| {
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
