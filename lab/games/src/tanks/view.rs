//! What one player is shown. A bot decides from this view only.
//!
//! [`Tanks::look`] fills it with the truth. On a real client, other tanks are where dead reckoning
//! places them. With those positions in the view, the bot misses tanks that were elsewhere.

use fairpath::State;
use fairpath::number::EntityId;
use fairpath::time::SharedInstant;
use fairpath::vector::Vec2;

use super::flag::FlagPlace;
use super::world::Tanks;
use crate::shared::Team;

/// What one player is shown: the whole field, like BZFlag's radar.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// The time on this player's client.
    pub now: SharedInstant,
    pub me: EntityId,
    pub team: Team,
    pub life: u16,
    pub is_alive: bool,
    /// The own tank's true state: its owner knows it.
    pub own: State<Vec2>,
    pub reloaded_at: SharedInstant,
    /// The other living tanks.
    pub tanks: Vec<SeenTank>,
    pub shots: Vec<SeenShot>,
    /// Both flags, red's first.
    pub flags: [SeenFlag; 2],
}

/// Another tank, as the client shows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeenTank {
    pub id: EntityId,
    pub team: Team,
    pub state: State<Vec2>,
}

/// A shot, as the client shows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeenShot {
    pub id: EntityId,
    pub shooter: EntityId,
    pub team: Team,
    pub fired_at: SharedInstant,
    pub state: State<Vec2>,
}

/// A flag, as the client shows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeenFlag {
    pub place: FlagPlace,
    pub position: Vec2,
}

impl View {
    /// Returns whether the player's tank carries the other team's flag.
    pub fn is_carrying(&self) -> bool {
        self.flag(self.team.other()).place == FlagPlace::Carried(self.me)
    }

    pub fn flag(&self, team: Team) -> &SeenFlag {
        &self.flags[team.index()]
    }

    pub fn tank(&self, id: EntityId) -> Option<&SeenTank> {
        self.tanks.iter().find(|tank| tank.id == id)
    }

    pub fn foes(&self) -> impl Iterator<Item = &SeenTank> {
        self.tanks.iter().filter(|tank| tank.team != self.team)
    }
}

impl Tanks {
    /// Returns the truth as tank `me`'s client would show it without delay; `None` without `me`.
    pub fn look(&self, me: EntityId) -> Option<View> {
        let own = self.tank(me)?;
        let others = self.tanks().iter().filter(|tank| tank.id() != me && tank.is_alive());
        let seen_tank =
            |tank: &super::Tank| SeenTank { id: tank.id(), team: tank.team(), state: tank.state() };
        let seen_shot = |shot: &super::Shot| SeenShot {
            id: shot.id(),
            shooter: shot.shooter(),
            team: shot.team(),
            fired_at: shot.fired_at(),
            state: shot.state(),
        };
        let seen_flag = |team| {
            let flag = self.flag(team);
            SeenFlag { place: flag.place(), position: flag.position() }
        };
        Some(View {
            now: self.now(),
            me,
            team: own.team(),
            life: own.life(),
            is_alive: own.is_alive(),
            own: own.state(),
            reloaded_at: own.reloaded_at(),
            tanks: others.map(seen_tank).collect(),
            shots: self.shots().iter().map(seen_shot).collect(),
            flags: Team::BOTH.map(seen_flag),
        })
    }
}
