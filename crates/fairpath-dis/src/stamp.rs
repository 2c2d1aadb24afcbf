//! Time stamps of DIS: what they say, and how far they can be trusted.
//!
//! A stamp counts 2³¹ units per hour, 1.676 µs each, from the last full hour, and begins anew every
//! hour. An *absolute* stamp counts from the hour of UTC, a *relative* one from any instant that
//! the sender chose. A gateway keeps one [`StampClock`] for each application and turns its stamps
//! into instants of the own clock.

use std::collections::VecDeque;

use fairpath::{LocalInstant, Span};

/// Units in an hour.
pub const UNITS_PER_HOUR: f64 = (1u64 << 31) as f64;
/// Microseconds in an hour.
pub const HOUR_US: f64 = 3_600_000_000.0;
/// One unit, in microseconds.
pub const UNIT_US: f64 = HOUR_US / UNITS_PER_HOUR;

/// An instant on two clocks of this machine: the session's own and UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instants {
    /// The session's own clock, which never jumps.
    pub local: LocalInstant,
    /// UTC, in microseconds since 1970. Only absolute stamps use it; its jumps do no other harm.
    pub unix_us: i64,
}

/// A stamp as it travels: 31 bits of time, and one that says what it counts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp(pub u32);

impl Stamp {
    /// Returns the stamp nearest to an instant, and how much later than the instant it is, in
    /// seconds: at most half a unit, 0.84 µs.
    pub fn of(instants: Instants, is_absolute: bool) -> (Self, f64) {
        let us = if is_absolute { instants.unix_us } else { instants.local.as_micros() };
        let past_hour = us.rem_euclid(HOUR_US as i64) as f64;
        let units = (past_hour / UNIT_US).round();
        let late = (units * UNIT_US - past_hour) * 1e-6;
        let units = units as u64 % (1 << 31);
        (Self((units as u32) << 1 | u32::from(is_absolute)), late)
    }

    /// Returns whether it counts from the hour of UTC.
    pub fn is_absolute(self) -> bool {
        self.0 & 1 == 1
    }

    /// Returns the time since the hour, in microseconds.
    pub fn past_hour_us(self) -> f64 {
        f64::from(self.0 >> 1) * UNIT_US
    }
}

/// How the instant of a PDU was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StampUse {
    /// From an absolute stamp: the sender's clock agrees with ours.
    Absolute,
    /// From the differences between stamps: relative stamps, or absolute ones of a clock that is
    /// wrong. The fastest of the recent PDUs counts as sent when it arrived, so positions lag by
    /// the delay of the network, which such stamps cannot reveal: below a millisecond in one
    /// building.
    Relative,
    /// From the arrival: the stamps do not advance. Positions lag and tremble with the network.
    #[default]
    Arrival,
}

impl StampUse {
    /// Returns a word for tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Absolute => "absolute",
            Self::Relative => "relative",
            Self::Arrival => "arrival",
        }
    }
}

/// The instant for which a PDU is true.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placed {
    /// The instant on the own clock, rounded down to a microsecond.
    pub at: LocalInstant,
    /// What the rounding left, in seconds: 0 to 1e-6.
    pub rest: f64,
    /// How it was found.
    pub by: StampUse,
}

/// What is known about the clock of one application.
#[derive(Clone, Debug, Default)]
pub struct StampClock {
    /// Delays from stamp to arrival, wrapped to ± half an hour about `reference`, in microseconds.
    absolute: Delays,
    relative: Delays,
    last: Option<(Stamp, LocalInstant)>,
    is_stuck: bool,
    by: StampUse,
    /// Mean difference of successive delays, in microseconds, as RTP computes it.
    jitter_us: f64,
    last_delay: Option<f64>,
}

/// Stamps of a good clock are at most this much older than their arrival: delay plus clock error.
const LATE_MAX_US: f64 = 1_000_000.0;
/// Stamps of a good clock are at most this much ahead of their arrival: clock error. The session
/// accepts states up to 100 ms ahead.
const AHEAD_MAX_US: f64 = 50_000.0;
/// A stamp that stays the same for longer is not a clock. Ten times a frame of a fast simulation.
const STUCK_AFTER: Span = Span::from_millis(100);

impl StampClock {
    /// Takes the stamp of a PDU that arrived now, and returns the instant for which it is true.
    pub fn place(&mut self, stamp: Stamp, arrival: Instants) -> Placed {
        self.notice_stuck(stamp, arrival.local);
        let relative =
            self.relative.hear(arrival.local.as_micros() as f64 - stamp.past_hour_us(), arrival.local);
        let absolute = self.absolute.hear(arrival.unix_us as f64 - stamp.past_hour_us(), arrival.local);
        if let Some(last) = self.last_delay {
            self.jitter_us += ((relative - last).abs().min(LATE_MAX_US) - self.jitter_us) / 16.0;
        }
        self.last_delay = Some(relative);
        self.by = if self.is_stuck {
            StampUse::Arrival
        } else if stamp.is_absolute() && self.absolute.is_of_a_good_clock() {
            StampUse::Absolute
        } else {
            StampUse::Relative
        };
        let age_us = match self.by {
            StampUse::Arrival => 0.0,
            StampUse::Relative => relative - self.relative.least(),
            StampUse::Absolute => wrapped(absolute + self.absolute.reference()),
        };
        let exact = arrival.local.as_micros() as f64 - age_us;
        let whole = exact.floor();
        Placed { at: LocalInstant::from_micros(whole as i64), rest: (exact - whole) * 1e-6, by: self.by }
    }

    fn notice_stuck(&mut self, stamp: Stamp, now: LocalInstant) {
        match self.last {
            Some((last, since)) if last == stamp => self.is_stuck |= now - since > STUCK_AFTER,
            _ => {
                self.is_stuck = false;
                self.last = Some((stamp, now));
            }
        }
    }

    /// Returns how instants are found now.
    pub fn by(&self) -> StampUse {
        self.by
    }

    /// Returns the mean difference between the delays of successive PDUs.
    pub fn jitter(&self) -> Span {
        Span::from_micros(self.jitter_us as i64)
    }

    /// Returns how old the youngest recent absolute stamp was on arrival: the delay plus the
    /// difference of the clocks. Negative: the sender's clock is ahead.
    pub fn offset(&self) -> Span {
        Span::from_micros(wrapped(self.absolute.least() + self.absolute.reference()) as i64)
    }

    /// Returns by how much instants may be wrong: for absolute stamps what the clocks are seen to
    /// disagree by, at least; otherwise the jitter, beside the delay of the network.
    pub fn uncertainty(&self) -> Span {
        let unit = Span::from_micros(2);
        match self.by {
            StampUse::Absolute => (-self.offset()).max(unit),
            StampUse::Relative | StampUse::Arrival => self.jitter().max(unit),
        }
    }
}

/// The least of the recent delays. An offset of the sender's clock is the same in all of them.
#[derive(Clone, Debug, Default)]
struct Delays {
    reference: Option<f64>,
    /// Candidates for the least delay, ascending in time and in delay.
    recent: VecDeque<(LocalInstant, f64)>,
}

/// How long a delay counts. 30 s: a clock that drifts by 50 ppm is off by 1.5 ms by then.
const WINDOW: Span = Span::from_secs(30);
/// Most delays remembered. Beyond it the oldest candidate is forgotten early.
const RECENT_MAX: usize = 64;

impl Delays {
    /// Takes a delay in microseconds, of which only the part within an hour means anything, and
    /// returns it relative to the reference.
    fn hear(&mut self, delay_us: f64, now: LocalInstant) -> f64 {
        let reference = *self.reference.get_or_insert_with(|| wrapped(delay_us));
        let mut delay = wrapped(delay_us - reference);
        if self.recent.front().is_some_and(|(_, least)| delay - least > LATE_MAX_US) {
            // The sender has restarted, or its clock was set back.
            self.recent.clear();
            self.reference = Some(wrapped(delay_us));
            delay = 0.0;
        }
        while self.recent.back().is_some_and(|(_, other)| *other >= delay) {
            self.recent.pop_back();
        }
        self.recent.push_back((now, delay));
        while self.recent.len() > RECENT_MAX || self.recent.front().is_some_and(|(at, _)| now - *at > WINDOW)
        {
            self.recent.pop_front();
        }
        delay
    }

    fn least(&self) -> f64 {
        self.recent.front().map_or(0.0, |(_, least)| *least)
    }

    fn reference(&self) -> f64 {
        self.reference.unwrap_or(0.0)
    }

    fn is_of_a_good_clock(&self) -> bool {
        (-AHEAD_MAX_US..=LATE_MAX_US).contains(&wrapped(self.least() + self.reference()))
    }
}

/// Returns the difference of two times within an hour: −30 to 30 minutes.
fn wrapped(us: f64) -> f64 {
    us - HOUR_US * (us / HOUR_US).round()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON_US: i64 = 1_700_000_000_000_000 / 3_600_000_000 * 3_600_000_000;

    fn at(us: i64) -> Instants {
        Instants { local: LocalInstant::from_micros(5_000_000 + us), unix_us: NOON_US + us }
    }

    #[test]
    fn stamps_are_within_half_a_unit_and_wrap_at_the_hour() {
        for us in [0, 1, 999_999, 3_599_999_998, 3_599_999_999, 3_600_000_000] {
            let (stamp, late) = Stamp::of(at(us), true);
            assert!(late.abs() <= 0.5e-6 * UNIT_US && stamp.is_absolute(), "{us}: {late}");
            assert!(wrapped(stamp.past_hour_us() - us as f64).abs() <= 0.5 * UNIT_US + 1e-6);
        }
        assert_eq!(Stamp::of(at(3_599_999_999_999 / 1000 + 1), true).0, Stamp::of(at(0), true).0);
    }

    #[test]
    fn absolute_stamps_hold_across_the_hour() {
        let mut clock = StampClock::default();
        for sent in (3_598_000_000..3_602_000_000).step_by(100_000) {
            let (stamp, _) = Stamp::of(at(sent), true);
            let placed = clock.place(stamp, at(sent + 3_000));
            assert_eq!(placed.by, StampUse::Absolute);
            assert!((placed.at - at(sent).local).abs() <= Span::from_micros(2), "{sent}");
        }
        assert!(clock.offset() >= Span::from_micros(2_990) && clock.offset() <= Span::from_micros(3_010));
    }

    #[test]
    fn an_absolute_stamp_of_a_wrong_clock_counts_as_relative() {
        let mut clock = StampClock::default();
        let mut worst = Span::ZERO;
        for number in 0..50 {
            let sent = number * 100_000;
            let (stamp, _) = Stamp::of(at(sent + 77_000_000), true);
            let delay = if number % 7 == 0 { 1_000 } else { 1_000 + 900 * (number % 5) };
            let placed = clock.place(stamp, at(sent + delay));
            assert_eq!(placed.by, StampUse::Relative);
            worst = worst.max((placed.at - at(sent + 1_000).local).abs());
        }
        assert!(worst <= Span::from_micros(3), "jitter is removed: {worst:?}");
    }

    #[test]
    fn relative_stamps_survive_a_restart_of_the_sender() {
        let mut clock = StampClock::default();
        for number in 0..40 {
            let (zero, sent) = (if number < 20 { 0 } else { 1_800_000_000 }, number * 50_000);
            let (stamp, _) = Stamp::of(at(sent + zero), false);
            let placed = clock.place(stamp, at(sent + 500));
            assert_eq!(placed.by, StampUse::Relative);
            assert!((placed.at - at(sent + 500).local).abs() <= Span::from_micros(3), "{number}");
        }
    }

    #[test]
    fn a_stamp_that_never_changes_is_not_a_clock() {
        let mut clock = StampClock::default();
        let mut by = StampUse::Absolute;
        for number in 0..20 {
            by = clock.place(Stamp(0), at(number * 40_000)).by;
        }
        assert_eq!(by, StampUse::Arrival);
    }
}
