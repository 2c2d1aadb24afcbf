//! A ledger equals the error computed from all arrivals, or it reports that it is not settled.
//!
//! Compared, for each object and receiver: the ledger's accumulated error at its last update, with
//! the integral of the distance between the exported path and the path of the newest DR vector that
//! has really arrived, frozen after the horizon; from the first arrival on, and only while both are
//! of the same life.
//!
//! The exported path changes at a DR vector's generation time; or at the ledger's time, if the
//! ledger was already beyond that when the server received the vector. The ledger corrects
//! arrivals, but not the part of a remote owner's path that it has already booked.
//!
//! Tolerance: receivers report arrivals by their own clock. If every arrival is booked
//! at most δ off, the integral is off by δ times the distance between what was followed before and
//! after, summed over arrivals; twice that is allowed, because arrivals may change places. δ is how
//! wrong the receiver's and the owner's clocks really were at most, and the grid of receipts.
//! Corrections of the past see generation times, not when the server heard: both what they
//! take back and what they put in its place are measured against the later path, and each may be
//! off by the distance between the two exported paths, for the time between the two. The rest of
//! the tolerance is 2 % and a hundredth of a unit-second.
//!
//! Not compared: clients with false receipts; receivers and owners whose clock was ever off by more
//! than 45 ms; objects that were ever stamped with a future time; and servers that check reports
//! (`ReceiptTrust`), which book arrivals differently on purpose.

use std::collections::BTreeMap;

use fairpath::DrVector;
use fairpath::number::{EntityId, ReceiverId};
use fairpath::schedule::Removed;
use fairpath::time::{SharedInstant, Span};
use fairpath::vector::{Vec2, Vector};

use super::{Findings, Law};

/// The true error of every receiver, computed from all arrivals.
#[derive(Debug)]
pub(crate) struct LedgerCheck {
    horizon: Span,
    objects: BTreeMap<EntityId, ExportedPath>,
    pages: BTreeMap<(EntityId, ReceiverId), FollowedPath>,
}

/// The exported path of an object, piece by piece.
#[derive(Debug, Default)]
struct ExportedPath {
    pieces: Vec<(SharedInstant, DrVector<Vec2>)>,
    /// The sum over pieces of how much earlier the ledger sees one begin, times the distance.
    late: f64,
    booked_until: SharedInstant,
    /// Whether a DR vector ever had a future time stamp: then the ledger is ahead of time too.
    is_from_the_future: bool,
}

/// The DR vectors that one receiver has really followed.
#[derive(Debug, Default)]
struct FollowedPath {
    followed: Vec<(SharedInstant, DrVector<Vec2>)>,
    integral: f64,
    /// The sum of the distances between the paths before and after each arrival.
    jumps: f64,
    /// The value of `late` when the receiver was added.
    late_before: f64,
    until: Option<SharedInstant>,
    /// Since when a settled ledger has been off.
    off_since: Option<SharedInstant>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct LedgerReading {
    pub(crate) accumulated: f64,
    pub(crate) is_settled: bool,
}

impl LedgerCheck {
    /// The integration step: accurate to a ten-thousandth at 25 units per second and 45° a second.
    const STEP: Span = Span::from_millis(4);
    /// By how much an owner's clock may be ahead: the dispatcher's tolerance.
    const AHEAD_MAX: Span = Span::from_millis(50);
    /// Receipts are rounded to this, twice.
    const RECEIPT_GRID: Span = Span::from_millis(2);

    pub(crate) fn new(horizon: Span) -> Self {
        Self { horizon, objects: BTreeMap::new(), pages: BTreeMap::new() }
    }

    /// How long a settled ledger may be off: an overdue copy counts as lost until its receipt.
    const LEARNS_WITHIN: Span = Span::from_secs(3);

    pub(crate) fn on_generated(
        &mut self,
        vector: &DrVector<Vec2>,
        now: SharedInstant,
        receivers: &[ReceiverId],
    ) {
        let exports = self.objects.entry(vector.entity).or_default();
        let begins = vector.generated_at.max(exports.booked_until);
        if let Some((_, last)) = exports.pieces.last() {
            let apart = last.position_at(begins).distance(vector.position_at(begins));
            let early = (begins - vector.generated_at).as_secs_f64();
            exports.late += early * (apart + 25.0 * early);
        }
        exports.is_from_the_future |= vector.generated_at > now + Self::AHEAD_MAX;
        exports.pieces.push((begins, *vector));
        exports.booked_until = exports.booked_until.max(now).max(vector.generated_at);
        for receiver in receivers {
            let late_before = exports.late;
            let page = || FollowedPath { late_before, ..FollowedPath::default() };
            self.pages.entry((vector.entity, *receiver)).or_insert_with(page);
        }
    }

    pub(crate) fn on_looked(&mut self, entity: EntityId, now: SharedInstant) {
        let exports = self.objects.entry(entity).or_default();
        exports.booked_until = exports.booked_until.max(now);
    }

    pub(crate) fn on_joined(&mut self, entity: EntityId, receiver: ReceiverId) {
        let late_before = self.objects.get(&entity).map_or(0.0, |exports| exports.late);
        self.pages.insert((entity, receiver), FollowedPath { late_before, ..FollowedPath::default() });
    }

    pub(crate) fn on_removed(&mut self, left: Removed) {
        if let Removed::Entity(gone) = left {
            self.objects.remove(&gone);
        }
        self.pages.retain(|(entity, receiver), _| match left {
            Removed::Entity(gone) => *entity != gone,
            Removed::Receiver(gone) => *receiver != gone,
            Removed::Pair(it, to) => (*entity, *receiver) != (it, to),
        });
    }

    pub(crate) fn on_heard(&mut self, receiver: ReceiverId, vector: &DrVector<Vec2>, now: SharedInstant) {
        // Datagrams of an earlier run of the server may still be in flight.
        let exported = self.objects.get(&vector.entity);
        let is_known = exported.is_some_and(|it| it.pieces.iter().rev().any(|(_, piece)| piece == vector));
        let Some(page) = self.pages.get_mut(&(vector.entity, receiver)).filter(|_| is_known) else { return };
        let before = page.followed.last().map(|(_, before)| *before);
        if before.is_some_and(|before| before.generated_at >= vector.generated_at) {
            return;
        }
        if let Some(before) = before.filter(|before| before.shares_life(vector)) {
            let frozen = |vector: &DrVector<Vec2>| placed(vector, now, self.horizon);
            page.jumps += frozen(&before).distance(frozen(vector));
        }
        page.followed.push((now, *vector));
    }

    pub(crate) fn on_restarted(&mut self) {
        *self = Self::new(self.horizon);
    }

    /// Compares the ledger's values of a pair with the truth, for a clock error of at most
    /// `clock_error`. Returns the truth and the tolerance if the ledger is settled.
    pub(crate) fn compare(
        &mut self,
        (entity, receiver): (EntityId, ReceiverId),
        said: LedgerReading,
        clock_error: Span,
        now: SharedInstant,
        findings: &mut Findings,
    ) -> Option<(f64, f64)> {
        let exports = self.objects.get(&entity)?;
        let page = self.pages.get_mut(&(entity, receiver))?;
        page.integrate(exports, self.horizon);
        if !said.is_settled || exports.is_from_the_future {
            return None;
        }
        let delta = (clock_error + Self::RECEIPT_GRID).as_secs_f64();
        let late = exports.late - page.late_before;
        let arrivals = page.followed.len() as f64;
        let tolerance =
            2.0 * delta * (page.jumps + 25.0 * delta * arrivals) + 2.0 * late + 0.02 * page.integral + 0.01;
        let truth = page.integral;
        let off = said.accumulated - truth;
        if off.abs() <= tolerance {
            page.off_since = None;
        }
        let off_since = if off.abs() <= tolerance { now } else { *page.off_since.get_or_insert(now) };
        findings.check(Law::Ledger, now, now - off_since < Self::LEARNS_WITHIN, || {
            format!(
                "the ledger has had {:.3} for object {} and receiver {} for seconds, the truth is {truth:.3} ± {tolerance:.3}",
                said.accumulated, entity.0, receiver.0
            )
        });
        Some((truth, tolerance))
    }
}

impl FollowedPath {
    /// Integrates up to the ledger's time. Arrivals are known when they happen: the past is final.
    fn integrate(&mut self, exports: &ExportedPath, horizon: Span) {
        let Some((first, _)) = self.followed.first() else { return };
        let (mut at, until) = (self.until.unwrap_or(*first), exports.booked_until);
        while at < until {
            let (followed, next_arrival) = in_force(&self.followed, at);
            let (exported, next_export) = in_force(&exports.pieces, at);
            let next = [next_arrival, next_export].into_iter().flatten().fold(until, SharedInstant::min);
            if let (Some(followed), Some(exported)) = (followed, exported)
                && followed.shares_life(exported)
            {
                let is_same =
                    followed.generated_at == exported.generated_at && next <= followed.generated_at + horizon;
                if !is_same {
                    self.integral += area(exported, followed, (at, next), horizon);
                }
            }
            at = next;
        }
        self.until = Some(at.max(self.until.unwrap_or(at)));
    }
}

/// Returns the piece in force at `at`, and when the next one begins.
fn in_force(
    pieces: &[(SharedInstant, DrVector<Vec2>)],
    at: SharedInstant,
) -> (Option<&DrVector<Vec2>>, Option<SharedInstant>) {
    let begun = pieces.partition_point(|(begins, _)| *begins <= at);
    let newest = begun.checked_sub(1).map(|last| &pieces[last].1);
    (newest, pieces.get(begun).map(|(begins, _)| *begins))
}

/// Returns the distance between two paths, integrated by the midpoint rule.
fn area(
    exported: &DrVector<Vec2>,
    followed: &DrVector<Vec2>,
    (from, to): (SharedInstant, SharedInstant),
    horizon: Span,
) -> f64 {
    let secs = (to - from).as_secs_f64();
    let count = (secs / LedgerCheck::STEP.as_secs_f64()).ceil().max(1.0);
    let step = secs / count;
    let distance = |index: u32| {
        let t = from + Span::from_secs_f64((f64::from(index) + 0.5) * step);
        exported.position_at(t).distance(placed(followed, t, horizon))
    };
    step * (0..count as u32).map(distance).sum::<f64>()
}

fn placed(vector: &DrVector<Vec2>, t: SharedInstant, horizon: Span) -> Vec2 {
    vector.position_at(t.min(vector.generated_at + horizon))
}
