//! The Hermite spline from the drawn position and velocity to the placed, relative to its path.
//!
//! With s = t/T and k = T·rate/gap straight towards the target, the error left is (1 − s)²·(1 + (2
//! − k)·s) gaps. It stays positive up to s = 1 if k ≤ 3, and falls all the way under the same
//! condition: hence T ≤ 3·distance/speed. Away from the target it is at most 1.28 gaps, at s = 1/5.

use super::{VisibleError, secs_without_overshoot, smooth_fall};
use crate::vector::Vector;

pub(super) fn secs<V: Vector>(error: &VisibleError<V>, secs_max: f64) -> f64 {
    secs_without_overshoot(error, secs_max)
}

pub(super) fn left<V: Vector>(error: &VisibleError<V>, at: f64, secs: f64) -> VisibleError<V> {
    let s = at / secs;
    let rest = 1.0 - s;
    VisibleError {
        offset: error.offset * smooth_fall(s) + error.rate * (at * rest * rest),
        rate: error.offset * (-6.0 * s * rest / secs) + error.rate * (rest * (1.0 - 3.0 * s)),
    }
}
