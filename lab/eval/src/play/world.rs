use std::fmt;

use fairpath::vector::Vec2;
use fairpath_predict::{Grid, GridError};

/// Reads the walls of a world from text.
///
/// The first line gives the corner with the smallest coordinates and the cell size, in the
/// recording's unit: `low -40 -20 cell 2.5`. Each further line is a row of cells along +x, the row
/// with the smallest y first: `#` is wall, anything else floor.
///
/// ```
/// let world = fairpath_eval::play::read_world("low -5 0 cell 2.5\n####\n#..#\n####\n")?;
/// assert_eq!(world.size(), (4, 3));
/// assert!(!world.is_wall(5) && world.is_wall(4));
/// # Ok::<(), fairpath_eval::play::WorldError>(())
/// ```
pub fn read_world(text: &str) -> Result<Grid, WorldError> {
    let mut lines = text.lines().map(str::trim_end).filter(|line| !line.is_empty());
    let (low, cell_size) = lines.next().and_then(scale).ok_or(WorldError::Scale)?;
    let mut walls = Vec::new();
    let (mut columns, mut rows) = (0, 0_u32);
    for line in lines {
        let before = walls.len();
        walls.extend(line.chars().map(|letter| letter == '#'));
        rows += 1;
        let length = walls.len() - before;
        if rows == 1 {
            columns = length;
        } else if length != columns {
            return Err(WorldError::UnevenRow { row: rows });
        }
        if walls.len() > Grid::CELLS_MAX as usize {
            return Err(WorldError::Grid(GridError::Size));
        }
    }
    Grid::new(columns as u32, rows, low, cell_size, walls).map_err(WorldError::Grid)
}

fn scale(line: &str) -> Option<(Vec2, f64)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let ["low", x, y, "cell", size] = words[..] else { return None };
    Some((Vec2::new(x.parse().ok()?, y.parse().ok()?), size.parse().ok()?))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WorldError {
    /// The first line does not give the corner and the cell size.
    Scale,
    /// A row, counted from 1, is shorter or longer than the first.
    UnevenRow { row: u32 },
    /// There are too few or too many cells, or a number is not usable.
    Grid(GridError),
}

impl std::error::Error for WorldError {}

impl fmt::Display for WorldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scale => f.write_str("the first line must be such as `low -40 -20 cell 2.5`"),
            Self::UnevenRow { row } => write!(f, "row {row} is not as long as the first: make them equal"),
            Self::Grid(GridError::Size) => write!(f, "give 1 to {} cells, `#` for walls", Grid::CELLS_MAX),
            Self::Grid(_) => f.write_str("the corner must be finite and the cell larger than 0"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_world_is_refused() {
        assert_eq!(read_world(""), Err(WorldError::Scale));
        assert_eq!(read_world("####\n"), Err(WorldError::Scale));
        assert_eq!(read_world("low 0 0 cell 1\n##\n#\n"), Err(WorldError::UnevenRow { row: 2 }));
        assert_eq!(read_world("low 0 0 cell 1\n"), Err(WorldError::Grid(GridError::Size)));
        assert_eq!(read_world("low 0 nan cell 1\n#\n"), Err(WorldError::Grid(GridError::Scale)));
    }
}
