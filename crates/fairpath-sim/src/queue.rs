//! Virtual time: planned events, in the order of time.

use std::collections::BTreeMap;

use fairpath::time::SharedInstant;

/// A queue of planned events, and a clock that jumps from one to the next.
///
/// Of two events at the same instant the one scheduled first comes first: without that rule a run
/// would not repeat. [`now`](Self::now) never goes backwards.
///
/// ```
/// use fairpath::time::SharedInstant;
/// use fairpath_sim::EventQueue;
///
/// let mut queue = EventQueue::new();
/// queue.schedule(SharedInstant::from_millis(20), "later");
/// queue.schedule(SharedInstant::from_millis(10), "sooner");
/// assert_eq!(queue.pop(), Some((SharedInstant::from_millis(10), "sooner")));
/// assert_eq!(queue.now(), SharedInstant::from_millis(10));
/// ```
#[derive(Clone, Debug)]
pub struct EventQueue<E> {
    now: SharedInstant,
    scheduled_count: u64,
    // A tree and not a heap: cancelling takes the event out at once, so nothing cancelled is ever
    // kept.
    waiting: BTreeMap<EventId, E>,
}

/// Names a scheduled event, to cancel it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventId {
    // The order of these fields is the order of events.
    at: SharedInstant,
    order: u64,
}

impl<E> EventQueue<E> {
    /// Creates an empty queue at time zero.
    pub fn new() -> Self {
        Self::starting_at(SharedInstant::ZERO)
    }

    /// Creates an empty queue at `now`. Recordings start below zero.
    pub fn starting_at(now: SharedInstant) -> Self {
        Self { now, scheduled_count: 0, waiting: BTreeMap::new() }
    }

    /// Returns the current instant: that of the newest event that was taken out.
    pub fn now(&self) -> SharedInstant {
        self.now
    }

    /// Schedules an event. An instant in the past means now.
    pub fn schedule(&mut self, at: SharedInstant, event: E) -> EventId {
        let id = EventId { at: at.max(self.now), order: self.scheduled_count };
        self.scheduled_count += 1;
        self.waiting.insert(id, event);
        id
    }

    /// Cancels an event and returns it; `None` if it has happened or was cancelled before.
    pub fn cancel(&mut self, id: EventId) -> Option<E> {
        self.waiting.remove(&id)
    }

    /// Returns when the next event is due.
    pub fn next_at(&self) -> Option<SharedInstant> {
        self.waiting.first_key_value().map(|(id, _)| id.at)
    }

    /// Jumps to the next event and returns it.
    pub fn pop(&mut self) -> Option<(SharedInstant, E)> {
        let (id, event) = self.waiting.pop_first()?;
        self.now = id.at;
        Some((id.at, event))
    }

    /// Jumps to the next event if it is due by `until` and returns it; else jumps to `until`.
    pub fn pop_until(&mut self, until: SharedInstant) -> Option<(SharedInstant, E)> {
        if self.next_at().is_some_and(|at| at <= until) {
            return self.pop();
        }
        self.now = self.now.max(until);
        None
    }

    /// Returns how many events wait.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Returns whether no event waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

impl<E> Default for EventQueue<E> {
    fn default() -> Self {
        Self::new()
    }
}
