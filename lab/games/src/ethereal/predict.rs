//! The step function and the walls of this game, as predictors use them.

use fairpath::vector::Vec2;
use fairpath_predict::{Grid, Step};

use super::config::TICK_RATE;
use super::map::{CELL_SIZE, CELLS_PER_SIDE_MAX, Map};
use super::player::Body;

const _: () = assert!(CELLS_PER_SIDE_MAX * CELLS_PER_SIDE_MAX <= Grid::CELLS_MAX);

/// Players do not collide, so a step needs only the map.
impl Step for Map {
    fn step(&self, body: &fairpath_predict::Body, input: Vec2) -> fairpath_predict::Body {
        let before = Body { position: body.position, velocity: body.velocity };
        let after = before.step_towards(input, self);
        fairpath_predict::Body {
            position: after.position,
            velocity: after.velocity,
            acceleration: (after.velocity - before.velocity) * (1.0 / TICK_RATE.step_secs()),
        }
    }
}

impl Map {
    /// Returns the walls as a predictor's grid.
    pub fn to_grid(&self) -> Grid {
        let (columns, rows) = self.size();
        let walls = self.grid_cells().map(|cell| self.is_wall(cell)).collect();
        let Ok(grid) = Grid::new(columns, rows, self.bounds().low, CELL_SIZE, walls) else {
            unreachable!("a map has cells, and no more than a grid may have")
        };
        grid
    }
}
