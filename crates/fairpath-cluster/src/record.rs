//! What the store keeps.

use fairpath::DrVector;
use fairpath::number::EntityId;
use fairpath::time::SharedInstant;
use fairpath::vector::Planar;

use crate::cell::CellId;
use crate::entity::Promise;

/// One run of a server. A restarted server is another one: draw 64 random bits at the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerId(pub u64);

/// The number that the store gives a write. Of two revisions of a key the larger is newer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(pub u64);

impl Revision {
    /// The revision of a key that was never written.
    pub const NONE: Self = Self(0);
}

/// Names a write, so that its writer recognises it in a read when the answer was lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WriteId {
    /// The writer.
    pub server: ServerId,
    /// Counts the writer's writes.
    pub number: u64,
}

/// A key of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// What all servers of a world must agree on: a [`WorldRecord`].
    World,
    /// The ids that were given out: an [`IdRecord`].
    Ids,
    /// The lease of a cell: a [`LeaseRecord`].
    Cell(CellId),
    /// The title and snapshot of an entity: an [`EntityRecord`].
    Entity(EntityId),
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::World => f.write_str("world"),
            Self::Ids => f.write_str("ids"),
            Self::Cell(cell) => write!(f, "cell.{cell}"),
            Self::Entity(EntityId(entity)) => write!(f, "entity.{entity}"),
        }
    }
}

/// A value of the store.
#[allow(clippy::large_enum_variant, reason = "requests and answers box the whole record")]
#[derive(Clone, Debug, PartialEq)]
pub enum Record<V: Planar> {
    /// Of [`Key::World`].
    World(WorldRecord),
    /// Of [`Key::Ids`].
    Ids(IdRecord),
    /// Of [`Key::Cell`].
    Lease(LeaseRecord),
    /// Of [`Key::Entity`].
    Entity(EntityRecord<V>),
}

impl<V: Planar> Record<V> {
    /// Returns the write that made this record.
    pub fn write(&self) -> WriteId {
        match self {
            Self::World(record) => record.write,
            Self::Ids(record) => record.write,
            Self::Lease(record) => record.write,
            Self::Entity(record) => record.write,
        }
    }
}

/// What all servers of a world must agree on. Written once, by the server that founds the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorldRecord {
    /// The write that made this record.
    pub write: WriteId,
    /// [`Cells::fingerprint`](crate::Cells::fingerprint).
    pub cells: u64,
    /// [`ZoneConfig::protocol`](crate::ZoneConfig::protocol).
    pub protocol: u64,
    /// [`Precision::fingerprint`](fairpath::wire::Precision::fingerprint).
    pub precision: u32,
    /// [`ZoneConfig::lease`](crate::ZoneConfig::lease) in microseconds.
    pub lease_us: i64,
}

/// The ids of entities that were given out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdRecord {
    /// The write that made this record.
    pub write: WriteId,
    /// The lowest id that was never given out.
    pub next: u32,
}

/// The lease of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseRecord {
    /// The write that made this record.
    pub write: WriteId,
    /// The holder; `None`: the last holder has released the cell.
    pub holder: Option<ServerId>,
    /// The revision of the acquiring write; `None`: this write acquires.
    pub fence: Option<Revision>,
    /// After a release: the server that should take the cell.
    pub successor: Option<ServerId>,
}

impl LeaseRecord {
    /// Returns the fence of the lease, given the revision of this record.
    pub fn fence_at(&self, revision: Revision) -> Revision {
        self.fence.unwrap_or(revision)
    }
}

/// What makes a server the owner of an entity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Title {
    /// The term. Every hand-over and takeover raises it.
    pub term: u64,
    /// The cell whose lease covers the entity.
    pub cell: CellId,
    /// The fence of that lease.
    pub fence: Revision,
}

/// The title and snapshot of an entity.
#[derive(Clone, Debug, PartialEq)]
pub struct EntityRecord<V: Planar> {
    /// The write that made this record. Its server is the owner.
    pub write: WriteId,
    /// What makes the writer the owner.
    pub title: Title,
    /// The entity no longer exists.
    pub is_gone: bool,
    /// What an owner needs to continue the entity.
    pub snapshot: Snapshot<V>,
}

/// What an owner needs to continue an entity.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot<V: Planar> {
    /// When it was taken.
    pub saved_at: SharedInstant,
    /// The newest DR vector; `None` before the first observation.
    pub vector: Option<DrVector<V>>,
    /// What the game wants to keep: [`Zone::set_game`](crate::Zone::set_game).
    pub game: Vec<u8>,
    /// The number of the newest promise that the entity has made.
    pub promised: u64,
    /// Promises that were not acknowledged yet, in ascending order of numbers.
    pub outbox: Vec<Promise>,
    /// The newest promise received from each entity, in ascending order of entities.
    pub received: Vec<(EntityId, u64)>,
}
