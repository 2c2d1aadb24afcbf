//! Scope: which client sees which objects.

use std::fmt::Debug;

use super::{ClassId, ClientId, Party};
use crate::number::EntityId;
use crate::state::State;
use crate::vector::Planar;

/// An object, as passed to [`Scope`].
#[derive(Clone, Copy, Debug)]
pub struct ScopeObject<'a, V: Planar> {
    /// The object.
    pub object: EntityId,
    /// Its class.
    pub class: ClassId,
    /// Its owner.
    pub owner: Party,
    /// The bytes it was created with.
    pub creation: &'a [u8],
    /// Where the server places it now; `None` if its class has no motion. Objects whose first state
    /// is not known are not passed to a scope: no client but their owner sees them.
    pub state: Option<State<V>>,
}

/// Which objects a [`Scope`] must be asked about. The server finds them by an index instead of
/// walking all objects, and does not ask again while nothing changes: no object moves, appears,
/// disappears or changes its owner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reach {
    /// All objects, at every check. The cost is clients times objects.
    Anywhere,
    /// Objects up to this distance from one of the client's own objects, and those without a
    /// position. A client that owns no object is asked about all.
    Within(f64),
    /// The so many objects of other owners that are nearest to one of the client's own objects,
    /// those that the client sees already, and those without a position.
    Nearest(usize),
}

/// Decides which objects each client sees. An owner always sees its own objects.
pub trait Scope<V: Planar>: Debug + Send {
    /// Returns whether `client` sees the object. `eyes` are the objects that the client owns;
    /// `is_seen` says whether it sees the object now, to avoid flicker at the edge.
    fn sees(
        &mut self,
        client: ClientId,
        object: &ScopeObject<'_, V>,
        eyes: &[ScopeObject<'_, V>],
        is_seen: bool,
    ) -> bool;

    /// Returns which objects the scope must be asked about. Default [`Reach::Anywhere`].
    ///
    /// Return another reach only if the client sees no object beyond it, and if the answers depend
    /// on nothing but the arguments. A game with a fog of war of 200 units, for example, returns
    /// `Reach::Within(200.0)` if the fog is the same all the time.
    fn reach(&self) -> Reach {
        Reach::Anywhere
    }

    /// Returns the objects that `client` sees among `objects`: those within [`reach`](Self::reach),
    /// possibly with some beyond it, in the order of their ids. The client's own objects may be
    /// left out. Implement it to compare objects with each other, as [`Nearest`] does. The default asks
    /// [`sees`](Self::sees) for each.
    fn choose(
        &mut self,
        client: ClientId,
        objects: &[ScopeObject<'_, V>],
        eyes: &[ScopeObject<'_, V>],
        is_seen: &dyn Fn(EntityId) -> bool,
    ) -> Vec<EntityId> {
        let seen = objects.iter().filter(|sight| self.sees(client, sight, eyes, is_seen(sight.object)));
        seen.map(|sight| sight.object).collect()
    }
}

/// Every client sees every object.
#[derive(Clone, Copy, Debug, Default)]
pub struct Everything;

impl<V: Planar> Scope<V> for Everything {
    fn sees(&mut self, _: ClientId, _: &ScopeObject<'_, V>, _: &[ScopeObject<'_, V>], _: bool) -> bool {
        true
    }
}

/// A client sees objects near its own objects. A client without objects sees every object. Objects
/// without motion are near everything.
#[derive(Clone, Copy, Debug)]
pub struct Within {
    /// Distance below which an object becomes visible.
    pub enter: f64,
    /// Distance up to which a visible object stays visible. At least `enter`. If the difference is
    /// less than an object moves between two checks, objects at the edge flicker.
    pub leave: f64,
}

impl<V: Planar> Scope<V> for Within {
    fn reach(&self) -> Reach {
        Reach::Within(self.enter.max(self.leave))
    }

    fn sees(
        &mut self,
        _: ClientId,
        object: &ScopeObject<'_, V>,
        eyes: &[ScopeObject<'_, V>],
        is_seen: bool,
    ) -> bool {
        let reach = if is_seen { self.leave } else { self.enter };
        let Some(state) = object.state else { return true };
        let mut distances = eyes.iter().filter_map(|eye| Some(eye.state?.position.distance(state.position)));
        eyes.is_empty() || distances.any(|distance| distance <= reach)
    }
}

/// A client sees the `count` objects of other owners nearest to its own, and all objects without
/// motion. Without objects of its own it sees only the latter.
///
/// For crowds: the bytes and the cost of a client are bounded, however many objects there are. A
/// new object becomes visible at the next check
/// ([`ServerConfig::scope_every`](super::ServerConfig::scope_every)). Of two objects that are
/// equally far the one with the lower id is seen.
#[derive(Clone, Copy, Debug)]
pub struct Nearest {
    /// Most objects that a client sees. 32 tanks that turn all the time take 2 kB a second per
    /// client (`cargo xtask bench thousand`).
    pub count: usize,
}

impl Nearest {
    /// Factor on the distance of a visible object, so that two about equally far do not alternate.
    /// 0.9: of 32 neighbours, about three are kept that are no longer among the nearest, all at the
    /// edge.
    const KEPT: f64 = 0.9;
}

impl<V: Planar> Scope<V> for Nearest {
    fn reach(&self) -> Reach {
        Reach::Nearest(self.count)
    }

    /// Visibility stays as it is until the next check of all objects.
    fn sees(
        &mut self,
        _: ClientId,
        object: &ScopeObject<'_, V>,
        _: &[ScopeObject<'_, V>],
        is_seen: bool,
    ) -> bool {
        is_seen || object.state.is_none()
    }

    fn choose(
        &mut self,
        client: ClientId,
        objects: &[ScopeObject<'_, V>],
        eyes: &[ScopeObject<'_, V>],
        is_seen: &dyn Fn(EntityId) -> bool,
    ) -> Vec<EntityId> {
        let eyes: Vec<V> = eyes.iter().filter_map(|eye| Some(eye.state?.position)).collect();
        let far = |sight: &ScopeObject<'_, V>| {
            let position = sight.state?.position;
            let far = eyes.iter().map(|eye| eye.distance(position)).min_by(f64::total_cmp)?;
            Some((if is_seen(sight.object) { far * Self::KEPT } else { far }, sight.object))
        };
        let others = objects.iter().filter(|sight| sight.owner != Party::Client(client));
        let mut others: Vec<(f64, EntityId)> = others.filter_map(far).collect();
        if others.len() > self.count {
            let nearest_first = |one: &(f64, EntityId), other: &(f64, EntityId)| {
                one.0.total_cmp(&other.0).then(one.1.cmp(&other.1))
            };
            others.select_nth_unstable_by(self.count, nearest_first);
            others.truncate(self.count);
        }
        let motionless = objects.iter().filter(|sight| sight.state.is_none()).map(|sight| sight.object);
        others.into_iter().map(|(_, object)| object).chain(motionless).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vector::Vec2;

    const ME: ClientId = ClientId(1);

    /// An object of a client, at this distance along x.
    fn sight(object: u32, owner: u32, x: f64) -> ScopeObject<'static, Vec2> {
        ScopeObject {
            object: EntityId(object),
            class: ClassId(0),
            owner: Party::Client(ClientId(owner)),
            creation: b"",
            state: Some(State::moving(Vec2::new(x, 0.0), Vec2::new(1.0, 0.0))),
        }
    }

    fn chosen(count: usize, others: &[(u32, f64)], seen: &[u32]) -> Vec<u32> {
        let eye = sight(1, ME.0, 0.0);
        let objects: Vec<_> =
            std::iter::once(eye).chain(others.iter().map(|(object, x)| sight(*object, 2, *x))).collect();
        let is_seen = |object: EntityId| seen.contains(&object.0);
        let mut chosen: Vec<u32> =
            Nearest { count }.choose(ME, &objects, &[eye], &is_seen).iter().map(|object| object.0).collect();
        chosen.sort_unstable();
        chosen
    }

    #[test]
    fn the_nearest_are_seen_and_no_more_than_may_be() {
        let others = [(2, 50.0), (3, -10.0), (4, 30.0), (5, 20.0)];
        assert_eq!(chosen(2, &others, &[]), [3, 5]);
        assert_eq!(chosen(9, &others, &[]), [2, 3, 4, 5]);
        assert_eq!(chosen(0, &others, &[]), [0_u32; 0]);
    }

    #[test]
    fn at_the_edge_who_is_seen_stays_until_another_is_clearly_nearer() {
        assert_eq!(chosen(1, &[(2, 10.0), (3, 10.5)], &[3]), [3]);
        assert_eq!(chosen(1, &[(2, 10.0), (3, 12.0)], &[3]), [2]);
    }

    #[test]
    fn without_eyes_only_objects_without_motion_are_seen() {
        let nowhere = ScopeObject { state: None, ..sight(2, 2, 0.0) };
        let there = sight(3, 2, 5.0);
        let mut nearest = Nearest { count: 4 };
        assert_eq!(nearest.choose(ME, &[nowhere, there], &[], &|_| false), [EntityId(2)]);
        let both = nearest.choose(ME, &[nowhere, there], &[sight(1, 1, 0.0)], &|_| false);
        assert_eq!(both, [EntityId(3), EntityId(2)]);
    }
}
