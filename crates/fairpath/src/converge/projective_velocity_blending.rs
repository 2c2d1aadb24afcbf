//! Projective velocity blending (Murphy, "Believable Dead Reckoning for Networked Games", Game
//! Engine Gems 2, 2011): project the drawn state ahead with a velocity that turns from the drawn
//! into the placed one, and cross over from that projection to the placed path.
//!
//! Relative to the placed path the projection is gap + rate·(1 − s)·t, for any acceleration that
//! both share; the cross-over multiplies it by the rest of the weight. Murphy's weight is 1 − s,
//! which changes the drawn velocity by gap/T at once; a weight with level ends keeps it continuous.
//!
//! The projection changes sides if T·speed > 4·distance, and up to 3 the error falls all the way;
//! so the duration is limited like that of the cubic. Away from the target the error is at most
//! 1.33 gaps.

use super::{VisibleError, secs_without_overshoot, smooth_fall};
use crate::vector::Vector;

pub(super) fn secs<V: Vector>(error: &VisibleError<V>, secs_max: f64) -> f64 {
    secs_without_overshoot(error, secs_max)
}

pub(super) fn left<V: Vector>(error: &VisibleError<V>, at: f64, secs: f64) -> VisibleError<V> {
    let s = at / secs;
    let projected = error.offset + error.rate * (at * (1.0 - s));
    let (weight, weight_rate) = (smooth_fall(s), -6.0 * s * (1.0 - s) / secs);
    VisibleError {
        offset: projected * weight,
        rate: projected * weight_rate + error.rate * ((1.0 - 2.0 * s) * weight),
    }
}
