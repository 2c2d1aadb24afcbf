//! X1: how far a placed entity is from the real one, with and without synchronised clocks.

mod run;

use fairpath::motion::MotionKind;
use fairpath::random::Random;
use fairpath::time::{SharedInstant, Span};
use fairpath::vector::{Planar, Vec2, Vec3};
use fairpath_eval::recording::{Format, LengthUnit};
use fairpath_games::tanks::Script;
use fairpath_sim::LinkConfig;

use self::run::{ESTIMATED, Frame, GLOBAL, HOP, LOCAL, Measured, THRESHOLD, run};
use crate::cells;
use crate::experiment::{
    CannotRun, Declaration, DeclaredExperiment, ExperimentGroup, Progress, Recorded, RunOption, Settings,
    map_in_order,
};
use crate::figure::{Axis, Bars, Figure, Line, Path, Plot};
use crate::judge;
use crate::outcome::{Claim, Column, Outcome, Rows};
use crate::truth::Truth;

pub(in crate::experiments) static EXPERIMENT: DeclaredExperiment = DeclaredExperiment {
    declaration: Declaration {
        group: ExperimentGroup::Accuracy,
        name: "placement",
        alias: "X1",
        title: "Compare local, hop and global placement with the true position",
        source: "Banavar 2005 fig 2.2",
        about: "One owner drives, one receiver watches from a distance. The owner sends a DR vector whenever the receiver's guess would be off \
                by more than 0.3, and once a second. Bytes reach the receiver through a simulated link, one delay later. The receiver places the \
                entity in four ways: from the moment the message arrives (local), less an estimated one-way time (hop), from its time stamp on \
                an exact shared clock (global), and from its time stamp on the clock that it estimates through its own jittery link (estimated). \
                The distance to the real entity is measured 60 times per second.",
        options: &[RunOption::Seed, RunOption::Motion, RunOption::Delays, RunOption::Jitter],
        ..Declaration::EMPTY
    },
    run: run_experiment,
};

/// One-way delays, as in the paper's test bed.
const DELAYS_MS: [i64; 3] = [100, 300, 800];
/// How much of it a close-up shows, as the paper does.
const CLOSE_UP: Span = Span::from_secs(5);
const LENGTH: Span = Span::from_secs(120);
/// How many tanks of each script, each with its own dice.
const TANKS: u64 = 4;
/// Stretches of a recording that are shorter than this are mostly start-up.
const STRETCH_MIN: Span = Span::from_secs(5);
/// The jittery link varies its delay by this part of it to either side.
const JITTER_SHARE: f64 = 0.3;

fn run_experiment(settings: &Settings, progress: &dyn Progress) -> Result<Outcome, CannotRun> {
    let bench = Bench { settings, progress, delays: settings.delays_or(&DELAYS_MS) };
    match &settings.motion {
        None => Ok(bench.outcome(&tanks(settings.seed), &LengthUnit::GameUnits.to_string())),
        Some(recorded) => match recorded.recording.format {
            Format::Bzflag => bench.recorded::<Vec3>(recorded, MotionKind::Circular),
            Format::Team => bench.recorded::<Vec2>(recorded, MotionKind::Linear),
            Format::Trace if recorded.recording.is_flat() => {
                bench.recorded::<Vec2>(recorded, MotionKind::Circular)
            }
            Format::Trace => bench.recorded::<Vec3>(recorded, MotionKind::Circular),
        },
    }
}

struct Motion<V: Planar> {
    name: String,
    model: MotionKind,
    truths: Vec<Truth<V>>,
}

fn tanks(seed: u64) -> Vec<Motion<Vec2>> {
    let dice = Random::from_seed(seed);
    let motion = |name: &str, script: Script| Motion {
        name: name.to_owned(),
        model: MotionKind::Circular,
        truths: (0..TANKS).map(|tank| Truth::scripted(&script, dice.fork(tank).bits(), LENGTH)).collect(),
    };
    vec![
        motion("linear", Script::STRAIGHT),
        motion("circular", Script::CIRCLE),
        motion("random", Script::random(dice.fork(TANKS))),
    ]
}

struct Measurement {
    motion: String,
    delay: Span,
    mean_speed: f64,
    steady: Measured,
    jittery: Measured,
}

struct Bench<'a> {
    settings: &'a Settings,
    progress: &'a dyn Progress,
    delays: Vec<Span>,
}

impl Bench<'_> {
    fn recorded<V: Planar>(&self, recorded: &Recorded, model: MotionKind) -> Result<Outcome, CannotRun> {
        let truths = Truth::<V>::recorded(&recorded.recording, STRETCH_MIN);
        if truths.is_empty() {
            return Err(CannotRun {
                what: format!("{} has no clean stretch of {} s", recorded.file, STRETCH_MIN.as_secs_f64()),
                fix: "record for longer, or mark fewer breaks".into(),
            });
        }
        let motion = Motion { name: recorded.file.clone(), model, truths };
        Ok(self.outcome(&[motion], &recorded.recording.unit.to_string()))
    }

    fn outcome<V: Planar>(&self, motions: &[Motion<V>], unit: &str) -> Outcome {
        let measured = self.measure(motions);
        let mut outcome = Outcome::new(table(&measured, unit));
        outcome.claims = claims(&measured, unit);
        outcome.figures = vec![mean_errors(&measured, unit)];
        outcome.figures.extend(motions.iter().flat_map(|motion| self.close_up(motion, unit)));
        outcome.notes = notes(&measured, unit);
        outcome
    }

    fn measure<V: Planar>(&self, motions: &[Motion<V>]) -> Vec<Measurement> {
        let jobs: Vec<_> = motions
            .iter()
            .flat_map(|motion| self.delays.iter().map(move |delay| (motion, *delay)))
            .flat_map(|(motion, delay)| motion.truths.iter().map(move |truth| (motion, truth, delay)))
            .collect();
        self.progress.begin("placing", jobs.len() as u64);
        let numbered: Vec<_> = (0..).zip(&jobs).collect();
        let runs = map_in_order(&numbered, self.progress, |(number, (motion, truth, delay))| {
            let mut random = Random::from_seed(self.settings.seed).fork(1_000 + number);
            let [steady, jittery] = self.links(*delay);
            let steady = run(truth, motion.model, &steady, &mut random, |_| ());
            (steady, run(truth, motion.model, &jittery, &mut random, |_| ()))
        });
        let mut runs = runs.into_iter();
        let mut measured = Vec::new();
        for motion in motions {
            for &delay in &self.delays {
                let (mut steady, mut jittery) = (Measured::default(), Measured::default());
                for (one, other) in runs.by_ref().take(motion.truths.len()) {
                    steady.merge(one);
                    jittery.merge(other);
                }
                measured.push(Measurement {
                    motion: motion.name.clone(),
                    delay,
                    mean_speed: mean_speed(&motion.truths),
                    steady,
                    jittery,
                });
            }
        }
        measured
    }

    fn links(&self, delay: Span) -> [LinkConfig; 2] {
        let asked = self.settings.jitter_or_none();
        let varies = asked.max(delay.scaled(JITTER_SHARE));
        [asked, varies].map(|jitter| LinkConfig::default().delay(delay).jitter_uniform(jitter))
    }

    /// The paper's picture: the error over five seconds, and the paths in the plane.
    fn close_up<V: Planar>(&self, motion: &Motion<V>, unit: &str) -> Vec<Figure> {
        let longest = motion.truths.iter().max_by_key(|truth| truth.length());
        let (Some(truth), Some(&delay)) = (longest, middle(&self.delays)) else { return Vec::new() };
        let begin = truth.ticks[0].0;
        let (from, to) = liveliest(truth);
        let mut frames: Vec<Frame<V>> = Vec::new();
        let mut random = Random::from_seed(self.settings.seed).fork(999);
        run(truth, motion.model, &self.links(delay)[0], &mut random, |frame| {
            if (begin + from..begin + to).contains(&frame.at) {
                frames.push(*frame);
            }
        });
        vec![
            error_over_time(&motion.name, delay, begin, &frames, unit),
            paths(&motion.name, delay, &frames, unit),
        ]
    }
}

fn table(measured: &[Measurement], unit: &str) -> Rows {
    let error = |key: &str, label: &str| Column::number(key, label, unit).decimals(3);
    let mut rows = Rows::new([
        Column::text("motion", "motion"),
        Column::number("delay_ms", "delay", "ms").decimals(0),
        error("local_mean", "local, mean"),
        error("hop_mean", "hop, mean"),
        error("global_mean", "global, mean"),
        error("local_p95", "local, 95 %"),
        error("global_p95", "global, 95 %"),
        Column::number("global_after_max", "after error, max", unit),
        Column::number("global_worse_percent", "global worse than local", "% of time").decimals(1),
        error("jittery_global_mean", "jittery: global"),
        error("jittery_estimated_mean", "jittery: estimated"),
        Column::number("clock_error_ms", "clock off by", "ms").decimals(2),
        Column::number("clock_uncertainty_ms", "stated", "± ms").decimals(1),
        Column::number("vectors_per_s", "DR vectors", "/s").decimals(2),
        Column::number("bytes_per_vector", "bytes each", "").decimals(1),
    ]);
    for Measurement { motion, delay, steady, jittery, .. } in measured {
        rows.push(cells![
            motion.as_str(),
            delay.as_millis_f64(),
            steady.mean(LOCAL),
            steady.mean(HOP),
            steady.mean(GLOBAL),
            steady.quantile(LOCAL, 0.95),
            steady.quantile(GLOBAL, 0.95),
            steady.after[GLOBAL].max,
            percent(steady.global_worse_ticks, steady.ticks()),
            jittery.mean(GLOBAL),
            jittery.mean(ESTIMATED),
            jittery.clock_error_secs.mean() * 1e3,
            jittery.clock_uncertainty_secs.mean() * 1e3,
            steady.vectors as f64 / steady.secs,
            steady.bytes as f64 / steady.vectors as f64,
        ]);
    }
    rows
}

/// Below this two paths are the same: what is left is rounding, not placement.
const AFTER_ERROR_MAX: f64 = 1e-9;

fn claims(measured: &[Measurement], unit: &str) -> Vec<Claim> {
    let after = measured.iter().map(|each| each.steady.after[GLOBAL].max).fold(0.0, f64::max);
    let means = measured.iter().map(|each| (each.steady.mean(GLOBAL), each.steady.mean(LOCAL)));
    let worse = measured.iter().map(|each| percent(each.steady.global_worse_ticks, each.steady.ticks()));
    let drives_straight =
        measured.iter().find(|each| each.motion == "linear" && each.delay == Span::from_millis(300));
    vec![
        Claim::new(
            "X1.after-zero",
            "with synchronised clocks nothing is left of the export error once a DR vector has arrived",
            judge::below(after, AFTER_ERROR_MAX),
        )
        .unit(unit)
        .paper("0"),
        Claim::new(
            "X1.global-below-local",
            "the mean error of global placement is below that of local placement for every motion and delay",
            judge::below_in_every(means),
        )
        .paper("substantially less")
        .remark(worst_cell(measured)),
        Claim::new(
            "X1.linear-local",
            "at 300 ms a tank that drives straight is placed 0.3 s of its way behind by local placement",
            drives_straight.map_or_else(judge::not_applicable, |each| {
                judge::about(each.steady.mean(LOCAL), 0.3 * each.mean_speed)
            }),
        )
        .unit(unit)
        .paper("up to 2 tank lengths, 12 units"),
        Claim::new(
            "X1.linear-global",
            "and about where it is by global placement: within 5 % of that",
            drives_straight.map_or_else(judge::not_applicable, |each| {
                judge::at_most(each.steady.mean(GLOBAL), judge::ABOUT * each.steady.mean(LOCAL))
            }),
        )
        .unit(unit)
        .paper("close to zero"),
        Claim::new(
            "X1.stops-overshoot",
            "at times, where something stops or turns, global placement overshoots and is the worse one",
            judge::above(worse.fold(0.0, f64::max), 0.0),
        )
        .unit("% of time, in the worst cell")
        .paper("a few instances, at stops"),
    ]
}

/// Where global placement gains least: motion to and fro faster than news is better shown late.
fn worst_cell(measured: &[Measurement]) -> String {
    let ratio = |each: &Measurement| each.steady.mean(GLOBAL) / each.steady.mean(LOCAL);
    let worst = measured.iter().max_by(|one, other| ratio(one).total_cmp(&ratio(other)));
    worst.map_or_else(String::new, |each| {
        format!("closest in {} at {} ms", each.motion, each.delay.as_millis_f64())
    })
}

fn notes(measured: &[Measurement], unit: &str) -> Vec<String> {
    let lost: Vec<String> = measured
        .iter()
        .map(|each| {
            let (exact, estimated) = (each.jittery.mean(GLOBAL), each.jittery.mean(ESTIMATED));
            format!(
                "{} at {} ms {:+.1} %",
                each.motion,
                each.delay.as_millis_f64(),
                100.0 * (estimated / exact - 1.0)
            )
        })
        .collect();
    let covered: u64 = measured.iter().map(|each| each.jittery.clock_covered_ticks).sum();
    let ticks: u64 = measured.iter().map(|each| each.jittery.ticks()).sum();
    vec![
        format!(
            "Receivers are fed only what they decode. A DR vector is cut when the guess is off by more than {THRESHOLD} {unit} and \
             once a second. Time on the wire is whole milliseconds and positions are whole centimetres; the owner predicts from \
             the decoded values, so the after error does not contain them."
        ),
        format!(
            "What an estimated clock costs, on links that vary by {:.0} % to either side: mean error {}. The stated uncertainty covered \
             the clock's true error {:.2} % of the time.",
            100.0 * JITTER_SHARE,
            lost.join(", "),
            percent(covered, ticks),
        ),
    ]
}

fn mean_errors(measured: &[Measurement], unit: &str) -> Figure {
    let groups: Vec<String> =
        measured.iter().map(|each| format!("{}, {} ms", each.motion, each.delay.as_millis_f64())).collect();
    let series = |way: usize| measured.iter().map(|each| each.steady.mean(way)).collect::<Vec<_>>();
    let estimated: Vec<f64> = measured.iter().map(|each| each.jittery.mean(ESTIMATED)).collect();
    let bars = Bars::new(groups)
        .series("local", series(LOCAL))
        .series("hop", series(HOP))
        .series("global, exact clock", series(GLOBAL))
        .series("global, estimated clock and jittery link", estimated);
    Figure::new(
        "x1-mean-errors",
        "Mean distance between the real and the placed entity",
        Axis::new("motion and one-way delay", ""),
        Axis::new("mean error", unit),
        Plot::Bars(bars),
    )
    .caption("Local placement is wrong by the whole delay, all the time. Global placement is wrong only while news is on the way.")
}

fn error_over_time<V: Planar>(
    motion: &str,
    delay: Span,
    begin: SharedInstant,
    frames: &[Frame<V>],
    unit: &str,
) -> Figure {
    let line = |label: &str, way: usize| {
        let points: Vec<(f64, f64)> = frames
            .iter()
            .map(|frame| ((frame.at - begin).as_secs_f64(), frame.placed[way].distance(frame.truth)))
            .collect();
        Line::new(label, points)
    };
    Figure::new(
        format!("x1-error-{motion}"),
        format!("Error over five seconds: {motion}, {} ms", delay.as_millis_f64()),
        Axis::new("time", "s"),
        Axis::new("distance to the real one", unit),
        Plot::Lines(vec![line("local", LOCAL), line("hop", HOP), line("global", GLOBAL)]),
    )
    .caption("Global placement returns to the threshold as soon as a DR vector arrives; peaks are turns and stops that are not known yet.")
}

fn paths<V: Planar>(motion: &str, delay: Span, frames: &[Frame<V>], unit: &str) -> Figure {
    let path = |label: &str, position: &dyn Fn(&Frame<V>) -> V| {
        let point = |frame: &Frame<V>| {
            let plane = position(frame).on_plane();
            (plane.x, plane.y)
        };
        Path::new(label, frames.iter().map(point).collect::<Vec<_>>())
    };
    Figure::new(
        format!("x1-paths-{motion}"),
        format!("The same five seconds from above: {motion}, {} ms", delay.as_millis_f64()),
        Axis::new("x", unit),
        Axis::new("y", unit),
        Plot::Paths(vec![
            path("real", &|frame| frame.truth),
            path("placed locally", &|frame| frame.placed[LOCAL]),
            path("placed globally", &|frame| frame.placed[GLOBAL]),
        ]),
    )
    .caption("Local placement follows the same path late; global placement leaves it where the news has not arrived, and jumps back.")
}

/// The five seconds, from a whole second, with most changes of velocity; start-up is left out.
fn liveliest<V: Planar>(truth: &Truth<V>) -> (Span, Span) {
    let begin = truth.ticks[0].0;
    let last = (truth.length() - CLOSE_UP).as_secs_f64().floor().max(0.0) as i64;
    let changes = |from: i64| {
        let within = begin + Span::from_secs(from)..begin + Span::from_secs(from) + CLOSE_UP;
        let pairs = truth.ticks.windows(2).filter(|pair| within.contains(&pair[0].0));
        pairs.filter(|pair| pair[0].1.velocity.distance(pair[1].1.velocity) > 1.0).count()
    };
    // Of equally lively ones the first.
    let from = (last.min(5)..=last).rev().max_by_key(|from| changes(*from)).unwrap_or(0);
    (Span::from_secs(from), Span::from_secs(from) + CLOSE_UP)
}

fn middle<T>(items: &[T]) -> Option<&T> {
    items.get(items.len() / 2)
}

fn mean_speed<V: Planar>(truths: &[Truth<V>]) -> f64 {
    truths.iter().map(Truth::mean_speed).sum::<f64>() / truths.len() as f64
}

fn percent(part: u64, whole: u64) -> f64 {
    100.0 * part as f64 / whole as f64
}
