use fairpath::vector::{Vec2, Vector};
use fairpath_eval::laps::{Contender, LapRun, TimedLap, known_at};
use fairpath_predict::{Missing, TrendLine};

use super::drives::{Drives, LapScores};
use super::tables::millis;
use crate::experiment::CannotRun;
use crate::figure::{Axis, Figure, Line, Path, Plot};

/// How long the drive in a picture is: 5 s.
const WINDOW_TICKS: usize = 300;
/// From one fan to the next: half a second.
const FAN_TICKS: usize = 30;
/// How far each fan reaches: 2 s.
const AHEAD_TICKS: u32 = 120;
const DRAWN: [Contender; 4] =
    [Contender::Linear, Contender::Tdm, Contender::TangentCoded, Contender::TrendLine];

/// The errors as curves, the track with its line, and a few seconds for several predictors.
pub(crate) fn figures(id: &str, drives: &Drives, fared: &[LapScores]) -> Result<Vec<Figure>, CannotRun> {
    let mut figures = vec![errors(id, drives, fared)];
    let Some((judged, run, first)) = window(drives) else { return Ok(figures) };
    let teachers = drives.teachers(judged);
    let line = drives.line(&teachers)?;
    figures.push(track(id, drives, judged, &line, &run.places[first..first + WINDOW_TICKS]));
    for contender in DRAWN {
        let mut predictor = contender.taught(&line, &teachers);
        let fans = LapFans::of(&mut *predictor, run, first).map_err(|missing| CannotRun {
            what: format!("{} {missing}", contender.name()),
            fix: "give laps".into(),
        })?;
        figures.push(fans.figure(id, drives, contender));
    }
    Ok(figures)
}

fn errors(id: &str, drives: &Drives, fared: &[LapScores]) -> Figure {
    let line = |fared: &LapScores| {
        let horizons = &fared.summary.horizons;
        let points: Vec<_> = horizons.iter().map(|at| (millis(at.ticks), at.mean)).collect();
        let line = Line::new(fared.contender.name(), points);
        let bands: Option<Vec<(f64, f64)>> = horizons.iter().map(|at| at.interval).collect();
        match bands {
            Some(bands) => line.band(bands),
            None => line,
        }
    };
    Figure::new(
        format!("{id}-error"),
        format!("Mean error: {}", drives.name),
        Axis::new("predicted ahead", "ms"),
        Axis::new("mean error", "m").logarithmic(),
        Plot::Lines(fared.iter().map(line).collect()),
    )
    .caption("On laps that taught nothing; bands are 95 % over laps. The lower the better.")
}

/// The seconds that turn most on the median lap: straights are easy, and off the road all fail.
fn window(drives: &Drives) -> Option<(usize, &LapRun, usize)> {
    let mut by_ticks: Vec<usize> = (0..drives.judged().len()).collect();
    by_ticks.sort_by_key(|number| drives.judged()[*number].ticks());
    let usual = *by_ticks.get(by_ticks.len() / 2)?;
    let turn = |run: &LapRun, first: usize| -> f64 {
        let known = &run.known[first..first + WINDOW_TICKS];
        let turns = known.windows(2).map(|pair| {
            let (one, other) = (pair[0].velocity.heading(), pair[1].velocity.heading());
            Vec2::angle_between(one, other)
        });
        turns.sum()
    };
    let windows = drives.judged()[usual].runs.iter().flat_map(|run| {
        let last = run.places.len().checked_sub(WINDOW_TICKS + AHEAD_TICKS as usize);
        let firsts = last.map(|last| (FAN_TICKS..last).step_by(FAN_TICKS)).into_iter().flatten();
        firsts.map(move |first| (run, first))
    });
    let (run, first) = windows.max_by(|one, other| turn(one.0, one.1).total_cmp(&turn(other.0, other.1)))?;
    Some((usual, run, first))
}

/// All of the track: what laps have in common, one judged lap, and where the pictures are.
fn track(id: &str, drives: &Drives, judged: usize, line: &TrendLine, shown: &[Vec2]) -> Figure {
    let steps = (line.length() / 3.0) as usize;
    let along = (0..=steps).map(|step| line.position_at(line.length() * step as f64 / steps as f64));
    let lap: &TimedLap = &drives.judged()[judged];
    let driven =
        lap.runs.iter().flat_map(|run| run.places.iter().step_by(6).map(point).chain([(f64::NAN, f64::NAN)]));
    let paths = vec![
        Path::new("trend line", along.map(|place| point(&place)).collect::<Vec<_>>()),
        Path::new(format!("lap {}", lap.name), driven.collect::<Vec<_>>()),
        Path::new("in the pictures", shown.iter().map(point).collect::<Vec<_>>()),
    ];
    Figure::new(
        format!("{id}-track"),
        format!("The line: {}", drives.name),
        Axis::new("x", "m"),
        Axis::new("y", "m"),
        Plot::Paths(paths),
    )
    .caption("The mean of the laps that taught, one that did not, and the five seconds shown below.")
}

fn point(place: &Vec2) -> (f64, f64) {
    (place.x, place.y)
}

/// A real path, and predictions fanned out from it.
struct LapFans {
    real: Vec<(f64, f64)>,
    predicted: Vec<(f64, f64)>,
}

impl LapFans {
    fn of(
        predictor: &mut dyn fairpath_predict::Predictor,
        run: &LapRun,
        first: usize,
    ) -> Result<Self, Missing> {
        let ticks: Vec<u32> = (1..=AHEAD_TICKS).collect();
        let mut positions = vec![Vec2::default(); ticks.len()];
        let end = first + WINDOW_TICKS + AHEAD_TICKS as usize;
        let mut fans =
            Self { real: run.places[first..end].iter().map(point).collect(), predicted: Vec::new() };
        for tick in 0..first + WINDOW_TICKS {
            let known = known_at(run, tick);
            predictor.learn(0, &known);
            if tick >= first && (tick - first).is_multiple_of(FAN_TICKS) {
                predictor.predict(0, &known, &ticks, &mut positions)?;
                fans.predicted.push(point(&known.newest().position));
                fans.predicted.extend(positions.iter().step_by(3).map(point));
                fans.predicted.push((f64::NAN, f64::NAN));
            }
        }
        Ok(fans)
    }

    /// What is far off leaves the picture: it is as wide as the real path and half as much again.
    fn figure(self, id: &str, drives: &Drives, contender: Contender) -> Figure {
        let low = |pick: fn(&(f64, f64)) -> f64| self.real.iter().map(pick).fold(f64::INFINITY, f64::min);
        let high =
            |pick: fn(&(f64, f64)) -> f64| self.real.iter().map(pick).fold(f64::NEG_INFINITY, f64::max);
        let (left, right, bottom, top) = (low(|p| p.0), high(|p| p.0), low(|p| p.1), high(|p| p.1));
        let margin = 0.25 * (right - left).max(top - bottom);
        let is_in = |(x, y): &(f64, f64)| {
            (left - margin..=right + margin).contains(x) && (bottom - margin..=top + margin).contains(y)
        };
        let predicted = self.predicted.iter().map(|p| if is_in(p) { *p } else { (f64::NAN, f64::NAN) });
        let paths = vec![
            Path::new("predicted, 2 s ahead", predicted.collect::<Vec<_>>()),
            Path::new("really", self.real.clone()),
        ];
        let name = contender.name();
        Figure::new(
            format!("{id}-picture-{name}"),
            format!("{name}: 5 s of {}", drives.name),
            Axis::new("x", "m"),
            Axis::new("y", "m"),
            Plot::Paths(paths),
        )
        .caption("Two seconds ahead, from every half second of the bends. The nearer the fans stay to the path, the better.")
    }
}
