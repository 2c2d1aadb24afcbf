//! Objects attached to moving parents: a rider on a platform, a plane on a carrier.

use std::collections::{BTreeMap, BTreeSet};

use super::limits::PARENTS_MAX;
use crate::number::EntityId;
use crate::state::State;
use crate::vector::Planar;

/// Which object carries which, from the newest DR vectors.
#[derive(Debug, Default)]
pub(super) struct Attachments {
    parents: BTreeMap<EntityId, EntityId>,
    /// Pairs of parent and child.
    children: BTreeSet<(EntityId, EntityId)>,
}

impl Attachments {
    /// Records the parent of an object. Returns whether it is another one than before.
    pub(super) fn follow(&mut self, object: EntityId, parent: Option<EntityId>) -> bool {
        let before = match parent {
            Some(parent) => self.parents.insert(object, parent),
            None => self.parents.remove(&object),
        };
        if before == parent {
            return false;
        }
        if let Some(before) = before {
            self.children.remove(&(before, object));
        }
        self.children.extend(parent.map(|parent| (parent, object)));
        true
    }

    /// Returns whether no object has a parent.
    pub(super) fn is_empty(&self) -> bool {
        self.parents.is_empty()
    }

    pub(super) fn parent(&self, object: EntityId) -> Option<EntityId> {
        self.parents.get(&object).copied()
    }

    /// Returns the parent of an object, its parent, and so on. Ends in a cycle too.
    pub(super) fn ancestors(&self, object: EntityId) -> impl Iterator<Item = EntityId> + '_ {
        let all = std::iter::successors(self.parent(object), |object| self.parent(*object));
        all.take(PARENTS_MAX + 1)
    }

    /// Returns the objects that this one carries itself.
    pub(super) fn children(&self, parent: EntityId) -> impl Iterator<Item = EntityId> + '_ {
        let all = (parent, EntityId(0))..=(parent, EntityId(u32::MAX));
        self.children.range(all).map(|(_, child)| *child)
    }

    /// Returns whether `parent` may carry `object`: without a cycle, and with at most
    /// [`PARENTS_MAX`] parents above every object.
    pub(super) fn may_carry(&self, parent: EntityId, object: EntityId) -> bool {
        if self.parent(object) == Some(parent) {
            return true;
        }
        let is_cycle = parent == object || self.ancestors(parent).any(|ancestor| ancestor == object);
        let above = 1 + self.ancestors(parent).count();
        !is_cycle && above <= PARENTS_MAX && self.is_shallow(object, PARENTS_MAX - above)
    }

    /// Returns whether the chains below an object are at most this long.
    fn is_shallow(&self, object: EntityId, depth_max: usize) -> bool {
        let mut level = vec![object];
        for _ in 0..=depth_max {
            level = level.into_iter().flat_map(|object| self.children(object)).collect();
            if level.is_empty() {
                return true;
            }
        }
        false
    }
}

/// Returns the world state of an object. `relative` returns the state and parent of each object, as
/// in its newest DR vector. `None` if a parent is unknown, or if there are more than
/// [`PARENTS_MAX`] of them, as in a cycle.
pub(super) fn in_world<V: Planar>(
    object: EntityId,
    relative: impl Fn(EntityId) -> Option<(State<V>, Option<EntityId>)>,
) -> Option<State<V>> {
    let (mut state, mut parent) = relative(object)?;
    for _ in 0..PARENTS_MAX {
        let Some(carrier) = parent else { break };
        let (frame, next) = relative(carrier)?;
        (state, parent) = (state.carried_by(&frame), next);
    }
    parent.is_none().then_some(state)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vector::Vec2;

    /// Each object is carried by the one before it.
    fn chain(length: u32) -> Attachments {
        let mut chain = Attachments::default();
        (1..length).for_each(|object| assert!(chain.follow(EntityId(object), Some(EntityId(object - 1)))));
        chain
    }

    #[test]
    fn chains_are_bounded_at_both_ends_and_never_closed() {
        let whole = PARENTS_MAX as u32 + 1;
        let full = chain(whole);
        assert!(!full.may_carry(EntityId(whole - 1), EntityId(100)), "nine parents above it");
        assert!(full.may_carry(EntityId(whole - 2), EntityId(100)));
        assert!(!full.may_carry(EntityId(100), EntityId(0)), "nine above the last one");
        assert!(full.may_carry(EntityId(0), EntityId(1)), "as it is");
        for object in 0..whole - 1 {
            assert!(!full.may_carry(EntityId(whole - 1), EntityId(object)), "a cycle");
        }
        assert!(!chain(2).may_carry(EntityId(5), EntityId(5)));
    }

    #[test]
    fn a_cycle_has_no_place_and_ends() {
        let mut cycle = chain(3);
        cycle.follow(EntityId(0), Some(EntityId(2)));
        assert_eq!(cycle.ancestors(EntityId(0)).count(), PARENTS_MAX + 1);
        assert!(!cycle.may_carry(EntityId(0), EntityId(9)));
        let relative = |object| Some((State::<Vec2>::default(), cycle.parent(object)));
        assert_eq!(in_world(EntityId(1), relative), None);
        cycle.follow(EntityId(0), None);
        let relative = |object| Some((State::<Vec2>::default(), cycle.parent(object)));
        assert!(in_world(EntityId(2), relative).is_some());
    }
}
