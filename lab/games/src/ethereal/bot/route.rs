//! Routes: straight if no wall is in between, otherwise from cell to cell round the walls.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fairpath::vector::{Vec2, Vector};

use crate::ethereal::map::{GridCell, Map};
use crate::ethereal::player::PLAYER_RADIUS;

/// A route to a goal, planned once and followed until it no longer fits.
#[derive(Clone, Debug, Default)]
pub(super) struct Route {
    goal: Vec2,
    /// The remaining waypoints, the last one first.
    stops: Vec<Vec2>,
    search: Search,
}

impl Route {
    /// Returns the next waypoint on the route to `goal`.
    pub(super) fn next_stop(&mut self, map: &Map, from: Vec2, goal: Vec2) -> Vec2 {
        /// A goal that has moved this far needs a new route.
        const ANOTHER_GOAL: f64 = 160.0;
        if is_free_way(map, from, goal) {
            self.stops.clear();
            return goal;
        }
        let is_lost = self.stops.last().is_none_or(|next| !is_free_way(map, from, *next));
        if is_lost || goal.distance(self.goal) > ANOTHER_GOAL {
            self.goal = goal;
            self.search.find(map, from, goal, &mut self.stops);
        }
        while self.stops.len() > 1 && is_free_way(map, from, self.stops[self.stops.len() - 2]) {
            self.stops.pop();
        }
        self.stops.last().copied().unwrap_or(goal)
    }

    /// Drops the route; the next call plans a new one.
    pub(super) fn forget(&mut self) {
        self.stops.clear();
    }
}

/// Returns whether a player can go straight from one point to the other: both its sides pass. Walls
/// are wider than players, so none fits between the sides.
pub(super) fn is_free_way(map: &Map, from: Vec2, to: Vec2) -> bool {
    /// A little less than the radius, so that touching a wall is free.
    const FLANK: f64 = PLAYER_RADIUS - 2.0;
    let flank = (to - from).normalize_or_zero().perpendicular() * FLANK;
    map.sees(from + flank, to + flank) && map.sees(from - flank, to - flank)
}

/// A* over the cells of a map, with reused tables.
#[derive(Clone, Debug, Default)]
struct Search {
    cost: Vec<u32>,
    came_from: Vec<u32>,
    open: BinaryHeap<Reverse<(u32, u32)>>,
}

const UNSEEN: u32 = u32::MAX;
/// The cost of a straight and of a diagonal step, in tenths of a cell.
const STRAIGHT: u32 = 10;
const DIAGONAL: u32 = 14;
/// The extra cost of a cell beside a wall.
const BESIDE_WALL: u32 = 4;

impl Search {
    /// Fills `stops` with the centres of the cells to pass, last first; empty without a route.
    fn find(&mut self, map: &Map, from: Vec2, goal: Vec2, stops: &mut Vec<Vec2>) {
        stops.clear();
        let cells = (map.cell_at(from), map.cell_at(goal));
        let (Some(start), Some(end)) = (map.index_of(cells.0), map.index_of(cells.1)) else { return };
        self.begin(map, start);
        while let Some(Reverse((_, number))) = self.open.pop() {
            if number as usize == end {
                break;
            }
            self.expand(map, map.cell_of_index(number as usize), cells.1);
        }
        let mut number = end;
        while number != start && self.cost[number] != UNSEEN {
            stops.push(map.centre_of(map.cell_of_index(number)));
            number = self.came_from[number] as usize;
        }
    }

    fn begin(&mut self, map: &Map, start: usize) {
        let (columns, rows) = map.size();
        let cells = (columns * rows) as usize;
        self.cost.clear();
        self.cost.resize(cells, UNSEEN);
        self.came_from.resize(cells, 0);
        self.open.clear();
        self.cost[start] = 0;
        self.open.push(Reverse((0, start as u32)));
    }

    fn expand(&mut self, map: &Map, cell: GridCell, goal: GridCell) {
        let Some(here) = map.index_of(cell) else { return };
        let is_free = |column: i32, row: i32| {
            !map.is_wall(GridCell { column: cell.column + column, row: cell.row + row })
        };
        let ways = [(1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)];
        for (column, row) in ways {
            // A diagonal step must not cut a corner.
            if !(is_free(column, row) && is_free(column, 0) && is_free(0, row)) {
                continue;
            }
            let next = GridCell { column: cell.column + column, row: cell.row + row };
            let Some(number) = map.index_of(next) else { continue };
            let step = if column == 0 || row == 0 { STRAIGHT } else { DIAGONAL };
            let cost = self.cost[here] + step + if is_beside_wall(map, next) { BESIDE_WALL } else { 0 };
            if cost < self.cost[number] {
                self.cost[number] = cost;
                self.came_from[number] = here as u32;
                self.open.push(Reverse((cost + least_cost(next, goal), number as u32)));
            }
        }
    }
}

fn is_beside_wall(map: &Map, cell: GridCell) -> bool {
    let beside = [(1, 0), (0, 1), (-1, 0), (0, -1)];
    beside
        .iter()
        .any(|(column, row)| map.is_wall(GridCell { column: cell.column + column, row: cell.row + row }))
}

/// Returns the least cost of the route, as if there were no walls.
fn least_cost(from: GridCell, to: GridCell) -> u32 {
    let (columns, rows) = (from.column.abs_diff(to.column), from.row.abs_diff(to.row));
    let across = columns.min(rows);
    DIAGONAL * across + STRAIGHT * (columns.max(rows) - across)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairpath::random::Random;

    #[test]
    fn every_place_is_reached_round_the_walls() {
        for seed in 0..10 {
            let mut random = Random::from_seed(seed);
            let map = Map::generate(&mut random);
            let floor: Vec<GridCell> = map.grid_cells().filter(|cell| !map.is_wall(*cell)).collect();
            for _ in 0..20 {
                let mut place = || map.centre_of(floor[random.below(floor.len() as u64) as usize]);
                let (from, goal) = (place(), place());
                let mut here = from;
                let mut route = Route::default();
                let mut stops = 0;
                while here != goal {
                    let next = route.next_stop(&map, here, goal);
                    assert!(is_free_way(&map, here, next), "seed {seed}: {here:?} to {next:?}");
                    here = next;
                    stops += 1;
                    assert!(stops < 100, "seed {seed}: round and round");
                }
            }
        }
    }

    #[test]
    fn a_goal_that_is_walled_in_has_no_way() {
        let map = Map::from_rows(["r...b", ".###.", ".#.#.", ".###.", "....."]).expect("sound");
        let from = map.starts(crate::ethereal::Team::Red)[0];
        assert_eq!(Route::default().next_stop(&map, from, Vec2::ZERO), Vec2::ZERO, "straight at it, then");
    }
}
