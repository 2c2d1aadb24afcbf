use std::collections::BTreeMap;

use fairpath_eval::candidates::{self, MatchSetup};
use fairpath_eval::evaluate::{Question, Summary, score};
use fairpath_predict::{Adaptive, AdaptiveConfig, Objective};

use super::claims::{self, Contest};
use super::evaluation::HORIZONS_MS;
use super::{Evaluation, Watched, scale_note, stage};
use crate::experiment::{
    CannotRun, Declaration, Experiment, ExperimentGroup, Progress, Settings, map_in_order,
};
use crate::outcome::{Cell, Column, Outcome, Rows};

/// Chooses the adaptive predictor's parameters without the recording they are then judged on.
#[derive(Clone, Debug)]
pub struct Tuning {
    /// The matches: each is left out in turn.
    pub watched: Vec<Watched>,
}

/// A parameter, and the values that are tried for it.
struct Tunable {
    name: &'static str,
    values: [f64; 3],
    of: fn(&mut AdaptiveConfig) -> &mut f64,
}

/// Every parameter, in the order of choosing.
const KNOBS: [Tunable; 9] = [
    Tunable {
        name: "regression_lessons",
        values: [10_000.0, 50_000.0, 250_000.0],
        of: |config| &mut config.regression_lessons,
    },
    Tunable {
        name: "regression_doubt",
        values: [1.0, 10.0, 100.0],
        of: |config| &mut config.regression_doubt,
    },
    Tunable {
        name: "regression_rightness",
        values: [0.05, 0.2, 0.8],
        of: |config| &mut config.regression_rightness,
    },
    Tunable { name: "gate_cases", values: [600.0, 3000.0, 15_000.0], of: |config| &mut config.gate_cases },
    Tunable { name: "common_cases", values: [20.0, 100.0, 500.0], of: |config| &mut config.common_cases },
    Tunable { name: "others_cases", values: [60.0, 300.0, 1500.0], of: |config| &mut config.others_cases },
    Tunable { name: "neighbour_reach", values: [0.3, 0.6, 1.2], of: |config| &mut config.neighbour_reach },
    Tunable { name: "turn_rate_max", values: [4.0, 8.0, 16.0], of: |config| &mut config.turn_rate_max },
    Tunable { name: "distance_in_hits", values: [0.03, 0.1, 0.3], of: |config| &mut config.distance_in_hits },
];

type Choice = [usize; KNOBS.len()];

impl Experiment for Tuning {
    fn declaration(&self) -> &Declaration {
        &Declaration {
            group: ExperimentGroup::Prediction,
            name: "tune",
            alias: "tune",
            title: "Choose the adaptive predictor's parameters, judged on recordings left out",
            source: "ours",
            about: "Each recording is left out in turn. On the others, the parameters of the adaptive predictor are chosen one after the other \
                    from three values each, beginning with the least of all: the value with the least loss, where the loss is the mean of mean \
                    error, misses and packets, each as a multiple of the line's, over horizons, both modes and recordings. With the chosen \
                    parameters, the recording that was left out is judged as in `lab eval --claims`. The last row of the choices leaves nothing \
                    out. Live packets are those of the shipped parameters.",
            ..Declaration::EMPTY
        }
    }

    fn run(&self, _: &Settings, progress: &dyn Progress) -> Result<Outcome, CannotRun> {
        if self.watched.len() < 2 {
            return Err(CannotRun {
                what: "one recording alone cannot be left out".into(),
                fix: "give two or more".into(),
            });
        }
        let scenes = self.watched.iter().map(TuningMatch::of).collect::<Result<Vec<_>, _>>()?;
        let mut trials = TuningTrials { scenes: &scenes, progress, losses: BTreeMap::new() };
        let mut choices = Rows::new(columns());
        let mut contests = Vec::new();
        for (place, scene) in scenes.iter().enumerate() {
            let choice = trials.choose(|other| other != place);
            choices.push(row(&scene.watched.file, choice));
            contests.push(scene.contest(config(choice), progress));
        }
        choices.push(row("nothing", trials.choose(|_| true)));
        let mut outcome = Outcome::new(choices).headline(claims::headline(&contests));
        outcome.claims = claims::of_both_modes(&contests);
        outcome.notes = scenes.iter().map(|scene| scale_note(scene.watched, &scene.stage)).collect();
        outcome.notes.push(format!(
            "{} settings were tried. Which vectors the regression sees and which guesses the gate compares was decided with these \
             recordings in view; only the numbers were chosen without the recording they are judged on.",
            trials.losses.len()
        ));
        Ok(outcome)
    }
}

/// A match, what it is judged by, and how the line does.
struct TuningMatch<'a> {
    watched: &'a Watched,
    stage: MatchSetup,
    question: Question,
    line: Summary,
}

impl<'a> TuningMatch<'a> {
    fn of(watched: &'a Watched) -> Result<Self, CannotRun> {
        let stage = stage(watched)?;
        let evaluation = Evaluation {
            watched: Vec::new(),
            candidates: Vec::new(),
            horizons_ms: HORIZONS_MS.to_vec(),
            hit_radius: None,
            threshold: None,
            pictures: false,
        };
        let question = evaluation.question(&stage)?;
        let Ok(scores) = score(&watched.play, &mut *candidates::all()[0].make(&stage), &question) else {
            unreachable!("a line needs nothing")
        };
        Ok(Self { watched, line: Summary::of(&scores), stage, question })
    }

    fn ours(&self, config: AdaptiveConfig) -> Vec<Summary> {
        let objectives = [Objective::Mean, Objective::Hits { radius: self.stage.hit_radius() }];
        let summary = |objective| {
            let mut predictor = Adaptive::with_config(self.stage.top_speed, objective, config);
            let Ok(scores) = score(&self.watched.play, &mut predictor, &self.question) else {
                unreachable!("it needs nothing")
            };
            Summary::of(&scores)
        };
        objectives.map(summary).to_vec()
    }

    fn loss(&self, config: AdaptiveConfig) -> f64 {
        let ours = self.ours(config);
        ours.iter().map(|mode| loss(mode, &self.line)).sum::<f64>() / ours.len() as f64
    }

    fn contest(&self, config: AdaptiveConfig, progress: &dyn Progress) -> Contest {
        Contest::of(self.watched, &self.stage, &self.question, progress).with_ours(self.ours(config))
    }
}

/// Mean error, misses and packets as multiples of the line's, all three alike.
fn loss(ours: &Summary, line: &Summary) -> f64 {
    let ratios = ours.horizons.iter().zip(&line.horizons).map(|(ours, line)| ours.mean / line.mean);
    let mean = ratios.sum::<f64>() / ours.horizons.len() as f64;
    let misses = (100.0 - ours.hits_total) / (100.0 - line.hits_total);
    (mean + misses + ours.packets_per_sec / line.packets_per_sec) / 3.0
}

/// What has been tried, so that nothing is tried twice.
struct TuningTrials<'a> {
    scenes: &'a [TuningMatch<'a>],
    progress: &'a dyn Progress,
    losses: BTreeMap<Choice, Vec<f64>>,
}

impl TuningTrials<'_> {
    /// Chooses one parameter after the other, by the matches that may be looked at.
    fn choose(&mut self, may_look: impl Fn(usize) -> bool) -> Choice {
        let mut chosen: Choice = [0; KNOBS.len()];
        for knob in 0..KNOBS.len() {
            let mut least = f64::INFINITY;
            for value in 0..KNOBS[knob].values.len() {
                let mut choice = chosen;
                choice[knob] = value;
                let losses = self.losses(choice).iter().enumerate();
                let loss: f64 = losses.filter(|(place, _)| may_look(*place)).map(|(_, loss)| loss).sum();
                if loss < least {
                    (least, chosen) = (loss, choice);
                }
            }
        }
        chosen
    }

    fn losses(&mut self, choice: Choice) -> &[f64] {
        let (scenes, progress) = (self.scenes, self.progress);
        self.losses.entry(choice).or_insert_with(|| {
            progress.begin("trying numbers", scenes.len() as u64);
            map_in_order(scenes, progress, |scene| scene.loss(config(choice)))
        })
    }
}

fn config(choice: Choice) -> AdaptiveConfig {
    let mut config = AdaptiveConfig::default();
    for (knob, value) in KNOBS.iter().zip(choice) {
        *(knob.of)(&mut config) = knob.values[value];
    }
    config
}

fn columns() -> Vec<Column> {
    let knobs = KNOBS.iter().map(|knob| Column::number(knob.name, knob.name.replace('_', " "), ""));
    std::iter::once(Column::text("left_out", "left out")).chain(knobs).collect()
}

fn row(left_out: &str, choice: Choice) -> Vec<Cell> {
    let values = KNOBS.iter().zip(choice).map(|(knob, value)| knob.values[value].into());
    std::iter::once(left_out.into()).chain(values).collect()
}
