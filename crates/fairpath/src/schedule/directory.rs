use crate::number::ReceiverId;

/// Something about every receiver, in the order of their ids.
///
/// A sorted list: at every trigger it is walked beside a ledger's pages, and joining is rare.
#[derive(Clone, Debug)]
pub(super) struct Directory<T> {
    entries: Vec<(ReceiverId, T)>,
}

impl<T> Default for Directory<T> {
    fn default() -> Self {
        Self { entries: Vec::new() }
    }
}

impl<T> Directory<T> {
    pub(super) fn get(&self, receiver: &ReceiverId) -> Option<&T> {
        let position = self.position(receiver).ok()?;
        Some(&self.entries[position].1)
    }

    pub(super) fn get_mut(&mut self, receiver: &ReceiverId) -> Option<&mut T> {
        let position = self.position(receiver).ok()?;
        Some(&mut self.entries[position].1)
    }

    pub(super) fn contains_key(&self, receiver: &ReceiverId) -> bool {
        self.position(receiver).is_ok()
    }

    pub(super) fn insert(&mut self, receiver: ReceiverId, value: T) {
        match self.position(&receiver) {
            Ok(position) => self.entries[position].1 = value,
            Err(position) => self.entries.insert(position, (receiver, value)),
        }
    }

    pub(super) fn remove(&mut self, receiver: &ReceiverId) {
        if let Ok(position) = self.position(receiver) {
            self.entries.remove(position);
        }
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &ReceiverId> {
        self.entries.iter().map(|(receiver, _)| receiver)
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &T> {
        self.entries.iter().map(|(_, value)| value)
    }

    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.entries.iter_mut().map(|(_, value)| value)
    }

    /// Starts a walk beside something else that is in the same order.
    pub(super) fn walk(&mut self) -> Walk<'_, T> {
        Walk { entries: &mut self.entries, next: 0 }
    }

    fn position(&self, receiver: &ReceiverId) -> Result<usize, usize> {
        self.entries.binary_search_by_key(receiver, |(id, _)| *id)
    }
}

/// A walk through a [`Directory`]. Best asked for receivers in their order: then nothing is searched.
pub(super) struct Walk<'a, T> {
    entries: &'a mut [(ReceiverId, T)],
    next: usize,
}

impl<T> Walk<'_, T> {
    pub(super) fn find(&mut self, receiver: ReceiverId) -> Option<&mut T> {
        let is_next = self.entries.get(self.next).is_some_and(|(id, _)| *id == receiver);
        if !is_next {
            self.next = self.entries.binary_search_by_key(&receiver, |(id, _)| *id).ok()?;
        }
        self.next += 1;
        Some(&mut self.entries[self.next - 1].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_finds_everybody_in_any_order() {
        let mut directory = Directory::default();
        for id in [7, 3, 5, 1, 5] {
            directory.insert(ReceiverId(id), id * 10);
        }
        directory.remove(&ReceiverId(3));
        directory.remove(&ReceiverId(99));
        assert_eq!(directory.keys().map(|id| id.0).collect::<Vec<_>>(), [1, 5, 7]);
        let mut walk = directory.walk();
        let found = [1, 2, 5, 7, 8, 5].map(|id| walk.find(ReceiverId(id)).copied());
        assert_eq!(found, [Some(10), None, Some(50), Some(70), None, Some(50)]);
    }
}
