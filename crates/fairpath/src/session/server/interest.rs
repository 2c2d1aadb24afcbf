//! Scope checks: which objects enter and leave the view of each client.

use super::object::{Object, Role};
use super::{Member, Server};
use crate::dr_vector::DrVector;
use crate::motion::Motion;
use crate::number::EntityId;
use crate::session::ClientId;
use crate::session::attach::Attachments;
use crate::session::id_map::IdMap;
use crate::session::scope::{Reach, Scope};
use crate::session::sights::Sights;
use crate::time::{Now, SharedInstant, Span};
use crate::vector::Planar;

/// Least clients per scope check. Packets wait for it, less than a millisecond with 1000 objects.
const LOOKS_AT_ONCE: usize = 64;
/// Objects that take as long to place and to index as one client takes to look around. The more
/// objects, the more clients share an index.
const OBJECTS_PER_LOOK: usize = 64;

/// Counts the changes that can change what a client sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct WorldVersion(u64);

/// Tells whether the world is as it was at an earlier scope check.
#[derive(Debug, Default)]
pub(super) struct Stillness {
    version: WorldVersion,
    /// The version in which all objects were last found at rest.
    at_rest_in: Option<WorldVersion>,
}

impl Stillness {
    /// Call it when an object appears, disappears, changes its owner or its motion.
    pub(super) fn on_change(&mut self) {
        self.version.0 += 1;
    }

    fn on_placed(&mut self, is_at_rest: bool) {
        self.at_rest_in = is_at_rest.then_some(self.version);
    }

    /// Returns the version of the world, if no object moves in it.
    fn resting(&self) -> Option<WorldVersion> {
        self.at_rest_in.filter(|at_rest_in| *at_rest_in == self.version)
    }
}

impl<V: Planar> Server<V> {
    /// Checks the scope of the next few clients, so that a crowd does not delay everything else.
    pub(super) fn refresh_scope(&mut self, now: SharedInstant) {
        self.scope_at = now;
        let looks_max = self.looks_at_once();
        let rest = self.members.range(self.scope_from..).map(|(client, _)| *client);
        let mut clients: Vec<ClientId> = rest.take(looks_max).collect();
        let is_last = clients.len() < looks_max;
        let next = clients.last().filter(|_| !is_last).map_or(0, |client| client.0.saturating_add(1));
        self.scope_from = ClientId(next);
        if let Some(resting) = self.stillness.resting().filter(|_| self.reach() != Reach::Anywhere) {
            let settled_in = |client: ClientId| self.members.get(&client).and_then(|it| it.settled_in);
            clients.retain(|client| settled_in(*client) != Some(resting));
        }
        self.look_around(&clients, now);
    }

    /// Returns the pause until the next few clients, such that all are checked within
    /// [`scope_every`](super::ServerConfig::scope_every).
    pub(super) fn scope_pause(&self) -> Span {
        let parts = self.members.len().div_ceil(self.looks_at_once()).max(1);
        Span::from_micros(self.config.scope_every.as_micros() / parts as i64)
    }

    pub(super) fn refresh_scope_of(&mut self, client: ClientId, now: SharedInstant) {
        self.look_around(&[client], now);
    }

    fn reach(&self) -> Reach {
        self.scope.as_ref().map_or(Reach::Anywhere, |scope| scope.reach())
    }

    fn looks_at_once(&self) -> usize {
        match self.reach() {
            Reach::Anywhere => LOOKS_AT_ONCE,
            Reach::Within(_) | Reach::Nearest(_) => LOOKS_AT_ONCE.max(self.objects.len() / OBJECTS_PER_LOOK),
        }
    }

    fn look_around(&mut self, clients: &[ClientId], now: SharedInstant) {
        if clients.is_empty() {
            return;
        }
        let leaving = if self.scope.is_some() {
            self.look_through_scope(clients, now)
        } else {
            self.look_at_everything(clients)
        };
        for (client, object) in leaving {
            self.leave(client, object, false);
        }
        clients.iter().for_each(|client| self.page_in(*client, now));
    }

    /// Queues the objects that enter the view of these clients. Returns the objects that leave it.
    fn look_through_scope(&mut self, clients: &[ClientId], now: SharedInstant) -> Vec<(ClientId, EntityId)> {
        let Self { members, objects, scope, attachments, stillness, .. } = self;
        let Some(scope) = scope else { return Vec::new() };
        let sights = sights(objects, now);
        let is_worth_an_index = clients.len() > 1 && scope.reach() != Reach::Anywhere;
        let sights = if is_worth_an_index { sights.indexed() } else { sights };
        stillness.on_placed(objects.values().all(|known| known.is_at_rest(now)));
        let mut leaving = Vec::new();
        for client in clients {
            let Some(member) = members.get_mut(client) else { continue };
            let to_be_seen = choose(scope.as_mut(), *client, member, &sights, attachments);
            member.settled_in = None;
            if member.waiting.is_empty() && member.seen.iter().eq(&to_be_seen) {
                member.settled_in = stillness.resting();
            } else {
                leaving.extend(member.turn_to(to_be_seen).map(|object| (*client, object)));
            }
        }
        leaving
    }

    /// Does the same without a scope: every client is to see every object.
    fn look_at_everything(&mut self, clients: &[ClientId]) -> Vec<(ClientId, EntityId)> {
        let Self { members, objects, .. } = self;
        let showable = objects.iter().filter(|(_, known)| known.is_showable).map(|(object, _)| *object);
        let showable: Vec<EntityId> = showable.collect();
        let mut leaving = Vec::new();
        for client in clients {
            let Some(member) = members.get_mut(client) else { continue };
            let to_be_seen = sorted(showable.iter().chain(&member.owned).copied().collect());
            leaving.extend(member.turn_to(to_be_seen).map(|object| (*client, object)));
        }
        leaving
    }
}

/// Places all objects that clients may see.
fn sights<V: Planar>(objects: &IdMap<EntityId, Object<V>>, now: SharedInstant) -> Sights<'_, V> {
    let showable = objects.iter().filter(|(_, known)| known.is_showable);
    Sights::new(showable.map(|(object, known)| known.sight(*object, objects, now)).collect())
}

/// Returns the objects that a client is to see, with its own and with all parents, in order.
fn choose<V: Planar>(
    scope: &mut dyn Scope<V>,
    client: ClientId,
    member: &Member<V>,
    sights: &Sights<'_, V>,
    attachments: &Attachments,
) -> Vec<EntityId> {
    let eyes: Vec<_> = member.owned.iter().filter_map(|object| sights.of(*object).copied()).collect();
    let candidates = sights.candidates(scope.reach(), client, &eyes, &member.seen);
    let is_seen = |object| member.seen.contains(&object);
    let mut chosen = scope.choose(client, &candidates, &eyes, &is_seen);
    chosen.extend(&member.owned);
    if !attachments.is_empty() {
        let parents: Vec<EntityId> =
            chosen.iter().flat_map(|object| attachments.ancestors(*object)).collect();
        chosen.extend(parents);
    }
    sorted(chosen)
}

fn sorted(mut objects: Vec<EntityId>) -> Vec<EntityId> {
    objects.sort_unstable();
    objects.dedup();
    objects
}

impl<V: Planar> Member<V> {
    /// Queues the objects that enter the client's view. Returns the objects that leave it.
    fn turn_to(&mut self, to_be_seen: Vec<EntityId>) -> impl Iterator<Item = EntityId> + use<V> {
        let leaves = |object: &EntityId| to_be_seen.binary_search(object).is_err();
        let leaving: Vec<EntityId> = self.seen.iter().copied().filter(leaves).collect();
        let enter = to_be_seen.into_iter().filter(|object| !self.seen.contains(object));
        self.waiting.replace(enter.collect());
        leaving.into_iter()
    }
}

impl<V: Planar> Object<V> {
    /// Returns whether the object stays where it is until its next DR vector.
    fn is_at_rest(&self, now: SharedInstant) -> bool {
        match &self.role {
            Role::Mine(owner) => owner.exported().is_none_or(rests),
            Role::Theirs(replica) => {
                replica.followed().is_none_or(rests) || replica.is_frozen(Now::synchronised(now))
            }
        }
    }
}

/// Returns whether a DR vector says nothing new about where an object rests.
pub(super) fn rests_as_before<V: Planar>(before: &DrVector<V>, vector: &DrVector<V>) -> bool {
    let place = |vector: &DrVector<V>| (vector.motion, vector.attitude, vector.parent);
    rests(vector) && place(before) == place(vector)
}

/// Returns whether neither the object nor what it carries ever moves by this DR vector.
fn rests<V: Planar>(vector: &DrVector<V>) -> bool {
    let is_in_place = match &vector.motion {
        Motion::Static(_) => true,
        Motion::Linear(line) => line.velocity == V::ZERO,
        Motion::Quadratic(curve) => curve.velocity == V::ZERO && curve.acceleration == V::ZERO,
        Motion::Circular(_) | Motion::Hermite(_) | Motion::Dis(_) => false,
    };
    is_in_place && vector.attitude.is_none_or(|attitude| V::is_spin_within(attitude.spin, 0.0))
}
