//! The distance of two straight lines, integrated over time: the closed form without cancellations.
//!
//! The gap between two such paths changes at a constant rate, so its length is √(a·t² + b·t + c).
//! The textbook integral of that is a difference of two large values when the gap changes little,
//! and 0/0 when the gap does not change or passes through zero. Two forms, each exact to rounding
//! where it is used, share the work:
//!
//! * If the gap in the middle of the interval is at least as long as its change over the whole
//!   interval, the paths do not come near each other, the length is smooth, and Gauss's rule with
//!   twelve points is exact.
//! * Otherwise the paths do come near each other, the two ends of the closed form differ by a lot,
//!   and nothing cancels. The smallest distance in it comes from a vector product, because c −
//!   b²/4a can become negative.

use super::path::{Line, Path};
use super::{Integral, gauss};
use crate::time::SharedInstant;
use crate::vector::{Planar, Vector};

#[derive(Clone, Copy, Debug)]
pub(crate) struct StraightGap<V: Vector> {
    /// The gap from the other line to the one, at second zero.
    gap: V,
    /// Change of the gap, per second.
    slope: V,
    /// Largest rounding error of the gap.
    rounding: f64,
}

impl<V: Vector> StraightGap<V> {
    /// The gap between two lines, with seconds counted from `zero`. The older line is extended to
    /// the start of the newer one, and from there only the difference of the two grows. A long
    /// common way is not added to one position and subtracted again.
    #[inline]
    pub(super) fn between(one: &Line<V>, other: &Line<V>, zero: SharedInstant) -> Self {
        let newer = one.since.max(other.since);
        let apart = one.origin - other.origin;
        let moved = one.moved - other.moved;
        let lead = one.velocity * (newer - one.since).as_secs_f64()
            - other.velocity * (newer - other.since).as_secs_f64();
        let slope = one.velocity - other.velocity;
        let since = slope * (zero - newer).as_secs_f64();
        // (a + b + …)² ≤ n·(a² + b² + …) makes do with one root.
        let size_squared = apart.length_squared()
            + one.moved.length_squared()
            + other.moved.length_squared()
            + lead.length_squared()
            + since.length_squared();
        let rounding = ROUNDINGS_OF_GAP * f64::EPSILON * (5.0 * size_squared).sqrt();
        Self { gap: apart + moved + lead + since, slope, rounding }
    }

    /// A gap that is known exactly.
    pub(super) fn along(gap: V, slope: V) -> Self {
        Self { gap, slope, rounding: 0.0 }
    }

    /// The same gap, with seconds counted from `secs` later.
    pub(super) fn starting_at(self, secs: f64) -> Self {
        let rounding = self.rounding + f64::EPSILON * self.slope.length() * secs;
        Self { gap: self.at(secs), rounding, ..self }
    }

    pub(super) fn at(&self, secs: f64) -> V {
        self.gap + self.slope * secs
    }

    /// The length of the gap, integrated over the first `secs` seconds.
    #[inline]
    pub(super) fn integral(&self, secs: f64) -> Integral {
        let reach = self.slope * (0.5 * secs);
        let value = secs * mean_distance(self.gap + reach, reach);
        Integral { value, bound: secs * self.rounding + ROUNDINGS_OF_SUM * f64::EPSILON * value }
    }

    /// The value of that integral alone; infinite if it overflows.
    #[inline]
    pub(super) fn value(&self, secs: f64) -> f64 {
        let value = self.integral(secs).value;
        if value.is_finite() { value } else { f64::INFINITY }
    }

    /// The distance summed over `secs` seconds, which begin `after` seconds after the start.
    #[inline]
    pub(crate) fn accumulated(&self, after: f64, secs: f64) -> f64 {
        Self::along(self.at(after), self.slope).value(secs)
    }
}

impl<V: Planar> StraightGap<V> {
    /// The gap between two paths, with seconds counted from `from`; `None` if one of them is not
    /// straight from `from` to `to`.
    #[inline]
    pub(crate) fn between_paths(
        one: &Path<V>,
        other: &Path<V>,
        from: SharedInstant,
        to: SharedInstant,
    ) -> Option<Self> {
        Some(Self::between(&one.line_over(from, to)?, &other.line_over(from, to)?, from))
    }
}

/// Roundings in a gap, in units of `f64::EPSILON`: four halves for each way (velocity, time, its
/// unit, the product), four halves for the sums; and as much again for missed roundings.
const ROUNDINGS_OF_GAP: f64 = 8.0;
/// Roundings in an integral, in units of `f64::EPSILON`, given its gap. The two forms agree to 3
/// where they meet; the rest is for the length of the interval, and slack.
pub(super) const ROUNDINGS_OF_SUM: f64 = 16.0;

/// The mean of |middle + reach·x| over −1 ≤ x ≤ 1.
pub(super) fn mean_distance<V: Vector>(middle: V, reach: V) -> f64 {
    let (middle_squared, reach_squared) = (middle.length_squared(), reach.length_squared());
    if middle_squared >= 4.0 * reach_squared {
        let along = 2.0 * middle.dot(reach);
        gauss::mean(|places| places.map(|x| (middle_squared + x * (along + x * reach_squared)).sqrt()))
    } else {
        mean_distance_near(middle, reach)
    }
}

/// The closed form. Needs a reach that is not zero.
fn mean_distance_near<V: Vector>(middle: V, reach: V) -> f64 {
    let length = reach.length();
    // Along the line of the gap's tip, measured from its closest point, the tip moves from `first`
    // to `last`. Mirrored if necessary, so that `last` is the farther end.
    let along = middle.dot(reach).abs() / length;
    let (first, last) = (along - length, along + length);
    let closest = middle.cross_length(reach) / length;
    let closest_squared = closest * closest;
    let first_distance = (first * first + closest_squared).sqrt();
    let last_distance = (last * last + closest_squared).sqrt();
    let mut twice = last * last_distance - first * first_distance;
    // Below this the term is under a rounding of the sum, and its logarithm no longer fits.
    if closest > 1e-9 * length {
        // asinh(last/closest) − asinh(first/closest), as one logarithm of something well above 1.
        let before =
            if first < 0.0 { closest_squared / (first_distance - first) } else { first_distance + first };
        twice += closest_squared * libm::log((last_distance + last) / before);
    }
    twice / (4.0 * length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vector::{Vec2, Vec3};

    #[test]
    fn crossing_at_right_angles_is_the_integral_worked_out_by_hand() {
        // A gap that is 1 when closest and runs from −1 to 1 beside it: ½·(√2 + asinh 1).
        let mean = mean_distance(Vec2::new(0.0, 1.0), Vec2::new(1.0, 0.0));
        assert!((mean - 0.5 * (2f64.sqrt() + libm::asinh(1.0))).abs() < 4e-16);
    }

    #[test]
    fn meeting_head_on_is_two_triangles() {
        assert_eq!(mean_distance(Vec2::ZERO, Vec2::new(3.0, 4.0)), 2.5);
        let three_quarters = Vec3::new(0.0, 0.0, 1.0);
        // From −1 to 3 along one line: (½ + 4½) over 4 units of way.
        assert!((mean_distance(three_quarters, three_quarters * 2.0) - 1.25).abs() < 4e-16);
    }

    #[test]
    fn parallel_and_equal_paths_divide_by_nothing() {
        assert!((mean_distance(Vec2::new(3.0, 4.0), Vec2::ZERO) - 5.0).abs() < 1e-15);
        assert_eq!(mean_distance(Vec2::ZERO, Vec2::ZERO), 0.0);
    }

    #[test]
    fn the_two_forms_agree_where_they_meet() {
        for degrees in 0..=180 {
            let middle = Vec2::from_heading(f64::from(degrees).to_radians()) * 2.0;
            let reach = Vec2::new(1.0, 0.0);
            let (far, near) = (mean_distance(middle, reach), mean_distance_near(middle, reach));
            assert!((far / near - 1.0).abs() < 7e-16, "{degrees}°: {far} and {near}");
        }
    }
}
