//! An entity that this server owns, claims or has offered.

use std::collections::{BTreeMap, VecDeque};

use fairpath::number::EntityId;
use fairpath::time::{LocalInstant, SharedInstant, Span};
use fairpath::vector::Planar;
use fairpath::{DrVector, Owner};

use crate::cell::CellId;
use crate::config::{LONG_AGO, ZoneConfig};
use crate::record::{EntityRecord, Revision, ServerId, Snapshot, Title, WriteId};
use crate::register::{Attempt, Register};

/// A message from one entity to another that is delivered once, or named as lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Promise {
    /// Its number among the promises of its entity.
    pub number: u64,
    /// The entity that receives it.
    pub to: EntityId,
    /// The game's bytes.
    pub bytes: Vec<u8>,
}

/// This server does not own the entity now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotOwned(pub EntityId);

impl std::fmt::Display for NotOwned {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "this server does not own entity {} now", self.0.0)
    }
}

impl std::error::Error for NotOwned {}

/// An entity that this server owns, claims or has offered.
#[derive(Debug)]
pub(crate) struct Real<V: Planar> {
    pub(crate) register: Register<EntityWrite>,
    /// The title of the newest own write that is known to be committed.
    pub(crate) title: Option<Title>,
    pub(crate) phase: Phase,
    /// The game has not been told yet that the entity is here.
    pub(crate) arrival: Option<Origin>,
    pub(crate) owner: Owner<V>,
    pub(crate) game: Vec<u8>,
    pub(crate) promised: u64,
    pub(crate) outbox: VecDeque<Promise>,
    pub(crate) received: BTreeMap<EntityId, u64>,
    pub(crate) is_gone: bool,
    /// Counts changes of the snapshot.
    pub(crate) changes: u64,
    /// When the oldest change that is not known to be saved was made.
    pub(crate) dirty_since: Option<LocalInstant>,
    /// Save at once: a promise waits for it.
    pub(crate) is_urgent: bool,
    /// Changes, promises and receipts up to here are saved.
    pub(crate) saved: Saved,
    /// When the outbox is sent again.
    pub(crate) resend_at: LocalInstant,
    /// After a hand-over that failed.
    pub(crate) offer_at: LocalInstant,
}

/// What this server has to do with an entity.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Phase {
    /// It asks the store for the newest record, to take the entity from a former owner.
    Looking,
    /// It writes itself into the record.
    Claiming { title: Title, origin: Origin },
    /// It owns the entity while a lease covers the title.
    Owned,
    /// It is silent until the receiver accepts or the entity is reclaimed.
    Offered { until: LocalInstant },
}

/// How an entity comes to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The game has created it here.
    Spawned,
    /// This server has offered it.
    Offered(ServerId),
    /// This server was its owner and no longer is. What it had not saved is lost.
    Taken(ServerId),
}

/// What a write to an entity's record says.
#[derive(Clone, Debug)]
pub(crate) struct EntityWrite {
    pub(crate) title: Title,
    pub(crate) changes: u64,
    pub(crate) saved: Saved,
    pub(crate) is_gone: bool,
}

/// What a snapshot contains of promises.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Saved {
    pub(crate) promised: u64,
    pub(crate) received: BTreeMap<EntityId, u64>,
}

impl<V: Planar> Real<V> {
    /// An entity without a past, or one that is looked up first.
    pub(crate) fn new(entity: EntityId, config: &ZoneConfig, known: Revision, phase: Phase) -> Self {
        Self {
            register: Register::at(known),
            title: None,
            phase,
            arrival: None,
            owner: owner(entity, config),
            game: Vec::new(),
            promised: 0,
            outbox: VecDeque::new(),
            received: BTreeMap::new(),
            is_gone: false,
            changes: 0,
            dirty_since: None,
            is_urgent: false,
            saved: Saved::default(),
            resend_at: LONG_AGO,
            offer_at: LONG_AGO,
        }
    }

    /// Continues from a snapshot.
    pub(crate) fn restore(&mut self, snapshot: &Snapshot<V>, config: &ZoneConfig) {
        self.owner = owner(self.owner.entity(), config);
        if let Some(vector) = snapshot.vector {
            self.owner = owner(vector.entity, config).continuing(vector);
        }
        self.game.clone_from(&snapshot.game);
        self.promised = snapshot.promised;
        self.outbox = snapshot.outbox.iter().cloned().collect();
        self.received = snapshot.received.iter().copied().collect();
        self.dirty_since = None;
    }

    pub(crate) fn snapshot(&self, now: SharedInstant) -> Snapshot<V> {
        Snapshot {
            saved_at: now,
            vector: self.owner.exported().copied(),
            game: self.game.clone(),
            promised: self.promised,
            outbox: self.outbox.iter().cloned().collect(),
            received: self.received.iter().map(|(from, number)| (*from, *number)).collect(),
        }
    }

    pub(crate) fn record(&self, write: WriteId, title: Title, now: SharedInstant) -> EntityRecord<V> {
        EntityRecord { write, title, is_gone: self.is_gone, snapshot: self.snapshot(now) }
    }

    pub(crate) fn write_of(&self, title: Title) -> EntityWrite {
        let saved = Saved { promised: self.promised, received: self.received.clone() };
        EntityWrite { title, changes: self.changes, saved, is_gone: self.is_gone }
    }

    /// Notes a change that a crash would lose.
    pub(crate) fn on_changed(&mut self, now: LocalInstant) {
        self.changes += 1;
        self.dirty_since.get_or_insert(now);
    }

    /// Every title under which this server may be the owner; `None` if it is not.
    pub(crate) fn titles(&self) -> Option<impl Iterator<Item = Title>> {
        let title = self.title.filter(|_| matches!(self.phase, Phase::Owned))?;
        let in_doubt = self.register.attempts().map(|attempt| attempt.meaning.title);
        (!self.register.has_forgotten()).then(|| std::iter::once(title).chain(in_doubt))
    }

    /// Returns whether nothing older than `loss_max` is unsaved.
    pub(crate) fn is_saved_enough(&self, now: LocalInstant, loss_max: Span) -> bool {
        self.dirty_since.is_none_or(|since| now - since < loss_max)
    }

    /// Returns whether the title or a write in doubt names this cell.
    pub(crate) fn needs_cell(&self, cell: CellId) -> bool {
        let in_doubt = self.register.attempts().any(|attempt| attempt.meaning.title.cell == cell);
        in_doubt || self.title.is_some_and(|title| title.cell == cell)
    }

    /// Books a committed write.
    pub(crate) fn on_committed(&mut self, attempt: &Attempt<EntityWrite>) {
        let write = &attempt.meaning;
        self.title = Some(write.title);
        self.saved = write.saved.clone();
        // Changes after the snapshot was taken are later than its write.
        self.dirty_since = (self.changes > write.changes).then_some(attempt.sent_at);
        if self.dirty_since.is_none() {
            self.is_urgent = false;
        }
    }

    /// The DR vector that receivers follow.
    pub(crate) fn exported(&self) -> Option<&DrVector<V>> {
        self.owner.exported()
    }
}

fn owner<V: Planar>(entity: EntityId, config: &ZoneConfig) -> Owner<V> {
    Owner::new(entity, config.trigger.clone()).with_precision(config.precision)
}
