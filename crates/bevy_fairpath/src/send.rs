//! Sending: what was spawned, despawned, moved, changed and called in the frame.

use std::any::TypeId;

use bevy_ecs::prelude::*;
use bevy_transform::components::Transform;
use fairpath::EntityId;
use fairpath::session::limits::CREATION_BYTES_MAX;
use fairpath::session::{CallError, ClientId, Delivery, ObjectError, Party};
use serde::Serialize;

use crate::components::{
    Creation, DeadReckoned, Motionless, OutlivesOwner, Owned, Owner, Placed, Remote, ReplicatedId, class_of,
};
use crate::connection::{OwnerChanged, RemoteClient};
use crate::end::{CallTarget, Micros, Session};
use crate::interest::{Audience, SharedAudiences};
use crate::observe::Track;
use crate::ownership::Request;
use crate::plugin::Fairpath;
use crate::register::{Registry, SetBy};
use crate::space::Pose;
use crate::warnings::{FairpathWarnings, Misuse, warn};

/// The systems that collect what components and calls have to send, before it is sent.
#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CollectSystems;

/// What the game wants sent.
#[derive(Resource, Default)]
pub(crate) struct Outbox {
    pub(crate) calls: Vec<(CallTarget, u32, Delivery, Vec<u8>, &'static str)>,
    states: Vec<(Entity, EntityId, u8, Vec<u8>)>,
    pub(crate) requests: Vec<(Entity, Request)>,
}

/// Replicated entities that were despawned, or lost their id, and clients whose entities were.
#[derive(Resource, Default)]
pub(crate) struct Gone {
    objects: Vec<(Entity, EntityId, Party)>,
    clients: Vec<ClientId>,
}

/// Notes that a replicated entity is gone.
pub(crate) fn note_gone(
    removed: On<Remove, ReplicatedId>,
    objects: Query<(&ReplicatedId, &Owner)>,
    mut gone: ResMut<Gone>,
) {
    if let Ok((id, owner)) = objects.get(removed.entity) {
        gone.objects.push((removed.entity, id.0, owner.party));
    }
}

/// Ends the replication of an entity that loses its settings.
pub(crate) fn stop_replicating(removed: On<Remove, (DeadReckoned, Motionless)>, mut commands: Commands) {
    commands.entity(removed.entity).try_remove::<(ReplicatedId, Owned, Owner)>();
}

/// Notes that the game has despawned a client.
pub(crate) fn note_dismissed(
    removed: On<Remove, RemoteClient>,
    clients: Query<&RemoteClient>,
    mut gone: ResMut<Gone>,
) {
    gone.clients.extend(clients.get(removed.entity).map(|client| client.id));
}

/// Notes changed and removed components of a type.
pub(crate) fn collect_changes<C: Component + Serialize>(
    fairpath: Res<Fairpath>,
    registry: Res<Registry>,
    mut outbox: ResMut<Outbox>,
    mut removed: RemovedComponents<C>,
    changed: Query<(Entity, &ReplicatedId, &C, Has<Owned>), Changed<C>>,
    objects: Query<(&ReplicatedId, Has<Owned>, Has<C>)>,
) {
    let Some((group, set_by)) = registry.group(TypeId::of::<C>()) else { return };
    let is_ours = |is_owned: bool| match set_by {
        SetBy::Owner => is_owned,
        SetBy::Server => fairpath.is_server,
    };
    for (entity, id, value, is_owned) in &changed {
        if is_ours(is_owned)
            && let Ok(bytes) = postcard::to_allocvec(&Some(value))
        {
            outbox.states.push((entity, id.0, group, bytes));
        }
    }
    for entity in removed.read() {
        if let Ok((id, is_owned, false)) = objects.get(entity)
            && is_ours(is_owned)
        {
            // The encoding of `None`.
            outbox.states.push((entity, id.0, group, vec![0]));
        }
    }
}

/// Sends everything, in one turn of the session.
pub(crate) fn send(world: &mut World) {
    world.resource_scope(|world, mut fairpath: Mut<Fairpath>| {
        let Some(end) = fairpath.end.take() else {
            *world.resource_mut::<Outbox>() = Outbox::default();
            *world.resource_mut::<Gone>() = Gone::default();
            return;
        };
        end.with(&mut |session| {
            let mut turn = Turn { world: &mut *world, fairpath: &mut fairpath, session };
            turn.destroy_gone();
            if turn.session.is_ready() {
                turn.ask();
                turn.create_new();
                turn.observe();
                turn.set_states();
                turn.call();
            } else {
                turn.drop_calls();
            }
        });
        fairpath.end = Some(end);
    });
}

/// One turn of the session.
struct Turn<'a> {
    world: &'a mut World,
    fairpath: &'a mut Fairpath,
    session: &'a mut dyn Session,
}

/// An entity that is about to be replicated.
struct Newborn {
    entity: Entity,
    settings: Option<DeadReckoned>,
    state: Option<(Pose, Micros)>,
    outlives_owner: bool,
}

impl Turn<'_> {
    fn destroy_gone(&mut self) {
        let Gone { objects, clients } = std::mem::take(&mut *self.world.resource_mut::<Gone>());
        for client in clients {
            if self.fairpath.clients.remove(&client).is_some() {
                self.session.dismiss(client);
            }
        }
        for (entity, id, owner) in objects {
            if !self.fairpath.is_current(entity, ReplicatedId(id)) {
                continue;
            }
            self.fairpath.objects.remove(&id);
            if let Some(audiences) = self.world.get_resource::<SharedAudiences>() {
                audiences.forget(id);
            }
            if self.fairpath.is_server || Some(owner) == self.fairpath.party {
                // It may be gone already, or its owner another: then the server's events say so.
                let _ = self.session.destroy(id);
            } else {
                self.warnings().once(Misuse::NotOwner, 0, || {
                    format!(
                        "{entity} was despawned here only: another peer owns it. Its owner and the server \
                         despawn it everywhere"
                    )
                });
            }
        }
    }

    /// Carries out what the game asked for about owners.
    fn ask(&mut self) {
        for (entity, request) in std::mem::take(&mut self.world.resource_mut::<Outbox>().requests) {
            let Some(id) = self.world.get::<ReplicatedId>(entity).map(|id| id.0) else {
                self.refuse(entity, "it is not replicated (yet)");
                continue;
            };
            let owner = match request {
                Request::Claim if self.fairpath.is_server => Ok(Party::Server),
                Request::Claim => {
                    if let Err(error) = self.session.claim(id) {
                        self.refuse(entity, &error.to_string());
                    }
                    continue;
                }
                Request::Release => Ok(Party::Server),
                Request::Give(client) => {
                    let client =
                        self.world.get::<RemoteClient>(client).map(|client| Party::Client(client.id));
                    client.ok_or("the new owner is not an entity with RemoteClient")
                }
            };
            let given = owner.and_then(|owner| match self.session.give(id, owner) {
                Ok(()) => Ok(owner),
                Err(_) => Err("this app does not own it, or the new owner has left"),
            });
            match given {
                Ok(owner) => change_owner(self.world, self.fairpath, entity, owner),
                Err(problem) => self.refuse(entity, problem),
            }
        }
    }

    fn refuse(&mut self, entity: Entity, problem: &str) {
        self.warnings().once(Misuse::Refused, entity.to_bits(), || {
            format!("the owner of {entity} stays as it is: {problem}")
        });
    }

    /// Replicates entities that are new.
    fn create_new(&mut self) {
        for newborn in self.newborn() {
            match self.create(&newborn) {
                Ok(id) => {
                    let entity = newborn.entity;
                    self.fairpath.objects.insert(id, entity);
                    let party = self.session.party().unwrap_or(Party::Server);
                    let owner = Owner { party, client: None };
                    self.world.entity_mut(entity).insert((ReplicatedId(id), Owned, owner));
                    if let (Some(settings), Some(mut track)) =
                        (newborn.settings, self.world.get_mut::<Track>(entity))
                    {
                        track.settings = Some(settings);
                        let _ = self.session.set_trigger(id, settings.trigger());
                    }
                }
                // Ids come within a round trip, room and budget sooner or later.
                Err(
                    ObjectError::NoSession | ObjectError::NoIds | ObjectError::TooFast | ObjectError::Full,
                ) => break,
                Err(error) => {
                    let entity = newborn.entity;
                    self.warnings().once(Misuse::Refused, entity.to_bits(), || {
                        format!("{entity} is not replicated: {error}")
                    });
                }
            }
        }
    }

    fn newborn(&mut self) -> Vec<Newborn> {
        type Candidates<'a> = (
            Entity,
            Option<&'a DeadReckoned>,
            Option<&'a Track>,
            Has<Transform>,
            Has<OutlivesOwner>,
            Option<&'a ChildOf>,
        );
        type New = (Or<(With<DeadReckoned>, With<Motionless>)>, Without<ReplicatedId>, Without<Remote>);
        let mut query = self.world.query_filtered::<Candidates<'_>, New>();
        let mut newborn = Vec::new();
        let mut without_transform = Vec::new();
        for (entity, settings, track, has_transform, outlives_owner, child_of) in query.iter(self.world) {
            let Some(settings) = settings else {
                newborn.push(Newborn { entity, settings: None, state: None, outlives_owner });
                continue;
            };
            if !has_transform {
                without_transform.push(entity);
                continue;
            }
            // A rider waits for what carries it.
            let carrier = child_of.map(ChildOf::parent).and_then(|parent| self.world.get_entity(parent).ok());
            if carrier.is_some_and(|it| it.contains::<DeadReckoned>() && !it.contains::<ReplicatedId>()) {
                continue;
            }
            let Some(last) = track.and_then(|track| track.pending.last()) else { continue };
            let mut pose = last.pose;
            if carrier.is_some_and(|carrier| carrier.contains::<ReplicatedId>()) {
                pose = Pose::at(&in_world(self.world, entity));
            }
            let (settings, state) = (Some(*settings), Some((pose, last.at)));
            newborn.push(Newborn { entity, settings, state, outlives_owner });
        }
        for entity in without_transform {
            self.warnings().once(Misuse::NoTransform, entity.to_bits(), || {
                format!(
                    "{entity} has DeadReckoned and no Transform, so it is not replicated: insert a Transform"
                )
            });
        }
        newborn
    }

    fn create(&mut self, newborn: &Newborn) -> Result<EntityId, ObjectError> {
        let entity = newborn.entity;
        if let Some(problem) = newborn.settings.and_then(|settings| settings.problem()) {
            self.warnings().once(Misuse::Setting, entity.to_bits(), || {
                format!("{entity}: {problem}; the default is used")
            });
        }
        let (registry, here) = (self.world.resource::<Registry>(), self.world.entity(entity));
        let values = (0_u8..)
            .zip(&registry.components)
            .filter_map(|(group, entry)| Some((group, entry.set_by, (entry.read)(here)?)));
        let (mut at_creation, mut states) = (Vec::new(), Vec::new());
        for (group, set_by, bytes) in values {
            if self.fairpath.is_server {
                states.push((group, bytes));
            } else if set_by == SetBy::Owner {
                at_creation.push((group, bytes));
            }
        }
        let is_bare = at_creation.is_empty() && states.is_empty();
        // What does not fit travels as states, a moment later.
        let encode = |components: &[(u8, Vec<u8>)]| {
            postcard::to_allocvec(&Creation::of(newborn.settings.as_ref(), components.to_vec()))
                .unwrap_or_default()
        };
        let mut creation = encode(&at_creation);
        while creation.len() > CREATION_BYTES_MAX
            && let Some(last) = at_creation.pop()
        {
            states.push(last);
            creation = encode(&at_creation);
        }
        if is_bare {
            self.warnings().once(Misuse::NothingReplicated, entity.to_bits(), || {
                format!(
                    "{entity} is replicated, but none of its components is registered: other peers cannot know \
                     what it is. Register one at both ends: app.replicate::<Ship>()"
                )
            });
        }
        let class = class_of(newborn.settings.as_ref(), newborn.outlives_owner);
        let (pose, at) = newborn.state.map_or((None, 0), |(pose, at)| (Some(pose), at));
        let id = self.session.create(class, &creation, pose.as_ref(), at)?;
        if let (Some(audiences), Some(audience)) =
            (self.world.get_resource::<SharedAudiences>(), self.world.get::<Audience>(entity))
        {
            audiences.set(id, audience, |client| Some(self.world.get::<RemoteClient>(client)?.id));
        }
        for (group, bytes) in states {
            if let Err(error) = self.session.set_state(id, group, &bytes) {
                self.cannot_set(entity, error);
            }
        }
        Ok(id)
    }

    /// Reports the states of own entities, in the order of their instants.
    fn observe(&mut self) {
        type Own<'a> = (Entity, &'a ReplicatedId, &'a DeadReckoned, &'a mut Track, Option<&'a ChildOf>);
        let mut own = self.world.query_filtered::<Own<'_>, With<Owned>>();
        let mut parents = self.world.query::<&ReplicatedId>();
        let mut problems = Vec::new();
        let parent_of: Vec<Option<EntityId>> = own
            .iter(self.world)
            .map(|(_, _, _, _, child_of)| Some(parents.get(self.world, child_of?.parent()).ok()?.0))
            .collect();
        for ((entity, id, settings, mut track, _), parent) in own.iter_mut(self.world).zip(parent_of) {
            if track.settings != Some(*settings) {
                track.settings = Some(*settings);
                let _ = self.session.set_trigger(id.0, settings.trigger());
            }
            if track.parent != parent {
                match self.session.attach(id.0, parent) {
                    Ok(()) => track.parent = parent,
                    Err(error) => problems.push((entity, error)),
                }
            }
            for observed in std::mem::take(&mut track.pending) {
                let seen = self.session.observe(id.0, &observed.pose, observed.has_jumped, observed.at);
                match seen {
                    Ok(()) => {}
                    // The instants belong to the frame before a stall, or to an owner before.
                    Err(
                        ObjectError::NotOwner(_)
                        | ObjectError::Unknown(_)
                        | ObjectError::NoSession
                        | ObjectError::TooOld(_)
                        | ObjectError::OutOfOrder(_),
                    ) => {}
                    Err(error) => problems.push((entity, error)),
                }
            }
        }
        for (entity, error) in problems {
            let misuse =
                if let ObjectError::NotFinite(_) = error { Misuse::NotFinite } else { Misuse::Refused };
            self.warnings().once(misuse, entity.to_bits(), || format!("{entity} is not sent: {error}"));
        }
    }

    fn set_states(&mut self) {
        for (entity, id, group, bytes) in std::mem::take(&mut self.world.resource_mut::<Outbox>().states) {
            if !self.fairpath.is_current(entity, ReplicatedId(id)) {
                continue;
            }
            match self.session.set_state(id, group, &bytes) {
                Ok(()) => {}
                Err(ObjectError::Full | ObjectError::TooFast) => {
                    self.world.resource_mut::<Outbox>().states.push((entity, id, group, bytes));
                }
                Err(error) => self.cannot_set(entity, error),
            }
        }
    }

    fn cannot_set(&mut self, entity: Entity, error: ObjectError) {
        if !matches!(error, ObjectError::NotOwner(_) | ObjectError::Unknown(_)) {
            self.warnings().once(Misuse::Refused, entity.to_bits(), || {
                format!("a component of {entity} is not sent: {error}")
            });
        }
    }

    fn call(&mut self) {
        for (target, method, delivery, bytes, name) in
            std::mem::take(&mut self.world.resource_mut::<Outbox>().calls)
        {
            match self.session.call(target, method, &bytes, delivery) {
                Ok(()) => {}
                Err(CallError::NoSession) => self.warnings().once_each(
                    Misuse::Call,
                    format!("a call {name} to {target:?} was not sent: a client calls the server, viewers or owners; \
                             a server calls clients that are there"),
                ),
                Err(error) => self.warnings().once_each(Misuse::Call, format!("a call {name} was not sent: {error}")),
            }
        }
    }

    fn drop_calls(&mut self) {
        let calls = std::mem::take(&mut self.world.resource_mut::<Outbox>().calls);
        for (.., name) in calls {
            let text = format!("a call {name} was not sent: the client is not connected");
            self.warnings().once_each(Misuse::Call, text);
        }
    }

    fn warnings(&mut self) -> Mut<'_, FairpathWarnings> {
        self.world.resource_mut::<FairpathWarnings>()
    }
}

/// Returns the transform of an entity in the world, from its parents'.
fn in_world(world: &World, entity: Entity) -> Transform {
    let own = world.get::<Transform>(entity).copied().unwrap_or_default();
    match world.get::<ChildOf>(entity) {
        Some(child_of) => in_world(world, child_of.parent()).mul_transform(own),
        None => own,
    }
}

/// Makes an entity this app's own, or another peer's.
pub(crate) fn change_owner(world: &mut World, fairpath: &Fairpath, entity: Entity, party: Party) {
    let is_mine = Some(party) == fairpath.party;
    let client = if let Party::Client(client) = party { fairpath.client(client) } else { None };
    let Ok(mut here) = world.get_entity_mut(entity) else { return };
    here.insert(Owner { party, client });
    if let Some(mut track) = here.get_mut::<Track>() {
        track.forget();
        track.pending.clear();
        (track.settings, track.shown) = (None, None);
    }
    if is_mine {
        here.insert(Owned).remove::<(Remote, Placed)>();
    } else {
        let pose = here.get::<Transform>().map_or(Pose::REST, Pose::at);
        here.insert((Remote, Placed::new(pose))).remove::<Owned>();
    }
    world.write_message(OwnerChanged { entity, owner: party, is_mine });
}

/// Warns of a value that a peer sent and this end cannot read.
pub(crate) fn warn_unreadable(world: &mut World, what: &str) {
    let text = format!("{what} that a peer sent cannot be read: build both ends from the same types");
    warn(world, Misuse::Unreadable, text);
}
