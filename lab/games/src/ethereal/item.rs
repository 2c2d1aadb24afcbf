//! What lies about.

use fairpath::vector::Vec2;
use fairpath_sim::Digest;

/// How near to its middle a player picks an item up: the two touch.
pub const PICK_UP_WITHIN: f64 = 50.0;

/// What an item gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ItemKind {
    /// Health.
    Health,
    /// Ammunition.
    Ammo,
}

/// Where a map has an item.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ItemSpot {
    /// What lies there.
    pub kind: ItemKind,
    /// Where.
    pub position: Vec2,
}

/// An item: there, or picked up and due to come back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Item {
    pub(super) spot: ItemSpot,
    pub(super) back_at: u64,
}

impl Item {
    /// What it gives.
    pub fn kind(&self) -> ItemKind {
        self.spot.kind
    }

    /// Where it lies, or will again.
    pub fn position(&self) -> Vec2 {
        self.spot.position
    }

    /// Whether it can be picked up at this tick.
    pub fn is_there(&self, tick: u64) -> bool {
        self.back_at <= tick
    }

    pub(super) fn add_to(&self, digest: &mut Digest) {
        digest.u64(self.back_at);
    }
}
