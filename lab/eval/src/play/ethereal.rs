use std::fmt;
use std::sync::Arc;

use fairpath::vector::{Vec2, Vector};
use fairpath_games::ethereal::{Map, PlayerFrame, PlayerRecord, RecordedInput, Recording, ReplayError};
use fairpath_predict::{Body, Condition, TICK_SECS};

use super::{Play, Player, Run};
use crate::recording::LengthUnit;

/// A recording of Ethereal that cannot be seen again.
#[derive(Debug)]
#[non_exhaustive]
pub enum EtherealError {
    /// It should be playable again, and is not.
    Replay(ReplayError),
    /// It comes from another game, so where its walls are is not known.
    NoMap,
}

impl Play {
    /// A match of Ethereal, seen again: everything there is to know at every tick. One that comes
    /// from another game is retraced on `map`.
    pub fn from_ethereal(recording: &Recording, map: Option<&Map>) -> Result<Self, EtherealError> {
        let mut seen = Seen::new(recording);
        let replayed;
        let map = if recording.config().is_some() {
            recording.for_each_frame(|tick, frames| seen.note(tick, frames))?;
            replayed = recording.replay()?;
            replayed.ethereal().map()
        } else {
            let map = map.ok_or(EtherealError::NoMap)?;
            recording.retrace(map, |tick, frames| seen.note(tick, frames));
            map
        };
        Ok(Self {
            unit: LengthUnit::Pixels,
            players: seen.players,
            world: Some(map.to_grid()),
            game: Some(Arc::new(map.clone())),
        })
    }
}

/// What has been seen of a match so far.
struct Seen<'a> {
    recording: &'a Recording,
    /// The most health and ammunition a player can have; unknown for another game's recordings.
    full: Option<(f64, f64)>,
    players: Vec<Player>,
    was_alive: Vec<bool>,
}

impl<'a> Seen<'a> {
    fn new(recording: &'a Recording) -> Self {
        let nobody_yet = |record: &PlayerRecord| Player { name: record.name.clone(), runs: Vec::new() };
        let players: Vec<Player> = recording.players().iter().map(nobody_yet).collect();
        let full = |config: &fairpath_games::ethereal::EtherealConfig| {
            (f64::from(config.health_max), f64::from(config.ammo_max))
        };
        Self { recording, full: recording.config().map(full), was_alive: vec![false; players.len()], players }
    }

    fn note(&mut self, tick: u64, frames: &[PlayerFrame]) {
        for (number, frame) in frames.iter().enumerate() {
            let was_alive = std::mem::replace(&mut self.was_alive[number], frame.is_alive);
            if !frame.is_alive {
                continue;
            }
            let runs = &mut self.players[number].runs;
            if !was_alive || frame.has_jumped || runs.is_empty() {
                runs.push(Run { team: team_number(frame), first_tick: tick as usize, ..Run::default() });
            }
            let Some(run) = runs.last_mut() else { unreachable!("one was just begun") };
            let acceleration = acceleration(&run.bodies, frame.velocity);
            run.bodies.push(Body { position: frame.position, velocity: frame.velocity, acceleration });
            run.truth.push(frame.position);
            run.inputs.push(input_at(&self.recording.players()[number].inputs, tick));
            if let Some((health, ammo)) = self.full {
                run.conditions.push(Condition {
                    health: f64::from(frame.health) / health,
                    ammo: f64::from(frame.ammo) / ammo,
                });
            }
        }
    }
}

/// Teams are counted from one: zero is none.
fn team_number(frame: &PlayerFrame) -> u32 {
    frame.team.index() as u32 + 1
}

/// How the last tick changed the velocity. The game knows its velocities exactly, so one tick is
/// enough: the [window](super::ACCELERATION_WINDOW) that tames the noise of recordings would tell
/// of turns that are over.
fn acceleration(before: &[Body], velocity: Vec2) -> Vec2 {
    before.last().map_or(Vec2::ZERO, |before| (velocity - before.velocity) * (1.0 / TICK_SECS))
}

/// What was pressed in the step that led to this tick: what is pressed in the next one is not known
/// yet.
fn input_at(changes: &[RecordedInput], tick: u64) -> Vec2 {
    let made = changes.partition_point(|change| change.tick < tick);
    made.checked_sub(1).map_or(Vec2::ZERO, |last| changes[last].input.keys.direction())
}

impl From<ReplayError> for EtherealError {
    fn from(error: ReplayError) -> Self {
        Self::Replay(error)
    }
}

impl std::error::Error for EtherealError {}

impl fmt::Display for EtherealError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Replay(error) => write!(f, "the match cannot be played again ({error}): record it again"),
            Self::NoMap => {
                f.write_str("comes from another game and does not say where walls are: give --world")
            }
        }
    }
}
