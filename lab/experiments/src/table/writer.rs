//! Writes a Parquet file some rows at a time.

use std::io::Write;

use parquet::file::writer::SerializedFileWriter;

use super::{Table, TableError};

/// A Parquet file that grows by row groups: memory holds one of them.
pub struct TableWriter<W: Write + Send> {
    file: SerializedFileWriter<W>,
}

impl<W: Write + Send> TableWriter<W> {
    /// Begins a file with the columns and notes of `like`, whose rows are not written.
    pub fn begin(to: W, like: &Table) -> Result<Self, TableError> {
        Ok(Self { file: SerializedFileWriter::new(to, like.schema()?, like.properties())? })
    }

    /// Writes rows as one group. They have the columns that the file began with.
    pub fn write(&mut self, rows: &Table) -> Result<(), TableError> {
        let count = rows.row_count();
        if let Some((name, _)) = rows.columns.iter().find(|(_, column)| column.len() != count) {
            return Err(TableError::Uneven { column: name.clone() });
        }
        if count == 0 { Ok(()) } else { rows.write_group(&mut self.file, 0..count) }
    }

    /// Writes the footer. Without it the file cannot be read.
    pub fn finish(self) -> Result<W, TableError> {
        Ok(self.file.into_inner()?)
    }
}
