//! Handling of the server's datagrams and messages.

use super::{Client, ClientEvent, GRANTS_MAX, Identity, Object, Phase, Role, SERVER, decode_motion, watch};
use crate::clock::{ClockSync, Reply, ReplyError};
use crate::converge::Convergence;
use crate::dr_vector::DrVector;
use crate::number::EntityId;
use crate::place::{Acceptance, Arrival, Replica};
use crate::session::channel::Incoming;
use crate::session::limits::{CLOCK_WAIT_MAX, EARLY_MAX, OBJECTS_MAX, OUTBOX_BYTES_MAX, OUTBOX_MESSAGES_MAX};
use crate::session::message::{Announcement, Call, Group, Message, Outcome, Welcome};
use crate::session::{Class, CloseReason, Party, Refusal};
use crate::time::{LocalInstant, Now, SharedInstant};
use crate::trigger::Trigger;
use crate::vector::Planar;
use crate::wire::StaleSet;

impl<V: Planar> Client<V> {
    /// Applies one datagram: accepts motion, values and calls that are newer, and books the receipt
    /// that tells the server which DR vectors were outdated.
    pub(super) fn reconcile(&mut self, incoming: Incoming<V>, now: Now) {
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
        match self.objects.get_mut(&vector.entity) {
            Some(known) if known.is_mine() => {
                let newest = known.overtook.get_or_insert(*vector);
                *newest = if vector.generated_at > newest.generated_at { *vector } else { *newest };
                Acceptance::Stale
            }
            Some(_) => self.follow(vector, &arrival),
            None => {
                if self.early.len() >= EARLY_MAX && !self.early.contains_key(&vector.entity) {
                    self.early.pop_first();
                }
                let replica = self.replica(None);
                self.early.entry(vector.entity).or_insert(replica).accept(vector, &arrival)
            }
        }
    }

    pub(super) fn handle_time(&mut self, reply: Reply, now: LocalInstant) {
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

    /// Reports `Connected` once the clock is good enough: when the clock says so or, on a link that
    /// loses almost everything, after [`CLOCK_WAIT_MAX`], unless the clock may still jump.
    pub(super) fn synchronise(&mut self, now: LocalInstant) {
        let may_jump = |uncertainty| uncertainty > self.config.clock.step_beyond.scaled(0.5);
        let is_vague = self.clock.uncertainty(now).is_none_or(may_jump);
        let has_waited = self.clock_due.is_none_or(|due| due <= now) && !is_vague;
        if !has_waited && !self.clock.is_ready(now) {
            return;
        }
        let (Some(identity), Some(now)) = (self.identity, self.clock_now(now)) else { return };
        self.clock.start();
        self.is_synchronised = true;
        self.clock_due = None;
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
        let Group { group, bytes, .. } = group;
        if is_mine {
            known.overruled.insert(group, bytes);
            return;
        }
        // A server that follows the protocol never sends another type.
        let value = self.config.protocol.state_payload(known.class, group, bytes.clone());
        if let Some(value) = value {
            known.groups.insert(group, bytes);
            self.events.push_back(ClientEvent::StateChanged { object, group, value });
        }
    }

    pub(super) fn called(&mut self, call: Call) {
        let Call { target, from, method, bytes } = call;
        if let Some(call) = self.config.protocol.call_payload(method, bytes) {
            self.events.push_back(ClientEvent::Called { from, target, method, call });
        }
    }

    /// Keeps a message until the session begins for the application: it is delivered only once.
    pub(super) fn keep_unordered(&mut self, bytes: &[u8], now: LocalInstant) {
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

    pub(super) fn drain_frames(&mut self, now: LocalInstant) {
        while matches!(self.phase, Phase::Greeting) || self.is_connected() {
            let handled = match self.frames.next() {
                Ok(Some(message)) => self.handle_message(message, now),
                Ok(None) => return,
                Err(reason) => Err(reason),
            };
            if let Err(reason) = handled {
                self.close(reason, now);
            }
        }
    }

    fn handle_message(&mut self, message: Message, now: LocalInstant) -> Result<(), CloseReason> {
        if let Message::Welcome(welcome) = message {
            return self.welcome(welcome, now);
        }
        let now = self.clock_now(now).filter(|_| self.phase == Phase::Established);
        let now = now.ok_or(CloseReason::OutOfPlace)?;
        match self.channel.handle_ordered(message, &mut self.dispatcher, SERVER, now)? {
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
                if self.identity.is_none() || !self.channel.resume(&received) {
                    return Err(CloseReason::OutOfPlace);
                }
                self.dispatcher.join(SERVER, now.shared);
                self.renew_announcements(now.shared);
                self.phase = Phase::Established;
                if self.is_synchronised {
                    self.events.push_back(ClientEvent::Resumed);
                }
            }
            Outcome::New(first, count) => {
                self.horizon = welcome.settings.horizon;
                self.lose_session();
                self.classes = self.config.protocol.classes().clone();
                welcome.settings.apply(&mut self.classes);
                self.clock = ClockSync::starting(self.config.clock);
                self.clock_due = Some(now + CLOCK_WAIT_MAX);
                self.clock.poll_request(self.asked_at);
                self.clock.handle_reply(welcome.clock, now).map_err(reason_for)?;
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
        if self.objects.len() >= OBJECTS_MAX + self.config.objects_max {
            return Err(CloseReason::OutOfPlace);
        }
        self.channel.hear_groups(&announcement);
        let Announcement { object, class, owner, term, creation, motion, groups } = announcement;
        let protocol = &self.config.protocol;
        let payload = protocol.creation_payload(class, creation.clone()).ok_or(CloseReason::Malformed)?;
        let first = decode_motion::<V>(protocol.precision(), object, &motion, now.shared);
        let mut replica = self.replica(Some(class));
        let early = self.early.remove(&object).and_then(|early| early.followed().copied());
        let travelled = self.channel.one_way();
        if let Some((vector, sent_at)) = first {
            let waited = sent_at - vector.generated_at;
            replica.accept(&vector, &Arrival { now, waited, travelled });
        }
        self.follow_parent(object, replica.followed().and_then(|followed| followed.parent));
        let role = Role::Theirs(Box::new(replica));
        let mut known = Object::new(class, Party::Server, term, creation, role);
        known.groups = groups.into_iter().map(|group| (group.group, group.bytes)).collect();
        self.add(object, known);
        // Of the DR vector in the announcement and one that overtook it, the newer counts.
        if let Some(vector) = early {
            self.follow(&vector, &Arrival { now, waited: now.shared - vector.generated_at, travelled });
        }
        self.land_adrift(now);
        self.take_sides(object, owner, now);
        self.events.push_back(ClientEvent::ObjectEntered { object, class, owner, creation: payload });
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
                let fallback = Class::new(Trigger::within(0.3));
                let kind = self.classes.get(&known.class).unwrap_or(&fallback);
                let mut watch = watch(object, kind, *self.config.protocol.precision());
                if let Some(followed) = replica.followed() {
                    watch = watch.continuing(*followed);
                }
                known.role = Role::Mine(Box::new(watch), 0);
                known.overruled.clear();
                (known.observed_at, known.overtook) = (None, None);
            }
            Role::Mine(watch, set) if !is_mine => {
                // Values set here may have arrived too late. The server sends the ones that count.
                known.groups.retain(|group, _| set >> group & 1 == 0);
                known.groups.append(&mut known.overruled);
                let smoothing = self.classes.get(&known.class).map(|class| class.smoothing);
                let mut replica = Replica::new(self.placement)
                    .with_horizon(self.horizon)
                    .with_convergence(smoothing.unwrap_or(Convergence::smooth()));
                if let Some(exported) = watch.exported() {
                    replica.accept(exported, &Arrival::at(now));
                }
                known.role = Role::Theirs(Box::new(replica));
                let overtook = known.overtook.take();
                self.channel.disown(object);
                self.dispatcher.remove(object);
                if let Some(vector) = overtook {
                    self.follow(&vector, &Arrival::at(now));
                }
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
        // A refused claim means an object of another owner, which goes on to exist.
        if never_existed && self.objects.get(&object).is_some_and(super::Object::is_mine) {
            self.forget(object);
        }
        self.events.push_back(ClientEvent::Refused { object, refusal });
    }
}

/// Why a connection ends whose greeting brought a useless clock reply. Only stamps that contradict
/// each other are the server's fault: the others also follow from a step of this end's clock.
fn reason_for(error: ReplyError) -> CloseReason {
    match error {
        ReplyError::AnsweredBeforeAsked | ReplyError::OutOfRange => CloseReason::OutOfPlace,
        ReplyError::Unsolicited
        | ReplyError::ReceivedBeforeSent
        | ReplyError::LongerThanRoundTrip
        | ReplyError::Disputed => CloseReason::ClockJumped,
    }
}
