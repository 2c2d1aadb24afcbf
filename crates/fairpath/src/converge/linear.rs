//! The error shrinks linearly. It cannot overshoot, but its velocity jumps at both ends.

use super::VisibleError;
use crate::vector::Vector;

pub(super) fn left<V: Vector>(error: &VisibleError<V>, at: f64, secs: f64) -> VisibleError<V> {
    VisibleError { offset: error.offset * (1.0 - at / secs), rate: error.offset * (-1.0 / secs) }
}
