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

use super::{NotPlayable, PLAYERS_MAX, Play, Player, TickRun};
use crate::budget::Budget;
use crate::live::{Moment, Path};
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
        // Stretches are in the order of their entities.
        let players = recording.stretches.chunk_by(|one, next| one.entity == next.entity).filter_map(|own| {
            let entity = &recording.entities[own[0].entity];
            let runs = || own.iter().filter_map(|stretch| clock.run_of(stretch)).collect();
            entity.is_player.then(|| Player { name: entity.name.clone(), runs: runs() })
        });
        Self {
            unit: recording.unit,
            players: players.filter(|player| !player.runs.is_empty()).collect(),
            world: None,
            items: Vec::new(),
            replays_others: false,
            game: None,
        }
    }
}

impl Play {
    /// Checks that [`from_recording`](Self::from_recording) and the paths of its players fit into
    /// memory, before they are made, and counts them.
    pub fn check(recording: &Recording, budget: &Budget) -> Result<(), NotPlayable> {
        if recording.entities.iter().filter(|entity| entity.is_player).count() > PLAYERS_MAX {
            return Err(NotPlayable::TooManyPlayers);
        }
        let of_stretch = |stretch: &Stretch| {
            let samples = stretch.samples().len() as u64 * size_of::<Moment>() as u64;
            ticks_of(stretch) as u64 * TICK_BYTES + samples + RUN_BYTES
        };
        budget.hold(recording.players().map(of_stretch).sum()).map_err(NotPlayable::OverBudget)
    }
}

/// What is known at a tick, and where the player is.
const TICK_BYTES: u64 = (size_of::<Body>() + size_of::<Vec2>()) as u64;
const RUN_BYTES: u64 = 2 * (size_of::<TickRun>() + size_of::<Path>()) as u64;

/// The most ticks of a stretch: up to [`GAP_MAX`] after its last sample.
fn ticks_of(stretch: &Stretch) -> usize {
    usize::try_from(TICK_RATE.running_at(stretch.duration() + GAP_MAX)).unwrap_or(0) + 2
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
        // Exactly: a long recording must not need the room of an array that doubles.
        run.bodies.reserve_exact(ticks_of(stretch));
        run.truth.reserve_exact(ticks_of(stretch));
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
