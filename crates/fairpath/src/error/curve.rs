//! The accumulated error as a function of time, for many receivers that differ only in the instant
//! up to which they follow the same path.

use super::path::Path;
use super::series::{GapSeries, TURN_MAX};
use super::{Tolerance, accumulated_value};
use crate::time::{SharedInstant, Span};
use crate::vector::Planar;

/// The distance between two paths, integrated from one instant up to any later one.
///
/// The curve is cut into cells, which are computed when they are first needed. In a cell the
/// distance is a power series in time: the root of the series of the squared gap. So the integral
/// up to any instant is one polynomial. Where that series converges too slowly, because the paths
/// come near each other, Gauss's rule integrates the series of the gap. Where the paths meet or one
/// of them breaks, the cell integrates as if there were no curve.
#[derive(Clone, Debug)]
pub(crate) struct ErrorCurve<V: Planar> {
    since: SharedInstant,
    cells: Vec<Cell<V>>,
    /// The last start, which is the same for most receivers, and the integral up to it.
    begun: (SharedInstant, f64),
}

#[derive(Clone, Debug)]
struct Cell<V: Planar> {
    /// The integral up to the start of the cell.
    before: f64,
    rule: CellRule<V>,
}

/// How a cell integrates from its start to `x`, which runs from −1 to 1 over the cell.
#[derive(Clone, Debug)]
enum CellRule<V: Planar> {
    /// By a polynomial in `x`: a constant, then the terms.
    Polynomial(f64, [f64; TERMS]),
    Gauss(Box<GapSeries<V>>),
    Exact,
}

/// Terms of the distance's series. Ten: with the next meeting of the two paths eight half-cells
/// away, which is usual at a trigger, the first omitted term is 1e-9 of the first.
const TERMS: usize = 10;
/// The length of a cell. Shorter computes more cells for receivers far apart; longer makes more
/// cells meet the other path and fall back to exact integrals.
const CELL: Span = Span::from_millis(16);
const CELL_MICROS: u64 = CELL.as_micros() as u64;
/// Cells of one curve: 1 s, which is as late as copies usually arrive.
const CELLS_MAX: usize = 64;
/// The largest last term, and the largest difference to Gauss's rule, as a share of the distance.
const RELATIVE: f64 = 1e-8;

impl<V: Planar> ErrorCurve<V> {
    pub(crate) fn new(since: SharedInstant) -> Self {
        Self { since, cells: Vec::new(), begun: (since, 0.0) }
    }

    /// The distance between the two paths, integrated from `from` to `to`. The paths must be the
    /// same in every call. `None` before the start of the curve and long after it.
    pub(crate) fn between(
        &mut self,
        one: &Path<V>,
        other: &Path<V>,
        from: SharedInstant,
        to: SharedInstant,
    ) -> Option<f64> {
        if self.begun.0 != from {
            self.begun = (from, self.until(one, other, from)?);
        }
        let before = self.begun.1;
        Some((self.until(one, other, to)? - before).max(0.0))
    }

    /// The same as [`between`](Self::between), if the start is the last one and the integral up to
    /// the end needs no path.
    #[inline]
    pub(crate) fn known_between(&self, from: SharedInstant, to: SharedInstant) -> Option<f64> {
        let (start, before) = self.begun;
        let micros = u64::try_from((to - self.since).as_micros()).ok()?;
        let cell = self.cells.get((micros / CELL_MICROS) as usize)?;
        if start != from {
            return None;
        }
        let within = cell.rule.within((micros % CELL_MICROS) as i64)?;
        Some((cell.before + within - before).max(0.0))
    }

    fn until(&mut self, one: &Path<V>, other: &Path<V>, to: SharedInstant) -> Option<f64> {
        let place = usize::try_from((to - self.since).as_micros() / CELL.as_micros()).ok()?;
        if place >= CELLS_MAX {
            return None;
        }
        while self.cells.len() <= place {
            self.add_cell(one, other);
        }
        let (cell, start) = (&self.cells[place], self.start_of(place));
        Some(cell.before + cell.within(one, other, start, to))
    }

    fn start_of(&self, place: usize) -> SharedInstant {
        self.since + Span::from_micros(CELL.as_micros() * place as i64)
    }

    fn add_cell(&mut self, one: &Path<V>, other: &Path<V>) {
        let place = self.cells.len();
        let start = self.start_of(place);
        let before = self
            .cells
            .last()
            .map_or(0.0, |last| last.before + last.within(one, other, self.start_of(place - 1), start));
        self.cells.push(Cell { before, rule: CellRule::from(one, other, start) });
    }
}

impl<V: Planar> Cell<V> {
    /// The integral from the start of the cell up to `to`.
    #[inline]
    fn within(&self, one: &Path<V>, other: &Path<V>, start: SharedInstant, to: SharedInstant) -> f64 {
        let known = self.rule.within((to - start).as_micros());
        known.unwrap_or_else(|| accumulated_value(one, other, start, to))
    }
}

impl<V: Planar> CellRule<V> {
    /// The integral over the first microseconds of the cell; `None` if it needs the paths.
    #[inline]
    fn within(&self, micros: i64) -> Option<f64> {
        let x = micros as f64 * (2.0 / CELL.as_micros() as f64) - 1.0;
        match self {
            Self::Polynomial(constant, terms) => {
                Some(constant + x * terms.iter().rev().fold(0.0, |sum, term| sum * x + term))
            }
            Self::Gauss(series) => {
                let half = 0.5 * (x + 1.0);
                Some(half * CELL.as_secs_f64() * series.mean_distance(half - 1.0, half))
            }
            Self::Exact => None,
        }
    }

    /// The rule for the cell that begins at `start`.
    fn from(one: &Path<V>, other: &Path<V>, start: SharedInstant) -> Self {
        let secs = CELL.as_secs_f64();
        let is_broken = |path: &Path<V>| path.breaks(start).iter().any(|at| *at > 0.0 && *at < secs);
        if is_broken(one) || is_broken(other) {
            return Self::Exact;
        }
        let (one, other) = (one.leg(start, 0.5 * secs), other.leg(start, 0.5 * secs));
        if one.turn_rate().max(other.turn_rate()) * secs > 2.0 * TURN_MAX {
            return Self::Exact;
        }
        let series = GapSeries::between(&one, &other, 0.0..secs, Tolerance::OF_BOOKS.clearance);
        if !series.is_finite() {
            return Self::Exact;
        }
        if let Some(distance) = distance_series(&series) {
            return Self::integral_of(distance);
        }
        let (gap, change) = series.tangent_at(0.0, 1.0);
        let is_clear = Tolerance::OF_BOOKS.is_clear(gap.length(), change.length(), series.bend);
        if is_clear { Self::Gauss(Box::new(series)) } else { Self::Exact }
    }

    fn integral_of(mut terms: [f64; TERMS]) -> Self {
        let half = 0.5 * CELL.as_secs_f64();
        for (power, term) in (1..).zip(&mut terms) {
            *term *= half / f64::from(power);
        }
        // Zero at x = −1.
        let constant = terms.iter().rev().fold(0.0, |sum, term| term - sum);
        Self::Polynomial(constant, terms)
    }
}

/// The distance as a power series in x; `None` where it converges too slowly.
fn distance_series<V: Planar>(series: &GapSeries<V>) -> Option<[f64; TERMS]> {
    let squared: [f64; TERMS] = series.squared();
    let first = squared[0].sqrt();
    let mut distance = [0.0; TERMS];
    distance[0] = first;
    // (d₀ + d₁x + …)² is the squared gap, term by term.
    for k in 1..TERMS {
        let known: f64 = (1..k).map(|i| distance[i] * distance[k - i]).sum();
        distance[k] = (squared[k] - known) / (2.0 * first);
    }
    let last = distance[TERMS - 1].abs().max(distance[TERMS - 2].abs());
    if first.is_nan() || first <= 0.0 || last.is_nan() || last > RELATIVE * first {
        return None;
    }
    let mean: f64 = (0..TERMS).step_by(2).map(|k| distance[k] / (k + 1) as f64).sum();
    ((mean - series.mean_distance(0.0, 1.0)).abs() <= RELATIVE * mean).then_some(distance)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::accumulated;
    use crate::motion::{Circular, Linear, Motion};
    use crate::random::Random;
    use crate::vector::{Vec2, Vector};

    /// How many cells of the curves of this seed use each rule.
    fn rules(seed: u64) -> [usize; 3] {
        let mut random = Random::from_seed(seed);
        let mut counts = [0; 3];
        for _ in 0..300 {
            let one = motion(&mut random, Vec2::ZERO);
            let other = motion(&mut random, Vec2::new(0.3, 0.0));
            let (one, other) = (Path::new(one, SharedInstant::ZERO), Path::new(other, SharedInstant::ZERO));
            let mut curve = ErrorCurve::new(SharedInstant::ZERO);
            curve.between(&one, &other, SharedInstant::ZERO, SharedInstant::from_millis(100));
            for cell in &curve.cells {
                counts[match cell.rule {
                    CellRule::Polynomial(..) => 0,
                    CellRule::Gauss(_) => 1,
                    CellRule::Exact => 2,
                }] += 1;
            }
        }
        counts
    }

    #[test]
    fn most_cells_need_one_polynomial_and_few_are_integrated_again() {
        let [polynomial, gauss, exact] = rules(3);
        assert!(polynomial > 2 * gauss && gauss > 4 * exact && exact > 0, "{polynomial}, {gauss}, {exact}");
    }

    fn motion(random: &mut Random, position: Vec2) -> Motion<Vec2> {
        if random.chance(0.3) {
            let velocity = Vec2::new(random.between(-20.0, 20.0), random.between(-20.0, 20.0));
            return Motion::Linear(Linear { position, velocity });
        }
        Motion::Circular(Circular {
            position,
            heading: random.between(-3.0, 3.0),
            speed: random.between(-5.0, 25.0),
            turn_rate: random.between(-0.8, 0.8),
            climb_rate: 0.0,
            climb_acceleration: 0.0,
        })
    }

    #[test]
    fn it_is_the_exact_integral_to_a_millionth() {
        let mut random = Random::from_seed(5);
        let since = SharedInstant::from_millis(70);
        let micros = |span: u64| Span::from_micros(span as i64);
        for round in 0..2_000 {
            let reach = random.between(0.0, 0.5);
            let one = motion(&mut random, Vec2::ZERO);
            let other = motion(&mut random, Vec2::new(reach, 0.1 * reach));
            let frozen = since + micros(random.below(400_000));
            let (one, other) = (Path::new(one, since), Path::new(other, since).frozen_from(frozen));
            let mut curve = ErrorCurve::new(since);
            for _ in 0..8 {
                let from = since + micros(random.below(500_000));
                let to = from + micros(random.below(300_000));
                let found = curve.between(&one, &other, from, to).expect("within the first second");
                let exact = accumulated(&one, &other, from, to).value;
                // A difference of two sums rounds by as much as the sums do.
                let sum = accumulated(&one, &other, since, to).value;
                let off = (found - exact).abs();
                assert!(off <= 1e-7 * sum + 1e-12, "round {round}: {found} and {exact}");
            }
        }
    }

    #[test]
    fn nothing_is_known_before_its_start_and_long_after_it() {
        let since = SharedInstant::from_millis(500);
        let mut random = Random::from_seed(1);
        let (one, other) = (motion(&mut random, Vec2::ZERO), motion(&mut random, Vec2::new(1.0, 0.0)));
        let (one, other) = (Path::new(one, since), Path::new(other, since));
        let mut curve = ErrorCurve::new(since);
        let second = Span::from_secs(1);
        assert_eq!(curve.between(&one, &other, since - second, since), None);
        assert_eq!(curve.between(&one, &other, since, since + second + second), None);
        assert_eq!(curve.between(&one, &other, since, since), Some(0.0));
    }
}
