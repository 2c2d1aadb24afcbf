use std::collections::VecDeque;

use crate::directory::Directory;
use crate::number::{EntityId, ReceiverId};
use crate::time::SharedInstant;

/// DR vectors that every receiver is sent, stored once for all of them. Each receiver has a cursor:
/// the entries from there on wait for it. So a trigger costs nothing for each receiver, and a
/// receiver's packet reads the entries in a row.
#[derive(Clone, Debug, Default)]
pub(super) struct SharedClaims {
    entries: VecDeque<SharedClaim>,
    /// The number of the first entry.
    first: u64,
    /// The number of the first entry that waits for each receiver, in the order of receiver ids.
    cursors: Directory<u64>,
    /// How many entries there may be before those that wait for no receiver are removed.
    tidy_at: usize,
}

/// One DR vector, named as in a [`Claim`](super::Claim).
#[derive(Clone, Copy, Debug)]
pub(super) struct SharedClaim {
    pub(super) entity: EntityId,
    pub(super) generated_at: SharedInstant,
    pub(super) due: SharedInstant,
}

impl SharedClaims {
    /// How many entries may wait for a receiver that is not polled. More than a tick of a thousand
    /// busy entities makes; at 24 bytes each they take 24 kB in all.
    const WAITING_MAX: usize = 1024;
    /// Entries below which none are removed: a handful of ticks of a small game.
    const TIDY_MIN: usize = 64;

    /// Adds a receiver, for which no entry waits.
    pub(super) fn join(&mut self, receiver: ReceiverId) {
        let end = self.end();
        self.cursors.insert_if_new(receiver, || end);
    }

    pub(super) fn leave(&mut self, receiver: ReceiverId) {
        self.cursors.remove(receiver);
    }

    /// The number of receivers.
    pub(super) fn receivers(&self) -> usize {
        self.cursors.len()
    }

    pub(super) fn push(&mut self, claim: SharedClaim) {
        if self.entries.len() >= self.tidy_at {
            self.tidy();
        }
        self.entries.push_back(claim);
    }

    /// The number of entries, whether they wait for one receiver or for all.
    pub(super) fn len(&self) -> usize {
        if self.entries.is_empty() {
            return 0;
        }
        let waiting = self.cursors.values().map(|cursor| self.end() - cursor).max();
        waiting.unwrap_or_default() as usize
    }

    /// Whether so many entries wait for some receiver that its claims should be its own.
    pub(super) fn is_full(&self) -> bool {
        self.entries.len() > Self::WAITING_MAX
    }

    /// Whether an entry waits for the receiver at `place`.
    #[inline]
    pub(super) fn has_any(&self, place: usize) -> bool {
        self.cursors.at(place).is_some_and(|cursor| *cursor < self.end())
    }

    /// When the first entry for the receiver at `place` is due.
    #[inline]
    pub(super) fn due(&self, place: usize) -> Option<SharedInstant> {
        if !self.has_any(place) {
            return None;
        }
        self.waiting(place).map(|claim| claim.due).min()
    }

    /// When the first entry for any receiver is due.
    pub(super) fn first_due(&self) -> Option<SharedInstant> {
        (0..self.cursors.len()).filter_map(|place| self.due(place)).min()
    }

    /// The entries that wait for the receiver at `place`, the oldest first.
    pub(super) fn waiting(&self, place: usize) -> impl Iterator<Item = &SharedClaim> + '_ {
        let cursor = self.cursors.at(place).map_or_else(|| self.end(), |cursor| *cursor);
        self.entries.range((cursor - self.first) as usize..)
    }

    /// The place of a receiver.
    pub(super) fn find(&self, receiver: ReceiverId) -> Option<usize> {
        self.cursors.find(receiver)
    }

    /// No entry waits for the receiver at `place` any more.
    #[inline]
    pub(super) fn clear(&mut self, place: usize) {
        let end = self.end();
        *self.cursors.at_mut(place) = end;
    }

    /// The number of the next entry.
    #[inline]
    pub(super) fn end(&self) -> u64 {
        self.first + self.entries.len() as u64
    }

    /// Removes the entries that wait for no receiver.
    fn tidy(&mut self) {
        let end = self.end();
        let needed = self.cursors.values().copied().min().unwrap_or(end);
        self.entries.drain(..(needed - self.first) as usize);
        self.first = needed;
        self.tidy_at = Self::TIDY_MIN.max(2 * self.entries.len());
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::random::Random;

    #[test]
    fn every_receiver_finds_what_came_since_it_was_last_polled() {
        let mut random = Random::from_seed(3);
        let (mut shared, mut plain) = (SharedClaims::default(), BTreeMap::<ReceiverId, Vec<u32>>::new());
        for step in 0..30_000_u32 {
            let receiver = ReceiverId(random.below(12) as u32);
            match random.below(40) {
                0 => {
                    shared.join(receiver);
                    plain.entry(receiver).or_default();
                }
                1 => {
                    shared.leave(receiver);
                    plain.remove(&receiver);
                }
                2..20 => {
                    let generated_at = SharedInstant::from_millis(step.into());
                    shared.push(SharedClaim { entity: EntityId(step), generated_at, due: generated_at });
                    plain.values_mut().for_each(|waiting| waiting.push(step));
                }
                _ => {
                    if let Some(place) = shared.find(receiver) {
                        let waiting = plain.get_mut(&receiver).expect("it is known here too");
                        let found: Vec<u32> = shared.waiting(place).map(|claim| claim.entity.0).collect();
                        assert_eq!(&found, waiting, "in step {step}");
                        assert_eq!(shared.has_any(place), !found.is_empty());
                        let due = found.first().map(|step| SharedInstant::from_millis((*step).into()));
                        assert_eq!(shared.due(place), due);
                        shared.clear(place);
                        waiting.clear();
                    }
                }
            }
            assert_eq!(shared.receivers(), plain.len());
            assert_eq!(shared.len(), plain.values().map(Vec::len).max().unwrap_or_default());
        }
    }

    #[test]
    fn what_nobody_waits_for_is_removed() {
        let mut shared = SharedClaims::default();
        shared.join(ReceiverId(1));
        for step in 0..100_000 {
            let at = SharedInstant::from_millis(step);
            shared.push(SharedClaim { entity: EntityId(1), generated_at: at, due: at });
            assert!(shared.entries.len() <= SharedClaims::TIDY_MIN, "in step {step}");
            shared.clear(0);
        }
        for step in 0..2_000 {
            let at = SharedInstant::from_millis(step);
            shared.push(SharedClaim { entity: EntityId(1), generated_at: at, due: at });
        }
        assert!(shared.is_full());
    }
}
