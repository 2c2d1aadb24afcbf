//! A recorded match: births, deaths, inputs, and a snapshot of every player every five seconds.
//!
//! Rules, seed and inputs suffice to replay a match bit for bit. The rest is checked during a
//! replay, and serves readers without the game. [`Recording::to_xml`] writes Shi 2014's replay
//! format with additions, [`Recording::from_xml`] reads it with or without them.

mod format;
mod replay;
mod xml;

pub use format::XML_BYTES_MAX;
pub use replay::{CheckedReplay, Desync, Difference, ReplayError};
pub use xml::{XmlError, XmlProblem};

use fairpath::number::EntityId;
use fairpath::vector::Vec2;

use super::bot::Temperament;
use super::config::{EtherealConfig, Ground, TICKS_PER_SECOND};
use super::input::Input;
use super::player::{Body, Condition, Player};
use super::world::{Ethereal, Event};
use crate::shared::Team;

/// Ticks between two snapshots: 5 s, as in Shi 2014.
pub const SNAPSHOT_TICKS: u64 = 5 * TICKS_PER_SECOND as u64;
/// The longest recording: a day. A longer one is more likely a broken time stamp.
pub const RECORDING_TICKS_MAX: u64 = 24 * 3_600 * TICKS_PER_SECOND as u64;

/// A recorded match.
///
/// ```
/// use fairpath_games::ethereal::{EtherealConfig, Match, Recording};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut game = Match::of_bots(EtherealConfig::default(), 7)?.with_recording();
/// for _ in 0..600 {
///     game.step();
/// }
/// let Some(recording) = game.recording() else { unreachable!("asked for") };
///
/// let read = Recording::from_xml(recording.to_xml().as_bytes())?;
/// assert_eq!(&read, recording);
/// assert_eq!(read.replay()?.finish()?.digest(), game.ethereal().digest());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    map_name: String,
    origin: Option<Origin>,
    ticks: u64,
    players: Vec<PlayerRecord>,
}

/// Rules and seed. Recordings of other games have none.
#[derive(Clone, Debug, PartialEq)]
struct Origin {
    seed: u64,
    config: EtherealConfig,
}

#[derive(Clone, Debug, PartialEq)]
pub struct PlayerRecord {
    pub id: EntityId,
    pub name: String,
    pub team: Team,
    pub lives: Vec<LifeRecord>,
    /// The changes of its input, in order.
    pub inputs: Vec<RecordedInput>,
    /// Its snapshots, one every [`SNAPSHOT_TICKS`].
    pub snapshots: Vec<PlayerSnapshot>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LifeRecord {
    pub born_tick: u64,
    pub position: Vec2,
    /// The character. In our recordings the index of the bot's temperament in [`Temperament::ALL`],
    /// 4 for a person; in others the number that their game uses.
    pub kind: u32,
    /// The first tick after a death. The end of a round or of the recording is not a death.
    pub died_tick: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RecordedInput {
    /// The first tick, counted from zero, that uses the input.
    pub tick: u64,
    pub input: Input,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlayerSnapshot {
    pub tick: u64,
    pub is_alive: bool,
    pub body: Body,
    pub health: u32,
    pub ammo: u32,
}

impl Recording {
    /// Starts a recording. `kinds` are the players' temperaments in order; `None` is a person.
    pub fn begin(ethereal: &Ethereal, kinds: &[Option<Temperament>]) -> Self {
        let ground = Ground::Given(ethereal.map().clone());
        let config = EtherealConfig { ground, ..ethereal.config().clone() };
        let players = ethereal.players().iter().map(|player| {
            let temperament = kinds.get(player.id().0 as usize).copied().flatten();
            let mut record = PlayerRecord::new(player, temperament);
            if player.is_alive() {
                record.note_birth(ethereal.tick(), player, kind_of(temperament));
            }
            record.note_snapshot(ethereal.tick(), player);
            record
        });
        Self {
            map_name: match ethereal.config().ground {
                Ground::Crossing => "Crossing".to_owned(),
                Ground::Generated => format!("Generated {}", ethereal.seed()),
                Ground::Given(_) => "Given".to_owned(),
            },
            players: players.collect(),
            origin: Some(Origin { seed: ethereal.seed(), config }),
            ticks: ethereal.tick(),
        }
    }

    /// Adds the tick that was just played.
    pub fn note(&mut self, ethereal: &Ethereal) {
        let begun = self.ticks;
        self.ticks = ethereal.tick();
        for event in ethereal.events() {
            if let Event::Died { player, .. } = event
                && let Some(record) = self.players.get_mut(player.0 as usize)
                && let Some(life) = record.lives.last_mut()
            {
                life.died_tick = Some(self.ticks);
            }
        }
        for (record, player) in self.players.iter_mut().zip(ethereal.players()) {
            record.note_input(begun, player.input());
            if player.condition() == Condition::Spawned {
                let kind = record.lives.last().map_or_else(|| kind_of(None), |life| life.kind);
                record.note_birth(self.ticks, player, kind);
            }
            if self.ticks.is_multiple_of(SNAPSHOT_TICKS) {
                record.note_snapshot(self.ticks, player);
            }
        }
    }

    pub fn map_name(&self) -> &str {
        &self.map_name
    }

    /// Returns the rules and the map; `None` for a recording of another game.
    pub fn config(&self) -> Option<&EtherealConfig> {
        self.origin.as_ref().map(|origin| &origin.config)
    }

    /// Returns the seed; `None` for a recording of another game.
    pub fn seed(&self) -> Option<u64> {
        self.origin.as_ref().map(|origin| origin.seed)
    }

    pub fn ticks(&self) -> u64 {
        self.ticks
    }

    /// Returns the players, in the order of the file.
    pub fn players(&self) -> &[PlayerRecord] {
        &self.players
    }
}

impl PlayerRecord {
    fn new(player: &Player, kind: Option<Temperament>) -> Self {
        let number = player.id().0;
        Self {
            id: player.id(),
            name: kind.map_or_else(|| format!("Player {number}"), |kind| format!("{kind:?} {number}")),
            team: player.team(),
            lives: Vec::new(),
            inputs: Vec::new(),
            snapshots: Vec::new(),
        }
    }

    fn note_input(&mut self, tick: u64, input: Input) {
        let held = self.inputs.last().map_or(Input::IDLE, |change| change.input);
        if input != held {
            self.inputs.push(RecordedInput { tick, input });
        }
    }

    fn note_birth(&mut self, tick: u64, player: &Player, kind: u32) {
        let position = player.body().position;
        self.lives.push(LifeRecord { born_tick: tick, position, kind, died_tick: None });
    }

    fn note_snapshot(&mut self, tick: u64, player: &Player) {
        self.snapshots.push(PlayerSnapshot::of(tick, player));
    }
}

/// Returns the number of a character: see [`LifeRecord::kind`].
fn kind_of(temperament: Option<Temperament>) -> u32 {
    temperament.map_or(Temperament::ALL.len() as u32, |temperament| temperament as u32)
}

impl PlayerSnapshot {
    fn of(tick: u64, player: &Player) -> Self {
        Self {
            tick,
            is_alive: player.is_alive(),
            body: player.body(),
            health: player.health(),
            ammo: player.ammo(),
        }
    }
}
