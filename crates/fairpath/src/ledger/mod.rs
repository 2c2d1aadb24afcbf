//! What the sender knows of every receiver's error about one entity.
//!
//! The exported path is what the newest DR vector *generated* says; the placed path of a receiver
//! follows the newest one *received*. The distance between the two, integrated over time, is the
//! receiver's accumulated error: what fairness balances. The ledger books when DR vectors were
//! generated, when copies of them departed and, as receipts come in, when those arrived. What it
//! does not know yet it estimates; what it will never know it counts as unsettled.
//!
//! An event costs the same however long the game has run: the books are kept up to the last event,
//! and a receipt corrects only the interval between when the copy was believed to arrive and when
//! it did.

mod error_cache;
mod exports;
mod pair;
mod receiver_page;

pub use pair::{CopyId, NeverSent, Standing};
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
/// 10 s: many times the longest delay we promise to serve, so a receipt that is later was lost with
/// all its repetitions.
pub const LATENESS_MAX: Span = Span::from_secs(10);

/// How long after its departure a copy whose fate is open is remembered: the receipt's lateness,
/// and five seconds for the copy itself to be under way.
const REMEMBERED: Span = Span::from_secs(15);

/// How long after its end a piece of the exported path is forgotten: twice as long as anything that
/// was told during it can be open, so that whoever still follows it has long kept it. Shorter, and
/// late receipts are booked in part; longer, and an entity that turns ten times a second remembers
/// 7 kB more for each second.
const FORGOTTEN_AFTER: Span = Span::from_secs(30);
const _: () = assert!(FORGOTTEN_AFTER.as_micros() >= 2 * REMEMBERED.as_micros());

/// How many DR vectors of the past, and how many copies for each receiver, are remembered: 100 a
/// second.
pub const REMEMBERED_MAX: usize = 1500;
const _: () = assert!(REMEMBERED_MAX as i64 * 10_000 >= REMEMBERED.as_micros());

/// The books of one entity: one page for each receiver that is told of it.
///
/// Tell it everything as it happens: [`on_generated`](Self::on_generated) for every DR vector cut,
/// [`on_departed`](Self::on_departed) for every copy that leaves, [`on_receipt`](Self::on_receipt)
/// and [`on_complete`](Self::on_complete) for what receivers report. Instants may come late, but
/// `now` may not run backwards.
#[derive(Clone, Debug)]
pub struct Ledger<V: Planar> {
    exports: Exports<V>,
    pairs: Directory<Pair<V>>,
    cache: ErrorCache<V>,
    /// What the next copy is called. Counted over all pages: a receipt that is late is not for the
    /// page that was opened in between.
    next_copy: CopyId,
}

impl<V: Planar> Ledger<V> {
    /// Empty books of an entity whose replicas freeze after `horizon`.
    pub fn new(horizon: Span) -> Self {
        let next_copy = CopyId::default();
        Self {
            exports: Exports::new(horizon),
            pairs: Directory::default(),
            cache: ErrorCache::default(),
            next_copy,
        }
    }

    /// Calls the first copy this, for who has had books of this entity before.
    pub(crate) fn with_next_copy(mut self, next_copy: CopyId) -> Self {
        self.next_copy = next_copy;
        self
    }

    /// Opens a page. A receiver that has one already keeps it.
    pub fn join(&mut self, receiver: ReceiverId, now: SharedInstant) {
        let next_copy = self.next_copy;
        self.pairs.insert_if_new(receiver, || Pair::new(now, next_copy));
    }

    /// Closes a page and forgets it.
    pub fn leave(&mut self, receiver: ReceiverId) {
        self.pairs.remove(receiver);
    }

    /// Whether there is a page for this receiver.
    pub fn has_page(&self, receiver: ReceiverId) -> bool {
        self.pairs.contains(receiver)
    }

    /// How many copies for this receiver are remembered, because their fate is open or can still
    /// change the books.
    pub fn remembered(&self, receiver: ReceiverId) -> usize {
        self.pairs.get(receiver).map_or(0, Pair::remembered)
    }

    /// Whose pages there are, in order.
    pub fn receivers(&self) -> impl Iterator<Item = ReceiverId> + '_ {
        self.pairs.receivers()
    }

    /// A DR vector was cut: the exported path is another one from its generation time on.
    pub fn on_generated(&mut self, vector: &DrVector<V>) {
        for pair in self.pairs.values_mut() {
            pair.advance(&self.exports, vector.generated_at, &mut self.cache);
        }
        self.exports.push(vector);
        self.cache.forget_from(vector.generated_at);
    }

    /// The same, and tells of everybody as [`advance_and_visit`](Self::advance_and_visit) does, in
    /// one walk where there is no time between the cut and `now`.
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
        // Nobody was told of it yet.
        self.advance_and_visit(now, |receiver, growth, standing| {
            tell(receiver, growth, Standing { has_newest: false, ..standing });
        });
        self.exports.push(vector);
        self.cache.forget_from(vector.generated_at);
    }

    /// A copy of `vector` left for `receiver`, and is expected to take `delay`; no time at all, if
    /// nothing is known of the link yet. Answers with the name for its receipt; `None` if that
    /// receiver has no page, or the vector is not one that was generated lately.
    pub fn on_departed(
        &mut self,
        receiver: ReceiverId,
        vector: &DrVector<V>,
        at: SharedInstant,
        delay: Option<Span>,
    ) -> Option<CopyId> {
        let index = self.exports.index_of(vector)?;
        let pair = self.pairs.get_mut(receiver)?;
        let copy = self.next_copy;
        self.next_copy = copy.next();
        pair.depart(&self.exports, copy, index, at, at + delay.unwrap_or(Span::ZERO));
        Some(copy)
    }

    /// When a copy left for `receiver`; nothing if that is forgotten.
    pub fn departure(&self, receiver: ReceiverId, copy: CopyId) -> Result<Option<SharedInstant>, NeverSent> {
        self.pairs.get(receiver).ok_or(NeverSent)?.departure(copy)
    }

    /// The receiver says when a copy arrived. Says whether that was news: duplicates, copies never
    /// sent or forgotten, and arrivals before departure are not.
    pub fn on_receipt(&mut self, receiver: ReceiverId, copy: CopyId, received_at: SharedInstant) -> bool {
        let Some(pair) = self.pairs.get_mut(receiver) else { return false };
        pair.arrive(&self.exports, copy, received_at)
    }

    /// The receiver has reported everything it received before `until`: what is unreported had not
    /// arrived by then. `patience` is how long a copy may be under way before it is taken for
    /// lost. Says whether that leaves the receiver with something older than was thought: the
    /// newest that it was told of is lost.
    pub fn on_complete(&mut self, receiver: ReceiverId, until: SharedInstant, patience: Span) -> bool {
        self.pairs.get_mut(receiver).is_some_and(|pair| pair.complete(&self.exports, until, patience))
    }

    /// Whether there are copies to this receiver of which more may be heard.
    pub(crate) fn has_open(&self, receiver: ReceiverId) -> bool {
        self.pairs.get(receiver).is_some_and(Pair::has_open)
    }

    /// Brings the books up to `now`.
    pub fn advance(&mut self, now: SharedInstant) {
        for pair in self.pairs.values_mut() {
            pair.advance(&self.exports, now, &mut self.cache);
        }
    }

    /// How a receiver stands, as of the last instant the books were brought up to. `None` if it has
    /// no page.
    pub fn standing(&self, receiver: ReceiverId) -> Option<Standing> {
        Some(self.pairs.get(receiver)?.standing(&self.exports))
    }

    /// How every receiver stands, in order.
    pub fn standings(&self) -> impl Iterator<Item = (ReceiverId, Standing)> + '_ {
        self.pairs.iter().map(|(receiver, pair)| (receiver, pair.standing(&self.exports)))
    }

    /// Every receiver's page, in order.
    pub fn pages(&self) -> impl Iterator<Item = ReceiverPage<'_, V>> + '_ {
        self.pairs.iter().map(|(receiver, pair)| ReceiverPage::new(receiver, pair, &self.exports))
    }

    /// The part of a receiver's accumulated error that lies before its last acknowledged arrival
    /// (the papers' CEE; the rest is their EEE). Costs an integral over what is in flight.
    pub fn settled(&self, receiver: ReceiverId) -> Option<f64> {
        Some(self.pairs.get(receiver)?.settled(&self.exports))
    }

    /// Whether the fate of every copy for this receiver is known: then its accumulated error is no
    /// estimate.
    pub fn is_settled(&self, receiver: ReceiverId) -> bool {
        self.pairs.get(receiver).is_some_and(Pair::is_settled)
    }

    /// Whether a receiver has confirmed something that puts the entity within `tolerance` of the
    /// exported path at `at`, and of this life.
    pub fn has_confirmed(&self, receiver: ReceiverId, tolerance: f64, at: SharedInstant) -> bool {
        self.pairs.get(receiver).is_some_and(|pair| pair.has_confirmed(&self.exports, tolerance, at))
    }

    /// When the replicas of those will freeze who follow the newest DR vector.
    pub fn newest_freezes_at(&self) -> Option<SharedInstant> {
        self.exports.newest().map(|newest| self.exports.freezes_at(newest))
    }

    /// Whether the newest DR vector is so old that all replicas have frozen on it.
    pub(crate) fn is_outdated(&self, now: SharedInstant) -> bool {
        self.newest_freezes_at().is_some_and(|freezes_at| now > freezes_at)
    }

    /// When a receiver's replica will freeze, if nothing more is sent to it and what is under way
    /// arrives.
    pub fn freezes_at(&self, receiver: ReceiverId) -> Option<SharedInstant> {
        Some(self.exports.freezes_at(self.pairs.get(receiver)?.told(&self.exports)?))
    }

    /// How far off a receiver will be at `at`, if nothing more is sent to it and what is under way
    /// arrives; infinitely, if the entity does not exist for it or is in another life.
    pub fn distance_if_nothing_sent(&self, receiver: ReceiverId, at: SharedInstant) -> f64 {
        let told = self.pairs.get(receiver).and_then(|pair| pair.told(&self.exports));
        told.map_or(f64::INFINITY, |told| self.exports.distance(told, at))
    }

    /// Brings the books up to `now` and tells of everybody, in order: what has been added to their
    /// accumulated error since the last time this was told, and how they stand.
    pub fn advance_and_visit(&mut self, now: SharedInstant, mut tell: impl FnMut(ReceiverId, f64, Standing)) {
        for (receiver, pair) in self.pairs.iter_mut() {
            pair.advance(&self.exports, now, &mut self.cache);
            let growth = pair.drain_growth();
            tell(receiver, growth, pair.standing(&self.exports));
        }
    }

    /// The exported path.
    pub fn exported(&self) -> Option<&Path<V>> {
        self.exports.newest().map(|exported| &exported.path)
    }

    /// What a receiver places once it has the newest DR vector: the exported path, until it
    /// freezes.
    pub fn placed_by_newest(&self) -> Option<&Path<V>> {
        self.exports.newest().map(|exported| &exported.placed)
    }

    /// The pieces of the exported path in this life, the newest first, each with the instant it
    /// begins: back to the one that was followed at `from`, as far as they are remembered.
    pub fn exported_back_to(
        &self,
        from: SharedInstant,
    ) -> impl Iterator<Item = (SharedInstant, &Path<V>)> + '_ {
        self.exports.back_to(from).map(|exported| (exported.since, &exported.path))
    }

    /// What a receiver is believed to place at `t`, now or ahead, if copies in flight arrive when
    /// expected.
    pub fn placed_at(&self, receiver: ReceiverId, t: SharedInstant) -> Option<&Path<V>> {
        self.pairs.get(receiver)?.placed_at(&self.exports, t)
    }

    /// The error that a receiver is expected to gather from `from` to `to`, now or ahead, if
    /// nothing more is sent to it. None where the entity is not there for it, or in another
    /// life.
    pub fn growth(&self, receiver: ReceiverId, from: SharedInstant, to: SharedInstant) -> f64 {
        self.pairs.get(receiver).map_or(0.0, |pair| pair.integrate(&self.exports, from, to))
    }

    /// The first microsecond at which [`growth`](Self::growth) since `from` is `amount` or more;
    /// `None` if that is after `until`, as far as anybody can tell from here.
    pub fn when_grown(
        &self,
        receiver: ReceiverId,
        from: SharedInstant,
        amount: f64,
        until: SharedInstant,
    ) -> Option<SharedInstant> {
        self.pairs.get(receiver)?.when_grown(&self.exports, from, amount, until)
    }

    /// When a receiver will next follow something else, for all that is known.
    pub fn next_arrival(&self, receiver: ReceiverId, after: SharedInstant) -> Option<SharedInstant> {
        self.pairs.get(receiver)?.next_arrival(after)
    }
}
