use fairpath::vector::{Vec2, Vector};

/// All that may be known when a prediction is made. Nothing in it is younger than the subject's
/// last known tick.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// The subject, tick by tick, the oldest first. Never empty; never across a respawn, a teleport
    /// or a gap.
    pub history: &'a [Body],
    /// How strong the subject is.
    pub condition: Condition,
    /// The newest that is known of everybody else who plays. Balls and shots are nobody.
    pub others: &'a [Other],
    /// The walls, if they are known.
    pub world: Option<&'a Grid>,
    /// What the subject pressed at each tick of the history, as a direction of at most unit length;
    /// empty where nobody wrote it down.
    pub inputs: &'a [Vec2],
}

impl Known<'_> {
    /// The last known tick.
    pub fn newest(&self) -> Body {
        self.history.last().copied().unwrap_or_default()
    }
}

/// Where somebody is and how it moves there.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Body {
    /// Where.
    pub position: Vec2,
    /// How fast, per second. From the past only.
    pub velocity: Vec2,
    /// How fast that changes, per second and second. From the past only.
    pub acceleration: Vec2,
}

impl Body {
    /// Whether every number in it is finite.
    pub fn is_finite(&self) -> bool {
        self.position.is_finite() && self.velocity.is_finite() && self.acceleration.is_finite()
    }
}

/// Somebody else.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Other {
    /// Whose side they are on.
    pub relation: Relation,
    /// Where they were last known to be.
    pub body: Body,
    /// How many ticks before the subject's last known tick that was.
    pub ticks_ago: u32,
    /// How strong they were.
    pub condition: Condition,
}

/// What somebody else is to the subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// Of the same team.
    Friend,
    /// Of another.
    Enemy,
}

/// How strong a player is, each part between 0 and 1. Where nobody knows, everybody is at full
/// strength: only comparisons between players matter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Condition {
    /// Health, as a part of the most there can be.
    pub health: f64,
    /// Ammunition, as a part of the most there can be.
    pub ammo: f64,
}

impl Default for Condition {
    fn default() -> Self {
        Self { health: 1.0, ammo: 1.0 }
    }
}

impl Condition {
    /// Shi 2014's influence: between 0 and 2.
    pub fn influence(&self) -> f64 {
        self.health + self.ammo
    }
}

/// The static world: square cells, each of them floor or wall. Everything outside is wall.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    columns: u32,
    rows: u32,
    low: Vec2,
    cell_size: f64,
    walls: Vec<bool>,
}

/// A grid that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GridError {
    /// No cells, or more than [`Grid::CELLS_MAX`].
    Size,
    /// Not as many walls and floors as there are cells.
    Cells,
    /// The corner or the size of a cell is no usable number.
    Scale,
}

impl Grid {
    /// How many cells there may be: 256 × 256.
    pub const CELLS_MAX: u32 = 1 << 16;

    /// A world whose smallest corner is `low`; `walls` row by row from there, along +x first.
    pub fn new(
        columns: u32,
        rows: u32,
        low: Vec2,
        cell_size: f64,
        walls: Vec<bool>,
    ) -> Result<Self, GridError> {
        let cells = u64::from(columns) * u64::from(rows);
        if cells == 0 || cells > u64::from(Self::CELLS_MAX) {
            return Err(GridError::Size);
        }
        if walls.len() as u64 != cells {
            return Err(GridError::Cells);
        }
        if !(low.is_finite() && cell_size.is_finite() && cell_size > 0.0) {
            return Err(GridError::Scale);
        }
        Ok(Self { columns, rows, low, cell_size, walls })
    }

    /// How many columns and rows there are.
    pub fn size(&self) -> (u32, u32) {
        (self.columns, self.rows)
    }

    /// Side of a cell.
    pub fn cell_size(&self) -> f64 {
        self.cell_size
    }

    /// The number of the cell in which a place lies, row by row; none outside.
    pub fn cell_at(&self, place: Vec2) -> Option<u32> {
        let cell = (place - self.low) * (1.0 / self.cell_size);
        let is_inside = cell.x >= 0.0
            && cell.y >= 0.0
            && cell.x < f64::from(self.columns)
            && cell.y < f64::from(self.rows);
        is_inside.then(|| {
            (cell.y as u32).min(self.rows - 1) * self.columns + (cell.x as u32).min(self.columns - 1)
        })
    }

    /// The middle of a cell.
    pub fn centre_of(&self, cell: u32) -> Vec2 {
        let (column, row) = (cell % self.columns, cell / self.columns);
        self.low + Vec2::new(f64::from(column) + 0.5, f64::from(row) + 0.5) * self.cell_size
    }

    /// Whether nothing but floor lies on the straight way between two places. A corner that is
    /// touched is in the way.
    pub fn is_clear_line(&self, from: Vec2, to: Vec2) -> bool {
        let (Some(mut cell), Some(last)) = (self.cell_at(from), self.cell_at(to)) else { return false };
        let way = to - from;
        let offset = from - self.low;
        let mut column = Crossings::new(offset.x, way.x, self.cell_size);
        let mut row = Crossings::new(offset.y, way.y, self.cell_size);
        // Every turn goes one column or row on, so it takes no more turns than there are of them.
        for _ in 0..=self.columns + self.rows {
            if self.is_wall(cell) {
                return false;
            }
            if cell == last || column.next.min(row.next) > 1.0 {
                return true;
            }
            let is_through_a_corner = (column.next - row.next).abs() < CORNER;
            let beside = column.onwards(cell, 1);
            let above = row.onwards(cell, self.columns);
            if is_through_a_corner && (self.is_wall(beside) || self.is_wall(above)) {
                return false;
            }
            if column.next <= row.next {
                (cell, column.next) = (beside, column.next + column.per_cell);
            } else {
                (cell, row.next) = (above, row.next + row.per_cell);
            }
        }
        true
    }

    /// Whether a cell is wall; what does not exist is.
    pub fn is_wall(&self, cell: u32) -> bool {
        self.walls.get(cell as usize).copied().unwrap_or(true)
    }
}

/// How near to a corner, as a share of the way, a line is taken to go through it.
const CORNER: f64 = 1e-9;

/// Where a straight way crosses the borders of cells along one axis, as shares of the way.
struct Crossings {
    is_upwards: bool,
    next: f64,
    per_cell: f64,
}

impl Crossings {
    fn new(offset: f64, way: f64, cell_size: f64) -> Self {
        if way == 0.0 {
            return Self { is_upwards: true, next: f64::INFINITY, per_cell: f64::INFINITY };
        }
        let is_upwards = way > 0.0;
        let cell = (offset / cell_size).floor();
        let border = if is_upwards { cell + 1.0 } else { cell };
        Self { is_upwards, next: (border * cell_size - offset) / way, per_cell: cell_size / way.abs() }
    }

    /// The next cell along this axis, `stride` numbers on.
    fn onwards(&self, cell: u32, stride: u32) -> u32 {
        if self.is_upwards { cell.wrapping_add(stride) } else { cell.wrapping_sub(stride) }
    }
}
