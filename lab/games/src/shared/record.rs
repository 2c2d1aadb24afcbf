//! A run as a trace that any tool can read, and its log back from the trace.
//!
//! A log replays to the bit, so nothing has to be written down while a run is played:
//! [`InputLog::to_trace`] plays it once more and writes then.

use fairpath::time::SharedInstant;
use fairpath::vector::Planar;
use fairpath_sim::trace::{InputRow, LengthUnit, Metadata, StateKind, StateRow, Trace};

use super::game::{Game, Hands};
use super::log::{InputChange, InputLog};

impl<G: Game> InputLog<G> {
    /// The run as a trace. The states are the truth about everything that moves, tick by tick;
    /// whatever was put where it is and did not get there by itself begins with a break. The
    /// inputs are the changes of everyone's hands, each at the beginning of the tick it is
    /// first used in.
    pub fn to_trace(&self) -> Result<Trace, G::ConfigError> {
        let mut replay = self.replay()?;
        let mut trace = Trace::new(self.metadata(replay.game()));
        trace.states.extend(state_rows(replay.game()));
        while replay.step() {
            trace.states.extend(state_rows(replay.game()));
        }
        let mut sequences = vec![0; G::seats(self.config()) as usize];
        for change in self.changes() {
            let Some(sequence) = sequences.get_mut(change.seat as usize) else { continue };
            trace.inputs.push(input_row::<G>(change, *sequence));
            *sequence += 1;
        }
        Ok(trace)
    }

    /// The log of a run that was recorded from its beginning, with the rules it was played by: a
    /// trace knows the seed, but not the rules. It reaches as far as the trace's states do.
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

    fn metadata(&self, game: &G) -> Metadata {
        let (low, high) = game.corners();
        Metadata {
            length_unit: LengthUnit::GameUnits,
            tick_rate_hz: Some(G::TICK_RATE.as_hz()),
            players: Some(G::seats(self.config())),
            ..Metadata::new(G::NAME, self.seed())
        }
        .with_world(low.to_3d(), high.to_3d())
    }
}

fn state_rows<G: Game>(game: &G) -> impl Iterator<Item = StateRow> {
    let now = SharedInstant::ZERO + G::TICK_RATE.begin(game.tick().cast_signed());
    game.moving().map(move |moving| StateRow {
        life: moving.life,
        is_break: moving.has_jumped,
        ..StateRow::new(now, moving.id, StateKind::Truth, &moving.state)
    })
}

fn input_row<G: Game>(change: &InputChange<G::Input>, sequence: u64) -> InputRow {
    let [axis_0, axis_1, axis_2, axis_3] = change.input.axes();
    InputRow {
        t_us: G::TICK_RATE.begin(change.tick.cast_signed()).as_micros(),
        player: change.seat,
        entity: change.seat,
        sequence,
        axis_0,
        axis_1,
        axis_2,
        axis_3,
        ..InputRow::default()
    }
}

fn change<G: Game>(row: &InputRow) -> Result<InputChange<G::Input>, NotReplayable> {
    let input = G::Input::from_axes([row.axis_0, row.axis_1, row.axis_2, row.axis_3]).limited();
    Ok(InputChange { tick: tick_at::<G>(row.t_us)?, seat: row.entity, input })
}

fn tick_at<G: Game>(t_us: i64) -> Result<u64, NotReplayable> {
    let since_zero = SharedInstant::from_micros(t_us) - SharedInstant::ZERO;
    let tick = G::TICK_RATE.running_at(since_zero);
    let begins_there = G::TICK_RATE.begin(tick) == since_zero;
    u64::try_from(tick).ok().filter(|_| begins_there).ok_or(NotReplayable::OffTick { t_us })
}

/// Why a trace does not say enough to see its run again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotReplayable {
    /// Its first state is not the run's first.
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
            Self::BeginsLate { t_us } => write!(out, "the trace begins {t_us} µs after its run"),
            Self::OffTick { t_us } => write!(out, "no tick begins at {t_us} µs"),
        }
    }
}
