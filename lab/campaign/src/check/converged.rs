//! After healing every client has the newest state of every object.
//!
//! The model: the expected state of every object, from the code that moves the objects.

use std::collections::{BTreeMap, BTreeSet};

use fairpath::number::EntityId;
use fairpath::session::{Client, ClientId, Party, Server};
use fairpath::time::{LocalInstant, SharedInstant, Span};
use fairpath::vector::{Vec2, Vector};

/// The expected position, owner, parent and state groups of an object.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExpectedObject {
    pub(crate) position: Option<Vec2>,
    pub(crate) owner: Option<Party>,
    /// Its parent, if its owner is there to say.
    pub(crate) parent: Option<Option<EntityId>>,
    /// The number of its parents: each adds its own error.
    pub(crate) depth: usize,
    pub(crate) groups: BTreeMap<u8, Vec<u8>>,
}

#[derive(Debug)]
pub(crate) struct ConvergenceCheck {
    desired: BTreeMap<EntityId, ExpectedObject>,
    /// The radius of interest; objects leave at 1.2 times that.
    sight: Option<f64>,
}

impl ConvergenceCheck {
    /// The error that may remain for an object at rest: the trigger's threshold between truth and
    /// exported path, the same again between that and a receiver, and rounding.
    const ERROR_MAX: f64 = 0.3 + 0.3 + 0.02;
    /// The time limit after all objects are at rest: a second of slewing, and some silences.
    pub(crate) const WITHIN: Span = Span::from_secs(50);

    pub(crate) fn new(desired: BTreeMap<EntityId, ExpectedObject>, sight: Option<f64>) -> Self {
        Self { desired, sight }
    }

    pub(crate) fn server(&self, server: &Server<Vec2>, now: SharedInstant) -> Option<String> {
        self.desired.iter().find_map(|(object, desired)| {
            let id = object.0;
            let owner = server.owner(*object);
            if owner.is_none() {
                return Some(format!("the server does not know object {id}"));
            }
            if desired.owner.is_some() && owner != desired.owner {
                return Some(format!(
                    "object {id} is owned by {owner:?} at the server, expected {:?}",
                    desired.owner
                ));
            }
            if desired.parent.is_some_and(|parent| parent != server.parent(*object)) {
                let parent = server.parent(*object);
                return Some(format!(
                    "object {id} is carried by {parent:?} at the server, expected {:?}",
                    desired.parent
                ));
            }
            let placed = server.place(*object, now).map(|state| state.position);
            self.judge(&format!("the server has object {id}"), desired, placed, |group| {
                server.state(*object, group).map(<[u8]>::to_vec)
            })
        })
    }

    pub(crate) fn client(
        &self,
        index: usize,
        (client, local): (&mut Client<Vec2>, LocalInstant),
        (server, now): (&Server<Vec2>, SharedInstant),
    ) -> Option<String> {
        let Some(id) = client.id().filter(|_| client.is_connected()) else {
            return Some(format!("client {index} has no session"));
        };
        if !server.is_connected(id) {
            return Some(format!("client {index} has a session that the server does not know"));
        }
        let shown: BTreeSet<EntityId> = server.objects().filter(|object| server.sees(id, *object)).collect();
        let seen: BTreeSet<EntityId> = client.objects().collect();
        if shown != seen {
            return Some(format!("client {index} sees {seen:?} and should see {shown:?}"));
        }
        if let Some(wrong) = self.scope(id, &seen, server, now) {
            return Some(format!("client {index} {wrong}"));
        }
        seen.iter().find_map(|object| self.object(index, (client, local), id, *object, server))
    }

    /// Compares what a client sees with its radius of interest, without asking the server's scope.
    fn scope(
        &self,
        id: ClientId,
        seen: &BTreeSet<EntityId>,
        server: &Server<Vec2>,
        now: SharedInstant,
    ) -> Option<String> {
        // Between the two radii, and this far beyond, an object may be seen or not.
        const SLACK: f64 = 2.0;
        let position = |object: EntityId| Some(server.place(object, now)?.position);
        let owns = |object: &EntityId| server.owner(*object) == Some(Party::Client(id));
        let eyes: Vec<Vec2> = server.objects().filter(owns).filter_map(position).collect();
        let carriers: BTreeSet<EntityId> = seen
            .iter()
            .flat_map(|it| std::iter::successors(server.parent(*it), |it| server.parent(*it)))
            .collect();
        server.objects().filter(|object| !owns(object)).find_map(|object| {
            let is_seen = seen.contains(&object);
            let at = position(object)?;
            let far = eyes.iter().map(|eye| eye.distance(at)).fold(f64::INFINITY, f64::min);
            let must = self.sight.is_none_or(|sight| eyes.is_empty() || far < sight - SLACK);
            let may = must
                || carriers.contains(&object)
                || self.sight.is_none_or(|sight| far < 1.2 * sight + SLACK);
            let is_wrong = if is_seen { !may } else { must };
            is_wrong.then(|| format!("sees object {} at {far:.1}: {is_seen}", object.0))
        })
    }

    fn object(
        &self,
        index: usize,
        (client, local): (&mut Client<Vec2>, LocalInstant),
        id: ClientId,
        object: EntityId,
        server: &Server<Vec2>,
    ) -> Option<String> {
        let (here, there) = (client.owner(object), server.owner(object));
        let who = format!("client {index} ({id:?}) has object {}", object.0);
        if here != there {
            return Some(format!("{who} owned by {here:?}, at the server by {there:?}"));
        }
        let (parent, expected) = (client.parent(object), server.parent(object));
        if parent != expected {
            return Some(format!("{who} carried by {parent:?}, at the server by {expected:?}"));
        }
        if client.creation(object) != server.creation(object) {
            return Some(format!("{who} with another creation value than the server"));
        }
        for group in 0..32 {
            let (here, there) = (client.state(object, group), server.state(object, group));
            if here != there {
                return Some(format!("{who} with group {group} = {here:?}, at the server {there:?}"));
            }
        }
        let desired = self.desired.get(&object)?;
        let placed = client.place(object, local).map(|state| state.position);
        self.judge(&who, desired, placed, |group| client.state(object, group).map(<[u8]>::to_vec))
    }

    fn judge(
        &self,
        who: &str,
        desired: &ExpectedObject,
        placed: Option<Vec2>,
        state: impl Fn(u8) -> Option<Vec<u8>>,
    ) -> Option<String> {
        if let Some(position) = desired.position {
            let Some(placed) = placed else { return Some(format!("{who} without a position")) };
            let off = placed.distance(position);
            if off > Self::ERROR_MAX * (1 + desired.depth) as f64 {
                return Some(format!("{who} {off:.2} units from its true position"));
            }
        }
        let wrong = desired.groups.iter().find(|(group, value)| state(**group).as_ref() != Some(*value));
        wrong.map(|(group, value)| format!("{who}, expected group {group} = {value:?}"))
    }
}
