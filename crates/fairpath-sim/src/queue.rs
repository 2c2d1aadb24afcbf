//! Virtual time: what will happen, in the order in which it will.

use std::collections::BTreeMap;

use fairpath::time::SharedInstant;

/// Events waiting for their instant, and the clock that jumps from one to the next.
///
/// Of two events at the same instant the one scheduled first comes first: without that rule a run
/// would not repeat. `now` never runs backwards.
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
    // A tree and not a heap: cancelling takes the event out at once, so nothing cancelled is ever kept.
    waiting: BTreeMap<EventId, E>,
}

/// Names one scheduled event, so that it can be cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventId {
    // The order of these fields is the order of events.
    at: SharedInstant,
    order: u64,
}

impl<E> EventQueue<E> {
    /// Nothing to do, at time zero.
    pub fn new() -> Self {
        Self::starting_at(SharedInstant::ZERO)
    }

    /// Nothing to do, at `now`. Recordings start below zero.
    pub fn starting_at(now: SharedInstant) -> Self {
        Self { now, scheduled_count: 0, waiting: BTreeMap::new() }
    }

    /// The instant of the newest event that came out.
    pub fn now(&self) -> SharedInstant {
        self.now
    }

    /// Puts an event in. One that is due in the past happens now.
    pub fn schedule(&mut self, at: SharedInstant, event: E) -> EventId {
        let id = EventId { at: at.max(self.now), order: self.scheduled_count };
        self.scheduled_count += 1;
        self.waiting.insert(id, event);
        id
    }

    /// Takes an event back; `None` if it has happened or was cancelled before.
    pub fn cancel(&mut self, id: EventId) -> Option<E> {
        self.waiting.remove(&id)
    }

    /// When the next event is due.
    pub fn next_at(&self) -> Option<SharedInstant> {
        self.waiting.first_key_value().map(|(id, _)| id.at)
    }

    /// Jumps to the next event.
    pub fn pop(&mut self) -> Option<(SharedInstant, E)> {
        let (id, event) = self.waiting.pop_first()?;
        self.now = id.at;
        Some((id.at, event))
    }

    /// Jumps to the next event if it is due by `until`, else to `until` itself.
    pub fn pop_until(&mut self, until: SharedInstant) -> Option<(SharedInstant, E)> {
        if self.next_at().is_some_and(|at| at <= until) {
            return self.pop();
        }
        self.now = self.now.max(until);
        None
    }

    /// How many events wait.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether none does.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

impl<E> Default for EventQueue<E> {
    fn default() -> Self {
        Self::new()
    }
}
