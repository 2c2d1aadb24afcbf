//! What one player is shown. A bot decides from this and from nothing else.
//!
//! [`Tanks::look`] fills it with the truth. On a real screen the others are where dead reckoning
//! places them: put those positions into the view, and the bot aims at what it sees, and misses
//! what was elsewhere.

use fairpath::State;
use fairpath::number::EntityId;
use fairpath::time::SharedInstant;
use fairpath::vector::Vec2;

use super::flag::FlagPlace;
use super::world::Tanks;
use crate::shared::Team;

/// What one player is shown. Like BZFlag's radar it shows the whole field.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// The time on this player's screen.
    pub now: SharedInstant,
    /// Which tank is the player's own.
    pub me: EntityId,
    /// Whom the player drives for.
    pub team: Team,
    /// Which of its lives the own tank lives.
    pub life: u16,
    /// Whether the own tank is on the field.
    pub is_alive: bool,
    /// The own tank: its owner knows the truth.
    pub own: State<Vec2>,
    /// When the next shot is loaded.
    pub reloaded_at: SharedInstant,
    /// The living others.
    pub tanks: Vec<SeenTank>,
    /// The shots in the air.
    pub shots: Vec<SeenShot>,
    /// Both flags, red's first.
    pub flags: [SeenFlag; 2],
}

/// Another tank, as it is shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeenTank {
    /// Which tank.
    pub id: EntityId,
    /// Whom it drives for.
    pub team: Team,
    /// Where it is shown, and how it is shown to move.
    pub state: State<Vec2>,
}

/// A shot, as it is shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeenShot {
    /// The shot's name.
    pub id: EntityId,
    /// Who fired it.
    pub shooter: EntityId,
    /// The shooter's team.
    pub team: Team,
    /// When it was first in the air.
    pub fired_at: SharedInstant,
    /// Where it is shown, and how it is shown to fly.
    pub state: State<Vec2>,
}

/// A flag, as it is shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeenFlag {
    /// How it is where it is.
    pub place: FlagPlace,
    /// Where it is shown.
    pub position: Vec2,
}

impl View {
    /// Whether the player's tank carries the other team's flag.
    pub fn is_carrying(&self) -> bool {
        self.flag(self.team.other()).place == FlagPlace::Carried(self.me)
    }

    /// A team's flag.
    pub fn flag(&self, team: Team) -> &SeenFlag {
        &self.flags[team.index()]
    }

    /// The tank of that name, if it is shown.
    pub fn tank(&self, id: EntityId) -> Option<&SeenTank> {
        self.tanks.iter().find(|tank| tank.id == id)
    }

    /// The tanks of the other team.
    pub fn foes(&self) -> impl Iterator<Item = &SeenTank> {
        self.tanks.iter().filter(|tank| tank.team != self.team)
    }
}

impl Tanks {
    /// The truth, as the driver of tank `me` would see it on a screen without delay. Nothing if
    /// there is no such tank.
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
