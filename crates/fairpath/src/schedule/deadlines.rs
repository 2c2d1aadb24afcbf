use crate::number::ReceiverId;
use crate::time::SharedInstant;

/// The deadline of a receiver for which nothing is due.
pub(super) const NEVER: SharedInstant = SharedInstant::from_micros(i64::MAX);

/// A row for every receiver, with the instant at which each row is next due. A tournament tree of
/// minima answers which receivers are due, and when the next one is, without looking at all of
/// them. A changed deadline updates only the nodes on its way to the root. Receivers are addressed
/// by their place in the order of ids; places change when a receiver is inserted or removed.
#[derive(Clone, Debug)]
pub(super) struct Deadlines<T> {
    receivers: Vec<ReceiverId>,
    rows: Vec<T>,
    /// A binary tree in an array: the children of `n` are `2n` and `2n + 1`, the earliest deadline
    /// is at 1. The leaves, one per receiver and padding that is never due, are the second half.
    earliest: Vec<SharedInstant>,
    /// The expected place of the next lookup if receivers are looked up in order, as schedulers do.
    next: usize,
}

impl<T> Default for Deadlines<T> {
    fn default() -> Self {
        Self { receivers: Vec::new(), rows: Vec::new(), earliest: vec![NEVER; 2], next: 0 }
    }
}

impl<T> Deadlines<T> {
    /// The place of a receiver. Fastest if it follows the last one that was looked up.
    pub(super) fn find(&mut self, receiver: ReceiverId) -> Option<usize> {
        if self.receivers.get(self.next) != Some(&receiver) {
            self.next = self.receivers.binary_search(&receiver).ok()?;
        }
        self.next += 1;
        Some(self.next - 1)
    }

    /// The place of a receiver, without remembering it for the next lookup.
    pub(super) fn position(&self, receiver: ReceiverId) -> Option<usize> {
        self.receivers.binary_search(&receiver).ok()
    }

    pub(super) fn row(&self, place: usize) -> &T {
        &self.rows[place]
    }

    pub(super) fn row_mut(&mut self, place: usize) -> &mut T {
        &mut self.rows[place]
    }

    pub(super) fn due(&self, place: usize) -> SharedInstant {
        self.earliest[self.leaves() + place]
    }

    pub(super) fn set_due(&mut self, place: usize, due: SharedInstant) {
        let mut node = self.leaves() + place;
        self.earliest[node] = due;
        while node > 1 {
            node /= 2;
            let earlier = self.earlier(node);
            if self.earliest[node] == earlier {
                break;
            }
            self.earliest[node] = earlier;
        }
    }

    pub(super) fn clear_due(&mut self) {
        if self.earliest[1] < NEVER {
            self.earliest.fill(NEVER);
        }
    }

    /// When the first of all rows is due.
    pub(super) fn first_due(&self) -> Option<SharedInstant> {
        Some(self.earliest[1]).filter(|due| *due < NEVER)
    }

    /// The first place from `from` on that is due by `now`.
    pub(super) fn next_due(&self, from: usize, now: SharedInstant) -> Option<usize> {
        if from >= self.receivers.len() || self.earliest[1] > now {
            return None;
        }
        let mut node = self.leaves() + from;
        while self.earliest[node] > now {
            // To the next subtree on the right; a node on the right edge has none.
            while node & 1 == 1 {
                node /= 2;
            }
            if node == 0 {
                return None;
            }
            node += 1;
        }
        while node < self.leaves() {
            node *= 2;
            if self.earliest[node] > now {
                node += 1;
            }
        }
        Some(node - self.leaves())
    }

    pub(super) fn remove(&mut self, receiver: ReceiverId) -> Option<T> {
        let place = self.position(receiver)?;
        self.receivers.remove(place);
        let mut dues = self.dues();
        dues.remove(place);
        self.rebuild(dues);
        Some(self.rows.remove(place))
    }

    fn leaves(&self) -> usize {
        self.earliest.len() / 2
    }

    fn earlier(&self, node: usize) -> SharedInstant {
        self.earliest[2 * node].min(self.earliest[2 * node + 1])
    }

    fn dues(&self) -> Vec<SharedInstant> {
        self.earliest[self.leaves()..][..self.rows.len()].to_vec()
    }

    fn rebuild(&mut self, dues: Vec<SharedInstant>) {
        let leaves = dues.len().next_power_of_two();
        self.earliest = vec![NEVER; leaves];
        self.earliest.extend(dues);
        self.earliest.resize(2 * leaves, NEVER);
        for node in (1..leaves).rev() {
            self.earliest[node] = self.earlier(node);
        }
    }
}

impl<T: Default> Deadlines<T> {
    /// The place of a receiver, which is inserted if it is new.
    pub(super) fn find_or_insert(&mut self, receiver: ReceiverId) -> usize {
        if let Some(place) = self.find(receiver) {
            return place;
        }
        let place = self.receivers.partition_point(|known| *known < receiver);
        let is_last = place == self.rows.len() && place < self.leaves();
        if !is_last {
            let mut dues = self.dues();
            dues.insert(place, NEVER);
            self.rebuild(dues);
        }
        self.receivers.insert(place, receiver);
        self.rows.insert(place, T::default());
        self.next = place + 1;
        place
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::random::Random;

    #[test]
    fn it_is_a_map_that_knows_who_is_due() {
        let mut random = Random::from_seed(1);
        let (mut deadlines, mut plain) = (Deadlines::<u64>::default(), BTreeMap::new());
        for step in 0..30_000 {
            let receiver = ReceiverId(random.below(40) as u32);
            let at = SharedInstant::from_micros(random.below(100) as i64);
            match random.below(8) {
                0 => assert_eq!(
                    deadlines.remove(receiver),
                    plain.remove(&receiver).map(|(row, _): (u64, SharedInstant)| row)
                ),
                1 => assert_eq!(deadlines.find(receiver).is_some(), plain.contains_key(&receiver)),
                _ => {
                    let place = deadlines.find_or_insert(receiver);
                    *deadlines.row_mut(place) = step;
                    deadlines.set_due(place, at);
                    plain.insert(receiver, (step, at));
                }
            }
            assert_eq!(deadlines.first_due(), plain.values().map(|(_, due)| *due).min());
            let expected: Vec<ReceiverId> =
                plain.iter().filter(|(_, (_, due))| *due <= at).map(|(id, _)| *id).collect();
            let mut found = Vec::new();
            let mut from = 0;
            while let Some(place) = deadlines.next_due(from, at) {
                assert!(deadlines.due(place) <= at);
                found.push(deadlines.receivers[place]);
                from = place + 1;
            }
            assert_eq!(found, expected);
            assert_eq!(
                deadlines.position(receiver).map(|place| *deadlines.row(place)),
                plain.get(&receiver).map(|(row, _)| *row)
            );
        }
    }
}
