//! X7: the budget schemes when delays vary.

use fairpath::schedule::Weighting;

use super::DECLARATION;
use super::deterministic_budget::fairer_at_equal_cost;
use crate::experiment::{CannotRun, Declaration, DeclaredExperiment, Progress, Settings};
use crate::fairness::bench::{Bench, Case, Scores};
use crate::fairness::{LabScheduler, Score, spread};
use crate::judge;
use crate::outcome::{Claim, Outcome};

pub(in crate::experiments) static EXPERIMENT: DeclaredExperiment = DeclaredExperiment {
    declaration: Declaration {
        name: "changing-delays",
        alias: "X7",
        title: "Both budgets when delays vary",
        source: "Banavar 2005 fig 3.22–3.27, Aggarwal 2005 5–6",
        about: "The deterministic and the probabilistic budget, one DR vector per trigger on average, against base (every receiver, every time) \
                and 1/3 base (every receiver, every third time). Jitter is ±100 and ±180 ms around 800, 500 and 200 ms.",
        ..DECLARATION
    },
    run,
};

const BASE: LabScheduler = LabScheduler::BROADCAST;
const THIRD: LabScheduler = LabScheduler::EVERY_NTH;
const TURNS: LabScheduler = LabScheduler::DETERMINISTIC;
const CHANCE: LabScheduler = LabScheduler::PROBABILISTIC;

fn run(settings: &Settings, progress: &dyn Progress) -> Result<Outcome, CannotRun> {
    let bench = Bench::new(settings, progress)?;
    let mut schedulers = vec![BASE, THIRD];
    schedulers.extend(Weighting::ALL.map(LabScheduler::probabilistic));
    schedulers.extend(Weighting::ALL.map(LabScheduler::deterministic));
    let cases = bench.cases(&bench.jitters(&[100, 180]), &schedulers);
    let mut outcome = bench.outcome(&cases, THIRD);
    outcome.claims = cases.iter().flat_map(claims).collect();
    outcome.claims.extend(cases.last().map(neither_always_wins));
    let shown = [BASE, THIRD, CHANCE, TURNS];
    outcome.figures = cases.iter().flat_map(|case| bench.figures("x7", case, &shown)).collect();
    Ok(outcome)
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

/// The share of stretches, over all weightings, in which turns end with less spread than chance.
fn deterministic_wins(scores: &Scores) -> f64 {
    let spreads = |scheduler: LabScheduler| {
        let games = scores.of(scheduler).games.iter();
        games.flat_map(|game| game.stretches.iter().map(|errors| spread(errors))).collect::<Vec<f64>>()
    };
    let pairs: Vec<(f64, f64)> = Weighting::ALL
        .into_iter()
        .flat_map(|weighting| {
            spreads(LabScheduler::deterministic(weighting))
                .into_iter()
                .zip(spreads(LabScheduler::probabilistic(weighting)))
        })
        .collect();
    pairs.iter().filter(|(turns, chance)| turns < chance).count() as f64 / pairs.len() as f64
}
