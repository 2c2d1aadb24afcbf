//! Free exploration of schedulers, receivers, budgets and motion: `fairpath lab fairness`.

use fairpath::time::Span;

use super::figures::{error_unit, ledger_off, over_time, per_receiver};
use super::{Arena, LabScheduler, Measure, Model, Motion, Ratio, Receiver, Score, Trial, ratio};
use crate::cells;
use crate::experiment::{CannotRun, Declaration, Experiment, ExperimentGroup, Progress, RunOption, Settings};
use crate::outcome::{Cell, Column, Outcome, Rows};

/// What to play. Seed and motion come with the [`Settings`], as for any experiment.
#[derive(Clone, Debug)]
pub struct Exploration {
    /// The schedulers. The reference is always added.
    pub schedulers: Vec<LabScheduler>,
    pub receivers: Vec<Receiver>,
    /// DR vectors per trigger; a third of the receivers if not given.
    pub budget: Option<f64>,
    pub threshold: f64,
    pub model: Model,
    /// How many tanks, or how often a recording is played with other random numbers.
    pub games: u64,
}

/// How long a tank is watched: as long as the prototype did.
pub const TANK_LENGTH: Span = Span::from_secs(180);

impl Experiment for Exploration {
    fn declaration(&self) -> &Declaration {
        &Declaration {
            group: ExperimentGroup::Fairness,
            name: "fairness",
            alias: "fairness",
            title: "Which receiver is sent a DR vector, and is that fair?",
            source: "Banavar 2005 ch. 3, Aggarwal 2005",
            about: "One owner drives, several receivers watch from different distances, and a scheduler decides which receiver is sent each DR \
                    vector. The error of a receiver is the distance between the exported path and the path it places, integrated over time from \
                    the arrival of its first DR vector, by an observer that knows every true arrival. Mean is accuracy, spread (the standard \
                    deviation over the receivers at the end) is fairness, DR vectors are the cost. Ratios are to every-nth (1/3 base in the \
                    papers) at the same budget; intervals are 95 %, from a paired bootstrap over tanks or stretches.",
            options: &[RunOption::Seed, RunOption::Motion],
            ..Declaration::EMPTY
        }
    }

    fn run(&self, settings: &Settings, progress: &dyn Progress) -> Result<Outcome, CannotRun> {
        let motion = match &settings.motion {
            Some(recorded) => Motion::recorded(recorded, self.games)?,
            None => Motion::tanks(settings.seed, self.games, TANK_LENGTH),
        };
        let scores = Arena { motion: &motion, seed: settings.seed, progress }.play(&self.trials());
        let (reference, scores) = scores.split_first().expect("the reference always plays");
        let scores: Vec<&Score> = scores.iter().collect();
        let unit = &motion.unit;
        let mut outcome = Outcome::new(table(&scores, reference, unit, settings.seed));
        outcome.figures.extend(over_time("fairness", "Over time", &scores, unit));
        let names: Vec<String> = self.receivers.iter().map(|receiver| receiver.name().to_owned()).collect();
        outcome.figures.extend(per_receiver("fairness", "At the end", &scores, &names, unit));
        outcome.figures.push(ledger_off("fairness", &scores, unit));
        outcome.notes = notes(&motion);
        Ok(outcome)
    }
}

impl Exploration {
    /// The reference first, then the given schedulers.
    fn trials(&self) -> Vec<Trial> {
        let budget = self.budget.unwrap_or(self.receivers.len() as f64 / 3.0);
        let trial = |scheduler: &LabScheduler| {
            Trial::new(*scheduler, self.receivers.clone())
                .budget(budget)
                .threshold(self.threshold)
                .model(self.model)
        };
        [LabScheduler::EVERY_NTH].iter().chain(&self.schedulers).map(trial).collect()
    }
}

pub(crate) fn table(scores: &[&Score], reference: &Score, unit: &str, seed: u64) -> Rows {
    let mut rows = Rows::new([vec![Column::text("scheduler", "scheduler")], columns(unit)].concat());
    for score in scores {
        rows.push([cells![score.label.as_str()], cells(score, reference, seed)].concat());
    }
    rows
}

/// The columns of everything that is measured in a trial. Headings are short: there are many.
pub(crate) fn columns(unit: &str) -> Vec<Column> {
    let error = |key: &str, label: &str| Column::number(key, label, "").decimals(1);
    let ratio = |key: &str, label: &str| Column::number(key, label, "").decimals(3);
    vec![
        Column::number("mean", "mean", error_unit(unit)).decimals(1),
        error("spread", "spread"),
        error("spread_over_time", "over time"),
        Column::number("jain", "Jain", "").decimals(4),
        error("worst", "worst"),
        Column::number("dr_vectors", "DR vectors", ""),
        Column::number("bytes", "bytes", ""),
        ratio("spread_ratio", "spread ×"),
        ratio("spread_ratio_low", "from"),
        ratio("spread_ratio_high", "to"),
        ratio("mean_ratio", "mean ×"),
        ratio("mean_ratio_low", "from"),
        ratio("mean_ratio_high", "to"),
        ratio("dr_vectors_ratio", "DR vectors ×"),
        Column::number("distance", "off truth", unit).decimals(2),
        Column::number("estimate_error", "estimate off", "").decimals(2),
        Column::number("estimated_share", "estimated", "").decimals(2),
        Column::number("settled_error_max", "settled off", "").decimals(6),
        Column::number("unsettled_copies", "unsettled", ""),
    ]
}

/// The cells of one trial, in the order of [`columns`].
pub(crate) fn cells(score: &Score, reference: &Score, seed: u64) -> Vec<Cell> {
    let against = |measure| ratio(score, reference, measure, seed);
    let ends = |ratio: Ratio| (ratio.interval.map(|(low, _)| low), ratio.interval.map(|(_, high)| high));
    let (spread, mean) = (against(Measure::Spread), against(Measure::Mean));
    let ((spread_low, spread_high), (mean_low, mean_high)) = (ends(spread), ends(mean));
    cells![
        score.mean(),
        score.spread(),
        score.spread_over_time(),
        score.jain(),
        score.worst(),
        score.vectors(),
        score.bytes(),
        spread.value,
        spread_low,
        spread_high,
        mean.value,
        mean_low,
        mean_high,
        score.vectors() as f64 / reference.vectors() as f64,
        score.distance(),
        score.ledger_off(),
        score.ledger_open(),
        score.ledger_settled_off(),
        score.unsettled(),
    ]
}

pub(crate) fn notes(motion: &Motion) -> Vec<String> {
    let pooling = if motion.is_recorded() {
        "Errors are summed over all stretches of the recording for each receiver before receivers are compared; plots show the \
         stretches one after the other."
    } else {
        "Every tank is a game of its own: receivers are compared at its end, and games are averaged. DR vectors and bytes are those \
         of all games together."
    };
    vec![
        format!(
            "{} s of motion. {pooling} Mean, spread and worst are of the receivers' accumulated errors at the end, in {}; \"over time\" is the \
             spread at every half second, averaged. × are ratios, from … to their 95 % intervals. \"Off truth\" is the mean distance \
             between the real and the placed entity.",
            crate::show(motion.secs()),
            error_unit(&motion.unit)
        ),
        "Clocks are exact, accounts never forget, and no scheduler is made to keep anybody from silence. Replicas are fed the bytes \
         that links carry, one DR vector to a datagram, and freeze after 3 s; bytes are without what UDP and IP add. Receipts take \
         as long as the way there, are never lost and keep their order. \"Estimate off\" is how far the sender's ledger was from \
         the truth at the triggers, as a mean over triggers and receivers; \"estimated\" is how often it was an estimate, because receipts \
         were still outstanding; \"settled off\" is the farthest it was off when none were; \"unsettled\" counts copies whose fate \
         it never learnt."
            .into(),
    ]
}
