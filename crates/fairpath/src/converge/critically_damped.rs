//! A critically damped spring between what is drawn and what is placed: what is left of the error
//! is (gap + (rate + ω·gap)·t)·e^(−ω·t), tapered so that it ends.
//!
//! It overshoots only if it is thrown at the target faster than ω·distance; then the spring is made
//! stiffer rather than the throw weaker, so that the drawn velocity stays continuous. Thrown away
//! from the target at that speed, the error is at most 1.22 gaps.

use super::VisibleError;
use crate::vector::Vector;

/// ω·T, how stiff the spring is for the time it has. At 6 a resting spring has 1.7 % of its way
/// left at the end: lower, and the taper would make the curve instead of the spring; higher, and it
/// starts with a jerk.
const STIFFNESS: f64 = 6.0;
/// e^−x is nothing beyond this, and products with it would be infinity times zero.
const EXPONENT_MAX: f64 = 700.0;

pub(super) fn left<V: Vector>(error: &VisibleError<V>, at: f64, secs: f64) -> VisibleError<V> {
    let spring = sprung(error, at, secs);
    // The taper (1 − s²)² is level at both ends: the start does not feel it, and the end is smooth.
    let s = at / secs;
    let rest = 1.0 - s * s;
    let (taper, taper_rate) = (rest * rest, -4.0 * s * rest / secs);
    VisibleError { offset: spring.offset * taper, rate: spring.rate * taper + spring.offset * taper_rate }
}

fn sprung<V: Vector>(error: &VisibleError<V>, at: f64, secs: f64) -> VisibleError<V> {
    let (distance, speed) = (error.offset.length(), error.rate.length());
    let least = STIFFNESS / secs;
    let omega = if speed > least * distance { speed / distance } else { least };
    let exponent = omega * at;
    // Without any distance the stiffness is infinite.
    if exponent > EXPONENT_MAX || !omega.is_finite() {
        return VisibleError::default();
    }
    let fall = libm::exp(-exponent);
    let thrown = error.rate + error.offset * omega;
    VisibleError {
        offset: (error.offset + thrown * at) * fall,
        rate: (error.rate - thrown * exponent) * fall,
    }
}
