//! X9: replicated objects over real sockets. `processes` plays it, `measure` compares the logs.

mod measure;
mod processes;

use fairpath::place::Placement;
use fairpath::time::Span;
use fairpath_sim::trace::{FollowedRow, StateRow};

use crate::experiment::{
    CannotRun, Declaration, DeclaredExperiment, ExperimentGroup, Progress, RunOption, Settings,
};
use crate::fairness::{LabScheduler, mean, spread};
use crate::figure::{Axis, Bars, Figure, Line, Plot};
use crate::outcome::{Claim, Column, Outcome, Rows};
use crate::{cells, judge};
use measure::{CaseMeasurements, measure};

pub(in crate::experiments) static EXPERIMENT: DeclaredExperiment = DeclaredExperiment {
    declaration: Declaration {
        group: ExperimentGroup::Accuracy,
        name: "live-objects",
        alias: "X9",
        title: "Replicate a tank over real sockets and measure what receivers see",
        source: "Banavar 2005 ch. 4",
        about: "A server, one owner that drives a tank and three receivers, each a process of its own, over QUIC. The receivers' packets pass \
                through a middleman and take 800, 500 and 200 ms each way. Every process logs by the machine's clock where the tank is: the \
                owner logs the truth, the receivers log where they placed it, by the clock that they estimate. Banavar 2005 built this and \
                measured nothing.",
        options: &[RunOption::Seed, RunOption::Delays, RunOption::Jitter, RunOption::Seconds],
        is_repeatable: false,
        ..Declaration::EMPTY
    },
    run,
};

fn run(settings: &Settings, progress: &dyn Progress) -> Result<Outcome, CannotRun> {
    let cases = cases(settings)?;
    let executable = settings.executable.as_deref().ok_or_else(|| CannotRun {
        what: "live-objects starts processes of the fairpath program, in real time".into(),
        fix: "run it by itself: fairpath lab run live-objects".into(),
    })?;
    let logs = processes::play(executable, &cases, progress)?;
    let measured = cases.iter().zip(&logs).map(|(case, logs)| {
        measure(case, logs).ok_or_else(|| CannotRun {
            what: format!("{}: a receiver did not see the tank for long enough", case.name),
            fix: "the machine may be too busy: run it again, or with shorter --delays".into(),
        })
    });
    let measured = measured.collect::<Result<Vec<_>, _>>()?;
    let mut outcome = Outcome::new(table(&cases, &measured));
    outcome.claims = claims(&cases, &measured);
    outcome.figures = figures(&cases, &measured);
    outcome.notes = notes(&measured);
    Ok(outcome)
}

#[derive(Clone, Debug)]
struct LiveCase {
    name: &'static str,
    placement: Placement,
    /// The scheduler; where it has a budget, that is one DR vector per trigger.
    scheduler: LabScheduler,
    /// Sends only what the scheduler wants, as in the papers: no heartbeats, promises or freezing.
    is_bare: bool,
    paths: Vec<PathDelays>,
    /// Delays vary evenly by up to this much to either side.
    jitter: Span,
    /// How long it is played, from the first start of a process.
    length: Span,
    seed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PathDelays {
    /// From the receiver to the server.
    up: Span,
    /// From the server to the receiver.
    down: Span,
}

impl PathDelays {
    /// How much longer the longer direction takes.
    fn asymmetry(self) -> Span {
        (self.up - self.down).abs()
    }
}

#[derive(Clone, Debug, Default)]
struct CaseLogs {
    /// The owner's log: the truth, and what it exported.
    owner: ProcessLog,
    /// Each receiver's log, in the order of [`LiveCase::paths`]: where it placed the owner's tank.
    receivers: Vec<ProcessLog>,
}

/// What one process logged, all instants by the clock of the machine.
#[derive(Clone, Debug, Default)]
struct ProcessLog {
    states: Vec<StateRow>,
    /// The DR vector that the process placed by, and since when.
    followed: Vec<FollowedRow>,
    clock: ClockAccuracy,
    /// The number of DR vectors that the server sent to it.
    vectors: u64,
}

/// A process's shared clock, compared with the machine's.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct ClockAccuracy {
    looks: u64,
    /// How often the clock was off by no more than the uncertainty that it stated.
    covered: u64,
    /// How far ahead it was on average.
    off_ms_mean: f64,
    off_ms_max: f64,
    stated_ms_mean: f64,
    stated_ms_max: f64,
}

/// How long a case is played by default. Connecting at 800 ms each way takes ten seconds, and what
/// is left is some 400 triggers: enough that one DR vector more or less is not one per cent.
const LENGTH: Span = Span::from_secs(130);
/// One-way delays, as in Banavar 2005's experiments on fairness.
const DELAYS_MS: [i64; 3] = [800, 500, 200];
/// How much longer the way to a receiver is than the way back, in the case where they differ.
const ASYMMETRY: Span = Span::from_millis(100);
/// Shorter, and there is hardly anything to measure.
const LENGTH_MIN: Span = Span::from_secs(15);
/// How many more DR vectors than 1/3 base count as equal cost: as in the table of error-index.
const COST_MAX: f64 = 1.01;
const FRAME_SECS: f64 = 1.0 / 60.0;

const LOCAL: usize = 0;
const HOP: usize = 1;
const GLOBAL: usize = 2;
const UNEQUAL: usize = 3;
const THIRD: usize = 4;
const INDEX: usize = 5;

fn cases(settings: &Settings) -> Result<Vec<LiveCase>, CannotRun> {
    let length = settings.length.unwrap_or(LENGTH);
    let cannot = |what: &str, fix: &str| Err(CannotRun { what: what.into(), fix: fix.into() });
    if length < LENGTH_MIN {
        return cannot("live-objects needs 15 seconds", "pass --seconds of 15 or more");
    }
    let delays = settings.delays_or(&DELAYS_MS);
    if !(2..=RECEIVERS_MAX).contains(&delays.len()) {
        return cannot("live-objects compares 2 to 8 receivers", "give from 2 to 8 --delays");
    }
    if delays.iter().any(|delay| *delay < ASYMMETRY) {
        return cannot(
            "live-objects needs delays of 100 ms: one case makes a direction 50 ms shorter",
            "give --delays of 100 or more",
        );
    }
    let case = |name, placement, scheduler| LiveCase {
        name,
        placement,
        scheduler,
        is_bare: false,
        paths: delays.iter().map(|delay| PathDelays { up: *delay, down: *delay }).collect(),
        jitter: settings.jitter_or_none(),
        length,
        seed: settings.seed,
    };
    let half = ASYMMETRY.scaled(0.5);
    let unequal = delays.iter().map(|delay| PathDelays { up: *delay - half, down: *delay + half }).collect();
    Ok(vec![
        case("local", Placement::Local, LabScheduler::BROADCAST),
        case("hop", Placement::Hop, LabScheduler::BROADCAST),
        case("global", Placement::Global, LabScheduler::BROADCAST),
        LiveCase {
            paths: unequal,
            ..case("global, unequal ways", Placement::Global, LabScheduler::BROADCAST)
        },
        LiveCase { is_bare: true, ..case("1/3 base", Placement::Global, LabScheduler::EVERY_NTH) },
        LiveCase { is_bare: true, ..case("error-index", Placement::Global, LabScheduler::ERROR_INDEX) },
        case("1/3 base, as shipped", Placement::Global, LabScheduler::EVERY_NTH),
        case("error-index, as shipped", Placement::Global, LabScheduler::ERROR_INDEX),
    ])
}

/// Each is a process, in each of eight cases.
const RECEIVERS_MAX: usize = 8;

fn table(cases: &[LiveCase], measured: &[CaseMeasurements]) -> Rows {
    let error = |key: &str, label: &str| Column::number(key, label, "units").decimals(3);
    let mut rows = Rows::new([
        Column::text("scene", "scene"),
        Column::number("down_ms", "way there", "ms").decimals(0),
        Column::number("up_ms", "way back", "ms").decimals(0),
        error("error_mean", "error, mean"),
        error("error_p95", "error, 95 %"),
        error("export_error_mean", "export error, mean"),
        error("after_p99", "after error, 99 %"),
        error("after_max", "after error, max"),
        Column::number("clock_off_ms", "clock ahead", "ms").decimals(2),
        Column::number("clock_off_max_ms", "off at worst", "ms").decimals(2),
        Column::number("clock_stated_ms", "stated", "± ms").decimals(1),
        Column::number("clock_covered_percent", "covered", "%").decimals(2),
        Column::number("vectors", "DR vectors", "").decimals(0),
        Column::number("vectors_per_trigger", "of all", "per trigger").decimals(4),
        Column::number("secs", "measured", "s").decimals(1),
    ]);
    for (case, measured) in cases.iter().zip(measured) {
        for (ways, seen) in case.paths.iter().zip(&measured.receivers) {
            rows.push(cells![
                case.name,
                ways.down.as_millis_f64(),
                ways.up.as_millis_f64(),
                mean(&seen.errors),
                quantile(&seen.errors, 0.95),
                mean(&seen.export_errors),
                quantile(&seen.after, 0.99),
                quantile(&seen.after, 1.0),
                seen.clock.off_ms_mean,
                seen.clock.off_ms_max,
                seen.clock.stated_ms_mean,
                100.0 * seen.clock.covered as f64 / seen.clock.looks as f64,
                seen.vectors,
                seen.vectors as f64 / measured.triggers as f64,
                measured.secs,
            ]);
        }
    }
    rows
}

fn claims(cases: &[LiveCase], measured: &[CaseMeasurements]) -> Vec<Claim> {
    let pairs = |on: usize, off: usize| {
        let pairs = measured[on].receivers.iter().zip(&measured[off].receivers);
        pairs.map(|(on, off)| (mean(&on.errors), mean(&off.errors))).collect::<Vec<_>>()
    };
    let cost = |case: usize| measured[case].vectors_per_trigger();
    vec![
        Claim::new(
            "X9.hop",
            "placed by hops the tank is closer to the truth than placed locally, for every receiver",
            judge::below_in_every(pairs(HOP, LOCAL)),
        ),
        Claim::new(
            "X9.global",
            "placed by the shared clock it is closer to the truth than placed locally, for every receiver",
            judge::below_in_every(pairs(GLOBAL, LOCAL)),
        ),
        Claim::new(
            "X9.after",
            "once a DR vector is there, what is left is at most speed × (stated uncertainty + half the asymmetry) and one frame",
            judge::at_most(worst_after(cases, measured, stated_ms, 1.0), 1.0),
        )
        .unit("of what is allowed, at worst")
        .remark("the stated uncertainty has room for ways as unequal as they can be, which is half a round trip"),
        Claim::new(
            "X9.after-true",
            "and in 99 % of frames at most speed × what the clocks of both really were off and one frame",
            judge::at_most(worst_after(cases, measured, truly_off_ms, 0.99), 1.0),
        )
        .unit("of what is allowed, at worst"),
        Claim::new(
            "X9.clock",
            "where ways are equal the stated uncertainty covers the true offset in at least 95 % of frames, for every receiver",
            judge::at_least(least_covered(cases, measured), 95.0),
        )
        .unit("% of frames, for the worst receiver"),
        Claim::new(
            "X9.clock-asymmetry",
            "where they are not, the clock is off by half of what they differ",
            judge::about(mean_off_ms(&measured[UNEQUAL]), 0.5 * ASYMMETRY.as_millis_f64()),
        )
        .unit("ms, the receivers' mean"),
        Claim::new(
            "X9.cost",
            "error-index sends at most 1 % more DR vectors for each trigger than 1/3 base",
            judge::at_most(cost(INDEX) / cost(THIRD), COST_MAX),
        )
        .unit("× 1/3 base")
        .remark(format!("{:.4} and {:.4} for each trigger", cost(INDEX), cost(THIRD))),
        Claim::new(
            "X9.fair",
            "and at that cost receivers are closer together with error-index than with 1/3 base",
            judge::below(measured[INDEX].spread() / measured[THIRD].spread(), 1.0),
        )
        .unit("× the spread of 1/3 base")
        .remark(format!("spreads {:.3} and {:.3} units", measured[INDEX].spread(), measured[THIRD].spread())),
    ]
}

/// The largest part of what is allowed that was left after a DR vector, less the clocks' error.
fn worst_after(
    cases: &[LiveCase],
    measured: &[CaseMeasurements],
    clock_ms: fn(&ClockAccuracy, &ClockAccuracy, PathDelays) -> f64,
    share: f64,
) -> f64 {
    let parts = [GLOBAL, UNEQUAL, THIRD, INDEX].into_iter().flat_map(|which| {
        let (case, measured) = (&cases[which], &measured[which]);
        case.paths.iter().zip(&measured.receivers).map(move |(ways, seen)| {
            let secs = 1e-3 * clock_ms(&seen.clock, &measured.owner_clock, *ways) + FRAME_SECS;
            quantile(&seen.after, share) / (measured.speed_max * secs)
        })
    });
    parts.fold(0.0, nan_or_max)
}

fn stated_ms(receiver: &ClockAccuracy, _: &ClockAccuracy, ways: PathDelays) -> f64 {
    receiver.stated_ms_mean + 0.5 * ways.asymmetry().as_millis_f64()
}

fn truly_off_ms(receiver: &ClockAccuracy, owner: &ClockAccuracy, _: PathDelays) -> f64 {
    receiver.off_ms_max + owner.off_ms_max
}

fn least_covered(cases: &[LiveCase], measured: &[CaseMeasurements]) -> f64 {
    let equal = cases.iter().zip(measured).flat_map(|(case, measured)| {
        case.paths.iter().zip(&measured.receivers).filter(|(ways, _)| ways.asymmetry() == Span::ZERO)
    });
    let shares = equal.map(|(_, seen)| 100.0 * seen.clock.covered as f64 / seen.clock.looks as f64);
    shares.fold(f64::INFINITY, f64::min)
}

fn mean_off_ms(measured: &CaseMeasurements) -> f64 {
    mean(&measured.receivers.iter().map(|seen| seen.clock.off_ms_mean.abs()).collect::<Vec<_>>())
}

impl CaseMeasurements {
    fn spread(&self) -> f64 {
        spread(&self.receivers.iter().map(|seen| mean(&seen.errors)).collect::<Vec<_>>())
    }

    fn vectors_per_trigger(&self) -> f64 {
        self.receivers.iter().map(|seen| seen.vectors).sum::<u64>() as f64 / self.triggers as f64
    }
}

fn notes(measured: &[CaseMeasurements]) -> Vec<String> {
    let skipped: u64 = measured.iter().flat_map(|each| &each.receivers).map(|seen| seen.unmeasured).sum();
    let frames: usize = measured.iter().flat_map(|each| &each.receivers).map(|seen| seen.errors.len()).sum();
    vec![
        "All cases are played at once, with the same tank, which drives the same path in each. A case is measured from three \
         seconds after every receiver has seen the tank. The truth between two frames of the owner is on the line between them."
            .into(),
        format!(
            "{frames} frames were measured; {skipped} were not, because the owner's process had stalled for more than {} ms and the truth \
             there is not known.",
            measure::GAP_US_MAX / 1000
        ),
        "1/3 base and error-index are compared as in the papers: only what the scheduler wants is sent, without heartbeats, without promises to \
         neglected receivers, and without freezing. As shipped, both send less or more than one DR vector per trigger, and are not compared."
            .into(),
        "The after error is the distance to what the owner exported, in frames in which a receiver reckons by the owner's newest DR \
         vector. Triggers and DR vectors are counted from the owner's first to its last; all other processes run before and after."
            .into(),
    ]
}

fn figures(cases: &[LiveCase], measured: &[CaseMeasurements]) -> Vec<Figure> {
    let receivers: Vec<String> =
        cases[GLOBAL].paths.iter().map(|ways| format!("{} ms", ways.down.as_millis_f64())).collect();
    let bars = |id: &str, title: &str, which: &[usize], caption: &str| {
        let bars = which.iter().fold(Bars::new(receivers.clone()), |bars, case| {
            let errors = measured[*case].receivers.iter().map(|seen| mean(&seen.errors));
            bars.series(cases[*case].name, errors.collect::<Vec<_>>())
        });
        let (x, y) = (Axis::new("receiver, by one-way delay", ""), Axis::new("mean error", "units"));
        Figure::new(id, title, x, y, Plot::Bars(bars)).caption(caption)
    };
    vec![
        bars(
            "x9-accuracy",
            "Mean distance between the real tank and the placed one",
            &[LOCAL, HOP, GLOBAL, UNEQUAL],
            "Local placement is wrong by the whole delay. The shared clock takes out all of it but news that is on the way; ways that \
             differ by 100 ms cost 50 ms.",
        ),
        bars(
            "x9-fairness",
            "The same with one DR vector per trigger for all three",
            &[THIRD, INDEX],
            "1/3 base sends to every receiver every third time, and distant receivers have larger errors. Error-index sends to \
             those receivers more often.",
        ),
        error_over_time(cases, measured),
    ]
}

const CLOSE_UP_SECS: f64 = 10.0;

fn error_over_time(cases: &[LiveCase], measured: &[CaseMeasurements]) -> Figure {
    let which = cases[GLOBAL].paths.len() / 2;
    let line = |case: usize| {
        let seen = &measured[case].receivers[which];
        let from = seen.secs.first().copied().unwrap_or(0.0);
        let points = seen.secs.iter().copied().zip(seen.errors.iter().copied());
        Line::new(
            cases[case].name,
            points.take_while(|(secs, _)| *secs < from + CLOSE_UP_SECS).collect::<Vec<_>>(),
        )
    };
    Figure::new(
        "x9-error",
        format!("Error over ten seconds at {} ms", cases[GLOBAL].paths[which].down.as_millis_f64()),
        Axis::new("time since the owner began to drive", "s"),
        Axis::new("distance to the real tank", "units"),
        Plot::Lines([LOCAL, HOP, GLOBAL].map(line).into()),
    )
}

/// The value that this share of all is at or below; not a number if there is none.
fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = (sorted.len().saturating_sub(1) as f64 * share).round() as usize;
    sorted.get(place).copied().unwrap_or(f64::NAN)
}

/// What was not measured must not look small.
fn nan_or_max(one: f64, other: f64) -> f64 {
    if one.is_nan() || other.is_nan() { f64::NAN } else { one.max(other) }
}
