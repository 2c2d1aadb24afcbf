//! The server's end of its clients' sessions.

mod attach;
mod config;
mod event;
mod frame;
mod interest;
mod life;
mod member;
mod object;
mod ownership;
mod reconcile;
mod waiting;

use std::collections::VecDeque;
use std::ops::Range;

pub use config::{Admission, AdmitAll, Admitted, Pass, ServerConfig};
pub use event::{DatagramEffect, ServerEvent};
pub use frame::ServerFrame;

use super::attach::Attachments;
use super::client::{check_group, check_instant, watch};
use super::error::{CallError, CloseReason, ObjectError};
use super::filler::{Filler, Sending};
use super::handle::ObjectHandle;
use super::id_blocks::IdBlocks;
use super::id_map::{IdMap, NumberedId};
use super::interceptor::Interceptor;
use super::limits::{
    CREATION_BYTES_MAX, EVENTS_MAX, GREETINGS_MAX, HELLO_WITHIN, IDS_PER_GRANT, OBJECTS_MAX,
};
use super::message::{Call, Frames, Target};
use super::queues::Queues;
use super::scope::Scope;
use super::statistics::Statistics;
use super::{ClassId, ClientId, Delivery, Household, Party, Protocol, Shares, Token};
use crate::forecast::Forecast;
use crate::number::EntityId;
use crate::place::{Relay, Replica};
use crate::random::Random;
use crate::schedule::{Dispatcher, Scheduler};
use crate::state::{Observation, State};
use crate::time::{LocalInstant, Now, SharedInstant, Span};
use crate::trigger::Trigger;
use crate::vector::Planar;
use interest::Stillness;
use member::Member;
use object::{Object, Role};

/// Identifies a transport, also before its client is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u64);

impl NumberedId for ConnectionId {
    fn number(self) -> u64 {
        self.0
    }
}

/// The server's end of its clients' sessions. The [module](super) says how to run it.
#[derive(Debug)]
pub struct Server<V: Planar> {
    config: ServerConfig<V>,
    random: Random,
    dispatcher: Dispatcher<V>,
    interceptors: Vec<Box<dyn Interceptor<V>>>,
    /// `None`: every client sees every object.
    scope: Option<Box<dyn Scope<V>>>,
    scope_at: SharedInstant,
    /// The first client of the next scope check.
    scope_from: ClientId,
    stillness: Stillness,
    admission: Box<dyn Admission>,
    relay: Relay,
    connections: IdMap<ConnectionId, Connection>,
    next_connection: u64,
    members: IdMap<ClientId, Member<V>>,
    next_client: u32,
    objects: IdMap<EntityId, Object<V>>,
    /// The number of the next object.
    next_object: u64,
    attachments: Attachments,
    ids: IdBlocks,
    /// Ids for the server's own objects.
    own_ids: Range<u32>,
    /// The latest instant that the server was told.
    latest: SharedInstant,
    events: VecDeque<ServerEvent>,
    filler: Filler,
}

#[derive(Debug)]
struct Connection {
    frames: Frames,
    client: Option<ClientId>,
    token: Token,
    household: Household,
    opened_at: SharedInstant,
    closing: Option<CloseReason>,
}

impl<V: Planar> Server<V> {
    /// Returns a server without clients. `scheduler` distributes updates:
    /// [`Queued`](crate::schedule::Queued) in a game, within the bytes that
    /// [`Budget`](super::Budget) allows to each client. Schedulers of the laboratory have a budget
    /// of their own, in DR vectors per trigger of any object. In a live game seed `random` with a
    /// secret, which proves receipts.
    pub fn new(config: ServerConfig<V>, scheduler: Box<dyn Scheduler<V>>, random: Random) -> Self {
        Self {
            dispatcher: Dispatcher::new(config.dispatcher, scheduler, random.fork(0)),
            interceptors: Vec::new(),
            scope: None,
            scope_at: SharedInstant::from_micros(i64::MIN),
            scope_from: ClientId(0),
            stillness: Stillness::default(),
            admission: Box::new(AdmitAll),
            relay: Relay::new(),
            connections: IdMap::default(),
            next_connection: 0,
            members: IdMap::default(),
            next_client: 0,
            objects: IdMap::default(),
            next_object: 0,
            attachments: Attachments::default(),
            ids: IdBlocks::default(),
            own_ids: 0..0,
            latest: SharedInstant::from_micros(i64::MIN),
            events: VecDeque::new(),
            filler: Filler::default(),
            config,
            random,
        }
    }

    /// Sets the scope, which decides what each client sees. Default: every object.
    #[must_use]
    pub fn with_scope(mut self, scope: impl Scope<V> + 'static) -> Self {
        self.scope = Some(Box::new(scope));
        self
    }

    /// Adds a check of clients' updates and claims. The builder of a `NetServer` calls it
    /// `interceptor`.
    #[must_use]
    pub fn with_interceptor(mut self, interceptor: impl Interceptor<V> + 'static) -> Self {
        self.interceptors.push(Box::new(interceptor));
        self
    }

    /// Sets the admission check. Default: every client is admitted.
    #[must_use]
    pub fn with_admission(mut self, admission: impl Admission + 'static) -> Self {
        self.admission = Box::new(admission);
        self
    }

    // ── objects ──

    /// Creates an object owned by the server. If its class has motion, clients see it from the
    /// first [`observe`](Self::observe) on.
    pub fn create(
        &mut self,
        class: ClassId,
        creation: &[u8],
        now: SharedInstant,
    ) -> Result<EntityId, ObjectError> {
        let kind = self.config.protocol.class_by_id(class).ok_or(ObjectError::UnknownClass)?.clone();
        if creation.len() > CREATION_BYTES_MAX {
            return Err(ObjectError::TooLong);
        }
        let is_typed_right = self.config.protocol.creation_payload(class, creation.to_vec()).is_some();
        if !is_typed_right {
            return Err(ObjectError::WrongType);
        }
        if self.objects.len() >= OBJECTS_MAX {
            return Err(ObjectError::TooMany);
        }
        let object = EntityId(self.take_id(now).ok_or(ObjectError::NoIds)?);
        let role = Role::Mine(Box::new(watch(object, &kind, *self.config.protocol.precision())));
        self.add(object, Object::new(class, Party::Server, creation.to_vec(), role), now);
        Ok(object)
    }

    /// Destroys an object of any owner. Objects attached to it stay where they are, at rest, until
    /// their owners attach them to another parent or to none.
    pub fn destroy(&mut self, object: EntityId) -> Result<(), ObjectError> {
        if self.remove(object) { Ok(()) } else { Err(ObjectError::Unknown(object)) }
    }

    /// Reports the true state of an object that the server owns, true for `now`; call it every
    /// frame. With a [`parent`](Self::parent) the state is relative to the parent.
    pub fn observe(
        &mut self,
        object: EntityId,
        observation: Observation<V>,
        now: SharedInstant,
    ) -> Result<(), ObjectError> {
        self.observe_at(object, observation, now, now)
    }

    /// Reports the true state of an object that the server owns, true for the instant `at`: the
    /// time of a fixed tick, for example.
    pub fn observe_at(
        &mut self,
        object: EntityId,
        observation: Observation<V>,
        at: SharedInstant,
        now: SharedInstant,
    ) -> Result<(), ObjectError> {
        self.latest = self.latest.max(now);
        self.check_parent(object)?;
        let known = self.objects.get_mut(&object).ok_or(ObjectError::Unknown(object))?;
        let Role::Mine(owner) = &mut known.role else { return Err(ObjectError::NotOwner(object)) };
        if known.born_at.is_some_and(|born| at < born) {
            return Ok(());
        }
        check_instant(object, at - now)?;
        let export = owner.observe(observation, at).map_err(ObjectError::from)?;
        if let Some(export) = export {
            self.spread_motion(&export.vector, export.reason, now);
        }
        Ok(())
    }

    /// Sets the forecast that chooses the motions to send for an object that the server owns;
    /// `None`: the class's motion model.
    pub fn set_forecast(
        &mut self,
        object: EntityId,
        forecast: Option<Box<dyn Forecast<V>>>,
    ) -> Result<(), ObjectError> {
        let known = self.objects.get_mut(&object).ok_or(ObjectError::Unknown(object))?;
        let Role::Mine(owner) = &mut known.role else { return Err(ObjectError::NotOwner(object)) };
        owner.set_forecast(forecast);
        Ok(())
    }

    /// Sets when updates of an object that the server owns are due, instead of the trigger of its
    /// class. It holds until the object has another owner, who begins with the class's trigger.
    pub fn set_trigger(&mut self, object: EntityId, trigger: Trigger) -> Result<(), ObjectError> {
        let known = self.objects.get_mut(&object).ok_or(ObjectError::Unknown(object))?;
        let Role::Mine(owner) = &mut known.role else { return Err(ObjectError::NotOwner(object)) };
        owner.set_trigger(trigger);
        Ok(())
    }

    /// Returns the world state of an object at `now`; `None` before its first DR vector, or before
    /// that of a parent.
    pub fn place(&self, object: EntityId, now: SharedInstant) -> Option<State<V>> {
        attach::in_world(&self.objects, object, now)
    }

    /// Sets a state group of an object that the server owns, or a group that the class reserves for
    /// the server. An unchanged value is not sent.
    pub fn set_state(&mut self, object: EntityId, group: u8, bytes: &[u8]) -> Result<(), ObjectError> {
        check_group(group, bytes)?;
        let known = self.objects.get(&object).ok_or(ObjectError::Unknown(object))?;
        let is_servers = self.class_of(object).is_some_and(|class| class.is_servers(group));
        if known.owner != Party::Server && !is_servers {
            return Err(ObjectError::NotOwner(object));
        }
        if self.config.protocol.state_payload(known.class, group, bytes.to_vec()).is_none() {
            return Err(ObjectError::WrongType);
        }
        if known.groups.get(&group).is_none_or(|value| value != bytes) {
            self.spread_state(object, group, bytes.to_vec());
        }
        Ok(())
    }

    /// Returns the value of a state group, if it has one.
    pub fn state(&self, object: EntityId, group: u8) -> Option<&[u8]> {
        self.objects.get(&object)?.groups.get(&group).map(Vec::as_slice)
    }

    /// Gives an object to a client or to the server: clients get `OwnershipChanged`, and the server
    /// does not, because its game has decided it. The new owner is not asked, and neither
    /// [`Class::claimable`](super::Class::claimable) nor the limits of a client's objects count.
    ///
    /// The server can [`observe`](Self::observe) an object in the same frame in which it takes it,
    /// and so set its motion. A new owner at a client continues from its own `place`. After a
    /// [`Jumped`](Observation::Jumped) observation wait until that client has seen it.
    pub fn give(&mut self, object: EntityId, to: Party, now: SharedInstant) -> Result<(), ObjectError> {
        let known = self.objects.get(&object).ok_or(ObjectError::Unknown(object))?;
        if let Party::Client(client) = to
            && !self.members.contains_key(&client)
        {
            return Err(ObjectError::NoSession);
        }
        if known.owner != to {
            self.change_owner(object, to, now);
        }
        Ok(())
    }

    /// Returns all objects in the order of their ids.
    pub fn objects(&self) -> impl Iterator<Item = EntityId> + '_ {
        self.objects.keys().copied()
    }

    /// Returns a handle of an object, which never means another one: see [`ObjectHandle`].
    pub fn handle(&self, object: EntityId) -> Option<ObjectHandle> {
        let number = self.objects.get(&object)?.number;
        Some(ObjectHandle { object, epoch: self.config.epoch, number })
    }

    /// Returns the id of a handle's object; [`ObjectError::Stale`] if the object was destroyed,
    /// even if another object has the id now.
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

    /// Calls a client.
    pub fn call_client(
        &mut self,
        client: ClientId,
        method: u32,
        bytes: &[u8],
        delivery: Delivery,
    ) -> Result<(), CallError> {
        let call = Call { target: Target::Connection, from: Party::Server, method, bytes: bytes.to_vec() };
        self.members.get_mut(&client).ok_or(CallError::NoSession)?.channel.call(call, delivery)
    }

    /// Calls every client except `except`. Returns the clients that could not be called, because
    /// too many of their messages are unconfirmed.
    pub fn call_clients(
        &mut self,
        except: Option<ClientId>,
        method: u32,
        bytes: &[u8],
        delivery: Delivery,
    ) -> Result<Vec<ClientId>, CallError> {
        let call = Call { target: Target::Connection, from: Party::Server, method, bytes: bytes.to_vec() };
        let mut busy = Vec::new();
        for (client, member) in self.members.iter_mut().filter(|(client, _)| Some(**client) != except) {
            match member.channel.call(call.clone(), delivery) {
                Err(CallError::Full) => busy.push(*client),
                other => other?,
            }
        }
        Ok(busy)
    }

    /// Calls the client that owns an object.
    pub fn call_owner(
        &mut self,
        object: EntityId,
        method: u32,
        bytes: &[u8],
        delivery: Delivery,
    ) -> Result<(), CallError> {
        let owner = self.objects.get(&object).ok_or(CallError::UnknownObject(object))?.owner;
        let Party::Client(client) = owner else { return Err(CallError::NoSession) };
        let call = Call { target: Target::Owner(object), from: Party::Server, method, bytes: bytes.to_vec() };
        self.members.get_mut(&client).ok_or(CallError::NoSession)?.channel.call(call, delivery)
    }

    /// Calls every client that sees an object, except its owner. Returns the clients that could not
    /// be called, because too many of their messages are unconfirmed.
    pub fn call_viewers(
        &mut self,
        object: EntityId,
        method: u32,
        bytes: &[u8],
        delivery: Delivery,
    ) -> Result<Vec<ClientId>, CallError> {
        self.objects.get(&object).ok_or(CallError::UnknownObject(object))?;
        let call =
            Call { target: Target::Viewers(object), from: Party::Server, method, bytes: bytes.to_vec() };
        Ok(self.spread_call(object, &call, delivery))
    }

    // ── input ──

    /// Adds a connected transport. `token` must be new and secret; it becomes the token of the
    /// session, if the client begins one. Returns `None` if there are too many connections.
    pub fn handle_connected(&mut self, token: Token, now: SharedInstant) -> Option<ConnectionId> {
        self.handle_connected_from(Household::default(), token, now)
    }

    /// Adds a connected transport like [`handle_connected`](Self::handle_connected), of a client of
    /// this household.
    pub fn handle_connected_from(
        &mut self,
        household: Household,
        token: Token,
        now: SharedInstant,
    ) -> Option<ConnectionId> {
        if self.connections.len() >= self.config.clients_max + GREETINGS_MAX {
            self.close_greeting_for(household, now);
            return None;
        }
        let id = ConnectionId(self.next_connection);
        self.next_connection += 1;
        let frames = Frames::default();
        let connection = Connection { frames, client: None, token, household, opened_at: now, closing: None };
        self.connections.insert(id, connection);
        Some(id)
    }

    /// Closes a connection that has not greeted, if its household has to give up a place. The
    /// newcomer's next attempt finds it.
    fn close_greeting_for(&mut self, newcomer: Household, now: SharedInstant) {
        let waits = |(_, it): &(&ConnectionId, &Connection)| it.client.is_none() && it.closing.is_none();
        let waiting = || self.connections.iter().filter(waits);
        let loser = Shares { kept: 0 }.loser(newcomer, waiting().map(|(_, it)| it.household));
        let oldest = waiting().find(|(_, it)| Some(it.household) == loser).map(|(id, _)| *id);
        if let Some(id) = oldest {
            self.close(id, CloseReason::NoGreeting, now);
        }
    }

    /// Handles the loss of a transport; `reason` is the client's, if it gave one.
    pub fn handle_disconnected(&mut self, id: ConnectionId, reason: Option<CloseReason>, now: SharedInstant) {
        let Some(connection) = self.connections.remove(&id) else { return };
        let Some(client) = connection.client else { return };
        self.detach(client, now);
        if reason == Some(CloseReason::Finished) {
            self.lose_session(client, now);
        }
    }

    /// Handles bytes from an ordered stream.
    pub fn handle_stream(&mut self, id: ConnectionId, bytes: &[u8], now: SharedInstant) {
        self.latest = now;
        let Some(connection) = self.connections.get_mut(&id).filter(|it| it.closing.is_none()) else {
            return;
        };
        if let Err(reason) = connection.frames.push(bytes) {
            return self.close(id, reason, now);
        }
        if let Some(member) = connection.client.and_then(|client| self.members.get_mut(&client)) {
            member.on_heard(bytes.len(), now);
        }
        while let Some(connection) = self.connections.get_mut(&id).filter(|it| it.closing.is_none()) {
            let handled = match connection.frames.next() {
                Ok(Some(message)) => match connection.client {
                    Some(client) => self.handle_request(client, message, now),
                    None => self.greet(id, message, now),
                },
                Ok(None) => return self.page_in_after_stream(id, now),
                Err(reason) => Err(reason),
            };
            if let Err(reason) = handled {
                self.close(id, reason, now);
            }
        }
    }

    /// Announces more objects after a confirmation made room.
    fn page_in_after_stream(&mut self, id: ConnectionId, now: SharedInstant) {
        if let Some(client) = self.client_of(id) {
            self.page_in(client, now);
        }
    }

    /// Handles an independent message.
    pub fn handle_unordered(&mut self, id: ConnectionId, bytes: &[u8], now: SharedInstant) {
        let Some(client) = self.client_of(id) else { return };
        let Some(member) = self.members.get_mut(&client) else { return };
        member.on_heard(0, now);
        let handled = match member.channel.handle_unordered(bytes, Now::synchronised(now)) {
            Ok(Some(call)) => self.route(client, call, Delivery::ReliableUnordered, now),
            Ok(None) => Ok(()),
            Err(reason) => Err(reason),
        };
        if let Err(reason) = handled {
            self.close(id, reason, now);
        }
    }

    /// Handles a datagram. Returns for which connections something may have become due earlier:
    /// with many clients it is expensive to ask after each datagram, and receipts alone rarely
    /// change it.
    pub fn handle_datagram(&mut self, id: ConnectionId, bytes: &[u8], now: SharedInstant) -> DatagramEffect {
        self.latest = now;
        let Some(client) = self.client_of(id) else { return DatagramEffect::Nothing };
        let Some(member) = self.members.get_mut(&client) else { return DatagramEffect::Nothing };
        member.on_heard(0, now);
        let deadline = member_deadline(&self.config, &self.dispatcher, client, member, now);
        let (receiver, now_both) = (client.receiver(), Now::synchronised(now));
        let (dispatcher, precision) = (&mut self.dispatcher, self.config.protocol.precision());
        let incoming = member.channel.handle_datagram(dispatcher, receiver, precision, bytes, now_both);
        let effect = match &incoming {
            Ok(Some(incoming)) => incoming.effect(),
            _ => DatagramEffect::Nothing,
        };
        let handled = match incoming {
            Ok(Some(incoming)) => self.reconcile(client, incoming, now),
            Ok(None) => Ok(()),
            Err(reason) => Err(reason),
        };
        if let Err(reason) = handled {
            self.close(id, reason, now);
            return DatagramEffect::AnyConnection;
        }
        let is_sooner = |member: &Member<V>| {
            let now_due = member_deadline(&self.config, &self.dispatcher, client, member, now);
            now_due.is_some_and(|at| deadline.is_none_or(|before| at < before))
        };
        if effect == DatagramEffect::Nothing && self.members.get(&client).is_some_and(is_sooner) {
            return DatagramEffect::SameConnection;
        }
        effect
    }

    /// Adds a round trip that the transport measured. It exposes clients that hold receipts back.
    pub fn handle_round_trip(&mut self, id: ConnectionId, round_trip: Span) {
        if let Some(client) = self.client_of(id) {
            self.dispatcher.on_transport_round_trip(client.receiver(), round_trip);
        }
    }

    /// Limits a connection to a share of its [`Budget`](super::Budget)'s rate, from 0 to 1, until
    /// the next call. A transport calls it when it notices that the path's delay rises. Bursts stay
    /// as large, and a client that resumes on another connection keeps the share.
    pub fn set_budget_share(&mut self, id: ConnectionId, share: f64, now: SharedInstant) {
        if let Some(member) = self.client_of(id).and_then(|client| self.members.get_mut(&client)) {
            member.channel.set_budget_share(share, Now::synchronised(now).local);
        }
    }

    /// Handles the passing of time: call it when [`poll_deadline`](Self::poll_deadline) is reached.
    pub fn handle_timeout(&mut self, now: SharedInstant) {
        self.latest = self.latest.max(now);
        let is_overloaded = self.events.len() >= EVENTS_MAX;
        let reason_to_close = |connection: &Connection, members: &IdMap<ClientId, Member<V>>| match connection
            .client
            .and_then(|client| members.get(&client))
        {
            None if now - connection.opened_at >= HELLO_WITHIN => Some(CloseReason::NoGreeting),
            Some(member) if member.is_overfull => Some(CloseReason::OutboxFull),
            Some(member) if now - member.heard_at >= self.config.silence_max => Some(CloseReason::Silent),
            Some(_) if is_overloaded => Some(CloseReason::Overloaded),
            _ => None,
        };
        let open = self.connections.iter().filter(|(_, connection)| connection.closing.is_none());
        let ending = open.filter_map(|(id, it)| Some((*id, reason_to_close(it, &self.members)?)));
        for (id, reason) in ending.collect::<Vec<_>>() {
            self.close(id, reason, now);
        }
        let expired = self.members.iter().filter(|(_, member)| {
            member.is_overfull
                || member.detached_at.is_some_and(|since| now - since >= self.config.resume_within)
        });
        for client in expired.map(|(client, _)| *client).collect::<Vec<_>>() {
            self.lose_session(client, now);
        }
        if self.scope.is_some() && now - self.scope_at >= self.scope_pause() {
            self.refresh_scope(now);
        }
        let waits = |(_, member): &(&ClientId, &Member<V>)| !member.waiting.is_empty();
        let clients: Vec<ClientId> = self.members.iter().filter(waits).map(|(client, _)| *client).collect();
        clients.into_iter().for_each(|client| self.page_in(client, now));
    }

    // ── output ──

    /// Returns bytes for the ordered stream of a connection.
    pub fn poll_stream(&mut self, id: ConnectionId, now: SharedInstant) -> Option<Vec<u8>> {
        let client = self.client_of(id)?;
        self.members.get_mut(&client)?.channel.poll_stream(Now::synchronised(now))
    }

    /// Returns an independent message for a connection.
    pub fn poll_unordered(&mut self, id: ConnectionId) -> Option<Vec<u8>> {
        let client = self.client_of(id)?;
        self.members.get_mut(&client)?.channel.poll_unordered()
    }

    /// Returns the next datagram for a connection, of at most `bytes_max`. Call it only when a
    /// datagram can leave at once.
    pub fn poll_datagram(
        &mut self,
        id: ConnectionId,
        now: SharedInstant,
        bytes_max: usize,
    ) -> Option<Vec<u8>> {
        let mut datagram = Vec::new();
        self.poll_datagram_into(id, now, bytes_max, &mut datagram).then_some(datagram)
    }

    /// Appends the next datagram for a connection to `out` and returns whether there is one. As
    /// [`poll_datagram`](Self::poll_datagram), for drivers with buffers of their own.
    pub fn poll_datagram_into(
        &mut self,
        id: ConnectionId,
        now: SharedInstant,
        bytes_max: usize,
        out: &mut Vec<u8>,
    ) -> bool {
        let Some(client) = self.client_of(id) else { return false };
        let Some(member) = self.members.get_mut(&client) else { return false };
        let precision = self.config.protocol.precision();
        let sending = Sending { dispatcher: &mut self.dispatcher, filler: &mut self.filler, precision };
        let now = Now::synchronised(now);
        member.channel.poll_datagram(sending, client.receiver(), now, bytes_max, out)
    }

    /// Returns whether a connection has something to send by now: cheaper than polling each.
    pub fn is_due(&self, id: ConnectionId, now: SharedInstant) -> bool {
        let member = self.client_of(id).and_then(|client| Some((client, self.members.get(&client)?)));
        member.is_some_and(|(client, member)| {
            let has_vectors = self.dispatcher.next_due(client.receiver()).is_some_and(|due| due <= now);
            member.channel.is_due(has_vectors, Now::synchronised(now))
        })
    }

    /// Returns a transport to close, and the reason. Each is returned once, then forgotten.
    pub fn poll_close(&mut self) -> Option<(ConnectionId, CloseReason)> {
        self.poll_close_among(|_| true)
    }

    /// Returns a transport to close of those that `is_mine` accepts, and the reason, as
    /// [`poll_close`](Self::poll_close) does for all: for a driver whose threads share the
    /// transports.
    pub fn poll_close_among(
        &mut self,
        is_mine: impl Fn(ConnectionId) -> bool,
    ) -> Option<(ConnectionId, CloseReason)> {
        let closing = |(id, connection): (&ConnectionId, &Connection)| Some((*id, connection.closing?));
        let (id, reason) = self.connections.iter().filter(|(id, _)| is_mine(**id)).find_map(closing)?;
        self.connections.remove(&id);
        Some((id, reason))
    }

    /// Returns the next event for the application.
    pub fn poll_event(&mut self) -> Option<ServerEvent> {
        self.events.pop_front()
    }

    /// Returns when to call again if no input arrives before; in the past if something is due now.
    pub fn poll_deadline(&self, now: SharedInstant) -> Option<SharedInstant> {
        let connected = self.members.iter().filter(|(_, member)| member.connection.is_some());
        let connected = connected.filter_map(|(client, member)| {
            member_deadline(&self.config, &self.dispatcher, *client, member, now)
        });
        connected.chain(self.common_deadline(now)).min()
    }

    /// Returns when something becomes due that concerns no single connection of a client: a
    /// greeting or a detached session is too late, or the scope is checked. A driver that asks for
    /// [`connection_deadline`](Self::connection_deadline) of each connection needs this as well.
    pub fn common_deadline(&self, now: SharedInstant) -> Option<SharedInstant> {
        let greetings = self.connections.values().filter(|connection| connection.client.is_none());
        let greetings = greetings.map(|connection| connection.opened_at + HELLO_WITHIN);
        let detached = self.members.iter().filter(|(_, member)| member.connection.is_none());
        let detached = detached.filter_map(|(client, member)| {
            member_deadline(&self.config, &self.dispatcher, *client, member, now)
        });
        let scope = self.scope.is_some().then(|| self.scope_at + self.scope_pause());
        greetings.chain(detached).chain(scope).min()
    }

    /// Returns when something becomes due for one connection, as
    /// [`poll_deadline`](Self::poll_deadline) does for all of them: after a datagram that affected
    /// only the connection that it came on.
    pub fn connection_deadline(&self, id: ConnectionId, now: SharedInstant) -> Option<SharedInstant> {
        let client = self.client_of(id)?;
        member_deadline(&self.config, &self.dispatcher, client, self.members.get(&client)?, now)
    }

    /// Ends a client's session.
    pub fn dismiss(&mut self, client: ClientId, now: SharedInstant) {
        if let Some(id) = self.members.get(&client).and_then(|member| member.connection) {
            self.close(id, CloseReason::Dismissed, now);
        }
        self.lose_session(client, now);
    }

    // ── getters ──

    /// Returns the most clients that may have a session.
    pub fn seats(&self) -> usize {
        self.config.clients_max
    }

    /// Returns all clients with a session, connected or not.
    pub fn clients(&self) -> impl Iterator<Item = ClientId> + '_ {
        self.members.keys().copied()
    }

    /// Returns whether a client's session has a transport.
    pub fn is_connected(&self, client: ClientId) -> bool {
        self.members.get(&client).is_some_and(|member| member.connection.is_some())
    }

    /// Returns the current transport of a client's session.
    pub fn connection(&self, client: ClientId) -> Option<ConnectionId> {
        self.members.get(&client)?.connection
    }

    /// Returns what the [`Admission`] learned about a client's player.
    pub fn bearer(&self, client: ClientId) -> Option<&[u8]> {
        Some(&self.members.get(&client)?.admitted.bearer)
    }

    /// Returns the description of the game.
    pub fn protocol(&self) -> &Protocol<V> {
        &self.config.protocol
    }

    /// Returns whether a client sees an object, or owns it.
    pub fn sees(&self, client: ClientId, object: EntityId) -> bool {
        self.members.get(&client).is_some_and(|member| member.seen.contains(&object))
    }

    /// Returns statistics of the link to a client since its session began, including the client's
    /// error; `None` once the session is over.
    pub fn statistics(&self, client: ClientId) -> Option<Statistics> {
        let statistics = self.members.get(&client)?.channel.statistics();
        let account = self.dispatcher.account(client.receiver());
        Some(Statistics { error_per_sec: account.map_or(0.0, |account| account.rate()), ..statistics })
    }

    /// Returns the lengths of the queues for a client.
    pub fn queues(&self, client: ClientId) -> Option<Queues> {
        let member = self.members.get(&client)?;
        let early = member.early.len();
        let waiting = member.waiting.len();
        Some(Queues { early, waiting, events: self.events.len(), ..member.channel.queues() })
    }

    /// Returns the dispatcher with its ledgers, accounts and delays.
    pub fn dispatcher(&self) -> &Dispatcher<V> {
        &self.dispatcher
    }

    fn client_of(&self, id: ConnectionId) -> Option<ClientId> {
        self.connections.get(&id).filter(|connection| connection.closing.is_none())?.client
    }

    fn replica(&self) -> Replica<V> {
        Replica::new(self.config.placement).with_horizon(self.config.dispatcher.horizon)
    }

    /// Returns an id for an object of the server; `None` when all are in use.
    fn take_id(&mut self, now: SharedInstant) -> Option<u32> {
        if self.own_ids.is_empty() {
            let first = self.ids.take(now)?;
            self.own_ids = first..first + IDS_PER_GRANT;
        }
        self.own_ids.next()
    }
}

/// Returns when something becomes due for one client.
fn member_deadline<V: Planar>(
    config: &ServerConfig<V>,
    dispatcher: &Dispatcher<V>,
    client: ClientId,
    member: &Member<V>,
    now: SharedInstant,
) -> Option<SharedInstant> {
    let shared = |at: LocalInstant| SharedInstant::ZERO + at.since_zero();
    let clock = Now::synchronised(now);
    if member.is_overfull {
        return Some(now);
    }
    if let Some(since) = member.detached_at {
        return Some(since + config.resume_within);
    }
    // Claims that are due wait for the next datagram.
    let vectors =
        dispatcher.next_due(client.receiver()).map(|due| due.max(shared(member.channel.speaks_at(clock))));
    let channel = member.channel.poll_deadline(clock).map(shared);
    let silent = Some(member.heard_at + config.silence_max);
    let page = (!member.waiting.is_empty()).then(|| member.channel.page_at(clock).map(shared)).flatten();
    [silent, channel, vectors, page].into_iter().flatten().min()
}
