//! Large tables of plain columns, kept in Parquet: traces of a run, recordings of our own games.
//!
//! Every other tool reads it (`pandas.read_parquet`, DuckDB, Polars); only the optional columns
//! are ever null. Small results are JSON, see [`results`](crate::results).

mod reader;
mod thrift;
mod writer;

pub use reader::{BATCH_ROWS, TableReader};
pub use writer::TableWriter;

use std::fmt;
use std::io::Write;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use fairpath_eval::budget::{Budget, OverBudget};
use parquet::basic::{Compression, Encoding, GzipLevel, LogicalType, Repetition, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{WriterProperties, WriterPropertiesPtr};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, Type, TypePtr};

/// Rows that are written, compressed and later read as one: 1 Mi rows of ten columns are some 80 MB
/// in memory. Smaller groups compress worse, larger ones keep a reader from skipping.
const ROWS_PER_GROUP: usize = 1 << 20;

/// The longest word of a table. Ours name kinds of rows; a dictionary makes a word of megabytes
/// cost nothing in the file, and its length again in every row that is read.
const WORD_BYTES_MAX: usize = 256;

/// Columns of equal length, in order, and notes about them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    pub columns: Vec<(String, Column)>,
    /// Keys and values that belong to the whole table: units, tick rate, seed, schema version.
    pub metadata: Vec<(String, String)>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    I64(Vec<i64>),
    OptionalI64(Vec<Option<i64>>),
    U64(Vec<u64>),
    U32(Vec<u32>),
    OptionalU32(Vec<Option<u32>>),
    U16(Vec<u16>),
    /// Measurements. NaN is kept.
    F64(Vec<f64>),
    Bool(Vec<bool>),
    /// Words; repeated ones cost almost nothing.
    Text(Vec<String>),
}

#[derive(Debug)]
#[non_exhaustive]
pub enum TableError {
    Uneven { column: String },
    UnknownKind { column: String },
    LongWord { column: String },
    OverBudget(OverBudget),
    Parquet(ParquetError),
}

impl Table {
    pub fn new() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn column(mut self, name: impl Into<String>, column: Column) -> Self {
        self.columns.push((name.into(), column));
        self
    }

    #[must_use]
    pub fn note(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.metadata.push((key.into(), value.into()));
        self
    }

    /// Adds the rows of a table with the same columns.
    pub fn append(&mut self, more: Self) {
        for ((_, column), (_, more)) in self.columns.iter_mut().zip(more.columns) {
            column.append(more);
        }
    }

    /// Removes all rows.
    pub fn clear(&mut self) {
        self.columns.iter_mut().for_each(|(_, column)| column.clear());
    }

    pub fn row_count(&self) -> usize {
        self.columns.first().map_or(0, |(_, column)| column.len())
    }

    pub fn get(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|(column, _)| column == name).map(|(_, column)| column)
    }

    /// The table as the bytes of a Parquet file. The same table gives the same bytes.
    pub fn to_parquet(&self) -> Result<Vec<u8>, TableError> {
        let rows = self.row_count();
        if let Some((name, _)) = self.columns.iter().find(|(_, column)| column.len() != rows) {
            return Err(TableError::Uneven { column: name.clone() });
        }
        let mut bytes = Vec::new();
        let mut file = SerializedFileWriter::new(&mut bytes, self.schema()?, self.properties())?;
        for start in (0..rows).step_by(ROWS_PER_GROUP) {
            self.write_group(&mut file, start..rows.min(start + ROWS_PER_GROUP))?;
        }
        file.close()?;
        Ok(bytes)
    }

    /// Reads what [`to_parquet`](Self::to_parquet) wrote.
    pub fn from_parquet(bytes: Vec<u8>) -> Result<Self, TableError> {
        Self::from_parquet_within(bytes, &Budget::default())
    }

    /// Reads a table into memory with a budget of the caller. A longer one is read by
    /// [`TableReader`].
    pub fn from_parquet_within(bytes: Vec<u8>, budget: &Budget) -> Result<Self, TableError> {
        let mut reader = TableReader::open(Bytes::from(bytes), budget)?;
        let mut table = reader.empty_table();
        while let Some(batch) = reader.next_batch()? {
            for ((_, column), (_, more)) in table.columns.iter_mut().zip(batch.columns) {
                budget.hold(more.bytes())?;
                column.append(more);
            }
        }
        Ok(table)
    }

    fn write_group(
        &self,
        file: &mut SerializedFileWriter<impl Write + Send>,
        rows: Range<usize>,
    ) -> Result<(), TableError> {
        let mut group = file.next_row_group()?;
        for (_, column) in &self.columns {
            let mut writer = group.next_column()?.expect("the schema has a column for each of ours");
            column.write(writer.untyped(), rows.clone())?;
            writer.close()?;
        }
        group.close()?;
        Ok(())
    }

    fn schema(&self) -> Result<TypePtr, TableError> {
        let columns =
            self.columns.iter().map(|(name, column)| column.schema(name)).collect::<Result<_, _>>()?;
        Ok(Arc::new(Type::group_type_builder("fairpath").with_fields(columns).build()?))
    }

    fn properties(&self) -> WriterPropertiesPtr {
        let notes = self.metadata.iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone()));
        let mut properties = WriterProperties::builder()
            .set_created_by(concat!("fairpath ", env!("CARGO_PKG_VERSION")).into())
            .set_key_value_metadata(Some(notes.collect()))
            .set_compression(Compression::GZIP(GzipLevel::default()));
        for (name, column) in &self.columns {
            let path = ColumnPath::from(name.as_str());
            if matches!(column, Column::I64(_) | Column::U64(_)) {
                // Times and generations grow by nearly equal steps: differences beat a dictionary.
                properties = properties
                    .set_column_dictionary_enabled(path.clone(), false)
                    .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
            } else if matches!(column, Column::F64(_)) {
                properties = properties
                    .set_column_dictionary_enabled(path.clone(), false)
                    .set_column_encoding(path, Encoding::BYTE_STREAM_SPLIT);
            }
        }
        Arc::new(properties.build())
    }
}

impl Column {
    pub fn len(&self) -> usize {
        match self {
            Self::I64(values) => values.len(),
            Self::OptionalI64(values) => values.len(),
            Self::U64(values) => values.len(),
            Self::U32(values) => values.len(),
            Self::OptionalU32(values) => values.len(),
            Self::U16(values) => values.len(),
            Self::F64(values) => values.len(),
            Self::Bool(values) => values.len(),
            Self::Text(values) => values.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The memory of the cells, in an array that doubles when it is full.
    fn bytes(&self) -> u64 {
        let cell = match self {
            Self::Bool(_) => 1,
            Self::U16(_) => 2,
            Self::U32(_) => 4,
            Self::I64(_) | Self::U64(_) | Self::F64(_) | Self::OptionalU32(_) => 8,
            Self::OptionalI64(_) => 16,
            Self::Text(words) => {
                let letters: usize = words.iter().map(|word| word.len().next_multiple_of(16)).sum();
                return (letters + 2 * size_of::<String>() * words.len()) as u64;
            }
        };
        2 * cell * self.len() as u64
    }

    fn clear(&mut self) {
        match self {
            Self::I64(values) => values.clear(),
            Self::OptionalI64(values) => values.clear(),
            Self::U64(values) => values.clear(),
            Self::U32(values) => values.clear(),
            Self::OptionalU32(values) => values.clear(),
            Self::U16(values) => values.clear(),
            Self::F64(values) => values.clear(),
            Self::Bool(values) => values.clear(),
            Self::Text(values) => values.clear(),
        }
    }

    fn append(&mut self, more: Self) {
        match (self, more) {
            (Self::I64(values), Self::I64(more)) => values.extend(more),
            (Self::OptionalI64(values), Self::OptionalI64(more)) => values.extend(more),
            (Self::U64(values), Self::U64(more)) => values.extend(more),
            (Self::U32(values), Self::U32(more)) => values.extend(more),
            (Self::OptionalU32(values), Self::OptionalU32(more)) => values.extend(more),
            (Self::U16(values), Self::U16(more)) => values.extend(more),
            (Self::F64(values), Self::F64(more)) => values.extend(more),
            (Self::Bool(values), Self::Bool(more)) => values.extend(more),
            (Self::Text(values), Self::Text(more)) => values.extend(more),
            _ => unreachable!("both are of one file"),
        }
    }

    fn schema(&self, name: &str) -> Result<TypePtr, ParquetError> {
        let (physical, logical) = match self {
            Self::I64(_) | Self::OptionalI64(_) => (Physical::INT64, None),
            Self::U64(_) => (Physical::INT64, Some(LogicalType::integer(64, false))),
            Self::U32(_) | Self::OptionalU32(_) => (Physical::INT32, Some(LogicalType::integer(32, false))),
            Self::U16(_) => (Physical::INT32, Some(LogicalType::integer(16, false))),
            Self::F64(_) => (Physical::DOUBLE, None),
            Self::Bool(_) => (Physical::BOOLEAN, None),
            Self::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let is_optional = matches!(self, Self::OptionalI64(_) | Self::OptionalU32(_));
        let column = Type::primitive_type_builder(name, physical)
            .with_repetition(if is_optional { Repetition::OPTIONAL } else { Repetition::REQUIRED })
            .with_logical_type(logical);
        Ok(Arc::new(column.build()?))
    }

    /// An empty column of the kind a file says it has, if it is a kind we write.
    fn empty_of(schema: &Type) -> Option<Self> {
        if !schema.is_primitive() {
            return None;
        }
        let basic = schema.get_basic_info();
        let count = |bits| Some(LogicalType::integer(bits, false));
        let logical = basic.logical_type_ref().cloned();
        match (basic.repetition(), schema.get_physical_type()) {
            (Repetition::REQUIRED, Physical::INT64) if logical.is_none() => Some(Self::I64(Vec::new())),
            (Repetition::OPTIONAL, Physical::INT64) if logical.is_none() => {
                Some(Self::OptionalI64(Vec::new()))
            }
            (Repetition::REQUIRED, Physical::INT64) if logical == count(64) => Some(Self::U64(Vec::new())),
            (Repetition::REQUIRED, Physical::INT32) if logical == count(32) => Some(Self::U32(Vec::new())),
            (Repetition::OPTIONAL, Physical::INT32) if logical == count(32) => {
                Some(Self::OptionalU32(Vec::new()))
            }
            (Repetition::REQUIRED, Physical::INT32) if logical == count(16) => Some(Self::U16(Vec::new())),
            (Repetition::REQUIRED, Physical::DOUBLE) => Some(Self::F64(Vec::new())),
            (Repetition::REQUIRED, Physical::BOOLEAN) => Some(Self::Bool(Vec::new())),
            (Repetition::REQUIRED, Physical::BYTE_ARRAY) if logical == Some(LogicalType::String) => {
                Some(Self::Text(Vec::new()))
            }
            _ => None,
        }
    }

    fn write(&self, writer: &mut ColumnWriter<'_>, rows: Range<usize>) -> Result<(), ParquetError> {
        let written = match (self, writer) {
            (Self::I64(values), ColumnWriter::Int64ColumnWriter(to)) => {
                to.write_batch(&values[rows], None, None)
            }
            (Self::OptionalI64(values), ColumnWriter::Int64ColumnWriter(to)) => {
                let present = presence(&values[rows.clone()]);
                let values: Vec<i64> = values[rows].iter().flatten().copied().collect();
                to.write_batch(&values, Some(&present), None)
            }
            (Self::U64(values), ColumnWriter::Int64ColumnWriter(to)) => {
                let bits: Vec<i64> = values[rows].iter().map(|value| value.cast_signed()).collect();
                to.write_batch(&bits, None, None)
            }
            (Self::OptionalU32(values), ColumnWriter::Int32ColumnWriter(to)) => {
                let present = presence(&values[rows.clone()]);
                let bits: Vec<i32> = values[rows].iter().flatten().map(|value| value.cast_signed()).collect();
                to.write_batch(&bits, Some(&present), None)
            }
            (Self::U32(values), ColumnWriter::Int32ColumnWriter(to)) => {
                let bits: Vec<i32> = values[rows].iter().map(|value| value.cast_signed()).collect();
                to.write_batch(&bits, None, None)
            }
            (Self::U16(values), ColumnWriter::Int32ColumnWriter(to)) => {
                let wide: Vec<i32> = values[rows].iter().copied().map(i32::from).collect();
                to.write_batch(&wide, None, None)
            }
            (Self::F64(values), ColumnWriter::DoubleColumnWriter(to)) => {
                to.write_batch(&values[rows], None, None)
            }
            (Self::Bool(values), ColumnWriter::BoolColumnWriter(to)) => {
                to.write_batch(&values[rows], None, None)
            }
            (Self::Text(values), ColumnWriter::ByteArrayColumnWriter(to)) => {
                let words: Vec<ByteArray> = values[rows].iter().map(|word| word.as_str().into()).collect();
                to.write_batch(&words, None, None)
            }
            _ => unreachable!("the schema was made from these columns"),
        };
        written.map(drop)
    }

    fn read(&mut self, name: &str, reader: &mut ColumnReader, rows: usize) -> Result<(), TableError> {
        match (self, reader) {
            (Self::I64(values), ColumnReader::Int64ColumnReader(from)) => values.extend(all(from, rows)?),
            (Self::OptionalI64(values), ColumnReader::Int64ColumnReader(from)) => {
                values.extend(all_optional(from, rows)?);
            }
            (Self::U64(values), ColumnReader::Int64ColumnReader(from)) => {
                values.extend(all(from, rows)?.into_iter().map(i64::cast_unsigned));
            }
            (Self::OptionalU32(values), ColumnReader::Int32ColumnReader(from)) => {
                values.extend(all_optional(from, rows)?.into_iter().map(|bits| bits.map(i32::cast_unsigned)));
            }
            (Self::U32(values), ColumnReader::Int32ColumnReader(from)) => {
                values.extend(all(from, rows)?.into_iter().map(i32::cast_unsigned));
            }
            (Self::U16(values), ColumnReader::Int32ColumnReader(from)) => {
                values.extend(all(from, rows)?.into_iter().map(|value| value as u16));
            }
            (Self::F64(values), ColumnReader::DoubleColumnReader(from)) => values.extend(all(from, rows)?),
            (Self::Bool(values), ColumnReader::BoolColumnReader(from)) => values.extend(all(from, rows)?),
            (Self::Text(values), ColumnReader::ByteArrayColumnReader(from)) => {
                for word in all(from, rows)? {
                    if word.len() > WORD_BYTES_MAX {
                        return Err(TableError::LongWord { column: name.into() });
                    }
                    values.push(word.as_utf8()?.into());
                }
            }
            _ => return Err(TableError::UnknownKind { column: name.into() }),
        }
        Ok(())
    }
}

/// Parquet keeps the values that are there, and a 1 or 0 per row that says which rows those are.
fn presence<T>(values: &[Option<T>]) -> Vec<i16> {
    values.iter().map(|value| value.is_some().into()).collect()
}

fn all<T: DataType>(reader: &mut ColumnReaderImpl<T>, rows: usize) -> Result<Vec<T::T>, ParquetError> {
    let mut values = Vec::new();
    while values.len() < rows {
        let (records, ..) = reader.read_records(rows - values.len(), None, None, &mut values)?;
        if records == 0 {
            return Err(ends_early());
        }
    }
    Ok(values)
}

/// Puts values and [`presence`] together again.
fn all_optional<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    rows: usize,
) -> Result<Vec<Option<T::T>>, ParquetError> {
    let (mut present, mut values) = (Vec::new(), Vec::new());
    while present.len() < rows {
        let wanted = rows - present.len();
        let (records, ..) = reader.read_records(wanted, Some(&mut present), None, &mut values)?;
        if records == 0 {
            return Err(ends_early());
        }
    }
    let mut values = values.into_iter();
    Ok(present.into_iter().map(|is_present| if is_present == 1 { values.next() } else { None }).collect())
}

fn ends_early() -> ParquetError {
    ParquetError::EOF("a column ends before its row group does".into())
}

impl From<ParquetError> for TableError {
    fn from(error: ParquetError) -> Self {
        match error {
            ParquetError::External(inner) => match inner.downcast::<OverBudget>() {
                Ok(over) => Self::OverBudget(*over),
                Err(inner) => Self::Parquet(ParquetError::External(inner)),
            },
            error => Self::Parquet(error),
        }
    }
}

impl From<OverBudget> for TableError {
    fn from(over: OverBudget) -> Self {
        Self::OverBudget(over)
    }
}

impl std::error::Error for TableError {}

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uneven { column } => write!(f, "column {column} is not as long as the first one"),
            Self::UnknownKind { column } => write!(f, "column {column} is of a kind fairpath does not write"),
            Self::LongWord { column } => {
                write!(f, "column {column} has a word of more than {WORD_BYTES_MAX} bytes")
            }
            Self::OverBudget(over) => over.fmt(f),
            Self::Parquet(error) => write!(f, "not a table fairpath can read: {error}"),
        }
    }
}
