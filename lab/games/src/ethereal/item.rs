use fairpath::vector::Vec2;
use fairpath_sim::Digest;

/// The distance between the centres at which a player picks an item up: the two touch.
pub const PICK_UP_WITHIN: f64 = 50.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ItemKind {
    Health,
    Ammo,
}

/// A place of an item on a map.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ItemSpot {
    pub kind: ItemKind,
    pub position: Vec2,
}

/// An item: present, or picked up and about to respawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Item {
    pub(super) spot: ItemSpot,
    pub(super) back_at: u64,
}

impl Item {
    pub fn kind(&self) -> ItemKind {
        self.spot.kind
    }

    pub fn position(&self) -> Vec2 {
        self.spot.position
    }

    /// Returns whether it can be picked up at this tick.
    pub fn is_there(&self, tick: u64) -> bool {
        self.back_at <= tick
    }

    pub(super) fn add_to(&self, digest: &mut Digest) {
        digest.u64(self.back_at);
    }
}
