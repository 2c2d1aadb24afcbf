use fairpath::number::EntityId;
use fairpath::vector::{Vec2, Vector};

use super::{PlayerRecord, PlayerSnapshot, Recording};
use crate::ethereal::frame::PlayerFrame;
use crate::ethereal::input::Input;
use crate::ethereal::map::Map;
use crate::ethereal::player::{Body, Condition, Player};
use crate::ethereal::world::{Ethereal, Event};
use crate::shared::OutOfRange;

impl Recording {
    /// Returns a replay at tick zero. It compares every birth, death and snapshot with the
    /// recording. Only recordings of this game can be replayed.
    pub fn replay(&self) -> Result<CheckedReplay<'_>, ReplayError> {
        let origin = self.origin.as_ref().ok_or(ReplayError::NoOrigin)?;
        let ethereal = Ethereal::new(origin.config.clone(), origin.seed)?;
        let is_same = |(player, record): (&Player, &PlayerRecord)| {
            player.id() == record.id && player.team() == record.team
        };
        let count = ethereal.players().len();
        if count != self.players.len() || !ethereal.players().iter().zip(&self.players).all(is_same) {
            return Err(ReplayError::OtherPlayers);
        }
        let mut replay = CheckedReplay {
            recording: self,
            ethereal,
            inputs: vec![Input::IDLE; count],
            cursors: vec![Cursor::default(); count],
        };
        replay.check()?;
        Ok(replay)
    }

    /// Replays the recording and calls `each` with every tick and all players.
    pub fn for_each_frame(&self, mut each: impl FnMut(u64, &[PlayerFrame])) -> Result<(), ReplayError> {
        let mut replay = self.replay()?;
        let mut frames = Vec::new();
        loop {
            frames.clear();
            frames.extend(replay.ethereal().frames());
            each(replay.ethereal().tick(), &frames);
            if !replay.step()? {
                return Ok(());
            }
        }
    }

    /// Reconstructs the players of a recording that comes from another game, and calls `each` like
    /// [`for_each_frame`](Self::for_each_frame). Every player spawns where recorded, moves by its
    /// keys among the walls of `map`, is corrected by every snapshot, and dies when recorded. The
    /// result is as good as the other game's motion resembles this one's.
    pub fn retrace(&self, map: &Map, mut each: impl FnMut(u64, &[PlayerFrame])) {
        let mut tracks: Vec<RetracedPlayer<'_>> = self.players.iter().map(RetracedPlayer::new).collect();
        let mut frames = Vec::new();
        for tick in 0..=self.ticks {
            frames.clear();
            frames.extend(tracks.iter_mut().map(|track| track.frame_at(tick, map)));
            each(tick, &frames);
        }
    }
}

/// A replay that compares every tick with its recording.
#[derive(Clone, Debug)]
pub struct CheckedReplay<'a> {
    recording: &'a Recording,
    ethereal: Ethereal,
    inputs: Vec<Input>,
    cursors: Vec<Cursor>,
}

/// The positions in a player's record.
#[derive(Clone, Copy, Debug, Default)]
struct Cursor {
    inputs: usize,
    lives: usize,
    snapshots: usize,
}

impl CheckedReplay<'_> {
    /// Plays the next tick and compares it. Returns `false` at the end of the recording.
    pub fn step(&mut self) -> Result<bool, Desync> {
        let tick = self.ethereal.tick();
        if tick >= self.recording.ticks {
            return Ok(false);
        }
        for ((record, cursor), held) in
            self.recording.players.iter().zip(&mut self.cursors).zip(&mut self.inputs)
        {
            while let Some(change) = record.inputs.get(cursor.inputs).filter(|change| change.tick <= tick) {
                *held = change.input;
                cursor.inputs += 1;
            }
        }
        self.ethereal.step(&self.inputs);
        self.check()?;
        Ok(true)
    }

    pub fn ethereal(&self) -> &Ethereal {
        &self.ethereal
    }

    /// Plays to the end and returns the match.
    pub fn finish(mut self) -> Result<Ethereal, Desync> {
        while self.step()? {}
        Ok(self.ethereal)
    }

    fn check(&mut self) -> Result<(), Desync> {
        let tick = self.ethereal.tick();
        let events = self.ethereal.events();
        for ((player, record), cursor) in
            self.ethereal.players().iter().zip(&self.recording.players).zip(&mut self.cursors)
        {
            let desync = |difference| Err(Desync { tick, player: player.id(), difference });
            let dies =
                |event: &Event| matches!(event, Event::Died { player: who, .. } if *who == player.id());
            let has_died = events.iter().any(dies);
            let life = cursor.lives.checked_sub(1).and_then(|life| record.lives.get(life));
            let should_have_died = life.is_some_and(|life| life.died_tick == Some(tick));
            if has_died != should_have_died {
                return desync(Difference::Death);
            }
            let born_at = (player.condition() == Condition::Spawned).then(|| player.body().position);
            let next = record.lives.get(cursor.lives).filter(|life| life.born_tick <= tick);
            if born_at != next.map(|life| life.position) {
                return desync(Difference::Birth);
            }
            cursor.lives += usize::from(next.is_some());
            if let Some(snapshot) = record.snapshots.get(cursor.snapshots).filter(|each| each.tick <= tick) {
                cursor.snapshots += 1;
                if *snapshot != PlayerSnapshot::of(tick, player) {
                    return desync(Difference::Snapshot);
                }
            }
        }
        Ok(())
    }
}

/// A difference between a replay and its recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Desync {
    pub tick: u64,
    pub player: EntityId,
    pub difference: Difference,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Difference {
    Birth,
    Death,
    Snapshot,
}

/// The reason why a recording cannot be replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReplayError {
    /// It has no rules and seed: another game's. It can only be [retraced](Recording::retrace).
    NoOrigin,
    /// Its players do not match its rules.
    OtherPlayers,
    Config(OutOfRange),
    Desync(Desync),
}

impl From<OutOfRange> for ReplayError {
    fn from(error: OutOfRange) -> Self {
        Self::Config(error)
    }
}

impl From<Desync> for ReplayError {
    fn from(desync: Desync) -> Self {
        Self::Desync(desync)
    }
}

impl std::fmt::Display for Desync {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let what = match self.difference {
            Difference::Birth => "a birth",
            Difference::Death => "a death",
            Difference::Snapshot => "a snapshot",
        };
        write!(out, "tick {}: {what} of player {} differs from the recording", self.tick, self.player.0)
    }
}

impl std::error::Error for Desync {}

impl std::fmt::Display for ReplayError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoOrigin => write!(
                out,
                "the recording has no rules and no seed; only recordings of this game can be replayed"
            ),
            Self::OtherPlayers => write!(out, "the recording's players do not match its rules"),
            Self::Config(error) => error.fmt(out),
            Self::Desync(desync) => desync.fmt(out),
        }
    }
}

impl std::error::Error for ReplayError {}

/// One player of a recording that is retraced.
struct RetracedPlayer<'a> {
    record: &'a PlayerRecord,
    cursor: Cursor,
    input: Input,
    body: Body,
    is_alive: bool,
    health: u32,
    ammo: u32,
}

impl<'a> RetracedPlayer<'a> {
    fn new(record: &'a PlayerRecord) -> Self {
        Self {
            record,
            cursor: Cursor::default(),
            input: Input::IDLE,
            body: Body::at(record.lives.first().map_or(Vec2::ZERO, |life| life.position)),
            is_alive: false,
            health: 0,
            ammo: 0,
        }
    }

    /// Advances by one tick, to `tick`.
    fn frame_at(&mut self, tick: u64, map: &Map) -> PlayerFrame {
        while let Some(change) =
            self.record.inputs.get(self.cursor.inputs).filter(|change| change.tick < tick)
        {
            self.input = change.input;
            self.cursor.inputs += 1;
        }
        // Shots come before moves: a player that dies in a tick does not move in it.
        let life = self.cursor.lives.checked_sub(1).map(|life| &self.record.lives[life]);
        if life.is_some_and(|life| life.died_tick.is_some_and(|died| died <= tick)) {
            self.is_alive = false;
            self.body.velocity = Vec2::ZERO;
        }
        if self.is_alive {
            self.body = self.body.step(self.input.keys, map);
        }
        let mut has_jumped = false;
        while let Some(life) = self.record.lives.get(self.cursor.lives).filter(|life| life.born_tick <= tick)
        {
            self.body = Body::at(life.position);
            self.is_alive = true;
            self.cursor.lives += 1;
            has_jumped = true;
        }
        while let Some(snapshot) =
            self.record.snapshots.get(self.cursor.snapshots).filter(|snapshot| snapshot.tick <= tick)
        {
            self.body = snapshot.body;
            self.is_alive = snapshot.is_alive;
            (self.health, self.ammo) = (snapshot.health, snapshot.ammo);
            self.cursor.snapshots += 1;
        }
        PlayerFrame {
            id: self.record.id,
            team: self.record.team,
            life: self.cursor.lives.saturating_sub(1) as u16,
            is_alive: self.is_alive,
            has_jumped,
            position: self.body.position,
            velocity: self.body.velocity,
            health: self.health,
            ammo: self.ammo,
        }
    }
}
