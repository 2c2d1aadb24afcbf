//! Plays a match of bots and writes it to files, as [`trace`](crate::trace) describes them.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fairpath::time::{SharedInstant, Span};
use fairpath_games::GameChoice;
use fairpath_games::ethereal::{self, EtherealConfig};
use fairpath_games::jet_car::{self, JetCarConfig, JetCarRun};
use fairpath_games::race::{self, Heat, RaceConfig, Track};
use fairpath_games::sailing::{self, Regatta, SailingConfig, Trim, Wind};
use fairpath_games::shared::{Game, InputLog, OutOfRange, Recorder};
use fairpath_games::tanks::{BOXES_MAX, ConfigError, Ground, Match, TANKS_MAX, TICK_RATE, TanksConfig};
use fairpath_sim::trace::Trace;

use crate::experiment::Progress;
use crate::files::{OutputError, check_writable, parent_of, write_together};
use crate::trace::{TraceFormat, TraceTableError, to_files};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TanksMatch {
    /// Map, bots and random numbers follow from it. Default 1.
    pub seed: u64,
    /// The length of the match in seconds. Default 60, at most [`secs_max`](Self::secs_max). Bots
    /// need some ten seconds to meet.
    pub secs: u32,
    /// Tanks on both sides together; red has the odd one. Default 10, at most [`TANKS_MAX`].
    pub players: u32,
    /// How many boxes the generated map has at most. Default 24, at most [`BOXES_MAX`].
    pub boxes: usize,
}

impl Default for TanksMatch {
    fn default() -> Self {
        Self { seed: 1, secs: 60, players: 10, boxes: 24 }
    }
}

/// A match of bots of any game, with that game's default rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BotsMatch {
    pub game: GameChoice,
    /// Map, bots and random numbers follow from it.
    pub seed: u64,
    /// The length of the recording in seconds. A game that ends before stands still.
    pub secs: u32,
}

impl BotsMatch {
    /// Plays the match to its end. With the same rules its inputs replay to the bit.
    pub fn play(&self) -> Result<Trace, RecordError> {
        let Self { game, seed, secs } = *self;
        // The most moving things of any game but tanks, at the highest rate.
        const MOVERS_MAX: u32 = 24;
        const RATE_MAX: u32 = 100;
        let secs_max = ROWS_MAX / (MOVERS_MAX * RATE_MAX);
        match secs {
            0 => return Err(RecordError::Nothing),
            secs if secs > secs_max => return Err(RecordError::TooLong { secs_max }),
            _ => {}
        }
        let refused = |error: OutOfRange| RecordError::Config(error.into());
        Ok(match game {
            GameChoice::Tanks => {
                let mut game = Match::of_bots(TanksConfig::default(), seed)?;
                game.record((secs * TICK_RATE.as_hz()).into())
            }
            GameChoice::Race => {
                let rules = RaceConfig { laps: None, ..RaceConfig::default() };
                let mut heat =
                    Heat::of_bots(Arc::new(Track::generated(seed)), rules, seed).map_err(refused)?.with_log();
                (0..secs * race::TICK_RATE.as_hz()).for_each(|_| heat.step());
                logged(heat.log()).map_err(refused)?
            }
            GameChoice::JetCar { has_wind } => {
                let rules = if has_wind { JetCarConfig::windy() } else { JetCarConfig::default() };
                let mut run = JetCarRun::of_bot(rules, seed).map_err(refused)?;
                (0..secs * jet_car::TICK_RATE.as_hz()).for_each(|_| run.step());
                logged(Some(run.log())).map_err(refused)?
            }
            GameChoice::Sailing { wind_shifts } => {
                let usual = SailingConfig::default();
                let wind = if wind_shifts { Wind::west_and_south(20.0) } else { usual.wind.clone() };
                let rules = SailingConfig { wind, ..usual };
                let mut regatta = Regatta::of_agents(rules, seed, Trim::Simple).map_err(refused)?;
                (0..secs * sailing::TICK_RATE.as_hz()).for_each(|_| regatta.step());
                logged(Some(regatta.log())).map_err(refused)?
            }
            GameChoice::Ethereal => {
                let rules = EtherealConfig::default();
                let mut game = ethereal::Match::of_bots(rules.clone(), seed).map_err(refused)?;
                let mut recorder = Recorder::new(game.ethereal(), rules, seed);
                for _ in 0..secs * ethereal::TICKS_PER_SECOND {
                    game.step();
                    recorder.record(game.ethereal(), game.inputs());
                }
                recorder.finish()
            }
        })
    }

    /// Plays the match and writes it to `out`, as [`TanksMatch::record`] does.
    pub fn record(&self, out: &Path) -> Result<Written, RecordError> {
        check_trace(out)?;
        let trace = self.play()?;
        let files = write_files(&trace, out)?;
        Ok(Written { files, trace })
    }
}

/// The trace of a run that has kept its inputs.
fn logged<G: Game>(log: Option<&InputLog<G>>) -> Result<Trace, G::ConfigError> {
    log.map_or_else(|| unreachable!("a log was begun"), InputLog::to_trace)
}

/// Writes a recording to `out`, named `.parquet` or `.csv`, and to files beside it. Returns the
/// file that has the states.
pub fn write_trace(trace: &Trace, out: &Path) -> Result<PathBuf, RecordError> {
    check_trace(out)?;
    write_files(trace, out)?;
    Ok(out.into())
}

/// Checks that a recording can be written to `out`.
fn check_trace(out: &Path) -> Result<(), RecordError> {
    format_of(out)?;
    if out.is_dir() {
        return Err(RecordError::IsDirectory(out.into()));
    }
    Ok(check_writable(parent_of(out))?)
}

fn format_of(out: &Path) -> Result<(TraceFormat, &str), RecordError> {
    let unknown = || RecordError::UnknownEnding(out.into());
    let format = TraceFormat::of(out).ok_or_else(unknown)?;
    Ok((format, out.file_stem().and_then(|stem| stem.to_str()).ok_or_else(unknown)?))
}

fn write_files(trace: &Trace, out: &Path) -> Result<Vec<PathBuf>, RecordError> {
    let (format, name) = format_of(out)?;
    let files = to_files(trace, name, format)?;
    write_together(parent_of(out), &files)?;
    Ok(files.iter().map(|file| out.with_file_name(&file.name)).collect())
}

#[derive(Clone, Debug)]
pub struct Written {
    /// All files. The last one has the states: it is the one to open as a recording.
    pub files: Vec<PathBuf>,
    pub trace: Trace,
}

/// A match that was not recorded. The text is one line: what is wrong, and the fix.
#[derive(Debug)]
#[non_exhaustive]
pub enum RecordError {
    UnknownEnding(PathBuf),
    IsDirectory(PathBuf),
    TooLong { secs_max: u32 },
    Nothing,
    TooManyBoxes,
    Config(ConfigError),
    Trace(TraceTableError),
    Output(OutputError),
}

/// The rows of the longest match: as many as every command reads within its
/// [memory](fairpath_eval::budget::MEMORY_BYTES_MAX), a shot for each tank included.
pub const ROWS_MAX: u32 = 2_300_000;

impl TanksMatch {
    /// As long as [`ROWS_MAX`] has room for every tank and, as the default rules are, a shot each.
    pub fn secs_max(&self) -> u32 {
        let rows_per_sec = 2 * self.players.clamp(1, TANKS_MAX) * TICK_RATE.as_hz();
        ROWS_MAX / rows_per_sec
    }

    /// Plays the match to its end, one step of progress per second.
    pub fn play(&self, progress: &dyn Progress) -> Result<Trace, RecordError> {
        let mut game = self.begin()?;
        let mut recorder = game.recorder();
        progress.begin("playing tanks", self.secs.into());
        for sec in 1..=self.secs {
            let end = SharedInstant::ZERO + Span::from_secs(sec.into());
            while game.tanks().now() < end {
                game.step();
                recorder.record(game.tanks(), game.inputs());
            }
            progress.step();
        }
        Ok(recorder.finish())
    }

    /// Plays the match and writes it to `out`, named `.parquet` or `.csv`, and to files beside it.
    /// Wrong settings are refused before the first tick; files are written when the match is over.
    pub fn record(&self, out: &Path, progress: &dyn Progress) -> Result<Written, RecordError> {
        check_trace(out)?;
        let trace = self.play(progress)?;
        let files = write_files(&trace, out)?;
        Ok(Written { files, trace })
    }

    fn begin(&self) -> Result<Match, RecordError> {
        if self.secs == 0 || self.players == 0 {
            return Err(RecordError::Nothing);
        }
        if self.boxes > BOXES_MAX {
            return Err(RecordError::TooManyBoxes);
        }
        if self.secs > self.secs_max() {
            return Err(RecordError::TooLong { secs_max: self.secs_max() });
        }
        let blue = self.players / 2;
        let ground = Ground::Generated { boxes: self.boxes };
        let config = TanksConfig { tanks: [self.players - blue, blue], ground, ..TanksConfig::default() };
        Ok(Match::of_bots(config, self.seed)?)
    }
}

wrap!(RecordError: Config(ConfigError), Trace(TraceTableError), Output(OutputError));

impl std::error::Error for RecordError {}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownEnding(path) => {
                write!(
                    f,
                    "{}: the name of a recording ends in .parquet or .csv; rename it with --out",
                    path.display()
                )
            }
            Self::IsDirectory(path) => {
                write!(f, "{}: this is a directory; name a file in it with --out", path.display())
            }
            Self::TooLong { secs_max } => {
                write!(f, "too long to be read again; with so many players record at most {secs_max} seconds")
            }
            Self::Nothing => f.write_str("nothing to record; pass --seconds and --players of 1 or more"),
            Self::TooManyBoxes => write!(f, "too many boxes; pass --boxes of {BOXES_MAX} or fewer"),
            Self::Config(error) => write!(f, "{error}; pass fewer --players"),
            Self::Trace(error) => error.fmt(f),
            Self::Output(error) => error.fmt(f),
        }
    }
}
