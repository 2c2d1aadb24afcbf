use std::sync::Arc;

use fairpath_eval::laps::{Contender, Summary, TimedLap, errors, shape_of};
use fairpath_eval::recording::RecordedLap;
use fairpath_predict::{LapPart, LapShape, TICK_RATE, TICKS_AHEAD_MAX, TrendLine};

use super::LapFile;
use crate::experiment::{CannotRun, Progress, map_in_order};

/// Laps on one track: teaching laps and judging laps.
#[derive(Clone, Debug, PartialEq)]
pub struct Drives {
    /// The track or the file.
    pub name: String,
    pub shape: LapShape,
    /// The laps to learn from.
    pub laps: Vec<TimedLap>,
    pub judged: Judged,
}

/// By which laps predictions are judged.
#[derive(Clone, Debug, PartialEq)]
pub enum Judged {
    /// By each of the laps, in turn left out of what is learned from.
    EachLeftOut,
    By(Vec<TimedLap>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct LapScores {
    pub contender: Contender,
    pub summary: Summary,
}

/// Errors of one predictor on one lap, horizon by horizon.
type LapErrors = Vec<Vec<f64>>;
/// Of fewer laps none can be left out: what is left would teach nothing.
const LAPS_MIN: usize = 3;

impl Drives {
    /// A recording; each lap is predicted by the others. `rate_max` as in [`TimedLap::new`].
    pub fn recorded(file: &LapFile, rate_max: Option<f64>) -> Result<Self, CannotRun> {
        let laps = timed(&file.laps, rate_max);
        if laps.len() < LAPS_MIN {
            return Err(CannotRun {
                what: format!("{}: only {} usable laps", file.file, laps.len()),
                fix: format!("give {LAPS_MIN} or more, with samples at most 250 ms apart"),
            });
        }
        let shape = shape_of(&file.laps);
        Ok(Self { name: file.file.clone(), shape, laps, judged: Judged::EachLeftOut })
    }

    pub fn learned_and_judged(
        name: &str,
        shape: LapShape,
        laps: &[RecordedLap],
        judged: &[RecordedLap],
    ) -> Self {
        let judged = Judged::By(timed(judged, None));
        Self { name: name.into(), shape, laps: timed(laps, None), judged }
    }

    pub fn judged(&self) -> &[TimedLap] {
        match &self.judged {
            Judged::EachLeftOut => &self.laps,
            Judged::By(laps) => laps,
        }
    }

    /// The laps that teach what is to be judged by this one of [`judged`](Self::judged).
    pub fn teachers(&self, judged: usize) -> Vec<&TimedLap> {
        let is_left_out = |number: usize| self.judged == Judged::EachLeftOut && number == judged;
        self.laps.iter().enumerate().filter(|(number, _)| !is_left_out(*number)).map(|(_, lap)| lap).collect()
    }

    pub fn line(&self, laps: &[&TimedLap]) -> Result<Arc<TrendLine>, CannotRun> {
        let driven: Vec<Vec<LapPart<'_>>> = laps.iter().map(|lap| lap.parts()).collect();
        match TrendLine::from_laps(&driven, self.shape, TrendLine::SMOOTHING) {
            Ok(line) => Ok(Arc::new(line)),
            Err(error) => Err(CannotRun {
                what: format!("{}: {error}", self.name),
                fix: "give laps of one track, in metres".into(),
            }),
        }
    }

    /// The errors of every predictor. `horizons` in ticks, ascending.
    pub fn run(&self, horizons: &[u32], progress: &dyn Progress) -> Result<Vec<LapScores>, CannotRun> {
        let by_contender = match self.judged {
            Judged::EachLeftOut => self.each_left_out(horizons, progress)?,
            Judged::By(_) => self.by_others(horizons, progress)?,
        };
        let fared = |(contender, laps): (Contender, Vec<LapErrors>)| LapScores {
            contender,
            summary: Summary::of(horizons, &laps),
        };
        Ok(Contender::ALL.into_iter().zip(by_contender).map(fared).collect())
    }

    /// A line for each lap, and every predictor taught anew.
    fn each_left_out(
        &self,
        horizons: &[u32],
        progress: &dyn Progress,
    ) -> Result<Vec<Vec<LapErrors>>, CannotRun> {
        let numbers: Vec<usize> = (0..self.laps.len()).collect();
        progress.begin(&self.name, numbers.len() as u64);
        let laps = map_in_order(&numbers, progress, |&number| {
            let teachers = self.teachers(number);
            let line = self.line(&teachers)?;
            let of = |contender: Contender| {
                errors(&mut *contender.taught(&line, &teachers), &self.laps[number], horizons)
                    .map_err(missing)
            };
            Contender::ALL.into_iter().map(of).collect::<Result<Vec<LapErrors>, CannotRun>>()
        });
        let laps = laps.into_iter().collect::<Result<Vec<_>, CannotRun>>()?;
        let of = |place: usize| laps.iter().map(|lap| lap[place].clone()).collect();
        Ok((0..Contender::ALL.len()).map(of).collect())
    }

    /// One line, and every predictor taught once.
    fn by_others(&self, horizons: &[u32], progress: &dyn Progress) -> Result<Vec<Vec<LapErrors>>, CannotRun> {
        progress.begin(&self.name, Contender::ALL.len() as u64);
        let teachers = self.teachers(0);
        let line = self.line(&teachers)?;
        let all = map_in_order(&Contender::ALL, progress, |contender| {
            let mut predictor = contender.taught(&line, &teachers);
            let of = |lap: &TimedLap| errors(&mut *predictor, lap, horizons).map_err(missing);
            self.judged().iter().map(of).collect::<Result<Vec<LapErrors>, CannotRun>>()
        });
        all.into_iter().collect()
    }
}

fn missing(missing: fairpath_predict::Missing) -> CannotRun {
    CannotRun { what: format!("a predictor {missing}"), fix: "give laps".into() }
}

fn timed(laps: &[RecordedLap], rate_max: Option<f64>) -> Vec<TimedLap> {
    let timed = laps.iter().map(|lap| TimedLap::new(lap, rate_max));
    timed.filter(|lap| lap.ticks() > fairpath_eval::laps::FIRST_SCORED).collect()
}

/// Milliseconds ahead as ticks, ascending.
pub(crate) fn horizons_in_ticks(horizons_ms: &[f64]) -> Result<Vec<u32>, CannotRun> {
    let hz = f64::from(TICK_RATE.as_hz());
    let mut ticks: Vec<u32> = horizons_ms.iter().map(|millis| (millis * hz / 1e3).round() as u32).collect();
    ticks.sort_unstable();
    ticks.dedup();
    if !ticks.is_empty() && ticks.iter().all(|ticks| (1..=TICKS_AHEAD_MAX).contains(ticks)) {
        return Ok(ticks);
    }
    Err(CannotRun {
        what: "these horizons cannot be asked for".into(),
        fix: format!(
            "give milliseconds from 17 to {}, such as 50,100,300",
            f64::from(TICKS_AHEAD_MAX) * 1e3 / hz
        ),
    })
}
