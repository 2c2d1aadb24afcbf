use std::collections::VecDeque;

/// Keeps the newest state and every message that must not be missed.
///
/// A state is complete: only the newest matters, and reading an older one first would only add
/// delay. So there is one place for states, and a state older than the newest *arrived* is dropped.
/// Persistent messages (the start, the end) are never overwritten. They are read first, in the
/// order of their numbers as far as they have arrived.
///
/// ```
/// use fairpath_compensate::{Delivered, MailboxItem, Mailbox};
///
/// let mut mailbox = Mailbox::new();
/// mailbox.persistent(1, "start");
/// mailbox.state(3, "state 3");
/// assert_eq!(mailbox.state(2, "state 2"), Delivered::Stale);
/// mailbox.state(4, "state 4");
/// assert_eq!(mailbox.read(), Some(MailboxItem::Persistent("start")));
/// assert_eq!(mailbox.read(), Some(MailboxItem::State("state 4")));
/// assert_eq!(mailbox.read(), None);
/// ```
#[derive(Clone, Debug)]
pub struct Mailbox<T> {
    state: Option<T>,
    newest: Option<u64>,
    persistent: VecDeque<(u64, T)>,
    /// Numbers of arrived persistent messages, to recognise repeated ones.
    seen: VecDeque<u64>,
}

/// The maximum number of unread persistent messages, and of remembered numbers.
///
/// 64: they are starts and ends, and the receiver reads every frame. Beyond it messages are
/// refused, so a sender cannot flood the mailbox.
pub const PERSISTENT_MAX: usize = 64;

/// The result of storing a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivered {
    /// It waits to be read.
    Waiting,
    /// It waits to be read and replaced an older unread state.
    Overwrote,
    /// It or a newer one has arrived before. Dropped.
    Stale,
    /// There is no room, and nothing waiting is overwritten: the sender must repeat it.
    Full,
}

/// A message, as it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MailboxItem<T> {
    /// A message that is never overwritten.
    Persistent(T),
    /// The newest state.
    State(T),
}

impl<T> Mailbox<T> {
    /// Creates an empty mailbox.
    pub fn new() -> Self {
        Self { state: None, newest: None, persistent: VecDeque::new(), seen: VecDeque::new() }
    }

    /// Takes a state. Numbers must grow in the order of sending.
    pub fn state(&mut self, number: u64, state: T) -> Delivered {
        if self.newest.is_some_and(|newest| number <= newest) {
            return Delivered::Stale;
        }
        self.newest = Some(number);
        match self.state.replace(state) {
            Some(_) => Delivered::Overwrote,
            None => Delivered::Waiting,
        }
    }

    /// Takes a persistent message. Each counts once, even if newer states have arrived.
    pub fn persistent(&mut self, number: u64, message: T) -> Delivered {
        if self.seen.contains(&number) {
            return Delivered::Stale;
        }
        if self.persistent.len() == PERSISTENT_MAX {
            return Delivered::Full;
        }
        if self.seen.len() == PERSISTENT_MAX {
            self.seen.pop_front();
        }
        self.seen.push_back(number);
        let place = self.persistent.partition_point(|(waiting, _)| *waiting < number);
        self.persistent.insert(place, (number, message));
        Delivered::Waiting
    }

    /// Returns the next persistent message, or else the newest state, once.
    pub fn read(&mut self) -> Option<MailboxItem<T>> {
        match self.persistent.pop_front() {
            Some((_, message)) => Some(MailboxItem::Persistent(message)),
            None => self.state.take().map(MailboxItem::State),
        }
    }

    /// Forgets which states have arrived, because the sender counts anew. Persistent messages stay.
    pub fn restart(&mut self) {
        self.state = None;
        self.newest = None;
        self.seen.clear();
    }
}

impl<T> Default for Mailbox<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_never_goes_back() {
        let mut mailbox = Mailbox::new();
        assert_eq!(mailbox.state(5, 5), Delivered::Waiting);
        assert_eq!(mailbox.state(6, 6), Delivered::Overwrote);
        assert_eq!(mailbox.read(), Some(MailboxItem::State(6)));
        assert_eq!(mailbox.state(5, 5), Delivered::Stale, "though nothing waits");
        assert_eq!(mailbox.read(), None);
        mailbox.restart();
        assert_eq!(mailbox.state(0, 0), Delivered::Waiting);
    }

    #[test]
    fn persistent_messages_are_all_read_once_and_in_order() {
        let mut mailbox = Mailbox::new();
        mailbox.state(100, 100);
        for number in [9, 7, 8, 7, 9] {
            mailbox.persistent(number, number);
        }
        let read: Vec<u64> = std::iter::from_fn(|| mailbox.read())
            .map(|item| match item {
                MailboxItem::Persistent(number) | MailboxItem::State(number) => number,
            })
            .collect();
        assert_eq!(read, [7, 8, 9, 100]);
    }

    #[test]
    fn a_full_mailbox_refuses_rather_than_forgets() {
        let mut mailbox = Mailbox::new();
        for number in 0..1_000 {
            let delivered = mailbox.persistent(number, number);
            let expected = if number < PERSISTENT_MAX as u64 { Delivered::Waiting } else { Delivered::Full };
            assert_eq!(delivered, expected);
        }
        assert_eq!(mailbox.read(), Some(MailboxItem::Persistent(0)));
        assert_eq!(mailbox.persistent(1_000, 1_000), Delivered::Waiting);
    }
}
