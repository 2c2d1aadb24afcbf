//! A key-value store as bad as a real one, which still never breaks its one promise: a
//! compare-and-set succeeds only on the newest revision.

use std::collections::BTreeMap;

use fairpath::time::{SharedInstant, Span};
use fairpath::vector::Vec2;
use fairpath_cluster::{Answer, Key, Operation, Record, Revision};

/// All revisions of all keys, in the order of their commits.
#[derive(Debug, Default)]
pub(super) struct Store {
    newest: u64,
    keys: BTreeMap<Key, Vec<Version>>,
}

#[derive(Clone, Debug)]
pub(super) struct Version {
    pub(super) revision: Revision,
    pub(super) at: SharedInstant,
    pub(super) record: Record<Vec2>,
}

impl Store {
    /// Applies a request. A read sees what was newest `lag` ago.
    pub(super) fn apply(
        &mut self,
        now: SharedInstant,
        key: Key,
        operation: &Operation<Vec2>,
        lag: Span,
    ) -> Answer<Vec2> {
        match operation {
            Operation::Read => Answer::Found(self.as_of(key, now - lag).map(Version::found)),
            Operation::CompareAndSet { record, expected } => {
                let versions = self.keys.entry(key).or_default();
                let newest = versions.last().map_or(Revision::NONE, |version| version.revision);
                if newest != *expected {
                    return Answer::Refused;
                }
                self.newest += 1;
                let revision = Revision(self.newest);
                versions.push(Version { revision, at: now, record: (**record).clone() });
                Answer::Committed(revision)
            }
        }
    }

    fn as_of(&self, key: Key, at: SharedInstant) -> Option<&Version> {
        self.keys.get(&key)?.iter().rev().find(|version| version.at <= at)
    }

    pub(super) fn newest(&self, key: Key) -> Option<&Version> {
        self.keys.get(&key)?.last()
    }

    pub(super) fn versions(&self, key: Key) -> &[Version] {
        self.keys.get(&key).map_or(&[], Vec::as_slice)
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = Key> + '_ {
        self.keys.keys().copied()
    }

    /// Returns some version, for a watch that shows an old one again.
    pub(super) fn version(&self, key: Key, back: usize) -> Option<&Version> {
        let versions = self.keys.get(&key)?;
        versions.get(versions.len().checked_sub(1 + back)?)
    }
}

impl Version {
    fn found(&self) -> (Revision, Box<Record<Vec2>>) {
        (self.revision, Box::new(self.record.clone()))
    }
}
