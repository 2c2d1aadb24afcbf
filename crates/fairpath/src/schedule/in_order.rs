use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// A map for what mostly comes in the order of its keys and mostly goes all at once, as claims do: schedulers walk
/// through receivers in order, and what is due leaves.
#[derive(Clone, Debug)]
pub(super) struct InOrder<K, T> {
    /// Came in order, and is in order.
    run: Vec<(K, T)>,
    /// Came later than something behind it.
    strays: BTreeMap<K, T>,
}

impl<K, T> Default for InOrder<K, T> {
    fn default() -> Self {
        Self { run: Vec::new(), strays: BTreeMap::new() }
    }
}

impl<K: Ord + Copy, T> InOrder<K, T> {
    pub(super) fn len(&self) -> usize {
        self.run.len() + self.strays.len()
    }

    pub(super) fn insert(&mut self, key: K, value: T) {
        if self.run.last().is_none_or(|(last, _)| *last < key) {
            self.strays.remove(&key);
            self.run.push((key, value));
        } else {
            match self.position(&key) {
                Ok(position) => self.run[position].1 = value,
                Err(_) => {
                    self.strays.insert(key, value);
                }
            }
        }
    }

    pub(super) fn get(&self, key: &K) -> Option<&T> {
        match self.position(key) {
            Ok(position) => Some(&self.run[position].1),
            Err(_) => self.strays.get(key),
        }
    }

    pub(super) fn contains_key(&self, key: &K) -> bool {
        self.get(key).is_some()
    }

    pub(super) fn remove(&mut self, key: &K) {
        match self.position(key) {
            Ok(position) => {
                self.run.remove(position);
            }
            Err(_) => {
                self.strays.remove(key);
            }
        }
    }

    /// All of them; not in order.
    pub(super) fn values(&self) -> impl Iterator<Item = &T> {
        self.run.iter().map(|(_, value)| value).chain(self.strays.values())
    }

    pub(super) fn retain(&mut self, mut is_kept: impl FnMut(&K, &mut T) -> bool) {
        self.run.retain_mut(|(key, value)| is_kept(key, value));
        self.strays.retain(is_kept);
    }

    /// Takes out those in a range that are wanted; not in order. Costs nothing for those outside of it.
    pub(super) fn extract_if(
        &mut self,
        range: RangeInclusive<K>,
        is_wanted: impl Fn(&K, &mut T) -> bool + Copy,
    ) -> impl Iterator<Item = (K, T)> {
        let first = self.run.partition_point(|(key, _)| key < range.start());
        let end = self.run.partition_point(|(key, _)| key <= range.end());
        let of_run = self.run.extract_if(first..end, move |(key, value)| is_wanted(key, value));
        of_run.chain(self.strays.extract_if(range, is_wanted))
    }

    /// Moves all that are wanted to the end of `taken`; not in order.
    pub(super) fn take_if(&mut self, is_wanted: impl Fn(&T) -> bool, taken: &mut Vec<T>) {
        if self.run.iter().all(|(_, value)| is_wanted(value)) {
            taken.extend(self.run.drain(..).map(|(_, value)| value));
        } else {
            taken.extend(self.run.extract_if(.., |(_, value)| is_wanted(value)).map(|(_, value)| value));
        }
        taken.extend(self.strays.extract_if(.., |_, value| is_wanted(value)).map(|(_, value)| value));
    }

    fn position(&self, key: &K) -> Result<usize, usize> {
        self.run.binary_search_by_key(key, |(key, _)| *key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn whatever_the_order_it_is_a_map() {
        let mut random = Random::from_seed(1);
        let (mut ours, mut plain) = (InOrder::<u64, u32>::default(), BTreeMap::<u64, u32>::new());
        for step in 0..20_000u32 {
            let key = random.below(40);
            match random.below(10) {
                0 => {
                    ours.remove(&key);
                    plain.remove(&key);
                }
                1 => {
                    let low = key.saturating_sub(random.below(5));
                    let mut taken: Vec<_> =
                        ours.extract_if(low..=key, |_, value| value.is_multiple_of(2)).collect();
                    taken.sort_unstable();
                    let expected: Vec<_> =
                        plain.extract_if(low..=key, |_, value| value.is_multiple_of(2)).collect();
                    assert_eq!(taken, expected);
                }
                2 if random.chance(0.2) => {
                    let mut taken = Vec::new();
                    ours.take_if(|value| value % 3 > 0, &mut taken);
                    taken.sort_unstable();
                    let mut expected: Vec<_> =
                        plain.extract_if(.., |_, value| *value % 3 > 0).map(|(_, value)| value).collect();
                    expected.sort_unstable();
                    assert_eq!(taken, expected);
                }
                3 if random.chance(0.2) => {
                    ours.retain(|key, _| key % 4 > 0);
                    plain.retain(|key, _| key % 4 > 0);
                }
                _ => {
                    ours.insert(key, step);
                    plain.insert(key, step);
                }
            }
            assert_eq!(ours.len(), plain.len());
            assert_eq!(ours.get(&key), plain.get(&key));
            assert_eq!(ours.values().sum::<u32>(), plain.values().sum());
        }
    }
}
