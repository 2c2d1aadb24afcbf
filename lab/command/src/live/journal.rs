//! Records what a process sees, as a trace that the laboratory reads.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use fairpath::number::EntityId;
use fairpath::time::{Now, SharedInstant, Span};
use fairpath::vector::{Vec2, Vec3};
use fairpath::{DrVector, State};
use fairpath_experiments::files::{check_writable, write_together};
use fairpath_experiments::table::ROWS_MAX;
use fairpath_experiments::trace::{TraceFormat, to_files};
use fairpath_games::tanks::{HALF_SIDE, TICK_RATE};
use fairpath_sim::trace::{FollowedRow, LengthUnit, Metadata, StateKind, StateRow, Trace};
use serde_json::{Value, json};

use crate::BadInput;

/// Where to record what the process sees.
#[derive(Args, Clone, Debug)]
pub(crate) struct RecordingOptions {
    /// Record what the process sees to NAME.parquet or NAME.csv
    #[arg(long = "out", value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    stamping: TimestampOptions,
}

impl RecordingOptions {
    /// Starts a recorder, if a file is given. Refuses a file that cannot be written at once.
    pub(crate) fn begin(&self, title: &str, seed: u64) -> Result<Option<TraceRecorder>, BadInput> {
        self.out.as_deref().map(|out| TraceRecorder::begin(out, &self.stamping, title, seed)).transpose()
    }
}

/// How instants are recorded.
#[derive(Args, Clone, Debug)]
pub(crate) struct TimestampOptions {
    /// The instant that is zero in the recording, in microseconds since 1970 [default: the first]
    #[arg(long, value_name = "MICROS")]
    zero: Option<i64>,
    /// The clock that instants are recorded by
    #[arg(long, value_enum, default_value_t = ClockChoice::Shared)]
    stamp: ClockChoice,
}

impl TimestampOptions {
    fn stamp(&self) -> Timestamps {
        match self.stamp {
            ClockChoice::Shared => Timestamps::Shared,
            ClockChoice::Machine => Timestamps::Machine(ClockWatch::default()),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ClockChoice {
    /// The clock that all peers agree on, as this process estimates it
    Shared,
    /// The clock of this machine, to compare processes on one machine
    Machine,
}

#[derive(Debug)]
enum Timestamps {
    /// The clock that all peers agree on, as this process estimates it.
    Shared,
    /// The clock of this machine, shared with a server on it: shows how far the shared one is off.
    Machine(ClockWatch),
}

#[derive(Debug)]
pub(crate) struct TraceRecorder {
    out: PathBuf,
    format: TraceFormat,
    name: String,
    trace: Trace,
    zero: Option<i64>,
    stamp: Timestamps,
    /// When each was last seen, and in which life: what was not seen for a while begins anew.
    last: BTreeMap<(u32, Option<u32>, u8), (i64, u16)>,
    /// When that which is reckoned by was generated.
    followed: BTreeMap<(u32, Option<u32>), SharedInstant>,
}

/// An entity that was not seen for longer than this was away.
const GAP: Span = Span::from_millis(250);

impl TraceRecorder {
    pub(crate) fn begin(
        out: &Path,
        stamping: &TimestampOptions,
        title: &str,
        seed: u64,
    ) -> Result<Self, BadInput> {
        let stamp = stamping.stamp();
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
        Ok(Self {
            out: out.into(),
            format,
            name,
            trace: Trace::new(metadata),
            zero: stamping.zero,
            stamp,
            last: BTreeMap::new(),
            followed: BTreeMap::new(),
        })
    }

    /// How far off the shared clock is said to be at most.
    pub(crate) fn clock(&mut self, now: Now, stated: Option<Span>) {
        if let (Timestamps::Machine(watch), Some(stated)) = (&mut self.stamp, stated) {
            watch.look(now, stated);
        }
    }

    /// How the shared clock was, if instants are this machine's.
    pub(crate) fn clock_as_json(&self) -> Option<Value> {
        match &self.stamp {
            Timestamps::Shared => None,
            Timestamps::Machine(watch) => Some(watch.as_json()),
        }
    }

    pub(crate) fn truth(&mut self, now: Now, entity: EntityId, life: u16, state: &State<Vec2>) {
        self.push(now, life, None, StateRow::new(now.shared, entity, StateKind::Truth, state));
    }

    pub(crate) fn exported(&mut self, now: Now, vector: &DrVector<Vec2>) {
        let state = vector.state_at(now.shared);
        self.push(now, 0, None, StateRow::new(now.shared, vector.entity, StateKind::Exported, &state));
        self.followed(now, None, vector);
    }

    pub(crate) fn placed(&mut self, now: Now, entity: EntityId, viewer: u32, state: &State<Vec2>) {
        self.push(now, 0, Some(viewer), StateRow::new(now.shared, entity, StateKind::Placed, state));
    }

    /// Which DR vector a viewer, or the owner, reckons by. Written down when it is another one.
    pub(crate) fn followed(&mut self, now: Now, viewer: Option<u32>, vector: &DrVector<Vec2>) {
        let entity = vector.entity.0;
        let before = self.followed.insert((entity, viewer), vector.generated_at);
        if before == Some(vector.generated_at) || self.trace.followed.len() >= ROWS_MAX {
            return;
        }
        let t_us = self.stamp_of(now);
        let generated_us = vector.generated_at.as_micros() - self.zero.unwrap_or_default();
        let life = u16::from(vector.life.number());
        self.trace.followed.push(FollowedRow { t_us, viewer, entity, life, generated_us });
    }

    fn stamp_of(&mut self, now: Now) -> i64 {
        let micros = match self.stamp {
            Timestamps::Shared => now.shared.as_micros(),
            Timestamps::Machine(_) => now.local.as_micros(),
        };
        micros - *self.zero.get_or_insert(micros)
    }

    fn push(&mut self, now: Now, life: u16, viewer: Option<u32>, row: StateRow) {
        if self.trace.states.len() >= ROWS_MAX {
            return;
        }
        let t_us = self.stamp_of(now);
        let key = (row.entity, viewer, row.kind as u8);
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

/// How far this process's shared clock was off the machine's, and how far it said it might be.
#[derive(Debug, Default)]
struct ClockWatch {
    looks: u64,
    covered: u64,
    off_sum_us: i64,
    off_us_max: i64,
    stated_sum_us: i64,
    stated_us_max: i64,
}

impl ClockWatch {
    fn look(&mut self, now: Now, stated: Span) {
        let off_us = now.shared.as_micros() - now.local.as_micros();
        self.looks += 1;
        self.covered += u64::from(off_us.abs() <= stated.as_micros());
        self.off_sum_us += off_us;
        self.off_us_max = self.off_us_max.max(off_us.abs());
        self.stated_sum_us += stated.as_micros();
        self.stated_us_max = self.stated_us_max.max(stated.as_micros());
    }

    fn as_json(&self) -> Value {
        let mean = |sum_us: i64| sum_us as f64 * 1e-3 / self.looks.max(1) as f64;
        json!({
            "looks": self.looks,
            "covered": self.covered,
            "off_mean_ms": mean(self.off_sum_us),
            "off_max_ms": self.off_us_max as f64 * 1e-3,
            "stated_mean_ms": mean(self.stated_sum_us),
            "stated_max_ms": self.stated_us_max as f64 * 1e-3,
        })
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."))
}
