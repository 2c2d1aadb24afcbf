//! The beginning, resumption and end of sessions.

use super::member::Member;
use super::{ConnectionId, Server, ServerEvent};
use crate::number::EntityId;
use crate::session::channel::Channel;
use crate::session::limits::IDS_PER_GRANT;
use crate::session::message::{Hello, Message, Outcome, Received, Resume, SESSION_VERSION, Welcome};
use crate::session::undelivered::UndeliveredTypes;
use crate::session::{ClientId, CloseReason, Party, Settings};
use crate::time::SharedInstant;
use crate::vector::Planar;

impl<V: Planar> Server<V> {
    /// Returns whether [`poll_event`](Self::poll_event) would return an event.
    pub fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// Returns the client on this transport, after its greeting and while the transport is open.
    pub fn client_on(&self, id: ConnectionId) -> Option<ClientId> {
        self.client_of(id)
    }

    pub(super) fn greet(
        &mut self,
        id: ConnectionId,
        message: Message,
        now: SharedInstant,
    ) -> Result<(), CloseReason> {
        let Message::Hello(hello) = message else { return Err(CloseReason::OutOfPlace) };
        let bearer = self.check_greeting(&hello)?;
        let resumed = hello.resume.as_ref().and_then(|resume| self.resume(resume, now));
        let (client, outcome, event) = match resumed {
            Some((client, received)) => (client, Outcome::Resumed(received), ServerEvent::Resumed(client)),
            None => {
                let client = self.begin(id, bearer.clone(), now)?;
                let first = self.take_grant(client, now).ok_or(CloseReason::Full)?;
                (client, Outcome::New(first, IDS_PER_GRANT), ServerEvent::Joined { client, bearer })
            }
        };
        self.bind(client, id, now);
        let member = self.members.get_mut(&client).expect("bound above");
        member.channel.greet(Message::Welcome(Welcome {
            client,
            token: member.token,
            epoch: self.config.epoch,
            placement: self.config.placement,
            settings: Settings::of(self.config.dispatcher.horizon, self.config.protocol.classes()),
            clock: hello.clock.answer(now, now),
            outcome,
        }));
        self.events.push_back(event);
        self.refresh_scope_of(client, now);
        Ok(())
    }

    /// Returns what the admission check learned about the player.
    fn check_greeting(&mut self, hello: &Hello) -> Result<Vec<u8>, CloseReason> {
        if hello.version != SESSION_VERSION {
            return Err(CloseReason::WrongVersion);
        }
        let protocol = &self.config.protocol;
        if hello.game.name != protocol.name() {
            return Err(CloseReason::WrongGame);
        }
        if hello.game.version != protocol.version() {
            return Err(CloseReason::WrongGameVersion);
        }
        if usize::from(hello.dimensions) != V::DIMENSIONS {
            return Err(CloseReason::WrongDimensions);
        }
        if hello.precision != protocol.precision().fingerprint() {
            return Err(CloseReason::WrongPrecision);
        }
        if hello.game.fingerprint != protocol.game_id().fingerprint {
            return Err(CloseReason::WrongProtocol);
        }
        self.admission.admit(&hello.authentication).ok_or(CloseReason::NotAdmitted)
    }

    /// Resumes a session. Returns its client and what the server received; `None` if impossible.
    fn resume(&mut self, resume: &Resume, now: SharedInstant) -> Option<(ClientId, Received)> {
        if resume.epoch != self.config.epoch {
            return None;
        }
        let client = *self.members.iter().find(|(_, member)| member.token == resume.token)?.0;
        self.supersede(client, now);
        let member = self.members.get_mut(&client)?;
        let is_too_late = member.detached_at.is_some_and(|since| now - since >= self.config.resume_within);
        if is_too_late || !member.channel.resume(&resume.received) {
            self.lose_session(client, now);
            return None;
        }
        Some((client, member.channel.received()))
    }

    /// Replaces the old connection of a session that returned before the loss was noticed.
    fn supersede(&mut self, client: ClientId, now: SharedInstant) {
        if let Some(id) = self.members.get(&client).and_then(|member| member.connection) {
            self.end_connection(id, CloseReason::Superseded);
            self.detach(client, now);
        }
    }

    fn begin(
        &mut self,
        id: ConnectionId,
        bearer: Vec<u8>,
        now: SharedInstant,
    ) -> Result<ClientId, CloseReason> {
        if self.members.len() >= self.config.clients_max {
            return Err(CloseReason::Full);
        }
        let token = self.connections.get(&id).ok_or(CloseReason::OutOfPlace)?.token;
        let client = ClientId(self.next_client);
        self.next_client = self.next_client.checked_add(1).ok_or(CloseReason::Full)?;
        let random = self.random.fork(1 + u64::from(client.0));
        let channel =
            Channel::new(self.config.budget, self.config.datagram_every, self.config.loss_protection, random);
        self.members.insert(client, Member::new(token, bearer, channel, now));
        Ok(client)
    }

    fn bind(&mut self, client: ClientId, id: ConnectionId, now: SharedInstant) {
        let Some(member) = self.members.get_mut(&client) else { return };
        (member.connection, member.detached_at, member.heard_at) = (Some(id), None, now);
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.client = Some(client);
        }
        self.dispatcher.join(client.receiver(), now);
        for object in self.objects.keys().copied().collect::<Vec<_>>() {
            if !self.is_sent(client, object) {
                self.dispatcher.hide(object, client.receiver());
            }
        }
        self.renew_announcements(client, now);
    }

    /// Keeps the session for another connection. The scheduler ignores the client meanwhile.
    pub(super) fn detach(&mut self, client: ClientId, now: SharedInstant) {
        let Some(member) = self.members.get_mut(&client) else { return };
        if member.connection.take().is_some() {
            member.detached_at = Some(now);
            member.channel.drop_greetings();
            self.dispatcher.leave(client.receiver());
            self.events.push_back(ServerEvent::Detached(client));
        }
    }

    pub(super) fn close(&mut self, id: ConnectionId, reason: CloseReason, now: SharedInstant) {
        let client = self.client_of(id);
        self.end_connection(id, reason);
        self.events.push_back(ServerEvent::Closed { client, reason });
        if let Some(client) = client {
            self.detach(client, now);
            if reason.ends_session() {
                self.lose_session(client, now);
            }
        }
    }

    fn end_connection(&mut self, id: ConnectionId, reason: CloseReason) {
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.client = None;
            connection.closing = Some(reason);
        }
    }

    /// Ends a session: its objects are destroyed, or become the server's.
    pub(super) fn lose_session(&mut self, client: ClientId, now: SharedInstant) {
        self.detach(client, now);
        let Some(member) = self.members.remove(&client) else { return };
        let is_owned = |object: &EntityId| self.owner(*object) == Some(Party::Client(client));
        let owned: Vec<EntityId> = member.seen.iter().copied().filter(is_owned).collect();
        // Before the objects are destroyed: their classes give the states their types.
        let class_of = |object: EntityId| self.class(object);
        let types = UndeliveredTypes { protocol: &self.config.protocol, class_of };
        let undelivered = member.channel.into_undelivered(&types);
        for object in owned {
            let outlives = self.class_of(object).is_some_and(|class| class.outlives_owner);
            if outlives {
                self.pass_on(object, Party::Server, now);
            } else {
                self.remove(object);
                self.events.push_back(ServerEvent::Destroyed { object, by: client });
            }
        }
        for id in member.granted {
            self.ids.free(id, now);
        }
        self.events.push_back(ServerEvent::SessionLost { client, undelivered });
    }

    pub(super) fn grant_ids(&mut self, client: ClientId, now: SharedInstant) {
        if let Some(first) = self.take_grant(client, now) {
            self.tell(client, Message::Ids(first, IDS_PER_GRANT));
        }
    }

    fn take_grant(&mut self, client: ClientId, now: SharedInstant) -> Option<u32> {
        let first = self.ids.take(now)?;
        self.members.get_mut(&client)?.granted.extend(first..first + IDS_PER_GRANT);
        Some(first)
    }

    /// Sends a reliable message. A client with too many unconfirmed ones loses its session.
    pub(super) fn tell(&mut self, client: ClientId, message: Message) {
        let Some(member) = self.members.get_mut(&client) else { return };
        if member.channel.send(message).is_err() {
            member.is_overfull = true;
        }
    }
}
