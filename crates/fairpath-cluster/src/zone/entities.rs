//! Entities: claims, checkpoints, hand-overs, takeovers and promises.

use fairpath::number::EntityId;
use fairpath::vector::Planar;

use super::{ACCEPT_TIMES, Accepted, Departure, Entry, Event, RESEND_INTERVAL, Zone};
use crate::cell::{CellId, Cells};
use crate::config::Moment;
use crate::entity::{Origin, Phase, Promise, Real};
use crate::ghost::Ghost;
use crate::message::{Message, Subject};
use crate::record::{EntityRecord, Key, Record, Revision, ServerId, Title};
use crate::register::{Answer, Attempt, Operation, Outcome, RequestId};

/// What is due for an entity.
enum Due {
    Nothing,
    Read,
    Write(Title),
    Offer(CellId, ServerId),
    Abandon,
}

impl<V: Planar, C: Cells<V>> Zone<V, C> {
    /// Begins to take the entities in own cells that have no owner.
    pub(super) fn take_over(&mut self, moment: &Moment) {
        let is_orphan = |(entity, entry): &(&EntityId, &Entry)| {
            !entry.is_gone
                && !self.reals.contains_key(entity)
                && self.may_take((entry.server, entry.title), moment)
        };
        let orphans: Vec<EntityId> =
            self.directory.iter().filter(is_orphan).map(|(entity, _)| *entity).collect();
        for entity in orphans {
            let real = Real::new(entity, &self.config, Revision::NONE, Phase::Looking);
            self.reals.insert(entity, real);
        }
    }

    /// Returns whether an entity with this owner and title is this server's to take: its lease of
    /// the cell is newer. If it is older, this server has been asleep and must take nothing.
    fn may_take(&self, (owner, title): (ServerId, Title), moment: &Moment) -> bool {
        let is_newer = |fence| title.fence < fence || (title.fence == fence && owner == self.numbers.server);
        self.fence_to_take(title.cell, moment).is_some_and(is_newer)
    }

    /// Returns the fence under which this server can take entities into a cell.
    fn fence_to_take(&self, cell: CellId, moment: &Moment) -> Option<Revision> {
        let lease = self.leases.get(&cell)?;
        let fence = lease.fence(moment)?;
        lease.covers(fence, moment).then_some(fence)
    }

    pub(super) fn keep_entities(&mut self, moment: &Moment) {
        let entities: Vec<EntityId> = self.reals.keys().copied().collect();
        for entity in entities {
            self.tell_arrival(moment, entity);
            match self.due(moment, entity, &self.reals[&entity]) {
                Due::Nothing => {}
                Due::Read => {
                    let request = self.request(Key::Entity(entity), Operation::Read);
                    let within = self.config.answer_within;
                    self.real(entity).register.on_read(request, moment.local, within);
                }
                Due::Write(title) => self.write_entity(moment, entity, title),
                Due::Offer(cell, receiver) => self.offer(moment, entity, cell, receiver),
                Due::Abandon => {
                    self.reals.remove(&entity);
                }
            }
        }
    }

    fn due(&self, moment: &Moment, entity: EntityId, real: &Real<V>) -> Due {
        if real.register.needs_read() {
            return Due::Read;
        }
        if !real.register.is_free() {
            return Due::Nothing;
        }
        match real.phase {
            Phase::Looking => Due::Read,
            Phase::Claiming { title, .. } if self.still_holds(&title, moment) => Due::Write(title),
            Phase::Claiming { .. } => Due::Abandon,
            Phase::Offered { until } if moment.local >= until => {
                self.title_again(real, true, moment).map_or(Due::Nothing, Due::Write)
            }
            Phase::Offered { .. } => Due::Nothing,
            Phase::Owned => self.due_of_owned(moment, entity, real),
        }
    }

    fn due_of_owned(&self, moment: &Moment, entity: EntityId, real: &Real<V>) -> Due {
        let Some(title) = real.title else { return Due::Nothing };
        let Some(again) = self.title_again(real, false, moment) else { return Due::Nothing };
        let is_in_doubt = !real.register.is_settled();
        // The game has not applied these events yet, so its bytes would be older than the promises.
        let may_save = self.events.is_empty();
        if (again != title || is_in_doubt) && may_save {
            return Due::Write(again);
        }
        if is_in_doubt {
            return Due::Nothing;
        }
        let is_given_up = self.leases.get(&title.cell).is_some_and(|lease| lease.is_given_up());
        if !is_given_up
            && self.owns(entity, moment)
            && let Some(due) = self.due_move(moment, real, &title)
        {
            return due;
        }
        let age = real.dirty_since.map(|since| moment.local - since);
        let is_due = |age| age >= self.config.checkpoint_interval || real.is_urgent || is_given_up;
        if age.is_some_and(is_due) && may_save { Due::Write(title) } else { Due::Nothing }
    }

    /// Returns how the entity leaves its cell, if it is outside of it.
    fn due_move(&self, moment: &Moment, real: &Real<V>, title: &Title) -> Option<Due> {
        let position = real.exported()?.position_at(moment.shared);
        let is_outside = self.cells.distance(title.cell, position) > self.config.hysteresis;
        let target = self.cells.cell_of(position);
        if !is_outside || target == title.cell || moment.local < real.offer_at {
            return None;
        }
        if let Some(fence) = self.fence_to_take(target, moment) {
            return self.events.is_empty().then_some(Due::Write(Title { cell: target, fence, ..*title }));
        }
        let holder = self.leases.get(&target)?.holder()?;
        (self.members.contains_key(&holder) && self.events.is_empty()).then_some(Due::Offer(target, holder))
    }

    fn still_holds(&self, title: &Title, moment: &Moment) -> bool {
        self.leases.get(&title.cell).and_then(|lease| lease.fence(moment)) == Some(title.fence)
    }

    /// Returns the title to write next: with a later term after an offer, or if the lease of the
    /// cell was lost in between. `None` without the lease.
    fn title_again(&self, real: &Real<V>, after_offer: bool, moment: &Moment) -> Option<Title> {
        let title = real.title?;
        let fence = self.leases.get(&title.cell)?.fence(moment)?;
        let raised = u64::from(after_offer || fence != title.fence);
        Some(Title { term: title.term + raised, fence, ..title })
    }

    fn write_entity(&mut self, moment: &Moment, entity: EntityId, title: Title) {
        let (write, within) = (self.numbers.write(), self.config.answer_within);
        let real = self.real(entity);
        let (record, meaning) = (real.record(write, title, moment.shared), real.write_of(title));
        let known = real.register.known;
        let request = self.compare_and_set(Key::Entity(entity), known, Record::Entity(record));
        self.real(entity).register.on_write((request, write), meaning, moment.local, within);
    }

    fn offer(&mut self, moment: &Moment, entity: EntityId, cell: CellId, receiver: ServerId) {
        let (from, until) = (self.numbers.server, moment.local + self.config.offer_within);
        let real = self.real(entity);
        let Some(title) = real.title else { return };
        real.phase = Phase::Offered { until };
        let record = Box::new(real.record(Default::default(), title, moment.shared));
        let revision = real.register.known;
        self.publish(Subject::Server(receiver), Message::Offer { from, entity, revision, cell, record });
    }

    pub(super) fn handle_offer(
        &mut self,
        moment: &Moment,
        from: ServerId,
        (entity, revision): (EntityId, Revision),
        cell: CellId,
        record: &EntityRecord<V>,
    ) {
        let is_old = self.directory.get(&entity).is_some_and(|entry| entry.revision > revision);
        let Some(fence) = self.fence_to_take(cell, moment) else { return };
        if is_old || self.reals.contains_key(&entity) || self.is_draining {
            return;
        }
        let title = Title { term: record.title.term + 1, cell, fence };
        let phase = Phase::Claiming { title, origin: Origin::Offered(from) };
        let mut real = Real::new(entity, &self.config, revision, phase);
        real.restore(&record.snapshot, &self.config);
        self.reals.insert(entity, real);
        self.write_entity(moment, entity, title);
    }

    pub(super) fn handle_accept(
        &mut self,
        moment: &Moment,
        from: ServerId,
        entity: EntityId,
        revision: Revision,
        title: Title,
    ) {
        let release = Message::Release { entity, term: title.term };
        let is_meant = self.reals.get(&entity).is_some_and(|real| {
            matches!(real.phase, Phase::Offered { .. })
                && real.title.is_some_and(|own| own.term + 1 == title.term)
                && real.register.known < revision
        });
        if is_meant {
            self.note_owner(entity, Entry { revision, title, server: from, is_gone: false });
            self.leave(moment, entity, Departure::HandedOver);
        }
        let is_known = self.directory.get(&entity).is_some_and(|entry| entry.title.term >= title.term);
        if is_meant || is_known {
            self.publish(Subject::Server(from), release);
        }
    }

    pub(super) fn repeat_accepts(&mut self, moment: &Moment) {
        let (from, within) = (self.numbers.server, self.config.offer_within);
        let mut due = Vec::new();
        self.accepted.retain(|entity, accepted| {
            if moment.local >= accepted.again_at {
                let Accepted { revision, title, .. } = *accepted;
                let message = Message::Accept { from, entity: *entity, revision, title };
                due.push((accepted.old_owner, message));
                accepted.again_at = moment.local + within;
                accepted.times_left -= 1;
            }
            accepted.times_left > 0
        });
        due.into_iter().for_each(|(server, message)| self.publish(Subject::Server(server), message));
    }

    pub(super) fn handle_entity_answer(
        &mut self,
        moment: &Moment,
        entity: EntityId,
        request: RequestId,
        answer: &Answer<V>,
    ) {
        let Some(real) = self.reals.get_mut(&entity) else { return };
        match answer {
            Answer::Committed(revision) => {
                let outcome = real.register.handle_committed(request, *revision);
                self.on_entity_outcome(moment, entity, outcome, None);
            }
            Answer::Refused => real.register.handle_refused(request),
            Answer::Found(None) => drop(real.register.handle_found(request, None)),
            Answer::Found(Some((revision, record))) => {
                let Record::Entity(record) = &**record else { return };
                let outcome = real.register.handle_found(request, Some((*revision, record.write)));
                let entry = Entry::of(*revision, record);
                self.note_owner(entity, entry);
                self.on_entity_outcome(moment, entity, outcome, Some((*revision, record)));
            }
        }
    }

    pub(super) fn handle_entity_seen(
        &mut self,
        moment: &Moment,
        entity: EntityId,
        revision: Revision,
        record: &EntityRecord<V>,
    ) {
        self.note_owner(entity, Entry::of(revision, record));
        let Some(real) = self.reals.get_mut(&entity) else { return };
        // An entity that is looked up waits for the answer of its read.
        if !matches!(real.phase, Phase::Looking) {
            let outcome = real.register.handle_seen(revision, record.write);
            self.on_entity_outcome(moment, entity, outcome, Some((revision, record)));
        }
    }

    fn on_entity_outcome(
        &mut self,
        moment: &Moment,
        entity: EntityId,
        outcome: Outcome<crate::entity::EntityWrite>,
        found: Option<(Revision, &EntityRecord<V>)>,
    ) {
        match outcome {
            Outcome::Committed(attempt) => self.on_entity_committed(moment, entity, &attempt),
            Outcome::Overtaken => match (self.real(entity).phase, found) {
                (Phase::Looking, Some((revision, record))) => self.claim(moment, entity, revision, record),
                (Phase::Offered { .. }, _) => self.leave(moment, entity, Departure::HandedOver),
                (Phase::Owned, _) => self.leave(moment, entity, Departure::Taken),
                _ => drop(self.reals.remove(&entity)),
            },
            Outcome::Open => {}
        }
    }

    /// Takes an entity without an owner, as the store remembers it.
    fn claim(&mut self, moment: &Moment, entity: EntityId, revision: Revision, record: &EntityRecord<V>) {
        let is_newest = self.directory.get(&entity).is_none_or(|entry| entry.revision <= revision);
        let fence = self.fence_to_take(record.title.cell, moment);
        let is_free =
            is_newest && !record.is_gone && self.may_take((record.write.server, record.title), moment);
        let Some(fence) = fence.filter(|_| is_free) else {
            self.reals.remove(&entity);
            return;
        };
        let title = Title { term: record.title.term + 1, fence, ..record.title };
        let config = self.config.clone();
        let real = self.real(entity);
        real.phase = Phase::Claiming { title, origin: Origin::Taken(record.write.server) };
        real.restore(&record.snapshot, &config);
        self.write_entity(moment, entity, title);
    }

    fn on_entity_committed(
        &mut self,
        moment: &Moment,
        entity: EntityId,
        attempt: &Attempt<crate::entity::EntityWrite>,
    ) {
        let (server, again_at) = (self.numbers.server, moment.local);
        let offer_again_at = moment.local + self.config.offer_within;
        let real = self.real(entity);
        let (before, saved_before) = (real.title, real.saved.promised);
        real.on_committed(attempt);
        let (title, revision) = (attempt.meaning.title, real.register.known);
        let promised = real.saved.promised;
        let phase = std::mem::replace(&mut real.phase, Phase::Owned);
        if !matches!(phase, Phase::Owned) {
            // The receiver was not able to take it, or clocks differ at the border: wait.
            real.offer_at = offer_again_at;
        }
        self.note_owner(entity, Entry { revision, title, server, is_gone: attempt.meaning.is_gone });
        if attempt.meaning.is_gone {
            self.leave(moment, entity, Departure::Destroyed);
            return;
        }
        if before.is_none_or(|before| before != title) {
            self.announce_title(entity, title);
        }
        if let Phase::Claiming { origin, .. } = phase {
            self.real(entity).arrival = Some(origin);
            if let Origin::Offered(old_owner) = origin {
                let times_left = ACCEPT_TIMES;
                let accepted = Accepted { old_owner, revision, title, again_at, times_left };
                self.accepted.insert(entity, accepted);
            }
            self.tell_arrival(moment, entity);
        } else if promised > saved_before {
            self.events.push_back(Event::Saved { entity, promised });
        }
    }

    /// Tells the game of an entity that has come, once this server owns it. The answer of the store
    /// may be so late that it does not.
    fn tell_arrival(&mut self, moment: &Moment, entity: EntityId) {
        let real = &self.reals[&entity];
        let (Some(origin), Some(title)) = (real.arrival, real.title) else { return };
        if self.is_owner(real, moment) {
            let promised = real.promised;
            self.real(entity).arrival = None;
            self.ghosts.remove(&entity);
            self.events.push_back(Event::Entered { entity, term: title.term, origin, promised });
        }
    }

    /// Tells receivers at once of a new term, and those that hear only the new cell of the entity.
    fn announce_title(&mut self, entity: EntityId, title: Title) {
        if let Some(vector) = self.exported(entity).copied() {
            let batch = self.batches.entry((title.cell, title.fence)).or_default();
            batch.insert(entity, (title.term, vector));
        }
    }

    /// Forgets an own entity. A ghost continues its path until the new owner speaks.
    pub(super) fn leave(&mut self, moment: &Moment, entity: EntityId, reason: Departure) {
        if let Some(real) = self.reals.remove(&entity) {
            if let (Some(title), Some(vector)) = (real.title, real.exported()) {
                let mut slot = None;
                if Ghost::accept(&mut slot, (title, vector), moment, vector.generated_at).is_ok() {
                    self.ghosts.extend(slot.map(|ghost| (entity, ghost)));
                }
            }
            self.accepted.remove(&entity);
            if real.arrival.is_none() && real.title.is_some() {
                self.events.push_back(Event::Left { entity, reason });
            }
        }
    }

    fn note_owner(&mut self, entity: EntityId, entry: Entry) {
        let known = self.directory.entry(entity).or_insert(entry);
        if known.revision < entry.revision {
            *known = entry;
        }
        if known.is_gone {
            self.ghosts.remove(&entity);
        }
    }

    pub(super) fn send_promises(&mut self, moment: &Moment) {
        let entities: Vec<EntityId> = self.reals.keys().copied().collect();
        for from in entities {
            let real = &self.reals[&from];
            if real.outbox.is_empty() || moment.local < real.resend_at || !self.owns(from, moment) {
                continue;
            }
            // One at a time to each entity: the receiver needs no memory of gaps.
            let mut first: Vec<Promise> = Vec::new();
            for promise in real.outbox.iter().filter(|promise| promise.number <= real.saved.promised) {
                if first.iter().all(|other| other.to != promise.to) {
                    first.push(promise.clone());
                }
            }
            self.real(from).resend_at = moment.local + RESEND_INTERVAL;
            first.into_iter().for_each(|promise| self.send_promise(moment, from, promise));
        }
    }

    fn send_promise(&mut self, moment: &Moment, from: EntityId, promise: Promise) {
        let (server, Promise { number, to, bytes }) = (self.numbers.server, promise);
        if self.reals.contains_key(&to) {
            self.handle_promise(moment, server, (from, to), number, &bytes);
        } else if let Some(entry) = self.directory.get(&to) {
            let subject = Subject::Server(entry.server);
            self.publish(subject, Message::Promise { server, from, to, number, bytes });
        }
    }

    pub(super) fn handle_promise(
        &mut self,
        moment: &Moment,
        server: ServerId,
        (from, to): (EntityId, EntityId),
        number: u64,
        bytes: &[u8],
    ) {
        if !self.owns(to, moment) {
            return;
        }
        let real = self.real(to);
        if number > real.received.get(&from).copied().unwrap_or(0) {
            real.received.insert(from, number);
            real.is_urgent = true;
            real.on_changed(moment.local);
            self.events.push_back(Event::Promised { from, to, number, bytes: bytes.to_vec() });
        } else if let Some(number) = real.saved.received.get(&from).copied() {
            self.acknowledge(moment, server, (from, to), number);
        }
    }

    fn acknowledge(
        &mut self,
        moment: &Moment,
        server: ServerId,
        (from, to): (EntityId, EntityId),
        number: u64,
    ) {
        if server == self.numbers.server {
            self.handle_receipt(moment, from, to, number);
        } else {
            self.publish(Subject::Server(server), Message::Receipt { from, to, number });
        }
    }

    pub(super) fn handle_receipt(&mut self, moment: &Moment, from: EntityId, to: EntityId, number: u64) {
        let Some(real) = self.reals.get_mut(&from) else { return };
        let before = real.outbox.len();
        real.outbox.retain(|promise| promise.to != to || promise.number > number);
        if real.outbox.len() < before {
            real.on_changed(moment.local);
            real.resend_at = moment.local;
        }
    }

    fn real(&mut self, entity: EntityId) -> &mut Real<V> {
        self.reals.get_mut(&entity).expect("the caller has looked it up")
    }
}

impl Entry {
    fn of<V: Planar>(revision: Revision, record: &EntityRecord<V>) -> Self {
        Self { revision, title: record.title, server: record.write.server, is_gone: record.is_gone }
    }
}
