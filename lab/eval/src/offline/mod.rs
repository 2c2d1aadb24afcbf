//! The fewest packets that linear dead reckoning could need with knowledge of the future.
//!
//! A path of samples r₀, r₁, … at times t₀ < t₁ < … is covered by *segments*: runs of samples
//! during which one line p + v·(t − t_s) stays within the tolerance G of every sample. One DR
//! vector buys one segment. No causal sender of lines can use fewer segments, whatever its trigger
//! and estimator.
//!
//! ## Two problems
//!
//! * [`fewest_free`]: p and v are free. If one line covers a run of samples, it covers every part
//!   of it. So among all covers of the first samples with k segments, none ends later than the
//!   *greedy* one, which makes each segment as long as possible. By induction: a cover whose k-th
//!   segment ends no later than greedy's starts its next segment no later. The rest of that segment
//!   after greedy's start is a part of it, so greedy covers it too. Greedy is optimal.
//! * [`fewest_pinned`]: p is the first sample of the segment, as for an owner that sends its own
//!   position. A part of a segment begins elsewhere and need not be a segment, so greedy is *not*
//!   optimal: it can pay to begin earlier, from a better place. But every shorter segment from the
//!   same beginning is a segment. So after k segments the next can begin at *any* sample up to the
//!   farthest reachable, F_k, and F_{k+1} is the farthest end over all beginnings up to F_k. Every
//!   beginning is examined once, and the first k with F_k beyond the last sample is the answer.
//!   [`greedy_pinned`] is the number of segments without ever stopping early.
//!
//! ## Does a line exist?
//!
//! Both ask whether min over (p, v) of max_i |p + v·τ_i − r_i| is at most G: see `stab`. The answer
//! there is certified from both sides, to a relative 10⁻⁹ of G.

mod stab;

use fairpath::vector::Vec2;

use self::stab::{Stab, Start};
use crate::live::Moment;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Time in seconds, ascending.
    pub secs: f64,
    pub position: Vec2,
}

pub fn points_of(moments: &[Moment]) -> Vec<Point> {
    moments.iter().map(|moment| Point { secs: moment.secs, position: moment.body.position }).collect()
}

/// Returns the fewest segments whose lines stay within `tolerance` and may begin anywhere.
pub fn fewest_free(points: &[Point], tolerance: f64) -> usize {
    greedy(points, tolerance, Start::Free)
}

/// Returns the fewest segments if each line begins at the first sample of its segment.
pub fn fewest_pinned(points: &[Point], tolerance: f64) -> usize {
    let mut segments = 0;
    // Beginnings from `looked_at` through `farthest` can be reached with `segments` segments.
    let (mut looked_at, mut farthest) = (0, 0);
    while farthest < points.len() {
        segments += 1;
        // The latest first: its end is hard to beat, and most others are soon seen not to.
        let beginnings = looked_at..farthest + 1;
        looked_at = farthest + 1;
        for begin in beginnings.rev() {
            farthest = farthest.max(end_beyond(points, tolerance, begin, farthest));
        }
    }
    segments
}

/// Returns the number of segments if each is made as long as possible, from its first sample.
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

/// Returns the end of the longest segment from `begin` (its first sample that is not covered), or
/// zero if it does not cover sample `must_reach`.
fn end_beyond(points: &[Point], tolerance: f64, begin: usize, must_reach: usize) -> usize {
    let mut stab = Stab::new(points, tolerance, begin, Start::Pinned);
    let last = must_reach.min(points.len() - 1);
    if last > begin && !stab.reach(last) {
        return 0;
    }
    stab.extend_from(last.max(begin) + 1)
}
