//! Export error: how far apart two beliefs about one entity are, summed over time.
//!
//! A [`Path`] is what somebody believes: where the entity is, as a function of shared time. The
//! exported path is one, the path that a receiver places is another; the *export error* between
//! them is their distance, and its time integral ([`accumulated`], in metre-seconds if positions
//! are in metres) is what fairness balances. Schedulers also ask the inverse, [`when_reaches`]: at
//! which microsecond will it have grown to this much?
//!
//! Every answer carries a bound on its own error; truncation is proved, rounding counted with
//! slack:
//!
//! * Two straight lines (standing still and frozen are straight) have a closed form; see
//!   `linear.rs`. It is exact to rounding where the textbook form divides zero by zero: parallel,
//!   equal, meeting head-on, starting together.
//! * Any other pair is cut where it is not smooth (a path freezes, a Hermite curve ends), written
//!   as one polynomial per stretch of turning (`series.rs`), and that is cut into panels on which
//!   either Gauss's rule or the closed form is provably good enough (`panels.rs`). Where the two
//!   meet the distance has a kink; panels shrink towards it until the closed form, which knows that
//!   kink, can take over.
//!
//! Nothing allocates, and the work is bounded: [`STEPS_MAX`].
//!
//! Lives are the caller's business: a path does not know of respawns, so never integrate across
//! one.
//!
//! Numbers: for finite paths no answer is negative or NaN. A gap so wide that its square does not
//! fit an `f64` (about 1e154) counts as infinite, and so then does the integral; one below 1e-150
//! may count as zero.
//!
//! ```
//! use fairpath::error::{self, Path};
//! use fairpath::motion::{Linear, Motion};
//! use fairpath::time::SharedInstant;
//! use fairpath::vector::{Vec2, Vector};
//!
//! // A tank drove east at 25 m/s. At t = 0 it turned north; this screen hears of it half a second later.
//! let (start, heard) = (SharedInstant::ZERO, SharedInstant::from_millis(500));
//! let drive = |x, y| Motion::Linear(Linear { position: Vec2::ZERO, velocity: Vec2::new(x, y) });
//! let exported = Path::new(drive(0.0, 25.0), start);
//! let placed = Path::new(drive(25.0, 0.0), start);
//!
//! let late = error::accumulated(&exported, &placed, start, heard);
//! assert!((late.value - 25.0 * 2f64.sqrt() / 8.0).abs() <= late.bound);
//!
//! // And when will the screen have been wrong by one metre-second?
//! let when = error::when_reaches(&exported, &placed, start, 1.0, heard).unwrap();
//! assert_eq!(when.as_micros(), 237_842);
//! ```

mod gauss;
mod linear;
mod panels;
mod path;
mod reach;
mod series;

use std::iter::Sum;
use std::ops::{Add, AddAssign, ControlFlow};

pub use self::panels::STEPS_MAX;
pub use self::path::Path;
pub use self::reach::when_reaches;

use self::linear::Straight;
use crate::time::SharedInstant;
use crate::vector::Planar;

/// The distance between two paths, summed over `from` to `to`, to the default [`Tolerance`].
///
/// Symmetric in the two paths, and exactly zero if they are the same. An interval that ends before
/// it begins holds nothing.
pub fn accumulated<V: Planar>(
    one: &Path<V>,
    other: &Path<V>,
    from: SharedInstant,
    to: SharedInstant,
) -> Integral {
    accumulated_within(one, other, from, to, &Tolerance::DEFAULT)
}

/// The value alone, for the ledger, which asks for every receiver at every trigger: where both
/// paths are straight, as in most games, nothing is spent on a bound.
#[inline]
pub(crate) fn accumulated_value<V: Planar>(
    one: &Path<V>,
    other: &Path<V>,
    from: SharedInstant,
    to: SharedInstant,
) -> f64 {
    if to <= from {
        return 0.0;
    }
    let (Some(one_line), Some(other_line)) = (one.line_over(from, to), other.line_over(from, to)) else {
        return accumulated_within(one, other, from, to, &Tolerance::OF_BOOKS).value;
    };
    let gap = Straight::between(&one_line, &other_line, from);
    let value = gap.integral((to - from).as_secs_f64()).value;
    if value.is_finite() { value } else { f64::INFINITY }
}

/// The gap between two paths that are straight for some time, for the ledger, which asks again and
/// again for parts of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StraightGap<V: Planar>(Straight<V>);

impl<V: Planar> StraightGap<V> {
    /// `None` if one of the two is not straight from `from` to `to`.
    pub(crate) fn between(
        one: &Path<V>,
        other: &Path<V>,
        from: SharedInstant,
        to: SharedInstant,
    ) -> Option<Self> {
        Some(Self(Straight::between(&one.line_over(from, to)?, &other.line_over(from, to)?, from)))
    }

    /// The error of `secs` seconds, `after` seconds after the begin.
    #[inline]
    pub(crate) fn accumulated(&self, after: f64, secs: f64) -> f64 {
        let value = Straight::along(self.0.at(after), self.0.slope()).integral(secs).value;
        if value.is_finite() { value } else { f64::INFINITY }
    }
}

/// The accumulated error to a tolerance of your own. Pairs of straight lines are exact and do not
/// look at it.
pub fn accumulated_within<V: Planar>(
    one: &Path<V>,
    other: &Path<V>,
    from: SharedInstant,
    to: SharedInstant,
    tolerance: &Tolerance,
) -> Integral {
    if to <= from {
        return Integral::ZERO;
    }
    let mut sum = Integral::ZERO;
    panels::walk(one, other, from, to, tolerance, |panel| {
        sum += panel.integral;
        ControlFlow::Continue(())
    });
    sum.or_infinite()
}

/// An accumulated error, and how far from the truth it can be.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Integral {
    /// The accumulated error, in units of length times seconds. Never negative, never NaN.
    pub value: f64,
    /// The true value is not further away than this, truncation and rounding together.
    pub bound: f64,
}

impl Integral {
    /// Nothing, exactly.
    pub const ZERO: Self = Self { value: 0.0, bound: 0.0 };
    /// More than a number can hold.
    pub const INFINITE: Self = Self { value: f64::INFINITY, bound: f64::INFINITY };

    /// Whatever overflowed on the way is infinite, not NaN.
    fn or_infinite(self) -> Self {
        if self.value.is_finite() && self.bound.is_finite() { self } else { Self::INFINITE }
    }
}

/// Errors accumulated one after the other. The bound covers the rounding of the sum, too.
impl Add for Integral {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        let value = self.value + other.value;
        Self { value, bound: self.bound + other.bound + 0.5 * f64::EPSILON * value }
    }
}

impl AddAssign for Integral {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Integral {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::ZERO, Add::add)
    }
}

/// How exactly to integrate where there is no closed form.
///
/// The truncation error is brought below the larger of the two limits; rounding comes on top and is
/// in [`Integral::bound`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// As a share of the integral.
    relative: f64,
    /// In units of length times seconds.
    absolute: f64,
    /// How large a neighbourhood of a panel must be free of meetings, for Gauss's rule to be good
    /// enough on it: half the long axis of an ellipse around the panel, in half-panels.
    clearance: f64,
    /// What the rule is then wrong by at most, per half-panel, as a share of the largest gap in
    /// that ellipse.
    gauss_error: f64,
}

impl Tolerance {
    /// Relative 1e-9, absolute 1e-12.
    ///
    /// 1e-9: the ledger adds ten thousand integrals an hour and must still tell receivers apart at
    /// 1e-5. 1e-12: a picometre for a second, where coordinates of game size round anyway.
    pub const DEFAULT: Self = Self {
        relative: 1e-9,
        absolute: 1e-12,
        clearance: 1.529_426_349_890_220_3,
        gauss_error: 2.476_421_188_509_244_3e-10,
    };

    /// What the ledger integrates with: relative 1e-7, absolute 1e-12. No sum of distances is more
    /// wrong than its parts are, so accounts are a tenth of what they are promised to (1e-6),
    /// and a trigger takes a twentieth less time than with 1e-9.
    pub(crate) const OF_BOOKS: Self = Self {
        relative: 1e-7,
        absolute: 1e-12,
        clearance: 1.334_254_813_053_909_4,
        gauss_error: 2.677_885_521_535_769_5e-8,
    };

    /// Stops at an error of `relative` times the integral, or of `absolute` if that is more.
    ///
    /// `relative`: a share; default 1e-9; kept within 1e-14 and 1e-3. Too low spends time on digits
    /// that rounding takes away: 1e-13 takes half as long again as 1e-9. Too high makes equal
    /// receivers look different: at 1e-3 one in a thousand metre-seconds is noise. `absolute`:
    /// length times seconds; default 1e-12, kept at 0 or more. Zero makes paths that differ by
    /// rounding alone be integrated to the last digit of that rounding; 1e-3 would call a
    /// millimetre for a second nothing.
    pub fn new(relative: f64, absolute: f64) -> Self {
        let relative = if relative > 1e-14 { relative.min(1e-3) } else { 1e-14 };
        let rho = libm::pow(20.0 / relative, 1.0 / (2.0 * gauss::POINTS as f64));
        let rho_squared = rho * rho;
        Self {
            relative,
            absolute: absolute.max(0.0),
            clearance: 0.5 * (rho + 1.0 / rho),
            // The error of n-point Gauss for what is analytic and at most 1 in the ellipse with semi-axes
            // (ρ ± 1/ρ)/2 is below 64/15 · ρ^(−2n) / (1 − ρ^(−2)) (Rabinowitz; Trefethen). With ρ as above
            // and the gap in the ellipse at most twice the gap in the middle, that is less than half of
            // `relative`; the other half is for the panels around a meeting.
            gauss_error: 64.0 / 15.0 * (relative / 20.0) / (1.0 - 1.0 / rho_squared),
        }
    }
}

impl Default for Tolerance {
    fn default() -> Self {
        Self::DEFAULT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tolerances_are_those_that_new_computes() {
        for known in [Tolerance::DEFAULT, Tolerance::OF_BOOKS] {
            let computed = Tolerance::new(known.relative, known.absolute);
            assert!((computed.clearance / known.clearance - 1.0).abs() < 1e-14);
            assert!((computed.gauss_error / known.gauss_error - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn a_nonsense_tolerance_becomes_the_nearest_sensible_one() {
        assert_eq!(Tolerance::new(f64::NAN, f64::NAN), Tolerance::new(1e-14, 0.0));
        assert_eq!(Tolerance::new(-1.0, -1.0), Tolerance::new(1e-14, 0.0));
        assert_eq!(Tolerance::new(7.0, 0.0), Tolerance::new(1e-3, 0.0));
    }
}
