//! Tracks from a file: points of a centre line, `x,y,w_right,w_left` in metres, one per line.

use std::fmt;

use fairpath::vector::{Vec2, Vector};

use super::survey::{LENGTH_MAX, SECTIONS_MAX, Section, TrackError, is_position, is_width};
use super::{Shape, Track};

/// An error in a track's file, and its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TrackCsvError {
    /// The line in the file, counted from one.
    pub row: u64,
    /// The column, where one can be named.
    pub column: Option<&'static str>,
    pub problem: TrackCsvProblem,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TrackCsvProblem {
    /// The line is not UTF-8.
    NotText,
    /// The header does not name this column at this place.
    WrongHeader,
    /// The line ends before this column.
    MissingCell,
    /// The line goes on after its last column.
    ExtraCell,
    NotANumber,
    /// The coordinate is not within 10 000 km of the origin.
    BadPosition,
    /// The width is not between [`WIDTH_MIN`](super::WIDTH_MIN) and
    /// [`WIDTH_MAX`](super::WIDTH_MAX).
    BadWidth,
    /// Every line is valid, but there is no track through the points.
    NoTrack(TrackError),
}

const COLUMNS: [&str; 4] = ["x", "y", "w_right", "w_left"];
/// Spreadsheets often put a byte order mark before UTF-8 text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// A track is a circuit if its ends are within this multiple of its longest step.
const CLOSING_STEPS: f64 = 1.5;

impl Track {
    /// Reads a track from a file `x,y,w_right,w_left`: points of the centre line in the direction
    /// of driving, and the distances of the right and left wall, in metres.
    ///
    /// The header is optional; blank lines and lines that begin with `#` are skipped. The track is
    /// a circuit if its ends are about as near as its points, otherwise a stage.
    ///
    /// ```
    /// use fairpath_games::race::{Shape, Track};
    ///
    /// let file = b"x,y,w_right,w_left\n0,0,6,6\n100,0,6,6\n100,60,6,6\n0,60,6,6\n";
    /// let track = Track::from_csv(file, "yard")?;
    /// assert_eq!(track.shape(), Shape::Circuit);
    /// let error = Track::from_csv(b"0,0,6\n", "short").unwrap_err();
    /// assert_eq!(error.to_string(), "row 1, column w_left: the cell is missing");
    /// # Ok::<(), fairpath_games::race::TrackCsvError>(())
    /// ```
    pub fn from_csv(bytes: &[u8], name: &str) -> Result<Self, TrackCsvError> {
        let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
        let mut sections = Vec::new();
        let mut is_first = true;
        let mut row = 0;
        for line in bytes.split(|byte| *byte == b'\n') {
            row += 1;
            let wrong = |problem| TrackCsvError { row, column: None, problem };
            let text = std::str::from_utf8(line).map_err(|_| wrong(TrackCsvProblem::NotText))?.trim();
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            if sections.len() == SECTIONS_MAX {
                return Err(wrong(TrackCsvProblem::NoTrack(TrackError::TooManyPoints)));
            }
            let cells = Cells { row, text };
            if !(std::mem::take(&mut is_first) && cells.are_a_header()?) {
                sections.push(cells.section()?);
            }
        }
        let shape = if is_closed(&sections) { Shape::Circuit } else { Shape::Stage };
        Self::new(name, shape, &sections).map_err(|error| TrackCsvError {
            row,
            column: None,
            problem: TrackCsvProblem::NoTrack(error),
        })
    }
}

/// One line, with its number.
struct Cells<'a> {
    row: u64,
    text: &'a str,
}

impl Cells<'_> {
    /// Returns whether this line is a header: it begins without a number. A wrong one is an error.
    fn are_a_header(&self) -> Result<bool, TrackCsvError> {
        let names: Vec<&str> = self.text.split(',').map(str::trim).take(COLUMNS.len() + 1).collect();
        if names[0].parse::<f64>().is_ok() {
            return Ok(false);
        }
        let wrong = COLUMNS.iter().enumerate().find(|(index, column)| names.get(*index) != Some(*column));
        match wrong {
            Some((_, column)) => Err(self.error(Some(column), TrackCsvProblem::WrongHeader)),
            None if names.len() > COLUMNS.len() => Err(self.error(None, TrackCsvProblem::ExtraCell)),
            None => Ok(true),
        }
    }

    fn section(&self) -> Result<Section, TrackCsvError> {
        let mut texts = self.text.split(',');
        let mut numbers = [0.0; COLUMNS.len()];
        for (number, column) in numbers.iter_mut().zip(COLUMNS) {
            let text = texts.next().ok_or_else(|| self.error(Some(column), TrackCsvProblem::MissingCell))?;
            *number =
                text.trim().parse().map_err(|_| self.error(Some(column), TrackCsvProblem::NotANumber))?;
        }
        if texts.next().is_some() {
            return Err(self.error(None, TrackCsvProblem::ExtraCell));
        }
        let [x, y, right, left] = numbers;
        let far = COLUMNS.iter().zip([x, y]).find(|(_, value)| !is_position(*value));
        let odd = COLUMNS.iter().skip(2).zip([right, left]).find(|(_, value)| !is_width(*value));
        match (far, odd) {
            (Some((column, _)), _) => Err(self.error(Some(column), TrackCsvProblem::BadPosition)),
            (_, Some((column, _))) => Err(self.error(Some(column), TrackCsvProblem::BadWidth)),
            _ => Ok(Section { position: Vec2::new(x, y), left, right }),
        }
    }

    fn error(&self, column: Option<&'static str>, problem: TrackCsvProblem) -> TrackCsvError {
        TrackCsvError { row: self.row, column, problem }
    }
}

fn is_closed(sections: &[Section]) -> bool {
    let steps = sections.windows(2).map(|pair| pair[0].position.distance(pair[1].position));
    let longest = steps.fold(0.0, f64::max);
    match (sections.first(), sections.last()) {
        (Some(first), Some(last)) => {
            longest < LENGTH_MAX && first.position.distance(last.position) <= CLOSING_STEPS * longest
        }
        _ => false,
    }
}

impl fmt::Display for TrackCsvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "row {}", self.row)?;
        if let Some(column) = self.column {
            write!(f, ", column {column}")?;
        }
        write!(f, ": {}", self.problem)
    }
}

impl fmt::Display for TrackCsvProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotText => f.write_str("not UTF-8 text"),
            Self::WrongHeader => f.write_str("the header must be x,y,w_right,w_left"),
            Self::MissingCell => f.write_str("the cell is missing"),
            Self::ExtraCell => f.write_str("more cells than columns"),
            Self::NotANumber => f.write_str("not a number"),
            Self::BadPosition => f.write_str("the coordinate is not within 10 000 km of the origin"),
            Self::BadWidth => f.write_str("the width is not between 1.5 and 100 m"),
            Self::NoTrack(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for TrackCsvError {}
