//! What one player is shown. A bot decides from this and from nothing else.
//!
//! [`Ethereal::look`] fills it with the truth. On a real screen the others are where dead reckoning
//! places them: put those positions into the view, and the bot aims at what it sees.

use fairpath::number::EntityId;
use fairpath::vector::Vec2;

use super::config::SCREEN;
use super::item::ItemKind;
use super::player::{Body, Player};
use super::world::Ethereal;
use crate::shared::Team;

/// How far away an enemy can be seen to either side, and up or down. The window follows the mouse,
/// as far as the player is still in it: so one window's size, as in Shi 2014. Walls hide nobody
/// from above.
pub const SIGHT: Vec2 = SCREEN;

/// What one player is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// Which tick it is. The others may be shown as they were some ticks earlier.
    pub tick: u64,
    /// Which player is looking.
    pub me: EntityId,
    /// Whom it plays for.
    pub team: Team,
    /// Which of its lives it lives.
    pub life: u16,
    /// Whether it is on the map.
    pub is_alive: bool,
    /// Where it is: its owner knows the truth.
    pub own: Body,
    /// What is left of its health.
    pub health: u32,
    /// What is left of its ammunition.
    pub ammo: u32,
    /// What a new life begins with.
    pub health_max: u32,
    /// What a new life begins with.
    pub ammo_max: u32,
    /// How far its shots reach.
    pub shot_range: f64,
    /// The living others: friends wherever they are, and enemies within [`SIGHT`] of the player or
    /// of a friend. There is a small map, and people talk.
    pub others: Vec<SeenPlayer>,
    /// All items, in the order of [`Ethereal::items`].
    pub items: Vec<SeenItem>,
}

/// Another player, as it is shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeenPlayer {
    /// Who.
    pub id: EntityId,
    /// Whom it plays for.
    pub team: Team,
    /// Where it is shown, and how it is shown to move.
    pub body: Body,
    /// What its health bar shows.
    pub health: u32,
}

/// An item, as it is shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeenItem {
    /// What it gives.
    pub kind: ItemKind,
    /// Where it lies, or will again.
    pub position: Vec2,
    /// Whether it is there; unknown while out of sight.
    pub is_there: Option<bool>,
}

impl View {
    /// The others of the own team.
    pub fn friends(&self) -> impl Iterator<Item = &SeenPlayer> {
        self.others.iter().filter(|other| other.team == self.team)
    }

    /// The enemies in sight.
    pub fn foes(&self) -> impl Iterator<Item = &SeenPlayer> {
        self.others.iter().filter(|other| other.team != self.team)
    }

    /// The player of that name, if it is shown.
    pub fn player(&self, id: EntityId) -> Option<&SeenPlayer> {
        self.others.iter().find(|other| other.id == id)
    }
}

impl Ethereal {
    /// The truth, as player `me` would see it on a screen without delay. Nothing if there is no
    /// such player.
    pub fn look(&self, me: EntityId) -> Option<View> {
        let own = self.player(me)?;
        let is_in_sight = |there: Vec2| sees(own.body().position, there);
        let is_friend = |other: &&Player| other.team() == own.team() && other.is_alive();
        let is_spotted = |there: Vec2| {
            self.players().iter().filter(is_friend).any(|friend| sees(friend.body().position, there))
        };
        let others = self.players().iter().filter(|other| {
            let is_shown = other.team() == own.team() || is_spotted(other.body().position);
            other.id() != me && other.is_alive() && is_shown
        });
        let seen = |other: &Player| SeenPlayer {
            id: other.id(),
            team: other.team(),
            body: other.body(),
            health: other.health(),
        };
        let items = self.items().iter().map(|item| SeenItem {
            kind: item.kind(),
            position: item.position(),
            is_there: is_in_sight(item.position()).then(|| item.is_there(self.tick())),
        });
        Some(View {
            tick: self.tick(),
            me,
            team: own.team(),
            life: own.life(),
            is_alive: own.is_alive(),
            own: own.body(),
            health: own.health(),
            ammo: own.ammo(),
            health_max: self.config().health_max,
            ammo_max: self.config().ammo_max,
            shot_range: self.config().shot_range,
            others: others.map(seen).collect(),
            items: items.collect(),
        })
    }
}

/// Whether a window around one point can show the other.
fn sees(from: Vec2, to: Vec2) -> bool {
    let offset = to - from;
    offset.x.abs() <= SIGHT.x && offset.y.abs() <= SIGHT.y
}
