//! A* on a grid, with arrays that are reused between searches.

use super::Grid;

/// Costs of a step to a neighbouring cell and of a diagonal step. 99/70 is √2 to five digits, and
/// integers add up to the same sum in every order.
const STRAIGHT: u32 = 70;
const DIAGONAL: u32 = 99;

/// The longest possible path must not overflow a sum.
const _: () = assert!(Grid::CELLS_MAX as u64 * DIAGONAL as u64 * 2 < u32::MAX as u64);

/// Finds shortest paths: eight neighbours, diagonals only where both cells beside them are floor.
/// Nothing is cleared between searches: a cell with the number of an older search counts as not
/// visited. After the first search on a grid, none allocates.
#[derive(Clone, Debug, Default)]
pub(super) struct Search {
    number: u32,
    cells: Vec<Cell>,
    open: Vec<u32>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    seen_in: u32,
    cost: u32,
    /// Cost so far plus a lower bound of the rest.
    estimate: u32,
    came_from: u32,
    /// Index in the queue, or [`CLOSED`].
    slot: u32,
}

const CLOSED: u32 = u32::MAX;

impl Search {
    /// Fills `path` with the cells of a shortest path, without `from` and ending with `to`. Returns
    /// its cost. Returns `None` and an empty path if no path exists. A player that stands in a wall
    /// can leave it, but cannot pass through others.
    pub(super) fn find(&mut self, grid: &Grid, from: u32, to: u32, path: &mut Vec<u32>) -> Option<u32> {
        path.clear();
        let (columns, rows) = grid.size();
        if from >= columns * rows || grid.is_wall(to) {
            return None;
        }
        self.begin((columns * rows) as usize, path);
        self.reach(from, from, 0, distance(columns, from, to));
        while let Some(cell) = self.take_nearest() {
            let cost = self.cells[cell as usize].cost;
            if cell == to {
                self.trace_back(from, to, path);
                return Some(cost);
            }
            for_each_neighbour(grid, cell, |next, step| {
                self.reach(next, cell, cost + step, distance(columns, next, to));
            });
        }
        None
    }

    fn begin(&mut self, cells: usize, path: &mut Vec<u32>) {
        self.open.clear();
        if self.cells.len() < cells {
            self.cells.resize(cells, Cell::default());
        }
        // Neither queue nor path is longer than the number of cells.
        self.open.reserve(cells);
        path.reserve(cells);
        self.number = self.number.wrapping_add(1);
        if self.number == 0 {
            // After 2³² searches the number wraps, and the oldest marks would count as visited.
            self.cells.fill(Cell::default());
            self.number = 1;
        }
    }

    /// Notes a way to a cell, if it is the first or shorter than the known one.
    fn reach(&mut self, cell: u32, came_from: u32, cost: u32, left: u32) {
        let known = self.cells[cell as usize];
        let is_new = known.seen_in != self.number;
        if !is_new && (known.slot == CLOSED || known.cost <= cost) {
            return;
        }
        let slot = if is_new { self.open.len() as u32 } else { known.slot };
        self.cells[cell as usize] =
            Cell { seen_in: self.number, cost, estimate: cost + left, came_from, slot };
        if is_new {
            self.open.push(cell);
        }
        self.sift_up(slot as usize);
    }

    fn take_nearest(&mut self) -> Option<u32> {
        let nearest = *self.open.first()?;
        self.cells[nearest as usize].slot = CLOSED;
        let last = self.open.pop()?;
        if last != nearest {
            self.put(0, last);
            self.sift_down(0);
        }
        Some(nearest)
    }

    fn trace_back(&self, from: u32, to: u32, path: &mut Vec<u32>) {
        let mut cell = to;
        while cell != from {
            path.push(cell);
            cell = self.cells[cell as usize].came_from;
        }
        path.reverse();
    }

    /// Whether `one` comes first: least estimate, then greatest cost so far, then lowest number.
    fn comes_before(&self, one: u32, other: u32) -> bool {
        let rank = |cell: u32| {
            let Cell { estimate, cost, .. } = self.cells[cell as usize];
            (estimate, u32::MAX - cost, cell)
        };
        rank(one) < rank(other)
    }

    fn sift_up(&mut self, mut slot: usize) {
        let cell = self.open[slot];
        while slot > 0 {
            let above = (slot - 1) / 2;
            if !self.comes_before(cell, self.open[above]) {
                break;
            }
            self.put(slot, self.open[above]);
            slot = above;
        }
        self.put(slot, cell);
    }

    fn sift_down(&mut self, mut slot: usize) {
        let cell = self.open[slot];
        loop {
            let mut below = 2 * slot + 1;
            if below + 1 < self.open.len() && self.comes_before(self.open[below + 1], self.open[below]) {
                below += 1;
            }
            if below >= self.open.len() || !self.comes_before(self.open[below], cell) {
                break;
            }
            self.put(slot, self.open[below]);
            slot = below;
        }
        self.put(slot, cell);
    }

    fn put(&mut self, slot: usize, cell: u32) {
        self.open[slot] = cell;
        self.cells[cell as usize].slot = slot as u32;
    }
}

/// Returns a lower bound of the cost between two cells.
fn distance(columns: u32, from: u32, to: u32) -> u32 {
    let across = (from % columns).abs_diff(to % columns);
    let along = (from / columns).abs_diff(to / columns);
    STRAIGHT * across.max(along) + (DIAGONAL - STRAIGHT) * across.min(along)
}

fn for_each_neighbour(grid: &Grid, cell: u32, mut reach: impl FnMut(u32, u32)) {
    let (columns, rows) = grid.size();
    let (column, row) = (cell % columns, cell / columns);
    let floor = |is_inside: bool, cell: u32| Some(cell).filter(|cell| is_inside && !grid.is_wall(*cell));
    let left = floor(column > 0, cell.wrapping_sub(1));
    let right = floor(column + 1 < columns, cell + 1);
    let low = floor(row > 0, cell.wrapping_sub(columns));
    let high = floor(row + 1 < rows, cell + columns);
    for next in [left, right, low, high].into_iter().flatten() {
        reach(next, STRAIGHT);
    }
    for (beside, ahead) in [(left, low), (right, low), (left, high), (right, high)] {
        if let (Some(beside), Some(ahead)) = (beside, ahead) {
            // One is a column away and the other a row: together they give the diagonal cell.
            let across = beside + ahead - cell;
            if !grid.is_wall(across) {
                reach(across, DIAGONAL);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairpath::random::Random;
    use fairpath::vector::Vec2;

    /// Random walls, also at either end.
    fn maze(seed: u64) -> (Grid, u32, u32) {
        let mut random = Random::from_seed(seed);
        let (columns, rows) = (1 + random.below(30) as u32, 1 + random.below(20) as u32);
        let share = random.between(0.0, 0.5);
        let walls = (0..columns * rows).map(|_| random.chance(share)).collect();
        let grid = Grid::new(columns, rows, Vec2::new(-3.0, 7.0), 2.0, walls).expect("sound");
        let mut cell = || random.below(u64::from(columns * rows)) as u32;
        let (from, to) = (cell(), cell());
        (grid, from, to)
    }

    /// The neighbours again, written independently with pairs of cells.
    fn steps_from(grid: &Grid, cell: u32) -> Vec<(u32, u32)> {
        let (columns, rows) = grid.size();
        let at = |cell: u32| ((cell % columns) as i64, (cell / columns) as i64);
        let name = |x: i64, y: i64| (y * i64::from(columns) + x) as u32;
        let (x, y) = at(cell);
        (0..columns * rows)
            .filter(|next| *next != cell && !grid.is_wall(*next))
            .filter_map(|next| {
                let (to_x, to_y) = at(next);
                match ((to_x - x).abs(), (to_y - y).abs()) {
                    (1, 0) | (0, 1) => Some((next, STRAIGHT)),
                    (1, 1) => {
                        let is_free = !grid.is_wall(name(to_x, y)) && !grid.is_wall(name(x, to_y));
                        is_free.then_some((next, DIAGONAL))
                    }
                    _ => None,
                }
            })
            .collect()
    }

    #[test]
    fn paths_cost_what_the_pathfinding_crate_finds() {
        let mut search = Search::default();
        let mut path = Vec::new();
        let mut found = 0;
        for seed in 0..300 {
            let (grid, from, to) = maze(seed);
            let (columns, _) = grid.size();
            let expected = pathfinding::directed::astar::astar(
                &from,
                |cell| steps_from(&grid, *cell),
                |cell| distance(columns, *cell, to),
                |cell| *cell == to && !grid.is_wall(to),
            );
            let cost = search.find(&grid, from, to, &mut path);
            assert_eq!(cost, expected.map(|(_, cost)| cost), "seed {seed}");
            found += u32::from(cost.is_some());
            let mut sum = 0;
            let mut cell = from;
            for next in &path {
                let step = steps_from(&grid, cell).into_iter().find(|(to, _)| to == next);
                sum += step.unwrap_or_else(|| panic!("seed {seed}: no step from {cell} to {next}")).1;
                cell = *next;
            }
            assert_eq!(cost.unwrap_or(0), sum, "seed {seed}: the path costs what was said");
            assert!(cost.is_none() || cell == to, "seed {seed}: it ends where it should");
        }
        assert!((100..300).contains(&found), "{found} of 300 mazes have a way: both kinds are tried");
    }

    #[test]
    fn numbers_that_wrap_do_not_wake_old_searches() {
        let (grid, mut path) = (Grid::new(4, 1, Vec2::default(), 1.0, vec![false; 4]).unwrap(), Vec::new());
        let mut search = Search { number: u32::MAX - 2, ..Search::default() };
        for _ in 0..6 {
            assert_eq!(search.find(&grid, 0, 3, &mut path), Some(3 * STRAIGHT));
            assert_eq!(path, [1, 2, 3]);
        }
    }
}
