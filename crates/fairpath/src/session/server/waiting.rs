//! Paging: objects that a client is to see are announced as fast as its budget allows, not at once.

use std::collections::{BTreeSet, VecDeque};

use super::Server;
use crate::number::EntityId;
use crate::session::ClientId;
use crate::time::{Now, SharedInstant, Span};
use crate::vector::Planar;

/// The objects that a client is to see and has not been told of.
///
/// The client's own and the nearest are announced first, but every fourth announcement is of the
/// object that has waited longest: a ship far away must not wait for ever behind bullets nearby.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    objects: BTreeSet<EntityId>,
    /// In the order of announcement, the next one last. May hold objects that no longer wait.
    order: Vec<EntityId>,
    /// In the order of waiting, the longest first. May hold objects that no longer wait.
    since: VecDeque<EntityId>,
    sorted_at: Option<SharedInstant>,
    popped: u32,
}

impl Waiting {
    /// How long an order of announcement holds: objects move, and clients get their first object.
    const SORT_EVERY: Span = Span::from_secs(1);

    /// How often the object that has waited longest is announced. Every second time, and most
    /// bullets are announced shortly before they end.
    const LONGEST_EVERY: u32 = 4;

    pub(super) fn add(&mut self, object: EntityId) {
        if self.objects.insert(object) {
            self.order.push(object);
            self.since.push_back(object);
        }
    }

    /// Returns whether the object waited.
    pub(super) fn remove(&mut self, object: EntityId) -> bool {
        self.objects.remove(&object)
    }

    /// Replaces all objects. The order stays until the next sorting, with new ones first.
    pub(super) fn replace(&mut self, objects: BTreeSet<EntityId>) {
        self.order.extend(objects.difference(&self.objects));
        self.since.extend(objects.difference(&self.objects));
        self.objects = objects;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.objects.len()
    }

    fn must_sort(&self, now: SharedInstant) -> bool {
        let is_old = self.sorted_at.is_none_or(|at| now - at >= Self::SORT_EVERY);
        let is_littered = self.order.len().max(self.since.len()) > 2 * self.objects.len() + 16;
        is_littered || (self.objects.len() > 1 && is_old)
    }

    fn pop(&mut self) -> Option<EntityId> {
        while let Some(object) = self.pop_any() {
            if self.objects.remove(&object) {
                self.popped = self.popped.wrapping_add(1);
                return Some(object);
            }
        }
        None
    }

    fn pop_any(&mut self) -> Option<EntityId> {
        if self.popped % Self::LONGEST_EVERY == Self::LONGEST_EVERY - 1 {
            self.since.pop_front()
        } else {
            self.order.pop()
        }
    }
}

impl<V: Planar> Server<V> {
    /// Announces objects to a client: its own first, then the nearest, within its byte budget.
    pub(super) fn page_in(&mut self, client: ClientId, now: SharedInstant) {
        loop {
            let Some(member) = self.members.get(&client) else { return };
            if member.waiting.must_sort(now) {
                self.sort_waiting(client, now);
            }
            let Some(member) = self.members.get_mut(&client) else { return };
            if !member.channel.has_room_for_page(Now::synchronised(now)) {
                return;
            }
            let Some(object) = member.waiting.pop() else { return };
            self.enter(client, object, now);
        }
    }

    fn sort_waiting(&mut self, client: ClientId, now: SharedInstant) {
        let Some(member) = self.members.get(&client) else { return };
        let position = |object: &EntityId| self.place(*object, now).map(|state| state.position);
        let eyes: Vec<V> = member.owned.iter().filter_map(position).collect();
        let far = |object: &EntityId| {
            let at = position(object).unwrap_or(V::ZERO);
            eyes.iter().map(|eye| eye.distance(at)).fold(f64::INFINITY, f64::min)
        };
        let mut order: Vec<(bool, f64, EntityId)> = member
            .waiting
            .objects
            .iter()
            .map(|object| (member.owned.contains(object), far(object), *object))
            .collect();
        // The last is announced first.
        order.sort_by(|one, other| {
            one.0.cmp(&other.0).then(other.1.total_cmp(&one.1)).then(other.2.cmp(&one.2))
        });
        let Some(member) = self.members.get_mut(&client) else { return };
        member.waiting.order = order.into_iter().map(|(_, _, object)| object).collect();
        let Waiting { objects, since, sorted_at, .. } = &mut member.waiting;
        since.retain(|object| objects.contains(object));
        *sorted_at = Some(now);
    }
}
