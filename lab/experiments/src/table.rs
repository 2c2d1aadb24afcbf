//! Large tables of plain columns, kept in Parquet: traces of a run, recordings of our own games.
//!
//! Every other tool reads it (`pandas.read_parquet`, DuckDB, Polars); only the optional columns
//! are ever null. Small results are JSON, see [`results`](crate::results).

use std::cell::Cell;
use std::fmt;
use std::ops::Range;
use std::panic::{self, UnwindSafe};
use std::sync::{Arc, Once};

use bytes::Bytes;
use parquet::basic::{Compression, Encoding, GzipLevel, LogicalType, Repetition, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{WriterProperties, WriterPropertiesPtr};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, Type, TypePtr};

/// Rows that are written, compressed and later read as one: 1 Mi rows of ten columns are some 80 MB
/// in memory. Smaller groups compress worse, larger ones keep a reader from skipping.
const ROWS_PER_GROUP: usize = 1 << 20;

/// The longest table we read: an hour of ten tanks at 60 Hz with all their shots, some 500 MB in
/// memory and 640 MB as CSV. Columns pack so well that a file's size says nothing: without a bound
/// a small bad one would unpack until memory ends.
pub const ROWS_MAX: usize = 1 << 22;

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
    TooLong,
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
            let group_rows = start..rows.min(start + ROWS_PER_GROUP);
            let mut group = file.next_row_group()?;
            for (_, column) in &self.columns {
                let mut writer = group.next_column()?.expect("the schema has a column for each of ours");
                column.write(writer.untyped(), group_rows.clone())?;
                writer.close()?;
            }
            group.close()?;
        }
        file.close()?;
        Ok(bytes)
    }

    /// Reads what [`to_parquet`](Self::to_parquet) wrote.
    pub fn from_parquet(bytes: Vec<u8>) -> Result<Self, TableError> {
        without_panic(|| Self::decode(bytes))
    }

    fn decode(bytes: Vec<u8>) -> Result<Self, TableError> {
        let file = SerializedFileReader::new(Bytes::from(bytes))?;
        let metadata = file.metadata().file_metadata();
        let mut table = Self::new();
        for pair in metadata.key_value_metadata().into_iter().flatten() {
            table.metadata.push((pair.key.clone(), pair.value.clone().unwrap_or_default()));
        }
        for column in metadata.schema().get_fields() {
            let empty = Column::empty_of(column)
                .ok_or_else(|| TableError::UnknownKind { column: column.name().into() })?;
            table.columns.push((column.name().into(), empty));
        }
        for group in 0..file.num_row_groups() {
            let group = file.get_row_group(group)?;
            let rows = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
            if rows > ROWS_MAX - table.row_count().min(ROWS_MAX) {
                return Err(TableError::TooLong);
            }
            for (index, (name, column)) in table.columns.iter_mut().enumerate() {
                column.read(name, group.get_column_reader(index)?, rows)?;
            }
        }
        Ok(table)
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

    fn read(&mut self, name: &str, reader: ColumnReader, rows: usize) -> Result<(), TableError> {
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

fn all<T: DataType>(mut reader: ColumnReaderImpl<T>, rows: usize) -> Result<Vec<T::T>, ParquetError> {
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
    mut reader: ColumnReaderImpl<T>,
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

thread_local! {
    static IS_READING: Cell<bool> = const { Cell::new(false) };
}

/// Turns panics of the parquet crate into errors: it panics on some broken files (a negative offset
/// in the footer, a page without its dictionary).
fn without_panic(read: impl FnOnce() -> Result<Table, TableError> + UnwindSafe) -> Result<Table, TableError> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !IS_READING.get() {
                usual(info);
            }
        }));
    });
    IS_READING.set(true);
    let done = panic::catch_unwind(read);
    IS_READING.set(false);
    done.unwrap_or_else(|_| Err(ParquetError::General("it is broken".into()).into()))
}

wrap!(TableError: Parquet(ParquetError));

impl std::error::Error for TableError {}

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uneven { column } => write!(f, "column {column} is not as long as the first one"),
            Self::UnknownKind { column } => write!(f, "column {column} is of a kind fairpath does not write"),
            Self::TooLong => write!(f, "more than {ROWS_MAX} rows"),
            Self::Parquet(error) => write!(f, "not a table fairpath can read: {error}"),
        }
    }
}
