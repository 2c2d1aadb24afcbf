//! The papers' figures: mean and spread over time as lines, every receiver's error as bars.

use super::score::Score;
use crate::figure::{Axis, Bars, Figure, Line, Plot};

/// Points of a line at most: more than a plot has pixels across says nothing.
const POINTS_MAX: usize = 400;

pub(crate) fn over_time(id: &str, title: &str, scores: &[&Score], unit: &str) -> [Figure; 2] {
    let figure = |what: &str, caption: &str, of: fn(&(f64, f64, f64)) -> (f64, f64)| {
        let line = |score: &&Score| {
            let series = score.over_time();
            let every = series.len().div_ceil(POINTS_MAX).max(1);
            let last = series.len().saturating_sub(1);
            let kept = series.iter().enumerate().filter(|(at, _)| at % every == 0 || *at == last);
            Line::new(score.label.clone(), kept.map(|(_, point)| of(point)).collect::<Vec<_>>())
        };
        Figure::new(
            format!("{id}-{what}"),
            format!("{title}: {what} of the accumulated errors"),
            Axis::new("time", "s"),
            Axis::new(format!("{what} of the accumulated errors"), error_unit(unit)),
            Plot::Lines(scores.iter().map(line).collect()),
        )
        .caption(caption)
    };
    [
        figure("mean", "Lower is more accurate.", |(secs, mean, _)| (*secs, *mean)),
        figure(
            "spread",
            "Lower is fairer: the standard deviation over the receivers.",
            |(secs, _, spread)| (*secs, *spread),
        ),
    ]
}

pub(crate) fn ledger_off(id: &str, scores: &[&Score], unit: &str) -> Figure {
    let line = |score: &&Score| {
        let Some(game) = score.games.first() else { return Line::default() };
        let points: Vec<(f64, f64)> =
            game.belief.secs.iter().copied().zip(game.belief.off.iter().copied()).collect();
        Line::new(score.label.clone(), averaged(&points))
    };
    Figure::new(
        format!("{id}-ledger"),
        "How far off the sender’s own estimate was",
        Axis::new("time", "s"),
        Axis::new("|believed − true|, mean over receivers", error_unit(unit)),
        Plot::Lines(scores.iter().map(line).collect()),
    )
    .caption("In the first game, at the triggers. It does not grow: receipts settle what was estimated.")
}

/// As few points as a plot can show, each the mean of those it stands for.
fn averaged(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mean = |points: &[(f64, f64)]| {
        let (x, y) = points.iter().fold((0.0, 0.0), |sum, point| (sum.0 + point.0, sum.1 + point.1));
        (x / points.len() as f64, y / points.len() as f64)
    };
    points.chunks(points.len().div_ceil(POINTS_MAX / 4).max(1)).map(mean).collect()
}

/// More receivers than this are shown as a line, not as bars.
const BARS_MAX: usize = 8;
/// More groups of bars than this do not fit side by side.
const GROUPS_MAX: usize = 6;

/// Every receiver's error at the end: bars grouped by trial, or lines if there are many receivers.
pub(crate) fn per_receiver(
    id: &str,
    title: &str,
    scores: &[&Score],
    receivers: &[String],
    unit: &str,
) -> Vec<Figure> {
    if receivers.len() > BARS_MAX {
        return vec![along_receivers(id, title, scores, unit)];
    }
    let plots = scores.len().div_ceil(GROUPS_MAX).max(1);
    let parts: Vec<&[&Score]> = scores.chunks(scores.len().div_ceil(plots).max(1)).collect();
    let id_of = |part: usize| if parts.len() > 1 { format!("{id}-{}", part + 1) } else { id.to_owned() };
    let bars = |(part, scores): (usize, &&[&Score])| bars_of(&id_of(part), title, scores, receivers, unit);
    parts.iter().enumerate().map(bars).collect()
}

fn bars_of(id: &str, title: &str, scores: &[&Score], receivers: &[String], unit: &str) -> Figure {
    let groups: Vec<String> = scores.iter().map(|score| score.label.clone()).collect();
    let series = |receiver: usize| scores.iter().map(|score| score.receivers()[receiver]).collect::<Vec<_>>();
    let bars = receivers
        .iter()
        .enumerate()
        .fold(Bars::new(groups), |bars, (receiver, name)| bars.series(name.clone(), series(receiver)));
    Figure::new(
        format!("{id}-receivers"),
        format!("{title}: every receiver’s accumulated error"),
        Axis::new("", ""),
        Axis::new("accumulated error", error_unit(unit)),
        Plot::Bars(bars),
    )
    .caption("Equal bars are fair, low bars are accurate.")
}

fn along_receivers(id: &str, title: &str, scores: &[&Score], unit: &str) -> Figure {
    let line = |score: &&Score| {
        let points = score.receivers().into_iter().enumerate().map(|(at, error)| (at as f64 + 1.0, error));
        Line::new(score.label.clone(), points.collect::<Vec<_>>())
    };
    Figure::new(
        format!("{id}-receivers"),
        format!("{title}: every receiver’s accumulated error"),
        Axis::new("receiver, in the order given", ""),
        Axis::new("accumulated error", error_unit(unit)),
        Plot::Lines(scores.iter().map(line).collect()),
    )
    .caption("A level line is fair, a low one is accurate.")
}

/// Accumulated error is a length times a time.
pub(crate) fn error_unit(unit: &str) -> String {
    format!("{unit}·s")
}
