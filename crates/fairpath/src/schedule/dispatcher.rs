use super::account::Fading;
use super::deadlines::NEVER;
use super::entity_table::EntityTable;
use super::liveness::{Liveness, Promise};
use super::open_copies::{FoundCopy, OpenCopies};
use super::receipt_trust::{Booking, ReceiptAudit, ReceiptTrust};
use super::recent_vectors::RecentVectors;
use super::redundancy::{CopyPlan, Repeats};
use super::responsiveness::Responsiveness;
use super::shared_claims::SharedClaim;
use super::watches::{Pace, Watch, WatchRow};
use super::{Account, Candidate, Claim, Claims, DecisionContext, Removed, Scheduler, WaitingCopy};
use crate::clock::DelayEstimate;
use crate::directory::{Directory, Walk};
use crate::dr_vector::DrVector;
use crate::ledger::{CopyId, CopyRange, Ledger, Standing};
use crate::link::{Refused, Settled};
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

/// A copy to send now. Report it with [`Dispatcher::on_departed`] once it is sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Departure {
    /// The receiver and the DR vector, which [`Dispatcher::vector`] returns.
    pub claim: Claim,
    /// Why the copy is sent.
    pub kind: DepartureKind,
}

/// Why a copy is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DepartureKind {
    /// The scheduler claimed it, or a lost copy is sent again.
    Claim,
    /// [`Liveness`] or the pace of the entity's class wants it.
    Promise,
    /// The same DR vector was sent a moment ago, and the link loses datagrams ([`CopyPlan`]). It
    /// costs the scheduler's budget nothing: the byte budget of its receiver pays for it.
    Repeat,
    /// A session announces the entity with this DR vector in it, on a stream.
    Announcement,
}

/// The result of feedback that was believed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FeedbackOutcome {
    /// Datagrams newly known to have arrived.
    pub receipts: usize,
    /// Copies in them that were booked at another time than stated, or not believed.
    pub corrected: usize,
    /// Datagrams newly counted as lost, because three later ones have arrived. If the receipt of
    /// one comes later, it counts among `receipts`.
    pub lost: usize,
}

/// Runs a scheduler for one sender: keeps the ledgers, accounts and delay estimates that the
/// scheduler reads, releases its claims when they are due, and guarantees [`Liveness`].
///
/// Report events with `on_*`, drain [`poll_departures`](Self::poll_departures), sleep until
/// [`poll_deadline`](Self::poll_deadline). `now` must never go backwards.
///
/// Entities have slots and receivers have places: small numbers by which lists are indexed. What
/// belongs to a pair and is walked for all receivers is in the entity's [`Ledger`]; what is walked
/// for all entities of one receiver is in the receiver's `WatchRow`.
#[derive(Debug)]
pub struct Dispatcher<V: Planar> {
    config: DispatcherConfig,
    scheduler: Box<dyn Scheduler<V>>,
    random: Random,
    claims: Claims,
    entities: EntityTable<EntityRecord<V>>,
    receivers: Directory<ReceiverRecord>,
    /// Whether any entity has ever had a least interval between copies.
    has_interval_min: bool,
    /// How many DR vectors were generated, of all entities.
    generated: u64,
    /// Reused from trigger to trigger.
    candidates: Vec<Candidate>,
    /// Reused from report to report.
    overdue: Vec<EntityId>,
    /// Above the ids of all copies to receivers that left: one may return before its receipts.
    next_copy: CopyId,
}

#[derive(Debug)]
pub(super) struct EntityRecord<V: Planar> {
    pub(super) ledger: Ledger<V>,
    recent: RecentVectors<V>,
    /// How many DR vectors were generated before the newest.
    index: u64,
    /// Since when the exported path has changed only by heartbeats.
    pub(super) steady_since: SharedInstant,
    pace: Option<Pace>,
    /// The last departure of a copy, for the next receiver of the same DR vector.
    departure: Option<EntityDeparture>,
}

/// What a departure means to all receivers that are sent the same DR vector at the same instant.
#[derive(Clone, Copy, Debug)]
struct EntityDeparture {
    claimed: SharedInstant,
    at: SharedInstant,
    /// When the DR vector was generated that leaves for this claim.
    generated_at: SharedInstant,
    /// When the pair is next looked at.
    look_at: SharedInstant,
}

#[derive(Debug)]
pub(super) struct ReceiverRecord {
    account: Account,
    pub(super) delay: DelayEstimate,
    pub(super) responsiveness: Responsiveness,
    copies: OpenCopies,
    watches: WatchRow,
    /// Boxed like the audit: most links lose nothing.
    repeats: Box<Repeats>,
    /// Boxed, because a trigger walks over all receivers and rarely needs it.
    audit: Box<ReceiptAudit>,
}

impl<V: Planar> EntityRecord<V> {
    /// The departure of the DR vector that was claimed by its generation time.
    #[inline]
    fn departure(
        &mut self,
        claimed: SharedInstant,
        at: SharedInstant,
        config: &DispatcherConfig,
    ) -> EntityDeparture {
        match self.departure {
            Some(known) if known.claimed == claimed && known.at == at => known,
            _ => *self.departure.insert(self.new_departure(claimed, at, config)),
        }
    }

    fn new_departure(
        &self,
        claimed: SharedInstant,
        at: SharedInstant,
        config: &DispatcherConfig,
    ) -> EntityDeparture {
        let generated_at = self.recent.get(claimed).generated_at;
        let look_at = config.liveness.as_ref().map_or(NEVER, |liveness| {
            liveness.next_look(self.steady_since, at, generated_at + config.horizon)
        });
        let look_at = self.pace.map_or(look_at, |pace| look_at.min(at + pace.interval_max));
        EntityDeparture { claimed, at, generated_at, look_at }
    }

    /// A claim to send the newest DR vector at once.
    fn newest_for(&self, receiver: ReceiverId, weight: f64, now: SharedInstant) -> Claim {
        let DrVector { entity, generated_at, .. } = *self.recent.newest();
        Claim { entity, receiver, due: now, weight, delay: None, generated_at }
    }
}

impl ReceiverRecord {
    /// When a copy may be due for liveness, by an entity's pace or as a repeat.
    #[inline]
    fn look_at(&self) -> SharedInstant {
        self.watches.earliest().min(self.repeats.earliest())
    }

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
            entities: EntityTable::default(),
            receivers: Directory::default(),
            has_interval_min: false,
            generated: 0,
            candidates: Vec::new(),
            overdue: Vec::new(),
            next_copy: CopyId::default(),
        }
    }

    // ── entities and receivers ──

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
            responsiveness: Responsiveness::default(),
            copies: OpenCopies::new(self.next_copy),
            watches: WatchRow::default(),
            repeats: Box::default(),
            audit: Box::default(),
        });
        self.claims.shared.join(receiver);
        let entities: Vec<EntityId> = self.entities.ids().map(|(entity, _)| entity).collect();
        for entity in entities {
            self.show(entity, receiver, now);
        }
    }

    /// Removes a receiver.
    pub fn leave(&mut self, receiver: ReceiverId) {
        if let Some(record) = self.receivers.get(receiver) {
            self.next_copy = self.next_copy.max(record.copies.next());
        }
        self.receivers.remove(receiver);
        self.claims.forget(receiver);
        self.claims.shared.leave(receiver);
        self.scheduler.on_removed(Removed::Receiver(receiver));
        for entity in self.entities.values_mut() {
            entity.ledger.leave(receiver);
        }
    }

    /// Removes an entity.
    pub fn remove(&mut self, entity: EntityId) {
        let Some((slot, gone)) = self.entities.remove(entity) else { return };
        for receiver in gone.ledger.receivers() {
            self.forget_pair(entity, slot, receiver);
        }
        self.scheduler.on_removed(Removed::Entity(entity));
    }

    /// Adds the entity to a receiver's scope.
    pub fn show(&mut self, entity: EntityId, receiver: ReceiverId, now: SharedInstant) {
        let Some(slot) = self.entities.slot(entity) else { return };
        if let Some(place) = self.receivers.find(receiver) {
            // What was cut before is not for a receiver that sees the entity only now.
            self.own_shared_claims(place);
        }
        let (Some(shown), Some(record)) = (self.entities.at_mut(slot), self.receivers.get_mut(receiver))
        else {
            return;
        };
        if !shown.ledger.has_page(receiver) {
            shown.ledger.join(receiver, now);
            record.watches.show(slot, now);
            if self.config.liveness.is_some() || shown.pace.is_some() {
                record.watches.watch(slot, now);
            }
            self.scheduler.on_joined(entity, receiver, now);
        }
    }

    /// Removes the entity from a receiver's scope.
    pub fn hide(&mut self, entity: EntityId, receiver: ReceiverId) {
        let Some(slot) = self.entities.slot(entity) else { return };
        if let Some(hidden) = self.entities.at_mut(slot) {
            hidden.ledger.leave(receiver);
            self.forget_pair(entity, slot, receiver);
            self.scheduler.on_removed(Removed::Pair(entity, receiver));
        }
    }

    /// Sets how often receivers may and must be sent an entity. Default: as the scheduler decides.
    pub(crate) fn set_pace(&mut self, entity: EntityId, pace: Pace) {
        let Some(slot) = self.entities.slot(entity) else { return };
        let Some(entity) = self.entities.at_mut(slot) else { return };
        entity.pace = Some(pace);
        entity.departure = None;
        self.has_interval_min |= pace.interval_min > Span::ZERO;
        for receiver in entity.ledger.receivers() {
            if let Some(record) = self.receivers.get_mut(receiver) {
                record.watches.watch(slot, SharedInstant::from_micros(i64::MIN));
            }
        }
    }

    /// Sets how DR vectors that are sent to this receiver from now on are repeated against loss.
    /// Default: not at all.
    pub(crate) fn set_copy_plan(&mut self, receiver: ReceiverId, plan: CopyPlan) {
        if let Some(record) = self.receivers.get_mut(receiver) {
            record.repeats.set_plan(plan);
        }
    }

    // ── triggers ──

    /// Handles a new DR vector, generated for `reason`: books it and lets the scheduler decide.
    pub fn on_generated(&mut self, vector: &DrVector<V>, reason: TriggerReason, now: SharedInstant) {
        let slot = self.entities.slot(vector.entity).unwrap_or_else(|| self.add(vector, now));
        self.generated += 1;
        let Some(entity) = self.entities.at_mut(slot) else { return };
        if entity.recent.newest().generated_at != vector.generated_at {
            entity.index += 1;
        }
        entity.recent.push(vector);
        if reason != TriggerReason::Heartbeat {
            entity.steady_since = now;
        }
        entity.departure = None;
        let shared = self.claims.shared.end();
        self.decide(slot, Some(vector), now, |scheduler, context, random, claims| {
            scheduler.on_trigger(context, random, claims);
        });
        let goes_to_all = self.claims.shared.end() > shared;
        if reason == TriggerReason::Heartbeat && self.config.liveness.is_some() && !goes_to_all {
            self.watch_all(slot, now);
        }
        if self.claims.shared.is_full() {
            (0..self.receivers.len()).for_each(|place| self.own_shared_claims(place));
        }
    }

    /// Looks at all pairs of an entity that continues on its path: a copy for liveness may be due
    /// at once.
    fn watch_all(&mut self, slot: usize, now: SharedInstant) {
        let Some(entity) = self.entities.at(slot) else { return };
        let mut records = self.receivers.walk();
        for receiver in entity.ledger.receivers() {
            if let Some(record) = records.find(receiver) {
                record.watches.watch(slot, now);
            }
        }
    }

    /// Adds the entity of this DR vector, which all receivers see. Returns its slot.
    fn add(&mut self, vector: &DrVector<V>, now: SharedInstant) -> usize {
        let mut ledger = Ledger::new(self.config.horizon);
        self.receivers.receivers().for_each(|receiver| ledger.join(receiver, now));
        let recent = RecentVectors::new(vector);
        let record =
            EntityRecord { ledger, recent, index: 0, steady_since: now, pace: None, departure: None };
        let slot = self.entities.insert(vector.entity, record);
        for record in self.receivers.values_mut() {
            record.watches.show(slot, now);
            if self.config.liveness.is_some() {
                record.watches.watch(slot, now);
            }
        }
        slot
    }

    // ── departures ──

    /// Returns the copies to send now to `receiver`, or to all receivers, the largest weight first.
    ///
    /// Costs nothing for other receivers, unless the scheduler's own deadline has come.
    pub fn poll_departures(&mut self, receiver: Option<ReceiverId>, now: SharedInstant) -> Vec<Departure> {
        self.handle_deadline(now);
        let mut promised = Vec::new();
        let places = match receiver {
            Some(receiver) => self.receivers.find(receiver).map_or(0..0, |place| place..place + 1),
            None => 0..self.receivers.len(),
        };
        for place in places {
            self.own_shared_claims(place);
            self.promise(place, now, &mut promised);
        }
        let claimed = self.claims.drain_due(receiver, now);
        let mut departures = Vec::with_capacity(claimed.len() + promised.len());
        departures.extend(claimed.map(|claim| Departure { claim, kind: DepartureKind::Claim }));
        departures.append(&mut promised);
        departures
    }

    /// Collects the copies to send now to `receiver`, at most one of each entity, in the order of
    /// entity ids, at most `repeats_max` of them repeats. Copies that may not leave yet stay.
    pub(crate) fn poll_packet(
        &mut self,
        receiver: ReceiverId,
        now: SharedInstant,
        repeats_max: usize,
        departures: &mut Vec<Departure>,
    ) {
        departures.clear();
        self.handle_deadline(now);
        let Some(place) = self.receivers.find(receiver) else { return };
        self.promise(place, now, departures);
        self.move_shared_claims(place, departures);
        self.claims.move_due(receiver, now, departures);
        if self.has_interval_min {
            self.hold_early(place, now, departures);
        }
        self.repeat(place, now, repeats_max, departures);
        let is_in_order = departures.is_sorted_by(|one, other| one.claim.entity < other.claim.entity);
        if !is_in_order {
            // Of two copies of one entity the newer; of two equal ones the scheduler's.
            departures.sort_by_key(|it| (it.claim.entity, std::cmp::Reverse(it.claim.generated_at), it.kind));
            departures.dedup_by_key(|departure| departure.claim.entity);
        }
    }

    /// Returns when [`poll_departures`](Self::poll_departures) may next return something, unless an
    /// event comes first.
    pub fn poll_deadline(&self) -> Option<SharedInstant> {
        let looks = self.receivers.values().map(ReceiverRecord::look_at).min();
        let looks = looks.filter(|at| *at < NEVER);
        [self.claims.poll_deadline(), self.scheduler.poll_deadline(), looks].into_iter().flatten().min()
    }

    /// Returns when there may be a copy for this receiver, unless an event comes first.
    pub fn next_due(&self, receiver: ReceiverId) -> Option<SharedInstant> {
        let place = self.receivers.find(receiver)?;
        let look_at = self.receivers.at(place).map_or(NEVER, ReceiverRecord::look_at);
        let due = self.claims.due(receiver, place).min(look_at);
        let due = self.scheduler.poll_deadline().map_or(due, |deadline| deadline.min(due));
        Some(due).filter(|due| *due < NEVER)
    }

    /// Returns the DR vector of a claim. If it is forgotten because many newer ones were generated
    /// since, returns a newer one; `None` if the entity was removed.
    #[inline]
    pub fn vector(&self, claim: &Claim) -> Option<&DrVector<V>> {
        Some(self.entities.get(claim.entity)?.recent.get(claim.generated_at))
    }

    /// Returns how many DR vectors were generated so far. As long as it stays the same, equal
    /// claims have equal DR vectors.
    pub(crate) fn generated(&self) -> u64 {
        self.generated
    }

    /// Returns how early a copy leaves that does not fit beside the others (the scheduler's rank),
    /// and the time since the last copy about its entity. Repeats come last.
    pub(crate) fn rank(&self, departure: &Departure, now: SharedInstant) -> (f64, Span) {
        let claim = &departure.claim;
        if departure.kind == DepartureKind::Repeat {
            return (f64::NEG_INFINITY, Span::ZERO);
        }
        let slot = self.entities.slot(claim.entity);
        let entity = slot.and_then(|slot| self.entities.at(slot));
        let record = self.receivers.get(claim.receiver);
        let Some(((slot, entity), record)) = slot.zip(entity).zip(record) else {
            return (claim.weight, Span::ZERO);
        };
        let silence = record.watches.get(slot).map_or(Span::ZERO, |watch| watch.silence(now));
        let delay = record.likely_delay();
        let rank = self.scheduler.rank(&WaitingCopy { claim, ledger: &entity.ledger, silence, delay, now });
        (rank, silence)
    }

    /// Puts back a departure that did not fit into the packet. It waits, unless a newer claim does.
    pub fn put_back(&mut self, departure: Departure) {
        if departure.kind == DepartureKind::Claim {
            self.claims.put_back(departure.claim);
        }
    }

    /// Books a sent copy, at this cost in the budget's unit. Returns the id for its receipt.
    pub fn on_departed(&mut self, claim: &Claim, at: SharedInstant, cost: f64) -> Option<CopyId> {
        let place = self.receivers.find(claim.receiver)?;
        self.own_shared_claims(place);
        self.forget_repeated(claim);
        let copies = self.depart(place, std::iter::once((claim, DepartureKind::Claim)), at, cost);
        copies.iter().next()
    }

    /// Books the copies of one packet, all to `receiver`.
    pub(crate) fn on_packet_departed(
        &mut self,
        receiver: ReceiverId,
        departures: &[Departure],
        at: SharedInstant,
        cost: f64,
    ) -> CopyRange {
        let Some(place) = self.receivers.find(receiver) else { return CopyRange::EMPTY };
        self.own_shared_claims(place);
        if self.claims.has_any(receiver) {
            departures.iter().for_each(|departure| self.forget_repeated(&departure.claim));
        }
        self.depart(place, departures.iter().map(|it| (&it.claim, it.kind)), at, cost)
    }

    /// Books the newest DR vector as sent to a receiver in the announcement of its entity, which
    /// travels on a stream. [`on_announcement_confirmed`](Self::on_announcement_confirmed) is its
    /// receipt: reports about datagrams say nothing about it. The stream repeats what is lost.
    pub(crate) fn on_announced(
        &mut self,
        entity: EntityId,
        receiver: ReceiverId,
        at: SharedInstant,
    ) -> Option<CopyId> {
        let claim = self.entities.get(entity)?.newest_for(receiver, 0.0, at);
        let place = self.receivers.find(receiver)?;
        self.own_shared_claims(place);
        self.forget_repeated(&claim);
        let copies = self.depart(place, std::iter::once((&claim, DepartureKind::Announcement)), at, 1.0);
        copies.iter().next()
    }

    /// Books that a receiver has an announcement. Without an arrival the expected one stands, as a
    /// guess that the ledger counts.
    pub(crate) fn on_announcement_confirmed(
        &mut self,
        receiver: ReceiverId,
        copy: CopyId,
        arrived_at: Option<SharedInstant>,
        now: SharedInstant,
    ) {
        let Some(place) = self.receivers.find(receiver) else { return };
        let from = self.receivers.at_mut(place);
        let FoundCopy::Open(open) = from.copies.find(copy) else { return };
        from.copies.close(copy);
        from.responsiveness.handle_receipts(1);
        let Some(entity) = self.entities.get_mut(open.entity) else { return };
        let believed =
            arrived_at.and_then(|at| from.audit.check_announcement(&self.config, open.sent_at, at, now));
        match believed {
            Some(believed) => {
                entity.ledger.book_arrival(copy, (receiver, place), believed);
            }
            None => entity.ledger.give_up_on(copy, receiver),
        }
    }

    /// Removes the receiver's claims that are no newer than the DR vector of this one, which
    /// leaves.
    fn forget_repeated(&mut self, claim: &Claim) {
        if let Some(generated_at) = self.vector(claim).map(|vector| vector.generated_at) {
            self.claims.forget_repeated(claim.entity, claim.receiver, generated_at);
        }
    }

    /// Books the copies of one packet to the receiver at `place`.
    fn depart<'a>(
        &mut self,
        place: usize,
        departures: impl Iterator<Item = (&'a Claim, DepartureKind)>,
        at: SharedInstant,
        cost: f64,
    ) -> CopyRange {
        let Self { config, scheduler, entities, receivers, .. } = self;
        let receiver = receivers.receiver(place);
        let record = receivers.at_mut(place);
        let delay = record.likely_delay().unwrap_or(Span::ZERO);
        let first = record.copies.begin_packet(at);
        let mut count = 0;
        for (claim, kind) in departures {
            let Some(slot) = entities.slot(claim.entity) else { continue };
            let Some(entity) = entities.at_mut(slot) else { continue };
            let EntityDeparture { generated_at, look_at, .. } =
                entity.departure(claim.generated_at, at, config);
            let is_repeat = kind == DepartureKind::Repeat;
            let is_announced = kind == DepartureKind::Announcement;
            if !is_repeat {
                count += 1;
                scheduler.on_departed(claim.entity, receiver, at, cost);
                record.watches.on_departed(slot, at, look_at);
                let is_newest = generated_at == entity.recent.newest().generated_at;
                if record.repeats.is_on() && is_newest && !is_announced {
                    record.repeats.on_sent(claim.entity, generated_at, at);
                }
            }
            let (copy, delay) = (record.copies.next(), claim.delay.unwrap_or(delay));
            let booked = entity.ledger.book_departure(copy, (receiver, place), generated_at, at, delay);
            if is_announced {
                entity.ledger.await_confirmation(copy, receiver);
            }
            if let Some(expected) = booked {
                let expected = if is_announced { NEVER } else { expected };
                record.copies.push(claim.entity, at, expected, is_repeat);
            }
        }
        record.responsiveness.handle_departures(count, at);
        CopyRange::between(first, record.copies.next())
    }

    // ── feedback ──

    /// Books what feedback settles ([`SentPackets::settle`](crate::link::SentPackets::settle)).
    /// Refused feedback counts as an untrue report; its receipts are not booked.
    pub fn on_feedback<C>(
        &mut self,
        receiver: ReceiverId,
        settled: Result<Settled<'_, C>, Refused>,
        now: SharedInstant,
    ) -> Result<FeedbackOutcome, Refused> {
        if matches!(settled, Err(refused) if refused.is_dishonest())
            && let Some(from) = self.receivers.get_mut(receiver)
        {
            from.audit.handle_report(false);
        }
        let settled = settled?;
        let mut corrected = 0;
        for packet in settled.arrived {
            let (copies, booking) = self.book(receiver, packet.copies, packet.received_at, now);
            let is_corrected = matches!(booking, Booking::Corrected | Booking::Impossible);
            corrected += if is_corrected { copies } else { 0 };
        }
        if let Some(until) = settled.complete_until {
            self.on_complete(receiver, until, now);
        }
        Ok(FeedbackOutcome { receipts: settled.arrived.len(), corrected, lost: settled.lost })
    }

    /// Books a receipt that came at `now`, which says that a copy arrived at `received_at`.
    pub fn on_receipt(
        &mut self,
        receiver: ReceiverId,
        copy: CopyId,
        received_at: SharedInstant,
        now: SharedInstant,
    ) -> Booking {
        self.book(receiver, copy.into(), received_at, now).1
    }

    /// Books the arrival of one datagram's copies, which left together: its report is one report.
    /// Returns how many copies it is about, and what came of it.
    fn book(
        &mut self,
        receiver: ReceiverId,
        copies: CopyRange,
        received_at: SharedInstant,
        now: SharedInstant,
    ) -> (usize, Booking) {
        let Some(place) = self.receivers.find(receiver) else { return (copies.len(), Booking::Impossible) };
        let from = self.receivers.at_mut(place);
        let found = copies.iter().map(|copy| from.copies.find(copy));
        let sent_at = match found.into_iter().find(|found| !matches!(found, FoundCopy::Closed)) {
            Some(FoundCopy::Open(open)) => open.sent_at,
            Some(_) => return (copies.len(), Booking::Impossible),
            None => return (copies.len(), Booking::NoNews),
        };
        let Ok(report) = from.audit.check(&self.config, sent_at, received_at, now) else {
            from.audit.handle_report(false);
            return (copies.len(), Booking::Impossible);
        };
        let (mut booked, mut earning) = (0, 0);
        for copy in copies.iter() {
            let Some(closed) = from.copies.close(copy) else { continue };
            let Some(entity) = self.entities.get_mut(closed.entity) else { continue };
            let is_news = entity.ledger.book_arrival(copy, (receiver, place), report.believed);
            booked += usize::from(is_news);
            // A repeat was not asked for, and earns no retransmission.
            earning += usize::from(is_news && !closed.is_repeat);
        }
        if booked == 0 {
            return (copies.len(), Booking::NoNews);
        }
        from.responsiveness.handle_receipts(earning);
        from.audit.handle_report(report.is_credible);
        from.audit.handle_delay(report.said - sent_at, report.believed - sent_at, now - sent_at);
        from.delay.handle_sample(report.believed - sent_at);
        (booked, if report.is_as_said { Booking::Booked } else { Booking::Corrected })
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

    /// Handles a report of `now`: the receiver has acknowledged all that arrived before `until`.
    pub fn on_complete(&mut self, receiver: ReceiverId, until: SharedInstant, now: SharedInstant) {
        let Some(record) = self.receivers.get_mut(receiver) else { return };
        let until = match &self.config.trust {
            Some(trust) => {
                record.audit.handle_complete(until.min(now));
                // Shifted by as much as its arrivals are booked earlier than reported.
                let meant = until - record.audit.overstatement();
                meant.min(record.audit.latest_arrival(trust, now))
            }
            None => until.min(now),
        };
        let patience = record.delay.high().unwrap_or(self.config.horizon);
        let mut overdue = std::mem::take(&mut self.overdue);
        overdue.clear();
        record.copies.overdue(until, &mut overdue);
        for about in &overdue {
            let Some(entity) = self.entities.get_mut(*about) else { continue };
            let is_lost = entity.ledger.on_complete(receiver, until, patience);
            if is_lost
                && self.config.liveness.is_some_and(|it| it.wants_again(&entity.ledger, receiver, now))
                && !self.claims.is_waiting(*about, receiver)
                && record.responsiveness.spend_on_retransmission()
            {
                let error = entity.ledger.standing(receiver).map_or(0.0, |standing| standing.instantaneous);
                self.claims.insert(entity.newest_for(receiver, error.max(0.0), now));
            }
        }
        if !overdue.is_empty() {
            let entities = &self.entities;
            record.copies.revise(until, |entity, copy| entities.get(entity)?.ledger.expected(copy, receiver));
        }
        self.overdue = overdue;
    }

    // ── getters ──

    /// Returns the newest DR vector of an entity.
    pub fn newest(&self, entity: EntityId) -> Option<&DrVector<V>> {
        self.entities.get(entity).map(|entity| entity.recent.newest())
    }

    /// Returns the ledger of an entity.
    pub fn ledger(&self, entity: EntityId) -> Option<&Ledger<V>> {
        self.entities.get(entity).map(|entity| &entity.ledger)
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

    // ── steps ──

    /// Moves what waits for all receivers and for the one at `place` to `departures`.
    fn move_shared_claims(&mut self, place: usize, departures: &mut Vec<Departure>) {
        if self.claims.shared.has_any(place) {
            let receiver = self.receivers.receiver(place);
            for shared in self.claims.shared.waiting(place) {
                let SharedClaim { entity, generated_at, due } = *shared;
                let known = self.entities.get(entity);
                if let Some(weight) = known.and_then(|known| known.ledger.claim_weight((receiver, place))) {
                    let claim = Claim { entity, receiver, due, weight, delay: None, generated_at };
                    departures.push(Departure { claim, kind: DepartureKind::Claim });
                }
            }
            self.claims.shared.clear(place);
        }
    }

    /// Turns what waits for all receivers and for the one at `place` into claims of its own.
    fn own_shared_claims(&mut self, place: usize) {
        if self.claims.shared.has_any(place) {
            let mut owned = Vec::new();
            self.move_shared_claims(place, &mut owned);
            owned.into_iter().for_each(|departure| self.claims.insert(departure.claim));
        }
    }

    fn forget_pair(&mut self, entity: EntityId, slot: usize, receiver: ReceiverId) {
        self.claims.forget_pair(entity, receiver);
        if let Some(record) = self.receivers.get_mut(receiver) {
            record.watches.hide(slot);
        }
    }

    /// Lets the scheduler decide again, if it asked for that.
    fn handle_deadline(&mut self, now: SharedInstant) {
        if self.scheduler.poll_deadline().is_none_or(|deadline| deadline > now) {
            return;
        }
        let slots: Vec<usize> = self.entities.ids().map(|(_, slot)| slot).collect();
        for slot in slots {
            self.decide(slot, None, now, |scheduler, context, random, claims| {
                scheduler.on_deadline(context, random, claims);
            });
        }
    }

    /// Lets the scheduler decide about an entity, after adding the DR vector `cut` to its ledger.
    fn decide(
        &mut self,
        slot: usize,
        cut: Option<&DrVector<V>>,
        now: SharedInstant,
        ask: impl FnOnce(&mut dyn Scheduler<V>, &DecisionContext<'_, V>, &mut Random, &mut Claims),
    ) {
        let Some(entity) = self.entities.at_mut(slot) else { return };
        self.candidates.clear();
        let mut accounts = AccountWalk {
            books: self.receivers.walk(),
            now,
            counts: !entity.ledger.is_outdated(now),
            fading: Fading::default(),
            secs: 0.0,
        };
        let candidates = &mut self.candidates;
        let is_guarded = self.config.trust.is_some();
        let tell = |receiver, growth, mut standing: Standing| {
            let Some(book) = accounts.add(receiver, growth) else { return };
            // A receiver that stays silent does not count as new forever.
            standing.has_acknowledged |= is_guarded && now - standing.joined > ReceiptTrust::SILENCE_MAX;
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
            Some(vector) if !self.scheduler.needs_candidates() => {
                entity.ledger.on_generated_and_grow(vector, now, |receiver, growth| {
                    accounts.add(receiver, growth);
                });
            }
            Some(vector) => entity.ledger.on_generated_and_visit(vector, now, tell),
            None => entity.ledger.advance_and_visit(now, tell),
        }
        let context = DecisionContext {
            entity: entity.recent.newest().entity,
            vector: entity.recent.newest(),
            index: entity.index,
            now,
            ledger: &entity.ledger,
            candidates: &self.candidates,
            account_secs: accounts.secs,
        };
        ask(&mut *self.scheduler, &context, &mut self.random, &mut self.claims);
    }

    /// Adds the copies that are due to the receiver at `place` whatever the scheduler decides, and
    /// are not due for its claims, in the order of entity ids.
    fn promise(&mut self, place: usize, now: SharedInstant, promised: &mut Vec<Departure>) {
        let Self { config, claims, entities, receivers, .. } = self;
        let to = receivers.receiver(place);
        let record = receivers.at_mut(place);
        if record.watches.earliest() > now {
            return;
        }
        let before = promised.len();
        let mut watches = std::mem::take(&mut record.watches);
        watches.look(now, |slot, watch| {
            let Some(entity) = entities.at(slot) else { return NEVER };
            if claims.is_due(entity.recent.newest().entity, to, now) {
                return now + LOOK_AGAIN;
            }
            let Promise { due, look_at } = promise(config.liveness.as_ref(), entity, to, record, watch, now);
            if due <= now {
                let claim =
                    entity.newest_for(to, if entity.pace.is_some() { watch.weight() } else { 0.0 }, now);
                promised.push(Departure { claim, kind: DepartureKind::Promise });
            }
            look_at
        });
        record.watches = watches;
        promised[before..].sort_by_key(|departure| departure.claim.entity);
    }

    /// Adds the repeats that leave now to the receiver at `place`: of DR vectors that are still the
    /// newest, and that the receiver has not acknowledged.
    fn repeat(
        &mut self,
        place: usize,
        now: SharedInstant,
        repeats_max: usize,
        departures: &mut Vec<Departure>,
    ) {
        let Self { entities, receivers, .. } = self;
        let receiver = receivers.receiver(place);
        let wanted = |entity: EntityId, generated_at: SharedInstant| {
            let entity = entities.get(entity)?;
            let is_of_use =
                entity.recent.newest().generated_at == generated_at && entity.ledger.awaits_newest(receiver);
            is_of_use.then(|| Departure {
                claim: entity.newest_for(receiver, 0.0, now),
                kind: DepartureKind::Repeat,
            })
        };
        receivers.at_mut(place).repeats.collect(now, repeats_max, wanted, departures);
    }

    /// Puts back the claims that the pace of their entities does not allow yet.
    fn hold_early(&mut self, place: usize, now: SharedInstant, departures: &mut Vec<Departure>) {
        let Self { claims, entities, receivers, .. } = self;
        let record = receivers.at_mut(place);
        departures.retain(|departure| {
            let Some(slot) = entities.slot(departure.claim.entity) else { return false };
            let pace = entities.at(slot).and_then(|entity| entity.pace);
            let Some((pace, watch)) = pace.zip(record.watches.get(slot)) else { return true };
            let earliest = watch.earliest(&pace);
            if earliest > now && departure.kind == DepartureKind::Claim {
                claims.put_back(Claim { due: departure.claim.due.max(earliest), ..departure.claim });
            }
            earliest <= now
        });
    }
}

/// Adds the growth of one entity's errors to the accounts of all receivers.
struct AccountWalk<'a> {
    books: Walk<'a, ReceiverRecord>,
    now: SharedInstant,
    /// Whether errors about the entity count: not after all replicas have frozen.
    counts: bool,
    fading: Fading,
    /// How many seconds the accounts cover at most.
    secs: f64,
}

impl AccountWalk<'_> {
    #[inline]
    fn add(&mut self, receiver: ReceiverId, growth: f64) -> Option<&ReceiverRecord> {
        let book = self.books.find(receiver)?;
        book.account.add(if self.counts { growth } else { 0.0 });
        book.account.advance_with(self.now, &mut self.fading);
        self.secs = self.secs.max(book.account.secs());
        Some(book)
    }
}

/// When a receiver must be sent an entity, for liveness and by the entity's pace, and when to look
/// at the pair again.
fn promise<V: Planar>(
    liveness: Option<&Liveness>,
    entity: &EntityRecord<V>,
    receiver: ReceiverId,
    record: &ReceiverRecord,
    watch: &Watch,
    now: SharedInstant,
) -> Promise {
    let never = Promise { due: NEVER, look_at: NEVER };
    let promise = liveness.map_or(never, |liveness| liveness.promise(entity, receiver, record, now));
    let Some(pace) = &entity.pace else { return promise };
    let due = promise.due.min(watch.latest(pace)).max(watch.earliest(pace));
    let look_at = if promise.look_at > now { due.min(promise.look_at) } else { due };
    Promise { due, look_at }
}

/// When a pair is looked at again whose claim is due now: usually the copy leaves, and then the
/// pair is looked at later.
const LOOK_AGAIN: Span = Span::from_millis(50);
