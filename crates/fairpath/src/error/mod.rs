//! Export error: the distance between two paths of one entity, integrated over time.
//!
//! A [`Path`] says where the entity is, as a function of shared time. The exported path is one; the
//! path that a receiver places is another. The *export error* between them is their distance. Its
//! time integral ([`accumulated`], in metre-seconds if positions are in metres) is what fairness
//! balances. Schedulers also need the inverse, [`when_reaches`]: the microsecond at which the
//! integral reaches a given value.
//!
//! Every result carries a bound on its error; truncation is proved, rounding counted with slack:
//!
//! * Two straight lines (a standing or frozen entity is a straight line too) have a closed form;
//!   see `linear.rs`. It is exact to rounding where the textbook form divides zero by zero:
//!   parallel, equal, meeting head-on, starting together.
//! * Any other pair is cut where it is not smooth (a path freezes, a Hermite curve ends). Each part
//!   is written as polynomials over short turns (`series.rs`), and these are cut into panels on
//!   which either Gauss's rule or the closed form is provably good enough (`panels.rs`). Where the
//!   paths meet the distance has a kink; panels shrink towards it until the closed form, which
//!   handles the kink, can take over.
//!
//! Nothing allocates, and the work is bounded: [`STEPS_MAX`].
//!
//! A path does not know about respawns: the caller must not integrate across two lives.
//!
//! Numbers: for finite paths no result is negative or NaN. A gap whose square does not fit an `f64`
//! (about 1e154) and its integral count as infinite; a gap below 1e-150 may count as zero.
//!
//! ```
//! use fairpath::error::{self, Path};
//! use fairpath::motion::{Linear, Motion};
//! use fairpath::time::SharedInstant;
//! use fairpath::vector::{Vec2, Vector};
//!
//! // A tank drove east at 25 m/s and turned north at t = 0. The DR vector arrives 500 ms later.
//! let (start, received) = (SharedInstant::ZERO, SharedInstant::from_millis(500));
//! let drive = |x, y| Motion::Linear(Linear { position: Vec2::ZERO, velocity: Vec2::new(x, y) });
//! let exported = Path::new(drive(0.0, 25.0), start);
//! let placed = Path::new(drive(25.0, 0.0), start);
//!
//! let late = error::accumulated(&exported, &placed, start, received);
//! assert!((late.value - 25.0 * 2f64.sqrt() / 8.0).abs() <= late.bound);
//!
//! // When has this receiver accumulated one metre-second of error?
//! let when = error::when_reaches(&exported, &placed, start, 1.0, received).unwrap();
//! assert_eq!(when.as_micros(), 237_842);
//! ```

mod curve;
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

pub(crate) use self::curve::ErrorCurve;
pub(crate) use self::linear::StraightGap;
use crate::time::SharedInstant;
use crate::vector::Planar;

/// Returns the distance between two paths, integrated from `from` to `to`, to the default
/// [`Tolerance`].
///
/// Symmetric in the two paths; exactly zero if they are equal or `to` is not after `from`.
pub fn accumulated<V: Planar>(
    one: &Path<V>,
    other: &Path<V>,
    from: SharedInstant,
    to: SharedInstant,
) -> Integral {
    accumulated_within(one, other, from, to, &Tolerance::DEFAULT)
}

/// Returns the value without a bound, for the ledger, which asks for every receiver at every
/// trigger. Computes no bound where both paths are straight, as in most games.
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
    match StraightGap::between_paths(one, other, from, to) {
        Some(gap) => gap.value((to - from).as_secs_f64()),
        None => accumulated_within(one, other, from, to, &Tolerance::OF_BOOKS).value,
    }
}

/// Like [`accumulated`], to the given tolerance. Pairs of straight lines are exact and ignore it.
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

/// An accumulated error and its accuracy.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Integral {
    /// The accumulated error, in units of length times seconds. Never negative, never NaN.
    pub value: f64,
    /// The largest possible difference from the true value, truncation and rounding together.
    pub bound: f64,
}

impl Integral {
    /// Exactly zero.
    pub const ZERO: Self = Self { value: 0.0, bound: 0.0 };
    /// More than a number can hold.
    pub const INFINITE: Self = Self { value: f64::INFINITY, bound: f64::INFINITY };

    /// Returns an infinite integral instead of NaN if the computation overflowed.
    fn or_infinite(self) -> Self {
        if self.value.is_finite() && self.bound.is_finite() { self } else { Self::INFINITE }
    }
}

/// Adds errors of consecutive intervals. The bound covers the rounding of the sum, too.
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

/// The accuracy of integrals that have no closed form.
///
/// The truncation error is kept below the larger of the two limits. Rounding is added in
/// [`Integral::bound`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// Truncation limit as a share of the integral.
    relative: f64,
    /// Truncation limit in units of length times seconds.
    absolute: f64,
    /// Size of the neighbourhood of a panel that must be free of meetings for Gauss's rule to be
    /// good enough: half the long axis of an ellipse around the panel, in half-panels.
    clearance: f64,
    /// The rule's largest error then, per half-panel, as a share of the largest gap in there.
    gauss_error: f64,
}

impl Tolerance {
    /// Relative 1e-9, absolute 1e-12.
    ///
    /// 1e-9: the ledger adds ten thousand integrals an hour and must still tell receivers apart at
    /// 1e-5. 1e-12: a picometre for a second; coordinates of game size round more than that.
    pub const DEFAULT: Self = Self {
        relative: 1e-9,
        absolute: 1e-12,
        clearance: 1.529_426_349_890_220_3,
        gauss_error: 2.476_421_188_509_244_3e-10,
    };

    /// The ledger's tolerance: relative 1e-7, absolute 1e-12. The relative error of a sum of
    /// distances is at most that of its parts, so accounts are ten times as accurate as promised
    /// (1e-6). A trigger takes a twentieth less time than with 1e-9.
    pub(crate) const OF_BOOKS: Self = Self {
        relative: 1e-7,
        absolute: 1e-12,
        clearance: 1.334_254_813_053_909_4,
        gauss_error: 2.677_885_521_535_769_5e-8,
    };

    /// The largest gap in the neighbourhood of a panel. `gap` and `change` are the lengths of the gap
    /// in the middle and of its change to the end; `bend` is the most that the gap leaves its tangent
    /// by.
    fn widest(&self, gap: f64, change: f64, bend: f64) -> f64 {
        gap + change * self.clearance + bend * self.clearance * self.clearance
    }

    /// Whether the neighbourhood of a panel is free of meetings.
    fn is_clear(&self, gap: f64, change: f64, bend: f64) -> bool {
        let widest = self.widest(gap, change, bend);
        let (change, bend) = (change * self.clearance, bend * self.clearance * self.clearance);
        let clear = gap - change;
        clear > 0.0 && clear * clear > bend * (gap + change + widest)
    }

    /// Stops at an error of `relative` times the integral, or of `absolute` if that is more.
    ///
    /// `relative`: a share; default 1e-9; clamped to 1e-14 … 1e-3. Too low spends time on digits
    /// that rounding takes away: 1e-13 takes half as long again as 1e-9. Too high makes equal
    /// receivers look different: at 1e-3 one in a thousand metre-seconds is noise.
    ///
    /// `absolute`: length times seconds; default 1e-12; at least 0. With zero, paths that differ by
    /// rounding alone are integrated to the last digit of that rounding. With 1e-3, a distance of a
    /// millimetre for a second counts as nothing.
    pub fn new(relative: f64, absolute: f64) -> Self {
        let relative = if relative > 1e-14 { relative.min(1e-3) } else { 1e-14 };
        let rho = libm::pow(20.0 / relative, 1.0 / (2.0 * gauss::POINTS as f64));
        let rho_squared = rho * rho;
        Self {
            relative,
            absolute: absolute.max(0.0),
            clearance: 0.5 * (rho + 1.0 / rho),
            // The error of n-point Gauss for what is analytic and at most 1 in the ellipse with
            // semi-axes
            // (ρ ± 1/ρ)/2 is below 64/15 · ρ^(−2n) / (1 − ρ^(−2)) (Rabinowitz; Trefethen). With ρ
            // as above
            // and the gap in the ellipse at most twice the gap in the middle, that is less than
            // half of
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
