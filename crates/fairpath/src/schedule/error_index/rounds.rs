use super::super::Candidate;
use crate::time::{SharedInstant, Span};

/// When everybody would be told if all were told of every k-th DR vector, and who is told just then.
///
/// A copy is worth what it takes off an error, and of who is new or does not answer the error is not known: whoever looks
/// badly off because of that would be told at everybody's expense for as long as they like. So they get their turn in
/// rounds, like anybody would if all were treated alike, and cost the others no more than somebody who plays along.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rounds {
    first: Option<SharedInstant>,
    long_before: Option<SharedInstant>,
    before: Option<SharedInstant>,
    newest: Option<SharedInstant>,
    /// The newest or the one before: every other.
    other: Option<SharedInstant>,
}

/// For how long after joining somebody is told in rounds. 3 s: as long as an answer is waited for. Shorter, and who comes again
/// and again is told more than who stays; longer, and newcomers are told worse than others.
const NEW_FOR: Span = Span::from_secs(3);

impl Rounds {
    /// A round begins.
    pub(super) fn begin(&mut self, now: SharedInstant) {
        self.first.get_or_insert(now);
        self.long_before = self.before;
        self.before = self.newest.replace(now);
        if self.other != self.before || self.before.is_none() {
            self.other = Some(now);
        }
    }

    /// Whether somebody is told in rounds.
    pub(super) fn include(&self, candidate: &Candidate, now: SharedInstant) -> bool {
        !candidate.answers || self.is_new(candidate, now)
    }

    /// Whether it is the turn of somebody who is told in rounds.
    pub(super) fn is_due(&self, candidate: &Candidate) -> bool {
        let last = if candidate.answers { self.newest } else { self.other };
        // Who has just joined was told at once, instead of in the next round.
        let was_told = self.long_before.is_some_and(|before| candidate.standing.joined > before);
        !was_told && last.is_some_and(|last| candidate.silent_since < last)
    }

    /// When the entity itself is as new, nobody is.
    fn is_new(&self, candidate: &Candidate, now: SharedInstant) -> bool {
        let joined = candidate.standing.joined;
        now - joined < NEW_FOR && self.first.is_some_and(|first| joined > first)
    }
}
