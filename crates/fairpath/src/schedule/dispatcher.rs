use std::collections::{BTreeMap, BTreeSet};

use super::directory::Directory;
use super::trust::{Booking, Trust, Witness};
use super::{Account, Candidate, Claim, Claims, Scene, Scheduler};
use crate::clock::DelayEstimate;
use crate::dr_vector::DrVector;
use crate::ledger::{CopyId, Ledger, NeverSent};
use crate::number::{EntityId, ReceiverId};
use crate::random::Random;
use crate::time::{SharedInstant, Span};
use crate::trigger::Reason;
use crate::vector::Planar;

/// How a sender spreads its DR vectors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DispatcherConfig {
    /// When replicas freeze; the ledger must know. Default 3 s, as [`Replica::HORIZON`](crate::place::Replica::HORIZON).
    pub horizon: Span,
    /// How fast accounts forget; `None` never. Default 30 s, see [`Account::HALF_LIFE`].
    pub half_life: Option<Span>,
    /// How far receivers' reports are believed; `None` believes all that is possible. Default [`Trust::default`].
    pub trust: Option<Trust>,
    /// By how much a receiver's clock may be off in an honest report: arrivals up to this long before departure or
    /// after now are taken for departure and now. Default 50 ms. Too low refuses honest receivers next door, whose
    /// delay is shorter than their clock's error; too high lets a liar play with it.
    pub clock_error_max: Span,
    /// What is promised to every receiver, whatever the scheduler wants; `None` promises nothing, which is for
    /// experiments only.
    pub liveness: Option<Liveness>,
}

/// What every receiver is promised.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Liveness {
    /// No receiver hears nothing about an entity for longer than this. Default 3 s.
    ///
    /// Shorter spends the budget on receivers who were right anyway; longer than the horizon lets replicas freeze
    /// on screens whose owner is alive.
    pub silence_max: Span,
    /// Once an entity has kept to its exported path for half of `silence_max`, receivers who are farther off
    /// than this are told again and again until they confirm it. Default 0.3, the tank's threshold.
    pub tolerance: f64,
}

impl Default for DispatcherConfig {
    fn default() -> Self {
        let horizon = Span::from_secs(3);
        Self {
            horizon,
            half_life: Some(Account::HALF_LIFE),
            trust: Some(Trust::default()),
            clock_error_max: Span::from_millis(50),
            liveness: Some(Liveness::default()),
        }
    }
}

impl DispatcherConfig {
    /// As the papers' experiments are run: accounts never forget, nothing is promised, and everybody is honest.
    pub fn as_in_the_papers() -> Self {
        Self { half_life: None, trust: None, liveness: None, ..Self::default() }
    }
}

impl Default for Liveness {
    fn default() -> Self {
        Self { silence_max: Span::from_secs(3), tolerance: 0.3 }
    }
}

/// A copy that is to leave now. Report it with [`Dispatcher::on_departed`] once it has left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Departure<V: Planar> {
    /// What to send to whom.
    pub claim: Claim<V>,
    /// Whether the scheduler wanted it, or the promise of liveness.
    pub is_promise: bool,
}

/// Runs a scheduler for one sender: keeps the ledgers, accounts and delay estimates it decides by, lets its claims
/// come due, and keeps the promise of [`Liveness`].
///
/// Tell it with `on_*`, drain [`poll_departures`](Self::poll_departures), sleep until
/// [`poll_deadline`](Self::poll_deadline). `now` must never go backwards.
#[derive(Debug)]
pub struct Dispatcher<V: Planar> {
    config: DispatcherConfig,
    scheduler: Box<dyn Scheduler<V>>,
    random: Random,
    claims: Claims<V>,
    entities: BTreeMap<EntityId, Entity<V>>,
    receivers: Directory<Receiver>,
    /// Reused from trigger to trigger.
    candidates: Vec<Candidate>,
}

#[derive(Debug)]
struct Entity<V: Planar> {
    ledger: Ledger<V>,
    newest: DrVector<V>,
    /// How many DR vectors came before the newest.
    index: u64,
    /// Since when the exported path has not changed but for heartbeats.
    steady_since: SharedInstant,
}

#[derive(Debug)]
struct Receiver {
    account: Account,
    delay: DelayEstimate,
    witness: Witness,
}

impl<V: Planar> Dispatcher<V> {
    /// Once an entity is steady, who is off is told this many times within half of the silence it promises at most:
    /// at 30 % loss all eight are lost once in fifteen thousand times.
    const REPEATS: i64 = 8;

    /// A sender without entities and receivers yet.
    pub fn new(config: DispatcherConfig, scheduler: Box<dyn Scheduler<V>>, random: Random) -> Self {
        Self {
            config,
            scheduler,
            random,
            claims: Claims::default(),
            entities: BTreeMap::new(),
            receivers: Directory::default(),
            candidates: Vec::new(),
        }
    }

    /// Somebody wants to be told, of every entity there is and will be, unless [`hide`](Self::hide) says
    /// otherwise.
    pub fn join(&mut self, receiver: ReceiverId, now: SharedInstant) {
        if self.receivers.contains_key(&receiver) {
            return;
        }
        let others: Vec<Account> = self.receivers.values().map(|other| other.account).collect();
        let account = Account::joining(self.config.half_life, &others, now);
        self.receivers.insert(
            receiver,
            Receiver { account, delay: DelayEstimate::default(), witness: Witness::default() },
        );
        for entity in self.entities.values_mut() {
            entity.ledger.join(receiver, now);
        }
    }

    /// Somebody is gone.
    pub fn leave(&mut self, receiver: ReceiverId) {
        self.receivers.remove(&receiver);
        self.claims.forget(None, Some(receiver));
        self.scheduler.on_left(None, Some(receiver));
        for entity in self.entities.values_mut() {
            entity.ledger.leave(receiver);
        }
    }

    /// An entity is gone.
    pub fn remove(&mut self, entity: EntityId) {
        self.entities.remove(&entity);
        self.claims.forget(Some(entity), None);
        self.scheduler.on_left(Some(entity), None);
    }

    /// The entity is in a receiver's scope.
    pub fn show(&mut self, entity: EntityId, receiver: ReceiverId, now: SharedInstant) {
        if let Some(entity) =
            self.entities.get_mut(&entity).filter(|_| self.receivers.contains_key(&receiver))
        {
            entity.ledger.join(receiver, now);
        }
    }

    /// The entity is in a receiver's scope no more.
    pub fn hide(&mut self, entity: EntityId, receiver: ReceiverId) {
        if let Some(entity) = self.entities.get_mut(&entity) {
            entity.ledger.leave(receiver);
        }
        self.claims.forget_pair(entity, receiver);
    }

    /// A DR vector was cut, for this reason.
    pub fn on_generated(&mut self, vector: &DrVector<V>, reason: Reason, now: SharedInstant) {
        let receivers = &self.receivers;
        let horizon = self.config.horizon;
        let entity = self.entities.entry(vector.entity).or_insert_with(|| {
            let mut ledger = Ledger::new(horizon);
            for receiver in receivers.keys() {
                ledger.join(*receiver, now);
            }
            Entity { ledger, newest: *vector, index: 0, steady_since: now }
        });
        entity.ledger.on_generated(vector);
        if entity.newest.generated_at != vector.generated_at {
            entity.index += 1;
        }
        entity.newest = *vector;
        if reason != Reason::Heartbeat {
            entity.steady_since = now;
        }
        self.decide(vector.entity, now, |scheduler, scene, random, claims| {
            scheduler.on_trigger(scene, random, claims);
        });
    }

    /// What is to leave now for `receiver`, or for anybody; the heaviest first.
    pub fn poll_departures(&mut self, receiver: Option<ReceiverId>, now: SharedInstant) -> Vec<Departure<V>> {
        if self.scheduler.poll_deadline().is_some_and(|deadline| deadline <= now) {
            let entities: Vec<EntityId> = self.entities.keys().copied().collect();
            for entity in entities {
                self.decide(entity, now, |scheduler, scene, random, claims| {
                    scheduler.on_deadline(scene, random, claims);
                });
            }
        }
        let mut departures: Vec<Departure<V>> = self
            .claims
            .take_due(receiver, now)
            .into_iter()
            .map(|claim| Departure { claim, is_promise: false })
            .collect();
        self.add_promised(receiver, now, &mut departures);
        departures
    }

    /// When [`poll_departures`](Self::poll_departures) will have something, unless something happens before.
    pub fn poll_deadline(&self) -> Option<SharedInstant> {
        let promised = self.config.liveness.and_then(|liveness| {
            let pairs = self.entities.values().flat_map(|entity| {
                entity.ledger.standings().map(move |(receiver, standing)| (entity, receiver, standing))
            });
            pairs
                .map(|(entity, receiver, standing)| self.promised_at(&liveness, entity, receiver, &standing))
                .min()
        });
        [self.claims.poll_deadline(), self.scheduler.poll_deadline(), promised].into_iter().flatten().min()
    }

    /// What did not fit goes back and waits, unless something newer does by now.
    pub fn put_back(&mut self, departure: Departure<V>) {
        if !departure.is_promise {
            self.claims.put_back(departure.claim);
        }
    }

    /// A copy really left, at this cost in the budget's unit. The name is for its receipt.
    pub fn on_departed(&mut self, claim: &Claim<V>, at: SharedInstant, cost: f64) -> Option<CopyId> {
        let delay = claim.delay.or(self.receivers.get(&claim.receiver)?.delay.mean());
        let entity = self.entities.get_mut(&claim.entity)?;
        self.claims.forget_repeated(claim.entity, claim.receiver, claim.vector.generated_at);
        self.scheduler.on_departed(claim.entity, claim.receiver, at, cost);
        entity.ledger.on_departed(claim.receiver, &claim.vector, at, delay)
    }

    /// A receipt came at `now`: the receiver says that a copy arrived at `received_at`.
    pub fn on_receipt(
        &mut self,
        entity: EntityId,
        receiver: ReceiverId,
        copy: CopyId,
        received_at: SharedInstant,
        now: SharedInstant,
    ) -> Booking {
        let Some((book, from)) = self.entities.get_mut(&entity).zip(self.receivers.get_mut(&receiver)) else {
            return Booking::Impossible;
        };
        let sent_at = match book.ledger.departure(receiver, copy) {
            Ok(Some(sent_at)) => sent_at,
            Ok(None) => return Booking::NoNews,
            Err(NeverSent) => return Booking::Impossible,
        };
        let slack = self.config.clock_error_max;
        let is_impossible = received_at < sent_at - slack || received_at > now + slack;
        let is_caught = self.config.trust.is_some_and(|trust| from.witness.is_caught(&trust));
        if is_impossible && !is_caught {
            from.witness.handle_word(false);
            return Booking::Impossible;
        }
        from.witness.handle_round_trip(now - sent_at, now);
        let said = received_at.min(now).max(sent_at);
        let (believed, is_credible) = match &self.config.trust {
            Some(trust) => {
                let latest = from.witness.latest_arrival(trust, now);
                let possible = if is_caught {
                    sent_at + from.witness.likely_delay(now - sent_at)
                } else {
                    said.min(latest)
                };
                let is_consistent = !from.witness.has_denied(received_at + slack);
                let believed = possible.max(sent_at).min(sent_at + trust.delay_max);
                (believed, !is_impossible && is_consistent && received_at <= latest + slack)
            }
            None => (said, !is_impossible),
        };
        if !book.ledger.on_receipt(receiver, copy, believed) {
            return Booking::NoNews;
        }
        from.witness.handle_word(is_credible);
        from.witness.handle_delay(said - sent_at, believed - sent_at, now - sent_at);
        from.delay.handle_sample(believed - sent_at);
        if is_credible && !is_caught && believed == said { Booking::Booked } else { Booking::Corrected }
    }

    /// The transport, which a receiver cannot make wait without making everything wait, measured this round trip to it:
    /// QUIC acknowledges datagrams by itself, before anybody reads them. Tell it whenever feedback comes; a smoothed
    /// one will do. Who holds receipts back is found out by it.
    pub fn on_transport_round_trip(&mut self, receiver: ReceiverId, round_trip: Span) {
        if let Some(book) = self.receivers.get_mut(&receiver) {
            book.witness.handle_transport_round_trip(round_trip);
        }
    }

    /// Feedback came that did not prove what it said: what it acknowledged is not booked, and it counts as a word that
    /// cannot be true. [`SentPackets`](crate::link::SentPackets) finds that out.
    pub fn on_unproven(&mut self, receiver: ReceiverId) {
        if let Some(from) = self.receivers.get_mut(&receiver) {
            from.witness.handle_word(false);
        }
    }

    /// At `now` it came back that a receiver has reported everything that it received before `until`.
    pub fn on_complete(&mut self, receiver: ReceiverId, until: SharedInstant, now: SharedInstant) {
        let Some(book) = self.receivers.get_mut(&receiver) else { return };
        let until = match &self.config.trust {
            Some(trust) => {
                book.witness.handle_complete(until.min(now));
                // By as much as its arrivals are booked earlier than it says, so is this.
                let meant = until - book.witness.overstatement();
                meant.min(book.witness.latest_arrival(trust, now))
            }
            None => until.min(now),
        };
        let patience = book.delay.high().unwrap_or(self.config.horizon);
        for entity in self.entities.values_mut() {
            entity.ledger.on_complete(receiver, until, patience);
        }
    }

    /// The newest DR vector of an entity.
    pub fn newest(&self, entity: EntityId) -> Option<&DrVector<V>> {
        self.entities.get(&entity).map(|entity| &entity.newest)
    }

    /// The books of an entity.
    pub fn ledger(&self, entity: EntityId) -> Option<&Ledger<V>> {
        self.entities.get(&entity).map(|entity| &entity.ledger)
    }

    /// The account of a receiver, as of the last decision.
    pub fn account(&self, receiver: ReceiverId) -> Option<&Account> {
        self.receivers.get(&receiver).map(|receiver| &receiver.account)
    }

    /// What is known of the way to a receiver.
    pub fn delay(&self, receiver: ReceiverId) -> Option<&DelayEstimate> {
        self.receivers.get(&receiver).map(|receiver| &receiver.delay)
    }

    /// Brings all books up to `now`.
    pub fn advance(&mut self, now: SharedInstant) {
        for entity in self.entities.values_mut() {
            let mut books = self.receivers.walk();
            entity.ledger.advance_and_tell(now, |receiver, growth, _| {
                if let Some(book) = books.find(receiver) {
                    book.account.add(growth);
                }
            });
        }
        for receiver in self.receivers.values_mut() {
            receiver.account.advance(now);
        }
    }

    /// Shows the scheduler how things stand with an entity.
    fn decide(
        &mut self,
        about: EntityId,
        now: SharedInstant,
        ask: impl FnOnce(&mut dyn Scheduler<V>, &Scene<'_, V>, &mut Random, &mut Claims<V>),
    ) {
        let Some(entity) = self.entities.get_mut(&about) else { return };
        self.candidates.clear();
        let mut account_secs: f64 = 0.0;
        let mut books = self.receivers.walk();
        entity.ledger.advance_and_tell(now, |receiver, growth, standing| {
            let Some(book) = books.find(receiver) else { return };
            book.account.add(growth);
            book.account.advance(now);
            account_secs = account_secs.max(book.account.secs());
            self.candidates.push(Candidate {
                receiver,
                standing,
                account: book.account.rate(),
                delay: book.delay.mean(),
                silent_since: standing.last_sent.unwrap_or(standing.joined),
            });
        });
        if let Some(trust) = &self.config.trust {
            cap_accounts(&mut self.candidates, trust.account_cap);
        }
        let scene = Scene {
            entity: about,
            vector: &entity.newest,
            index: entity.index,
            now,
            ledger: &entity.ledger,
            candidates: &self.candidates,
            account_secs,
        };
        ask(&mut *self.scheduler, &scene, &mut self.random, &mut self.claims);
    }

    /// Adds what was promised and nobody claimed.
    fn add_promised(
        &self,
        receiver: Option<ReceiverId>,
        now: SharedInstant,
        departures: &mut Vec<Departure<V>>,
    ) {
        let Some(liveness) = self.config.liveness else { return };
        let pair = |departure: &Departure<V>| (departure.claim.entity, departure.claim.receiver);
        let leaving: BTreeSet<(EntityId, ReceiverId)> = departures.iter().map(pair).collect();
        for (&about, entity) in &self.entities {
            for (to, standing) in entity.ledger.standings() {
                let is_asked = receiver.is_none_or(|receiver| receiver == to);
                if !is_asked || self.promised_at(&liveness, entity, to, &standing) > now {
                    continue;
                }
                if !leaving.contains(&(about, to)) {
                    let claim = Claim {
                        entity: about,
                        receiver: to,
                        due: now,
                        weight: 0.0,
                        delay: None,
                        vector: entity.newest,
                    };
                    departures.push(Departure { claim, is_promise: true });
                }
            }
        }
    }

    /// When a receiver must be told of an entity at the latest.
    fn promised_at(
        &self,
        liveness: &Liveness,
        entity: &Entity<V>,
        receiver: ReceiverId,
        standing: &crate::ledger::Standing,
    ) -> SharedInstant {
        let silent_since = standing.last_sent.unwrap_or(standing.joined);
        let at_the_latest = silent_since + liveness.silence_max;
        let half = liveness.silence_max.scaled(0.5);
        // Who would freeze on what there is to tell is not helped by hearing it again.
        let is_outdated = silent_since > entity.newest.generated_at + self.config.horizon;
        if is_outdated || entity.ledger.has_confirmed(receiver, liveness.tolerance, silent_since) {
            return at_the_latest;
        }
        // Far away, more copies would be under way before the first can be confirmed.
        let delay = self.receivers.get(&receiver).and_then(|book| book.delay.mean()).unwrap_or(Span::ZERO);
        let repeat = Span::from_micros(half.as_micros() / Self::REPEATS).max(delay.scaled(2.0 / 5.0));
        at_the_latest.min((entity.steady_since + half).max(silent_since + repeat))
    }
}

/// Nobody's account counts for more than `cap` times the mean of the others'.
fn cap_accounts(candidates: &mut [Candidate], cap: f64) {
    let total: f64 = candidates.iter().map(|candidate| candidate.account).sum();
    let others = candidates.len().saturating_sub(1) as f64;
    for candidate in candidates {
        let mean_of_others = (total - candidate.account) / others;
        if mean_of_others > 0.0 {
            candidate.account = candidate.account.min(cap * mean_of_others);
        }
    }
}
