//! Recordings that survive their process: closed segments while it runs, one file at its end.
//!
//! A Parquet file without its footer cannot be read, so a long recording is written as many short
//! files. While `NAME.parquet` (or `NAME.csv`) is recorded, there is a folder beside its place:
//!
//! ```text
//! NAME.parquet.segments/
//!   000000.states.parquet      no rows: the metadata, written before the first row
//!   000001.vectors.parquet     the tables of one segment, those with rows; states come last
//!   000001.followed.parquet
//!   000001.states.parquet
//!   .000002.states.partial     being written: no reader looks at it
//! ```
//!
//! A segment counts once its states are there, and files appear by renaming, so a reader sees whole
//! segments or none. At the end [`join`] writes the tables into files of their own, the states
//! last, and removes the folder. If the process dies, [`folder_beside`] finds the folder, and every
//! command that opens `NAME.parquet` reads the segments instead, even if an older file of that name
//! is there.
//!
//! Only whole segments are in memory: hours of play take as much as seconds.

use std::fmt;
use std::fs;
use std::io::{self, BufRead, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use fairpath_eval::budget::{Budget, MEMORY_BYTES_MAX, OverBudget};
use fairpath_sim::trace::{FollowedRow, Metadata, ReceiptRow, SendRow, StateRow, Trace, VectorRow};

use crate::files::{OpenError, Staging, file_name, parent_of};
use crate::table::{BATCH_ROWS, Table, TableError, TableReader, TableWriter};
use crate::trace::{TraceFormat, TraceRow, TraceTableError};

/// The name of the table without which a segment does not count.
pub const STATES: &str = "states";
/// Segments that may wait for the disk. More, and the caller keeps its rows.
const WAITING_MAX: usize = 2;

/// Why a recording cannot be written. The text is one line: what, where, and the fix.
#[derive(Debug)]
#[non_exhaustive]
pub enum SegmentError {
    /// The recording cannot begin here.
    Begin { path: PathBuf, error: io::Error },
    /// The segments of an earlier recording of the same name are still there.
    Interrupted { folder: PathBuf, out: PathBuf },
    /// A segment cannot be written. Those before it are kept.
    Write { path: PathBuf, kept: PathBuf, out: PathBuf, error: String },
    /// The disk takes rows more slowly than they are recorded.
    TooSlow { kept: PathBuf, out: PathBuf },
    /// The segments cannot be joined. They are kept.
    Join { kept: PathBuf, out: PathBuf, error: String },
}

/// What was written, all segments together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    pub segments: u32,
    pub states: u64,
}

/// Writes segments of a trace on a thread of its own, so that a game's frame never waits for a
/// disk.
#[derive(Debug)]
pub struct SegmentRecorder {
    out: PathBuf,
    folder: PathBuf,
    parts: Option<SyncSender<Trace>>,
    thread: Option<JoinHandle<()>>,
    progress: Arc<Mutex<Progress>>,
}

#[derive(Debug, Default)]
struct Progress {
    written: Written,
    problem: Option<SegmentError>,
}

impl SegmentRecorder {
    /// Begins a recording that becomes the file `out`. From now on it can be read.
    pub fn begin(out: &Path, metadata: &Metadata) -> Result<Self, SegmentError> {
        let mut writer = SegmentWriter::begin(out, metadata)?;
        let progress = Arc::new(Mutex::new(Progress::default()));
        let (parts, waiting) = mpsc::sync_channel(WAITING_MAX);
        let (told, folder) = (Arc::clone(&progress), writer.folder.clone());
        let thread = std::thread::Builder::new()
            .name("recording".into())
            .spawn(move || write_all(&mut writer, &waiting, &told))
            .map_err(|error| SegmentError::Begin { path: out.into(), error })?;
        Ok(Self { out: out.into(), folder, parts: Some(parts), thread: Some(thread), progress })
    }

    /// Takes the rows of one segment. Returns them if the disk is busy: try again later.
    pub fn put(&self, part: Trace) -> Result<(), Box<Trace>> {
        let Some(parts) = &self.parts else { return Ok(()) };
        match parts.try_send(part) {
            Err(TrySendError::Full(part)) => Err(Box::new(part)),
            // The thread has ended with a problem, which is told once: the rows are lost.
            _ => Ok(()),
        }
    }

    /// Takes the rows of the last segment. Waits for the disk.
    pub fn put_last(&self, part: Trace) {
        if let Some(parts) = &self.parts {
            // The thread has ended with a problem, which is told once.
            let _ = parts.send(part);
        }
    }

    /// Ends a recording that is of no use, and removes what there is of it.
    pub fn discard(mut self) {
        self.close();
        let _ = fs::remove_dir_all(&self.folder);
    }

    /// Returns what went wrong, once.
    pub fn poll_problem(&self) -> Option<SegmentError> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner).problem.take()
    }

    /// Ends the recording as too slow.
    pub fn too_slow(&self) -> SegmentError {
        SegmentError::TooSlow { kept: self.folder.clone(), out: self.out.clone() }
    }

    /// Waits until everything is written, joins the segments, and removes them.
    pub fn finish(mut self) -> Result<Written, SegmentError> {
        self.close();
        if let Some(problem) = self.poll_problem() {
            return Err(problem);
        }
        join(&self.out)
    }

    /// Waits until everything is written, and leaves the segments as they are.
    fn close(&mut self) {
        self.parts = None;
        if let Some(thread) = self.thread.take() {
            // If it panicked, the segments that it closed are there.
            let _ = thread.join();
        }
    }
}

impl Drop for SegmentRecorder {
    fn drop(&mut self) {
        self.close();
    }
}

fn write_all(writer: &mut SegmentWriter, parts: &Receiver<Trace>, told: &Mutex<Progress>) {
    for part in parts {
        let done = writer.write(part);
        let mut progress = told.lock().unwrap_or_else(PoisonError::into_inner);
        match done {
            Ok(()) => progress.written = writer.written,
            Err(problem) => {
                progress.problem = Some(problem);
                return;
            }
        }
    }
}

/// Writes segments, one after the other.
#[derive(Debug)]
struct SegmentWriter {
    out: PathBuf,
    folder: PathBuf,
    metadata: Metadata,
    written: Written,
}

impl SegmentWriter {
    fn begin(out: &Path, metadata: &Metadata) -> Result<Self, SegmentError> {
        let folder = folder_of(out);
        let failed = |error| SegmentError::Begin { path: out.into(), error };
        if folder.exists() {
            return Err(SegmentError::Interrupted { folder, out: out.into() });
        }
        fs::create_dir_all(parent_of(out)).map_err(failed)?;
        // It appears with its first segment: a process that is killed here leaves no recording.
        let hidden = out.with_file_name(format!(".{}.segments.partial", file_name(out)));
        let _ = fs::remove_dir_all(&hidden);
        fs::create_dir(&hidden).map_err(failed)?;
        let written = Written::default();
        let mut writer =
            Self { out: out.into(), folder: hidden.clone(), metadata: metadata.clone(), written };
        let begun = match writer.write(Trace::default()) {
            Err(SegmentError::Write { error, .. }) => Err(io::Error::other(error)),
            _ => fs::rename(&hidden, &folder),
        };
        begun.map_err(|error| {
            let _ = fs::remove_dir_all(&hidden);
            failed(error)
        })?;
        writer.folder = folder;
        Ok(writer)
    }

    fn write(&mut self, part: Trace) -> Result<(), SegmentError> {
        self.table("sends", &part.sends)?;
        self.table("receipts", &part.receipts)?;
        self.table("followed", &part.followed)?;
        self.table("vectors", &part.vectors)?;
        self.file(STATES, &part.states)?;
        self.written.segments += 1;
        self.written.states += part.states.len() as u64;
        Ok(())
    }

    fn table<R: TraceRow>(&self, table: &str, rows: &[R]) -> Result<(), SegmentError> {
        if rows.is_empty() { Ok(()) } else { self.file(table, rows) }
    }

    fn file<R: TraceRow>(&self, table: &str, rows: &[R]) -> Result<(), SegmentError> {
        let name = segment_name(self.written.segments, table);
        let (path, partial) = (self.folder.join(&name), self.folder.join(format!(".{name}.partial")));
        let write = || -> Result<(), String> {
            let bytes = R::to_table(rows, &self.metadata).and_then(|table| Ok(table.to_parquet()?));
            let bytes = bytes.map_err(|error| error.to_string())?;
            write_synced(&partial, &bytes).map_err(|error| error.to_string())?;
            fs::rename(&partial, &path).map_err(|error| error.to_string())
        };
        write().map_err(|error| {
            // It is of no use, and on a full disk it is in the way.
            let _ = fs::remove_file(&partial);
            SegmentError::Write {
                path: path.clone(),
                kept: self.folder.clone(),
                out: self.out.clone(),
                error,
            }
        })
    }
}

fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = fs::File::create(path)?;
    file.write_all(bytes)?;
    file.sync_data()
}

fn segment_name(number: u32, table: &str) -> String {
    format!("{number:06}.{table}.parquet")
}

/// The folder for the segments of a recording that becomes the file `out`.
pub fn folder_of(out: &Path) -> PathBuf {
    out.with_file_name(format!("{}.segments", file_name(out)))
}

/// The segments of a recording that was interrupted: `path` is the file that it would have become,
/// or the folder itself. `None` if the recording is complete, or not there at all. Segments are
/// newer than a file of the same name: a recording that is complete has none.
pub fn folder_beside(path: &Path) -> Option<PathBuf> {
    if path.is_dir() {
        return path.join(segment_name(0, STATES)).is_file().then(|| path.into());
    }
    let folder = folder_of(path);
    folder.is_dir().then_some(folder)
}

/// The files of one table in closed segments, in order.
pub fn closed(folder: &Path, table: &str) -> io::Result<Vec<PathBuf>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        names.extend(entry?.file_name().into_string());
    }
    let ending = format!(".{table}.parquet");
    let numbers = |ending: &str| -> Vec<u32> {
        let number = |name: &String| name.strip_suffix(ending)?.parse().ok();
        names.iter().filter_map(number).collect()
    };
    let last = numbers(&format!(".{STATES}.parquet")).into_iter().max();
    let mut closed = numbers(&ending);
    closed.retain(|number| Some(*number) <= last);
    closed.sort_unstable();
    Ok(closed.into_iter().map(|number| folder.join(segment_name(number, table))).collect())
}

/// Joins the segments of a recording into the file `out` and the files beside it, and removes them.
///
/// Files appear whole, the states last. If that fails or the process dies, the segments are still
/// there.
pub fn join(out: &Path) -> Result<Written, SegmentError> {
    let folder = folder_of(out);
    let joined = join_tables(out, &folder).and_then(|written| {
        // First by another name: half a folder must not look like a recording.
        let joined = out.with_file_name(format!("{}.joined", file_name(out)));
        let _ = fs::remove_dir_all(&joined);
        fs::rename(&folder, &joined).map_err(|error| error.to_string())?;
        let _ = fs::remove_dir_all(&joined);
        Ok(written)
    });
    joined.map_err(|error| SegmentError::Join { kept: folder, out: out.into(), error })
}

fn join_tables(out: &Path, folder: &Path) -> Result<Written, String> {
    let text = |error: io::Error| error.to_string();
    let format = TraceFormat::of(out).ok_or("a recording ends in .parquet or .csv")?;
    let name = out.file_stem().and_then(|stem| stem.to_str()).ok_or("it has no name")?;
    let staging = Staging::begin(parent_of(out)).map_err(text)?;
    let mut join = Join { folder, staging: &staging.path, name, format, files: Vec::new() };
    join.table::<SendRow>("sends")?;
    join.table::<ReceiptRow>("receipts")?;
    join.table::<FollowedRow>("followed")?;
    join.table::<VectorRow>("vectors")?;
    let states = join.table::<StateRow>(STATES)?;
    let segments = closed(folder, STATES).map_err(text)?.len() as u32;
    for file in &join.files {
        fs::rename(staging.path.join(file), parent_of(out).join(file)).map_err(text)?;
    }
    // The first segment has no rows.
    Ok(Written { segments: segments.saturating_sub(1), states })
}

struct Join<'a> {
    folder: &'a Path,
    staging: &'a Path,
    name: &'a str,
    format: TraceFormat,
    files: Vec<String>,
}

impl Join<'_> {
    /// Writes one table from all segments that have it. Returns its rows.
    fn table<R: TraceRow>(&mut self, table: &str) -> Result<u64, String> {
        let segments = closed(self.folder, table).map_err(|error| error.to_string())?;
        if segments.is_empty() {
            return Ok(0);
        }
        let part = if table == STATES { String::new() } else { format!(".{table}") };
        let name = format!("{}{part}.{}", self.name, self.format.ending());
        let file = fs::File::create(self.staging.join(&name)).map_err(|error| error.to_string())?;
        let mut sink = Sink::begin(file, self.format);
        let mut rows = 0;
        for segment in &segments {
            let wrong = |error: String| format!("{}: {error}", segment.display());
            // They are our own: long, but not hostile.
            let budget = Budget::new(MEMORY_BYTES_MAX, u64::MAX);
            let file = fs::File::open(segment).map_err(|error| wrong(error.to_string()))?;
            let mut reader = TableReader::open(file, &budget).map_err(|error| wrong(error.to_string()))?;
            sink.like(&reader.empty_table())?;
            while let Some(batch) = reader.next_batch().map_err(|error| wrong(error.to_string()))? {
                rows += batch.row_count() as u64;
                sink.put::<R>(batch)?;
            }
        }
        let metadata = sink.finish::<R>()?;
        if self.format == TraceFormat::Csv && table == STATES {
            let name = format!("{}.metadata.csv", self.name);
            fs::write(self.staging.join(&name), metadata).map_err(|error| error.to_string())?;
            self.files.push(name);
        }
        self.files.push(name);
        Ok(rows)
    }
}

/// One file of a joined recording, as it is written.
struct Sink {
    to: Option<fs::File>,
    format: TraceFormat,
    parquet: Option<TableWriter<io::BufWriter<fs::File>>>,
    text: Option<io::BufWriter<fs::File>>,
    /// Rows for the next group: segments are too short to be groups of their own.
    rows: Table,
    has_header: bool,
}

impl Sink {
    fn begin(to: fs::File, format: TraceFormat) -> Self {
        Self { to: Some(to), format, parquet: None, text: None, rows: Table::new(), has_header: false }
    }

    /// Takes columns and notes from the first segment.
    fn like(&mut self, empty: &Table) -> Result<(), String> {
        let Some(to) = self.to.take() else { return Ok(()) };
        self.rows = empty.clone();
        let to = io::BufWriter::new(to);
        match self.format {
            TraceFormat::Parquet => {
                let file = TableWriter::begin(to, empty).map_err(|error| error.to_string())?;
                self.parquet = Some(file);
            }
            TraceFormat::Csv => self.text = Some(to),
        }
        Ok(())
    }

    fn put<R: TraceRow>(&mut self, batch: Table) -> Result<(), String> {
        self.rows.append(batch);
        if self.rows.row_count() >= BATCH_ROWS { self.flush::<R>() } else { Ok(()) }
    }

    fn flush<R: TraceRow>(&mut self) -> Result<(), String> {
        if let Some(parquet) = &mut self.parquet {
            parquet.write(&self.rows).map_err(|error| error.to_string())?;
        }
        if let Some(to) = &mut self.text {
            let text = R::from_table(&self.rows)
                .and_then(|rows| R::to_text(&rows).map_err(TraceTableError::Row))
                .map_err(|error| error.to_string())?;
            let header = text.find('\n').map_or(text.len(), |end| end + 1);
            let from = if std::mem::replace(&mut self.has_header, true) { header } else { 0 };
            to.write_all(&text.as_bytes()[from..]).map_err(|error| error.to_string())?;
        }
        self.rows.clear();
        Ok(())
    }

    /// Ends the file. Returns the metadata as text.
    fn finish<R: TraceRow>(mut self) -> Result<String, String> {
        self.flush::<R>()?;
        let synced = |to: io::BufWriter<fs::File>| -> io::Result<()> {
            to.into_inner().map_err(io::IntoInnerError::into_error)?.sync_data()
        };
        if let Some(parquet) = self.parquet {
            synced(parquet.finish().map_err(|error| error.to_string())?)
                .map_err(|error| error.to_string())?;
        }
        if let Some(text) = self.text {
            synced(text).map_err(|error| error.to_string())?;
        }
        let metadata = crate::trace::metadata_of(&self.rows).map_err(|error| error.to_string())?;
        metadata.to_csv().map_err(|error| error.to_string())
    }
}

/// Reads one table of a recording, whether it is complete or was interrupted. Empty if the
/// recording has no such table.
pub fn read_table<R: TraceRow + Clone>(out: &Path, table: &str, budget: &Budget) -> Result<Vec<R>, String> {
    let mut rows = Vec::new();
    read_batches(out, table, budget, |batch: &[R]| {
        // Three times: the array doubles when it is full, and both are there while it is copied.
        budget.hold(3 * size_of_val(batch) as u64)?;
        rows.extend_from_slice(batch);
        Ok(())
    })?;
    Ok(rows)
}

/// Passes one table of a recording on batch by batch, whether it is complete or was interrupted,
/// until `take` says that a limit is reached.
pub fn read_batches<R: TraceRow>(
    out: &Path,
    table: &str,
    budget: &Budget,
    mut take: impl FnMut(&[R]) -> Result<(), OverBudget>,
) -> Result<(), String> {
    let paths = match folder_beside(out) {
        Some(folder) => closed(&folder, table).map_err(|error| error.to_string())?,
        None => {
            let part = if table == STATES { String::new() } else { format!(".{table}") };
            let name = out.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
            let ending = TraceFormat::of(out)
                .ok_or_else(|| format!("{}: a recording ends in .parquet or .csv", out.display()))?
                .ending();
            let path = out.with_file_name(format!("{name}{part}.{ending}"));
            if table == STATES || path.exists() {
                vec![path]
            } else {
                // A recording may be without this table, but it must be there.
                open_file(out)?;
                Vec::new()
            }
        }
    };
    for path in paths {
        let wrong = |error: &dyn fmt::Display| {
            format!("{}: {error}; pass a recording of `record`, `--out` or `--keep`", path.display())
        };
        let over = |over: OverBudget| format!("{}: {over}", path.display());
        let file = open_file(&path)?;
        if TraceFormat::of(&path) == Some(TraceFormat::Csv) {
            read_text(file, budget, &mut take).map_err(|error| wrong(&error))?;
            continue;
        }
        let refused = |error| match error {
            TraceTableError::Table(TableError::OverBudget(limit)) => over(limit),
            error => wrong(&error),
        };
        let mut reader = TableReader::open(file, budget).map_err(|error| refused(error.into()))?;
        while let Some(batch) = reader.next_batch().map_err(|error| refused(error.into()))? {
            take(&R::from_table(&batch).map_err(refused)?).map_err(over)?;
        }
    }
    Ok(())
}

fn open_file(path: &Path) -> Result<fs::File, String> {
    fs::File::open(path).map_err(|error| OpenError::Unreadable { path: path.into(), error }.to_string())
}

/// The longest row of our own text.
const ROW_BYTES_MAX: u64 = 4 << 10;
/// Rows of text that are read at once.
const TEXT_ROWS: u64 = 1 << 12;

/// Reads text some rows at a time, each time with the header before them.
fn read_text<R: TraceRow>(
    file: fs::File,
    budget: &Budget,
    take: &mut impl FnMut(&[R]) -> Result<(), OverBudget>,
) -> Result<(), String> {
    let mut input = io::BufReader::new(file);
    let mut line = |text: &mut Vec<u8>| -> Result<usize, String> {
        let count =
            input.by_ref().take(ROW_BYTES_MAX).read_until(b'\n', text).map_err(|error| error.to_string())?;
        budget.work(count as u64).map_err(|over| over.to_string())?;
        if count as u64 == ROW_BYTES_MAX { Err("a row of more than 4 KiB".into()) } else { Ok(count) }
    };
    let mut header = Vec::new();
    line(&mut header)?;
    let mut before = 0;
    loop {
        let mut text = header.clone();
        let mut rows = 0;
        while rows < TEXT_ROWS && line(&mut text)? > 0 {
            rows += 1;
        }
        if rows > 0 || header.is_empty() {
            // Rows are counted in the file, not in this piece of it.
            let read = R::from_text(&text).map_err(|mut error| {
                error.row += before;
                error.to_string()
            })?;
            take(&read).map_err(|over| over.to_string())?;
        }
        before += rows;
        if rows < TEXT_ROWS {
            return Ok(());
        }
    }
}

impl std::error::Error for SegmentError {}

impl fmt::Display for SegmentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let finish = |f: &mut fmt::Formatter<'_>, kept: &Path, out: &Path| {
            write!(f, "; what was recorded is kept in {}: ", kept.display())?;
            write!(f, "make room and run `fairpath lab join {}`", out.display())
        };
        match self {
            Self::Begin { path, error } => {
                write!(f, "cannot record to {} ({error}); choose another file", path.display())
            }
            Self::Interrupted { folder, out } => write!(
                f,
                "{} has a recording that was interrupted; run `fairpath lab join {}`, or remove the folder",
                folder.display(),
                out.display()
            ),
            Self::Write { path, kept, out, error } => {
                write!(f, "the recording has stopped: cannot write {} ({error})", path.display())?;
                finish(f, kept, out)
            }
            Self::TooSlow { kept, out } => {
                write!(f, "the recording has stopped: the disk is slower than what is recorded")?;
                finish(f, kept, out)
            }
            Self::Join { kept, out, error } => {
                write!(f, "cannot write {} ({error})", out.display())?;
                finish(f, kept, out)
            }
        }
    }
}
