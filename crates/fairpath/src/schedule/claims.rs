use super::deadlines::{Deadlines, NEVER};
use super::dispatcher::DepartureKind;
use super::shared_claims::{SharedClaim, SharedClaims};
use super::small_list::SmallList;
use super::{DecisionContext, Departure};
use crate::ledger::claim_weight;
use crate::number::{EntityId, ReceiverId};
use crate::time::{SharedInstant, Span};
use crate::vector::Planar;

/// A request to send one DR vector to one receiver.
///
/// A claim refers to the DR vector instead of holding it: the vector is stored once for all
/// receivers, and [`Dispatcher::vector`](super::Dispatcher::vector) returns it when the copy is
/// about to leave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Claim {
    /// The entity of the DR vector.
    pub entity: EntityId,
    /// The receiver to send to.
    pub receiver: ReceiverId,
    /// The earliest instant to send.
    pub due: SharedInstant,
    /// Priority: where not all due claims fit into a packet, the larger weight goes first.
    pub weight: f64,
    /// The delay that scheduler and ledger assume; `None` uses the estimate at departure.
    pub delay: Option<Span>,
    /// When the DR vector was generated, which identifies it.
    pub generated_at: SharedInstant,
}

const _: () = assert!(size_of::<Claim>() <= 48, "a trigger makes one for every receiver");

/// The waiting claims, at most one for each entity and receiver: a newer one replaces an older one.
///
/// Claims are kept by receiver, because each receiver has its own packets. Taking one receiver's
/// claims, and asking when the next is due, costs nothing for the others.
#[derive(Clone, Debug, Default)]
pub struct Claims {
    deadlines: Deadlines<SmallList<WaitingClaim>>,
    len: usize,
    /// What every receiver is sent. The dispatcher gives each receiver its part.
    pub(super) shared: SharedClaims,
    /// The due claims and their order. Reused from poll to poll.
    due: Vec<Claim>,
    places: Vec<u64>,
    emptied: Vec<usize>,
}

#[derive(Clone, Copy, Debug)]
struct WaitingClaim {
    claim: Claim,
    /// Made due by [`Claims::send_waiting_now`]; at most one per pair, beside a newer claim.
    is_overdue: bool,
}

impl Claims {
    /// Sends the context's DR vector to `receiver` at `due`, replacing any waiting claim for this
    /// entity and receiver.
    pub fn send<V: Planar>(
        &mut self,
        context: &DecisionContext<'_, V>,
        receiver: ReceiverId,
        due: SharedInstant,
        weight: f64,
    ) {
        let generated_at = context.vector.generated_at;
        self.insert(Claim { entity: context.entity, receiver, due, weight, delay: None, generated_at });
    }

    /// Sends the context's DR vector to all receivers of the entity now, as [`send`](Self::send)
    /// does for each, with the default weight ([`Candidate::weight`](super::Candidate::weight)).
    ///
    /// Costs the same for any number of receivers, unless most receivers do not see the entity.
    pub fn send_to_all<V: Planar>(&mut self, context: &DecisionContext<'_, V>) {
        let (entity, due, generated_at) = (context.entity, context.now, context.vector.generated_at);
        let receivers = self.shared.receivers();
        if receivers > 0 && 2 * context.ledger.page_count() >= receivers {
            self.shared.push(SharedClaim { entity, generated_at, due });
        } else if !context.candidates.is_empty() {
            for candidate in context.candidates {
                self.send(context, candidate.receiver, due, candidate.weight());
            }
        } else {
            for (receiver, standing) in context.ledger.standings() {
                self.send(context, receiver, due, claim_weight(standing.instantaneous, standing.last_sent));
            }
        }
    }

    /// Keeps the context's DR vector for `receiver` without a due instant, replacing any waiting
    /// claim, until [`send_waiting_now`](Self::send_waiting_now) or
    /// [`discard_waiting`](Self::discard_waiting).
    pub fn hold<V: Planar>(&mut self, context: &DecisionContext<'_, V>, receiver: ReceiverId, weight: f64) {
        self.send(context, receiver, NEVER, weight);
    }

    /// Adds a claim, replacing any waiting claim for this entity and receiver.
    pub fn insert(&mut self, claim: Claim) {
        let place = self.deadlines.find_or_insert(claim.receiver);
        let is_about = |waiting: &WaitingClaim| waiting.claim.entity == claim.entity;
        if self.deadlines.row(place).iter().any(is_about) {
            // An older claim that leaves no earlier is superseded.
            let is_useless = |other: &WaitingClaim| !other.is_overdue || claim.due <= other.claim.due;
            self.change_at(place, |list| list.retain(|other| !is_about(other) || !is_useless(other)));
        }
        self.add_at(place, claim);
    }

    /// Returns the number of waiting claims, due or not. One for all receivers counts as one.
    pub fn len(&self) -> usize {
        self.len + self.shared.len()
    }

    /// Returns whether no claim waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Removes all waiting claims about the context's entity, except overdue ones.
    pub fn discard_waiting<V: Planar>(&mut self, context: &DecisionContext<'_, V>) {
        self.change_all(context, |list| {
            list.retain(|waiting| waiting.claim.entity != context.entity || waiting.is_overdue);
        });
    }

    /// Makes all waiting claims about the context's entity due now.
    pub fn send_waiting_now<V: Planar>(&mut self, context: &DecisionContext<'_, V>) {
        self.change_all(context, |list| {
            let is_about = |waiting: &WaitingClaim| waiting.claim.entity == context.entity;
            if list.iter().any(|waiting| is_about(waiting) && !waiting.is_overdue) {
                list.retain(|waiting| !is_about(waiting) || !waiting.is_overdue);
                for waiting in list.iter_mut().filter(|waiting| is_about(waiting)) {
                    waiting.claim.due = context.now;
                    waiting.is_overdue = true;
                }
            }
        });
    }

    /// Returns whether a claim waits for this receiver about this entity.
    pub fn is_waiting(&self, entity: EntityId, receiver: ReceiverId) -> bool {
        self.is_shared_with(receiver, |claim| claim.entity == entity)
            || self.waits_for(receiver).any(|waiting| waiting.claim.entity == entity && !waiting.is_overdue)
    }

    /// Returns when the next claim is due.
    pub fn poll_deadline(&self) -> Option<SharedInstant> {
        self.deadlines.first_due().into_iter().chain(self.shared.first_due()).min()
    }

    /// When the next claim of the receiver at `place` is due; [`NEVER`] if there is none.
    pub(super) fn due(&self, receiver: ReceiverId, place: usize) -> SharedInstant {
        let own = if self.len == 0 { None } else { self.deadlines.position(receiver) };
        let own = own.map_or(NEVER, |own| self.deadlines.due(own));
        self.shared.due(place).map_or(own, |due| due.min(own))
    }

    /// Removes and returns the due claims of `receiver`, or of all receivers, the largest weight
    /// first. Weights that are equal to one part in a million are ordered by receiver, and for each
    /// receiver by waiting time, the longest first.
    pub fn take_due(&mut self, receiver: Option<ReceiverId>, now: SharedInstant) -> Vec<Claim> {
        self.drain_due(receiver, now).collect()
    }

    /// The same, as an iterator.
    pub(super) fn drain_due(
        &mut self,
        receiver: Option<ReceiverId>,
        now: SharedInstant,
    ) -> impl ExactSizeIterator<Item = Claim> + '_ {
        self.due.clear();
        let mut place = match receiver {
            Some(receiver) => {
                self.deadlines.position(receiver).filter(|place| self.deadlines.due(*place) <= now)
            }
            None => self.deadlines.next_due(0, now),
        };
        while let Some(at) = place {
            match take_due(self.deadlines.row_mut(at), now, &mut self.due) {
                Some(left) => self.deadlines.set_due(at, left),
                None => self.emptied.push(at),
            }
            place = if receiver.is_none() { self.deadlines.next_due(at + 1, now) } else { None };
        }
        self.len -= self.due.len();
        self.clear_emptied();
        self.places.clear();
        self.places.extend((0..).zip(&self.due).map(|(index, claim)| place_of(claim, index)));
        // Receivers follow a dozen DR vectors with as many weights: a stable sort is fast.
        self.places.sort_by_key(|place| place >> 32);
        self.places.iter().map(|place| self.due[*place as u32 as usize])
    }

    /// Removes the due claims of `receiver` and adds them to `departures`, in no special order.
    pub(super) fn move_due(
        &mut self,
        receiver: ReceiverId,
        now: SharedInstant,
        departures: &mut Vec<Departure>,
    ) {
        if self.len == 0 {
            return;
        }
        let place = self.deadlines.position(receiver).filter(|place| self.deadlines.due(*place) <= now);
        let Some(place) = place else { return };
        self.due.clear();
        let left = take_due(self.deadlines.row_mut(place), now, &mut self.due);
        self.deadlines.set_due(place, left.unwrap_or(NEVER));
        self.len -= self.due.len();
        departures
            .extend(self.due.iter().map(|claim| Departure { claim: *claim, kind: DepartureKind::Claim }));
    }

    /// Whether any claim for this receiver waits, except those for all.
    pub(super) fn has_any(&self, receiver: ReceiverId) -> bool {
        self.len > 0 && self.waits_for(receiver).next().is_some()
    }

    /// Whether a claim for this receiver about this entity is due.
    pub(super) fn is_due(&self, entity: EntityId, receiver: ReceiverId, now: SharedInstant) -> bool {
        self.is_shared_with(receiver, |claim| claim.entity == entity && claim.due <= now)
            || self
                .waits_for(receiver)
                .any(|waiting| waiting.claim.entity == entity && waiting.claim.due <= now)
    }

    /// Whether such a claim for all receivers waits for this one.
    fn is_shared_with(&self, receiver: ReceiverId, is_it: impl Fn(&SharedClaim) -> bool) -> bool {
        let place = self.shared.find(receiver).filter(|place| self.shared.has_any(*place));
        place.is_some_and(|place| self.shared.waiting(place).any(is_it))
    }

    /// Puts back a claim that did not fit, unless a newer one waits by now.
    pub fn put_back(&mut self, claim: Claim) {
        if !self.is_waiting(claim.entity, claim.receiver) {
            let place = self.deadlines.find_or_insert(claim.receiver);
            self.add_at(place, claim);
        }
    }

    /// A DR vector of this instant was sent: removes the receiver's claims that are no newer.
    pub(super) fn forget_repeated(
        &mut self,
        entity: EntityId,
        receiver: ReceiverId,
        generated_at: SharedInstant,
    ) {
        self.change_if_any(receiver, |list| {
            list.retain(|WaitingClaim { claim, is_overdue }| {
                claim.entity != entity || *is_overdue || claim.generated_at > generated_at
            });
        });
    }

    /// Removes all claims for this receiver about this entity.
    pub fn forget_pair(&mut self, entity: EntityId, receiver: ReceiverId) {
        self.change_if_any(receiver, |list| list.retain(|waiting| waiting.claim.entity != entity));
    }

    /// Removes all claims for a receiver.
    pub fn forget(&mut self, receiver: ReceiverId) {
        self.len -= self.deadlines.remove(receiver).map_or(0, |list| list.len());
        if let Some(place) = self.shared.find(receiver) {
            self.shared.clear(place);
        }
    }

    /// Clears the deadlines of the receivers whose lists were emptied.
    fn clear_emptied(&mut self) {
        if self.len == 0 {
            self.deadlines.clear_due();
        } else {
            self.emptied.iter().for_each(|place| self.deadlines.set_due(*place, NEVER));
        }
        self.emptied.clear();
    }

    fn waits_for(&self, receiver: ReceiverId) -> impl Iterator<Item = &WaitingClaim> + '_ {
        self.deadlines.position(receiver).into_iter().flat_map(|place| self.deadlines.row(place).iter())
    }

    /// Changes the lists of all candidates that have a claim about the context's entity.
    fn change_all<V: Planar>(
        &mut self,
        context: &DecisionContext<'_, V>,
        mut change: impl FnMut(&mut SmallList<WaitingClaim>),
    ) {
        for candidate in context.candidates {
            if self.len == 0 {
                return;
            }
            let Some(place) = self.deadlines.find(candidate.receiver) else { continue };
            // Most wait for other entities only.
            if self.deadlines.row(place).iter().any(|waiting| waiting.claim.entity == context.entity) {
                self.change_at(place, &mut change);
            }
        }
    }

    fn change_if_any(&mut self, receiver: ReceiverId, change: impl FnOnce(&mut SmallList<WaitingClaim>)) {
        if let Some(place) =
            self.deadlines.find(receiver).filter(|place| !self.deadlines.row(*place).is_empty())
        {
            self.change_at(place, change);
        }
    }

    fn add_at(&mut self, place: usize, claim: Claim) {
        self.deadlines.row_mut(place).push(WaitingClaim { claim, is_overdue: false });
        self.len += 1;
        if claim.due < self.deadlines.due(place) {
            self.deadlines.set_due(place, claim.due);
        }
    }

    /// Changes a receiver's waiting claims, and updates count and deadline.
    fn change_at(&mut self, place: usize, change: impl FnOnce(&mut SmallList<WaitingClaim>)) {
        let list = self.deadlines.row_mut(place);
        self.len -= list.len();
        change(list);
        self.len += list.len();
        let due = list.iter().map(|waiting| waiting.claim.due).min().unwrap_or(NEVER);
        self.deadlines.set_due(place, due);
    }
}

/// Moves due claims to the end of `taken`. Returns when the first of the others is due.
fn take_due(
    list: &mut SmallList<WaitingClaim>,
    now: SharedInstant,
    taken: &mut Vec<Claim>,
) -> Option<SharedInstant> {
    if list.iter().all(|waiting| waiting.claim.due <= now) {
        list.iter().for_each(|waiting| taken.push(waiting.claim));
        list.clear();
        return None;
    }
    let mut left = NEVER;
    list.retain(|WaitingClaim { claim, .. }| {
        let is_due = claim.due <= now;
        if is_due {
            taken.push(*claim);
        } else {
            left = left.min(claim.due);
        }
        !is_due
    });
    Some(left)
}

/// Sort key of a due claim: by weight, then by position. One number is faster to sort.
fn place_of(claim: &Claim, index: u32) -> u64 {
    u64::from(lightness(claim.weight)) << 32 | u64::from(index)
}

/// A number that falls with the weight (`f64::total_cmp`), by its upper half: exact to a millionth.
fn lightness(weight: f64) -> u32 {
    let bits = (weight.to_bits() >> 32) as u32;
    let is_negative = bits >> 31 == 1;
    // Of negative numbers the one with more bits is the smaller.
    if is_negative { bits } else { !bits & !(1 << 31) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::DrVector;
    use crate::ledger::{Ledger, Standing};
    use crate::motion::{Linear, Motion};
    use crate::number::{Generation, Life};
    use crate::random::Random;
    use crate::schedule::Candidate;
    use crate::vector::Vec2;

    const TANK: EntityId = EntityId(1);
    const NEAR: ReceiverId = ReceiverId(2);

    fn at(millis: i64) -> SharedInstant {
        SharedInstant::from_millis(millis)
    }

    fn claim(generated: i64, due: SharedInstant) -> Claim {
        Claim { entity: TANK, receiver: NEAR, due, weight: 1.0, delay: None, generated_at: at(generated) }
    }

    fn taken(claims: &mut Claims, now: i64) -> Vec<SharedInstant> {
        claims.take_due(None, at(now)).iter().map(|claim| claim.generated_at).collect()
    }

    /// Calls `show` with a context of `entity` and these receivers.
    fn with_context<T>(
        entity: EntityId,
        receivers: &[ReceiverId],
        now: i64,
        show: impl FnOnce(&DecisionContext<'_, Vec2>) -> T,
    ) -> T {
        let motion = Motion::Linear(Linear { position: Vec2::new(1.0, 2.0), velocity: Vec2::new(3.0, 0.0) });
        let (life, generation, now) = (Life::default(), Generation::default(), at(now));
        let vector =
            DrVector { entity, life, generation, generated_at: now, motion, attitude: None, parent: None };
        let standing = Standing {
            accumulated: 0.0,
            instantaneous: 0.0,
            joined: now,
            last_sent: None,
            has_acknowledged: false,
            has_newest: false,
            unsettled: 0,
        };
        let candidates: Vec<Candidate> = receivers
            .iter()
            .map(|&receiver| Candidate {
                receiver,
                standing,
                account: 0.0,
                delay: None,
                silent_since: now,
                acknowledges: true,
            })
            .collect();
        let ledger = Ledger::new(Span::from_secs(3));
        show(&DecisionContext {
            entity,
            vector: &vector,
            index: 0,
            now,
            ledger: &ledger,
            candidates: &candidates,
            account_secs: 0.0,
        })
    }

    fn send_waiting_now(claims: &mut Claims, now: i64) {
        with_context(TANK, &[NEAR], now, |context| claims.send_waiting_now(context));
    }

    #[test]
    fn what_waited_goes_out_beside_what_waits() {
        let mut claims = Claims::default();
        claims.insert(claim(0, NEVER));
        assert_eq!(claims.poll_deadline(), None, "nothing will ever be due");
        send_waiting_now(&mut claims, 10);
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
        send_waiting_now(&mut claims, 10);
        claims.insert(claim(10, at(10)));
        assert_eq!(taken(&mut claims, 10), [at(10)]);
    }

    #[test]
    fn however_slowly_they_leave_no_more_than_two_wait() {
        let mut claims = Claims::default();
        for trigger in 0..100 {
            send_waiting_now(&mut claims, trigger);
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

    #[test]
    fn the_heaviest_first_then_receivers_then_who_waited_longest() {
        let weights = [f64::INFINITY, 7.0, 1e-300, 0.0, -0.0, -1.0, f64::NEG_INFINITY];
        let mut claims = Claims::default();
        for (entity, receiver) in [(2, 1), (2, 2), (1, 2), (1, 1)] {
            for (number, weight) in (0..).zip(weights) {
                // One entity for each weight, so that no claim replaces another.
                let entity = EntityId(10 * number + entity);
                claims.insert(Claim { entity, receiver: ReceiverId(receiver), weight, ..claim(0, at(0)) });
            }
        }
        let taken = claims.take_due(None, at(0));
        assert_eq!(taken.len(), 28);
        let in_order = |one: &Claim, other: &Claim| {
            let heavier = other.weight.total_cmp(&one.weight);
            // The second entity was claimed first.
            heavier.then(one.receiver.cmp(&other.receiver)).then(other.entity.cmp(&one.entity)).is_le()
        };
        assert!(taken.is_sorted_by(in_order), "{taken:?}");
    }

    /// The documented behaviour, simple and slow: two maps.
    #[derive(Default)]
    struct TwoMaps {
        waiting: BTreeMap<(EntityId, ReceiverId), Claim>,
        overdue: BTreeMap<(EntityId, ReceiverId), Claim>,
    }

    impl TwoMaps {
        fn insert(&mut self, claim: Claim) {
            let pair = (claim.entity, claim.receiver);
            if self.overdue.get(&pair).is_some_and(|overdue| claim.due <= overdue.due) {
                self.overdue.remove(&pair);
            }
            self.waiting.insert(pair, claim);
        }

        fn about(&mut self, entity: EntityId) -> Vec<Claim> {
            self.waiting.extract_if(.., |(about, _), _| *about == entity).map(|(_, claim)| claim).collect()
        }

        fn take_due(&mut self, receiver: Option<ReceiverId>, now: SharedInstant) -> Vec<Claim> {
            let is_due = |claim: &Claim| claim.due <= now && receiver.is_none_or(|to| to == claim.receiver);
            let overdue = self.overdue.extract_if(.., |_, claim| is_due(claim));
            let mut due: Vec<Claim> = overdue.map(|(_, claim)| claim).collect();
            due.extend(self.waiting.extract_if(.., |_, claim| is_due(claim)).map(|(_, claim)| claim));
            due
        }

        fn deadline(&self) -> Option<SharedInstant> {
            let dues = self.waiting.values().chain(self.overdue.values()).map(|claim| claim.due);
            dues.filter(|due| *due < NEVER).min()
        }
    }

    #[test]
    fn whatever_happens_the_same_leaves_as_from_two_plain_maps() {
        let receivers: Vec<ReceiverId> = (0..9).map(ReceiverId).collect();
        let mut random = Random::from_seed(3);
        let (mut ours, mut plain) = (Claims::default(), TwoMaps::default());
        for step in 0..40_000 {
            let (entity, to) = (EntityId(random.below(4) as u32), ReceiverId(random.below(9) as u32));
            match random.below(20) {
                0 => {
                    with_context(entity, &receivers, step, |context| ours.discard_waiting(context));
                    plain.about(entity);
                }
                1 => {
                    with_context(entity, &receivers, step, |context| ours.send_waiting_now(context));
                    for claim in plain.about(entity) {
                        plain.overdue.insert((entity, claim.receiver), Claim { due: at(step), ..claim });
                    }
                }
                2 => {
                    ours.forget_pair(entity, to);
                    plain.waiting.remove(&(entity, to));
                    plain.overdue.remove(&(entity, to));
                }
                3 if random.chance(0.1) => {
                    ours.forget(to);
                    plain.waiting.retain(|(_, receiver), _| *receiver != to);
                    plain.overdue.retain(|(_, receiver), _| *receiver != to);
                }
                4 => {
                    let left = at(step - random.below(20) as i64);
                    ours.forget_repeated(entity, to, left);
                    if plain.waiting.get(&(entity, to)).is_some_and(|claim| claim.generated_at <= left) {
                        plain.waiting.remove(&(entity, to));
                    }
                }
                5 | 6 => {
                    let whose = random.chance(0.8).then_some(to);
                    let taken = ours.take_due(whose, at(step));
                    assert!(taken.is_sorted_by(|one, other| one.weight >= other.weight), "in step {step}");
                    let by_name = |claim: &Claim| (claim.entity, claim.receiver, claim.generated_at);
                    let mut expected = plain.take_due(whose, at(step));
                    expected.sort_by_key(by_name);
                    let mut found = taken.clone();
                    found.sort_by_key(by_name);
                    assert_eq!(found, expected, "in step {step}");
                    for claim in taken.into_iter().filter(|_| random.chance(0.3)) {
                        ours.put_back(claim);
                        plain.waiting.entry((claim.entity, claim.receiver)).or_insert(claim);
                    }
                }
                _ => {
                    let due = if random.chance(0.1) { NEVER } else { at(step + random.below(30) as i64) };
                    let weight = random.below(3) as f64;
                    let claim =
                        Claim { entity, receiver: to, due, weight, delay: None, generated_at: at(step) };
                    ours.insert(claim);
                    plain.insert(claim);
                }
            }
            assert_eq!(ours.len(), plain.waiting.len() + plain.overdue.len());
            assert_eq!(ours.poll_deadline(), plain.deadline());
            assert_eq!(ours.is_waiting(entity, to), plain.waiting.contains_key(&(entity, to)));
        }
    }
}
