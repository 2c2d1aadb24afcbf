//! One player at one tick as plain numbers, for evaluators and traces.

use fairpath::number::EntityId;
use fairpath::time::SharedInstant;
use fairpath::vector::Vec2;
use fairpath_sim::trace::{StateKind, StateRow};

use super::player::{Condition, Player};
use super::world::Ethereal;
use crate::shared::Team;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlayerFrame {
    pub id: EntityId,
    pub team: Team,
    pub life: u16,
    /// Whether it is on the map. A dead player stays where it died.
    pub is_alive: bool,
    /// Whether it spawned in this tick: its path is not continuous there.
    pub has_jumped: bool,
    /// Its position, in pixels.
    pub position: Vec2,
    /// Its velocity, in pixels per second.
    pub velocity: Vec2,
    pub health: u32,
    pub ammo: u32,
}

impl PlayerFrame {
    pub fn of(player: &Player) -> Self {
        Self {
            id: player.id(),
            team: player.team(),
            life: player.life(),
            is_alive: player.is_alive(),
            has_jumped: player.condition() == Condition::Spawned,
            position: player.body().position,
            velocity: player.body().velocity,
            health: player.health(),
            ammo: player.ammo(),
        }
    }

    /// Returns the frame as a trace row: the truth at that instant, oriented along its velocity.
    pub fn to_row(&self, at: SharedInstant) -> StateRow {
        let state = fairpath::State::moving(self.position, self.velocity);
        StateRow {
            life: self.life,
            is_break: self.has_jumped,
            ..StateRow::new(at, self.id, StateKind::Truth, &state)
        }
    }
}

impl Ethereal {
    /// Returns the frames of all players at this tick, in the order of ids.
    pub fn frames(&self) -> impl ExactSizeIterator<Item = PlayerFrame> {
        self.players().iter().map(PlayerFrame::of)
    }
}
