use super::deadlines::{Deadlines, NEVER};
use crate::number::{EntityId, ReceiverId};
use crate::time::SharedInstant;

/// When to look at which pair of entity and receiver, so that nobody is forgotten.
///
/// What is promised to a pair changes with every trigger, departure and receipt, but mostly to
/// later. So nothing is worked out then: each pair has an instant before which nothing can be
/// promised to it, and is looked at when that has come. A poll costs nothing for those whose
/// instant has not.
#[derive(Clone, Debug, Default)]
pub(super) struct LivenessTimers {
    deadlines: Deadlines<Vec<Timer>>,
}

/// In the order of entities.
#[derive(Clone, Copy, Debug)]
struct Timer {
    entity: EntityId,
    look_at: SharedInstant,
}

impl LivenessTimers {
    /// Looks at a pair at `look_at`, or before if that was meant to be.
    pub(super) fn watch(&mut self, entity: EntityId, receiver: ReceiverId, look_at: SharedInstant) {
        let place = self.deadlines.find_or_insert(receiver);
        let row = self.deadlines.row_mut(place);
        match row.binary_search_by_key(&entity, |timer| timer.entity) {
            Ok(position) => row[position].look_at = row[position].look_at.min(look_at),
            Err(position) => row.insert(position, Timer { entity, look_at }),
        }
        if look_at < self.deadlines.due(place) {
            self.deadlines.set_due(place, look_at);
        }
    }

    /// Looks at a pair at `look_at`, whenever that was meant to be.
    pub(super) fn watch_anew(&mut self, entity: EntityId, receiver: ReceiverId, look_at: SharedInstant) {
        let Some(place) = self.deadlines.find(receiver) else { return };
        let row = self.deadlines.row_mut(place);
        let Ok(position) = row.binary_search_by_key(&entity, |timer| timer.entity) else { return };
        row[position].look_at = look_at;
        self.deadlines.set_due(place, first(self.deadlines.row(place)));
    }

    /// When the next pair is to be looked at.
    pub(super) fn poll_deadline(&self) -> Option<SharedInstant> {
        self.deadlines.first_due()
    }

    /// When the next one of this receiver is to be looked at.
    pub(super) fn due(&self, receiver: ReceiverId) -> Option<SharedInstant> {
        Some(self.deadlines.due(self.deadlines.position(receiver)?))
    }

    /// Looks at the pairs of `receiver`, or of anybody, whose instant has come. `look` says when to
    /// look again: by `now`, if what is promised is due and should stay so until it has left.
    pub(super) fn look(
        &mut self,
        receiver: Option<ReceiverId>,
        now: SharedInstant,
        mut look: impl FnMut(EntityId, ReceiverId) -> SharedInstant,
    ) {
        let mut place = match receiver {
            Some(receiver) => {
                self.deadlines.position(receiver).filter(|place| self.deadlines.due(*place) <= now)
            }
            None => self.deadlines.next_due(0, now),
        };
        while let Some(at) = place {
            let to = self.deadlines.receiver(at);
            let mut due = NEVER;
            for timer in self.deadlines.row_mut(at) {
                if timer.look_at <= now {
                    timer.look_at = look(timer.entity, to);
                }
                due = due.min(timer.look_at);
            }
            self.deadlines.set_due(at, due);
            place = if receiver.is_none() { self.deadlines.next_due(at + 1, now) } else { None };
        }
    }

    /// A pair is no more.
    pub(super) fn forget_pair(&mut self, entity: EntityId, receiver: ReceiverId) {
        if let Some(place) = self.deadlines.find(receiver) {
            let row = self.deadlines.row_mut(place);
            if let Ok(position) = row.binary_search_by_key(&entity, |timer| timer.entity) {
                row.remove(position);
            }
            self.deadlines.set_due(place, first(self.deadlines.row(place)));
        }
    }

    /// A receiver is gone.
    pub(super) fn forget(&mut self, receiver: ReceiverId) {
        self.deadlines.remove(receiver);
    }
}

fn first(row: &[Timer]) -> SharedInstant {
    row.iter().map(|timer| timer.look_at).min().unwrap_or(NEVER)
}
