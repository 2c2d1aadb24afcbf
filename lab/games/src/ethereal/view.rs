//! What one player is shown. A bot decides from this view only.
//!
//! [`Ethereal::look`] fills it with the truth. On a real client, other players are where dead
//! reckoning places them. Put those positions into the view, and the bot aims at them.

use fairpath::number::EntityId;
use fairpath::vector::Vec2;

use super::config::SCREEN;
use super::item::ItemKind;
use super::player::{Body, Player};
use super::world::Ethereal;
use crate::shared::Team;

/// How far a player sees horizontally and vertically: one window's size, as in Shi 2014, because it
/// follows the mouse while the player stays in it. Seen from above, walls hide no player.
pub const SIGHT: Vec2 = SCREEN;

#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// The current tick. Other players may be shown as they were some ticks earlier.
    pub tick: u64,
    pub me: EntityId,
    pub team: Team,
    pub life: u16,
    pub is_alive: bool,
    /// Its true position and velocity: its owner knows them.
    pub own: Body,
    pub health: u32,
    pub ammo: u32,
    pub health_max: u32,
    pub ammo_max: u32,
    pub shot_range: f64,
    /// The other living players: all friends, and enemies in [`SIGHT`] of the player or a friend.
    pub others: Vec<SeenPlayer>,
    /// All items, in the order of [`Ethereal::items`].
    pub items: Vec<SeenItem>,
}

/// Another player, as the client shows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeenPlayer {
    pub id: EntityId,
    pub team: Team,
    pub body: Body,
    pub health: u32,
}

/// An item, as the client shows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeenItem {
    pub kind: ItemKind,
    pub position: Vec2,
    /// Whether it is present; `None` while out of sight.
    pub is_there: Option<bool>,
}

impl View {
    pub fn friends(&self) -> impl Iterator<Item = &SeenPlayer> {
        self.others.iter().filter(|other| other.team == self.team)
    }

    pub fn foes(&self) -> impl Iterator<Item = &SeenPlayer> {
        self.others.iter().filter(|other| other.team != self.team)
    }

    /// Returns the player with that id, if it is shown.
    pub fn player(&self, id: EntityId) -> Option<&SeenPlayer> {
        self.others.iter().find(|other| other.id == id)
    }
}

impl Ethereal {
    /// Returns the truth as player `me`'s client would show it without delay; `None` without `me`.
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

/// Returns whether a window around one point can show the other.
fn sees(from: Vec2, to: Vec2) -> bool {
    let offset = to - from;
    offset.x.abs() <= SIGHT.x && offset.y.abs() <= SIGHT.y
}
