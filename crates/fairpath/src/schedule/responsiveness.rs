use crate::time::{SharedInstant, Span};

/// Whether a receiver acknowledges the copies sent to it. A receiver that does not may be cut off
/// for a while, or may never listen; the sender cannot tell. A scheduler that favours the receiver
/// with the largest error, and repeats copies until they are acknowledged, would cost the others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Responsiveness {
    /// Number of copies sent since the last receipt.
    unacknowledged: u32,
    /// Credit for retransmissions: each receipt earns one, a retransmission costs
    /// [`Responsiveness::RETRANSMISSION_COST`].
    credit: u32,
    /// When the first of the unacknowledged copies was sent.
    since: SharedInstant,
}

impl Default for Responsiveness {
    fn default() -> Self {
        Self { unacknowledged: 0, credit: Self::CREDIT_NEW, since: SharedInstant::ZERO }
    }
}

impl Responsiveness {
    /// How long a receipt may take. 3 s: the longest round trip that we promise to serve, and half
    /// of it again in case the first copy is lost. Shorter, and honest receivers far away count as
    /// silent; longer, and the others pay for longer.
    const PATIENCE: Span = Span::from_secs(3);
    /// How many copies may stay without a receipt. Eight: at 30 % loss all are lost once in 15 000.
    const COPIES: u32 = 8;
    /// How many receipts a retransmission costs. Two: enough for a loss of a third of all copies. A
    /// receiver that denies copies is sent at most half as much again (by denying a third; a
    /// receiver that denies all of them earns nothing). One would be enough for a loss of half of
    /// them, and double what a liar gets.
    const RETRANSMISSION_COST: u32 = 2;
    /// The credit of a new receiver: 64 retransmissions. It drops what arrives before its clock is
    /// ready, and would otherwise wait for the next DR vector of each entity. More helps only those
    /// who see more entities, and can be had by joining again and again.
    const CREDIT_NEW: u32 = 128;
    /// The largest credit: 256 retransmissions, a long burst of lost datagrams.
    const CREDIT_MAX: u32 = 512;

    /// This many copies were sent at once.
    pub(super) fn handle_departures(&mut self, copies: usize, at: SharedInstant) {
        if copies > 0 && self.unacknowledged == 0 {
            self.since = at;
        }
        self.unacknowledged = self.unacknowledged.saturating_add(copies as u32);
    }

    /// A receipt acknowledged this many copies for the first time.
    pub(super) fn handle_receipts(&mut self, copies: usize) {
        self.unacknowledged = 0;
        self.credit = self.credit.saturating_add(copies as u32).min(Self::CREDIT_MAX);
    }

    /// Whether a copy reported lost may be retransmitted; if so, takes its cost off the credit.
    pub(super) fn spend_on_retransmission(&mut self) -> bool {
        let is_earned = self.credit >= Self::RETRANSMISSION_COST;
        if is_earned {
            self.credit -= Self::RETRANSMISSION_COST;
        }
        is_earned
    }

    /// Whether the receiver is taken to be not listening.
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
            responsiveness.handle_departures(1, at(100 * copy));
        }
        assert!(!responsiveness.is_unresponsive(at(3_000)) && responsiveness.is_unresponsive(at(3_001)));
        responsiveness.handle_receipts(1);
        assert!(!responsiveness.is_unresponsive(at(60_000)));
    }

    #[test]
    fn two_receipts_earn_a_repetition_and_not_without_bound() {
        let mut responsiveness = Responsiveness::default();
        let spend_all = |responsiveness: &mut Responsiveness| {
            (0..10_000).filter(|_| responsiveness.spend_on_retransmission()).count()
        };
        assert_eq!(spend_all(&mut responsiveness), 64, "the credit of a new receiver");
        responsiveness.handle_receipts(1);
        assert!(!responsiveness.spend_on_retransmission());
        responsiveness.handle_receipts(1);
        assert!(responsiveness.spend_on_retransmission() && !responsiveness.spend_on_retransmission());
        (0..10_000).for_each(|_| responsiveness.handle_receipts(1));
        assert_eq!(spend_all(&mut responsiveness), 256);
    }
}
