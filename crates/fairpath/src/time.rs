//! Time in whole microseconds; the type names the clock.
//!
//! A [`LocalInstant`] is read on this machine's own monotonic clock and is never sent. A
//! [`SharedInstant`] lies on the timeline that all peers agree on and is what the wire carries. The
//! types do not mix: only [`ClockSync`](crate::clock::ClockSync) converts between them, and it
//! states its uncertainty.
//!
//! Instants are integers, so that a recording, a test and a browser can write down the same
//! instant, and signed, because recordings start before their own zero.

use std::ops::{Add, AddAssign, Neg, Sub, SubAssign};

/// A length of time, possibly negative, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(i64);

impl Span {
    /// A span of no time.
    pub const ZERO: Self = Self(0);
    /// The longest span, 292 000 years.
    pub const MAX: Self = Self(i64::MAX);

    /// Returns a span of whole microseconds.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Returns a span of whole milliseconds.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis.saturating_mul(1_000))
    }

    /// Returns a span of whole seconds.
    pub const fn from_secs(secs: i64) -> Self {
        Self(secs.saturating_mul(1_000_000))
    }

    /// Returns the whole microsecond nearest to `secs` seconds. NaN becomes zero; values out of
    /// range saturate.
    pub fn from_secs_f64(secs: f64) -> Self {
        Self((secs * 1e6).round() as i64)
    }

    /// Returns the span in microseconds.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// Returns the span in seconds.
    ///
    /// A product, not a quotient: fast, and batch and single placement must round alike.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 * 1e-6
    }

    /// Returns the span in milliseconds.
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 * 1e-3
    }

    /// Returns the span without its sign.
    pub const fn abs(self) -> Self {
        Self(self.0.saturating_abs())
    }

    /// Returns the nearest multiple of `step`, ties upward. Panics if `step` is not positive.
    pub fn rounded_to(self, step: Self) -> Self {
        assert!(step.0 > 0, "step must be positive");
        Self(self.0.saturating_add(step.0 / 2).div_euclid(step.0).saturating_mul(step.0))
    }

    /// Returns half of the span, as [`scaled`](Self::scaled) by 0.5 does.
    pub(crate) const fn halved(self) -> Self {
        Self((self.0 + self.0 % 2) / 2)
    }

    /// Returns the span times `factor`, to the nearest microsecond.
    pub fn scaled(self, factor: f64) -> Self {
        Self((self.0 as f64 * factor).round() as i64)
    }
}

impl Add for Span {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Span {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl SubAssign for Span {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl Neg for Span {
    type Output = Self;
    fn neg(self) -> Self {
        Self(self.0.saturating_neg())
    }
}

macro_rules! instant {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(i64);

        impl $name {
            /// The zero of this clock.
            pub const ZERO: Self = Self(0);

            /// Returns the instant this many microseconds after the clock's zero.
            pub const fn from_micros(micros: i64) -> Self {
                Self(micros)
            }

            /// Returns the instant this many milliseconds after the clock's zero.
            pub const fn from_millis(millis: i64) -> Self {
                Self(millis.saturating_mul(1_000))
            }

            /// Returns the instant `secs` after the clock's zero, to the nearest microsecond.
            pub fn from_secs_f64(secs: f64) -> Self {
                Self::ZERO + Span::from_secs_f64(secs)
            }

            /// Returns the microseconds since the clock's zero.
            pub const fn as_micros(self) -> i64 {
                self.0
            }

            /// Returns the seconds since the clock's zero.
            pub fn as_secs_f64(self) -> f64 {
                Span(self.0).as_secs_f64()
            }

            /// Returns the span since the clock's zero.
            pub const fn since_zero(self) -> Span {
                Span(self.0)
            }
        }

        impl Add<Span> for $name {
            type Output = Self;
            fn add(self, span: Span) -> Self {
                Self(self.0.saturating_add(span.0))
            }
        }

        impl Sub<Span> for $name {
            type Output = Self;
            fn sub(self, span: Span) -> Self {
                Self(self.0.saturating_sub(span.0))
            }
        }

        impl Sub for $name {
            type Output = Span;
            fn sub(self, earlier: Self) -> Span {
                Span(self.0.saturating_sub(earlier.0))
            }
        }

        impl AddAssign<Span> for $name {
            fn add_assign(&mut self, span: Span) {
                *self = *self + span;
            }
        }
    };
}

instant! {
    /// An instant on *this* machine's clock. Never sent over the wire.
    LocalInstant
}

instant! {
    /// An instant on the timeline that all peers agree on. The wire carries these.
    SharedInstant
}

/// One instant as both clocks show it. Stamps frames and arrivals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// The instant on this machine's clock.
    pub local: LocalInstant,
    /// The instant on the shared clock, as estimated by this machine.
    pub shared: SharedInstant,
}

impl Now {
    /// Returns an instant at which both clocks show the same: for simulations, recordings, and a
    /// server, because a server's clock *is* the shared clock.
    pub const fn synchronised(shared: SharedInstant) -> Self {
        Self { local: LocalInstant(shared.0), shared }
    }
}

impl Add<Span> for Now {
    type Output = Self;
    fn add(self, span: Span) -> Self {
        Self { local: self.local + span, shared: self.shared + span }
    }
}

/// A fixed number of ticks per second, without drift: tick k begins at ⌊k·10⁶/rate⌋ µs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TickRate {
    hertz: u32,
}

impl TickRate {
    /// Returns a rate of `hertz` ticks per second. Panics if `hertz` is zero.
    pub const fn hz(hertz: u32) -> Self {
        assert!(hertz > 0, "a tick rate must be at least 1 Hz");
        Self { hertz }
    }

    /// Returns the ticks per second.
    pub const fn as_hz(self) -> u32 {
        self.hertz
    }

    /// Returns the beginning of tick number `tick`, counted from zero.
    pub const fn begin(self, tick: i64) -> Span {
        let micros = (tick as i128 * 1_000_000).div_euclid(self.hertz as i128);
        Span(micros as i64)
    }

    /// Returns the tick that runs at `at`: the last tick that begins no later than `at`.
    pub const fn running_at(self, at: Span) -> i64 {
        // Tick k begins no later than `at` exactly if k·10⁶ < (at + 1)·rate, both in whole numbers.
        let reached = (at.0 as i128 + 1) * self.hertz as i128;
        (reached - 1).div_euclid(1_000_000) as i64
    }

    /// Returns the length of a tick in seconds.
    pub fn step_secs(self) -> f64 {
        1.0 / f64::from(self.hertz)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_a_span_is_that_span_scaled() {
        for micros in [0, 1, -1, 2, -2, 3, -3, 1_999_999, 2_000_000, -(1 << 50) + 1] {
            let span = Span::from_micros(micros);
            assert_eq!(span.halved(), span.scaled(0.5), "of {micros}");
        }
    }

    #[test]
    fn ticks_do_not_drift() {
        let sixty = TickRate::hz(60);
        assert_eq!(sixty.begin(1), Span::from_micros(16_666));
        assert_eq!(sixty.begin(60), Span::from_secs(1));
        assert_eq!(sixty.begin(60 * 3600), Span::from_secs(3600));
        assert_eq!(sixty.begin(-1), Span::from_micros(-16_667), "recordings start below zero");
    }

    #[test]
    fn a_tick_runs_until_the_next_begins() {
        for rate in [1, 7, 60, 144, 1_000_000].map(TickRate::hz) {
            for tick in (-200..200).chain([-1_234_567_890, 1_234_567_890]) {
                assert_eq!(rate.running_at(rate.begin(tick)), tick);
                assert_eq!(rate.running_at(rate.begin(tick + 1) - Span::from_micros(1)), tick);
            }
        }
    }

    #[test]
    fn rounding_to_a_grid_is_the_nearest_on_both_sides_of_zero() {
        let ms = Span::from_millis(1);
        assert_eq!(Span::from_micros(1_499).rounded_to(ms), Span::from_millis(1));
        assert_eq!(Span::from_micros(1_500).rounded_to(ms), Span::from_millis(2));
        assert_eq!(Span::from_micros(-1_499).rounded_to(ms), Span::from_millis(-1));
    }

    #[test]
    fn the_far_ends_saturate() {
        assert_eq!(SharedInstant::from_micros(i64::MAX) + Span::MAX, SharedInstant::from_micros(i64::MAX));
        assert_eq!(Span::from_secs_f64(f64::NAN), Span::ZERO);
        assert_eq!(Span::from_secs_f64(f64::INFINITY), Span::MAX);
    }
}
