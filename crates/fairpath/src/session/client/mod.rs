//! The client's end of a session.

mod attach;
mod config;
mod event;
mod frame;
mod life;
mod reconcile;

pub use config::ClientConfig;
pub use event::ClientEvent;
pub use frame::ClientFrame;

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use crate::clock::{ClockSync, Request};
use crate::converge::Convergence;
use crate::dr_vector::DrVector;
use crate::forecast::Forecast;
use crate::number::{EntityId, ReceiverId};
use crate::owner::{OBSERVED_AHEAD_MAX, OBSERVED_LATE_MAX, Owner};
use crate::place::{Placement, Replica};
use crate::random::Random;
use crate::schedule::{Broadcast, Dispatcher, DispatcherConfig, Liveness};
use crate::session::attach::Attachments;
use crate::session::bucket::Bucket;
use crate::session::channel::Channel;
use crate::session::filler::{Filler, Sending};
use crate::session::limits::{
    CALLS_BURST, CALLS_PER_SEC, CREATION_BYTES_MAX, DATAGRAM_ITEM_BYTES_MAX, EVENTS_MAX, GROUPS_MAX,
    MOTION_BYTES_MAX, REQUESTS_BURST, REQUESTS_PER_SEC,
};
use crate::session::message::{Announcement, Call, Frames, Hello, Message, Resume, SESSION_VERSION, Target};
use crate::session::{
    CallError, Class, ClassId, ClientId, CloseReason, Delivery, ObjectError, ObjectHandle, Party, Protocol,
    Queues, Statistics, Token,
};
use crate::state::{Observation, State};
use crate::time::{LocalInstant, Now, SharedInstant, Span};
use crate::trigger::Trigger;
use crate::vector::Planar;
use crate::wire::{Header, Precision, decode_updates, encode_updates};
use attach::Coasting;

/// The client's end of a session. The [module](super) says how to run it.
#[derive(Debug)]
pub struct Client<V: Planar> {
    config: ClientConfig<V>,
    /// The classes of the protocol, with the server's settings.
    classes: BTreeMap<ClassId, Class>,
    /// How long replicas predict without an update. The server's setting.
    horizon: Span,
    random: Random,
    phase: Phase,
    identity: Option<Identity>,
    detached_at: Option<LocalInstant>,
    frames: Frames,
    channel: Channel,
    clock: ClockSync,
    clock_epoch: u32,
    is_synchronised: bool,
    /// When the session begins with the clock as it is; `None` once it has begun.
    clock_due: Option<LocalInstant>,
    asked_at: LocalInstant,
    heard_at: LocalInstant,
    /// The latest instant that the client was told.
    latest: LocalInstant,
    placement: Placement,
    dispatcher: Dispatcher<V>,
    filler: Filler,
    objects: BTreeMap<EntityId, Object<V>>,
    /// The number of the next object, over all sessions.
    next_object: u64,
    attachments: Attachments,
    /// World states of objects whose parent is gone, until they follow another DR vector.
    resting: BTreeMap<EntityId, State<V>>,
    /// Objects whose parent is not known yet: their DR vector overtook its announcement.
    adrift: BTreeMap<EntityId, Coasting<V>>,
    /// The newest time that this client was told.
    clock_read: Option<Now>,
    /// Replicas of objects that have not entered yet.
    early: BTreeMap<EntityId, Replica<V>>,
    /// Independent messages that came before the greeting or the clock's synchronisation.
    early_unordered: Vec<Vec<u8>>,
    ids: VecDeque<Range<u32>>,
    /// The rates beyond which the server would close the connection.
    requests: Bucket,
    calls: Bucket,
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
    /// Its number among all objects that this client has known.
    number: u64,
    /// The instant of the last observation.
    observed_at: Option<LocalInstant>,
    /// The newest motion that arrived while this client owned the object: that of the next owner,
    /// if it overtook the news of the hand-over.
    overtook: Option<DrVector<V>>,
    role: Role<V>,
}

impl<V: Planar> Object<V> {
    fn new(class: ClassId, owner: Party, term: u64, creation: Vec<u8>, role: Role<V>) -> Self {
        Self {
            class,
            owner,
            term,
            creation,
            groups: BTreeMap::new(),
            overruled: BTreeMap::new(),
            number: 0,
            observed_at: None,
            overtook: None,
            role,
        }
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
    pub fn new(config: ClientConfig<V>, random: Random) -> Self {
        let horizon = Replica::<V>::HORIZON;
        let dispatcher = dispatcher(horizon, config.liveness, &random);
        // The server allows twice the burst: what it sees is what was sent, squeezed by the
        // network.
        let bucket = |per_sec: u32, burst: u32| Bucket::new(per_sec.into(), (burst / 2).into());
        Self {
            classes: config.protocol.classes().clone(),
            horizon,
            phase: Phase::Idle,
            identity: None,
            detached_at: None,
            frames: Frames::default(),
            channel: Channel::new(
                config.budget,
                config.datagram_every,
                config.loss_protection,
                random.fork(0),
            ),
            clock: ClockSync::new(config.clock),
            clock_epoch: 0,
            is_synchronised: false,
            clock_due: None,
            asked_at: LocalInstant::ZERO,
            heard_at: LocalInstant::ZERO,
            latest: LocalInstant::from_micros(i64::MIN),
            placement: Placement::default(),
            dispatcher,
            filler: Filler::default(),
            objects: BTreeMap::new(),
            next_object: 0,
            attachments: Attachments::default(),
            resting: BTreeMap::new(),
            adrift: BTreeMap::new(),
            clock_read: None,
            early: BTreeMap::new(),
            early_unordered: Vec::new(),
            ids: VecDeque::new(),
            requests: bucket(REQUESTS_PER_SEC, REQUESTS_BURST),
            calls: bucket(CALLS_PER_SEC, CALLS_BURST),
            closing: None,
            events: VecDeque::new(),
            config,
            random,
        }
    }

    // ── objects ──

    /// Creates an object owned by this client. If its class has motion, other clients see it from
    /// the first [`observe`](Self::observe) on.
    pub fn create(
        &mut self,
        class: ClassId,
        creation: &[u8],
        now: LocalInstant,
    ) -> Result<EntityId, ObjectError> {
        self.create_at(class, creation, None, now, now)
    }

    /// Creates an object owned by this client, in a `state` that is true for the instant `at`. The
    /// server announces it to clients that may see it.
    pub fn create_at(
        &mut self,
        class: ClassId,
        creation: &[u8],
        state: Option<State<V>>,
        at: LocalInstant,
        now: LocalInstant,
    ) -> Result<EntityId, ObjectError> {
        let shared = self.clock_now(now).ok_or(ObjectError::NoSession)?.shared;
        let identity = self.identity.filter(|_| self.is_synchronised).ok_or(ObjectError::NoSession)?;
        let kind = self.classes.get(&class).ok_or(ObjectError::UnknownClass)?;
        if creation.len() > CREATION_BYTES_MAX {
            return Err(ObjectError::TooLong);
        }
        let objects_max = self.config.objects_max;
        // Counted only where the limit is near: a gateway creates thousands of objects in a row.
        if self.objects.len() >= objects_max
            && self.objects.values().filter(|object| object.is_mine()).count() >= objects_max
        {
            return Err(ObjectError::TooMany);
        }
        self.ids.retain(|grant| grant.start < grant.end);
        let grant = self.ids.front_mut().ok_or(ObjectError::NoIds)?;
        let object = EntityId(grant.start);
        let precision = self.config.protocol.precision();
        let mut watch = watch(object, kind, *precision);
        let export = match state {
            Some(state) => {
                check_instant(object, at - now)?;
                watch.observe(Observation::Moved(state), shared + (at - now)).map_err(ObjectError::from)?
            }
            None => None,
        };
        let motion =
            export.map(|export| encode_motion(precision, &export.vector, shared)).unwrap_or_default();
        let is_announced = !motion.is_empty();
        let (owner, term, creation) = (Party::Client(identity.client), 0, creation.to_vec());
        let role = Role::Mine(Box::new(watch), 0);
        if !self.requests.try_spend(1.0, now) {
            return Err(ObjectError::TooFast);
        }
        let known = Object::new(class, owner, term, creation.clone(), role);
        let announcement = Announcement { object, class, owner, term, creation, motion, groups: Vec::new() };
        self.channel.announce(Message::Create(announcement), object).map_err(|_| ObjectError::Full)?;
        grant.start += 1;
        let rates = kind.rates;
        self.add(object, known);
        if let Some(export) = export {
            self.dispatcher.on_generated(&export.vector, export.reason, shared);
            self.dispatcher.set_pace(object, rates.pace());
            if is_announced && let Some(copy) = self.dispatcher.on_announced(object, SERVER, shared) {
                self.channel.on_copy_announced(object, copy);
            }
        }
        Ok(object)
    }

    /// Announcements that the server did not receive before the transport was lost are sent again,
    /// with the newest DR vectors. An object that is carried by now keeps its motion: the server
    /// refuses a creation on a parent that is gone.
    fn renew_announcements(&mut self, now: SharedInstant) {
        for object in self.channel.announced().collect::<Vec<_>>() {
            let newest = self.dispatcher.newest(object).filter(|newest| newest.parent.is_none());
            let Some(newest) = newest else { continue };
            let motion = encode_motion(self.config.protocol.precision(), newest, now);
            let is_announced = !motion.is_empty();
            self.channel.renew_announcement(object, motion);
            if is_announced && let Some(copy) = self.dispatcher.on_announced(object, SERVER, now) {
                self.channel.on_copy_announced(object, copy);
            }
        }
    }

    /// Destroys an object that this client owns.
    pub fn destroy(&mut self, object: EntityId) -> Result<(), ObjectError> {
        self.mine(object)?;
        self.request(Message::Destroy(object))?;
        self.forget(object);
        Ok(())
    }

    /// Reports the true state of an object that this client owns, true for `now`; call it every
    /// frame. With a [`parent`](Self::parent) the state is relative to the parent.
    pub fn observe(
        &mut self,
        object: EntityId,
        observation: Observation<V>,
        now: LocalInstant,
    ) -> Result<(), ObjectError> {
        self.observe_at(object, observation, now, now)
    }

    /// Reports the true state of an object that this client owns, true for the instant `at`: the
    /// time of a fixed tick, for example.
    pub fn observe_at(
        &mut self,
        object: EntityId,
        observation: Observation<V>,
        at: LocalInstant,
        now: LocalInstant,
    ) -> Result<(), ObjectError> {
        let shared = self.clock_now(now).ok_or(ObjectError::NoSession)?.shared;
        self.mine(object)?;
        self.check_parent(object)?;
        let mine = self.mine(object)?;
        if mine.observed_at.is_some_and(|last| at < last) {
            return Err(ObjectError::OutOfOrder(object));
        }
        let Role::Mine(owner, _) = &mut mine.role else { return Err(ObjectError::NotOwner(object)) };
        check_instant(object, at - now)?;
        // While the shared clock is corrected, a later instant of the own clock can become an
        // earlier shared one.
        let shared_at = owner.observed_at().map_or(shared + (at - now), |last| last.max(shared + (at - now)));
        let export = owner.observe(observation, shared_at).map_err(ObjectError::from)?;
        mine.observed_at = Some(at);
        if let Some(export) = export {
            let class = mine.class;
            if self.follow_parent(object, export.vector.parent) {
                // What coasts may have waited for the end of a circle of parents.
                self.land_adrift(Now { local: now, shared });
            }
            let is_new = self.dispatcher.newest(object).is_none();
            self.dispatcher.on_generated(&export.vector, export.reason, shared);
            if is_new {
                let rates = self.classes.get(&class).map(|class| class.rates).unwrap_or_default();
                self.dispatcher.set_pace(object, rates.pace());
            }
        }
        Ok(())
    }

    /// Sets the forecast that chooses the motions to send for an object that this client owns;
    /// `None`: the class's motion model.
    pub fn set_forecast(
        &mut self,
        object: EntityId,
        forecast: Option<Box<dyn Forecast<V>>>,
    ) -> Result<(), ObjectError> {
        let Role::Mine(owner, _) = &mut self.mine(object)?.role else {
            return Err(ObjectError::NotOwner(object));
        };
        owner.set_forecast(forecast);
        Ok(())
    }

    /// Sets when updates of an object that this client owns are due, instead of the trigger of its
    /// class. It holds until the object has another owner, who begins with the class's trigger.
    pub fn set_trigger(&mut self, object: EntityId, trigger: Trigger) -> Result<(), ObjectError> {
        let Role::Mine(owner, _) = &mut self.mine(object)?.role else {
            return Err(ObjectError::NotOwner(object));
        };
        owner.set_trigger(trigger);
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
        let class = self.mine(object)?.class;
        if self.classes.get(&class).is_some_and(|class| class.is_servers(group)) {
            return Err(ObjectError::NotYourGroup(object, group));
        }
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

    /// Asks the server for ownership of an object. The answer is `OwnershipChanged` or `Refused`;
    /// until then the object is not this client's.
    pub fn claim(&mut self, object: EntityId) -> Result<(), ObjectError> {
        let term = self.objects.get(&object).ok_or(ObjectError::Unknown(object))?.term;
        self.request(Message::Claim(object, term))
    }

    /// Returns an object to the server. The answer is `OwnershipChanged`. Observations after this
    /// call reach the server too late and are refused with `NotOwner`.
    pub fn release(&mut self, object: EntityId) -> Result<(), ObjectError> {
        let term = self.mine(object)?.term;
        self.request(Message::Release(object, term))
    }

    /// Returns all visible objects in the order of their ids.
    pub fn objects(&self) -> impl Iterator<Item = EntityId> + '_ {
        self.objects.keys().copied()
    }

    /// Returns a handle of a visible object, which never means another one: see [`ObjectHandle`].
    pub fn handle(&self, object: EntityId) -> Option<ObjectHandle> {
        let (known, identity) = (self.objects.get(&object)?, self.identity?);
        Some(ObjectHandle { object, epoch: identity.epoch, number: known.number })
    }

    /// Returns the id of a handle's object; [`ObjectError::Stale`] if the object has left or its
    /// session is lost, even if another object has the id now.
    pub fn resolve(&self, handle: ObjectHandle) -> Result<EntityId, ObjectError> {
        let is_it = self.handle(handle.object) == Some(handle);
        if is_it { Ok(handle.object) } else { Err(ObjectError::Stale(handle.object)) }
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
        if !self.calls.try_spend(1.0, self.latest) {
            return Err(CallError::TooFast);
        }
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
            precision: self.config.protocol.precision().fingerprint(),
            game: self.config.protocol.game_id(),
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
        let precision = self.config.protocol.precision();
        match self.channel.handle_datagram(&mut self.dispatcher, SERVER, precision, bytes, now) {
            Ok(Some(incoming)) => self.reconcile(incoming, now),
            Ok(None) => {}
            Err(reason) => self.close(reason, now.local),
        }
    }

    /// Handles the passing of time: call it when [`poll_deadline`](Self::poll_deadline) is reached.
    pub fn handle_timeout(&mut self, now: LocalInstant) {
        self.latest = self.latest.max(now);
        self.forget_if_too_late(now);
        let is_connected = matches!(self.phase, Phase::Greeting | Phase::Established);
        if is_connected && now - self.heard_at >= self.config.silence_max {
            self.close(CloseReason::Silent, now);
        }
        if self.events.len() >= EVENTS_MAX {
            self.close(CloseReason::Overloaded, now);
        }
        if self.phase == Phase::Established && !self.is_synchronised {
            self.synchronise(now);
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
        let clock_now = self.clock_now(now)?;
        // A request is stamped when it leaves: waiting would count as delay of the link.
        if self.channel.speaks_at(clock_now) <= now
            && let Some(request) = self.clock.poll_request(now)
        {
            self.channel.ask_time(request);
        }
        let now = clock_now;
        let precision = self.config.protocol.precision();
        let sending = Sending { dispatcher: &mut self.dispatcher, filler: &mut self.filler, precision };
        let mut datagram = Vec::new();
        let is_sent = self.channel.poll_datagram(sending, SERVER, now, bytes_max, &mut datagram);
        is_sent.then_some(datagram)
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
                let claims = self.dispatcher.next_due(SERVER).map(|at| now.local + (at - now.shared));
                // Claims and clock requests that are due wait for the next datagram.
                let speaks_at = self.channel.speaks_at(now);
                let claims = claims.map(|at| at.max(speaks_at));
                let asks_at = self.clock.poll_deadline().max(speaks_at);
                let begins_at = self.clock_due.filter(|due| *due > now.local);
                let fixed = [self.heard_at + self.config.silence_max, asks_at];
                fixed.into_iter().chain(begins_at).chain(claims).chain(self.channel.poll_deadline(now)).min()
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

    /// Returns the description of the game.
    pub fn protocol(&self) -> &Protocol<V> {
        &self.config.protocol
    }

    /// Returns this client's id at the server, while there is a session.
    pub fn id(&self) -> Option<ClientId> {
        self.identity.map(|identity| identity.client)
    }

    /// Returns whether the session has a transport and a clock that is ready: its uncertainty is at
    /// most [`ready_within`](crate::clock::ClockConfig::ready_within), or it has made
    /// [`ready_after`](crate::clock::ClockConfig::ready_after) exchanges, or
    /// [`CLOCK_WAIT_MAX`](super::limits::CLOCK_WAIT_MAX) has passed.
    pub fn is_connected(&self) -> bool {
        self.phase == Phase::Established && self.is_synchronised
    }

    /// Returns both clocks, once there has been a session.
    pub fn clock_now(&mut self, now: LocalInstant) -> Option<Now> {
        self.clock_read = self.clock.now(now);
        self.clock_read
    }

    /// Returns the greatest possible error of the shared clock; `None` before the first exchange.
    /// It falls quickly after the start, and on a link with jitter for some seconds more.
    pub fn clock_uncertainty(&self, now: LocalInstant) -> Option<Span> {
        self.clock.uncertainty(now)
    }

    /// Returns statistics of the link to the server since the session began. They start anew with
    /// each session: when `SessionLost` is fetched, those of the lost session are gone.
    pub fn statistics(&self) -> Statistics {
        let error_per_sec = self.dispatcher.account(SERVER).map_or(0.0, |account| account.rate());
        Statistics { error_per_sec, ..self.channel.statistics() }
    }

    /// Limits this client to a share of its [`Budget`](super::Budget)'s rate, from 0 to 1, until
    /// the next call. A transport calls it when it notices that the path's delay rises.
    pub fn set_budget_share(&mut self, share: f64, now: LocalInstant) {
        self.channel.set_budget_share(share, now);
    }

    /// Returns the lengths of this client's queues.
    pub fn queues(&self) -> Queues {
        Queues { early: self.early.len(), events: self.events.len(), ..self.channel.queues() }
    }

    fn add(&mut self, object: EntityId, known: Object<V>) {
        self.objects.insert(object, Object { number: self.next_object, ..known });
        self.next_object += 1;
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

    /// Sends a request to the server.
    fn request(&mut self, message: Message) -> Result<(), ObjectError> {
        if !self.requests.try_spend(1.0, self.latest) {
            return Err(ObjectError::TooFast);
        }
        self.channel.send(message).map_err(|_| ObjectError::Full)
    }

    fn replica(&self, class: Option<ClassId>) -> Replica<V> {
        let smoothing = class.and_then(|class| self.classes.get(&class)).map(|class| class.smoothing);
        Replica::new(self.placement)
            .with_horizon(self.horizon)
            .with_convergence(smoothing.unwrap_or(Convergence::smooth()))
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
fn dispatcher<V: Planar>(horizon: Span, liveness: Liveness, random: &Random) -> Dispatcher<V> {
    let settings = DispatcherConfig { horizon, liveness: Some(liveness), ..DispatcherConfig::default() };
    Dispatcher::new(settings, Box::new(Broadcast), random.clone())
}

/// Returns an owner with the settings of the class.
pub(super) fn watch<V: Planar>(object: EntityId, class: &Class, precision: Precision) -> Owner<V> {
    let owner = Owner::new(object, class.trigger.clone())
        .with_model(class.model)
        .with_precision(precision)
        .anticipating();
    if class.sends_attitude { owner.with_attitude() } else { owner }
}

/// Checks how far from now the instant is for which an observed state is true.
pub(super) fn check_instant(object: EntityId, ahead: Span) -> Result<(), ObjectError> {
    if ahead > OBSERVED_AHEAD_MAX {
        Err(ObjectError::TooFarAhead(object))
    } else if -ahead > OBSERVED_LATE_MAX {
        Err(ObjectError::TooOld(object))
    } else {
        Ok(())
    }
}

/// Returns a DR vector as an announcement carries it.
pub(super) fn encode_motion<V: Planar>(
    precision: &Precision,
    vector: &DrVector<V>,
    now: SharedInstant,
) -> Vec<u8> {
    let mut bytes = Vec::new();
    let header = Header { sent_at: now, ..Header::default() };
    let encoded = encode_updates(precision, &header, std::slice::from_ref(vector), &mut bytes);
    // A vector too old to be stamped is sent like any other, in a datagram.
    if encoded.is_err() || bytes.len() > MOTION_BYTES_MAX {
        bytes.clear();
    }
    bytes
}

/// Returns the DR vector of an announcement, and when it was sent; `None` if there is none, or none
/// of this object.
pub(super) fn decode_motion<V: Planar>(
    precision: &Precision,
    object: EntityId,
    bytes: &[u8],
    now: SharedInstant,
) -> Option<(DrVector<V>, SharedInstant)> {
    let updates = decode_updates::<V>(precision, now, bytes).ok()?;
    let vector = *updates.vectors.first()?;
    (updates.vectors.len() == 1 && vector.entity == object).then_some((vector, updates.header.sent_at))
}

pub(super) fn check_group(group: u8, bytes: &[u8]) -> Result<(), ObjectError> {
    if usize::from(group) >= GROUPS_MAX {
        return Err(ObjectError::NoSuchGroup(group));
    }
    if bytes.len() > DATAGRAM_ITEM_BYTES_MAX { Err(ObjectError::TooLong) } else { Ok(()) }
}
