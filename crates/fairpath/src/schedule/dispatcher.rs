use std::collections::{BTreeMap, BTreeSet};

use super::liveness_timers::LivenessTimers;
use super::receipt_trust::{Booking, ReceiptAudit, ReceiptTrust};
use super::recent_vectors::RecentVectors;
use super::responsiveness::Responsiveness;
use super::{Account, Candidate, Claim, Claims, DecisionContext, Removed, Scheduler};
use crate::clock::DelayEstimate;
use crate::directory::Directory;
use crate::dr_vector::DrVector;
use crate::ledger::{CopyId, Ledger, NeverSent, Standing};
use crate::number::{EntityId, ReceiverId};
use crate::random::Random;
use crate::time::{SharedInstant, Span};
use crate::trigger::TriggerReason;
use crate::vector::Planar;

/// The settings of a [`Dispatcher`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DispatcherConfig {
    /// When replicas freeze; the ledger needs it. Default 3 s, as
    /// [`Replica::HORIZON`](crate::place::Replica::HORIZON).
    pub horizon: Span,
    /// How fast accounts forget; `None` never. Default 30 s, see [`Account::HALF_LIFE`].
    pub half_life: Option<Span>,
    /// How far receipts are trusted; `None` accepts every report that is possible. Default
    /// [`ReceiptTrust::default`].
    pub trust: Option<ReceiptTrust>,
    /// The largest clock error of an honest receiver: a reported arrival up to this long before the
    /// departure or after now is moved to the departure or to now. Default 50 ms. Too low refuses
    /// honest receivers nearby, whose delay is shorter than their clock's error; too high lets a
    /// dishonest receiver exploit it.
    pub clock_error_max: Span,
    /// What every receiver is guaranteed, whatever the scheduler decides. `None` guarantees
    /// nothing, which is for experiments only.
    pub liveness: Option<Liveness>,
}

/// What every receiver is guaranteed.
///
/// The dispatcher sends the newest DR vector to a receiver that the scheduler neglects: after
/// `silence_max` of silence; before its replica freezes on a moving entity; and repeatedly, while
/// an entity keeps to its path and the receiver has not acknowledged it. If the newest copy to a
/// receiver is found lost and the receiver is off because of it, the dispatcher retransmits at
/// once: one retransmission for every two acknowledged copies, and 64 for a new receiver, paid for
/// like any copy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Liveness {
    /// The longest time without a copy about an entity, for any receiver. Default 2 s.
    ///
    /// Shorter spends the budget on receivers without error: 1 s sends every standing entity to
    /// every receiver every second. Together with the longest delay it must be shorter than the
    /// horizon. Otherwise replicas of a living owner freeze until the copy arrives: 2 s leaves a
    /// second of the default 3 s for the delay.
    pub silence_max: Span,
    /// Once an entity has kept to its exported path for half of `silence_max`, receivers that are
    /// farther off than this are sent copies until one is acknowledged. In world units. Default
    /// 0.3, the tank's threshold.
    pub tolerance: f64,
}

impl Default for DispatcherConfig {
    fn default() -> Self {
        Self {
            horizon: Span::from_secs(3),
            half_life: Some(Account::HALF_LIFE),
            trust: Some(ReceiptTrust::default()),
            clock_error_max: Span::from_millis(50),
            liveness: Some(Liveness::default()),
        }
    }
}

impl DispatcherConfig {
    /// Returns the settings of the papers' experiments: accounts never forget, nothing is
    /// guaranteed, and all receipts are trusted.
    pub fn as_in_the_papers() -> Self {
        Self { half_life: None, trust: None, liveness: None, ..Self::default() }
    }
}

impl Liveness {
    /// Default of [`silence_max`](Self::silence_max).
    pub const SILENCE_MAX: Span = Span::from_secs(2);
}

impl Default for Liveness {
    fn default() -> Self {
        Self { silence_max: Self::SILENCE_MAX, tolerance: 0.3 }
    }
}

/// A copy to send now. Report it with [`Dispatcher::on_departed`] once it is sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Departure {
    /// The receiver and the DR vector, which [`Dispatcher::vector`] returns.
    pub claim: Claim,
    /// Whether the copy is sent for [`Liveness`] instead of for a claim of the scheduler.
    pub is_promise: bool,
}

/// Runs a scheduler for one sender: keeps the ledgers, accounts and delay estimates that the
/// scheduler reads, releases its claims when they are due, and guarantees [`Liveness`].
///
/// Report events with `on_*`, drain [`poll_departures`](Self::poll_departures), sleep until
/// [`poll_deadline`](Self::poll_deadline). `now` must never go backwards.
#[derive(Debug)]
pub struct Dispatcher<V: Planar> {
    config: DispatcherConfig,
    scheduler: Box<dyn Scheduler<V>>,
    random: Random,
    claims: Claims,
    timers: LivenessTimers,
    entities: BTreeMap<EntityId, EntityRecord<V>>,
    receivers: Directory<ReceiverRecord>,
    /// Reused from trigger to trigger.
    candidates: Vec<Candidate>,
    /// Above the ids of all copies ever sent: a removed entity may return before its receipts.
    next_copy: CopyId,
}

#[derive(Debug)]
struct EntityRecord<V: Planar> {
    ledger: Ledger<V>,
    recent: RecentVectors<V>,
    /// How many DR vectors were generated before the newest.
    index: u64,
    /// Since when the exported path has changed only by heartbeats.
    steady_since: SharedInstant,
}

#[derive(Debug)]
struct ReceiverRecord {
    account: Account,
    delay: DelayEstimate,
    /// Boxed, because a trigger walks over all receivers and rarely needs it.
    audit: Box<ReceiptAudit>,
    responsiveness: Responsiveness,
    /// Entities with unacknowledged copies to this receiver: receipts change only these.
    in_flight: BTreeSet<EntityId>,
}

impl<V: Planar> EntityRecord<V> {
    /// A claim to send the newest DR vector at once.
    fn newest_for(&self, receiver: ReceiverId, weight: f64, now: SharedInstant) -> Claim {
        let DrVector { entity, generated_at, .. } = *self.recent.newest();
        Claim { entity, receiver, due: now, weight, delay: None, generated_at }
    }
}

impl ReceiverRecord {
    /// The expected delay: by receipts or, without any, by the transport's round trips.
    #[inline]
    fn likely_delay(&self) -> Option<Span> {
        self.delay.mean().or_else(|| self.audit.transport_delay())
    }
}

impl<V: Planar> Dispatcher<V> {
    /// Returns a dispatcher without entities and receivers.
    pub fn new(config: DispatcherConfig, scheduler: Box<dyn Scheduler<V>>, random: Random) -> Self {
        Self {
            config,
            scheduler,
            random,
            claims: Claims::default(),
            timers: LivenessTimers::default(),
            entities: BTreeMap::new(),
            receivers: Directory::default(),
            candidates: Vec::new(),
            next_copy: CopyId::default(),
        }
    }

    /// Adds a receiver. It is sent every current and future entity except those hidden with
    /// [`hide`](Self::hide).
    pub fn join(&mut self, receiver: ReceiverId, now: SharedInstant) {
        if self.receivers.contains(receiver) {
            return;
        }
        let others: Vec<Account> = self.receivers.values().map(|other| other.account).collect();
        let account = Account::joining(self.config.half_life, &others, now);
        self.receivers.insert_if_new(receiver, || ReceiverRecord {
            account,
            delay: DelayEstimate::default(),
            audit: Box::default(),
            responsiveness: Responsiveness::default(),
            in_flight: BTreeSet::new(),
        });
        let entities: Vec<EntityId> = self.entities.keys().copied().collect();
        for entity in entities {
            self.show(entity, receiver, now);
        }
    }

    /// Removes a receiver.
    pub fn leave(&mut self, receiver: ReceiverId) {
        self.receivers.remove(receiver);
        self.claims.forget(receiver);
        self.timers.forget(receiver);
        self.scheduler.on_removed(Removed::Receiver(receiver));
        for entity in self.entities.values_mut() {
            entity.ledger.leave(receiver);
        }
    }

    /// Removes an entity.
    pub fn remove(&mut self, entity: EntityId) {
        let Some(gone) = self.entities.remove(&entity) else { return };
        for receiver in gone.ledger.receivers() {
            self.forget_pair(entity, receiver);
        }
        self.scheduler.on_removed(Removed::Entity(entity));
    }

    /// Adds the entity to a receiver's scope.
    pub fn show(&mut self, entity: EntityId, receiver: ReceiverId, now: SharedInstant) {
        let Some(shown) = self.entities.get_mut(&entity) else { return };
        if self.receivers.contains(receiver) && !shown.ledger.has_page(receiver) {
            shown.ledger.join(receiver, now);
            self.timers.watch(entity, receiver, now);
            self.scheduler.on_joined(entity, receiver, now);
        }
    }

    /// Removes the entity from a receiver's scope.
    pub fn hide(&mut self, entity: EntityId, receiver: ReceiverId) {
        if let Some(hidden) = self.entities.get_mut(&entity) {
            hidden.ledger.leave(receiver);
            self.forget_pair(entity, receiver);
            self.scheduler.on_removed(Removed::Pair(entity, receiver));
        }
    }

    /// Handles a new DR vector, generated for `reason`: books it and lets the scheduler decide.
    pub fn on_generated(&mut self, vector: &DrVector<V>, reason: TriggerReason, now: SharedInstant) {
        let about = vector.entity;
        let entity = self.entities.entry(about).or_insert_with(|| {
            let mut ledger = Ledger::new(self.config.horizon).with_next_copy(self.next_copy);
            for receiver in self.receivers.receivers() {
                ledger.join(receiver, now);
                self.timers.watch(about, receiver, now);
            }
            EntityRecord { ledger, recent: RecentVectors::new(vector), index: 0, steady_since: now }
        });
        if entity.recent.newest().generated_at != vector.generated_at {
            entity.index += 1;
        }
        entity.recent.push(vector);
        if reason == TriggerReason::Heartbeat {
            // The entity continues on its path: a copy for liveness may be due at once.
            for receiver in entity.ledger.receivers() {
                self.timers.watch(about, receiver, now);
            }
        } else {
            entity.steady_since = now;
        }
        self.decide(about, Some(vector), now, |scheduler, context, random, claims| {
            scheduler.on_trigger(context, random, claims);
        });
    }

    /// Returns the copies to send now to `receiver`, or to all receivers, the largest weight first.
    ///
    /// Costs nothing for other receivers, unless the scheduler's own deadline has come.
    pub fn poll_departures(&mut self, receiver: Option<ReceiverId>, now: SharedInstant) -> Vec<Departure> {
        if self.scheduler.poll_deadline().is_some_and(|deadline| deadline <= now) {
            let entities: Vec<EntityId> = self.entities.keys().copied().collect();
            for entity in entities {
                self.decide(entity, None, now, |scheduler, context, random, claims| {
                    scheduler.on_deadline(context, random, claims);
                });
            }
        }
        let promised = self.promised(receiver, now);
        let claimed = self.claims.drain_due(receiver, now);
        let mut departures = Vec::with_capacity(claimed.len() + promised.len());
        departures.extend(claimed.map(|claim| Departure { claim, is_promise: false }));
        departures.extend(promised.into_iter().map(|claim| Departure { claim, is_promise: true }));
        departures
    }

    /// Returns when [`poll_departures`](Self::poll_departures) may next return something, unless an
    /// event comes first.
    pub fn poll_deadline(&self) -> Option<SharedInstant> {
        let promised = self.config.liveness.and_then(|_| self.timers.poll_deadline());
        [self.claims.poll_deadline(), self.scheduler.poll_deadline(), promised].into_iter().flatten().min()
    }

    /// Returns whether [`poll_departures`](Self::poll_departures) may return something for this
    /// receiver by now.
    pub fn is_due(&self, receiver: ReceiverId, now: SharedInstant) -> bool {
        self.due(receiver).is_some_and(|due| due <= now)
    }

    /// Returns when [`poll_departures`](Self::poll_departures) may have a copy for this receiver.
    pub fn due(&self, receiver: ReceiverId) -> Option<SharedInstant> {
        let promised = self.config.liveness.and_then(|_| self.timers.due(receiver));
        [self.scheduler.poll_deadline(), self.claims.due(receiver), promised].into_iter().flatten().min()
    }

    /// Returns the DR vector of a claim. If it is forgotten because many newer ones were generated
    /// since, returns a newer one; `None` if the entity was removed.
    pub fn vector(&self, claim: &Claim) -> Option<&DrVector<V>> {
        Some(self.entities.get(&claim.entity)?.recent.get(claim.generated_at))
    }

    /// Puts back a departure that did not fit into the packet. It waits, unless a newer claim does.
    pub fn put_back(&mut self, departure: Departure) {
        if !departure.is_promise {
            self.claims.put_back(departure.claim);
        }
    }

    /// Books a sent copy, at this cost in the budget's unit. Returns the id for its receipt.
    pub fn on_departed(&mut self, claim: &Claim, at: SharedInstant, cost: f64) -> Option<CopyId> {
        let receiver = self.receivers.get_mut(claim.receiver)?;
        let delay = claim.delay.or_else(|| receiver.likely_delay());
        let entity = self.entities.get_mut(&claim.entity)?;
        receiver.in_flight.insert(claim.entity);
        receiver.responsiveness.handle_departure(at);
        let vector = entity.recent.get(claim.generated_at);
        self.claims.forget_repeated(claim.entity, claim.receiver, vector.generated_at);
        self.scheduler.on_departed(claim.entity, claim.receiver, at, cost);
        if let Some(liveness) = &self.config.liveness {
            let freezes_at = vector.generated_at + self.config.horizon;
            let look_at = liveness.next_look(entity.steady_since, at, freezes_at);
            self.timers.watch_anew(claim.entity, claim.receiver, look_at);
        }
        let copy = entity.ledger.on_departed(claim.receiver, vector, at, delay)?;
        self.next_copy = self.next_copy.max(copy.next());
        Some(copy)
    }

    /// Books a receipt that came at `now`, which says that a copy arrived at `received_at`.
    pub fn on_receipt(
        &mut self,
        entity: EntityId,
        receiver: ReceiverId,
        copy: CopyId,
        received_at: SharedInstant,
        now: SharedInstant,
    ) -> Booking {
        let Some((book, from)) = self.entities.get_mut(&entity).zip(self.receivers.get_mut(receiver)) else {
            return Booking::Impossible;
        };
        let sent_at = match book.ledger.departure(receiver, copy) {
            Ok(Some(sent_at)) => sent_at,
            Ok(None) => return Booking::NoNews,
            Err(NeverSent) => return Booking::Impossible,
        };
        let slack = self.config.clock_error_max;
        let is_impossible = received_at < sent_at - slack || received_at > now + slack;
        let is_distrusted = self.config.trust.is_some_and(|trust| from.audit.is_distrusted(&trust));
        if is_impossible && !is_distrusted {
            from.audit.handle_report(false);
            return Booking::Impossible;
        }
        from.audit.handle_round_trip(now - sent_at, now);
        let said = received_at.min(now).max(sent_at);
        let (believed, is_credible) = match &self.config.trust {
            Some(trust) => {
                let latest = from.audit.latest_arrival(trust, now);
                let possible = if is_distrusted {
                    sent_at + from.audit.likely_delay(now - sent_at)
                } else {
                    said.min(latest)
                };
                let is_consistent = !from.audit.has_denied(received_at + slack);
                let believed = possible.max(sent_at).min(sent_at + trust.delay_max);
                (believed, !is_impossible && is_consistent && received_at <= latest + slack)
            }
            None => (said, !is_impossible),
        };
        if !book.ledger.on_receipt(receiver, copy, believed) {
            return Booking::NoNews;
        }
        from.responsiveness.handle_receipt();
        from.audit.handle_report(is_credible);
        from.audit.handle_delay(said - sent_at, believed - sent_at, now - sent_at);
        from.delay.handle_sample(believed - sent_at);
        if is_credible && !is_distrusted && believed == said { Booking::Booked } else { Booking::Corrected }
    }

    /// Takes a round trip to a receiver as the transport measured it. Call it whenever feedback
    /// comes; a smoothed value is enough.
    ///
    /// QUIC acknowledges datagrams on its own, before the application reads them. A receiver cannot
    /// delay these acknowledgements without delaying everything. So they reveal a receiver that
    /// holds receipts back.
    pub fn on_transport_round_trip(&mut self, receiver: ReceiverId, round_trip: Span) {
        if let Some(book) = self.receivers.get_mut(receiver) {
            book.audit.handle_transport_round_trip(round_trip);
        }
    }

    /// Counts feedback that did not prove the receipt of its datagrams as an untrue report; its
    /// receipts are not booked. [`SentPackets`](crate::link::SentPackets) checks the proof.
    pub fn on_unproven(&mut self, receiver: ReceiverId) {
        if let Some(from) = self.receivers.get_mut(receiver) {
            from.audit.handle_report(false);
        }
    }

    /// Handles a report of `now`: the receiver has acknowledged all that arrived before `until`.
    pub fn on_complete(&mut self, receiver: ReceiverId, until: SharedInstant, now: SharedInstant) {
        let Some(book) = self.receivers.get_mut(receiver) else { return };
        let until = match &self.config.trust {
            Some(trust) => {
                book.audit.handle_complete(until.min(now));
                // Shifted by as much as its arrivals are booked earlier than reported.
                let meant = until - book.audit.overstatement();
                meant.min(book.audit.latest_arrival(trust, now))
            }
            None => until.min(now),
        };
        let patience = book.delay.high().unwrap_or(self.config.horizon);
        let ReceiverRecord { in_flight, responsiveness, .. } = book;
        in_flight.retain(|about| {
            let Some(entity) = self.entities.get_mut(about) else { return false };
            let is_lost = entity.ledger.on_complete(receiver, until, patience);
            if is_lost && let Some(liveness) = &self.config.liveness {
                let is_wanted = liveness.wants_again(&entity.ledger, receiver, now);
                if is_wanted
                    && !self.claims.is_waiting(*about, receiver)
                    && responsiveness.spend_on_retransmission()
                {
                    let error =
                        entity.ledger.standing(receiver).map_or(0.0, |standing| standing.instantaneous);
                    self.claims.insert(entity.newest_for(receiver, error.max(0.0), now));
                }
            }
            entity.ledger.has_open(receiver)
        });
    }

    /// Returns the newest DR vector of an entity.
    pub fn newest(&self, entity: EntityId) -> Option<&DrVector<V>> {
        self.entities.get(&entity).map(|entity| entity.recent.newest())
    }

    /// Returns the ledger of an entity.
    pub fn ledger(&self, entity: EntityId) -> Option<&Ledger<V>> {
        self.entities.get(&entity).map(|entity| &entity.ledger)
    }

    /// Returns the account of a receiver, as of the last decision.
    pub fn account(&self, receiver: ReceiverId) -> Option<&Account> {
        self.receivers.get(receiver).map(|receiver| &receiver.account)
    }

    /// Returns the delay estimate of a receiver.
    pub fn delay(&self, receiver: ReceiverId) -> Option<&DelayEstimate> {
        self.receivers.get(receiver).map(|receiver| &receiver.delay)
    }

    /// Advances all ledgers and accounts to `now`.
    pub fn advance(&mut self, now: SharedInstant) {
        for entity in self.entities.values_mut() {
            let mut books = self.receivers.walk();
            let counts = !entity.ledger.is_outdated(now);
            entity.ledger.advance_and_visit(now, |receiver, growth, _| {
                if let Some(book) = books.find(receiver).filter(|_| counts) {
                    book.account.add(growth);
                }
            });
        }
        for receiver in self.receivers.values_mut() {
            receiver.account.advance(now);
        }
    }

    fn forget_pair(&mut self, entity: EntityId, receiver: ReceiverId) {
        self.claims.forget_pair(entity, receiver);
        self.timers.forget_pair(entity, receiver);
        if let Some(record) = self.receivers.get_mut(receiver) {
            record.in_flight.remove(&entity);
        }
    }

    /// Lets the scheduler decide about an entity, after adding the DR vector `cut` to its ledger.
    fn decide(
        &mut self,
        about: EntityId,
        cut: Option<&DrVector<V>>,
        now: SharedInstant,
        ask: impl FnOnce(&mut dyn Scheduler<V>, &DecisionContext<'_, V>, &mut Random, &mut Claims),
    ) {
        let Some(entity) = self.entities.get_mut(&about) else { return };
        self.candidates.clear();
        let mut account_secs: f64 = 0.0;
        let mut books = self.receivers.walk();
        let candidates = &mut self.candidates;
        let is_guarded = self.config.trust.is_some();
        let counts = !entity.ledger.is_outdated(now);
        let tell = |receiver, growth, mut standing: Standing| {
            let Some(book) = books.find(receiver) else { return };
            // A receiver that stays silent does not count as new forever.
            standing.has_acknowledged |= is_guarded && now - standing.joined > ReceiptTrust::SILENCE_MAX;
            book.account.add(if counts { growth } else { 0.0 });
            book.account.advance(now);
            account_secs = account_secs.max(book.account.secs());
            candidates.push(Candidate {
                receiver,
                standing,
                account: book.account.rate(),
                delay: book.likely_delay(),
                silent_since: standing.last_sent.unwrap_or(standing.joined),
                acknowledges: !book.responsiveness.is_unresponsive(now),
            });
        };
        match cut {
            Some(vector) => entity.ledger.on_generated_and_visit(vector, now, tell),
            None => entity.ledger.advance_and_visit(now, tell),
        }
        let context = DecisionContext {
            entity: about,
            vector: entity.recent.newest(),
            index: entity.index,
            now,
            ledger: &entity.ledger,
            candidates: &self.candidates,
            account_secs,
        };
        ask(&mut *self.scheduler, &context, &mut self.random, &mut self.claims);
    }

    /// The copies that are due for liveness and were not claimed by the scheduler.
    fn promised(&mut self, receiver: Option<ReceiverId>, now: SharedInstant) -> Vec<Claim> {
        let mut promised = Vec::new();
        let Some(liveness) = self.config.liveness else { return promised };
        self.timers.look(receiver, now, |about, to| {
            let (Some(entity), Some(book)) = (self.entities.get(&about), self.receivers.get(to)) else {
                return now + liveness.half();
            };
            let Promise { due, look_at } = liveness.promise(entity, to, book, now);
            if due <= now && !self.claims.is_due(about, to, now) {
                promised.push(entity.newest_for(to, 0.0, now));
            }
            look_at
        });
        promised
    }
}

/// The latest instant at which a receiver must be sent an entity, and when to check it again.
#[derive(Clone, Copy, Debug)]
struct Promise {
    due: SharedInstant,
    look_at: SharedInstant,
}

impl Liveness {
    /// Number of copies to a receiver that is off a steady entity, sent early enough to arrive
    /// within `silence_max` and a round trip. Eight: at 30 % loss all are lost once in 15 000.
    const REPEATS: i64 = 8;
    /// The longest delay for which a copy is sent early enough to arrive before a replica freezes:
    /// the far end of the links that we promise to serve. A replica farther away freezes now and
    /// then, instead of being sent copies all the time.
    const DELAY_MAX: Span = Span::from_secs(1);

    fn half(&self) -> Span {
        self.silence_max.scaled(0.5)
    }

    /// The interval between repeats when time is short: all fit into half of the available time.
    fn gap(&self) -> Span {
        Span::from_micros(self.half().as_micros() / (2 * Self::REPEATS))
    }

    /// The first instant at which a copy can be due after a DR vector that freezes at `freezes_at`.
    fn next_look(
        &self,
        steady_since: SharedInstant,
        told_at: SharedInstant,
        freezes_at: SharedInstant,
    ) -> SharedInstant {
        let may_repeat = steady_since + self.half();
        let may_freeze = freezes_at - Self::DELAY_MAX;
        may_repeat.min(may_freeze).max(told_at + self.gap())
    }

    fn promise<V: Planar>(
        &self,
        entity: &EntityRecord<V>,
        receiver: ReceiverId,
        book: &ReceiverRecord,
        now: SharedInstant,
    ) -> Promise {
        let (ledger, delay) = (&entity.ledger, &book.delay);
        let later = now + self.half();
        let Some(standing) = ledger.standing(receiver) else { return Promise { due: later, look_at: later } };
        let silent_since = standing.last_sent.unwrap_or(standing.joined);
        let mut due = silent_since + self.silence_max;

        // A repeat does not help a receiver that would freeze on it, or one that does not listen.
        let is_outdated = ledger.newest_freezes_at().is_none_or(|freezes_at| now > freezes_at);
        let is_of_use = !is_outdated && !book.responsiveness.is_unresponsive(now);
        if is_of_use && !ledger.has_confirmed(receiver, self.tolerance, now) {
            let is_under_way = ledger.distance_if_nothing_sent(receiver, now) <= self.tolerance;
            due = due.min(self.repeat_at(entity.steady_since, silent_since, delay, is_under_way));
        }

        let mut look_at = later;
        if let Some(freezes_at) = ledger.freezes_at(receiver) {
            let way = delay.high().unwrap_or(Span::ZERO).min(Self::DELAY_MAX);
            let in_time = (freezes_at - way).max(silent_since + self.gap());
            let is_harmful =
                ledger.distance_if_nothing_sent(receiver, freezes_at + self.silence_max) > self.tolerance;
            if !standing.has_newest && is_harmful {
                due = due.min(in_time);
            }
            if in_time > now {
                look_at = look_at.min(in_time);
            }
        }
        Promise { due, look_at: due.min(look_at) }
    }

    /// Whether a receiver that lost its newest copy is sent the newest DR vector: it is off without
    /// it, or will be before the repeats for a steady entity begin.
    fn wants_again<V: Planar>(&self, ledger: &Ledger<V>, receiver: ReceiverId, now: SharedInstant) -> bool {
        let is_off = |at| ledger.distance_if_nothing_sent(receiver, at) > self.tolerance;
        !ledger.is_outdated(now) && (is_off(now) || is_off(now + self.half()))
    }

    /// When a receiver that has not acknowledged a steady entity's path is sent a repeat. At once,
    /// after half of `silence_max`, if nothing right is under way. Otherwise there is time to wait
    /// for the receipt, so that a receiver without loss is sent one copy. If no receipt comes, all
    /// repeats are sent before the last moment at which a copy is in time.
    fn repeat_at(
        &self,
        steady_since: SharedInstant,
        silent_since: SharedInstant,
        delay: &DelayEstimate,
        is_under_way: bool,
    ) -> SharedInstant {
        let begin = steady_since + self.half();
        let soonest = begin.max(silent_since + self.gap());
        if !is_under_way {
            return soonest;
        }
        let round_trip = delay.high().map_or_else(|| self.half(), |high| high.scaled(2.0));
        let answered = soonest.max(silent_since + round_trip);
        let last = steady_since + self.silence_max + delay.mean().unwrap_or(Span::ZERO).max(Span::ZERO);
        let burst = last - Span::from_micros(self.gap().as_micros() * (Self::REPEATS - 1));
        if soonest > last {
            // A receiver that never answers gets no more than this.
            answered.max(silent_since + self.half())
        } else {
            answered.min(soonest.max(burst))
        }
    }
}
