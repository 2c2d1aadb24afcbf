//! The laws of a world of many servers, with their own simple model of who owns what.

use std::collections::{BTreeMap, BTreeSet};

use fairpath::number::EntityId;
use fairpath::time::{SharedInstant, Span};
use fairpath_cluster::{Key, Record, Revision, ServerId};

use super::store::Store;

/// A law of worlds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WorldLaw {
    /// At any instant at most one server owns an entity, and the store names it.
    OneOwner,
    /// Nobody believes what a server says that is not the owner.
    Believed,
    /// Batches carry the revision of the write that acquired the lease.
    Fence,
    /// A takeover loses no more than stated, and a hand-over nothing.
    Loss,
    /// Promises are delivered once and in order, or named as lost.
    Promises,
    /// Ghosts are within the threshold and what the bus delays.
    Ghosts,
    /// After healing every cell has a holder, and every entity an owner.
    Healed,
    /// No panic.
    Panic,
}

impl WorldLaw {
    pub const ALL: [Self; 8] = [
        Self::OneOwner,
        Self::Believed,
        Self::Fence,
        Self::Loss,
        Self::Promises,
        Self::Ghosts,
        Self::Healed,
        Self::Panic,
    ];
}

/// The first broken law.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorldViolation {
    pub law: WorldLaw,
    pub at: SharedInstant,
    pub what: String,
}

impl std::fmt::Display for WorldViolation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} at {:.3} s: {}", self.law, self.at.as_secs_f64(), self.what)
    }
}

/// What the checkers know of an entity.
#[derive(Clone, Debug, Default)]
struct History {
    /// Until here its owners have counted.
    last_beat: u64,
    /// The last departure lost nothing: it was released or handed over.
    left_cleanly: bool,
}

/// How often an owner counts.
pub(super) const BEAT: Span = Span::from_millis(100);

/// The checkers.
#[derive(Debug, Default)]
pub(super) struct Checks {
    pub(super) now: SharedInstant,
    pub(super) looked: BTreeMap<WorldLaw, u64>,
    pub(super) violation: Option<WorldViolation>,
    histories: BTreeMap<EntityId, History>,
    /// Payloads of promises by their maker and number.
    open: BTreeMap<(EntityId, u64), Made>,
    lost: BTreeSet<u64>,
    owed: BTreeMap<u64, (EntityId, EntityId)>,
}

#[derive(Clone, Copy, Debug)]
struct Made {
    payload: u64,
    to: EntityId,
    is_saved: bool,
}

impl Checks {
    pub(super) fn check(&mut self, law: WorldLaw, holds: bool, what: impl FnOnce() -> String) {
        *self.looked.entry(law).or_default() += 1;
        if !holds && self.violation.is_none() {
            self.violation = Some(WorldViolation { law, at: self.now, what: what() });
        }
    }

    /// Returns whether the store names this server as the owner now.
    pub(super) fn is_owner(&self, store: &Store, (server, term): (ServerId, u64), entity: EntityId) -> bool {
        committed_at(store, entity, self.now) == Some((server, term))
    }

    /// Checks one server's belief against the store.
    pub(super) fn on_owner(&mut self, store: &Store, server: ServerId, entity: EntityId, term: u64) {
        let newest = committed_at(store, entity, self.now);
        self.check(WorldLaw::OneOwner, newest == Some((server, term)), || {
            format!(
                "server {:x} owns entity {} in term {term}, but the store says {newest:x?}",
                server.0, entity.0
            )
        });
    }

    /// Checks a DR vector that a server has believed.
    pub(super) fn on_believed(
        &mut self,
        store: &Store,
        (server, term): (ServerId, u64),
        entity: EntityId,
        sent_at: SharedInstant,
    ) {
        let owner = committed_at(store, entity, sent_at);
        self.check(WorldLaw::Believed, owner == Some((server, term)), || {
            format!(
                "server {:x} was believed about entity {} in term {term}, said at {:.3} s; the owner was {owner:x?}",
                server.0,
                entity.0,
                sent_at.as_secs_f64()
            )
        });
    }

    pub(super) fn on_batch(&mut self, store: &Store, cell: fairpath_cluster::CellId, fence: Revision) {
        let acquiring = store.versions(Key::Cell(cell)).iter().find(|version| version.revision == fence);
        let is_fence = acquiring.is_some_and(|version| {
            matches!(&version.record, Record::Lease(lease) if lease.fence.is_none() && lease.holder.is_some())
        });
        self.check(WorldLaw::Fence, is_fence, || format!("{fence:?} acquired no lease of cell {cell}"));
    }

    pub(super) fn on_beat(&mut self, entity: EntityId, beat: u64) {
        let history = self.histories.entry(entity).or_default();
        history.last_beat = history.last_beat.max(beat);
        history.left_cleanly = false;
    }

    pub(super) fn on_left_cleanly(&mut self, entity: EntityId) {
        self.histories.entry(entity).or_default().left_cleanly = true;
    }

    pub(super) fn on_restored(&mut self, entity: EntityId, beat: u64, is_offered: bool, loss_max: Span) {
        let history = self.histories.entry(entity).or_default().clone();
        let lost = BEAT.as_micros() / 1_000 * history.last_beat.saturating_sub(beat) as i64;
        let most = if is_offered || history.left_cleanly { 0 } else { loss_max.as_micros() / 1_000 };
        self.check(WorldLaw::Loss, lost <= most, || {
            format!("entity {} has lost {lost} ms, more than {most} ms", entity.0)
        });
        self.histories.entry(entity).or_default().last_beat = beat;
    }

    pub(super) fn on_promise(&mut self, from: EntityId, number: u64, to: EntityId, payload: u64) {
        let made = Made { payload, to, is_saved: false };
        let before = self.open.insert((from, number), made);
        self.check(WorldLaw::Promises, before.is_none(), || {
            format!("entity {} has made two promises with number {number}", from.0)
        });
    }

    pub(super) fn on_saved(&mut self, from: EntityId, promised: u64) {
        for (_, made) in self.open.range_mut((from, 0)..=(from, promised)) {
            made.is_saved = true;
        }
    }

    /// Everything after `promised` is named as lost.
    pub(super) fn on_entered(&mut self, from: EntityId, promised: u64) {
        let named: Vec<(EntityId, u64)> =
            self.open.range((from, promised + 1)..=(from, u64::MAX)).map(|(key, _)| *key).collect();
        for key in named {
            let Some(made) = self.open.remove(&key) else { continue };
            self.check(WorldLaw::Promises, !made.is_saved, || {
                format!("promise {} of entity {} was saved and is named as lost", key.1, from.0)
            });
            self.lost.insert(made.payload);
        }
        self.on_saved(from, promised);
    }

    /// Checks the promises that an entity remembers at the end.
    pub(super) fn on_final_log(&mut self, entity: EntityId, log: &[u64]) {
        let mut seen = BTreeSet::new();
        let mut last: BTreeMap<EntityId, u64> = BTreeMap::new();
        for payload in log {
            let is_first = seen.insert(*payload);
            self.check(WorldLaw::Promises, is_first, || {
                format!("entity {} has received payload {payload} twice", entity.0)
            });
            let is_lost = self.lost.contains(payload);
            self.check(WorldLaw::Promises, !is_lost, || {
                format!("payload {payload} was named as lost and arrived")
            });
            let made = self.open.iter().find(|(_, made)| made.payload == *payload);
            let Some((&(from, number), _)) = made else { continue };
            let before = last.insert(from, number);
            self.check(WorldLaw::Promises, before.is_none_or(|before| before < number), || {
                format!("entity {} has received promise {number} of entity {} too late", entity.0, from.0)
            });
        }
        for ((from, _), made) in &self.open {
            if made.to == entity && !seen.contains(&made.payload) {
                self.owed.insert(made.payload, (*from, entity));
            }
        }
    }

    pub(super) fn on_end(&mut self) {
        let owed = self.owed.clone();
        self.check(WorldLaw::Promises, owed.is_empty(), || {
            format!("promises were neither delivered nor named: {owed:?} (payload, from, to)")
        });
    }
}

fn committed_at(store: &Store, entity: EntityId, at: SharedInstant) -> Option<(ServerId, u64)> {
    let versions = store.versions(Key::Entity(entity));
    let version = versions.iter().rev().find(|version| version.at <= at)?;
    let Record::Entity(record) = &version.record else { return None };
    Some((record.write.server, record.title.term))
}
