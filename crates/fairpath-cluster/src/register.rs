//! One key of the store, as one writer sees it.

use fairpath::time::{LocalInstant, Span};

use crate::record::{Key, Record, Revision, ServerId, WriteId};
use fairpath::vector::Planar;

/// Names a request to the store. A zone never uses one twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

/// A request to the store.
#[derive(Clone, Debug, PartialEq)]
pub struct StoreRequest<V: Planar> {
    /// The name that the answer must carry.
    pub id: RequestId,
    /// The key.
    pub key: Key,
    /// What to do with it.
    pub operation: Operation<V>,
}

/// What to do with a key of the store.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation<V: Planar> {
    /// Write the record if the key's newest revision is `expected`; [`Revision::NONE`]: if it has
    /// none.
    CompareAndSet {
        /// The new record.
        record: Box<Record<V>>,
        /// The revision that must be the newest.
        expected: Revision,
    },
    /// Read the newest record known to the node that answers.
    Read,
}

/// The store's answer to a request. No answer within the time of the configuration is an answer
/// too.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer<V: Planar> {
    /// The write was committed.
    Committed(Revision),
    /// Another revision than the expected one was the newest, possibly a copy of this very write.
    Refused,
    /// What a read found.
    Found(Option<(Revision, Box<Record<V>>)>),
}

/// Gives out names of requests and writes.
#[derive(Clone, Debug)]
pub(crate) struct Numbers {
    pub(crate) server: ServerId,
    next: u64,
}

impl Numbers {
    pub(crate) fn new(server: ServerId) -> Self {
        Self { server, next: 1 }
    }

    fn take(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    pub(crate) fn request(&mut self) -> RequestId {
        RequestId(self.take())
    }

    pub(crate) fn write(&mut self) -> WriteId {
        WriteId { server: self.server, number: self.take() }
    }
}

/// A write whose outcome is not known yet.
#[derive(Clone, Debug)]
pub(crate) struct Attempt<M> {
    pub(crate) write: WriteId,
    request: RequestId,
    expected: Revision,
    /// Just before the request was sent.
    pub(crate) sent_at: LocalInstant,
    pub(crate) meaning: M,
}

/// One key of the store: the newest known revision and the writes that may become the next.
#[derive(Clone, Debug)]
pub(crate) struct Register<M> {
    pub(crate) known: Revision,
    attempts: Vec<Attempt<M>>,
    /// The request that is awaited, and until when.
    awaited: Option<(RequestId, LocalInstant)>,
    /// The last write was refused or not answered: read before the next write.
    must_read: bool,
    /// A write in doubt was forgotten, because there were too many.
    has_forgotten: bool,
}

/// Most writes in doubt that are remembered. One more a second comes up while the store is down.
const ATTEMPTS_MAX: usize = 16;

/// What an answer or a sighting decided.
#[derive(Debug)]
pub(crate) enum Outcome<M> {
    /// This write of ours is committed, at [`Register::known`].
    Committed(Attempt<M>),
    /// The newest revision is another server's.
    Overtaken,
    /// Nothing new.
    Open,
}

impl<M> Register<M> {
    pub(crate) fn at(known: Revision) -> Self {
        Self { known, attempts: Vec::new(), awaited: None, must_read: false, has_forgotten: false }
    }

    /// A key that is read before it is written.
    pub(crate) fn unread() -> Self {
        Self { must_read: true, ..Self::at(Revision::NONE) }
    }

    /// Returns whether nothing is awaited and no write is in doubt.
    pub(crate) fn is_settled(&self) -> bool {
        self.awaited.is_none() && self.attempts.is_empty() && !self.must_read
    }

    /// Returns whether the key may be written now.
    pub(crate) fn is_free(&self) -> bool {
        self.awaited.is_none() && !self.must_read
    }

    /// Returns whether the key must be read before it is written again.
    pub(crate) fn needs_read(&self) -> bool {
        self.awaited.is_none() && self.must_read
    }

    /// Returns whether [`attempts`](Self::attempts) lacks a write in doubt.
    pub(crate) fn has_forgotten(&self) -> bool {
        self.has_forgotten
    }

    pub(crate) fn attempts(&self) -> impl Iterator<Item = &Attempt<M>> {
        self.attempts.iter()
    }

    /// Notes a write that is about to be sent.
    pub(crate) fn on_write(
        &mut self,
        (request, write): (RequestId, WriteId),
        meaning: M,
        now: LocalInstant,
        within: Span,
    ) {
        if self.attempts.len() == ATTEMPTS_MAX {
            self.attempts.remove(0);
            self.has_forgotten = true;
        }
        self.attempts.push(Attempt { write, request, expected: self.known, sent_at: now, meaning });
        self.awaited = Some((request, now + within));
    }

    /// Notes a read that is about to be sent.
    pub(crate) fn on_read(&mut self, request: RequestId, now: LocalInstant, within: Span) {
        self.must_read = true;
        self.awaited = Some((request, now + within));
    }

    /// Gives up on an answer that is overdue.
    pub(crate) fn handle_tick(&mut self, now: LocalInstant) {
        if self.awaited.is_some_and(|(_, until)| now >= until) {
            self.awaited = None;
            self.must_read = true;
        }
    }

    pub(crate) fn handle_committed(&mut self, request: RequestId, revision: Revision) -> Outcome<M> {
        self.stop_awaiting(request);
        let Some(place) = self.attempts.iter().position(|attempt| attempt.request == request) else {
            return Outcome::Open;
        };
        self.settle(place, revision)
    }

    pub(crate) fn handle_refused(&mut self, request: RequestId) {
        if self.stop_awaiting(request) {
            self.must_read = true;
        }
    }

    /// Handles the answer of a read: like a sighting, but it ends the wait for it.
    pub(crate) fn handle_found(
        &mut self,
        request: RequestId,
        found: Option<(Revision, WriteId)>,
    ) -> Outcome<M> {
        if self.stop_awaiting(request) {
            self.must_read = false;
        }
        found.map_or(Outcome::Open, |(revision, write)| self.handle_seen(revision, write))
    }

    /// Handles a revision that a read or the watch has shown, possibly an old one.
    pub(crate) fn handle_seen(&mut self, revision: Revision, write: WriteId) -> Outcome<M> {
        if revision <= self.known {
            return Outcome::Open;
        }
        match self.attempts.iter().position(|attempt| attempt.write == write) {
            Some(place) => self.settle(place, revision),
            None => {
                self.known = revision;
                self.forget_before(revision);
                Outcome::Overtaken
            }
        }
    }

    /// Attempts compared with an older revision can no longer be committed.
    fn settle(&mut self, place: usize, revision: Revision) -> Outcome<M> {
        let attempt = self.attempts.swap_remove(place);
        if revision <= self.known {
            return Outcome::Open;
        }
        self.known = revision;
        self.forget_before(revision);
        if self.attempts.is_empty() {
            self.awaited = None;
            self.must_read = false;
        }
        Outcome::Committed(attempt)
    }

    fn forget_before(&mut self, revision: Revision) {
        self.attempts.retain(|attempt| attempt.expected >= revision);
        self.has_forgotten = false;
    }

    fn stop_awaiting(&mut self, request: RequestId) -> bool {
        let is_awaited = self.awaited.is_some_and(|(awaited, _)| awaited == request);
        if is_awaited {
            self.awaited = None;
        }
        is_awaited
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: LocalInstant = LocalInstant::ZERO;
    const WITHIN: Span = Span::from_millis(100);

    fn writing(numbers: &mut Numbers) -> (Register<u8>, RequestId, WriteId) {
        let mut register = Register::at(Revision(5));
        let (request, write) = (numbers.request(), numbers.write());
        register.on_write((request, write), 7, NOW, WITHIN);
        (register, request, write)
    }

    #[test]
    fn a_lost_answer_is_found_by_reading() {
        let mut numbers = Numbers::new(ServerId(1));
        let (mut register, _, write) = writing(&mut numbers);
        register.handle_tick(NOW + WITHIN);
        assert!(register.needs_read());
        let read = numbers.request();
        register.on_read(read, NOW, WITHIN);
        let outcome = register.handle_found(read, Some((Revision(9), write)));
        assert!(matches!(outcome, Outcome::Committed(attempt) if attempt.meaning == 7));
        assert!(register.is_settled() && register.known == Revision(9));
    }

    #[test]
    fn a_refusal_does_not_disprove_the_first_copy_of_a_write() {
        let mut numbers = Numbers::new(ServerId(1));
        let (mut register, request, write) = writing(&mut numbers);
        register.handle_refused(request);
        assert!(register.needs_read() && register.attempts().count() == 1);
        let outcome = register.handle_seen(Revision(9), write);
        assert!(matches!(outcome, Outcome::Committed(_)));
    }

    #[test]
    fn a_stale_read_leaves_the_write_in_doubt() {
        let mut numbers = Numbers::new(ServerId(1));
        let (mut register, request, _) = writing(&mut numbers);
        register.handle_refused(request);
        let read = numbers.request();
        register.on_read(read, NOW, WITHIN);
        let old = (Revision(5), WriteId { server: ServerId(2), number: 1 });
        assert!(matches!(register.handle_found(read, Some(old)), Outcome::Open));
        assert!(!register.is_settled() && register.is_free());
    }

    #[test]
    fn a_newer_revision_of_another_server_ends_all_attempts() {
        let mut numbers = Numbers::new(ServerId(1));
        let (mut register, _, _) = writing(&mut numbers);
        let other = WriteId { server: ServerId(2), number: 1 };
        assert!(matches!(register.handle_seen(Revision(6), other), Outcome::Overtaken));
        assert_eq!(register.attempts().count(), 0);
    }
}
