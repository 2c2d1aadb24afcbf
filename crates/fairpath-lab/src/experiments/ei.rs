//! EI: is error-index the best known? No paper has it; the claims are ours.

use fairpath::random::Random;
use fairpath::time::Span;
use fairpath_eval::recording::Format;

use crate::experiment::{CannotRun, Experiment, Progress, Settings};
use crate::fairness::bench::{Bench, JITTERS_MS};
use crate::fairness::exploration::{cells, columns, notes};
use crate::fairness::{Contender, Factor, Jitter, Measure, Model, Ratio, Receiver, Score, Trial, ratio};
use crate::figure::{Axis, Figure, Line, Plot};
use crate::judge::{self, Judgement};
use crate::outcome::{Claim, Column, Outcome, Rows};

pub(super) struct ErrorIndexTable;

const THIRD: Contender = Contender::EveryNth;
const TURNS: Contender = Contender::Deterministic(Factor::Accumulated);
const OURS: Contender = Contender::ERROR_INDEX;
/// Everybody at the same number of DR vectors as 1/3 base, and base.
const CONTENDERS: [Contender; 3] = [THIRD, Contender::Broadcast, TURNS];
/// The same, from accurate to fair.
const FRONTIER: [Contender; 7] = [
    Contender::ErrorIndex(0.25),
    Contender::ErrorIndex(0.5),
    Contender::ErrorIndex(0.7),
    OURS,
    Contender::ErrorIndex(1.5),
    Contender::ErrorIndex(2.0),
    Contender::ErrorIndex(4.0),
];
const GAMMAS: [f64; 3] = [1.0, 2.0, 4.0];
/// What a quick prototype of the base index reached on a BZFlag recording, as ratios to 1/3 base: γ, spread, mean. It cut DR
/// vectors at the recorded frames, which are not quite 60 a second, so that its 1/3 base was another one.
const PROTOTYPE: [(f64, f64, f64); 3] = [(1.0, 0.32, 0.98), (2.0, 0.24, 1.01), (4.0, 0.17, 1.07)];
const CROWDS: [usize; 4] = [2, 8, 32, 128];
const CROWD_CONTENDERS: [Contender; 3] = [THIRD, TURNS, OURS];
const CROWD_DELAYS_MS: [f64; 2] = [20.0, 400.0];

impl Experiment for ErrorIndexTable {
    fn id(&self) -> &'static str {
        "EI"
    }

    fn title(&self) -> &'static str {
        "Error-index against all that is known, at equal cost"
    }

    fn source(&self) -> &'static str {
        "ours"
    }

    fn about(&self) -> &'static str {
        "Error-index sends a copy where it avoids the most error, at a price that the budget sets and that is higher for those who have \
         fared well. Against base, 1/3 base, the deterministic budget and the index it started from, all but base with as many DR vectors \
         as 1/3 base: three receivers 800, 500 and 200 ms away with jitter of 0, ±100 and ±180 ms, and crowds of 2 to 128 receivers whose \
         delays are drawn from 20 to 400 ms. Ratios are to 1/3 base, with 95 % intervals."
    }

    fn run(&self, settings: &Settings, progress: &dyn Progress) -> Result<Outcome, CannotRun> {
        let bench = Bench::new(settings, progress)?;
        let table = Table { groups: groups(&bench, settings), seed: settings.seed };
        let mut outcome = Outcome::new(table.rows(&bench.motion.unit));
        let is_bzflag =
            settings.motion.as_ref().is_some_and(|motion| motion.recording.format == Format::Bzflag);
        outcome.claims = table.claims(bench.motion.is_recorded(), is_bzflag);
        outcome.figures = table.figures();
        outcome.notes = notes(&bench.motion);
        Ok(outcome)
    }
}

/// Trials that share a reference.
struct Group {
    kind: Kind,
    name: String,
    jitter: Jitter,
    model: Model,
    contenders: Vec<Contender>,
    scores: Vec<Score>,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Papers,
    Crowd,
}

struct Table {
    groups: Vec<Group>,
    seed: u64,
}

fn groups(bench: &Bench<'_>, settings: &Settings) -> Vec<Group> {
    let mut groups = Vec::new();
    let mut trials = Vec::new();
    let mut add =
        |kind, name: String, jitter: Jitter, model: Model, contenders: Vec<Contender>, delays: &[Span]| {
            let receivers = Receiver::all_at(delays, jitter);
            trials.extend(contenders.iter().map(|contender| {
                Trial::new(*contender, receivers.clone()).label(contender.label()).model(model)
            }));
            groups.push(Group { kind, name, jitter, model, contenders, scores: Vec::new() });
        };
    let three =
        bench.delays.iter().map(|delay| delay.as_millis_f64().to_string()).collect::<Vec<_>>().join("/");
    for model in [Model::Linear, Model::Circular] {
        for jitter in bench.jitters(&JITTERS_MS) {
            let contenders =
                CONTENDERS.into_iter().chain(GAMMAS.map(Contender::BaseIndex)).chain(FRONTIER).collect();
            add(Kind::Papers, three.clone(), Jitter::Uniform(jitter), model, contenders, &bench.delays);
        }
    }
    for crowd in CROWDS {
        let delays = drawn_delays(crowd, settings.seed);
        add(
            Kind::Crowd,
            format!("{crowd} × 20–400"),
            Jitter::NONE,
            Model::Linear,
            CROWD_CONTENDERS.to_vec(),
            &delays,
        );
    }
    let mut scores = bench.play(&trials).into_iter();
    for group in &mut groups {
        group.scores = scores.by_ref().take(group.contenders.len()).collect();
    }
    groups
}

/// Delays of a crowd, drawn evenly.
fn drawn_delays(count: usize, seed: u64) -> Vec<Span> {
    let mut random = Random::from_seed(seed).fork(count as u64);
    let [low, high] = CROWD_DELAYS_MS;
    (0..count).map(|_| Span::from_secs_f64(random.between(low, high).round() * 1e-3)).collect()
}

impl Group {
    fn of(&self, contender: Contender) -> &Score {
        let position = self.contenders.iter().position(|other| *other == contender);
        &self.scores[position.expect("whoever is judged has played")]
    }

    fn against_third(&self, contender: Contender, measure: Measure, seed: u64) -> Ratio {
        ratio(self.of(contender), self.of(THIRD), measure, seed)
    }

    fn shown(&self) -> String {
        format!("{} ms, jitter {}, {} DR vectors", self.name, self.jitter.shown(), self.model.name())
    }

    fn id(&self) -> String {
        let jitter = match self.jitter {
            Jitter::Uniform(jitter) | Jitter::Normal(jitter) => jitter.as_millis_f64(),
        };
        match self.kind {
            Kind::Papers => format!("{}-{jitter}", self.model.name()),
            Kind::Crowd => format!("crowd-{}", self.of(THIRD).receivers().len()),
        }
    }
}

/// What we want of error-index on tanks, against 1/3 base.
const SPREAD_ON_TANKS: f64 = 0.10;
const MEAN_ON_TANKS: f64 = 0.90;
/// And on recordings, where nobody can have tuned the motion.
const SPREAD_ON_RECORDINGS: f64 = 0.20;
const MEAN_ON_RECORDINGS: f64 = 0.95;
/// How many more DR vectors than 1/3 base count as equal cost.
const COST_MAX: f64 = 1.01;

impl Table {
    fn rows(&self, unit: &str) -> Rows {
        let own = vec![
            Column::text("receivers", "receivers"),
            Column::text("jitter", "jitter"),
            Column::text("model", "DR vectors"),
            Column::text("scheduler", "scheduler"),
        ];
        let mut rows = Rows::new([own, columns(unit)].concat());
        for group in &self.groups {
            for score in &group.scores {
                let own = crate::cells![
                    group.name.as_str(),
                    group.jitter.shown(),
                    group.model.name(),
                    score.label.as_str()
                ];
                rows.push([own, cells(score, group.of(THIRD), self.seed)].concat());
            }
        }
        rows
    }

    fn claims(&self, is_recorded: bool, is_bzflag: bool) -> Vec<Claim> {
        let (spread_goal, mean_goal) = match is_recorded {
            true => (SPREAD_ON_RECORDINGS, MEAN_ON_RECORDINGS),
            false => (SPREAD_ON_TANKS, MEAN_ON_TANKS),
        };
        let mut claims = Vec::new();
        for group in &self.groups {
            if group.kind == Kind::Papers {
                claims.push(
                    self.ours(group, "spread", Measure::Spread, |value| judge::at_most(value, spread_goal)),
                );
                claims
                    .push(self.ours(group, "mean", Measure::Mean, |value| judge::at_most(value, mean_goal)));
            }
            claims.push(
                self.ours(group, "DR vectors", Measure::Vectors, |value| judge::at_most(value, COST_MAX)),
            );
            claims.push(self.dominates(group, TURNS));
        }
        for group in self.groups.iter().filter(|group| group.kind == Kind::Papers) {
            claims.extend(GAMMAS.map(|gamma| self.is_beaten(group, Contender::BaseIndex(gamma))));
        }
        if is_bzflag {
            let linear =
                self.groups.iter().filter(|group| group.kind == Kind::Papers && group.model == Model::Linear);
            claims.extend(
                linear.flat_map(|group| PROTOTYPE.map(|numbers| self.prototype_is_beaten(group, numbers))),
            );
        }
        claims
    }

    fn ours(&self, group: &Group, what: &str, measure: Measure, judge: impl Fn(f64) -> Judgement) -> Claim {
        let ratio = group.against_third(OURS, measure, self.seed);
        let claim = Claim::new(
            format!("EI.{}-{}", what.replace(' ', "-").to_lowercase(), group.id()),
            format!("{}: {what} of error-index", group.shown()),
            judge(ratio.value),
        )
        .unit("× 1/3 base");
        match ratio.interval {
            Some((low, high)) => claim.remark(format!("95 %: {} to {}", crate::show(low), crate::show(high))),
            None => claim,
        }
    }

    /// Error-index as it is has less spread and a smaller mean error than `other`.
    fn dominates(&self, group: &Group, other: Contender) -> Claim {
        let (ours, theirs) = (group.of(OURS), group.of(other));
        Claim::new(
            format!("EI.dominates-{}-{}", other.name(), group.id()),
            format!("{}: error-index beats {} on spread and on mean", group.shown(), other.label()),
            judge::below_in_every([(ours.spread(), theirs.spread()), (ours.mean(), theirs.mean())]),
        )
        .unit("× theirs, the worse of the two")
    }

    /// Some error-index, from accurate to fair, has less spread and a smaller mean error than `other`.
    fn is_beaten(&self, group: &Group, other: Contender) -> Claim {
        let theirs = group.of(other);
        let (best, by) = best_of_frontier(|ours| {
            let ours = group.of(ours);
            (ours.spread() / theirs.spread()).max(ours.mean() / theirs.mean())
        });
        Claim::new(
            format!("EI.frontier-{}-{}", other.shown_name(), group.id()),
            format!(
                "{}: some weight on fairness beats {} on spread and on mean",
                group.shown(),
                other.label()
            ),
            judge::below(best, 1.0),
        )
        .unit("× theirs, the worse of the two")
        .remark(by.label())
    }

    /// The same against numbers that were measured elsewhere.
    fn prototype_is_beaten(&self, group: &Group, (gamma, spread, mean): (f64, f64, f64)) -> Claim {
        let (best, by) = best_of_frontier(|ours| {
            let ratio = |measure| group.against_third(ours, measure, self.seed).value;
            (ratio(Measure::Spread) / spread).max(ratio(Measure::Mean) / mean)
        });
        Claim::new(
            format!("EI.prototype-{gamma}-{}", group.id()),
            format!(
                "{}: some weight on fairness beats the prototype's γ = {gamma} on spread and on mean",
                group.shown()
            ),
            judge::below(best, 1.0),
        )
        .unit("× theirs, the worse of the two")
        .paper(format!("spread {spread}, mean {mean} × 1/3 base"))
        .remark(by.label())
    }

    fn figures(&self) -> Vec<Figure> {
        let figure = |group: &Group| {
            let point = |contender: Contender| {
                let ratio = |measure| group.against_third(contender, measure, self.seed).value;
                (ratio(Measure::Mean), ratio(Measure::Spread))
            };
            let line = |label: &str, of: &[Contender]| {
                Line::new(label, of.iter().map(|c| point(*c)).collect::<Vec<_>>())
            };
            let base_index = GAMMAS.map(Contender::BaseIndex);
            Figure::new(
                format!("ei-frontier-{}", group.id()),
                format!("Spread against mean, both as ratios to 1/3 base: {}", group.shown()),
                Axis::new("mean", "× 1/3 base"),
                Axis::new("spread", "× 1/3 base"),
                Plot::Lines(vec![
                    line("error-index, from accurate to fair", &FRONTIER),
                    line("base index, γ = 1, 2, 4", &base_index),
                    line("1/3 base to deterministic budget", &[THIRD, TURNS]),
                ]),
            )
            .caption("To the left is more accurate, below is fairer. All cost the same, or less.")
        };
        self.groups.iter().filter(|group| group.kind == Kind::Papers).map(figure).collect()
    }
}

/// The weight on fairness for which this is least, and how little it is.
fn best_of_frontier(of: impl Fn(Contender) -> f64) -> (f64, Contender) {
    let least =
        FRONTIER.into_iter().map(|ours| (of(ours), ours)).min_by(|one, other| one.0.total_cmp(&other.0));
    least.expect("there are several")
}
