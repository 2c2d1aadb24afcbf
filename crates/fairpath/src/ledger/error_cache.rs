use super::exports::{Exported, Exports, Gap, Index};
use crate::error;
use crate::time::SharedInstant;
use crate::vector::Planar;

/// Cached DR vectors: receivers follow those of the last seconds, ten a second if busy.
const BELIEFS: usize = 32;

/// Cached results. At a trigger, all receivers that have followed the same DR vector for the same
/// time have the same error: with ten thousand receivers it is computed a dozen times.
#[derive(Clone, Debug)]
pub(super) struct ErrorCache<V: Planar> {
    /// Errors since the books were last advanced.
    pub(super) grown: IntervalErrors,
    /// Errors since the followed DR vector was generated.
    pub(super) since_generation: ErrorSums,
    /// Gaps between the followed DR vectors and the newest pieces of the exported path.
    pub(super) gaps: Gaps<V>,
}

impl<V: Planar> Default for ErrorCache<V> {
    fn default() -> Self {
        Self {
            grown: IntervalErrors::default(),
            since_generation: ErrorSums::default(),
            gaps: Gaps::default(),
        }
    }
}

impl<V: Planar> ErrorCache<V> {
    /// The exported path has changed from `since` on.
    pub(super) fn forget_from(&mut self, since: SharedInstant) {
        // Seldom, because most results lie in the past.
        if self.grown.latest > Some(since) {
            self.grown = IntervalErrors::default();
        }
        if self.since_generation.latest > Some(since) {
            self.since_generation = ErrorSums::default();
        }
    }
}

/// A slot for each cached DR vector. Empty until the first result: most of many thousand entities
/// lie still, and no receiver is wrong about them.
#[derive(Clone, Debug)]
struct Slots<T>(Vec<Option<T>>);

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Copy> Slots<T> {
    #[inline]
    fn slot(&mut self, index: Index) -> &mut Option<T> {
        if self.0.is_empty() {
            self.0.resize(BELIEFS, None);
        }
        &mut self.0[slot_of(index)]
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct IntervalErrors {
    entries: Slots<IntervalError>,
    /// The latest end of all entries.
    latest: Option<SharedInstant>,
}

#[derive(Clone, Copy, Debug)]
struct IntervalError {
    index: Index,
    from: SharedInstant,
    to: SharedInstant,
    error: f64,
}

impl IntervalErrors {
    /// The error of receivers that follow DR vector `index` from `from` to `to`, if it is cached.
    #[inline]
    pub(super) fn known(&self, index: Index, from: SharedInstant, to: SharedInstant) -> Option<f64> {
        let entry = self.entries.0.get(slot_of(index))?.as_ref()?;
        ((entry.index, entry.from, entry.to) == (index, from, to)).then_some(entry.error)
    }

    /// The error of receivers that follow DR vector `index` from `from` to `to`.
    #[inline]
    pub(super) fn recall(
        &mut self,
        index: Index,
        from: SharedInstant,
        to: SharedInstant,
        integrate: impl FnOnce() -> f64,
    ) -> f64 {
        let slot = self.entries.slot(index);
        match slot {
            Some(entry) if (entry.index, entry.from, entry.to) == (index, from, to) => entry.error,
            _ => {
                self.latest = self.latest.max(Some(to));
                slot.insert(IntervalError { index, from, to, error: integrate() }).error
            }
        }
    }
}

/// Errors that grow from trigger to trigger: only the growth since the last call is integrated.
#[derive(Clone, Debug, Default)]
pub(super) struct ErrorSums {
    entries: Slots<ErrorSum>,
    /// The latest end of all entries.
    latest: Option<SharedInstant>,
}

#[derive(Clone, Copy, Debug)]
struct ErrorSum {
    index: Index,
    to: SharedInstant,
    error: f64,
}

impl ErrorSums {
    /// The error up to `to` of receivers that follow DR vector `index`, since its generation at
    /// `since`. `integrate` gets the instant from which to integrate up to `to`.
    pub(super) fn recall(
        &mut self,
        index: Index,
        since: SharedInstant,
        to: SharedInstant,
        integrate: impl FnOnce(SharedInstant) -> f64,
    ) -> f64 {
        let slot = self.entries.slot(index);
        let (from, sum) = match slot {
            Some(known) if known.index == index && known.to <= to => (known.to, known.error),
            _ => (since, 0.0),
        };
        if from == to {
            return sum;
        }
        self.latest = self.latest.max(Some(to));
        slot.insert(ErrorSum { index, to, error: sum + integrate(from) }).error
    }
}

/// Gaps to the newest pieces of the exported path. Receivers follow a dozen DR vectors at most.
#[derive(Clone, Debug)]
pub(super) struct Gaps<V: Planar> {
    newest: Option<Index>,
    known: Vec<KnownGap<V>>,
    /// The place of the last one asked for: receivers side by side follow the same DR vector.
    last: usize,
}

#[derive(Clone, Debug)]
struct KnownGap<V: Planar> {
    piece: Index,
    belief: Index,
    gap: Gap<V>,
}

impl<V: Planar> Default for Gaps<V> {
    fn default() -> Self {
        Self { newest: None, known: Vec::new(), last: 0 }
    }
}

impl<V: Planar> Gaps<V> {
    /// The error from `from` to `to` of receivers that follow `belief`.
    #[inline]
    pub(super) fn error(
        &mut self,
        exports: &Exports<V>,
        belief: &Exported<V>,
        from: SharedInstant,
        to: SharedInstant,
    ) -> f64 {
        self.forget_old(exports);
        exports.error_by_piece(belief, from, to, |piece, from, to| {
            let known = self.find(exports, piece, belief).and_then(|gap| gap.error(piece, belief, from, to));
            known.unwrap_or_else(|| error::accumulated_value(&piece.path, &belief.placed, from, to))
        })
    }

    /// The error from `from` to `to` of receivers that follow DR vector `belief` during the newest
    /// piece, if the gap was asked for last and needs no path.
    #[inline]
    pub(super) fn known_error(
        &self,
        newest: Index,
        belief: Index,
        from: SharedInstant,
        to: SharedInstant,
    ) -> Option<f64> {
        let known = self.known.get(self.last)?;
        if known.belief != belief || known.piece != newest {
            return None;
        }
        known.gap.known_error(from, to)
    }

    /// The same as [`error`](Self::error), for an interval during the newest piece.
    #[inline]
    pub(super) fn error_in_newest(
        &mut self,
        exports: &Exports<V>,
        belief: &Exported<V>,
        from: SharedInstant,
        to: SharedInstant,
    ) -> f64 {
        self.forget_old(exports);
        let Some(newest) = exports.newest().filter(|newest| newest.shares_life(belief)) else { return 0.0 };
        let known = self.find(exports, newest, belief).and_then(|gap| gap.error(newest, belief, from, to));
        known.unwrap_or_else(|| error::accumulated_value(&newest.path, &belief.placed, from, to))
    }

    #[inline]
    fn forget_old(&mut self, exports: &Exports<V>) {
        let newest = exports.newest_index();
        if self.newest != newest {
            self.newest = newest;
            self.known.retain(|known| is_recent(known.piece, newest));
        }
    }

    #[inline]
    fn find(
        &mut self,
        exports: &Exports<V>,
        piece: &Exported<V>,
        belief: &Exported<V>,
    ) -> Option<&mut Gap<V>> {
        let is_wanted = |known: &KnownGap<V>| known.belief == belief.index && known.piece == piece.index;
        let last = Some(self.last).filter(|last| self.known.get(*last).is_some_and(is_wanted));
        // The newest are at the end.
        let place = last.or_else(|| self.known.iter().rposition(is_wanted));
        if place.is_none() && !is_recent(piece.index, self.newest) {
            return None;
        }
        let place = place.unwrap_or_else(|| {
            let gap = exports.gap(piece, belief);
            self.known.push(KnownGap { piece: piece.index, belief: belief.index, gap });
            self.known.len() - 1
        });
        self.last = place;
        Some(&mut self.known[place].gap)
    }
}

/// How many pieces before the newest have gaps: a receipt is often about the piece before.
const PIECES: usize = 2;

fn is_recent(piece: Index, newest: Option<Index>) -> bool {
    newest.and_then(|newest| newest.after(piece)).is_some_and(|later| later <= PIECES)
}

fn slot_of(index: Index) -> usize {
    index.count() as usize % BELIEFS
}
