//! The gap between two smooth paths as a polynomial around an instant.
//!
//! Every motion model is a polynomial in time or turns at a constant rate, and a constant turn has
//! a Taylor series whose n-th term falls as (turn)ⁿ/n!. So over a time in which neither path turns
//! by more than a fraction of a radian, a few terms are exact to rounding. A polynomial is cheap to
//! evaluate, and bounds on it follow from the sizes of its terms, for complex times too: that makes
//! the error bounds in `panels.rs` proofs.

use std::ops::Range;

use super::gauss;
use super::path::Leg;
use crate::motion::{Circular, Dis, Hermite, Motion};
use crate::vector::{Planar, Vec2, Vec3, Vector};

const TERMS: usize = 14;
/// The largest turn of a motion in half the time of a series, in radians. The first omitted term is
/// then below turn¹³/14! = 4e-17 of the way, less than the rounding of the others.
pub(super) const TURN_MAX: f64 = 0.375;
/// A term below this share of the sizes from which the gap was computed is rounding.
const NEGLIGIBLE: f64 = f64::EPSILON / 64.0;
/// Roundings in a gap, in units of `f64::EPSILON`: sines, products and sums of two positions,
/// Horner's steps; counted generously.
const ROUNDINGS: f64 = 16.0;

/// The gap between two paths over some time, as a polynomial in x, which runs from −1 to 1.
#[derive(Clone, Debug)]
pub(super) struct GapSeries<V: Planar> {
    pub(super) secs: Range<f64>,
    terms: [V; TERMS],
    /// The highest term that is not negligible.
    degree: usize,
    /// The gap leaves its tangent by less than `bend`·|Δx|², also for complex x, within clearance.
    pub(super) bend: f64,
    /// Largest rounding error of the gap.
    pub(super) rounding: f64,
}

impl<V: Planar> GapSeries<V> {
    /// The gap from `other` to `one` during `secs`.
    pub(super) fn between(one: &Leg<'_, V>, other: &Leg<'_, V>, secs: Range<f64>, clearance: f64) -> Self {
        let (centre, half) = (0.5 * (secs.start + secs.end), 0.5 * (secs.end - secs.start));
        let (ones, others) = (one.expand(centre, half), other.expand(centre, half));
        let apart = one.origin() - other.origin();
        let mut terms: [V; TERMS] = std::array::from_fn(|k| ones.terms[k] - others.terms[k]);
        terms[0] = apart + terms[0];
        let size = apart.length() + ones.size + others.size;

        let (mut degree, mut bend, mut power) = (1, 0.0, 1.0);
        for (k, term) in terms.iter().enumerate().skip(2) {
            let length = term.length();
            if length > NEGLIGIBLE * size || length.is_nan() {
                degree = k;
                bend += (k * (k - 1) / 2) as f64 * length * power;
            }
            power *= clearance;
        }
        Self { secs, terms, degree, bend, rounding: ROUNDINGS * f64::EPSILON * size }
    }

    pub(super) fn secs_at(&self, x: f64) -> f64 {
        0.5 * ((1.0 - x) * self.secs.start + (1.0 + x) * self.secs.end)
    }

    pub(super) fn at(&self, x: f64) -> V {
        self.terms[..=self.degree].iter().rev().fold(V::ZERO, |gap, &term| gap * x + term)
    }

    /// The gap at `x`, and its change over a further `half` along the tangent.
    pub(super) fn tangent_at(&self, x: f64, half: f64) -> (V, V) {
        let (mut gap, mut slope) = (V::ZERO, V::ZERO);
        for &term in self.terms[..=self.degree].iter().rev() {
            slope = slope * x + gap;
            gap = gap * x + term;
        }
        (gap, slope * half)
    }

    /// The mean distance within `half` of `middle`, by Gauss's rule. Most of the time is spent
    /// here, so points are evaluated side by side: in a row they would wait for each other.
    pub(super) fn mean_distance(&self, middle: f64, half: f64) -> f64 {
        gauss::mean(|places| {
            let mut gaps = [V::ZERO; gauss::LANES];
            for &term in self.terms[..=self.degree].iter().rev() {
                for lane in 0..gauss::LANES {
                    gaps[lane] = gaps[lane] * (middle + half * places[lane]) + term;
                }
            }
            gaps.map(V::length)
        })
    }

    /// The first terms of the squared length of the gap.
    pub(super) fn squared<const COUNT: usize>(&self) -> [f64; COUNT] {
        let known = &self.terms[..=self.degree.min(COUNT - 1)];
        let mut squared = [0.0; COUNT];
        for (i, &one) in known.iter().enumerate() {
            for (sum, &other) in squared[i..].iter_mut().zip(known) {
                *sum += one.dot(other);
            }
        }
        squared
    }

    /// A lower bound of the distance integrated over the whole interval: a mean length is at least
    /// the length of the mean, also if the first half is counted negative.
    pub(super) fn sum_least(&self) -> f64 {
        let (mut even, mut odd) = (V::ZERO, V::ZERO);
        for k in (0..TERMS).step_by(2) {
            even += self.terms[k] * (1.0 / (k + 1) as f64);
            odd += self.terms[k + 1] * (1.0 / (k + 2) as f64);
        }
        (self.secs.end - self.secs.start) * even.length().max(odd.length())
    }

    pub(super) fn is_finite(&self) -> bool {
        // A higher term that overflows makes the bend overflow.
        (self.bend + self.rounding + self.terms[0].length() + self.terms[1].length()).is_finite()
    }
}

/// One path's displacement from its origin, as a polynomial in x.
struct Expansion<V: Vector> {
    terms: [V; TERMS],
    /// The sum of the lengths that were added: rounding is relative to it.
    size: f64,
}

impl<V: Planar> Leg<'_, V> {
    fn origin(&self) -> V {
        match self {
            Self::Line { line, .. } => line.origin,
            Self::Curve { motion, .. } => motion.origin(),
        }
    }

    /// The displacement from the origin after `secs`.
    pub(super) fn displacement_at(&self, secs: f64) -> V {
        match self {
            Self::Line { line, lead } => line.moved + line.velocity * (lead + secs),
            Self::Curve { motion, lead } => motion.displacement_at(lead + secs),
        }
    }

    /// The gap from `other` to this after `secs`.
    pub(super) fn gap_at(&self, other: &Self, secs: f64) -> V {
        (self.origin() - other.origin()) + (self.displacement_at(secs) - other.displacement_at(secs))
    }

    /// How fast the direction turns, in radians per second.
    pub(super) fn turn_rate(&self) -> f64 {
        match self {
            Self::Curve { motion: Motion::Circular(circular), .. } => circular.turn_rate.abs(),
            Self::Curve { motion: Motion::Dis(dis), .. } => dis.turning().length(),
            _ => 0.0,
        }
    }

    /// An upper bound of the speed between `begin` and `end`.
    pub(super) fn speed_max(&self, begin: f64, end: f64) -> f64 {
        match self {
            Self::Line { line, .. } => line.velocity.length(),
            Self::Curve { motion: Motion::Hermite(hermite), .. } => {
                // The velocity is a quadratic Bézier curve: it stays within the hull of its three
                // points.
                let (v0, v2) = (hermite.start_velocity, hermite.end_velocity);
                let v1 = (hermite.end - hermite.start) * (3.0 / hermite.secs) - v0 - v2;
                v0.length().max(v1.length()).max(v2.length())
            }
            // The others turn a velocity that changes linearly: its length is largest at an end.
            Self::Curve { motion, lead } => {
                motion.velocity_at(lead + begin).length().max(motion.velocity_at(lead + end).length())
            }
        }
    }

    fn expand(&self, centre: f64, half: f64) -> Expansion<V> {
        match self {
            Self::Line { line, lead } => {
                let mut terms = [V::ZERO; TERMS];
                terms[0] = self.displacement_at(centre);
                terms[1] = line.velocity * half;
                let far = (lead + centre).abs() + half;
                Expansion { terms, size: line.moved.length() + line.velocity.length() * far }
            }
            Self::Curve { motion, lead } => expand(motion, lead + centre, half),
        }
    }
}

fn expand<V: Planar>(motion: &Motion<V>, at: f64, half: f64) -> Expansion<V> {
    let mut terms = [V::ZERO; TERMS];
    terms[0] = motion.displacement_at(at);
    terms[1] = motion.velocity_at(at) * half;
    let far = at.abs() + half;
    let size = match motion {
        Motion::Static(_) => 0.0,
        Motion::Linear(linear) => linear.velocity.length() * far,
        Motion::Quadratic(quadratic) => {
            terms[2] = quadratic.acceleration * (0.5 * half * half);
            (quadratic.velocity.length() + quadratic.acceleration.length() * far) * far
        }
        Motion::Hermite(hermite) => expand_hermite(hermite, at, half, &mut terms),
        Motion::Circular(circular) => expand_circular(circular, half, &mut terms, far),
        Motion::Dis(dis) => expand_dis(dis, at, half, &mut terms, far),
    };
    Expansion { terms, size }
}

/// Displacement v0·t + b·t² + c·t³ until its end, then a line.
fn expand_hermite<V: Planar>(hermite: &Hermite<V>, at: f64, half: f64, terms: &mut [V; TERMS]) -> f64 {
    let Hermite { start_velocity, end_velocity, secs, .. } = *hermite;
    let way = hermite.end - hermite.start;
    let far = at.abs() + half;
    if at >= secs {
        return way.length() + end_velocity.length() * far;
    }
    let mean_velocity = way * (1.0 / secs);
    let square = (mean_velocity * 3.0 - start_velocity * 2.0 - end_velocity) * (1.0 / secs);
    let cube = (start_velocity + end_velocity - mean_velocity * 2.0) * (1.0 / (secs * secs));
    terms[2] = (square + cube * (3.0 * at)) * (half * half);
    terms[3] = cube * (half * half * half);
    way.length() + (start_velocity.length() + (square.length() + cube.length() * far) * far) * far
}

/// Each derivative of the velocity is the one before, turned by a quarter, times the turn rate.
fn expand_circular<V: Planar>(circular: &Circular<V>, half: f64, terms: &mut [V; TERMS], far: f64) -> f64 {
    let turn = circular.turn_rate * half;
    let mut term = terms[1].on_plane();
    for (k, slot) in terms.iter_mut().enumerate().skip(2) {
        term = term.perpendicular() * (turn / k as f64);
        *slot = V::from_plane(term, 0.0);
    }
    let fall = 0.5 * circular.climb_acceleration * half * half;
    terms[2] += V::from_plane(Vec2::ZERO, fall);
    let climb = circular.climb_rate.abs() + circular.climb_acceleration.abs() * far;
    // The rounding of the heading is relative to the heading, and turns the whole way.
    (circular.speed.abs() * (1.0 + circular.heading.abs()) + climb) * far
}

/// A velocity that changes linearly, in axes that turn at the rate Ω. In the world it solves v′ = Ω
/// × v + u with u′ = Ω × u, and so do its terms, one after the other.
fn expand_dis<V: Planar>(dis: &Dis, at: f64, half: f64, terms: &mut [V; TERMS], far: f64) -> f64 {
    let turn = dis.turning() * half;
    let now = Motion::<Vec3>::Dis(*dis).state_at(at);
    let mut velocity = now.velocity * half;
    let mut change = now.acceleration * (half * half) - turn.cross(velocity);
    for (k, slot) in terms.iter_mut().enumerate().skip(2) {
        // Here `velocity` and `change` are the terms of order k − 2.
        let order = 1.0 / (k - 1) as f64;
        velocity = (turn.cross(velocity) + change) * order;
        change = turn.cross(change) * order;
        *slot = V::from_3d(velocity * (1.0 / k as f64));
    }
    let rate = dis.angular_velocity.length();
    let change_max = dis.acceleration.length() + rate * dis.velocity.length();
    // Quaternion and series round a few times more than a plain circle.
    4.0 * (dis.velocity.length() + change_max * far) * far
}
