//! Why copies are sent. Schedulers are plug-ins, so a wrapper around the real one sees its claims
//! and every copy that leaves.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use fairpath::number::{EntityId, ReceiverId};
use fairpath::random::Random;
use fairpath::schedule::{Claims, DecisionContext, Removed, Scheduler, WaitingCopy};
use fairpath::time::SharedInstant;
use fairpath::vector::Vec2;

/// Why a copy of a DR vector was sent to a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CopyReason {
    /// The receiver's first copy about the object.
    Birth,
    /// The scheduler claimed it.
    Claim,
    /// The dispatcher or the session sent a newer DR vector that the scheduler did not claim.
    Liveness,
    /// The receiver was sent the same DR vector before.
    Repeat,
}

impl CopyReason {
    pub const ALL: [Self; 4] = [Self::Birth, Self::Claim, Self::Liveness, Self::Repeat];
}

/// Copies by object and reason.
#[derive(Clone, Debug, Default)]
pub struct CopyCounts(BTreeMap<(EntityId, CopyReason), u64>);

impl CopyCounts {
    pub fn of(&self, reason: CopyReason) -> u64 {
        self.0.iter().filter(|((_, why), _)| *why == reason).map(|(_, count)| count).sum()
    }

    /// Returns the counts of these objects only.
    #[must_use]
    pub(super) fn only(&self, counts: impl Fn(EntityId) -> bool) -> Self {
        let counted = self.0.iter().filter(|((object, _), _)| counts(*object));
        Self(counted.map(|(key, count)| (*key, *count)).collect())
    }
}

/// The counts of a running game, shared between the scheduler and the observer.
#[derive(Clone, Debug, Default)]
pub(super) struct SharedCounts(Arc<Mutex<CopyCounts>>);

impl SharedCounts {
    /// Returns the counts so far, and begins anew.
    pub(super) fn take(&self) -> CopyCounts {
        std::mem::take(&mut *self.0.lock().expect("no thread panics while it holds the lock"))
    }

    fn add(&self, entity: EntityId, reason: CopyReason) {
        let mut counts = self.0.lock().expect("no thread panics while it holds the lock");
        *counts.0.entry((entity, reason)).or_default() += 1;
    }
}

/// Counts the copies of another scheduler.
#[derive(Debug)]
pub(super) struct CountingScheduler {
    inner: Box<dyn Scheduler<Vec2>>,
    counts: SharedCounts,
    /// The generation time of each object's newest DR vector.
    newest: BTreeMap<EntityId, SharedInstant>,
    /// The DR vector that was last sent, by object and receiver.
    sent: BTreeMap<(EntityId, ReceiverId), SharedInstant>,
    claimed: BTreeSet<(EntityId, ReceiverId)>,
}

impl CountingScheduler {
    pub(super) fn new(inner: Box<dyn Scheduler<Vec2>>, counts: SharedCounts) -> Self {
        let (newest, sent, claimed) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
        Self { inner, counts, newest, sent, claimed }
    }

    fn note_claims(&mut self, context: &DecisionContext<'_, Vec2>, claims: &Claims) {
        let receivers = context.candidates.iter().map(|candidate| candidate.receiver);
        let waiting = receivers.filter(|receiver| claims.is_waiting(context.entity, *receiver));
        self.claimed.extend(waiting.map(|receiver| (context.entity, receiver)));
    }

    fn forget(&mut self, pairs: &[(EntityId, ReceiverId)]) {
        for pair in pairs {
            self.sent.remove(pair);
            self.claimed.remove(pair);
        }
    }

    fn forget_where(&mut self, is_gone: impl Fn(&(EntityId, ReceiverId)) -> bool) {
        self.sent.retain(|pair, _| !is_gone(pair));
        self.claimed.retain(|pair| !is_gone(pair));
    }

    fn reason(&mut self, pair: (EntityId, ReceiverId)) -> CopyReason {
        let newest = self.newest.get(&pair.0).copied().unwrap_or(SharedInstant::ZERO);
        let is_claimed = self.claimed.remove(&pair);
        match self.sent.insert(pair, newest) {
            None => CopyReason::Birth,
            Some(before) if before == newest => CopyReason::Repeat,
            Some(_) if is_claimed => CopyReason::Claim,
            Some(_) => CopyReason::Liveness,
        }
    }
}

impl Scheduler<Vec2> for CountingScheduler {
    fn on_trigger(&mut self, context: &DecisionContext<'_, Vec2>, random: &mut Random, claims: &mut Claims) {
        self.newest.insert(context.entity, context.vector.generated_at);
        self.inner.on_trigger(context, random, claims);
        self.note_claims(context, claims);
    }

    fn on_deadline(&mut self, context: &DecisionContext<'_, Vec2>, random: &mut Random, claims: &mut Claims) {
        self.inner.on_deadline(context, random, claims);
        self.note_claims(context, claims);
    }

    fn poll_deadline(&self) -> Option<SharedInstant> {
        self.inner.poll_deadline()
    }

    fn on_departed(&mut self, entity: EntityId, receiver: ReceiverId, at: SharedInstant, cost: f64) {
        let reason = self.reason((entity, receiver));
        self.counts.add(entity, reason);
        self.inner.on_departed(entity, receiver, at, cost);
    }

    fn rank(&self, copy: &WaitingCopy<'_, Vec2>) -> f64 {
        self.inner.rank(copy)
    }

    fn on_joined(&mut self, entity: EntityId, receiver: ReceiverId, now: SharedInstant) {
        self.inner.on_joined(entity, receiver, now);
    }

    fn on_removed(&mut self, removed: Removed) {
        match removed {
            Removed::Pair(about, to) => self.forget(&[(about, to)]),
            Removed::Receiver(gone) => self.forget_where(|(_, receiver)| *receiver == gone),
            Removed::Entity(gone) => {
                self.newest.remove(&gone);
                let of_entity = (gone, ReceiverId(0))..=(gone, ReceiverId(u32::MAX));
                let sent: Vec<_> = self.sent.range(of_entity.clone()).map(|(pair, _)| *pair).collect();
                let claimed: Vec<_> = self.claimed.range(of_entity).copied().collect();
                self.forget(&sent);
                self.forget(&claimed);
            }
        }
        self.inner.on_removed(removed);
    }
}
