//! A match on record: births, deaths, inputs, and a look at everybody every five seconds.
//!
//! Rules, seed and inputs are all that is needed to see a match again, bit for bit; the rest is
//! there to be checked on the way, and for readers who do not have the game. [`Recording::to_xml`]
//! writes Shi 2014's replay format with additions, [`Recording::from_xml`] reads it with or without
//! them.

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

/// From one snapshot to the next: 5 s, as in Shi 2014.
pub const SNAPSHOT_TICKS: u64 = 5 * TICKS_PER_SECOND as u64;
/// The longest recording: a day. What is longer is more likely a broken time stamp.
pub const RECORDING_TICKS_MAX: u64 = 24 * 3_600 * TICKS_PER_SECOND as u64;

/// A match on record.
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

/// What a match can be played again from. Recordings of other games have none.
#[derive(Clone, Debug, PartialEq)]
struct Origin {
    seed: u64,
    config: EtherealConfig,
}

/// One player on record.
#[derive(Clone, Debug, PartialEq)]
pub struct PlayerRecord {
    /// Its number in the session.
    pub id: EntityId,
    /// What it is called.
    pub name: String,
    /// Whom it plays for.
    pub team: Team,
    /// Its lives, in order.
    pub lives: Vec<LifeRecord>,
    /// What its hands did, in order: only changes.
    pub inputs: Vec<RecordedInput>,
    /// How it was every [`SNAPSHOT_TICKS`].
    pub snapshots: Vec<PlayerSnapshot>,
}

/// From birth to death.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LifeRecord {
    /// The first tick of it.
    pub born_tick: u64,
    /// Where.
    pub position: Vec2,
    /// As what: in our recordings the place of the bot's temperament in [`Temperament::ALL`], 4 for
    /// a person; in others whatever their game calls its characters.
    pub kind: u32,
    /// The first tick after it, if it ended by dying: a round's end, or the recording's, is not a
    /// death.
    pub died_tick: Option<u64>,
}

/// From this tick on, a player's hands do this.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RecordedInput {
    /// The step, counted from zero, that the input is first used in.
    pub tick: u64,
    /// What the hands do from then on.
    pub input: Input,
}

/// How a player was at one tick.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlayerSnapshot {
    /// When.
    pub tick: u64,
    /// Whether it was on the map.
    pub is_alive: bool,
    /// Where it was, and how it moved.
    pub body: Body,
    /// What was left of its health.
    pub health: u32,
    /// What was left of its ammunition.
    pub ammo: u32,
}

impl Recording {
    /// Returns a recording of a match that has just begun. `kinds` says who plays, in the order of
    /// players.
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

    /// Notes the tick that was just played.
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

    /// Returns what the map is called.
    pub fn map_name(&self) -> &str {
        &self.map_name
    }

    /// Returns the rules and the map, if this is a recording of this game.
    pub fn config(&self) -> Option<&EtherealConfig> {
        self.origin.as_ref().map(|origin| &origin.config)
    }

    /// Returns what chance was drawn from, if this is a recording of this game.
    pub fn seed(&self) -> Option<u64> {
        self.origin.as_ref().map(|origin| origin.seed)
    }

    /// Returns how many ticks it covers.
    pub fn ticks(&self) -> u64 {
        self.ticks
    }

    /// Everybody, in the order of the file.
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

/// Returns the number that stands for who plays: see [`LifeRecord::kind`].
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
