//! Clocks with an offset and drift, as real ones have.

use fairpath::random::Random;
use fairpath::time::{LocalInstant, SharedInstant, Span};

/// One peer's own clock, as a function of the true time.
///
/// It has an offset, gains or loses a little every second, and can be stepped. It computes in
/// integers, so that a day of drift is the same on every machine. It answers for the present and
/// the future: after a fault, instants before it are answered as if it had always been there.
///
/// ```
/// use fairpath::time::{LocalInstant, SharedInstant, Span};
/// use fairpath_sim::SimClock;
///
/// // Three seconds ahead, and 50 µs more every second.
/// let clock = SimClock::new(Span::from_secs(3), 50.0);
/// let shown = clock.local(SharedInstant::from_millis(10_000));
/// assert_eq!(shown, LocalInstant::from_micros(13_000_500));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimClock {
    /// A true instant, and the time that the clock shows then.
    anchor: (SharedInstant, LocalInstant),
    drift_ppb: i64,
}

/// The strongest drift of a clock, in parts per million.
///
/// Real quartz is within ±100; a tenth is far beyond any clock. At −10⁶ time would stand still.
pub const DRIFT_PPM_MAX: f64 = 100_000.0;

const BILLION: i128 = 1_000_000_000;

impl SimClock {
    /// A clock that shows the true time.
    pub const PERFECT: Self = Self { anchor: (SharedInstant::ZERO, LocalInstant::ZERO), drift_ppb: 0 };

    /// A clock that shows `offset` at true time zero and gains `drift_ppm` microseconds per second.
    ///
    /// Drift: default 0, quartz ±20, bad ±100; in steps of 0.001, within ±[`DRIFT_PPM_MAX`].
    pub fn new(offset: Span, drift_ppm: f64) -> Self {
        Self { anchor: (SharedInstant::ZERO, LocalInstant::ZERO + offset), drift_ppb: to_ppb(drift_ppm) }
    }

    /// Draws the clock of a machine that nothing synchronises: off by up to a minute, and up to
    /// 50 ppm fast or slow.
    pub fn unsynchronised(random: &mut Random) -> Self {
        let offset = Span::from_secs_f64(random.between(-60.0, 60.0));
        Self::new(offset, random.between(-50.0, 50.0))
    }

    /// Returns the time that the clock shows at a true instant.
    pub fn local(&self, t: SharedInstant) -> LocalInstant {
        let (anchor, shown) = self.anchor;
        let elapsed = i128::from((t - anchor).as_micros()) * self.rate();
        shown + span_of(elapsed.div_euclid(BILLION))
    }

    /// Returns the first true instant at which the clock shows `local` or later.
    pub fn first_showing(&self, local: LocalInstant) -> SharedInstant {
        let (anchor, shown) = self.anchor;
        let elapsed = i128::from((local - shown).as_micros()) * BILLION;
        anchor + span_of(-(-elapsed).div_euclid(self.rate()))
    }

    /// Returns how far the clock is ahead of the true time; negative if it is behind.
    pub fn ahead(&self, t: SharedInstant) -> Span {
        self.local(t).since_zero() - t.since_zero()
    }

    /// Injects a fault: from true instant `t` on the clock shows `by` more. A negative span steps
    /// it backwards, as wall clocks do.
    pub fn step(&mut self, t: SharedInstant, by: Span) {
        self.anchor = (t, self.local(t) + by);
    }

    /// Injects a fault: from true instant `t` on the clock has another drift. It does not jump.
    pub fn set_drift(&mut self, t: SharedInstant, drift_ppm: f64) {
        self.anchor = (t, self.local(t));
        self.drift_ppb = to_ppb(drift_ppm);
    }

    /// Nanoseconds that the clock counts per true second.
    fn rate(&self) -> i128 {
        BILLION + i128::from(self.drift_ppb)
    }
}

impl Default for SimClock {
    fn default() -> Self {
        Self::PERFECT
    }
}

fn to_ppb(ppm: f64) -> i64 {
    (ppm.clamp(-DRIFT_PPM_MAX, DRIFT_PPM_MAX) * 1000.0).round() as i64
}

fn span_of(micros: i128) -> Span {
    let micros = micros.clamp(i128::from(i64::MIN), i128::from(i64::MAX));
    Span::from_micros(micros as i64)
}
