use fairpath_eval::laps::Contender;

use super::tables::claim_below;
use super::{Drives, LapFile, LapTables, figures, horizons_in_ticks};
use crate::experiment::{CannotRun, Declaration, Experiment, ExperimentGroup, Progress, Settings};
use crate::outcome::{Claim, Outcome};

/// How far ahead predictions are made by default: Jawad 2017's delays, and on to two seconds.
pub const HORIZONS_MS: [f64; 10] = [50.0, 100.0, 150.0, 200.0, 250.0, 300.0, 500.0, 1000.0, 1500.0, 2000.0];

/// Recorded laps, each predicted by what the others taught.
#[derive(Clone, Debug)]
pub struct LapTrial {
    pub files: Vec<LapFile>,
    /// How far ahead, in ms; rounded to ticks of 1/60 s.
    pub horizons_ms: Vec<f64>,
    /// Known samples per second; default all. GNSS has about 10: more are the receiver's guesses.
    pub rate_max: Option<f64>,
}

impl Experiment for LapTrial {
    fn declaration(&self) -> &Declaration {
        &Declaration {
            group: ExperimentGroup::Prediction,
            name: "laps",
            alias: "laps",
            title: "Where will the car be?",
            source: "Jawad 2017 4",
            about: "Each lap in turn is left out. The others make the trend line, teach it how far to trust itself, and teach the adaptive \
                    predictor. Then every predictor is asked at every tick of the lap that was left out where the car will be. All see the same \
                    causal estimates of velocity and acceleration, and nothing that is younger than the tick. Jawad 2017 is there as printed and \
                    as coded; `trend line, live` knows a single DR vector, as when it is placed over a network. Intervals are 95 %, laps drawn \
                    with replacement.",
            ..Declaration::EMPTY
        }
    }

    fn run(&self, _: &Settings, progress: &dyn Progress) -> Result<Outcome, CannotRun> {
        let horizons = horizons_in_ticks(&self.horizons_ms)?;
        let mut tables = LapTables::new(&horizons);
        let mut outcome = Outcome::default();
        for (number, file) in (1..).zip(&self.files) {
            let drives = Drives::recorded(file, self.rate_max)?;
            let fared = drives.run(&horizons, progress)?;
            tables.add(&drives, &fared);
            outcome.claims.extend(claims("laps", &drives, &fared));
            outcome.figures.extend(figures(&format!("laps-{number}"), &drives, &fared)?);
            outcome.notes.push(note(&drives));
        }
        outcome.rows = tables.rows;
        Ok(outcome.headline(tables.headline))
    }
}

/// What our line claims: nearer than both, at every horizon that was asked for.
pub(crate) fn claims(id: &str, drives: &Drives, fared: &[super::LapScores]) -> [Claim; 2] {
    let asked = fared[0].summary.horizons.last().map_or(0.0, |at| super::tables::millis(at.ticks));
    let claim = |word: &str, other: Contender| {
        claim_below(&format!("{id}.{word}"), drives, fared, (Contender::TrendLine, other), asked)
    };
    [claim("linear", Contender::Linear), claim("tdm", Contender::Tdm)]
}

pub(crate) fn note(drives: &Drives) -> String {
    let ticks: usize = drives.judged().iter().map(|lap| lap.ticks()).sum();
    let judged = drives.judged().len();
    let how = match drives.judged {
        super::Judged::EachLeftOut => format!("each predicted by the {} others", drives.laps.len() - 1),
        super::Judged::By(_) => {
            format!("predicted by {} other laps with dice of their own", drives.laps.len())
        }
    };
    format!("{}: {judged} laps ({:?}), {:.0} s, {how}.", drives.name, drives.shape, ticks as f64 / 60.0)
}
