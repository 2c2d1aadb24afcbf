//! The gateway: a state machine between one DIS network and one client of a session.
//!
//! Two tables: *local* entities are heard on the network and are objects of this client; *remote*
//! ones are objects of other peers and are spoken for on the network. An entity is never in both,
//! so nothing that came from the session goes back into it (`local.rs`, `remote.rs`).

mod local;
mod remote;
mod seen;

use std::collections::{BTreeMap, VecDeque};

use fairpath::motion::dis::AccelerationReading;
use fairpath::session::{ClientEvent, ClientFrame, Party};
use fairpath::wire::Precision;
use fairpath::{EntityId, LocalInstant, Span, Vec3};

use self::local::Local;
use self::remote::Remote;
use self::seen::Seen;
use crate::exchange::{Entity, Event, Exchange, Other};
use crate::frame::LocalFrame;
use crate::id::{Application, DisId, EntityType, SiteFilter, Thresholds, TypeRule};
use crate::pdu::{self, EntityState, EntityStateUpdate, Pdu, PduError, kind};
use crate::stamp::{Instants, Stamp, StampClock, StampUse};

/// How entities of the network become DR vectors of the session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Passing {
    /// Every Entity State PDU is a DR vector: exact, and as frequent as the network.
    #[default]
    OneToOne,
    /// A DR vector is sent when receivers would be off by more than the thresholds. Heartbeats and
    /// corrections below the threshold cost nothing. Receivers are within two thresholds of the
    /// truth: one of the simulation, one of the gateway.
    Triggered,
}

/// Settings of a gateway.
#[derive(Clone, Debug, PartialEq)]
pub struct GatewayConfig {
    /// The exercise. PDUs of others are ignored. Default 1.
    pub exercise: u8,
    /// The gateway's own site and application: the ids of a game's objects on the network. PDUs of
    /// it are ignored. Default 60000:1. Every gateway needs another one.
    pub own: Application,
    /// Which applications are passed on. Default empty: all.
    pub accept: Vec<SiteFilter>,
    /// Which applications are not passed on, even if accepted. Default empty: none.
    pub refuse: Vec<SiteFilter>,
    /// How entities are passed on. Default one to one.
    pub passing: Passing,
    /// Thresholds of entities without a rule. Default 1 m and 3°.
    pub thresholds: Thresholds,
    /// Thresholds by entity type.
    pub rules: Vec<TypeRule>,
    /// What the acceleration of model 8 (RVB) is the slope of. Default: of the velocity in the
    /// world, as an accelerometer measures it. Programs that read the standard's matrices literally
    /// take the slope of the components in body axes. Both ends must agree with their networks.
    pub reading: AccelerationReading,
    /// Whether stamps count from the hour of UTC. Default true; false where this machine's clock is
    /// not synchronised.
    pub stamps_are_absolute: bool,
    /// Time between two PDUs of an entity at least. Default 5 s.
    pub heartbeat: Span,
    /// The same for an entity of DIS 7 that stands. Default 1 min.
    pub heartbeat_stationary: Span,
    /// An entity is gone after this many heartbeats without a PDU. Default 2.4.
    pub timeout_factor: f64,
    /// Most entities of the network. Default 10 000; more are ignored and counted.
    pub entities_max: usize,
}

impl Default for GatewayConfig {
    fn default() -> Self {
        Self {
            exercise: 1,
            own: Application { site: 60_000, application: 1 },
            accept: Vec::new(),
            refuse: Vec::new(),
            passing: Passing::default(),
            thresholds: Thresholds::default(),
            rules: Vec::new(),
            reading: AccelerationReading::default(),
            stamps_are_absolute: true,
            heartbeat: Span::from_secs(5),
            heartbeat_stationary: Span::from_secs(60),
            timeout_factor: 2.4,
            entities_max: 10_000,
        }
    }
}

impl GatewayConfig {
    /// Returns the thresholds of an entity type.
    pub fn thresholds_of(&self, kind: EntityType) -> Thresholds {
        TypeRule::find(&self.rules, kind, self.thresholds)
    }

    /// Returns the longest time between two PDUs of an entity.
    fn heartbeat_of(&self, version: u8, is_stationary: bool) -> Span {
        if is_stationary && version >= 7 { self.heartbeat_stationary } else { self.heartbeat }
    }

    fn accepts(&self, application: Application) -> bool {
        let any = |filters: &[SiteFilter]| filters.iter().any(|filter| filter.matches(application));
        application != self.own && (self.accept.is_empty() || any(&self.accept)) && !any(&self.refuse)
    }
}

/// What a gateway has done since it started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// PDUs from the network.
    pub received: u64,
    /// PDUs to the network.
    pub sent: u64,
    /// PDUs from the network that this gateway had sent itself.
    pub echoes: u64,
    /// PDUs about entities that the session already has from another peer: a second gateway, or a
    /// second way between the same networks. They are ignored.
    pub foreign: u64,
    /// PDUs of another exercise, or of applications that the filters keep out.
    pub filtered: u64,
    /// PDUs that were ignored because there are too many entities or applications.
    pub excess: u64,
    /// PDUs that could not be read, by reason.
    pub errors: BTreeMap<PduError, u64>,
    /// DR vectors given to the session.
    pub vectors: u64,
    /// Events and other PDUs passed to the session.
    pub calls_out: u64,
    /// Events and other PDUs taken from the session.
    pub calls_in: u64,
    /// Calls and objects that the session refused, or could not take yet.
    pub refused: u64,
    /// Entities of the network that timed out.
    pub timed_out: u64,
}

/// Connects one DIS network with one client of a session.
///
/// Feed it with [`handle_datagram`](Self::handle_datagram), call
/// [`handle_frame`](Self::handle_frame) about 50 times a second, and send what
/// [`poll_datagram`](Self::poll_datagram) returns. `now` must not go backwards.
#[derive(Debug)]
pub struct Gateway {
    config: GatewayConfig,
    frame: LocalFrame,
    precision: Precision,
    locals: BTreeMap<DisId, Local>,
    remotes: BTreeMap<DisId, Remote>,
    /// The entities of the session's objects, in both tables.
    ids: BTreeMap<EntityId, DisId>,
    clocks: BTreeMap<Application, StampClock>,
    /// Local entities whose DR vector in the session may differ from their newest PDU.
    pending: std::collections::BTreeSet<DisId>,
    sent: Seen,
    events: Seen,
    outbox: VecDeque<Vec<u8>>,
    next_number: u16,
    checked_at: Option<LocalInstant>,
    counters: Counters,
}

/// How often time-outs and heartbeats are checked.
const CHECK_EVERY: Span = Span::from_millis(100);
/// Most applications whose clocks are remembered.
const APPLICATIONS_MAX: usize = 4_096;
/// Most PDUs that wait for the socket: a second of the largest exercise.
const OUTBOX_MAX: usize = 20_000;

impl Gateway {
    /// Returns a gateway for a session of this exchange.
    pub fn new(config: GatewayConfig, exchange: &Exchange) -> Self {
        Self {
            config,
            frame: exchange.frame(),
            precision: exchange.precision(),
            locals: BTreeMap::new(),
            remotes: BTreeMap::new(),
            ids: BTreeMap::new(),
            clocks: BTreeMap::new(),
            pending: std::collections::BTreeSet::new(),
            sent: Seen::default(),
            events: Seen::default(),
            outbox: VecDeque::new(),
            next_number: 0,
            checked_at: None,
            counters: Counters::default(),
        }
    }

    /// Takes a datagram of the network.
    pub fn handle_datagram(&mut self, bytes: &[u8], now: Instants, game: &mut ClientFrame<'_, Vec3>) {
        for pdu in Pdu::split(bytes) {
            self.counters.received += 1;
            if let Err(error) = pdu.and_then(|pdu| self.handle_pdu(pdu, now, game)) {
                *self.counters.errors.entry(error).or_default() += 1;
            }
        }
    }

    fn handle_pdu(
        &mut self,
        pdu: Pdu<'_>,
        now: Instants,
        game: &mut ClientFrame<'_, Vec3>,
    ) -> Result<(), PduError> {
        if self.sent.contains(pdu.bytes()) {
            self.counters.echoes += 1;
            return Ok(());
        }
        let from = pdu.originator().ok_or(PduError::Truncated)?;
        if pdu.exercise() != self.config.exercise || !self.config.accepts(from.application) {
            self.counters.filtered += 1;
            return Ok(());
        }
        match pdu.kind() {
            kind::ENTITY_STATE => {
                let state = EntityState::read(pdu, self.config.reading)?;
                self.hear_entity(state, pdu.stamp(), now, game);
            }
            kind::ENTITY_STATE_UPDATE => {
                let update = EntityStateUpdate::read(pdu)?;
                if let Some(local) = self.locals.get(&update.id) {
                    let state = update.applied_to(&local.as_heard(now.local));
                    self.hear_entity(state, pdu.stamp(), now, game);
                }
            }
            _ => self.hear_event(pdu, from, now, game),
        }
        Ok(())
    }

    /// Takes the events of the session, updates both tables, and writes what is due for the
    /// network.
    pub fn handle_frame(&mut self, now: Instants, game: &mut ClientFrame<'_, Vec3>) {
        while let Some(event) = game.poll_event() {
            self.handle_event(event, now, game);
        }
        self.pass_pending(now, game);
        self.follow_remotes(now, game);
        if self.checked_at.is_none_or(|at| now.local - at >= CHECK_EVERY) {
            self.checked_at = Some(now.local);
            self.time_out_locals(now, game);
        }
    }

    fn handle_event(&mut self, event: ClientEvent, now: Instants, game: &mut ClientFrame<'_, Vec3>) {
        match event {
            ClientEvent::SessionLost { .. } => self.forget_session(),
            ClientEvent::ObjectEntered { object, owner, creation, .. } => {
                if let Some(entity) = creation.get::<Entity>() {
                    self.enter_remote(object, owner, entity, game);
                }
            }
            ClientEvent::ObjectLeft { object, is_destroyed } => self.leave(object, is_destroyed, now),
            ClientEvent::StateChanged { object, .. } => self.refresh_look(object, game),
            ClientEvent::Called { call, .. } => {
                let bytes = call.get::<Event>().map(|it| it.0).or_else(|| call.get::<Other>().map(|it| it.0));
                if let Some(bytes) = bytes {
                    self.speak_event(bytes, now);
                }
            }
            ClientEvent::Refused { object, .. } => {
                self.counters.refused += 1;
                // The session has forgotten an object whose creation was refused.
                if game.owner(object).is_none() {
                    self.leave(object, false, now);
                }
            }
            _ => {}
        }
    }

    /// The session's objects are void: local entities are created anew, remote ones end.
    fn forget_session(&mut self) {
        self.ids.clear();
        self.remotes.clear();
        for (id, local) in &mut self.locals {
            local.object = None;
            self.pending.insert(*id);
        }
    }

    fn leave(&mut self, object: EntityId, is_destroyed: bool, now: Instants) {
        let Some(id) = self.ids.remove(&object) else { return };
        if let Some(local) = self.locals.get_mut(&id).filter(|local| local.object == Some(object)) {
            local.object = None;
            local.retry_at = now.local + RETRY_AFTER;
            self.pending.insert(id);
        } else if self.remotes.get(&id).is_some_and(|remote| remote.object == object) {
            self.end_remote(id, is_destroyed, now);
        }
    }

    /// Passes a PDU that is not about the state of an entity to the session.
    fn hear_event(&mut self, pdu: Pdu<'_>, from: DisId, now: Instants, game: &mut ClientFrame<'_, Vec3>) {
        // The session already has it: from another gateway on the same network.
        if !self.events.insert(pdu.bytes()) {
            self.counters.foreign += 1;
            return;
        }
        let mut bytes = pdu.bytes().to_vec();
        if let Some(placed) = self.place(from.application, pdu.stamp(), now)
            && placed.by != StampUse::Absolute
        {
            // A relative stamp means nothing elsewhere. Zero: the gateway that speaks sets its own.
            pdu::readdress(&mut bytes, pdu.exercise(), Stamp(0));
        }
        let is_event = matches!(pdu.kind(), kind::FIRE | kind::DETONATION | kind::COLLISION);
        // Longer ones do not fit in a datagram, and a stream is reliable anyway.
        let done = if is_event || bytes.len() > UNRELIABLE_BYTES_MAX {
            game.call_server(&Event(bytes))
        } else {
            game.call_server(&Other(bytes))
        };
        *(if done.is_ok() { &mut self.counters.calls_out } else { &mut self.counters.refused }) += 1;
    }

    /// Sends a PDU of another network to this one.
    fn speak_event(&mut self, mut bytes: Vec<u8>, now: Instants) {
        let is_pdu = Pdu::split(&bytes)
            .next()
            .is_some_and(|pdu| pdu.is_ok_and(|pdu| pdu.bytes().len() == bytes.len()));
        if !is_pdu || !self.events.insert(&bytes) {
            self.counters.foreign += 1;
            return;
        }
        let told = Stamp(u32::from_be_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]));
        let stamp = if told == Stamp(0) { Stamp::of(now, self.config.stamps_are_absolute).0 } else { told };
        pdu::readdress(&mut bytes, self.config.exercise, stamp);
        self.counters.calls_in += 1;
        self.speak(bytes);
    }

    fn speak(&mut self, bytes: Vec<u8>) {
        if self.outbox.len() < OUTBOX_MAX {
            self.sent.insert(&bytes);
            self.outbox.push_back(bytes);
            self.counters.sent += 1;
        } else {
            self.counters.excess += 1;
        }
    }

    /// Returns the next PDU for the network.
    pub fn poll_datagram(&mut self) -> Option<Vec<u8>> {
        self.outbox.pop_front()
    }

    /// Returns what the gateway has done.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Returns the number of entities heard on the network, and of those it speaks for.
    pub fn entities(&self) -> (usize, usize) {
        (self.locals.len(), self.remotes.len())
    }

    /// Returns the object of an entity, whether it is heard on the network or spoken for.
    pub fn object_of(&self, id: DisId) -> Option<EntityId> {
        match self.locals.get(&id) {
            Some(local) => local.object,
            None => self.remotes.get(&id).map(|remote| remote.object),
        }
    }

    /// Returns the entities that the gateway speaks for on the network.
    pub fn spoken_for(&self) -> impl Iterator<Item = DisId> + '_ {
        self.remotes.iter().filter(|(_, remote)| !remote.is_silent()).map(|(id, _)| *id)
    }

    fn place(&mut self, from: Application, stamp: Stamp, now: Instants) -> Option<crate::stamp::Placed> {
        if self.clocks.len() >= APPLICATIONS_MAX && !self.clocks.contains_key(&from) {
            return None;
        }
        Some(self.clocks.entry(from).or_default().place(stamp, now))
    }
}

/// Time after which an entity is offered to the session again that the session refused.
const RETRY_AFTER: Span = Span::from_secs(1);
/// Most bytes of a PDU in an unreliable call, with room for its length.
const UNRELIABLE_BYTES_MAX: usize = fairpath::session::limits::DATAGRAM_ITEM_BYTES_MAX - 8;

/// Returns the client's number, which decides between two gateways that hear the same entity.
fn rank(party: Party) -> u64 {
    match party {
        Party::Server => 0,
        Party::Client(client) => 1 + u64::from(client.0),
    }
}
