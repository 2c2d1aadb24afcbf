//! Interest: which entities each client sees, and which it may claim.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bevy_ecs::prelude::*;
use fairpath::EntityId;
use fairpath::session::{
    ClaimRequest, ClientId, Everything, Interceptor, Nearest, Party, Reach, Refusal, Scope, ScopeObject,
    Update, Within,
};

use crate::authority::ControlledBy;
use crate::components::{Claimable, ReplicatedId};
use crate::connection::RemoteClient;
use crate::space::Dimensions;

/// Which entities a client sees, by distance from its own entities, and from the avatars that it
/// controls ([`ControlledBy`]).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Interest {
    /// All.
    #[default]
    Everything,
    /// Those near one of the client's own entities. A client without entities and avatars sees all.
    Within {
        /// An entity becomes visible at this distance.
        enter: f64,
        /// It stays visible up to this distance. Larger than `enter`, or entities at the edge
        /// flicker.
        leave: f64,
    },
    /// So many others that are nearest to the client's own entities. For crowds.
    Nearest(usize),
}

/// Which clients see an entity, whatever its distance. The server sets it; without it the entity is
/// seen by [`Interest`]. Owners always see their own entities.
///
/// A change counts within 100 ms. An entity of a client is seen by distance until the server has
/// given it an audience.
#[derive(Component, Clone, Debug, PartialEq, Eq)]
pub enum Audience {
    /// All clients, also far ones: the flag, the boss.
    Everyone,
    /// No client but these, entities with [`RemoteClient`]: a team's secret. An empty list hides it.
    Only(Vec<Entity>),
}

/// What scope and interceptor know of entities. The session asks them from its own thread.
#[derive(Resource, Clone, Debug, Default)]
pub(crate) struct SharedAudiences(Arc<Mutex<Audiences>>);

#[derive(Debug, Default)]
struct Audiences {
    /// `None` is everyone.
    of: BTreeMap<EntityId, Option<BTreeSet<ClientId>>>,
    claimable: BTreeSet<EntityId>,
    /// The avatars that clients control and the server owns: clients see from them, too.
    eyes: BTreeMap<ClientId, BTreeSet<EntityId>>,
}

impl SharedAudiences {
    fn lock(&self) -> MutexGuard<'_, Audiences> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set(&self, id: EntityId, audience: &Audience, client: impl Fn(Entity) -> Option<ClientId>) {
        let clients = match audience {
            Audience::Everyone => None,
            Audience::Only(entities) => Some(entities.iter().filter_map(|entity| client(*entity)).collect()),
        };
        self.lock().of.insert(id, clients);
    }

    pub(crate) fn forget(&self, id: EntityId) {
        let mut audiences = self.lock();
        audiences.of.remove(&id);
        audiences.claimable.remove(&id);
    }
}

/// Tells scope and interceptor what has changed.
pub(crate) fn collect_audiences(
    audiences: Res<SharedAudiences>,
    (clients, ids): (Query<&RemoteClient>, Query<&ReplicatedId>),
    changed: Query<(&ReplicatedId, &Audience), Or<(Changed<Audience>, Added<ReplicatedId>)>>,
    avatars: Query<(&ReplicatedId, &ControlledBy)>,
    claimable: Query<&ReplicatedId, (With<Claimable>, Or<(Added<Claimable>, Added<ReplicatedId>)>)>,
    mut no_audience: RemovedComponents<Audience>,
    mut not_claimable: RemovedComponents<Claimable>,
) {
    for id in no_audience.read().filter_map(|entity| ids.get(entity).ok()) {
        audiences.lock().of.remove(&id.0);
    }
    for id in not_claimable.read().filter_map(|entity| ids.get(entity).ok()) {
        audiences.lock().claimable.remove(&id.0);
    }
    let mut eyes: BTreeMap<ClientId, BTreeSet<EntityId>> = BTreeMap::new();
    for (id, by) in &avatars {
        if let Ok(client) = clients.get(by.0) {
            eyes.entry(client.id).or_default().insert(id.0);
        }
    }
    audiences.lock().eyes = eyes;
    for (id, audience) in &changed {
        audiences.set(id.0, audience, |entity| Some(clients.get(entity).ok()?.id));
    }
    for id in &claimable {
        audiences.lock().claimable.insert(id.0);
    }
}

/// The scope of the plugin: by distance, with the exceptions of [`Audience`].
pub(crate) struct PluginScope<V: Dimensions> {
    by_distance: Box<dyn Scope<V>>,
    audiences: SharedAudiences,
}

impl<V: Dimensions> PluginScope<V> {
    pub(crate) fn new(interest: Interest, audiences: SharedAudiences) -> Self {
        let by_distance: Box<dyn Scope<V>> = match interest {
            Interest::Everything => Box::new(Everything),
            Interest::Within { enter, leave } => Box::new(Within { enter, leave: leave.max(enter) }),
            Interest::Nearest(count) => Box::new(Nearest { count }),
        };
        Self { by_distance, audiences }
    }
}

impl<V: Dimensions> fmt::Debug for PluginScope<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PluginScope").field(&self.by_distance).finish()
    }
}

impl<V: Dimensions> Scope<V> for PluginScope<V> {
    /// With an audience or an avatar the answers depend on more than distances from a client's own
    /// objects: everything is asked about.
    fn reach(&self) -> Reach {
        let audiences = self.audiences.lock();
        let is_plain = audiences.of.is_empty() && audiences.eyes.is_empty();
        if is_plain { self.by_distance.reach() } else { Reach::Anywhere }
    }

    fn sees(
        &mut self,
        client: ClientId,
        object: &ScopeObject<'_, V>,
        eyes: &[ScopeObject<'_, V>],
        is_seen: bool,
    ) -> bool {
        let audiences = self.audiences.lock();
        let sees_from_afar = audiences.eyes.contains_key(&client);
        match audiences.of.get(&object.object) {
            // Where its avatars are, the next check of all objects knows.
            None if sees_from_afar && self.by_distance.reach() != Reach::Anywhere => is_seen,
            Some(None) => true,
            Some(Some(clients)) => clients.contains(&client),
            None => self.by_distance.sees(client, object, eyes, is_seen),
        }
    }

    fn choose(
        &mut self,
        client: ClientId,
        objects: &[ScopeObject<'_, V>],
        eyes: &[ScopeObject<'_, V>],
        is_seen: &dyn Fn(EntityId) -> bool,
    ) -> Vec<EntityId> {
        let audiences = self.audiences.lock();
        let (special, usual): (Vec<_>, Vec<_>) =
            objects.iter().copied().partition(|object| audiences.of.contains_key(&object.object));
        let sees = |id: &EntityId| match audiences.of.get(id) {
            Some(Some(clients)) => clients.contains(&client),
            _ => true,
        };
        let special = special.iter().map(|object| object.object).filter(sees);
        let mut chosen: Vec<EntityId> = special.collect();
        let avatars = audiences.eyes.get(&client);
        let is_avatar = |object: &&ScopeObject<'_, V>| avatars.is_some_and(|it| it.contains(&object.object));
        let eyes: Vec<ScopeObject<'_, V>> =
            eyes.iter().chain(objects.iter().filter(is_avatar)).copied().collect();
        drop(audiences);
        chosen.extend(self.by_distance.choose(client, &usual, &eyes, is_seen));
        chosen
    }
}

/// The plugin's rules about clients: what they may claim, and whether they may spawn.
#[derive(Debug)]
pub(crate) struct PluginInterceptor {
    audiences: SharedAudiences,
    clients_spawn: bool,
}

impl PluginInterceptor {
    pub(crate) fn new(audiences: SharedAudiences, clients_spawn: bool) -> Self {
        Self { audiences, clients_spawn }
    }
}

impl<V: Dimensions> Interceptor<V> for PluginInterceptor {
    fn check_creation(&mut self, _: &Update<'_, V>, _: &mut Vec<u8>) -> Result<(), Refusal> {
        if self.clients_spawn { Ok(()) } else { Err(Refusal::NotCreated) }
    }

    fn check_claim(&mut self, claim: &ClaimRequest<'_, V>) -> Result<(), Refusal> {
        let is_own = claim.object.owner == Party::Client(claim.client);
        let may = is_own || self.audiences.lock().claimable.contains(&claim.object.object);
        if may { Ok(()) } else { Err(Refusal::NotClaimable) }
    }
}
