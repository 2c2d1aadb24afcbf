//! Rectangles at any angle: the shape of tanks, boxes and bases.

use fairpath::vector::{Vec2, Vector};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rectangle {
    pub centre: Vec2,
    /// The unit vector along its length.
    along: Vec2,
    /// Half its length and half its width.
    half: Vec2,
    /// Half the diagonal. Points farther from the centre are outside.
    reach: f64,
}

impl Rectangle {
    /// Returns a rectangle `length` long in the direction of `heading` and `width` wide.
    pub fn new(centre: Vec2, heading: f64, length: f64, width: f64) -> Self {
        let half = Vec2::new(0.5 * length, 0.5 * width);
        Self { centre, along: Vec2::from_heading(heading), half, reach: half.length() }
    }

    /// Returns the rectangle moved to another centre.
    #[must_use]
    pub fn at(self, centre: Vec2) -> Self {
        Self { centre, ..self }
    }

    /// Returns the rectangle grown by `margin` on every side.
    #[must_use]
    pub fn inflated(self, margin: f64) -> Self {
        let half = self.half + Vec2::new(margin, margin);
        Self { half, reach: half.length(), ..self }
    }

    /// Length, then width.
    pub fn size(&self) -> Vec2 {
        self.half * 2.0
    }

    /// Returns the direction of its length, in radians from +x towards +y.
    pub fn heading(&self) -> f64 {
        self.along.heading()
    }

    pub fn reach(&self) -> f64 {
        self.reach
    }

    /// Returns the corners, in order around the rectangle.
    pub fn corners(&self) -> [Vec2; 4] {
        let ahead = self.along * self.half.x;
        let aside = self.along.perpendicular() * self.half.y;
        [ahead + aside, aside - ahead, -ahead - aside, ahead - aside].map(|corner| self.centre + corner)
    }

    /// Returns its half extents along x and y.
    pub fn extent(&self) -> Vec2 {
        let (x, y) = (self.along.x.abs(), self.along.y.abs());
        Vec2::new(x * self.half.x + y * self.half.y, y * self.half.x + x * self.half.y)
    }

    /// Returns `point` in the rectangle's frame: origin at the centre, length along x.
    pub fn to_local(&self, point: Vec2) -> Vec2 {
        let offset = point - self.centre;
        Vec2::new(offset.dot(self.along), offset.dot(self.along.perpendicular()))
    }

    pub fn contains(&self, point: Vec2) -> bool {
        let local = self.to_local(point);
        local.x.abs() < self.half.x && local.y.abs() < self.half.y
    }

    /// Returns by how much the rectangle must grow on every side to reach `point`; negative inside.
    pub fn distance_outside(&self, point: Vec2) -> f64 {
        let local = self.to_local(point);
        (local.x.abs() - self.half.x).max(local.y.abs() - self.half.y)
    }

    /// Returns whether the two overlap. Touching is not overlapping.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.way_out_of(other).is_some()
    }

    /// Returns the shortest translation that separates this from `other`, if they overlap.
    ///
    /// Separating axis theorem: two convex shapes are apart exactly if they are apart along some
    /// side's normal. The normal with the least overlap gives the shortest translation.
    pub fn way_out_of(&self, other: &Self) -> Option<Vec2> {
        let apart = self.centre - other.centre;
        let reach = self.reach + other.reach;
        if apart.length_squared() >= reach * reach {
            return None;
        }
        let mut shortest: Option<(f64, Vec2)> = None;
        for normal in [other.along, other.along.perpendicular(), self.along, self.along.perpendicular()] {
            let distance = apart.dot(normal);
            let depth = self.reach_along(normal) + other.reach_along(normal) - distance.abs();
            if depth <= 0.0 {
                return None;
            }
            if shortest.is_none_or(|(least, _)| depth < least) {
                shortest = Some((depth, if distance < 0.0 { -normal } else { normal }));
            }
        }
        shortest.map(|(depth, normal)| normal * depth)
    }

    fn reach_along(&self, normal: Vec2) -> f64 {
        self.along.dot(normal).abs() * self.half.x
            + self.along.perpendicular().dot(normal).abs() * self.half.y
    }

    /// Returns where the segment enters the rectangle, as a share of its length; 0 if inside.
    pub fn first_hit(&self, start: Vec2, end: Vec2) -> Option<f64> {
        if self.is_far_from_segment(start, end) {
            return None;
        }
        self.first_hit_local(self.to_local(start), self.to_local(end))
    }

    /// Returns the same for points [in the rectangle's frame](Self::to_local). The two points may
    /// come from two poses of the rectangle, which sweeps relative to a moving rectangle.
    pub fn first_hit_local(&self, start: Vec2, end: Vec2) -> Option<f64> {
        let (mut enter, mut leave) = (0.0_f64, 1.0_f64);
        for axis in 0..Vec2::DIMENSIONS {
            let (from, half) = (start.component(axis), self.half.component(axis));
            let way = end.component(axis) - from;
            if way == 0.0 {
                if from.abs() >= half {
                    return None;
                }
                continue;
            }
            let near = (-half * way.signum() - from) / way;
            let far = (half * way.signum() - from) / way;
            enter = enter.max(near);
            leave = leave.min(far);
        }
        (enter < leave).then_some(enter)
    }

    fn is_far_from_segment(&self, start: Vec2, end: Vec2) -> bool {
        let middle = (start + end) * 0.5;
        let reach = self.reach + 0.5 * start.distance(end);
        middle.distance(self.centre) >= reach
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::FRAC_PI_4;

    fn tank_at(x: f64, y: f64, heading: f64) -> Rectangle {
        Rectangle::new(Vec2::new(x, y), heading, 6.0, 2.8)
    }

    #[test]
    fn the_way_out_is_the_shortest_and_it_is_enough() {
        let wall = Rectangle::new(Vec2::ZERO, 0.0, 20.0, 20.0);
        let tank = tank_at(12.0, 3.0, 0.0);
        let out = tank.way_out_of(&wall).expect("one unit inside");
        assert!(out.distance(Vec2::new(1.0, 0.0)) < 1e-12, "{out:?}");
        assert!(!tank.at(tank.centre + out * 1.000_001).overlaps(&wall));
    }

    #[test]
    fn corners_pass_where_circles_would_not() {
        let wall = Rectangle::new(Vec2::ZERO, FRAC_PI_4, 20.0, 20.0);
        // The tip of the rotated box is 14.14 away; beside the tip there is room.
        assert!(tank_at(14.0, 0.0, 0.0).overlaps(&wall));
        assert!(!tank_at(14.0, 6.5, 0.0).overlaps(&wall));
    }

    #[test]
    fn a_segment_enters_where_it_meets_the_side() {
        let wall = Rectangle::new(Vec2::new(10.0, 0.0), 0.3, 4.0, 4.0);
        let hit = wall.first_hit(Vec2::ZERO, Vec2::new(20.0, 0.0)).expect("straight at it");
        let entry = wall.to_local(Vec2::new(20.0 * hit, 0.0));
        assert!((entry.x.abs().max(entry.y.abs()) - 2.0).abs() < 1e-12);
        assert_eq!(wall.first_hit(Vec2::ZERO, Vec2::new(5.0, 0.0)), None, "too short");
        assert_eq!(wall.first_hit(Vec2::new(10.0, 1.0), Vec2::ZERO), Some(0.0), "starts inside");
        assert_eq!(wall.first_hit(Vec2::ZERO, Vec2::ZERO), None, "no way at all");
    }
}
