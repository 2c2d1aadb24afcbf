//! A k-d tree over positions: finds what is near without asking every position.
//!
//! A tree and not a grid, because it needs no cell size: it works for a village and a galaxy in one
//! world, and for all objects in one spot. It is built anew for each check. Equal input gives equal
//! output, in every build.

use std::collections::BinaryHeap;

use crate::vector::Vector;

/// Positions of numbered items.
#[derive(Debug)]
pub(super) struct PositionIndex<V> {
    /// A balanced tree in place: of a part with more than [`LEAF`] points the middle one divides the
    /// others.
    points: Vec<Point<V>>,
    /// Items without a position, in ascending order. They are near everything.
    unplaced: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Point<V> {
    position: V,
    item: u32,
    /// The axis that this point divides its part along.
    axis: u8,
}

/// Parts of at most so many points are searched one by one, which is faster than to divide them.
const LEAF: usize = 8;

impl<V: Vector> PositionIndex<V> {
    /// Numbers the positions from zero. A position that is not finite counts as none.
    pub(super) fn new(positions: impl Iterator<Item = Option<V>>) -> Self {
        let (mut points, mut unplaced) = (Vec::with_capacity(positions.size_hint().0), Vec::new());
        for (item, position) in (0..).zip(positions) {
            match position.filter(|position| position.is_finite()) {
                Some(position) => points.push(Point { position, item, axis: 0 }),
                None => unplaced.push(item),
            }
        }
        divide(&mut points);
        Self { points, unplaced }
    }

    /// Returns the items without a position.
    pub(super) fn unplaced(&self) -> &[u32] {
        &self.unplaced
    }

    /// Adds the items that are at most `radius` from `center` to `found`, and a few more: the caller
    /// compares exact distances. A radius that is not a number reaches everything.
    pub(super) fn within(&self, center: V, radius: f64, found: &mut Vec<u32>) {
        collect_within(&self.points, center, radius, found);
    }

    /// Adds the `count` items nearest to `center` to `found`, among those that `may_count`. Of two
    /// equally near the one with the lower number counts.
    pub(super) fn nearest(
        &self,
        center: V,
        count: usize,
        may_count: impl Fn(u32) -> bool,
        found: &mut Vec<u32>,
    ) {
        if count > 0 {
            let mut nearest = NearestSearch { center, count, may_count, found: BinaryHeap::new() };
            nearest.search(&self.points);
            found.extend(nearest.found.into_iter().map(|(_, item)| item));
        }
    }
}

/// Orders points into a balanced tree.
fn divide<V: Vector>(points: &mut [Point<V>]) {
    if points.len() <= LEAF {
        return;
    }
    let axis = widest_axis(points);
    let middle = points.len() / 2;
    let along = |point: &Point<V>| point.position.component(axis);
    points.select_nth_unstable_by(middle, |one, other| {
        along(one).total_cmp(&along(other)).then(one.item.cmp(&other.item))
    });
    points[middle].axis = axis as u8;
    let (low, rest) = points.split_at_mut(middle);
    divide(low);
    divide(&mut rest[1..]);
}

fn widest_axis<V: Vector>(points: &[Point<V>]) -> usize {
    let width = |axis: usize| {
        let along = points.iter().map(|point| point.position.component(axis));
        let (min, max) = along.fold((f64::MAX, f64::MIN), |(min, max), at| (at.min(min), at.max(max)));
        max - min
    };
    let widths = (0..V::DIMENSIONS).map(|axis| (axis, width(axis)));
    widths.reduce(|widest, next| if next.1 > widest.1 { next } else { widest }).map_or(0, |(axis, _)| axis)
}

/// A part of the tree that is no leaf: the middle point, and the points on both sides of it.
struct Branch<'a, V> {
    low: &'a [Point<V>],
    middle: &'a Point<V>,
    high: &'a [Point<V>],
}

/// Returns the parts of a branch; `None` for a leaf.
fn branch<V>(points: &[Point<V>]) -> Option<Branch<'_, V>> {
    if points.len() <= LEAF {
        return None;
    }
    let (low, rest) = points.split_at(points.len() / 2);
    let (middle, high) = rest.split_first()?;
    Some(Branch { low, middle, high })
}

/// Returns whether points that are `apart` along one axis are farther than `reach`, by more than
/// computed distances are rounded: the square of a tiny number is zero.
fn is_beyond(apart: f64, reach: f64) -> bool {
    const TINY: f64 = 1e-150;
    apart > reach * (1.0 + 1e-12) + TINY
}

fn collect_within<V: Vector>(points: &[Point<V>], center: V, radius: f64, found: &mut Vec<u32>) {
    let is_near = |point: &&Point<V>| !is_beyond(point.position.distance(center), radius);
    let Some(Branch { low, middle, high }) = branch(points) else {
        return found.extend(points.iter().filter(is_near).map(|point| point.item));
    };
    let axis = usize::from(middle.axis);
    let above = center.component(axis) - middle.position.component(axis);
    if !is_beyond(above, radius) {
        collect_within(low, center, radius, found);
    }
    found.extend(Some(middle).filter(is_near).map(|point| point.item));
    if !is_beyond(-above, radius) {
        collect_within(high, center, radius, found);
    }
}

/// A search for the nearest points.
struct NearestSearch<V, F> {
    center: V,
    count: usize,
    may_count: F,
    /// Distances as bits, which order positive numbers, and items; the farthest on top.
    found: BinaryHeap<(u64, u32)>,
}

impl<V: Vector, F: Fn(u32) -> bool> NearestSearch<V, F> {
    fn search(&mut self, points: &[Point<V>]) {
        let Some(Branch { low, middle, high }) = branch(points) else {
            return points.iter().for_each(|point| self.offer(point));
        };
        let axis = usize::from(middle.axis);
        let above = self.center.component(axis) - middle.position.component(axis);
        let (near, far) = if above > 0.0 { (high, low) } else { (low, high) };
        self.search(near);
        self.offer(middle);
        if !is_beyond(above.abs(), self.reach()) {
            self.search(far);
        }
    }

    fn offer(&mut self, point: &Point<V>) {
        let candidate = (point.position.distance(self.center).to_bits(), point.item);
        let is_full = self.found.len() >= self.count;
        let is_nearer = !is_full || self.found.peek().is_some_and(|farthest| candidate < *farthest);
        if is_nearer && (self.may_count)(point.item) {
            if is_full {
                self.found.pop();
            }
            self.found.push(candidate);
        }
    }

    /// Returns the distance beyond which no point counts any more.
    fn reach(&self) -> f64 {
        match self.found.peek() {
            Some((farthest, _)) if self.found.len() >= self.count => f64::from_bits(*farthest),
            _ => f64::INFINITY,
        }
    }
}
