//! A map by ids that are given out one after the other.

use std::ops::RangeFrom;

use super::ClientId;
use crate::number::EntityId;

/// An id that is a number. Ids that are given out one after the other have numbers in a row.
pub(super) trait NumberedId: Copy + Ord {
    fn number(self) -> u64;
}

impl NumberedId for ClientId {
    fn number(self) -> u64 {
        self.0.into()
    }
}

impl NumberedId for EntityId {
    fn number(self) -> u64 {
        self.0.into()
    }
}

/// A map in the order of ids. Every datagram looks up its connection and its client, and every
/// observation its object, so a lookup first tries the place that an id has where no id before it
/// is missing. Values are boxed: adding or removing one moves pointers only.
#[derive(Clone, Debug)]
pub(super) struct IdMap<K, T> {
    ids: Vec<K>,
    values: Vec<Box<T>>,
}

impl<K, T> Default for IdMap<K, T> {
    fn default() -> Self {
        Self { ids: Vec::new(), values: Vec::new() }
    }
}

impl<K: NumberedId, T> IdMap<K, T> {
    #[inline]
    fn position(&self, id: K) -> Option<usize> {
        let first = self.ids.first()?.number();
        let guess = id.number().wrapping_sub(first) as usize;
        if self.ids.get(guess) == Some(&id) { Some(guess) } else { self.ids.binary_search(&id).ok() }
    }

    #[inline]
    pub(super) fn get(&self, id: &K) -> Option<&T> {
        self.position(*id).map(|place| &*self.values[place])
    }

    #[inline]
    pub(super) fn get_mut(&mut self, id: &K) -> Option<&mut T> {
        self.position(*id).map(|place| &mut *self.values[place])
    }

    pub(super) fn contains_key(&self, id: &K) -> bool {
        self.position(*id).is_some()
    }

    /// Adds a value, or replaces the one of the same id.
    pub(super) fn insert(&mut self, id: K, value: T) {
        match self.ids.binary_search(&id) {
            Ok(place) => *self.values[place] = value,
            Err(place) => {
                self.ids.insert(place, id);
                self.values.insert(place, Box::new(value));
            }
        }
    }

    pub(super) fn remove(&mut self, id: &K) -> Option<T> {
        let place = self.position(*id)?;
        self.ids.remove(place);
        Some(*self.values.remove(place))
    }

    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &K> + '_ {
        self.ids.iter()
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &T> + '_ {
        self.values.iter().map(|value| &**value)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&K, &T)> + '_ {
        self.ids.iter().zip(self.values())
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (&K, &mut T)> + '_ {
        self.ids.iter().zip(self.values.iter_mut().map(|value| &mut **value))
    }

    /// The entries from an id on.
    pub(super) fn range(&self, range: RangeFrom<K>) -> impl Iterator<Item = (&K, &T)> + '_ {
        let before = self.ids.partition_point(|id| *id < range.start);
        self.iter().skip(before)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::random::Random;

    #[test]
    fn it_is_a_map_by_id() {
        let mut random = Random::from_seed(1);
        let (mut map, mut plain) = (IdMap::<ClientId, u64>::default(), BTreeMap::new());
        for step in 0..20_000_u64 {
            // Ids in a row, as they are given out, of which some are removed later.
            let id = ClientId((step / 20) as u32 + random.below(30) as u32);
            match random.below(4) {
                0 => assert_eq!(map.remove(&id), plain.remove(&id)),
                1 => {
                    map.insert(id, step);
                    plain.insert(id, step);
                }
                _ => {
                    assert_eq!(map.get(&id), plain.get(&id));
                    assert_eq!(map.get_mut(&id), plain.get_mut(&id));
                    assert_eq!(map.contains_key(&id), plain.contains_key(&id));
                }
            }
            assert_eq!(map.len(), plain.len());
            if step % 100 == 0 {
                assert!(
                    map.iter().eq(&plain) && map.keys().eq(plain.keys()) && map.values().eq(plain.values())
                );
                assert!(map.range(id..).eq(plain.range(id..)));
                map.iter_mut().for_each(|(_, value)| *value += 1);
                plain.values_mut().for_each(|value| *value += 1);
            }
        }
    }
}
