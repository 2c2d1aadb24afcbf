use crate::time::{SharedInstant, Span};

/// Whether a receiver confirms what is sent to it.
///
/// Who does not can be cut off for a while, or never listen: nobody can tell. Where copies go to
/// whoever looks worst off, and are repeated until they are confirmed, others would pay for either.
#[derive(Clone, Copy, Debug)]
pub(super) struct Responsiveness {
    /// How many copies have left since the last receipt came.
    unacknowledged: u32,
    /// What may be repeated for it: each of its receipts earns one, and a repetition costs
    /// [`Responsiveness::RETRANSMISSION_COST`].
    credit: u32,
    /// When the first of the unacknowledged left.
    since: SharedInstant,
}

impl Default for Responsiveness {
    fn default() -> Self {
        Self { unacknowledged: 0, credit: 0, since: SharedInstant::ZERO }
    }
}

impl Responsiveness {
    /// For how long a receipt may be awaited.
    ///
    /// 3 s: the longest round trip that we promise to serve, and half of it again should the first
    /// copy be lost. Shorter, and honest receivers far away are taken for silent; longer, and
    /// the others pay for longer.
    const PATIENCE: Span = Span::from_secs(3);
    /// How many copies it may take. Eight: at 30 % loss all of them are lost once in fifteen
    /// thousand times.
    const COPIES: u32 = 8;
    /// How many receipts a repetition costs. Two: enough for a third of all copies to be lost, and
    /// who denies that copies came is told half as much again at most (by denying a third; who
    /// denies all of them earns nothing). One would do for half of them, and double what a liar
    /// gets.
    const RETRANSMISSION_COST: u32 = 2;
    /// What can be saved up: 256 repetitions, some burst of lost datagrams.
    const CREDIT_MAX: u32 = 512;

    /// A copy left.
    pub(super) fn handle_departure(&mut self, at: SharedInstant) {
        if self.unacknowledged == 0 {
            self.since = at;
        }
        self.unacknowledged = self.unacknowledged.saturating_add(1);
    }

    /// A receipt came that was news.
    pub(super) fn handle_receipt(&mut self) {
        self.unacknowledged = 0;
        self.credit = (self.credit + 1).min(Self::CREDIT_MAX);
    }

    /// Whether something that is said to be lost may be repeated; if so, it is paid for.
    pub(super) fn spend_on_retransmission(&mut self) -> bool {
        let is_earned = self.credit >= Self::RETRANSMISSION_COST;
        if is_earned {
            self.credit -= Self::RETRANSMISSION_COST;
        }
        is_earned
    }

    /// Whether it is time to believe that nobody listens.
    pub(super) fn is_unresponsive(&self, now: SharedInstant) -> bool {
        self.unacknowledged >= Self::COPIES && now - self.since > Self::PATIENCE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_copies_and_three_seconds_without_an_answer_are_silence() {
        let at = SharedInstant::from_millis;
        let mut responsiveness = Responsiveness::default();
        for copy in 0..8 {
            assert!(!responsiveness.is_unresponsive(at(60_000)), "after {copy} copies");
            responsiveness.handle_departure(at(100 * copy));
        }
        assert!(!responsiveness.is_unresponsive(at(3_000)) && responsiveness.is_unresponsive(at(3_001)));
        responsiveness.handle_receipt();
        assert!(!responsiveness.is_unresponsive(at(60_000)));
    }

    #[test]
    fn two_receipts_earn_a_repetition_and_not_without_bound() {
        let mut responsiveness = Responsiveness::default();
        assert!(!responsiveness.spend_on_retransmission(), "nothing was ever confirmed");
        responsiveness.handle_receipt();
        assert!(!responsiveness.spend_on_retransmission());
        responsiveness.handle_receipt();
        assert!(responsiveness.spend_on_retransmission() && !responsiveness.spend_on_retransmission());
        (0..10_000).for_each(|_| responsiveness.handle_receipt());
        assert_eq!((0..10_000).filter(|_| responsiveness.spend_on_retransmission()).count(), 256);
    }
}
