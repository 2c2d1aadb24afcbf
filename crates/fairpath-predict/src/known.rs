use fairpath::vector::{Vec2, Vector};

/// Everything that may be known when a prediction is made. Nothing in it is newer than the
/// subject's last known tick.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known<'a> {
    /// The subject at each tick, oldest first. Not empty; never across a respawn, teleport or gap.
    pub history: &'a [Body],
    /// The strength of the subject.
    pub condition: Condition,
    /// The newest known state of every other player. Balls and shots are not players.
    pub others: &'a [Other],
    /// The walls, if known.
    pub world: Option<&'a Grid>,
    /// The subject's input at each tick, a direction of at most unit length. Empty if not recorded.
    pub inputs: &'a [Vec2],
    /// The items that can be picked up now. Empty if the game has none or they are not recorded.
    pub items: &'a [Item],
    /// The real positions of each of `others` at the ticks after the subject's last known one, in
    /// the order of `others`. Only a replay of a finished match knows them: empty in live play, and
    /// read by [`Others::Replayed`](crate::Others::Replayed) alone.
    pub replayed: &'a [&'a [Vec2]],
}

impl Known<'_> {
    /// Returns the subject at its last known tick.
    pub fn newest(&self) -> Body {
        self.history.last().copied().unwrap_or_default()
    }
}

/// The position and motion of a player.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Body {
    /// Position.
    pub position: Vec2,
    /// Velocity per second, from past samples only.
    pub velocity: Vec2,
    /// Acceleration per second squared, from past samples only.
    pub acceleration: Vec2,
}

impl Body {
    /// Returns whether every number is finite.
    pub fn is_finite(&self) -> bool {
        self.position.is_finite() && self.velocity.is_finite() && self.acceleration.is_finite()
    }
}

/// Another player, as the subject's predictor knows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Other {
    /// Friend or enemy of the subject.
    pub relation: Relation,
    /// Last known position and motion.
    pub body: Body,
    /// Age of `body`, in ticks before the subject's last known tick.
    pub ticks_ago: u32,
    /// Strength at that tick.
    pub condition: Condition,
}

/// An item on the ground.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Item {
    /// Position.
    pub position: Vec2,
    /// What a player gains that picks the item up.
    pub gain: Gain,
}

/// What an item restores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gain {
    /// [`Condition::health`].
    Health,
    /// [`Condition::ammo`].
    Ammo,
}

/// The side of another player, seen from the subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// Same team.
    Friend,
    /// Another team.
    Enemy,
}

/// The strength of a player, each part between 0 and 1. Default: full strength, for games that do
/// not report it. Only comparisons between players matter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Condition {
    /// Health as a ratio of its maximum.
    pub health: f64,
    /// Ammunition as a ratio of its maximum.
    pub ammo: f64,
}

impl Default for Condition {
    fn default() -> Self {
        Self { health: 1.0, ammo: 1.0 }
    }
}

impl Condition {
    /// Returns how much of what an item restores is missing: 0 at full strength, 1 at none.
    pub fn lack(&self, gain: Gain) -> f64 {
        let left = match gain {
            Gain::Health => self.health,
            Gain::Ammo => self.ammo,
        };
        1.0 - left.clamp(0.0, 1.0)
    }

    /// Returns the "influence" of Shi 2014: the sum, between 0 and 2.
    pub fn influence(&self) -> f64 {
        self.health + self.ammo
    }
}

/// The static world as square cells, each floor or wall. Everything outside is wall.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    columns: u32,
    rows: u32,
    low: Vec2,
    cell_size: f64,
    walls: Vec<bool>,
}

/// Why [`Grid::new`] rejects its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GridError {
    /// There is no cell, or there are more than [`Grid::CELLS_MAX`].
    Size,
    /// The length of `walls` is not the number of cells.
    Cells,
    /// The corner is not finite, or the cell size is not finite and positive.
    Scale,
}

impl Grid {
    /// The maximum number of cells: 256 × 256.
    pub const CELLS_MAX: u32 = 1 << 16;

    /// Creates a world whose corner with the smallest coordinates is `low`. `walls` has one entry
    /// per cell, row by row from there, along +x first.
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

    /// Returns the number of columns and rows.
    pub fn size(&self) -> (u32, u32) {
        (self.columns, self.rows)
    }

    /// Returns the side of a cell.
    pub fn cell_size(&self) -> f64 {
        self.cell_size
    }

    /// Returns the number of the cell that contains `place`, counted row by row; `None` outside.
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

    /// Returns the middle of a cell.
    pub fn centre_of(&self, cell: u32) -> Vec2 {
        let (column, row) = (cell % self.columns, cell / self.columns);
        self.low + Vec2::new(f64::from(column) + 0.5, f64::from(row) + 0.5) * self.cell_size
    }

    /// Returns whether the straight line between two places crosses only floor. Touching the corner
    /// of a wall counts as crossing it.
    pub fn is_clear_line(&self, from: Vec2, to: Vec2) -> bool {
        let (Some(mut cell), Some(last)) = (self.cell_at(from), self.cell_at(to)) else { return false };
        let way = to - from;
        let offset = from - self.low;
        let mut column = Crossings::new(offset.x, way.x, self.cell_size);
        let mut row = Crossings::new(offset.y, way.y, self.cell_size);
        // Each pass advances one column or row, which bounds the passes.
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

    /// Returns whether a cell is wall. A cell outside the grid is wall.
    pub fn is_wall(&self, cell: u32) -> bool {
        self.walls.get(cell as usize).copied().unwrap_or(true)
    }
}

/// Distance from a corner, as a ratio of the whole line, at which a line counts as touching it.
const CORNER: f64 = 1e-9;

/// Where a straight line crosses the borders of cells along one axis, as ratios of the line.
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

    /// Returns the next cell along this axis, `stride` numbers away.
    fn onwards(&self, cell: u32, stride: u32) -> u32 {
        if self.is_upwards { cell.wrapping_add(stride) } else { cell.wrapping_sub(stride) }
    }
}
