use super::deadlines::{Deadlines, NEVER};
use crate::number::{EntityId, ReceiverId};
use crate::time::SharedInstant;

/// The instant at which the dispatcher next checks the liveness of each pair of entity and
/// receiver. The latest instant by which a pair must be sent a copy changes with every trigger,
/// departure and receipt, but mostly to later. So it is not computed then. Each pair has a timer,
/// before which no copy can be due for it, and the pair is checked when the timer expires. A poll
/// costs nothing for the other pairs.
#[derive(Clone, Debug, Default)]
pub(super) struct LivenessTimers {
    deadlines: Deadlines<Vec<Timer>>,
}

/// One pair's timer. A receiver's row is ordered by entity.
#[derive(Clone, Copy, Debug)]
struct Timer {
    entity: EntityId,
    look_at: SharedInstant,
}

impl LivenessTimers {
    /// Checks a pair at `look_at`, or earlier if its timer expires earlier.
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

    /// Checks a pair at `look_at`, replacing its timer.
    pub(super) fn watch_anew(&mut self, entity: EntityId, receiver: ReceiverId, look_at: SharedInstant) {
        let Some(place) = self.deadlines.find(receiver) else { return };
        let row = self.deadlines.row_mut(place);
        let Ok(position) = row.binary_search_by_key(&entity, |timer| timer.entity) else { return };
        row[position].look_at = look_at;
        self.deadlines.set_due(place, first(self.deadlines.row(place)));
    }

    pub(super) fn poll_deadline(&self) -> Option<SharedInstant> {
        self.deadlines.first_due()
    }

    pub(super) fn due(&self, receiver: ReceiverId) -> Option<SharedInstant> {
        Some(self.deadlines.due(self.deadlines.position(receiver)?))
    }

    /// Checks the pairs of `receiver`, or of all receivers, whose timer has expired. `look` returns
    /// the next instant to check: by `now`, if a copy is due and stays due until it departs.
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

    pub(super) fn forget_pair(&mut self, entity: EntityId, receiver: ReceiverId) {
        if let Some(place) = self.deadlines.find(receiver) {
            let row = self.deadlines.row_mut(place);
            if let Ok(position) = row.binary_search_by_key(&entity, |timer| timer.entity) {
                row.remove(position);
            }
            self.deadlines.set_due(place, first(self.deadlines.row(place)));
        }
    }

    pub(super) fn forget(&mut self, receiver: ReceiverId) {
        self.deadlines.remove(receiver);
    }
}

fn first(row: &[Timer]) -> SharedInstant {
    row.iter().map(|timer| timer.look_at).min().unwrap_or(NEVER)
}
