//! The sender's knowledge of every receiver's error about one entity.
//!
//! The exported path follows the newest DR vector *generated*; the placed path of a receiver
//! follows the newest one *received*. The distance between the two, integrated over time, is the
//! receiver's accumulated error, which fairness balances. The ledger books when DR vectors were
//! generated, when copies were sent and, as receipts come in, when those arrived. Unknown arrivals
//! are estimated; arrivals that will never be known are counted as unsettled.
//!
//! The cost of an event does not depend on how long the game has run: the books are kept up to the
//! last event, and a receipt corrects only the interval between expected and actual arrival.

mod error_cache;
mod exports;
mod pair;
mod receiver_page;

pub(crate) use pair::claim_weight;
pub use pair::{CopyId, CopyRange, NeverSent, Standing};
pub use receiver_page::{ReceiverBelief, ReceiverPage};

use crate::directory::Directory;
use crate::dr_vector::DrVector;
use crate::error::Path;
use crate::number::ReceiverId;
use crate::time::{SharedInstant, Span};
use crate::vector::Planar;
use error_cache::ErrorCache;
use exports::Exports;
use pair::Pair;

/// How late a receipt may be and still be booked exactly.
///
/// 10 s: many times the longest delay we promise to serve, so a later receipt was lost for good.
pub const LATENESS_MAX: Span = Span::from_secs(10);

/// How long after its departure a copy without a receipt is remembered: the receipt's lateness, and
/// five seconds for the copy itself to be under way.
const REMEMBERED: Span = Span::from_secs(15);

/// How long after its end a piece of the exported path is forgotten: twice as long as any copy sent
/// during it can be open, so that a page that still follows it has kept its own copy of the piece
/// by then. Shorter, and late receipts are booked in part; longer, and an entity that turns ten
/// times a second remembers 7 kB more for each second.
const FORGOTTEN_AFTER: Span = Span::from_secs(30);
const _: () = assert!(FORGOTTEN_AFTER.as_micros() >= 2 * REMEMBERED.as_micros());

/// How many past DR vectors, and how many copies for each receiver, are remembered: 100 a second.
pub const REMEMBERED_MAX: usize = 1500;
const _: () = assert!(REMEMBERED_MAX as i64 * 10_000 >= REMEMBERED.as_micros());

/// The errors of all receivers about one entity: one page for each receiver.
///
/// Report every event: [`on_generated`](Self::on_generated) for every DR vector,
/// [`on_departed`](Self::on_departed) for every copy sent, [`on_receipt`](Self::on_receipt) and
/// [`on_complete`](Self::on_complete) for the receivers' reports. Events may be reported late, but
/// `now` must not go backwards.
#[derive(Clone, Debug)]
pub struct Ledger<V: Planar> {
    exports: Exports<V>,
    pairs: Directory<Pair<V>>,
    cache: ErrorCache<V>,
    /// The id of the next copy, over all pages: a late receipt must not match a newer page.
    next_copy: CopyId,
}

impl<V: Planar> Ledger<V> {
    /// Returns an empty ledger for an entity whose replicas freeze after `horizon`.
    pub fn new(horizon: Span) -> Self {
        let next_copy = CopyId::default();
        Self {
            exports: Exports::new(horizon),
            pairs: Directory::default(),
            cache: ErrorCache::default(),
            next_copy,
        }
    }

    /// Opens a page for a receiver. A receiver that has one already keeps it.
    pub fn join(&mut self, receiver: ReceiverId, now: SharedInstant) {
        let next_copy = self.next_copy;
        self.pairs.insert_if_new(receiver, || Pair::new(now, next_copy));
    }

    /// Closes and forgets a receiver's page.
    pub fn leave(&mut self, receiver: ReceiverId) {
        self.pairs.remove(receiver);
    }

    /// Returns whether this receiver has a page.
    pub fn has_page(&self, receiver: ReceiverId) -> bool {
        self.pairs.contains(receiver)
    }

    /// Returns how many copies to this receiver are remembered, because their arrival is open or
    /// can still change the books.
    pub fn remembered(&self, receiver: ReceiverId) -> usize {
        self.pairs.get(receiver).map_or(0, Pair::remembered)
    }

    /// Returns the receivers that have a page, in order.
    pub fn receivers(&self) -> impl Iterator<Item = ReceiverId> + '_ {
        self.pairs.receivers()
    }

    /// Books a new DR vector: the exported path changes from its generation time on.
    pub fn on_generated(&mut self, vector: &DrVector<V>) {
        for pair in self.pairs.values_mut() {
            pair.advance(&self.exports, vector.generated_at, &mut self.cache);
        }
        self.exports.push(vector);
        self.cache.forget_from(vector.generated_at);
    }

    /// Like [`on_generated`](Self::on_generated), and visits all receivers as
    /// [`advance_and_visit`](Self::advance_and_visit) does. Needs only one walk if the DR vector
    /// was generated at `now`.
    pub fn on_generated_and_visit(
        &mut self,
        vector: &DrVector<V>,
        now: SharedInstant,
        mut tell: impl FnMut(ReceiverId, f64, Standing),
    ) {
        if now != vector.generated_at {
            self.on_generated(vector);
            return self.advance_and_visit(now, tell);
        }
        // No receiver was sent it yet.
        self.advance_and_visit(now, |receiver, growth, standing| {
            tell(receiver, growth, Standing { has_newest: false, ..standing });
        });
        self.exports.push(vector);
        self.cache.forget_from(vector.generated_at);
    }

    /// Books a copy of `vector` that was sent to `receiver` with this expected delay; zero if
    /// nothing is known of the link yet. Returns the id for its receipt; `None` if the receiver has
    /// no page, or the DR vector is unknown or forgotten.
    pub fn on_departed(
        &mut self,
        receiver: ReceiverId,
        vector: &DrVector<V>,
        at: SharedInstant,
        delay: Option<Span>,
    ) -> Option<CopyId> {
        let index = self.exports.index_of(vector.generated_at)?;
        let pair = self.pairs.get_mut(receiver)?;
        let copy = self.next_copy;
        self.next_copy = copy.next();
        pair.depart(&self.exports, copy, index, at, at + delay.unwrap_or(Span::ZERO), &mut self.cache);
        Some(copy)
    }

    /// Returns when a copy was sent to `receiver`; `None` if that is forgotten.
    pub fn departure(&self, receiver: ReceiverId, copy: CopyId) -> Result<Option<SharedInstant>, NeverSent> {
        self.pairs.get(receiver).ok_or(NeverSent)?.departure(copy)
    }

    /// Books a receipt: the receiver reports when a copy arrived. Returns whether the report
    /// changed the ledger: duplicates, copies never sent or forgotten, and arrivals before
    /// departure do not.
    pub fn on_receipt(&mut self, receiver: ReceiverId, copy: CopyId, received_at: SharedInstant) -> bool {
        let Some(pair) = self.pairs.get_mut(receiver) else { return false };
        pair.arrive(&self.exports, copy, received_at, &mut self.cache)
    }

    /// Handles a report that the receiver has acknowledged everything that it received before
    /// `until`: other copies had not arrived by then. A copy under way for longer than `patience`
    /// counts as lost. Returns whether the newest copy sent to the receiver is lost, so that it
    /// follows an older DR vector than assumed.
    pub fn on_complete(&mut self, receiver: ReceiverId, until: SharedInstant, patience: Span) -> bool {
        let pair = self.pairs.get_mut(receiver);
        pair.is_some_and(|pair| pair.complete(&self.exports, until, patience, &mut self.cache))
    }

    /// Books a departure as [`on_departed`](Self::on_departed) does, with an id above all before to
    /// this receiver, whose page is probably at `near`. Returns when the copy is expected to arrive.
    #[inline]
    pub(crate) fn book_departure(
        &mut self,
        copy: CopyId,
        (receiver, near): (ReceiverId, usize),
        generated_at: SharedInstant,
        at: SharedInstant,
        delay: Span,
    ) -> Option<SharedInstant> {
        let index = self.exports.index_of(generated_at)?;
        let pair = self.pairs.get_near_mut(receiver, near)?;
        let expected = at + delay;
        pair.depart(&self.exports, copy, index, at, expected, &mut self.cache);
        Some(expected.max(at))
    }

    /// Books a receipt as [`on_receipt`](Self::on_receipt) does.
    #[inline]
    pub(crate) fn book_arrival(
        &mut self,
        copy: CopyId,
        (receiver, near): (ReceiverId, usize),
        received_at: SharedInstant,
    ) -> bool {
        let pair = self.pairs.get_near_mut(receiver, near);
        pair.is_some_and(|pair| pair.arrive(&self.exports, copy, received_at, &mut self.cache))
    }

    /// A copy travels on a reliable stream: reports about datagrams say nothing about its arrival.
    pub(crate) fn await_confirmation(&mut self, copy: CopyId, receiver: ReceiverId) {
        if let Some(pair) = self.pairs.get_mut(receiver) {
            pair.await_confirmation(copy);
        }
    }

    /// A copy has arrived, but when is unknown: the expected arrival stands, and is counted as a
    /// guess.
    pub(crate) fn give_up_on(&mut self, copy: CopyId, receiver: ReceiverId) {
        if let Some(pair) = self.pairs.get_mut(receiver) {
            pair.give_up_on(copy);
        }
    }

    /// When an open copy is expected to arrive, long ago if it counts as lost. `None` if its arrival
    /// is known or can no longer change the books.
    pub(crate) fn expected(&self, copy: CopyId, receiver: ReceiverId) -> Option<SharedInstant> {
        self.pairs.get(receiver)?.expected(copy)
    }

    /// Advances the books to `now`.
    pub fn advance(&mut self, now: SharedInstant) {
        for pair in self.pairs.values_mut() {
            pair.advance(&self.exports, now, &mut self.cache);
        }
    }

    /// Returns a receiver's errors and copies, as of the last advance. `None` if it has no page.
    pub fn standing(&self, receiver: ReceiverId) -> Option<Standing> {
        Some(self.pairs.get(receiver)?.standing(&self.exports))
    }

    /// The default weight of a claim for a receiver, whose page is probably at `near`; `None` if it
    /// has no page.
    #[inline]
    pub(crate) fn claim_weight(&self, (receiver, near): (ReceiverId, usize)) -> Option<f64> {
        Some(self.pairs.get_near(receiver, near)?.claim_weight())
    }

    /// How many receivers have a page.
    pub(crate) fn page_count(&self) -> usize {
        self.pairs.len()
    }

    /// Returns the standing of every receiver, in order.
    pub fn standings(&self) -> impl Iterator<Item = (ReceiverId, Standing)> + '_ {
        self.pairs.iter().map(|(receiver, pair)| (receiver, pair.standing(&self.exports)))
    }

    /// Returns the page of every receiver, in order.
    pub fn pages(&self) -> impl Iterator<Item = ReceiverPage<'_, V>> + '_ {
        self.pairs.iter().map(|(receiver, pair)| ReceiverPage::new(receiver, pair, &self.exports))
    }

    /// Returns the part of a receiver's accumulated error before its last acknowledged arrival (the
    /// papers' CEE; the rest is their EEE). Integrates over the copies in flight.
    pub fn settled(&self, receiver: ReceiverId) -> Option<f64> {
        Some(self.pairs.get(receiver)?.settled(&self.exports))
    }

    /// Returns when the last acknowledged copy arrived at a receiver; `None` before the first.
    pub fn last_acknowledged(&self, receiver: ReceiverId) -> Option<SharedInstant> {
        self.pairs.get(receiver)?.last_acknowledged()
    }

    /// Returns whether every copy's arrival at this receiver is known: its error is no estimate.
    pub fn is_settled(&self, receiver: ReceiverId) -> bool {
        self.pairs.get(receiver).is_some_and(Pair::is_settled)
    }

    /// Returns whether a receiver has acknowledged a DR vector of this life that is within
    /// `tolerance` of the exported path at `at`.
    pub fn has_confirmed(&self, receiver: ReceiverId, tolerance: f64, at: SharedInstant) -> bool {
        self.pairs.get(receiver).is_some_and(|pair| pair.has_confirmed(&self.exports, tolerance, at))
    }

    /// Whether a receiver has not acknowledged the newest DR vector. False if it has no page.
    pub(crate) fn awaits_newest(&self, receiver: ReceiverId) -> bool {
        self.pairs.get(receiver).is_some_and(|pair| !pair.has_confirmed_newest(&self.exports))
    }

    /// Returns when the replicas that follow the newest DR vector freeze.
    pub fn newest_freezes_at(&self) -> Option<SharedInstant> {
        self.exports.newest_freezes_at()
    }

    /// Whether the newest DR vector is so old that all replicas have frozen on it.
    pub(crate) fn is_outdated(&self, now: SharedInstant) -> bool {
        self.newest_freezes_at().is_some_and(|freezes_at| now > freezes_at)
    }

    /// Returns when a receiver's replica freezes if nothing more is sent and all copies in flight
    /// arrive.
    pub fn freezes_at(&self, receiver: ReceiverId) -> Option<SharedInstant> {
        Some(self.exports.freezes_at(self.pairs.get(receiver)?.told(&self.exports)?))
    }

    /// Returns a receiver's distance to the exported path at `at`, if nothing more is sent and all
    /// copies in flight arrive. Infinite if the receiver does not know this life.
    pub fn distance_if_nothing_sent(&self, receiver: ReceiverId, at: SharedInstant) -> f64 {
        let told = self.pairs.get(receiver).and_then(|pair| pair.told(&self.exports));
        told.map_or(f64::INFINITY, |told| self.exports.distance(told, at))
    }

    /// Advances the books to `now` and visits all receivers in order, each with the growth of its
    /// accumulated error since the last visit and its standing.
    pub fn advance_and_visit(&mut self, now: SharedInstant, mut tell: impl FnMut(ReceiverId, f64, Standing)) {
        let exports = &self.exports;
        for (receiver, pair) in self.pairs.iter_mut() {
            pair.advance(exports, now, &mut self.cache);
            tell(receiver, pair.drain_growth(), pair.standing(exports));
        }
    }

    /// Like [`on_generated`](Self::on_generated), then advances the books to `now` and tells the
    /// growth of every receiver's accumulated error since the last visit, in order.
    pub(crate) fn on_generated_and_grow(
        &mut self,
        vector: &DrVector<V>,
        now: SharedInstant,
        mut tell: impl FnMut(ReceiverId, f64),
    ) {
        if now != vector.generated_at {
            self.on_generated(vector);
        }
        for (receiver, pair) in self.pairs.iter_mut() {
            pair.advance(&self.exports, now, &mut self.cache);
            tell(receiver, pair.drain_growth());
        }
        if now == vector.generated_at {
            self.exports.push(vector);
            self.cache.forget_from(vector.generated_at);
        }
    }

    /// Returns the exported path.
    pub fn exported(&self) -> Option<&Path<V>> {
        self.exports.newest().map(|exported| &exported.path)
    }

    /// Returns the path by the newest DR vector: the exported path, until it freezes.
    pub fn placed_by_newest(&self) -> Option<&Path<V>> {
        self.exports.newest().map(|exported| &exported.placed)
    }

    /// Returns the pieces of the exported path in this life, the newest first, each with its start:
    /// back to the piece that was valid at `from`, as far as they are remembered.
    pub fn exported_back_to(
        &self,
        from: SharedInstant,
    ) -> impl Iterator<Item = (SharedInstant, &Path<V>)> + '_ {
        self.exports.back_to(from).map(|exported| (exported.since, &exported.path))
    }

    /// Returns the path that a receiver places at `t`, now or later, if copies arrive as expected.
    pub fn placed_at(&self, receiver: ReceiverId, t: SharedInstant) -> Option<&Path<V>> {
        self.pairs.get(receiver)?.placed_at(&self.exports, t)
    }

    /// Returns the error that a receiver accumulates from `from` to `to`, now or in the future, if
    /// nothing more is sent. Zero where the receiver does not know the entity or this life.
    pub fn growth(&self, receiver: ReceiverId, from: SharedInstant, to: SharedInstant) -> f64 {
        self.pairs.get(receiver).map_or(0.0, |pair| pair.integrate(&self.exports, from, to))
    }

    /// Returns the first microsecond at which [`growth`](Self::growth) since `from` is `amount` or
    /// more; `None` if that is after `until`, as far as is known now.
    pub fn when_grown(
        &self,
        receiver: ReceiverId,
        from: SharedInstant,
        amount: f64,
        until: SharedInstant,
    ) -> Option<SharedInstant> {
        self.pairs.get(receiver)?.when_grown(&self.exports, from, amount, until)
    }

    /// Returns when a receiver next follows another DR vector, as far as is known.
    pub fn next_arrival(&self, receiver: ReceiverId, after: SharedInstant) -> Option<SharedInstant> {
        self.pairs.get(receiver)?.next_arrival(after)
    }
}
