//! Handling of clients' datagrams and requests.

use super::interest::rests_as_before;
use super::object::{Object, Role};
use super::{Server, ServerEvent};
use crate::dr_vector::DrVector;
use crate::number::EntityId;
use crate::place::{Acceptance, Arrival, Placement, Replica};
use crate::session::channel::Incoming;
use crate::session::client::decode_motion;
use crate::session::interceptor::Update;
use crate::session::limits::{CREATION_BYTES_MAX, DATAGRAM_ITEM_BYTES_MAX, IDS_LOW, OBJECTS_MAX};
use crate::session::message::{Announcement, Call, Group, Message, Target};
use crate::session::{ClientId, CloseReason, Delivery, Party, Payload, Refusal};
use crate::time::{LocalInstant, Now, SharedInstant, Span};
use crate::trigger::TriggerReason;
use crate::vector::Planar;
use crate::wire::StaleSet;

impl<V: Planar> Server<V> {
    // ── the reconcile step ──

    /// Applies one client datagram: accepts updates that are newer and permitted, forwards them to
    /// viewers, and books the receipt that tells the client which were outdated.
    pub(super) fn reconcile(
        &mut self,
        client: ClientId,
        incoming: Incoming<V>,
        now: SharedInstant,
    ) -> Result<(), CloseReason> {
        let mut stale = StaleSet::NONE;
        for (place, vector) in incoming.vectors.iter().enumerate() {
            match self.accept(client, vector, incoming.header.sent_at, now) {
                Ok(Acceptance::Used) => {}
                Ok(_) => stale.insert(place),
                Err(refusal) => {
                    stale.insert(place);
                    self.refuse(client, vector.entity, refusal, now);
                }
            }
        }
        let member = self.members.get_mut(&client).ok_or(CloseReason::OutOfPlace)?;
        member.channel.owe_receipt(&incoming, stale, Now::synchronised(now));
        for (object, group) in incoming.states {
            self.change_state(client, object, group, now);
        }
        for (call, delivery) in incoming.calls {
            self.route(client, call, delivery, now)?;
        }
        Ok(())
    }

    fn accept(
        &mut self,
        client: ClientId,
        vector: &DrVector<V>,
        sent_at: SharedInstant,
        now: SharedInstant,
    ) -> Result<Acceptance, Refusal> {
        if !vector.stays_finite() {
            return Err(Refusal::TooFastMotion);
        }
        let Some(object) = self.objects.get(&vector.entity) else {
            return self.accept_early(client, vector, sent_at);
        };
        if object.owner != Party::Client(client) {
            return Err(Refusal::NotOwner);
        }
        let Role::Theirs(replica) = &object.role else { return Err(Refusal::NotOwner) };
        // Otherwise later DR vectors, also of the next owner, would count as stale.
        if vector.generated_at > now + Replica::<V>::AHEAD_MAX {
            return Err(Refusal::ImpossibleTime);
        }
        if replica.followed().is_some_and(|believed| vector.generated_at <= believed.generated_at) {
            return Ok(Acceptance::Stale);
        }
        if let Err(refusal) = self.check_parent_of(client, vector) {
            return self.keep_for_parent(client, vector, sent_at, refusal);
        }
        let vector = self.intercept(client, vector, now)?;
        self.believe(client, &vector, sent_at, now)
    }

    /// Keeps a DR vector of an object whose creation has not arrived: datagrams overtake streams.
    fn accept_early(
        &mut self,
        client: ClientId,
        vector: &DrVector<V>,
        sent_at: SharedInstant,
    ) -> Result<Acceptance, Refusal> {
        let member = self.members.get_mut(&client).ok_or(Refusal::UnknownObject)?;
        if !member.granted.contains(&vector.entity.0) {
            // The object existed once and was removed; the client does not know yet.
            let was_real = self.ids.was_given(vector.entity.0);
            return if was_real { Ok(Acceptance::Stale) } else { Err(Refusal::UnknownObject) };
        }
        Ok(member.keep_early(vector, sent_at))
    }

    /// Keeps a DR vector whose parent the client has created, if that message has not arrived.
    fn keep_for_parent(
        &mut self,
        client: ClientId,
        vector: &DrVector<V>,
        sent_at: SharedInstant,
        refusal: Refusal,
    ) -> Result<Acceptance, Refusal> {
        let member = self.members.get_mut(&client).ok_or(refusal)?;
        if !vector.parent.is_some_and(|parent| member.granted.contains(&parent.0)) {
            return Err(refusal);
        }
        Ok(member.keep_early(vector, sent_at))
    }

    /// Returns the update after all interceptors.
    fn intercept(
        &mut self,
        client: ClientId,
        vector: &DrVector<V>,
        now: SharedInstant,
    ) -> Result<DrVector<V>, Refusal> {
        let object = self.objects.get(&vector.entity).ok_or(Refusal::UnknownObject)?;
        let believed = match &object.role {
            Role::Theirs(replica) => replica.followed(),
            Role::Mine(_) => None,
        };
        let update = Update { client, object: vector.entity, class: object.class, believed, now };
        let mut checked = *vector;
        for interceptor in &mut self.interceptors {
            interceptor.check(&update, &mut checked)?;
        }
        // An interceptor cannot change the entity, the time or the parent.
        let DrVector { entity, generated_at, parent, .. } = *vector;
        checked = DrVector { entity, generated_at, parent, ..checked };
        if checked == *vector {
            return Ok(checked);
        }
        if checked.stays_finite() {
            Ok(self.config.protocol.precision().as_decoded(&checked))
        } else {
            Err(Refusal::Vetoed)
        }
    }

    /// Accepts an update into the server's replica and forwards it on the server's terms.
    fn believe(
        &mut self,
        client: ClientId,
        vector: &DrVector<V>,
        sent_at: SharedInstant,
        now: SharedInstant,
    ) -> Result<Acceptance, Refusal> {
        let travelled = self.members.get(&client).map_or(Span::ZERO, |member| member.channel.one_way());
        let arrival =
            Arrival { now: Now::synchronised(now), waited: sent_at - vector.generated_at, travelled };
        let Some(Role::Theirs(replica)) = self.objects.get_mut(&vector.entity).map(|object| &mut object.role)
        else {
            return Err(Refusal::NotOwner);
        };
        match replica.accept(vector, &arrival) {
            Acceptance::Used => {}
            Acceptance::Refused => return Err(Refusal::ImpossibleTime),
            other => return Ok(other),
        }
        let vector = match self.config.placement {
            Placement::Hop => {
                self.relay.restate(vector, &arrival, self.config.protocol.precision().time_step())
            }
            Placement::Local | Placement::Global => *vector,
        };
        let reason = self.reason_for(&vector);
        self.spread_motion(&vector, reason, now);
        Ok(Acceptance::Used)
    }

    /// Passes a DR vector to the dispatcher, for every viewer of the object.
    pub(super) fn spread_motion(&mut self, vector: &DrVector<V>, reason: TriggerReason, now: SharedInstant) {
        if !self.dispatcher.newest(vector.entity).is_some_and(|before| rests_as_before(before, vector)) {
            self.stillness.on_change();
        }
        self.follow_parent(vector, now);
        let is_new = self.dispatcher.newest(vector.entity).is_none();
        self.dispatcher.on_generated(vector, reason, now);
        if is_new {
            let rates = self.class_of(vector.entity).map(|class| class.rates).unwrap_or_default();
            self.dispatcher.set_pace(vector.entity, rates.pace());
        }
        if self.config.budget.share.is_some() && !is_new {
            self.count_broadcast(vector.entity, now);
        }
        let Some(object) = self.objects.get_mut(&vector.entity) else { return };
        if !std::mem::replace(&mut object.is_showable, true) {
            // The dispatcher shows a new object to all receivers.
            for client in self.members.keys().copied().collect::<Vec<_>>() {
                if !self.is_sent(client, vector.entity) {
                    self.dispatcher.hide(vector.entity, client.receiver());
                }
            }
            self.show_to_all(vector.entity, now);
        }
    }

    /// Notes that broadcast would send this object to all its viewers now.
    fn count_broadcast(&mut self, object: EntityId, now: SharedInstant) {
        let owner = self.owner(object);
        for (client, member) in self.members.iter_mut() {
            if member.seen.contains(&object) && owner != Some(Party::Client(*client)) {
                member.channel.on_broadcast(Now::synchronised(now));
            }
        }
    }

    /// Infers why a client generated a DR vector: a heartbeat repeats what receivers predict.
    fn reason_for(&self, vector: &DrVector<V>) -> TriggerReason {
        let Some(before) = self.dispatcher.newest(vector.entity) else { return TriggerReason::Born };
        if !before.shares_life(vector) {
            return TriggerReason::Jumped;
        }
        let tolerance = self.config.dispatcher.liveness.map_or(0.0, |liveness| liveness.tolerance);
        let agrees = |at: SharedInstant| before.position_at(at).distance(vector.position_at(at)) <= tolerance;
        let soon = vector.generated_at + Span::from_secs(1);
        if agrees(vector.generated_at) && agrees(soon) {
            TriggerReason::Heartbeat
        } else {
            TriggerReason::Distance
        }
    }

    fn change_state(&mut self, client: ClientId, object: EntityId, group: Group, now: SharedInstant) {
        let Some(owner) = self.owner(object) else { return };
        let is_servers = self.class_of(object).is_some_and(|class| class.is_servers(group.group));
        if owner != Party::Client(client) || is_servers {
            return self.refuse(client, object, Refusal::NotOwner, now);
        }
        let Some(member) = self.members.get_mut(&client) else { return };
        if !member.channel.is_news(object, &group) {
            return;
        }
        let Group { group, mut bytes, .. } = group;
        let checked = self.intercept_state(client, object, group, &mut bytes, now);
        let value = checked.and_then(|()| {
            let class = self.class(object).ok_or(Refusal::UnknownObject)?;
            self.config.protocol.state_payload(class, group, bytes.clone()).ok_or(Refusal::WrongType)
        });
        match value {
            Ok(value) => {
                self.spread_state(object, group, bytes);
                self.events.push_back(ServerEvent::StateChanged { object, group, value });
            }
            Err(refusal) => self.refuse(client, object, refusal, now),
        }
    }

    fn intercept_state(
        &mut self,
        client: ClientId,
        object: EntityId,
        group: u8,
        value: &mut Vec<u8>,
        now: SharedInstant,
    ) -> Result<(), Refusal> {
        let known = self.objects.get(&object).ok_or(Refusal::UnknownObject)?;
        let believed = match &known.role {
            Role::Theirs(replica) => replica.followed(),
            Role::Mine(_) => None,
        };
        let update = Update { client, object, class: known.class, believed, now };
        for interceptor in &mut self.interceptors {
            interceptor.check_state(&update, group, value)?;
        }
        if value.len() <= DATAGRAM_ITEM_BYTES_MAX { Ok(()) } else { Err(Refusal::Vetoed) }
    }

    fn intercept_creation(
        &mut self,
        client: ClientId,
        announcement: &mut Announcement,
        now: SharedInstant,
    ) -> Result<(), Refusal> {
        let Announcement { object, class, creation, groups, .. } = announcement;
        let update = Update { client, object: *object, class: *class, believed: None, now };
        for interceptor in &mut self.interceptors {
            interceptor.check_creation(&update, creation)?;
            for group in groups.iter_mut() {
                interceptor.check_state(&update, group.group, &mut group.bytes)?;
            }
        }
        let fits = creation.len() <= CREATION_BYTES_MAX
            && groups.iter().all(|group| group.bytes.len() <= DATAGRAM_ITEM_BYTES_MAX);
        if fits { Ok(()) } else { Err(Refusal::Vetoed) }
    }

    // ── requests on the stream ──

    pub(super) fn handle_request(
        &mut self,
        client: ClientId,
        message: Message,
        now: SharedInstant,
    ) -> Result<(), CloseReason> {
        let member = self.members.get_mut(&client).ok_or(CloseReason::OutOfPlace)?;
        let (dispatcher, receiver) = (&mut self.dispatcher, client.receiver());
        let handled = member.channel.handle_ordered(message, dispatcher, receiver, Now::synchronised(now));
        let Some(message) = handled? else { return Ok(()) };
        if let Message::Call(call) = message {
            return self.route(client, call, Delivery::ReliableOrdered, now);
        }
        if !member.requests.try_spend(1.0, local(now)) {
            return Err(CloseReason::TooFast);
        }
        match message {
            Message::Create(announcement) => self.create_for(client, announcement, now),
            Message::Destroy(object) => self.destroy_for(client, object, now),
            Message::Claim(object, term) => self.claim_for(client, object, term, now),
            Message::Release(object, term) => self.release_for(client, object, term, now),
            _ => return Err(CloseReason::OutOfPlace),
        }
        Ok(())
    }

    fn create_for(&mut self, client: ClientId, mut announcement: Announcement, now: SharedInstant) {
        let allowed = self.may_create(client, &announcement).and_then(|()| {
            let passed = self.intercept_creation(client, &mut announcement, now);
            let payload = passed.and_then(|()| self.check_types(&announcement));
            // A client forgets an object that was not created, and no object for another reason.
            payload.map_err(|_| Refusal::NotCreated)
        });
        // The id is used up even if the creation fails: the client will not use it again.
        let (was_granted, early) = self.use_id(client, announcement.object, now);
        let creation_payload = match allowed {
            Ok(payload) => payload,
            Err(refusal) => {
                if was_granted {
                    self.ids.free(announcement.object.0, now);
                }
                return self.refuse(client, announcement.object, refusal, now);
            }
        };
        let replica = self.replica();
        let Some(member) = self.members.get_mut(&client) else { return };
        member.seen.insert(announcement.object);
        member.owned.insert(announcement.object);
        member.channel.hear_groups(&announcement);
        let Announcement { object, class, creation, motion, groups, .. } = announcement;
        let mut made = Object::new(class, Party::Client(client), creation, Role::Theirs(Box::new(replica)));
        made.groups = groups.into_iter().map(|group| (group.group, group.bytes)).collect();
        self.add(object, made, now);
        self.events.push_back(ServerEvent::Created { object, class, creation: creation_payload, by: client });
        let first = decode_motion(self.config.protocol.precision(), object, &motion, now);
        // Of the DR vector in the announcement and one that overtook it, the newer counts.
        for (vector, sent_at) in first.into_iter().chain(early).chain(self.take_children(client, object)) {
            if let Err(refusal) = self.accept(client, &vector, sent_at, now) {
                self.refuse(client, vector.entity, refusal, now);
            }
        }
    }

    /// Returns the creation value, if all values of an announcement have the protocol's types and
    /// their owner may set them.
    fn check_types(&self, announcement: &Announcement) -> Result<Payload, Refusal> {
        let Announcement { class, creation, groups, .. } = announcement;
        let protocol = &self.config.protocol;
        let kind = protocol.class_by_id(*class).ok_or(Refusal::UnknownClass)?;
        for Group { group, bytes, .. } in groups {
            if kind.is_servers(*group) {
                return Err(Refusal::NotOwner);
            }
            protocol.state_payload(*class, *group, bytes.clone()).ok_or(Refusal::WrongType)?;
        }
        protocol.creation_payload(*class, creation.clone()).ok_or(Refusal::WrongType)
    }

    /// Returns DR vectors of existing objects that came before the creation of their parent.
    fn take_children(&mut self, client: ClientId, parent: EntityId) -> Vec<(DrVector<V>, SharedInstant)> {
        let Self { members, objects, .. } = self;
        let Some(member) = members.get_mut(&client) else { return Vec::new() };
        let is_child = |object: &EntityId, (vector, _): &mut (DrVector<V>, SharedInstant)| {
            vector.parent == Some(parent) && objects.contains_key(object)
        };
        member.early.extract_if(.., is_child).map(|(_, kept)| kept).collect()
    }

    /// Marks an id as used; grants more when few are left. Returns whether it was granted, and a DR
    /// vector that came early.
    fn use_id(
        &mut self,
        client: ClientId,
        object: EntityId,
        now: SharedInstant,
    ) -> (bool, Option<(DrVector<V>, SharedInstant)>) {
        let Some(member) = self.members.get_mut(&client) else { return (false, None) };
        let was_granted = member.granted.remove(&object.0);
        let early = member.early.remove(&object);
        if was_granted && member.granted.len() <= IDS_LOW as usize {
            self.grant_ids(client, now);
        }
        (was_granted, early)
    }

    fn may_create(&self, client: ClientId, announcement: &Announcement) -> Result<(), Refusal> {
        let member = self.members.get(&client).ok_or(Refusal::UnknownId)?;
        if !member.granted.contains(&announcement.object.0) {
            return Err(Refusal::UnknownId);
        }
        let class = self.config.protocol.class_by_id(announcement.class);
        class.filter(|class| !class.is_server_only).ok_or(Refusal::UnknownClass)?;
        self.may_own(client, announcement.class)
    }

    /// Returns whether a client may own one more object of this class.
    pub(super) fn may_own(&self, client: ClientId, class: crate::session::ClassId) -> Result<(), Refusal> {
        let Some(member) = self.members.get(&client) else { return Err(Refusal::UnknownId) };
        let of_class_max = self.config.protocol.class_by_id(class).map_or(0, |class| class.per_client_max);
        let of_class = || member.owned.iter().filter(|object| self.class(**object) == Some(class)).count();
        let has_room = self.objects.len() < OBJECTS_MAX
            && member.owned.len() < self.config.objects_per_client_max
            // Counted only where the limit is near: a gateway owns thousands of objects.
            && (member.owned.len() < of_class_max || of_class() < of_class_max);
        if has_room { Ok(()) } else { Err(Refusal::TooManyObjects) }
    }

    fn destroy_for(&mut self, client: ClientId, object: EntityId, now: SharedInstant) {
        match self.owner(object) {
            Some(Party::Client(owner)) if owner == client => {
                self.remove_by(object, Some(client));
                self.events.push_back(ServerEvent::Destroyed { object, by: client });
            }
            Some(_) => self.refuse(client, object, Refusal::NotOwner, now),
            None => {}
        }
    }

    pub(super) fn route(
        &mut self,
        client: ClientId,
        call: Call,
        delivery: Delivery,
        now: SharedInstant,
    ) -> Result<(), CloseReason> {
        let member = self.members.get_mut(&client).ok_or(CloseReason::OutOfPlace)?;
        if !member.calls.try_spend(1.0, local(now)) {
            return Err(CloseReason::TooFast);
        }
        let call = Call { from: Party::Client(client), ..call };
        if self.config.protocol.call_payload(call.method, call.bytes.clone()).is_none() {
            let object = call.target.object().unwrap_or_default();
            self.refuse(client, object, Refusal::WrongType, now);
            return Ok(());
        }
        let (owner, object) = match call.target.object() {
            None => {
                self.called(client, call);
                return Ok(());
            }
            Some(object) => (self.owner(object), object),
        };
        match (call.target, owner) {
            (_, Some(_)) if !self.sees(client, object) => {
                self.refuse(client, object, Refusal::UnknownObject, now);
            }
            (_, None) => self.refuse(client, object, Refusal::UnknownObject, now),
            (Target::Viewers(_), Some(owner)) if owner == Party::Client(client) => {
                let busy = self.spread_call(object, &call, delivery);
                if !busy.is_empty() {
                    self.refuse(client, object, Refusal::CalleeBusy, now);
                }
                self.called(client, call);
            }
            (Target::Viewers(_), Some(_)) => self.refuse(client, object, Refusal::NotOwner, now),
            (_, Some(Party::Server)) => self.called(client, call),
            (_, Some(Party::Client(owner))) => {
                let callee = self.members.get_mut(&owner);
                let is_taken = callee.is_some_and(|callee| callee.channel.call(call, delivery).is_ok());
                if !is_taken {
                    self.refuse(client, object, Refusal::CalleeBusy, now);
                }
            }
        }
        Ok(())
    }

    fn called(&mut self, from: ClientId, call: Call) {
        let Call { target, method, bytes, .. } = call;
        if let Some(call) = self.config.protocol.call_payload(method, bytes) {
            self.events.push_back(ServerEvent::Called { from, target, method, call });
        }
    }

    /// Sends a refusal. A flood of bad messages is not answered with a flood.
    pub(super) fn refuse(
        &mut self,
        client: ClientId,
        object: EntityId,
        refusal: Refusal,
        now: SharedInstant,
    ) {
        let Some(member) = self.members.get_mut(&client) else { return };
        if member.refusals.try_spend(1.0, local(now)) {
            self.tell(client, Message::Refused(object, refusal));
            self.events.push_back(ServerEvent::Refused { client, object, refusal });
        }
    }
}

/// A server's clock is the shared clock.
fn local(now: SharedInstant) -> LocalInstant {
    Now::synchronised(now).local
}
