use std::fmt;

use fairpath::time::Span;

use super::table::{COORDINATE_MAX, ROW_BYTES_MAX, TIME_SECS_MAX};
use crate::budget::OverBudget;

/// Why a recording could not be read. Its text is one line: what, where, and how to fix it.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordingError {
    /// The name that the caller gave the bytes.
    pub file: String,
    /// Counted from 1, with the header as row 1; in memory and in Parquet, row 1 is the first row.
    pub row: Option<usize>,
    pub column: Option<String>,
    pub problem: Problem,
}

/// What can be wrong with a recording. Text in a variant is the header or field that is wrong.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Problem {
    Empty,
    NotText,
    UnknownHeader(String),
    MissingColumn,
    RepeatedColumn,
    FieldCount {
        header: usize,
        row: usize,
    },
    OpenQuote,
    NoName,
    NotANumber(String),
    NotFinite(String),
    NotACount(String),
    NotAStateKind(String),
    TooFar(String),
    TooLate(String),
    TimeRunsBackwards {
        entity: String,
        back: Span,
    },
    NoRows,
    NoUsableStretch,
    LongRow,
    /// More entities than [`ENTITIES_MAX`](super::ENTITIES_MAX).
    TooManyEntities,
    OverBudget(OverBudget),
    /// The bytes could not be read or unpacked.
    Unreadable(String),
}

impl RecordingError {
    pub(super) fn of_file(file: &str, problem: Problem) -> Self {
        Self { file: file.into(), row: None, column: None, problem }
    }

    pub(super) fn at(file: &str, row: usize, problem: Problem) -> Self {
        Self { row: Some(row), ..Self::of_file(file, problem) }
    }

    pub(super) fn in_column(mut self, column: &str) -> Self {
        self.column = Some(column.into());
        self
    }
}

impl std::error::Error for RecordingError {}

impl fmt::Display for RecordingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", OneLine(&self.file))?;
        match (self.row, &self.column) {
            (Some(row), Some(column)) => write!(f, "row {row}, column {}: ", OneLine(column))?,
            (Some(row), None) => write!(f, "row {row}: ")?,
            (None, Some(column)) => write!(f, "column {}: ", OneLine(column))?,
            (None, None) => {}
        }
        self.problem.fmt(f)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the file is empty: record some motion first"),
            Self::NotText => f.write_str("not UTF-8 text: give a CSV file, plain or gzipped"),
            Self::UnknownHeader(found) => write!(
                f,
                "unknown header `{}`: the first line must be `t,entity,team,x,y`, BZFlag's `t_ms,player,…` or a trace's \
                 `t_us,entity,life,kind,…`",
                OneLine(found)
            ),
            Self::MissingColumn => f.write_str("missing: add it to the header and to every row"),
            Self::RepeatedColumn => f.write_str("is in the header twice: keep one"),
            Self::FieldCount { header, row } => {
                write!(f, "{row} fields where the header has {header}: complete or remove the row")
            }
            Self::OpenQuote => f.write_str("a quoted field does not end on its line: close the quote"),
            Self::NoName => f.write_str("empty: give the entity a number or a name"),
            Self::NotANumber(found) => {
                write!(f, "`{}` is not a number: write one such as -12.5", OneLine(found))
            }
            Self::NotFinite(found) => write!(
                f,
                "`{}` is not finite: remove the row, the motion is then cut there if the gap is long",
                OneLine(found)
            ),
            Self::NotACount(found) => {
                write!(f, "`{}` is not a whole number: write 0, 1, 2, …", OneLine(found))
            }
            Self::NotAStateKind(found) => {
                write!(f, "`{}` is no kind of state: write truth, exported, placed or drawn", OneLine(found))
            }
            Self::TooFar(found) => write!(
                f,
                "{} is beyond ±{COORDINATE_MAX:e}: use the world's own units, from an origin in it",
                OneLine(found)
            ),
            Self::TooLate(found) => {
                write!(f, "{} is beyond ±{TIME_SECS_MAX:e} s: check the unit of time", OneLine(found))
            }
            Self::TimeRunsBackwards { entity, back } => write!(
                f,
                "entity {} goes back in time by {} ms: sort its rows by time",
                OneLine(entity),
                back.as_millis_f64()
            ),
            Self::NoRows => f.write_str("there is a header but no motion below it: record some first"),
            Self::NoUsableStretch => write!(
                f,
                "no usable stretch: an entity needs samples at most {} ms apart, without a break between them",
                super::GAP_MAX.as_millis_f64()
            ),
            Self::LongRow => {
                write!(f, "a row of more than {} KiB: end every row with a line end", ROW_BYTES_MAX >> 10)
            }
            Self::TooManyEntities => {
                write!(
                    f,
                    "more than {} entities: give an entity one name for all its rows",
                    super::ENTITIES_MAX
                )
            }
            Self::OverBudget(over) => over.fmt(f),
            Self::Unreadable(why) => write!(f, "cannot be read ({}): fetch or record it again", OneLine(why)),
        }
    }
}

/// Foreign text, shortened and without control characters, so that an error stays one line.
struct OneLine<'a>(&'a str);

/// The most characters of foreign text in an error. A path fits; a megabyte of garbage does not.
const SHOWN_MAX: usize = 120;

impl fmt::Display for OneLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.0.chars().take(SHOWN_MAX).map(|c| if c.is_control() { '\u{FFFD}' } else { c });
        for c in shown {
            fmt::Write::write_char(f, c)?;
        }
        if self.0.chars().nth(SHOWN_MAX).is_some() { f.write_str("…") } else { Ok(()) }
    }
}
