//! Writes down what is seen, as a trace that the laboratory reads.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;
use fairpath::State;
use fairpath::number::EntityId;
use fairpath::time::{SharedInstant, Span};
use fairpath::vector::{Vec2, Vec3};
use fairpath_games::tanks::{HALF_SIDE, TICK_RATE};
use fairpath_lab::files::{check_writable, write_together};
use fairpath_lab::table::ROWS_MAX;
use fairpath_lab::trace::{TraceFormat, to_files};
use fairpath_sim::trace::{LengthUnit, Metadata, StateKind, StateRow, Trace};

use crate::BadInput;

/// Where to write down what was seen.
#[derive(Args, Clone, Debug)]
pub(crate) struct Recording {
    /// Write down what was seen, to NAME.parquet or NAME.csv
    #[arg(long = "out", value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Which instant is zero in the recording, in microseconds since 1970 [default: its first]
    #[arg(long, value_name = "MICROS")]
    pub(crate) zero: Option<i64>,
}

impl Recording {
    /// A journal, if one is wanted. Whatever can be refused is refused now and not at the end.
    pub(crate) fn begin(&self, title: &str, seed: u64) -> Result<Option<Journal>, BadInput> {
        self.out.as_deref().map(|out| Journal::begin(out, self.zero, title, seed)).transpose()
    }
}

/// What is seen, as it is seen.
#[derive(Debug)]
pub(crate) struct Journal {
    out: PathBuf,
    format: TraceFormat,
    name: String,
    trace: Trace,
    zero: Option<i64>,
    /// When each was last seen, and in which life: what was not seen for a while begins anew.
    last: BTreeMap<(u32, Option<u32>, bool), (i64, u16)>,
}

/// Who was not seen for longer than this was away.
const GAP: Span = Span::from_millis(250);

impl Journal {
    fn begin(out: &Path, zero: Option<i64>, title: &str, seed: u64) -> Result<Self, BadInput> {
        let shown = out.display().to_string();
        let format = TraceFormat::of(out)
            .ok_or_else(|| BadInput::of("--out", &shown, "a recording ends in .parquet or .csv"))?;
        let name = out.file_stem().and_then(|stem| stem.to_str());
        let name = name.ok_or_else(|| BadInput::of("--out", &shown, "name a file"))?.to_owned();
        check_writable(folder_of(out))?;
        let corner = Vec3::new(HALF_SIDE, HALF_SIDE, 0.0);
        let metadata = Metadata {
            length_unit: LengthUnit::GameUnits,
            tick_rate_hz: Some(TICK_RATE.as_hz()),
            ..Metadata::new(title, seed).with_world(corner * -1.0, corner)
        };
        Ok(Self { out: out.into(), format, name, trace: Trace::new(metadata), zero, last: BTreeMap::new() })
    }

    /// The truth about something.
    pub(crate) fn truth(&mut self, now: SharedInstant, entity: EntityId, life: u16, state: &State<Vec2>) {
        self.push(now, life, None, StateRow::new(now, entity, StateKind::Truth, state));
    }

    /// Where a viewer has it.
    pub(crate) fn placed(&mut self, now: SharedInstant, entity: EntityId, viewer: u32, state: &State<Vec2>) {
        self.push(now, 0, Some(viewer), StateRow::new(now, entity, StateKind::Placed, state));
    }

    fn push(&mut self, now: SharedInstant, life: u16, viewer: Option<u32>, row: StateRow) {
        if self.trace.states.len() >= ROWS_MAX {
            return;
        }
        let t_us = now.as_micros() - *self.zero.get_or_insert(now.as_micros());
        let key = (row.entity, viewer, row.kind == StateKind::Truth);
        let before = self.last.insert(key, (t_us, life));
        let is_break = before.is_none_or(|(at, before)| before != life || t_us - at > GAP.as_micros());
        if before.is_some_and(|(at, _)| at >= t_us) {
            // Two frames in one microsecond, or a clock that was corrected: nothing new.
            return;
        }
        self.trace.states.push(StateRow { t_us, life, viewer, is_break, ..row });
    }

    /// Writes it to its files; the answer says what and where.
    pub(crate) fn finish(self) -> Result<String, BadInput> {
        let files = to_files(&self.trace, &self.name, self.format)?;
        write_together(folder_of(&self.out), &files)?;
        let is_full = self.trace.states.len() >= ROWS_MAX;
        let cut = if is_full { "; it was full before the end" } else { "" };
        Ok(format!("recorded {} states in {}{cut}", self.trace.states.len(), self.out.display()))
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."))
}
