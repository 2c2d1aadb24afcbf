use std::collections::BTreeMap;

use fairpath::time::{SharedInstant, Span};

/// Holds messages for a presentation delay, so that every client presents them at the same instant.
///
/// A message that arrives early waits. As long as no client is farther away than the delay, all
/// present it at the same instant. A later one is presented at once, unless a newer one has been.
///
/// ```
/// use fairpath_compensate::Presentation;
/// use fairpath::time::{SharedInstant, Span};
///
/// let ms = SharedInstant::from_millis;
/// let delay = Span::from_millis(100);
/// let mut presentation = Presentation::new();
/// presentation.receive(ms(1_000), "door opens");
/// assert_eq!(presentation.poll(ms(1_099), delay), None);
/// assert_eq!(presentation.poll(ms(1_100), delay), Some((ms(1_000), "door opens")));
/// ```
#[derive(Clone, Debug)]
pub struct Presentation<T> {
    waiting: BTreeMap<SharedInstant, T>,
    presented: Option<SharedInstant>,
}

/// The maximum number of waiting messages; beyond it the oldest is dropped. 256: more than four
/// seconds at 60 messages a second.
pub const PRESENTATION_LEN_MAX: usize = 256;

impl<T> Presentation<T> {
    /// Creates an empty one.
    pub fn new() -> Self {
        Self { waiting: BTreeMap::new(), presented: None }
    }

    /// Takes a message about the instant `of`. Returns false if it is dropped: that instant or a
    /// later one has been presented, or it is a duplicate.
    pub fn receive(&mut self, of: SharedInstant, what: T) -> bool {
        if self.presented.is_some_and(|presented| of <= presented) || self.waiting.contains_key(&of) {
            return false;
        }
        self.waiting.insert(of, what);
        if self.waiting.len() > PRESENTATION_LEN_MAX {
            self.waiting.pop_first();
        }
        true
    }

    /// Returns the next message whose instant lies at least `delay` back, in the order of instants.
    pub fn poll(&mut self, now: SharedInstant, delay: Span) -> Option<(SharedInstant, T)> {
        let first = self.waiting.first_entry().filter(|first| *first.key() + delay <= now)?;
        let (of, what) = first.remove_entry();
        self.presented = Some(of);
        Some((of, what))
    }
}

impl<T> Default for Presentation<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_that_of_instants_and_late_is_at_once() {
        let ms = SharedInstant::from_millis;
        let delay = Span::from_millis(100);
        let mut presentation = Presentation::new();
        for of in [20, 0, 10] {
            assert!(presentation.receive(ms(of), of));
        }
        assert_eq!(presentation.poll(ms(110), delay), Some((ms(0), 0)));
        assert_eq!(presentation.poll(ms(110), delay), Some((ms(10), 10)));
        assert_eq!(presentation.poll(ms(110), delay), None);
        assert!(!presentation.receive(ms(5), 5), "something later has been shown");
        assert!(presentation.receive(ms(15), 15));
        assert_eq!(presentation.poll(ms(400), delay), Some((ms(15), 15)), "late, so at once");
        for of in 1_000..2_000 {
            presentation.receive(ms(of), of);
        }
        assert_eq!(presentation.waiting.len(), PRESENTATION_LEN_MAX);
    }
}
