//! Compares the DIS models with expected values from an independent program.
//!
//! The file is a JSON list. Every entry names a model (`drm`, 1 to 9) and how to read it
//! (`semantics`), gives the start (`p0`, `v0`, `a0`, `euler0` as ψ, θ, φ, `omega` in body axes) and
//! a time `dt` in seconds, and says where that leads: `expect.disp` and the world-to-body matrix
//! `expect.matrix_w2b`. `primary` marks the readings that most programs share. An entry may have an
//! `id`; whatever else it has is ignored.
//!
//! ```
//! let json = br#"[{
//!     "id": "a line", "drm": 2, "semantics": "std", "primary": true,
//!     "p0": [6378137, 0, 0], "v0": [3, 0, 4], "a0": [0, 0, 0], "euler0": [0, 0, 0], "omega": [0, 0, 0], "dt": 2,
//!     "expect": { "disp": [6, 0, 8], "matrix_w2b": [[1, 0, 0], [0, 1, 0], [0, 0, 1]] }
//! }]"#;
//! let report = fairpath_experiments::dis_check::check(json, "line.json")?;
//! assert!(report.all_passed());
//! println!("{report}");
//! # Ok::<(), fairpath_experiments::dis_check::DisFileError>(())
//! ```

mod file;

use std::collections::BTreeMap;
use std::fmt;

use fairpath::motion::Motion;
use fairpath::vector::{Vec3, Vector};
use serde::Serialize;

use self::file::FileEntry;
pub use self::file::{DisFileError, FieldProblem};

/// How far a displacement may be off, in parts of its length, or in metres below a metre. Fixed by
/// the program that computes the expected values. The models come within 1e-14 over seconds and
/// 1e-11 over thousands of turns, so a failure is a mistake and not a rounding.
pub const DISPLACEMENT_TOLERANCE: f64 = 1e-9;
/// How far each number of the orientation's matrix may be off.
pub const MATRIX_TOLERANCE: f64 = 1e-9;
/// How many failures a report lists one by one: enough to see a pattern, few enough to read.
pub const FAILURES_LISTED_MAX: usize = 10;

/// Runs every entry of a list. `file_name` is what errors call it.
pub fn check(json: &[u8], file_name: &str) -> Result<DisReport, DisFileError> {
    let entries = file::read(json, file_name)?;
    Ok(DisReport::of(entries.iter().map(Outcome::of)))
}

/// How the models did on one file. As JSON, the names of the fields are stable; an error that is
/// not a number is written as [`f64::MAX`].
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DisReport {
    /// One row per model and reading that the file has cases of, by number.
    pub rows: Vec<DisRow>,
    /// The cases of the readings that most programs share.
    pub primary: DisTally,
    pub other: DisTally,
    /// The first failures, at most [`FAILURES_LISTED_MAX`].
    pub failures: Vec<DisFailure>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DisRow {
    /// The model's number in the standard.
    pub drm: u8,
    pub model: &'static str,
    /// How it is read, in the words of the file.
    pub semantics: &'static str,
    /// Whether most programs share this reading, says the file.
    pub primary: bool,
    pub cases: usize,
    pub passed: usize,
    /// The largest error of a displacement, in parts of its length or, below a metre, in metres.
    pub displacement_error_max: f64,
    /// The largest error of a number in the orientation's matrix.
    pub matrix_error_max: f64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DisTally {
    pub cases: usize,
    pub passed: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DisFailure {
    /// Its place in the list, counted from zero.
    pub index: usize,
    pub id: Option<String>,
    pub drm: u8,
    pub displacement_error: f64,
    pub matrix_error: f64,
}

impl DisReport {
    pub fn all_passed(&self) -> bool {
        let DisTally { cases, passed } = self.total();
        passed == cases
    }

    pub fn total(&self) -> DisTally {
        DisTally {
            cases: self.primary.cases + self.other.cases,
            passed: self.primary.passed + self.other.passed,
        }
    }

    fn of<'a>(outcomes: impl Iterator<Item = Outcome<'a>>) -> Self {
        let mut report = Self::default();
        let mut rows = BTreeMap::new();
        for outcome in outcomes {
            let FileEntry { start, primary, .. } = *outcome.entry;
            rows.entry((start.model, !primary)).or_insert_with(|| DisRow::new(outcome.entry)).add(&outcome);
            if primary { &mut report.primary } else { &mut report.other }.add(&outcome);
            if !outcome.holds() && report.failures.len() < FAILURES_LISTED_MAX {
                report.failures.push(outcome.failure());
            }
        }
        report.rows = rows.into_values().collect();
        report
    }
}

impl DisRow {
    fn new(entry: &FileEntry) -> Self {
        Self {
            drm: entry.start.model.number(),
            model: entry.start.model.name(),
            semantics: file::semantics(entry.start.model),
            primary: entry.primary,
            cases: 0,
            passed: 0,
            displacement_error_max: 0.0,
            matrix_error_max: 0.0,
        }
    }

    fn add(&mut self, outcome: &Outcome<'_>) {
        self.cases += 1;
        self.passed += usize::from(outcome.holds());
        self.displacement_error_max = self.displacement_error_max.max(outcome.displacement_error);
        self.matrix_error_max = self.matrix_error_max.max(outcome.matrix_error);
    }
}

impl DisTally {
    fn add(&mut self, outcome: &Outcome<'_>) {
        self.cases += 1;
        self.passed += usize::from(outcome.holds());
    }
}

/// The table a person reads, without a newline at its end.
impl fmt::Display for DisReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.rows.iter().map(|row| row.semantics.len()).max().unwrap_or(0).max(9);
        let header =
            ["drm", "model", "semantics", "reading", "passed", "cases", "worst disp", "worst matrix"];
        let [drm, model, semantics, reading, passed, cases, displacement, matrix] = header;
        writeln!(
            f,
            "{drm:>3}  {model:<6}  {semantics:<width$}  {reading:<7}  {passed:>6}  {cases:>5}  {displacement:>10}  {matrix:>12}",
        )?;
        for row in &self.rows {
            writeln!(f, "{row:width$}")?;
        }
        let (all, primary, other) = (self.total(), self.primary, self.other);
        write!(f, "\n{all} passed ({primary} primary, {other} other readings)")?;
        for failure in &self.failures {
            write!(f, "\n{failure}")?;
        }
        match all.cases - all.passed - self.failures.len() {
            0 => Ok(()),
            more => write!(f, "\nand {more} more"),
        }
    }
}

/// One line of the table; the formatter's width is that of the `semantics` column.
impl fmt::Display for DisRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:>3}  {:<6}  {:<width$}  {:<7}  {:>6}  {:>5}  {:>10.1e}  {:>12.1e}",
            self.drm,
            self.model,
            self.semantics,
            if self.primary { "primary" } else { "other" },
            self.passed,
            self.cases,
            self.displacement_error_max,
            self.matrix_error_max,
            width = f.width().unwrap_or(0),
        )
    }
}

impl fmt::Display for DisTally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.passed, self.cases)
    }
}

impl fmt::Display for DisFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { index, drm, displacement_error, matrix_error, .. } = self;
        write!(f, "failed: {}, drm {drm}: ", file::entry_name(*index, self.id.as_deref()))?;
        write!(f, "displacement off by {displacement_error:.1e}, matrix by {matrix_error:.1e}")
    }
}

struct Outcome<'a> {
    entry: &'a FileEntry,
    displacement_error: f64,
    matrix_error: f64,
}

impl<'a> Outcome<'a> {
    fn of(entry: &'a FileEntry) -> Self {
        let motion = Motion::<Vec3>::Dis(entry.start);
        let displacement = motion.displacement_at(entry.dt_secs);
        let axes = motion.state_at(entry.dt_secs).orientation.axes();
        Self {
            entry,
            displacement_error: displacement_error(displacement, entry.displacement),
            matrix_error: matrix_error(axes, entry.axes),
        }
    }

    fn holds(&self) -> bool {
        self.displacement_error <= DISPLACEMENT_TOLERANCE && self.matrix_error <= MATRIX_TOLERANCE
    }

    fn failure(&self) -> DisFailure {
        DisFailure {
            index: self.entry.index,
            id: self.entry.id.clone(),
            drm: self.entry.start.model.number(),
            displacement_error: self.displacement_error,
            matrix_error: self.matrix_error,
        }
    }
}

/// Relative to the expected length, or to a metre below that: the length may be zero.
fn displacement_error(found: Vec3, expected: Vec3) -> f64 {
    countable(found.distance(expected) / expected.length().max(1.0))
}

fn matrix_error(found: [Vec3; 3], expected: [Vec3; 3]) -> f64 {
    let error_of_row = |(found, expected): (Vec3, Vec3)| {
        let off = found - expected;
        [off.x, off.y, off.z].into_iter().map(|number| countable(number.abs())).fold(0.0, f64::max)
    };
    found.into_iter().zip(expected).map(error_of_row).fold(0.0, f64::max)
}

/// The largest number instead of NaN, which is neither worst nor a failure in comparisons.
fn countable(error: f64) -> f64 {
    if error.is_finite() { error } else { f64::MAX }
}

#[cfg(test)]
mod tests;
