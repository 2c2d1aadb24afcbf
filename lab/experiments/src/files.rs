//! Files in and out: recordings plain or gzipped, and results that are complete or not there.

use std::fmt;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use fairpath_eval::play::{EtherealError, WorldError};
use fairpath_eval::recording::{self, Format, Recording, RecordingError, Source};
use fairpath_games::ethereal::XmlError;
use fairpath_sim::RttTrace;
use fairpath_sim::csv::CsvError;
use fairpath_sim::trace::Metadata;
use flate2::read::MultiGzDecoder;

use crate::experiment::Recorded;
use crate::trace::{self, TraceTableError};

/// The largest file that is read, unpacked. 1 GiB: 900 s of ten tanks at 60 Hz is 35 MB, so this is
/// hours of a large match; beyond it a small bad file would unpack until memory ends.
pub const INPUT_BYTES_MAX: u64 = 1 << 30;
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
    /// The file is larger than [`INPUT_BYTES_MAX`].
    TooLarge { path: PathBuf },
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
/// `NAME.breaks.csv[.gz]` and for a trace `NAME.metadata.csv[.gz]` are read too.
pub fn open_recording(path: &Path) -> Result<Recorded, OpenError> {
    recording_from(path, read(path)?)
}

pub(crate) fn recording_from(path: &Path, bytes: Vec<u8>) -> Result<Recorded, OpenError> {
    let recording = if bytes.starts_with(&PARQUET_MAGIC) {
        recording_from_parquet(path, bytes)?
    } else {
        recording_from_text(path, &bytes)?
    };
    Ok(Recorded { file: file_name(path), recording })
}

fn recording_from_parquet(path: &Path, bytes: Vec<u8>) -> Result<Recording, OpenError> {
    let (metadata, states) =
        trace::read_states(bytes).map_err(|error| OpenError::BadTrace { path: path.into(), error })?;
    Ok(recording::from_trace(&shown(path), &metadata, &states)?)
}

fn recording_from_text(path: &Path, bytes: &[u8]) -> Result<Recording, OpenError> {
    let name = shown(path);
    let source = Source { name: &name, bytes };
    let recording = match beside(path, "breaks") {
        Some(breaks) => {
            let (bytes, name) = (read(&breaks)?, shown(&breaks));
            recording::read(source, Some(Source { name: &name, bytes: &bytes }))?
        }
        None => recording::read(source, None)?,
    };
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

/// Reads a whole file, unpacked if it begins like gzip, whatever its name.
pub fn read(path: &Path) -> Result<Vec<u8>, OpenError> {
    let unreadable = |error| OpenError::Unreadable { path: path.into(), error };
    let too_large = || OpenError::TooLarge { path: path.into() };
    let mut packed = Vec::new();
    let file = fs::File::open(path).map_err(unreadable)?;
    file.take(INPUT_BYTES_MAX + 1).read_to_end(&mut packed).map_err(unreadable)?;
    if packed.len() as u64 > INPUT_BYTES_MAX {
        return Err(too_large());
    }
    if !packed.starts_with(&GZIP_MAGIC) {
        return Ok(packed);
    }
    let mut bytes = Vec::new();
    MultiGzDecoder::new(packed.as_slice())
        .take(INPUT_BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| OpenError::BadGzip { path: path.into(), error })?;
    if bytes.len() as u64 > INPUT_BYTES_MAX { Err(too_large()) } else { Ok(bytes) }
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
struct Staging {
    path: PathBuf,
}

impl Staging {
    fn begin(inside: &Path) -> io::Result<Self> {
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
            Self::TooLarge { path } => write!(
                f,
                "{}: larger than {} MiB unpacked; cut it into parts",
                path.display(),
                INPUT_BYTES_MAX >> 20
            ),
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
