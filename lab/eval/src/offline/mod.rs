//! How few packets linear dead reckoning could have needed, had it known the future.
//!
//! A path of samples r₀, r₁, … at times t₀ < t₁ < … is to be covered by *segments*: runs of samples
//! during which one line p + v·(t − t_s) stays within the tolerance G of every sample. A segment is
//! what one DR vector buys; the fewest segments are a bound that no causal sender of lines can
//! beat, whatever its trigger and estimator.
//!
//! ## Two games
//!
//! * [`fewest_free`]: p and v are free. If one line serves a run of samples, it serves every part
//!   of it. So among all ways to cover the first samples with k segments, none ends later than the
//!   *greedy* one, which makes each segment as long as it can be: by induction, whoever ends the
//!   k-th segment no later than greedy can begin the next no later, and what is left of their next
//!   segment after greedy's beginning is a part of it, so greedy could have covered it too. Greedy
//!   is optimal.
//! * [`fewest_pinned`]: p is the sample at which the segment begins, as for an owner who sends
//!   where it is. A part of a segment begins elsewhere and need not be one, so greedy is *not*
//!   optimal here: it can pay to begin earlier, from a better place. But every shorter segment from
//!   the same beginning is one. So with k segments one can begin the next at *any* sample up to the
//!   farthest that can be reached, F_k, and F_{k+1} is the farthest end over all beginnings up to
//!   F_k: every beginning is looked at once, and the first k with F_k beyond the last sample is the
//!   answer. [`greedy_pinned`] is what one gets by never stopping short.
//!
//! ## Does a line exist?
//!
//! Both ask whether min over (p, v) of max_i |p + v·τ_i − r_i| is at most G: see `stab`. The answer
//! there is certified from both sides, to a relative 10⁻⁹ of G.

mod stab;

use fairpath::vector::Vec2;

use self::stab::{Stab, Start};
use crate::live::Moment;

/// A place at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// When, in seconds. Later points have later times.
    pub secs: f64,
    /// Where.
    pub position: Vec2,
}

/// The path an owner saw itself take.
pub fn points_of(moments: &[Moment]) -> Vec<Point> {
    moments.iter().map(|moment| Point { secs: moment.secs, position: moment.body.position }).collect()
}

/// The fewest segments with a line each that stays within `tolerance`, if lines may begin anywhere.
pub fn fewest_free(points: &[Point], tolerance: f64) -> usize {
    greedy(points, tolerance, Start::Free)
}

/// The fewest segments if each line begins at the sample its segment begins with.
pub fn fewest_pinned(points: &[Point], tolerance: f64) -> usize {
    let mut segments = 0;
    // Beginnings from `looked_at` up to and with `farthest` can be reached with so many segments.
    let (mut looked_at, mut farthest) = (0, 0);
    while farthest < points.len() {
        segments += 1;
        // The latest first: where it ends is hard to beat, and most others are soon seen not to.
        let beginnings = looked_at..farthest + 1;
        looked_at = farthest + 1;
        for begin in beginnings.rev() {
            farthest = farthest.max(end_beyond(points, tolerance, begin, farthest));
        }
    }
    segments
}

/// How many segments one gets by making each as long as it can be, from the sample it begins with.
pub fn greedy_pinned(points: &[Point], tolerance: f64) -> usize {
    greedy(points, tolerance, Start::Pinned)
}

fn greedy(points: &[Point], tolerance: f64, start: Start) -> usize {
    let (mut segments, mut begin) = (0, 0);
    while begin < points.len() {
        begin = Stab::new(points, tolerance, begin, start).extend_from(begin + 1);
        segments += 1;
    }
    segments
}

/// Where the longest segment from `begin` ends (its first sample that is not covered), or zero if
/// it does not even cover sample `must_reach`.
fn end_beyond(points: &[Point], tolerance: f64, begin: usize, must_reach: usize) -> usize {
    let mut stab = Stab::new(points, tolerance, begin, Start::Pinned);
    let last = must_reach.min(points.len() - 1);
    if last > begin && !stab.reach(last) {
        return 0;
    }
    stab.extend_from(last.max(begin) + 1)
}
