//! The beginning, resumption and end of sessions.

use std::cmp::Reverse;

use super::member::Member;
use super::{Admitted, Connection, ConnectionId, Pass, Server, ServerEvent};
use crate::number::EntityId;
use crate::session::channel::Channel;
use crate::session::household::{Household, Shares, count};
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
        self.check_greeting(&hello)?;
        let household = self.connections.get(&id).ok_or(CloseReason::OutOfPlace)?.household;
        let resumed = match hello.resume.as_ref().filter(|resume| self.session_of(resume).is_some()) {
            Some(resume) => {
                self.admit(&hello, household, true)?;
                self.resume(resume, now)
            }
            None => None,
        };
        let (client, outcome, event) = match resumed {
            Some((client, received)) => (client, Outcome::Resumed(received), ServerEvent::Resumed(client)),
            None => {
                let admitted = self.admit(&hello, household, false)?;
                let bearer = admitted.bearer.clone();
                let client = self.begin(id, admitted, now)?;
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

    /// Checks that both ends have the same game.
    fn check_greeting(&self, hello: &Hello) -> Result<(), CloseReason> {
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
        Ok(())
    }

    /// Returns what the admission check learned about the player.
    fn admit(&mut self, hello: &Hello, from: Household, resumes: bool) -> Result<Admitted, CloseReason> {
        self.admission.check(&hello.authentication, from, resumes).ok_or(CloseReason::NotAdmitted)
    }

    /// The client whose session this proves to be the sender's.
    fn session_of(&self, resume: &Resume) -> Option<ClientId> {
        let of_this_run = self.members.iter().filter(|_| resume.epoch == self.config.epoch);
        of_this_run.into_iter().find(|(_, member)| member.token == resume.token).map(|(client, _)| *client)
    }

    /// Resumes a session. Returns its client and what the server received; `None` if impossible.
    fn resume(&mut self, resume: &Resume, now: SharedInstant) -> Option<(ClientId, Received)> {
        let client = self.session_of(resume)?;
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
        admitted: Admitted,
        now: SharedInstant,
    ) -> Result<ClientId, CloseReason> {
        let Connection { token, household, .. } =
            *self.connections.get(&id).ok_or(CloseReason::OutOfPlace)?;
        if let Some(pass) = admitted.pass {
            self.end_session_with(pass, now);
        }
        if self.members.len() >= self.config.clients_max {
            self.make_room(household, now)?;
        }
        let client = ClientId(self.next_client);
        self.next_client = self.next_client.checked_add(1).ok_or(CloseReason::Full)?;
        let random = self.random.fork(1 + u64::from(client.0));
        let channel =
            Channel::new(self.config.budget, self.config.datagram_every, self.config.loss_protection, random);
        self.members.insert(client, Member::new(token, admitted, household, channel, now));
        Ok(client)
    }

    /// Ends the session that was admitted by this pass: the greeting's answer was lost, or another
    /// client has a copy.
    fn end_session_with(&mut self, pass: Pass, now: SharedInstant) {
        let earlier = self.members.iter().find(|(_, member)| member.admitted.pass == Some(pass));
        if let Some(client) = earlier.map(|(client, _)| *client) {
            self.dismiss(client, now);
        }
    }

    /// Ends a session for a newcomer: one without a connection, or of a household that has more
    /// than its share.
    fn make_room(&mut self, newcomer: Household, now: SharedInstant) -> Result<(), CloseReason> {
        let leaver = self.absent_to_remove().or_else(|| self.seat_for(newcomer)).ok_or(CloseReason::Full)?;
        match self.connection(leaver) {
            Some(id) => self.close(id, CloseReason::Full, now),
            None => self.lose_session(leaver, now),
        }
        Ok(())
    }

    /// Of the sessions without a connection, one of the household with the most seats, and of those
    /// the one that has been absent longest: clients that come and vanish remove each other first.
    fn absent_to_remove(&self) -> Option<ClientId> {
        let seats = count(self.members.values().map(|member| member.household));
        let absent = self.members.iter().filter_map(|(client, member)| {
            Some((seats[&member.household], Reverse(member.detached_at?), *client))
        });
        absent.max().map(|(.., client)| client)
    }

    /// The seat that the household with the most seats took last, if it has to give one up.
    fn seat_for(&self, newcomer: Household) -> Option<ClientId> {
        let shares = Shares { kept: self.config.seats_kept };
        let loser = shares.loser(newcomer, self.members.values().map(|member| member.household))?;
        let seats = self.members.iter().filter(|(_, member)| member.household == loser);
        seats.map(|(client, _)| *client).max()
    }

    fn bind(&mut self, client: ClientId, id: ConnectionId, now: SharedInstant) {
        let Some(member) = self.members.get_mut(&client) else { return };
        (member.connection, member.detached_at, member.heard_at) = (Some(id), None, now);
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.client = Some(client);
            member.household = connection.household;
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
