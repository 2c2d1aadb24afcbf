//! A run as a trace that any tool can read, and the input log back from the trace.

use fairpath::time::SharedInstant;
use fairpath::vector::Planar;
use fairpath_sim::trace::{InputRow, LengthUnit, Metadata, StateKind, StateRow, Trace};

use super::game::{Game, PlayerInput};
use super::log::{InputChange, InputLog};

/// Records a run as a [`Trace`]: call [`record`](Self::record) after every tick, then
/// [`finish`](Self::finish).
///
/// The states are the truth about every moving entity, tick by tick. An entity that the game placed
/// instead of moving it begins with a break. Entities that are not players have ids above the
/// players' (see [`Metadata::players`]). The inputs are the changes of every player's input, each
/// at the beginning of the first tick that uses it.
///
/// ```
/// use fairpath_games::shared::InputLog;
/// use fairpath_games::tanks::{Match, Tanks, TanksConfig};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut game = Match::of_bots(TanksConfig::default(), 7)?;
/// let mut recorder = game.recorder();
/// for _ in 0..120 {
///     game.step();
///     recorder.record(game.tanks(), game.inputs());
/// }
/// let trace = recorder.finish();
///
/// let log = InputLog::<Tanks>::from_trace(TanksConfig::default(), &trace)?;
/// assert_eq!(log.replay()?.finish().digest(), game.tanks().digest());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Recorder<G: Game> {
    trace: Trace,
    log: InputLog<G>,
    first_tick: u64,
}

impl<G: Game> Recorder<G> {
    /// Begins with the current state. Only a recording from tick zero can be replayed.
    pub fn new(game: &G, config: G::Config, seed: u64) -> Self {
        let mut trace = Trace::new(metadata(game, &config, seed));
        trace.states.extend(state_rows(game));
        Self { trace, log: InputLog::new(config, seed), first_tick: game.tick() }
    }

    /// Adds the tick that was just played with these inputs.
    pub fn record(&mut self, game: &G, inputs: &[G::Input]) {
        self.log.record(inputs);
        self.trace.states.extend(state_rows(game));
    }

    pub fn finish(mut self) -> Trace {
        let mut sequences = vec![0; G::seats(self.log.config()) as usize];
        for change in self.log.changes() {
            let sequence = &mut sequences[change.seat as usize];
            self.trace.inputs.push(input_row::<G>(change, self.first_tick, *sequence));
            *sequence += 1;
        }
        self.trace
    }
}

impl<G: Game> InputLog<G> {
    /// Returns the run as a trace by replaying it; to record while playing, use [`Recorder`].
    pub fn to_trace(&self) -> Result<Trace, G::ConfigError> {
        let mut replay = self.replay()?;
        let mut recorder = Recorder::new(replay.game(), self.config().clone(), self.seed());
        while replay.step() {
            recorder.record(replay.game(), replay.inputs());
        }
        Ok(recorder.finish())
    }

    /// Returns the log of a trace that was recorded from tick zero, up to its last state. A trace
    /// stores the seed but not the rules, so `config` must be the rules of that run.
    pub fn from_trace(config: G::Config, trace: &Trace) -> Result<Self, NotReplayable> {
        let first = trace.states.first().map_or(0, |state| state.t_us);
        if first != 0 {
            return Err(NotReplayable::BeginsLate { t_us: first });
        }
        let mut changes = trace.inputs.iter().map(change::<G>).collect::<Result<Vec<_>, _>>()?;
        changes.sort_by_key(|change| change.tick);
        let last = trace.states.iter().map(|state| state.t_us).max().unwrap_or(0);
        Ok(Self::from_changes(config, trace.metadata.seed, tick_at::<G>(last)?, changes))
    }
}

/// Returns the current state of every moving entity as trace rows.
pub fn state_rows<G: Game>(game: &G) -> impl Iterator<Item = StateRow> {
    let now = SharedInstant::ZERO + G::TICK_RATE.begin(game.tick().cast_signed());
    game.moving().map(move |moving| StateRow {
        life: moving.life,
        is_break: moving.has_jumped,
        ..StateRow::new(now, moving.id, StateKind::Truth, &moving.state)
    })
}

fn metadata<G: Game>(game: &G, config: &G::Config, seed: u64) -> Metadata {
    let (low, high) = game.corners();
    Metadata {
        length_unit: LengthUnit::GameUnits,
        tick_rate_hz: Some(G::TICK_RATE.as_hz()),
        players: Some(G::seats(config)),
        ..Metadata::new(&G::title(config), seed)
    }
    .with_world(low.to_3d(), high.to_3d())
}

fn input_row<G: Game>(change: &InputChange<G::Input>, first_tick: u64, sequence: u64) -> InputRow {
    let [axis_0, axis_1, axis_2, axis_3] = change.input.axes();
    InputRow {
        t_us: G::TICK_RATE.begin((first_tick + change.tick).cast_signed()).as_micros(),
        player: change.seat,
        entity: change.seat,
        sequence,
        buttons: change.input.buttons(),
        axis_0,
        axis_1,
        axis_2,
        axis_3,
    }
}

fn change<G: Game>(row: &InputRow) -> Result<InputChange<G::Input>, NotReplayable> {
    let axes = [row.axis_0, row.axis_1, row.axis_2, row.axis_3];
    let input = G::Input::from_axes(axes, row.buttons).limited();
    Ok(InputChange { tick: tick_at::<G>(row.t_us)?, seat: row.entity, input })
}

fn tick_at<G: Game>(t_us: i64) -> Result<u64, NotReplayable> {
    let since_zero = SharedInstant::from_micros(t_us) - SharedInstant::ZERO;
    let tick = G::TICK_RATE.running_at(since_zero);
    let begins_there = G::TICK_RATE.begin(tick) == since_zero;
    u64::try_from(tick).ok().filter(|_| begins_there).ok_or(NotReplayable::OffTick { t_us })
}

/// The reason why a trace cannot be replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotReplayable {
    /// The first state is later than tick zero.
    BeginsLate { t_us: i64 },
    /// A state or an input is not at the beginning of a tick.
    OffTick { t_us: i64 },
}

impl std::error::Error for NotReplayable {}

impl std::fmt::Display for NotReplayable {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::BeginsLate { t_us } => {
                write!(out, "the trace begins at {t_us} µs; only a trace from 0 µs can be replayed")
            }
            Self::OffTick { t_us } => {
                write!(out, "a row at {t_us} µs is not at the beginning of a tick; check the tick rate")
            }
        }
    }
}
