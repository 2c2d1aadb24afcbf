//! How far a receiver's word is believed.
//!
//! Whoever says that everything reaches them late looks badly off, and is favoured. The sender cannot see when
//! something arrived, but it sees when the receipt came back: an arrival lies after the departure and before the
//! receipt by at least as long as the quickest way back takes. What a receiver says beyond that is cut to it, and who
//! is caught again and again is asked no more: half of each round trip counts as its delay, which no word can change.
//! Somebody who holds receipts back looks like an honest receiver far away; that gain cannot be taken away, only
//! capped: nobody's account counts for more than a multiple of what the others' do.

use crate::time::{SharedInstant, Span};

/// How far receivers are believed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trust {
    /// By how much the ways there and back may differ, as a part of half the round trip. Default 0.2.
    ///
    /// Too low, and receivers behind honestly lopsided links are booked too early; too high, and a liar gains: at
    /// 0.2 it can make a delay of 200 ms look like 240 ms at most.
    pub asymmetry: f64,
    /// Nobody's account counts for more than this many times the mean of the others'. Default 3.
    ///
    /// Too low, and who is honestly far away is not made up for it: at 800, 500 and 200 ms the farthest has about
    /// twice the others' mean. Too high, and one who holds receipts back takes more of the budget. Against schedulers
    /// that keep accounts alike it takes next to nothing from such a one: with three receivers and receipts held back for
    /// up to 2 s (experiment H) gains are the same with it and without.
    pub account_cap: f64,
}

impl Default for Trust {
    fn default() -> Self {
        Self { asymmetry: 0.2, account_cap: 3.0 }
    }
}

/// What became of a receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Booking {
    /// Booked as reported.
    Booked,
    /// Booked, but not when reported: that cannot be true, or it comes from somebody who was caught too often.
    Corrected,
    /// Already known, or no longer of interest.
    NoNews,
    /// It arrived before it was sent, or after now, or was never sent. Nothing changed.
    Impossible,
}

/// What the sender has measured of the way to a receiver and back.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Witness {
    quickest: Option<(Span, SharedInstant)>,
    /// Which share of its last words could not be true.
    doubt: f64,
    /// How long the way there takes by its word, and how long the way there and back takes, on average and in
    /// microseconds.
    averages: Option<(f64, f64)>,
}

impl Witness {
    /// How long a quickest round trip counts. Routes change; and a receiver that has always held its receipts back
    /// gains nothing by being quick once.
    const REMEMBERED: Span = Span::from_secs(30);

    /// Weight of the newest word in the doubt: the last eight count.
    const DOUBT_GAIN: f64 = 1.0 / 8.0;
    /// From this much doubt on nothing is believed: three lies in a row, or four among ten. Two are not enough, for
    /// who lags behind jitter that favours the way back says what cannot be true about once in ten times.
    const DOUBT_MAX: f64 = 0.3;

    /// Weight of the newest receipt in the averages: a few dozen count. Jitter of nearly the whole delay then moves the
    /// share of the way there by a twentieth.
    const AVERAGES_GAIN: f64 = 1.0 / 32.0;

    /// What a receiver said could be true, or could not.
    pub(super) fn handle_word(&mut self, is_credible: bool) {
        self.doubt += Self::DOUBT_GAIN * (f64::from(u8::from(!is_credible)) - self.doubt);
    }

    /// By a receiver's word something was on the way for `said`, and its receipt was back after `round_trip`.
    pub(super) fn handle_delay(&mut self, said: Span, round_trip: Span) {
        let newest = (said.as_micros() as f64, round_trip.as_micros() as f64);
        let (there, both) = self.averages.unwrap_or(newest);
        let gain = Self::AVERAGES_GAIN;
        self.averages = Some((there + gain * (newest.0 - there), both + gain * (newest.1 - both)));
    }

    /// Whether it said so much that cannot be true that its word counts for nothing. Behind jitter any single word may
    /// be true, yet not all of them: then it is the average that gives them away.
    pub(super) fn is_caught(&self, trust: &Trust) -> bool {
        let longest = 0.5 * (1.0 + trust.asymmetry);
        self.doubt > Self::DOUBT_MAX || self.averages.is_some_and(|(there, both)| there > longest * both)
    }

    /// A receipt came back after so long.
    pub(super) fn handle_round_trip(&mut self, round_trip: Span, now: SharedInstant) {
        let is_beaten =
            |(quickest, seen): (Span, SharedInstant)| round_trip <= quickest || now - seen > Self::REMEMBERED;
        if self.quickest.is_none_or(is_beaten) {
            self.quickest = Some((round_trip, now));
        }
    }

    /// When something can have arrived at the latest, if its receipt came at `now`.
    pub(super) fn latest_arrival(&self, trust: &Trust, now: SharedInstant) -> SharedInstant {
        let quickest = self.quickest.map_or(Span::ZERO, |(quickest, _)| quickest);
        now - quickest.scaled(0.5 * (1.0 - trust.asymmetry).clamp(0.0, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: i64) -> Span {
        Span::from_millis(millis)
    }

    #[test]
    fn a_delay_cannot_be_made_to_look_much_longer_than_half_the_round_trip() {
        let mut witness = Witness::default();
        let sent = SharedInstant::from_millis(1_000);
        let back = sent + ms(400);
        witness.handle_round_trip(ms(400), back);
        assert_eq!(witness.latest_arrival(&Trust::default(), back), sent + ms(240));
    }

    #[test]
    fn three_lies_in_a_row_are_too_many_and_honesty_is_believed_again() {
        let (mut witness, trust) = (Witness::default(), Trust::default());
        for _ in 0..3 {
            assert!(!witness.is_caught(&trust));
            witness.handle_word(false);
        }
        assert!(witness.is_caught(&trust));
        (0..2).for_each(|_| witness.handle_word(true));
        assert!(!witness.is_caught(&trust));
    }

    #[test]
    fn jitter_hides_a_lie_but_not_its_average() {
        let (mut liar, mut honest, trust) = (Witness::default(), Witness::default(), Trust::default());
        for there in [380, 20, 200, 300, 100].into_iter().cycle().take(100) {
            let round_trip = ms(there + 200);
            honest.handle_delay(ms(there), round_trip);
            liar.handle_delay(ms(2 * there).min(round_trip), round_trip);
        }
        assert!(liar.is_caught(&trust) && !honest.is_caught(&trust));
    }

    #[test]
    fn jitter_on_the_way_there_is_believed() {
        let mut witness = Witness::default();
        witness.handle_round_trip(ms(400), SharedInstant::from_millis(400));
        // This one took 180 ms longer, all of it on the way there: arrived after 380 of 580 ms.
        let sent = SharedInstant::from_millis(1_000);
        witness.handle_round_trip(ms(580), sent + ms(580));
        assert!(witness.latest_arrival(&Trust::default(), sent + ms(580)) >= sent + ms(380));
    }
}
