//! X15: predict cars by the mean line of earlier laps.

use std::sync::Arc;

use fairpath::time::SharedInstant;
use fairpath_eval::laps::Contender;
use fairpath_eval::recording::RecordedLap;
use fairpath_games::race::{Lap, LapDice, Preset, RaceConfig, Shape, Track, record_laps};
use fairpath_predict::LapShape;

use super::DECLARATION;
use crate::experiment::{CannotRun, Declaration, DeclaredExperiment, Progress, RunOption, Settings};
use crate::judge;
use crate::laps::{Drives, HORIZONS_MS, LapTables, claim_below, claims, figures, horizons_in_ticks, note};
use crate::outcome::{Claim, Outcome};

pub(in crate::experiments) static EXPERIMENT: DeclaredExperiment = DeclaredExperiment {
    declaration: Declaration {
        name: "trend-line",
        alias: "X15",
        title: "Predict cars by the mean line of earlier laps",
        source: "Jawad 2017 table 4.2",
        about: "Four bots with different lines and habits drive fifty laps, from which the trend line is made, and sixteen others with other \
                random numbers, on which every predictor is asked at every tick where the car will be. All see the same causal estimates from \
                positions. Jawad 2017's prediction is there as printed, with its recursion for the speed, and as coded, with plain differences, \
                each with a sample at every tick and with one every 0.2 s as in Jawad 2017. \
                Ours continues along the line, and learned from the fifty laps alone how far to believe what. Jawad 2017's own numbers come from \
                another game: compare their order, not their size.",
        options: &[RunOption::Seed, RunOption::Motion, RunOption::Laps],
        ..DECLARATION
    },
    run,
};

const WHY_NOT_PRINTED_SAMPLED: &str = "The recursion swings once in 0.2 s instead of once in a tick, and as far: the interval makes it no more stable";
const WHY_NOT_CODED_SAMPLED: &str = "The acceleration is less noisy over 0.2 s, but it and the speed are up to 0.2 s old, and the car's own heading is still thrown away";

/// How many laps the line is made of: Jawad 2017's fifty runs of four drivers.
const LAPS_LEARNED: usize = 50;
const LAPS_JUDGED: u32 = 4;

/// Jawad 2017's table 4.2: delay in ms, mean error with trend line and plain, in its game's units.
const TABLE_4_2: [(f64, f64, f64); 6] = [
    (50.0, 173.45, 193.33),
    (100.0, 179.83, 201.74),
    (150.0, 184.66, 211.59),
    (200.0, 206.257, 218.06),
    (250.0, 229.43, 234.642),
    (300.0, 248.321, 267.675),
];
/// Up to where Jawad 2017 looks.
const PAPER_MS_MAX: f64 = 300.0;

fn run(settings: &Settings, progress: &dyn Progress) -> Result<Outcome, CannotRun> {
    let horizons = horizons_in_ticks(&HORIZONS_MS)?;
    let mut tables = LapTables::new(&horizons);
    let mut outcome = Outcome::default();
    let all = all_drives(settings)?;
    if all.is_empty() {
        return Ok(without_laps());
    }
    for drives in all {
        let fared = drives.run(&horizons, progress)?;
        tables.add(&drives, &fared);
        let claim = |id: &str, one: Contender, other: Contender| {
            claim_below(id, &drives, &fared, (one, other), PAPER_MS_MAX)
        };
        outcome.claims.push(
            claim("X15.paper", Contender::TrendLine, Contender::Tdm)
                .paper("lower at every delay")
                .reading("our predictor, along the line's curve"),
        );
        outcome.claims.push(explained(
            claim("X15.s4-printed", Contender::TangentPrinted, Contender::Tdm)
                .paper("lower at every delay")
                .reading("as printed, a sample every tick"),
            "The recursion never forgets how it began: speed swings between nothing and twice the true one",
        ));
        outcome.claims.push(explained(
            claim("X15.s4-coded", Contender::TangentCoded, Contender::Tdm)
                .paper("lower at every delay")
                .reading("as coded, a sample every tick"),
            "A car that is not on the line does not go where the line goes: its own heading is thrown away, and an acceleration from \
             two neighbouring ticks is noise",
        ));
        for (id, one, why_not) in [
            ("X15.s4-printed-sampled", Contender::TangentPrintedSampled, WHY_NOT_PRINTED_SAMPLED),
            ("X15.s4-coded-sampled", Contender::TangentCodedSampled, WHY_NOT_CODED_SAMPLED),
        ] {
            let claim = claim(id, one, Contender::Tdm).paper("lower at every delay");
            outcome.claims.push(explained(claim.reading("a sample every 0.2 s"), why_not));
        }
        outcome.claims.extend(claims("X15", &drives, &fared));
        outcome.figures.extend(figures(&format!("x15-{}", drives.name), &drives, &fared)?);
        outcome.notes.push(note(&drives));
    }
    let with_line: Vec<(f64, f64)> = TABLE_4_2.iter().map(|row| (row.0, row.1)).collect();
    let plain: Vec<(f64, f64)> = TABLE_4_2.iter().map(|row| (row.0, row.2)).collect();
    tables.add_printed("Jawad 2017's game", "improved (table 4.2)", &with_line, "its units");
    tables.add_printed("Jawad 2017's game", "plain (table 4.2)", &plain, "its units");
    outcome.rows = tables.rows;
    Ok(outcome.headline(tables.headline))
}

/// Our own tracks, unless recorded motion is given, and the recorded laps.
fn all_drives(settings: &Settings) -> Result<Vec<Drives>, CannotRun> {
    let mut all = Vec::new();
    if settings.motion.is_none() {
        for preset in Preset::ALL {
            all.push(race(preset, settings.seed)?);
        }
    }
    for file in &settings.laps {
        all.push(Drives::recorded(file, None)?);
    }
    Ok(all)
}

fn without_laps() -> Outcome {
    let claim = Claim::new(
        "X15.paper",
        "the trend line is nearer than TDM at every horizon up to 300 ms",
        judge::not_applicable(),
    );
    Outcome::default().claim(claim.remark("Recorded motion has no laps: give recorded laps with --laps"))
}

/// Laps on one of our tracks. Judging and teaching laps have different random numbers at any seed.
fn race(preset: Preset, seed: u64) -> Result<Drives, CannotRun> {
    let track = Arc::new(Track::preset(preset));
    let drive = |laps_each: u32, dice: LapDice| {
        record_laps(&track, RaceConfig::default(), laps_each, dice).map_err(|error| CannotRun {
            what: format!("{} cannot be driven ({error})", preset.name()),
            fix: "report this".into(),
        })
    };
    // In turn one lap of each driver, until there are fifty.
    let laps_each = LAPS_LEARNED.div_ceil(4);
    let driven = drive(laps_each as u32, LapDice::Learning(seed))?;
    let in_turn = (0..laps_each).flat_map(|lap| driven.iter().skip(lap).step_by(laps_each));
    let learned: Vec<RecordedLap> = in_turn.take(LAPS_LEARNED).enumerate().map(recorded).collect();
    let judged: Vec<RecordedLap> =
        drive(LAPS_JUDGED, LapDice::Judging(seed))?.iter().enumerate().map(recorded).collect();
    let shape = match track.shape() {
        Shape::Circuit => LapShape::Circuit,
        Shape::Stage => LapShape::Stage,
    };
    Ok(Drives::learned_and_judged(preset.name(), shape, &learned, &judged))
}

fn recorded((number, lap): (usize, &Lap)) -> RecordedLap {
    let samples = lap.samples.iter().map(|sample| (SharedInstant::ZERO + sample.at, sample.position));
    RecordedLap { name: (number + 1).to_string(), samples: samples.collect() }
}

fn explained(claim: Claim, why_not: &str) -> Claim {
    if claim.judgement.is_refuted() { claim.remark(why_not) } else { claim }
}
