//! Newest-state delivery: only the newest of each value is sent, repeated until the peer has it.

use std::collections::BTreeMap;

use super::channel::Announced;
use super::limits::SLOTS_MAX;
use super::message::{Call, Group, Part, Target};
use crate::number::EntityId;
use crate::time::{LocalInstant, Span};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Slot {
    /// A state group of an object.
    State(EntityId, u8),
    /// A method, called on a target.
    Call(Target, u32),
}

impl Slot {
    pub(super) fn object(self) -> Option<EntityId> {
        match self {
            Self::State(object, _) => Some(object),
            Self::Call(target, _) => target.object(),
        }
    }
}

/// Values that the peer does not have yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Newest {
    next_number: u64,
    waiting: BTreeMap<Slot, Value>,
}

#[derive(Clone, Debug)]
struct Value {
    number: u64,
    part: Part,
    sent_at: Option<LocalInstant>,
}

impl Newest {
    /// Returns a number above all given so far: its value is newer than all before.
    pub(super) fn number(&mut self) -> u64 {
        self.next_number += 1;
        self.next_number
    }

    pub(super) fn set_state(&mut self, object: EntityId, group: u8, bytes: Vec<u8>) {
        let number = self.number();
        let part = Part::State(object, Group { group, number, bytes });
        self.waiting.insert(Slot::State(object, group), Value { number, part, sent_at: None });
    }

    /// Replaces an earlier call to the same target and method. False if there are too many.
    pub(super) fn set_call(&mut self, call: Call) -> bool {
        let slot = Slot::Call(call.target, call.method);
        if self.calls() >= SLOTS_MAX && !self.waiting.contains_key(&slot) {
            return false;
        }
        let number = self.number();
        self.waiting.insert(slot, Value { number, part: Part::Newest(number, call), sent_at: None });
        true
    }

    pub(super) fn calls(&self) -> usize {
        self.waiting.range(Slot::Call(Target::Connection, 0)..).count()
    }

    /// Returns the values to send now, the longest waiting first: never sent, or sent `patience`
    /// ago and not confirmed. Values about objects that the peer does not know yet wait.
    pub(super) fn due(
        &self,
        patience: Span,
        unknown: &Announced,
        now: LocalInstant,
    ) -> Vec<(Slot, u64, &Part)> {
        if self.waiting.is_empty() {
            return Vec::new();
        }
        let sendable = self.sendable(unknown);
        let mut due: Vec<_> =
            sendable.filter(|(_, value)| value.sent_at.is_none_or(|at| now - at >= patience)).collect();
        due.sort_by_key(|(_, value)| (value.sent_at, value.number));
        due.into_iter().map(|(slot, value)| (*slot, value.number, &value.part)).collect()
    }

    /// Returns when [`due`](Self::due) has a value.
    pub(super) fn poll_deadline(&self, patience: Span, unknown: &Announced) -> Option<LocalInstant> {
        let at_once = LocalInstant::from_micros(i64::MIN);
        self.sendable(unknown).map(|(_, value)| value.sent_at.map_or(at_once, |at| at + patience)).min()
    }

    fn sendable(&self, unknown: &Announced) -> impl Iterator<Item = (&Slot, &Value)> {
        let is_known = |slot: &Slot| slot.object().is_none_or(|object| !unknown.contains_key(&object));
        self.waiting.iter().filter(move |(slot, _)| is_known(slot))
    }

    pub(super) fn on_sent(&mut self, slot: Slot, number: u64, now: LocalInstant) {
        if let Some(value) = self.waiting.get_mut(&slot).filter(|value| value.number == number) {
            value.sent_at = Some(now);
        }
    }

    /// Removes a value that the peer has; a newer one stays.
    pub(super) fn on_confirmed(&mut self, slot: Slot, number: u64) {
        if self.waiting.get(&slot).is_some_and(|value| value.number <= number) {
            self.waiting.remove(&slot);
        }
    }

    /// Starts over on a new transport: values in flight are lost.
    pub(super) fn rewind(&mut self) {
        self.waiting.values_mut().for_each(|value| value.sent_at = None);
    }

    /// Removes the values of an object that the peer no longer sees.
    pub(super) fn forget(&mut self, object: EntityId) {
        remove_of(&mut self.waiting, object);
    }

    pub(super) fn into_undelivered(self) -> Vec<Part> {
        self.waiting.into_values().map(|value| value.part).collect()
    }
}

/// The numbers of the newest values received.
#[derive(Clone, Debug, Default)]
pub(super) struct NewestReceived {
    numbers: BTreeMap<Slot, u64>,
}

/// There are more different newest-state calls than allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooManySlots;

impl NewestReceived {
    /// Returns whether this value is newer than all received before.
    pub(super) fn is_news(&mut self, slot: Slot, number: u64) -> Result<bool, TooManySlots> {
        if let Some(heard) = self.numbers.get_mut(&slot) {
            let is_news = number > *heard;
            *heard = number.max(*heard);
            return Ok(is_news);
        }
        let is_call = matches!(slot, Slot::Call(..));
        if is_call && self.numbers.range(Slot::Call(Target::Connection, 0)..).count() >= SLOTS_MAX {
            return Err(TooManySlots);
        }
        self.numbers.insert(slot, number);
        Ok(true)
    }

    pub(super) fn forget(&mut self, object: EntityId) {
        remove_of(&mut self.numbers, object);
    }
}

/// Removes the entries of an object. It reads only the object's own slots, because among many
/// objects that stay, some come and go every second.
fn remove_of<T>(slots: &mut BTreeMap<Slot, T>, object: EntityId) {
    let calls = |target| Slot::Call(target, 0)..=Slot::Call(target, u32::MAX);
    let places = [
        Slot::State(object, 0)..=Slot::State(object, u8::MAX),
        calls(Target::Owner(object)),
        calls(Target::Viewers(object)),
    ];
    for place in places {
        while let Some(slot) = slots.range(place.clone()).next().map(|(slot, _)| *slot) {
            slots.remove(&slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_is_about_an_object_is_forgotten_and_nothing_else() {
        let mut heard = NewestReceived::default();
        let targets = |object| [Target::Owner(object), Target::Viewers(object)];
        let slots_of = |object| {
            let states = [0, 7, u8::MAX].map(|group| Slot::State(object, group));
            let calls = targets(object).into_iter().flat_map(|to| [0, u32::MAX].map(|it| Slot::Call(to, it)));
            states.into_iter().chain(calls)
        };
        let all: Vec<Slot> = (1..=3).flat_map(|object| slots_of(EntityId(object))).collect();
        for slot in all.iter().chain(&[Slot::Call(Target::Connection, 5)]) {
            assert_eq!(heard.is_news(*slot, 1), Ok(true));
        }
        heard.forget(EntityId(2));
        let left = all.iter().filter(|slot| slot.object() != Some(EntityId(2))).count() + 1;
        assert_eq!(heard.numbers.len(), left);
        assert!(heard.numbers.keys().all(|slot| slot.object() != Some(EntityId(2))));
    }
}
