use super::agenda::{Agenda, NEVER};
use crate::number::{EntityId, ReceiverId};
use crate::time::SharedInstant;

/// When to look at which pair of entity and receiver, so that nobody is forgotten.
///
/// What is promised to a pair changes with every trigger, departure and receipt, but mostly to
/// later. So nothing is worked out then: each pair has an instant before which nothing can be
/// promised to it, and is looked at when that has come. A poll costs nothing for those whose
/// instant has not.
#[derive(Clone, Debug, Default)]
pub(super) struct Promises {
    agenda: Agenda<Vec<Watched>>,
}

/// In the order of entities.
#[derive(Clone, Copy, Debug)]
struct Watched {
    entity: EntityId,
    look_at: SharedInstant,
}

impl Promises {
    /// Looks at a pair at `look_at`, or before if that was meant to be.
    pub(super) fn watch(&mut self, entity: EntityId, receiver: ReceiverId, look_at: SharedInstant) {
        let place = self.agenda.meet(receiver);
        let row = self.agenda.row_mut(place);
        match row.binary_search_by_key(&entity, |watched| watched.entity) {
            Ok(position) => row[position].look_at = row[position].look_at.min(look_at),
            Err(position) => row.insert(position, Watched { entity, look_at }),
        }
        if look_at < self.agenda.due(place) {
            self.agenda.set_due(place, look_at);
        }
    }

    /// Looks at a pair at `look_at`, whenever that was meant to be.
    pub(super) fn watch_anew(&mut self, entity: EntityId, receiver: ReceiverId, look_at: SharedInstant) {
        let Some(place) = self.agenda.find(receiver) else { return };
        let row = self.agenda.row_mut(place);
        let Ok(position) = row.binary_search_by_key(&entity, |watched| watched.entity) else { return };
        row[position].look_at = look_at;
        self.agenda.set_due(place, first(self.agenda.row(place)));
    }

    /// When the next pair is to be looked at.
    pub(super) fn poll_deadline(&self) -> Option<SharedInstant> {
        self.agenda.first_due()
    }

    /// When the next one of this receiver is to be looked at.
    pub(super) fn due(&self, receiver: ReceiverId) -> Option<SharedInstant> {
        Some(self.agenda.due(self.agenda.position(receiver)?))
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
            Some(receiver) => self.agenda.position(receiver).filter(|place| self.agenda.due(*place) <= now),
            None => self.agenda.next_due(0, now),
        };
        while let Some(at) = place {
            let to = self.agenda.receiver(at);
            let mut due = NEVER;
            for watched in self.agenda.row_mut(at) {
                if watched.look_at <= now {
                    watched.look_at = look(watched.entity, to);
                }
                due = due.min(watched.look_at);
            }
            self.agenda.set_due(at, due);
            place = if receiver.is_none() { self.agenda.next_due(at + 1, now) } else { None };
        }
    }

    /// A pair is no more.
    pub(super) fn forget_pair(&mut self, entity: EntityId, receiver: ReceiverId) {
        if let Some(place) = self.agenda.find(receiver) {
            let row = self.agenda.row_mut(place);
            if let Ok(position) = row.binary_search_by_key(&entity, |watched| watched.entity) {
                row.remove(position);
            }
            self.agenda.set_due(place, first(self.agenda.row(place)));
        }
    }

    /// A receiver is gone.
    pub(super) fn forget(&mut self, receiver: ReceiverId) {
        self.agenda.remove(receiver);
    }
}

fn first(row: &[Watched]) -> SharedInstant {
    row.iter().map(|watched| watched.look_at).min().unwrap_or(NEVER)
}
