//! Objects, their viewers and their owners.

use std::collections::BTreeMap;

use super::Server;
use super::attach::in_world;
use crate::dr_vector::DrVector;
use crate::number::EntityId;
use crate::owner::Owner;
use crate::place::{Arrival, Replica};
use crate::session::client::{encode_motion, watch};
use crate::session::id_map::IdMap;
use crate::session::message::{Announcement, Call, Message};
use crate::session::scope::ScopeObject;
use crate::session::{Class, ClassId, ClientId, Delivery, Party};
use crate::state::State;
use crate::time::{Now, SharedInstant};
use crate::vector::Planar;
use crate::wire::Precision;

#[derive(Debug)]
pub(super) struct Object<V: Planar> {
    pub(super) class: ClassId,
    pub(super) owner: Party,
    pub(super) term: u64,
    pub(super) creation: Vec<u8>,
    pub(super) groups: BTreeMap<u8, Vec<u8>>,
    pub(super) role: Role<V>,
    /// Its number among all objects of this server.
    pub(super) number: u64,
    /// When it was created with a first state. Earlier states are nothing to tell.
    pub(super) born_at: Option<SharedInstant>,
    /// Whether clients may see the object: its class has no motion, or its first state is known.
    pub(super) is_showable: bool,
}

#[derive(Debug)]
pub(super) enum Role<V: Planar> {
    /// Observed by the server.
    Mine(Box<Owner<V>>),
    /// Observed by a client.
    Theirs(Box<Replica<V>>),
}

impl<V: Planar> Object<V> {
    pub(super) fn new(class: ClassId, owner: Party, creation: Vec<u8>, role: Role<V>) -> Self {
        Self {
            class,
            owner,
            term: 0,
            creation,
            groups: BTreeMap::new(),
            role,
            number: 0,
            born_at: None,
            is_showable: false,
        }
    }

    /// Returns the placed state, relative to [`carried_by`](Self::carried_by).
    pub(super) fn place(&self, now: SharedInstant) -> Option<State<V>> {
        match &self.role {
            Role::Mine(owner) => Some(owner.exported()?.state_at(now)),
            Role::Theirs(replica) => replica.place(Now::synchronised(now)),
        }
    }

    /// Returns the newest DR vector.
    pub(super) fn newest(&self) -> Option<&DrVector<V>> {
        match &self.role {
            Role::Mine(owner) => owner.exported(),
            Role::Theirs(replica) => replica.followed(),
        }
    }

    /// Returns the motion in an announcement, and when its DR vector was generated.
    fn motion(&self, precision: &Precision, now: SharedInstant) -> (Vec<u8>, Option<SharedInstant>) {
        let Some(newest) = self.newest() else { return (Vec::new(), None) };
        let motion = encode_motion(precision, newest, now);
        let generated_at = (!motion.is_empty()).then_some(newest.generated_at);
        (motion, generated_at)
    }

    /// Returns the parent in the newest DR vector.
    pub(super) fn carried_by(&self) -> Option<EntityId> {
        self.newest()?.parent
    }

    pub(super) fn sight<'a>(
        &'a self,
        object: EntityId,
        objects: &IdMap<EntityId, Self>,
        now: SharedInstant,
    ) -> ScopeObject<'a, V> {
        let Self { class, owner, creation, .. } = self;
        let state =
            if self.carried_by().is_some() { in_world(objects, object, now) } else { self.place(now) };
        ScopeObject { object, class: *class, owner: *owner, creation, state }
    }
}

impl<V: Planar> Server<V> {
    /// Adds an object. Without motion it is shown at once, otherwise with its first state.
    pub(super) fn add(&mut self, id: EntityId, mut object: Object<V>, now: SharedInstant) {
        object.is_showable = self.config.protocol.class_by_id(object.class).is_some_and(|it| !it.has_motion);
        object.number = self.next_object;
        self.next_object += 1;
        let is_showable = object.is_showable;
        self.objects.insert(id, object);
        self.stillness.on_change();
        if is_showable {
            self.show_to_all(id, now);
        }
    }

    /// Shows a new object to the clients whose scope includes it.
    pub(super) fn show_to_all(&mut self, object: EntityId, now: SharedInstant) {
        for client in self.members.keys().copied().collect::<Vec<_>>() {
            self.look(client, object, now);
        }
    }

    fn look(&mut self, client: ClientId, object: EntityId, now: SharedInstant) {
        let Self { members, objects, scope, attachments, .. } = self;
        let (Some(member), Some(known)) = (members.get(&client), objects.get(&object)) else { return };
        let is_seen = member.seen.contains(&object);
        let is_to_be_seen = match scope {
            Some(scope) if known.owner != Party::Client(client) => {
                let eyes =
                    member.owned.iter().filter_map(|eye| Some(objects.get(eye)?.sight(*eye, objects, now)));
                let sight = known.sight(object, objects, now);
                scope.sees(client, &sight, &eyes.collect::<Vec<_>>(), is_seen)
                    || attachments.children(object).any(|child| member.seen.contains(&child))
            }
            _ => true,
        };
        match (is_seen, is_to_be_seen) {
            (false, true) => {
                if let Some(member) = self.members.get_mut(&client) {
                    member.waiting.add(object);
                }
                self.page_in(client, now);
            }
            (true, false) => self.leave(client, object, false),
            _ => {}
        }
    }

    /// Announces an object and its parents to a client, unless the client knows them.
    pub(super) fn enter(&mut self, client: ClientId, object: EntityId, now: SharedInstant) {
        let Some(member) = self.members.get_mut(&client) else { return };
        member.waiting.remove(object);
        if !member.seen.insert(object) {
            return;
        }
        if let Some(parent) = self.attachments.parent(object) {
            self.enter(client, parent, now);
        }
        let (Some(known), Some(member)) = (self.objects.get(&object), self.members.get_mut(&client)) else {
            return;
        };
        let (motion, generated_at) = known.motion(self.config.protocol.precision(), now);
        let announcement = Announcement {
            object,
            class: known.class,
            owner: known.owner,
            term: known.term,
            creation: known.creation.clone(),
            motion,
            groups: member.channel.number_groups(&known.groups),
        };
        if member.channel.announce(Message::Enter(announcement), object).is_err() {
            member.is_overfull = true;
        }
        if known.owner != Party::Client(client) {
            self.dispatcher.show(object, client.receiver(), now);
            self.book_announcement(client, object, generated_at, now);
        }
    }

    /// Books the DR vector in an announcement as a client's first copy: the client needs no other,
    /// because it could not use one before the announcement.
    fn book_announcement(
        &mut self,
        client: ClientId,
        object: EntityId,
        generated_at: Option<SharedInstant>,
        now: SharedInstant,
    ) {
        let in_dispatcher = self.dispatcher.newest(object).map(|vector| vector.generated_at);
        if generated_at.is_some()
            && generated_at == in_dispatcher
            && let Some(copy) = self.dispatcher.on_announced(object, client.receiver(), now)
            && let Some(member) = self.members.get_mut(&client)
        {
            member.channel.on_copy_announced(object, copy);
        }
    }

    /// Announcements that a client did not receive before its transport was lost are sent again,
    /// with the newest DR vectors: the ledger begins a new page for each object, which knows no
    /// older ones. An object whose parent is announced later keeps its motion, or the client could
    /// not place it.
    pub(super) fn renew_announcements(&mut self, client: ClientId, now: SharedInstant) {
        let Some(member) = self.members.get(&client) else { return };
        for object in member.channel.announced().collect::<Vec<_>>() {
            let (Some(known), Some(member)) = (self.objects.get(&object), self.members.get_mut(&client))
            else {
                continue;
            };
            let parent = known.carried_by();
            if parent.is_some_and(|parent| !member.channel.announces_before(parent, object)) {
                continue;
            }
            let (motion, generated_at) = known.motion(self.config.protocol.precision(), now);
            member.channel.renew_announcement(object, motion);
            if self.is_sent(client, object) {
                self.book_announcement(client, object, generated_at, now);
            }
        }
    }

    pub(super) fn leave(&mut self, client: ClientId, object: EntityId, is_destroyed: bool) {
        let Some(member) = self.members.get_mut(&client) else { return };
        member.seen.remove(&object);
        member.waiting.remove(object);
        member.channel.forget(object);
        self.dispatcher.hide(object, client.receiver());
        self.tell(client, Message::Leave(object, is_destroyed));
    }

    /// Removes an object for every peer except the client that destroyed it.
    pub(super) fn remove_by(&mut self, object: EntityId, by: Option<ClientId>) -> bool {
        self.settle_children(object);
        let Some(removed) = self.objects.remove(&object) else { return false };
        self.stillness.on_change();
        self.attachments.follow(object, None);
        self.disown(removed.owner, object);
        self.ids.free(object.0, self.latest);
        for client in self.members.keys().copied().collect::<Vec<_>>() {
            if let Some(member) = self.members.get_mut(&client)
                && member.waiting.remove(object)
            {
                member.channel.on_birth_missed();
            }
            if self.sees(client, object) {
                if Some(client) == by {
                    let member = self.members.get_mut(&client).expect("a viewer is a member");
                    member.seen.remove(&object);
                    member.channel.forget(object);
                } else {
                    self.leave(client, object, true);
                }
            }
        }
        self.dispatcher.remove(object);
        self.relay.forget(object);
        true
    }

    fn disown(&mut self, owner: Party, object: EntityId) {
        if let Party::Client(client) = owner
            && let Some(member) = self.members.get_mut(&client)
        {
            member.owned.remove(&object);
            member.early.remove(&object);
        }
    }

    pub(super) fn remove(&mut self, object: EntityId) -> bool {
        self.remove_by(object, None)
    }

    /// Changes the owner of an object and tells the clients that see it.
    pub(super) fn change_owner(&mut self, object: EntityId, to: Party, now: SharedInstant) {
        let placement = self.replica();
        let Some(class) = self.class_of(object).cloned() else { return };
        let newest = self.dispatcher.newest(object).copied();
        if let Some(newest) = newest {
            self.relay.on_sent(object, newest.generated_at);
        }
        let Some(known) = self.objects.get_mut(&object) else { return };
        let from = std::mem::replace(&mut known.owner, to);
        self.stillness.on_change();
        known.term += 1;
        let term = known.term;
        match (&known.role, to) {
            (Role::Theirs(_), Party::Server) => {
                let watch = watch(object, &class, *self.config.protocol.precision());
                let watch = if let Some(newest) = newest { watch.continuing(newest) } else { watch };
                known.role = Role::Mine(Box::new(watch));
            }
            (Role::Mine(_), Party::Client(_)) => {
                let mut replica = placement;
                if let Some(newest) = newest {
                    replica.accept(&newest, &Arrival::at(Now::synchronised(now)));
                }
                known.role = Role::Theirs(Box::new(replica));
            }
            _ => {}
        }
        self.disown(from, object);
        if let Party::Client(client) = to {
            if let Some(member) = self.members.get_mut(&client) {
                member.owned.insert(object);
            }
            if !self.sees(client, object) {
                // The new owner must know the object before it can own it.
                self.enter(client, object, now);
            }
            if let Some(member) = self.members.get_mut(&client) {
                member.waiting.remove(object);
                self.dispatcher.hide(object, client.receiver());
            }
        }
        if let Party::Client(client) = from {
            self.hand_over(client, object, now);
        }
        for client in self.members.keys().copied().collect::<Vec<_>>() {
            if self.sees(client, object) {
                self.tell(client, Message::Owned(object, to, term));
            }
        }
    }

    /// Sends the object to its former owner like to any viewer, with values it set too late.
    fn hand_over(&mut self, client: ClientId, object: EntityId, now: SharedInstant) {
        let (Some(member), Some(known)) = (self.members.get_mut(&client), self.objects.get(&object)) else {
            return;
        };
        for (group, bytes) in &known.groups {
            member.channel.set_state(object, *group, bytes.clone());
        }
        self.dispatcher.show(object, client.receiver(), now);
    }

    /// Sends a new value of a group to every viewer except the peer that set it.
    pub(super) fn spread_state(&mut self, object: EntityId, group: u8, bytes: Vec<u8>) {
        let is_servers = self.class_of(object).is_some_and(|class| class.is_servers(group));
        let Some(known) = self.objects.get_mut(&object) else { return };
        let owner = known.owner;
        for (client, member) in self.members.iter_mut() {
            if member.seen.contains(&object) && (is_servers || owner != Party::Client(*client)) {
                member.channel.set_state(object, group, bytes.clone());
            }
        }
        known.groups.insert(group, bytes);
    }

    /// Sends a call to every viewer except the owner. Returns the clients that could not take it.
    pub(super) fn spread_call(&mut self, object: EntityId, call: &Call, delivery: Delivery) -> Vec<ClientId> {
        let owner = self.owner(object);
        let mut busy = Vec::new();
        for (client, member) in self.members.iter_mut() {
            let is_viewer = member.seen.contains(&object) && owner != Some(Party::Client(*client));
            if is_viewer && member.channel.call(call.clone(), delivery).is_err() {
                busy.push(*client);
            }
        }
        busy
    }

    /// Returns whether a client is sent updates of an object: it sees the object and is not the
    /// owner.
    pub(super) fn is_sent(&self, client: ClientId, object: EntityId) -> bool {
        self.sees(client, object) && self.owner(object) != Some(Party::Client(client))
    }

    pub(super) fn class_of(&self, object: EntityId) -> Option<&Class> {
        self.config.protocol.class_by_id(self.objects.get(&object)?.class)
    }
}
