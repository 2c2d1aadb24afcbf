//! EI: is error-index the best known? No paper has it; the claims are ours.

use fairpath::time::Span;
use fairpath_eval::recording::Format;

use super::DECLARATION;
use crate::experiment::{CannotRun, Declaration, DeclaredExperiment, Progress, Recorded, Settings};
use crate::fairness::bench::{Bench, JITTERS_MS};
use crate::fairness::exploration::{cells, columns, notes};
use crate::fairness::{Jitter, LabScheduler, Measure, Model, Ratio, Receiver, Score, Trial, ratio};
use crate::figure::{Axis, Figure, Line, Plot};
use crate::judge;
use crate::outcome::{Claim, Column, Outcome, Rows};
use crate::quantity::show_fixed;

pub(in crate::experiments) static EXPERIMENT: DeclaredExperiment = DeclaredExperiment {
    declaration: Declaration {
        name: "error-index",
        alias: "EI",
        title: "Error-index against the other schedulers at equal cost",
        source: "ours",
        about: "Error-index sends a copy where it avoids the most error, at a price that the budget sets; receivers with little error so far pay \
                more. Compared with base (every receiver, every time), 1/3 base (every receiver, every third time), the deterministic budget and \
                the index that error-index started from. All but base send as many DR vectors as 1/3 base. Three receivers are 800, 500 and 200 \
                ms away with jitter of 0, ±100 and ±180 ms; crowds of 2 to 128 receivers have delays drawn from 20 to 400 ms. A recording in \
                which players leave the ground is played in space, and once more without the height. Ratios are to 1/3 base, with 95 % \
                intervals.",
        ..DECLARATION
    },
    run,
};

const THIRD: LabScheduler = LabScheduler::EVERY_NTH;
const TURNS: LabScheduler = LabScheduler::DETERMINISTIC;
const OURS: LabScheduler = LabScheduler::ERROR_INDEX;
/// The schedulers with as many DR vectors as 1/3 base, and base.
const SCHEDULERS: [LabScheduler; 3] = [THIRD, LabScheduler::BROADCAST, TURNS];
/// The same, from accurate to fair.
const FRONTIER: [LabScheduler; 10] = [
    LabScheduler::error_index(0.25),
    LabScheduler::error_index(0.5),
    OURS,
    LabScheduler::error_index(1.25),
    LabScheduler::error_index(1.5),
    LabScheduler::error_index(1.75),
    LabScheduler::error_index(2.1),
    LabScheduler::error_index(2.5),
    LabScheduler::error_index(3.0),
    LabScheduler::error_index(4.0),
];
const GAMMAS: [f64; 3] = [1.0, 2.0, 4.0];
/// What a quick prototype of the base index reached on a BZFlag recording, as ratios to 1/3 base:
/// γ, spread, mean. It may have left out the height, so it is compared with and without.
const PROTOTYPE: [(f64, f64, f64); 3] = [(1.0, 0.32, 0.98), (2.0, 0.24, 1.01), (4.0, 0.17, 1.07)];
const CROWDS: [usize; 4] = [2, 8, 32, 128];
const CROWD_SCHEDULERS: [LabScheduler; 3] = [THIRD, TURNS, OURS];
const CROWD_DELAYS_MS: [i64; 2] = [20, 400];

fn run(settings: &Settings, progress: &dyn Progress) -> Result<Outcome, CannotRun> {
    let bench = Bench::new(settings, progress)?;
    let mut groups = groups(&bench, settings);
    if let Some(flat) = flattened(settings) {
        groups.extend(groups_without_height(&Bench::new(&flat, progress)?));
    }
    let table = ErrorIndexTable { groups, seed: settings.seed };
    let mut outcome = Outcome::new(table.rows(&bench.motion.unit));
    let is_bzflag = settings.motion.as_ref().is_some_and(|motion| motion.recording.format == Format::Bzflag);
    outcome.claims = table.claims(bench.motion.is_recorded(), is_bzflag);
    outcome.figures = table.figures(is_bzflag);
    outcome.notes = notes(&bench.motion);
    Ok(outcome)
}

/// Trials that share a reference.
struct TrialGroup {
    kind: TrialKind,
    name: String,
    jitter: Jitter,
    model: Model,
    schedulers: Vec<LabScheduler>,
    scores: Vec<Score>,
}

#[derive(Clone, Copy, PartialEq)]
enum TrialKind {
    /// Three receivers, as in the papers.
    Papers,
    /// The same, on a recording whose height is left out.
    Flat,
    Crowd,
}

impl TrialKind {
    fn has_frontier(self) -> bool {
        self != Self::Crowd
    }
}

struct ErrorIndexTable {
    groups: Vec<TrialGroup>,
    seed: u64,
}

fn flattened(settings: &Settings) -> Option<Settings> {
    let recorded = settings.motion.as_ref().filter(|recorded| !recorded.recording.is_flat())?;
    let flat = Recorded { recording: recorded.recording.clone().without_height(), ..recorded.clone() };
    Some(Settings { motion: Some(flat), ..settings.clone() })
}

fn groups(bench: &Bench<'_>, settings: &Settings) -> Vec<TrialGroup> {
    let models = [Model::Linear, Model::Circular];
    let three = models.into_iter().flat_map(|model| three_receivers(bench, TrialKind::Papers, model));
    let [low, high] = CROWD_DELAYS_MS.map(Span::from_millis);
    let crowds = CROWDS.map(|count| {
        let receivers = Receiver::all_at(&Receiver::drawn(count, low, high, settings.seed), Jitter::NONE);
        let name = format!("{count} × 20–400");
        (
            TrialGroup::new(TrialKind::Crowd, name, Jitter::NONE, Model::Linear, CROWD_SCHEDULERS.to_vec()),
            receivers,
        )
    });
    play(bench, three.chain(crowds).collect())
}

/// Straight DR vectors only: that is what the prototype had.
fn groups_without_height(bench: &Bench<'_>) -> Vec<TrialGroup> {
    play(bench, three_receivers(bench, TrialKind::Flat, Model::Linear))
}

fn three_receivers(bench: &Bench<'_>, kind: TrialKind, model: Model) -> Vec<(TrialGroup, Vec<Receiver>)> {
    let delays: Vec<String> = bench.delays.iter().map(|delay| delay.as_millis_f64().to_string()).collect();
    let group = |jitter| {
        let jitter = Jitter::Uniform(jitter);
        let schedulers = SCHEDULERS
            .into_iter()
            .chain(GAMMAS.map(|gamma| LabScheduler::BaseIndex { gamma }))
            .chain(FRONTIER)
            .collect();
        let group = TrialGroup::new(kind, delays.join("/"), jitter, model, schedulers);
        (group, Receiver::all_at(&bench.delays, jitter))
    };
    bench.jitters(&JITTERS_MS).into_iter().map(group).collect()
}

fn play(bench: &Bench<'_>, groups: Vec<(TrialGroup, Vec<Receiver>)>) -> Vec<TrialGroup> {
    let trials: Vec<Trial> = groups
        .iter()
        .flat_map(|(group, receivers)| {
            group.schedulers.iter().map(move |scheduler| {
                Trial::new(*scheduler, receivers.clone()).label(scheduler.label()).model(group.model)
            })
        })
        .collect();
    let mut scores = bench.play(&trials).into_iter();
    let played = |(group, _): (TrialGroup, Vec<Receiver>)| TrialGroup {
        scores: scores.by_ref().take(group.schedulers.len()).collect(),
        ..group
    };
    groups.into_iter().map(played).collect()
}

impl TrialGroup {
    fn new(
        kind: TrialKind,
        name: String,
        jitter: Jitter,
        model: Model,
        schedulers: Vec<LabScheduler>,
    ) -> Self {
        Self { kind, name, jitter, model, schedulers, scores: Vec::new() }
    }

    fn of(&self, scheduler: LabScheduler) -> &Score {
        let position = self.schedulers.iter().position(|other| *other == scheduler);
        &self.scores[position.expect("every judged scheduler has played")]
    }

    fn against_third(&self, scheduler: LabScheduler, measure: Measure, seed: u64) -> Ratio {
        ratio(self.of(scheduler), self.of(THIRD), measure, seed)
    }

    fn shown(&self) -> String {
        let height = if self.kind == TrialKind::Flat { ", without the height" } else { "" };
        format!("{} ms, jitter {}, {} DR vectors{height}", self.name, self.jitter.shown(), self.model.name())
    }

    fn id(&self) -> String {
        let jitter = match self.jitter {
            Jitter::Uniform(jitter) | Jitter::Normal(jitter) => jitter.as_millis_f64(),
        };
        match self.kind {
            TrialKind::Papers => format!("{}-{jitter}", self.model.name()),
            TrialKind::Flat => format!("{}-flat-{jitter}", self.model.name()),
            TrialKind::Crowd => format!("crowd-{}", self.of(THIRD).receivers().len()),
        }
    }
}

/// What we want of error-index on tanks, against 1/3 base.
const SPREAD_ON_TANKS: f64 = 0.10;
const MEAN_ON_TANKS: f64 = 0.90;
/// What we should like some weight on fairness to reach on recordings.
const SPREAD_GOAL: f64 = 0.20;
const MEAN_GOAL: f64 = 0.95;
/// How many more DR vectors than 1/3 base count as equal cost.
const COST_MAX: f64 = 1.01;

impl ErrorIndexTable {
    fn rows(&self, unit: &str) -> Rows {
        let own = vec![
            Column::text("receivers", "receivers"),
            Column::text("jitter", "jitter"),
            Column::text("model", "DR vectors"),
            Column::text("height", "height"),
            Column::text("scheduler", "scheduler"),
        ];
        let mut rows = Rows::new([own, columns(unit)].concat());
        for group in &self.groups {
            for score in &group.scores {
                let own = crate::cells![
                    group.name.as_str(),
                    group.jitter.shown(),
                    group.model.name(),
                    if group.kind == TrialKind::Flat { "left out" } else { "as it is" },
                    score.label.as_str()
                ];
                rows.push([own, cells(score, group.of(THIRD), self.seed)].concat());
            }
        }
        rows
    }

    fn claims(&self, is_recorded: bool, is_bzflag: bool) -> Vec<Claim> {
        let mut claims = Vec::new();
        for group in &self.groups {
            match (group.kind.has_frontier(), is_recorded) {
                (true, false) => {
                    claims.push(self.ours(group, "spread", Measure::Spread, SPREAD_ON_TANKS));
                    claims.push(self.ours(group, "mean", Measure::Mean, MEAN_ON_TANKS));
                }
                (true, true) => claims.push(self.stretch_goal(group)),
                (false, _) => {}
            }
            claims.push(self.ours(group, "DR vectors", Measure::Vectors, COST_MAX));
            claims.push(self.dominates(group, TURNS));
        }
        for group in self.groups.iter().filter(|group| group.kind.has_frontier()) {
            claims.extend(GAMMAS.map(|gamma| self.is_beaten(group, LabScheduler::BaseIndex { gamma })));
            if is_bzflag && group.model == Model::Linear {
                claims.extend(PROTOTYPE.map(|numbers| self.prototype_is_beaten(group, numbers)));
            }
        }
        claims
    }

    /// Error-index as it is keeps to a limit.
    fn ours(&self, group: &TrialGroup, what: &str, measure: Measure, limit: f64) -> Claim {
        let ratio = group.against_third(OURS, measure, self.seed);
        Claim::new(
            format!("EI.{}-{}", what.replace(' ', "-").to_lowercase(), group.id()),
            format!("{}: {what} of error-index", group.shown()),
            judge::at_most(ratio.value, limit),
        )
        .unit("× 1/3 base")
        .remark(with_interval(ratio))
    }

    /// Error-index as it is has less spread and a smaller mean error than `other`.
    fn dominates(&self, group: &TrialGroup, other: LabScheduler) -> Claim {
        let against = |measure| ratio(group.of(OURS), group.of(other), measure, self.seed);
        let (spread, mean) = (against(Measure::Spread), against(Measure::Mean));
        Claim::new(
            format!("EI.dominates-{}-{}", other.id(), group.id()),
            format!("{}: error-index beats {} on spread and on mean", group.shown(), other.label()),
            judge::below(spread.value.max(mean.value), 1.0),
        )
        .unit("× theirs, the worse of the two")
        .remark(format!("spread {}, mean {}", with_interval(spread), with_interval(mean)))
    }

    /// Some error-index, from accurate to fair, has less spread and mean error than `other`.
    fn is_beaten(&self, group: &TrialGroup, other: LabScheduler) -> Claim {
        let theirs = group.of(other);
        let (best, by) = best_of_frontier(|ours| {
            let ours = group.of(ours);
            (ours.spread() / theirs.spread()).max(ours.mean() / theirs.mean())
        });
        let against = |measure| with_interval(ratio(group.of(by), theirs, measure, self.seed));
        Claim::new(
            format!("EI.frontier-{}-{}", other, group.id()),
            format!(
                "{}: some weight on fairness beats {} on spread and on mean",
                group.shown(),
                other.label()
            ),
            judge::below(best, 1.0),
        )
        .unit("× theirs, the worse of the two")
        .remark(format!(
            "{}: spread {}, mean {}",
            by.label(),
            against(Measure::Spread),
            against(Measure::Mean)
        ))
    }

    /// At the prototype's spread or less, some error-index has a smaller mean error than it had.
    fn prototype_is_beaten(&self, group: &TrialGroup, (gamma, spread, mean): (f64, f64, f64)) -> Claim {
        let against = |ours, measure| group.against_third(ours, measure, self.seed);
        let (best, by) = best_of_frontier(|ours| match against(ours, Measure::Spread).value <= spread {
            true => against(ours, Measure::Mean).value,
            false => f64::INFINITY,
        });
        Claim::new(
            format!("EI.prototype-{gamma}-{}", group.id()),
            format!(
                "{}: at a spread of {spread} × 1/3 base or less, the mean of error-index against that of the prototype with γ = {gamma}",
                group.shown()
            ),
            judge::below(best, mean),
        )
        .unit("× 1/3 base")
        .remark(format!("the prototype: spread {spread}, mean {mean} × 1/3 base; {}", self.at(group, by)))
    }

    /// What we should like to reach on recordings, whose motion is not ours.
    fn stretch_goal(&self, group: &TrialGroup) -> Claim {
        let against = |ours, measure| group.against_third(ours, measure, self.seed).value;
        let (best, by) = best_of_frontier(|ours| {
            (against(ours, Measure::Spread) / SPREAD_GOAL).max(against(ours, Measure::Mean) / MEAN_GOAL)
        });
        Claim::new(
            format!("EI.goal-{}", group.id()),
            format!(
                "{}: some weight on fairness reaches spread {SPREAD_GOAL} and mean {MEAN_GOAL} × 1/3 base",
                group.shown()
            ),
            judge::at_most(best, 1.0),
        )
        .unit("× the goal, the worse of the two")
        .remark(self.at(group, by))
    }

    /// A scheduler's spread and mean, against 1/3 base.
    fn at(&self, group: &TrialGroup, scheduler: LabScheduler) -> String {
        let against = |measure| with_interval(group.against_third(scheduler, measure, self.seed));
        format!("{}: spread {}, mean {}", scheduler.label(), against(Measure::Spread), against(Measure::Mean))
    }

    fn figures(&self, is_bzflag: bool) -> Vec<Figure> {
        let figure = |group: &TrialGroup| {
            let point = |scheduler: LabScheduler| {
                let ratio = |measure| group.against_third(scheduler, measure, self.seed).value;
                (ratio(Measure::Mean), ratio(Measure::Spread))
            };
            let line = |label: &str, of: &[LabScheduler]| {
                Line::new(label, of.iter().map(|c| point(*c)).collect::<Vec<_>>())
            };
            let base_index = GAMMAS.map(|gamma| LabScheduler::BaseIndex { gamma });
            let mut lines = vec![
                line("error-index, from accurate to fair", &FRONTIER),
                line("base index, γ = 1, 2, 4", &base_index),
                line("1/3 base to deterministic budget", &[THIRD, TURNS]),
            ];
            if is_bzflag && group.model == Model::Linear {
                let points = PROTOTYPE.map(|(_, spread, mean)| (mean, spread));
                lines.push(Line::new("the prototype as it was reported", points));
            }
            Figure::new(
                format!("ei-frontier-{}", group.id()),
                format!("Spread against mean, both as ratios to 1/3 base: {}", group.shown()),
                Axis::new("mean", "× 1/3 base"),
                Axis::new("spread", "× 1/3 base"),
                Plot::Lines(lines),
            )
            .caption("To the left is more accurate, below is fairer. All cost the same, or less.")
        };
        self.groups.iter().filter(|group| group.kind.has_frontier()).map(figure).collect()
    }
}

/// The weight on fairness for which this is least, and how little it is.
fn best_of_frontier(of: impl Fn(LabScheduler) -> f64) -> (f64, LabScheduler) {
    let least =
        FRONTIER.into_iter().map(|ours| (of(ours), ours)).min_by(|one, other| one.0.total_cmp(&other.0));
    least.expect("there are several")
}

/// A ratio as people read it: `0.41 (0.36 to 0.47)`, with its 95 % interval where there is one.
fn with_interval(ratio: Ratio) -> String {
    let value = show_fixed(ratio.value, 3);
    match ratio.interval {
        Some((low, high)) => format!("{value} ({} to {})", show_fixed(low, 3), show_fixed(high, 3)),
        None => value,
    }
}
