//! Reads a Parquet file some rows at a time, within a budget.
//!
//! The parquet crate decodes values. What decides about memory is read here, before the crate sees
//! it: the footer's and the pages' headers, and the unpacking of pages. Encodings and page kinds
//! that we do not write are refused.

use std::cell::Cell;
use std::io::Read;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Once};

use bytes::Bytes;
use fairpath_eval::budget::{Budget, OverBudget};
use flate2::read::MultiGzDecoder;
use parquet::basic::{Compression, Encoding};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::column::reader::{ColumnReader, get_column_reader};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataReader};
use parquet::file::reader::ChunkReader;

use super::thrift::{self, Broken, Fields};
use super::{Column, Table, TableError};

/// Rows that are decoded at once: 64 Ki rows of sixteen columns are 8 MB.
pub const BATCH_ROWS: usize = 1 << 16;
/// Columns of a table. Ours have up to sixteen.
const COLUMNS_MAX: usize = 64;
/// The longest footer: 16 columns in 2 000 row groups.
const FOOTER_BYTES_MAX: u64 = 4 << 20;
/// Structs in a footer, and the memory that the parquet crate takes for the largest of them.
const STRUCTS_MAX: usize = 1 << 17;
const STRUCT_BYTES: u64 = 640;
/// The longest page, unpacked. Ours have 1 MiB.
const PAGE_BYTES_MAX: u64 = 2 << 20;
/// The longest header of a page: numbers, and two words of statistics.
const PAGE_HEADER_BYTES_MAX: u64 = 4 << 10;
/// What a column takes while it is read: a page packed and unpacked, and a batch of values twice.
const COLUMN_BYTES: u64 = 2 * PAGE_BYTES_MAX + 2 * 8 * BATCH_ROWS as u64;
/// The shortest value of a dictionary: a number of four bytes, or the length of a word.
const DICTIONARY_VALUE_BYTES_MIN: u64 = 4;

const MAGIC: &[u8] = b"PAR1";
/// The length of the footer, and the magic.
const TAIL_BYTES: u64 = 8;

/// A Parquet file that is read batch by batch.
pub struct TableReader<'b, R: ChunkReader> {
    source: Arc<R>,
    metadata: ParquetMetaData,
    budget: &'b Budget,
    held: u64,
    notes: Vec<(String, String)>,
    empty: Vec<(String, Column)>,
    group: usize,
    rows_left: usize,
    open: Vec<ColumnReader>,
    work_left: Arc<AtomicU64>,
}

impl<'b, R: ChunkReader + 'static> TableReader<'b, R> {
    /// Reads the footer.
    pub fn open(source: R, budget: &'b Budget) -> Result<Self, TableError> {
        without_panic(|| Self::read_footer(source, budget))
    }

    fn read_footer(source: R, budget: &'b Budget) -> Result<Self, TableError> {
        let footer = footer_of(&source)?;
        let held = footer.structs as u64 * STRUCT_BYTES + footer.bytes.len() as u64;
        budget.work(footer.bytes.len() as u64)?;
        budget.hold(held)?;
        let metadata = ParquetMetaDataReader::decode_metadata(&footer.bytes)?;
        let about = metadata.file_metadata();
        let pairs = about.key_value_metadata().into_iter().flatten();
        let notes = pairs.map(|pair| (pair.key.clone(), pair.value.clone().unwrap_or_default())).collect();
        let mut empty = Vec::new();
        for column in about.schema().get_fields() {
            let kind = Column::empty_of(column)
                .ok_or_else(|| TableError::UnknownKind { column: column.name().into() })?;
            empty.push((column.name().to_owned(), kind));
        }
        let columns = empty.len() as u64 * COLUMN_BYTES;
        budget.hold(columns)?;
        Ok(Self {
            source: Arc::new(source),
            metadata,
            budget,
            held: held + columns,
            notes,
            empty,
            group: 0,
            rows_left: 0,
            open: Vec::new(),
            work_left: Arc::new(AtomicU64::new(0)),
        })
    }

    /// Returns a table without rows: the columns and the notes.
    pub fn empty_table(&self) -> Table {
        Table { columns: self.empty.clone(), metadata: self.notes.clone() }
    }

    /// Returns up to [`BATCH_ROWS`] rows with the notes of the file; `None` at its end.
    pub fn next_batch(&mut self) -> Result<Option<Table>, TableError> {
        without_panic(AssertUnwindSafe(|| self.decode_batch()))
    }

    fn decode_batch(&mut self) -> Result<Option<Table>, TableError> {
        while self.rows_left == 0 {
            if self.group == self.metadata.num_row_groups() {
                return Ok(None);
            }
            self.open_group()?;
        }
        let rows = self.rows_left.min(BATCH_ROWS);
        // Rows without columns cost something too: a footer can claim any number of them.
        self.budget.work((rows * (1 + self.empty.len()) * 8) as u64)?;
        let work_max = self.budget.work_left();
        self.work_left.store(work_max, Ordering::Relaxed);
        let mut table = self.empty_table();
        for ((name, column), reader) in table.columns.iter_mut().zip(&mut self.open) {
            column.read(name, reader, rows)?;
        }
        self.budget.work(work_max - self.work_left.load(Ordering::Relaxed))?;
        self.rows_left -= rows;
        Ok(Some(table))
    }

    fn open_group(&mut self) -> Result<(), TableError> {
        let group = self.metadata.row_group(self.group);
        self.group += 1;
        // An empty group costs as much as its columns, so that a million of them end.
        self.budget.work(1 + (self.empty.len() * 64) as u64)?;
        let rows = u64::try_from(group.num_rows()).map_err(|_| broken("a negative number of rows"))?;
        if group.columns().len() != self.empty.len() {
            return Err(broken("a row group without all columns").into());
        }
        self.rows_left = usize::try_from(rows).map_err(|_| broken("too many rows"))?;
        self.open.clear();
        for column in group.columns() {
            if u64::try_from(column.num_values()) != Ok(rows) {
                return Err(broken("a column that is not as long as its row group").into());
            }
            let pages = Pages::new(&self.source, column, &self.work_left)?;
            self.open.push(get_column_reader(column.column_descr_ptr(), Box::new(pages)));
        }
        Ok(())
    }
}

impl<R: ChunkReader> Drop for TableReader<'_, R> {
    fn drop(&mut self) {
        self.budget.release(self.held);
    }
}

struct Footer {
    bytes: Bytes,
    structs: usize,
}

fn footer_of(source: &impl ChunkReader) -> Result<Footer, TableError> {
    let length = source.len();
    let room = length.checked_sub(TAIL_BYTES + MAGIC.len() as u64).ok_or_else(|| broken("too short"))?;
    let tail = source.get_bytes(length - TAIL_BYTES, TAIL_BYTES as usize)?;
    if !tail.ends_with(MAGIC) {
        return Err(broken("it has no end: it was cut off").into());
    }
    let footer = u64::from(u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]));
    if footer > room || footer > FOOTER_BYTES_MAX {
        return Err(broken("a footer longer than the file, or than 4 MiB").into());
    }
    let bytes = source.get_bytes(length - TAIL_BYTES - footer, footer as usize)?;
    let mut elements = 0;
    let walked = thrift::walk(&bytes, Fields::OfFooter, |path, number| match path {
        // The schema is the list in field 2. Each element has a name; groups have children.
        [2, 5] if !(0..=COLUMNS_MAX as i64).contains(&number) => Err(Broken),
        [2, _] => {
            elements += 1;
            // An element has up to six numbers.
            if elements > 6 * (COLUMNS_MAX + 1) { Err(Broken) } else { Ok(()) }
        }
        _ => Ok(()),
    });
    let walked = walked.map_err(|Broken| broken("a footer that claims more than it holds"))?;
    if walked.structs > STRUCTS_MAX {
        return Err(broken("too many row groups").into());
    }
    Ok(Footer { bytes, structs: walked.structs })
}

/// The pages of one column in one row group.
struct Pages<R> {
    source: Arc<R>,
    at: u64,
    end: u64,
    is_packed: bool,
    values_left: u64,
    work_left: Arc<AtomicU64>,
}

/// The numbers of a page's header; −1 where there is none.
#[derive(Clone, Copy)]
struct PageHeader {
    kind: i64,
    unpacked: i64,
    packed: i64,
    values: i64,
    encoding: i64,
    levels: [i64; 2],
}

impl<R: ChunkReader> Pages<R> {
    fn new(
        source: &Arc<R>,
        column: &ColumnChunkMetaData,
        work_left: &Arc<AtomicU64>,
    ) -> Result<Self, TableError> {
        let is_packed = match column.compression() {
            Compression::UNCOMPRESSED => false,
            Compression::GZIP(_) => true,
            other => return Err(broken(&format!("packed with {other}, not with gzip")).into()),
        };
        let first = column.dictionary_page_offset().unwrap_or_else(|| column.data_page_offset());
        let place = u64::try_from(first.min(column.data_page_offset()))
            .ok()
            .zip(u64::try_from(column.compressed_size()).ok());
        let (at, length) = place.ok_or_else(|| broken("a column before the file"))?;
        let end = at.checked_add(length).filter(|end| *end <= source.len());
        Ok(Self {
            source: Arc::clone(source),
            at,
            end: end.ok_or_else(|| broken("a column behind the end of the file"))?,
            is_packed,
            values_left: u64::try_from(column.num_values()).unwrap_or(0),
            work_left: Arc::clone(work_left),
        })
    }

    fn next_page(&mut self) -> Result<Option<Page>, ParquetError> {
        if self.at >= self.end || self.values_left == 0 {
            return Ok(None);
        }
        let room = (self.end - self.at).min(PAGE_HEADER_BYTES_MAX);
        let (header, length) = PageHeader::read(&self.source.get_bytes(self.at, room as usize)?)?;
        let sizes = u64::try_from(header.packed).ok().zip(u64::try_from(header.unpacked).ok());
        let (packed, unpacked) = sizes.ok_or_else(|| broken("a page of negative size"))?;
        if packed > self.end - self.at - length || packed.max(unpacked) > PAGE_BYTES_MAX {
            return Err(broken("a page longer than its column, or than 2 MiB"));
        }
        self.work(length + packed + unpacked)?;
        let bytes = self.source.get_bytes(self.at + length, packed as usize)?;
        self.at += length + packed;
        let bytes = if self.is_packed { unpack(&bytes, unpacked)? } else { bytes };
        self.page(header, bytes).map(Some)
    }

    fn page(&mut self, header: PageHeader, buf: Bytes) -> Result<Page, ParquetError> {
        let count = u64::try_from(header.values).map_err(|_| broken("a page of no values"))?;
        let num_values = u32::try_from(count).map_err(|_| broken("a page of too many values"))?;
        let encoding = encoding_of(header.encoding)?;
        match header.kind {
            DATA_PAGE => {
                if count > self.values_left {
                    return Err(broken("a page with more values than its column"));
                }
                self.values_left -= count;
                let [def_level_encoding, rep_level_encoding] =
                    [encoding_of(header.levels[0])?, encoding_of(header.levels[1])?];
                let statistics = None;
                Ok(Page::DataPage {
                    buf,
                    num_values,
                    encoding,
                    def_level_encoding,
                    rep_level_encoding,
                    statistics,
                })
            }
            DICTIONARY_PAGE if count * DICTIONARY_VALUE_BYTES_MIN > buf.len() as u64 => {
                Err(broken("a dictionary that claims more words than it holds"))
            }
            DICTIONARY_PAGE => Ok(Page::DictionaryPage { buf, num_values, encoding, is_sorted: false }),
            _ => Err(broken("a page of a kind that fairpath does not write")),
        }
    }

    fn work(&self, bytes: u64) -> Result<(), ParquetError> {
        let left = self.work_left.load(Ordering::Relaxed);
        let after = left.checked_sub(bytes);
        self.work_left.store(after.unwrap_or(0), Ordering::Relaxed);
        match after {
            Some(_) => Ok(()),
            None => Err(ParquetError::External(Box::new(OverBudget::Work { bytes_max: left }))),
        }
    }
}

const DATA_PAGE: i64 = 0;
const DICTIONARY_PAGE: i64 = 2;

impl PageHeader {
    /// Returns the header and its length.
    fn read(bytes: &[u8]) -> Result<(Self, u64), ParquetError> {
        let mut header =
            Self { kind: -1, unpacked: -1, packed: -1, values: -1, encoding: -1, levels: [-1; 2] };
        let walked = thrift::walk(bytes, Fields::Any, |path, number| {
            match path {
                [1] => header.kind = number,
                [2] => header.unpacked = number,
                [3] => header.packed = number,
                [5 | 7, 1] => header.values = number,
                [5 | 7, 2] => header.encoding = number,
                [5, 3] => header.levels[0] = number,
                [5, 4] => header.levels[1] = number,
                _ => {}
            }
            Ok(())
        });
        let walked = walked.map_err(|Broken| broken("a page without a header"))?;
        Ok((header, walked.length as u64))
    }
}

fn encoding_of(number: i64) -> Result<Encoding, ParquetError> {
    Ok(match number {
        0 => Encoding::PLAIN,
        2 => Encoding::PLAIN_DICTIONARY,
        3 => Encoding::RLE,
        5 => Encoding::DELTA_BINARY_PACKED,
        8 => Encoding::RLE_DICTIONARY,
        9 => Encoding::BYTE_STREAM_SPLIT,
        _ => return Err(broken("an encoding that fairpath does not write")),
    })
}

/// Unpacks a page that says how long it is, and no more than that.
fn unpack(packed: &[u8], length: u64) -> Result<Bytes, ParquetError> {
    let mut bytes = Vec::with_capacity(length as usize + 1);
    MultiGzDecoder::new(packed).take(length + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == length {
        Ok(bytes.into())
    } else {
        Err(broken("a page that lies about its length"))
    }
}

impl<R: ChunkReader> Iterator for Pages<R> {
    type Item = Result<Page, ParquetError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_page().transpose()
    }
}

impl<R: ChunkReader> PageReader for Pages<R> {
    fn get_next_page(&mut self) -> Result<Option<Page>, ParquetError> {
        self.next_page()
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>, ParquetError> {
        Err(broken("pages are read in order"))
    }

    fn skip_next_page(&mut self) -> Result<(), ParquetError> {
        Err(broken("pages are read in order"))
    }
}

pub(super) fn broken(what: &str) -> ParquetError {
    ParquetError::General(what.into())
}

thread_local! {
    static IS_READING: Cell<bool> = const { Cell::new(false) };
}

/// Turns panics of the parquet crate into errors: it panics on some broken files (a bit width of
/// 200, a page without its dictionary).
fn without_panic<T>(read: impl FnOnce() -> Result<T, TableError>) -> Result<T, TableError> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !IS_READING.get() {
                usual(info);
            }
        }));
    });
    let was_reading = IS_READING.replace(true);
    let done = panic::catch_unwind(AssertUnwindSafe(read));
    IS_READING.set(was_reading);
    done.unwrap_or_else(|_| Err(broken("it is broken").into()))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::write::GzEncoder;

    use super::*;

    #[test]
    fn a_page_unpacks_to_what_it_says_and_no_more() {
        let mut packed = GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(&vec![0; 64 << 20]).expect("memory");
        let packed = packed.finish().expect("memory");
        assert!(unpack(&packed, 10).is_err());
        assert!(unpack(&packed, 65 << 20).is_err());
        assert_eq!(unpack(&packed, 64 << 20).expect("its length").len(), 64 << 20);
    }

    /// A file of 46 bytes that says that it has no columns, and 2⁶² rows of them. The fuzzer found
    /// one: without columns no work was counted, and the rows never ended.
    #[test]
    fn rows_without_columns_end() {
        const ROWS: [u8; 9] = [0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F];
        // A file of version 1 with a schema of one element, which is named f and has no children.
        let schema = [0x15, 2, 0x19, 0x1C, 0x48, 1, b'f', 0x15, 0, 0];
        let group = [&[0x19, 0x0C, 0x16, 0, 0x16][..], &ROWS, &[0]].concat();
        let footer = [&schema[..], &[0x16], &ROWS, &[0x19, 0x1C], &group, &[0]].concat();
        let length = (footer.len() as u32).to_le_bytes();
        let file = [MAGIC, &footer, &length, MAGIC].concat();
        let budget = Budget::new(1 << 20, 64 << 20);
        let mut reader = TableReader::open(Bytes::from(file), &budget).expect("a footer");
        let batches = std::iter::from_fn(|| reader.next_batch().transpose());
        let ended = batches.take(200).find_map(Result::err);
        assert!(matches!(ended, Some(TableError::OverBudget(OverBudget::Work { .. }))), "{ended:?}");
    }

    #[test]
    fn a_table_comes_back_in_batches() {
        let rows = BATCH_ROWS + 1000;
        let numbers: Vec<i64> = (0..rows as i64).collect();
        let table = Table::new().column("t_us", Column::I64(numbers)).note("seed", "7");
        let bytes = table.to_parquet().expect("a table");
        let budget = Budget::default();
        {
            let mut reader = TableReader::open(Bytes::from(bytes.clone()), &budget).expect("a table");
            let mut whole = reader.empty_table();
            let mut batches = Vec::new();
            while let Some(batch) = reader.next_batch().expect("whole") {
                batches.push(batch.row_count());
                whole.append(batch);
            }
            assert_eq!((whole, batches), (table, vec![BATCH_ROWS, 1000]));
        }
        assert_eq!(budget.memory_held(), 0, "all is given back");
        assert!(budget.work_done() > 8 * rows as u64);
        let poor = Budget::new(u64::MAX, 1000);
        let mut reader = TableReader::open(Bytes::from(bytes), &poor).expect("its footer is short");
        assert!(matches!(reader.next_batch(), Err(TableError::OverBudget(OverBudget::Work { .. }))));
    }
}
