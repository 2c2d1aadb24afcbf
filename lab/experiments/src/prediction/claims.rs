use fairpath_eval::candidates::{self, MatchSetup};
use fairpath_eval::evaluate::{Question, Summary, score};
use fairpath_eval::live::{self, LiveCandidate};
use fairpath_predict::{Missing, TICK_SECS};

use super::{Evaluation, Watched, scale_note, stage};
use crate::experiment::{
    CannotRun, Declaration, Experiment, ExperimentGroup, Progress, Settings, map_in_order,
};
use crate::figure::{Axis, Figure, Line, Plot};
use crate::judge;
use crate::outcome::{Claim, Column, Outcome, Rows};
use crate::{cells, show};

/// Compares our predictor with every other on the questions of an [`Evaluation`], per recording.
#[derive(Clone, Debug)]
pub struct AdaptiveClaims {
    /// The matches, and what is asked. Its predictors are ignored: all of them predict.
    pub evaluation: Evaluation,
}

/// Ours, by what it aims at.
const MODES: [(&str, &str); 2] = [("adaptive", "mean"), ("adaptive-hits", "hits")];
/// Ours, in its form for the wire.
const LIVE: &str = "adaptive";
/// Of the field, but in no paper.
const NOT_IN_PAPERS: [&str; 3] = ["fading-0.3", "fading-1", "ridge"];
/// The same as the line and as TDM: input schemes that look at no input.
pub(super) const TWINS: [&str; 2] = ["constant-velocity", "constant-acceleration"];

/// At most this times the best counts as tied.
const TIED: f64 = 1.02;
/// At most so many points fewer hits.
const POINTS: f64 = 1.0;
/// What the live form may need of the packets of a causal line.
const LIVE_GOAL: f64 = 0.8;

impl Experiment for AdaptiveClaims {
    fn declaration(&self) -> &Declaration {
        &Declaration {
            group: ExperimentGroup::Prediction,
            name: "claims",
            alias: "AP",
            title: "The adaptive predictor against the other predictors",
            source: "ours",
            about: "One predictor is to be best or tied with the best on mean error at every horizon (within 2 %; the field: all of Shi 2014's \
                    predictors, the input schemes where inputs are known, the line, velocities that fade in 0.3 and 1 s, ridge regression, and three \
                    learned predictors of the literature, taught by our own bots), not \
                    below the best of the papers' predictors on hits (within 1 point), and not above the cheapest of the field on packets \
                    (within 2 %), on every recording. It has two modes, one that aims at the mean error and one that aims at hits. Packets are \
                    counted as in `lab eval`: the predictor starts again whenever it is off by more than the threshold. Live packets are counted \
                    as in `lab packets`: what receivers place follows from one DR vector.",
            ..Declaration::EMPTY
        }
    }

    fn run(&self, _: &Settings, progress: &dyn Progress) -> Result<Outcome, CannotRun> {
        let mut contests = Vec::new();
        let mut notes = Vec::new();
        for watched in &self.evaluation.watched {
            let stage = stage(watched)?;
            let question = self.evaluation.question(&stage)?;
            contests.push(Contest::of(watched, &stage, &question, progress));
            notes.push(scale_note(watched, &stage));
        }
        let mut outcome = Outcome::new(rows(&contests)).headline(headline(&contests));
        outcome.claims = of_both_modes(&contests);
        outcome.claims.push(live_claim(&contests));
        outcome.figures = MODES.map(|mode| figure(&contests, mode)).to_vec();
        outcome.notes = notes;
        outcome.notes.push(
            "One point cannot be best at everything: at a fork the mean error is least in between, where no player ever is, and a hit needs a \
             decision. The mode for the mean is the one to judge by the whole claim; the mode for hits trades mean error for hits."
                .into(),
        );
        Ok(outcome)
    }
}

pub(super) struct Contest {
    file: String,
    unit: String,
    /// Ours, in the order of [`MODES`].
    ours: Vec<Summary>,
    /// The other predictors that had what they need.
    field: Vec<(&'static str, Summary)>,
    /// Live packets of ours and of the causal line.
    live: [usize; 2],
}

#[derive(Clone, Copy)]
enum ClaimMeasure {
    /// Mean error at the horizon with this index: less is better.
    Mean(usize),
    /// More is better, and only the papers' predictors count.
    Hits,
    /// Less is better.
    Packets,
}

struct Compared {
    ours: f64,
    best: f64,
    who: &'static str,
    /// Ours by the best, or, for hits, ours less the best, in points.
    difference: f64,
    is_within: bool,
}

impl Contest {
    pub(super) fn of(
        watched: &Watched,
        stage: &MatchSetup,
        question: &Question,
        progress: &dyn Progress,
    ) -> Self {
        let mut everybody = candidates::all_and_learned();
        everybody.retain(|candidate| !TWINS.contains(&candidate.name));
        progress.begin(&watched.file, everybody.len() as u64);
        let answers = map_in_order(&everybody, progress, |candidate| -> Result<Summary, Missing> {
            let scores = score(&watched.play, &mut *candidate.make(stage), question)?;
            Ok(Summary::of(&scores))
        });
        let scored = everybody.iter().zip(answers).filter_map(|(who, answer)| Some((who.name, answer.ok()?)));
        let is_ours = |name: &str| MODES.iter().any(|(own, _)| *own == name);
        let (ours, field): (Vec<_>, Vec<_>) = scored.partition(|(name, _)| is_ours(name));
        Self {
            file: watched.file.clone(),
            unit: watched.play.unit.to_string(),
            ours: ours.into_iter().map(|(_, summary)| summary).collect(),
            field,
            live: [LIVE, "line"].map(|name| live_packets(watched, stage, question.threshold, name)),
        }
    }

    /// The same field against ours with other numbers, in the order of [`MODES`].
    pub(super) fn with_ours(self, ours: Vec<Summary>) -> Self {
        Self { ours, ..self }
    }

    fn measures(&self) -> Vec<ClaimMeasure> {
        let means = (0..self.ours[0].horizons.len()).map(ClaimMeasure::Mean);
        means.chain([ClaimMeasure::Hits, ClaimMeasure::Packets]).collect()
    }

    fn compare(&self, mode: usize, measure: ClaimMeasure) -> Compared {
        let own = measure.of(&self.ours[mode]);
        let others = self.field.iter().filter(|(name, _)| measure.is_judged_by(name));
        let numbers = others.map(|(name, summary)| (*name, measure.of(summary)));
        let better = |(_, a): &(&str, f64), (_, b): &(&str, f64)| match measure {
            ClaimMeasure::Hits => b.total_cmp(a),
            ClaimMeasure::Mean(_) | ClaimMeasure::Packets => a.total_cmp(b),
        };
        let (who, best) = numbers.min_by(better).unwrap_or(("none", f64::NAN));
        let (difference, is_within) = match measure {
            ClaimMeasure::Hits => (own - best, own - best >= -POINTS),
            ClaimMeasure::Mean(_) | ClaimMeasure::Packets => (own / best, own / best <= TIED),
        };
        Compared { ours: own, best, who, difference, is_within }
    }

    /// The largest ratio of mean errors over all horizons.
    fn worst_mean(&self, mode: usize) -> f64 {
        let horizons = 0..self.ours[mode].horizons.len();
        horizons.map(|index| self.compare(mode, ClaimMeasure::Mean(index)).difference).fold(0.0, f64::max)
    }

    fn millis(&self, index: usize) -> f64 {
        f64::from(self.ours[0].horizons[index].ticks) * TICK_SECS * 1e3
    }

    fn live_ratio(&self) -> f64 {
        self.live[0] as f64 / self.live[1] as f64
    }
}

impl ClaimMeasure {
    fn of(self, summary: &Summary) -> f64 {
        match self {
            Self::Mean(index) => summary.horizons[index].mean,
            Self::Hits => summary.hits_total,
            Self::Packets => summary.packets_per_sec,
        }
    }

    fn is_judged_by(self, name: &str) -> bool {
        !matches!(self, Self::Hits) || !NOT_IN_PAPERS.contains(&name)
    }
}

fn live_packets(watched: &Watched, stage: &MatchSetup, threshold: f64, name: &str) -> usize {
    let Some(model) = LiveCandidate::by_name(name) else { unreachable!("{name} has a live form") };
    live::packets(&watched.paths, &mut *model.make(stage, threshold), threshold)
}

pub(super) fn of_both_modes(contests: &[Contest]) -> Vec<Claim> {
    MODES.iter().flat_map(|mode| claims(contests, *mode)).collect()
}

fn claims(contests: &[Contest], (name, aim): (&str, &str)) -> [Claim; 3] {
    let mode = mode_of(name);
    let worst =
        |value: &dyn Fn(&Contest) -> f64| contests.iter().map(value).fold(f64::NEG_INFINITY, f64::max);
    let fewest = |value: &dyn Fn(&Contest) -> f64| contests.iter().map(value).fold(f64::INFINITY, f64::min);
    let count = contests.len();
    let claim = |id: &str, text: &str, judgement| {
        let claim = Claim::new(
            format!("AP.{aim}-mode.{id}"),
            format!("aiming at {aim}: {text} ({count} in all)"),
            judgement,
        );
        if claim.judgement.is_refuted() && aim == "hits" { claim.remark(TRADE) } else { claim }
    };
    [
        claim(
            "mean",
            "best or tied on mean error, at every horizon of every recording",
            judge::at_most(worst(&|contest| contest.worst_mean(mode)), TIED),
        )
        .unit("× the best of the field, at worst"),
        claim(
            "hits",
            "hits within a point of the best of the papers' predictors, or above, on every recording",
            judge::at_least(fewest(&|contest| contest.compare(mode, ClaimMeasure::Hits).difference), -POINTS),
        )
        .unit("points above, at worst"),
        claim(
            "packets",
            "packets at most those of the cheapest, within 2 %, on every recording",
            judge::at_most(worst(&|contest| contest.compare(mode, ClaimMeasure::Packets).difference), TIED),
        )
        .unit("× the cheapest of the field, at worst"),
    ]
}

const TRADE: &str =
    "It decides where the mean would wait in between: more hits, but farther off when the decision was wrong";

fn live_claim(contests: &[Contest]) -> Claim {
    let worst = contests.iter().map(Contest::live_ratio).fold(f64::NEG_INFINITY, f64::max);
    let claim = Claim::new(
        "AP.live",
        "under the live rule, at most 0.8 of the causal line's packets on every recording",
        judge::at_most(worst, LIVE_GOAL),
    );
    let claim = claim.unit("× the causal line, at worst");
    let is_refuted = claim.judgement.is_refuted();
    if is_refuted { claim.remark(LINES_ARE_LINES) } else { claim }
}

const LINES_ARE_LINES: &str = "One DR vector is one line, drawn without knowledge of the next turn; `lab packets` shows what is left to \
     the optimum, which can";

fn mode_of(name: &str) -> usize {
    MODES.iter().position(|(own, _)| *own == name).unwrap_or(0)
}

fn rows(contests: &[Contest]) -> Rows {
    let mut rows = Rows::new([
        Column::text("recording", "recording"),
        Column::text("mode", "aims at"),
        Column::text("measure", "measure"),
        Column::number("horizon_ms", "horizon", "ms").decimals(0),
        Column::text("unit", "unit"),
        Column::number("ours", "ours", "").decimals(3),
        Column::number("best", "best of the others", "").decimals(3),
        Column::text("who", "best predictor"),
        Column::number("ratio", "times the best", "").decimals(3),
        Column::number("points", "points above", "").decimals(2),
        Column::text("within", "within?"),
    ]);
    for contest in contests {
        for (mode, (_, aim)) in MODES.iter().enumerate() {
            for measure in contest.measures() {
                let compared = contest.compare(mode, measure);
                let (name, horizon, unit) = match measure {
                    ClaimMeasure::Mean(index) => {
                        ("mean error", Some(contest.millis(index)), contest.unit.as_str())
                    }
                    ClaimMeasure::Hits => ("hits, total", None, "%"),
                    ClaimMeasure::Packets => ("packets", None, "1/s"),
                };
                let is_points = matches!(measure, ClaimMeasure::Hits);
                rows.push(cells![
                    contest.file.as_str(),
                    *aim,
                    name,
                    horizon,
                    unit,
                    compared.ours,
                    compared.best,
                    compared.who,
                    (!is_points).then_some(compared.difference),
                    is_points.then_some(compared.difference),
                    if compared.is_within { "yes" } else { "no" },
                ]);
            }
        }
        rows.push(cells![
            contest.file.as_str(),
            "live",
            "packets, live",
            None::<f64>,
            "",
            contest.live[0],
            contest.live[1],
            "line",
            contest.live_ratio(),
            None::<f64>,
            if contest.live_ratio() <= LIVE_GOAL { "yes" } else { "no" },
        ]);
    }
    rows
}

/// One row per recording and mode: how many times the best it is.
pub(super) fn headline(contests: &[Contest]) -> Rows {
    let mut columns = vec![Column::text("recording", "recording"), Column::text("mode", "aims at")];
    let horizons = contests.first().map_or(0, |contest| contest.ours[0].horizons.len());
    columns.extend((0..horizons).map(|index| {
        let millis = show(contests[0].millis(index));
        Column::number(format!("mean_at_{millis}_ms"), format!("mean {millis} ms"), "× best").decimals(3)
    }));
    columns.extend([
        Column::number("hits_points", "hits", "points above best").decimals(1),
        Column::number("packets_ratio", "packets", "× cheapest").decimals(3),
        Column::text("within", "within?"),
        Column::number("live_ratio", "live packets", "× line").decimals(3),
    ]);
    let mut rows = Rows::new(columns);
    for contest in contests {
        for (mode, (_, aim)) in MODES.iter().enumerate() {
            let compared: Vec<Compared> =
                contest.measures().into_iter().map(|measure| contest.compare(mode, measure)).collect();
            let mut row = cells![contest.file.as_str(), *aim];
            row.extend(compared.iter().map(|compared| compared.difference.into()));
            let all_within = compared.iter().all(|compared| compared.is_within);
            row.extend(cells![if all_within { "yes" } else { "no" }, contest.live_ratio()]);
            rows.push(row);
        }
    }
    rows
}

fn figure(contests: &[Contest], (name, aim): (&str, &str)) -> Figure {
    let mode = mode_of(name);
    let line = |contest: &Contest| {
        let horizons = 0..contest.ours[mode].horizons.len();
        let point = |index: usize| {
            (contest.millis(index), contest.compare(mode, ClaimMeasure::Mean(index)).difference)
        };
        Line::new(&contest.file, horizons.map(point).collect::<Vec<_>>())
    };
    Figure::new(
        format!("ap-{aim}"),
        format!("Aiming at {aim}: mean error against the best of the field"),
        Axis::new("predicted ahead", "ms"),
        Axis::new("times the best mean error", ""),
        Plot::Lines(contests.iter().map(line).collect()),
    )
    .caption("The best of the field may be another one at every horizon. Below 1 no other predictor was better; up to 1.02 counts as tied.")
}
