//! A critically damped spring between the drawn and the placed position. The error left is (gap +
//! (rate + ω·gap)·t)·e^(−ω·t), tapered so that it ends.
//!
//! The spring overshoots only if the error starts towards the target faster than ω·distance. Then ω
//! is raised instead of reducing the speed, so that the drawn velocity stays continuous. If the
//! error starts away from the target at that speed, it is at most 1.22 gaps.

use super::VisibleError;
use crate::vector::Vector;

/// ω·T, the stiffness of the spring for the time it has. At 6 a resting spring has 1.7 % of its way
/// left at the end. Lower: the taper shapes the curve, not the spring. Higher: a jerk.
const STIFFNESS: f64 = 6.0;
/// Beyond this e^−x is zero, and products with it would be infinity times zero.
const EXPONENT_MAX: f64 = 700.0;

pub(super) fn left<V: Vector>(error: &VisibleError<V>, at: f64, secs: f64) -> VisibleError<V> {
    let spring = sprung(error, at, secs);
    // The taper (1 − s²)² is level at both ends: it leaves the start unchanged and the end smooth.
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
    // At distance zero the stiffness is infinite.
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
