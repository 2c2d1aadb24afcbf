//! Resamples any recording to 60 ticks a second, each tick from samples at or before it.
//!
//! At a tick, with `s` the newest sample at or before it:
//! * velocity: that of `s`; if the recording has none, the slope of the positions over the last
//!   [`VELOCITY_WINDOW`](crate::recording::VELOCITY_WINDOW) up to `s`
//! * acceleration: the slope of those velocities over the last [`ACCELERATION_WINDOW`] up to `s`
//! * position: that of `s`, extrapolated at its velocity to the tick
//!
//! A run begins at the second sample with a known velocity, and ends [`GAP_MAX`] after its last
//! sample: by then a receiver knows that it is over. Both ensure that a recording cut off at some
//! instant gives the same ticks up to that instant, bit for bit.

use fairpath::time::{SharedInstant, Span};
use fairpath::vector::{Planar, Vec2, Vector};
use fairpath_predict::{Body, TICK_RATE};

use super::{Play, Player, TickRun};
use crate::recording::{GAP_MAX, Recording, Sample, Stretch};

/// How far back the acceleration estimate looks: to the newest sample at least this much older.
/// 100 ms: three frames at 30 Hz. Over one frame at 60 Hz, positions rounded to 1 mm would be
/// 3 m/s² of noise; over twice as long it would still report a turn that is over.
pub const ACCELERATION_WINDOW: Span = Span::from_millis(100);

/// Offset of the first tick from the recording's first sample. 500 µs: at 60 Hz samples are at the
/// ticks but for rounding; without the offset half of them would count one whole tick later.
pub const TICK_PHASE: Span = Span::from_micros(500);

impl Play {
    /// Resamples a recording. Health, ammunition, keys and walls are unknown.
    pub fn from_recording(recording: &Recording) -> Self {
        let first_sample = recording.stretches.iter().map(Stretch::begin).min();
        let clock = Ticks { begin: first_sample.unwrap_or(SharedInstant::ZERO) + TICK_PHASE };
        let entities = recording.entities.iter().enumerate().filter(|(_, entity)| entity.is_player);
        let players = entities.map(|(number, entity)| {
            let own = recording.stretches.iter().filter(|stretch| stretch.entity == number);
            let runs = own.filter_map(|stretch| clock.run_of(stretch)).collect();
            Player { name: entity.name.clone(), runs }
        });
        Self {
            unit: recording.unit,
            players: players.filter(|player| !player.runs.is_empty()).collect(),
            world: None,
            game: None,
        }
    }
}

struct Ticks {
    begin: SharedInstant,
}

impl Ticks {
    fn instant(&self, tick: usize) -> SharedInstant {
        self.begin + TICK_RATE.begin(tick as i64)
    }

    fn first_at_or_after(&self, at: SharedInstant) -> usize {
        let after_begin = at - self.begin - Span::from_micros(1);
        usize::try_from(TICK_RATE.running_at(after_begin) + 1).unwrap_or(0)
    }

    fn run_of(&self, stretch: &Stretch) -> Option<TickRun> {
        let samples = stretch.samples();
        let accelerations = accelerations(samples);
        let first_tick = self.first_at_or_after(samples[1].at);
        let mut run = TickRun { team: stretch.team, first_tick, ..TickRun::default() };
        let mut newest = 1;
        for tick in first_tick.. {
            let at = self.instant(tick);
            while samples.get(newest + 1).is_some_and(|next| next.at <= at) {
                newest += 1;
            }
            let sample = &samples[newest];
            if at - sample.at > GAP_MAX {
                break;
            }
            run.bodies.push(body_at(sample, accelerations[newest], at));
            if let Some(state) = stretch.state_at::<Vec2>(at) {
                run.truth.push(state.position);
            }
        }
        (!run.truth.is_empty()).then_some(run)
    }
}

fn body_at(sample: &Sample, acceleration: Vec2, at: SharedInstant) -> Body {
    let velocity = Vec2::from_3d(sample.velocity);
    let position = Vec2::from_3d(sample.position) + velocity * (at - sample.at).as_secs_f64();
    Body { position, velocity, acceleration }
}

/// Returns the acceleration at each sample, from velocities at or before it; zero at the first.
pub(crate) fn accelerations(samples: &[Sample]) -> Vec<Vec2> {
    let mut past = 0;
    let slope_at = |(index, sample): (usize, &Sample)| {
        while past + 1 < index && sample.at - samples[past + 1].at >= ACCELERATION_WINDOW {
            past += 1;
        }
        let secs = (sample.at - samples[past].at).as_secs_f64();
        let change = Vec2::from_3d(sample.velocity - samples[past].velocity);
        if secs > 0.0 { change * (1.0 / secs) } else { Vec2::ZERO }
    };
    samples.iter().enumerate().map(slope_at).collect()
}
