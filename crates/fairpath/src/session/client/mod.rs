//! The client's end of a session.

mod attach;
mod config;
mod event;
mod life;
mod reconcile;

pub use config::ClientConfig;
pub use event::ClientEvent;

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use crate::clock::{ClockSync, Request};
use crate::dr_vector::DrVector;
use crate::number::{EntityId, ReceiverId};
use crate::owner::Owner;
use crate::place::{Placement, Replica};
use crate::random::Random;
use crate::schedule::{Broadcast, Dispatcher, DispatcherConfig};
use crate::session::attach::Attachments;
use crate::session::channel::Channel;
use crate::session::limits::{
    CREATION_BYTES_MAX, DATAGRAM_ITEM_BYTES_MAX, EVENTS_MAX, GROUPS_MAX, OBJECTS_PER_CLIENT_MAX,
};
use crate::session::message::{Announcement, Call, Frames, Hello, Message, Resume, SESSION_VERSION, Target};
use crate::session::{
    CallError, Class, ClassId, ClientId, CloseReason, Delivery, ObjectError, Party, Queues, Statistics, Token,
};
use crate::state::{Observation, State};
use crate::time::{LocalInstant, Now, Span};
use crate::vector::Planar;
use crate::wire::Precision;

/// The client's end of a session. The [module](super) says how to run it.
#[derive(Debug)]
pub struct Client<V: Planar> {
    config: ClientConfig,
    random: Random,
    phase: Phase,
    identity: Option<Identity>,
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
    attachments: Attachments,
    /// World states of objects whose parent is gone, until they follow another DR vector.
    resting: BTreeMap<EntityId, State<V>>,
    /// The newest time that this client was told.
    latest: Option<Now>,
    /// Replicas of objects that have not entered yet.
    early: BTreeMap<EntityId, Replica<V>>,
    /// Independent messages that came before the greeting or the clock's synchronisation.
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
    /// The server's values for groups set by this client, for when another peer owns the object.
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
            attachments: Attachments::default(),
            resting: BTreeMap::new(),
            latest: None,
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

    /// Creates an object owned by this client. The server announces it to clients that may see it.
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

    /// Reports the true state of an object that this client owns; call it every frame. With a
    /// [`parent`](Self::parent) the state is relative to the parent.
    pub fn observe(
        &mut self,
        object: EntityId,
        observation: Observation<V>,
        now: LocalInstant,
    ) -> Result<(), ObjectError> {
        let shared = self.clock_now(now).ok_or(ObjectError::NoSession)?.shared;
        self.mine(object)?;
        self.check_parent(object)?;
        let Role::Mine(owner, _) = &mut self.mine(object)?.role else {
            return Err(ObjectError::NotOwner(object));
        };
        let export = owner.observe(observation, shared).map_err(|_| ObjectError::NotFinite(object))?;
        if let Some(export) = export {
            self.follow_parent(object, export.vector.parent);
            self.dispatcher.on_generated(&export.vector, export.reason, shared);
        }
        Ok(())
    }

    /// Returns the world state of an object at `now`, for simulation; `None` before its first DR
    /// vector, or before that of a parent.
    ///
    /// For an object that this client owns, it returns what the other peers predict.
    pub fn place(&mut self, object: EntityId, now: LocalInstant) -> Option<State<V>> {
        let now = self.clock_now(now)?;
        self.in_world(object, now, Replica::place)
    }

    /// Returns the DR vector that [`place`](Self::place) uses; for an object that this client owns,
    /// the newest exported one. Its motion is relative to its parent, if it has one.
    pub fn followed(&self, object: EntityId) -> Option<&DrVector<V>> {
        match &self.objects.get(&object)?.role {
            Role::Mine(owner, _) => owner.exported(),
            Role::Theirs(replica) => replica.followed(),
        }
    }

    /// Returns the world state of an object to draw: [`place`](Self::place) with smoothed
    /// corrections of the object and of its parents.
    pub fn draw(&mut self, object: EntityId, now: LocalInstant) -> Option<State<V>> {
        let now = self.clock_now(now)?;
        self.in_world(object, now, Replica::draw)
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

    /// Returns the next datagram, of at most `bytes_max`. Call it only when one can leave at once.
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

    /// Returns when to call again if no input arrives before; in the past if something is due now.
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

    /// Leaves for good: the server removes this client's objects, and the session
    /// cannot be resumed.
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
        self.latest = self.clock.now(now);
        self.latest
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

    fn forget(&mut self, object: EntityId) -> bool {
        self.rest_children(object);
        self.follow_parent(object, None);
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

pub(super) fn check_group(group: u8, bytes: &[u8]) -> Result<(), ObjectError> {
    if usize::from(group) >= GROUPS_MAX {
        return Err(ObjectError::NoSuchGroup(group));
    }
    if bytes.len() > DATAGRAM_ITEM_BYTES_MAX { Err(ObjectError::TooLong) } else { Ok(()) }
}
