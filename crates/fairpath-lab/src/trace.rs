//! Traces as Parquet tables: one file per table, the columns of [`fairpath_sim::trace`] under the same names, and what is
//! known about the run as notes in each of them.

use fairpath_sim::csv::CsvError;
use fairpath_sim::trace::{InputRow, Metadata, ReceiptKind, ReceiptRow, SendRow, StateKind, StateRow, Trace};

use crate::files::OutputFile;
use crate::table::{Column, Table, TableError};

/// The four tables of a trace as files: `states.parquet`, `sends.parquet`, `receipts.parquet`, `inputs.parquet`.
pub fn to_files(trace: &Trace) -> Result<Vec<OutputFile>, TraceTableError> {
    Ok(vec![
        file("states", &trace.states, &trace.metadata)?,
        file("sends", &trace.sends, &trace.metadata)?,
        file("receipts", &trace.receipts, &trace.metadata)?,
        file("inputs", &trace.inputs, &trace.metadata)?,
    ])
}

fn file<R: TraceRow>(name: &str, rows: &[R], metadata: &Metadata) -> Result<OutputFile, TraceTableError> {
    let bytes = R::to_table(rows, metadata)?.to_parquet()?;
    Ok(OutputFile { name: format!("{name}.parquet"), bytes })
}

/// A row of a trace that can be kept in a [`Table`].
pub trait TraceRow: Sized {
    /// The rows as columns, with the run's metadata as notes.
    fn to_table(rows: &[Self], metadata: &Metadata) -> Result<Table, TraceTableError>;
    /// The rows back from the columns.
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

/// Why a trace could not be kept in, or read from, a table.
#[derive(Debug)]
#[non_exhaustive]
pub enum TraceTableError {
    /// The table lacks this column or note, or it is of another kind.
    Missing(String),
    /// The metadata is not what the schema says.
    Metadata(CsvError),
    /// The table itself.
    Table(TableError),
}

/// A kind of cell that fills a column.
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

words!(StateKind, ReceiptKind);

/// The fields of a row, in the order of its columns.
macro_rules! rows {
    ($($row:ident { $($field:ident),+ $(,)? })+) => {$(
        impl TraceRow for $row {
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

impl From<CsvError> for TraceTableError {
    fn from(error: CsvError) -> Self {
        Self::Metadata(error)
    }
}

impl From<TableError> for TraceTableError {
    fn from(error: TableError) -> Self {
        Self::Table(error)
    }
}

impl std::error::Error for TraceTableError {}

impl std::fmt::Display for TraceTableError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Missing(name) => write!(f, "no column or note {name} of the kind a trace has"),
            Self::Metadata(error) => write!(f, "the notes about the run: {error}"),
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
        let files = to_files(&trace).unwrap();
        let table = |index: usize| Table::from_parquet(files[index].bytes.clone()).unwrap();
        assert_eq!(files[0].name, "states.parquet");
        assert_eq!(metadata_of(&table(0)).unwrap(), trace.metadata);
        assert_eq!(StateRow::from_table(&table(0)).unwrap(), trace.states);
        assert_eq!(SendRow::from_table(&table(1)).unwrap(), trace.sends);
        assert_eq!(ReceiptRow::from_table(&table(2)).unwrap(), trace.receipts);
        assert_eq!(InputRow::from_table(&table(3)).unwrap(), trace.inputs);
        assert!(
            matches!(SendRow::from_table(&table(0)), Err(TraceTableError::Missing(name)) if name == "sender")
        );
    }
}
