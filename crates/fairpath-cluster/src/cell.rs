//! Cells: how the world is divided.

use fairpath::vector::Vector;

/// A cell of the world, by its column and row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CellId {
    /// The column.
    pub x: i32,
    /// The row.
    pub y: i32,
}

impl std::fmt::Display for CellId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.x, self.y)
    }
}

/// A division of the world into cells. All servers of a world must use the same.
pub trait Cells<V: Vector> {
    /// Returns every cell. Each is leased by some server.
    fn all(&self) -> Vec<CellId>;

    /// Returns the cell that contains a position. Positions outside the world belong to the nearest
    /// cell.
    fn cell_of(&self, position: V) -> CellId;

    /// Returns how far a position lies outside a cell, in world units; 0 inside.
    fn distance(&self, cell: CellId, position: V) -> f64;

    /// Returns whether any point of one cell lies within `reach` of the other.
    fn are_near(&self, one: CellId, other: CellId, reach: f64) -> bool;

    /// Returns a number that is equal only for equal divisions. It is compared when a server joins.
    fn fingerprint(&self) -> u64;
}

/// Equal squares in the first two axes, from the origin towards larger coordinates.
///
/// ```
/// use fairpath::Vec2;
/// use fairpath_cluster::{CellId, Cells, SquareGrid};
///
/// let grid = SquareGrid { columns: 4, rows: 2, side: 100.0 };
/// assert_eq!(grid.cell_of(Vec2::new(150.0, 20.0)), CellId { x: 1, y: 0 });
/// assert_eq!(grid.distance(CellId { x: 0, y: 0 }, Vec2::new(103.0, 104.0)), 5.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SquareGrid {
    /// The number of columns.
    pub columns: u16,
    /// The number of rows.
    pub rows: u16,
    /// The side of a cell in world units. Several times the distance at which clients see each
    /// other: below it, most entities are near a border.
    pub side: f64,
}

impl SquareGrid {
    fn index(&self, coordinate: f64, count: u16) -> i32 {
        ((coordinate / self.side).floor() as i64).clamp(0, i64::from(count) - 1) as i32
    }

    fn outside(&self, index: i32, coordinate: f64, count: u16) -> f64 {
        let low = f64::from(index) * self.side - coordinate;
        let high = coordinate - f64::from(index + 1) * self.side;
        // The outermost cells reach beyond the grid.
        let low = if index == 0 { 0.0 } else { low };
        let high = if index + 1 == i32::from(count) { 0.0 } else { high };
        low.max(high).max(0.0)
    }
}

impl<V: Vector> Cells<V> for SquareGrid {
    fn all(&self) -> Vec<CellId> {
        let column = |x| (0..i32::from(self.rows)).map(move |y| CellId { x, y });
        (0..i32::from(self.columns)).flat_map(column).collect()
    }

    fn cell_of(&self, position: V) -> CellId {
        CellId {
            x: self.index(position.component(0), self.columns),
            y: self.index(position.component(1), self.rows),
        }
    }

    fn distance(&self, cell: CellId, position: V) -> f64 {
        let dx = self.outside(cell.x, position.component(0), self.columns);
        let dy = self.outside(cell.y, position.component(1), self.rows);
        (dx * dx + dy * dy).sqrt()
    }

    fn are_near(&self, one: CellId, other: CellId, reach: f64) -> bool {
        let gap = |one: i32, other: i32| f64::from(((one - other).abs() - 1).max(0)) * self.side;
        let (dx, dy) = (gap(one.x, other.x), gap(one.y, other.y));
        dx * dx + dy * dy <= reach * reach
    }

    fn fingerprint(&self) -> u64 {
        self.side.to_bits() ^ (u64::from(self.columns) << 16 | u64::from(self.rows)).wrapping_mul(0x9E37_79B9)
    }
}
