//! What servers say to each other on the bus.

use fairpath::DrVector;
use fairpath::number::EntityId;
use fairpath::time::SharedInstant;
use fairpath::vector::Planar;

use crate::cell::CellId;
use crate::record::{EntityRecord, Revision, ServerId, Title};

/// Who hears a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// All servers of the world.
    World,
    /// The servers that see a cell.
    Cell(CellId),
    /// One server.
    Server(ServerId),
}

/// A message between servers. The bus may lose, repeat, delay and reorder it.
#[derive(Clone, Debug, PartialEq)]
pub enum Message<V: Planar> {
    /// DR vectors of the entities of a cell.
    Ghosts(GhostBatch<V>),
    /// The owner of an entity is silent and offers it to the holder of another cell.
    Offer {
        /// The owner.
        from: ServerId,
        /// The entity.
        entity: EntityId,
        /// The newest revision of the entity's record.
        revision: Revision,
        /// The cell in which the receiver should own it.
        cell: CellId,
        /// The record as the receiver should continue it.
        record: Box<EntityRecord<V>>,
    },
    /// The offered entity has a new owner, and the store says so.
    Accept {
        /// The new owner.
        from: ServerId,
        /// The entity.
        entity: EntityId,
        /// The revision of the new record.
        revision: Revision,
        /// The new title.
        title: Title,
    },
    /// The old owner has forgotten the entity.
    Release {
        /// The entity.
        entity: EntityId,
        /// The term of the new owner.
        term: u64,
    },
    /// A promise on its way.
    Promise {
        /// The server to acknowledge it to.
        server: ServerId,
        /// The entity that made it.
        from: EntityId,
        /// The entity to which it was made.
        to: EntityId,
        /// The number of the promise among those from one entity to the other.
        number: u64,
        /// The game's bytes.
        bytes: Vec<u8>,
    },
    /// Promises up to a number have been saved by the receiving entity.
    Receipt {
        /// The entity that made them.
        from: EntityId,
        /// The entity that has received them.
        to: EntityId,
        /// The newest saved one.
        number: u64,
    },
    /// A server is there.
    Presence {
        /// The server.
        server: ServerId,
        /// The number of entities it owns.
        entities: u32,
        /// The number of cells it holds.
        cells: u32,
        /// It takes no more cells.
        is_draining: bool,
    },
}

/// DR vectors of the entities of one cell.
#[derive(Clone, Debug, PartialEq)]
pub struct GhostBatch<V: Planar> {
    /// The owner.
    pub server: ServerId,
    /// The cell.
    pub cell: CellId,
    /// The fence of the owner's lease of it.
    pub fence: Revision,
    /// The end of that lease. What is stamped or arrives later is not from the owner.
    pub speak_until: SharedInstant,
    /// When the batch was made.
    pub sent_at: SharedInstant,
    /// Terms and DR vectors.
    pub vectors: Vec<(u64, DrVector<V>)>,
}

impl<V: Planar> GhostBatch<V> {
    /// Returns the title under which the sender speaks for an entity with this term.
    pub fn title(&self, term: u64) -> Title {
        Title { term, cell: self.cell, fence: self.fence }
    }
}
