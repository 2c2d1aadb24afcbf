//! The client's end of a session.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use super::channel::{Channel, Incoming};
use super::class::{Class, ClassId};
use super::error::{CallError, CloseReason, ObjectError, Refusal};
use super::limits::{
    CREATION_BYTES_MAX, DATAGRAM_ITEM_BYTES_MAX, EARLY_MAX, EVENTS_MAX, GROUPS_MAX, OBJECTS_MAX,
    OBJECTS_PER_CLIENT_MAX, OUTBOX_BYTES_MAX, OUTBOX_MESSAGES_MAX, RESUME_WITHIN, SILENCE_MAX,
};
use super::message::{
    Announcement, Call, Frames, Group, Hello, Message, Outcome, Resume, SESSION_VERSION, Target, Welcome,
};
use super::queues::Queues;
use super::statistics::Statistics;
use super::undelivered::Undelivered;
use super::{Budget, ClientId, Delivery, Party, Token};
use crate::clock::{ClockConfig, ClockSync, Reply, Request};
use crate::dr_vector::DrVector;
use crate::number::{EntityId, ReceiverId};
use crate::owner::Owner;
use crate::place::{Acceptance, Arrival, Placement, Replica};
use crate::random::Random;
use crate::schedule::{Broadcast, Dispatcher, DispatcherConfig};
use crate::state::{Observation, State};
use crate::time::{LocalInstant, Now, SharedInstant, Span};
use crate::vector::Planar;
use crate::wire::{Precision, StaleSet};

/// Settings of a client.
#[derive(Clone, Debug)]
pub struct ClientConfig {
    /// The classes of objects. Must equal the server's.
    pub classes: BTreeMap<ClassId, Class>,
    /// How numbers are rounded on the wire. Must equal the server's.
    pub precision: Precision,
    /// Proof of the player's identity, checked by the server's [`Admission`](super::Admission).
    /// Default empty.
    pub authentication: Vec<u8>,
    /// Settings of the clock synchronisation.
    pub clock: ClockConfig,
    /// Limit of the bytes sent to the server. Default [`Budget::default`].
    pub budget: Budget,
    /// Least time between two datagrams to the server; whatever becomes due meanwhile leaves with
    /// the next. Default zero: datagrams leave at once.
    ///
    /// At one frame, receipts travel with the updates of the next frame.
    pub datagram_every: Span,
    /// How long replicas predict without an update. Default [`Replica::HORIZON`]; must equal the
    /// horizon of the server's dispatcher.
    pub horizon: Span,
    /// Time without data after which the server counts as lost. Default [`SILENCE_MAX`].
    pub silence_max: Span,
}

impl ClientConfig {
    /// Returns the default settings for these classes.
    pub fn new(classes: impl IntoIterator<Item = (ClassId, Class)>) -> Self {
        Self {
            classes: classes.into_iter().collect(),
            precision: Precision::default(),
            authentication: Vec::new(),
            clock: ClockConfig::default(),
            budget: Budget::default(),
            datagram_every: Span::ZERO,
            horizon: Span::from_secs(3),
            silence_max: SILENCE_MAX,
        }
    }
}

/// Events for a client's application.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientEvent {
    /// A new session has begun; the server knows this client by this id.
    Connected(ClientId),
    /// The transport was lost or the server closed it. The session can be resumed, unless
    /// `SessionLost` follows.
    Disconnected(Option<CloseReason>),
    /// The session continues on a new transport: all delivery promises hold.
    Resumed,
    /// The session is over; all its objects and ids are invalid.
    SessionLost {
        /// Reliable messages and values that may not have arrived.
        undelivered: Vec<Undelivered>,
    },
    /// An object has become visible.
    ObjectEntered {
        /// The object.
        object: EntityId,
        /// Its class.
        class: ClassId,
        /// Its owner.
        owner: Party,
    },
    /// An object is no longer visible.
    ObjectLeft {
        /// The object.
        object: EntityId,
        /// Whether the object was destroyed, and not only left this client's scope.
        is_destroyed: bool,
    },
    /// A state group of an object owned by another peer has a new value: see [`Client::state`].
    StateChanged {
        /// The object.
        object: EntityId,
        /// The state group.
        group: u8,
    },
    /// A peer called this client.
    Called {
        /// The caller.
        from: Party,
        /// The target of the call. The object may not have entered yet, if the call was not
        /// `ReliableOrdered`.
        target: Target,
        /// The method, as the game numbers it.
        method: u32,
        /// The arguments.
        bytes: Vec<u8>,
    },
    /// An object has a new owner. If that is this client, call `observe` for it from now on.
    OwnershipChanged {
        /// The object.
        object: EntityId,
        /// The new owner.
        owner: Party,
    },
    /// The server refused an action of this client.
    Refused {
        /// The object of the action.
        object: EntityId,
        /// The reason.
        refusal: Refusal,
    },
}

/// The client's end of a session. The [module](super) says how to run it.
#[derive(Debug)]
pub struct Client<V: Planar> {
    config: ClientConfig,
    random: Random,
    phase: Phase,
    identity: Option<Identity>,
    /// When the session lost its transport.
    detached_at: Option<LocalInstant>,
    frames: Frames,
    channel: Channel,
    clock: ClockSync,
    clock_epoch: u32,
    is_synchronised: bool,
    asked_at: LocalInstant,
    heard_at: LocalInstant,
    placement: Placement,
    dispatcher: Dispatcher<V>,
    objects: BTreeMap<EntityId, Object<V>>,
    /// Replicas of objects that have not entered yet.
    early: BTreeMap<EntityId, Replica<V>>,
    /// Independent messages that overtook the greeting, or arrived before the clock was
    /// synchronised.
    early_unordered: Vec<Vec<u8>>,
    ids: VecDeque<Range<u32>>,
    closing: Option<CloseReason>,
    events: VecDeque<ClientEvent>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// No transport and no session.
    Idle,
    /// Hello was sent.
    Greeting,
    Established,
    /// No transport, but a session that can be resumed.
    Detached,
}

/// The client's identity in the current session.
#[derive(Clone, Copy, Debug)]
struct Identity {
    client: ClientId,
    token: Token,
    epoch: u64,
}

#[derive(Debug)]
struct Object<V: Planar> {
    class: ClassId,
    owner: Party,
    term: u64,
    creation: Vec<u8>,
    groups: BTreeMap<u8, Vec<u8>>,
    /// Values that the server sent for groups set by this client: they apply once another peer owns
    /// the object.
    overruled: BTreeMap<u8, Vec<u8>>,
    role: Role<V>,
}

impl<V: Planar> Object<V> {
    fn new(class: ClassId, owner: Party, term: u64, creation: Vec<u8>, role: Role<V>) -> Self {
        let (groups, overruled) = (BTreeMap::new(), BTreeMap::new());
        Self { class, owner, term, creation, groups, overruled, role }
    }
}

#[derive(Debug)]
enum Role<V: Planar> {
    /// Observed here. The second field holds the groups that this client set, one bit each.
    Mine(Box<Owner<V>>, u32),
    Theirs(Box<Replica<V>>),
}

/// The server's id in the client's dispatcher.
const SERVER: ReceiverId = ReceiverId(0);

/// Most grants of ids remembered; a server grants far fewer before they are used.
const GRANTS_MAX: usize = 64;

impl<V: Planar> Client<V> {
    /// Returns a client without a session. In a live game seed `random` with a secret: receipts are
    /// proven with it.
    pub fn new(config: ClientConfig, random: Random) -> Self {
        let dispatcher = dispatcher(&config, &random);
        Self {
            phase: Phase::Idle,
            identity: None,
            detached_at: None,
            frames: Frames::default(),
            channel: Channel::new(config.budget, config.datagram_every, random.fork(0)),
            clock: ClockSync::new(config.clock),
            clock_epoch: 0,
            is_synchronised: false,
            asked_at: LocalInstant::ZERO,
            heard_at: LocalInstant::ZERO,
            placement: Placement::default(),
            dispatcher,
            objects: BTreeMap::new(),
            early: BTreeMap::new(),
            early_unordered: Vec::new(),
            ids: VecDeque::new(),
            closing: None,
            events: VecDeque::new(),
            config,
            random,
        }
    }

    // ── objects ──

    /// Creates an object owned by this client. The server announces it to every client that may see
    /// it.
    pub fn create(
        &mut self,
        class: ClassId,
        creation: &[u8],
        now: LocalInstant,
    ) -> Result<EntityId, ObjectError> {
        let shared = self.clock_now(now).ok_or(ObjectError::NoSession)?.shared;
        let identity = self.identity.filter(|_| self.is_synchronised).ok_or(ObjectError::NoSession)?;
        let kind = self.config.classes.get(&class).ok_or(ObjectError::UnknownClass)?;
        if creation.len() > CREATION_BYTES_MAX {
            return Err(ObjectError::TooLong);
        }
        let mine = self.objects.values().filter(|object| object.is_mine()).count();
        if mine >= OBJECTS_PER_CLIENT_MAX {
            return Err(ObjectError::TooMany);
        }
        self.ids.retain(|grant| grant.start < grant.end);
        let grant = self.ids.front_mut().ok_or(ObjectError::NoIds)?;
        let object = EntityId(grant.start);
        let owner = Party::Client(identity.client);
        let announcement =
            Announcement { object, class, owner, term: 0, creation: creation.to_vec(), groups: Vec::new() };
        self.channel.announce(Message::Create(announcement), object).map_err(|_| ObjectError::Full)?;
        grant.start += 1;
        self.channel.manifest.add(object, kind.rates, shared);
        let role = Role::Mine(Box::new(watch(object, kind, self.config.precision)), 0);
        self.objects.insert(object, Object::new(class, owner, 0, creation.to_vec(), role));
        Ok(object)
    }

    /// Destroys an object that this client owns.
    pub fn destroy(&mut self, object: EntityId) -> Result<(), ObjectError> {
        self.mine(object)?;
        self.channel.send(Message::Destroy(object)).map_err(|_| ObjectError::Full)?;
        self.forget(object);
        Ok(())
    }

    /// Reports the true state of an object that this client owns; call it every frame.
    pub fn observe(
        &mut self,
        object: EntityId,
        observation: Observation<V>,
        now: LocalInstant,
    ) -> Result<(), ObjectError> {
        let shared = self.clock_now(now).ok_or(ObjectError::NoSession)?.shared;
        let Role::Mine(owner, _) = &mut self.mine(object)?.role else {
            return Err(ObjectError::NotOwner(object));
        };
        let export = owner.observe(observation, shared).map_err(|_| ObjectError::NotFinite(object))?;
        if let Some(export) = export {
            self.dispatcher.on_generated(&export.vector, export.reason, shared);
        }
        Ok(())
    }

    /// Returns the state of an object at `now`, for simulation; `None` before its first DR vector.
    ///
    /// For an object that this client owns, it returns what the other peers predict.
    pub fn place(&mut self, object: EntityId, now: LocalInstant) -> Option<State<V>> {
        let now = self.clock_now(now)?;
        match &self.objects.get(&object)?.role {
            Role::Mine(owner, _) => Some(owner.exported()?.state_at(now.shared)),
            Role::Theirs(replica) => replica.place(now),
        }
    }

    /// Returns the DR vector that [`place`](Self::place) uses; for an object that this client owns,
    /// the newest exported one.
    pub fn followed(&self, object: EntityId) -> Option<&DrVector<V>> {
        match &self.objects.get(&object)?.role {
            Role::Mine(owner, _) => owner.exported(),
            Role::Theirs(replica) => replica.followed(),
        }
    }

    /// Returns the state of an object to draw: [`place`](Self::place) with smoothed corrections.
    pub fn draw(&mut self, object: EntityId, now: LocalInstant) -> Option<State<V>> {
        let now = self.clock_now(now)?;
        match &self.objects.get(&object)?.role {
            Role::Mine(owner, _) => Some(owner.exported()?.state_at(now.shared)),
            Role::Theirs(replica) => replica.draw(now),
        }
    }

    /// Sets a state group of an object that this client owns. An unchanged value is not sent.
    pub fn set_state(&mut self, object: EntityId, group: u8, bytes: &[u8]) -> Result<(), ObjectError> {
        check_group(group, bytes)?;
        let mine = self.mine(object)?;
        if mine.groups.get(&group).is_some_and(|value| value == bytes) {
            return Ok(());
        }
        mine.groups.insert(group, bytes.to_vec());
        if let Role::Mine(_, set) = &mut mine.role {
            *set |= 1 << group;
        }
        self.channel.set_state(object, group, bytes.to_vec());
        Ok(())
    }

    /// Returns the value of a state group, if it has one.
    pub fn state(&self, object: EntityId, group: u8) -> Option<&[u8]> {
        self.objects.get(&object)?.groups.get(&group).map(Vec::as_slice)
    }

    /// Asks the server for ownership of an object. The answer is `OwnershipChanged` or `Refused`.
    pub fn claim(&mut self, object: EntityId) -> Result<(), ObjectError> {
        let term = self.objects.get(&object).ok_or(ObjectError::Unknown(object))?.term;
        self.channel.send(Message::Claim(object, term)).map_err(|_| ObjectError::Full)
    }

    /// Returns an object to the server. The answer is `OwnershipChanged`.
    pub fn release(&mut self, object: EntityId) -> Result<(), ObjectError> {
        let term = self.mine(object)?.term;
        self.channel.send(Message::Release(object, term)).map_err(|_| ObjectError::Full)
    }

    /// Returns all visible objects in the order of their ids.
    pub fn objects(&self) -> impl Iterator<Item = EntityId> + '_ {
        self.objects.keys().copied()
    }

    /// Returns the class of an object.
    pub fn class(&self, object: EntityId) -> Option<ClassId> {
        Some(self.objects.get(&object)?.class)
    }

    /// Returns the owner of an object.
    pub fn owner(&self, object: EntityId) -> Option<Party> {
        Some(self.objects.get(&object)?.owner)
    }

    /// Returns the bytes that an object was created with.
    pub fn creation(&self, object: EntityId) -> Option<&[u8]> {
        Some(&self.objects.get(&object)?.creation)
    }

    // ── calls ──

    /// Calls the server.
    pub fn call_server(&mut self, method: u32, bytes: &[u8], delivery: Delivery) -> Result<(), CallError> {
        self.call(Target::Connection, method, bytes, delivery)
    }

    /// Calls the owner of an object.
    pub fn call_owner(
        &mut self,
        object: EntityId,
        method: u32,
        bytes: &[u8],
        delivery: Delivery,
    ) -> Result<(), CallError> {
        self.objects.get(&object).ok_or(CallError::UnknownObject(object))?;
        self.call(Target::Owner(object), method, bytes, delivery)
    }

    /// Calls every client that sees an object owned by this client.
    pub fn call_viewers(
        &mut self,
        object: EntityId,
        method: u32,
        bytes: &[u8],
        delivery: Delivery,
    ) -> Result<(), CallError> {
        let is_mine = self.objects.get(&object).ok_or(CallError::UnknownObject(object))?.is_mine();
        if !is_mine {
            return Err(CallError::NotOwner(object));
        }
        self.call(Target::Viewers(object), method, bytes, delivery)
    }

    fn call(
        &mut self,
        target: Target,
        method: u32,
        bytes: &[u8],
        delivery: Delivery,
    ) -> Result<(), CallError> {
        let identity = self.identity.filter(|_| self.is_synchronised).ok_or(CallError::NoSession)?;
        let from = Party::Client(identity.client);
        self.channel.call(Call { target, from, method, bytes: bytes.to_vec() }, delivery)
    }

    // ── input ──

    /// Starts or resumes the session: a transport to the server is connected.
    pub fn handle_connected(&mut self, now: LocalInstant) {
        self.forget_if_too_late(now);
        self.frames = Frames::default();
        self.closing = None;
        (self.asked_at, self.heard_at) = (now, now);
        let received = self.channel.received();
        let resume = self.identity.map(|Identity { token, epoch, .. }| Resume { token, epoch, received });
        self.channel.greet(Message::Hello(Hello {
            version: SESSION_VERSION,
            dimensions: V::DIMENSIONS as u8,
            fingerprint: self.config.precision.fingerprint(),
            authentication: self.config.authentication.clone(),
            clock: Request { id: 0 },
            resume,
        }));
        self.phase = Phase::Greeting;
    }

    /// Handles the loss of the transport; `reason` is the server's, if it gave one.
    pub fn handle_disconnected(&mut self, reason: Option<CloseReason>, now: LocalInstant) {
        if !matches!(self.phase, Phase::Greeting | Phase::Established) {
            return;
        }
        self.detach(reason, now);
        if reason.is_some_and(CloseReason::ends_session) {
            self.lose_session();
        }
    }

    /// Handles bytes from the ordered stream.
    pub fn handle_stream(&mut self, bytes: &[u8], now: LocalInstant) {
        if !matches!(self.phase, Phase::Greeting | Phase::Established) {
            return;
        }
        self.heard_at = now;
        self.channel.count_received(bytes.len());
        match self.frames.push(bytes) {
            Ok(()) => self.drain_frames(now),
            Err(reason) => self.close(reason, now),
        }
    }

    /// Handles an independent message.
    pub fn handle_unordered(&mut self, bytes: &[u8], now: LocalInstant) {
        if matches!(self.phase, Phase::Greeting | Phase::Established) && !self.is_connected() {
            return self.keep_unordered(bytes, now);
        }
        let Some(now) = self.heard(now) else { return };
        match self.channel.handle_unordered(bytes, now) {
            Ok(Some(call)) => self.called(call),
            Ok(None) => {}
            Err(reason) => self.close(reason, now.local),
        }
    }

    /// Handles a datagram.
    pub fn handle_datagram(&mut self, bytes: &[u8], now: LocalInstant) {
        let Some(now) = self.heard(now) else { return };
        if !self.is_synchronised {
            return match self.channel.handle_time_only(bytes) {
                Ok(replies) => replies.into_iter().for_each(|reply| self.handle_time(reply, now.local)),
                Err(reason) => self.close(reason, now.local),
            };
        }
        let precision = &self.config.precision;
        match self.channel.handle_datagram(&mut self.dispatcher, SERVER, precision, bytes, now) {
            Ok(Some(incoming)) => self.reconcile(incoming, now),
            Ok(None) => {}
            Err(reason) => self.close(reason, now.local),
        }
    }

    /// Handles the passing of time: call it when [`poll_deadline`](Self::poll_deadline) is reached.
    pub fn handle_timeout(&mut self, now: LocalInstant) {
        self.forget_if_too_late(now);
        let is_connected = matches!(self.phase, Phase::Greeting | Phase::Established);
        if is_connected && now - self.heard_at >= self.config.silence_max {
            self.close(CloseReason::Silent, now);
        }
        if self.events.len() >= EVENTS_MAX {
            self.close(CloseReason::Overloaded, now);
        }
    }

    // ── output ──

    /// Returns bytes for the ordered stream.
    pub fn poll_stream(&mut self, now: LocalInstant) -> Option<Vec<u8>> {
        match self.phase {
            Phase::Greeting => self.channel.poll_greeting(),
            Phase::Established => {
                let now = self.clock_now(now)?;
                self.channel.poll_stream(now)
            }
            Phase::Idle | Phase::Detached => None,
        }
    }

    /// Returns an independent message.
    pub fn poll_unordered(&mut self) -> Option<Vec<u8>> {
        if self.phase == Phase::Established { self.channel.poll_unordered() } else { None }
    }

    /// Returns the next datagram, of at most `bytes_max`. Call it only when a datagram can leave at
    /// once.
    pub fn poll_datagram(&mut self, now: LocalInstant, bytes_max: usize) -> Option<Vec<u8>> {
        if self.phase != Phase::Established {
            return None;
        }
        if let Some(request) = self.clock.poll_request(now) {
            self.channel.ask_time(request);
        }
        let now = self.clock_now(now)?;
        self.channel.poll_datagram(&mut self.dispatcher, SERVER, &self.config.precision, now, bytes_max)
    }

    /// Returns the reason once, if the transport must be closed.
    pub fn poll_close(&mut self) -> Option<CloseReason> {
        self.closing.take()
    }

    /// Returns the next event for the application.
    pub fn poll_event(&mut self) -> Option<ClientEvent> {
        self.events.pop_front()
    }

    /// Returns when to call again if no input arrives before; an instant in the past if something
    /// is due now.
    pub fn poll_deadline(&mut self, now: LocalInstant) -> Option<LocalInstant> {
        match self.phase {
            Phase::Idle => None,
            Phase::Greeting => {
                // Hello waits to be written, or the client waits for the answer.
                let says_hello = self.channel.has_greeting().then_some(now);
                let gives_up = self.heard_at + self.config.silence_max;
                says_hello.into_iter().chain([gives_up]).min()
            }
            Phase::Detached => self.resumable_until(),
            Phase::Established => {
                let now = self.clock_now(now)?;
                let claims = self.dispatcher.poll_deadline().map(|at| now.local + (at - now.shared));
                // Claims that are due wait for the next datagram.
                let claims = claims.map(|at| at.max(self.channel.speaks_at(now)));
                let fixed = [self.heard_at + self.config.silence_max, self.clock.poll_deadline()];
                fixed.into_iter().chain(claims).chain(self.channel.poll_deadline(now)).min()
            }
        }
    }

    /// Leaves for good: the server removes this client's objects, and the session cannot be
    /// resumed.
    pub fn leave(&mut self, now: LocalInstant) {
        self.close(CloseReason::Finished, now);
        self.lose_session();
    }

    // ── getters ──

    /// Returns this client's id at the server, while there is a session.
    pub fn id(&self) -> Option<ClientId> {
        self.identity.map(|identity| identity.client)
    }

    /// Returns whether the session has a transport and a synchronised clock.
    pub fn is_connected(&self) -> bool {
        self.phase == Phase::Established && self.is_synchronised
    }

    /// Returns both clocks, once there has been a session.
    pub fn clock_now(&mut self, now: LocalInstant) -> Option<Now> {
        self.clock.now(now)
    }

    /// Returns the greatest possible error of the shared clock.
    pub fn clock_uncertainty(&self, now: LocalInstant) -> Option<Span> {
        self.clock.uncertainty(now)
    }

    /// Returns statistics of the link to the server.
    pub fn statistics(&self) -> Statistics {
        let error_per_sec = self.dispatcher.account(SERVER).map_or(0.0, |account| account.rate());
        Statistics { error_per_sec, ..self.channel.statistics() }
    }

    /// Returns the lengths of this client's queues.
    pub fn queues(&self) -> Queues {
        Queues { early: self.early.len(), events: self.events.len(), ..self.channel.queues() }
    }

    // ── the reconcile step ──

    /// Applies one datagram: accepts motion, values and calls that are newer, and books the receipt
    /// that tells the server which DR vectors were outdated.
    fn reconcile(&mut self, incoming: Incoming<V>, now: Now) {
        let mut stale = StaleSet::NONE;
        for (place, vector) in incoming.vectors.iter().enumerate() {
            if self.accept(vector, incoming.header.sent_at, now) != Acceptance::Used {
                stale.insert(place);
            }
        }
        self.channel.owe_receipt(&incoming, stale, now);
        for reply in &incoming.clock {
            self.handle_time(*reply, now.local);
        }
        for (object, group) in incoming.states {
            self.change_state(object, group);
        }
        for (call, _) in incoming.calls {
            self.called(call);
        }
    }

    /// Accepts motion of an object owned by another peer, or of an object that has not entered yet.
    fn accept(&mut self, vector: &DrVector<V>, sent_at: SharedInstant, now: Now) -> Acceptance {
        let arrival =
            Arrival { now, waited: sent_at - vector.generated_at, travelled: self.channel.one_way() };
        match self.objects.get_mut(&vector.entity).map(|object| &mut object.role) {
            Some(Role::Theirs(replica)) => replica.accept(vector, &arrival),
            Some(Role::Mine(..)) => Acceptance::Stale,
            None => {
                if self.early.len() >= EARLY_MAX && !self.early.contains_key(&vector.entity) {
                    self.early.pop_first();
                }
                let replica = replica(&self.config, self.placement);
                self.early.entry(vector.entity).or_insert(replica).accept(vector, &arrival)
            }
        }
    }

    fn handle_time(&mut self, reply: Reply, now: LocalInstant) {
        if let Ok(round_trip) = self.clock.handle_reply(reply, now) {
            self.channel.on_round_trip(round_trip);
        }
        if !self.is_synchronised {
            self.synchronise(now);
        } else if self.clock.epoch() != self.clock_epoch {
            // Instants stamped before the jump have no meaning on the new timeline.
            self.close(CloseReason::ClockJumped, now);
            self.lose_session();
        }
    }

    /// Reports `Connected` once the clock is good enough. A greeting that was sent several times
    /// measures the time badly: a later correction would make the clock jump. On a link too long
    /// for anything better, a settled clock is enough.
    fn synchronise(&mut self, now: LocalInstant) {
        let good_enough = self.config.clock.step_beyond.scaled(0.5);
        let is_vague = self.clock.uncertainty(now).is_none_or(|uncertainty| uncertainty > good_enough);
        if is_vague && !self.clock.is_settled() {
            return;
        }
        let (Some(identity), Some(now)) = (self.identity, self.clock_now(now)) else { return };
        self.is_synchronised = true;
        self.clock_epoch = self.clock.epoch();
        self.dispatcher.join(SERVER, now.shared);
        self.events.push_back(ClientEvent::Connected(identity.client));
        self.open_early_unordered(now.local);
        self.drain_frames(now.local);
    }

    fn change_state(&mut self, object: EntityId, group: Group) {
        let Some(known) = self.objects.get_mut(&object) else { return };
        let is_mine = matches!(&known.role, Role::Mine(_, set) if set >> group.group & 1 == 1);
        if !self.channel.is_news(object, &group) {
            return;
        }
        if is_mine {
            known.overruled.insert(group.group, group.bytes);
        } else {
            known.groups.insert(group.group, group.bytes);
            self.events.push_back(ClientEvent::StateChanged { object, group: group.group });
        }
    }

    fn called(&mut self, call: Call) {
        let Call { target, from, method, bytes } = call;
        self.events.push_back(ClientEvent::Called { from, target, method, bytes });
    }

    /// Keeps a message until the session begins for the application: the transport delivers it only
    /// once.
    fn keep_unordered(&mut self, bytes: &[u8], now: LocalInstant) {
        self.heard_at = now;
        let kept: usize = self.early_unordered.iter().map(Vec::len).sum();
        if kept + bytes.len() > OUTBOX_BYTES_MAX || self.early_unordered.len() >= OUTBOX_MESSAGES_MAX {
            return self.close(CloseReason::OutOfPlace, now);
        }
        self.early_unordered.push(bytes.to_vec());
    }

    fn open_early_unordered(&mut self, now: LocalInstant) {
        for message in std::mem::take(&mut self.early_unordered) {
            self.handle_unordered(&message, now);
        }
    }

    // ── messages on the stream ──

    fn drain_frames(&mut self, now: LocalInstant) {
        while matches!(self.phase, Phase::Greeting) || self.is_connected() {
            let handled = match self.frames.next() {
                Ok(Some(message)) => self.handle(message, now),
                Ok(None) => return,
                Err(reason) => Err(reason),
            };
            if let Err(reason) = handled {
                self.close(reason, now);
            }
        }
    }

    fn handle(&mut self, message: Message, now: LocalInstant) -> Result<(), CloseReason> {
        if let Message::Welcome(welcome) = message {
            return self.welcome(welcome, now);
        }
        let now = self.clock_now(now).filter(|_| self.phase == Phase::Established);
        let now = now.ok_or(CloseReason::OutOfPlace)?;
        match self.channel.handle_ordered(message, now)? {
            Some(Message::Enter(announcement)) => self.enter(announcement, now)?,
            Some(Message::Leave(object, is_destroyed)) => self.left(object, is_destroyed),
            Some(Message::Owned(object, owner, term)) => self.change_owner(object, owner, term, now),
            Some(Message::Ids(first, count)) if self.ids.len() < GRANTS_MAX => {
                self.ids.push_back(first..first + count);
            }
            Some(Message::Refused(object, refusal)) => self.refused(object, refusal),
            Some(Message::Call(call)) => self.called(call),
            None => {}
            Some(_) => return Err(CloseReason::OutOfPlace),
        }
        Ok(())
    }

    fn welcome(&mut self, welcome: Welcome, now: LocalInstant) -> Result<(), CloseReason> {
        if self.phase != Phase::Greeting {
            return Err(CloseReason::OutOfPlace);
        }
        match welcome.outcome {
            Outcome::Resumed(received) => {
                let now = self.clock_now(now).ok_or(CloseReason::OutOfPlace)?;
                if self.identity.is_none() || !self.channel.resume(&received, now) {
                    return Err(CloseReason::OutOfPlace);
                }
                self.dispatcher.join(SERVER, now.shared);
                self.phase = Phase::Established;
                if self.is_synchronised {
                    self.events.push_back(ClientEvent::Resumed);
                }
            }
            Outcome::New(first, count) => {
                self.lose_session();
                self.clock = ClockSync::new(self.config.clock);
                self.clock.poll_request(self.asked_at);
                self.clock.handle_reply(welcome.clock, now).map_err(|_| CloseReason::OutOfPlace)?;
                self.ids.push_back(first..first + count);
                self.phase = Phase::Established;
            }
        }
        self.detached_at = None;
        self.placement = welcome.placement;
        self.identity = Some(Identity { client: welcome.client, token: welcome.token, epoch: welcome.epoch });
        if self.is_synchronised {
            self.open_early_unordered(now);
        } else {
            self.synchronise(now);
        }
        Ok(())
    }

    fn enter(&mut self, announcement: Announcement, now: Now) -> Result<(), CloseReason> {
        // The most objects a server may have, plus own objects that it does not know yet.
        if self.objects.len() >= OBJECTS_MAX + OBJECTS_PER_CLIENT_MAX {
            return Err(CloseReason::OutOfPlace);
        }
        self.channel.hear_groups(&announcement);
        let Announcement { object, class, owner, term, creation, groups } = announcement;
        let replica = self.early.remove(&object).unwrap_or_else(|| replica(&self.config, self.placement));
        let role = Role::Theirs(Box::new(replica));
        let mut known = Object::new(class, Party::Server, term, creation, role);
        known.groups = groups.into_iter().map(|group| (group.group, group.bytes)).collect();
        self.objects.insert(object, known);
        self.take_sides(object, owner, now);
        self.events.push_back(ClientEvent::ObjectEntered { object, class, owner });
        Ok(())
    }

    fn left(&mut self, object: EntityId, is_destroyed: bool) {
        if self.forget(object) {
            self.events.push_back(ClientEvent::ObjectLeft { object, is_destroyed });
        }
    }

    fn change_owner(&mut self, object: EntityId, owner: Party, term: u64, now: Now) {
        let Some(known) = self.objects.get_mut(&object) else { return };
        known.term = term;
        self.take_sides(object, owner, now);
        self.events.push_back(ClientEvent::OwnershipChanged { object, owner });
    }

    /// Changes the role of an object. A new owner continues from the last received DR vector, a
    /// former owner from the last exported one.
    fn take_sides(&mut self, object: EntityId, owner: Party, now: Now) {
        let Some(known) = self.objects.get_mut(&object) else { return };
        let is_mine =
            owner == Party::Client(self.identity.map(|identity| identity.client).unwrap_or_default());
        known.owner = owner;
        match &known.role {
            Role::Theirs(replica) if is_mine => {
                let fallback = Class::new(crate::trigger::Trigger::within(0.3));
                let kind = self.config.classes.get(&known.class).unwrap_or(&fallback);
                let mut watch = watch(object, kind, self.config.precision);
                if let Some(followed) = replica.followed() {
                    watch = watch.continuing(*followed);
                }
                self.channel.manifest.add(object, kind.rates, now.shared);
                known.role = Role::Mine(Box::new(watch), 0);
                known.overruled.clear();
            }
            Role::Mine(watch, set) if !is_mine => {
                // Values set here may have arrived too late. The server sends the ones that count.
                known.groups.retain(|group, _| set >> group & 1 == 0);
                known.groups.append(&mut known.overruled);
                let mut replica = replica(&self.config, self.placement);
                if let Some(exported) = watch.exported() {
                    replica.accept(exported, &Arrival::at(now));
                }
                known.role = Role::Theirs(Box::new(replica));
                self.channel.disown(object);
                self.dispatcher.remove(object);
            }
            _ => {}
        }
    }

    /// Removes an object whose creation was refused, and reports the refusal.
    fn refused(&mut self, object: EntityId, refusal: Refusal) {
        let never_existed = matches!(
            refusal,
            Refusal::UnknownClass | Refusal::UnknownId | Refusal::TooManyObjects | Refusal::NotCreated
        );
        if never_existed {
            self.forget(object);
        }
        self.events.push_back(ClientEvent::Refused { object, refusal });
    }

    // ── the life of the session ──

    fn close(&mut self, reason: CloseReason, now: LocalInstant) {
        if matches!(self.phase, Phase::Greeting | Phase::Established) {
            self.closing = Some(reason);
            self.detach(Some(reason), now);
        }
    }

    fn detach(&mut self, reason: Option<CloseReason>, now: LocalInstant) {
        let was_connected = self.phase == Phase::Established;
        if self.identity.is_some() {
            self.phase = Phase::Detached;
            self.detached_at = self.detached_at.or(Some(now));
        } else {
            self.phase = Phase::Idle;
        }
        self.channel.drop_greetings();
        self.early_unordered.clear();
        self.dispatcher.leave(SERVER);
        // An unanswered greeting is no news for a client without a connection.
        if was_connected || reason.is_some_and(|reason| reason != CloseReason::Silent) {
            self.events.push_back(ClientEvent::Disconnected(reason));
        }
    }

    fn resumable_until(&self) -> Option<LocalInstant> {
        self.detached_at.map(|since| since + RESUME_WITHIN)
    }

    /// Gives the session up after the deadline, unless a greeting is under way: then the server
    /// decides.
    fn forget_if_too_late(&mut self, now: LocalInstant) {
        if self.phase != Phase::Greeting && self.resumable_until().is_some_and(|until| until <= now) {
            self.lose_session();
        }
    }

    /// Discards everything of the old session.
    fn lose_session(&mut self) {
        let fresh = self.new_channel();
        let channel = std::mem::replace(&mut self.channel, fresh);
        self.objects.clear();
        self.early.clear();
        self.ids.clear();
        self.dispatcher = dispatcher(&self.config, &self.random);
        if self.phase == Phase::Detached {
            self.phase = Phase::Idle;
        }
        self.detached_at = None;
        let was_connected = std::mem::take(&mut self.is_synchronised);
        if self.identity.take().is_some() && was_connected {
            self.events.push_back(ClientEvent::SessionLost { undelivered: channel.into_undelivered() });
        }
    }

    /// Returns a channel with unused nonces.
    fn new_channel(&mut self) -> Channel {
        let stream = self.random.bits();
        Channel::new(self.config.budget, self.config.datagram_every, self.random.fork(stream))
    }

    fn forget(&mut self, object: EntityId) -> bool {
        self.channel.forget(object);
        self.dispatcher.remove(object);
        self.objects.remove(&object).is_some()
    }

    /// Records data from the server. Returns the time in an established session.
    fn heard(&mut self, now: LocalInstant) -> Option<Now> {
        if self.phase != Phase::Established {
            return None;
        }
        self.heard_at = now;
        self.clock_now(now)
    }

    fn mine(&mut self, object: EntityId) -> Result<&mut Object<V>, ObjectError> {
        let known = self.objects.get_mut(&object).ok_or(ObjectError::Unknown(object))?;
        if known.is_mine() { Ok(known) } else { Err(ObjectError::NotOwner(object)) }
    }
}

impl<V: Planar> Object<V> {
    fn is_mine(&self) -> bool {
        matches!(self.role, Role::Mine(..))
    }
}

/// Returns the dispatcher: a client has one receiver, the server, and sends it every update.
fn dispatcher<V: Planar>(config: &ClientConfig, random: &Random) -> Dispatcher<V> {
    let settings = DispatcherConfig { horizon: config.horizon, ..DispatcherConfig::default() };
    Dispatcher::new(settings, Box::new(Broadcast), random.clone())
}

fn replica<V: Planar>(config: &ClientConfig, placement: Placement) -> Replica<V> {
    Replica::new(placement).with_horizon(config.horizon)
}

/// Returns an owner with the settings of the class.
pub(super) fn watch<V: Planar>(object: EntityId, class: &Class, precision: Precision) -> Owner<V> {
    let owner = Owner::new(object, class.trigger.clone()).with_model(class.model).with_precision(precision);
    if class.sends_attitude { owner.with_attitude() } else { owner }
}

/// Checks the number and the length of a state group.
pub(super) fn check_group(group: u8, bytes: &[u8]) -> Result<(), ObjectError> {
    if usize::from(group) >= GROUPS_MAX {
        return Err(ObjectError::NoSuchGroup(group));
    }
    if bytes.len() > DATAGRAM_ITEM_BYTES_MAX { Err(ObjectError::TooLong) } else { Ok(()) }
}
