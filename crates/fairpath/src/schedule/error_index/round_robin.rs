use super::super::Candidate;
use crate::time::{SharedInstant, Span};

/// When all would be told of an entity, if they were told of every k-th DR vector.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RoundRobin {
    first: Option<SharedInstant>,
    /// When the last three began, the newest first.
    last: [Option<SharedInstant>; 3],
}

/// Who must wait for a round, and whose turn it is.
///
/// A copy is worth what it takes off an error, and the error of who does not answer, or has only
/// just come, is not known. Such people can look badly off for as long as they like, at everybody's
/// expense. So they are told once in a round at most, as everybody would be if all were treated
/// alike, and cost the others no more than somebody who plays along.
#[derive(Clone, Copy, Debug)]
pub(super) struct RoundLimit {
    /// When the round began.
    began: SharedInstant,
    /// Who has joined since is new.
    new_since: SharedInstant,
    /// Who has joined since is passed over.
    passed_over_since: SharedInstant,
}

/// For how long after joining somebody waits for rounds.
///
/// 3 s: as long as an answer is waited for. Shorter, and who comes again every other second is told
/// more than who stays; longer, and newcomers are told worse than the others for no reason.
const NEW_FOR: Span = Span::from_secs(3);

const NEVER: SharedInstant = SharedInstant::from_micros(i64::MAX);

impl RoundRobin {
    /// A round begins.
    pub(super) fn begin(&mut self, now: SharedInstant) {
        self.first.get_or_insert(now);
        self.last = [Some(now), self.last[0], self.last[1]];
    }

    /// Whose turn it is. When the entity itself is new, nobody is.
    pub(super) fn turn(&self, now: SharedInstant) -> RoundLimit {
        let [newest, _, before] = self.last;
        RoundLimit {
            began: newest.unwrap_or(NEVER),
            new_since: self.first.map_or(NEVER, |first| first.max(now - NEW_FOR)),
            passed_over_since: before.unwrap_or(NEVER),
        }
    }
}

impl RoundLimit {
    /// Whether somebody may be told if it is worth it: who answers and is not new always, the
    /// others if they were not told since the round began.
    ///
    /// Who has joined was told at once, at the others' expense, and is passed over twice for it: a
    /// player who comes again every second then costs them as much as one who stays.
    pub(super) fn allows(&self, candidate: &Candidate) -> bool {
        let joined = candidate.standing.joined;
        let waits = !candidate.acknowledges || joined > self.new_since;
        !waits || candidate.silent_since < self.began && joined <= self.passed_over_since
    }
}
