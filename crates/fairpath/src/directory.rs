use crate::number::ReceiverId;

/// A map from receiver to value, in the order of receiver ids. Sorted lists: every trigger walks
/// past all receivers, so their values are neighbours in memory; a receiver joins rarely.
#[derive(Clone, Debug)]
pub(crate) struct Directory<T> {
    /// Kept apart from the values, so that a search reads only ids.
    receivers: Vec<ReceiverId>,
    values: Vec<T>,
}

impl<T> Default for Directory<T> {
    fn default() -> Self {
        Self { receivers: Vec::new(), values: Vec::new() }
    }
}

impl<T> Directory<T> {
    pub(crate) fn get(&self, receiver: ReceiverId) -> Option<&T> {
        Some(&self.values[self.position(receiver).ok()?])
    }

    pub(crate) fn get_mut(&mut self, receiver: ReceiverId) -> Option<&mut T> {
        let position = self.position(receiver).ok()?;
        Some(&mut self.values[position])
    }

    /// The value of a receiver that is probably at position `near`, or one before it.
    #[inline]
    pub(crate) fn get_near(&self, receiver: ReceiverId, near: usize) -> Option<&T> {
        self.values.get(self.position_near(receiver, near)?)
    }

    /// The same, to change it.
    #[inline]
    pub(crate) fn get_near_mut(&mut self, receiver: ReceiverId, near: usize) -> Option<&mut T> {
        let position = self.position_near(receiver, near)?;
        self.values.get_mut(position)
    }

    #[inline]
    fn position_near(&self, receiver: ReceiverId, near: usize) -> Option<usize> {
        let is_at = |position: usize| self.receivers.get(position) == Some(&receiver);
        if is_at(near) {
            return Some(near);
        }
        let before = near.wrapping_sub(1);
        if is_at(before) { Some(before) } else { self.find(receiver) }
    }

    /// The position of a receiver in the order of ids. It changes when receivers come and go.
    pub(crate) fn find(&self, receiver: ReceiverId) -> Option<usize> {
        self.position(receiver).ok()
    }

    pub(crate) fn receiver(&self, position: usize) -> ReceiverId {
        self.receivers[position]
    }

    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    #[inline]
    pub(crate) fn at(&self, position: usize) -> Option<&T> {
        self.values.get(position)
    }

    #[inline]
    pub(crate) fn at_mut(&mut self, position: usize) -> &mut T {
        &mut self.values[position]
    }

    pub(crate) fn contains(&self, receiver: ReceiverId) -> bool {
        self.position(receiver).is_ok()
    }

    /// Adds a receiver. A known receiver keeps its value.
    pub(crate) fn insert_if_new(&mut self, receiver: ReceiverId, value: impl FnOnce() -> T) {
        if let Err(position) = self.position(receiver) {
            self.receivers.insert(position, receiver);
            self.values.insert(position, value());
        }
    }

    pub(crate) fn remove(&mut self, receiver: ReceiverId) {
        if let Ok(position) = self.position(receiver) {
            self.receivers.remove(position);
            self.values.remove(position);
        }
    }

    pub(crate) fn receivers(&self) -> impl Iterator<Item = ReceiverId> + '_ {
        self.receivers.iter().copied()
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &T> {
        self.values.iter()
    }

    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.values.iter_mut()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (ReceiverId, &T)> {
        self.receivers().zip(&self.values)
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (ReceiverId, &mut T)> {
        self.receivers.iter().copied().zip(&mut self.values)
    }

    /// Starts a walk in the order of receiver ids.
    pub(crate) fn walk(&mut self) -> Walk<'_, T> {
        Walk { receivers: &self.receivers, values: &mut self.values, next: 0 }
    }

    /// The place of a receiver, or the place at which to insert it. Ids are mostly given out one
    /// after the other: the place that follows from that is tried first.
    #[inline]
    fn position(&self, receiver: ReceiverId) -> Result<usize, usize> {
        let first = self.receivers.first().map_or(0, |first| first.0);
        let guess = receiver.0.wrapping_sub(first) as usize;
        if self.receivers.get(guess) == Some(&receiver) {
            return Ok(guess);
        }
        self.receivers.binary_search(&receiver)
    }
}

/// A walk through a [`Directory`]. Requests in the order of receiver ids need no search.
pub(crate) struct Walk<'a, T> {
    receivers: &'a [ReceiverId],
    values: &'a mut [T],
    next: usize,
}

impl<T> Walk<'_, T> {
    #[inline]
    pub(crate) fn find(&mut self, receiver: ReceiverId) -> Option<&mut T> {
        if self.receivers.get(self.next) != Some(&receiver) {
            self.next = self.receivers.binary_search(&receiver).ok()?;
        }
        self.next += 1;
        self.values.get_mut(self.next - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_finds_every_receiver_in_any_order() {
        let mut directory = Directory::default();
        for id in [7, 3, 5, 1, 5] {
            directory.insert_if_new(ReceiverId(id), || id * 10);
        }
        directory.remove(ReceiverId(3));
        directory.remove(ReceiverId(99));
        assert_eq!(directory.receivers().map(|id| id.0).collect::<Vec<_>>(), [1, 5, 7]);
        let mut walk = directory.walk();
        let found = [1, 2, 5, 7, 8, 5].map(|id| walk.find(ReceiverId(id)).copied());
        assert_eq!(found, [Some(10), None, Some(50), Some(70), None, Some(50)]);
    }
}
