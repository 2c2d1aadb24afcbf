//! Is there a line that stays within the tolerance of all samples?
//!
//! With d_i = (r_i − r_s)/G, this is whether
//!
//! ```text
//!   m² = min over (p, v) of max_i q_i ≤ 1,     q_i = |p + v·τ_i − d_i|²
//! ```
//!
//! Discs, not boxes: an axis at a time would let a sample be off by √2·G. The q_i are convex, so
//! the minimum and the maximum over weights w ≥ 0, Σ w_i = 1, may change places:
//!
//! ```text
//!   m² = max over w of min over (p, v) of Σ w_i·q_i
//! ```
//!
//! The inner minimum is a weighted regression line, in closed form. So *any* weights give a lower
//! bound, and any line an upper one: a yes has a line to show, a no has weights that prove it. Both
//! come from one Newton iteration on the barrier problem
//!
//! ```text
//!   minimise σ/μ − Σ log(σ − q_i)
//! ```
//!
//! where at the optimum w_i = μ/(σ − q_i) and the gap is μ times the number of samples,
//! in the five unknowns p, v, σ (three if p is pinned), with μ shrinking until the bounds lie on
//! one side of 1. Clear cases are decided by the plain regression before the first step.
//!
//! Only few samples hold a line in place (at most five: the problem is of LP type in four
//! unknowns). So the iteration works on a small *working set*; a sample that the resulting line
//! misses is added, and a no for the working set is a no for all.

use fairpath::vector::{Vec2, Vector};

use super::Point;

/// Where a line may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    Free,
    /// At the first sample.
    Pinned,
}

/// Accuracy of an answer, relative to the squared tolerance. Recordings are rounded more coarsely.
const ACCURACY: f64 = 2e-9;

/// A line through a growing run of samples, in units of the tolerance and relative to the first.
pub(super) struct Stab<'a> {
    points: &'a [Point],
    begin: usize,
    per_tolerance: f64,
    start: Start,
    working: Vec<usize>,
    line: Line,
}

/// A sample of the working set: time as a part of the longest in it, position in tolerances.
#[derive(Clone, Copy)]
struct Scaled {
    time: f64,
    place: Vec2,
}

/// p + v·τ.
#[derive(Clone, Copy, Debug)]
struct Line {
    position: Vec2,
    velocity: Vec2,
}

impl<'a> Stab<'a> {
    /// Creates a line that stays at sample `begin`.
    pub(super) fn new(points: &'a [Point], tolerance: f64, begin: usize, start: Start) -> Self {
        let line = Line { position: Vec2::ZERO, velocity: Vec2::ZERO };
        let working = if start == Start::Free { vec![begin] } else { Vec::new() };
        Self { points, begin, per_tolerance: 1.0 / tolerance, start, working, line }
    }

    /// Covers sample after sample from `next` on for as long as a line exists. Returns the first
    /// sample that is not covered. All before `next` must be covered.
    pub(super) fn extend_from(mut self, next: usize) -> usize {
        for index in next..self.points.len() {
            if !self.covers(index) && !self.reach(index) {
                return index;
            }
        }
        self.points.len()
    }

    /// Finds a line that covers everything up to sample `last`, if there is one.
    pub(super) fn reach(&mut self, last: usize) -> bool {
        self.working.push(last);
        loop {
            let Some(line) = self.line_through_working_set() else { return false };
            self.line = line;
            let missed = (self.begin..=last).map(|index| (self.off(index), index));
            let (off, worst) =
                missed.fold((0.0, last), |worst, each| if each.0 > worst.0 { each } else { worst });
            if off <= 1.0 + ACCURACY {
                return true;
            }
            debug_assert!(!self.working.contains(&worst), "a line through the working set misses none of it");
            self.working.push(worst);
        }
    }

    fn covers(&self, index: usize) -> bool {
        self.off(index) <= 1.0 + ACCURACY
    }

    /// Returns the squared error of the line at a sample, in tolerances.
    fn off(&self, index: usize) -> f64 {
        (self.line.at(self.time(index)) - self.place(index)).length_squared()
    }

    fn time(&self, index: usize) -> f64 {
        self.points[index].secs - self.points[self.begin].secs
    }

    fn place(&self, index: usize) -> Vec2 {
        (self.points[index].position - self.points[self.begin].position) * self.per_tolerance
    }

    fn line_through_working_set(&self) -> Option<Line> {
        let longest = self.working.iter().map(|&index| self.time(index)).fold(0.0, f64::max);
        let scaled = |&index: &usize| Scaled { time: self.time(index) / longest, place: self.place(index) };
        let samples: Vec<Scaled> = self.working.iter().map(scaled).collect();
        let line = decide(&samples, self.start)?;
        Some(Line { velocity: line.velocity * (1.0 / longest), ..line })
    }
}

impl Line {
    fn at(&self, time: f64) -> Vec2 {
        self.position + self.velocity * time
    }

    fn off(&self, sample: &Scaled) -> f64 {
        (self.at(sample.time) - sample.place).length_squared()
    }

    fn worst(&self, samples: &[Scaled]) -> f64 {
        samples.iter().map(|sample| self.off(sample)).fold(0.0, f64::max)
    }
}

/// Returns a line within 1 of all samples, or `None` if weights prove that there is none.
fn decide(samples: &[Scaled], start: Start) -> Option<Line> {
    /// Enough for the bounds to meet many times over: each step of μ takes about three iterations.
    const ITERATIONS_MAX: usize = 200;
    let even = vec![1.0; samples.len()];
    let (line, lower) = regression(samples, &even, start);
    let upper = line.worst(samples);
    if let Some(answer) = verdict(line, lower, upper) {
        return answer;
    }
    let mut barrier = Barrier::new(samples, start, line, upper);
    for _ in 0..ITERATIONS_MAX {
        barrier.step();
        let (_, lower) = regression(samples, &barrier.weights, start);
        if let Some(answer) = verdict(barrier.line, lower, barrier.line.worst(samples)) {
            return answer;
        }
    }
    // Not observed so far: rounding alone keeps the bounds apart. Within it, the line decides.
    (barrier.line.worst(samples) <= 1.0 + 1e3 * ACCURACY).then_some(barrier.line)
}

/// Returns what the bounds prove, if anything: yes with a line, or no.
#[expect(clippy::option_option, reason = "undecided is not no")]
fn verdict(line: Line, lower: f64, upper: f64) -> Option<Option<Line>> {
    if upper <= 1.0 + ACCURACY {
        Some(Some(line))
    } else if lower > 1.0 || upper - lower <= ACCURACY {
        Some(None)
    } else {
        None
    }
}

/// Returns the line of least weighted squares, and their sum for weights that add up to one.
fn regression(samples: &[Scaled], weights: &[f64], start: Start) -> (Line, f64) {
    let total: f64 = weights.iter().sum();
    let mean = |of: &dyn Fn(&Scaled) -> f64| {
        samples.iter().zip(weights).map(|(sample, weight)| of(sample) * weight).sum::<f64>() / total
    };
    let mean_place = |of: &dyn Fn(&Scaled) -> f64| {
        Vec2::new(mean(&|sample| of(sample) * sample.place.x), mean(&|sample| of(sample) * sample.place.y))
    };
    let line = match start {
        Start::Pinned => {
            let spread = mean(&|sample| sample.time * sample.time);
            let slope = mean_place(&|sample| sample.time) * (1.0 / spread);
            Line { position: Vec2::ZERO, velocity: if spread > 0.0 { slope } else { Vec2::ZERO } }
        }
        Start::Free => {
            let (time, place) = (mean(&|sample| sample.time), mean_place(&|_| 1.0));
            let spread = mean(&|sample| (sample.time - time) * (sample.time - time));
            let slope = mean_place(&|sample| sample.time - time) * (1.0 / spread);
            let velocity = if spread > 0.0 { slope } else { Vec2::ZERO };
            Line { position: place - velocity * time, velocity }
        }
    };
    (line, mean(&|sample| line.off(sample)))
}

/// The maximum number of unknowns: p, v and σ.
const UNKNOWNS_MAX: usize = 5;

/// Newton's method on the barrier problem.
struct Barrier<'a> {
    samples: &'a [Scaled],
    start: Start,
    line: Line,
    sigma: f64,
    mu: f64,
    /// 1/(σ − q_i), which is proportional to the weights.
    weights: Vec<f64>,
}

impl<'a> Barrier<'a> {
    fn new(samples: &'a [Scaled], start: Start, line: Line, upper: f64) -> Self {
        let sigma = 1.5 * upper;
        Self {
            samples,
            start,
            line,
            sigma,
            mu: sigma / samples.len() as f64,
            weights: vec![1.0; samples.len()],
        }
    }

    /// Takes one Newton step; once near the minimum for this μ, reduces μ.
    fn step(&mut self) {
        let (gradient, mut hessian) = self.derivatives();
        let unknowns = self.unknowns();
        let Some(step) = solved(&mut hessian, &gradient, unknowns) else {
            self.mu *= 0.5;
            return;
        };
        let decrement: f64 = step.iter().zip(&gradient).map(|(step, slope)| step * slope).sum();
        let mut part = if decrement > 0.25 { 1.0 / (1.0 + decrement.sqrt()) } else { 1.0 };
        loop {
            let (line, sigma) = self.moved(&step, part);
            if line.worst(self.samples) < sigma {
                (self.line, self.sigma) = (line, sigma);
                break;
            }
            part *= 0.5;
            if part < 1e-12 {
                break;
            }
        }
        for (weight, sample) in self.weights.iter_mut().zip(self.samples) {
            *weight = 1.0 / (self.sigma - self.line.off(sample));
        }
        if decrement < 0.25 {
            self.mu *= 0.15;
        }
    }

    fn unknowns(&self) -> usize {
        match self.start {
            Start::Free => 5,
            Start::Pinned => 3,
        }
    }

    /// Returns first and second derivatives by v, σ and, if it is free, p.
    fn derivatives(&self) -> ([f64; UNKNOWNS_MAX], [[f64; UNKNOWNS_MAX]; UNKNOWNS_MAX]) {
        let mut gradient = [0.0; UNKNOWNS_MAX];
        let mut hessian = [[0.0; UNKNOWNS_MAX]; UNKNOWNS_MAX];
        gradient[2] = 1.0 / self.mu;
        for sample in self.samples {
            let off = self.line.at(sample.time) - sample.place;
            let weight = 1.0 / (self.sigma - off.length_squared());
            let time = sample.time;
            // −∂(σ − q)/∂(v, σ, p)
            let slope = [2.0 * time * off.x, 2.0 * time * off.y, -1.0, 2.0 * off.x, 2.0 * off.y];
            for (row, slope_row) in slope.iter().enumerate() {
                gradient[row] += weight * slope_row;
                for (column, slope_column) in slope.iter().enumerate() {
                    hessian[row][column] += weight * weight * slope_row * slope_column;
                }
            }
            for (speed, place) in [(0, 3), (1, 4)] {
                hessian[speed][speed] += 2.0 * weight * time * time;
                hessian[place][place] += 2.0 * weight;
                hessian[speed][place] += 2.0 * weight * time;
                hessian[place][speed] += 2.0 * weight * time;
            }
        }
        (gradient, hessian)
    }

    fn moved(&self, step: &[f64; UNKNOWNS_MAX], part: f64) -> (Line, f64) {
        let velocity = self.line.velocity - Vec2::new(step[0], step[1]) * part;
        let position = self.line.position - Vec2::new(step[3], step[4]) * part;
        (Line { position, velocity }, self.sigma - step[2] * part)
    }
}

/// Solves H·x = g for the first `unknowns` by Cholesky's decomposition; the others are zero.
fn solved(
    hessian: &mut [[f64; UNKNOWNS_MAX]; UNKNOWNS_MAX],
    gradient: &[f64; UNKNOWNS_MAX],
    unknowns: usize,
) -> Option<[f64; UNKNOWNS_MAX]> {
    for row in 0..unknowns {
        for column in 0..=row {
            let before: f64 = (0..column).map(|k| hessian[row][k] * hessian[column][k]).sum();
            let left = hessian[row][column] - before;
            if row == column {
                if left.is_nan() || left <= 0.0 {
                    return None;
                }
                hessian[row][row] = left.sqrt();
            } else {
                hessian[row][column] = left / hessian[column][column];
            }
        }
    }
    let mut solution = [0.0; UNKNOWNS_MAX];
    for row in 0..unknowns {
        let before: f64 = (0..row).map(|k| hessian[row][k] * solution[k]).sum();
        solution[row] = (gradient[row] - before) / hessian[row][row];
    }
    for row in (0..unknowns).rev() {
        let after: f64 = (row + 1..unknowns).map(|k| hessian[k][row] * solution[k]).sum();
        solution[row] = (solution[row] - after) / hessian[row][row];
    }
    Some(solution)
}
