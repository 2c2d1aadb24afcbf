//! Requests to the store and their answers: joining, ids, leases.

use fairpath::number::EntityId;
use fairpath::time::Span;
use fairpath::vector::Planar;

use super::{Departure, Event, Output, Refusal, Zone, ZoneStatus};
use crate::cell::{CellId, Cells};
use crate::config::Moment;
use crate::lease::{LeaseChange, LeaseWrite};
use crate::record::{IdRecord, Key, LeaseRecord, Record, Revision, WorldRecord};
use crate::register::{Answer, Operation, Outcome, Register, RequestId, StoreRequest};

/// How long a new member listens for the others before it takes cells.
const LISTEN_FOR: Span = Span::from_millis(1_500);
/// Ids in a block. A server asks for the next block when half of one is left.
const IDS_PER_BLOCK: u32 = 64;

/// The ids that this server may give out.
#[derive(Clone, Debug)]
pub(super) struct Ids {
    register: Register<u32>,
    /// The lowest id that no server has, as far as known.
    unclaimed: u32,
    free: std::ops::Range<u32>,
    next_block: Option<std::ops::Range<u32>>,
}

impl Ids {
    pub(super) fn new() -> Self {
        Self { register: Register::unread(), unclaimed: 1, free: 0..0, next_block: None }
    }

    pub(super) fn take(&mut self) -> Option<EntityId> {
        if self.free.is_empty() {
            self.free = self.next_block.take()?;
        }
        self.free.next().map(EntityId)
    }

    fn on_committed(&mut self, first: u32) {
        let block = first..first.saturating_add(IDS_PER_BLOCK);
        self.unclaimed = self.unclaimed.max(block.end);
        if self.free.is_empty() {
            self.free = block;
        } else {
            self.next_block = Some(block);
        }
    }

    fn wants_block(&self) -> bool {
        self.next_block.is_none() && self.free.len() < IDS_PER_BLOCK as usize / 2
    }
}

impl<V: Planar, C: Cells<V>> Zone<V, C> {
    /// Handles the store's answer to a request about `key`.
    pub fn handle_answer(&mut self, moment: &Moment, key: Key, request: RequestId, answer: &Answer<V>) {
        match key {
            Key::World => self.handle_world_answer(moment, request, answer),
            Key::Ids => self.handle_ids_answer(request, answer),
            Key::Cell(cell) => self.handle_lease_answer(moment, cell, request, answer),
            Key::Entity(entity) => self.handle_entity_answer(moment, entity, request, answer),
        }
    }

    /// Handles what the store's watch shows: a record and its revision, old or new.
    pub fn handle_seen(&mut self, moment: &Moment, key: Key, revision: Revision, record: &Record<V>) {
        match (key, record) {
            (Key::Cell(cell), Record::Lease(record)) => {
                let Some(lease) = self.leases.get_mut(&cell) else { return };
                let change = lease.handle_seen((revision, *record), moment.local, &self.config);
                self.on_lease_changed(moment, cell, change);
            }
            (Key::Entity(entity), Record::Entity(record)) => {
                self.handle_entity_seen(moment, entity, revision, record);
            }
            _ => {}
        }
    }

    pub(super) fn expire_requests(&mut self, moment: &Moment) {
        self.world.handle_tick(moment.local);
        self.ids.register.handle_tick(moment.local);
        self.leases.values_mut().for_each(|lease| lease.register.handle_tick(moment.local));
        self.reals.values_mut().for_each(|real| real.register.handle_tick(moment.local));
    }

    pub(super) fn join(&mut self, moment: &Moment) {
        if self.status != ZoneStatus::Joining {
            return;
        }
        if self.world.needs_read() {
            let request = self.request(Key::World, Operation::Read);
            self.world.on_read(request, moment.local, self.config.answer_within);
        } else if self.world.is_free() && self.world.known == Revision::NONE {
            let write = self.numbers.write();
            let record = WorldRecord { write, ..self.expected_world() };
            let request = self.compare_and_set(Key::World, Revision::NONE, Record::World(record));
            self.world.on_write((request, write), (), moment.local, self.config.answer_within);
        }
    }

    fn expected_world(&self) -> WorldRecord {
        WorldRecord {
            write: Default::default(),
            cells: self.cells.fingerprint(),
            protocol: self.config.protocol,
            precision: self.config.precision.fingerprint(),
            lease_us: self.config.lease.as_micros(),
        }
    }

    fn handle_world_answer(&mut self, moment: &Moment, request: RequestId, answer: &Answer<V>) {
        match answer {
            Answer::Committed(revision) => {
                if let Outcome::Committed(_) = self.world.handle_committed(request, *revision) {
                    self.on_joined(moment);
                }
            }
            Answer::Refused => self.world.handle_refused(request),
            Answer::Found(found) => {
                let Some((revision, record)) = found else {
                    self.world.handle_found(request, None);
                    return;
                };
                self.world.handle_found(request, Some((*revision, record.write())));
                if let (Record::World(world), ZoneStatus::Joining) = (&**record, self.status) {
                    match difference(&self.expected_world(), world) {
                        None => self.on_joined(moment),
                        Some(refusal) => {
                            self.status = ZoneStatus::Refused;
                            self.events.push_back(Event::Refused(refusal));
                        }
                    }
                }
            }
        }
    }

    fn on_joined(&mut self, moment: &Moment) {
        self.status = ZoneStatus::Joined;
        self.joined_at = moment.local;
        self.rebalance_at = moment.local + self.config.rebalance_interval;
        self.events.push_back(Event::Joined);
    }

    pub(super) fn allocate_ids(&mut self, moment: &Moment) {
        let within = self.config.answer_within;
        if self.ids.register.needs_read() {
            let request = self.request(Key::Ids, Operation::Read);
            self.ids.register.on_read(request, moment.local, within);
        } else if self.ids.register.is_free() && self.ids.wants_block() {
            let (write, first) = (self.numbers.write(), self.ids.unclaimed);
            let Some(next) = first.checked_add(IDS_PER_BLOCK) else { return };
            let record = Record::Ids(IdRecord { write, next });
            let request = self.compare_and_set(Key::Ids, self.ids.register.known, record);
            self.ids.register.on_write((request, write), first, moment.local, within);
        }
    }

    fn handle_ids_answer(&mut self, request: RequestId, answer: &Answer<V>) {
        let register = &mut self.ids.register;
        let outcome = match answer {
            Answer::Committed(revision) => register.handle_committed(request, *revision),
            Answer::Refused => {
                register.handle_refused(request);
                Outcome::Open
            }
            Answer::Found(Some((revision, record))) => {
                if let Record::Ids(ids) = **record {
                    self.ids.unclaimed = self.ids.unclaimed.max(ids.next);
                }
                register.handle_found(request, Some((*revision, record.write())))
            }
            Answer::Found(None) => register.handle_found(request, None),
        };
        if let Outcome::Committed(attempt) = outcome {
            self.ids.on_committed(attempt.meaning);
        }
    }

    pub(super) fn keep_leases(&mut self, moment: &Moment) {
        if moment.local - self.joined_at < LISTEN_FOR {
            return;
        }
        let cells: Vec<CellId> = self.leases.keys().copied().collect();
        for cell in cells {
            self.keep_lease(moment, cell);
        }
    }

    fn keep_lease(&mut self, moment: &Moment, cell: CellId) {
        let (me, within) = (self.numbers.server, self.config.answer_within);
        let patience = self.patience(moment, cell);
        let may_release = self.may_release(cell);
        let lease = &self.leases[&cell];
        let known = lease.register.known;
        if lease.register.needs_read() {
            let request = self.request(Key::Cell(cell), Operation::Read);
            self.lease(cell).register.on_read(request, moment.local, within);
            return;
        }
        if !lease.register.is_free() {
            return;
        }
        let due = lease.due_write(moment.local, me, patience, may_release, &self.config);
        let Some(due) = due else { return };
        let write = self.numbers.write();
        let record = match due {
            LeaseWrite::Acquire => LeaseRecord { write, holder: Some(me), fence: None, successor: None },
            LeaseWrite::Renew(fence) => {
                LeaseRecord { write, holder: Some(me), fence: Some(fence), successor: None }
            }
            LeaseWrite::Release(successor) => LeaseRecord { write, holder: None, fence: None, successor },
        };
        let request = self.compare_and_set(Key::Cell(cell), known, Record::Lease(record));
        self.lease(cell).register.on_write((request, write), (due, moment.shared), moment.local, within);
    }

    fn handle_lease_answer(&mut self, moment: &Moment, cell: CellId, request: RequestId, answer: &Answer<V>) {
        let Some(lease) = self.leases.get_mut(&cell) else { return };
        let (outcome, record) = match answer {
            Answer::Committed(revision) => (lease.register.handle_committed(request, *revision), None),
            Answer::Refused => {
                lease.register.handle_refused(request);
                return;
            }
            Answer::Found(None) => {
                lease.register.handle_found(request, None);
                lease.handle_absent(moment.local);
                return;
            }
            Answer::Found(Some((revision, record))) => {
                let Record::Lease(lease_record) = **record else { return };
                let outcome = lease.register.handle_found(request, Some((*revision, record.write())));
                (outcome, Some(lease_record))
            }
        };
        let change = lease.handle_outcome(outcome, record, moment.local, &self.config);
        self.on_lease_changed(moment, cell, change);
    }

    fn on_lease_changed(&mut self, moment: &Moment, cell: CellId, change: Option<LeaseChange>) {
        match change {
            None => {}
            Some(LeaseChange::Acquired(_)) => self.events.push_back(Event::Leased(cell)),
            Some(LeaseChange::Lost) => self.events.push_back(Event::Lost(cell)),
            Some(LeaseChange::Released) => {
                let in_cell = |real: &crate::entity::Real<V>| real.needs_cell(cell);
                let gone: Vec<EntityId> =
                    self.reals.iter().filter(|(_, real)| in_cell(real)).map(|(id, _)| *id).collect();
                gone.into_iter().for_each(|entity| self.leave(moment, entity, Departure::Released));
                self.events.push_back(Event::Lost(cell));
            }
        }
    }

    fn lease(&mut self, cell: CellId) -> &mut crate::lease::Lease {
        self.leases.get_mut(&cell).expect("every cell has a lease")
    }

    pub(super) fn request(&mut self, key: Key, operation: Operation<V>) -> RequestId {
        let id = self.numbers.request();
        self.outputs.push_back(Output::Store(StoreRequest { id, key, operation }));
        id
    }

    pub(super) fn compare_and_set(&mut self, key: Key, expected: Revision, record: Record<V>) -> RequestId {
        self.request(key, Operation::CompareAndSet { record: Box::new(record), expected })
    }
}

fn difference(ours: &WorldRecord, theirs: &WorldRecord) -> Option<Refusal> {
    let refusals = [
        (ours.cells != theirs.cells, Refusal::Cells),
        (ours.protocol != theirs.protocol, Refusal::Protocol),
        (ours.precision != theirs.precision, Refusal::Precision),
        (ours.lease_us != theirs.lease_us, Refusal::Lease),
    ];
    refusals.into_iter().find(|(differs, _)| *differs).map(|(_, refusal)| refusal)
}
