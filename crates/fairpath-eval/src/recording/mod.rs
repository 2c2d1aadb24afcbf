//! Recorded motion: what a game, or the people who played it, really did.
//!
//! [`read`] takes the bytes of a file and tells the formats apart by the header, never by the name:
//!
//! | format | header | lengths | velocity |
//! | --- | --- | --- | --- |
//! | [`Format::Bzflag`] | `t_ms,player,team,status,order,x,y,z,vx,vy,vz,azimuth,angvel,life,forced,t_arr_ms` | game units | recorded |
//! | [`Format::Team`] | `t,entity,team,x,y` | metres | estimated |
//!
//! Columns are found by name, so their order does not matter and further ones are ignored (of BZFlag's,
//! `status`, `order` and `t_arr_ms` are not needed).
//!
//! A recording is never one path: tanks die, players respawn, packets are lost. It becomes [`Stretch`]es, each
//! a run of samples of one entity across which it is fair to interpolate and to keep score. A stretch ends
//! * where two samples are more than [`GAP_MAX`] apart,
//! * where `life` or `team` changes,
//! * at a row of the breaks file (`t,entity,reason`), which names the first sample *after* a jump.
//!
//! BZFlag rows with `forced` = 1 are sends, not motion: they are skipped. So is a row that repeats its
//! entity's previous time (the game writes one when a tank is hit). Time that runs backwards is an error.
//! Runs of fewer than two samples are dropped.

use std::collections::BTreeMap;
use std::fmt;

use fairpath::time::{SharedInstant, Span};

mod bzflag;
mod error;
mod stretch;
mod table;
mod team;

pub use error::{Problem, RecordingError};
pub use stretch::{Facing, GAP_MAX, Sample, Stretch, VELOCITY_WINDOW, Velocity};

use table::Table;

/// The name under which a team recording carries the ball.
pub const BALL: &str = "ball";

/// Bytes and the name by which to speak of them in errors.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// What a person would call it: a file name.
    pub name: &'a str,
    /// What is in it.
    pub bytes: &'a [u8],
}

/// Recorded motion, cut into clean stretches.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// Which format it was read from.
    pub format: Format,
    /// Everyone who moves, in the order of first appearance.
    pub entities: Vec<Entity>,
    /// All clean runs of motion, by entity and then by time. Never empty.
    pub stretches: Vec<Stretch>,
}

/// How a recording was written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// BZFlag's dense path: three dimensions, with velocity, heading and turn rate.
    Bzflag,
    /// Positions of two teams in the plane, and perhaps a ball.
    Team,
}

/// What one unit of length is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LengthUnit {
    /// Metres.
    Metre,
    /// The game's own: a BZFlag tank is 6 long.
    GameUnit,
}

/// Someone, or something, that moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entity {
    /// As the recording calls it: a number or a word.
    pub name: String,
}

/// Reads a recording, and the breaks that belong to it if there are any.
pub fn read(recording: Source<'_>, breaks: Option<Source<'_>>) -> Result<Recording, RecordingError> {
    let breaks = breaks.map_or_else(|| Ok(Breaks::default()), Breaks::read)?;
    let table = Table::open(recording)?;
    let format = Format::of(&table).ok_or_else(|| table.unknown_header())?;
    let mut tracks = Tracks::new(recording.name, format, breaks);
    match format {
        Format::Bzflag => bzflag::read(table, &mut tracks)?,
        Format::Team => team::read(table, &mut tracks)?,
    }
    tracks.finish()
}

impl Format {
    fn of(table: &Table<'_>) -> Option<Self> {
        if table.has("t_ms") && table.has("player") {
            Some(Self::Bzflag)
        } else if table.has("t") && table.has("entity") {
            Some(Self::Team)
        } else {
            None
        }
    }

    fn velocity(self) -> Velocity {
        match self {
            Self::Bzflag => Velocity::Recorded,
            Self::Team => Velocity::Estimated,
        }
    }
}

impl Recording {
    /// What its lengths are counted in.
    pub fn unit(&self) -> LengthUnit {
        match self.format {
            Format::Bzflag => LengthUnit::GameUnit,
            Format::Team => LengthUnit::Metre,
        }
    }

    /// The stretches of everyone but the ball: it is nobody's friend or enemy, and not scored unless asked for.
    pub fn players(&self) -> impl Iterator<Item = &Stretch> {
        self.stretches.iter().filter(|stretch| !self.entities[stretch.entity].is_ball())
    }

    /// All clean motion put together, in seconds.
    pub fn secs(&self) -> f64 {
        self.stretches.iter().map(|stretch| stretch.duration().as_secs_f64()).sum()
    }
}

impl Entity {
    /// Whether this is the ball.
    pub fn is_ball(&self) -> bool {
        self.name == BALL
    }
}

impl fmt::Display for LengthUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Metre => "m",
            Self::GameUnit => "units",
        })
    }
}

/// The instants before which an entity's motion must not be joined to what came earlier.
#[derive(Default)]
struct Breaks(BTreeMap<String, Vec<SharedInstant>>);

impl Breaks {
    /// An entity the recording does not have is no error: a break for nobody cuts nothing.
    fn read(source: Source<'_>) -> Result<Self, RecordingError> {
        let mut table = Table::open(source)?;
        let [t, entity] = table.columns(["t", "entity"])?;
        let mut breaks = Self::default();
        while let Some(row) = table.next_row()? {
            let at = row.time_secs(t)?;
            breaks.0.entry(row.name(entity)?.into()).or_default().push(at);
        }
        for instants in breaks.0.values_mut() {
            instants.sort_unstable();
        }
        Ok(breaks)
    }
}

/// Everyone's samples while the file is being read.
struct Tracks<'a> {
    file: &'a str,
    format: Format,
    breaks: Breaks,
    index: BTreeMap<String, usize>,
    tracks: Vec<Track>,
}

/// One entity's samples while the file is being read: the run that is still growing, and those that ended.
struct Track {
    name: String,
    breaks: Vec<SharedInstant>,
    last: Option<SharedInstant>,
    run: Vec<Sample>,
    run_is: RunIs,
    ended: Vec<Stretch>,
}

/// What stays the same along one run.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct RunIs {
    team: u32,
    life: u32,
}

impl<'a> Tracks<'a> {
    fn new(file: &'a str, format: Format, breaks: Breaks) -> Self {
        Self { file, format, breaks, index: BTreeMap::new(), tracks: Vec::new() }
    }

    fn push(&mut self, row: usize, name: &str, run_is: RunIs, sample: Sample) -> Result<(), RecordingError> {
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
        if !track.continues(run_is, sample.at) {
            track.end_run(index, self.format.velocity());
        }
        track.run_is = run_is;
        track.last = Some(sample.at);
        track.run.push(sample);
        Ok(())
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
            run_is: RunIs::default(),
            ended: Vec::new(),
        });
        self.tracks.len() - 1
    }

    fn finish(mut self) -> Result<Recording, RecordingError> {
        for (index, track) in self.tracks.iter_mut().enumerate() {
            track.end_run(index, self.format.velocity());
        }
        let mut recording = Recording { format: self.format, entities: Vec::new(), stretches: Vec::new() };
        for track in self.tracks {
            recording.entities.push(Entity { name: track.name });
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
    /// Whether a sample at `at` belongs to the run that is still growing.
    fn continues(&self, run_is: RunIs, at: SharedInstant) -> bool {
        self.last.is_some_and(|last| {
            at - last <= GAP_MAX && run_is == self.run_is && !self.breaks_between(last, at)
        })
    }

    fn breaks_between(&self, after: SharedInstant, until: SharedInstant) -> bool {
        let first = self.breaks.partition_point(|&at| at <= after);
        self.breaks.get(first).is_some_and(|&at| at <= until)
    }

    fn end_run(&mut self, entity: usize, velocity: Velocity) {
        let RunIs { team, life } = self.run_is;
        let run = std::mem::take(&mut self.run);
        self.ended.extend(Stretch::from_run(entity, team, life, velocity, run));
    }
}

/// Recordings are read to the microsecond; a break names a sample's own time, so both round alike.
fn instant_from_secs(secs: f64) -> SharedInstant {
    SharedInstant::ZERO + Span::from_secs_f64(secs)
}
