//! A scene as one client draws it, centred on the own boat.

use fairpath::number::EntityId;
use fairpath::vector::{Vec2, Vector};

use super::boat::Boat;
use super::config::SailingConfig;
use super::scene::SailingScene;

/// A scene relative to one boat. Positions are in feet from that boat, east and north. The boat
/// stays in the centre; the moving [grid](Self::grid_lines) shows its motion.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// The own boat, with its position in the world.
    pub own: Boat,
    pub buoy: Vec2,
    pub others: Vec<SeenBoat>,
    /// The wind, in ft/s.
    pub wind: Vec2,
    /// The wind relative to the own boat, in ft/s.
    pub apparent_wind: Vec2,
    /// The current, in ft/s.
    pub current: Vec2,
}

/// Another boat, as the client shows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeenBoat {
    pub id: EntityId,
    pub position: Vec2,
    pub heading: f64,
}

/// The distance between grid lines, in feet.
pub const GRID: f64 = 50.0;

/// The least range of the mini-map, in feet.
const MINI_MAP_MIN: f64 = 125.0;

impl View {
    /// Returns the view of the player in this seat; `None` if there is no such seat.
    pub fn of(scene: &SailingScene, rules: &SailingConfig, seat: usize) -> Option<Self> {
        let own = *scene.boats.get(seat)?;
        let others = (0..).map(EntityId).zip(&scene.boats).filter(|(id, _)| id.0 as usize != seat);
        let seen = |(id, boat): (EntityId, &Boat)| SeenBoat {
            id,
            position: boat.position - own.position,
            heading: boat.heading,
        };
        Some(Self {
            own,
            buoy: rules.buoy - own.position,
            others: others.map(seen).collect(),
            wind: scene.wind,
            apparent_wind: own.apparent_wind(scene.wind, scene.current),
            current: scene.current,
        })
    }

    /// Returns where grid lines cross the axes through the boat, up to `reach` feet to either side:
    /// x of lines that run north, then y of lines that run east.
    pub fn grid_lines(&self, reach: Vec2) -> [Vec<f64>; 2] {
        let along = |position: f64, reach: f64| {
            let first = ((position - reach) / GRID).ceil() as i64;
            let last = ((position + reach) / GRID).floor() as i64;
            (first..=last).map(|line| line as f64 * GRID - position).collect()
        };
        [along(self.own.position.x, reach.x), along(self.own.position.y, reach.y)]
    }

    /// Returns the mini-map's range, in feet: doubled until it contains the buoy.
    pub fn mini_map_reach(&self) -> f64 {
        let distance = self.buoy.length();
        let mut reach = MINI_MAP_MIN;
        while reach < distance {
            reach *= 2.0;
        }
        reach
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(position: Vec2) -> View {
        let rules = SailingConfig::default();
        let mut scene = SailingScene::new(&rules);
        scene.boats[0].position = position;
        View::of(&scene, &rules, 0).expect("there is a seat 0")
    }

    #[test]
    fn the_grid_moves_against_the_boat() {
        let reach = Vec2::new(100.0, 60.0);
        let [east, north] = at(Vec2::new(7.0, -3.0)).grid_lines(reach);
        assert_eq!(east, [-57.0 - 0.0, -7.0, 43.0, 93.0]);
        assert_eq!(north, [-47.0, 3.0, 53.0]);
        assert_eq!(at(Vec2::ZERO).grid_lines(reach)[0], [-100.0, -50.0, 0.0, 50.0, 100.0]);
    }

    #[test]
    fn the_buoy_is_always_on_the_mini_map() {
        for distance in [0.0, 100.0, 126.0, 1000.0, 1001.0, 1e6] {
            let view = at(Vec2::new(1000.0 + distance, 0.0));
            assert!(view.mini_map_reach() >= distance, "{distance}");
        }
        assert_eq!(at(Vec2::ZERO).mini_map_reach(), 1000.0);
    }

    #[test]
    fn others_are_seen_from_the_own_boat() {
        let view = at(Vec2::new(10.0, 20.0));
        assert_eq!(view.buoy, Vec2::new(990.0, -20.0));
        assert_eq!(view.others.len(), 1);
        assert_eq!(view.others[0].position, Vec2::new(-10.0, -20.0));
        assert_eq!(
            View::of(&SailingScene::new(&SailingConfig::default()), &SailingConfig::default(), 2),
            None
        );
    }
}
