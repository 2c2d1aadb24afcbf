//! The static world: a grid of square cells, walls among them. It does not change during a match.
//!
//! Path finding uses the grid; drawing and geometry use the [rectangles](Map::walls). Both describe
//! the same walls. Everything outside the [bounds](Map::bounds) is wall.

use fairpath::random::Random;
use fairpath::vector::Vec2;

use super::item::{ItemKind, ItemSpot};
use super::player::PLAYER_RADIUS;
use crate::shared::Team;

/// Side of a cell, in pixels. Two players just fit side by side.
pub const CELL_SIZE: f64 = 128.0;
/// The most cells along one side of a map: more than half a minute from end to end.
pub const CELLS_PER_SIDE_MAX: u32 = 128;

const _: () = assert!(2.0 * 2.0 * PLAYER_RADIUS <= CELL_SIZE);

/// The static world.
///
/// Its centre is the origin. As text it is rows of letters, the smallest y first: `.` floor, `#`
/// wall, `r` and `b` floor where red and blue start, `h` and `a` floor with health or ammunition.
#[derive(Clone, Debug, PartialEq)]
pub struct Map {
    columns: u32,
    rows: u32,
    cells: Vec<Cell>,
    walls: Vec<AlignedRectangle>,
    starts: [Vec<Vec2>; 2],
    items: Vec<ItemSpot>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell {
    Floor,
    /// Blocks players and lines of sight.
    Wall,
    /// Floor where this team starts.
    Start(Team),
    Item(ItemKind),
}

/// The column and row of a cell, from zero at the smallest x and y. Others are outside the map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GridCell {
    pub column: i32,
    pub row: i32,
}

/// An axis-aligned rectangle.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AlignedRectangle {
    /// The corner with the smallest coordinates.
    pub low: Vec2,
    /// The corner with the largest.
    pub high: Vec2,
}

impl Map {
    /// Returns the default map: 5120 × 3072 pixels, symmetric under a half turn.
    pub fn crossing() -> Self {
        let Ok(map) = Self::from_rows(CROSSING) else { unreachable!("the built-in map is sound") };
        map
    }

    /// Returns a random map of the same size, symmetric under a half turn, all floor connected.
    pub fn generate(random: &mut Random) -> Self {
        let mut plan = MapDraft::bare();
        for _ in 0..WALL_PAIRS {
            plan.place_wall_pair(random);
        }
        for kind in [ItemKind::Health, ItemKind::Ammo] {
            for _ in 0..ITEM_PAIRS_PER_KIND {
                plan.place_item_pair(kind, random);
            }
        }
        let Ok(map) = Self::of_cells(GENERATED_COLUMNS, GENERATED_ROWS, plan.cells) else {
            unreachable!("a generated map has its starts")
        };
        map
    }

    /// Returns a map from its rows of letters.
    pub fn from_rows<'a>(rows: impl IntoIterator<Item = &'a str>) -> Result<Self, MapError> {
        let mut cells = Vec::new();
        let mut columns = None;
        let mut count = 0;
        for text in rows {
            if count == CELLS_PER_SIDE_MAX || text.len() > CELLS_PER_SIDE_MAX as usize {
                return Err(MapError::TooLarge);
            }
            for letter in text.chars() {
                cells.push(Cell::from_letter(letter).ok_or(MapError::UnknownLetter { row: count, letter })?);
            }
            let length = text.len() as u32;
            if *columns.get_or_insert(length) != length {
                return Err(MapError::UnevenRow { row: count });
            }
            count += 1;
        }
        Self::of_cells(columns.unwrap_or(0), count, cells)
    }

    fn of_cells(columns: u32, rows: u32, cells: Vec<Cell>) -> Result<Self, MapError> {
        if cells.is_empty() {
            return Err(MapError::Empty);
        }
        let mut map =
            Self { columns, rows, cells, walls: Vec::new(), starts: [vec![], vec![]], items: vec![] };
        for grid_cell in map.grid_cells() {
            let position = map.centre_of(grid_cell);
            match map.cell(grid_cell) {
                Cell::Start(team) => map.starts[team.index()].push(position),
                Cell::Item(kind) => map.items.push(ItemSpot { kind, position }),
                Cell::Floor | Cell::Wall => {}
            }
        }
        if let Some(team) = Team::BOTH.into_iter().find(|team| map.starts(*team).is_empty()) {
            return Err(MapError::NoStart { team });
        }
        map.walls = map.merged_walls();
        Ok(map)
    }

    /// Returns its rows of letters, as [`from_rows`](Self::from_rows) reads them.
    pub fn to_rows(&self) -> Vec<String> {
        let rows = self.cells.chunks(self.columns as usize);
        rows.map(|cells| cells.iter().map(|cell| cell.letter()).collect()).collect()
    }

    /// Returns the numbers of columns and rows.
    pub fn size(&self) -> (u32, u32) {
        (self.columns, self.rows)
    }

    pub fn bounds(&self) -> AlignedRectangle {
        let high = Vec2::new(f64::from(self.columns), f64::from(self.rows)) * (0.5 * CELL_SIZE);
        AlignedRectangle { low: -high, high }
    }

    /// Returns all walls inside the bounds, merged into few rectangles that do not overlap.
    pub fn walls(&self) -> &[AlignedRectangle] {
        &self.walls
    }

    /// Returns the starts of a team: the centres of its start cells.
    pub fn starts(&self, team: Team) -> &[Vec2] {
        &self.starts[team.index()]
    }

    pub fn items(&self) -> &[ItemSpot] {
        &self.items
    }

    /// Returns all cells, row by row.
    pub fn grid_cells(&self) -> impl Iterator<Item = GridCell> + use<> {
        let columns = self.columns as i32;
        (0..self.rows as i32).flat_map(move |row| (0..columns).map(move |column| GridCell { column, row }))
    }

    /// Returns the content of a cell; outside the map it is wall.
    pub fn cell(&self, cell: GridCell) -> Cell {
        self.index_of(cell).map_or(Cell::Wall, |index| self.cells[index])
    }

    /// Returns whether a cell is wall or outside the map.
    pub fn is_wall(&self, cell: GridCell) -> bool {
        self.cell(cell) == Cell::Wall
    }

    /// Returns the number of a cell, row by row from zero; `None` outside the map.
    pub fn index_of(&self, cell: GridCell) -> Option<usize> {
        let (column, row) = (u32::try_from(cell.column).ok()?, u32::try_from(cell.row).ok()?);
        (column < self.columns && row < self.rows).then(|| (row * self.columns + column) as usize)
    }

    pub fn cell_of_index(&self, index: usize) -> GridCell {
        let columns = self.columns as usize;
        GridCell { column: (index % columns) as i32, row: (index / columns) as i32 }
    }

    /// Returns the cell that contains a point; on a border, the one with the larger coordinates.
    pub fn cell_at(&self, point: Vec2) -> GridCell {
        let low = self.bounds().low;
        let number = |offset: f64| cell_number((offset / CELL_SIZE).floor());
        GridCell { column: number(point.x - low.x), row: number(point.y - low.y) }
    }

    pub fn centre_of(&self, cell: GridCell) -> Vec2 {
        let low = self.bounds().low;
        let middle = |low: f64, number: i32| low + (f64::from(number) + 0.5) * CELL_SIZE;
        Vec2::new(middle(low.x, cell.column), middle(low.y, cell.row))
    }

    /// Returns whether a player fits at `point` without touching a wall.
    pub fn is_clear(&self, point: Vec2) -> bool {
        let low = self.bounds().low;
        let (first_column, last_column) = cells_covered(point.x - low.x);
        let (first_row, last_row) = cells_covered(point.y - low.y);
        (first_row..=last_row)
            .all(|row| (first_column..=last_column).all(|column| !self.is_wall(GridCell { column, row })))
    }

    /// Returns the share of the distance between two points at which the first wall is, if any.
    pub fn first_wall(&self, from: Vec2, to: Vec2) -> Option<f64> {
        let mut cell = self.cell_at(from);
        if self.is_wall(cell) {
            return Some(0.0);
        }
        let way = to - from;
        let low = self.bounds().low;
        let mut next_column = first_border(from.x - low.x, cell.column, way.x);
        let mut next_row = first_border(from.y - low.y, cell.row, way.y);
        let (per_column, per_row) = (CELL_SIZE / way.x.abs(), CELL_SIZE / way.y.abs());
        // Every iteration moves to the next cell, and beyond the map is wall: the loop ends.
        loop {
            let share = next_column.min(next_row);
            if share > 1.0 || share.is_nan() {
                return None;
            }
            if next_column <= next_row {
                cell.column += if way.x > 0.0 { 1 } else { -1 };
                next_column += per_column;
            } else {
                cell.row += if way.y > 0.0 { 1 } else { -1 };
                next_row += per_row;
            }
            if self.is_wall(cell) {
                return Some(share.max(0.0));
            }
        }
    }

    /// Returns whether no wall is between two points.
    pub fn sees(&self, from: Vec2, to: Vec2) -> bool {
        self.first_wall(from, to).is_none()
    }

    /// Moves a player by `step`, each axis as far as walls allow. Returns the position, and on
    /// which axes it hit a wall. `step` is much shorter than a cell.
    pub(super) fn slide(&self, from: Vec2, step: Vec2) -> (Vec2, [bool; 2]) {
        let low = self.bounds().low;
        let (first, last) = cells_covered(from.y - low.y);
        let x = stop_before(from.x - low.x, step.x, |column| {
            (first..=last).any(|row| self.is_wall(GridCell { column, row }))
        });
        let (first, last) = cells_covered(x.0);
        let y = stop_before(from.y - low.y, step.y, |row| {
            (first..=last).any(|column| self.is_wall(GridCell { column, row }))
        });
        (low + Vec2::new(x.0, y.0), [x.1, y.1])
    }

    fn merged_walls(&self) -> Vec<AlignedRectangle> {
        let mut walls: Vec<AlignedRectangle> = Vec::new();
        for row in 0..self.rows as i32 {
            let mut column = 0;
            while column < self.columns as i32 {
                let start = column;
                while self.index_of(GridCell { column, row }).is_some()
                    && self.is_wall(GridCell { column, row })
                {
                    column += 1;
                }
                if column > start {
                    self.add_run(&mut walls, start, column - 1, row);
                }
                column += 1;
            }
        }
        walls
    }

    /// Extends the wall above by this run of cells if the columns match, or adds a new wall.
    fn add_run(&self, walls: &mut Vec<AlignedRectangle>, first: i32, last: i32, row: i32) {
        let half = Vec2::new(0.5, 0.5) * CELL_SIZE;
        let low = self.centre_of(GridCell { column: first, row }) - half;
        let high = self.centre_of(GridCell { column: last, row }) + half;
        let fits =
            |wall: &&mut AlignedRectangle| wall.low.x == low.x && wall.high == Vec2::new(high.x, low.y);
        match walls.iter_mut().find(fits) {
            Some(wall) => wall.high.y = high.y,
            None => walls.push(AlignedRectangle { low, high }),
        }
    }
}

impl Cell {
    fn from_letter(letter: char) -> Option<Self> {
        Some(match letter {
            '.' => Self::Floor,
            '#' => Self::Wall,
            'r' => Self::Start(Team::Red),
            'b' => Self::Start(Team::Blue),
            'h' => Self::Item(ItemKind::Health),
            'a' => Self::Item(ItemKind::Ammo),
            _ => return None,
        })
    }

    fn letter(self) -> char {
        match self {
            Self::Floor => '.',
            Self::Wall => '#',
            Self::Start(Team::Red) => 'r',
            Self::Start(Team::Blue) => 'b',
            Self::Item(ItemKind::Health) => 'h',
            Self::Item(ItemKind::Ammo) => 'a',
        }
    }
}

impl AlignedRectangle {
    /// Returns whether a point lies inside or on the border.
    pub fn contains(&self, point: Vec2) -> bool {
        (self.low.x..=self.high.x).contains(&point.x) && (self.low.y..=self.high.y).contains(&point.y)
    }

    pub fn size(&self) -> Vec2 {
        self.high - self.low
    }
}

/// Returns the first and last cell along one axis that a player at `offset` from the map's edge
/// covers. Touching a border is not covering the next cell.
fn cells_covered(offset: f64) -> (i32, i32) {
    let first = cell_number(((offset - PLAYER_RADIUS) / CELL_SIZE).floor());
    let last = cell_number(((offset + PLAYER_RADIUS) / CELL_SIZE).ceil()) - 1;
    (first, last)
}

/// Returns a cell's number, clamped far outside the map to avoid overflow.
fn cell_number(number: f64) -> i32 {
    const FAR_OUTSIDE: f64 = 1e6;
    number.clamp(-FAR_OUTSIDE, FAR_OUTSIDE) as i32
}

/// Returns the new offset along one axis, and whether a wall shortened the step.
fn stop_before(offset: f64, step: f64, is_blocked: impl Fn(i32) -> bool) -> (f64, bool) {
    let target = offset + step;
    let (first, last) = cells_covered(target);
    // Stop at the wall, but move neither back nor further than asked, even inside a wall.
    if step > 0.0 && is_blocked(last) {
        return ((f64::from(last) * CELL_SIZE - PLAYER_RADIUS).min(target).max(offset), true);
    }
    if step < 0.0 && is_blocked(first) {
        return ((f64::from(first + 1) * CELL_SIZE + PLAYER_RADIUS).max(target).min(offset), true);
    }
    (target, false)
}

/// Returns the share of the way at which the first cell border is crossed along one axis.
fn first_border(offset: f64, cell: i32, way: f64) -> f64 {
    if way == 0.0 {
        return f64::INFINITY;
    }
    let border = f64::from(if way > 0.0 { cell + 1 } else { cell }) * CELL_SIZE;
    (border - offset) / way
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MapError {
    /// The map has no cells.
    Empty,
    /// There are more than [`CELLS_PER_SIDE_MAX`] rows or columns.
    TooLarge,
    /// A row, counted from zero, is longer or shorter than the first.
    UnevenRow { row: u32 },
    /// A letter in a row, counted from zero, is unknown.
    UnknownLetter { row: u32, letter: char },
    /// A team has no start.
    NoStart { team: Team },
}

impl std::fmt::Display for MapError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Empty => write!(out, "the map has no cells"),
            Self::TooLarge => write!(out, "the map has more than {CELLS_PER_SIDE_MAX} rows or columns"),
            Self::UnevenRow { row } => write!(out, "map row {row} has another length than the first"),
            Self::UnknownLetter { row, letter } => {
                write!(out, "map row {row} has {letter:?}, which is none of . # r b h a")
            }
            Self::NoStart { team } => write!(out, "the map has no start for {team:?}"),
        }
    }
}

impl std::error::Error for MapError {}

const CROSSING: [&str; 24] = [
    "........................................",
    ".r...........##.............a...........",
    "..................##........##..........",
    ".r....##..........##...##...............",
    "......#....h...............#.....##.....",
    ".r....#..............a.....#......#.....",
    "..........####.............####...#.....",
    ".r...........#..........................",
    ".............#.....##..............h....",
    ".r..##.............##.....##............",
    "....#......a..............#.........##..",
    "....#............h....................#.",
    ".#....................h............#....",
    "..##.........#..............a......#....",
    "............##.....##.............##..b.",
    "....h..............##.....#.............",
    "..........................#...........b.",
    ".....#...####.............####..........",
    ".....#......#.....a..............#....b.",
    ".....##.....#...............h....#......",
    "...............##...##..........##....b.",
    "..........##........##..................",
    "...........a.............##...........b.",
    "........................................",
];

/// Generated maps are as large as the default one.
const GENERATED_COLUMNS: u32 = 40;
const GENERATED_ROWS: u32 = 24;
/// About an eighth of the cells are wall, as in the default map: often in the way, but no maze.
const WALL_PAIRS: u32 = 18;
/// As many items as the default map has.
const ITEM_PAIRS_PER_KIND: u32 = 3;
/// Columns at both ends that stay free for starts.
const START_COLUMNS: i32 = 4;

struct MapDraft {
    cells: Vec<Cell>,
}

impl MapDraft {
    /// Returns a draft without walls, with starts at both ends.
    fn bare() -> Self {
        let cells = vec![Cell::Floor; (GENERATED_COLUMNS * GENERATED_ROWS) as usize];
        let mut plan = Self { cells };
        for row in (1..GENERATED_ROWS as i32 / 2).step_by(2) {
            plan.set_pair(GridCell { column: 1, row }, Cell::Start(Team::Red));
        }
        plan
    }

    /// Adds a wall and its image, unless they would disconnect the floor.
    fn place_wall_pair(&mut self, random: &mut Random) {
        let (width, height) = if random.chance(0.5) {
            (1 + random.below(5) as i32, 1 + random.below(2) as i32)
        } else {
            (1 + random.below(2) as i32, 1 + random.below(4) as i32)
        };
        let columns = GENERATED_COLUMNS as i32 - 2 * START_COLUMNS - width + 1;
        let column = START_COLUMNS + random.below(columns as u64) as i32;
        let row = random.below((GENERATED_ROWS as i32 - height + 1) as u64) as i32;
        let before = self.cells.clone();
        for cell in (0..height).flat_map(|y| (0..width).map(move |x| (x, y))) {
            self.set_pair(GridCell { column: column + cell.0, row: row + cell.1 }, Cell::Wall);
        }
        if !self.is_connected() {
            self.cells = before;
        }
    }

    fn place_item_pair(&mut self, kind: ItemKind, random: &mut Random) {
        /// Most cells are floor, so few attempts are needed.
        const TRIES_MAX: u32 = 64;
        for _ in 0..TRIES_MAX {
            let columns = GENERATED_COLUMNS as i32 - 2 * START_COLUMNS;
            let column = START_COLUMNS + random.below(columns as u64) as i32;
            let cell = GridCell { column, row: random.below(u64::from(GENERATED_ROWS)) as i32 };
            if self.cells[index(cell)] == Cell::Floor {
                self.set_pair(cell, Cell::Item(kind));
                return;
            }
        }
    }

    /// Sets a cell and its image under the half turn.
    fn set_pair(&mut self, cell: GridCell, what: Cell) {
        let image = match what {
            Cell::Start(team) => Cell::Start(team.other()),
            other => other,
        };
        let number = index(cell);
        let last = self.cells.len() - 1;
        self.cells[number] = what;
        self.cells[last - number] = image;
    }

    /// Returns whether all floor is connected.
    fn is_connected(&self) -> bool {
        let Some(start) = self.cells.iter().position(|cell| *cell != Cell::Wall) else { return false };
        let columns = GENERATED_COLUMNS as usize;
        let mut is_reached = vec![false; self.cells.len()];
        let mut open = vec![start];
        is_reached[start] = true;
        while let Some(number) = open.pop() {
            let (column, row) = (number % columns, number / columns);
            let beside = [
                (column > 0).then(|| number - 1),
                (column + 1 < columns).then_some(number + 1),
                (row > 0).then(|| number - columns),
                (row + 1 < GENERATED_ROWS as usize).then_some(number + columns),
            ];
            for next in beside.into_iter().flatten() {
                if self.cells[next] != Cell::Wall && !is_reached[next] {
                    is_reached[next] = true;
                    open.push(next);
                }
            }
        }
        self.cells.iter().zip(&is_reached).all(|(cell, is_reached)| *cell == Cell::Wall || *is_reached)
    }
}

fn index(cell: GridCell) -> usize {
    (cell.row * GENERATED_COLUMNS as i32 + cell.column) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_come_back() {
        for map in [Map::crossing(), Map::generate(&mut Random::from_seed(3))] {
            let rows = map.to_rows();
            assert_eq!(Map::from_rows(rows.iter().map(String::as_str)).as_ref(), Ok(&map));
        }
        assert_eq!(Map::from_rows(["r#b", "rb"]), Err(MapError::UnevenRow { row: 1 }));
        assert_eq!(Map::from_rows(["r?b"]), Err(MapError::UnknownLetter { row: 0, letter: '?' }));
        assert_eq!(Map::from_rows(["r.."]), Err(MapError::NoStart { team: Team::Blue }));
        assert_eq!(Map::from_rows([]), Err(MapError::Empty));
    }

    #[test]
    fn rectangles_are_the_same_walls_as_the_grid() {
        for seed in 0..20 {
            let map = Map::generate(&mut Random::from_seed(seed));
            for cell in map.grid_cells() {
                let covers = map.walls().iter().filter(|wall| wall.contains(map.centre_of(cell))).count();
                assert_eq!(covers, usize::from(map.is_wall(cell)), "seed {seed} {cell:?}");
            }
        }
    }

    #[test]
    fn maps_are_fair() {
        for seed in 0..20 {
            let map = Map::generate(&mut Random::from_seed(seed));
            let swapped = |letter| match letter {
                'r' => 'b',
                'b' => 'r',
                other => other,
            };
            let turned: Vec<String> =
                map.to_rows().iter().rev().map(|row| row.chars().rev().map(swapped).collect()).collect();
            assert_eq!(map.to_rows(), turned, "seed {seed}");
            let walls = map.grid_cells().filter(|cell| map.is_wall(*cell)).count();
            assert!((40..240).contains(&walls), "seed {seed}: {walls} cells of wall");
        }
    }

    #[test]
    fn a_wall_hides_and_stops() {
        // Five cells wide, one high, the wall in the middle: x from −64 to 64.
        let map = Map::from_rows(["r.#.b"]).expect("sound");
        let (left, right) = (Vec2::new(-128.0, 10.0), Vec2::new(128.0, 10.0));
        assert_eq!(map.first_wall(left, right), Some(0.25));
        assert!(map.sees(left, Vec2::new(-65.0, 10.0)));
        assert!(!map.sees(left, Vec2::new(-128.0, 65.0)), "outside is wall");
        let (stopped, has_hit) = map.slide(Vec2::new(-95.0, 0.0), Vec2::new(6.0, 1.0));
        assert_eq!((stopped, has_hit), (Vec2::new(-94.0, 1.0), [true, false]));
        assert!(map.is_clear(stopped) && !map.is_clear(Vec2::new(-93.9, 0.0)));
    }
}
