use std::collections::VecDeque;
use std::num::NonZeroU64;

use super::{FORGOTTEN_AFTER, REMEMBERED, REMEMBERED_MAX};
use crate::dr_vector::DrVector;
use crate::error::{self, ErrorCurve, Path};
use crate::number::{EntityId, Life};
use crate::time::{SharedInstant, Span};
use crate::vector::Planar;

/// The exported path of the last seconds, piece by piece.
#[derive(Clone, Debug)]
pub(super) struct Exports<V: Planar> {
    horizon: Span,
    pieces: VecDeque<Exported<V>>,
    /// The newest of them, in short: most questions are about it.
    newest: Option<NewestExport>,
    /// The index of the first piece kept.
    first: Index,
    /// Pieces before this one will soon be forgotten.
    old_before: Index,
    /// The newest DR vector's life and parent, and the count of lives without wrapping.
    life: ((Life, Option<EntityId>), u64),
}

#[derive(Clone, Copy, Debug)]
struct NewestExport {
    index: Index,
    since: SharedInstant,
    freezes_at: SharedInstant,
}

/// Counts all DR vectors ever generated, from one: `Option<Index>` is as small as `Index`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Index(NonZeroU64);

impl Index {
    pub(super) const FIRST: Self = Self(NonZeroU64::MIN);

    pub(super) fn count(self) -> u64 {
        self.0.get()
    }

    fn plus(self, count: usize) -> Self {
        Self(self.0.saturating_add(count as u64))
    }

    /// How many there are from `first` up to this one; `None` if it is before.
    pub(super) fn after(self, first: Self) -> Option<usize> {
        usize::try_from(self.count().checked_sub(first.count())?).ok()
    }
}

/// One DR vector as a piece of the exported path, until the next one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exported<V: Planar> {
    pub(super) index: Index,
    pub(super) since: SharedInstant,
    /// Lives counted without wrapping.
    life: u64,
    pub(super) path: Path<V>,
    /// The path of a replica that follows it: the same, until it freezes.
    pub(super) placed: Path<V>,
}

impl<V: Planar> Exported<V> {
    pub(super) fn shares_life(&self, other: &Self) -> bool {
        self.life == other.life
    }
}

/// The gap between one piece and the path of receivers that follow another, until that path
/// freezes. Computed once for all of them.
#[derive(Clone, Debug)]
pub(super) struct Gap<V: Planar> {
    since: SharedInstant,
    until: SharedInstant,
    kind: GapKind<V>,
}

#[derive(Clone, Debug)]
enum GapKind<V: Planar> {
    Straight(error::StraightGap<V>),
    Curved(ErrorCurve<V>),
}

impl<V: Planar> Gap<V> {
    /// The same as [`error`](Self::error), if it is known without the paths.
    #[inline]
    pub(super) fn known_error(&self, from: SharedInstant, to: SharedInstant) -> Option<f64> {
        if from < self.since || to > self.until {
            return None;
        }
        match &self.kind {
            GapKind::Straight(gap) => {
                let (after, secs) = ((from - self.since).as_secs_f64(), (to - from).as_secs_f64());
                Some(gap.accumulated(after, secs))
            }
            GapKind::Curved(curve) => curve.known_between(from, to),
        }
    }

    /// The error from `from` to `to`, if the gap is valid for all of that time. `piece` and
    /// `belief` are those that the gap was made for.
    #[inline]
    pub(super) fn error(
        &mut self,
        piece: &Exported<V>,
        belief: &Exported<V>,
        from: SharedInstant,
        to: SharedInstant,
    ) -> Option<f64> {
        if from < self.since || to > self.until {
            return None;
        }
        match &mut self.kind {
            GapKind::Straight(gap) => {
                let (after, secs) = ((from - self.since).as_secs_f64(), (to - from).as_secs_f64());
                Some(gap.accumulated(after, secs))
            }
            GapKind::Curved(curve) => curve.between(&piece.path, &belief.placed, from, to),
        }
    }
}

impl<V: Planar> Exports<V> {
    pub(super) fn new(horizon: Span) -> Self {
        Self {
            horizon,
            pieces: VecDeque::new(),
            newest: None,
            first: Index::FIRST,
            old_before: Index::FIRST,
            life: ((Life::default(), None), 0),
        }
    }

    pub(super) fn push(&mut self, vector: &DrVector<V>) {
        self.forget_old();
        if self.pieces.len() == REMEMBERED_MAX {
            self.pieces.pop_front();
            self.first = self.first.plus(1);
        }
        let life = (vector.life, vector.parent);
        if life != self.life.0 {
            self.life = (life, self.life.1 + 1);
        }
        let path = Path::from(vector);
        let (index, since) = (self.first.plus(self.pieces.len()), vector.generated_at);
        let freezes_at = since + self.horizon;
        let placed = path.frozen_from(freezes_at);
        self.pieces.push_back(Exported { index, since, life: self.life.1, path, placed });
        self.newest = Some(NewestExport { index, since, freezes_at });
        self.note_old();
    }

    pub(super) fn newest(&self) -> Option<&Exported<V>> {
        self.pieces.back()
    }

    #[inline]
    pub(super) fn newest_index(&self) -> Option<Index> {
        self.newest.map(|newest| newest.index)
    }

    /// When the replicas that follow the newest DR vector freeze.
    pub(super) fn newest_freezes_at(&self) -> Option<SharedInstant> {
        self.newest.map(|newest| newest.freezes_at)
    }

    /// The pieces of this life, the newest first, back to the one that was valid at `from`.
    pub(super) fn back_to(&self, from: SharedInstant) -> impl Iterator<Item = &Exported<V>> + '_ {
        let life = self.life.1;
        let mut reached = false;
        self.pieces.iter().rev().take_while(move |piece| {
            let is_wanted = !reached && piece.life == life;
            reached = piece.since <= from;
            is_wanted
        })
    }

    pub(super) fn is_of_this_life(&self, exported: &Exported<V>) -> bool {
        exported.life == self.life.1
    }

    /// The index of the DR vector that was generated at this instant, if it is remembered.
    #[inline]
    pub(super) fn index_of(&self, generated_at: SharedInstant) -> Option<Index> {
        match self.newest {
            Some(newest) if newest.since == generated_at => Some(newest.index),
            _ => self.older_index_of(generated_at),
        }
    }

    fn older_index_of(&self, generated_at: SharedInstant) -> Option<Index> {
        let newest_first = self.pieces.iter().rev();
        newest_first
            .take_while(|piece| piece.since >= generated_at)
            .find(|piece| piece.since == generated_at)
            .map(|piece| piece.index)
    }

    pub(super) fn get(&self, index: Index) -> Option<&Exported<V>> {
        self.pieces.get(index.after(self.first)?)
    }

    /// Whether this piece will soon be forgotten, so that a page that follows it must keep it.
    #[inline]
    pub(super) fn is_old(&self, index: Option<Index>) -> bool {
        index.is_some_and(|index| index < self.old_before)
    }

    /// The piece, if it will soon be forgotten.
    pub(super) fn get_if_old(&self, index: Index) -> Option<&Exported<V>> {
        if index < self.old_before { self.get(index) } else { None }
    }

    /// Updates which pieces are old: once here, instead of whenever a page asks.
    fn note_old(&mut self) {
        self.old_before = self.old_before.max(self.first);
        while self.ended_before(self.old_before, REMEMBERED) {
            self.old_before = self.old_before.plus(1);
        }
        if self.pieces.len() > REMEMBERED_MAX / 2 {
            self.old_before = self.old_before.max(self.first.plus(REMEMBERED_MAX / 4));
        }
    }

    /// Forgets pieces that ended long before the newest DR vector so far. The one about to be added
    /// does not count, because pages have seen only those that are here.
    fn forget_old(&mut self) {
        while self.ended_before(self.first, FORGOTTEN_AFTER) {
            self.pieces.pop_front();
            self.first = self.first.plus(1);
        }
    }

    /// Whether a piece ended more than `span` before the newest one began.
    fn ended_before(&self, index: Index, span: Span) -> bool {
        let (next, newest) = (self.get(index.plus(1)), self.newest());
        next.zip(newest).is_some_and(|(next, newest)| newest.since - next.since > span)
    }

    /// The error of a receiver that follows `belief` all the way from `from` to `to`. Zero between
    /// lives: a receiver cannot be wrong about the position of an entity that is no longer there.
    pub(super) fn error(&self, belief: &Exported<V>, from: SharedInstant, to: SharedInstant) -> f64 {
        self.error_by_piece(belief, from, to, |piece, from, to| {
            error::accumulated_value(&piece.path, &belief.placed, from, to)
        })
    }

    /// The same, with the error of a follower of `belief` during one piece by `error_in`.
    #[inline]
    pub(super) fn error_by_piece(
        &self,
        belief: &Exported<V>,
        from: SharedInstant,
        to: SharedInstant,
        mut error_in: impl FnMut(&Exported<V>, SharedInstant, SharedInstant) -> f64,
    ) -> f64 {
        let mut sum = 0.0;
        let mut until = to;
        for piece in self.pieces.iter().rev() {
            if until <= from {
                break;
            }
            let start = piece.since.max(from);
            if start < until {
                if piece.life == belief.life && !self.is_followed(piece, belief, until) {
                    sum += error_in(piece, start, until);
                }
                until = start;
            }
        }
        sum
    }

    /// Whether followers of DR vector `index` have no error from `from` to `to`: it is the newest,
    /// and not frozen.
    #[inline]
    pub(super) fn is_exact(&self, index: Index, from: SharedInstant, to: SharedInstant) -> bool {
        self.newest
            .is_some_and(|newest| newest.index == index && newest.since <= from && to <= newest.freezes_at)
    }

    /// The gap between a piece and the path of `belief`'s followers.
    pub(super) fn gap(&self, piece: &Exported<V>, belief: &Exported<V>) -> Gap<V> {
        let (since, until) = (piece.since, self.freezes_at(belief));
        let straight = error::StraightGap::between_paths(&piece.path, &belief.placed, since, until);
        let kind = straight.map_or_else(|| GapKind::Curved(ErrorCurve::new(since)), GapKind::Straight);
        Gap { since, until, kind }
    }

    /// When the error of a receiver that follows `belief` from `from` on reaches `amount`.
    pub(super) fn when_reaches(
        &self,
        belief: &Exported<V>,
        from: SharedInstant,
        amount: f64,
        until: SharedInstant,
    ) -> Option<SharedInstant> {
        let newest = self.newest()?;
        if newest.life != belief.life || self.is_followed(newest, belief, until) {
            return None;
        }
        error::when_reaches(&newest.path, &belief.placed, from, amount, until)
    }

    /// Distance of a follower of `belief` to the exported path at `at`; infinite in another life.
    pub(super) fn distance(&self, belief: &Exported<V>, at: SharedInstant) -> f64 {
        match self.newest() {
            Some(newest) if newest.life == belief.life => newest.path.distance_at(&belief.placed, at),
            _ => f64::INFINITY,
        }
    }

    pub(super) fn freezes_at(&self, belief: &Exported<V>) -> SharedInstant {
        belief.since + self.horizon
    }

    /// Whether the belief *is* this piece, and not frozen before `until`: then the error is zero.
    fn is_followed(&self, piece: &Exported<V>, belief: &Exported<V>, until: SharedInstant) -> bool {
        piece.index == belief.index && until <= self.freezes_at(piece)
    }
}
