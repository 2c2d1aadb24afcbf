use super::super::Candidate;
use super::super::deadlines::NEVER;
use crate::time::{SharedInstant, Span};

/// When all receivers would be sent an entity, if they were sent every k-th DR vector.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RoundRobin {
    first: Option<SharedInstant>,
    /// When the last three rounds began, the newest first.
    last: [Option<SharedInstant>; 3],
}

/// Which receivers are limited to one copy per round, and which of them may be sent one now. The
/// value of a copy is the error it avoids, but the error of a receiver that does not acknowledge,
/// or has only just joined, is not known. Such a receiver could look badly off for as long as it
/// likes, at the expense of all others. So it is sent at most one copy per round, as all would be
/// if treated alike, and costs the others no more than a cooperating receiver.
#[derive(Clone, Copy, Debug)]
pub(super) struct RoundLimit {
    /// When the round began.
    began: SharedInstant,
    /// A receiver that joined after this is new.
    new_since: SharedInstant,
    /// A receiver that joined after this is passed over.
    passed_over_since: SharedInstant,
}

/// How long after joining a receiver is limited to rounds. 3 s: the time allowed for a receipt.
/// Shorter, and a receiver that rejoins every other second is sent more than one that stays;
/// longer, and newcomers are served worse than the others for no reason.
const NEW_FOR: Span = Span::from_secs(3);

impl RoundRobin {
    pub(super) fn begin(&mut self, now: SharedInstant) {
        self.first.get_or_insert(now);
        self.last = [Some(now), self.last[0], self.last[1]];
    }

    /// The limit at `now`. When the entity itself is new, no receiver counts as new.
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
    /// Whether a receiver may be sent a copy that is worth its price: always if it acknowledges and
    /// is not new, otherwise if it was sent nothing since the round began. A receiver that joined
    /// was sent a copy at once, at the expense of the others, and is passed over twice for it: so a
    /// client that rejoins every second costs them as much as one that stays.
    pub(super) fn allows(&self, candidate: &Candidate) -> bool {
        let joined = candidate.standing.joined;
        let waits = !candidate.acknowledges || joined > self.new_since;
        !waits || candidate.silent_since < self.began && joined <= self.passed_over_since
    }
}
