//! Traces as files: one per table, the columns of [`fairpath_sim::trace`] under the same names.
//!
//! | file | holds |
//! | --- | --- |
//! | `NAME.parquet` or `NAME.csv` | the states: this one is a recording by itself |
//! | `NAME.inputs.…` | what players did |
//! | `NAME.sends.…`, `NAME.receipts.…` | what travelled, if anything did |
//! | `NAME.followed.…` | which DR vector was reckoned by, if that was written down |
//! | `NAME.vectors.…` | the DR vectors themselves, if they were written down |
//! | `NAME.metadata.csv` | about the run: one row; Parquet keeps it as notes in every table instead |

use std::path::Path;

use fairpath_sim::csv::CsvError;
use fairpath_sim::trace::{
    FollowedRow, InputRow, Metadata, ModelKind, ReceiptKind, ReceiptRow, SendRow, StateKind, StateRow, Trace,
    VectorRow,
};

use crate::files::OutputFile;
use crate::table::{Column, Table, TableError};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceFormat {
    /// Small and quick, for machines.
    Parquet,
    /// Text, for every tool there is; about four times as large.
    Csv,
}

impl TraceFormat {
    pub const ALL: [Self; 2] = [Self::Parquet, Self::Csv];

    /// What its files end in, after the dot.
    pub const fn ending(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Csv => "csv",
        }
    }

    /// The format a file of that name is to be written in, if it ends like one.
    pub fn of(path: &Path) -> Option<Self> {
        let ending = path.extension()?;
        Self::ALL.into_iter().find(|format| ending == format.ending())
    }
}

/// The tables of a trace as files called after `name`; the states come last.
pub fn to_files(trace: &Trace, name: &str, format: TraceFormat) -> Result<Vec<OutputFile>, TraceTableError> {
    let mut files = vec![file(name, ".inputs", &trace.inputs, &trace.metadata, format)?];
    if !trace.sends.is_empty() {
        files.push(file(name, ".sends", &trace.sends, &trace.metadata, format)?);
    }
    if !trace.receipts.is_empty() {
        files.push(file(name, ".receipts", &trace.receipts, &trace.metadata, format)?);
    }
    if !trace.followed.is_empty() {
        files.push(file(name, ".followed", &trace.followed, &trace.metadata, format)?);
    }
    if !trace.vectors.is_empty() {
        files.push(file(name, ".vectors", &trace.vectors, &trace.metadata, format)?);
    }
    if format == TraceFormat::Csv {
        let bytes = trace.metadata.to_csv()?.into_bytes();
        files.push(OutputFile { name: format!("{name}.metadata.csv"), bytes });
    }
    files.push(file(name, "", &trace.states, &trace.metadata, format)?);
    Ok(files)
}

fn file<R: TraceRow>(
    name: &str,
    table: &str,
    rows: &[R],
    metadata: &Metadata,
    format: TraceFormat,
) -> Result<OutputFile, TraceTableError> {
    let bytes = match format {
        TraceFormat::Parquet => R::to_table(rows, metadata)?.to_parquet()?,
        TraceFormat::Csv => R::to_text(rows).map_err(TraceTableError::Row)?.into_bytes(),
    };
    Ok(OutputFile { name: format!("{name}{table}.{}", format.ending()), bytes })
}

/// The states of a run, and what is known about it, from the bytes of a Parquet file.
pub fn read_states(parquet: Vec<u8>) -> Result<(Metadata, Vec<StateRow>), TraceTableError> {
    let table = Table::from_parquet(parquet)?;
    Ok((metadata_of(&table)?, StateRow::from_table(&table)?))
}

/// Which DR vectors were reckoned by, from the bytes of a Parquet file.
pub fn read_followed(parquet: Vec<u8>) -> Result<Vec<FollowedRow>, TraceTableError> {
    FollowedRow::from_table(&Table::from_parquet(parquet)?)
}

/// Checks that a table has the columns of a row, with the right kinds. It may be empty.
pub fn check_columns<R: TraceRow>(table: &Table) -> Result<(), TraceTableError> {
    R::from_table(table).map(drop)
}

pub trait TraceRow: Sized {
    fn to_text(rows: &[Self]) -> Result<String, CsvError>;
    fn from_text(bytes: &[u8]) -> Result<Vec<Self>, CsvError>;
    /// The rows as columns, with the run's metadata as notes.
    fn to_table(rows: &[Self], metadata: &Metadata) -> Result<Table, TraceTableError>;
    fn from_table(table: &Table) -> Result<Vec<Self>, TraceTableError>;
}

/// The metadata that [`TraceRow::to_table`] noted.
pub fn metadata_of(table: &Table) -> Result<Metadata, TraceTableError> {
    let note = |key: &&str| {
        let noted = table.metadata.iter().find(|(name, _)| name == key);
        noted.map(|(_, value)| value.as_str()).ok_or_else(|| TraceTableError::Missing((*key).into()))
    };
    let values = Metadata::COLUMNS.iter().map(note).collect::<Result<Vec<_>, _>>()?;
    let csv = format!("{}\n{}\n", Metadata::COLUMNS.join(","), values.join(","));
    Ok(Metadata::from_csv(csv.as_bytes())?)
}

#[derive(Debug)]
#[non_exhaustive]
pub enum TraceTableError {
    /// The table lacks this column or note, or it is of another kind.
    Missing(String),
    Metadata(CsvError),
    Row(CsvError),
    Table(TableError),
}

trait TraceColumn: Sized {
    fn column(cells: impl Iterator<Item = Self>) -> Column;
    fn cells(column: &Column) -> Option<Vec<Self>>;
}

macro_rules! plain {
    ($($cell:ty => $column:ident),+ $(,)?) => {$(
        impl TraceColumn for $cell {
            fn column(cells: impl Iterator<Item = Self>) -> Column {
                Column::$column(cells.collect())
            }

            fn cells(column: &Column) -> Option<Vec<Self>> {
                if let Column::$column(cells) = column { Some(cells.clone()) } else { None }
            }
        }
    )+};
}

plain!(
    i64 => I64,
    Option<i64> => OptionalI64,
    u64 => U64,
    u32 => U32,
    Option<u32> => OptionalU32,
    u16 => U16,
    f64 => F64,
    bool => Bool,
);

macro_rules! words {
    ($($word:ty),+) => {$(
        impl TraceColumn for $word {
            fn column(cells: impl Iterator<Item = Self>) -> Column {
                Column::Text(cells.map(|cell| cell.word().to_owned()).collect())
            }

            fn cells(column: &Column) -> Option<Vec<Self>> {
                let Column::Text(words) = column else { return None };
                words.iter().map(|word| Self::from_word(word)).collect()
            }
        }
    )+};
}

words!(StateKind, ReceiptKind, ModelKind);

/// The fields of a row, in the order of its columns.
macro_rules! rows {
    ($($row:ident { $($field:ident),+ $(,)? })+) => {$(
        impl TraceRow for $row {
            fn to_text(rows: &[Self]) -> Result<String, CsvError> {
                Self::to_csv(rows)
            }

            fn from_text(bytes: &[u8]) -> Result<Vec<Self>, CsvError> {
                Self::from_csv(bytes)
            }

            fn to_table(rows: &[Self], metadata: &Metadata) -> Result<Table, TraceTableError> {
                let columns = [$(TraceColumn::column(rows.iter().map(|row| row.$field))),+];
                let mut table = with_notes(metadata)?;
                table.columns = Self::COLUMNS.iter().map(|name| (*name).into()).zip(columns).collect();
                Ok(table)
            }

            fn from_table(table: &Table) -> Result<Vec<Self>, TraceTableError> {
                let mut names = Self::COLUMNS.iter();
                $(let $field = cells(table, names.next())?;)+
                let row = |index: usize| Self { $($field: $field[index]),+ };
                Ok((0..table.row_count()).map(row).collect())
            }
        }
    )+};
}

rows! {
    StateRow { t_us, entity, life, kind, viewer, x, y, z, vx, vy, vz, qw, qx, qy, qz, is_break }
    SendRow { t_us, sender, receiver, entity, life, generation, generated_us, packet, bytes }
    ReceiptRow { t_us, receiver, sender, entity, life, generation, sent_us, packet, kind, known_us }
    FollowedRow { t_us, viewer, entity, life, generated_us }
    VectorRow {
        t_us, entity, life, generation, generated_us, model, x, y, z, vx, vy, vz, ax, ay, az, heading, speed,
        turn_rate, climb_rate, climb_acceleration,
    }
    InputRow { t_us, player, entity, sequence, buttons, axis_0, axis_1, axis_2, axis_3 }
}

fn with_notes(metadata: &Metadata) -> Result<Table, TraceTableError> {
    let csv = metadata.to_csv()?;
    let values = csv.lines().nth(1).unwrap_or_default().split(',');
    let notes = Metadata::COLUMNS.iter().zip(values);
    Ok(notes.fold(Table::new(), |table, (key, value)| table.note(*key, value)))
}

/// The cells of a column as long as the table.
fn cells<C: TraceColumn>(table: &Table, name: Option<&&str>) -> Result<Vec<C>, TraceTableError> {
    let name = name.copied().unwrap_or_default();
    let cells = table.get(name).and_then(C::cells).filter(|cells| cells.len() == table.row_count());
    cells.ok_or_else(|| TraceTableError::Missing(name.into()))
}

wrap!(TraceTableError: Metadata(CsvError), Table(TableError));

impl std::error::Error for TraceTableError {}

impl std::fmt::Display for TraceTableError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Missing(name) => write!(f, "no column or note {name} of the kind a trace has"),
            Self::Metadata(error) => write!(f, "the notes about the run: {error}"),
            Self::Row(error) => error.fmt(f),
            Self::Table(error) => error.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_comes_back_as_it_was() {
        let mut trace = Trace::new(Metadata::new("tanks", 7));
        for tick in 0..100 {
            trace.states.push(StateRow {
                t_us: tick * 16_667 - 50,
                kind: [StateKind::Truth, StateKind::Placed][tick as usize % 2],
                viewer: (tick % 2 == 1).then_some(3),
                x: (tick as f64).sqrt(),
                is_break: tick == 50,
                ..StateRow::default()
            });
            let known_us = (tick % 3 == 0).then_some(tick);
            trace.receipts.push(ReceiptRow {
                t_us: tick,
                known_us,
                kind: ReceiptKind::Stale,
                ..Default::default()
            });
        }
        trace.sends.push(SendRow { packet: u64::MAX, ..SendRow::default() });
        let files = to_files(&trace, "sea", TraceFormat::Parquet).unwrap();
        let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names, ["sea.inputs.parquet", "sea.sends.parquet", "sea.receipts.parquet", "sea.parquet"]);
        let table = |index: usize| Table::from_parquet(files[index].bytes.clone()).unwrap();
        assert_eq!(InputRow::from_table(&table(0)).unwrap(), trace.inputs);
        assert_eq!(SendRow::from_table(&table(1)).unwrap(), trace.sends);
        assert_eq!(ReceiptRow::from_table(&table(2)).unwrap(), trace.receipts);
        assert_eq!(
            read_states(files[3].bytes.clone()).unwrap(),
            (trace.metadata.clone(), trace.states.clone())
        );
        let wrong = read_states(files[1].bytes.clone());
        assert!(matches!(wrong, Err(TraceTableError::Missing(name)) if name == "kind"));

        trace.receipts.clear();
        trace.followed.push(FollowedRow { t_us: 5, generated_us: -1, viewer: Some(2), ..Default::default() });
        let files = to_files(&trace, "sea", TraceFormat::Parquet).unwrap();
        assert_eq!(files[2].name, "sea.followed.parquet");
        assert_eq!(read_followed(files[2].bytes.clone()).unwrap(), trace.followed);

        trace.followed.clear();
        let files = to_files(&trace, "sea", TraceFormat::Csv).unwrap();
        let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names, ["sea.inputs.csv", "sea.sends.csv", "sea.metadata.csv", "sea.csv"]);
        assert_eq!(Metadata::from_csv(&files[2].bytes).unwrap(), trace.metadata);
        assert_eq!(StateRow::from_csv(&files[3].bytes).unwrap(), trace.states);
    }
}
