//! A server's end of its clients' sessions.

mod config;
mod event;
mod life;
mod member;
mod object;
mod reconcile;

use std::collections::{BTreeMap, VecDeque};

pub use config::{Admission, AdmitAll, ServerConfig};
pub use event::ServerEvent;

use super::client::{check_group, watch};
use super::error::{CallError, CloseReason, ObjectError};
use super::interceptor::Interceptor;
use super::limits::{CREATION_BYTES_MAX, EVENTS_MAX, GREETINGS_MAX, HELLO_WITHIN, OBJECTS_MAX};
use super::message::{Call, Frames, Target};
use super::queues::Queues;
use super::scope::Scope;
use super::statistics::Statistics;
use super::{ClassId, ClientId, Delivery, Party, Token};
use crate::number::EntityId;
use crate::place::{Relay, Replica};
use crate::random::Random;
use crate::schedule::{Dispatcher, Scheduler};
use crate::state::{Observation, State};
use crate::time::{LocalInstant, Now, SharedInstant, Span};
use crate::vector::Planar;
use member::Member;
use object::{Object, Role};

/// A transport to somebody, before and after it is known who.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u64);

/// A server's end of its clients' sessions. The [module](super) says how to run it.
#[derive(Debug)]
pub struct Server<V: Planar> {
    config: ServerConfig,
    random: Random,
    dispatcher: Dispatcher<V>,
    interceptors: Vec<Box<dyn Interceptor<V>>>,
    /// Everybody sees everything, if there is none.
    scope: Option<Box<dyn Scope<V>>>,
    scope_at: SharedInstant,
    /// Who is looked at next.
    scope_from: ClientId,
    gate: Box<dyn Admission>,
    relay: Relay,
    connections: BTreeMap<ConnectionId, Connection>,
    next_connection: u64,
    members: BTreeMap<ClientId, Member<V>>,
    next_client: u32,
    objects: BTreeMap<EntityId, Object<V>>,
    next_object: u32,
    events: VecDeque<ServerEvent>,
}

#[derive(Debug)]
struct Connection {
    frames: Frames,
    client: Option<ClientId>,
    token: Token,
    opened_at: SharedInstant,
    closing: Option<CloseReason>,
}

impl<V: Planar> Server<V> {
    /// A server without clients yet, whose updates this scheduler spreads. If it has a budget, that
    /// is in DR vectors for each trigger of any object; bytes are counted for each client
    /// ([`Budget`](super::Budget)). Live, seed `random` so that nobody can guess it: receipts
    /// are proven with it.
    pub fn new(config: ServerConfig, scheduler: Box<dyn Scheduler<V>>, random: Random) -> Self {
        Self {
            dispatcher: Dispatcher::new(config.dispatcher, scheduler, random.fork(0)),
            interceptors: Vec::new(),
            scope: None,
            scope_at: SharedInstant::from_micros(i64::MIN),
            scope_from: ClientId(0),
            gate: Box::new(AdmitAll),
            relay: Relay::new(),
            connections: BTreeMap::new(),
            next_connection: 0,
            members: BTreeMap::new(),
            next_client: 0,
            objects: BTreeMap::new(),
            next_object: 1,
            events: VecDeque::new(),
            config,
            random,
        }
    }

    /// Shows each client what this says. Without it everybody sees everything.
    #[must_use]
    pub fn with_scope(mut self, scope: impl Scope<V> + 'static) -> Self {
        self.scope = Some(Box::new(scope));
        self
    }

    /// Checks updates of clients with this too.
    #[must_use]
    pub fn with_interceptor(mut self, interceptor: impl Interceptor<V> + 'static) -> Self {
        self.interceptors.push(Box::new(interceptor));
        self
    }

    /// Lets in whom this lets in. Without it everybody.
    #[must_use]
    pub fn with_gate(mut self, gate: impl Admission + 'static) -> Self {
        self.gate = Box::new(gate);
        self
    }

    // ── objects
    // ─────────────────────────────────────────────────────────────────────────────────────────

    /// Makes an object of the server's own.
    pub fn create(
        &mut self,
        class: ClassId,
        creation: &[u8],
        now: SharedInstant,
    ) -> Result<EntityId, ObjectError> {
        let kind = self.config.classes.get(&class).ok_or(ObjectError::UnknownClass)?.clone();
        if creation.len() > CREATION_BYTES_MAX {
            return Err(ObjectError::TooLong);
        }
        if self.objects.len() >= OBJECTS_MAX {
            return Err(ObjectError::TooMany);
        }
        let object = EntityId(self.take_ids(1).ok_or(ObjectError::NoIds)?);
        let role = Role::Mine(Box::new(watch(object, &kind, self.config.precision)));
        self.objects.insert(object, Object::new(class, Party::Server, creation.to_vec(), role));
        self.show_to_all(object, now);
        Ok(object)
    }

    /// Destroys an object, whoever owns it.
    pub fn destroy(&mut self, object: EntityId) -> Result<(), ObjectError> {
        if self.remove(object) { Ok(()) } else { Err(ObjectError::Unknown(object)) }
    }

    /// Tells the truth about an object of the server's own; call it every frame.
    pub fn observe(
        &mut self,
        object: EntityId,
        observation: Observation<V>,
        now: SharedInstant,
    ) -> Result<(), ObjectError> {
        let known = self.objects.get_mut(&object).ok_or(ObjectError::Unknown(object))?;
        let Role::Mine(owner) = &mut known.role else { return Err(ObjectError::NotOwner(object)) };
        let export = owner.observe(observation, now).map_err(|_| ObjectError::NotFinite(object))?;
        if let Some(export) = export {
            self.generate(&export.vector, export.reason, now);
        }
        Ok(())
    }

    /// Where an object is now, and how it moves; nothing before anything was heard of it.
    pub fn place(&self, object: EntityId, now: SharedInstant) -> Option<State<V>> {
        self.objects.get(&object)?.place(now)
    }

    /// Gives a state group of the server's own object a value. Nothing is sent if it has it
    /// already.
    pub fn set_state(&mut self, object: EntityId, group: u8, bytes: &[u8]) -> Result<(), ObjectError> {
        check_group(group, bytes)?;
        let known = self.objects.get_mut(&object).ok_or(ObjectError::Unknown(object))?;
        if known.owner != Party::Server {
            return Err(ObjectError::NotOwner(object));
        }
        if known.groups.get(&group).is_none_or(|value| value != bytes) {
            self.spread_state(object, group, bytes.to_vec());
        }
        Ok(())
    }

    /// The value of a state group, if it has one.
    pub fn state(&self, object: EntityId, group: u8) -> Option<&[u8]> {
        self.objects.get(&object)?.groups.get(&group).map(Vec::as_slice)
    }

    /// Makes an object somebody else's. The server decides: nobody is asked.
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

    /// All objects, in the order of ids.
    pub fn objects(&self) -> impl Iterator<Item = EntityId> + '_ {
        self.objects.keys().copied()
    }

    /// What an object is.
    pub fn class(&self, object: EntityId) -> Option<ClassId> {
        Some(self.objects.get(&object)?.class)
    }

    /// Whose it is.
    pub fn owner(&self, object: EntityId) -> Option<Party> {
        Some(self.objects.get(&object)?.owner)
    }

    /// What it was created with.
    pub fn creation(&self, object: EntityId) -> Option<&[u8]> {
        Some(&self.objects.get(&object)?.creation)
    }

    // ── calls ───────────────────────────────────────────────────────────────────────────────────────────

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

    /// Calls everybody who sees an object, except its owner. Tells whom it could not be sent to:
    /// they have too much waiting.
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

    // ── what arrives
    // ────────────────────────────────────────────────────────────────────────────────────

    /// A transport to somebody is there. The token must be new and impossible to guess; it is for
    /// this client's session, if it begins one. Nothing if too many are there already.
    pub fn handle_connected(&mut self, token: Token, now: SharedInstant) -> Option<ConnectionId> {
        if self.connections.len() >= self.config.clients_max + GREETINGS_MAX {
            return None;
        }
        let id = ConnectionId(self.next_connection);
        self.next_connection += 1;
        let frames = Frames::default();
        let connection = Connection { frames, client: None, token, opened_at: now, closing: None };
        self.connections.insert(id, connection);
        Some(id)
    }

    /// A transport is gone, for this reason if the client gave one.
    pub fn handle_disconnected(&mut self, id: ConnectionId, reason: Option<CloseReason>, now: SharedInstant) {
        let Some(connection) = self.connections.remove(&id) else { return };
        let Some(client) = connection.client else { return };
        self.detach(client, now);
        if reason == Some(CloseReason::Finished) {
            self.lose_session(client, now);
        }
    }

    /// Bytes came on an ordered stream.
    pub fn handle_stream(&mut self, id: ConnectionId, bytes: &[u8], now: SharedInstant) {
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
                Ok(None) => return,
                Err(reason) => Err(reason),
            };
            if let Err(reason) = handled {
                self.close(id, reason, now);
            }
        }
    }

    /// An independent message came.
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

    /// A datagram came. Says whether there may be something to do before
    /// [`poll_deadline`](Self::poll_deadline) said: with many clients it is dear to ask again
    /// after each datagram, and receipts alone mostly change nothing.
    pub fn handle_datagram(&mut self, id: ConnectionId, bytes: &[u8], now: SharedInstant) -> bool {
        let Some(client) = self.client_of(id) else { return false };
        let Some(member) = self.members.get_mut(&client) else { return false };
        member.on_heard(0, now);
        let deadline = member_deadline(&self.config, &self.dispatcher, client, member, now);
        let (receiver, now_both) = (client.receiver(), Now::synchronised(now));
        let (dispatcher, precision) = (&mut self.dispatcher, &self.config.precision);
        let incoming = member.channel.handle_datagram(dispatcher, receiver, precision, bytes, now_both);
        let brought_news = matches!(&incoming, Ok(Some(incoming)) if incoming.brings_news());
        let handled = match incoming {
            Ok(Some(incoming)) => self.reconcile(client, incoming, now),
            Ok(None) => Ok(()),
            Err(reason) => Err(reason),
        };
        let is_broken = handled.is_err();
        if let Err(reason) = handled {
            self.close(id, reason, now);
        }
        let is_sooner = |member: &Member<V>| {
            let now_due = member_deadline(&self.config, &self.dispatcher, client, member, now);
            now_due.is_some_and(|at| deadline.is_none_or(|before| at < before))
        };
        brought_news || is_broken || self.members.get(&client).is_some_and(is_sooner)
    }

    /// The transport measured how long the way to a client and back takes: then who holds receipts
    /// back is found out.
    pub fn handle_round_trip(&mut self, id: ConnectionId, round_trip: Span) {
        if let Some(client) = self.client_of(id) {
            self.dispatcher.on_transport_round_trip(client.receiver(), round_trip);
        }
    }

    /// Time has passed.
    pub fn handle_timeout(&mut self, now: SharedInstant) {
        let is_overloaded = self.events.len() >= EVENTS_MAX;
        let reason_to_close =
            |connection: &Connection, members: &BTreeMap<ClientId, Member<V>>| match connection
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
    }

    // ── what leaves
    // ─────────────────────────────────────────────────────────────────────────────────────

    /// Bytes for an ordered stream.
    pub fn poll_stream(&mut self, id: ConnectionId, now: SharedInstant) -> Option<Vec<u8>> {
        let client = self.client_of(id)?;
        self.members.get_mut(&client)?.channel.poll_stream(Now::synchronised(now))
    }

    /// An independent message.
    pub fn poll_unordered(&mut self, id: ConnectionId) -> Option<Vec<u8>> {
        let client = self.client_of(id)?;
        self.members.get_mut(&client)?.channel.poll_unordered()
    }

    /// The next datagram, of at most `bytes_max`. Ask only when it can leave at once.
    pub fn poll_datagram(
        &mut self,
        id: ConnectionId,
        now: SharedInstant,
        bytes_max: usize,
    ) -> Option<Vec<u8>> {
        let client = self.client_of(id)?;
        let channel = &mut self.members.get_mut(&client)?.channel;
        let now = Now::synchronised(now);
        channel.poll_datagram(&mut self.dispatcher, client.receiver(), &self.config.precision, now, bytes_max)
    }

    /// Whether there is something to send on a connection by now: for who has many, and would
    /// rather not ask each of them.
    pub fn is_due(&self, id: ConnectionId, now: SharedInstant) -> bool {
        let member = self.client_of(id).and_then(|client| Some((client, self.members.get(&client)?)));
        member.is_some_and(|(client, member)| {
            let has_vectors = self.dispatcher.is_due(client.receiver(), now);
            member.channel.is_due(has_vectors, Now::synchronised(now))
        })
    }

    /// A transport that is to be closed, and why. Given once; the connection is forgotten.
    pub fn poll_close(&mut self) -> Option<(ConnectionId, CloseReason)> {
        let closing = |(id, connection): (&ConnectionId, &Connection)| Some((*id, connection.closing?));
        let (id, reason) = self.connections.iter().find_map(closing)?;
        self.connections.remove(&id);
        Some((id, reason))
    }

    /// Something the application should know.
    pub fn poll_event(&mut self) -> Option<ServerEvent> {
        self.events.pop_front()
    }

    /// When there will be something to do, unless something arrives before. In the past, if there
    /// is now.
    pub fn poll_deadline(&self, now: SharedInstant) -> Option<SharedInstant> {
        let greetings = self.connections.values().filter(|connection| connection.client.is_none());
        let greetings = greetings.map(|connection| connection.opened_at + HELLO_WITHIN);
        let members = self.members.iter().filter_map(|(client, member)| {
            member_deadline(&self.config, &self.dispatcher, *client, member, now)
        });
        let scope = self.scope.is_some().then(|| self.scope_at + self.scope_pause());
        greetings.chain(members).chain(scope).min()
    }

    /// Sends a client away for good.
    pub fn dismiss(&mut self, client: ClientId, now: SharedInstant) {
        if let Some(id) = self.members.get(&client).and_then(|member| member.connection) {
            self.close(id, CloseReason::Dismissed, now);
        }
        self.lose_session(client, now);
    }

    // ── what is known
    // ───────────────────────────────────────────────────────────────────────────────────

    /// How many clients may have a session.
    pub fn seats(&self) -> usize {
        self.config.clients_max
    }

    /// All clients with a session, connected or not.
    pub fn clients(&self) -> impl Iterator<Item = ClientId> + '_ {
        self.members.keys().copied()
    }

    /// Whether a client's session has a transport.
    pub fn is_connected(&self, client: ClientId) -> bool {
        self.members.get(&client).is_some_and(|member| member.connection.is_some())
    }

    /// The transport that a client's session has at the moment.
    pub fn connection(&self, client: ClientId) -> Option<ConnectionId> {
        self.members.get(&client)?.connection
    }

    /// Whether a client is shown an object, or owns it.
    pub fn sees(&self, client: ClientId, object: EntityId) -> bool {
        self.members.get(&client).is_some_and(|member| member.seen.contains(&object))
    }

    /// How the way to a client and back is, and how wrong the client has been.
    pub fn statistics(&self, client: ClientId) -> Option<Statistics> {
        let statistics = self.members.get(&client)?.channel.statistics();
        let account = self.dispatcher.account(client.receiver());
        Some(Statistics { error_per_sec: account.map_or(0.0, |account| account.rate()), ..statistics })
    }

    /// How much is kept for a client, and of it.
    pub fn queues(&self, client: ClientId) -> Option<Queues> {
        let member = self.members.get(&client)?;
        let early = member.early.len();
        Some(Queues { early, events: self.events.len(), ..member.channel.queues() })
    }

    /// The books: ledgers, accounts, delays.
    pub fn dispatcher(&self) -> &Dispatcher<V> {
        &self.dispatcher
    }

    fn client_of(&self, id: ConnectionId) -> Option<ClientId> {
        self.connections.get(&id).filter(|connection| connection.closing.is_none())?.client
    }

    fn replica(&self) -> Replica<V> {
        Replica::new(self.config.placement).with_horizon(self.config.dispatcher.horizon)
    }

    /// The first of so many new ids in a row, never used before; nothing when all are used up.
    fn take_ids(&mut self, count: u32) -> Option<u32> {
        let first = self.next_object;
        self.next_object = first.checked_add(count)?;
        Some(first)
    }
}

/// When there will be something to do for one client.
fn member_deadline<V: Planar>(
    config: &ServerConfig,
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
    // What is due waits for the datagram that may take it.
    let vectors =
        dispatcher.due(client.receiver()).map(|due| due.max(shared(member.channel.speaks_at(clock))));
    let channel = member.channel.poll_deadline(clock).map(shared);
    let silent = Some(member.heard_at + config.silence_max);
    [silent, channel, vectors].into_iter().flatten().min()
}
