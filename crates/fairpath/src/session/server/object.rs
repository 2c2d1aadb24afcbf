//! Objects, who sees them and whose they are.

use std::collections::BTreeMap;

use super::{Server, ServerEvent};
use crate::dr_vector::DrVector;
use crate::number::EntityId;
use crate::owner::Owner;
use crate::place::{Arrival, Replica};
use crate::session::client::watch;
use crate::session::message::{Announcement, Call, Message};
use crate::session::scope::Sight;
use crate::session::{Class, ClassId, ClientId, Delivery, Party};
use crate::state::State;
use crate::time::{Now, SharedInstant};
use crate::trigger::Reason;
use crate::vector::Planar;

/// An object, as the server knows it.
#[derive(Debug)]
pub(super) struct Object<V: Planar> {
    pub(super) class: ClassId,
    pub(super) owner: Party,
    pub(super) term: u64,
    pub(super) creation: Vec<u8>,
    pub(super) groups: BTreeMap<u8, Vec<u8>>,
    pub(super) role: Role<V>,
    /// Whether anything was ever said of its motion.
    pub(super) has_moved: bool,
}

#[derive(Debug)]
pub(super) enum Role<V: Planar> {
    /// Observed here.
    Mine(Box<Owner<V>>),
    /// Told by a client.
    Theirs(Box<Replica<V>>),
}

impl<V: Planar> Object<V> {
    pub(super) fn new(class: ClassId, owner: Party, creation: Vec<u8>, role: Role<V>) -> Self {
        Self { class, owner, term: 0, creation, groups: BTreeMap::new(), role, has_moved: false }
    }

    pub(super) fn place(&self, now: SharedInstant) -> Option<State<V>> {
        match &self.role {
            Role::Mine(owner) => Some(owner.exported()?.state_at(now)),
            Role::Theirs(replica) => replica.place(Now::synchronised(now)),
        }
    }

    fn sight(&self, object: EntityId, now: SharedInstant) -> Sight<'_, V> {
        let Self { class, owner, creation, .. } = self;
        Sight { object, class: *class, owner: *owner, creation, state: self.place(now) }
    }
}

impl<V: Planar> Server<V> {
    /// A DR vector that the server believes goes to everybody who sees the object.
    pub(super) fn generate(&mut self, vector: &DrVector<V>, reason: Reason, now: SharedInstant) {
        self.dispatcher.on_generated(vector, reason, now);
        let Some(object) = self.objects.get_mut(&vector.entity) else { return };
        if !std::mem::replace(&mut object.has_moved, true) {
            // The dispatcher shows what is new to everybody.
            for (client, member) in &self.members {
                if !member.channel.manifest.contains(vector.entity) {
                    self.dispatcher.hide(vector.entity, client.receiver());
                }
            }
        }
    }

    /// Shows a new object to whom it concerns.
    pub(super) fn show_to_all(&mut self, object: EntityId, now: SharedInstant) {
        for client in self.members.keys().copied().collect::<Vec<_>>() {
            self.look(client, Some(object), now);
        }
    }

    /// Looks again at who sees what.
    pub(super) fn refresh_scope(&mut self, now: SharedInstant) {
        self.scope_at = now;
        for client in self.members.keys().copied().collect::<Vec<_>>() {
            self.refresh_scope_of(client, now);
        }
    }

    pub(super) fn refresh_scope_of(&mut self, client: ClientId, now: SharedInstant) {
        self.look(client, None, now);
    }

    /// What a client sees may have changed: of all objects, or of this one.
    fn look(&mut self, client: ClientId, only: Option<EntityId>, now: SharedInstant) {
        for (object, is_to_be_seen) in self.changes_of_sight(client, only, now) {
            if is_to_be_seen { self.enter(client, object, now) } else { self.leave(client, object, false) }
        }
    }

    /// What a client is to see that it does not, and what not that it does.
    fn changes_of_sight(
        &mut self,
        client: ClientId,
        only: Option<EntityId>,
        now: SharedInstant,
    ) -> Vec<(EntityId, bool)> {
        let Self { members, objects, scope, .. } = self;
        let Some(member) = members.get(&client) else { return Vec::new() };
        let eyes = member.owned.iter().filter_map(|eye| Some(objects.get(eye)?.sight(*eye, now)));
        let eyes: Vec<Sight<'_, V>> = if scope.is_some() { eyes.collect() } else { Vec::new() };
        let (from, to) = only.map_or((EntityId(0), EntityId(u32::MAX)), |object| (object, object));
        let looked_at = objects.range(from..=to).map(|(object, known)| {
            let is_seen = member.seen.contains(object);
            let is_to_be_seen = match scope {
                Some(scope) if known.owner != Party::Client(client) => {
                    scope.sees(client, &known.sight(*object, now), &eyes, is_seen)
                }
                _ => true,
            };
            (*object, is_seen, is_to_be_seen)
        });
        let changes = looked_at.filter(|(_, is_seen, is_to_be_seen)| is_seen != is_to_be_seen);
        changes.map(|(object, _, is_to_be_seen)| (object, is_to_be_seen)).collect()
    }

    fn enter(&mut self, client: ClientId, object: EntityId, now: SharedInstant) {
        let rates = self.class_of(object).map(|class| class.rates).unwrap_or_default();
        let (Some(known), Some(member)) = (self.objects.get(&object), self.members.get_mut(&client)) else {
            return;
        };
        member.seen.insert(object);
        let announcement = Announcement {
            object,
            class: known.class,
            owner: known.owner,
            term: known.term,
            creation: known.creation.clone(),
            groups: member.channel.number_groups(&known.groups),
        };
        if member.channel.announce(Message::Enter(announcement), object).is_err() {
            member.is_overfull = true;
        }
        if known.owner != Party::Client(client) {
            member.channel.manifest.add(object, rates, now);
            self.dispatcher.show(object, client.receiver(), now);
        }
    }

    fn leave(&mut self, client: ClientId, object: EntityId, is_destroyed: bool) {
        let Some(member) = self.members.get_mut(&client) else { return };
        member.seen.remove(&object);
        member.channel.forget(object);
        self.dispatcher.hide(object, client.receiver());
        self.tell(client, Message::Leave(object, is_destroyed));
    }

    /// The object is gone, for everybody but the client that said so itself.
    pub(super) fn remove_by(&mut self, object: EntityId, by: Option<ClientId>) -> bool {
        let Some(removed) = self.objects.remove(&object) else { return false };
        self.disown(removed.owner, object);
        for client in self.members.keys().copied().collect::<Vec<_>>() {
            if self.sees(client, object) {
                if Some(client) == by {
                    let member = self.members.get_mut(&client).expect("it sees the object");
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
        }
    }

    pub(super) fn remove(&mut self, object: EntityId) -> bool {
        self.remove_by(object, None)
    }

    /// The server has decided whose the object is.
    pub(super) fn change_owner(&mut self, object: EntityId, to: Party, now: SharedInstant) {
        let placement = self.replica();
        let Some(class) = self.class_of(object).cloned() else { return };
        let newest = self.dispatcher.newest(object).copied();
        if let Some(newest) = newest {
            self.relay.on_told(object, newest.generated_at);
        }
        let Some(known) = self.objects.get_mut(&object) else { return };
        let from = std::mem::replace(&mut known.owner, to);
        known.term += 1;
        let term = known.term;
        match (&known.role, to) {
            (Role::Theirs(_), Party::Server) => {
                let watch = watch(object, &class, self.config.precision);
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
            self.look(client, Some(object), now);
            if let Some(member) = self.members.get_mut(&client) {
                member.channel.manifest.remove(object);
                self.dispatcher.hide(object, client.receiver());
            }
        }
        if let Party::Client(client) = from {
            self.hand_over(client, object, &class, now);
        }
        for client in self.members.keys().copied().collect::<Vec<_>>() {
            if self.sees(client, object) {
                self.tell(client, Message::Owned(object, to, term));
            }
        }
        self.events.push_back(ServerEvent::OwnershipChanged { object, owner: to });
    }

    /// Who was the owner is told of the object like anybody else from now on, and of what it said too late.
    fn hand_over(&mut self, client: ClientId, object: EntityId, class: &Class, now: SharedInstant) {
        let (Some(member), Some(known)) = (self.members.get_mut(&client), self.objects.get(&object)) else {
            return;
        };
        member.channel.manifest.add(object, class.rates, now);
        for (group, bytes) in &known.groups {
            member.channel.set_state(object, *group, bytes.clone());
        }
        self.dispatcher.show(object, client.receiver(), now);
    }

    /// A group has a new value: everybody who sees the object gets it, except who said so.
    pub(super) fn spread_state(&mut self, object: EntityId, group: u8, bytes: Vec<u8>) {
        let Some(known) = self.objects.get_mut(&object) else { return };
        let owner = known.owner;
        for (client, member) in &mut self.members {
            if member.seen.contains(&object) && owner != Party::Client(*client) {
                member.channel.set_state(object, group, bytes.clone());
            }
        }
        known.groups.insert(group, bytes);
    }

    /// A call goes to everybody who sees the object, except its owner. Tells who could not take it.
    pub(super) fn spread_call(&mut self, object: EntityId, call: &Call, delivery: Delivery) -> Vec<ClientId> {
        let owner = self.owner(object);
        let mut busy = Vec::new();
        for (client, member) in &mut self.members {
            let is_viewer = member.seen.contains(&object) && owner != Some(Party::Client(*client));
            if is_viewer && member.channel.call(call.clone(), delivery).is_err() {
                busy.push(*client);
            }
        }
        busy
    }

    pub(super) fn class_of(&self, object: EntityId) -> Option<&Class> {
        self.config.classes.get(&self.objects.get(&object)?.class)
    }
}
