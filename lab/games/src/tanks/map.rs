//! The map of a match: a walled square field, boxes, and a base per team. Generated maps are
//! symmetric under a half turn: both teams meet the same obstacles.

use std::f64::consts::PI;

use fairpath::random::Random;
use fairpath::vector::{Vec2, Vector};

use super::Team;
use super::geometry::Rectangle;
use super::roads::{CLEARANCE, Roads, is_free};

/// Walls, boxes and bases. A map does not change during a match.
#[derive(Clone, Debug, PartialEq)]
pub struct Map {
    half_side: f64,
    boxes: Vec<Rectangle>,
    bases: [Rectangle; 2],
    roads: Roads,
}

/// Half the side of the default field: 800 × 800 units around the origin, BZFlag's default world.
pub const HALF_SIDE: f64 = 400.0;
/// The most boxes of one map. Every tick visits all of them, and building the routes round them
/// visits all pairs of corners: 128 take a fraction of a second, once.
pub const BOXES_MAX: usize = 128;
/// Side of a base, as in BZFlag.
pub const BASE_SIDE: f64 = 60.0;
/// The gap that a generated map leaves between boxes, and between a box and a wall or base. Two
/// tanks pass side by side, and a bot that avoids one box does not hit the next.
pub const GAP: f64 = 24.0;

impl Map {
    /// Returns a square field from −`half_side` to `half_side` with boxes and the bases' centres.
    pub fn new(half_side: f64, boxes: Vec<Rectangle>, bases: [Vec2; 2]) -> Result<Self, MapError> {
        if !(half_side.is_finite() && half_side >= BASE_SIDE) {
            return Err(MapError::FieldTooSmall);
        }
        if boxes.len() > BOXES_MAX {
            return Err(MapError::TooManyBoxes);
        }
        let roads = Roads::default();
        let mut map = Self { half_side, boxes, bases: bases.map(base_at), roads };
        if let Some(number) = map.boxes.iter().position(|each| !is_sound(each)) {
            return Err(MapError::BadBox { number });
        }
        for team in Team::BOTH {
            let base = map.base(team);
            let is_free = base.centre.is_finite() && map.is_clear(&base.inflated(-1.0));
            if !is_free {
                return Err(MapError::BaseBlocked { team });
            }
        }
        map.roads = Roads::around(&map.boxes, half_side);
        Ok(map)
    }

    /// Returns a map for scripted motion: no boxes, both bases 100 units from the centre, and walls
    /// so far away that a tank needs more than an hour to reach them.
    pub fn open() -> Self {
        let bases = [Vec2::new(-100.0, 0.0), Vec2::new(100.0, 0.0)].map(base_at);
        Self { half_side: 100_000.0, boxes: Vec::new(), bases, roads: Roads::default() }
    }

    /// Returns the default field with up to `boxes` boxes; fewer if there is no room.
    pub fn generate(boxes: usize, random: &mut Random) -> Self {
        let bases = [-1.0, 1.0].map(|side| base_at(Vec2::new(side * (HALF_SIDE - BASE_SIDE), 0.0)));
        let roads = Roads::default();
        let mut map = Self { half_side: HALF_SIDE, boxes: Vec::new(), bases, roads };
        for _ in 0..boxes.min(BOXES_MAX) / 2 {
            map.place_pair(random);
        }
        map.roads = Roads::around(&map.boxes, map.half_side);
        map
    }

    /// Adds one box and its image under the half turn.
    fn place_pair(&mut self, random: &mut Random) {
        /// A nearly empty field needs a few attempts; the limit ends the search on a full one.
        const TRIES_MAX: u32 = 64;
        for _ in 0..TRIES_MAX {
            let side = HALF_SIDE - GAP;
            let centre = Vec2::new(random.between(-side, side), random.between(-side, side));
            let heading = random.between(0.0, PI);
            // From a little longer than a tank to a little longer than BZFlag's 60-unit boxes.
            let candidate =
                Rectangle::new(centre, heading, random.between(16.0, 72.0), random.between(10.0, 36.0));
            let image = candidate.at(-centre);
            let standing = self.boxes.iter().chain(&self.bases).chain([&image]);
            let has_room = { standing }.all(|other| are_apart(&candidate, other));
            if has_room && self.is_inside(&candidate.inflated(GAP)) {
                self.boxes.extend([candidate, image]);
                return;
            }
        }
    }

    /// Returns the waypoints of a short route, the last one first. Empty if straight is free.
    pub(super) fn way(&self, from: Vec2, to: Vec2) -> Vec<Vec2> {
        self.roads.way(&self.boxes, from, to)
    }

    /// Returns whether the straight line keeps `clearance` from every box. Ends may be nearer.
    pub(super) fn is_free_way(&self, from: Vec2, to: Vec2, clearance: f64) -> bool {
        is_free(&self.boxes, from, to, clearance)
    }

    /// Returns whether a tank has room to turn at `point`.
    pub(super) fn is_roomy(&self, point: Vec2) -> bool {
        self.boxes.iter().all(|each| !each.inflated(CLEARANCE).contains(point))
    }

    /// Returns the nearest point at which a tank has room to the walls.
    pub(super) fn inside(&self, point: Vec2) -> Vec2 {
        let limit = self.half_side - CLEARANCE;
        Vec2::new(point.x.clamp(-limit, limit), point.y.clamp(-limit, limit))
    }

    pub fn half_side(&self) -> f64 {
        self.half_side
    }

    pub fn boxes(&self) -> &[Rectangle] {
        &self.boxes
    }

    /// Returns the base of `team`: its tanks start there, and bring the other team's flag there.
    pub fn base(&self, team: Team) -> &Rectangle {
        &self.bases[team.index()]
    }

    /// Returns whether all of `shape` is inside the field and outside every box.
    pub fn is_clear(&self, shape: &Rectangle) -> bool {
        self.is_inside(shape) && self.boxes.iter().all(|each| !shape.overlaps(each))
    }

    /// Returns whether all of `shape` is inside the walls.
    pub fn is_inside(&self, shape: &Rectangle) -> bool {
        let extent = shape.extent();
        shape.centre.x.abs() + extent.x <= self.half_side && shape.centre.y.abs() + extent.y <= self.half_side
    }

    /// Returns whether no box is between two points.
    pub fn sees(&self, from: Vec2, to: Vec2) -> bool {
        self.boxes.iter().all(|each| each.first_hit(from, to).is_none())
    }

    /// Returns the first obstacle from `start` to `end`, and the share of the distance before it.
    pub fn first_hit(&self, start: Vec2, end: Vec2) -> Option<(f64, Barrier)> {
        let wall = self.wall_hit(start, end).map(|share| (share, Barrier::Wall));
        let hits = self.boxes.iter().filter_map(|each| each.first_hit(start, end));
        hits.map(|share| (share, Barrier::Box)).chain(wall).min_by(|one, other| one.0.total_cmp(&other.0))
    }

    fn wall_hit(&self, start: Vec2, end: Vec2) -> Option<f64> {
        let outside = |point: Vec2| point.x.abs().max(point.y.abs()) - self.half_side;
        if outside(end) <= 0.0 {
            return None;
        }
        let share = |from: f64, to: f64| {
            if to.abs() > self.half_side { (self.half_side * to.signum() - from) / (to - from) } else { 1.0 }
        };
        Some(share(start.x, end.x).min(share(start.y, end.y)).clamp(0.0, 1.0))
    }
}

/// An obstacle that stops a shot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Barrier {
    Wall,
    Box,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MapError {
    /// The half side is not a finite number of at least one [base](BASE_SIDE).
    FieldTooSmall,
    /// There are more than [`BOXES_MAX`] boxes.
    TooManyBoxes,
    /// A box, counted from zero, is not finite, or so thin that a tank could pass it in a tick.
    BadBox { number: usize },
    /// A base overlaps a box or lies outside the field.
    BaseBlocked { team: Team },
}

impl std::fmt::Display for MapError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::FieldTooSmall => {
                write!(out, "half the side of the field must be finite and at least {BASE_SIDE}")
            }
            Self::TooManyBoxes => write!(out, "a map has at most {BOXES_MAX} boxes"),
            Self::BadBox { number } => {
                write!(out, "box {number} must be finite and at least {THICKNESS_MIN} thick")
            }
            Self::BaseBlocked { team } => write!(out, "the base of {team:?} is blocked or outside the field"),
        }
    }
}

impl std::error::Error for MapError {}

/// The least thickness of a box: tanks drive 0.4 units per tick and cannot pass it in between.
const THICKNESS_MIN: f64 = 2.0;

/// Returns whether the two are at least [`GAP`] apart.
fn are_apart(one: &Rectangle, other: &Rectangle) -> bool {
    !one.inflated(0.5 * GAP).overlaps(&other.inflated(0.5 * GAP))
}

fn is_sound(shape: &Rectangle) -> bool {
    let size = shape.size();
    shape.centre.is_finite()
        && shape.heading().is_finite()
        && size.is_finite()
        && size.x.min(size.y) >= THICKNESS_MIN
}

fn base_at(centre: Vec2) -> Rectangle {
    Rectangle::new(centre, 0.0, BASE_SIDE, BASE_SIDE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_ground_is_symmetric_and_leaves_room() {
        for seed in 0..20 {
            let map = Map::generate(24, &mut Random::from_seed(seed));
            assert!(map.boxes().len() >= 16, "seed {seed}: only {} boxes", map.boxes().len());
            for (number, one) in map.boxes().iter().enumerate() {
                assert!(map.is_inside(&one.inflated(GAP)));
                assert!(map.boxes().iter().any(|other| other.centre.distance(-one.centre) < 1e-9));
                for other in &map.boxes()[number + 1..] {
                    assert!(are_apart(one, other), "seed {seed}: boxes too close");
                }
            }
        }
    }

    #[test]
    fn a_shot_meets_the_nearest_thing() {
        let boxes = vec![Rectangle::new(Vec2::new(50.0, 0.0), 0.0, 20.0, 20.0)];
        let bases = [Vec2::new(-100.0, 0.0), Vec2::new(200.0, 0.0)];
        let map = Map::new(400.0, boxes, bases).expect("sound");
        let hit = map.first_hit(Vec2::ZERO, Vec2::new(800.0, 0.0)).expect("both in the way");
        assert_eq!(hit.1, Barrier::Box);
        assert!((hit.0 * 800.0 - 40.0).abs() < 1e-9);
        let hit = map.first_hit(Vec2::ZERO, Vec2::new(0.0, -800.0)).expect("the wall");
        assert_eq!(hit.1, Barrier::Wall);
        assert!((hit.0 - 0.5).abs() < 1e-12);
        assert_eq!(map.first_hit(Vec2::ZERO, Vec2::new(0.0, -400.0)), None, "on the line is inside");
    }

    #[test]
    fn bad_maps_are_refused() {
        let far = [Vec2::new(-300.0, 0.0), Vec2::new(300.0, 0.0)];
        let thin = Rectangle::new(Vec2::ZERO, 0.0, 20.0, 0.1);
        let lost = Rectangle::new(Vec2::new(f64::NAN, 0.0), 0.0, 20.0, 10.0);
        let on_base = Rectangle::new(far[1], 0.0, 20.0, 10.0);
        assert_eq!(Map::new(f64::NAN, vec![], far), Err(MapError::FieldTooSmall));
        assert_eq!(Map::new(400.0, vec![thin], far), Err(MapError::BadBox { number: 0 }));
        assert_eq!(Map::new(400.0, vec![lost], far), Err(MapError::BadBox { number: 0 }));
        assert_eq!(Map::new(400.0, vec![on_base], far), Err(MapError::BaseBlocked { team: Team::Blue }));
        assert_eq!(Map::new(200.0, vec![], far), Err(MapError::BaseBlocked { team: Team::Red }));
    }
}
