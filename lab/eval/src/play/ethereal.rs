use std::fmt;
use std::sync::Arc;

use fairpath::vector::{Vec2, Vector};
use fairpath_games::ethereal::{
    Ethereal, ItemKind, Map, PlayerFrame, PlayerRecord, RecordedInput, Recording, ReplayError,
};
use fairpath_predict::{Body, Condition, Gain, Item, TICK_SECS};

use super::{Play, Player, TickRun};
use crate::budget::{Budget, OverBudget};
use crate::live::Moment;
use crate::recording::LengthUnit;

#[derive(Debug)]
#[non_exhaustive]
pub enum EtherealError {
    Replay(ReplayError),
    /// The recording comes from another game, and no map was given.
    NoMap,
    /// The match is so long that its ticks do not fit into memory.
    OverBudget(OverBudget),
}

/// What is kept of a player at a tick: body, truth, input, condition, a moment of its path, and an
/// item.
const TICK_BYTES: u64 = (size_of::<Body>() + 2 * size_of::<Vec2>() + size_of::<Condition>()) as u64
    + size_of::<Moment>() as u64
    + size_of::<Item>() as u64;
/// Arrays that double when they are full have up to twice the room, and three times while they
/// grow.
const GROWTH: u64 = 2;

impl Play {
    /// Checks that [`from_ethereal`](Self::from_ethereal) fits into memory, and counts it. A file
    /// of a few lines can be a match of a day.
    pub fn check_ethereal(recording: &Recording, budget: &Budget) -> Result<(), EtherealError> {
        let moments = (recording.ticks() + 1).saturating_mul(recording.players().len() as u64);
        budget.hold(moments.saturating_mul(GROWTH * TICK_BYTES)).map_err(EtherealError::OverBudget)
    }

    /// Replays a match of Ethereal, known at every tick. Another game's is retraced on `map`.
    pub fn from_ethereal(recording: &Recording, map: Option<&Map>) -> Result<Self, EtherealError> {
        let mut collector = Collector::new(recording);
        let mut replay;
        let map = if recording.config().is_some() {
            replay = recording.replay()?;
            let mut frames = Vec::new();
            loop {
                let game = replay.ethereal();
                frames.clear();
                frames.extend(game.frames());
                collector.note(game.tick(), &frames);
                collector.note_items(game);
                if !replay.step().map_err(ReplayError::from)? {
                    break;
                }
            }
            replay.ethereal().map()
        } else {
            let map = map.ok_or(EtherealError::NoMap)?;
            recording.retrace(map, |tick, frames| collector.note(tick, frames));
            map
        };
        Ok(Self {
            unit: LengthUnit::Pixels,
            players: collector.players,
            world: Some(map.to_grid()),
            game: Some(Arc::new(map.clone())),
            items: collector.items,
            replays_others: false,
        })
    }
}

struct Collector<'a> {
    recording: &'a Recording,
    /// Maximum health and ammunition; unknown for recordings from another game.
    full: Option<(f64, f64)>,
    players: Vec<Player>,
    was_alive: Vec<bool>,
    items: Vec<(usize, Vec<Item>)>,
    /// How many items all lists may hold together: a player's worth at every tick.
    items_left: u64,
}

impl<'a> Collector<'a> {
    fn new(recording: &'a Recording) -> Self {
        let nobody_yet = |record: &PlayerRecord| Player { name: record.name.clone(), runs: Vec::new() };
        let players: Vec<Player> = recording.players().iter().map(nobody_yet).collect();
        let full = |config: &fairpath_games::ethereal::EtherealConfig| {
            (f64::from(config.health_max), f64::from(config.ammo_max))
        };
        Self {
            recording,
            full: recording.config().map(full),
            was_alive: vec![false; players.len()],
            items: Vec::new(),
            items_left: (recording.ticks() + 1).saturating_mul(players.len() as u64),
            players,
        }
    }

    /// Notes the items on the ground where they have changed.
    fn note_items(&mut self, game: &Ethereal) {
        let tick = game.tick();
        let there = game.items().iter().filter(|item| item.is_there(tick));
        let items: Vec<Item> = there
            .map(|item| Item {
                position: item.position(),
                gain: match item.kind() {
                    ItemKind::Health => Gain::Health,
                    ItemKind::Ammo => Gain::Ammo,
                },
            })
            .collect();
        // Without room they are unknown from here on.
        let items = if self.items_left >= items.len() as u64 { items } else { Vec::new() };
        if self.items.last().is_none_or(|(_, last)| *last != items) {
            self.items_left -= items.len() as u64;
            self.items.push((tick as usize, items));
        }
    }

    fn note(&mut self, tick: u64, frames: &[PlayerFrame]) {
        for (number, frame) in frames.iter().enumerate() {
            let was_alive = std::mem::replace(&mut self.was_alive[number], frame.is_alive);
            if !frame.is_alive {
                continue;
            }
            let runs = &mut self.players[number].runs;
            if !was_alive || frame.has_jumped || runs.is_empty() {
                runs.push(TickRun {
                    team: team_number(frame),
                    first_tick: tick as usize,
                    ..TickRun::default()
                });
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

/// Teams are counted from one: zero is no team.
fn team_number(frame: &PlayerFrame) -> u32 {
    frame.team.index() as u32 + 1
}

/// Returns the change of velocity in the last tick. The game knows its velocities exactly: the
/// [window](super::ACCELERATION_WINDOW) against noise would report turns that are over.
fn acceleration(before: &[Body], velocity: Vec2) -> Vec2 {
    before.last().map_or(Vec2::ZERO, |before| (velocity - before.velocity) * (1.0 / TICK_SECS))
}

/// Returns the input of the step that led to this tick; that of the next is not known yet.
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
            Self::Replay(error) => write!(f, "cannot replay the match ({error}): record it again"),
            Self::OverBudget(over) => over.fmt(f),
            Self::NoMap => f.write_str("the recording is from another game and has no walls: give --world"),
        }
    }
}
