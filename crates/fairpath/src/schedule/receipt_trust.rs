//! How far a receiver's receipts are trusted.
//!
//! A receiver that reports late arrivals appears to have a large error, and is favoured. The sender
//! cannot see when a copy arrived, but it sees when the receipt came back: an arrival lies after
//! the departure, and before the receipt by at least the shortest way back. A report beyond that is
//! cut to it. A receiver that reports impossible arrivals again and again is distrusted: half of
//! each round trip counts as its delay, which no report can change.
//!
//! A receiver that holds receipts back looks like an honest one far away. Two limits apply:
//!
//! * The transport acknowledges datagrams on its own. If receipts take longer than its round trips
//!   ([`Dispatcher::on_transport_round_trip`](super::Dispatcher::on_transport_round_trip)), they
//!   were held back, and half of the *transport's* round trip counts.
//! * No delay above [`ReceiptTrust::delay_max`] counts: a receiver may delay the transport too.
//!
//! Silence gains nothing either: a receiver that has never reported for
//! [`ReceiptTrust::SILENCE_MAX`] no longer counts as new, and gets the transport's delay, or none.

use super::DispatcherConfig;
use crate::ledger::LATENESS_MAX;
use crate::time::{SharedInstant, Span};

/// How far receipts are trusted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReceiptTrust {
    /// How much mean delays may differ by direction, in half round trips. Default 0.1.
    ///
    /// A receiver that sets its clock by exchanges with the sender, as
    /// [`ClockSync`](crate::clock::ClockSync) does, sees half of the quickest round trip as its
    /// delay however asymmetric its link is: its clock is off by the rest. So this setting covers
    /// queues in one direction only. Too low, and arrivals behind such queues are booked too early;
    /// too high, and a dishonest receiver gains: at 0.1 it can make a delay of 200 ms look like 220
    /// ms at most, plus about two standard errors of the jitter in its mean.
    pub asymmetry: f64,
    /// The longest one-way delay that is accepted. Default 1 s, which is more than the papers'
    /// farthest receiver has with its jitter.
    ///
    /// Too low, and an honest receiver farther away is not compensated; too high, and a receiver
    /// that holds back receipts and the transport's acknowledgements gains more. At 1 s a receiver
    /// 200 ms away that holds back 1.6 s passes for one 1 s away, and its error is 77 % less
    /// (error-index, experiment `honesty`).
    pub delay_max: Span,
}

impl ReceiptTrust {
    /// How long a receiver without any receipt counts as new. 10 s: as late as receipts are booked
    /// exactly, and many times what the first receipt takes from anywhere.
    pub const SILENCE_MAX: Span = LATENESS_MAX;
}

impl Default for ReceiptTrust {
    fn default() -> Self {
        Self { asymmetry: 0.1, delay_max: Span::from_secs(1) }
    }
}

/// The result of a receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Booking {
    /// Booked as reported.
    Booked,
    /// Booked at another instant: the report cannot be true, or the receiver is distrusted.
    Corrected,
    /// Ignored: the arrival is already known, or the copy is forgotten.
    NoNews,
    /// Refused without a change: the copy was never sent, or arrived before that or after now.
    Impossible,
}

/// The sender's own measurements of a receiver's delays, against which its reports are checked.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReceiptAudit {
    quickest: Option<(Span, SharedInstant)>,
    /// Share of recent reports that cannot be true.
    doubt: f64,
    reported: ReportedDelays,
    /// The transport's round trips, in microseconds.
    transport: MovingMean,
    /// The receiver has reported that it acknowledged everything received before this.
    complete_until: Option<SharedInstant>,
}

/// Means over a receiver's reports, in microseconds.
#[derive(Clone, Copy, Debug, Default)]
struct ReportedDelays {
    /// The one-way delay as reported, and as accepted.
    said: MovingMean,
    believed: MovingMean,
    /// How long receipts take to come back.
    round_trip: MovingMean,
    /// The squared deviation of `said` from its mean, after subtracting half of the round trip's.
    variance: MovingMean,
}

/// What the sender makes of a report.
#[derive(Clone, Copy, Debug)]
pub(super) struct CheckedReport {
    /// The arrival as reported, between departure and now.
    pub(super) said: SharedInstant,
    /// The arrival that is booked.
    pub(super) believed: SharedInstant,
    /// Whether the report could be true.
    pub(super) is_credible: bool,
    /// Whether it is booked as reported.
    pub(super) is_as_said: bool,
}

/// A report that cannot be true.
#[derive(Clone, Copy, Debug)]
pub(super) struct ImpossibleReport;

impl ReceiptAudit {
    /// How long a quickest round trip counts. Routes change; and a receiver that has always held
    /// its receipts back gains nothing by being quick once.
    const REMEMBERED: Span = Span::from_secs(30);

    /// Weight of the newest report in the doubt: about the last eight count.
    const DOUBT_GAIN: f64 = 1.0 / 8.0;
    /// Doubt above which a receiver is distrusted: three untrue reports in a row, or four among
    /// ten. Two are not enough: an honest receiver behind jitter that favours the way back reports
    /// an impossible arrival about once in ten times.
    const DOUBT_MAX: f64 = 0.3;

    /// The smallest number of reports with a meaningful mean.
    const REPORTS_MIN: f64 = 8.0;
    /// By how many standard errors a mean must be too high to be no accident. Two: of honest
    /// receivers with the largest allowed asymmetry, one mean in forty is. It costs them little,
    /// because half of the round trip is what they report on average anyway.
    const ERRORS_MAX: f64 = 2.0;

    /// Checks the report that a datagram sent at `sent_at` arrived at `received_at`.
    pub(super) fn check(
        &mut self,
        config: &DispatcherConfig,
        sent_at: SharedInstant,
        received_at: SharedInstant,
        now: SharedInstant,
    ) -> Result<CheckedReport, ImpossibleReport> {
        let slack = config.clock_error_max;
        let is_impossible = received_at < sent_at - slack || received_at > now + slack;
        let is_distrusted = config.trust.is_some_and(|trust| self.is_distrusted(&trust));
        if is_impossible && !is_distrusted {
            return Err(ImpossibleReport);
        }
        self.handle_round_trip(now - sent_at, now);
        let said = received_at.min(now).max(sent_at);
        let Some(trust) = &config.trust else {
            let is_credible = !is_impossible;
            return Ok(CheckedReport { said, believed: said, is_credible, is_as_said: is_credible });
        };
        let latest = self.latest_arrival(trust, now);
        let possible =
            if is_distrusted { sent_at + self.likely_delay(now - sent_at) } else { said.min(latest) };
        let believed = possible.max(sent_at).min(sent_at + trust.delay_max);
        let is_consistent = !self.has_denied(received_at + slack);
        let is_credible = !is_impossible && is_consistent && received_at <= latest + slack;
        let is_as_said = is_credible && !is_distrusted && believed == said;
        Ok(CheckedReport { said, believed, is_credible, is_as_said })
    }

    /// Returns when a copy on a stream counts as arrived that was sent at `sent_at` and that the
    /// receiver says arrived at `arrived_at`; `None` if that cannot be. Streams wait for lost packets,
    /// so such reports say nothing about the delay of datagrams. A later arrival gains nothing: an
    /// announcement is the first copy, and no error counts before it.
    pub(super) fn check_announcement(
        &mut self,
        config: &DispatcherConfig,
        sent_at: SharedInstant,
        arrived_at: SharedInstant,
        now: SharedInstant,
    ) -> Option<SharedInstant> {
        let slack = config.clock_error_max;
        if arrived_at < sent_at - slack || arrived_at > now + slack {
            self.handle_report(false);
            return None;
        }
        let said = arrived_at.min(now).max(sent_at);
        let Some(trust) = &config.trust else { return Some(said) };
        Some(said.min(self.latest_arrival(trust, now)).max(sent_at))
    }

    /// A report could be true, or could not.
    pub(super) fn handle_report(&mut self, is_credible: bool) {
        self.doubt += Self::DOUBT_GAIN * (f64::from(u8::from(!is_credible)) - self.doubt);
    }

    /// A report of delay `said`, which counts as `believed`; its receipt came after `round_trip`.
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

    pub(super) fn handle_transport_round_trip(&mut self, round_trip: Span) {
        self.transport.add(micros(round_trip.max(Span::ZERO)));
    }

    /// The receiver reports that it has acknowledged everything that it received before `until`.
    pub(super) fn handle_complete(&mut self, until: SharedInstant) {
        self.complete_until = self.complete_until.max(Some(until));
    }

    /// Whether the receiver has reported before that nothing more arrived before this.
    pub(super) fn has_denied(&self, received_at: SharedInstant) -> bool {
        self.complete_until.is_some_and(|until| received_at < until)
    }

    /// Whether so many reports cannot be true that all are ignored. Behind jitter each single
    /// report may be possible, yet not all of them: then the mean reveals it.
    pub(super) fn is_distrusted(&self, trust: &ReceiptTrust) -> bool {
        let ReportedDelays { said, variance, .. } = &self.reported;
        let longest = 0.5 * (1.0 + trust.asymmetry) * self.round_trip();
        let error = (variance.value / said.counted()).sqrt();
        self.doubt > Self::DOUBT_MAX
            || said.count >= Self::REPORTS_MIN && said.value > longest + Self::ERRORS_MAX * error
    }

    /// The likely one-way delay, independent of reports, for a receipt after `round_trip`.
    pub(super) fn likely_delay(&self, round_trip: Span) -> Span {
        let half = round_trip.scaled(0.5);
        if self.transport.count > 0.0 {
            half.min(Span::from_micros((0.5 * self.round_trip()) as i64))
        } else {
            half
        }
    }

    pub(super) fn transport_delay(&self) -> Option<Span> {
        (self.transport.count > 0.0).then(|| Span::from_micros((0.5 * self.transport.value) as i64))
    }

    /// By how much the reported delays exceed the accepted ones on average.
    pub(super) fn overstatement(&self) -> Span {
        Span::from_micros((self.reported.said.value - self.reported.believed.value).max(0.0) as i64)
    }

    pub(super) fn handle_round_trip(&mut self, round_trip: Span, now: SharedInstant) {
        let is_beaten =
            |(quickest, seen): (Span, SharedInstant)| round_trip <= quickest || now - seen > Self::REMEMBERED;
        if self.quickest.is_none_or(is_beaten) {
            self.quickest = Some((round_trip, now));
        }
    }

    /// The latest possible arrival of a copy whose receipt came at `now`.
    pub(super) fn latest_arrival(&self, trust: &ReceiptTrust, now: SharedInstant) -> SharedInstant {
        let quickest = self.quickest.map_or(Span::ZERO, |(quickest, _)| quickest);
        now - quickest.scaled(0.5 * (1.0 - trust.asymmetry).clamp(0.0, 1.0))
    }

    /// The mean round trip, from the source that a receiver can delay least.
    fn round_trip(&self) -> f64 {
        let by_receipts = self.reported.round_trip.value;
        if self.transport.count > 0.0 { by_receipts.min(self.transport.value) } else { by_receipts }
    }
}

/// A mean in which recent numbers count most.
#[derive(Clone, Copy, Debug, Default)]
struct MovingMean {
    value: f64,
    count: f64,
}

impl MovingMean {
    /// Weight of the newest number, once there are as many: a minute of a busy tank's receipts.
    const GAIN: f64 = 1.0 / 128.0;

    fn add(&mut self, number: f64) {
        self.count += 1.0;
        self.value += Self::GAIN.max(1.0 / self.count) * (number - self.value);
    }

    /// The number of independent numbers whose mean is as certain.
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
        assert!(!liar.is_distrusted(&trust), "it looks like a receiver farther away");
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
