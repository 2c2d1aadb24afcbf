use super::exports::Gap;
use crate::time::SharedInstant;
use crate::vector::Planar;

/// How many beliefs are remembered. Receivers follow the DR vectors of the last seconds: a busy entity has ten a second.
const BELIEFS: usize = 32;

/// Errors just integrated. At a trigger, all receivers who have followed the same DR vector for as long have been equally
/// wrong: of ten thousand receivers that is asked a dozen times, not ten thousand.
#[derive(Clone, Debug)]
pub(super) struct Memo<V: Planar> {
    /// Since the books were last brought up to date.
    pub(super) grown: Errors,
    /// Since the DR vector they follow was generated.
    pub(super) since_generation: Errors,
    /// The gaps between what they follow and the newest piece of the exported path.
    pub(super) gaps: Gaps<V>,
}

impl<V: Planar> Default for Memo<V> {
    fn default() -> Self {
        Self { grown: Errors::default(), since_generation: Errors::default(), gaps: Gaps::default() }
    }
}

impl<V: Planar> Memo<V> {
    /// The exported path has changed.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

#[derive(Clone, Debug)]
pub(super) struct Gaps<V: Planar> {
    entries: [Option<(u64, Option<Gap<V>>)>; BELIEFS],
}

impl<V: Planar> Default for Gaps<V> {
    fn default() -> Self {
        Self { entries: [None; BELIEFS] }
    }
}

impl<V: Planar> Gaps<V> {
    /// The gap of whoever follows DR vector `index`, if there is a simple one.
    pub(super) fn recall(&mut self, index: u64, find: impl FnOnce() -> Option<Gap<V>>) -> Option<&Gap<V>> {
        let slot = &mut self.entries[(index % BELIEFS as u64) as usize];
        if slot.is_none_or(|(known, _)| known != index) {
            *slot = Some((index, find()));
        }
        slot.as_ref().and_then(|(_, gap)| gap.as_ref())
    }
}

#[derive(Clone, Debug)]
pub(super) struct Errors {
    entries: [Option<Entry>; BELIEFS],
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    index: u64,
    from: SharedInstant,
    to: SharedInstant,
    error: f64,
}

impl Default for Errors {
    fn default() -> Self {
        Self { entries: [None; BELIEFS] }
    }
}

impl Errors {
    /// The error of whoever follows DR vector `index` from `from` to `to`.
    pub(super) fn recall(
        &mut self,
        index: u64,
        from: SharedInstant,
        to: SharedInstant,
        integrate: impl FnOnce() -> f64,
    ) -> f64 {
        let slot = &mut self.entries[(index % BELIEFS as u64) as usize];
        match slot {
            Some(entry) if (entry.index, entry.from, entry.to) == (index, from, to) => entry.error,
            _ => slot.insert(Entry { index, from, to, error: integrate() }).error,
        }
    }
}
