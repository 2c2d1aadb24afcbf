use crate::time::SharedInstant;

/// How many beliefs are remembered. Receivers follow the DR vectors of the last seconds: a busy entity has ten a second.
const BELIEFS: usize = 32;

/// Errors just integrated. At a trigger, all receivers who have followed the same DR vector for as long have been equally
/// wrong: of ten thousand receivers that is asked a dozen times, not ten thousand.
#[derive(Clone, Debug, Default)]
pub(super) struct Memo {
    /// Since the books were last brought up to date.
    pub(super) grown: Errors,
    /// Since the DR vector they follow was generated.
    pub(super) since_generation: Errors,
}

impl Memo {
    /// The exported path has changed.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
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
