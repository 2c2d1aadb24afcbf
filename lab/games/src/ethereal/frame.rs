//! One player at one tick, as plain numbers: what evaluators and traces take.

use fairpath::number::EntityId;
use fairpath::time::SharedInstant;
use fairpath::vector::Vec2;
use fairpath_sim::trace::{StateKind, StateRow};

use super::player::{Condition, Player};
use super::world::Ethereal;
use crate::shared::Team;

/// One player at one tick.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlayerFrame {
    /// Who.
    pub id: EntityId,
    /// Whom it plays for.
    pub team: Team,
    /// Which of its lives.
    pub life: u16,
    /// Whether it is on the map; the dead stay where they died.
    pub is_alive: bool,
    /// Whether it was put there in this tick: nothing may be joined across it.
    pub has_jumped: bool,
    /// Where it is, in pixels.
    pub position: Vec2,
    /// How fast it moves, in pixels per second.
    pub velocity: Vec2,
    /// What is left of its health.
    pub health: u32,
    /// What is left of its ammunition.
    pub ammo: u32,
}

impl PlayerFrame {
    /// The player as it stands.
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

    /// The same as a row of a trace: the truth at that instant, facing the way it moves.
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
    /// Every player at this tick, in the order of names.
    pub fn frames(&self) -> impl ExactSizeIterator<Item = PlayerFrame> {
        self.players().iter().map(PlayerFrame::of)
    }
}
