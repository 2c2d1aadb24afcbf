//! The part of a world that one server owns, and what it knows of the rest.

mod entities;
mod members;
mod store;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use fairpath::number::EntityId;
use fairpath::time::{LocalInstant, SharedInstant, Span};
use fairpath::vector::Planar;
use fairpath::{DrVector, Observation, ObserveError};

use crate::cell::{CellId, Cells};
use crate::config::{BadZoneConfig, LONG_AGO, Moment, ZoneConfig};
use crate::entity::{NotOwned, Origin, Phase, Promise, Real};
use crate::ghost::{Ghost, GhostRefusal, check_batch};
use crate::lease::Lease;
use crate::message::{GhostBatch, Message, Subject};
use crate::record::{Revision, ServerId, Title};
use crate::register::{Numbers, Register, StoreRequest};
use members::Member;
use store::Ids;

/// The part of a world that one server owns, and what it knows of the rest.
///
/// Feed it with `handle_*`, call [`handle_tick`](Self::handle_tick) at least every 50 ms, and drain
/// [`poll_event`](Self::poll_event) and then [`poll_output`](Self::poll_output) after each. A
/// checkpoint is not taken while events wait, so that the game's bytes and the promises in it
/// belong together: apply an event and call [`set_game`](Self::set_game) before the next tick. The local
/// clock must never go backwards.
///
/// The store's watch must show the newest revision of every key in the end: late, repeated and in
/// any order is enough.
#[derive(Debug)]
pub struct Zone<V: Planar, C: Cells<V>> {
    config: ZoneConfig,
    cells: C,
    numbers: Numbers,
    status: ZoneStatus,
    world: Register<()>,
    joined_at: LocalInstant,
    ids: Ids,
    leases: BTreeMap<CellId, Lease>,
    reals: BTreeMap<EntityId, Real<V>>,
    directory: BTreeMap<EntityId, Entry>,
    ghosts: BTreeMap<EntityId, Ghost<V>>,
    batches: BTreeMap<(CellId, Revision), Batch<V>>,
    accepted: BTreeMap<EntityId, Accepted>,
    interest: BTreeSet<CellId>,
    members: BTreeMap<ServerId, Member>,
    is_draining: bool,
    present_at: LocalInstant,
    rebalance_at: LocalInstant,
    outputs: VecDeque<Output<V>>,
    events: VecDeque<Event>,
}

/// What a zone wants done.
#[derive(Clone, Debug, PartialEq)]
pub enum Output<V: Planar> {
    /// Ask the store.
    Store(StoreRequest<V>),
    /// Send a message on the bus.
    Publish {
        /// The receivers.
        subject: Subject,
        /// The message.
        message: Message<V>,
    },
}

/// What has happened.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The zone is part of the world.
    Joined,
    /// The world is another one than this server is configured for. The zone does nothing more.
    Refused(Refusal),
    /// This server owns an entity from now on. Read its [`Zone::game`] and [`Zone::exported`].
    Entered {
        /// The entity.
        entity: EntityId,
        /// Its term.
        term: u64,
        /// Where it comes from.
        origin: Origin,
        /// The newest promise it remembers. Later ones are lost: tell the players.
        promised: u64,
    },
    /// This server no longer owns an entity.
    Left {
        /// The entity.
        entity: EntityId,
        /// Why.
        reason: Departure,
    },
    /// All promises of an entity up to a number survive a crash of this server.
    Saved {
        /// The entity.
        entity: EntityId,
        /// The number.
        promised: u64,
    },
    /// An entity of this server receives a promise.
    Promised {
        /// The entity that made it.
        from: EntityId,
        /// The entity of this server.
        to: EntityId,
        /// Its number among those that `from` has made.
        number: u64,
        /// The game's bytes.
        bytes: Vec<u8>,
    },
    /// A cell belongs to this server.
    Leased(CellId),
    /// A cell no longer belongs to this server.
    Lost(CellId),
    /// The drain is complete: this server may stop.
    Drained,
}

/// Why an entity left a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departure {
    /// Another server has accepted it.
    HandedOver,
    /// Another server took it, because the lease of its cell had ended.
    Taken,
    /// Its cell was released.
    Released,
    /// The game has destroyed it.
    Destroyed,
}

/// In what a world differs from this server's configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Its cells.
    Cells,
    /// The game's protocol.
    Protocol,
    /// The precision of DR vectors.
    Precision,
    /// The lease time.
    Lease,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let what = match self {
            Self::Cells => "cells of another shape or size",
            Self::Protocol => "another version of the game's protocol",
            Self::Precision => "another precision of DR vectors",
            Self::Lease => "another lease time",
        };
        write!(f, "a world of this name exists with {what}; use the same, or another name")
    }
}

/// Whether a zone is part of its world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZoneStatus {
    /// It reads what the world is.
    Joining,
    /// It is part of the world.
    Joined,
    /// The world is another one.
    Refused,
}

/// Why an observation is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CannotObserve {
    /// This server does not own the entity now.
    NotOwned(NotOwned),
    /// The observation itself is wrong.
    Observation(ObserveError),
}

/// The newest known owner of an entity.
#[derive(Clone, Copy, Debug)]
struct Entry {
    revision: Revision,
    title: Title,
    server: ServerId,
    is_gone: bool,
}

/// An Accept that is repeated until the old owner releases the entity.
#[derive(Clone, Copy, Debug)]
struct Accepted {
    old_owner: ServerId,
    revision: Revision,
    title: Title,
    again_at: LocalInstant,
    times_left: u8,
}

/// The newest DR vectors of entities with their terms, until the next tick.
type Batch<V> = BTreeMap<EntityId, (u64, DrVector<V>)>;

/// How often an Accept is repeated. The old owner asks the store anyway.
const ACCEPT_TIMES: u8 = 5;
/// How often unacknowledged promises are sent.
const RESEND_INTERVAL: Span = Span::from_millis(200);
/// Most DR vectors in a batch.
const BATCH_LEN_MAX: usize = 64;

impl<V: Planar, C: Cells<V>> Zone<V, C> {
    /// Returns a zone that begins to join its world. `server` must never have been used before.
    pub fn new(server: ServerId, cells: C, config: ZoneConfig) -> Result<Self, BadZoneConfig> {
        config.check()?;
        let leases = cells.all().into_iter().map(|cell| (cell, Lease::new())).collect();
        Ok(Self {
            config,
            cells,
            numbers: Numbers::new(server),
            status: ZoneStatus::Joining,
            world: Register::unread(),
            joined_at: LONG_AGO,
            ids: Ids::new(),
            leases,
            reals: BTreeMap::new(),
            directory: BTreeMap::new(),
            ghosts: BTreeMap::new(),
            batches: BTreeMap::new(),
            accepted: BTreeMap::new(),
            interest: BTreeSet::new(),
            members: BTreeMap::new(),
            is_draining: false,
            present_at: LONG_AGO,
            rebalance_at: LONG_AGO,
            outputs: VecDeque::new(),
            events: VecDeque::new(),
        })
    }

    /// Does everything that is due.
    pub fn handle_tick(&mut self, moment: &Moment) {
        self.expire_requests(moment);
        self.join(moment);
        if self.status != ZoneStatus::Joined || !self.is_synchronised(moment) {
            return;
        }
        // First: what was observed before an entity is offered may still be said.
        self.flush_batches(moment);
        self.announce_presence(moment);
        self.rebalance(moment);
        self.allocate_ids(moment);
        self.keep_leases(moment);
        self.take_over(moment);
        self.keep_entities(moment);
        self.send_promises(moment);
        self.repeat_accepts(moment);
        self.tell_drained();
    }

    /// Handles a message from the bus.
    pub fn handle_message(&mut self, moment: &Moment, message: &Message<V>) {
        match message {
            Message::Ghosts(batch) => {
                // What is refused is counted by the caller that asks.
                let _ = self.handle_ghosts(moment, batch);
            }
            Message::Offer { from, entity, revision, cell, record } => {
                self.handle_offer(moment, *from, (*entity, *revision), *cell, record);
            }
            Message::Accept { from, entity, revision, title } => {
                self.handle_accept(moment, *from, *entity, *revision, *title);
            }
            Message::Release { entity, term } => {
                let is_meant = self.accepted.get(entity).is_some_and(|accepted| accepted.title.term == *term);
                if is_meant {
                    self.accepted.remove(entity);
                }
            }
            Message::Promise { server, from, to, number, bytes } => {
                self.handle_promise(moment, *server, (*from, *to), *number, bytes);
            }
            Message::Receipt { from, to, number } => self.handle_receipt(moment, *from, *to, *number),
            Message::Presence { server, entities, cells, is_draining } => {
                self.handle_presence(moment, *server, (*entities, *cells), *is_draining);
            }
        }
    }

    /// Handles a batch of DR vectors; returns how many were used, or why none was.
    pub fn handle_ghosts(&mut self, moment: &Moment, batch: &GhostBatch<V>) -> Result<usize, GhostRefusal> {
        let newest_fence = self.leases.get(&batch.cell).map_or(Revision::NONE, Lease::newest_fence);
        check_batch(batch, newest_fence, moment)?;
        let mut used = 0;
        for (term, vector) in &batch.vectors {
            if vector.generated_at > batch.speak_until || self.knows_later_term(vector.entity, *term) {
                continue;
            }
            let mut slot = self.ghosts.remove(&vector.entity);
            let title = batch.title(*term);
            let verdict = Ghost::accept(&mut slot, (title, vector), moment, batch.sent_at);
            if let Some(ghost) = slot {
                self.ghosts.insert(vector.entity, ghost);
            }
            used += usize::from(verdict.is_ok());
        }
        Ok(used)
    }

    fn knows_later_term(&self, entity: EntityId, term: u64) -> bool {
        let is_own =
            self.reals.get(&entity).is_some_and(|real| real.title.is_some_and(|own| own.term >= term));
        is_own || self.directory.get(&entity).is_some_and(|entry| entry.is_gone || entry.title.term > term)
    }

    /// Takes the next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Takes the next request or message. What the zone may no longer say at `moment` is dropped:
    /// time may have passed since the tick.
    pub fn poll_output(&mut self, moment: &Moment) -> Option<Output<V>> {
        loop {
            let output = self.outputs.pop_front()?;
            let may_leave = match &output {
                Output::Publish { message: Message::Ghosts(batch), .. } => {
                    self.covers(&Title { term: 0, cell: batch.cell, fence: batch.fence }, moment)
                }
                _ => true,
            };
            if may_leave {
                return Some(output);
            }
        }
    }

    /// Returns whether this server owns the entity at `moment`. Only then may it speak for it.
    pub fn owns(&self, entity: EntityId, moment: &Moment) -> bool {
        self.reals.get(&entity).is_some_and(|real| real.arrival.is_none() && self.is_owner(real, moment))
    }

    fn is_owner(&self, real: &Real<V>, moment: &Moment) -> bool {
        let Some(mut titles) = real.titles() else { return false };
        !real.is_gone
            && real.is_saved_enough(moment.local, self.config.loss_max)
            && titles.all(|title| self.covers(&title, moment))
    }

    /// Returns whether this server holds the lease that a title names.
    fn covers(&self, title: &Title, moment: &Moment) -> bool {
        let lease = self.leases.get(&title.cell);
        self.is_synchronised(moment) && lease.is_some_and(|lease| lease.covers(title.fence, moment))
    }

    fn is_synchronised(&self, moment: &Moment) -> bool {
        moment.uncertainty <= self.config.uncertainty_max
    }

    /// Takes the true state of an own entity at the instant `at`, and tells the other servers if
    /// their guess is wrong.
    pub fn observe(
        &mut self,
        moment: &Moment,
        entity: EntityId,
        observation: Observation<V>,
        at: SharedInstant,
    ) -> Result<(), CannotObserve> {
        let real = self.owned(entity, moment).map_err(CannotObserve::NotOwned)?;
        let export = real.owner.observe(observation, at).map_err(CannotObserve::Observation)?;
        let Some(export) = export else { return Ok(()) };
        real.on_changed(moment.local);
        let title = real.title.expect("an owned entity has a title");
        self.batches
            .entry((title.cell, title.fence))
            .or_default()
            .insert(entity, (title.term, export.vector));
        Ok(())
    }

    /// Replaces what the game keeps with an entity. It is saved with the next checkpoint.
    pub fn set_game(&mut self, moment: &Moment, entity: EntityId, game: Vec<u8>) -> Result<(), NotOwned> {
        let real = self.owned(entity, moment)?;
        real.game = game;
        real.on_changed(moment.local);
        Ok(())
    }

    /// Promises a message from an own entity to any entity; returns its number. It is delivered
    /// once, unless this server crashes before [`Event::Saved`] names its number.
    pub fn promise(
        &mut self,
        moment: &Moment,
        from: EntityId,
        to: EntityId,
        bytes: Vec<u8>,
    ) -> Result<u64, NotOwned> {
        let real = self.owned(from, moment)?;
        real.promised += 1;
        let number = real.promised;
        real.outbox.push_back(Promise { number, to, bytes });
        real.is_urgent = true;
        real.on_changed(moment.local);
        Ok(number)
    }

    /// Creates an entity. [`Event::Entered`] follows when the store knows it. `None` while this
    /// server has no free ids or does not hold the cell.
    pub fn spawn(
        &mut self,
        moment: &Moment,
        state: fairpath::State<V>,
        game: Vec<u8>,
        at: SharedInstant,
    ) -> Option<EntityId> {
        let cell = self.cells.cell_of(state.position);
        let fence = self.leases.get(&cell)?.fence(moment)?;
        let title = Title { term: 1, cell, fence };
        if !self.covers(&title, moment) {
            return None;
        }
        let entity = self.ids.take()?;
        let phase = Phase::Claiming { title, origin: Origin::Spawned };
        let mut real = Real::new(entity, &self.config, Revision::NONE, phase);
        real.owner.observe(Observation::Moved(state), at).ok()?;
        real.game = game;
        self.reals.insert(entity, real);
        Some(entity)
    }

    /// Destroys an own entity. [`Event::Left`] follows when the store knows it.
    pub fn destroy(&mut self, moment: &Moment, entity: EntityId) -> Result<(), NotOwned> {
        let real = self.owned(entity, moment)?;
        real.is_gone = true;
        real.is_urgent = true;
        real.on_changed(moment.local);
        Ok(())
    }

    fn owned(&mut self, entity: EntityId, moment: &Moment) -> Result<&mut Real<V>, NotOwned> {
        if !self.owns(entity, moment) {
            return Err(NotOwned(entity));
        }
        self.reals.get_mut(&entity).ok_or(NotOwned(entity))
    }

    /// Returns what the game keeps with an entity of this server.
    pub fn game(&self, entity: EntityId) -> Option<&[u8]> {
        self.reals.get(&entity).map(|real| real.game.as_slice())
    }

    /// Returns the newest DR vector of an entity of this server.
    pub fn exported(&self, entity: EntityId) -> Option<&DrVector<V>> {
        self.reals.get(&entity)?.exported()
    }

    /// Returns the title under which this server owns or has owned an entity.
    pub fn title(&self, entity: EntityId) -> Option<Title> {
        self.reals.get(&entity)?.title
    }

    /// Returns the entities that this server owns at `moment`.
    pub fn entities(&self, moment: &Moment) -> Vec<EntityId> {
        self.reals.keys().copied().filter(|entity| self.owns(*entity, moment)).collect()
    }

    /// Returns an entity of another server.
    pub fn ghost(&self, entity: EntityId) -> Option<&Ghost<V>> {
        self.ghosts.get(&entity)
    }

    /// Returns the cells whose subjects this server must hear: those near its own and those in
    /// [`set_interest`](Self::set_interest).
    pub fn subscriptions(&self) -> BTreeSet<CellId> {
        let held: Vec<CellId> = self.held_cells().collect();
        let is_near =
            |cell: &CellId| held.iter().any(|own| self.cells.are_near(*own, *cell, self.config.reach));
        let near = self.leases.keys().copied().filter(is_near);
        near.chain(self.interest.iter().copied()).collect()
    }

    /// Sets the cells that this server's clients see.
    pub fn set_interest(&mut self, cells: BTreeSet<CellId>) {
        self.interest = cells;
    }

    /// Returns the cells that this server holds, as far as it knows.
    pub fn held_cells(&self) -> impl Iterator<Item = CellId> + '_ {
        self.leases.iter().filter(|(_, lease)| lease.is_held()).map(|(cell, _)| *cell)
    }

    /// Returns the holder of a cell as far as this server knows.
    pub fn holder(&self, cell: CellId) -> Option<ServerId> {
        self.leases.get(&cell)?.holder()
    }

    /// Returns whether the zone is part of its world.
    pub fn status(&self) -> ZoneStatus {
        self.status
    }

    /// Returns this server's name.
    pub fn server(&self) -> ServerId {
        self.numbers.server
    }

    /// Gives all cells to other servers. [`Event::Drained`] follows.
    pub fn drain(&mut self) {
        self.is_draining = true;
    }

    fn flush_batches(&mut self, moment: &Moment) {
        for ((cell, fence), vectors) in std::mem::take(&mut self.batches) {
            if !self.covers(&Title { term: 0, cell, fence }, moment) {
                continue;
            }
            let Some(speak_until) = self.leases.get(&cell).and_then(Lease::speak_until) else { continue };
            let vectors: Vec<(u64, DrVector<V>)> = vectors.into_values().collect();
            for vectors in vectors.chunks(BATCH_LEN_MAX) {
                let batch = GhostBatch {
                    server: self.numbers.server,
                    cell,
                    fence,
                    speak_until,
                    sent_at: moment.shared,
                    vectors: vectors.to_vec(),
                };
                self.publish(Subject::Cell(cell), Message::Ghosts(batch));
            }
        }
    }

    fn publish(&mut self, subject: Subject, message: Message<V>) {
        self.outputs.push_back(Output::Publish { subject, message });
    }
}
