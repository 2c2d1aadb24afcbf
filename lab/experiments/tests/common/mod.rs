//! A small experiment that uses everything the frame offers: a ball thrown at several angles, where
//! the right answers are known.

use fairpath::random::Random;
use fairpath_experiments::cells;
use fairpath_experiments::experiment::{
    CannotRun, Declaration, Experiment, Progress, RunOption, Settings, map_in_order,
};
use fairpath_experiments::figure::{Axis, Bars, Figure, Histogram, Line, Path, Plot};
use fairpath_experiments::judge;
use fairpath_experiments::outcome::{Claim, Column, Outcome, Rows};

pub(crate) struct Throw;

const GRAVITY: f64 = 9.81;
const SPEED: f64 = 20.0;

impl Experiment for Throw {
    fn declaration(&self) -> &Declaration {
        &Declaration {
            name: "throw",
            alias: "T1",
            title: "How far does a ball fly?",
            source: "schoolbook <1>",
            about: "A ball is thrown at 20 m/s at several angles, with a little scatter in the speed, and its \
                    range is measured.",
            options: &[RunOption::Seed],
            ..Declaration::EMPTY
        }
    }

    fn run(&self, settings: &Settings, progress: &dyn Progress) -> Result<Outcome, CannotRun> {
        let angles: Vec<f64> = (1..=8).map(|step| f64::from(step) * 10.0).collect();
        progress.begin("throwing", angles.len() as u64);
        let random = Random::from_seed(settings.seed);
        let ranges = map_in_order(&angles, progress, |&angle| {
            let mut random = random.fork(angle as u64);
            (0..200).map(|_| range(SPEED + 0.5 * random.normal(), angle)).collect::<Vec<f64>>()
        });
        let mut rows = Rows::new([
            Column::text("style", "style"),
            Column::number("angle_deg", "angle", "°").decimals(0),
            Column::number("throws", "throws", ""),
            Column::number("range_m", "mean range", "m"),
            Column::number("error", "error of the mean", ""),
        ]);
        for (angle, thrown) in angles.iter().zip(&ranges) {
            let style = if *angle < 45.0 { "flat" } else { "high & steep" };
            let off = mean(thrown) / range(SPEED, *angle) - 1.0;
            rows.push(cells![style, *angle, thrown.len(), mean(thrown), off]);
        }
        let means: Vec<f64> = ranges.iter().map(|thrown| mean(thrown)).collect();
        Ok(Outcome::new(rows)
            .claim(
                Claim::new("T1.symmetric", "30° and 60° fly equally far", judge::about(means[2], means[5]))
                    .unit("m")
                    .paper("equal"),
            )
            .claim(Claim::new(
                "T1.steep",
                "80° flies far less than 40°",
                judge::far_below(means[7], means[3]),
            ))
            .claim(
                Claim::new("T1.water", "the ball floats", judge::not_applicable())
                    .remark("There is no water."),
            )
            .figure(lines(&angles, &ranges))
            .figure(bars(&angles, &ranges))
            .figure(paths(&angles))
            .figure(histogram(&ranges))
            .figure(misses(&angles, &ranges))
            .note("Air drag is left out."))
    }
}

fn range(speed: f64, angle_deg: f64) -> f64 {
    speed * speed * (2.0 * angle_deg.to_radians()).sin() / GRAVITY
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn extremes(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(*v), high.max(*v)))
}

fn lines(angles: &[f64], ranges: &[Vec<f64>]) -> Figure {
    let thrown: Vec<_> = angles.iter().zip(ranges).map(|(angle, range)| (*angle, mean(range))).collect();
    let band: Vec<_> = ranges.iter().map(|range| extremes(range)).collect();
    let theory: Vec<_> =
        (20..160).map(|half| f64::from(half) / 2.0).map(|a| (a, 0.8 * range(SPEED, a))).collect();
    let other: Vec<_> = theory.iter().map(|(a, r)| (*a, 0.6 * r)).collect();
    let plot = Plot::Lines(vec![
        Line::new("thrown", thrown).band(band),
        Line::new("80 % of theory", theory),
        Line::new("less", other),
    ]);
    Figure::new("t1-range", "Range over angle", Axis::new("angle", "°"), Axis::new("range", "m"), plot)
        .caption("The band is the shortest and the longest of 200 throws.")
}

fn bars(angles: &[f64], ranges: &[Vec<f64>]) -> Figure {
    let groups: Vec<String> = angles.iter().map(|angle| format!("thrown at {angle}°")).collect();
    let means: Vec<f64> = ranges.iter().map(|range| mean(range)).collect();
    let theory: Vec<f64> = angles.iter().map(|angle| range(SPEED, *angle)).collect();
    let spread: Vec<(f64, f64)> = ranges.iter().map(|range| extremes(range)).collect();
    let bars = Bars::new(groups).series_with_ranges("measured", means, spread).series("theory", theory);
    Figure::new(
        "t1-compare",
        "Measured against theory",
        Axis::new("angle", ""),
        Axis::new("range", "m"),
        Plot::Bars(bars),
    )
    .caption("Whiskers reach from the shortest to the longest throw.")
}

fn paths(angles: &[f64]) -> Figure {
    let fly = |angle: f64| -> Vec<(f64, f64)> {
        let (vx, vy) = (SPEED * angle.to_radians().cos(), SPEED * angle.to_radians().sin());
        let time = 2.0 * vy / GRAVITY;
        (0..=60)
            .map(|step| time * f64::from(step) / 60.0)
            .map(|t| (vx * t, vy * t - GRAVITY * t * t / 2.0))
            .collect()
    };
    let some = [angles[3], angles[5], angles[1]];
    let paths = some.iter().map(|angle| Path::new(format!("{angle}°"), fly(*angle))).collect();
    Figure::new(
        "t1-flight",
        "Three flights",
        Axis::new("x", "m"),
        Axis::new("height", "m"),
        Plot::Paths(paths),
    )
    .caption("A ring marks the start, a dot the end.")
}

fn histogram(ranges: &[Vec<f64>]) -> Figure {
    let series = [("40°", ranges[3].as_slice()), ("70°", ranges[6].as_slice())];
    let plot = Plot::Histogram(Histogram::of(&series, 40));
    Figure::new("t1-scatter", "Scatter of the range", Axis::new("range", "m"), Axis::new("share", "%"), plot)
}

fn misses(angles: &[f64], ranges: &[Vec<f64>]) -> Figure {
    let miss = angles.iter().zip(ranges).map(|(a, r)| (*a, (mean(r) - range(SPEED, *a)).abs() * 1e-6));
    let plot = Plot::Lines(vec![Line::new("miss", miss.collect::<Vec<_>>())]);
    Figure::new(
        "t1-miss",
        "Miss of the mean",
        Axis::new("angle", "°"),
        Axis::new("miss", "km").logarithmic(),
        plot,
    )
}
