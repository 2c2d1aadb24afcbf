//! X7: the budget schemes when delays vary.

use fairpath::schedule::Weighting;

use super::DECLARATION;
use super::deterministic_budget::fairer_at_equal_cost;
use super::factors::{Factors, all_weightings};
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
                and 1/3 base (every receiver, every third time). Jitter is ±100 and ±180 ms around 800, 500 and 200 ms. \
                Aggarwal 2005 picks exactly one receiver at every trigger where Banavar 2005 draws for each; both are played, and both readings of \
                Banavar 2005's factors.",
        ..DECLARATION
    },
    run,
};

const BASE: LabScheduler = LabScheduler::BROADCAST;
const THIRD: LabScheduler = LabScheduler::EVERY_NTH;
const TURNS: LabScheduler = LabScheduler::DETERMINISTIC;
const CHANCE: LabScheduler = LabScheduler::PROBABILISTIC;
const ONE: LabScheduler = LabScheduler::pick_one(Weighting::ACCUMULATED);

fn run(settings: &Settings, progress: &dyn Progress) -> Result<Outcome, CannotRun> {
    let bench = Bench::new(settings, progress)?;
    let mut schedulers = vec![BASE, THIRD];
    schedulers.push(ONE);
    schedulers.extend(all_weightings().map(LabScheduler::probabilistic));
    schedulers.extend(all_weightings().map(LabScheduler::deterministic));
    let cases = bench.cases(&bench.jitters(&[100, 180]), &schedulers);
    let mut outcome = bench.outcome(&cases, THIRD);
    outcome.claims = cases.iter().flat_map(claims).collect();
    for factors in Factors::BOTH {
        outcome.claims.extend(cases.last().map(|case| neither_always_wins(case, factors)));
    }
    let shown = [BASE, THIRD, CHANCE, ONE, TURNS];
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
    claims.extend(picking_one(case));
    claims
}

/// Aggarwal 2005's claims about its own probabilistic budget.
fn picking_one(case: &Case) -> [Claim; 3] {
    let (when, suffix) = (case.shown(), case.suffix());
    let one = "one receiver at every trigger, drawn by its accumulated error";
    [
        case.claim(
            &format!("X7.one-spread{suffix}"),
            &format!("{when} the spread of picking one receiver is below that of 1/3 base"),
            "",
            |scores| judge::below(scores.ratio(Score::spread, ONE, THIRD), 1.0),
        )
        .unit("× 1/3 base")
        .paper("less")
        .reading(one),
        case.claim(
            &format!("X7.one-mean{suffix}"),
            &format!("{when} its mean error is above that of 1/3 base"),
            "",
            |scores| judge::above(scores.ratio(Score::mean, ONE, THIRD), 1.0),
        )
        .unit("× 1/3 base")
        .paper("a little higher")
        .reading(one),
        case.claim(
            &format!("X7.mean-below-one{suffix}"),
            &format!("{when} the deterministic mean error is below it"),
            "",
            |scores| judge::below(scores.ratio(Score::mean, TURNS, ONE), 1.0),
        )
        .unit("× picking one")
        .paper("always less")
        .reading(one),
    ]
}

fn neither_always_wins(case: &Case, factors: Factors) -> Claim {
    case.claim(
        &format!("X7.neither{}", factors.suffix()),
        &format!("{} neither of them always has the smaller spread, {}", case.shown(), factors.shown()),
        "One of them had it in every single tank or stretch, with every way of sharing",
        |scores| judge::between(100.0 * deterministic_wins(scores, factors), 0.0, 100.0),
    )
    .unit("% of tanks or stretches, over all ways of sharing, in which the deterministic one is the fairer")
    .paper("sometimes the probabilistic one is better")
    .reading(factors.shown())
}

/// The share of stretches, over all weightings, in which turns end with less spread than chance.
fn deterministic_wins(scores: &Scores, factors: Factors) -> f64 {
    let spreads = |scheduler: LabScheduler| {
        let games = scores.of(scheduler).games.iter();
        games.flat_map(|game| game.stretches.iter().map(|errors| spread(errors))).collect::<Vec<f64>>()
    };
    let pairs: Vec<(f64, f64)> = factors
        .weightings()
        .into_iter()
        .flat_map(|weighting| {
            spreads(LabScheduler::deterministic(weighting))
                .into_iter()
                .zip(spreads(LabScheduler::probabilistic(weighting)))
        })
        .collect();
    pairs.iter().filter(|(turns, chance)| turns < chance).count() as f64 / pairs.len() as f64
}
