use std::collections::BTreeMap;

use super::{DecisionContext, Removed};
use crate::number::{EntityId, ReceiverId};
use crate::time::SharedInstant;
use crate::vector::Planar;

/// A scheduler's memory for every pair of entity and receiver. Kept in the order of a context's
/// candidates, so that both are walked side by side without lookups.
#[derive(Clone, Debug)]
pub(super) struct PairTable<T> {
    entities: BTreeMap<EntityId, Vec<Entry<T>>>,
}

#[derive(Clone, Copy, Debug)]
struct Entry<T> {
    receiver: ReceiverId,
    /// A receiver that leaves the scope and returns has joined again: its memory starts anew.
    joined: SharedInstant,
    memory: T,
}

impl<T> Default for PairTable<T> {
    fn default() -> Self {
        Self { entities: BTreeMap::new() }
    }
}

impl<T: Default> PairTable<T> {
    /// Returns the memory of each of the context's candidates, in their order. A new candidate gets
    /// the default; receivers that left are forgotten.
    pub(super) fn aligned<V: Planar>(
        &mut self,
        context: &DecisionContext<'_, V>,
    ) -> impl ExactSizeIterator<Item = &mut T> + DoubleEndedIterator {
        let entries = self.entities.entry(context.entity).or_default();
        if !is_aligned(entries, context) {
            let mut known = std::mem::take(entries).into_iter().peekable();
            entries.extend(context.candidates.iter().map(|candidate| {
                let (receiver, joined) = (candidate.receiver, candidate.standing.joined);
                while known.next_if(|entry| entry.receiver < receiver).is_some() {}
                known
                    .next_if(|entry| (entry.receiver, entry.joined) == (receiver, joined))
                    .unwrap_or_else(|| Entry { receiver, joined, memory: T::default() })
            }));
        }
        entries.iter_mut().map(|entry| &mut entry.memory)
    }

    pub(super) fn get_mut(&mut self, entity: EntityId, receiver: ReceiverId) -> Option<&mut T> {
        let entries = self.entities.get_mut(&entity)?;
        let position = entries.binary_search_by_key(&receiver, |entry| entry.receiver).ok()?;
        Some(&mut entries[position].memory)
    }

    pub(super) fn forget(&mut self, removed: Removed) {
        match removed {
            Removed::Entity(entity) => {
                self.entities.remove(&entity);
            }
            Removed::Receiver(receiver) => {
                for entries in self.entities.values_mut() {
                    entries.retain(|entry| entry.receiver != receiver);
                }
            }
            Removed::Pair(entity, receiver) => {
                if let Some(entries) = self.entities.get_mut(&entity) {
                    entries.retain(|entry| entry.receiver != receiver);
                }
            }
        }
    }
}

fn is_aligned<T, V: Planar>(entries: &[Entry<T>], context: &DecisionContext<'_, V>) -> bool {
    entries.len() == context.candidates.len()
        && entries.iter().zip(context.candidates).all(|(entry, candidate)| {
            (entry.receiver, entry.joined) == (candidate.receiver, candidate.standing.joined)
        })
}
