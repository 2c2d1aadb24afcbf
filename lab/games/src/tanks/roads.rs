//! Routes round the boxes: a visibility graph of box corners, built once per map.
//!
//! A shortest path among convex obstacles bends only at their corners. So the edges of the graph
//! are the free straight lines between corners, each corner moved a little away from its box. A
//! route is a shortest path over them (Dijkstra).

use fairpath::vector::{Vec2, Vector};

use super::config::TANK_RADIUS;
use super::geometry::Rectangle;

/// The distance that routes keep from a box: a tank's radius and a margin.
pub(super) const CLEARANCE: f64 = TANK_RADIUS + 2.5;

/// The corners of a map's boxes and the free lines between them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Roads {
    corners: Vec<Vec2>,
    /// For each corner, the corners it reaches and their distances.
    links: Vec<Vec<(usize, f64)>>,
}

impl Roads {
    /// Returns the graph of these boxes, in a field that reaches to `half_side`.
    pub(super) fn around(boxes: &[Rectangle], half_side: f64) -> Self {
        let limit = half_side - TANK_RADIUS;
        let is_open = |corner: &Vec2| {
            let is_inside = corner.x.abs().max(corner.y.abs()) <= limit;
            is_inside && boxes.iter().all(|each| !each.inflated(CLEARANCE).contains(*corner))
        };
        let outer = boxes.iter().flat_map(|each| each.inflated(CLEARANCE + 0.5).corners());
        let corners: Vec<Vec2> = outer.filter(is_open).collect();
        let links = corners.iter().map(|from| reachable(boxes, *from, &corners)).collect();
        Self { corners, links }
    }

    /// Returns the shortest route's corners, last first. Empty if straight is free or no way is.
    pub(super) fn way(&self, boxes: &[Rectangle], from: Vec2, to: Vec2) -> Vec<Vec2> {
        if is_free(boxes, from, to, CLEARANCE) {
            return Vec::new();
        }
        // The search starts at the goal: links from the start are in the order of travel.
        let mut search = Search::new(self.corners.len());
        for (corner, distance) in reachable(boxes, to, &self.corners) {
            search.offer(corner, distance, None);
        }
        while let Some((corner, distance)) = search.settle_nearest() {
            for &(next, step) in &self.links[corner] {
                search.offer(next, distance + step, Some(corner));
            }
        }
        let first = reachable(boxes, from, &self.corners)
            .into_iter()
            .map(|(corner, step)| (corner, step + search.distance[corner]))
            .filter(|(_, length)| length.is_finite())
            .min_by(|one, other| one.1.total_cmp(&other.1));
        let mut way: Vec<Vec2> =
            std::iter::successors(first.map(|(corner, _)| corner), |corner| search.next[*corner])
                .map(|corner| self.corners[corner])
                .collect();
        way.reverse();
        way
    }
}

/// Returns whether the straight line keeps `clearance` from every box.
pub(super) fn is_free(boxes: &[Rectangle], from: Vec2, to: Vec2, clearance: f64) -> bool {
    boxes.iter().all(|each| {
        let kept_clear = each.inflated(clearance.min(room_beside(each, from, to)));
        kept_clear.first_hit(from, to).is_none()
    })
}

/// Returns the clearance that a line from `from` to `to` can keep from a box: at most the distance
/// at its ends. It is continuous, or a driver would change its route with every look.
fn room_beside(each: &Rectangle, from: Vec2, to: Vec2) -> f64 {
    /// A little less than the distance itself, or the line would begin with a hit.
    const SHARE: f64 = 0.98;
    let beside = each.distance_outside(from).min(each.distance_outside(to));
    (SHARE * beside).max(0.0)
}

fn reachable(boxes: &[Rectangle], from: Vec2, corners: &[Vec2]) -> Vec<(usize, f64)> {
    let all = corners.iter().enumerate();
    all.filter(|(_, corner)| is_free(boxes, from, **corner, CLEARANCE))
        .map(|(number, corner)| (number, from.distance(*corner)))
        .collect()
}

/// Dijkstra's tables. Maps are small, so a linear scan finds the nearest open corner.
struct Search {
    distance: Vec<f64>,
    next: Vec<Option<usize>>,
    is_settled: Vec<bool>,
}

impl Search {
    fn new(corners: usize) -> Self {
        Self {
            distance: vec![f64::INFINITY; corners],
            next: vec![None; corners],
            is_settled: vec![false; corners],
        }
    }

    fn offer(&mut self, corner: usize, distance: f64, next: Option<usize>) {
        if distance < self.distance[corner] {
            self.distance[corner] = distance;
            self.next[corner] = next;
        }
    }

    fn settle_nearest(&mut self) -> Option<(usize, f64)> {
        let open = self
            .distance
            .iter()
            .copied()
            .enumerate()
            .filter(|(corner, distance)| distance.is_finite() && !self.is_settled[*corner]);
        let nearest = open.min_by(|one, other| one.1.total_cmp(&other.1))?;
        self.is_settled[nearest.0] = true;
        Some(nearest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tanks::map::Map;
    use fairpath::random::Random;

    #[test]
    fn ways_lead_round_boxes_and_no_corner_is_too_many() {
        let mut random = Random::from_seed(5);
        for seed in 0..20 {
            let map = Map::generate(24, &mut Random::from_seed(seed));
            let roads = Roads::around(map.boxes(), map.half_side());
            let mut free_point = || loop {
                let point = Vec2::new(random.between(-380.0, 380.0), random.between(-380.0, 380.0));
                if map.boxes().iter().all(|each| !each.inflated(CLEARANCE).contains(point)) {
                    return point;
                }
            };
            for _ in 0..20 {
                let (start, goal) = (free_point(), free_point());
                let mut stops = roads.way(map.boxes(), start, goal);
                stops.reverse();
                stops.push(goal);
                let mut here = start;
                let mut length = 0.0;
                for stop in stops {
                    assert!(is_free(map.boxes(), here, stop, CLEARANCE), "seed {seed}: through a box");
                    length += here.distance(stop);
                    here = stop;
                }
                assert!(length < 1.5 * start.distance(goal) + 100.0, "seed {seed}: a long way round");
            }
        }
    }

    #[test]
    fn a_goal_that_is_walled_in_has_no_way() {
        let wall = |x: f64, y: f64, heading: f64| Rectangle::new(Vec2::new(x, y), heading, 60.0, 6.0);
        let quarter = std::f64::consts::FRAC_PI_2;
        let boxes = [
            wall(0.0, 27.0, 0.0),
            wall(0.0, -27.0, 0.0),
            wall(27.0, 0.0, quarter),
            wall(-27.0, 0.0, quarter),
        ];
        let roads = Roads::around(&boxes, 400.0);
        assert!(roads.way(&boxes, Vec2::new(100.0, 0.0), Vec2::ZERO).is_empty());
        assert_eq!(roads.way(&boxes, Vec2::new(100.0, 0.0), Vec2::new(-100.0, 0.0)).len(), 2, "round it");
    }
}
