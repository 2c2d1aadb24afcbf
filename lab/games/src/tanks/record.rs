//! A match as a trace that any tool can read, and the inputs back from it.

use fairpath::time::SharedInstant;
use fairpath::vector::Vec3;
use fairpath_sim::trace::{InputRow, LengthUnit, Metadata, StateKind, StateRow, Trace};

use super::config::{Ground, TANKS_MAX, TICK_RATE, TanksConfig};
use super::game::Match;
use super::input::{Input, InputChange, InputLog};
use super::world::Tanks;

/// The bit of [`InputRow::buttons`] that fires. Throttle is its first axis, turn its second.
pub const FIRE_BUTTON: u32 = 1;

/// Writes a match down: note it after every step, and have its [`Trace`] in the end.
///
/// The states are the truth about every living tank and every shot, tick by tick; whatever was put
/// where it is and did not drive there begins with a break. A shot's entity number is not a
/// player's (see [`Metadata::players`]). The inputs are the changes of everyone's hands, each at
/// the beginning of the tick it is first used in.
///
/// ```
/// use fairpath_games::tanks::{InputLog, Match, Recorder, TanksConfig};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut game = Match::of_bots(TanksConfig::default(), 7)?;
/// let mut recorder = Recorder::new(&game);
/// for _ in 0..120 {
///     game.step();
///     recorder.note(&game);
/// }
/// let trace = recorder.finish();
///
/// let log = InputLog::from_trace(TanksConfig::default(), &trace)?;
/// assert_eq!(log.replay()?.finish().digest(), game.tanks().digest());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Recorder {
    trace: Trace,
    log: InputLog,
    first_tick: u64,
}

impl Recorder {
    /// Begins with the match as it stands. Only one that begins at tick zero can be replayed from
    /// its inputs.
    pub fn new(game: &Match) -> Self {
        let tanks = game.tanks();
        let mut trace = Trace::new(metadata(tanks, game.seed()));
        trace.states.extend(state_rows(tanks));
        let log = InputLog::new(tanks.config().clone(), game.seed());
        Self { trace, log, first_tick: tanks.tick() }
    }

    /// Notes what the last step led to, and what everybody did in it.
    pub fn note(&mut self, game: &Match) {
        self.log.record(game.inputs());
        self.trace.states.extend(state_rows(game.tanks()));
    }

    /// All that was noted.
    pub fn finish(mut self) -> Trace {
        let mut sequences = [0; TANKS_MAX as usize];
        for change in self.log.changes() {
            let sequence = &mut sequences[change.tank as usize];
            self.trace.inputs.push(input_row(change, self.first_tick, *sequence));
            *sequence += 1;
        }
        self.trace
    }
}

/// The truth about everything that moves, as it is now.
pub fn state_rows(tanks: &Tanks) -> impl Iterator<Item = StateRow> {
    let now = tanks.now();
    tanks.moving().map(move |moving| StateRow {
        life: moving.life,
        is_break: moving.has_jumped,
        ..StateRow::new(now, moving.id, StateKind::Truth, &moving.state)
    })
}

/// Plays `ticks` of a match and has them as a trace.
pub fn record(game: &mut Match, ticks: u64) -> Trace {
    let mut recorder = Recorder::new(game);
    for _ in 0..ticks {
        game.step();
        recorder.note(game);
    }
    recorder.finish()
}

fn metadata(tanks: &Tanks, seed: u64) -> Metadata {
    let [red, blue] = tanks.config().tanks;
    let ground = match tanks.config().ground {
        Ground::Generated { boxes } => format!("up to {boxes} boxes"),
        Ground::Given(_) => "a given map".into(),
    };
    let corner = tanks.map().half_side();
    Metadata {
        length_unit: LengthUnit::GameUnits,
        tick_rate_hz: Some(TICK_RATE.as_hz()),
        players: Some(red + blue),
        ..Metadata::new(&format!("tanks: {red} against {blue} on {ground}"), seed)
    }
    .with_world(Vec3::new(-corner, -corner, 0.0), Vec3::new(corner, corner, 0.0))
}

fn input_row(change: &InputChange, first_tick: u64, sequence: u64) -> InputRow {
    let tick = first_tick + change.tick;
    InputRow {
        t_us: TICK_RATE.begin(tick.cast_signed()).as_micros(),
        player: change.tank,
        entity: change.tank,
        sequence,
        buttons: if change.input.fire { FIRE_BUTTON } else { 0 },
        axis_0: change.input.throttle,
        axis_1: change.input.turn,
        ..InputRow::default()
    }
}

impl InputLog {
    /// The log of a match that was recorded from its beginning, with the rules it was played by: a
    /// trace knows the seed, but not the rules. It reaches as far as the trace's states do.
    pub fn from_trace(config: TanksConfig, trace: &Trace) -> Result<Self, NotReplayable> {
        let first = trace.states.first().map_or(0, |state| state.t_us);
        if first != 0 {
            return Err(NotReplayable::BeginsLate { t_us: first });
        }
        let mut changes = trace.inputs.iter().map(change).collect::<Result<Vec<_>, _>>()?;
        changes.sort_by_key(|change| change.tick);
        let last = trace.states.iter().map(|state| state.t_us).max().unwrap_or(0);
        Ok(Self::from_changes(config, trace.metadata.seed, tick_at(last)?, changes))
    }
}

fn change(row: &InputRow) -> Result<InputChange, NotReplayable> {
    let input = Input { throttle: row.axis_0, turn: row.axis_1, fire: row.buttons & FIRE_BUTTON != 0 };
    Ok(InputChange { tick: tick_at(row.t_us)?, tank: row.entity, input })
}

fn tick_at(t_us: i64) -> Result<u64, NotReplayable> {
    let since_zero = SharedInstant::from_micros(t_us) - SharedInstant::ZERO;
    let tick = TICK_RATE.running_at(since_zero);
    let begins_there = TICK_RATE.begin(tick) == since_zero;
    u64::try_from(tick).ok().filter(|_| begins_there).ok_or(NotReplayable::OffTick { t_us })
}

/// Why a trace does not say enough to see its match again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotReplayable {
    /// Its first state is not the match's first.
    BeginsLate {
        /// When it begins.
        t_us: i64,
    },
    /// A state or an input at an instant at which no tick begins.
    OffTick {
        /// That instant.
        t_us: i64,
    },
}

impl std::error::Error for NotReplayable {}

impl std::fmt::Display for NotReplayable {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::BeginsLate { t_us } => write!(out, "the trace begins {t_us} µs after its match"),
            Self::OffTick { t_us } => write!(out, "no tick begins at {t_us} µs"),
        }
    }
}
