use std::collections::{BTreeMap, VecDeque};

use super::limits::{IDS_PER_GRANT, RESUME_WITHIN};
use crate::time::{SharedInstant, Span};

/// Gives out ids of objects in blocks, and takes them back.
///
/// A block returns when all its ids are free, and is given out again after [`REST`](Self::REST):
/// by then no message of any session can mean an object that had one of its ids.
#[derive(Clone, Debug)]
pub(super) struct IdBlocks {
    /// The first id that was never given out.
    next: u32,
    /// Blocks in use, by their first ids, with the number of ids that are not free again.
    used: BTreeMap<u32, u32>,
    /// Free blocks, by the instants from which they may be given out.
    resting: VecDeque<(SharedInstant, u32)>,
}

impl IdBlocks {
    /// Twice the time within which a session can be resumed: a message can wait that long at one
    /// end, and its answer at the other.
    pub(super) const REST: Span = Span::from_micros(2 * RESUME_WITHIN.as_micros());
    /// Most blocks that are remembered for another use. Beyond it the oldest are never used again.
    const RESTING_MAX: usize = 1 << 16;

    /// Returns the first id of a block; `None` when all are in use.
    pub(super) fn take(&mut self, now: SharedInstant) -> Option<u32> {
        let first = match self.resting.front() {
            Some((from, first)) if *from <= now => *first,
            _ => {
                let first = self.next;
                self.next = first.checked_add(IDS_PER_GRANT)?;
                self.used.insert(first, IDS_PER_GRANT);
                return Some(first);
            }
        };
        self.resting.pop_front();
        self.used.insert(first, IDS_PER_GRANT);
        Some(first)
    }

    /// Takes an id back: its object is gone, or it will never be used.
    pub(super) fn free(&mut self, id: u32, now: SharedInstant) {
        let first = Self::block_of(id);
        let Some(left) = self.used.get_mut(&first) else { return };
        *left -= 1;
        if *left == 0 {
            self.used.remove(&first);
            if self.resting.len() >= Self::RESTING_MAX {
                self.resting.pop_front();
            }
            self.resting.push_back((now + Self::REST, first));
        }
    }

    /// Returns whether an id was ever given out.
    pub(super) fn was_given(&self, id: u32) -> bool {
        (Self::FIRST..self.next).contains(&id)
    }

    /// Id 0 is never given out.
    const FIRST: u32 = 1;

    fn block_of(id: u32) -> u32 {
        Self::FIRST + (id - Self::FIRST) / IDS_PER_GRANT * IDS_PER_GRANT
    }
}

impl Default for IdBlocks {
    fn default() -> Self {
        Self { next: Self::FIRST, used: BTreeMap::new(), resting: VecDeque::new() }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use fairpath_laws::{law, proptest::prelude::*};

    use super::*;

    #[test]
    fn no_id_is_given_out_twice_at_once_or_before_it_has_rested() {
        law!(prop::collection::vec((any::<bool>(), 0_usize..200, 0_i64..40), 1..400), |steps| {
            let mut blocks = IdBlocks::default();
            let (mut now, mut live, mut gone) = (SharedInstant::ZERO, Vec::new(), BTreeMap::new());
            let mut highest = 0;
            for (takes, index, secs) in steps {
                now += Span::from_secs(secs);
                if takes || live.is_empty() {
                    let first = blocks.take(now).unwrap();
                    for id in first..first + IDS_PER_GRANT {
                        prop_assert!(!live.contains(&id), "{} is in use", id);
                        let rested = gone.remove(&id).is_none_or(|at| now - at >= IdBlocks::REST);
                        prop_assert!(rested, "{} was used a moment ago", id);
                        live.push(id);
                        highest = highest.max(id);
                    }
                } else {
                    for _ in 0..=index.min(live.len() - 1) {
                        let id = live.swap_remove(index % live.len());
                        gone.insert(id, now);
                        blocks.free(id, now);
                        prop_assert!(blocks.was_given(id));
                    }
                }
            }
            prop_assert!(!blocks.was_given(highest + 1) && !blocks.was_given(0));
            Ok(())
        });
    }

    #[test]
    fn a_year_of_bullets_needs_few_ids() {
        let mut blocks = IdBlocks::default();
        let mut now = SharedInstant::ZERO;
        for _ in 0..100_000 {
            now += Span::from_secs(1);
            let first = blocks.take(now).unwrap();
            (first..first + IDS_PER_GRANT).for_each(|id| blocks.free(id, now));
        }
        assert!(!blocks.was_given(200 * IDS_PER_GRANT), "two minutes' worth of blocks go round");
    }
}
