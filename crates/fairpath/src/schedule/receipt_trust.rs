//! How far a receiver's word is believed.
//!
//! Whoever says that everything reaches them late looks badly off, and is favoured. The sender
//! cannot see when something arrived, but it sees when the receipt came back: an arrival lies after
//! the departure and before the receipt by at least as long as the quickest way back takes. What a
//! receiver says beyond that is cut to it, and who is caught again and again is asked no more: half
//! of each round trip counts as its delay, which no word can change.
//!
//! Somebody who holds receipts back looks like an honest receiver far away. Two things bound what
//! that gains:
//!
//! * The transport acknowledges datagrams on its own, and by its round trips
//!   ([`Dispatcher::on_transport_round_trip`](super::Dispatcher::on_transport_round_trip)) receipts
//!   that took longer were held back: then half of the *transport's* round trip counts.
//! * Nobody is believed to be farther away than [`ReceiptTrust::delay_max`], for whoever makes the
//!   transport wait too.
//!
//! And silence is no better: who has never reported anything for [`ReceiptTrust::SILENCE_MAX`] is
//! no beginner any more, and is taken to be where the transport says, or next door.

use crate::ledger::LATENESS_MAX;
use crate::time::{SharedInstant, Span};

/// How far receivers are believed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReceiptTrust {
    /// By how much the ways there and back may differ on average, as a part of half the round trip.
    /// Default 0.1.
    ///
    /// A receiver whose clock is set by exchanges with the sender, as
    /// [`ClockSync`](crate::clock::ClockSync) does it, sees half of the quickest round trip as
    /// its delay however lopsided its link is: its clock is off by the rest. So this is for
    /// queues that one way has and the other has not. Too low, and receivers behind such queues are
    /// booked too early; too high, and a liar gains: at 0.1 it can make a delay of 200 ms look like
    /// 220 ms at most, and about two standard errors of what jitter does to its average.
    pub asymmetry: f64,
    /// No one-way delay longer than this is believed. Default 1 s, which is more than the papers'
    /// farthest receiver has with its jitter.
    ///
    /// Too low, and who is honestly farther away is not made up for it; too high, and who holds
    /// back receipts, and the transport's acknowledgements with them, gains more. At 1 s
    /// somebody 200 ms away who holds back 1.6 s passes for one 1 s away, and its error is 77 %
    /// less (error-index, experiment H).
    pub delay_max: Span,
}

impl ReceiptTrust {
    /// For how long somebody who has not reported anything is spared for being new. 10 s: as late
    /// as receipts are booked exactly, and many times what the first takes from anywhere.
    pub const SILENCE_MAX: Span = LATENESS_MAX;
}

impl Default for ReceiptTrust {
    fn default() -> Self {
        Self { asymmetry: 0.1, delay_max: Span::from_secs(1) }
    }
}

/// What became of a receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Booking {
    /// Booked as reported.
    Booked,
    /// Booked, but not when reported: that cannot be true, or it comes from somebody who was caught
    /// too often.
    Corrected,
    /// Already known, or no longer of interest.
    NoNews,
    /// It arrived before it was sent, or after now, or was never sent. Nothing changed.
    Impossible,
}

/// What the sender has measured of the way to a receiver and back.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReceiptAudit {
    quickest: Option<(Span, SharedInstant)>,
    /// Which share of its last words could not be true.
    doubt: f64,
    reported: ReportedDelays,
    /// How long the transport's round trips take, in microseconds, and how many were counted.
    transport: MovingMean,
    /// It has said that there is nothing it received before this and has not reported.
    complete_until: Option<SharedInstant>,
}

/// Averages over a receiver's words, in microseconds.
#[derive(Clone, Copy, Debug, Default)]
struct ReportedDelays {
    /// How long the way there takes by its word, and by what is believed of it.
    said: MovingMean,
    believed: MovingMean,
    /// How long its receipts take to come back.
    round_trip: MovingMean,
    /// The square of what `said` is off its average, less half of the round trip's.
    variance: MovingMean,
}

impl ReceiptAudit {
    /// How long a quickest round trip counts. Routes change; and a receiver that has always held
    /// its receipts back gains nothing by being quick once.
    const REMEMBERED: Span = Span::from_secs(30);

    /// Weight of the newest word in the doubt: the last eight count.
    const DOUBT_GAIN: f64 = 1.0 / 8.0;
    /// From this much doubt on nothing is believed: three lies in a row, or four among ten. Two are
    /// not enough, for who lags behind jitter that favours the way back says what cannot be
    /// true about once in ten times.
    const DOUBT_MAX: f64 = 0.3;

    /// Fewer words than this have no average worth judging.
    const WORDS_MIN: f64 = 8.0;
    /// By how many standard errors an average must be too high to be no accident. Two: one average
    /// in forty is, of honest receivers whose ways differ by all that is allowed. It costs them
    /// little, as half of the round trip is what they say on average anyway.
    const ERRORS_MAX: f64 = 2.0;

    /// What a receiver said could be true, or could not.
    pub(super) fn handle_report(&mut self, is_credible: bool) {
        self.doubt += Self::DOUBT_GAIN * (f64::from(u8::from(!is_credible)) - self.doubt);
    }

    /// By a receiver's word something was on the way for `said`, which counts as `believed`; its
    /// receipt was back after `round_trip`.
    pub(super) fn handle_delay(&mut self, said: Span, believed: Span, round_trip: Span) {
        let said = micros(said);
        self.reported.said.add(said);
        self.reported.believed.add(micros(believed));
        self.reported.round_trip.add(micros(round_trip));
        let half =
            if self.transport.count > 0.0 { 0.5 * self.round_trip() } else { 0.5 * micros(round_trip) };
        let off = (said - half) - (self.reported.said.value - 0.5 * self.round_trip());
        self.reported.variance.add(off * off);
    }

    /// The transport measured a round trip.
    pub(super) fn handle_transport_round_trip(&mut self, round_trip: Span) {
        self.transport.add(micros(round_trip.max(Span::ZERO)));
    }

    /// It says that it has reported everything that it received before `until`.
    pub(super) fn handle_complete(&mut self, until: SharedInstant) {
        self.complete_until = self.complete_until.max(Some(until));
    }

    /// Whether it has said before that nothing more arrived before this.
    pub(super) fn has_denied(&self, received_at: SharedInstant) -> bool {
        self.complete_until.is_some_and(|until| received_at < until)
    }

    /// Whether it said so much that cannot be true that its word counts for nothing. Behind jitter
    /// any single word may be true, yet not all of them: then it is the average that gives them
    /// away.
    pub(super) fn is_distrusted(&self, trust: &ReceiptTrust) -> bool {
        let ReportedDelays { said, variance, .. } = &self.reported;
        let longest = 0.5 * (1.0 + trust.asymmetry) * self.round_trip();
        let error = (variance.value / said.counted()).sqrt();
        self.doubt > Self::DOUBT_MAX
            || said.count >= Self::WORDS_MIN && said.value > longest + Self::ERRORS_MAX * error
    }

    /// How long the way there likely took, whatever its receiver says, if the receipt was back
    /// after `round_trip`.
    pub(super) fn likely_delay(&self, round_trip: Span) -> Span {
        let half = round_trip.scaled(0.5);
        if self.transport.count > 0.0 {
            half.min(Span::from_micros((0.5 * self.round_trip()) as i64))
        } else {
            half
        }
    }

    /// How long the way there takes by what the transport says alone.
    pub(super) fn transport_delay(&self) -> Option<Span> {
        (self.transport.count > 0.0).then(|| Span::from_micros((0.5 * self.transport.value) as i64))
    }

    /// By how much a receiver says on average that things arrive later than is believed of them.
    pub(super) fn overstatement(&self) -> Span {
        Span::from_micros((self.reported.said.value - self.reported.believed.value).max(0.0) as i64)
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
    pub(super) fn latest_arrival(&self, trust: &ReceiptTrust, now: SharedInstant) -> SharedInstant {
        let quickest = self.quickest.map_or(Span::ZERO, |(quickest, _)| quickest);
        now - quickest.scaled(0.5 * (1.0 - trust.asymmetry).clamp(0.0, 1.0))
    }

    /// What the way there and back takes on average, as far as nobody can hold it back.
    fn round_trip(&self) -> f64 {
        let by_receipts = self.reported.round_trip.value;
        if self.transport.count > 0.0 { by_receipts.min(self.transport.value) } else { by_receipts }
    }
}

/// An average of which the newest part counts.
#[derive(Clone, Copy, Debug, Default)]
struct MovingMean {
    value: f64,
    count: f64,
}

impl MovingMean {
    /// Weight of the newest number, once there are as many: about a minute of a busy tank's
    /// receipts.
    const GAIN: f64 = 1.0 / 128.0;

    fn add(&mut self, number: f64) {
        self.count += 1.0;
        self.value += Self::GAIN.max(1.0 / self.count) * (number - self.value);
    }

    /// As many independent numbers have as certain an average.
    fn counted(&self) -> f64 {
        self.count.clamp(1.0, 2.0 / Self::GAIN - 1.0)
    }
}

fn micros(span: Span) -> f64 {
    span.as_micros() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: i64) -> Span {
        Span::from_millis(millis)
    }

    #[test]
    fn a_delay_cannot_be_made_to_look_much_longer_than_half_the_round_trip() {
        let mut audit = ReceiptAudit::default();
        let sent = SharedInstant::from_millis(1_000);
        let back = sent + ms(400);
        audit.handle_round_trip(ms(400), back);
        assert_eq!(audit.latest_arrival(&ReceiptTrust::default(), back), sent + ms(220));
    }

    #[test]
    fn three_lies_in_a_row_are_too_many_and_honesty_is_believed_again() {
        let (mut audit, trust) = (ReceiptAudit::default(), ReceiptTrust::default());
        for _ in 0..3 {
            assert!(!audit.is_distrusted(&trust));
            audit.handle_report(false);
        }
        assert!(audit.is_distrusted(&trust));
        (0..2).for_each(|_| audit.handle_report(true));
        assert!(!audit.is_distrusted(&trust));
    }

    #[test]
    fn jitter_hides_a_lie_but_not_its_average() {
        let (mut liar, mut honest, trust) =
            (ReceiptAudit::default(), ReceiptAudit::default(), ReceiptTrust::default());
        for there in [380, 20, 200, 300, 100].into_iter().cycle().take(100) {
            let round_trip = ms(there + 200);
            honest.handle_delay(ms(there), ms(there), round_trip);
            let said = ms(2 * there).min(round_trip);
            liar.handle_delay(said, said, round_trip);
        }
        assert!(liar.is_distrusted(&trust) && !honest.is_distrusted(&trust));
    }

    #[test]
    fn who_holds_receipts_back_is_found_out_by_the_transport() {
        let (mut liar, trust) = (ReceiptAudit::default(), ReceiptTrust::default());
        let said = |audit: &mut ReceiptAudit| {
            for _ in 0..20 {
                // 200 ms away, but everything is answered a second late, as if it were 700 ms away.
                audit.handle_delay(ms(700), ms(700), ms(1_400));
            }
        };
        said(&mut liar);
        assert!(!liar.is_distrusted(&trust), "nobody can tell it from somebody farther away");
        for jitter in [-50, 50, 0].into_iter().cycle().take(30) {
            liar.handle_transport_round_trip(ms(400 + jitter));
        }
        assert!(liar.is_distrusted(&trust));
        assert_eq!(liar.likely_delay(ms(1_400)), ms(200));
    }

    #[test]
    fn who_has_reported_everything_cannot_remember_more() {
        let mut audit = ReceiptAudit::default();
        audit.handle_complete(SharedInstant::from_millis(500));
        assert!(audit.has_denied(SharedInstant::from_millis(499)));
        assert!(!audit.has_denied(SharedInstant::from_millis(500)));
    }

    #[test]
    fn jitter_on_the_way_there_is_believed() {
        let mut audit = ReceiptAudit::default();
        audit.handle_round_trip(ms(400), SharedInstant::from_millis(400));
        // This one took 180 ms longer, all of it on the way there: arrived after 380 of 580 ms.
        let sent = SharedInstant::from_millis(1_000);
        audit.handle_round_trip(ms(580), sent + ms(580));
        assert!(audit.latest_arrival(&ReceiptTrust::default(), sent + ms(580)) >= sent + ms(380));
    }
}
