//! Records what a process sees, as a trace that the laboratory reads.
//!
//! It is written as it goes, in [segments](fairpath_experiments::segments): a process that is
//! killed leaves a recording, and hours take no more memory than seconds.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use fairpath::number::EntityId;
use fairpath::time::{Now, SharedInstant, Span};
use fairpath::vector::{Vec2, Vec3};
use fairpath::{DrVector, State};
use fairpath_experiments::segments::{SegmentError, SegmentRecorder};
use fairpath_experiments::trace::TraceFormat;
use fairpath_games::tanks::{HALF_SIDE, TICK_RATE};
use fairpath_sim::trace::{FollowedRow, LengthUnit, Metadata, StateKind, StateRow, Trace, VectorRow};
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
    /// Returns the file to record to, if any.
    pub(crate) fn file(&self) -> Option<PathBuf> {
        self.out.clone()
    }

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
    segments: SegmentRecorder,
    /// The rows of the next segment.
    part: Trace,
    part_due: Instant,
    stopped: Option<SegmentError>,
    zero: Option<i64>,
    stamp: Timestamps,
    /// When each was last seen, and in which life: what was not seen for a while begins anew.
    last: BTreeMap<(u32, Option<u32>, u8), (i64, u16)>,
    /// When that which is reckoned by was generated.
    followed: BTreeMap<(u32, Option<u32>), SharedInstant>,
    /// When the newest recorded DR vector of each entity was generated.
    vectors: BTreeMap<u32, SharedInstant>,
}

/// How often a segment is closed: as much is lost if the process is killed.
const SEGMENT_EVERY: Duration = Duration::from_secs(3);
/// The first one comes sooner, so that even a short run leaves something.
const FIRST_SEGMENT_AFTER: Duration = Duration::from_millis(500);
/// Rows that wait for a slow disk: 64 tanks and 64 viewers for a second. Then the recording stops.
const WAITING_ROWS_MAX: usize = 1 << 18;

/// An entity that was not seen for longer than this was away.
const GAP: Span = Span::from_millis(250);

/// An entity that was not seen for longer than this is forgotten. If it comes back, its newest DR
/// vector is recorded again, which no reader minds.
const FORGOTTEN_AFTER: Span = Span::from_secs(10);

impl TraceRecorder {
    pub(crate) fn begin(
        out: &Path,
        stamping: &TimestampOptions,
        title: &str,
        seed: u64,
    ) -> Result<Self, BadInput> {
        let stamp = stamping.stamp();
        let shown = out.display().to_string();
        if TraceFormat::of(out).is_none() {
            return Err(BadInput::of("--out", &shown, "a recording ends in .parquet or .csv"));
        }
        if out.file_stem().and_then(|stem| stem.to_str()).is_none() {
            return Err(BadInput::of("--out", &shown, "name a file"));
        }
        Ok(Self {
            out: out.into(),
            segments: SegmentRecorder::begin(out, &metadata(title, seed))?,
            part: Trace::default(),
            part_due: Instant::now() + FIRST_SEGMENT_AFTER,
            stopped: None,
            zero: stamping.zero,
            stamp,
            last: BTreeMap::new(),
            followed: BTreeMap::new(),
            vectors: BTreeMap::new(),
        })
    }

    /// Whether it has stopped before the end. Why was printed.
    pub(crate) fn has_stopped(&self) -> bool {
        self.stopped.is_some()
    }

    /// Returns why it has stopped before the end.
    pub(crate) fn problem(&self) -> Option<String> {
        self.stopped.as_ref().map(SegmentError::to_string)
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
        if before == Some(vector.generated_at) || self.stopped.is_some() {
            return;
        }
        let t_us = self.stamp_of(now);
        let zero = self.zero.unwrap_or_default();
        let generated_us = vector.generated_at.as_micros() - zero;
        let life = u16::from(vector.life.number());
        self.part.followed.push(FollowedRow { t_us, viewer, entity, life, generated_us });
        // Viewers that are late follow one that was recorded when the first viewer followed it.
        let is_new = self.vectors.get(&entity).is_none_or(|newest| *newest < vector.generated_at);
        if let Some(row) = VectorRow::new(now.shared, vector).filter(|_| is_new) {
            self.vectors.insert(entity, vector.generated_at);
            self.part.vectors.push(VectorRow { t_us, generated_us, ..row });
        }
    }

    fn stamp_of(&mut self, now: Now) -> i64 {
        let micros = match self.stamp {
            Timestamps::Shared => now.shared.as_micros(),
            Timestamps::Machine(_) => now.local.as_micros(),
        };
        micros - *self.zero.get_or_insert(micros)
    }

    fn push(&mut self, now: Now, life: u16, viewer: Option<u32>, row: StateRow) {
        self.close_if_due();
        if self.stopped.is_some() {
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
        self.part.states.push(StateRow { t_us, life, viewer, is_break, ..row });
    }

    /// Closes the segment if it is time. A busy disk gets it later.
    fn close_if_due(&mut self) {
        if self.stopped.is_some() || Instant::now() < self.part_due {
            return;
        }
        if let Some(problem) = self.segments.poll_problem() {
            return self.stop(problem);
        }
        match self.segments.put(std::mem::take(&mut self.part)) {
            Ok(()) => {
                self.part_due = Instant::now() + SEGMENT_EVERY;
                self.forget();
            }
            Err(part) if part.states.len() > WAITING_ROWS_MAX => self.stop(self.segments.too_slow()),
            Err(part) => self.part = *part,
        }
    }

    /// Forgets entities and viewers that are gone, so that a server of days knows those of now.
    fn forget(&mut self) {
        let newest = self.last.values().map(|(at, _)| *at).max().unwrap_or(0);
        self.last.retain(|_, (at, _)| newest - *at <= FORGOTTEN_AFTER.as_micros());
        let known: BTreeSet<u32> = self.last.keys().map(|(entity, ..)| *entity).collect();
        self.followed.retain(|(entity, _), _| known.contains(entity));
        self.vectors.retain(|entity, _| known.contains(entity));
    }

    fn stop(&mut self, problem: SegmentError) {
        // A closed stderr is no error.
        let _ = writeln!(std::io::stderr(), "{problem}");
        self.stopped = Some(problem);
    }

    /// Joins the segments into its files; the answer says what and where.
    pub(crate) fn finish(self) -> Result<String, BadInput> {
        if let Some(problem) = self.stopped {
            return Err(problem.into());
        }
        self.segments.put_last(self.part);
        let written = self.segments.finish()?;
        Ok(format!("recorded {} states in {}", written.states, self.out.display()))
    }

    /// Removes a recording in which nothing happened.
    pub(crate) fn discard(self) {
        self.segments.discard();
    }
}

/// What is known about a live match of tanks.
pub(super) fn metadata(title: &str, seed: u64) -> Metadata {
    let corner = Vec3::new(HALF_SIDE, HALF_SIDE, 0.0);
    Metadata {
        length_unit: LengthUnit::GameUnits,
        tick_rate_hz: Some(TICK_RATE.as_hz()),
        ..Metadata::new(title, seed).with_world(corner * -1.0, corner)
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
