//! A turn at a constant rate, and means over it.
//!
//! With u the rotation vector of the whole turn and ϑ its length, a vector fixed in the turning
//! axes is, after the fraction τ of the turn, exp(τ·\[u×\])·v in the axes at the start. The models
//! need that at the end, its mean over τ, and its mean weighted with τ: the standard's Rᵀ, R1 and
//! R2, without the powers of dt.
//!
//! All three have the form α·v + β·u×v + γ·u·(u·v). Nothing is divided by the length of u, so a
//! zero turn is no special case. Only the factors have one: the closed forms of α, β and γ lose
//! digits as ϑ → 0, and there their series are used.

use crate::vector::{Vec3, Vector};

/// A turn by a rotation vector, at a constant rate.
pub(super) struct SteadyTurn {
    /// u: the axis of the turn; its length is the angle in radians.
    rotation: Vec3,
    /// ϑ: the angle.
    angle: f64,
    sin: f64,
    cos: f64,
}

impl SteadyTurn {
    pub(super) fn new(rotation: Vec3) -> Self {
        let angle = rotation.length();
        let (sin, cos) = libm::sincos(angle);
        Self { rotation, angle, sin, cos }
    }

    /// exp(\[u×\])·v: the vector after the turn.
    pub(super) fn end(&self, v: Vec3) -> Vec3 {
        let Self { angle: t, sin, cos, .. } = *self;
        self.combine(v, &END, || [cos, sin / t, (1.0 - cos) / (t * t)])
    }

    /// ∫₀¹ exp(τ·\[u×\])·v dτ: the vector's mean over the turn.
    pub(super) fn mean(&self, v: Vec3) -> Vec3 {
        let Self { angle: t, sin, cos, .. } = *self;
        self.combine(v, &MEAN, || [sin / t, (1.0 - cos) / (t * t), (t - sin) / (t * t * t)])
    }

    /// ∫₀¹ τ·exp(τ·\[u×\])·v dτ: the mean of a vector that grows linearly from zero to `v`.
    pub(super) fn ramp_mean(&self, v: Vec3) -> Vec3 {
        let Self { angle: t, sin, cos, .. } = *self;
        self.combine(v, &RAMP_MEAN, || {
            let straight = (t * sin + cos - 1.0) / (t * t);
            [straight, (sin - t * cos) / (t * t * t), (0.5 - straight) / (t * t)]
        })
    }

    /// α·v + β·u×v + γ·u·(u·v), with factors from the series or the closed form, by angle.
    fn combine(&self, v: Vec3, series: &Coefficients, closed_form: impl FnOnce() -> [f64; 3]) -> Vec3 {
        let [straight, across, along] = if self.angle < SERIES_BELOW {
            let square = self.angle * self.angle;
            [0, 1, 2].map(|first| alternating_sum(series, first, square))
        } else {
            closed_form()
        };
        v * straight + self.rotation.cross(v) * across + self.rotation * (self.rotation.dot(v) * along)
    }
}

/// Angle in radians below which the series are used. At 0.5 the closed forms are off by 2e-15 of
/// the result; they are off by 1e-13 at 0.05 and by 100 % at 1e-8. A higher limit needs more terms.
const SERIES_BELOW: f64 = 0.5;

/// Terms in a series. Below [`SERIES_BELOW`] the first omitted one is under 0.5¹⁶/16! ≈ 1e-18.
const TERMS: usize = 8;

/// The factors of the powers \[u×\]⁰, \[u×\]¹, … Since \[u×\]² = u·uᵀ − ϑ², the even ones make up
/// α, the odd ones β, and the even ones from the second on γ.
type Coefficients = [f64; 2 * TERMS + 1];

/// exp: 1/k!.
const END: Coefficients = over_factorials(0);
/// Its integral: 1/(k + 1)! = 1/(k!·(k + 1)).
const MEAN: Coefficients = over_factorials(1);
/// Its integral with weight τ: 1/(k!·(k + 2)).
const RAMP_MEAN: Coefficients = over_factorials(2);

/// 1/(k!·(k + shift)) for k = 0, 1, …, and 1/k! for no shift.
const fn over_factorials(shift: usize) -> Coefficients {
    let mut coefficients = [0.0; 2 * TERMS + 1];
    let mut factorial = 1.0;
    let mut k = 0;
    while k < coefficients.len() {
        let divisor = if shift == 0 { 1 } else { k + shift };
        coefficients[k] = 1.0 / (factorial * divisor as f64);
        k += 1;
        factorial *= k as f64;
    }
    coefficients
}

/// c[first] − c[first + 2]·x + c[first + 4]·x² − …
fn alternating_sum(coefficients: &Coefficients, first: usize, x: f64) -> f64 {
    (0..TERMS).rev().fold(0.0, |sum, term| coefficients[2 * term + first] - sum * x)
}

#[cfg(test)]
mod tests {
    use super::*;

    const V: Vec3 = Vec3::new(3.0, -4.0, 12.0);

    #[test]
    fn a_turn_of_nothing_changes_nothing() {
        let still = SteadyTurn::new(Vec3::ZERO);
        assert_eq!([still.end(V), still.mean(V), still.ramp_mean(V)], [V, V, V * 0.5]);
    }

    #[test]
    fn a_full_turn_keeps_what_lies_along_the_axis() {
        let full = SteadyTurn::new(Vec3::new(0.0, 0.0, std::f64::consts::TAU));
        assert!(full.end(V).distance(V) < 1e-14);
        assert!(full.mean(V).distance(Vec3::new(0.0, 0.0, 12.0)) < 1e-14);
        // ∫₀¹ τ·(cos, sin)(2πτ) dτ = (0, −1/2π): a quarter turn back from the vector.
        let back = Vec3::new(-4.0, -3.0, 0.0) * (1.0 / std::f64::consts::TAU);
        assert!(full.ramp_mean(V).distance(back + Vec3::new(0.0, 0.0, 6.0)) < 1e-14);
    }

    #[test]
    fn the_series_meets_the_closed_form() {
        let axis = Vec3::new(2.0, -1.0, 2.0) * (SERIES_BELOW / 3.0);
        let (below, above) = (SteadyTurn::new(axis * (1.0 - 1e-15)), SteadyTurn::new(axis * (1.0 + 1e-15)));
        assert!(below.angle < SERIES_BELOW && above.angle >= SERIES_BELOW);
        for part in [SteadyTurn::end, SteadyTurn::mean, SteadyTurn::ramp_mean] {
            assert!(part(&below, V).distance(part(&above, V)) < 4e-14);
        }
    }
}
