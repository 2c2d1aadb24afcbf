//! A match as predictors see it: all players at every tick of 1/60 s, each tick from earlier
//! samples only.
//!
//! [`Play::from_recording`] resamples a recording *causally*, see `resample`: the [`Body`] of a
//! tick follows from samples at or before it, so a predictor never sees the future. The truth,
//! against which predictions are scored, is [`TickRun::truth`], interpolated between samples.
//!
//! [`Play::from_ethereal`] takes everything at every tick from the game itself: health, ammunition,
//! keys and walls too.
//!
//! Motion is cut where the recording is: a respawn, a teleport or a gap starts a new [`TickRun`],
//! and no prediction reaches across one.

mod ethereal;
mod resample;
mod world;

pub use ethereal::EtherealError;
pub(crate) use resample::accelerations;
pub use resample::{ACCELERATION_WINDOW, TICK_PHASE};
pub use world::{WorldError, read_world};

use std::fmt;

use fairpath::vector::{Vec2, Vector};
use fairpath_predict::{Body, Condition, Grid, Item, Known, Other, Relation, TICK_SECS, TICKS_AHEAD_MAX};

use crate::budget::OverBudget;
use crate::candidates::Game;
use crate::recording::LengthUnit;

/// How much of its own past a predictor is shown, in ticks: 10 s, twice the farthest horizon.
pub const HISTORY_TICKS_MAX: usize = 2 * TICKS_AHEAD_MAX as usize;

/// Ticks over which the [top speed](Play::top_speed) is measured: half a second. Shorter measures
/// how regularly a game writes positions; longer, and no player moves straight.
pub const TOP_SPEED_TICKS: usize = 30;

/// The most players of a play. Predictors look at all others at every tick: the work grows with the
/// square. 4 096 is four times the players of our largest server.
pub const PLAYERS_MAX: usize = 4096;

/// Why a recording cannot be played to predictors. The text is the end of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotPlayable {
    /// More than [`PLAYERS_MAX`].
    TooManyPlayers,
    OverBudget(OverBudget),
}

impl std::error::Error for NotPlayable {}

impl fmt::Display for NotPlayable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManyPlayers => {
                write!(f, "more than {PLAYERS_MAX} players: give a player one name for all its rows")
            }
            Self::OverBudget(over) => over.fmt(f),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Play {
    pub unit: LengthUnit,
    /// All players. Balls and shots are not players.
    pub players: Vec<Player>,
    /// The walls, if known.
    pub world: Option<Grid>,
    pub game: Option<Game>,
    /// The items on the ground, each list from a tick on until the next. Empty if unknown.
    pub items: Vec<(usize, Vec<Item>)>,
    /// Whether predictors may be shown where the other players really are later on, as the replay
    /// of a finished match can. Default: no. Never where the subject itself is.
    pub replays_others: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Player {
    pub name: String,
    /// In order of time. Where a run continues after the next one has begun, the later one counts.
    pub runs: Vec<TickRun>,
}

/// Motion without a break, tick by tick.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TickRun {
    /// Team of the player; 0 is no team, without friends.
    pub team: u32,
    pub first_tick: usize,
    /// What was known at each tick. It goes on after the last sample: receivers do not know yet.
    pub bodies: Vec<Body>,
    /// The player's real position, from the first tick to the last within the recording.
    pub truth: Vec<Vec2>,
    /// The player's strength at each tick; empty if unknown.
    pub conditions: Vec<Condition>,
    /// The player's input at each tick; empty if unknown.
    pub inputs: Vec<Vec2>,
}

impl Play {
    /// Returns the 99.9th percentile of the players' speeds, each measured over [`TOP_SPEED_TICKS`]
    /// as the crow flies. Zero if no player moves for that long.
    ///
    /// Not the maximum, because one bad sample would set the scale of every length. Not from tick
    /// to tick, because a game that writes positions a little early or late has frames at twice its
    /// real speed (Rocket League's replays: 43 m/s, where cars drive at most 23).
    pub fn top_speed(&self) -> f64 {
        let runs = self.players.iter().flat_map(|player| &player.runs);
        let per_sec = 1.0 / (TOP_SPEED_TICKS as f64 * TICK_SECS);
        let speeds = runs.flat_map(|run| {
            let later = run.truth.iter().skip(TOP_SPEED_TICKS);
            run.truth.iter().zip(later).map(|(before, after)| before.distance(*after) * per_sec)
        });
        let mut speeds: Vec<f64> = speeds.collect();
        if speeds.is_empty() {
            return 0.0;
        }
        let rank = ((speeds.len() - 1) as f64 * 0.999) as usize;
        *speeds.select_nth_unstable_by(rank, f64::total_cmp).1
    }

    /// Returns the scored motion of all players together, in seconds.
    pub fn secs(&self) -> f64 {
        self.players.iter().map(Player::secs).sum()
    }

    /// Returns what is known of `subject` at tick `index` of `run`. `others` is a buffer.
    pub fn look<'a>(
        &'a self,
        subject: usize,
        run: &'a TickRun,
        index: usize,
        others: &'a mut Vec<Other>,
    ) -> Known<'a> {
        others.clear();
        let tick = run.first_tick + index;
        for (number, player) in self.players.iter().enumerate() {
            if number != subject
                && let Some(theirs) = player.run_known_at(tick)
            {
                let at = tick - theirs.first_tick;
                let relation = relation(run.team, theirs.team);
                let (body, condition) = (theirs.bodies[at], theirs.condition(at));
                others.push(Other { relation, body, ticks_ago: 0, condition });
            }
        }
        let shown = (index + 1).saturating_sub(HISTORY_TICKS_MAX)..index + 1;
        Known {
            history: &run.bodies[shown.clone()],
            condition: run.condition(index),
            others,
            world: self.world.as_ref(),
            inputs: run.inputs.get(shown).unwrap_or_default(),
            items: self.items_at(tick),
            replayed: &[],
        }
    }

    /// Writes the real positions, after tick `index` of `run`, of the players that
    /// [`look`](Self::look) returns. Nothing unless the play
    /// [replays them](Self::replays_others).
    pub fn look_ahead<'a>(
        &'a self,
        subject: usize,
        run: &TickRun,
        index: usize,
        ahead: &mut Vec<&'a [Vec2]>,
    ) {
        ahead.clear();
        if !self.replays_others {
            return;
        }
        let tick = run.first_tick + index;
        let others = self.players.iter().enumerate().filter(|(number, _)| *number != subject);
        ahead.extend(others.filter_map(|(_, player)| {
            let theirs = player.run_known_at(tick)?;
            Some(theirs.truth.get(tick - theirs.first_tick + 1..).unwrap_or_default())
        }));
    }

    fn items_at(&self, tick: usize) -> &[Item] {
        let begun = self.items.partition_point(|(first_tick, _)| *first_tick <= tick);
        begun.checked_sub(1).map_or(&[], |last| &self.items[last].1)
    }
}

impl Player {
    pub fn secs(&self) -> f64 {
        self.runs.iter().map(|run| run.truth.len() as f64 * TICK_SECS).sum()
    }

    fn run_known_at(&self, tick: usize) -> Option<&TickRun> {
        let begun = self.runs.partition_point(|run| run.first_tick <= tick);
        let run = &self.runs[begun.checked_sub(1)?];
        (tick - run.first_tick < run.bodies.len()).then_some(run)
    }
}

impl TickRun {
    /// Returns what was known at the ticks whose truth is known.
    pub fn scored_bodies(&self) -> &[Body] {
        &self.bodies[..self.truth.len()]
    }

    fn condition(&self, index: usize) -> Condition {
        self.conditions.get(index).copied().unwrap_or_default()
    }
}

pub(crate) fn relation(own_team: u32, their_team: u32) -> Relation {
    if own_team != 0 && own_team == their_team { Relation::Friend } else { Relation::Enemy }
}
