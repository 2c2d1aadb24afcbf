use std::cmp::{Ordering, Reverse};
use std::collections::BTreeMap;

use super::Scene;
use super::in_order::InOrder;
use crate::dr_vector::DrVector;
use crate::number::{EntityId, ReceiverId};
use crate::time::{SharedInstant, Span};
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
    /// How long the scheduler reckoned that it takes, where it matters that the ledger reckons with the same;
    /// `None` leaves it to what is known at departure.
    pub delay: Option<Span>,
    /// What to say.
    pub vector: DrVector<V>,
}

/// The claims that wait, at most one for each entity and receiver: a newer one replaces an older one.
#[derive(Clone, Debug)]
pub struct Claims<V: Planar> {
    waiting: InOrder<(EntityId, ReceiverId), Claim<V>>,
    /// Made due by [`send_waiting_now`](Self::send_waiting_now): apart, so that a newer claim may wait beside them. At
    /// most one for each entity and receiver, too.
    overdue: BTreeMap<(EntityId, ReceiverId), Claim<V>>,
}

impl<V: Planar> Default for Claims<V> {
    fn default() -> Self {
        Self { waiting: InOrder::default(), overdue: BTreeMap::new() }
    }
}

impl<V: Planar> Claims<V> {
    /// When a claim is due that only waits for the next trigger.
    const NEVER: SharedInstant = SharedInstant::from_micros(i64::MAX);

    /// Sends the scene's DR vector to `receiver` at `due`, instead of whatever waited for it.
    pub fn send(&mut self, scene: &Scene<'_, V>, receiver: ReceiverId, due: SharedInstant, weight: f64) {
        let vector = *scene.vector;
        self.insert(Claim { entity: scene.entity, receiver, due, weight, delay: None, vector });
    }

    /// Keeps the scene's DR vector for `receiver`, instead of whatever waited for it, until
    /// [`send_waiting_now`](Self::send_waiting_now) or [`discard_waiting`](Self::discard_waiting): no instant is right.
    pub fn hold(&mut self, scene: &Scene<'_, V>, receiver: ReceiverId, weight: f64) {
        self.send(scene, receiver, Self::NEVER, weight);
    }

    /// Lets a claim wait, instead of whatever waited for that receiver about that entity.
    pub fn insert(&mut self, claim: Claim<V>) {
        let pair = (claim.entity, claim.receiver);
        // What is older and leaves no earlier is of no use.
        if self.overdue.get(&pair).is_some_and(|overdue| claim.due <= overdue.due) {
            self.overdue.remove(&pair);
        }
        self.waiting.insert(pair, claim);
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
        overdue.extend(
            self.take_waiting(entity).map(|claim| ((entity, claim.receiver), Claim { due: now, ..claim })),
        );
        self.overdue = overdue;
    }

    /// Whether something waits for this receiver about this entity.
    pub fn is_waiting(&self, entity: EntityId, receiver: ReceiverId) -> bool {
        self.waiting.contains_key(&(entity, receiver))
    }

    /// When the next one is due.
    pub fn poll_deadline(&self) -> Option<SharedInstant> {
        let due = self.overdue.values().chain(self.waiting.values()).map(|claim| claim.due);
        due.filter(|due| *due < Self::NEVER).min()
    }

    /// Takes out what is due for `receiver`, or for anybody, the heaviest first; equally heavy ones in the order of
    /// entities and receivers.
    pub fn take_due(&mut self, receiver: Option<ReceiverId>, now: SharedInstant) -> Vec<Claim<V>> {
        let is_due =
            |claim: &Claim<V>| claim.due <= now && receiver.is_none_or(|receiver| receiver == claim.receiver);
        let overdue = self.overdue.extract_if(.., |_, claim| is_due(claim));
        let mut due: Vec<Claim<V>> = overdue.map(|(_, claim)| claim).collect();
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

    /// A DR vector of this instant has left: what waits for the same receiver and is no newer would repeat it.
    pub(super) fn forget_repeated(
        &mut self,
        entity: EntityId,
        receiver: ReceiverId,
        generated_at: SharedInstant,
    ) {
        let pair = (entity, receiver);
        if self.waiting.get(&pair).is_some_and(|claim| claim.vector.generated_at <= generated_at) {
            self.waiting.remove(&pair);
        }
    }

    /// Forgets what one receiver was to hear of one entity.
    pub fn forget_pair(&mut self, entity: EntityId, receiver: ReceiverId) {
        self.waiting.remove(&(entity, receiver));
        self.overdue.remove(&(entity, receiver));
    }

    /// Forgets what concerns an entity or a receiver that is gone.
    pub fn forget(&mut self, entity: Option<EntityId>, receiver: Option<ReceiverId>) {
        let is_gone = |about: EntityId, to: ReceiverId| entity == Some(about) || receiver == Some(to);
        self.waiting.retain(|(about, to), _| !is_gone(*about, *to));
        self.overdue.retain(|(about, to), _| !is_gone(*about, *to));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::motion::{Linear, Motion};
    use crate::number::{Generation, Life};
    use crate::vector::Vec2;

    const TANK: EntityId = EntityId(1);
    const NEAR: ReceiverId = ReceiverId(2);

    fn at(millis: i64) -> SharedInstant {
        SharedInstant::from_millis(millis)
    }

    fn claim(generated: i64, due: SharedInstant) -> Claim<Vec2> {
        let motion = Motion::Linear(Linear { position: Vec2::new(1.0, 2.0), velocity: Vec2::new(3.0, 0.0) });
        let vector = DrVector {
            entity: TANK,
            life: Life::default(),
            generation: Generation::default(),
            generated_at: at(generated),
            motion,
            attitude: None,
        };
        Claim { entity: TANK, receiver: NEAR, due, weight: 1.0, delay: None, vector }
    }

    fn taken(claims: &mut Claims<Vec2>, now: i64) -> Vec<SharedInstant> {
        claims.take_due(None, at(now)).iter().map(|claim| claim.vector.generated_at).collect()
    }

    #[test]
    fn what_waited_goes_out_beside_what_waits() {
        let mut claims = Claims::default();
        claims.insert(claim(0, Claims::<Vec2>::NEVER));
        assert_eq!(claims.poll_deadline(), None, "nothing will ever be due");
        claims.send_waiting_now(TANK, at(10));
        claims.insert(claim(10, at(30)));
        assert_eq!((claims.len(), claims.poll_deadline()), (2, Some(at(10))));
        assert_eq!(taken(&mut claims, 10), [at(0)]);
        assert_eq!(taken(&mut claims, 30), [at(10)]);
        assert!(claims.is_empty());
    }

    #[test]
    fn the_older_does_not_leave_together_with_the_newer() {
        let mut claims = Claims::default();
        claims.insert(claim(0, at(50)));
        claims.send_waiting_now(TANK, at(10));
        claims.insert(claim(10, at(10)));
        assert_eq!(taken(&mut claims, 10), [at(10)]);
    }

    #[test]
    fn however_slowly_they_leave_no_more_than_two_wait() {
        let mut claims = Claims::default();
        for trigger in 0..100 {
            claims.send_waiting_now(TANK, at(trigger));
            claims.insert(claim(trigger, at(trigger + 5)));
        }
        assert_eq!(claims.len(), 2);
        claims.forget_pair(TANK, NEAR);
        assert!(claims.is_empty());
    }

    #[test]
    fn what_has_left_is_not_sent_again() {
        let mut claims = Claims::default();
        claims.insert(claim(10, at(50)));
        claims.forget_repeated(TANK, NEAR, at(9));
        assert!(claims.is_waiting(TANK, NEAR));
        claims.forget_repeated(TANK, NEAR, at(10));
        assert!(claims.is_empty());
    }
}
