use super::super::Candidate;
use crate::time::{SharedInstant, Span};

/// When all would be told of an entity, if they were told of every k-th DR vector, and who is told just then.
///
/// A copy is worth what it takes off an error, and the error of who does not answer, or has only just come, is not known.
/// Such people look badly off, and would be told at everybody's expense for as long as they like. So they get their turn in
/// rounds, as everybody would if all were treated alike, and cost the others no more than somebody who plays along.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rounds {
    first: Option<SharedInstant>,
    /// When the last three began, the newest first.
    last: [Option<SharedInstant>; 3],
}

/// For how long after joining somebody is told in rounds.
///
/// 3 s: as long as an answer is waited for. Shorter, and who comes again every other second is told more than who stays; longer,
/// and newcomers are told worse than the others for no reason.
const NEW_FOR: Span = Span::from_secs(3);

impl Rounds {
    /// A round begins.
    pub(super) fn begin(&mut self, now: SharedInstant) {
        self.first.get_or_insert(now);
        self.last = [Some(now), self.last[0], self.last[1]];
    }

    /// Whether somebody is told in rounds.
    pub(super) fn include(&self, candidate: &Candidate, now: SharedInstant) -> bool {
        !candidate.answers || self.is_new(candidate, now)
    }

    /// Whether it is the turn of somebody who is told in rounds, and was not told since the last began.
    ///
    /// Who has joined was told at once, at the others' expense, and is passed over twice for it: a player who comes again
    /// every second then costs them as much as one who stays.
    pub(super) fn is_due(&self, candidate: &Candidate) -> bool {
        let [newest, _, before] = self.last;
        let has_just_joined = before.is_some_and(|before| candidate.standing.joined > before);
        !has_just_joined && newest.is_some_and(|newest| candidate.silent_since < newest)
    }

    /// When the entity itself is as new, nobody is.
    fn is_new(&self, candidate: &Candidate, now: SharedInstant) -> bool {
        let joined = candidate.standing.joined;
        now - joined < NEW_FOR && self.first.is_some_and(|first| joined > first)
    }
}
