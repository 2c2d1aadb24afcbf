use fairpath_eval::candidates::{self, Candidate, MatchSetup};
use fairpath_eval::evaluate::{HorizonSummary, Interval, Question, Summary, score};
use fairpath_predict::{Missing, TICK_RATE, TICKS_AHEAD_MAX};

use super::claims::TWINS;
use super::{Watched, Window, picture, scale_note, stage};
use crate::experiment::{
    CannotRun, Declaration, Experiment, ExperimentGroup, Progress, Settings, map_in_order,
};
use crate::figure::{Axis, Bars, Figure, Line, Plot};
use crate::outcome::{Cell, Column, Outcome, Rows};
use crate::{cells, show};

/// How far ahead predictions are asked for unless something else is: Shi 2014's delays.
pub const HORIZONS_MS: [f64; 7] = [300.0, 600.0, 900.0, 1200.0, 1500.0, 1800.0, 2100.0];

#[derive(Clone, Debug)]
pub struct Evaluation {
    pub watched: Vec<Watched>,
    /// The predictors. The line predicts in any case: the others are compared with it.
    pub candidates: Vec<Candidate>,
    /// How far ahead, in ms; rounded to ticks of 1/60 s.
    pub horizons_ms: Vec<f64>,
    /// Predictions off by at most this are hits; Shi 2014's 45 pixels, scaled, if not given.
    pub hit_radius: Option<f64>,
    /// A prediction off by more than this costs a packet; default as for the hit radius.
    pub threshold: Option<f64>,
    /// Whether to draw a few seconds of play for every predictor.
    pub pictures: bool,
}

impl Experiment for Evaluation {
    fn declaration(&self) -> &Declaration {
        &Declaration {
            group: ExperimentGroup::Prediction,
            name: "eval",
            alias: "eval",
            title: "Where will players be?",
            source: "Shi 2014 3–5",
            about: "Every predictor is asked at every tick of every player where that player will be, from what was known at that tick, and is \
                    scored where the player really was; never across a respawn, a teleport or a gap, and never with a look ahead. All see the \
                    same causal estimates of velocity and acceleration. Hits are predictions within the hit radius, and their total is the mean \
                    over the horizons. Packets are counted without lag: the predictor starts again whenever it is off by more than the \
                    threshold, and after five seconds. Intervals are 95 %, Student's t over players.",
            ..Declaration::EMPTY
        }
    }

    fn run(&self, _: &Settings, progress: &dyn Progress) -> Result<Outcome, CannotRun> {
        let candidates = self.with_the_line();
        let mut tables = EvaluationTables::new(&self.horizons()?);
        let mut outcome = Outcome::default();
        for (number, watched) in (1..).zip(&self.watched) {
            let stage = stage(watched)?;
            let question = self.question(&stage)?;
            progress.begin(&watched.file, candidates.len() as u64);
            let told = PredictorRun { watched, stage: &stage, question: &question };
            let fared = map_in_order(&candidates, progress, |candidate| told.of(candidate));
            tables.add(watched, &fared);
            outcome.figures.extend(figures(number, watched, &fared));
            outcome.notes.push(note(watched, &stage, &question));
            if self.pictures {
                let window = Window::typical(&watched.play);
                let drawn = fared.iter().filter(|fared| fared.summary.is_ok());
                outcome.figures.extend(drawn.filter_map(|fared| {
                    picture(&format!("eval-{number}"), watched, &fared.candidate, &stage, window?)
                }));
            }
        }
        outcome.rows = tables.rows;
        Ok(outcome.headline(tables.headline))
    }
}

impl Evaluation {
    fn with_the_line(&self) -> Vec<Candidate> {
        let line = candidates::all()[0];
        let others = self.candidates.iter().copied().filter(|candidate| candidate.name != line.name);
        std::iter::once(line).chain(others).collect()
    }

    fn horizons(&self) -> Result<Vec<u32>, CannotRun> {
        let millis_max = f64::from(TICKS_AHEAD_MAX) * 1e3 / f64::from(TICK_RATE.as_hz());
        let ticks = |millis: &f64| (millis * f64::from(TICK_RATE.as_hz()) / 1e3).round() as u32;
        let horizons: Vec<u32> = self.horizons_ms.iter().map(ticks).collect();
        let question = Question::new(horizons, 1.0, 1.0).map_err(|error| CannotRun {
            what: format!("these horizons cannot be asked for ({error})"),
            fix: format!("give milliseconds from 17 to {millis_max}, such as 300,600,900"),
        })?;
        Ok(question.horizons().to_vec())
    }

    pub(super) fn question(&self, stage: &MatchSetup) -> Result<Question, CannotRun> {
        let usual = stage.hit_radius();
        let (hit_radius, threshold) = (self.hit_radius.unwrap_or(usual), self.threshold.unwrap_or(usual));
        Question::new(self.horizons()?, hit_radius, threshold)
            .map_err(|error| CannotRun { what: error.to_string(), fix: "give positive lengths".into() })
    }
}

/// How one predictor fared in one match, or what it lacked.
struct PredictorScore {
    candidate: Candidate,
    summary: Result<Summary, Missing>,
}

/// What all predictors are told and asked in one match.
struct PredictorRun<'a> {
    watched: &'a Watched,
    stage: &'a MatchSetup,
    question: &'a Question,
}

impl PredictorRun<'_> {
    fn of(&self, candidate: &Candidate) -> PredictorScore {
        let scores = score(&self.watched.play, &mut *candidate.make(self.stage), self.question);
        PredictorScore { candidate: *candidate, summary: scores.map(|scores| Summary::of(&scores)) }
    }
}

/// One row per match, predictor and horizon for machines, one per match and predictor for people.
struct EvaluationTables {
    rows: Rows,
    headline: Rows,
    horizons: usize,
}

impl EvaluationTables {
    fn new(horizons: &[u32]) -> Self {
        let mut headline =
            vec![Column::text("recording", "recording"), Column::text("predictor", "predictor")];
        headline.extend(horizons.iter().map(|ticks| {
            let millis = show(millis(*ticks));
            Column::number(format!("mean_at_{millis}_ms"), format!("mean error {millis} ms"), "")
        }));
        headline.extend([
            Column::text("unit", "unit"),
            Column::number("hits_total_percent", "hits, total", "%").decimals(1),
            Column::number("packets_per_s", "packets", "1/s").decimals(2),
            Column::text("remark", "remark"),
        ]);
        Self { rows: Rows::new(columns()), headline: Rows::new(headline), horizons: horizons.len() }
    }

    fn add(&mut self, watched: &Watched, fared: &[PredictorScore]) {
        let line = fared[0].summary.as_ref().ok();
        for PredictorScore { candidate, summary } in fared {
            match summary {
                Ok(summary) => self.add_summary(watched, candidate, summary, line),
                Err(missing) => self.add_missing(watched, candidate, *missing),
            }
        }
    }

    fn add_summary(&mut self, watched: &Watched, who: &Candidate, summary: &Summary, line: Option<&Summary>) {
        let unit = watched.play.unit.to_string();
        let packets = summary.packets_over_players;
        for (index, at) in summary.horizons.iter().enumerate() {
            let ratio = line.map(|line| at.ratio_to(&line.horizons[index]));
            self.rows.push(cells![
                watched.file.as_str(),
                who.name,
                millis(at.ticks),
                unit.as_str(),
                at.mean,
                at.median,
                at.hits_percent,
                at.mean_over_players.mean,
                at.mean_over_players.low(),
                at.mean_over_players.high(),
                at.hits_over_players.low(),
                at.hits_over_players.high(),
                ratio.map(|ratio| ratio.mean),
                ratio.map(|ratio| ratio.low()),
                ratio.map(|ratio| ratio.high()),
                summary.hits_total,
                summary.packets_per_sec,
                packets.low(),
                packets.high(),
                at.predictions,
                Cell::Missing,
            ]);
        }
        let mut headline = cells![watched.file.as_str(), who.name];
        headline.extend(summary.horizons.iter().map(|at| Cell::from(at.mean)));
        headline.extend(cells![unit, summary.hits_total, summary.packets_per_sec, ""]);
        self.headline.push(headline);
    }

    fn add_missing(&mut self, watched: &Watched, who: &Candidate, missing: Missing) {
        let remark = format!("n/a: {missing}");
        let unit = watched.play.unit.to_string();
        let blank = |count: usize| vec![Cell::Missing; count];
        let mut row = cells![watched.file.as_str(), who.name, Cell::Missing, unit.as_str()];
        row.extend(blank(self.rows.columns().len() - row.len() - 1));
        row.push(remark.as_str().into());
        self.rows.push(row);
        let mut headline = cells![watched.file.as_str(), who.name];
        headline.extend(blank(self.horizons));
        headline.push(unit.into());
        headline.extend(blank(2));
        headline.push(remark.into());
        self.headline.push(headline);
    }
}

fn columns() -> Vec<Column> {
    vec![
        Column::text("recording", "recording"),
        Column::text("predictor", "predictor"),
        Column::number("horizon_ms", "horizon", "ms").decimals(0),
        Column::text("unit", "unit"),
        Column::number("mean", "mean error", ""),
        Column::number("median", "median error", ""),
        Column::number("hits_percent", "hits", "%").decimals(1),
        Column::number("players_mean", "mean over players", ""),
        Column::number("players_mean_low", "from", ""),
        Column::number("players_mean_high", "to", ""),
        Column::number("players_hits_low_percent", "hits from", "%").decimals(1),
        Column::number("players_hits_high_percent", "to", "%").decimals(1),
        Column::number("ratio_to_line", "times the line's", "").decimals(3),
        Column::number("ratio_to_line_low", "from", "").decimals(3),
        Column::number("ratio_to_line_high", "to", "").decimals(3),
        Column::number("hits_total_percent", "hits, all horizons", "%").decimals(1),
        Column::number("packets_per_s", "packets", "1/s").decimals(3),
        Column::number("packets_low_per_s", "from", "1/s").decimals(3),
        Column::number("packets_high_per_s", "to", "1/s").decimals(3),
        Column::number("predictions", "predictions", ""),
        Column::text("remark", "remark"),
    ]
}

fn millis(ticks: u32) -> f64 {
    f64::from(ticks) * 1e3 / f64::from(TICK_RATE.as_hz())
}

fn note(watched: &Watched, stage: &MatchSetup, question: &Question) -> String {
    let unit = watched.play.unit;
    format!(
        "{} Hit radius {} {unit}, packet threshold {} {unit}.",
        scale_note(watched, stage),
        show(question.hit_radius),
        show(question.threshold)
    )
}

/// Up to so many lines have bands; more would hide each other.
const LINES_WITH_BANDS_MAX: usize = 5;

fn figures(number: usize, watched: &Watched, fared: &[PredictorScore]) -> Vec<Figure> {
    let unit = watched.play.unit.to_string();
    let file = &watched.file;
    // Twins would lie on top of each other.
    let drawn = fared.iter().filter(|fared| !TWINS.contains(&fared.candidate.name));
    let summaries: Vec<(&str, &Summary)> =
        drawn.filter_map(|fared| Some((fared.candidate.name, fared.summary.as_ref().ok()?))).collect();
    let with_bands = summaries.len() <= LINES_WITH_BANDS_MAX;
    let lines = |value: fn(&HorizonSummary) -> f64, interval: fn(&HorizonSummary) -> Interval| {
        let line = |(name, summary): &(&str, &Summary)| {
            let at = || summary.horizons.iter();
            let points: Vec<_> = at().map(|at| (millis(at.ticks), value(at))).collect();
            let band: Vec<_> = at().map(|at| (interval(at).low(), interval(at).high())).collect();
            let line = Line::new(*name, points);
            if with_bands { line.band(band) } else { line }
        };
        Plot::Lines(summaries.iter().map(line).collect())
    };
    let the_line = summaries[0].1;
    let against_the_line = |(name, summary): &(&str, &Summary)| {
        let both = summary.horizons.iter().zip(&the_line.horizons);
        let ratio = |(at, line): (&HorizonSummary, &HorizonSummary)| (millis(at.ticks), at.mean / line.mean);
        Line::new(*name, both.map(ratio).collect::<Vec<_>>())
    };
    let packets = summaries.iter().map(|(_, summary)| summary.packets_over_players);
    let bars = Bars::new(summaries.iter().map(|(name, _)| (*name).to_owned()).collect::<Vec<_>>())
        .series_with_ranges(
            "packets",
            summaries.iter().map(|(_, summary)| summary.packets_per_sec).collect::<Vec<_>>(),
            packets.map(|interval| (interval.low(), interval.high())).collect::<Vec<_>>(),
        );
    let horizon = || Axis::new("predicted ahead", "ms");
    vec![
        Figure::new(
            format!("eval-{number}-error"),
            format!("Mean error: {file}"),
            horizon(),
            Axis::new("mean error", &unit).logarithmic(),
            lines(|at| at.mean, |at| at.mean_over_players),
        )
        .caption("How far off predictions are on average; bands, where there are few lines, are 95 % over players. Lower is better."),
        Figure::new(
            format!("eval-{number}-ratio"),
            format!("Mean error against the line: {file}"),
            horizon(),
            Axis::new("times the line's mean error", "").logarithmic(),
            Plot::Lines(summaries.iter().map(against_the_line).collect()),
        )
        .caption("The same, as a multiple of what keeping the velocity gives. Below 1 is better than the line."),
        Figure::new(
            format!("eval-{number}-hits"),
            format!("Hits: {file}"),
            horizon(),
            Axis::new("within the hit radius", "%"),
            lines(|at| at.hits_percent, |at| at.hits_over_players),
        )
        .caption("How many predictions are near enough to hit. Higher is better."),
        Figure::new(
            format!("eval-{number}-packets"),
            format!("Packets: {file}"),
            Axis::new("predictor", ""),
            Axis::new("packets per player", "1/s"),
            Plot::Bars(bars),
        )
        .caption("How often a prediction had to be replaced to stay within the threshold; whiskers are 95 % over players. Lower is better."),
    ]
}
