//! Collisions of a tank with walls, boxes and other tanks: the tank slides where it can, stops
//! where it cannot, and never overlaps anything.
//!
//! The last part holds by construction: the tank was clear before the tick, so it stays where it is
//! if no other place is clear. Every accepted place is tested against all obstacles.

use fairpath::State;
use fairpath::motion::Circular;
use fairpath::rotation::wrap_angle;
use fairpath::vector::{Vec2, Vector};

use super::geometry::Rectangle;
use super::map::Map;
use super::tank::{at_rest, led_by, shape_of};

/// The obstacles around one tank.
pub(super) struct Surroundings<'a> {
    map: &'a Map,
    others: &'a [Rectangle],
}

/// The distance at which a push leaves the tank from a surface, in units. Far above rounding errors
/// (1e-13 at 400 units): a tank at rest against a wall is clear of it. Far too small to be seen.
const SKIN: f64 = 1e-6;
/// The most pushes per attempt. Corners take two or three; too narrow a gap never converges.
const PUSHES_MAX: usize = 6;
/// The share of the motion that is tried if a push would exceed the speed limit.
const SCRAPING: f64 = 0.9;

impl<'a> Surroundings<'a> {
    pub(super) fn new(map: &'a Map, others: &'a [Rectangle]) -> Self {
        Self { map, others }
    }

    /// Returns the state after `secs` of a tank in `from` that asks to move like `wished`: exactly;
    /// else the turn with a slide; else the slide without the turn; else no motion.
    pub(super) fn allow(
        &self,
        from: &State<Vec2>,
        wished: &Circular<Vec2>,
        speed_max: f64,
        secs: f64,
    ) -> State<Vec2> {
        let free = led_by(wished, secs);
        if self.is_clear(&shape_of(&free)) {
            return free;
        }
        let unturned = led_by(&Circular { turn_rate: 0.0, ..*wished }, secs);
        [free, unturned]
            .iter()
            .find_map(|wish| self.slide(from, wish, speed_max, secs))
            .unwrap_or_else(|| at_rest(from.position, from.orientation))
    }

    /// Returns whether the shape overlaps no obstacle.
    pub(super) fn is_clear(&self, shape: &Rectangle) -> bool {
        self.map.is_clear(shape) && self.others.iter().all(|other| !shape.overlaps(other))
    }

    /// Returns the motion to `wish` without its part into obstacles, if within the speed limit.
    fn slide(
        &self,
        from: &State<Vec2>,
        wish: &State<Vec2>,
        speed_max: f64,
        secs: f64,
    ) -> Option<State<Vec2>> {
        let step = wish.position - from.position;
        let heading = wish.orientation;
        [1.0, SCRAPING].iter().find_map(|share| {
            let outside =
                self.push_out(shape_of(&State { position: from.position + step * *share, ..*wish }))?;
            let slid = outside - from.position;
            if slid.length() > speed_max * secs {
                return None;
            }
            let turned = wrap_angle(heading - from.orientation);
            if slid.length() < 2.0 * SKIN && turned == 0.0 {
                return Some(at_rest(from.position, from.orientation));
            }
            let velocity = slid * (1.0 / secs);
            Some(State { velocity, ..at_rest(outside, heading) }.with_heading(heading, turned / secs))
        })
    }

    /// Returns a clear place near `shape`, if a few pushes find one.
    fn push_out(&self, mut shape: Rectangle) -> Option<Vec2> {
        for _ in 0..PUSHES_MAX {
            shape = self.inside_walls(shape);
            let Some(way_out) = self.obstacles().find_map(|obstacle| shape.way_out_of(obstacle)) else {
                return self.is_clear(&shape).then_some(shape.centre);
            };
            shape = shape.at(shape.centre + way_out + way_out.normalize_or_zero() * SKIN);
        }
        None
    }

    fn obstacles(&self) -> impl Iterator<Item = &Rectangle> {
        self.map.boxes().iter().chain(self.others)
    }

    fn inside_walls(&self, shape: Rectangle) -> Rectangle {
        let extent = shape.extent();
        let inside = |position: f64, extent: f64| {
            let limit = self.map.half_side() - extent;
            // Only a tank outside is moved: beside the wall it must not creep by a skin.
            if position.abs() > limit { (limit - SKIN) * position.signum() } else { position }
        };
        shape.at(Vec2::new(inside(shape.centre.x, extent.x), inside(shape.centre.y, extent.y)))
    }
}
