//! X7: the budget schemes when delays vary.

use super::x6::fairer_at_equal_cost;
use crate::experiment::{CannotRun, Experiment, Progress, Settings};
use crate::fairness::bench::{Bench, Case, Scores};
use crate::fairness::{Contender, Factor, Score, spread};
use crate::judge;
use crate::outcome::{Claim, Outcome};

pub(super) struct X7;

const BASE: Contender = Contender::Broadcast;
const THIRD: Contender = Contender::EveryNth;
const TURNS: Contender = Contender::Deterministic(Factor::Accumulated);
const CHANCE: Contender = Contender::Probabilistic(Factor::Accumulated);

impl Experiment for X7 {
    fn id(&self) -> &'static str {
        "X7"
    }

    fn title(&self) -> &'static str {
        "Budgets when delays vary"
    }

    fn source(&self) -> &'static str {
        "Banavar 2005 fig 3.22–3.27, Aggarwal 2005 5–6"
    }

    fn about(&self) -> &'static str {
        "The deterministic and the probabilistic budget, one DR vector per trigger on average, against base and 1/3 base, with jitter of \
         ±100 and ±180 ms around 800, 500 and 200 ms."
    }

    fn run(&self, settings: &Settings, progress: &dyn Progress) -> Result<Outcome, CannotRun> {
        let bench = Bench::new(settings, progress)?;
        let mut contenders = vec![BASE, THIRD];
        contenders.extend(Factor::ALL.map(Contender::Probabilistic));
        contenders.extend(Factor::ALL.map(Contender::Deterministic));
        let cases = bench.cases(&bench.jitters(&[100, 180]), &contenders);
        let mut outcome = bench.outcome(&cases, THIRD);
        outcome.claims = cases.iter().flat_map(claims).collect();
        outcome.claims.extend(cases.last().map(neither_always_wins));
        let shown = [BASE, THIRD, CHANCE, TURNS];
        outcome.figures = cases.iter().flat_map(|case| bench.figures("x7", case, &shown)).collect();
        Ok(outcome)
    }
}

fn claims(case: &Case) -> Vec<Claim> {
    let (when, suffix) = (case.shown(), case.suffix());
    let mut claims = Vec::from(fairer_at_equal_cost("X7", &suffix, case));
    claims.push(
        case.claim(
            &format!("X7.mean-below-probabilistic{suffix}"),
            &format!("{when} the deterministic mean error is below the probabilistic one"),
            "",
            |scores| judge::below(scores.ratio(Score::mean, TURNS, CHANCE), 1.0),
        )
        .unit("× probabilistic")
        .paper("always less"),
    );
    claims
}

fn neither_always_wins(case: &Case) -> Claim {
    case.claim(
        "X7.neither",
        &format!("{} neither of them always has the smaller spread", case.shown()),
        "One of them had it in every single tank or stretch, with every way of sharing",
        |scores| judge::between(100.0 * deterministic_wins(scores), 0.0, 100.0),
    )
    .unit("% of tanks or stretches, over all ways of sharing, in which the deterministic one is the fairer")
    .paper("sometimes the probabilistic one is better")
}

/// In which share of stretches, over all ways of sharing, receivers are closer together at the end
/// with turns than by chance.
fn deterministic_wins(scores: &Scores) -> f64 {
    let spreads = |contender: Contender| {
        let games = scores.of(contender).games.iter();
        games.flat_map(|game| game.stretches.iter().map(|errors| spread(errors))).collect::<Vec<f64>>()
    };
    let pairs: Vec<(f64, f64)> = Factor::ALL
        .into_iter()
        .flat_map(|factor| {
            spreads(Contender::Deterministic(factor))
                .into_iter()
                .zip(spreads(Contender::Probabilistic(factor)))
        })
        .collect();
    pairs.iter().filter(|(turns, chance)| turns < chance).count() as f64 / pairs.len() as f64
}
