//! X17: what a low threshold buys, and what accuracy costs.

use fairpath::time::Span;

use super::DECLARATION;
use crate::experiment::{CannotRun, Declaration, DeclaredExperiment, Progress, Settings};
use crate::fairness::bench::Bench;
use crate::fairness::exploration::{cells, columns, notes};
use crate::fairness::figures::error_unit;
use crate::fairness::{Jitter, LabScheduler, Receiver, Score, Trial};
use crate::figure::{Axis, Figure, Line, Plot};
use crate::judge;
use crate::outcome::{Claim, Column, Outcome, Rows};

pub(in crate::experiments) static EXPERIMENT: DeclaredExperiment = DeclaredExperiment {
    declaration: Declaration {
        name: "threshold-cost",
        alias: "X17",
        title: "What a low threshold buys, and what accuracy costs",
        source: "Banavar 2005 3.4.1.1, 3.5; Aggarwal 2005 abstract",
        about: "First the threshold is swept while the number of DR vectors per second stays what 1/3 base (every receiver, every third time) \
                sends at a threshold of 0.3: a lower threshold means more triggers and fewer copies at each. Then the budget is swept at a \
                threshold of 0.3, to find with how few DR vectors each scheduler is as accurate as base, and as 1/3 base. Without jitter.",
        ..DECLARATION
    },
    run,
};

/// From a thirtieth of a tank's width to nearly a whole one.
const THRESHOLDS: [f64; 6] = [0.1, 0.2, 0.3, 0.6, 1.2, 2.4];
/// Budgets, in DR vectors per trigger and receiver.
const BUDGETS: [f64; 9] = [0.1, 0.2, 1.0 / 3.0, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];
const SCHEMES: [LabScheduler; 3] =
    [LabScheduler::PROBABILISTIC, LabScheduler::DETERMINISTIC, LabScheduler::ERROR_INDEX];

fn run(settings: &Settings, progress: &dyn Progress) -> Result<Outcome, CannotRun> {
    let bench = Bench::new(settings, progress)?;
    let sweep = Sweep::play(&bench, settings);
    let unit = &bench.motion.unit;
    let mut outcome = Outcome::new(sweep.table(unit, settings.seed));
    outcome.claims = SCHEMES.into_iter().map(|scheme| sweep.lower_is_fairer(scheme)).collect();
    outcome.claims.extend(SCHEMES.into_iter().map(|scheme| sweep.base_is_reached(scheme)));
    outcome.claims.extend(SCHEMES.into_iter().map(|scheme| sweep.third_is_reached(scheme)));
    outcome.claims.extend(SCHEMES.into_iter().map(|scheme| sweep.coarse_is_reached(scheme)));
    outcome.figures = sweep.figures(unit);
    outcome.notes = notes(&bench.motion);
    outcome.notes.push(
        "The error is measured against the exported path, which itself is off by up to the threshold: at a coarse one the distance from \
         the truth is the better measure, and stands in the table. Where the budget would exceed one copy per receiver and trigger it is \
         cut off there. DR vectors needed are read off between the two nearest budgets."
            .into(),
    );
    Ok(outcome)
}

struct Sweep {
    base: SweepPoint,
    third: SweepPoint,
    points: Vec<SweepPoint>,
}

struct SweepPoint {
    kind: SweepKind,
    scheduler: LabScheduler,
    threshold: f64,
    /// DR vectors per trigger.
    budget: f64,
    score: Score,
}

#[derive(Clone, Copy, PartialEq)]
enum SweepKind {
    Reference,
    Threshold,
    Budget,
}

impl Sweep {
    fn play(bench: &Bench<'_>, settings: &Settings) -> Self {
        let jitter = Jitter::Uniform(settings.jitter.unwrap_or(Span::ZERO));
        let receivers = Receiver::all_at(&bench.delays, jitter);
        let count = receivers.len() as f64;
        let trial = |scheduler: LabScheduler| Trial::new(scheduler, receivers.clone());
        // How many triggers there are at each threshold, and what the references come to.
        let mut first: Vec<Trial> =
            THRESHOLDS.iter().map(|threshold| trial(LabScheduler::BROADCAST).threshold(*threshold)).collect();
        first.extend([LabScheduler::BROADCAST, LabScheduler::EVERY_NTH].map(trial));
        let mut scores = bench.play(&first);
        let third = scores.pop().expect("it was asked for");
        let base = scores.pop().expect("it was asked for");
        let mut planned = Vec::new();
        for (threshold, score) in THRESHOLDS.iter().zip(&scores) {
            let budget = (third.vectors() as f64 / score.triggers() as f64).min(count);
            planned.extend(SCHEMES.map(|scheme| (SweepKind::Threshold, scheme, *threshold, budget)));
        }
        for budget in BUDGETS {
            planned
                .extend(SCHEMES.map(|scheme| (SweepKind::Budget, scheme, Trial::THRESHOLD, budget * count)));
        }
        let trials: Vec<Trial> = planned
            .iter()
            .map(|(_, scheme, threshold, budget)| trial(*scheme).threshold(*threshold).budget(*budget))
            .collect();
        let point = |((kind, scheduler, threshold, budget), score)| SweepPoint {
            kind,
            scheduler,
            threshold,
            budget,
            score,
        };
        let mut points: Vec<SweepPoint> = planned.into_iter().zip(bench.play(&trials)).map(point).collect();
        points.extend(THRESHOLDS.iter().zip(scores).map(|(threshold, score)| {
            point(((SweepKind::Threshold, LabScheduler::BROADCAST, *threshold, count), score))
        }));
        let reference = |scheduler, budget, score| {
            point(((SweepKind::Reference, scheduler, Trial::THRESHOLD, budget), score))
        };
        Self {
            base: reference(LabScheduler::BROADCAST, count, base),
            third: reference(LabScheduler::EVERY_NTH, count / 3.0, third),
            points,
        }
    }

    fn of(&self, kind: SweepKind, scheduler: LabScheduler) -> impl Iterator<Item = &SweepPoint> {
        self.points.iter().filter(move |point| point.kind == kind && point.scheduler == scheduler)
    }

    fn lower_is_fairer(&self, scheme: LabScheduler) -> Claim {
        let points: Vec<&SweepPoint> =
            self.of(SweepKind::Threshold, scheme).filter(|point| point.budget < self.base.budget).collect();
        let (Some(lowest), Some(highest)) = (points.first(), points.last()) else {
            return Claim::new(
                format!("X17.threshold-{}", scheme.id()),
                format!("{}: at the same cost a lower threshold has less spread", scheme.label()),
                judge::not_applicable(),
            )
            .remark("at every threshold the budget is enough for every receiver");
        };
        let falls = points.windows(2).filter(|pair| pair[0].score.spread() < pair[1].score.spread()).count();
        let relative = |point: &SweepPoint| crate::show(point.score.spread() / point.score.mean());
        Claim::new(
            format!("X17.threshold-{}", scheme.id()),
            format!(
                "{}: at the same cost the spread at a threshold of {} is below that at {}",
                scheme.label(),
                lowest.threshold,
                highest.threshold
            ),
            judge::below(lowest.score.spread() / highest.score.spread(), 1.0),
        )
        .unit("× that at the highest")
        .paper("the lower the threshold, the better")
        .remark(format!(
            "it falls at {falls} of {} steps; as a share of the mean error it is {} at the lowest and {} at the highest. Where the spread does not \
             fall, the mean error has grown; we did not look into why",
            points.len() - 1,
            relative(lowest),
            relative(highest)
        ))
    }

    /// Against a game that saves DR vectors in the plain way: base with a coarse threshold.
    fn coarse_is_reached(&self, scheme: LabScheduler) -> Claim {
        let coarse = self.of(SweepKind::Threshold, LabScheduler::BROADCAST).last().expect("base was swept");
        let vectors = coarse.score.vectors() as f64;
        let needed = self.needed(scheme, coarse.score.distance(), Score::distance);
        Claim::new(
            format!("X17.coarse-{}", scheme.id()),
            format!(
                "{}: at a threshold of {} it is as near to the truth as base at {}, with fewer DR vectors",
                scheme.label(),
                Trial::THRESHOLD,
                coarse.threshold
            ),
            judge::below(needed.map_or(f64::NAN, |needed| needed / vectors), 1.0),
        )
        .unit("× the DR vectors of base at the coarse threshold")
        .remark(
            "base with a coarse threshold is the stronger rival for the mean than 1/3 base is; it does nothing for the spread",
        )
    }

    fn base_is_reached(&self, scheme: LabScheduler) -> Claim {
        let strictly = self.needed(scheme, self.base.score.mean(), Score::mean);
        let loosely = self.needed(scheme, (1.0 + judge::ABOUT) * self.base.score.mean(), Score::mean);
        let base = self.base.score.vectors() as f64;
        let strictly = strictly.map_or_else(
            || "never within this sweep".to_owned(),
            |vectors| format!("with {} × base's", crate::show(vectors / base)),
        );
        Claim::new(
            format!("X17.base-{}", scheme.id()),
            format!("{}: base's mean error, within 5 %, is reached with fewer DR vectors", scheme.label()),
            judge::below(loosely.map_or(f64::NAN, |vectors| vectors / base), 1.0),
        )
        .unit("× base's DR vectors")
        .paper("much fewer")
        .reading("base's mean error is reached within 5 %")
        .remark(format!(
            "not a hair above base's mean error: {strictly}. Against the same exported path no copy can leave sooner than at once, so base is \
             the floor; what can be saved are DR vectors that change little or are overtaken"
        ))
    }

    fn third_is_reached(&self, scheme: LabScheduler) -> Claim {
        let needed = self.needed(scheme, self.third.score.mean(), Score::mean);
        let third = self.third.score.vectors() as f64;
        Claim::new(
            format!("X17.third-{}", scheme.id()),
            format!("{}: the mean error of 1/3 base is reached with fewer DR vectors", scheme.label()),
            judge::below(needed.map_or(f64::NAN, |vectors| vectors / third), 1.0),
        )
        .unit("× the DR vectors of 1/3 base")
        .paper("the same mean at the same number")
        .stricter("at fewer DR vectors, not at the same number")
    }

    /// With how many DR vectors a scheme's error is as low as this.
    fn needed(&self, scheme: LabScheduler, goal: f64, of: fn(&Score) -> f64) -> Option<f64> {
        let points: Vec<(f64, f64)> = self
            .of(SweepKind::Budget, scheme)
            .chain([&self.base])
            .map(|point| (point.score.vectors() as f64, of(&point.score)))
            .collect();
        let reached = points.iter().position(|(_, error)| *error <= goal)?;
        let (vectors, error) = points[reached];
        let Some((fewer, above)) = reached.checked_sub(1).map(|before| points[before]) else {
            return Some(vectors);
        };
        Some(fewer + (vectors - fewer) * (above - goal) / (above - error))
    }

    fn table(&self, unit: &str, seed: u64) -> Rows {
        let own = vec![
            Column::text("sweep", "sweep"),
            Column::text("scheduler", "scheduler"),
            Column::number("threshold", "threshold", unit).decimals(1),
            Column::number("budget", "DR vectors per trigger", "").decimals(2),
        ];
        let mut rows = Rows::new([own, columns(unit)].concat());
        for point in [&self.base, &self.third].into_iter().chain(&self.points) {
            let sweep = match point.kind {
                SweepKind::Reference => "reference",
                SweepKind::Threshold => "threshold",
                SweepKind::Budget => "budget",
            };
            let own = crate::cells![sweep, point.scheduler.label(), point.threshold, point.budget];
            rows.push([own, cells(&point.score, &self.third.score, seed)].concat());
        }
        rows
    }

    fn figures(&self, unit: &str) -> Vec<Figure> {
        let line = |scheme: LabScheduler,
                    kind: SweepKind,
                    x: &dyn Fn(&SweepPoint) -> f64,
                    y: &dyn Fn(&SweepPoint) -> f64| {
            let mut points: Vec<(f64, f64)> =
                self.of(kind, scheme).map(|point| (x(point), y(point))).collect();
            points.sort_by(|one, other| one.0.total_cmp(&other.0));
            Line::new(scheme.label(), points)
        };
        let thresholds = |y: &dyn Fn(&SweepPoint) -> f64, schemes: &[LabScheduler]| {
            Plot::Lines(
                schemes
                    .iter()
                    .map(|scheme| line(*scheme, SweepKind::Threshold, &|point| point.threshold, y))
                    .collect(),
            )
        };
        let with_base: Vec<LabScheduler> = SCHEMES.into_iter().chain([LabScheduler::BROADCAST]).collect();
        let per_base = |point: &SweepPoint| point.score.vectors() as f64 / self.base.score.vectors() as f64;
        let mut budget: Vec<Line> = SCHEMES
            .into_iter()
            .map(|scheme| line(scheme, SweepKind::Budget, &per_base, &|point| point.score.mean()))
            .collect();
        budget.push(Line::new(
            "1/3 base and base",
            [&self.third, &self.base].map(|p| (per_base(p), p.score.mean())),
        ));
        vec![
            Figure::new(
                "x17-threshold-spread",
                "Spread over threshold at the same number of DR vectors",
                Axis::new("threshold", unit).logarithmic(),
                Axis::new("spread", error_unit(unit)),
                thresholds(&|point| point.score.spread(), &SCHEMES),
            )
            .caption("Lower is fairer."),
            Figure::new(
                "x17-threshold-distance",
                "Distance from the truth over threshold",
                Axis::new("threshold", unit).logarithmic(),
                Axis::new("mean distance from the truth", unit),
                thresholds(&|point| point.score.distance(), &with_base),
            )
            .caption("Base sends more the lower the threshold; the others send the same number everywhere."),
            Figure::new(
                "x17-budget-mean",
                "Mean error over the number of DR vectors",
                Axis::new("DR vectors, as a share of base's", ""),
                Axis::new("mean error", error_unit(unit)).logarithmic(),
                Plot::Lines(budget),
            )
            .caption("The farther left a line reaches a mean error, the fewer DR vectors it needs."),
        ]
    }
}
