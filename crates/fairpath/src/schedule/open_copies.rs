use std::collections::VecDeque;

use crate::ledger::CopyId;
use crate::number::EntityId;
use crate::time::{SharedInstant, Span};

/// The copies sent to one receiver, in the order of their departure, from the oldest one whose
/// arrival is open. Receipts find a copy by its id without a search.
#[derive(Clone, Debug)]
pub(super) struct OpenCopies {
    first: CopyId,
    copies: VecDeque<OpenCopy>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct OpenCopy {
    pub(super) entity: EntityId,
    /// Whether a report may still change it.
    is_open: bool,
    /// Whether the same DR vector was sent before, against loss.
    pub(super) is_repeat: bool,
    pub(super) sent_at: SharedInstant,
    /// When it is expected to arrive: long ago if it counts as lost, never if datagrams' reports
    /// say nothing about it.
    expected: SharedInstant,
}

/// A copy that was looked up by its id.
#[derive(Clone, Copy, Debug)]
pub(super) enum FoundCopy {
    Open(OpenCopy),
    /// Its arrival is known, or it is forgotten.
    Closed,
    NeverSent,
}

impl OpenCopies {
    /// How long after its departure a copy without a receipt is remembered, as in the ledger.
    const REMEMBERED: Span = Span::from_secs(15);

    /// The ids of all copies are `first` and above.
    pub(super) fn new(first: CopyId) -> Self {
        Self { first, copies: VecDeque::new() }
    }

    /// The id of the next copy.
    #[inline]
    pub(super) fn next(&self) -> CopyId {
        self.first.plus(self.copies.len())
    }

    /// Forgets what is closed or old before a packet leaves. Returns the id of its first copy.
    pub(super) fn begin_packet(&mut self, sent_at: SharedInstant) -> CopyId {
        self.drop_first(|oldest| !oldest.is_open || sent_at - oldest.sent_at > Self::REMEMBERED);
        self.next()
    }

    #[inline]
    pub(super) fn push(
        &mut self,
        entity: EntityId,
        sent_at: SharedInstant,
        expected: SharedInstant,
        is_repeat: bool,
    ) {
        self.copies.push_back(OpenCopy { entity, is_open: true, is_repeat, sent_at, expected });
    }

    #[inline]
    pub(super) fn find(&self, copy: CopyId) -> FoundCopy {
        let Some(place) = copy.after(self.first) else { return FoundCopy::Closed };
        match self.copies.get(place) {
            None => FoundCopy::NeverSent,
            Some(found) if found.is_open => FoundCopy::Open(*found),
            Some(_) => FoundCopy::Closed,
        }
    }

    /// No report changes this copy any more. Returns it, if it was open.
    #[inline]
    pub(super) fn close(&mut self, copy: CopyId) -> Option<OpenCopy> {
        let found = self.copies.get_mut(copy.after(self.first)?)?;
        std::mem::replace(&mut found.is_open, false).then_some(*found)
    }

    /// Adds the entities of open copies that were expected before `until`, in the order of ids.
    pub(super) fn overdue(&mut self, until: SharedInstant, entities: &mut Vec<EntityId>) {
        self.drop_first(|oldest| !oldest.is_open);
        let overdue = self.copies.iter().filter(|copy| copy.is_open && copy.expected < until);
        entities.extend(overdue.map(|copy| copy.entity));
        entities.sort_unstable();
        entities.dedup();
    }

    /// Updates the open copies that were expected before `until`: `expected` returns when one is now
    /// expected, or `None` to close it.
    pub(super) fn revise(
        &mut self,
        until: SharedInstant,
        mut expected: impl FnMut(EntityId, CopyId) -> Option<SharedInstant>,
    ) {
        for (place, copy) in self.copies.iter_mut().enumerate() {
            if copy.is_open && copy.expected < until {
                match expected(copy.entity, self.first.plus(place)) {
                    Some(at) => copy.expected = at,
                    None => copy.is_open = false,
                }
            }
        }
    }

    fn drop_first(&mut self, is_done: impl Fn(&OpenCopy) -> bool) {
        while self.copies.front().is_some_and(&is_done) {
            self.copies.pop_front();
            self.first = self.first.next();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_found_by_id_until_they_are_closed() {
        let at = SharedInstant::from_millis;
        let mut copies = OpenCopies::new(CopyId::default().plus(7));
        let ids: Vec<CopyId> = (0..4)
            .map(|number| {
                let id = copies.next();
                copies.push(EntityId(9 - number), at(number.into()), at(100 + i64::from(number)), false);
                id
            })
            .collect();
        assert!(matches!(copies.find(ids[3]), FoundCopy::Open(copy) if copy.entity == EntityId(6)));
        assert!(matches!(copies.find(ids[3].next()), FoundCopy::NeverSent));
        copies.close(ids[0]);
        copies.close(ids[2]);
        let mut overdue = Vec::new();
        copies.overdue(at(103), &mut overdue);
        assert_eq!(overdue, [EntityId(8)], "one is closed, one is closed, one is not expected yet");
        assert!(matches!(copies.find(ids[0]), FoundCopy::Closed));
        copies.revise(at(103), |entity, copy| {
            assert_eq!((entity, copy), (EntityId(8), ids[1]));
            None
        });
        overdue.clear();
        copies.overdue(at(1_000), &mut overdue);
        assert_eq!(overdue, [EntityId(6)]);
        copies.begin_packet(at(60_000));
        assert!(matches!(copies.find(ids[3]), FoundCopy::Closed), "forgotten");
    }
}
