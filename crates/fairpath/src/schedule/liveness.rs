use super::dispatcher::{EntityRecord, ReceiverRecord};
use crate::clock::DelayEstimate;
use crate::ledger::Ledger;
use crate::number::ReceiverId;
use crate::time::{SharedInstant, Span};
use crate::vector::Planar;

/// What every receiver is guaranteed.
///
/// The dispatcher sends the newest DR vector to a receiver that the scheduler neglects: after
/// `silence_max` of silence; before its replica freezes on a moving entity; and repeatedly, while
/// an entity keeps to its path and the receiver has not acknowledged it. If the newest copy to a
/// receiver is found lost and the receiver is off because of it, the dispatcher retransmits at
/// once: one retransmission for every two acknowledged copies, and 64 for a new receiver, paid for
/// like any copy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Liveness {
    /// The longest time without a copy about an entity, for any receiver. Default 2 s.
    ///
    /// Shorter spends the budget on receivers without error: 1 s sends every standing entity to
    /// every receiver every second. Together with the longest delay it must be shorter than the
    /// horizon. Otherwise replicas of a living owner freeze until the copy arrives: 2 s leaves a
    /// second of the default 3 s for the delay.
    pub silence_max: Span,
    /// Once an entity has kept to its exported path for half of `silence_max`, receivers that are
    /// farther off than this are sent copies until one is acknowledged. In world units. Default
    /// 0.3, the tank's threshold.
    pub tolerance: f64,
}

impl Liveness {
    /// Default of [`silence_max`](Self::silence_max).
    pub const SILENCE_MAX: Span = Span::from_secs(2);
}

impl Default for Liveness {
    fn default() -> Self {
        Self { silence_max: Self::SILENCE_MAX, tolerance: 0.3 }
    }
}

/// The latest instant at which a receiver must be sent an entity, and when to check it again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Promise {
    pub(super) due: SharedInstant,
    pub(super) look_at: SharedInstant,
}

impl Liveness {
    /// Number of copies to a receiver that is off a steady entity, sent early enough to arrive
    /// within `silence_max` and a round trip. Eight: at 30 % loss all are lost once in 15 000.
    const REPEATS: i64 = 8;
    /// The longest delay for which a copy is sent early enough to arrive before a replica freezes:
    /// the far end of the links that we promise to serve. A replica farther away freezes now and
    /// then, instead of being sent copies all the time.
    const DELAY_MAX: Span = Span::from_secs(1);

    fn half(&self) -> Span {
        self.silence_max.halved()
    }

    /// The interval between repeats when time is short: all fit into half of the available time.
    fn gap(&self) -> Span {
        Span::from_micros(self.half().as_micros() / (2 * Self::REPEATS))
    }

    /// The first instant at which a copy can be due after a DR vector that freezes at `freezes_at`.
    #[inline]
    pub(super) fn next_look(
        &self,
        steady_since: SharedInstant,
        told_at: SharedInstant,
        freezes_at: SharedInstant,
    ) -> SharedInstant {
        let may_repeat = steady_since + self.half();
        let may_freeze = freezes_at - Self::DELAY_MAX;
        may_repeat.min(may_freeze).max(told_at + self.gap())
    }

    pub(super) fn promise<V: Planar>(
        &self,
        entity: &EntityRecord<V>,
        receiver: ReceiverId,
        book: &ReceiverRecord,
        now: SharedInstant,
    ) -> Promise {
        let (ledger, delay) = (&entity.ledger, &book.delay);
        let later = now + self.half();
        let Some(standing) = ledger.standing(receiver) else { return Promise { due: later, look_at: later } };
        let silent_since = standing.last_sent.unwrap_or(standing.joined);
        let mut due = silent_since + self.silence_max;
        let mut look_at = later;

        // No repeat is due before this: whether one is of use is judged then.
        let repeats_from = self.repeats_from(entity.steady_since, silent_since);
        if repeats_from > now {
            look_at = look_at.min(repeats_from);
        } else if self.wants_repeat(ledger, receiver, book, now) {
            let is_under_way = ledger.distance_if_nothing_sent(receiver, now) <= self.tolerance;
            due = due.min(self.repeat_at(entity.steady_since, silent_since, delay, is_under_way));
        }

        if let Some(freezes_at) = ledger.freezes_at(receiver) {
            let way = delay.high().unwrap_or(Span::ZERO).min(Self::DELAY_MAX);
            let in_time = (freezes_at - way).max(silent_since + self.gap());
            let at = freezes_at + self.silence_max;
            if in_time > now {
                look_at = look_at.min(in_time);
            } else if !standing.has_newest && ledger.distance_if_nothing_sent(receiver, at) > self.tolerance {
                due = due.min(in_time);
            }
        }
        Promise { due, look_at: due.min(look_at) }
    }

    /// Whether a receiver has not confirmed the path of a steady entity. A repeat does not help a
    /// receiver that would freeze on it, or one that does not listen.
    fn wants_repeat<V: Planar>(
        &self,
        ledger: &Ledger<V>,
        receiver: ReceiverId,
        book: &ReceiverRecord,
        now: SharedInstant,
    ) -> bool {
        let is_outdated = ledger.newest_freezes_at().is_none_or(|freezes_at| now > freezes_at);
        let is_of_use = !is_outdated && !book.responsiveness.is_unresponsive(now);
        is_of_use && !ledger.has_confirmed(receiver, self.tolerance, now)
    }

    /// The first instant at which a repeat can be due.
    fn repeats_from(&self, steady_since: SharedInstant, silent_since: SharedInstant) -> SharedInstant {
        (steady_since + self.half()).max(silent_since + self.gap())
    }

    /// Whether a receiver that lost its newest copy is sent the newest DR vector: it is off without
    /// it, or will be before the repeats for a steady entity begin.
    pub(super) fn wants_again<V: Planar>(
        &self,
        ledger: &Ledger<V>,
        receiver: ReceiverId,
        now: SharedInstant,
    ) -> bool {
        let is_off = |at| ledger.distance_if_nothing_sent(receiver, at) > self.tolerance;
        !ledger.is_outdated(now) && (is_off(now) || is_off(now + self.half()))
    }

    /// When a receiver that has not acknowledged a steady entity's path is sent a repeat. At once,
    /// after half of `silence_max`, if nothing right is under way. Otherwise there is time to wait
    /// for the receipt, so that a receiver without loss is sent one copy. If no receipt comes, all
    /// repeats are sent before the last moment at which a copy is in time.
    fn repeat_at(
        &self,
        steady_since: SharedInstant,
        silent_since: SharedInstant,
        delay: &DelayEstimate,
        is_under_way: bool,
    ) -> SharedInstant {
        let soonest = self.repeats_from(steady_since, silent_since);
        if !is_under_way {
            return soonest;
        }
        let round_trip = delay.high().map_or_else(|| self.half(), |high| high.scaled(2.0));
        let answered = soonest.max(silent_since + round_trip);
        let last = steady_since + self.silence_max + delay.mean().unwrap_or(Span::ZERO).max(Span::ZERO);
        let burst = last - Span::from_micros(self.gap().as_micros() * (Self::REPEATS - 1));
        if soonest > last {
            // A receiver that never answers gets no more than this.
            answered.max(silent_since + self.half())
        } else {
            answered.min(soonest.max(burst))
        }
    }
}
