//! What happens when a tank meets a wall, a box or another tank: it slides where it can and stops
//! where it cannot, and it is never inside anything.
//!
//! The last part needs no cleverness: the tank was clear before the tick, so where nothing better
//! is found to be clear, it stays. Every place that is accepted has been tested against everything
//! around.

use fairpath::State;
use fairpath::motion::Circular;
use fairpath::rotation::wrap_angle;
use fairpath::vector::{Vec2, Vector};

use super::geometry::Rectangle;
use super::map::Map;
use super::tank::{at_rest, led_by, shape_of};

/// Everything one tank could run into.
pub(super) struct Surroundings<'a> {
    map: &'a Map,
    others: &'a [Rectangle],
}

/// How far from a surface a push leaves the tank, in units. Far above rounding (1e-13 at 400
/// units), so that a tank at rest against a wall is clear of it; far below anything that can be
/// seen.
const SKIN: f64 = 1e-6;
/// Pushes per attempt: a corner takes two or three, a gap that is too narrow would take for ever.
const PUSHES_MAX: usize = 6;
/// What scraping leaves of the motion when the push out of a swinging corner would otherwise make
/// the tank faster than tanks can be.
const SCRAPING: f64 = 0.9;

impl<'a> Surroundings<'a> {
    pub(super) fn new(map: &'a Map, others: &'a [Rectangle]) -> Self {
        Self { map, others }
    }

    /// Where a tank in `from` ends up that wishes to move like `wished` for `secs`.
    ///
    /// In order of preference: the wish itself, exactly; the turn with a slide; the slide without
    /// the turn; no motion at all.
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

    /// Whether a tank of this shape touches nothing.
    pub(super) fn is_clear(&self, shape: &Rectangle) -> bool {
        self.map.is_clear(shape) && self.others.iter().all(|other| !shape.overlaps(other))
    }

    /// The motion to `wish` with what leads into obstacles taken away, if that is possible without
    /// becoming faster than a tank may be.
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

    /// The nearest place to `shape` that is clear, as far as a few pushes find it.
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
            // Only what is outside moves: a tank beside the wall must not creep by a skin per tick.
            if position.abs() > limit { (limit - SKIN) * position.signum() } else { position }
        };
        shape.at(Vec2::new(inside(shape.centre.x, extent.x), inside(shape.centre.y, extent.y)))
    }
}
