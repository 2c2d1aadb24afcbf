use std::collections::BTreeMap;

use crate::number::EntityId;

/// The entities of a sender, each in a slot. Slots are small numbers without many gaps, so that
/// lists can be indexed by them; a removed entity's slot is given to another one.
#[derive(Clone, Debug)]
pub(super) struct EntityTable<T> {
    slots: Vec<Option<T>>,
    free: Vec<usize>,
    /// The slots of entities with small ids, by id: sessions number objects from zero.
    low: Vec<Option<u32>>,
    /// The slots of the others.
    high: BTreeMap<EntityId, usize>,
}

impl<T> Default for EntityTable<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new(), low: Vec::new(), high: BTreeMap::new() }
    }
}

impl<T> EntityTable<T> {
    /// Ids below this are looked up in a list: 256 KiB at most.
    const LOW: u32 = 1 << 16;

    #[inline]
    pub(super) fn slot(&self, entity: EntityId) -> Option<usize> {
        if entity.0 < Self::LOW {
            return Some((*self.low.get(entity.0 as usize)?)? as usize);
        }
        self.high.get(&entity).copied()
    }

    #[inline]
    pub(super) fn at(&self, slot: usize) -> Option<&T> {
        self.slots.get(slot)?.as_ref()
    }

    #[inline]
    pub(super) fn at_mut(&mut self, slot: usize) -> Option<&mut T> {
        self.slots.get_mut(slot)?.as_mut()
    }

    #[inline]
    pub(super) fn get(&self, entity: EntityId) -> Option<&T> {
        self.at(self.slot(entity)?)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, entity: EntityId) -> Option<&mut T> {
        self.at_mut(self.slot(entity)?)
    }

    /// Adds an entity that is not in the table, and returns its slot.
    pub(super) fn insert(&mut self, entity: EntityId, value: T) -> usize {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        self.slots[slot] = Some(value);
        if entity.0 < Self::LOW {
            let place = entity.0 as usize;
            if self.low.len() <= place {
                self.low.resize(place + 1, None);
            }
            self.low[place] = Some(slot as u32);
        } else {
            self.high.insert(entity, slot);
        }
        slot
    }

    pub(super) fn remove(&mut self, entity: EntityId) -> Option<(usize, T)> {
        let slot = self.slot(entity)?;
        if entity.0 < Self::LOW {
            self.low[entity.0 as usize] = None;
        } else {
            self.high.remove(&entity);
        }
        self.free.push(slot);
        Some((slot, self.slots[slot].take().expect("a known entity has a value")))
    }

    /// The entities and their slots, in the order of ids.
    pub(super) fn ids(&self) -> impl Iterator<Item = (EntityId, usize)> + '_ {
        let low = (0..).zip(&self.low).filter_map(|(id, slot)| Some((EntityId(id), (*slot)? as usize)));
        low.chain(self.high.iter().map(|(id, slot)| (*id, *slot)))
    }

    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.slots.iter_mut().flatten()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::btree_map::Entry;

    use super::*;
    use crate::random::Random;

    #[test]
    fn it_is_a_map_with_few_slots() {
        let mut random = Random::from_seed(1);
        let (mut table, mut plain) = (EntityTable::default(), BTreeMap::new());
        for step in 0..20_000_u64 {
            let high = if random.chance(0.3) { EntityTable::<u64>::LOW } else { 0 };
            let entity = EntityId(high + random.below(20) as u32);
            match plain.entry(entity) {
                Entry::Occupied(known) if random.chance(0.5) => {
                    assert_eq!(table.remove(entity).map(|(_, value)| value), Some(known.remove()));
                }
                Entry::Occupied(_) => {}
                Entry::Vacant(place) => {
                    assert!(table.insert(entity, *place.insert(step)) < 40, "slots are used again");
                }
            }
            assert_eq!(table.get(entity), plain.get(&entity));
            assert!(table.ids().map(|(id, slot)| (id, *table.at(slot).unwrap())).eq(plain.clone()));
        }
    }
}
