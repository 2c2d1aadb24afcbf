//! Files in and out: recordings plain or gzipped, and results that are complete or not there.

use std::fmt;
use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use fairpath_eval::budget::{Budget, OverBudget};
use fairpath_eval::play::{EtherealError, NotPlayable, WorldError};
use fairpath_eval::recording::{self, Format, Problem, Recording, RecordingError, Stream, TraceReader};
use fairpath_games::ethereal::XmlError;
use fairpath_sim::RttTrace;
use fairpath_sim::csv::CsvError;
use fairpath_sim::trace::{Metadata, StateRow};
use flate2::read::MultiGzDecoder;
use parquet::file::reader::ChunkReader;

use crate::experiment::Recorded;
use crate::segments;
use crate::table::{TableError, TableReader};
use crate::trace::{self, TraceRow, TraceTableError};

/// The longest list, script, map, table of round trips or metadata, unpacked: what is read into
/// memory whole. 16 MiB: ten times the longest that we know, and even two bytes a row, at fifty
/// bytes of memory each, stay below [`MEMORY_BYTES_MAX`](fairpath_eval::budget::MEMORY_BYTES_MAX).
pub const SMALL_BYTES_MAX: u64 = 16 << 20;
/// The longest gzipped Parquet, unpacked: it is read in any order, so it must be in memory. Plain
/// Parquet has no limit of its own.
const PACKED_PARQUET_BYTES_MAX: u64 = 128 << 20;
const GZIP_MAGIC: [u8; 2] = [0x1F, 0x8B];
/// The first bytes of every Parquet file, and of no text format here.
const PARQUET_MAGIC: [u8; 4] = *b"PAR1";

/// A file that could not be read. The text is one line: the file, what is wrong, and the fix.
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenError {
    /// The file could not be read at all.
    Unreadable { path: PathBuf, error: io::Error },
    /// The file starts like gzip, but does not unpack.
    BadGzip { path: PathBuf, error: io::Error },
    /// The file is larger than files of its kind are.
    TooLarge { path: PathBuf, bytes_max: u64 },
    /// The file would take more memory or work than any honest one.
    OverBudget { path: PathBuf, over: OverBudget },
    /// The recording has too many players, or would take too much memory.
    NotPlayable { path: PathBuf, error: NotPlayable },
    /// The file is Parquet, but not the states of a trace.
    BadTrace { path: PathBuf, error: TraceTableError },
    /// The file beside a trace is not its metadata.
    BadMetadata { path: PathBuf, error: CsvError },
    /// The file is XML, but not a match of Ethereal.
    BadXml { path: PathBuf, error: XmlError },
    /// The file is a match of Ethereal that cannot be replayed.
    Ethereal { path: PathBuf, error: EtherealError },
    /// The file is not a world.
    World { path: PathBuf, error: WorldError },
    /// The file is not a recording.
    Recording(RecordingError),
    /// The file is not a list of round trips.
    Rtt { path: PathBuf, error: CsvError },
}

/// Results that could not be written. The text is one line: what, where, and the fix.
#[derive(Debug)]
pub struct OutputError {
    pub directory: PathBuf,
    pub error: io::Error,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputFile {
    /// The file's name without a folder.
    pub name: String,
    pub bytes: Vec<u8>,
}

/// Reads a recording in any format; the content decides which. Beside text `NAME.csv[.gz]`,
/// `NAME.breaks.csv[.gz]` and for a trace `NAME.metadata.csv[.gz]` are read too. A recording that
/// was interrupted is read from its [segments].
pub fn open_recording(path: &Path) -> Result<Recorded, OpenError> {
    let budget = Budget::default();
    match segments::folder_beside(path) {
        Some(folder) => recording_from_segments(path, &folder, &budget),
        None => recording_from(path, Unpacked::open(path)?, &budget),
    }
}

pub(crate) fn recording_from(path: &Path, input: Unpacked, budget: &Budget) -> Result<Recorded, OpenError> {
    let recording = match input.kind() {
        ContentKind::Parquet => recording_from_parquet(path, input, budget)?,
        ContentKind::Xml | ContentKind::Text => recording_from_text(path, input, budget)?,
    };
    Ok(Recorded { file: file_name(path), recording })
}

fn recording_from_parquet(path: &Path, input: Unpacked, budget: &Budget) -> Result<Recording, OpenError> {
    let name = shown(path);
    let mut states = TraceReader::new(&name, budget);
    let bad = |error| OpenError::of_trace(path, error);
    let metadata = match input.into_parquet(budget)? {
        ParquetSource::File(file) => take_states(TableReader::open(file, budget), &mut states, bad)?,
        ParquetSource::Bytes(bytes) => take_states(TableReader::open(bytes, budget), &mut states, bad)?,
    };
    Ok(states.finish(&metadata)?)
}

/// Takes all states of a table, batch by batch.
fn take_states<R: ChunkReader + 'static>(
    reader: Result<TableReader<'_, R>, TableError>,
    states: &mut TraceReader<'_>,
    bad: impl Fn(TraceTableError) -> OpenError,
) -> Result<Metadata, OpenError> {
    let mut reader = reader.map_err(|error| bad(error.into()))?;
    let empty = reader.empty_table();
    let metadata = trace::metadata_of(&empty).map_err(&bad)?;
    trace::check_columns::<StateRow>(&empty).map_err(&bad)?;
    while let Some(batch) = reader.next_batch().map_err(|error| bad(error.into()))? {
        states.take(&StateRow::from_table(&batch).map_err(&bad)?)?;
    }
    Ok(metadata)
}

/// Reads the closed segments of a recording that was interrupted, in order.
pub(crate) fn recording_from_segments(
    path: &Path,
    folder: &Path,
    budget: &Budget,
) -> Result<Recorded, OpenError> {
    let name = shown(path);
    let mut states = TraceReader::new(&name, budget);
    let mut metadata = None;
    let unreadable = |error| OpenError::Unreadable { path: folder.into(), error };
    for segment in segments::closed(folder, segments::STATES).map_err(unreadable)? {
        let file = fs::File::open(&segment)
            .map_err(|error| OpenError::Unreadable { path: segment.clone(), error })?;
        let bad = |error| OpenError::of_trace(&segment, error);
        metadata = Some(take_states(TableReader::open(file, budget), &mut states, bad)?);
    }
    let metadata = metadata.ok_or_else(|| {
        OpenError::Recording(RecordingError {
            file: shown(folder),
            row: None,
            column: None,
            problem: Problem::NoRows,
        })
    })?;
    Ok(Recorded { file: file_name(path), recording: states.finish(&metadata)? })
}

fn recording_from_text(path: &Path, mut input: Unpacked, budget: &Budget) -> Result<Recording, OpenError> {
    let name = shown(path);
    let breaks = match beside(path, "breaks") {
        None => None,
        Some(path) => Some((shown(&path), Unpacked::open(&path)?, path)),
    };
    let recording = match breaks {
        None => recording::read_from(Stream { name: &name, input: &mut input.bytes }, None, budget),
        Some((breaks_name, mut breaks, breaks_path)) => {
            let stream = Stream { name: &breaks_name, input: &mut breaks.bytes };
            let read =
                recording::read_from(Stream { name: &name, input: &mut input.bytes }, Some(stream), budget);
            match read {
                Err(error) if error.file == breaks_name => {
                    return Err(OpenError::of_text(&breaks_path, breaks.is_packed, error));
                }
                read => read,
            }
        }
    };
    let recording = recording.map_err(|error| OpenError::of_text(path, input.is_packed, error))?;
    match beside(path, "metadata") {
        Some(path) if recording.format == Format::Trace => {
            let metadata = Metadata::from_csv(&read(&path)?);
            Ok(recording.described_by(&metadata.map_err(|error| OpenError::BadMetadata { path, error })?))
        }
        _ => Ok(recording),
    }
}

/// Reads recorded round trips: the columns `t,rtt_ms`, in seconds and milliseconds.
pub fn open_rtt_trace(path: &Path) -> Result<RttTrace, OpenError> {
    RttTrace::from_csv(&read(path)?).map_err(|error| OpenError::Rtt { path: path.into(), error })
}

/// Reads a whole small file, unpacked if it begins like gzip, whatever its name.
pub fn read(path: &Path) -> Result<Vec<u8>, OpenError> {
    Unpacked::open(path)?.into_memory(SMALL_BYTES_MAX)
}

/// Opens a file of any length to read it as it unpacks, up to
/// [`WORK_BYTES_MAX`](fairpath_eval::budget::WORK_BYTES_MAX) bytes. Reading more is an error.
pub fn stream(path: &Path) -> Result<impl BufRead, OpenError> {
    let input = Unpacked::open(path)?;
    Ok(BufReader::new(Limited { input: input.bytes, budget: Budget::default() }))
}

/// Bytes that count as work.
struct Limited<R> {
    input: R,
    budget: Budget,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(to)?;
        self.budget.work(count as u64).map_err(|over| io::Error::new(io::ErrorKind::FileTooLarge, over))?;
        Ok(count)
    }
}

/// What the first bytes of a file say it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContentKind {
    Parquet,
    Xml,
    Text,
}

/// A file as it unpacks: nothing of it is in memory but a buffer.
pub(crate) struct Unpacked {
    path: PathBuf,
    pub(crate) bytes: Box<dyn BufRead>,
    pub(crate) is_packed: bool,
    first: Vec<u8>,
}

pub(crate) enum ParquetSource {
    File(fs::File),
    Bytes(Bytes),
}

/// Bytes that are looked at to tell what a file is: blanks may come before XML.
const FIRST_BYTES: usize = 1024;

impl Unpacked {
    /// Opens a file, and unpacks it if it begins like gzip, whatever its name.
    pub(crate) fn open(path: &Path) -> Result<Self, OpenError> {
        let unreadable = |error| OpenError::Unreadable { path: path.into(), error };
        let mut file = BufReader::new(fs::File::open(path).map_err(unreadable)?);
        let is_packed = file.fill_buf().map_err(unreadable)?.starts_with(&GZIP_MAGIC);
        let mut bytes: Box<dyn BufRead> =
            if is_packed { Box::new(BufReader::new(MultiGzDecoder::new(file))) } else { Box::new(file) };
        let mut first = Vec::new();
        bytes
            .by_ref()
            .take(FIRST_BYTES as u64)
            .read_to_end(&mut first)
            .map_err(|error| OpenError::while_reading(path, is_packed, error))?;
        let again = io::Cursor::new(first.clone());
        Ok(Self { path: path.into(), bytes: Box::new(again.chain(bytes)), is_packed, first })
    }

    pub(crate) fn kind(&self) -> ContentKind {
        if self.first.starts_with(&PARQUET_MAGIC) {
            ContentKind::Parquet
        } else if self.first.trim_ascii_start().starts_with(b"<") {
            ContentKind::Xml
        } else {
            ContentKind::Text
        }
    }

    /// Reads all of it, up to a limit.
    pub(crate) fn into_memory(self, bytes_max: u64) -> Result<Vec<u8>, OpenError> {
        let mut bytes = Vec::new();
        let read = self.bytes.take(bytes_max + 1).read_to_end(&mut bytes);
        read.map_err(|error| OpenError::while_reading(&self.path, self.is_packed, error))?;
        if bytes.len() as u64 > bytes_max {
            return Err(OpenError::TooLarge { path: self.path, bytes_max });
        }
        Ok(bytes)
    }

    fn into_parquet(self, budget: &Budget) -> Result<ParquetSource, OpenError> {
        if !self.is_packed {
            let file = fs::File::open(&self.path);
            let unreadable = |error| OpenError::Unreadable { path: self.path.clone(), error };
            return Ok(ParquetSource::File(file.map_err(unreadable)?));
        }
        let path = self.path.clone();
        let bytes = self.into_memory(PACKED_PARQUET_BYTES_MAX)?;
        budget.hold(bytes.len() as u64).map_err(|over| OpenError::OverBudget { path, over })?;
        Ok(ParquetSource::Bytes(bytes.into()))
    }
}

impl OpenError {
    fn while_reading(path: &Path, is_packed: bool, error: io::Error) -> Self {
        let path = path.into();
        if is_packed { Self::BadGzip { path, error } } else { Self::Unreadable { path, error } }
    }

    fn of_trace(path: &Path, error: TraceTableError) -> Self {
        let path = path.into();
        match error {
            TraceTableError::Table(TableError::OverBudget(over)) => Self::OverBudget { path, over },
            error => Self::BadTrace { path, error },
        }
    }

    /// Text that cannot be unpacked is broken gzip, not a broken row.
    pub(crate) fn of_text(path: &Path, is_packed: bool, error: RecordingError) -> Self {
        match error.problem {
            Problem::Unreadable(why) => Self::while_reading(path, is_packed, io::Error::other(why)),
            _ => Self::Recording(error),
        }
    }
}

/// The file beside a recording with its `breaks` or its `metadata`, if it exists.
fn beside(path: &Path, what: &str) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    let stem = name.strip_suffix(".gz").unwrap_or(name).strip_suffix(".csv")?;
    ["csv.gz", "csv"]
        .map(|ending| path.with_file_name(format!("{stem}.{what}.{ending}")))
        .into_iter()
        .find(|path| path.is_file())
}

/// Checks before long work whether [`write_together`] can write there.
pub fn check_writable(directory: &Path) -> Result<(), OutputError> {
    let failed = |error| OutputError { directory: directory.into(), error };
    let mut ground = directory;
    while !ground.exists() {
        ground = parent_of(ground);
    }
    Staging::begin(ground).map(drop).map_err(failed)
}

/// Writes files into `directory`, creating it if need be, so that none is ever seen half-written.
///
/// All are first written to a hidden directory on the same file system. A new directory then
/// appears in one step; into an existing one each file is moved whole, in order, replacing its
/// namesake. Only an interruption in these milliseconds leaves the hidden directory behind.
pub fn write_together(directory: &Path, files: &[OutputFile]) -> Result<(), OutputError> {
    write_staged(directory, files).map_err(|error| OutputError { directory: directory.into(), error })
}

fn write_staged(directory: &Path, files: &[OutputFile]) -> io::Result<()> {
    let is_new = !directory.exists();
    if is_new {
        fs::create_dir_all(parent_of(directory))?;
    }
    let staging = Staging::begin(if is_new { parent_of(directory) } else { directory })?;
    for file in files {
        fs::write(staging.path.join(&file.name), &file.bytes)?;
    }
    if is_new {
        return fs::rename(&staging.path, directory);
    }
    for file in files {
        fs::rename(staging.path.join(&file.name), directory.join(&file.name))?;
    }
    Ok(())
}

/// A hidden directory inside another one. Removed when dropped.
pub(crate) struct Staging {
    pub(crate) path: PathBuf,
}

impl Staging {
    pub(crate) fn begin(inside: &Path) -> io::Result<Self> {
        let path = inside.join(format!(".fairpath-partial-{}", std::process::id()));
        match fs::create_dir(&path) {
            // Ours from an interrupted run: in a container every run may have the same process
            // number.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                fs::remove_dir_all(&path)?;
                fs::create_dir(&path)?;
            }
            done => done?,
        }
        Ok(Self { path })
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // After a rename nothing is left to remove, and a failure must not hide the first one.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// The directory a path lies in; the current one for a bare name.
pub(crate) fn parent_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."))
}

pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(|| shown(path), |name| name.to_string_lossy().into_owned())
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

wrap!(OpenError: Recording(RecordingError));

impl std::error::Error for OpenError {}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable { path, error } => {
                let (what, fix) = match error.kind() {
                    io::ErrorKind::NotFound => ("no such file".into(), "check the path"),
                    io::ErrorKind::IsADirectory => ("this is a directory".into(), "pass a file in it"),
                    io::ErrorKind::PermissionDenied => {
                        ("permission denied".into(), "check the file's permissions")
                    }
                    _ => (error.to_string(), "check the file"),
                };
                write!(f, "{}: {what}; {fix}", path.display())
            }
            Self::BadGzip { path, error } => {
                write!(f, "{}: broken gzip ({error}); fetch or record it again", path.display())
            }
            Self::TooLarge { path, bytes_max } => write!(
                f,
                "{}: larger than {} MiB unpacked; cut it into parts",
                path.display(),
                bytes_max >> 20
            ),
            Self::OverBudget { path, over } => write!(f, "{}: {over}", path.display()),
            Self::NotPlayable { path, error } => write!(f, "{}: {error}", path.display()),
            Self::BadTrace { path, error } => {
                write!(f, "{}: {error}; pass the states of a trace, or record it again", path.display())
            }
            Self::BadMetadata { path, error } => {
                write!(f, "{}: {error}; record it again, or remove this file", path.display())
            }
            Self::BadXml { path, error } => {
                write!(f, "{}: {error}; pass a match of Ethereal as it was recorded", path.display())
            }
            Self::Ethereal { path, error } => write!(f, "{}: {error}", path.display()),
            Self::World { path, error } => write!(f, "{}: {error}", path.display()),
            Self::Recording(error) => error.fmt(f),
            Self::Rtt { path, error } => {
                write!(f, "{}: {error}; pass a table with the columns t,rtt_ms", path.display())
            }
        }
    }
}

impl std::error::Error for OutputError {}

impl fmt::Display for OutputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let directory = self.directory.display();
        write!(f, "cannot write to {directory} ({}); choose another directory with --out", self.error)
    }
}
