use std::cmp::{Ordering, Reverse};

use super::Scene;
use super::in_order::InOrder;
use crate::dr_vector::DrVector;
use crate::number::{EntityId, ReceiverId};
use crate::time::SharedInstant;
use crate::vector::Planar;

/// "Tell this receiver of this entity, then, and it is this important."
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Claim<V: Planar> {
    /// About whom.
    pub entity: EntityId,
    /// Whom to tell.
    pub receiver: ReceiverId,
    /// Not before this.
    pub due: SharedInstant,
    /// Where not all that is due fits, the heavier goes first.
    pub weight: f64,
    /// What to say.
    pub vector: DrVector<V>,
}

/// The claims that wait, at most one for each entity and receiver: a newer one replaces an older one.
#[derive(Clone, Debug)]
pub struct Claims<V: Planar> {
    waiting: InOrder<(EntityId, ReceiverId), Claim<V>>,
    /// Made due by [`send_waiting_now`](Self::send_waiting_now): apart, so that a newer claim may wait beside them.
    overdue: Vec<Claim<V>>,
}

impl<V: Planar> Default for Claims<V> {
    fn default() -> Self {
        Self { waiting: InOrder::default(), overdue: Vec::new() }
    }
}

impl<V: Planar> Claims<V> {
    /// Sends the scene's DR vector to `receiver` at `due`, instead of whatever waited for it.
    pub fn send(&mut self, scene: &Scene<'_, V>, receiver: ReceiverId, due: SharedInstant, weight: f64) {
        let claim = Claim { entity: scene.entity, receiver, due, weight, vector: *scene.vector };
        self.waiting.insert((scene.entity, receiver), claim);
    }

    /// How many wait, due or not.
    pub fn len(&self) -> usize {
        self.waiting.len() + self.overdue.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes back whatever waits for anybody about this entity.
    pub fn discard_waiting(&mut self, entity: EntityId) {
        self.take_waiting(entity).for_each(drop);
    }

    /// Whatever waits about this entity goes out now, as it is.
    pub fn send_waiting_now(&mut self, entity: EntityId, now: SharedInstant) {
        let mut overdue = std::mem::take(&mut self.overdue);
        overdue.extend(self.take_waiting(entity).map(|claim| Claim { due: now, ..claim }));
        self.overdue = overdue;
    }

    /// Whether something waits for this receiver about this entity.
    pub fn is_waiting(&self, entity: EntityId, receiver: ReceiverId) -> bool {
        self.waiting.contains_key(&(entity, receiver))
    }

    /// When the next one is due.
    pub fn poll_deadline(&self) -> Option<SharedInstant> {
        self.overdue.iter().chain(self.waiting.values()).map(|claim| claim.due).min()
    }

    /// Takes out what is due for `receiver`, or for anybody, the heaviest first; equally heavy ones in the order of
    /// entities and receivers.
    pub fn take_due(&mut self, receiver: Option<ReceiverId>, now: SharedInstant) -> Vec<Claim<V>> {
        let is_due =
            |claim: &Claim<V>| claim.due <= now && receiver.is_none_or(|receiver| receiver == claim.receiver);
        let mut due: Vec<Claim<V>> = self.overdue.extract_if(.., |claim| is_due(claim)).collect();
        self.waiting.take_if(is_due, &mut due);
        // Claims are large: what is sorted is their places.
        if !due.is_sorted_by_key(place_of) {
            due.sort_by_cached_key(place_of);
        }
        due
    }

    /// Puts back what did not fit, unless something newer waits by now.
    pub fn put_back(&mut self, claim: Claim<V>) {
        let pair = (claim.entity, claim.receiver);
        if !self.waiting.contains_key(&pair) {
            self.waiting.insert(pair, claim);
        }
    }

    /// Forgets what one receiver was to hear of one entity.
    pub fn forget_pair(&mut self, entity: EntityId, receiver: ReceiverId) {
        self.waiting.remove(&(entity, receiver));
        self.overdue.retain(|claim| (claim.entity, claim.receiver) != (entity, receiver));
    }

    /// Forgets what concerns an entity or a receiver that is gone.
    pub fn forget(&mut self, entity: Option<EntityId>, receiver: Option<ReceiverId>) {
        let is_gone = |about: EntityId, to: ReceiverId| entity == Some(about) || receiver == Some(to);
        self.waiting.retain(|(about, to), _| !is_gone(*about, *to));
        self.overdue.retain(|claim| !is_gone(claim.entity, claim.receiver));
    }

    /// Takes out whatever waits about this entity. Costs nothing for what waits about others.
    fn take_waiting(&mut self, entity: EntityId) -> impl Iterator<Item = Claim<V>> + '_ {
        let about = (entity, ReceiverId(0))..=(entity, ReceiverId(u32::MAX));
        self.waiting.extract_if(about, |_, _| true).map(|(_, claim)| claim)
    }
}

/// Where a claim stands among others that are due: the heaviest first.
fn place_of<V: Planar>(claim: &Claim<V>) -> (Reverse<Weight>, EntityId, ReceiverId) {
    (Reverse(Weight(claim.weight)), claim.entity, claim.receiver)
}

/// A weight that can be sorted by.
#[derive(Clone, Copy)]
struct Weight(f64);

impl PartialEq for Weight {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Weight {}

impl PartialOrd for Weight {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Weight {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}
