//! Predictors on laps: each lap is predicted by what the *other* laps taught, never by itself.
//!
//! In the order of processing:
//! - [`TimedLap::new`] resamples a recorded lap to 60 ticks a second, each tick from samples at or
//!   before it
//! - [`shape_of`] tells a circuit from a stage
//! - [`Contender`] lists the predictors, taught by laps
//! - [`errors`] returns the error of a predictor at every tick of a lap and every horizon
//! - [`Summary`] combines laps

mod contender;
mod resample;
mod summary;

pub use contender::Contender;
pub use resample::{LapRun, TimedLap};
pub use summary::{HorizonSummary, Summary};

use fairpath::vector::{Vec2, Vector};
use fairpath_predict::{Known, LapShape, Missing, Predictor};

use crate::recording::RecordedLap;

/// Unscored ticks at the start of a run: 0.25 s, after which every estimate has its whole window.
pub const FIRST_SCORED: usize = 15;
/// A lap is closed if it ends nearer to its start than this part of its length.
const CLOSED_WITHIN: f64 = 0.05;

/// Returns a circuit if most laps end where they began.
pub fn shape_of(laps: &[RecordedLap]) -> LapShape {
    let is_closed = |lap: &RecordedLap| {
        let way: f64 = lap.samples.windows(2).map(|pair| pair[0].1.distance(pair[1].1)).sum();
        let ends = lap.samples.first().zip(lap.samples.last());
        ends.is_some_and(|(first, last)| first.1.distance(last.1) < CLOSED_WITHIN * way)
    };
    let closed = laps.iter().filter(|lap| is_closed(lap)).count();
    if 2 * closed > laps.len() { LapShape::Circuit } else { LapShape::Stage }
}

/// Returns what is known at a tick of a run: the subject alone.
pub fn known_at(run: &LapRun, tick: usize) -> Known<'_> {
    Known { history: &run.known[..=tick], ..Known::default() }
}

/// Returns the errors at each horizon (in ticks, ascending) from every tick that can be scored.
pub fn errors(
    predictor: &mut dyn Predictor,
    lap: &TimedLap,
    horizons: &[u32],
) -> Result<Vec<Vec<f64>>, Missing> {
    let mut errors = vec![Vec::new(); horizons.len()];
    let mut positions = vec![Vec2::ZERO; horizons.len()];
    for run in &lap.runs {
        for tick in 0..run.places.len() {
            let known = known_at(run, tick);
            predictor.learn(SUBJECT, &known);
            if tick < FIRST_SCORED {
                continue;
            }
            predictor.predict(SUBJECT, &known, horizons, &mut positions)?;
            for ((errors, ticks), position) in errors.iter_mut().zip(horizons).zip(&positions) {
                if let Some(truth) = run.places.get(tick + *ticks as usize) {
                    errors.push(position.distance(*truth));
                }
            }
        }
    }
    Ok(errors)
}

/// A lap has a single car.
const SUBJECT: usize = 0;
