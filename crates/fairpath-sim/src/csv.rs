//! Tables as CSV text: a header, then one row per line, cells separated by commas, no quotes.
//!
//! Numbers are written so that they are read back bit for bit. Errors name row and column. NaN and
//! infinity are errors, in reading and in writing.

use std::fmt::{self, Write};

/// An error in a table, with its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CsvError {
    /// The line in the file; the header is row 1.
    pub row: u64,
    /// The column, where one can be named.
    pub column: Option<&'static str>,
    /// The problem.
    pub problem: CsvProblem,
}

/// A problem of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CsvProblem {
    /// The text is empty: it has not even a header.
    Empty,
    /// The table has a header and no rows, where rows are needed.
    NoRows,
    /// The line is not UTF-8.
    NotText,
    /// The header does not name this column at this place.
    WrongHeader,
    /// The line ends before this column.
    MissingCell,
    /// The line goes on after its last column.
    ExtraCell,
    /// Not a number of the column's kind, or out of its range.
    NotANumber,
    /// NaN or infinite.
    NotFinite,
    /// A negative number, where only sizes make sense.
    Negative,
    /// Not one of the column's words.
    UnknownWord,
    /// A text with commas, line breaks or outer blanks, which cannot be written without quotes.
    NeedsQuotes,
    /// Not greater than in the row before.
    NotIncreasing,
    /// An unknown schema version.
    UnknownVersion,
}

impl CsvError {
    pub(crate) fn new(row: u64, column: &'static str, problem: CsvProblem) -> Self {
        Self { row, column: Some(column), problem }
    }

    pub(crate) fn of_row(row: u64, problem: CsvProblem) -> Self {
        Self { row, column: None, problem }
    }
}

impl fmt::Display for CsvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "row {}", self.row)?;
        if let Some(column) = self.column {
            write!(f, ", column {column}")?;
        }
        write!(f, ": {}", self.problem)
    }
}

impl fmt::Display for CsvProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "the table is empty",
            Self::NoRows => "the table has a header and no rows",
            Self::NotText => "not UTF-8 text",
            Self::WrongHeader => "the header does not name this column here",
            Self::MissingCell => "the cell is missing",
            Self::ExtraCell => "more cells than columns",
            Self::NotANumber => "not a number that fits",
            Self::NotFinite => "not finite",
            Self::Negative => "must not be negative",
            Self::UnknownWord => "not one of the known words",
            Self::NeedsQuotes => "commas, line breaks and outer blanks cannot be written",
            Self::NotIncreasing => "not after the row before",
            Self::UnknownVersion => "of a schema version that is not known here",
        })
    }
}

impl std::error::Error for CsvError {}

pub(crate) trait Cell: Sized {
    fn write(&self, out: &mut String) -> Result<(), CsvProblem>;
    fn read(text: &str) -> Result<Self, CsvProblem>;
}

pub(crate) struct Reader<'a> {
    lines: std::slice::Split<'a, u8, fn(&u8) -> bool>,
    columns: &'static [&'static str],
    row: u64,
}

impl<'a> Reader<'a> {
    /// Checks the header. The first row is next.
    pub(crate) fn new(bytes: &'a [u8], columns: &'static [&'static str]) -> Result<Self, CsvError> {
        let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
        let is_line_end: fn(&u8) -> bool = |byte| *byte == b'\n';
        let mut reader = Self { lines: bytes.split(is_line_end), columns, row: 0 };
        let mut header = reader.next_row()?.ok_or_else(|| CsvError::of_row(1, CsvProblem::Empty))?;
        for column in columns {
            if header.text()? != *column {
                return Err(CsvError::new(header.row, column, CsvProblem::WrongHeader));
            }
        }
        header.finish()?;
        Ok(reader)
    }

    /// The next line that is not blank.
    pub(crate) fn next_row(&mut self) -> Result<Option<Cells<'a>>, CsvError> {
        for line in self.lines.by_ref() {
            self.row += 1;
            let text =
                std::str::from_utf8(line).map_err(|_| CsvError::of_row(self.row, CsvProblem::NotText))?;
            let text = text.trim_end();
            if !text.is_empty() {
                let columns = self.columns.iter();
                return Ok(Some(Cells { row: self.row, texts: text.split(','), columns }));
            }
        }
        Ok(None)
    }
}

/// Spreadsheets put this before UTF-8 text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

pub(crate) struct Cells<'a> {
    row: u64,
    texts: std::str::Split<'a, char>,
    columns: std::slice::Iter<'static, &'static str>,
}

impl<'a> Cells<'a> {
    pub(crate) fn row(&self) -> u64 {
        self.row
    }

    pub(crate) fn read<C: Cell>(&mut self) -> Result<C, CsvError> {
        let (column, text) = self.next()?;
        C::read(text).map_err(|problem| CsvError::new(self.row, column, problem))
    }

    /// Fails if the line has more cells.
    pub(crate) fn finish(mut self) -> Result<(), CsvError> {
        match self.texts.next() {
            Some(_) => Err(CsvError::of_row(self.row, CsvProblem::ExtraCell)),
            None => Ok(()),
        }
    }

    fn text(&mut self) -> Result<&'a str, CsvError> {
        self.next().map(|(_, text)| text)
    }

    fn next(&mut self) -> Result<(&'static str, &'a str), CsvError> {
        let column = self.columns.next().expect("a row type reads as many cells as it has columns");
        let text =
            self.texts.next().ok_or_else(|| CsvError::new(self.row, column, CsvProblem::MissingCell))?;
        Ok((column, text.trim()))
    }
}

pub(crate) struct Writer {
    text: String,
    columns: &'static [&'static str],
    row: u64,
    column_index: usize,
}

impl Writer {
    pub(crate) fn new(columns: &'static [&'static str]) -> Self {
        Self { text: columns.join(","), columns, row: 1, column_index: columns.len() }
    }

    /// Adds the next cell; after the last one of a row a new row begins.
    pub(crate) fn write<C: Cell>(&mut self, cell: &C) -> Result<(), CsvError> {
        if self.column_index == self.columns.len() {
            self.text.push('\n');
            self.row += 1;
            self.column_index = 0;
        } else {
            self.text.push(',');
        }
        let column = self.columns[self.column_index];
        self.column_index += 1;
        cell.write(&mut self.text).map_err(|problem| CsvError::new(self.row, column, problem))
    }

    pub(crate) fn finish(mut self) -> String {
        self.text.push('\n');
        self.text
    }
}

macro_rules! integer_cells {
    ($($integer:ty),+) => {$(
        impl Cell for $integer {
            fn write(&self, out: &mut String) -> Result<(), CsvProblem> {
                write!(out, "{self}").expect("writing to a string cannot fail");
                Ok(())
            }

            fn read(text: &str) -> Result<Self, CsvProblem> {
                text.parse().map_err(|_| CsvProblem::NotANumber)
            }
        }
    )+};
}

integer_cells!(u16, u32, u64, i64);

/// `{:?}` is the shortest text that reads back as the same bits, if need be with an exponent.
impl Cell for f64 {
    fn write(&self, out: &mut String) -> Result<(), CsvProblem> {
        if !self.is_finite() {
            return Err(CsvProblem::NotFinite);
        }
        write!(out, "{self:?}").expect("writing to a string cannot fail");
        Ok(())
    }

    fn read(text: &str) -> Result<Self, CsvProblem> {
        let number: Self = text.parse().map_err(|_| CsvProblem::NotANumber)?;
        if number.is_finite() { Ok(number) } else { Err(CsvProblem::NotFinite) }
    }
}

/// 1 or 0.
impl Cell for bool {
    fn write(&self, out: &mut String) -> Result<(), CsvProblem> {
        out.push(if *self { '1' } else { '0' });
        Ok(())
    }

    fn read(text: &str) -> Result<Self, CsvProblem> {
        match text {
            "1" => Ok(true),
            "0" => Ok(false),
            _ => Err(CsvProblem::UnknownWord),
        }
    }
}

/// Written as it is. Text that would need quotes is an error.
impl Cell for String {
    fn write(&self, out: &mut String) -> Result<(), CsvProblem> {
        if self.contains(|letter: char| letter == ',' || letter.is_control()) || self.trim() != self {
            return Err(CsvProblem::NeedsQuotes);
        }
        out.push_str(self);
        Ok(())
    }

    fn read(text: &str) -> Result<Self, CsvProblem> {
        Ok(text.to_owned())
    }
}

/// `None` is an empty cell.
impl<C: Cell> Cell for Option<C> {
    fn write(&self, out: &mut String) -> Result<(), CsvProblem> {
        self.as_ref().map_or(Ok(()), |cell| cell.write(out))
    }

    fn read(text: &str) -> Result<Self, CsvProblem> {
        if text.is_empty() { Ok(None) } else { C::read(text).map(Some) }
    }
}
