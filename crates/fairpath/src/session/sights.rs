//! The objects of one scope check, indexed by position.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::position_index::PositionIndex;
use super::scope::{Reach, ScopeObject};
use super::{ClientId, Party};
use crate::number::EntityId;
use crate::vector::Planar;

/// All objects that clients may see, in the order of their ids.
#[derive(Debug)]
pub(super) struct Sights<'a, V: Planar> {
    objects: Vec<ScopeObject<'a, V>>,
    index: Option<PositionIndex<V>>,
}

impl<'a, V: Planar> Sights<'a, V> {
    pub(super) fn new(objects: Vec<ScopeObject<'a, V>>) -> Self {
        Self { objects, index: None }
    }

    /// Indexes the objects by position. It pays from the second client on.
    pub(super) fn indexed(mut self) -> Self {
        let positions = self.objects.iter().map(|sight| Some(sight.state.as_ref()?.position));
        self.index = Some(PositionIndex::new(positions));
        self
    }

    pub(super) fn of(&self, object: EntityId) -> Option<&ScopeObject<'a, V>> {
        Some(&self.objects[self.place_of(object)?])
    }

    /// Returns the objects that a scope with this reach has to be asked about, in the order of
    /// their ids.
    pub(super) fn candidates(
        &self,
        reach: Reach,
        client: ClientId,
        eyes: &[ScopeObject<'_, V>],
        seen: &BTreeSet<EntityId>,
    ) -> Cow<'_, [ScopeObject<'a, V>]> {
        let places = self.index.as_ref().and_then(|index| self.places(index, reach, client, eyes, seen));
        let Some(mut places) = places else { return Cow::Borrowed(&self.objects) };
        places.sort_unstable();
        places.dedup();
        Cow::Owned(places.into_iter().map(|place| self.objects[place as usize]).collect())
    }

    /// Returns the places of the candidates, in any order; `None` for all objects.
    fn places(
        &self,
        index: &PositionIndex<V>,
        reach: Reach,
        client: ClientId,
        eyes: &[ScopeObject<'_, V>],
        seen: &BTreeSet<EntityId>,
    ) -> Option<Vec<u32>> {
        let mut places = index.unplaced().to_vec();
        let centers = || eyes.iter().filter_map(|eye| Some(eye.state.as_ref()?.position));
        if centers().any(|center| !center.is_finite()) {
            return None;
        }
        match reach {
            Reach::Anywhere => return None,
            Reach::Within(_) if eyes.is_empty() => return None,
            Reach::Within(radius) => {
                centers().for_each(|center| index.within(center, radius, &mut places));
            }
            Reach::Nearest(count) => {
                let is_others = |place: u32| self.objects[place as usize].owner != Party::Client(client);
                centers().for_each(|center| index.nearest(center, count, is_others, &mut places));
                places.extend(seen.iter().filter_map(|object| Some(self.place_of(*object)? as u32)));
            }
        }
        Some(places)
    }

    fn place_of(&self, object: EntityId) -> Option<usize> {
        self.objects.binary_search_by_key(&object, |sight| sight.object).ok()
    }
}

#[cfg(test)]
mod tests {
    use fairpath_laws::proptest::prelude::*;
    use fairpath_laws::{law, number};

    use super::*;
    use crate::session::ClassId;
    use crate::session::scope::{Nearest, Scope, Within};
    use crate::state::State;
    use crate::vector::{Vec2, Vec3, Vector};

    const ME: ClientId = ClientId(0);
    /// Owners of the objects: [`ME`] is one of them.
    const OWNERS: u32 = 4;

    /// An object: its owner, whether the client sees it, and its position, if it has one.
    type Drawn<V> = (u32, bool, Option<V>);

    /// Draws coordinates of a crowd: near, on one spot, on a grid where distances are equal, and
    /// farther than a distance can be computed.
    fn coordinate() -> impl Strategy<Value = f64> {
        prop_oneof![
            8 => number(100.0),
            2 => Just(7.0),
            3 => (-4..4i32).prop_map(|step| f64::from(step) * 10.0),
            1 => number(1e30),
            1 => number(1e300),
            1 => number(1e-200),
            1 => Just(f64::INFINITY),
            1 => Just(f64::NAN),
        ]
    }

    fn position<V: Vector>() -> impl Strategy<Value = V> {
        prop::collection::vec(coordinate(), V::DIMENSIONS).prop_map(|at| V::from_components(|axis| at[axis]))
    }

    fn world<V: Vector>() -> impl Strategy<Value = Vec<Drawn<V>>> {
        let object = (0..OWNERS, any::<bool>(), prop::option::weighted(0.9, position()));
        prop::collection::vec(object, 0..120)
    }

    fn distance() -> impl Strategy<Value = f64> {
        prop_oneof![
            8 => 0.0..200.0f64,
            2 => Just(10.0),
            1 => Just(0.0),
            1 => Just(-1.0),
            1 => Just(f64::INFINITY),
            1 => Just(f64::NAN),
            1 => 0.0..1e300f64,
        ]
    }

    fn sights<V: Planar>(world: &[Drawn<V>]) -> Sights<'static, V> {
        let sight = |(object, (owner, _, position)): (u32, &Drawn<V>)| ScopeObject {
            object: EntityId(object * 3),
            class: ClassId(0),
            owner: Party::Client(ClientId(*owner)),
            creation: b"",
            state: position.map(|position| State::moving(position, V::ZERO)),
        };
        Sights::new((0..).zip(world).map(sight).collect())
    }

    /// Returns what a client chooses from the candidates of the index, and from all objects.
    fn both<V: Planar>(mut scope: impl Scope<V>, world: &[Drawn<V>]) -> [Vec<EntityId>; 2] {
        let seen = (0..).zip(world).filter(|(_, (_, is_seen, _))| *is_seen);
        let seen: BTreeSet<EntityId> = seen.map(|(object, _)| EntityId(object * 3)).collect();
        [sights(world).indexed(), sights(world)].map(|sights| {
            let mine = sights.objects.iter().filter(|sight| sight.owner == Party::Client(ME));
            let eyes: Vec<_> = mine.copied().collect();
            let candidates = sights.candidates(scope.reach(), ME, &eyes, &seen);
            let mut chosen = scope.choose(ME, &candidates, &eyes, &|object| seen.contains(&object));
            chosen.sort_unstable();
            chosen
        })
    }

    fn check<V: Planar>() {
        law!((world::<V>(), distance(), distance()), cases = 1024, |(world, enter, leave)| {
            let [indexed, walked] = both(Within { enter, leave }, &world);
            prop_assert_eq!(indexed, walked);
            Ok(())
        });
        law!((world::<V>(), 0..40usize), cases = 1024, |(world, count)| {
            let [indexed, walked] = both(Nearest { count }, &world);
            prop_assert_eq!(indexed, walked);
            Ok(())
        });
    }

    #[test]
    fn in_the_plane_the_index_answers_as_a_walk_of_all_objects() {
        check::<Vec2>();
    }

    #[test]
    fn in_space_the_index_answers_as_a_walk_of_all_objects() {
        check::<Vec3>();
    }

    /// The law above would hold for an index that returns everything.
    #[test]
    fn candidates_are_few() {
        let crowd: Vec<Drawn<Vec2>> =
            (0..1_000).map(|at| (1, false, Some(Vec2::new(f64::from(at), 0.0)))).collect();
        let eye =
            ScopeObject { owner: Party::Client(ME), ..*sights(&crowd).of(EntityId(300)).expect("there") };
        let sights = sights(&crowd).indexed();
        let count = |reach, eyes: &[_]| sights.candidates(reach, ME, eyes, &BTreeSet::new()).len();
        assert_eq!(count(Reach::Within(10.0), &[eye]), 21);
        assert_eq!(count(Reach::Nearest(7), &[eye]), 7);
        assert_eq!(count(Reach::Anywhere, &[eye]), 1_000);
        assert_eq!((count(Reach::Within(10.0), &[]), count(Reach::Nearest(7), &[])), (1_000, 0));
    }
}
