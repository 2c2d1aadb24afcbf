//! Recorded motion of games.
//!
//! [`read`] takes the bytes of a file and recognises the format by the header, never by the name:
//!
//! | format | header | lengths | velocity |
//! | --- | --- | --- | --- |
//! | [`Format::Bzflag`] | `t_ms,player,team,status,order,x,y,z,vx,vy,vz,azimuth,angvel,life,forced,t_arr_ms` | game units | recorded |
//! | [`Format::Team`] | `t,entity,team,x,y` | metres | estimated |
//! | [`Format::Trace`] | `t_us,entity,life,kind,viewer,x,y,z,vx,vy,vz,qw,qx,qy,qz,break` | as its metadata says | recorded |
//!
//! Columns are found by name, so their order does not matter and further ones are ignored (BZFlag's
//! `status`, `order` and `t_arr_ms` and a trace's `viewer` are not needed).
//!
//! A recording is never one path: tanks die, players respawn, packets are lost. It becomes
//! [`Stretch`]es, each a run of samples of one entity that may be interpolated and scored. A
//! stretch ends
//! * where two samples are more than [`GAP_MAX`] apart,
//! * where `life` or `team` changes, or `break` is 1,
//! * at a row of the breaks file (`t,entity,reason`), which names the first sample *after* a jump.
//!
//! BZFlag rows with `forced` = 1 are sends, not motion: they are skipped. So is a row that repeats
//! its entity's previous time (the game writes one when a tank is hit). Time that runs backwards is
//! an error. Runs of fewer than two samples are dropped.
//!
//! Our own games and the simulator write traces (see [`fairpath_sim::trace`]): their `truth` rows
//! are motion, all others are skipped. [`from_trace`] takes a trace in memory. Only its metadata
//! contains the unit of length and which entities are shots; without it, lengths are metres and
//! every entity is a player.

use std::collections::BTreeMap;
use std::io::BufRead;

use fairpath::time::{SharedInstant, Span};
pub use fairpath_sim::trace::LengthUnit;
use fairpath_sim::trace::{Metadata, StateKind, StateRow};

mod bzflag;
mod error;
mod laps;
mod stretch;
mod table;
mod team;
mod trace;

pub use error::{Problem, RecordingError};
pub use laps::{RecordedLap, read_laps, read_laps_from};
pub use stretch::{Facing, GAP_MAX, Sample, Stretch, VELOCITY_WINDOW, Velocity};

use stretch::estimate_turn_rates;
use table::Table;

use crate::budget::{Budget, OverBudget};

pub const BALL: &str = "ball";

/// Bytes, and their name for errors.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// A name for people: a file name.
    pub name: &'a str,
    pub bytes: &'a [u8],
}

/// Text that is read as it arrives, and its name for errors.
pub struct Stream<'a> {
    /// A name for people: a file name.
    pub name: &'a str,
    pub input: &'a mut dyn BufRead,
}

/// The most entities of a recording: the object ids that a session has. More are a column of
/// numbers that was taken for names.
pub const ENTITIES_MAX: usize = 1 << 16;

#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    pub format: Format,
    pub unit: LengthUnit,
    /// All moving entities, in the order of first appearance.
    pub entities: Vec<Entity>,
    /// All clean runs of motion, by entity and then by time. Never empty.
    pub stretches: Vec<Stretch>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// BZFlag's dense path: three dimensions, with velocity, heading and turn rate.
    Bzflag,
    /// Positions of two teams in the plane, and perhaps a ball.
    Team,
    /// The states of a trace: three dimensions, with velocity and orientation.
    Trace,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entity {
    /// The name in the recording: a number or a word.
    pub name: String,
    /// Whether a player controls it. Balls and shots are not players.
    pub is_player: bool,
}

/// Reads a recording, and the breaks that belong to it if there are any.
pub fn read(recording: Source<'_>, breaks: Option<Source<'_>>) -> Result<Recording, RecordingError> {
    read_within(recording, breaks, &Budget::default())
}

/// Reads a recording from memory with a budget of the caller.
pub fn read_within(
    recording: Source<'_>,
    breaks: Option<Source<'_>>,
    budget: &Budget,
) -> Result<Recording, RecordingError> {
    let mut bytes = recording.bytes;
    let stream = Stream { name: recording.name, input: &mut bytes };
    match breaks {
        None => read_from(stream, None, budget),
        Some(breaks) => {
            let mut bytes = breaks.bytes;
            read_from(stream, Some(Stream { name: breaks.name, input: &mut bytes }), budget)
        }
    }
}

/// Reads where the first viewer of a trace placed everything, for traces whose truth only other
/// processes know: those of a watcher, or of a server without tanks of its own.
pub fn read_placed_within(trace: Source<'_>, budget: &Budget) -> Result<Recording, RecordingError> {
    let mut bytes = trace.bytes;
    let table = Table::open(Stream { name: trace.name, input: &mut bytes }, budget)?;
    if Format::of(&table) != Some(Format::Trace) {
        return Err(table.unknown_header());
    }
    let mut tracks = Tracks::new(trace.name, Format::Trace, Breaks::default(), budget);
    tracks.kind = StateKind::Placed;
    trace::read(table, &mut tracks)?;
    tracks.finish()
}

/// Reads a recording as its text arrives. Only the motion is kept, never the text.
pub fn read_from<'a>(
    recording: Stream<'a>,
    breaks: Option<Stream<'a>>,
    budget: &'a Budget,
) -> Result<Recording, RecordingError> {
    let breaks = breaks.map_or_else(|| Ok(Breaks::default()), |breaks| Breaks::read(breaks, budget))?;
    let name = recording.name;
    let table = Table::open(recording, budget)?;
    let format = Format::of(&table).ok_or_else(|| table.unknown_header())?;
    let mut tracks = Tracks::new(name, format, breaks, budget);
    match format {
        Format::Bzflag => bzflag::read(table, &mut tracks)?,
        Format::Team => team::read(table, &mut tracks)?,
        Format::Trace => trace::read(table, &mut tracks)?,
    }
    tracks.finish()
}

/// Creates a recording from a trace in memory. Errors call it `name`; its first row is row 1.
pub fn from_trace(name: &str, metadata: &Metadata, states: &[StateRow]) -> Result<Recording, RecordingError> {
    let budget = Budget::default();
    let mut reader = TraceReader::new(name, &budget);
    reader.take(states)?;
    reader.finish(metadata)
}

/// Makes a recording of a trace that arrives in pieces. Only the truth is kept.
pub struct TraceReader<'a> {
    tracks: Tracks<'a>,
    rows: usize,
}

impl<'a> TraceReader<'a> {
    /// Errors call the trace `name`; its first row is row 1.
    pub fn new(name: &'a str, budget: &'a Budget) -> Self {
        Self { tracks: Tracks::new(name, Format::Trace, Breaks::default(), budget), rows: 0 }
    }

    pub fn take(&mut self, states: &[StateRow]) -> Result<(), RecordingError> {
        trace::take(self.rows + 1, states, &mut self.tracks)?;
        self.rows += states.len();
        Ok(())
    }

    pub fn finish(self, metadata: &Metadata) -> Result<Recording, RecordingError> {
        Ok(self.tracks.finish()?.described_by(metadata))
    }
}

impl Format {
    fn of(table: &Table<'_>) -> Option<Self> {
        if table.has("t_ms") && table.has("player") {
            Some(Self::Bzflag)
        } else if table.has("t") && table.has("entity") {
            Some(Self::Team)
        } else if table.has("t_us") && table.has("entity") && table.has("kind") {
            Some(Self::Trace)
        } else {
            None
        }
    }

    fn velocity(self) -> Velocity {
        match self {
            Self::Bzflag | Self::Trace => Velocity::Recorded,
            Self::Team => Velocity::Estimated,
        }
    }

    /// Returns the unit for files that do not state it.
    fn unit(self) -> LengthUnit {
        match self {
            Self::Bzflag => LengthUnit::GameUnits,
            Self::Team | Self::Trace => LengthUnit::Metres,
        }
    }
}

impl Recording {
    /// Returns the recording with the unit of length and the non-players that its trace names.
    #[must_use]
    pub fn described_by(mut self, metadata: &Metadata) -> Self {
        self.unit = metadata.length_unit;
        for entity in &mut self.entities {
            let number = entity.name.parse::<u32>().ok();
            let is_thing = number.zip(metadata.players).is_some_and(|(number, players)| number >= players);
            entity.is_player &= !is_thing;
        }
        self
    }

    /// Returns the stretches of all players. Balls and shots are not scored unless asked for.
    pub fn players(&self) -> impl Iterator<Item = &Stretch> {
        self.stretches.iter().filter(|stretch| self.entities[stretch.entity].is_player)
    }

    /// Returns whether all positions have z = 0.
    pub fn is_flat(&self) -> bool {
        let mut samples = self.stretches.iter().flat_map(Stretch::samples);
        samples.all(|sample| sample.position.z == 0.0 && sample.velocity.z == 0.0)
    }

    /// Returns the recording with z = 0 everywhere, as a game in the plane would have recorded it.
    #[must_use]
    pub fn without_height(mut self) -> Self {
        self.stretches.iter_mut().for_each(Stretch::flatten);
        self
    }

    /// Returns the clean motion of all players together, in seconds.
    pub fn secs(&self) -> f64 {
        self.players().map(|stretch| stretch.duration().as_secs_f64()).sum()
    }
}

/// Per entity, the instants before which its motion must not be joined to earlier samples.
#[derive(Default)]
struct Breaks(BTreeMap<String, Vec<SharedInstant>>);

impl Breaks {
    /// An entity that the recording does not contain is not an error: its break cuts nothing.
    fn read<'a>(stream: Stream<'a>, budget: &'a Budget) -> Result<Self, RecordingError> {
        let file = stream.name;
        let mut table = Table::open(stream, budget)?;
        let [t, entity] = table.columns(["t", "entity"])?;
        let mut breaks = Self::default();
        while let Some(row) = table.next_row()? {
            let (at, name) = (row.time_secs(t)?, row.name(entity)?);
            let wrong = |problem| RecordingError::at(file, row.number, problem);
            let cost = if breaks.0.contains_key(name) { BREAK_BYTES } else { entity_bytes(name) };
            budget.hold(cost).map_err(|over| wrong(Problem::OverBudget(over)))?;
            if breaks.0.len() >= ENTITIES_MAX {
                return Err(wrong(Problem::TooManyEntities));
            }
            breaks.0.entry(name.into()).or_default().push(at);
        }
        for instants in breaks.0.values_mut() {
            instants.sort_unstable();
        }
        Ok(breaks)
    }
}

/// A sample, in an array that grows by quarters.
const SAMPLE_BYTES: u64 = size_of::<Sample>() as u64 * 5 / 4;
/// A stretch beside its samples, with the room of an array of a few.
const RUN_BYTES: u64 = size_of::<Stretch>() as u64 * 2 + 4 * size_of::<Sample>() as u64;
const BREAK_BYTES: u64 = 2 * size_of::<SharedInstant>() as u64;

/// An entity: its track, and its name in it, in the index and in the recording.
fn entity_bytes(name: &str) -> u64 {
    RUN_BYTES + 512 + 3 * name.len() as u64
}

struct Tracks<'a> {
    file: &'a str,
    budget: &'a Budget,
    format: Format,
    /// The states of a trace that are taken for motion, and whose: those of the first viewer.
    kind: StateKind,
    viewer: Option<Option<u32>>,
    breaks: Breaks,
    index: BTreeMap<String, usize>,
    tracks: Vec<Track>,
}

/// The samples of one entity while the file is read: the growing run, and those that ended.
struct Track {
    name: String,
    breaks: Vec<SharedInstant>,
    last: Option<SharedInstant>,
    run: Vec<Sample>,
    key: RunKey,
    ended: Vec<Stretch>,
}

/// What stays the same along one run.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct RunKey {
    team: u32,
    life: u32,
}

impl<'a> Tracks<'a> {
    fn new(file: &'a str, format: Format, breaks: Breaks, budget: &'a Budget) -> Self {
        let (kind, viewer) = (StateKind::Truth, None);
        Self { file, budget, format, kind, viewer, breaks, index: BTreeMap::new(), tracks: Vec::new() }
    }

    fn is_of_viewer(&mut self, viewer: Option<u32>) -> bool {
        *self.viewer.get_or_insert(viewer) == viewer
    }

    fn push(&mut self, row: usize, name: &str, key: RunKey, sample: Sample) -> Result<(), RecordingError> {
        let (file, budget) = (self.file, self.budget);
        let over = |over: OverBudget| RecordingError::at(file, row, Problem::OverBudget(over));
        if !self.index.contains_key(name) {
            if self.tracks.len() >= ENTITIES_MAX {
                return Err(RecordingError::at(file, row, Problem::TooManyEntities));
            }
            budget.hold(entity_bytes(name)).map_err(over)?;
        }
        let index = self.index_of(name);
        let track = &mut self.tracks[index];
        match track.last {
            Some(last) if sample.at < last => {
                let problem = Problem::TimeRunsBackwards { entity: name.into(), back: last - sample.at };
                return Err(RecordingError::at(self.file, row, problem));
            }
            Some(last) if sample.at == last => return Ok(()),
            _ => {}
        }
        if !track.continues(key, sample.at) {
            budget.hold(RUN_BYTES).map_err(over)?;
            track.end_run(index, self.format);
        }
        budget.hold(SAMPLE_BYTES).map_err(over)?;
        track.key = key;
        track.last = Some(sample.at);
        if track.run.len() == track.run.capacity() {
            track.run.reserve_exact(4.max(track.run.len() / 4));
        }
        track.run.push(sample);
        Ok(())
    }

    /// Ends the entity's current run: later samples are not joined to earlier ones.
    fn cut(&mut self, name: &str) {
        if let Some(&index) = self.index.get(name) {
            self.tracks[index].end_run(index, self.format);
        }
    }

    fn index_of(&mut self, name: &str) -> usize {
        if let Some(&index) = self.index.get(name) {
            return index;
        }
        self.index.insert(name.into(), self.tracks.len());
        self.tracks.push(Track {
            name: name.into(),
            breaks: self.breaks.0.remove(name).unwrap_or_default(),
            last: None,
            run: Vec::new(),
            key: RunKey::default(),
            ended: Vec::new(),
        });
        self.tracks.len() - 1
    }

    fn finish(mut self) -> Result<Recording, RecordingError> {
        for (index, track) in self.tracks.iter_mut().enumerate() {
            track.end_run(index, self.format);
        }
        let (format, unit) = (self.format, self.format.unit());
        let mut recording = Recording { format, unit, entities: Vec::new(), stretches: Vec::new() };
        for track in self.tracks {
            let is_player = track.name != BALL;
            recording.entities.push(Entity { name: track.name, is_player });
            recording.stretches.extend(track.ended);
        }
        if recording.stretches.is_empty() {
            let problem =
                if recording.entities.is_empty() { Problem::NoRows } else { Problem::NoUsableStretch };
            return Err(RecordingError::of_file(self.file, problem));
        }
        Ok(recording)
    }
}

impl Track {
    /// Returns whether a sample at `at` belongs to the growing run.
    fn continues(&self, key: RunKey, at: SharedInstant) -> bool {
        self.last
            .is_some_and(|last| at - last <= GAP_MAX && key == self.key && !self.breaks_between(last, at))
    }

    fn breaks_between(&self, after: SharedInstant, until: SharedInstant) -> bool {
        let first = self.breaks.partition_point(|&at| at <= after);
        self.breaks.get(first).is_some_and(|&at| at <= until)
    }

    fn end_run(&mut self, entity: usize, format: Format) {
        let RunKey { team, life } = self.key;
        let mut run = std::mem::take(&mut self.run);
        if format == Format::Trace {
            estimate_turn_rates(&mut run);
        }
        self.ended.extend(Stretch::from_run(entity, team, life, format.velocity(), run));
    }
}

/// Recordings are read to the microsecond. A break names a sample's own time, so both round alike.
fn instant_from_secs(secs: f64) -> SharedInstant {
    SharedInstant::ZERO + Span::from_secs_f64(secs)
}
