//! Predictors on laps: what the mean line of earlier laps is worth.
//!
//! - [`open_laps`] reads a recording of laps
//! - [`Drives`] are teaching laps and judging laps: never the same
//! - [`LapTrial`] is what `fairpath lab laps` runs; experiment X15 does the same on the race of our
//!   own
//!
//! The predictors and their errors come from [`fairpath_eval::laps`]; here are the files, the cores
//! and the plots.

mod drives;
mod figures;
mod tables;
mod trial;

pub use drives::{Drives, Judged, LapScores};
pub use trial::{HORIZONS_MS, LapTrial};

pub(crate) use drives::horizons_in_ticks;
pub(crate) use figures::figures;
pub(crate) use tables::{LapTables, claim_below};
pub(crate) use trial::{claims, note};

use std::path::Path;

use fairpath_eval::budget::Budget;
use fairpath_eval::recording::{RecordedLap, Stream, read_laps_from};

use crate::files::{OpenError, Unpacked};

#[derive(Clone, Debug, PartialEq)]
pub struct LapFile {
    /// The file's name without its folder.
    pub file: String,
    pub laps: Vec<RecordedLap>,
}

/// Reads laps: CSV with the columns `lap,t,x,y`, plain or gzipped.
pub fn open_laps(path: &Path) -> Result<LapFile, OpenError> {
    let (name, mut input) = (path.display().to_string(), Unpacked::open(path)?);
    let laps = read_laps_from(Stream { name: &name, input: &mut input.bytes }, &Budget::default())
        .map_err(|error| OpenError::of_text(path, input.is_packed, error))?;
    let file =
        path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into());
    Ok(LapFile { file, laps })
}
