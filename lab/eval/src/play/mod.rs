//! A match as predictors see it: everybody at every tick of 1/60 s, each tick knowing only what
//! came before it.
//!
//! A recording has whatever rate its game wrote it at. [`Play::from_recording`] resamples it
//! *causally*: the [`Body`] of a tick follows from samples at or before the tick (the slope of the
//! last 25 ms is its velocity, the slope of velocities over [`ACCELERATION_WINDOW`] its
//! acceleration, and it moves on at its velocity from the newest sample), so nothing that is handed
//! to a predictor can know what comes next. What really happened, against which predictions are
//! scored, is kept apart as [`TickRun::truth`]: there the path between two samples counts as known,
//! because it happened.
//!
//! [`Play::from_ethereal`] has everything at every tick from the game itself: health, ammunition,
//! keys and walls too.
//!
//! Motion is cut where the recording is: a respawn, a teleport or a gap begins a new [`TickRun`], and
//! nobody is asked to predict across one.

mod ethereal;
mod resample;
mod world;

pub use ethereal::EtherealError;
pub(crate) use resample::accelerations;
pub use resample::{ACCELERATION_WINDOW, TICK_PHASE};
pub use world::{WorldError, read_world};

use fairpath::vector::{Vec2, Vector};
use fairpath_predict::{Body, Condition, Grid, Known, Other, Relation, TICK_SECS, TICKS_AHEAD_MAX};

use crate::candidates::Game;
use crate::recording::LengthUnit;

/// How much of its own past a predictor is shown, in ticks: 10 s, twice the farthest it may be
/// asked ahead.
pub const HISTORY_TICKS_MAX: usize = 2 * TICKS_AHEAD_MAX as usize;

/// Over how many ticks the [top speed](Play::top_speed) is measured: half a second. Shorter, and it
/// measures how evenly a game writes positions down; longer, and nobody keeps straight on.
pub const TOP_SPEED_TICKS: usize = 30;

/// A match, tick by tick.
#[derive(Clone, Debug)]
pub struct Play {
    /// What lengths are counted in.
    pub unit: LengthUnit,
    /// Everybody who plays. Balls and shots are nobody.
    pub players: Vec<Player>,
    /// The walls, where they are known.
    pub world: Option<Grid>,
    /// The game's own step function, where there is one.
    pub game: Option<Game>,
}

/// Somebody who plays.
#[derive(Clone, Debug, PartialEq)]
pub struct Player {
    /// As the recording calls it.
    pub name: String,
    /// Its motion, in order of time. A run may still be known for some ticks after the next one has
    /// begun: the later one counts.
    pub runs: Vec<TickRun>,
}

/// Motion without a break, tick by tick.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TickRun {
    /// Which team it was for; 0 is none, and nobody's friend.
    pub team: u32,
    /// The tick of its first body.
    pub first_tick: usize,
    /// What was known at each tick, from the past only. It goes on for a while after the last
    /// sample, as a receiver does who does not know yet that no further one will come.
    pub bodies: Vec<Body>,
    /// Where the player really was, from the first tick to the last that lies within the recording.
    pub truth: Vec<Vec2>,
    /// How strong it was at each tick; empty where nobody knows.
    pub conditions: Vec<Condition>,
    /// What was pressed at each tick; empty where nobody knows.
    pub inputs: Vec<Vec2>,
}

impl Play {
    /// The speed that all but a thousandth of the players' half seconds stay at or below, per
    /// second: how far a player came in [`TOP_SPEED_TICKS`], as the crow flies. Zero if nobody
    /// moves, or nobody for that long.
    ///
    /// Not the greatest, or one bad sample would set the scale of every length. Not from tick to
    /// tick: a game that writes positions down a little early or late has frames at twice its
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

    /// How much motion there is to be scored, all players together, in seconds.
    pub fn secs(&self) -> f64 {
        self.players.iter().map(Player::secs).sum()
    }

    /// What is known of player `subject` at the tick with that `index` in one of its runs. `others`
    /// is a place to put the others into.
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
        }
    }
}

impl Player {
    /// How much of its motion is scored, in seconds.
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
    /// What was known at the ticks whose truth is known too.
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
