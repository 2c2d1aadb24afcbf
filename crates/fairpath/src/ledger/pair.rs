use std::collections::VecDeque;

use super::error_cache::ErrorCache;
use super::exports::{Exported, Exports, Index};
use super::{REMEMBERED, REMEMBERED_MAX};
use crate::error::Path;
use crate::time::{SharedInstant, Span};
use crate::vector::Planar;

/// The id of one copy of a DR vector to one receiver. Receipts refer to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CopyId(u64);

impl CopyId {
    pub(crate) fn next(self) -> Self {
        Self(self.0 + 1)
    }

    /// How many copies there are from `first` up to this one; `None` if it is before.
    pub(crate) fn after(self, first: Self) -> Option<usize> {
        self.0.checked_sub(first.0).map(|count| count as usize)
    }

    pub(crate) fn plus(self, count: usize) -> Self {
        Self(self.0 + count as u64)
    }
}

/// Consecutive copies to one receiver: those of one datagram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CopyRange {
    first: CopyId,
    count: u32,
}

impl CopyRange {
    /// No copy.
    pub const EMPTY: Self = Self { first: CopyId(0), count: 0 };

    /// The copies from `first` up to the one before `end`.
    pub(crate) fn between(first: CopyId, end: CopyId) -> Self {
        Self { first, count: end.0.saturating_sub(first.0) as u32 }
    }

    /// Adds the next copy to the same receiver.
    ///
    /// # Panics
    ///
    /// Panics if another copy was sent to this receiver in between.
    pub fn push(&mut self, copy: CopyId) {
        if self.is_empty() {
            self.first = copy;
        }
        assert_eq!(copy.0, self.first.0 + u64::from(self.count), "the copies of a datagram are consecutive");
        self.count += 1;
    }

    /// Returns the number of copies.
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Returns whether there is no copy.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the copies in the order of their departure.
    pub fn iter(&self) -> impl Iterator<Item = CopyId> + use<> {
        (self.first.0..self.first.0 + u64::from(self.count)).map(CopyId)
    }
}

impl From<CopyId> for CopyRange {
    fn from(first: CopyId) -> Self {
        Self { first, count: 1 }
    }
}

/// No copy with this id was ever sent to the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeverSent;

impl std::fmt::Display for NeverSent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("no such copy was ever sent to that receiver")
    }
}

impl std::error::Error for NeverSent {}

/// The errors and copies of one receiver and one entity, as of the ledger's last advance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// Error integrated since the receiver's first DR vector arrived, as far as known.
    pub accumulated: f64,
    /// Error integrated since the DR vector that the receiver follows was generated.
    pub instantaneous: f64,
    /// When the receiver's page was opened.
    pub joined: SharedInstant,
    /// When the last copy was sent to the receiver.
    pub last_sent: Option<SharedInstant>,
    /// Whether the receiver has acknowledged any copy.
    pub has_acknowledged: bool,
    /// Whether the receiver follows the newest DR vector, or will if copies arrive as expected.
    pub has_newest: bool,
    /// Number of copies that were given up on: their arrival stays an estimate forever.
    pub unsettled: u32,
}

/// The default weight of a claim: the error since the DR vector that the receiver follows was
/// generated. A receiver that was never sent the entity has the largest weight.
pub(crate) fn claim_weight(instantaneous: f64, last_sent: Option<SharedInstant>) -> f64 {
    if last_sent.is_none() {
        f64::MAX
    } else if instantaneous > 0.0 {
        instantaneous
    } else {
        0.0
    }
}

#[derive(Clone, Debug)]
pub(super) struct Pair<V: Planar> {
    joined: SharedInstant,
    /// The books are complete up to this instant.
    until: SharedInstant,
    accumulated: f64,
    /// How much of `accumulated` was reported by `drain_growth`.
    drained: f64,
    instantaneous: f64,
    /// Index of the DR vector that the receiver follows at `until`.
    belief: Option<Index>,
    /// Index of the newest DR vector that it followed before any of `copies` arrived.
    base: Option<Index>,
    /// The base itself, once it is so old that the exported path forgets it.
    base_kept: Option<Box<Exported<V>>>,
    /// The copies that can still change the books, in the order of their departure.
    copies: VecDeque<SentCopy>,
    summary: CopySummary,
    /// Larger than the ids of all copies.
    next_copy: CopyId,
    last_sent: Option<SharedInstant>,
    last_acknowledged: Option<SharedInstant>,
    /// The receiver has acknowledged everything that it received before this.
    complete_until: Option<SharedInstant>,
    unsettled: u32,
}

/// A trigger walks over the pages of all receivers.
const _: () = assert!(size_of::<Pair<crate::vector::Vec2>>() <= 256);

#[derive(Clone, Copy, Debug)]
struct SentCopy {
    id: CopyId,
    index: Index,
    sent_at: SharedInstant,
    status: CopyStatus,
}

/// The properties of the copies that most queries need. The copies lie apart and, with thousands of
/// receivers, in no cache; the summary saves a trigger from reading them. Always current.
#[derive(Clone, Copy, Debug, PartialEq)]
struct CopySummary {
    /// The arrivals after `until`.
    ahead: NextArrivals,
    /// The last arrival, [`LONG_AGO`] if there is none.
    last_arrival: SharedInstant,
    /// Index of the newest DR vector that arrives at all, and of the newest that is acknowledged.
    newest: Option<Index>,
    newest_reported: Option<Index>,
    /// When the oldest copy was sent, [`NEVER`] if there is none.
    oldest_sent: SharedInstant,
    /// The oldest copy is acknowledged, arriving after `until`: history once the books are there.
    is_history_ahead: bool,
}

/// Before all instants, and after all.
const LONG_AGO: SharedInstant = SharedInstant::from_micros(i64::MIN);
const NEVER: SharedInstant = SharedInstant::from_micros(i64::MAX);

impl Default for CopySummary {
    fn default() -> Self {
        Self {
            ahead: NextArrivals::default(),
            last_arrival: LONG_AGO,
            newest: None,
            newest_reported: None,
            oldest_sent: NEVER,
            is_history_ahead: false,
        }
    }
}

impl CopySummary {
    /// The only copy is acknowledged, and arrives after all that is booked.
    fn only_arrives(&mut self, arrival: CopyArrival) {
        self.last_arrival = arrival.at;
        self.newest_reported = Some(arrival.index);
        self.is_history_ahead = true;
        self.ahead.next[0] = arrival;
    }

    /// The only copy left at `sent_at`, and arrives after all that is booked.
    #[inline]
    fn of_expected(sent_at: SharedInstant, arrival: CopyArrival) -> Self {
        let mut summary = Self { oldest_sent: sent_at, last_arrival: arrival.at, ..Self::default() };
        summary.newest = Some(arrival.index);
        summary.ahead.insert(arrival);
        summary
    }

    /// A copy left at `sent_at` that arrives after all that is booked.
    fn add_expected(&mut self, sent_at: SharedInstant, arrival: CopyArrival) {
        self.oldest_sent = self.oldest_sent.min(sent_at);
        self.newest = self.newest.max(Some(arrival.index));
        self.last_arrival = self.last_arrival.max(arrival.at);
        self.ahead.insert(arrival);
    }
}

/// The next arrivals, the earliest first: as many as there is room for.
#[derive(Clone, Copy, Debug, PartialEq)]
struct NextArrivals {
    next: [CopyArrival; Self::ROOM],
    count: u8,
    has_more: bool,
}

/// The arrival of a DR vector of this index.
#[derive(Clone, Copy, Debug, PartialEq)]
struct CopyArrival {
    at: SharedInstant,
    index: Index,
}

impl Default for NextArrivals {
    fn default() -> Self {
        Self { next: [CopyArrival { at: NEVER, index: Index::FIRST }; Self::ROOM], count: 0, has_more: false }
    }
}

impl NextArrivals {
    /// Three: a tank that turns seven times a second has so many under way to 400 ms away.
    const ROOM: usize = 3;

    #[inline]
    fn first(&self) -> Option<CopyArrival> {
        self.next[..usize::from(self.count)].first().copied()
    }

    #[inline]
    fn insert(&mut self, arrival: CopyArrival) {
        if self.count == 0 {
            self.next[0] = arrival;
            self.count = 1;
            return;
        }
        let count = usize::from(self.count);
        let place = self.next[..count].partition_point(|other| other.at <= arrival.at);
        if count == Self::ROOM {
            self.has_more = true;
        } else {
            self.count += 1;
        }
        if place < Self::ROOM {
            self.next[place..].rotate_right(1);
            self.next[place] = arrival;
        }
    }

    #[inline]
    fn remove_first(&mut self) {
        if self.count > 1 {
            self.next.rotate_left(1);
        }
        self.count = self.count.saturating_sub(1);
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum CopyStatus {
    /// Not acknowledged; taken to arrive at this instant.
    Expected(SharedInstant),
    /// The same, on a stream: it will arrive, and reports about datagrams do not mention it.
    Streamed(SharedInstant),
    /// Acknowledged.
    Arrived(SharedInstant),
    /// Not acknowledged though it was overdue.
    Missing,
}

impl CopyStatus {
    fn arrival(self) -> Option<SharedInstant> {
        match self {
            Self::Expected(at) | Self::Streamed(at) | Self::Arrived(at) => Some(at),
            Self::Missing => None,
        }
    }

    fn is_open(self) -> bool {
        !matches!(self, Self::Arrived(_))
    }

    fn is_assumed(self) -> bool {
        matches!(self, Self::Expected(_) | Self::Streamed(_))
    }
}

impl<V: Planar> Pair<V> {
    pub(super) fn new(now: SharedInstant, next_copy: CopyId) -> Self {
        Self {
            joined: now,
            until: now,
            accumulated: 0.0,
            drained: 0.0,
            instantaneous: 0.0,
            belief: None,
            base: None,
            base_kept: None,
            copies: VecDeque::new(),
            summary: CopySummary::default(),
            next_copy,
            last_sent: None,
            last_acknowledged: None,
            complete_until: None,
            unsettled: 0,
        }
    }

    #[inline]
    pub(super) fn advance(&mut self, exports: &Exports<V>, now: SharedInstant, cache: &mut ErrorCache<V>) {
        if !self.advance_quickly(exports, now, cache) {
            self.advance_fully(exports, now, cache);
        }
    }

    /// Advances in the two cases that are most of all, if everything needed is known: no copy
    /// arrives by `now`, or the only one does, and has the newest DR vector.
    #[inline]
    fn advance_quickly(&mut self, exports: &Exports<V>, now: SharedInstant, cache: &ErrorCache<V>) -> bool {
        let (Some(newest), Some(belief)) = (exports.newest_index(), self.belief) else { return false };
        let from = self.until;
        if now <= from || exports.is_old(self.base) || now - self.summary.oldest_sent > REMEMBERED {
            return false;
        }
        let Some(CopyArrival { at, index }) = self.next_by(now) else {
            if !exports.is_exact(belief, from, now) {
                let Some(error) = cache.grown.known(belief, from, now) else { return false };
                self.accumulated += error;
                self.instantaneous += error;
            }
            self.until = now;
            return true;
        };
        if self.copies.len() != 1 || belief >= index || !exports.is_exact(index, from, now) {
            return false;
        }
        let Some(error) = cache.gaps.known_error(newest, belief, from, at) else { return false };
        self.accumulated += error;
        self.until = now;
        self.belief = Some(index);
        self.instantaneous = 0.0;
        self.pass_arrival();
        true
    }

    fn advance_fully(&mut self, exports: &Exports<V>, now: SharedInstant, cache: &mut ErrorCache<V>) {
        if now <= self.until {
            return;
        }
        match self.next_by(now) {
            None => self.go_on_believing(exports, now, cache),
            Some(arrival) if self.is_usual(exports, arrival, now) => {
                self.pass_only_arrival(exports, arrival, now, cache);
            }
            Some(arrival) => self.pass_arrivals(exports, arrival, now, cache),
        }
        if now - self.summary.oldest_sent > REMEMBERED {
            self.give_up_on_old_copies(now);
        }
        self.keep_base(exports);
    }

    /// A copy with this id, larger than all before, was sent at `at` and arrives at `expected`.
    #[inline]
    pub(super) fn depart(
        &mut self,
        exports: &Exports<V>,
        id: CopyId,
        index: Index,
        at: SharedInstant,
        expected: SharedInstant,
        cache: &mut ErrorCache<V>,
    ) {
        if self.copies.len() >= REMEMBERED_MAX {
            self.give_up_on_oldest(REMEMBERED_MAX / 2);
        }
        let expected = expected.max(at);
        self.next_copy = id.next();
        self.last_sent = self.last_sent.max(Some(at));
        if expected > self.until && self.copies.is_empty() {
            let status = CopyStatus::Expected(expected);
            self.copies.push_back(SentCopy { id, index, sent_at: at, status });
            self.summary = CopySummary::of_expected(at, CopyArrival { at: expected, index });
        } else if expected > self.until {
            // After all that is booked: nothing to correct.
            self.copies.push_back(SentCopy {
                id,
                index,
                sent_at: at,
                status: CopyStatus::Expected(expected),
            });
            if self.summary.ahead.has_more {
                self.summarise();
            } else {
                self.summary.add_expected(at, CopyArrival { at: expected, index });
            }
        } else {
            self.copies.push_back(SentCopy { id, index, sent_at: at, status: CopyStatus::Missing });
            self.revise(exports, self.copies.len() - 1, CopyStatus::Expected(expected), cache);
        }
    }

    /// When an open copy is expected to arrive, or [`LONG_AGO`] if it counts as lost. `None` if its
    /// arrival is known or can no longer change the books.
    pub(super) fn expected(&self, id: CopyId) -> Option<SharedInstant> {
        let position = self.copies.binary_search_by_key(&id, |copy| copy.id).ok()?;
        match self.copies[position].status {
            CopyStatus::Expected(at) | CopyStatus::Streamed(at) => Some(at),
            CopyStatus::Missing => Some(LONG_AGO),
            CopyStatus::Arrived(_) => None,
        }
    }

    /// The place of a copy. Mostly it is the only one.
    #[inline]
    fn position(&self, id: CopyId) -> Option<usize> {
        match self.copies.front() {
            Some(oldest) if oldest.id == id => Some(0),
            _ => self.copies.binary_search_by_key(&id, |copy| copy.id).ok(),
        }
    }

    /// When a copy was sent; `None` if that is forgotten.
    pub(super) fn departure(&self, id: CopyId) -> Result<Option<SharedInstant>, NeverSent> {
        if id >= self.next_copy {
            return Err(NeverSent);
        }
        let found = self.copies.binary_search_by_key(&id, |copy| copy.id);
        Ok(found.ok().map(|position| self.copies[position].sent_at))
    }

    /// The receiver says that a copy arrived. False if that cannot be, or is no news.
    #[inline]
    pub(super) fn arrive(
        &mut self,
        exports: &Exports<V>,
        id: CopyId,
        received_at: SharedInstant,
        cache: &mut ErrorCache<V>,
    ) -> bool {
        // Mostly it is the only one, and after all that is booked.
        if self.copies.len() == 1
            && let Some(copy) = self.copies.front_mut().filter(|copy| copy.id == id)
            && let CopyStatus::Expected(at) = copy.status
            && at.min(received_at) > self.until
            && received_at >= copy.sent_at
        {
            copy.status = CopyStatus::Arrived(received_at);
            self.summary.only_arrives(CopyArrival { at: received_at, index: copy.index });
            self.last_acknowledged = self.last_acknowledged.max(Some(received_at));
            return true;
        }
        self.arrive_among_others(exports, id, received_at, cache)
    }

    fn arrive_among_others(
        &mut self,
        exports: &Exports<V>,
        id: CopyId,
        received_at: SharedInstant,
        cache: &mut ErrorCache<V>,
    ) -> bool {
        let Some(position) = self.position(id) else { return false };
        let copy = self.copies[position];
        if !copy.status.is_open() || received_at < copy.sent_at {
            return false;
        }
        self.last_acknowledged = self.last_acknowledged.max(Some(received_at));
        match copy.status {
            // The only one, and booked rightly.
            CopyStatus::Expected(at)
                if self.copies.len() == 1 && at == received_at && Some(copy.index) == self.belief =>
            {
                self.fold_all();
            }
            _ => {
                self.revise(exports, position, CopyStatus::Arrived(received_at), cache);
                self.fold_what_is_certain();
            }
        }
        true
    }

    /// Reports about datagrams do not mention this copy.
    pub(super) fn await_confirmation(&mut self, id: CopyId) {
        let Some(position) = self.position(id) else { return };
        if let CopyStatus::Expected(at) = self.copies[position].status {
            self.copies[position].status = CopyStatus::Streamed(at);
        }
    }

    /// This copy's arrival will never be known: the estimate stands, and is counted.
    pub(super) fn give_up_on(&mut self, id: CopyId) {
        let Some(position) = self.position(id) else { return };
        if let Some(at) =
            self.copies[position].status.arrival().filter(|_| self.copies[position].status.is_open())
        {
            self.copies[position].status = CopyStatus::Arrived(at);
            self.unsettled += 1;
            self.summarise();
            self.fold_what_is_certain();
        }
    }

    /// Copies without a receipt had not arrived by `until`. Returns whether the newest copy is
    /// lost, so that the receiver follows an older DR vector than assumed.
    pub(super) fn complete(
        &mut self,
        exports: &Exports<V>,
        until: SharedInstant,
        patience: Span,
        cache: &mut ErrorCache<V>,
    ) -> bool {
        let told = self.newest_told();
        self.complete_until = self.complete_until.max(Some(until));
        // The receiver itself may have forgotten the arrival of older copies.
        self.give_up_on_old_copies(until);
        for position in 0..self.copies.len() {
            let copy = self.copies[position];
            if matches!(copy.status, CopyStatus::Expected(at) if at < until) {
                let overdue = until - copy.sent_at > patience;
                self.revise(
                    exports,
                    position,
                    if overdue { CopyStatus::Missing } else { CopyStatus::Expected(until) },
                    cache,
                );
            }
        }
        self.drop_what_came_too_late();
        self.fold_what_is_certain();
        self.newest_told() < told
    }

    pub(super) fn standing(&self, exports: &Exports<V>) -> Standing {
        Standing {
            accumulated: self.accumulated,
            instantaneous: self.instantaneous,
            joined: self.joined,
            last_sent: self.last_sent,
            has_acknowledged: self.last_acknowledged.is_some(),
            has_newest: self.newest_told() == exports.newest_index(),
            unsettled: self.unsettled,
        }
    }

    #[inline]
    pub(super) fn claim_weight(&self) -> f64 {
        claim_weight(self.instantaneous, self.last_sent)
    }

    /// The part of the accumulated error before the last acknowledged arrival.
    pub(super) fn settled(&self, exports: &Exports<V>) -> f64 {
        let Some(acknowledged) = self.last_acknowledged else { return 0.0 };
        (self.accumulated - self.integrate(exports, acknowledged, self.until)).max(0.0)
    }

    /// When the last acknowledged copy arrived.
    pub(super) fn last_acknowledged(&self) -> Option<SharedInstant> {
        self.last_acknowledged
    }

    /// Whether no arrival is assumed.
    pub(super) fn is_settled(&self) -> bool {
        self.unsettled == 0 && !self.copies.iter().any(|copy| copy.status.is_assumed())
    }

    pub(super) fn remembered(&self) -> usize {
        self.copies.len()
    }

    /// Whether its newest acknowledged DR vector is within `tolerance` of the export at `at`.
    pub(super) fn has_confirmed(&self, exports: &Exports<V>, tolerance: f64, at: SharedInstant) -> bool {
        let newest = self.base.max(self.summary.newest_reported);
        newest.is_some_and(|index| {
            exports.is_exact(index, at, at)
                || self.exported(exports, index).is_some_and(|it| exports.distance(it, at) <= tolerance)
        })
    }

    /// Whether it has acknowledged the newest DR vector.
    pub(super) fn has_confirmed_newest(&self, exports: &Exports<V>) -> bool {
        self.base.max(self.summary.newest_reported) >= exports.newest_index()
    }

    /// The DR vector that it will follow in the end, if nothing more is sent.
    pub(super) fn told<'a>(&'a self, exports: &'a Exports<V>) -> Option<&'a Exported<V>> {
        self.exported(exports, self.newest_told()?)
    }

    fn newest_told(&self) -> Option<Index> {
        self.belief.max(self.summary.newest)
    }

    /// The growth of the accumulated error since the last call.
    pub(super) fn drain_growth(&mut self) -> f64 {
        let growth = self.accumulated - self.drained;
        self.drained = self.accumulated;
        growth
    }

    /// The path that it places at `t`, which may be in the future.
    pub(super) fn placed_at<'a>(&'a self, exports: &'a Exports<V>, t: SharedInstant) -> Option<&'a Path<V>> {
        Some(&self.followed_at(exports, t)?.placed)
    }

    /// The DR vector that it follows at `t`, which may be in the future.
    pub(super) fn followed_at<'a>(
        &'a self,
        exports: &'a Exports<V>,
        t: SharedInstant,
    ) -> Option<&'a Exported<V>> {
        self.exported(exports, self.belief_at(t)?)
    }

    /// When it next follows another DR vector, as far as is known.
    pub(super) fn next_arrival(&self, after: SharedInstant) -> Option<SharedInstant> {
        if self.summary.last_arrival <= after {
            return None;
        }
        self.copies.iter().filter_map(|copy| copy.status.arrival()).filter(|at| *at > after).min()
    }

    /// When the error accumulated since `from` reaches `amount`; `None` if not by `until`.
    pub(super) fn when_grown(
        &self,
        exports: &Exports<V>,
        from: SharedInstant,
        amount: f64,
        until: SharedInstant,
    ) -> Option<SharedInstant> {
        if amount <= 0.0 {
            return Some(from);
        }
        let (mut left, mut at) = (amount, from);
        while at < until {
            let next = self.next_arrival(at).map_or(until, |arrival| arrival.min(until));
            if let Some(belief) = self.belief_at(at).and_then(|index| self.exported(exports, index)) {
                let reached = exports.when_reaches(belief, at, left, next);
                if reached.is_some() {
                    return reached;
                }
                left -= exports.error(belief, at, next);
            }
            at = next;
        }
        None
    }

    /// No copy arrives up to `now`: all followers of the same DR vector have the same error.
    fn go_on_believing(&mut self, exports: &Exports<V>, now: SharedInstant, cache: &mut ErrorCache<V>) {
        let from = self.until;
        let belief = self.belief.filter(|index| !exports.is_exact(*index, from, now));
        let error = belief.map_or(0.0, |index| {
            cache.grown.recall(index, from, now, || self.error_if_believed(exports, index, from, now))
        });
        self.add(error, now);
    }

    /// Whether what arrives by `now` is one copy of the newest DR vector, the only one sent since the
    /// receiver's books were last advanced.
    #[inline]
    fn is_usual(&self, exports: &Exports<V>, arrival: CopyArrival, now: SharedInstant) -> bool {
        self.copies.len() == 1 && exports.is_exact(arrival.index, self.until, now)
    }

    /// The same as [`pass_arrivals`](Self::pass_arrivals) for the usual case: the error up to the
    /// arrival is that of one piece, and zero from then on.
    fn pass_only_arrival(
        &mut self,
        exports: &Exports<V>,
        arrival: CopyArrival,
        now: SharedInstant,
        cache: &mut ErrorCache<V>,
    ) {
        let (from, to) = (self.until, arrival.at);
        let followed = self.belief.filter(|index| *index < arrival.index);
        let followed = followed.and_then(|index| self.exported(exports, index));
        let error = followed.map_or(0.0, |belief| cache.gaps.error_in_newest(exports, belief, from, to));
        self.accumulated += error;
        self.until = now;
        self.belief = self.belief.max(Some(arrival.index));
        self.instantaneous = 0.0;
        self.pass_arrival();
    }

    /// The only copy has arrived. It is history if the arrival is acknowledged.
    #[inline]
    fn pass_arrival(&mut self) {
        if self.summary.is_history_ahead {
            self.fold_all();
        } else {
            self.summary.ahead.remove_first();
        }
    }

    /// A copy arrives, and maybe more up to `now`.
    fn pass_arrivals(
        &mut self,
        exports: &Exports<V>,
        first: CopyArrival,
        now: SharedInstant,
        cache: &mut ErrorCache<V>,
    ) {
        let believed = self.belief;
        let mut next = Some(first);
        while let Some(arrival) = next {
            self.accumulate(exports, arrival.at, cache);
            self.follow_what_arrived();
            next = self.next_by(now);
        }
        self.accumulate(exports, now, cache);
        if self.belief != believed {
            // Since its generation all followers of a DR vector have the same error.
            let followed = self.belief.and_then(|index| self.exported(exports, index));
            let followed = followed.filter(|belief| !exports.is_exact(belief.index, belief.since, now));
            self.instantaneous = followed.map_or(0.0, |belief| {
                let since = belief.since;
                cache
                    .since_generation
                    .recall(belief.index, since, now, |from| exports.error(belief, from, now))
            });
        }
    }

    #[inline]
    fn next_by(&self, now: SharedInstant) -> Option<CopyArrival> {
        self.summary.ahead.first().filter(|arrival| arrival.at <= now)
    }

    /// Follows the DR vectors that arrived by `until`: many, if the receiver did not read for long.
    #[inline]
    fn follow_what_arrived(&mut self) {
        while let Some(arrival) = self.next_by(self.until) {
            self.belief = self.belief.max(Some(arrival.index));
            self.summary.ahead.remove_first();
        }
        let CopySummary { ahead, is_history_ahead, .. } = self.summary;
        // Only the oldest copy can have become history just now; receipts handle the rest.
        if is_history_ahead && self.copies.len() == 1 && ahead.count == 0 {
            self.fold_all();
        } else if is_history_ahead || (ahead.count == 0 && ahead.has_more) {
            self.belief = self.arrived_by(self.until);
            self.fold_what_is_certain();
            self.summarise();
        }
    }

    /// All copies have arrived and are booked: the receiver follows the newest.
    fn fold_all(&mut self) {
        self.base = self.base.max(self.summary.newest);
        self.copies.truncate(0);
        self.summary = CopySummary::default();
    }

    /// Integrates up to `to` with the current belief.
    fn accumulate(&mut self, exports: &Exports<V>, to: SharedInstant, cache: &mut ErrorCache<V>) {
        if to > self.until {
            let from = self.until;
            let belief = self.belief.filter(|index| !exports.is_exact(*index, from, to));
            let followed = belief.and_then(|index| self.exported(exports, index));
            let error = followed.map_or(0.0, |belief| cache.gaps.error(exports, belief, from, to));
            self.add(error, to);
        }
    }

    fn error_if_believed(
        &self,
        exports: &Exports<V>,
        index: Index,
        from: SharedInstant,
        to: SharedInstant,
    ) -> f64 {
        self.exported(exports, index).map_or(0.0, |belief| exports.error(belief, from, to))
    }

    /// Books the error of the time up to `until`.
    fn add(&mut self, error: f64, until: SharedInstant) {
        self.accumulated += error;
        self.instantaneous += error;
        self.until = until;
    }

    /// Follows the newest DR vector that has arrived by `until`.
    fn believe(&mut self, exports: &Exports<V>) {
        let belief = self.arrived_by(self.until);
        if belief != self.belief {
            self.belief = belief;
            self.instantaneous = belief
                .and_then(|index| self.exported(exports, index))
                .map_or(0.0, |belief| exports.error(belief, belief.since, self.until));
        }
    }

    /// Changes a copy's status, and corrects the books between the old and the new arrival.
    fn revise(
        &mut self,
        exports: &Exports<V>,
        position: usize,
        status: CopyStatus,
        cache: &mut ErrorCache<V>,
    ) {
        let (old, new) = (self.copies[position].status.arrival(), status.arrival());
        let from = old.into_iter().chain(new).min().unwrap_or(self.until);
        let to = old.zip(new).map_or(self.until, |(old, new)| old.max(new)).min(self.until);
        let mut error = |pair: &Self| {
            pair.integrate_by(exports, from, to, |belief, from, to| {
                cache.gaps.error(exports, belief, from, to)
            })
        };
        let before = error(self);
        self.copies[position].status = status;
        self.summarise();
        let after = error(self);
        self.accumulated = (self.accumulated + (after - before)).max(0.0);
        self.believe(exports);
    }

    /// The error from `from` to `to`, also in the future, given the known and expected arrivals.
    pub(super) fn integrate(&self, exports: &Exports<V>, from: SharedInstant, to: SharedInstant) -> f64 {
        self.integrate_by(exports, from, to, |belief, from, to| exports.error(belief, from, to))
    }

    /// The same, with the error of a follower of one DR vector by `error_of`.
    fn integrate_by(
        &self,
        exports: &Exports<V>,
        from: SharedInstant,
        to: SharedInstant,
        mut error_of: impl FnMut(&Exported<V>, SharedInstant, SharedInstant) -> f64,
    ) -> f64 {
        let (mut sum, mut at) = (0.0, from);
        while at < to {
            let next = self.next_arrival(at).map_or(to, |arrival| arrival.min(to));
            if let Some(belief) = self.belief_at(at).and_then(|index| self.exported(exports, index)) {
                sum += error_of(belief, at, next);
            }
            at = next;
        }
        sum
    }

    /// Index of the DR vector that the receiver follows at `t`.
    fn belief_at(&self, t: SharedInstant) -> Option<Index> {
        if t == self.until { self.belief } else { self.arrived_by(t) }
    }

    /// Index of the newest DR vector that has arrived by `t`.
    fn arrived_by(&self, t: SharedInstant) -> Option<Index> {
        if self.summary.last_arrival <= t {
            return self.base.max(self.summary.newest);
        }
        let arrived = self.copies.iter().filter(|copy| copy.status.arrival().is_some_and(|at| at <= t));
        self.base.max(arrived.map(|copy| copy.index).max())
    }

    fn exported<'a>(&'a self, exports: &'a Exports<V>, index: Index) -> Option<&'a Exported<V>> {
        exports.get(index).or_else(|| self.base_kept.as_deref().filter(|kept| kept.index == index))
    }

    /// Drops open copies that are older than one that had arrived when the receiver reported
    /// everything: they can no longer change the books.
    fn drop_what_came_too_late(&mut self) {
        let Some(until) = self.complete_until else { return };
        let arrived =
            self.copies.iter().filter(|copy| matches!(copy.status, CopyStatus::Arrived(at) if at <= until));
        let Some(newest) = arrived.map(|copy| copy.index).max() else { return };
        // A copy on a stream may have arrived before.
        let is_streamed = |copy: &SentCopy| matches!(copy.status, CopyStatus::Streamed(_));
        let is_needed = |copy: &SentCopy| !copy.status.is_open() || copy.index > newest || is_streamed(copy);
        if !self.copies.iter().all(is_needed) {
            self.copies.retain(is_needed);
            self.summarise();
        }
    }

    /// Folds acknowledged arrivals into the base, if booked and before any open copy's departure.
    fn fold_what_is_certain(&mut self) {
        if self.copies.front().is_none_or(|copy| copy.status.is_open()) {
            return;
        }
        let open_since =
            self.copies.iter().filter(|copy| copy.status.is_open()).map(|copy| copy.sent_at).min();
        let is_history = |status: CopyStatus| matches!(status, CopyStatus::Arrived(at) if at <= self.until && open_since.is_none_or(|open| at <= open));
        let count = self.copies.iter().take_while(|copy| is_history(copy.status)).count();
        if count > 0 {
            self.base = self.base.max(self.copies.drain(..count).map(|copy| copy.index).max());
            self.summarise();
        }
    }

    fn summarise(&mut self) {
        let mut summary = CopySummary::default();
        if let Some(oldest) = self.copies.front() {
            summary.oldest_sent = oldest.sent_at;
            summary.is_history_ahead = matches!(oldest.status, CopyStatus::Arrived(at) if at > self.until);
        }
        for copy in &self.copies {
            let Some(at) = copy.status.arrival() else { continue };
            summary.newest = summary.newest.max(Some(copy.index));
            summary.last_arrival = summary.last_arrival.max(at);
            if at > self.until {
                summary.ahead.insert(CopyArrival { at, index: copy.index });
            }
            if matches!(copy.status, CopyStatus::Arrived(_)) {
                summary.newest_reported = summary.newest_reported.max(Some(copy.index));
            }
        }
        self.summary = summary;
    }

    /// Gives up on copies older than what is remembered: the estimate stands, and is counted.
    fn give_up_on_old_copies(&mut self, now: SharedInstant) {
        let old = self.copies.partition_point(|copy| now - copy.sent_at > REMEMBERED);
        self.give_up_on_oldest(old);
    }

    /// Gives up on the first `count` copies: their arrival will never be known.
    fn give_up_on_oldest(&mut self, count: usize) {
        for copy in self.copies.iter_mut().take(count) {
            if let CopyStatus::Expected(at) | CopyStatus::Streamed(at) = copy.status {
                copy.status = CopyStatus::Arrived(at);
                self.unsettled += 1;
            }
        }
        // A missing copy was concluded from a complete report: that is no guess.
        let mut place = 0..;
        self.copies.retain(|copy| place.next() >= Some(count) || copy.status != CopyStatus::Missing);
        self.fold_what_is_certain();
    }

    /// Keeps the base once the exported path is about to forget it.
    #[inline]
    fn keep_base(&mut self, exports: &Exports<V>) {
        let Some(exported) = self.base.and_then(|base| exports.get_if_old(base)) else { return };
        if self.base_kept.as_ref().is_none_or(|kept| kept.index != exported.index) {
            self.base_kept = Some(Box::new(*exported));
        }
    }
}
